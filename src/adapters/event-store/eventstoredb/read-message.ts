/**
 * Decodes `ReadResp` (streams.proto) by hand: the library's decoder takes several times as long, and each reader decodes every event.
 * The numbers are those of the fields.
 */
import { commitFrom, isCommit, type RecordedServerEvent } from './records.js';

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
