/** A stream as it was at a moment of the past, and what is left of a stream whose personal data is erased. */
import { putTogether, recipientPartsOf, takenApart } from '../domain/email/recipient-parts.js';
import { erasingEvents, type DomainEvent, type EventType, type Recorded } from '../domain/events.js';
import type { AsOf } from '../domain/core/time.js';

/**
 * The events of a stream up to a moment, that of the event named included; undefined where no event of the stream has
 * that id. By time it is those before the first that was recorded later, so that a clock that was set back brings
 * nothing of a later time in.
 */
export const eventsAsOf = (recorded: readonly Recorded[], asOf: AsOf): readonly Recorded[] | undefined => {
  const sound = withoutErased(recorded);
  if ('eventId' in asOf) {
    const index = sound.findIndex(({ metadata }) => metadata.eventId === asOf.eventId);
    return index < 0 ? undefined : sound.slice(0, index + 1);
  }
  const later = sound.findIndex(({ metadata }) => metadata.occurredAt > asOf.at);
  return later < 0 ? sound : sound.slice(0, later);
};

const erasing: ReadonlySet<EventType> = new Set(erasingEvents);

/**
 * The fact stands before the key is destroyed: what is personal of the events before it is left out from then on, and
 * of an email to several what belongs to those of its recipients who are erased.
 */
export const withoutErased = (recorded: readonly Recorded[]): readonly Recorded[] => {
  const last = recorded.findLastIndex(({ event }) => erasing.has(event.type));
  const places = new Set(
    recorded.flatMap(({ event }) => (event.type === 'RecipientsErased' ? event.data.recipients : [])),
  );
  return recorded.map((one, index) => {
    const sealed = 'sealed' in one.event ? one.event.sealed : undefined;
    if (sealed === undefined) return one;
    return index <= last
      ? withSealed(one, undefined)
      : places.size === 0
        ? one
        : withSealed(one, withoutPlaces(one.event, sealed, places));
  });
};

const withoutPlaces = (event: DomainEvent, sealed: object, places: ReadonlySet<number>): object | undefined => {
  const parts = recipientPartsOf(event.type);
  if (parts === undefined) return sealed;
  const { shared, own } = takenApart(parts, event.data, sealed as Readonly<Record<string, unknown>>);
  return putTogether(parts, event.data, { shared, own: new Map([...own].filter(([place]) => !places.has(place))) });
};

const withSealed = (
  { event, stream, revision, position, hash, metadata }: Recorded,
  sealed: object | undefined,
): Recorded => ({
  event: { ...event, sealed } as DomainEvent,
  stream,
  revision,
  position,
  hash,
  metadata,
});
