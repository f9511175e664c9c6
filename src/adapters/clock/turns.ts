/** The turns of the event loop, handed out one by one. */

/** Out: a function whose promises resolve in the order in which it was called, each in a turn of the event loop of its own. */
export const turnsOfLoop = (): (() => Promise<void>) => {
  let last = Promise.resolve();
  return () => (last = last.then(() => new Promise((resolve) => setImmediate(resolve))));
};
