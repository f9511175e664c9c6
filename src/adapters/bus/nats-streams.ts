/**
 * The streams and consumers of the bus on a NATS server: their names, the format of a pointer in them, and their
 * creation, repeated when the server has lost them. A consumer is made when the first pointer of its place is
 * published, a few at a time, and stays.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../domain/ports/clock.js';
import { priorities, type Pointer, type Priority, priorityShares } from '../../domain/ports/bus.js';
import type { Link } from './nats-link.js';

/** Pointers of one priority are spread over so many subjects by team and source, which are delivered in turns. */
export const GROUPS = 8;

/** Names one consumer, which delivers the pointers of one processor, priority and group. */
export type Place = Readonly<{ processor: string; priority: Priority; group: number }>;

export type Names = Readonly<{
  workStream: string;
  parkedStream: string;
  workSubjects: string;
  parkedSubjects: string;
  /** The subject of a pointer. The stream takes at most one message for each. */
  workSubject: (processor: string, pointer: Pointer) => string;
  /** All pointers of a place. */
  placeSubject: (place: Place) => string;
  parkedSubject: (processor: string, pointer: Pointer) => string;
  consumer: (place: Place) => string;
  /** Tells other processes that a consumer of that processor was made. */
  madeSubject: (processor: string) => string;
}>;

export const namesOf = (prefix: string): Names => {
  const streams = prefix.toUpperCase();
  const groupSubject = (processor: string, priority: Priority, group: string | number): string =>
    `${prefix}.work.${token(processor)}.${priority}.${group}.`;
  return {
    workStream: `${streams}_WORK`,
    parkedStream: `${streams}_PARKED`,
    workSubjects: `${prefix}.work.>`,
    parkedSubjects: `${prefix}.parked.>`,
    workSubject: (processor, pointer) =>
      groupSubject(processor, pointer.priority, groupOf(pointer)) + token(pointer.id),
    placeSubject: ({ processor, priority, group }) => `${groupSubject(processor, priority, group)}*`,
    parkedSubject: (processor, { id }) => `${prefix}.parked.${token(processor)}.${token(id)}`,
    consumer: ({ processor, priority, group }) => `${token(processor)}-${priority}-${group}`,
    madeSubject: (processor) => `${prefix}.made.${token(processor)}`,
  };
};

/** The group of a pointer: a hash of its team and source. */
export const groupOf = ({ team = '', source = '' }: Pick<Pointer, 'team' | 'source'>): number => {
  let hash = 0x811c9dc5;
  for (const text of [team, '\n', source]) {
    for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  // The lowest bits of this hash depend on the lowest bits of the characters alone.
  return ((hash ^ (hash >>> 15)) >>> 0) % GROUPS;
};

/** The text itself if NATS takes it in a subject and in the name of a consumer, else its hash. */
const token = (text: string): string =>
  /^[\w@-]{1,128}$/.test(text) ? text : `~${createHash('sha256').update(text).digest('base64url')}`;

export const encodePointer = ({ id, stream, team, source, sender }: Pointer): string =>
  JSON.stringify({ id, stream, team, source, sender });

/** Out: undefined where it is no pointer of ours. */
export const decodePointer = (payload: string, priority: string | undefined): Pointer | undefined => {
  const known = priorities.find((candidate) => candidate === priority);
  const { id, stream, team, source, sender } = membersOf(payload);
  if (known === undefined || typeof id !== 'string' || typeof stream !== 'string') return undefined;
  return {
    id,
    stream,
    priority: known,
    ...(typeof team === 'string' ? { team } : {}),
    ...(typeof source === 'string' ? { source } : {}),
    ...(typeof sender === 'string' ? { sender } : {}),
  };
};

/** The members of a JSON object, none where it is something else. */
export const membersOf = (json: string): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
};

