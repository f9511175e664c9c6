/**
 * Events that have left the log: the last events of their streams say which, what their hashes were, and as which event of the log each
 * stood. By that the chains and the seals over them can be checked as if they were there, on every engine, whatever positions it gives.
 */
import { decodeEvent, namesOf } from './codec.js';
import type { EventStore, StoredEvent } from '../domain/ports/event-store.js';

export type RetiredEvent = Readonly<{ stream: string; revision: number; hash: string }>;

/** What stands next in the log: an event, or one that has left it. */
export type LogItem = Readonly<{ event: StoredEvent }> | Readonly<{ retired: RetiredEvent }>;

export type RetiringStore = Pick<EventStore, 'readAll'> & Partial<Pick<EventStore, 'types'>>;

/** The last events of a stream whose others leave the log, by their stored names. */
const retiring = namesOf(['EmailRetired', 'BatchRetired']);
/** So many places of the log are held at once. */
const WINDOW_EVENTS = 1_000_000;

type Retirement = Readonly<{ stream: string; ordinals: readonly number[]; hashes: readonly string[] }>;

/** Each stream whose events leave the log, in the order in which that was said. `first`: the revision of the first that stays. */
export async function* retirements(store: RetiringStore): AsyncGenerator<Retirement & Readonly<{ first: number }>> {
  const known = await store.types?.();
  if (known !== undefined && ![...retiring].some((type) => known.has(type))) return;
  for await (const { events } of store.readAll(0, { types: [...retiring] }))
    for (const { type, data, stream } of events) {
      const decoded = decodeEvent(type, data, undefined);
      if (decoded.type !== 'EmailRetired' && decoded.type !== 'BatchRetired') continue;
      const { ordinals, hashes } = decoded.data;
      yield { stream, ordinals, hashes, first: hashes.length };
    }
}

export const countRetirements = async (store: RetiringStore): Promise<number> => {
  let count = 0;
  for await (const _one of retirements(store)) count += 1;
  return count;
};

/**
 * Puts what has left the log where it stood, among events in the order of the log. `after`: so many events, those that have left it among
 * them, stand before the first of these. What is said to leave the log and is still there is yielded as the event that it is.
 */
export async function* withRetired(
  store: RetiringStore,
  batches: AsyncIterable<Readonly<{ events: readonly StoredEvent[] }>>,
  after = 0,
  windowEvents = WINDOW_EVENTS,
): AsyncGenerator<readonly LogItem[]> {
  let window = new Map<number, RetiredEvent>();
  let loadedTo = after;
  let ordinal = after;
  for await (const { events } of batches) {
    const items: LogItem[] = [];
    for (const event of events) {
      for (;;) {
        if (ordinal >= loadedTo) {
          window = await retiredBetween(store, loadedTo, loadedTo + windowEvents);
          loadedTo += windowEvents;
        }
        const retired = window.get(ordinal + 1);
        if (retired === undefined || retired.hash === event.hash) break;
        ordinal += 1;
        items.push({ retired });
      }
      ordinal += 1;
      items.push({ event });
    }
    yield items;
  }
}

const retiredBetween = async (store: RetiringStore, after: number, upTo: number): Promise<Map<number, RetiredEvent>> => {
  const found = new Map<number, RetiredEvent>();
  for await (const { stream, ordinals, hashes } of retirements(store))
    for (const [revision, ordinal] of ordinals.entries())
      if (ordinal > after && ordinal <= upTo) found.set(ordinal, { stream, revision, hash: hashes[revision]! });
  return found;
};
