/**
 * One attempt to deliver an event to an endpoint: the body is made from the log, signed and posted, and the result is a
 * value.
 */
import { EventUnreadable } from '../../domain/core/errors.js';
import type { Recorded } from '../../domain/events.js';
import type { StreamName, WebhookId } from '../../domain/core/ids.js';
import type { Clock } from '../../domain/ports/clock.js';
import { bodyKeys, bodyOf } from '../../domain/webhooks/body.js';
import type { RoutedEntry } from '../../domain/webhooks/events.js';
import type { EventLog } from '../../event-log/event-log.js';
import { boundedCache } from '../../shared/cache.js';
import { isoTime, outwardNow } from '../../domain/core/time.js';
import { OutboundFault, type OutboundPost } from '../../domain/ports/outbound-http.js';
import { keptAnswer, deliveryHeaders } from '../../domain/webhooks/delivery.js';
import { signingAt, type Endpoint } from '../../domain/webhooks/decider.js';

/** A body, and the ids of the keys that open what it says of people. */
export type Body = Readonly<{ text: string; keys: readonly string[] }>;

/** undefined if the content of the body is destroyed or damaged. */
export type ReadBody = (entry: RoutedEntry) => Promise<Body | undefined>;

export type BodyDeps = Readonly<{ eventLog: Pick<EventLog, 'load'> }>;

type BodiesDeps = BodyDeps & Readonly<{ clock: Pick<Clock, 'monotonic'> }>;

type CachedStream = Readonly<{ readMs: number; recorded: Promise<readonly Recorded[]> }>;

type CachedBody = Readonly<{ readMs: number; body: Body }>;

/** How webhooks leave the program. */
export type WebhookPorts = Readonly<{
  outbound: OutboundPost;
  /** Hosts that may be posted to over http and on loopback: for development. */
  insecureHosts: readonly string[];
}>;

type WebhookToPost = Readonly<{ id: string; previousId: string | null; kind: string; body: string }>;

/** Result of an attempt. */
export type AttemptResult = Readonly<{
  result: 'success' | 'failed';
  attemptedAt: string;
  statusCode?: number;
  responseMs: number;
  error?: string;
  retryAfter?: string;
  /** The beginning of the answer; null where there was none. */
  answer: string | null;
}>;

/**
 * How long a body is cached, and the stream it was made from: a deleted email may still be sent for at most twice that.
 */
const CACHED_MS = 500;

const STREAMS_MAX = 8;

/** Bounds of the cache of bodies: entries, and UTF-16 code units. */
const [BODIES_MAX, BODIES_SIZE_MAX] = [1_024, 4_000_000];

const ANSWER_BYTES_MAX = 1_024;

const TIMEOUT_MS = 30_000;

export const attemptDelivery = async (
  { webhooks, clock }: Readonly<{ webhooks: WebhookPorts; clock: Clock }>,
  id: WebhookId,
  endpoint: Endpoint,
  { id: eventId, previousId, kind, body }: WebhookToPost,
  signal: AbortSignal,
): Promise<AttemptResult> => {
  const nowMs = clock.now();
  const attemptedAt = isoTime(nowMs);
  const headers = deliveryHeaders({
    keys: signingAt(endpoint, attemptedAt),
    id: eventId,
    previousId,
    kind,
    body,
    nowMs: outwardNow(clock),
  });
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

export const loadedBody = ({ eventLog }: BodyDeps, entry: RoutedEntry): Promise<Body | undefined> =>
  unlessDamaged(async () => bodyIn(entry, await eventLog.load(entry.stream as StreamName)));

/**
 * Makes bodies for several subscriptions that read entries in about the same order. Entries of one stream follow each
 * other, so that the stream is read once for them; a body that was made for one subscription is reused for the others.
 */
export const openBodies = (deps: BodiesDeps): ReadBody => {
  const made = boundedCache<string, CachedBody>({
    entriesMax: BODIES_MAX,
    size: { max: BODIES_SIZE_MAX, of: ({ body }) => body.text.length },
  });
  const read = openStreams(deps);
  return async (entry) => {
    const { stream, revision, kind, recipient } = entry;
    const key = `${stream} ${revision} ${kind} ${recipient ?? ''}`;
    const known = made.get(key);
    const nowMs = deps.clock.monotonic();
    if (known !== undefined && nowMs - known.readMs < CACHED_MS) return known.body;
    const body = await unlessDamaged(async () => bodyIn(entry, await read(entry)));
    if (body !== undefined) made.set(key, { readMs: nowMs, body });
    return body;
  };
};

/** The events of the stream of an entry, up to that entry at least. */
const openStreams = ({ eventLog, clock }: BodiesDeps): ((entry: RoutedEntry) => Promise<readonly Recorded[]>) => {
  const kept = new Map<string, CachedStream>();
  const read = (stream: string): Promise<readonly Recorded[]> => {
    const recorded = eventLog.load(stream as StreamName);
    kept.delete(stream);
    kept.set(stream, { readMs: clock.monotonic(), recorded });
    for (const oldest of kept.keys()) {
      if (kept.size <= STREAMS_MAX) break;
      kept.delete(oldest);
    }
    return recorded;
  };
  return async ({ stream, revision }) => {
    const known = kept.get(stream);
    const isFresh = known !== undefined && clock.monotonic() - known.readMs < CACHED_MS;
    const recorded = await (isFresh ? known.recorded : read(stream));
    // The cached stream was read before that event was appended.
    return recorded.length > revision ? recorded : read(stream);
  };
};

const bodyIn = (entry: RoutedEntry, recorded: readonly Recorded[]): Body | undefined => {
  const told = recorded.slice(0, entry.revision + 1);
  const events = told.map(({ event }) => event);
  const text = bodyOf(entry, events);
  return text === undefined ? undefined : { text, keys: bodyKeys(entry, events, told.at(-1)!.metadata) };
};

/** undefined if the log is damaged there. */
const unlessDamaged = async <T>(awaited: () => Promise<T>): Promise<T | undefined> => {
  try {
    return await awaited();
  } catch (fault) {
    if (fault instanceof EventUnreadable) return undefined;
    throw fault;
  }
};
