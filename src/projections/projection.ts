/** What a projection is: declared collections, and a pure step from documents and an event to documents. */
import type { EventType, Recorded } from '../domain/events.js';
import type { CollectionSpec, Document } from '../domain/ports/documents.js';

/** A document to put, or to remove where undefined. */
export type Change = Readonly<{ collection: string; id: string; document: Document | undefined }>;

export type Reference = Readonly<{ collection: string; id: string }>;

export type Projection = Readonly<{
  name: string;
  /** In the order in which they are written: one that is derived from changes of another stands before it. */
  collections: readonly CollectionSpec[];
  /** The kinds of stream it reads. */
  kinds: readonly string[];
  /** The types of event whose sealed part it looks at; of others it is not opened. */
  opens: readonly EventType[];
  /** The documents that the event may touch, known from the event alone. */
  reads: (recorded: Recorded) => readonly Reference[];
  /** Further documents that an event on this one may touch. */
  related?: (document: Document) => readonly Reference[];
  /**
   * In: an event and a look at the documents that `reads` and `related` named. Out: the changes. Pure and total: it refuses no event,
   * reads no clock, and gives the same for the same.
   */
  apply: (recorded: Recorded, find: (collection: string, id: string) => Document | undefined) => readonly Change[];
}>;
