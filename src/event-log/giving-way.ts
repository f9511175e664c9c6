/**
 * What a reader of the whole log does at an event that a newer program wrote. It stops, so that a newer program beside it takes over its lease;
 * if none has done so in a bounded time, it passes over the event as over a damaged one, so that one stream waits and all else goes on.
 */
import type { Clock } from '../domain/ports/clock.js';
import type { Position } from '../domain/ports/event-store.js';
import type { Unreadable } from './decoding.js';

export type GivingWay = Readonly<{
  /** Notes that a run of the reader begins, while the log ends at `head`. */
  begin: (head: Position) => void;
  /** Whether the reader passes over this event of a newer program. If not, it ends its run and begins another later. */
  passes: (event: Pick<Unreadable, 'position'>) => boolean;
}>;

/** Several times as long as a process waits before it asks for a lease again. */
export const GIVE_WAY_MS = 10_000;

export const openGivingWay = (clock: Pick<Clock, 'monotonic'>): GivingWay => {
  let head: Position = 0;
  let passedUpTo: Position = 0;
  let stoppedFirstMs: number | undefined;
  return {
    begin: (now) => {
      head = now;
    },
    passes: ({ position }) => {
      if (position <= passedUpTo) return true;
      stoppedFirstMs ??= clock.monotonic();
      // An event behind the head was appended in this run: the newer program is at work, and has not had the lease yet.
      if (position > head || clock.monotonic() - stoppedFirstMs < GIVE_WAY_MS) return false;
      passedUpTo = head;
      stoppedFirstMs = undefined;
      return true;
    },
  };
};
