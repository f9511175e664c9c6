/** Timers: what must happen at a moment, one document for each stream that waits for something. Any projection may keep them, in a collection of its own. */
import type { CollectionSpec, Document } from '../domain/ports/read-models.js';

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
 * What a team has open: `open` streams have not ended, `waiting` of these are under way, `ready` of these wait for nothing but their turn,
 * `held` of these for the other side alone, and `done` counts how often one that was ready has come to an end or waits for something else.
 */
export type BacklogDocument = Document &
  Readonly<{ team: string; open: number; waiting: number; ready: number; held: number; done: number }>;

/** One document for each team. */
export const backlogsSpec = (name: string): CollectionSpec => ({ name, version: 3, fields: ['open'], indexes: [] });
