/** The slots of the document processes: teams take turns for them, and wait no longer than a bound. */
import type { Clock } from '../../../domain/ports/clock.js';
import { openFairSlots } from '../../../shared/fairness.js';

export type SlotsOptions = Readonly<{
  slotsMax: number;
  queueMax: number;
  /** How long one waits in the queue. */ waitMs: number;
  clock: Clock;
}>;

export type Slots = Readonly<{
  /** `acquired`: a slot was taken, to be given back by `release`. `not-in-time`: the wait was too long, or the signal aborted. */
  acquire: (team: string, signal: AbortSignal) => Promise<'acquired' | 'full' | 'not-in-time'>;
  release: (team: string) => void;
  /** How many stand in the queue. */
  waiting: () => number;
}>;

/** One slot is always left to the other teams, where there is more than one. */
export const openSlots = ({ slotsMax, queueMax, waitMs, clock }: SlotsOptions): Slots => {
  const slots = openFairSlots({ slotsMax, shareMax: Math.max(1, slotsMax - 1), queueMax });
  return {
    acquire: async (team, signal) => {
      const late = new AbortController();
      const over = new AbortController();
      const request = slots.acquire(team, AbortSignal.any([signal, late.signal]));
      if (typeof request !== 'string') void clock.sleep(waitMs, over.signal).then(() => late.abort());
      const how = await request;
      over.abort();
      return how === 'aborted' ? 'not-in-time' : how;
    },
    release: slots.release,
    waiting: slots.waiting,
  };
};
