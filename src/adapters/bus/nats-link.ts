/**
 * The connection to NATS: questions with one shared inbox and two deadlines, and whether the server answers. A question
 * that is not answered rejects, and is never asked again by itself.
 */
import type { Msg, NatsConnection } from 'nats';
import type { Clock } from '../../domain/ports/clock.js';
import type { Logger } from '../../domain/ports/logger.js';

type LinkDeps = Readonly<{ clock: Clock; logger: Logger }>;

/** Whether the NATS server answers. The log says when it stopped and when it began again. */
type Presence = Readonly<{
  /** False from the moment in which the server was last found not to answer until it answers again. */
  isUp: () => boolean;
  /**
   * Calls back each time the server is there again: it has forgotten requests for work. Its streams and consumers
   * outlast that.
   */
  onBack: (callback: () => void) => () => void;
  isConnected: () => boolean;
  disconnected: () => void;
  connected: () => void;
  /** A question was not answered in time. */
  silent: () => void;
  answered: () => void;
}>;

export type Link = Readonly<{
  connection: NatsConnection;
  /** Rejects with BusAway or NobodyListens. */
  ask: (subject: string, payload: string) => Promise<Msg>;
  /**
   * As `ask`, for questions whose answer may take long: one without an answer does not mean that the server is away.
   */
  askPatiently: (subject: string, payload: string) => Promise<Msg>;
  /** Sends without an answer. The message is lost if the server is not connected. */
  post: (subject: string, payload: string, reply?: string) => void;
  closed: AbortSignal;
  close: () => Promise<void>;
}> &
  Pick<Presence, 'isUp' | 'onBack'>;

const PROBE_EVERY_MS = 500;
const ANSWER_WITHIN_MS = 5_000;
/** A server with much to do works for so long on a request to make a stream or a consumer. */
const PATIENT_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 250;
const FLUSH_WITHIN_MS = 2_000;

/** The server did not answer, or is not connected. */
class BusAway extends Error {
  constructor() {
    super('the NATS server does not answer');
  }
}

/** The subject has no listener: a stream or a consumer is gone, or there is no JetStream. */
export class NobodyListens extends Error {
  constructor(subject: string) {
    super(`nobody listens to ${subject} on the NATS server: is JetStream enabled there?`);
  }
}

export const openLink = (connection: NatsConnection, inbox: string, deps: LinkDeps): Link => {
  const { clock } = deps;
  const closing = new AbortController();
  const presence = openPresence(deps, closing.signal, () => ask('$JS.API.INFO', ''));
  const prompt = openQuestions(clock, closing.signal, ANSWER_WITHIN_MS, presence.silent);
  const patient = openQuestions(clock, closing.signal, PATIENT_WITHIN_MS, () => {});
  const giveUp = (): void => {
    prompt.giveUp();
    patient.giveUp();
  };

  const askIn =
    (questions: Questions, name: string) =>
    (subject: string, payload: string): Promise<Msg> =>
      new Promise((resolve, reject) => {
        if (!presence.isConnected() || closing.signal.aborted) return reject(new BusAway());
        connection.publish(subject, payload, {
          reply: `${inbox}.${name}.${questions.add({ subject, resolve, reject })}`,
        });
      });
  const listen = (questions: Questions, name: string): void => {
    const from = `${inbox}.${name}.`;
    connection.subscribe(`${from}*`, {
      callback: (fault, msg) => {
        if (fault !== null) return;
        presence.answered();
        questions.answer(Number(msg.subject.slice(from.length)), msg);
      },
    });
  };
  listen(prompt, 'prompt');
  listen(patient, 'patient');
  const ask = askIn(prompt, 'prompt');
  void followStatus(connection, {
    disconnected: () => {
      presence.disconnected();
      giveUp();
    },
    connected: presence.connected,
  });

  return {
    connection,
    ask,
    askPatiently: askIn(patient, 'patient'),
    post: (subject, payload, reply) => {
      if (presence.isConnected() && !closing.signal.aborted)
        connection.publish(subject, payload, reply === undefined ? {} : { reply });
    },
    isUp: () => presence.isUp() && !closing.signal.aborted,
    onBack: presence.onBack,
    closed: closing.signal,
    close: async () => {
      if (closing.signal.aborted) return;
      // Messages posted last are still sent and open questions answered, but nobody waits for a server that does not
      // answer.
      const over = new AbortController();
      const ended = Promise.all([connection.flush().catch(() => {}), prompt.whenAnswered()]);
      if (presence.isUp()) await Promise.race([ended, clock.sleep(FLUSH_WITHIN_MS, over.signal)]);
      over.abort();
      closing.abort();
      giveUp();
      await connection.close();
    },
  };
};

