/** What a projection is: declared collections, and a pure step from documents and an event to documents. */
import type { ByEventType, EventType, Recorded, StreamKind } from '../domain/events.js';
import type { CollectionSpec, Document } from '../domain/ports/read-models.js';

/** A document to put, or to remove where undefined, by the event at that position. */
export type Change = Readonly<{ collection: string; id: string; position: number; document: Document | undefined }>;

export type Reference = Readonly<{ collection: string; id: string }>;

export type Projection = Readonly<{
  name: string;
  /** In the order in which they are written: one that is derived from changes of another stands before it. */
  collections: readonly CollectionSpec[];
  /** Those of few documents, which most batches touch: a rebuild remembers which of them there are, and asks for no other. */
  few?: readonly string[];
  /** The kinds of stream it reads. */
  kinds: readonly StreamKind[];
  /** The types of event of whose sealed part it looks at the envelope; of others it is not opened. */
  opens: readonly EventType[];
  /** The documents that the events of a batch may touch, known from the events alone. */
  reads: (batch: readonly Recorded[]) => readonly Reference[];
  /** Further documents that an event on this one may touch. */
  related?: (document: Document) => readonly Reference[];
  /**
   * In: events in order and a look at the documents that `reads` and `related` named. Out: the changes, one for each document. Pure and
   * total: it refuses no event, reads no clock, and gives the same documents however the events are cut into batches.
   */
  fold: (batch: readonly Recorded[], find: Find) => readonly Change[];
}>;

/**
 * What a projection reads of each type of event of a kind: its data alone, or the envelope of its sealed part too. A new type does not
 * compile until each projection of its kind says so here.
 */
export const eventsRead = <Kind extends StreamKind>(
  kind: Kind,
  parts: ByEventType<Kind, 'data' | 'envelope'>,
): Pick<Projection, 'kinds' | 'opens'> => ({
  kinds: [kind],
  opens: (Object.keys(parts) as (keyof typeof parts)[]).filter((type) => parts[type] === 'envelope'),
});

export type Find = (collection: string, id: string) => Document | undefined;

export const keyOf = (collection: string, id: string): string => `${collection}\n${id}`;

/** The fold of a projection whose step takes one event at a time. */
export const eventByEvent =
  (step: (recorded: Recorded, find: Find) => readonly Change[]): Projection['fold'] =>
  (batch, find) => {
    const changed = new Map<string, Change>();
    const findChanged: Find = (collection, id) => {
      const change = changed.get(keyOf(collection, id));
      return change === undefined ? find(collection, id) : change.document;
    };
    for (const recorded of batch) {
      for (const change of step(recorded, findChanged)) changed.set(keyOf(change.collection, change.id), change);
    }
    return [...changed.values()];
  };
