/** Which keys of recipients the log says are destroyed, told by stored events without any key. */
import { decodeEvent, namesOf } from './codec.js';
import { readableMetadata } from './metadata.js';
import type { StoredEvent } from '../domain/ports/event-store.js';

const erased = namesOf(['RecipientsErased']);

export const recipientsErasedNames: readonly string[] = [...erased];

export type ErasedRecipients = Readonly<{ recipients: readonly number[]; keyIds: readonly string[] }>;

/** undefined for any other event, and for one that cannot be read. */
export const recipientsErasedBy = (event: Pick<StoredEvent, 'type' | 'data' | 'metadata'>): ErasedRecipients | undefined => {
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
