/** One attempt to deliver one event to an endpoint: signed, posted, and what came of it as a value. */
import type { WebhookId } from '../../domain/core/ids.js';
import type { Clock } from '../../domain/ports/clock.js';
import { isoTime } from '../../domain/core/iso-time.js';
import { OutboundFault, type OutboundPost } from '../../domain/ports/outbound-http.js';
import { keptAnswer } from '../../domain/webhooks/answer.js';
import { deliveryHeaders } from '../../domain/webhooks/signing.js';
import { signingAt, type Endpoint } from '../../domain/webhooks/decider.js';

const ANSWER_BYTES_MAX = 1_024;
const TIMEOUT_MS = 30_000;

/** How webhooks leave the program. */
export type WebhookPorts = Readonly<{
  outbound: OutboundPost;
  /** Hosts that may be posted to over http and on loopback: for development. */
  insecureHosts: readonly string[];
}>;

export type WebhookToPost = Readonly<{ id: string; previousId: string | null; kind: string; body: string }>;

export type Tried = Readonly<{
  result: 'success' | 'failed';
  attemptedAt: string;
  statusCode?: number;
  responseMs: number;
  error?: string;
  retryAfter?: string;
  /** The beginning of the answer; null where there was none. */
  answer: string | null;
}>;

export const attemptDelivery = async (
  { webhooks, clock }: Readonly<{ webhooks: WebhookPorts; clock: Clock }>,
  id: WebhookId,
  endpoint: Endpoint,
  { id: eventId, previousId, kind, body }: WebhookToPost,
  signal: AbortSignal,
): Promise<Tried> => {
  const nowMs = clock.now();
  const attemptedAt = isoTime(nowMs);
  const headers = deliveryHeaders({ keys: signingAt(endpoint, attemptedAt), id: eventId, previousId, kind, body, nowMs });
  const startedMs = clock.monotonic();
  const elapsed = (): number => Math.round(clock.monotonic() - startedMs);
  try {
    const options = { sender: id, headers, body, answerBytesMax: ANSWER_BYTES_MAX, timeoutMs: TIMEOUT_MS, signal };
    const { status, retryAfter, body: answer } = await webhooks.outbound.post(endpoint.url, options);
    const isSuccess = status >= 200 && status < 300;
    return {
      result: isSuccess ? 'success' : 'failed',
      attemptedAt,
      statusCode: status,
      responseMs: elapsed(),
      ...(isSuccess ? {} : { error: `The endpoint answered ${status}; only 200 to 299 count as received.` }),
      ...(retryAfter === undefined ? {} : { retryAfter }),
      answer: keptAnswer(answer, ANSWER_BYTES_MAX),
    };
  } catch (fault) {
    if (!(fault instanceof OutboundFault)) throw fault;
    return { result: 'failed', attemptedAt, responseMs: elapsed(), error: fault.message, answer: null };
  }
};
