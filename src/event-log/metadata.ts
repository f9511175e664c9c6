/** The metadata of an event as JSON text. Structure is checked on read, as that of the event is. */
import { UnreadableEvent } from './codec.js';
import type { EventMetadata } from '../domain/events.js';

const texts = ['eventId', 'teamId', 'occurredAt', 'actor', 'correlationId', 'causationId'] as const;
const optionalTexts = ['keyId', 'dataFile', 'sealedFile', 'origin'] as const;

export const encodeMetadata = (metadata: EventMetadata): string => JSON.stringify(metadata);

/** Throws UnreadableEvent where the text is no metadata. */
export const decodeMetadata = (text: string): EventMetadata => {
  const value = parse(text);
  if (typeof value !== 'object' || value === null) throw new UnreadableEvent('the metadata is no object');
  const metadata = value as Readonly<Record<string, unknown>>;
  for (const name of texts) if (typeof metadata[name] !== 'string') throw new UnreadableEvent(`the metadata has no text ${name}`);
  for (const name of optionalTexts) {
    const given = metadata[name];
    if (given !== undefined && typeof given !== 'string') throw new UnreadableEvent(`${name} of the metadata is no text`);
  }
  const { fence, recipientKeys } = metadata;
  if (recipientKeys !== undefined && !(Array.isArray(recipientKeys) && recipientKeys.every((id) => typeof id === 'string')))
    throw new UnreadableEvent('recipientKeys of the metadata are no texts');
  if (fence !== undefined && typeof fence !== 'number') throw new UnreadableEvent('fence of the metadata is no number');
  return metadata as EventMetadata;
};

/** undefined where the text is no metadata. */
export const readableMetadata = ({ metadata }: Readonly<{ metadata: string }>): EventMetadata | undefined => {
  try {
    return decodeMetadata(metadata);
  } catch {
    return undefined;
  }
};

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw new UnreadableEvent('the metadata is no JSON');
  }
};

/** As `encodeMetadata` writes it, where no text needs an escape. */
const AS_WRITTEN =
  /^\{"eventId":"[^"\\\0-\x1f]*","teamId":"[^"\\\0-\x1f]*","occurredAt":"[^"\\\0-\x1f]*","actor":"[^"\\\0-\x1f]*","correlationId":"[^"\\\0-\x1f]*","causationId":"[^"\\\0-\x1f]*"(?:,"keyId":"[^"\\\0-\x1f]*")?(?:,"recipientKeys":\[(?:"[^"\\\0-\x1f]*",)*"[^"\\\0-\x1f]*"\])?(?:,"fence":\d+)?(?:,"origin":"[^"\\\0-\x1f]*")?\}$/;

/** True where the text can certainly be decoded and names no file: looked at in far less time than it takes to parse it. */
export const isCertainlyMetadata = (text: string): boolean => AS_WRITTEN.test(text);
