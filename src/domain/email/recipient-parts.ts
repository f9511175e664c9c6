/**
 * Splits the encrypted part of an email's events by recipient. If an email has several recipients, each one's part is
 * encrypted with a key of that recipient, and the shared rest with the key of the email.
 */
import type { AnyEvent, EventDefinitions, RecipientParts } from '../core/event.js';
import { emailEvents, type EmailAccepted } from './events.js';

type Sealed = Readonly<Record<string, unknown>>;

/** undefined: no part of the event belongs to one recipient. */
export const recipientPartsOf = (type: string): RecipientParts<never> | undefined =>
  (emailEvents as EventDefinitions)[type]?.perRecipient;

/** In: the first event of a stream. Out: the number of recipients; 0 for a stream that is no email. */
export const recipientCountOf = (first: AnyEvent | undefined): number =>
  first?.type === 'EmailQueued' || first?.type === 'EmailScheduled' ? (first as EmailAccepted).data.roles.length : 0;

/** `shared`: the rest, undefined if it is empty. `own`: the part of each recipient, by its place. */
export type Apart = Readonly<{ shared: Sealed | undefined; own: ReadonlyMap<number, unknown> }>;

/** Splits an encrypted part by recipient. */
export const takenApart = ({ field, placesOf }: RecipientParts<never>, data: unknown, sealed: Sealed): Apart => {
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
export const putTogether = (
  { field, placesOf }: RecipientParts<never>,
  data: unknown,
  { shared, own }: Apart,
): Sealed | undefined => {
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
