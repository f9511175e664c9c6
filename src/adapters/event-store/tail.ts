/**
 * The newest events of the log as this process committed or read them, so that live subscribers share
 * the same objects and read no database. Positions in it are contiguous; it is bounded by count and by bytes.
 */
import type { StoredEvent } from '../../domain/ports/event-store.js';

export type Page = Readonly<{ events: readonly StoredEvent[]; /** Everything up to here has been looked at. */ next: number }>;
export type Matches = (stream: string) => boolean;

export type Tail = Readonly<{
  /** Takes the event at the next position; after a gap (another process has written) it starts anew. */
  push: (event: StoredEvent) => void;
  /** The events after `after`, at most `limit`; undefined where the next one is not here. */
  after: (after: number, limit: number, matches: Matches | undefined) => Page | undefined;
}>;

const countMaxDefault = 2_048;
const sizeBytesMaxDefault = 4 * 1024 * 1024;

export const createTail = (countMax = countMaxDefault, sizeBytesMax = sizeBytesMaxDefault): Tail => {
  /** What stands before `start` is dropped (undefined, so that it can be collected); it is cut off in strokes, for a cut moves the rest. */
  let events: (StoredEvent | undefined)[] = [];
  let start = 0;
  let sizeBytes = 0;

  const clear = (): void => {
    events = [];
    start = 0;
    sizeBytes = 0;
  };

  const dropOldest = (): void => {
    sizeBytes -= sizeOf(events[start]!);
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
      sizeBytes += sizeOf(event);
      while (events.length - start > countMax || (sizeBytes > sizeBytesMax && events.length - start > 1)) dropOldest();
    },
    after: (after, limit, matches) => {
      const first = events[start];
      if (first === undefined || after + 1 < first.position) return undefined;
      const from = start + after + 1 - first.position;
      if (from >= events.length) return undefined;
      const page: StoredEvent[] = [];
      let index = from;
      for (; index < events.length && page.length < limit; index += 1) {
        const event = events[index]!;
        if (matches === undefined || matches(event.stream)) page.push(event);
      }
      return { events: page, next: first.position + index - start - 1 };
    },
  };
};

/** Characters count once, for nearly all of them are Latin-1 in memory; the rest of the object is a flat estimate. */
const sizeOf = (event: StoredEvent): number =>
  event.data.length + event.metadata.length + (event.sealed?.byteLength ?? 0) + 300;
