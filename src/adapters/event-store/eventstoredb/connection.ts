/**
 * The connection to an EventStoreDB or KurrentDB server. Addresses, discovery of the leader, TLS and credentials are the client library's;
 * the calls are made through its generated stubs, because its own append keeps the pending appends of all clients of a process in one
 * table, ends the process where a stream breaks off while it is written to, and parses and formats what must stay byte for byte.
 */
import { EventStoreDBClient, UnavailableError } from '@eventstore/db-client';
import streamsGrpc, { type StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams, { type BatchAppendResp, type ReadReq, type ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { Clock } from '../../../domain/ports/clock.js';
import type { EventStoreDbUrl } from './url.js';

/** Takes messages as they were encoded, gives the answers. */
export type BatchCall = Readonly<{
  write: (message: Buffer) => boolean;
  cancel: () => void;
  on: ((event: 'data', listener: (response: BatchAppendResp) => void) => unknown) &
    ((event: 'error', listener: (error: Error) => void) => unknown) &
    ((event: 'end', listener: () => void) => unknown);
}>;

export type Connection = Readonly<{
  /** As messages name the server. */
  shown: string;
  /** A stream of appends on a connection that stands. Rejects with EventStoreAway where there is none within the time. */
  openBatch: () => Promise<BatchCall>;
  /** The messages of one read; rejects with the error of the call. `timeoutMs`: within which all of it must have come. */
  read: (request: ReadReq, options: Readonly<{ timeoutMs?: number; signal?: AbortSignal }>) => AsyncGenerator<ReadResp>;
  /** Tells of an error of a call, so that the next one goes to where the leader is now. */
  failed: (error: Error) => void;
  close: () => Promise<void>;
}>;

/** The server cannot be reached, so nothing has been sent. */
export class EventStoreAway extends Error {
  override name = 'EventStoreAway';
}

/** What ends with the connection, and not with the request: another attempt may succeed. */
export const isPassing = (error: unknown): boolean => {
  const { code, details } = error as Readonly<{ code?: number; details?: string }>;
  return error instanceof EventStoreAway || passingCodes.has(code ?? -1) || details?.includes('write after end') === true;
};
/** CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, NOT_FOUND (of a leader that is none any more), ABORTED, INTERNAL, UNAVAILABLE. */
const passingCodes: ReadonlySet<number> = new Set([1, 2, 4, 5, 10, 13, 14]);

export type ConnectionOptions = Readonly<{ url: EventStoreDbUrl; clock: Clock; connectMs: number }>;

export const openConnection = ({ url, clock, connectMs }: ConnectionOptions): Connection => {
  const client = clientOf(url);
  const away = (cause: unknown): EventStoreAway =>
    new EventStoreAway(`the event store at ${url.shown} cannot be reached${because(cause)}`, { cause });
  let used: StreamsClient | undefined;

  const stubs = async (): Promise<StreamsClient> => {
    try {
      used = await client['execute'](streamsGrpc.StreamsClient, 'streams', (made) => Promise.resolve(made));
      return used;
    } catch (cause) {
      throw away(cause);
    }
  };

  const ready = async (): Promise<StreamsClient> => {
    const made = await within(stubs(), connectMs, clock, () => away(undefined));
    await new Promise<void>((resolve, reject) => {
      made.waitForReady(Date.now() + connectMs, (fault) => {
        if (fault === undefined || fault === null) return resolve();
        // A channel that does not connect is given up: the next one asks anew where the server is, and waits no longer and longer.
        void client['handleError'](made, new UnavailableError());
        reject(away(fault));
      });
    });
    return made;
  };

  const failed = (error: Error): void => {
    if (used !== undefined) void client['handleError'](used, error);
  };

  return {
    shown: url.shown,
    failed,
    openBatch: async () => {
      const made = await ready();
      return made.makeBidiStreamRequest<Buffer, BatchAppendResp>(
        streamsGrpc.StreamsService.batchAppend.path,
        (encoded) => encoded,
        (bytes) => streams.BatchAppendResp.deserializeBinary(bytes),
        ...client['callArguments']({}, { deadline: Number.POSITIVE_INFINITY }),
      );
    },
    read: (request, options) => readThrough(client, ready, failed, request, options),
    close: async () => {
      await client.dispose();
      used?.getChannel().close();
    },
  };
};

async function* readThrough(
  client: EventStoreDBClient,
  ready: () => Promise<StreamsClient>,
  failed: Connection['failed'],
  request: ReadReq,
  { timeoutMs, signal }: Readonly<{ timeoutMs?: number; signal?: AbortSignal }>,
): AsyncGenerator<ReadResp> {
  const made = await ready();
  if (isAborted(signal)) return;
  const deadline = timeoutMs === undefined ? Number.POSITIVE_INFINITY : Date.now() + timeoutMs;
  const call = made.read(request, ...client['callArguments']({ requiresLeader: true }, { deadline }));
  const cancel = (): void => call.cancel();
  signal?.addEventListener('abort', cancel, { once: true });
  try {
    yield* call as AsyncIterable<ReadResp>;
  } catch (error) {
    if (isAborted(signal)) return;
    failed(error as Error);
    throw error;
  } finally {
    signal?.removeEventListener('abort', cancel);
    // A call that is cancelled ends with an error that nobody waits for.
    call.on('error', () => {});
    call.cancel();
  }
}

const isAborted = (signal: AbortSignal | undefined): boolean => signal?.aborted === true;

/** The library's errors hold the URL, password included, so they are not passed on. */
const clientOf = ({ clientUrl, shown }: EventStoreDbUrl): EventStoreDBClient => {
  const [client, fault] = attempt(() => EventStoreDBClient.connectionString(clientUrl));
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

const because = (cause: unknown): string => (cause instanceof Error && cause.message !== '' ? `: ${cause.message}` : '');

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
