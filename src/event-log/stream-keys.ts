/**
 * The version of a stream that an append continues, and its keys: one for the stream, and one for each recipient of an
 * email with several.
 */
import { chainStart, readableMetadata } from './hash-chain.js';
import type { Recorded, DomainEvent } from '../domain/events.js';
import type { EventMetadata } from '../domain/core/event.js';
import { decodeEvent, namesOf } from './codec.js';
import type { StoredEvent } from '../domain/ports/event-store.js';
import { recipientCountOf } from '../domain/email/recipient-parts.js';
import type { Keys, SealingKey } from '../domain/ports/keys.js';

/**
 * The expected revision of the next append, the hash that it continues, the key of the stream where it has one, those
 * of its recipients where they have keys of their own, and the fence of the lease under which its last event was
 * appended.
 */
export type StreamVersion = Readonly<{
  revision: number;
  hash: string;
  keyId: string | undefined;
  recipientKeys?: readonly string[];
  fence?: number;
}>;

/** `keyId`: a key that was made for the stream before its first event, for files that belong to it. */
export const startOf = (stream: string, keyId?: string): StreamVersion => ({
  revision: -1,
  hash: chainStart(stream),
  keyId,
});

/** The version of a stream whose last event is given. */
export const versionOf = ({
  revision,
  hash,
  metadata,
}: Pick<Recorded, 'revision' | 'hash' | 'metadata'>): StreamVersion => ({
  revision,
  hash,
  keyId: metadata.keyId,
  ...(metadata.recipientKeys === undefined ? {} : { recipientKeys: metadata.recipientKeys }),
  ...(metadata.fence === undefined ? {} : { fence: metadata.fence }),
});

const erased = namesOf(['RecipientsErased']);

export const recipientsErasedNames: readonly string[] = [...erased];

type ErasedRecipients = Readonly<{ recipients: readonly number[]; keyIds: readonly string[] }>;

/**
 * The recipients that an event says are erased, read without any key; undefined for other events and for an unreadable
 * one.
 */
export const recipientsErasedBy = (
  event: Pick<StoredEvent, 'type' | 'data' | 'metadata'>,
): ErasedRecipients | undefined => {
  if (!erased.has(event.type)) return undefined;
  const { recipientKeys = [] } = readableMetadata(event) ?? {};
  const recipients = placesIn(event);
  return recipients && { recipients, keyIds: recipients.flatMap((place) => recipientKeys[place] ?? []) };
};

const placesIn = ({ type, data }: Pick<StoredEvent, 'type' | 'data'>): readonly number[] | undefined => {
  try {
    const event = decodeEvent(type, data, undefined);
    return event.type === 'RecipientsErased' ? event.data.recipients : undefined;
  } catch {
    return undefined;
  }
};

export type StreamKeys = Readonly<{
  id: string | undefined;
  key: SealingKey | undefined;
  recipientKeys: readonly string[] | undefined;
  /** The key of the recipient at that place; undefined where it is destroyed, or there is none. */
  own: (place: number) => SealingKey | undefined;
}>;

/**
 * How many recipients have keys of their own. In: where the stream ends, and the first event that is to be appended to
 * it.
 */
export const recipientKeyCount = (
  { revision, recipientKeys }: StreamVersion,
  first: DomainEvent | undefined,
): number => {
  if (revision >= 0) return recipientKeys?.length ?? 0;
  const recipients = recipientCountOf(first);
  return recipients > 1 ? recipients : 0;
};

const none = (): undefined => undefined;

export const existingKey = async (
  keys: Pick<Keys, 'getMany'>,
  id: string | undefined,
): Promise<SealingKey | undefined> => (id === undefined ? undefined : (await keys.getMany([id])).get(id));

/**
 * A key must be durable before the event that needs it; a key without an event harms nobody. Keys are made with the
 * first event of a stream and never anew: what comes after their destruction is written without its sealed part, for a
 * second key could not open what the first has sealed. `recipients`: as many as have keys of their own. `isPersonal`:
 * whether anything is to be sealed. `known`: the key of the stream where it is at hand.
 */
export const keysOfStream = async (
  keys: Keys,
  version: StreamVersion,
  recipients: number,
  isPersonal: boolean,
  known?: SealingKey,
): Promise<StreamKeys> => {
  const { revision, keyId, recipientKeys } = version;
  if (!isPersonal) return { id: keyId, key: undefined, recipientKeys, own: none };
  if (recipients > 0)
    return recipientKeys === undefined ? begin(keys, keyId, recipients) : goOn(keys, keyId, recipientKeys);
  if (known !== undefined) return { id: keyId, key: known, recipientKeys, own: none };
  if (revision >= 0 || keyId !== undefined)
    return { id: keyId, key: await existingKey(keys, keyId), recipientKeys, own: none };
  return { ...(await keys.create()), recipientKeys, own: none };
};

/** `keyId`: of the key that was made before for files that belong to the stream. */
const begin = async (keys: Keys, keyId: string | undefined, recipients: number): Promise<StreamKeys> => {
  const shared = keyId === undefined ? await keys.create() : { id: keyId, key: await existingKey(keys, keyId) };
  const made = await Promise.all(Array.from({ length: recipients }, () => keys.create()));
  return { ...shared, recipientKeys: made.map(({ id }) => id), own: (place) => made[place]?.key };
};

const goOn = async (keys: Keys, id: string | undefined, recipientKeys: readonly string[]): Promise<StreamKeys> => {
  const found = await keys.getMany(id === undefined ? recipientKeys : [id, ...recipientKeys]);
  return { id, key: id === undefined ? undefined : found.get(id), recipientKeys, own: ownIn(found, recipientKeys) };
};

/** Finds the key of a recipient among those that are there. */
export const ownIn =
  (found: ReadonlyMap<string, SealingKey>, recipientKeys: readonly string[] | undefined): StreamKeys['own'] =>
  (place) =>
    found.get(recipientKeys?.[place] ?? '');

/** The ids of all keys of the stream of an event. */
export const allKeyIds = ({
  keyId,
  recipientKeys = [],
}: Pick<EventMetadata, 'keyId' | 'recipientKeys'>): readonly string[] =>
  keyId === undefined ? recipientKeys : [keyId, ...recipientKeys];
