/** Timers: what must happen at a moment, one document for each stream that waits for something. Any projection may keep them, in a collection of its own. */
import type { CollectionSpec, Document } from '../domain/ports/read-models.js';

/**
 * `kind` says which command the timer leads to, `key` is the stream that the command is for, `dueAt` an ISO time. `priority` and
 * `team` let readers take turns between teams within a priority. `position` is that of the event that set it: the same
 * timer read twice has the same `key` and `position`.
 */
export type TimerDocument = Document & Readonly<{ kind: string; key: string; dueAt: string; priority: string; team: string }>;

/** A collection of timers. Its one index serves a reader who fixes kind and priority and goes on by (`dueAt`, `seq`). */
export const timersSpec = (name: string): CollectionSpec => ({
  name,
  version: 1,
  fields: ['kind', 'priority', 'dueAt'],
  indexes: [['kind', 'priority', 'dueAt']],
});
