/** Keeps the last answers of pure functions that are asked for the same few things again and again. */
import { isoTime } from '../../domain/core/time.js';
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

/** A power of two. Two seconds this far apart share a place, and the later one replaces the other. */
const SECONDS_KEPT = 64;
const MILLISECONDS = Array.from({ length: 1_000 }, (_, ms) => `${String(ms).padStart(3, '0')}Z`);
const seconds = Array.from({ length: SECONDS_KEPT }, () => ({ second: Number.NaN, text: '' }));

/** As `isoTime`, but keeps the text of the last seconds, because commands need many moments of the same few seconds. */
export const isoMoment = (ms: number): string => {
  const second = Math.floor(ms / 1_000);
  const ending = MILLISECONDS[ms - second * 1_000];
  if (ending === undefined) return isoTime(ms);
  const kept = seconds[second & (SECONDS_KEPT - 1)]!;
  if (kept.second !== second) {
    kept.text = isoTime(second * 1_000).slice(0, -MILLISECONDS[0]!.length);
    kept.second = second;
  }
  return kept.text + ending;
};
