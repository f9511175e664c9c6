/**
 * Appends, many of them under way on one call. The answer of each is found by its correlation id. If the call ends or
 * is silent for too long, the outcome of the appends under way on it is unknown. Calls of other clients are not
 * affected.
 */
import * as crypto from 'node:crypto';
import { isCommit, type ServerEvent } from './records.js';
import type { Clock } from '../../../domain/ports/clock.js';
import { shared, type BatchAppendResp, type BatchCall, type Connection, type Status } from './connection.js';

type AppendAnswer =
  /** `commit`: the commit position of the last event, if the server gives it. */
  | Readonly<{ kind: 'done'; revision: number; commit: number | undefined }>
  | Readonly<{ kind: 'conflict'; actualRevision: number }>
  | Readonly<{ kind: 'refused'; error: Error }>
  | Readonly<{ kind: 'unknown'; cause: Error }>;

type AppendToSend = Readonly<{
  /** A UUID that the answer names. */
  correlationId: string;
  stream: string;
  /** -1: the stream must not exist; undefined: any. */
  expectedRevision: number | undefined;
  events: readonly ServerEvent[];
}>;

export type Appends = Readonly<{
  /** Rejects with EventStoreAway if the server cannot be reached. The append is not written then. */
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

/** A message holds several events up to this size. The server refuses messages beyond 17 MB. */
const MESSAGE_BYTES = 1024 * 1024;
/** So far ahead that the clocks of both may differ by hours. The server's own timeout ends sooner. */
const DEADLINE_AHEAD_S = 24 * 60 * 60;

const VARINT = 0;
const BYTES = 2;

const NOTHING = Buffer.alloc(0);

const COUNTED = 0xff_ff_ff_ff_ff_ffn;

/** The server refused the append: nothing was written, and the same append will be refused again. */
export class AppendRefused extends Error {
  override name = 'AppendRefused';
}

export const openAppends = (deps: Deps): Appends => {
  const { clock } = deps;
  const closing = new AbortController();
  const underWay = new Set<Promise<AppendAnswer>>();
  const calls = currentCall(deps);
  const watch = lateAnswers(deps, calls.current, closing.signal);
  /** Correlation ids of one client share this prefix. Their last twelve digits count. */
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
    // The call may have ended while this append waited for it.
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

/** The call that all appends share. The next one is opened when it is needed. */
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
const lateAnswers = (
  { clock, timeoutMs }: Deps,
  current: () => Call | undefined,
  closing: AbortSignal,
): (() => Promise<void>) => {
  let isWatching = false;
  const expire = (call: Call, upToMs: number): void => {
    const late = new Error(`the event store has not answered within ${timeoutMs} ms`);
    // A call with no answer since then is given up, so that the server does not write its appends ever later.
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

/** A call and the appends under way on it. */
const trackedCall = (
  { call, failed }: Awaited<ReturnType<Connection['openBatch']>>,
  clock: Pick<Clock, 'monotonic'>,
): Call => {
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
    // A late answer: the outcome of its append was already given as unknown.
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

/** The count at the end of the correlation id, which the server gives back as text or as two numbers. */
const keyOf = (response: BatchAppendResp): number => {
  const id = response.getCorrelationId();
  const structured = id?.getStructured();
  if (structured !== undefined) return Number(BigInt(structured.getLeastSignificantBits()) & COUNTED);
  return Number.parseInt(id?.getString().slice(-12) ?? '', 16);
};

const answerOf = (response: BatchAppendResp): AppendAnswer => {
  const success = response.getSuccess();
  if (success !== undefined) {
    const commit = Number(success.getPosition()?.getCommitPosition() ?? Number.NaN);
    return {
      kind: 'done',
      revision: Number(success.getCurrentRevision()),
      commit: isCommit(commit) ? commit : undefined,
    };
  }
  const status = response.getError();
  return status === undefined ? unknown('an empty answer') : errorOf(status);
};

const errorOf = (status: Status): AppendAnswer => {
  const details = status.getDetails();
  const type = details?.getTypeName() ?? '';
  const bytes = details?.getValue_asU8() ?? new Uint8Array(0);
  switch (type) {
    case 'event_store.client.WrongExpectedVersion': {
      const wrong = shared.WrongExpectedVersion.deserializeBinary(bytes);
      return {
        kind: 'conflict',
        actualRevision: wrong.hasCurrentStreamRevision() ? Number(wrong.getCurrentStreamRevision()) : -1,
      };
    }
    case 'event_store.client.MaximumAppendSizeExceeded': {
      const max = shared.MaximumAppendSizeExceeded.deserializeBinary(bytes).getMaxappendsize();
      return refused(
        `the events of one append are larger than the ${max} bytes that the event store takes (its option MaxAppendSize)`,
      );
    }
    case 'event_store.client.AccessDenied':
      return refused('the event store does not let the user of the URL append');
    case 'event_store.client.StreamDeleted':
      return refused(
        'the stream was deleted for good at the event store, where nobody but an administrator can have done that',
      );
    default:
      return unknown(
        `${type === '' ? 'an error' : type}${status.getMessage() === '' ? '' : `: ${status.getMessage()}`}`,
      );
  }
};

const refused = (message: string): AppendAnswer => ({ kind: 'refused', error: new AppendRefused(message) });
const unknown = (message: string): AppendAnswer => ({
  kind: 'unknown',
  cause: new Error(`the event store answered with ${message}`),
});
const tag = (field: number, kind: number): number => field * 8 + kind;

/**
 * The messages of one append, which takes effect with the last. `BatchAppendReq` (streams.proto) is encoded by hand:
 * the library's encoder takes several times as long, and encodes every event. The numbers are those of the fields; each
 * is below 16, so a tag is one byte.
 */
export const appendMessages = ({
  correlationId,
  stream,
  expectedRevision,
  events,
}: AppendToSend): readonly Buffer[] => {
  const head = field(1, uuid(correlationId));
  const groups = inGroups(events);
  return groups.map((group, index) => {
    const options = index === 0 ? [field(2, appendOptions(stream, expectedRevision))] : [];
    const end = index === groups.length - 1 ? [FINAL] : [];
    return Buffer.concat([head, ...options, ...group.map(proposed), ...end]);
  });
};

export const sizeOf = ({ data, metadata }: ServerEvent): number => data.byteLength + metadata.byteLength;

const inGroups = (events: readonly ServerEvent[]): readonly (readonly ServerEvent[])[] => {
  if (events.length === 1) return [events];
  const groups: ServerEvent[][] = [[]];
  let bytes = 0;
  for (const event of events) {
    if (bytes > 0 && bytes + sizeOf(event) > MESSAGE_BYTES) {
      groups.push([]);
      bytes = 0;
    }
    bytes += sizeOf(event);
    groups.at(-1)!.push(event);
  }
  return groups;
};

const appendOptions = (stream: string, expectedRevision: number | undefined): Buffer => {
  const seconds = varint(Math.floor(Date.now() / 1_000) + DEADLINE_AHEAD_S);
  return Buffer.concat([
    field(1, field(3, Buffer.from(stream))),
    expectation(expectedRevision),
    field(6, Buffer.concat([Buffer.of(tag(1, VARINT)), seconds])),
  ]);
};

const expectation = (revision: number | undefined): Buffer => {
  if (revision === undefined) return field(4, NOTHING);
  return revision < 0 ? field(3, NOTHING) : Buffer.concat([Buffer.of(tag(2, VARINT)), varint(revision)]);
};

const proposed = ({ id, type, data, metadata }: ServerEvent): Buffer => {
  const fixed = Buffer.concat([field(1, uuid(id)), field(2, entry('type', type)), CONTENT_TYPE]);
  const size = fixed.length + fieldSize(metadata.byteLength) + fieldSize(data.byteLength);
  const written = Buffer.allocUnsafe(fieldSize(size));
  let at = writeHead(written, 0, 3, size);
  at += fixed.copy(written, at);
  at = writeHead(written, at, 3, metadata.byteLength);
  written.set(metadata, at);
  at = writeHead(written, at + metadata.byteLength, 4, data.byteLength);
  written.set(data, at);
  return written;
};

const uuid = (id: string): Buffer => field(2, Buffer.from(id, 'latin1'));
const entry = (key: string, value: string): Buffer =>
  Buffer.concat([field(1, Buffer.from(key)), field(2, Buffer.from(value))]);

const field = (number: number, bytes: Uint8Array): Buffer => {
  const written = Buffer.allocUnsafe(fieldSize(bytes.byteLength));
  written.set(bytes, writeHead(written, 0, number, bytes.byteLength));
  return written;
};

const fieldSize = (length: number): number => 1 + varintSize(length) + length;

const writeHead = (into: Buffer, at: number, number: number, length: number): number => {
  into[at] = tag(number, BYTES);
  return writeVarint(into, at + 1, length);
};

const varintSize = (value: number): number => {
  let size = 1;
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) size += 1;
  return size;
};

const writeVarint = (into: Buffer, from: number, value: number): number => {
  let at = from;
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) {
    into[at] = (rest % 128) + 128;
    at += 1;
  }
  into[at] = rest;
  return at + 1;
};

const varint = (value: number): Buffer => {
  const written = Buffer.allocUnsafe(varintSize(value));
  writeVarint(written, 0, value);
  return written;
};

const FINAL = Buffer.of(tag(4, VARINT), 1);
const CONTENT_TYPE = field(2, entry('content-type', 'application/json'));
