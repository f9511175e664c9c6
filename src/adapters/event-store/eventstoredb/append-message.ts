/**
 * Writes an append as the bytes of `BatchAppendReq` (streams.proto). Written by hand, for the library's encoder takes several times as
 * long and is asked for every event. The numbers are those of the fields; each is below 16, so a tag is one byte.
 */
import type { ServerEvent } from './records.js';

export type AppendToSend = Readonly<{
  /** A UUID; the answer names it. */
  correlationId: string;
  stream: string;
  /** -1: the stream must not exist; undefined: any. */
  expectedRevision: number | undefined;
  events: readonly ServerEvent[];
}>;

/** A message takes several events up to this size; the server takes no message beyond 17 MB. */
const MESSAGE_BYTES = 1024 * 1024;
/** The server uses its own timeout where that ends sooner; so far ahead, the clocks of both may differ by hours. */
const DEADLINE_AHEAD_S = 24 * 60 * 60;

const VARINT = 0;
const BYTES = 2;
const tag = (field: number, kind: number): number => field * 8 + kind;

/** The messages of one append; it takes effect with the last. */
export const appendMessages = ({ correlationId, stream, expectedRevision, events }: AppendToSend): readonly Buffer[] => {
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
const entry = (key: string, value: string): Buffer => Buffer.concat([field(1, Buffer.from(key)), field(2, Buffer.from(value))]);

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

const NOTHING = Buffer.alloc(0);
const FINAL = Buffer.of(tag(4, VARINT), 1);
const CONTENT_TYPE = field(2, entry('content-type', 'application/json'));
