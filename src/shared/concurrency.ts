/** Calls that come while one is under way share the next: at a distance a call for many costs what a call for one does. */

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

/** In: what is done for many at once. Out: the same for each caller, with the answer for all that were asked for together. */
export const gathered = <Item, Answer>(
  work: (items: ReadonlySet<Item>) => Promise<Answer>,
): ((items: Iterable<Item>) => Promise<Answer>) => {
  let last: Promise<unknown> = Promise.resolve();
  let next: Readonly<{ items: Set<Item>; answer: Promise<Answer> }> | undefined;
  return (items) => {
    if (next === undefined) {
      const gathered = new Set<Item>();
      const begin = (): Promise<Answer> => {
        next = undefined;
        return work(gathered);
      };
      next = { items: gathered, answer: last.then(begin, begin) };
      last = next.answer;
    }
    for (const item of items) next.items.add(item);
    return next.answer;
  };
};
