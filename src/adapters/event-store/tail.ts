/**
 * The newest events of the log as this process committed them, so that live subscribers share the same objects and look for nothing
 * in the database. What is large in an event is read from there when somebody asks for it: who wrote it has it mostly at hand decoded.
 * Positions are contiguous, their number is bounded.
 */
import type { EventBatch, StoredEvent } from '../../domain/ports/event-store.js';

export type Matches = (stream: string) => boolean;

export type Tail = Readonly<{
  /** Takes the event at the next position; after a gap (another process has written) it starts anew. */
  push: (event: StoredEvent) => void;
  /** The events after `after`, at most `limit`; undefined where the next one is not here. */
  after: (after: number, limit: number, matches: Matches | undefined) => EventBatch | undefined;
}>;

const countMaxDefault = 2_048;

/** `read`: the event at a position, whole. */
export const createTail = (read: (position: number) => StoredEvent, countMax = countMaxDefault): Tail => {
  /** What stands before `start` is dropped (undefined, so that it can be collected); it is cut off in strokes, for a cut moves the rest. */
  let events: (StoredEvent | undefined)[] = [];
  let start = 0;

  const clear = (): void => {
    events = [];
    start = 0;
  };

  const dropOldest = (): void => {
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
      events.push(new TailEvent(event, read));
      while (events.length - start > countMax) dropOldest();
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
      return { events: page, position: first.position + index - start - 1 };
    },
  };
};

class TailEvent implements StoredEvent {
  readonly eventId: string;
  readonly stream: string;
  readonly revision: number;
  readonly position: number;
  readonly type: string;
  readonly hash: string;
  readonly #read: (position: number) => StoredEvent;
  /** Shared by those who ask in one turn of the event loop; held weakly, for the events of a tail may together be larger than memory. */
  #whole: WeakRef<StoredEvent> | undefined;

  constructor({ eventId, stream, revision, position, type, hash }: StoredEvent, read: (position: number) => StoredEvent) {
    this.eventId = eventId;
    this.stream = stream;
    this.revision = revision;
    this.position = position;
    this.type = type;
    this.hash = hash;
    this.#read = read;
  }

  get data(): string {
    return this.#rest.data;
  }

  get metadata(): string {
    return this.#rest.metadata;
  }

  get sealed(): Uint8Array | undefined {
    return this.#rest.sealed;
  }

  get #rest(): StoredEvent {
    const known = this.#whole?.deref();
    if (known !== undefined) return known;
    const whole = this.#read(this.position);
    this.#whole = new WeakRef(whole);
    return whole;
  }
}
