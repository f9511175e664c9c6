/** Copies a log into another of any engine: the same events in the same total order, under the same ids and hashes. */
import type { EventStore, EventToStore, Position, StoredEvent } from '../domain/ports/event-store.js';

/** How far a copy is: where the source was read to, and where that stands in the target. */
export type Copied = Readonly<{ from: Position; to: Position; events: number }>;

export type LogCopy = Readonly<{
  source: Pick<EventStore, 'readAll'>;
  target: Pick<EventStore, 'append'>;
  /**
   * Progress of an earlier copy into this target that was interrupted; events that it had begun to copy after that are recognized by their
   * ids.
   */
  resumed?: Copied;
  /** Appends under way at once; they must end in their order, or the total order would be another. Default: 64. */
  inFlightMax?: number;
  /** Called for each event that is stored in the target, in order, with its place there; a group of events shares the place of its last. */
  onCopied: (event: StoredEvent, copied: Copied) => void;
}>;

/** The target cannot be a copy of the source any more. */
export class CopyBroken extends Error {
  override readonly name = 'CopyBroken';
}

/** Before every position that a store can hold: what was slipped in before the first event is copied too, and found by verification. */
export const nothingCopied: Copied = { from: Number.MIN_SAFE_INTEGER, to: 0, events: 0 };
/** Characters of one append; an event store takes a megabyte at least. */
const GROUP_CHARS_MAX = 400_000;
const GROUP_EVENTS_MAX = 50;
const IN_FLIGHT_MAX = 64;
/** After a resumption, this many groups may already be stored in the target, in any order. */
const OVERLAP_GROUPS = 1_000;

/** Rejects with CopyBroken where the target holds something else, or does not keep the order. Out: how far it came, which is the end. */
export const copyLog = async ({ source, target, resumed, inFlightMax = IN_FLIGHT_MAX, onCopied }: LogCopy): Promise<Copied> => {
  let copied: Copied = resumed ?? nothingCopied;
  let overlap = resumed === undefined ? 0 : OVERLAP_GROUPS;
  const underWay: Readonly<{ group: readonly StoredEvent[]; done: Promise<Position> }>[] = [];

  const settleFirst = async (): Promise<void> => {
    const first = underWay.shift();
    if (first === undefined) return;
    const to = await first.done;
    if (overlap === 0 && to <= copied.to)
      throw new CopyBroken('the target has taken events in another order; empty it, and copy again with --one-at-a-time');
    overlap = Math.max(0, overlap - 1);
    for (const event of first.group) {
      copied = { from: event.position, to: Math.max(to, copied.to), events: copied.events + 1 };
      onCopied(event, copied);
    }
  };

  try {
    for await (const { events } of source.readAll(copied.from)) {
      for (const group of groupsOf(events)) {
        while (underWay.length > 0 && underWay.length >= (overlap > 0 ? 1 : inFlightMax)) await settleFirst();
        const done = append(target, group);
        // It is awaited in its turn; until then its fault is nobody's.
        done.catch(() => {});
        underWay.push({ group, done });
      }
    }
    while (underWay.length > 0) await settleFirst();
  } finally {
    await Promise.allSettled(underWay.map(({ done }) => done));
  }
  return copied;
};

/** Events that follow each other in one stream go in one append. */
function* groupsOf(events: readonly StoredEvent[]): Generator<readonly StoredEvent[]> {
  let group: StoredEvent[] = [];
  let chars = 0;
  for (const event of events) {
    const size = sizeOf(event);
    const last = group.at(-1);
    const joins = last?.stream === event.stream && last.revision + 1 === event.revision;
    if (last !== undefined && (!joins || group.length >= GROUP_EVENTS_MAX || chars + size > GROUP_CHARS_MAX)) {
      yield group;
      [group, chars] = [[], 0];
    }
    group.push(event);
    chars += size;
  }
  if (group.length > 0) yield group;
}

const sizeOf = ({ data, metadata, sealed }: StoredEvent): number => data.length + metadata.length + (sealed?.byteLength ?? 0) * 2;

const append = async (target: LogCopy['target'], group: readonly StoredEvent[]): Promise<Position> => {
  const { stream, revision } = group[0]!;
  const outcome = await target.append(stream, revision - 1, group.map(toStore));
  switch (outcome.kind) {
    case 'done':
      return outcome.position;
    case 'conflict':
      throw new CopyBroken(`the target holds other events in ${stream}, which is at revision ${outcome.actualRevision} there`);
    case 'unknown':
      throw new Error(`the target did not answer; the copy goes on from here when it is called again (${outcome.cause.message})`, {
        cause: outcome.cause,
      });
  }
};

const toStore = ({ eventId, type, data, metadata, sealed, hash }: StoredEvent): EventToStore => ({
  eventId,
  type,
  data,
  metadata,
  sealed,
  hash,
});
