/** Timers: what must happen at a moment, one document for each stream that waits for something. Any projection may keep them, in a collection of its own. */
import type { CollectionSpec, Document } from '../../domain/ports/read-models.js';

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
