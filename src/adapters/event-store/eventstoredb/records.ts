/**
 * Events as they stand at the server. `data` is the event's data, byte for byte. The metadata bytes are one JSON object,
 *
 *     {"hash":"<hex>","sealed":null|"<base64>"[,"eventId":"<id>"],"metadata":<the event's metadata, byte for byte>}
 *
 * with its members in this order and without spaces, so that it is cut apart, never parsed: what is read is exactly what was written.
 * `eventId` is there only where the id of the event is no UUID; the server's id is then derived from it.
 */
import * as crypto from 'node:crypto';
import type { EventToStore, Position, StoredEvent } from '../../../domain/ports/event-store.js';

/** An event as the server is given it and gives it. */
export type ServerEvent = Readonly<{ id: string; type: string; data: Uint8Array; metadata: Uint8Array }>;
export type RecordedServerEvent = ServerEvent & Readonly<{ stream: string; revision: number; commit: number }>;

/**
 * The position of an event is 2 × its commit position + 1. The even number before it stands just before the event, so that
 * `position - 1` is a place of the log too, although commit positions are offsets of bytes and the server knows none between them.
 */
export const positionOf = (commit: number): Position => commit * 2 + 1;
export const commitOf = (position: Position): number => Math.floor(position / 2);
export const isBeforeEvent = (position: Position): boolean => position % 2 === 0;
const COMMIT_MAX = (Number.MAX_SAFE_INTEGER - 1) / 2;

/** The server writes "none" as the largest number of 64 bits. */
export const isCommit = (commit: number): boolean => commit >= 0 && commit <= COMMIT_MAX;

/** Throws where there is none, or the log is longer than positions can tell. */
export const commitFrom = (text: string): number => {
  const commit = Number(text);
  if (isCommit(commit)) return commit;
  throw new RangeError(
    `the event store gave the commit position ${text}, which is beyond ${COMMIT_MAX}; a server before 22.6 gives none with the events of a stream`,
  );
};

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The server takes UUIDs alone; of any other id one is derived, always the same. */
export const serverIdOf = (eventId: string): string => {
  if (UUID.test(eventId)) return eventId;
  const hex = crypto.hash('sha256', `sealpost event id\n${eventId}`, 'hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

/** Stands where an event was truncated in the log from which this one was copied. No type of event begins with a space. */
export const TRUNCATED = ' truncated';

export const truncatedEvent = (atServer: string, revision: number): ServerEvent => ({
  id: serverIdOf(`truncated ${revision} of ${atServer}`),
  type: TRUNCATED,
  data: Buffer.from('{}'),
  metadata: Buffer.from('{}'),
});

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

export const toStoredEvent = ({ id, type, data, metadata, stream, revision, commit }: RecordedServerEvent): StoredEvent => {
  const text = textOf(metadata);
  // What somebody changed beyond recognition is read as it stands, so that verification and readers find it damaged.
  const parts = partsOf(text) ?? { eventId: undefined, metadata: text, sealed: undefined, hash: '' };
  // An id that is not the one from which that of the server was derived was changed.
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

const HASH_AT = '{"hash":"';
const SEALED_AT = '","sealed":';
const ID_AT = ',"eventId":';
const METADATA_AT = ',"metadata":';

type Parts = Readonly<{ eventId: string | undefined; metadata: string; sealed: Uint8Array | undefined; hash: string }>;

/** undefined where the text is not as it is written. */
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

/** After the closing quotation mark of the JSON string that begins at `from`; -1 where there is none. */
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

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
