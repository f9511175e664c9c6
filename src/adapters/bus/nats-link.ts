/**
 * The connection to NATS: the driver reconnects by itself, and the log says when the server went away and came back.
 * Questions share one inbox and one timer, which costs a third less CPU than the driver's own requests. A question that
 * is not answered rejects, and is never asked again by itself.
 */
import type { Msg, NatsConnection } from 'nats';
import type { Clock } from '../../domain/ports/clock.js';
import type { Logger } from '../../domain/ports/logger.js';

export type Link = Readonly<{
  connection: NatsConnection;
  /** Rejects with BusAway or NobodyListens. */
  ask: (subject: string, payload: string) => Promise<string>;
  /** Sends without an answer. The message is lost if the server is not connected. */
  post: (subject: string, payload: string, reply?: string) => void;
  isUp: () => boolean;
  /** Calls back each time the server is there again: it has forgotten requests for work. Out: a function that ends this. */
  onBack: (callback: () => void) => () => void;
  closed: AbortSignal;
  close: () => Promise<void>;
}>;

type Question = Readonly<{
  subject: string;
  dueMs: number;
  resolve: (answer: string) => void;
  reject: (fault: Error) => void;
}>;

const ANSWER_WITHIN_MS = 5_000;
const LOOK_EVERY_MS = 1_000;
const CLOSE_WITHIN_MS = 2_000;
/** The server's own answer if a subject has no listener. */
export const NO_RESPONDERS = 503;

/** The server did not answer, or is not connected. */
export class BusAway extends Error {
  override readonly message = 'the NATS server does not answer';
}

/** The subject has no listener: a stream or a consumer is gone, or there is no JetStream. */
export class NobodyListens extends Error {
  constructor(subject: string) {
    super(`nobody listens to ${subject} on the NATS server: is JetStream enabled there?`);
  }
}

/** Acts at intervals until the signal aborts. */
export const every = async (
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  act: () => void | Promise<void>,
): Promise<void> => {
  while (!signal.aborted) {
    await clock.sleep(ms, signal);
    if (!signal.aborted) await act();
  }
};

export const openLink = (
  connection: NatsConnection,
  inbox: string,
  { clock, logger }: Readonly<{ clock: Clock; logger: Logger }>,
): Link => {
  const closing = new AbortController();
  const callbacks = new Set<() => void>();
  /** By the subject of the answer, the oldest first. */
  const open = new Map<string, Question>();
  let asked = 0;
  let isUp = true;
  let allAnswered = (): void => {};

  const giveUp = (dueUpToMs: number): void => {
    for (const [reply, { dueMs, reject }] of open) {
      if (dueMs > dueUpToMs) return;
      open.delete(reply);
      reject(new BusAway());
    }
  };
  const whenAnswered = (): Promise<void> =>
    new Promise((resolve) => {
      allAnswered = resolve;
      if (open.size === 0) resolve();
    });
  const onAnswer = (fault: Error | null, msg: Msg): void => {
    const question = open.get(msg.subject);
    if (fault !== null || question === undefined) return;
    open.delete(msg.subject);
    if (msg.data.length === 0 && msg.headers?.code === NO_RESPONDERS)
      question.reject(new NobodyListens(question.subject));
    else question.resolve(msg.string());
    if (open.size === 0) allAnswered();
  };
  const followStatus = async (): Promise<void> => {
    for await (const { type } of connection.status()) {
      if (closing.signal.aborted) return;
      if (type === 'disconnect' && isUp) {
        isUp = false;
        logger.warn({}, 'the NATS server is away: work waits, and is found again by its timers');
        giveUp(Infinity);
      }
      if (type === 'reconnect' && !isUp) {
        isUp = true;
        logger.info({}, 'the NATS server is back');
        for (const callback of callbacks) callback();
      }
    }
  };
  connection.subscribe(`${inbox}.*`, { callback: onAnswer });
  void followStatus();
  void every(clock, LOOK_EVERY_MS, closing.signal, async () => {
    const atMs = clock.monotonic();
    // Answers that have arrived are read first: a blocked event loop does not make a server silent.
    await new Promise((resolve) => setImmediate(resolve));
    giveUp(atMs);
  });

  return {
    connection,
    ask: (subject, payload) =>
      new Promise((resolve, reject) => {
        if (!isUp || closing.signal.aborted) return reject(new BusAway());
        asked += 1;
        const reply = `${inbox}.${asked}`;
        open.set(reply, { subject, dueMs: clock.monotonic() + ANSWER_WITHIN_MS, resolve, reject });
        connection.publish(subject, payload, { reply });
      }),
    post: (subject, payload, reply) => {
      if (isUp && !connection.isClosed()) connection.publish(subject, payload, reply === undefined ? {} : { reply });
    },
    isUp: () => isUp && !closing.signal.aborted,
    onBack: (callback) => {
      callbacks.add(callback);
      return () => void callbacks.delete(callback);
    },
    closed: closing.signal,
    close: async () => {
      if (closing.signal.aborted) return;
      // Consumers hand back what they pulled ahead. That is still sent and open questions are answered, but nobody waits
      // for a server that is silent.
      closing.abort();
      const over = new AbortController();
      const sent = Promise.all([connection.flush().catch(() => {}), whenAnswered()]);
      if (isUp) await Promise.race([sent, clock.sleep(CLOSE_WITHIN_MS, over.signal)]);
      over.abort();
      giveUp(Infinity);
      await connection.close();
    },
  };
};
