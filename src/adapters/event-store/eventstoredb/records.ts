/**
 * The format of events at the server, and the names of our streams there. `data` is the event's data, byte for byte.
 * The metadata bytes are one JSON object,
 *
 *     {"hash":"<hex>","sealed":null|"<base64>"[,"eventId":"<id>"],"metadata":<the event's metadata, byte for byte>}
 *
 * with its members in this order and without spaces. It is cut apart, never parsed, so that reads give exactly the
 * bytes that were written. `eventId` is present only if the id of the event is no UUID. The server's id is then derived
 * from it.
 */
import * as crypto from 'node:crypto';
import type { EventToStore, Position, StoredEvent } from '../../../domain/ports/event-store.js';

/** An event in the server's form. */
export type ServerEvent = Readonly<{ id: string; type: string; data: Uint8Array; metadata: Uint8Array }>;
export type RecordedServerEvent = ServerEvent & Readonly<{ stream: string; revision: number; commit: number }>;

/** The names of our streams at a server that others may use too. */
export type StreamNames = Readonly<{
  /** The stream's name at the server. */
  atServer: (stream: string) => string;
  /** The stream's name here; undefined if it is not ours. */
  ours: (atServer: string) => string | undefined;
  /** The beginnings of the names of streams of these kinds at the server; if absent, of all our streams. */
  prefixes: (kinds: readonly string[] | undefined) => readonly string[];
  /** The stream beside the log in which the types of event are noted. */
  typeNotes: string;
}>;

type Parts = Readonly<{ eventId: string | undefined; metadata: string; sealed: Uint8Array | undefined; hash: string }>;

/** A prefix that no stream and no type has. A filter without any prefix would select everything. */
export const NOTHING = '\u0000';

const HASH_AT = '{"hash":"';
const SEALED_AT = '","sealed":';
const ID_AT = ',"eventId":';
const METADATA_AT = ',"metadata":';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const COMMIT_MAX = (Number.MAX_SAFE_INTEGER - 1) / 2;

/**
 * The position of an event is 2 × its commit position + 1. The even number before it means "just before the event", so
 * that `position - 1` is a position too, although commit positions are byte offsets and the server knows none between
 * two events.
 */
export const positionOf = (commit: number): Position => commit * 2 + 1;
export const commitOf = (position: Position): number => Math.floor(position / 2);
export const isBeforeEvent = (position: Position): boolean => position % 2 === 0;

/** The server writes "none" as the largest number of 64 bits. */
export const isCommit = (commit: number): boolean => commit >= 0 && commit <= COMMIT_MAX;

/** Throws if the text is no commit position, or one that is too large for a position. */
export const commitFrom = (text: string): number => {
  const commit = Number(text);
  if (isCommit(commit)) return commit;
  throw new RangeError(
    `the event store gave the commit position ${text}, which is beyond ${COMMIT_MAX}; a server before 22.6 gives none with the events of a stream`,
  );
};

