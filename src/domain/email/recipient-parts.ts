/**
 * Which of the sealed parts of an email's events belong to one recipient alone. Where an email has several, each of these is sealed under
 * a key of its recipient, and what belongs to all of them under the key of the email.
 */
import type { ByEventType, DomainEvent, EventType } from '../events.js';
import type { EmailEvent } from './events.js';

type Sealed = Readonly<Record<string, unknown>>;

/** `field`: the list of the sealed part whose elements belong to one recipient each; absent where all of the sealed part does. */
export type RecipientParts = Readonly<{
  field?: string;
  /** To whom each element belongs, by the place in the email. */
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

/** A new type of event does not compile until it says here what of it belongs to one recipient. */
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
  EmailSummarised: 'none',
  EmailRetired: 'none',
};

/** undefined for an event of which nothing belongs to one recipient alone. */
export const recipientPartsOf = (type: EventType): RecipientParts | undefined => {
  const parts = (partsByType as Readonly<Partial<Record<EventType, RecipientParts | 'none'>>>)[type];
  return parts === 'none' ? undefined : parts;
};

/** How many recipients the stream has that begins with that event; 0 for a stream without any. */
export const recipientCountOf = (first: DomainEvent | undefined): number =>
  first?.type === 'EmailQueued' || first?.type === 'EmailScheduled' ? first.data.roles.length : 0;

/** `shared`: what belongs to all, undefined for nothing. `own`: what belongs to a recipient, by its place. */
export type Apart = Readonly<{ shared: Sealed | undefined; own: ReadonlyMap<number, unknown> }>;

/** Takes a sealed part apart. */
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

/** Puts it together again: null stands for what belongs to a recipient of whom there is nothing. undefined: nothing is left of it. */
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
