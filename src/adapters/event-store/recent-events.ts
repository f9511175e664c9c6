/**
 * The newest events of the log as this process committed them, so that live subscribers read nothing from the database.
 * Their positions have no gaps; their number and their bytes are bounded.
 */
import type { EventBatch, StoredEvent } from '../../domain/ports/event-store.js';

export type Matches = (stream: string) => boolean;

export type RecentEvents = Readonly<{
  /** Takes the event at the next position; after a gap (another process has written) it starts anew. */
  push: (event: StoredEvent) => void;
  /** The events after `after`, at most `limit`; undefined where the next one is not here. */
  after: (after: number, limit: number, matches: Matches | undefined) => EventBatch | undefined;
}>;

const boundsDefault = { countMax: 1_024, bytesMax: 2 * 1024 * 1024 };
/** What an event takes beside its texts and bytes. */
const eventOverheadBytes = 256;

const sizeOf = ({ data, metadata, sealed }: StoredEvent): number =>
  eventOverheadBytes + data.length + metadata.length + (sealed?.byteLength ?? 0);

export const createRecentEvents = ({ countMax, bytesMax } = boundsDefault): RecentEvents => {
  /** What stands before `start` is dropped (undefined, so that it can be collected); it is cut off in batches, for a cut moves the rest. */
  let events: (StoredEvent | undefined)[] = [];
  let start = 0;
  let bytes = 0;

  const clear = (): void => {
    events = [];
    start = 0;
    bytes = 0;
  };

  const dropOldest = (): void => {
    bytes -= sizeOf(events[start]!);
    events[start] = undefined;
    start += 1;
    if (start < countMax) return;
    events = events.slice(start);
    start = 0;
  };

  return {
    push: (event) => {
      const last = events.at(-1);
      if (last !== undefined && last.position + 1 !== event.position) clear();
      events.push(event);
      bytes += sizeOf(event);
      while (events.length - start > countMax || (bytes > bytesMax && events.length - start > 1)) dropOldest();
    },
    after: (after, limit, matches) => {
      const first = events[start];
      if (first === undefined || after + 1 < first.position) return undefined;
      const from = start + after + 1 - first.position;
      if (from >= events.length) return undefined;
      const found: StoredEvent[] = [];
      let index = from;
      for (; index < events.length && found.length < limit; index += 1) {
        const event = events[index]!;
        if (matches === undefined || matches(event.stream)) found.push(event);
      }
      return { events: found, position: events[index - 1]!.position };
    },
  };
};
