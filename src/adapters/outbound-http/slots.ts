/** Lets no more than so many pieces of work run at once: teams take turns, and none has more than its share. */
import { OutboundFault } from '../../domain/ports/outbound-http.js';
import { openFairSlots, type FairSlotsOptions } from '../../shared/fairness.js';

export type Slots = <T>(team: string, signal: AbortSignal, work: () => Promise<T>) => Promise<T>;

const busy = (): OutboundFault =>
  new OutboundFault('busy', 'Too many files are being fetched for other requests. Try again in some seconds, or send the file itself.');

/** Out: runs the work when a slot is free for the team; rejects with the signal's reason where it aborts before, or with OutboundFault where too many wait. */
export const makeSlots = (options: FairSlotsOptions): Slots => {
  const slots = openFairSlots(options);
  return async (team, signal, work) => {
    const how = await slots.acquire(team, signal);
    if (how === 'full') throw busy();
    if (how === 'aborted') throw signal.reason;
    try {
      return await work();
    } finally {
      slots.release(team);
    }
  };
};
