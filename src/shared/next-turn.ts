/** The parts of heavy work that wait for a turn of the event loop of their own. */
const waiting: (() => void)[] = [];

const goOn = (): void => {
  const next = waiting.shift();
  if (waiting.length > 0) setImmediate(goOn);
  next?.();
};

/**
 * Lets the event loop serve others between two parts of heavy work. In each turn of the loop one of the parts that wait goes on,
 * the one that has waited longest, so that many callers at once hold the loop no longer than one.
 */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(goOn);
  });
