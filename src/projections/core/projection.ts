/**
 * What a projection is: a declaration of its collections, the kinds of stream it reads, and what each type of event does there. Pure and
 * total: it refuses no event, reads no clock, and gives the same documents however the events are cut into batches.
 */
import type { CollectionSpec, Document } from '../../domain/ports/read-models.js';
import type { DomainEvent, EventOfKind, EventType, Recorded, StreamKind } from '../../domain/events.js';
import { CLOCKS_APART_MS, isoTime } from '../../domain/core/time.js';
import { splitStream } from '../../domain/core/ids.js';

/* Timers: what must happen at a moment, one document for each stream that waits for something. Any projection may keep them, in a collection of its own. */

/**
 * `kind` says which command the timer leads to, `key` is the stream that the command is for, `dueAt` an ISO time. `priority` and
 * `team` let readers take turns between teams within a priority. `position` is that of the event that set it: the same
 * timer read twice has the same `key` and `position`. `senderDueAt` stands in those that lead to work in turns (`inTurns`), made by the
 * function of that name.
 */
export type TimerDocument = Document &
  Readonly<{ kind: string; key: string; dueAt: string; priority: string; team: string; senderDueAt?: string }>;

/**
 * A collection of timers, for readers who fix kind and priority and go on by (`dueAt`, `seq`), or, where many are due, fix the team too and
 * go on by (`senderDueAt`, `seq`).
 */
export const timersSpec = (name: string): CollectionSpec => ({
  name,
  version: 3,
  fields: ['kind', 'priority', 'team', 'dueAt', 'senderDueAt'],
  indexes: [
    ['kind', 'priority', 'dueAt'],
    ['kind', 'priority', 'team', 'senderDueAt'],
  ],
});

/**
 * What one event does to one document; it is applied only where the document has not folded that event yet. `next` makes it of the
 * document before, which may be changed in place; `document` says it without looking at that. undefined removes it. Its `position`
 * is set by the unit of work.
 */
export type Step = Readonly<{ collection: string; id: string }> &
  (Readonly<{ next: (document: Document | undefined) => Document | undefined }> | Readonly<{ document: Document | undefined }>);

export type Reference = Readonly<{ collection: string; id: string }>;

/**
 * In: an event, and the document of its stream in the main collection, which may be changed in place; undefined where there is none.
 * It is called only where that document has not folded the event yet. Out: the steps, that of the main collection among them.
 */
export type Handler<Event extends DomainEvent> = (recorded: Recorded<Event>, document: Document | undefined) => readonly Step[];

/** An entry for each type of event of those kinds: a new type does not compile until every projection says what it does with it. */
export type Handlers<Kind extends StreamKind> = Readonly<{
  [Type in EventOfKind<Kind>['type']]: Handler<Extract<EventOfKind<Kind>, { type: Type }>> | 'ignored';
}>;

type Declared = Readonly<{
  name: string;
  /**
   * In the order in which they are written. The main collection stands last: where a write is torn, a document of it that is written says
   * that all that is derived from the same events is written too.
   */
  collections: readonly CollectionSpec[];
  /** The collection that has one document for each stream; its id is that of the stream. */
  main: string;
  /**
   * Collections of documents that many streams share. Which event made one is not the same once some of these streams have left the log, so
   * what `seq` they have says nothing, and is not compared. Default: none.
   */
  shared?: readonly string[];
  /** The types of event of whose sealed part it looks at the envelope; of others it is not decrypted. */
  decrypts: readonly EventType[];
  /**
   * The documents beside the main one that a step of this event looks at. In: the main document as it is before the batch, and the first
   * event of the stream where it is of this batch. A document that is not named is taken for absent.
   */
  related?: (recorded: Recorded, document: Document | undefined, first: Recorded | undefined) => readonly Reference[];
}>;

export type Projection = Declared &
  Readonly<{
    kinds: readonly StreamKind[];
    /** Looked up by the type of an event, which its handler then takes as its own. */
    on: Readonly<Record<string, AnyHandler | 'ignored'>>;
  }>;

/** A method is compared by its parameters in both directions, so each handler of one type of event is one of these. */
type AnyHandler = { handle(recorded: Recorded, document: Document | undefined): readonly Step[] }['handle'];

export const declareProjection = <Kind extends StreamKind>(
  declared: Declared & Readonly<{ kinds: readonly Kind[]; on: Handlers<Kind> }>,
): Projection => declared;

/* When what was deleted and can be restored is to be removed for good: a timer that stands from the deletion until then. */

/** What an event does to the timer of its stream: with it the time to restore begins, or is over, or it has nothing to do with it. */
export type RemovalEffect = 'begins' | 'ends' | 'none';

/** At the last millisecond of those days it can still be restored, by a clock that is somewhat behind too. */
export const removalDueAt = (deletedAt: string, restoreMs: number): string =>
  isoTime(Date.parse(deletedAt) + restoreMs + CLOCKS_APART_MS + 1);

export const removalSteps = (
  collection: string,
  { event, stream, position, metadata }: Recorded,
  restoreMs: number,
  effect: RemovalEffect,
): readonly Step[] => {
  const { id } = splitStream(stream);
  switch (effect) {
    case 'none':
      return [];
    case 'ends':
      return [{ collection, id, document: undefined }];
    case 'begins': {
      const dueAt = removalDueAt(event.data.at, restoreMs);
      const { teamId: team } = metadata;
      const timer: TimerDocument = { id, seq: position, position, kind: 'removal', key: stream, dueAt, priority: 'low', team };
      return [{ collection, id, document: timer }];
    }
  }
};