/** Probes a silent server again and again, so that its return is seen even if nobody else asks it. */
const openPresence = ({ clock, logger }: LinkDeps, closed: AbortSignal, probe: () => Promise<unknown>): Presence => {
  const callbacks = new Set<() => void>();
  let state: 'up' | 'silent' | 'disconnected' = 'up';

  const leave = (to: 'silent' | 'disconnected'): void => {
    if (closed.aborted) return;
    if (state === 'up') logger.warn({}, 'the NATS server is away: work waits, and is found again by its timers');
    state = to;
  };
  const back = (): void => {
    if (state === 'up') return;
    state = 'up';
    logger.info({}, 'the NATS server is back');
    for (const callback of callbacks) callback();
  };
  const ask = async (): Promise<void> => {
    while (state === 'silent' && !closed.aborted) {
      await clock.sleep(PROBE_EVERY_MS, closed);
      if (state === 'silent') await probe().catch(() => {});
    }
  };
  return {
    isUp: () => state === 'up',
    isConnected: () => state !== 'disconnected',
    disconnected: () => leave('disconnected'),
    connected: back,
    silent: () => {
      if (state !== 'up') return;
      leave('silent');
      void ask();
    },
    answered: () => {
      if (state === 'silent') back();
    },
    onBack: (callback) => {
      callbacks.add(callback);
      return () => void callbacks.delete(callback);
    },
  };
};

type Question = Readonly<{ subject: string; resolve: (answer: Msg) => void; reject: (fault: Error) => void }>;

type Questions = Readonly<{
  /** Out: the number under which the answer comes. */
  add: (question: Question) => number;
  answer: (number: number, msg: Msg) => void;
  /** Rejects the open questions. */
  giveUp: () => void;
  /** Resolves when none is open. */
  whenAnswered: () => Promise<void>;
}>;

/** Questions without an answer. All have the same deadline, so the oldest one expires first. */
const openQuestions = (clock: Clock, closed: AbortSignal, withinMs: number, silent: () => void): Questions => {
  const open = new Map<number, Question & Readonly<{ dueMs: number }>>();
  let asked = 0;
  let looking = false;
  let emptied = (): void => {};

  const end = (number: number): Question | undefined => {
    const question = open.get(number);
    open.delete(number);
    if (open.size === 0) emptied();
    return question;
  };
  const fail = (number: number): void => end(number)?.reject(new BusAway());
  const look = async (): Promise<void> => {
    looking = true;
    while (open.size > 0 && !closed.aborted) {
      await clock.sleep(LOOK_EVERY_MS, closed);
      const atMs = clock.monotonic();
      // Answers that have arrived are read first: a blocked event loop does not make a server silent.
      await new Promise((resolve) => setImmediate(resolve));
      for (const [number, { dueMs }] of open) {
        if (dueMs > atMs) break;
        fail(number);
        silent();
      }
    }
    looking = false;
  };
  return {
    add: (question) => {
      asked += 1;
      open.set(asked, { ...question, dueMs: clock.monotonic() + withinMs });
      if (!looking) void look();
      return asked;
    },
    answer: (number, msg) => {
      const question = end(number);
      if (question === undefined) return;
      if (isNoResponders(msg)) question.reject(new NobodyListens(question.subject));
      else question.resolve(msg);
    },
    giveUp: () => {
      for (const number of open.keys()) fail(number);
    },
    whenAnswered: () =>
      new Promise((resolve) => {
        emptied = resolve;
        if (open.size === 0) resolve();
      }),
  };
};

const followStatus = async (
  connection: NatsConnection,
  { disconnected, connected }: Readonly<{ disconnected: () => void; connected: () => void }>,
): Promise<void> => {
  for await (const { type } of connection.status()) {
    if (type === 'disconnect') disconnected();
    if (type === 'reconnect') connected();
  }
};

/** The server's own answer if a subject has no listener. */
const isNoResponders = (msg: Msg): boolean => msg.data.length === 0 && msg.headers?.code === 503;
