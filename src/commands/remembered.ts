/** Remembers what a pure function answered last, where the same few things are asked again and again. */
import { isoTime } from '../domain/ports/clock.js';
import { boundedCache } from '../shared/bounded-cache.js';

/** `keyOf` tells calls with different answers apart. */
export const remembered = <Args extends readonly unknown[], Answer extends object | string>(
  entriesMax: number,
  keyOf: (...args: Args) => string | number,
  answerOf: (...args: Args) => Answer,
): ((...args: Args) => Answer) => {
  const answers = boundedCache<string | number, Answer>({ entriesMax });
  return (...args) => answers.getOrMake(keyOf(...args), () => answerOf(...args));
};

/** ISO 8601 of a moment: within one millisecond many commands ask for the same few. */
export const isoMoment = remembered(16, (ms: number) => ms, isoTime);
