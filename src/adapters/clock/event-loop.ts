/** Spreads work over turns of the event loop, which would be blocked if all work that is ready were done at once. */
import { priorities, type Priority } from '../../domain/ports/bus.js';

/** A slice takes no new work after so long. */
const SLICE_MS = 8;

/**
 * Out: a function whose promises resolve in slices, one slice in each turn of the event loop. The first promise of a slice is of each
 * priority in turn, so that none starves; then higher priorities come before lower ones, and each in the order of its calls. Code that
 * runs after a promise, up to its first wait for anything outside, belongs to the slice.
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
    // Inside a promise job ticks come after the microtasks that it queues; outside they would come before.
    await undefined;
    const beganMs = performance.now();
    slices += 1;
    let goOn = next([priorities[slices % priorities.length]!, ...priorities]);
    while (goOn !== undefined) {
      goOn();
      // The tick runs when all microtasks that follow have run.
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

/** Out: a function whose promises resolve in the order in which it was called, each in a turn of the event loop of its own. */
export const turnsOfLoop = (): (() => Promise<void>) => {
  let last = Promise.resolve();
  return () => (last = last.then(() => new Promise((resolve) => setImmediate(resolve))));
};
