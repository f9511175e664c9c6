/** Slices of the event loop for work that would hold it up if all of it that is ready were done at once. */
import { priorities, type Priority } from '../../domain/ports/bus.js';

/* The turns of the event loop, handed out one by one. */

/** Out: a function whose promises resolve in the order in which it was called, each in a turn of the event loop of its own. */
export const turnsOfLoop = (): (() => Promise<void>) => {
  let last = Promise.resolve();
  return () => (last = last.then(() => new Promise((resolve) => setImmediate(resolve))));
};

/** So long, and the last of the work in it, the loop is held in each of its turns. */
const SLICE_MS = 8;

/**
 * Out: a function whose promises resolve in slices, one in each turn of the event loop. The first of a slice is of each priority in turn, so
 * that none starves; after it the higher go before the lower, and those of one priority in the order in which they came. What follows on a
 * promise, up to its first wait for anything outside, belongs to the slice.
 */
export const slicesOfLoop = (sliceMs = SLICE_MS): ((priority: Priority) => Promise<void>) => {
  const waiting: Readonly<Record<Priority, (() => void)[]>> = { high: [], normal: [], low: [] };
  let slices = 0;
  let isOpen = false;

  const next = (order: readonly Priority[]): (() => void) | undefined => {
    for (const priority of order) {
      const goOn = waiting[priority].shift();
      if (goOn !== undefined) return goOn;
    }
    return undefined;
  };
  const isEmpty = (): boolean => priorities.every((priority) => waiting[priority].length === 0);

  const slice = async (): Promise<void> => {
    // Ticks come before what is resolved outside of a promise, and after what is resolved inside of one.
    await undefined;
    const beganMs = performance.now();
    slices += 1;
    let goOn = next([priorities[slices % priorities.length]!, ...priorities]);
    while (goOn !== undefined) {
      goOn();
      // Called when all that follows at once has been done.
      await new Promise<void>((resolve) => process.nextTick(resolve));
      goOn = performance.now() - beganMs < sliceMs ? next(priorities) : undefined;
    }
    isOpen = !isEmpty();
    if (isOpen) setImmediate(() => void slice());
  };

  return (priority) =>
    new Promise((resolve) => {
      waiting[priority].push(resolve);
      if (isOpen) return;
      isOpen = true;
      setImmediate(() => void slice());
    });
};
