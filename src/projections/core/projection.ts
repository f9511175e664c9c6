/**
 * A projection declares its collections, the kinds of stream it reads, and the effect of each event type. A projection
 * is pure and total: it refuses no event, reads no clock, and gives the same documents however the events are cut into
 * batches.
 */
import type { CollectionSpec, Document } from '../../domain/ports/read-models.js';
import type { DomainEvent, EventOfKind, EventType, Recorded, StreamKind } from '../../domain/events.js';
import { CLOCKS_APART_MS, isoTime } from '../../domain/core/time.js';
import type { TimerDocument } from '../../domain/ports/timers.js';
import { splitStream } from '../../domain/core/ids.js';
import { boundedCache } from '../../shared/cache.js';

/**
 * Readers of timers fix kind and priority and continue by (`dueAt`, `seq`); when many are due they fix the team too and
 * continue by (`senderDueAt`, `seq`).
 */
export const timerIndexes: CollectionSpec['indexes'] = [
  ['kind', 'priority', 'dueAt'],
  ['kind', 'priority', 'team', 'senderDueAt'],
];

/** A collection of timers, one document for each stream that waits for something. Any projection may keep one. */
export const timersSpec = (name: string): CollectionSpec => ({
  name,
  version: 4,
  fields: ['kind', 'key', 'priority', 'team', 'dueAt', 'senderDueAt'],
  indexes: timerIndexes,
});

/**
 * Effect of one event on one document. A step is applied only if the document has not folded that event yet. `next`
 * makes the document from the one before, which it may change in place; `document` replaces it unread. undefined
 * removes the document. The unit of work sets `position`.
 */
export type Step = Readonly<{ collection: string; id: string }> &
  (
    | Readonly<{ next: (document: Document | undefined) => Document | undefined }>
    | Readonly<{ document: Document | undefined }>
  );

export type Reference = Readonly<{ collection: string; id: string }>;

/**
 * In: an event, and the document of its stream in the main collection (undefined if there is none), which may be
 * changed in place. Called only if that document has not folded the event yet. Out: the steps, including that of the
 * main collection.
 */
export type Handler<Event extends DomainEvent> = (
  recorded: Recorded<Event>,
  document: Document | undefined,
) => readonly Step[];

/** The types of event of those kinds that change a document. */
export type Handlers<Kind extends StreamKind> = Readonly<{
  [Type in EventOfKind<Kind>['type']]?: Handler<Extract<EventOfKind<Kind>, { type: Type }>>;
}>;

type Declared = Readonly<{
  name: string;
  /**
   * In the order in which they are written. The main collection stands last: if a crash cuts a write, every document of
   * the main collection that was written shows that all other documents of the same events were written too.
   */
  collections: readonly CollectionSpec[];
  /** The collection that has one document for each stream; its id is that of the stream. */
  main: string;
  /**
   * The main collection of kinds of stream that have another; none of its streams' events changes a document of a later
   * collection.
   */
  mainOf?: Readonly<Partial<Record<StreamKind, string>>>;
  /** The types of event whose sealed part is decrypted for this projection. */
  decrypts: readonly EventType[];
  /**
   * The documents beside the main one that a step of this event reads. In: the main document before the batch, and the
   * first event of the stream if it is in this batch. Documents that are not named here count as absent.
   */
  related?: (recorded: Recorded, document: Document | undefined, first: Recorded | undefined) => readonly Reference[];
  /**
   * The collections of which `related` names documents. A rebuild that has all of their documents in memory does not
   * ask. Default: it always asks.
   */
  relatedCollections?: readonly string[];
}>;

export type Projection = Declared &
  Readonly<{
    kinds: readonly StreamKind[];
    /** The handlers by type of event; each is called with events of that type only. */
    on: Readonly<Record<string, AnyHandler>>;
  }>;

/**
 * Declared as a method, because TypeScript compares parameters of methods in both directions: a handler of any one type
 * of event fits.
 */
type AnyHandler = { handle(recorded: Recorded, document: Document | undefined): readonly Step[] }['handle'];

export const declareProjection = <Kind extends StreamKind>(
  declared: Declared & Readonly<{ kinds: readonly Kind[]; on: Handlers<Kind> }>,
): Projection => declared as Projection;

/**
 * The id of the document of a team's day. Many events follow each other on one day: the text of the day before is used
 * again, because a text that is made anew is hashed anew wherever it is looked up.
 */
export const dayOfTeamId = (team: string, day: string): string => {
  const known = lastDays.get(team);
  if (known?.day === day) return known.id;
  const id = `${team}:${day}`;
  lastDays.set(team, { day, id });
  return id;
};

const lastDays = boundedCache<string, Readonly<{ day: string; id: string }>>({ entriesMax: 256 });

/** Beyond every position. */
const SECOND = 2 ** 52;

/** The `seq` of a second document that one event makes in a collection: no other document has it. */
export const secondSeq = (position: number): number => SECOND + position;

/**
 * The effect of an event on the removal timer of its stream: it sets the timer (deletion) or removes it (restored or
 * removed).
 */
export type RemovalEffect = 'begins' | 'ends';

/**
 * When a deleted thing is to be removed: after the last millisecond in which it can be restored, also by a clock that
 * is behind.
 */
export const removalDueAt = (deletedAt: string, restoreMs: number): string =>
  isoTime(Date.parse(deletedAt) + restoreMs + CLOCKS_APART_MS + 1);

/** Keeps the timer at which a deleted thing, which can be restored until then, is removed for good. */
export const removalSteps = (
  collection: string,
  { event, stream, position, metadata }: Recorded,
  restoreMs: number,
  effect: RemovalEffect | undefined,
): readonly Step[] => {
  const { id } = splitStream(stream);
  switch (effect) {
    case undefined:
      return [];
    case 'ends':
      return [{ collection, id, document: undefined }];
    case 'begins': {
      const dueAt = removalDueAt(event.data.at, restoreMs);
      const { teamId: team } = metadata;
      const timer: TimerDocument = {
        id,
        seq: position,
        position,
        kind: 'removal',
        key: stream,
        dueAt,
        priority: 'low',
        team,
      };
      return [{ collection, id, document: timer }];
    }
  }
};
