/** One post over a dispatcher of undici: the answer as it comes, without a stream of its own, and one timer for the whole. */
import type { Dispatcher } from 'undici';
import { OutboundFault, type OutboundPost, type Posted } from '../../domain/ports/outbound-http.js';

/** So much of an answer is passed over to keep its connection. */
const PASSED_OVER_BYTES_MAX = 16 * 1024;
/** Of an answer that says that the post was taken: what is larger says nothing that can be believed. */
const ANSWER_BYTES_MAX = 1024 * 1024;

export type PostOptions = Parameters<OutboundPost['post']>[1];

export type PostTarget = Readonly<{ origin: string; path: string }>;

/** Rejects with OutboundFault where time is over or the signal aborts, and with what undici says where it fails. */
export const postOnce = (
  dispatcher: Dispatcher,
  { origin, path }: PostTarget,
  { headers, body, signal, answerBytesMax, timeoutMs }: PostOptions,
): Promise<Posted> =>
  new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
    let settled = false;
    const answer = openAnswer(answerBytesMax);
    const settle = (end: () => void): void => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      end();
    };
    const fail = (fault: Error): void => settle(() => reject(fault));
    const giveUp = (fault: Error): void => {
      fail(fault);
      controller?.abort(fault);
    };
    const stop = (): void => giveUp(new OutboundFault('timeout', 'The work was stopped.'));
    const timer = setTimeout(() => giveUp(new OutboundFault('timeout', `No whole answer within ${timeoutMs / 1_000} seconds.`)), timeoutMs);
    signal.addEventListener('abort', stop);
    if (signal.aborted) return stop();
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: (started) => {
        controller = started;
        // Nobody waits for it any more: it was given up before it had a connection.
        if (settled) started.abort(new Error('given up'));
      },
      onResponseStart: (_, status, answered) => answer.begin(status, answered['retry-after']),
      onResponseData: (_, chunk) => {
        const bytes = answer.add(chunk);
        if (bytes <= PASSED_OVER_BYTES_MAX) return;
        if (!answer.isTaken()) {
          settle(() => resolve(answer.posted()));
          controller?.abort(new Error('the answer is too long'));
        } else if (bytes > ANSWER_BYTES_MAX) giveUp(new OutboundFault('too-large', 'The answer is larger than 1 MB.'));
      },
      onResponseEnd: () => settle(() => resolve(answer.posted())),
      onResponseError: (_, fault) => fail(fault),
    };
    try {
      dispatcher.dispatch({ origin, path, method: 'POST', headers, body }, handler);
    } catch (fault) {
      giveUp(fault as Error);
    }
  });

/** Keeps the beginning of an answer. */
const openAnswer = (bytesMax: number) => {
  const chunks: Buffer[] = [];
  let [status, seen, kept] = [0, 0, 0];
  let retryAfter: string | undefined;
  return {
    begin: (code: number, asked: string | string[] | undefined): void => {
      status = code;
      retryAfter = Array.isArray(asked) ? asked[0] : asked;
    },
    /** Out: how many bytes have come in all. */
    add: (chunk: Buffer): number => {
      seen += chunk.byteLength;
      if (kept < bytesMax) {
        chunks.push(Buffer.from(chunk.subarray(0, bytesMax - kept)));
        kept = Math.min(seen, bytesMax);
      }
      return seen;
    },
    isTaken: (): boolean => status >= 200 && status < 300,
    posted: (): Posted => ({ status, retryAfter, body: Buffer.concat(chunks).toString('utf8') }),
  };
};
