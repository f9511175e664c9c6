/**
 * Appends, many of them under way on one call. The answer of each is found by its correlation id. Where the call ends, or is silent
 * for too long, what is under way on it is unknown; a call of another client has its own table and is not touched by it.
 */
import * as crypto from 'node:crypto';
import type { BatchAppendResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { Clock } from '../../../domain/ports/clock.js';
import { appendMessages, type AppendToSend } from './append-message.js';
import { answerOf, type AppendAnswer } from './append-answer.js';
import type { BatchCall, Connection } from './connection.js';

export type Appends = Readonly<{
  /** Rejects with EventStoreAway, nothing written, where the server cannot be reached. */
  append: (append: NewAppend) => Promise<AppendAnswer>;
  /** Resolves when nothing is under way. */
  settled: () => Promise<void>;
  close: () => void;
}>;

type Pending = Readonly<{ sentMs: number; resolve: (answer: AppendAnswer) => void }>;
type Call = Readonly<{
  call: BatchCall;
  pending: Map<number, Pending>;
  lastAnswerMs: () => number;
  isOver: () => boolean;
  end: (cause: Error) => void;
}>;
type NewAppend = Omit<AppendToSend, 'correlationId'>;
type Deps = Readonly<{ connection: Pick<Connection, 'openBatch'>; clock: Clock; timeoutMs: number }>;

export const openAppends = (deps: Deps): Appends => {
  const { clock } = deps;
  const closing = new AbortController();
  const underWay = new Set<Promise<AppendAnswer>>();
  const calls = currentCall(deps);
  const watch = lateAnswers(deps, calls.current, closing.signal);
  /** Correlation ids of one client share all but their last twelve digits, which count. */
  const idPrefix = crypto.randomUUID().slice(0, -12);
  let sent = 0;

  const send = (on: Call, append: NewAppend): Promise<AppendAnswer> =>
    new Promise((resolve) => {
      sent += 1;
      on.pending.set(sent, { sentMs: clock.monotonic(), resolve });
      const correlationId = `${idPrefix}${sent.toString(16).padStart(12, '0')}`;
      for (const message of appendMessages({ ...append, correlationId })) on.call.write(message);
      void watch();
    });

  const run = async (append: NewAppend): Promise<AppendAnswer> => {
    let on = await calls.usable();
    // What waited for a call may find it ended.
    while (on.isOver()) on = await calls.usable();
    return send(on, append);
  };

  return {
    append: (append) => {
      const answer = run(append);
      underWay.add(answer);
      const forget = (): void => void underWay.delete(answer);
      answer.then(forget, forget);
      return answer;
    },
    settled: async () => {
      while (underWay.size > 0) await Promise.allSettled(underWay);
    },
    close: () => {
      closing.abort();
      calls.current()?.end(new Error('the event store is closed'));
    },
  };
};

/** The call that all appends share; the next one is opened when somebody needs it. */
const currentCall = ({ connection, clock }: Deps) => {
  let opening: Promise<Call> | undefined;
  let current: Call | undefined;
  const open = async (): Promise<Call> => {
    try {
      current = trackedCall(await connection.openBatch(), clock);
      return current;
    } finally {
      opening = undefined;
    }
  };
  return {
    current: (): Call | undefined => current,
    usable: (): Call | Promise<Call> => (current !== undefined && !current.isOver() ? current : (opening ??= open())),
  };
};

/** Watches, with one timer, for appends that are not answered in time. */
const lateAnswers = ({ clock, timeoutMs }: Deps, current: () => Call | undefined, closing: AbortSignal): (() => Promise<void>) => {
  let isWatching = false;
  const expire = (call: Call, upToMs: number): void => {
    const late = new Error(`the event store has not answered within ${timeoutMs} ms`);
    // A call on which nothing was answered since is given up whole: what it still holds back must not be written later and later.
    if (call.lastAnswerMs() < upToMs) return call.end(late);
    for (const [key, { sentMs, resolve }] of call.pending) {
      if (sentMs > upToMs) return;
      call.pending.delete(key);
      resolve({ kind: 'unknown', cause: late });
    }
  };
  return async () => {
    if (isWatching) return;
    isWatching = true;
    for (let call = current(); call !== undefined && call.pending.size > 0 && !closing.aborted; call = current()) {
      const { sentMs } = call.pending.values().next().value!;
      const leftMs = sentMs + timeoutMs - clock.monotonic();
      if (leftMs > 0) await clock.sleep(leftMs, closing);
      else expire(call, sentMs);
    }
    isWatching = false;
  };
};

/** A call with what is under way on it. */
const trackedCall = ({ call, failed }: Awaited<ReturnType<Connection['openBatch']>>, clock: Pick<Clock, 'monotonic'>): Call => {
  const pending = new Map<number, Pending>();
  let lastAnswerMs = Number.NEGATIVE_INFINITY;
  let isOver = false;

  const end = (cause: Error): void => {
    if (isOver) return;
    isOver = true;
    const left = [...pending.values()];
    pending.clear();
    for (const { resolve } of left) resolve({ kind: 'unknown', cause });
    call.cancel();
  };
  call.on('data', (response: BatchAppendResp) => {
    lastAnswerMs = clock.monotonic();
    const key = keyOf(response);
    const found = pending.get(key);
    // An answer that came too late is that of an append which has been told to be unknown.
    if (found === undefined) return;
    pending.delete(key);
    found.resolve(answerOf(response));
  });
  call.on('error', (error: Error) => {
    if (!isOver) failed(error);
    end(new Error('the connection to the event store broke off', { cause: error }));
  });
  call.on('end', () => end(new Error('the event store ended the connection')));
  return { call, pending, lastAnswerMs: () => lastAnswerMs, isOver: () => isOver, end };
};

const COUNTED = 0xff_ff_ff_ff_ff_ffn;

/** The count at the end of the correlation id, which the server gives back as text or as two numbers. */
const keyOf = (response: BatchAppendResp): number => {
  const id = response.getCorrelationId();
  const structured = id?.getStructured();
  if (structured !== undefined) return Number(BigInt(structured.getLeastSignificantBits()) & COUNTED);
  return Number.parseInt(id?.getString().slice(-12) ?? '', 16);
};