export type Streams = Readonly<{
  /** Resolves when the streams are there. Rejects where the server refuses them. */
  ensureStreams: () => Promise<void>;
  /**
   * Has the consumer of that place made, unless this process has done so: after those that were wanted before, again
   * and again until it is there.
   */
  want: (place: Place) => void;
  /** The server seems to have lost that consumer: it is made again. */
  wantAgain: (place: Place) => void;
  isWanted: (place: Place) => boolean;
  /**
   * Calls back when a consumer may be there although its making failed, because the answer came too late. Out: a
   * function that ends this.
   */
  onDoubt: (callback: (place: Place) => void) => () => void;
  /** The server has lost the streams, and the consumers with them. */
  forget: () => void;
  /** Asks the API of JetStream. Rejects where it answers with an error. */
  api: (subject: string, request?: unknown) => Promise<Readonly<Record<string, unknown>>>;
}>;

/**
 * The server delivers a pointer again when it has heard nothing of the delivery for so long: what a killed process held
 * comes to others after it.
 */
export const ACK_WAIT_MS = 12_000;
/** More than the rooms of all processors hold together. The server refuses pointers beyond it. */
const POINTERS_MAX = 1_000_000;
/** The server drops the oldest parked pointer beyond so many. Its timer still finds the work. */
const PARKED_MAX = 100_000;
const STREAM_EXISTS_OTHERWISE = 10_058;
const STREAM_NOT_FOUND = 10_059;
/** A reconnect or a new server never asks for more consumers at once than this. */
const MADE_AT_ONCE_MAX = 2;
const TRY_EVERY_MS = 1_000;

export const nanos = (ms: number): number => Math.round(ms * 1e6);

/** JetStream refused what it was asked for. */
export class JetStreamRefusal extends Error {
  readonly code: number;
  constructor(subject: string, code: number, description: string) {
    super(`JetStream refuses ${subject}: ${description} (${code})`);
    this.code = code;
  }
}

export const openStreams = (
  link: Pick<Link, 'askPatiently' | 'post' | 'closed'>,
  names: Names,
  { clock, pointersMax, replicas }: Readonly<{ clock: Clock; pointersMax: number; replicas: number }>,
): Streams => {
  let streams: Promise<void> | undefined;
  const made = new Set<string>();
  const callbacks = new Set<(place: Place) => void>();

  const forget = (): void => {
    streams = undefined;
    made.clear();
  };
  const api: Streams['api'] = async (subject, request) => {
    const answer = await link.askPatiently(`$JS.API.${subject}`, request === undefined ? '' : JSON.stringify(request));
    const members = membersOf(answer.string());
    const fault = members['error'] as Readonly<{ err_code?: number; description?: string }> | undefined;
    if (fault === undefined) return members;
    const code = fault.err_code ?? 0;
    if (code === STREAM_NOT_FOUND) forget();
    throw new JetStreamRefusal(subject, code, fault.description ?? 'no reason given');
  };
  const ensureStreams = (): Promise<void> =>
    (streams ??= makeStreams(api, names, replicas).catch(rethrowAfter(() => (streams = undefined))));
  const make = async (place: Place): Promise<boolean> => {
    const isMade = await ensureStreams()
      .then(() => makeConsumer(api, names, place, pointersMax))
      .then(
        () => true,
        () => false,
      );
    if (isMade) {
      made.add(names.consumer(place));
      link.post(names.madeSubject(place.processor), JSON.stringify(place));
    } else for (const callback of callbacks) callback(place);
    return isMade;
  };
  const inTurns = openTurnsOfMaking(clock, link.closed, make);
  const want = (place: Place): void => {
    const name = names.consumer(place);
    if (!made.has(name)) inTurns.add(name, place);
  };
  return {
    api,
    ensureStreams,
    want,
    wantAgain: (place) => {
      made.delete(names.consumer(place));
      want(place);
    },
    isWanted: (place) => inTurns.has(names.consumer(place)),
    onDoubt: (callback) => {
      callbacks.add(callback);
      return () => void callbacks.delete(callback);
    },
    forget,
  };
};

