/** What a team has open: how many streams wait for what, by priority, and how many have come to an end in each of the last minutes. */
import { minuteOf } from '../../domain/email/retirement.js';
import { priorities, type Priority } from '../../domain/ports/bus.js';
import type { CollectionSpec, Document } from '../../domain/ports/read-models.js';

/** What a stream that is open waits for: its time, its turn (or it has it), another attempt, or the other side alone. */
export type Wait = 'scheduled' | 'ready' | 'deferred' | 'held';

/**
 * Of one priority. `done` counts how often one that was ready has come to an end or waits for something else than the host; `minutes` the
 * same by minute (`2030-01-31T09:30`), of the newest minutes in which there was any.
 */
export type BacklogCounts = Readonly<Record<Wait | 'done', number> & { minutes: Readonly<Record<string, number>> }>;

/**
 * `open` streams have not ended, `waiting` of these are under way, `ready` of these wait for nothing but their turn, `held` of these for
 * the other side alone, and `done` is that of all priorities.
 */
export type BacklogDocument = Document &
  Readonly<{
    team: string;
    open: number;
    waiting: number;
    ready: number;
    held: number;
    done: number;
    priorities: Readonly<Record<Priority, BacklogCounts>>;
  }>;

/** One document for each team. */
export const backlogsSpec = (name: string): CollectionSpec => ({ name, version: 4, fields: ['open'], indexes: [] });

/** A rate is that of so many minutes; one more is kept, for the newest is not over. */
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
  done: number;
  priorities: Record<Priority, CountsDraft>;
};

/** A stream of that team and priority waited for `from`, and waits for `to` since then; undefined: it is not open. `at`: ISO time. */
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

/** Of a stream of that team and priority that has left the log: in which minutes it came to an end, and what it waited for where that is not known. */
export type BacklogEnd = Pick<BacklogChange, 'team' | 'seq' | 'position' | 'priority' | 'from'> & Readonly<{ minutes: readonly string[] }>;

/** The same for all that a stream has changed and that was not folded; nothing where all was. */
export const endedBacklog = (
  document: Document | undefined,
  { team, seq, position, priority, from, minutes }: BacklogEnd,
): BacklogDocument => {
  const backlog = (document as BacklogDraft | undefined) ?? emptyBacklog(team, seq, position);
  const counts = backlog.priorities[priorities.find((known) => known === priority) ?? 'normal'];
  if (from !== undefined) move(backlog, counts, from, -1);
  for (const minute of minutes) {
    backlog.done += 1;
    counts.done += 1;
    countMinute(counts.minutes, minute);
  }
  return backlog;
};

const move = (backlog: BacklogDraft, counts: CountsDraft, wait: Wait, by: 1 | -1): void => {
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
  done: 0,
  priorities: { high: emptyCounts(), normal: emptyCounts(), low: emptyCounts() },
});

const emptyCounts = (): CountsDraft => ({ scheduled: 0, ready: 0, deferred: 0, held: 0, done: 0, minutes: {} });
