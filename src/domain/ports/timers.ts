/**
 * Timers: documents in read models that say when work on a stream is due. Projections write them; the reader of due
 * work reads them.
 */
import type { Document } from './read-models.js';

/**
 * `kind` says which command the timer leads to, `key` is the stream that the command is for, `dueAt` an ISO time.
 * `priority` and `team` let readers take turns between teams within a priority; the timer of a deleted email names its
 * team as `owner` only. `position` is that of the last event folded into the document: a timer that is read twice has
 * the same `key`, and the same `position` while nothing happens in the stream. `senderDueAt` stands in timers of work
 * whose senders take turns (`inTurns`). A timer is a hint: nothing is decided by it alone.
 */
export type TimerDocument = Document &
  Readonly<{
    kind: string;
    key: string;
    dueAt: string;
    priority: string;
    team?: string;
    owner?: string;
    senderDueAt?: string;
  }>;

/** The kinds of stream whose documents are timers themselves while work is due, so that one row is written for both. */
const inDocuments: Readonly<Record<string, string>> = { email: 'emails' };

/** The collection with the timers of a kind of stream. */
export const timersOf = (kind: string): string => inDocuments[kind] ?? `${kind}Timers`;

/**
 * The sort key of a timer while the senders of a team take turns: first the sender who caused the work, then the time.
 */
export const senderDueAt = (sender: string, dueAt: string): string => `${sender}\n${dueAt}`;

/** A sort key behind all timers of that sender and before those of the next sender. */
export const behindSender = (sender: string): string => `${sender}\u000b`;

/** The sender in a sort key. */
export const senderIn = (timer: Readonly<{ dueAt: string; senderDueAt: string }>): string =>
  timer.senderDueAt.slice(0, -timer.dueAt.length - 1);

/** The collection that counts the open work of a kind of stream, one document for each team. */
export const backlogsOf = <Kind extends string>(kind: Kind): `${Kind}Backlogs` => `${kind}Backlogs`;