type TurnsOfMaking = Readonly<{ add: (name: string, place: Place) => void; has: (name: string) => boolean }>;

/** Makes what is wanted, the oldest wish first and few at once; what cannot be made goes to the end. */
const openTurnsOfMaking = (
  clock: Clock,
  closed: AbortSignal,
  make: (place: Place) => Promise<boolean>,
): TurnsOfMaking => {
  const wanted = new Map<string, Place>();
  const underWay = new Map<string, Place>();
  const work = async (name: string, place: Place): Promise<void> => {
    wanted.delete(name);
    underWay.set(name, place);
    const isMade = await make(place);
    if (!isMade) await clock.sleep(TRY_EVERY_MS, closed);
    underWay.delete(name);
    if (!isMade) wanted.set(name, place);
    next();
  };
  const next = (): void => {
    for (const [name, place] of wanted) {
      if (closed.aborted || underWay.size >= MADE_AT_ONCE_MAX) return;
      void work(name, place);
    }
  };
  const has = (name: string): boolean => wanted.has(name) || underWay.has(name);
  return {
    has,
    add: (name, place) => {
      if (has(name)) return;
      wanted.set(name, place);
      next();
    },
  };
};

const rethrowAfter =
  (act: () => unknown) =>
  (fault: unknown): never => {
    act();
    throw fault;
  };

const makeStreams = async (api: Streams['api'], names: Names, replicas: number): Promise<void> => {
  const common = { storage: 'file', num_replicas: replicas, max_msgs_per_subject: 1 };
  await makeStream(api, {
    ...common,
    name: names.workStream,
    subjects: [names.workSubjects],
    retention: 'workqueue',
    // The server refuses a second pointer of an id as long as the first is in the stream.
    discard: 'new',
    discard_new_per_subject: true,
    max_msgs: POINTERS_MAX,
  });
  await makeStream(api, {
    ...common,
    name: names.parkedStream,
    subjects: [names.parkedSubjects],
    retention: 'limits',
    discard: 'old',
    max_msgs: PARKED_MAX,
  });
};

/** A stream of that name that an operator has changed is used as it is. */
const makeStream = async (
  api: Streams['api'],
  config: Readonly<{ name: string } & Record<string, unknown>>,
): Promise<void> => {
  try {
    await api(`STREAM.CREATE.${config.name}`, config);
  } catch (fault) {
    if (!(fault instanceof JetStreamRefusal && fault.code === STREAM_EXISTS_OTHERWISE)) throw fault;
  }
};

/** A consumer of that name that exists is given this configuration. */
const makeConsumer = async (api: Streams['api'], names: Names, place: Place, pointersMax: number): Promise<void> => {
  const name = names.consumer(place);
  const config = {
    durable_name: name,
    filter_subject: names.placeSubject(place),
    deliver_policy: 'all',
    replay_policy: 'instant',
    ack_policy: 'explicit',
    ack_wait: nanos(ACK_WAIT_MS),
    // A pointer that waits for its retry counts as delivered, so everything that the room holds has to fit.
    max_ack_pending: 2 * pointersMax + 1_000,
    max_deliver: -1,
  };
  await api(`CONSUMER.DURABLE.CREATE.${names.workStream}.${name}`, { stream_name: names.workStream, config });
};

/** Every priority in every group. */
export const placesOf = (processor: string): readonly Place[] =>
  priorities.flatMap((priority) => Array.from({ length: GROUPS }, (_, group) => ({ processor, priority, group })));

/** The share of a whole that a priority is given, at least `min`. */
export const shareOf = (priority: Priority, whole: number, min: number): number => {
  const sum = priorities.reduce((all, one) => all + priorityShares[one], 0);
  return Math.max(min, Math.ceil((whole * priorityShares[priority]) / sum));
};
