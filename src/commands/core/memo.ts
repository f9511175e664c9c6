/** Remembers what a pure function answered last, where the same few things are asked again and again. */
import { isoTime } from '../../domain/core/time.js';
import { boundedCache } from '../../shared/cache.js';

/** `keyOf` tells calls with different answers apart. */
export const remembered = <Args extends readonly unknown[], Answer extends object | string>(
  entriesMax: number,
  keyOf: (...args: Args) => string | number,
  answerOf: (...args: Args) => Answer,
): ((...args: Args) => Answer) => {
  const answers = boundedCache<string | number, Answer>({ entriesMax });
  return (...args) => answers.getOrMake(keyOf(...args), () => answerOf(...args));
};

/** A power of two. Seconds so far apart share a place: one of them is then written anew. */
const SECONDS_KEPT = 64;
const MILLISECONDS = Array.from({ length: 1_000 }, (_, ms) => `${String(ms).padStart(3, '0')}Z`);
const seconds = Array.from({ length: SECONDS_KEPT }, () => ({ second: Number.NaN, text: '' }));

/** As `isoTime`: commands ask again and again for moments of the same few seconds, whose text is kept. */
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
