/**
 * Splits the encrypted part of an email's events by recipient. If an email has several recipients, each one's part is encrypted with a
 * key of that recipient, and the shared rest with the key of the email.
 */
import type { ByEventType, DomainEvent, EventType } from '../events.js';
import type { EmailEvent } from './events.js';

type Sealed = Readonly<Record<string, unknown>>;

/** `field`: the list in the encrypted part with one element for each recipient; absent: the whole part belongs to one recipient. */
export type RecipientParts = Readonly<{
  field?: string;
  /** The recipient of each element, by the place in the email. */
  placesOf: (data: never) => readonly number[];
}>;

type DataOf<Type extends EmailEvent['type']> = Extract<EmailEvent, { type: Type }>['data'];

const accepted: RecipientParts = {
  field: 'recipients',
  placesOf: ({ roles }: DataOf<'EmailQueued'>) => roles.map((_, place) => place),
};
const replies: RecipientParts = {
  field: 'replies',
  placesOf: ({ outcomes }: DataOf<'EmailSent'>) => outcomes.map(({ recipient }) => recipient),
};
const reported: RecipientParts = {
  field: 'replies',
  placesOf: ({ bounces }: DataOf<'EmailBounceReported'>) => bounces.map(({ recipient }) => recipient),
};
const engaged: RecipientParts = { placesOf: ({ recipient }: DataOf<'EmailOpened'>) => [recipient] };

/** Complete by type: a new event does not compile until it stands here. */
const partsByType: ByEventType<'email', RecipientParts | 'none'> = {
  EmailQueued: accepted,
  EmailScheduled: accepted,
  CopyAnswered: replies,
  EmailSent: replies,
  EmailDeferred: replies,
  EmailBounced: replies,
  EmailFailed: replies,
  EmailBounceReported: reported,
  EmailOpened: engaged,
  EmailClicked: engaged,
  EmailRescheduled: 'none',
  EmailReleased: 'none',
  DeliveryAttempted: 'none',
  EmailDelivered: 'none',
  EmailComplained: 'none',
  EmailRetried: 'none',
  EmailCancelled: 'none',
  RecipientsSuppressed: 'none',
  EmailBouncesNoted: 'none',
  RecipientsErased: 'none',
  EmailDeleted: 'none',
  EmailArchived: 'none',
  EmailRemoved: 'none',
};

/** undefined: no part of the event belongs to one recipient. */
export const recipientPartsOf = (type: EventType): RecipientParts | undefined => {
  const parts = (partsByType as Readonly<Partial<Record<EventType, RecipientParts | 'none'>>>)[type];
  return parts === 'none' ? undefined : parts;
};

/** In: the first event of a stream. Out: the number of recipients; 0 for a stream that is no email. */
export const recipientCountOf = (first: DomainEvent | undefined): number =>
  first?.type === 'EmailQueued' || first?.type === 'EmailScheduled' ? first.data.roles.length : 0;

/** `shared`: the rest, undefined if it is empty. `own`: the part of each recipient, by its place. */
export type Apart = Readonly<{ shared: Sealed | undefined; own: ReadonlyMap<number, unknown> }>;

/** Splits an encrypted part by recipient. */
export const takenApart = ({ field, placesOf }: RecipientParts, data: unknown, sealed: Sealed): Apart => {
  const places = placesOf(data as never);
  if (field === undefined) return { shared: undefined, own: new Map(places.map((place) => [place, sealed])) };
  const { [field]: list, ...shared } = sealed;
  const own = new Map<number, unknown[]>();
  for (const [at, place] of places.entries()) {
    const element = (list as readonly unknown[])[at] ?? null;
    const known = own.get(place);
    if (known === undefined) own.set(place, [element]);
    else known.push(element);
  }
  return { shared: Object.keys(shared).length === 0 ? undefined : shared, own };
};

/** The reverse: elements of a recipient without a part become null. undefined: nothing is left. */
export const putTogether = ({ field, placesOf }: RecipientParts, data: unknown, { shared, own }: Apart): Sealed | undefined => {
  const places = placesOf(data as never);
  if (field === undefined) return places[0] === undefined ? undefined : (own.get(places[0]) as Sealed | undefined);
  const taken = new Map<number, number>();
  const list = places.map((place) => {
    const at = taken.get(place) ?? 0;
    taken.set(place, at + 1);
    return (own.get(place) as readonly unknown[] | undefined)?.[at] ?? null;
  });
  return { ...shared, [field]: list };
};
