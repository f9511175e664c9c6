/** Keeps the last answers of pure functions that are asked for the same few things again and again. */
import { boundedCache } from '../../shared/cache.js';

/** `keyOf` gives calls with different answers different keys. */
export const memoized = <Args extends readonly unknown[], Answer extends object | string>(
  entriesMax: number,
  keyOf: (...args: Args) => string | number,
  answerOf: (...args: Args) => Answer,
): ((...args: Args) => Answer) => {
  const answers = boundedCache<string | number, Answer>({ entriesMax });
  return (...args) => answers.getOrMake(keyOf(...args), () => answerOf(...args));
};
