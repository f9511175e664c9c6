/** Where the timers of a kind of stream, and what each team has open, are kept: collections of read models that a projection of that kind feeds. */
import type { StreamKind } from '../events.js';

/** Of the timers. */
export const timersOf = <Kind extends StreamKind>(kind: Kind): `${Kind}Timers` => `${kind}Timers`;

/**
 * Where a timer stands in the order in which those of a team are read while its senders take turns: by who caused the work, and of each
 * sender by their times.
 */
export const senderDueAt = (sender: string, dueAt: string): string => `${sender}\n${dueAt}`;

/** Behind all timers of that sender in that order, and before those of every other that follows. */
export const behindSender = (sender: string): string => `${sender}\u000b`;

export const senderIn = (timer: Readonly<{ dueAt: string; senderDueAt: string }>): string =>
  timer.senderDueAt.slice(0, -timer.dueAt.length - 1);

/** Where a kind of stream keeps how much each team has open: one document for each team. */
export const backlogsOf = <Kind extends StreamKind>(kind: Kind): `${Kind}Backlogs` => `${kind}Backlogs`;
