/** Ways to share time: heavy work lets the event loop serve others between its parts, and calls that arrive together become one call for many. */

/** Parts of heavy work, each of which waits for its own turn of the event loop. */
const waiting: (() => void)[] = [];

const goOn = (): void => {
  const next = waiting.shift();
  if (waiting.length > 0) setImmediate(goOn);
  next?.();
};

/**
 * Lets the event loop serve others between two parts of heavy work. Each turn of the loop runs one waiting part, the one that has waited
 * longest, so that many callers hold the loop no longer than one.
 */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(goOn);
  });

/** In: work for many items. Out: a function that collects the items of calls while the work is under way, then does the work once for all of them. */
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
