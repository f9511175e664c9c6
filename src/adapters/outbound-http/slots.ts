/** Lets no more than so many pieces of work run at once; the others wait in the order in which they came. */

export type Slots = <T>(signal: AbortSignal, work: () => Promise<T>) => Promise<T>;

/** Out: runs the work when one of `max` slots is free; rejects with the signal's reason where it aborts before. */
export const makeSlots = (max: number): Slots => {
  let free = max;
  const waiting = new Set<() => void>();

  const enter = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      signal.throwIfAborted();
      if (free > 0) {
        free -= 1;
        return resolve();
      }
      const giveUp = (): void => {
        waiting.delete(take);
        reject(signal.reason as Error);
      };
      const take = (): void => {
        signal.removeEventListener('abort', giveUp);
        resolve();
      };
      waiting.add(take);
      signal.addEventListener('abort', giveUp, { once: true });
    });

  /** The slot goes straight to the one that has waited longest. */
  const leave = (): void => {
    const [next] = waiting;
    if (next === undefined) {
      free += 1;
      return;
    }
    waiting.delete(next);
    next();
  };

  return async (signal, work) => {
    await enter(signal);
    try {
      return await work();
    } finally {
      leave();
    }
  };
};
