/**
 * The connection to an EventStoreDB or KurrentDB server. The client library handles addresses, discovery of the leader,
 * TLS and credentials. The calls use its generated stubs instead of its own append, which keeps the pending appends of
 * all clients of a process in one table, ends the process if a stream breaks off during a write, and parses and formats
 * bytes that must not change. The package does not promise its generated modules: only this file imports them. If an
 * update moves or renames them, this file does not compile; if an update changes a message, the contract of event
 * stores fails on a server.
 */
import { EventStoreDBClient } from '@eventstore/db-client';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import type { Status } from '@eventstore/db-client/generated/status_pb.js';
import streamsGrpc, { type StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams, { type BatchAppendResp, type ReadReq } from '@eventstore/db-client/generated/streams_pb.js';
import { StoreAway } from '../../../domain/core/errors.js';
import type { Clock } from '../../../domain/ports/clock.js';
import { commitFrom, isCommit, type RecordedServerEvent } from './records.js';

export { shared, streams, type BatchAppendResp, type ReadReq, type Status };

/** The URL of a server: a part for the client library, and our own options. */
type EventStoreDbUrl = Readonly<{
  /**
   * The URL for the client. The library pools connections of equal options together with the growing pauses between
   * their attempts, so each generation has different options.
   */
  clientUrl: (generation: number) => string;
  /** The beginning of every stream name at the server, before a dot. */
  prefix: string;
  /** The server in messages: without credentials and options. */
  shown: string;
}>;

/** A call that takes encoded messages and gives the answers. */
export type BatchCall = Readonly<{
  write: (message: Buffer) => boolean;
  cancel: () => void;
  on: ((event: 'data', listener: (response: BatchAppendResp) => void) => unknown) &
    ((event: 'error', listener: (error: Error) => void) => unknown) &
    ((event: 'end', listener: () => void) => unknown);
}>;

export type Connection = Readonly<{
  /** The server in messages. */
  shown: string;
  /**
   * A call for appends on an open connection, and a function for its error, so that the next call goes to the present
   * leader. Rejects with EventStoreAway if there is no connection in time.
   */
  openBatch: () => Promise<Readonly<{ call: BatchCall; failed: (error: Error) => void }>>;
  /** The messages of one read. Rejects with the error of the call. `timeoutMs` bounds the whole read. */
  read: (
    request: ReadReq,
    options: Readonly<{ timeoutMs?: number; signal?: AbortSignal }>,
  ) => AsyncGenerator<ReadMessage>;
  close: () => Promise<void>;
}>;

type ConnectionOptions = Readonly<{ url: EventStoreDbUrl; clock: Clock; connectMs: number }>;

type Made = Readonly<{ client: EventStoreDBClient; stubs: StreamsClient }>;

/** gRPC's numbers of the states of a channel. */
const READY = 2;
const TRANSIENT_FAILURE = 3;
const SHUTDOWN = 4;
/** For so long after a failure the server is not tried again, and callers get that failure's error. */
const AGAIN_AFTER_MS = 100;

const FORM = /^(esdb|kurrentdb)(\+discover)?:\/\/(?:([^@/?]+)@)?([^@/?]+)\/*(?:\?(.*))?$/;
const TIMEOUT = 'keepAliveTimeout';
const KEEP_ALIVE_TIMEOUT_MS = 10_000;
const GENERATIONS = 1_000;
const PREFIX_DEFAULT = 'sealpost';
const PREFIX_FORM = /^[A-Za-z0-9_]{1,40}$/;

/**
 * The client prints an unknown option together with the whole URL, password included, so it gets known options only.
 */
const CLIENT_OPTIONS = [
  'userCertFile',
  'userKeyFile',
  'maxDiscoverAttempts',
  'connectionName',
  'defaultDeadline',
  'discoveryInterval',
  'gossipTimeout',
  'nodePreference',
  'tls',
  'tlsCAFile',
  'keepAliveInterval',
  'keepAliveTimeout',
];

/** CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, NOT_FOUND (a former leader), ABORTED, INTERNAL, UNAVAILABLE. */
const passingCodes: ReadonlySet<number> = new Set([1, 2, 4, 5, 10, 13, 14]);

/** PERMISSION_DENIED and UNAUTHENTICATED. */
const deniedCodes: ReadonlySet<number> = new Set([7, 16]);

/** The server cannot be reached, so nothing has been sent. */
export class EventStoreAway extends StoreAway {
  override readonly name = 'EventStoreAway';
}

/** The server does not take the credentials of the URL. */
export class EventStoreDenied extends Error {
  override name = 'EventStoreDenied';
}

export const openConnection = ({ url, clock, connectMs }: ConnectionOptions): Connection => {
  const ready = readyConnections({ url, clock, connectMs });
  return {
    shown: url.shown,
    openBatch: async () => {
      const made = await ready.get();
      const call = made.stubs.makeBidiStreamRequest<Buffer, BatchAppendResp>(
        streamsGrpc.StreamsService.batchAppend.path,
        (encoded) => encoded,
        (bytes) => streams.BatchAppendResp.deserializeBinary(bytes),
        ...made.client['callArguments']({}, { deadline: Number.POSITIVE_INFINITY }),
      );
      return { call, failed: (error) => failed(made, error) };
    },
    read: (request, options) => readThrough(ready.get, request, options),
    close: async () => ready.close(),
  };
};

/** Connects when a connection is needed. A failed connection is given up together with the client that remembers it. */
const readyConnections = ({ url, clock, connectMs }: ConnectionOptions) => {
  let generation = 0;
  let client: EventStoreDBClient | undefined = clientOf(url, generation);
  let made: Made | undefined;
  let connecting: Promise<Made> | undefined;
  let failure: Readonly<{ error: EventStoreAway; atMs: number }> | undefined;
  let isClosed = false;
  const away = (cause?: unknown): EventStoreAway =>
    new EventStoreAway(`SEALPOST_EVENT_STORE_URL: the event store at ${url.shown} cannot be reached${because(cause)}`, {
      cause,
    });

  const connect = async (): Promise<Made> => {
    const using = (client ??= clientOf(url, (generation += 1)));
    try {
      const stubs = await within(stubsOf(using), connectMs, clock, away);
      made = { client: using, stubs };
      await connected(stubs, connectMs);
      failure = undefined;
      return made;
    } catch (cause) {
      client = undefined;
      made?.stubs.getChannel().close();
      made = undefined;
      failure = { error: cause instanceof EventStoreAway ? cause : away(cause), atMs: clock.monotonic() };
      throw failure.error;
    } finally {
      connecting = undefined;
    }
  };

  const get = async (): Promise<Made> => {
    if (isClosed) throw away(new Error('it is closed'));
    if (made !== undefined && (await stubsOf(made.client)) === made.stubs && stateOf(made.stubs) === READY) return made;
    if (failure !== undefined && clock.monotonic() - failure.atMs < AGAIN_AFTER_MS) throw failure.error;
    return (connecting ??= connect());
  };

  return {
    get,
    close: (): void => {
      isClosed = true;
      made?.stubs.getChannel().close();
    },
  };
};

/**
 * Tells the library of an error: it follows the leader if the error names another, and gives up a connection that has
 * ended.
 */
const failed = ({ client, stubs }: Made, error: Error): void => void client['handleError'](stubs, error);

/** The stubs of the client's channel. They change when the channel is given up. */
const stubsOf = (client: EventStoreDBClient): Promise<StreamsClient> =>
  client['execute'](streamsGrpc.StreamsClient, 'streams', (made) => Promise.resolve(made));

const stateOf = (stubs: StreamsClient): number => stubs.getChannel().getConnectivityState(false);

/**
 * Resolves when the channel is connected. Rejects at the first failure, because the library would go on trying until
 * the deadline.
 */
const connected = async (stubs: StreamsClient, connectMs: number): Promise<void> => {
  const channel = stubs.getChannel();
  const deadline = Date.now() + connectMs;
  for (
    let state: number = channel.getConnectivityState(true);
    state !== READY;
    state = channel.getConnectivityState(true)
  ) {
    if (state === TRANSIENT_FAILURE)
      throw new Error('no connection is accepted there, or its certificate is not trusted');
    if (state === SHUTDOWN) throw new Error('the connection was given up');
    await new Promise<void>((resolve, reject) => {
      channel.watchConnectivityState(state, deadline, (fault) =>
        fault === undefined || fault === null
          ? resolve()
          : reject(new Error(`there was no connection within ${connectMs} ms`)),
      );
    });
  }
};

async function* readThrough(
  ready: () => Promise<Made>,
  request: ReadReq,
  { timeoutMs, signal }: Readonly<{ timeoutMs?: number; signal?: AbortSignal }>,
): AsyncGenerator<ReadMessage> {
  const made = await ready();
  if (isAborted(signal)) return;
  const deadline = timeoutMs === undefined ? Number.POSITIVE_INFINITY : Date.now() + timeoutMs;
  const { path, requestSerialize } = streamsGrpc.StreamsService.read;
  const call = made.stubs.makeServerStreamRequest<ReadReq, ReadMessage>(
    path,
    requestSerialize,
    readMessage,
    request,
    ...made.client['callArguments']({ requiresLeader: true }, { deadline }),
  );
  const cancel = (): void => call.cancel();
  signal?.addEventListener('abort', cancel, { once: true });
  try {
    yield* call as AsyncIterable<ReadMessage>;
  } catch (error) {
    if (isAborted(signal)) return;
    failed(made, error as Error);
    if (!deniedCodes.has((error as Readonly<{ code?: number }>).code ?? -1)) throw error;
    throw new EventStoreDenied('the event store refuses to be read with the credentials of its URL', { cause: error });
  } finally {
    signal?.removeEventListener('abort', cancel);
    // A cancelled call emits an error, which is ignored here.
    call.on('error', () => {});
    call.cancel();
  }
}

const isAborted = (signal: AbortSignal | undefined): boolean => signal?.aborted === true;

/** The library's errors contain the URL, password included, so they are not passed on. */
const clientOf = ({ clientUrl, shown }: EventStoreDbUrl, generation: number): EventStoreDBClient => {
  const [client, fault] = attempt(() => EventStoreDBClient.connectionString(clientUrl(generation)));
  if (client !== undefined) return client;
  const isFile = fault instanceof Error && fault.message.startsWith('Failed to load certificate');
  throw new RangeError(
    isFile
      ? `the URL of the event store ${shown} names a certificate file that cannot be read`
      : `the URL of the event store ${shown} has an option with a value that it cannot have`,
  );
};

const attempt = <T>(make: () => T): readonly [T, undefined] | readonly [undefined, unknown] => {
  try {
    return [make(), undefined];
  } catch (fault) {
    return [undefined, fault];
  }
};

const because = (cause: unknown): string =>
  cause instanceof Error && cause.message !== '' ? `: ${cause.message}` : '';

const within = async <T>(work: Promise<T>, ms: number, clock: Clock, late: () => Error): Promise<T> => {
  const over = new AbortController();
  try {
    return await Promise.race([
      work,
      clock.sleep(ms, over.signal).then(() => {
        throw late();
      }),
    ]);
  } finally {
    over.abort();
  }
};

/** Whether an error is one of the connection, not of the request, so that another attempt may succeed. */
export const isTransient = (error: unknown): boolean => {
  const { code, details } = error as Readonly<{ code?: number; details?: string }>;
  return (
    error instanceof EventStoreAway || passingCodes.has(code ?? -1) || details?.includes('write after end') === true
  );
};

/** Throws RangeError if the text is no such URL. The message shows no credentials. */
export const parseEventStoreDbUrl = (url: string): EventStoreDbUrl => {
  const [, scheme, discover = '', credentials, hosts, query = ''] = FORM.exec(url) ?? [];
  if (scheme === undefined || hosts === undefined)
    throw new RangeError(
      'the URL of the event store must have the form esdb://[user:password@]host[:port][,host[:port]][?option=value], or begin with esdb+discover, kurrentdb or kurrentdb+discover',
    );
  if (credentials !== undefined && !/^[^:]+:.+$/.test(credentials))
    throw new RangeError(
      'the URL of the event store has credentials without a password: they are written user:password@',
    );
  const options = query === '' ? [] : query.split('&').map(optionOf);
  const prefix = options.find(([name]) => name === 'prefix')?.[1] ?? PREFIX_DEFAULT;
  if (!PREFIX_FORM.test(prefix))
    throw new RangeError(
      `prefix in the URL of the event store must be 1 to 40 letters, digits and underscores, but is ${prefix}`,
    );
  const passed = options
    .filter(([name]) => name !== 'prefix' && name !== TIMEOUT)
    .map(([name, value]) => `${name}=${value}`);
  const timeoutMs = Number(options.find(([name]) => name === TIMEOUT)?.[1] ?? KEEP_ALIVE_TIMEOUT_MS);
  const shown = `esdb${discover}://${hosts}`;
  const user = credentials === undefined ? '' : `${credentials}@`;
  return {
    clientUrl: (generation) =>
      `esdb${discover}://${user}${hosts}?${[...passed, `${TIMEOUT}=${timeoutMs < 0 ? timeoutMs : timeoutMs + (generation % GENERATIONS)}`].join('&')}`,
    prefix,
    shown,
  };
};

const optionOf = (text: string): readonly [name: string, value: string] => {
  const at = text.indexOf('=');
  const [name, value] = at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
  const known = name === 'prefix' ? name : CLIENT_OPTIONS.find((one) => one.toLowerCase() === name.toLowerCase());
  if (known === undefined)
    throw new RangeError(
      `the URL of the event store has an option that there is not: ${name}; there are ${CLIENT_OPTIONS.join(', ')}, prefix`,
    );
  if (value === '') throw new RangeError(`the option ${name} in the URL of the event store has no value`);
  return [known, value];
};

// * Decodes `ReadResp` (streams.proto) by hand: the library's decoder takes several times as long, and each reader
// decodes every event. The numbers are those of the fields.

/** An event, or the position up to which the server has looked. Both are undefined for other messages. */
export type ReadMessage = Readonly<{ event: RecordedServerEvent | undefined; checkpoint: number | undefined }>;

const NOTHING = Buffer.alloc(0);

const VARINT = 0;
const EIGHT_BYTES = 1;
const BYTES = 2;
const FOUR_BYTES = 5;

/** Throws if the bytes are no such message. */
export const readMessage = (bytes: Buffer): ReadMessage => {
  let event: RecordedServerEvent | undefined;
  let checkpoint: number | undefined;
  eachField(bytes, (field, part) => {
    if (field === 1) event = eventIn(part);
    else if (field === 3) checkpoint = commitIn(part);
  });
  return { event, checkpoint };
};

/** The event itself. Links are not resolved. */
const eventIn = (bytes: Buffer): RecordedServerEvent | undefined => {
  let event: RecordedServerEvent | undefined;
  eachField(bytes, (field, part) => {
    if (field === 1) event = recordedOf(part);
  });
  return event;
};

const recordedOf = (bytes: Buffer): RecordedServerEvent => {
  let [id, type, stream] = ['', '', ''];
  let data: Uint8Array = NOTHING;
  let metadata: Uint8Array = NOTHING;
  let [revision, commit] = [0, 0];
  eachField(
    bytes,
    (field, part) => {
      switch (field) {
        case 1:
          id = textIn(part, 2);
          break;
        case 2:
          stream = textIn(part, 3);
          break;
        case 6:
          if (textIn(part, 1) === 'type') type = textIn(part, 2);
          break;
        case 7:
          metadata = part;
          break;
        case 8:
          data = part;
      }
    },
    (field, number) => {
      if (field === 3) revision = number;
      else if (field === 5) commit = number;
    },
  );
  return { id, type, data, metadata, stream, revision, commit: certainCommit(commit) };
};

const commitIn = (bytes: Buffer): number => {
  let commit = 0;
  eachField(bytes, ignore, (field, number) => {
    if (field === 1) commit = number;
  });
  return certainCommit(commit);
};

const certainCommit = (commit: number): number => (isCommit(commit) ? commit : commitFrom(String(BigInt(commit))));

const textIn = (bytes: Buffer, wanted: number): string => {
  let text = '';
  eachField(bytes, (field, part) => {
    if (field === wanted) text = part.toString();
  });
  return text;
};

/** `onNumber` gets the nearest number for one of 64 bits that is too large. */
const eachField = (
  bytes: Buffer,
  onBytes: (field: number, part: Buffer) => void,
  onNumber: (field: number, number: number) => void = ignore,
): void => {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at];
      if (byte === undefined) throw notUnderstood();
      at += 1;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    const field = Math.floor(tag / 8);
    switch (tag % 8) {
      case VARINT:
        onNumber(field, varint());
        break;
      case EIGHT_BYTES:
        at += 8;
        break;
      case FOUR_BYTES:
        at += 4;
        break;
      case BYTES: {
        const size = varint();
        const begin = at;
        at += size;
        if (at <= bytes.length) onBytes(field, bytes.subarray(begin, at));
        break;
      }
      default:
        throw notUnderstood();
    }
    if (at > bytes.length) throw notUnderstood();
  }
};

const notUnderstood = (): Error => new Error('the event store sent a message that is none');
const ignore = (): void => {};
