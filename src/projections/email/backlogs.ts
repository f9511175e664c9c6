/**
 * The backlog of a team: open streams by priority and by what they wait for, and how many ended in each of the last
 * minutes.
 */
import { priorities, type Priority } from '../../domain/ports/bus.js';
import type { CollectionSpec, Document } from '../../domain/ports/read-models.js';

/**
 * Reason why an open stream waits: its scheduled time, its turn (or it is being worked on), another attempt, or only
 * the other side.
 */
export type Wait = 'scheduled' | 'ready' | 'deferred' | 'held';

/**
 * Counts of one priority. `done`: how often a ready stream has ended or begun to wait for something other than the
 * host; `minutes`: the same by minute (`2030-01-31T09:30`), for the newest minutes with any.
 */
export type BacklogCounts = Readonly<Record<Wait | 'done', number> & { minutes: Readonly<Record<string, number>> }>;

/**
 * `open` streams have not ended; `waiting` of these are not scheduled for later; `ready` of these wait only for their
 * turn, `held` of these only for the other side. `unmade` of the ready ones are emails of bulk sends that have no
 * stream yet. `done`: of all priorities.
 */
export type BacklogDocument = Document &
  Readonly<{
    team: string;
    open: number;
    waiting: number;
    ready: number;
    held: number;
    unmade: number;
    done: number;
    priorities: Readonly<Record<Priority, BacklogCounts>>;
  }>;

/** One document for each team. */
export const backlogsSpec = (name: string): CollectionSpec => ({ name, version: 5, fields: ['open'], indexes: [] });

/** Rates are measured over so many minutes; one more is kept, because the newest is not over. */
export const RATE_MINUTES = 5;

type CountsDraft = Record<Wait | 'done', number> & { minutes: Record<string, number> };
type BacklogDraft = {
  id: string;
  seq: number;
  position: number;
  team: string;
  open: number;
  waiting: number;
  ready: number;
  held: number;
  unmade: number;
  done: number;
  priorities: Record<Priority, CountsDraft>;
};

/** A stream that waited for `from` now waits for `to`; undefined: it is not open. `at`: ISO 8601. */
export type BacklogChange = Readonly<{
  team: string;
  seq: number;
  position: number;
  priority: string;
  from: Wait | undefined;
  to: Wait | undefined;
  at: string;
}>;

/** In: the document before, which is changed in place. Out: the document after. */
export const changeBacklog = (document: Document | undefined, change: BacklogChange): BacklogDocument => {
  const { team, seq, position, from, to, at } = change;
  const backlog = (document as BacklogDraft | undefined) ?? emptyBacklog(team, seq, position);
  const counts = backlog.priorities[priorities.find((known) => known === change.priority) ?? 'normal'];
  if (from !== undefined) move(backlog, counts, from, -1);
  if (to !== undefined) move(backlog, counts, to, 1);
  if (from === 'ready' && to !== 'held') {
    backlog.done += 1;
    counts.done += 1;
    countMinute(counts.minutes, minuteOf(at));
  }
  return backlog;
};

/** Emails of a bulk send that have no stream yet wait for `wait`; `by`: how many more. */
export type UnmadeChange = Readonly<{ priority: string; wait: 'ready' | 'scheduled'; by: number }>;

/**
 * In: the document before, which is changed in place. Out: the document after. They do not count as done, for nothing
 * was done with them.
 */
export const changeUnmade = (
  document: Document | undefined,
  changes: readonly UnmadeChange[],
  { team, seq, position }: Pick<BacklogChange, 'team' | 'seq' | 'position'>,
): BacklogDocument => {
  const backlog = (document as BacklogDraft | undefined) ?? emptyBacklog(team, seq, position);
  for (const { priority, wait, by } of changes) {
    move(backlog, backlog.priorities[priorities.find((known) => known === priority) ?? 'normal'], wait, by);
    if (wait === 'ready') backlog.unmade += by;
  }
  return backlog;
};

const move = (backlog: BacklogDraft, counts: CountsDraft, wait: Wait, by: number): void => {
  counts[wait] += by;
  backlog.open += by;
  if (wait !== 'scheduled') backlog.waiting += by;
  if (wait === 'ready' || wait === 'held') backlog[wait] += by;
};

const countMinute = (minutes: Record<string, number>, minute: string): void => {
  const known = minutes[minute];
  minutes[minute] = (known ?? 0) + 1;
  if (known !== undefined) return;
  const oldest = Object.keys(minutes).sort();
  for (const one of oldest.slice(0, -(RATE_MINUTES + 1))) delete minutes[one];
};

const emptyBacklog = (team: string, seq: number, position: number): BacklogDraft => ({
  id: team,
  seq,
  position,
  team,
  open: 0,
  waiting: 0,
  ready: 0,
  held: 0,
  unmade: 0,
  done: 0,
  priorities: { high: emptyCounts(), normal: emptyCounts(), low: emptyCounts() },
});

const emptyCounts = (): CountsDraft => ({ scheduled: 0, ready: 0, deferred: 0, held: 0, done: 0, minutes: {} });

const MINUTE_CHARS = '2030-01-31T09:30'.length;
/** In: ISO 8601. Out: its minute, the unit of backlog counts. */
const minuteOf = (at: string): string => at.slice(0, MINUTE_CHARS);
