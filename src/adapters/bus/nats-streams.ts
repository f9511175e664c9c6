/**
 * The streams and consumers of the bus on a NATS server: their names, the format of a pointer in them, and their
 * creation, repeated when the server has lost them. One stream holds all work, with a durable consumer for each
 * processor and priority; the other holds what was parked.
 */
import { createHash } from 'node:crypto';
import type * as Driver from 'nats';
import type { ConsumerConfig, ConsumerInfo, JetStreamManager, NatsError } from 'nats';
import { priorities, type Pointer, type Priority } from '../../domain/ports/bus.js';
import { BusAway, type Link, NobodyListens } from './nats-link.js';

type Names = ReturnType<typeof namesOf>;

/** The names of the streams, consumers and subjects of one service. A stream takes one message for each subject. */
export const namesOf = (prefix: string) => ({
  workStream: `${prefix.toUpperCase()}_WORK`,
  parkedStream: `${prefix.toUpperCase()}_PARKED`,
  workSubjects: `${prefix}.work.>`,
  parkedSubjects: `${prefix}.parked.>`,
  /** The subject of a pointer, or without an id of all pointers of a processor and priority. */
  workSubject: (processor: string, priority: Priority, id?: string) =>
    `${prefix}.work.${token(processor)}.${priority}.${id === undefined ? '*' : token(id)}`,
  parkedSubject: (processor: string, id: string) => `${prefix}.parked.${token(processor)}.${token(id)}`,
  consumer: (processor: string, priority: Priority) => `${token(processor)}-${priority}`,
});

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

/** The server's reason why a stream took nothing: a code and a text. */
export type Refusal = Readonly<{ err_code?: number; description?: string }>;

export type Streams = Readonly<{
  manager: JetStreamManager;
  names: Names;
  /** Makes the streams unless they are there. Rejects where the server refuses them. */
  ensure: () => Promise<void>;
  /** Publishes to a stream, which is made again where the server has lost it. Out: the refusal, if there was one. */
  publish: (subject: string, payload: string) => Promise<Refusal | undefined>;
  /** Makes a consumer unless it is there, one after another: a slow server is never asked for many at once. */
  makeConsumer: (processor: string, priority: Priority) => Promise<ConsumerInfo>;
  /** Pointers waiting or in flight. */
  count: (processor: string, priority: Priority) => Promise<number>;
}>;

type StreamsOptions = Readonly<{
  link: Link;
  manager: JetStreamManager;
  driver: Pick<typeof Driver, 'AckPolicy' | 'DeliverPolicy' | 'DiscardPolicy' | 'ReplayPolicy' | 'RetentionPolicy'>;
  names: Names;
  pointersMax: number;
  replicas: number;
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
const NOT_FOUND = 404;

/** The stream, the consumer or the message is not there. */
export const isMissing = (fault: unknown): boolean =>
  fault instanceof NobodyListens || (fault as Partial<NatsError>).api_error?.code === NOT_FOUND;

export const nanos = (ms: number): number => Math.round(ms * 1e6);

export const openStreams = (options: StreamsOptions): Streams => {
  const { link, manager, names } = options;
  let streams: Promise<void> | undefined;
  let lastMade: Promise<unknown> = Promise.resolve();

  const ensure = (): Promise<void> =>
    (streams ??= makeStreams(options).catch((fault: unknown) => {
      streams = undefined;
      throw fault;
    }));
  /** Acts once more on new streams if they were missing. */
  const withStreams = async <T>(act: () => Promise<T>): Promise<T> => {
    const made = ensure();
    await made;
    try {
      return await act();
    } catch (fault) {
      if (!isMissing(fault)) throw fault;
      if (streams === made) streams = undefined;
      await ensure();
      return act();
    }
  };
  const makeConsumer: Streams['makeConsumer'] = (processor, priority) => {
    const config = consumerConfig(options, processor, priority);
    const make = (): Promise<ConsumerInfo> => withStreams(() => manager.consumers.add(names.workStream, config));
    const made = lastMade.then(make, make);
    lastMade = made;
    return made;
  };
  return {
    manager,
    names,
    ensure,
    publish: async (subject, payload) => {
      const answer = await withStreams(() => link.ask(subject, payload));
      return answer.includes('"error"') ? (membersOf(answer)['error'] as Refusal | undefined) : undefined;
    },
    makeConsumer,
    count: async (processor, priority) => {
      if (!link.isUp()) throw new BusAway();
      const told = manager.consumers.info(names.workStream, names.consumer(processor, priority));
      const { num_pending, num_ack_pending } = await told.catch((fault: unknown) => {
        if (!isMissing(fault)) throw fault;
        return makeConsumer(processor, priority);
      });
      return num_pending + num_ack_pending;
    },
  };
};

const makeStreams = async ({ manager, names, driver, replicas }: StreamsOptions): Promise<void> => {
  const { RetentionPolicy, DiscardPolicy } = driver;
  const work = { name: names.workStream, subjects: [names.workSubjects], retention: RetentionPolicy.Workqueue };
  // The server refuses a second pointer of an id as long as the first is in the stream.
  const whenFull = { discard: DiscardPolicy.New, discard_new_per_subject: true, max_msgs: POINTERS_MAX };
  const parked = { name: names.parkedStream, subjects: [names.parkedSubjects], retention: RetentionPolicy.Limits };
  for (const config of [
    { ...work, ...whenFull },
    { ...parked, discard: DiscardPolicy.Old, max_msgs: PARKED_MAX },
  ]) {
    await manager.streams
      .add({ ...config, num_replicas: replicas, max_msgs_per_subject: 1 })
      .catch((fault: Partial<NatsError>) => {
        // A stream of that name that an operator has changed is used as it is.
        if (fault.api_error?.err_code !== STREAM_EXISTS_OTHERWISE) throw fault as Error;
      });
  }
};

const consumerConfig = (
  { names, driver: { AckPolicy, DeliverPolicy, ReplayPolicy }, pointersMax }: StreamsOptions,
  processor: string,
  priority: Priority,
): ConsumerConfig => ({
  durable_name: names.consumer(processor, priority),
  filter_subject: names.workSubject(processor, priority),
  deliver_policy: DeliverPolicy.All,
  replay_policy: ReplayPolicy.Instant,
  ack_policy: AckPolicy.Explicit,
  ack_wait: nanos(ACK_WAIT_MS),
  // A pointer that waits for its retry counts as delivered, so everything that the room holds has to fit.
  max_ack_pending: 2 * pointersMax,
  max_deliver: -1,
});