/** The server takes only UUIDs. From any other id one is derived, always the same. */
export const serverIdOf = (eventId: string): string => {
  if (UUID.test(eventId)) return eventId;
  const hex = crypto.hash('sha256', `sealpost event id\n${eventId}`, 'hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

export const toServerEvent = ({ eventId, type, data, metadata, sealed, hash }: EventToStore): ServerEvent => {
  const id = serverIdOf(eventId);
  const sealedText = sealed === undefined ? 'null' : `"${base64(sealed)}"`;
  const idText = id === eventId ? '' : `,"eventId":${JSON.stringify(eventId)}`;
  return {
    id,
    type,
    data: Buffer.from(data),
    metadata: Buffer.from(`{"hash":"${hash}","sealed":${sealedText}${idText},"metadata":${metadata}}`),
  };
};

export const toStoredEvent = ({
  id,
  type,
  data,
  metadata,
  stream,
  revision,
  commit,
}: RecordedServerEvent): StoredEvent => {
  const text = textOf(metadata);
  // Metadata in another form was changed by somebody. It is given as it is, so that verification and readers find it
  // damaged.
  const parts = partsOf(text) ?? { eventId: undefined, metadata: text, sealed: undefined, hash: '' };
  // If the server's id is not derived from this id, the id was changed.
  const eventId = parts.eventId !== undefined && serverIdOf(parts.eventId) === id ? parts.eventId : id;
  return {
    eventId,
    type,
    data: textOf(data),
    metadata: parts.metadata,
    sealed: parts.sealed,
    hash: parts.hash,
    stream,
    revision,
    position: positionOf(commit),
  };
};

/** Out: undefined if the text has another form. */
const partsOf = (text: string): Parts | undefined => {
  if (!text.startsWith(HASH_AT) || !text.endsWith('}')) return undefined;
  const hashEnd = text.indexOf('"', HASH_AT.length);
  if (!text.startsWith(SEALED_AT, hashEnd)) return undefined;
  const sealedAt = hashEnd + SEALED_AT.length;
  const isSealed = text[sealedAt] === '"';
  const sealedEnd = isSealed ? text.indexOf('"', sealedAt + 1) + 1 : sealedAt + 'null'.length;
  const idEnd = text.startsWith(ID_AT, sealedEnd) ? endOfString(text, sealedEnd + ID_AT.length) : sealedEnd;
  if (sealedEnd === 0 || !text.startsWith(METADATA_AT, idEnd)) return undefined;
  return {
    hash: text.slice(HASH_AT.length, hashEnd),
    sealed: isSealed ? Buffer.from(text.slice(sealedAt + 1, sealedEnd - 1), 'base64') : undefined,
    eventId: idEnd === sealedEnd ? undefined : unquoted(text.slice(sealedEnd + ID_AT.length, idEnd)),
    metadata: text.slice(idEnd + METADATA_AT.length, -1),
  };
};

/** The index after the closing quotation mark of the JSON string that begins at `from`; -1 if there is none. */
const endOfString = (text: string, from: number): number => {
  const found = /^"(?:[^"\\]|\\.)*"/.exec(text.slice(from));
  return found === null ? -1 : from + found[0].length;
};

const unquoted = (text: string): string | undefined => {
  try {
    return JSON.parse(text) as string;
  } catch {
    return undefined;
  }
};

const base64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();

export const streamNames = (prefix: string): StreamNames => {
  const begin = `${prefix}.`;
  return {
    atServer: (stream) => begin + stream,
    ours: (name) => (name.startsWith(begin) ? name.slice(begin.length) : undefined),
    prefixes: (kinds) => {
      if (kinds === undefined) return [begin];
      return kinds.length === 0 ? [begin + NOTHING] : kinds.map((kind) => begin + kind);
    },
    // Without the dot it is no stream of the log, and no log of another prefix has it.
    typeNotes: `${prefix}-types`,
  };
};

/** Whether a stream is of one of the kinds. The server's filter matches longer names too. */
export const kindMatcher = (kinds: readonly string[] | undefined): ((stream: string) => boolean) => {
  if (kinds === undefined) return () => true;
  const wanted = new Set(kinds);
  return (stream) => {
    const at = stream.indexOf('-');
    return wanted.has(at < 0 ? stream : stream.slice(0, at));
  };
};

/** Whether a type is one of the stored names. The server's filter matches longer names too. */
export const typeMatcher = (types: readonly string[] | undefined): ((type: string) => boolean) => {
  if (types === undefined) return () => true;
  const wanted = new Set(types);
  return (type) => wanted.has(type);
};

/** The event with our name for its stream; undefined if the stream is not ours. */
export const renamed = (names: StreamNames, event: RecordedServerEvent): RecordedServerEvent | undefined => {
  const stream = names.ours(event.stream);
  return stream === undefined ? undefined : { ...event, stream };
};
