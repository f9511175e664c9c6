/** What of the log this process cannot read: for health, and for the sentences of the start. */
import { UnknownEvent, type Codec } from './codec.js';
import type { Unreadable } from './decoding.js';
import { EventUnknown, type EventPlace } from '../domain/core/errors.js';
import type { EventStore, StoredEvent } from '../domain/ports/event-store.js';

export type LogFaults = Readonly<{
  note: (event: Unreadable) => void;
  /** How many damaged events were met since the start, up to a bound. */
  unreadable: () => number;
  /** The first event of a newer program that was met; undefined where none was. */
  unknown: () => EventPlace | undefined;
}>;

/** Beyond it more events may be damaged than are counted. */
const COUNTED_MAX = 10_000;

export const openLogFaults = (): LogFaults => {
  const damaged = new Set<number>();
  let unknown: EventPlace | undefined;
  return {
    note: (event) => {
      if (event.unreadable instanceof UnknownEvent) {
        if (unknown === undefined || event.position < unknown.position) unknown = event;
      } else if (damaged.size < COUNTED_MAX) damaged.add(event.position);
    },
    unreadable: () => damaged.size,
    unknown: () => unknown,
  };
};

/** The first of the noted types of the log that this program does not know, as the error that says so; undefined where it knows all. */
export const unknownTypeIn = async (store: Pick<EventStore, 'types' | 'readAll'>, codec: Codec): Promise<EventUnknown | undefined> => {
  const [first] = [...(await store.types())].filter(([type]) => !codec.knows(type)).sort(([, a], [, b]) => a - b);
  if (first === undefined) return undefined;
  const [storedType, position] = first;
  const event = await eventAt(store, position);
  return new EventUnknown({ stream: event?.stream ?? 'unknown', revision: event?.revision ?? 0, position, storedType });
};

/** Positions are opaque, so the event is the last of those up to its position. */
const eventAt = async (store: Pick<EventStore, 'readAll'>, position: number): Promise<StoredEvent | undefined> => {
  for await (const { events } of store.readAll(position - 1, { batchSize: 1 }))
    for (const event of events) return event.position === position ? event : undefined;
  return undefined;
};
