/** Checks the `pattern` of a format when it is saved: letters that stand for nothing would stand in every mail as they are. */
import { DIGITS_PATTERN } from '../scope/formats.js';

const LETTERS =
  "letters are y (year), M (month), d (day), E (weekday), H or h (hour), m (minute), s (second) and a (am, pm); others stand in quotes, such as 'at'";

/** In: the pattern of a date or a time. Out: what is wrong with it; undefined where each of its letters says something. */
export const datePatternFault = (pattern: string): string | undefined => {
  const fault = faultOf(runsOf(pattern));
  if (fault === undefined) return undefined;
  const right = variantsOf(pattern).find((variant) => faultOf(runsOf(variant)) === undefined);
  return right === undefined ? fault : `${fault}; did you mean "${right}"?`;
};

/** In: the pattern of a number, an amount or a share. Out: what is wrong with it. */
export const numberPatternFault = (pattern: string): string | undefined =>
  DIGITS_PATTERN.test(pattern)
    ? undefined
    : 'must be a pattern of digits such as 0.00 or #,##0.00, in which "," groups and "." begins the fraction, whatever the language; signs and currencies come from style and locale';

/** A quoted text, or a run of one letter. */
const RUN = /'(?:[^']|'')*'|([A-Za-z])\1*/g;

const runsOf = (pattern: string): readonly string[] => [...pattern.matchAll(RUN)].flatMap(([run]) => (run.startsWith("'") ? [] : [run]));

const faultOf = (runs: readonly string[]): string | undefined => {
  const meaningless = runs.find((run) => !'yMdEaHhms'.includes(run.charAt(0)));
  if (meaningless !== undefined) return `has "${meaningless}", which stands for nothing: ${LETTERS}`;
  const weekday = runs.find((run) => /^d{3,}$/.test(run));
  if (weekday !== undefined) return `has "${weekday}": the weekday is EEE or EEEE, and d the day of the month`;
  const letters = new Set(runs.map((run) => run.charAt(0)));
  const [hasDay, hasHour] = [letters.has('y') || letters.has('d'), letters.has('H') || letters.has('h')];
  if (hasDay && !hasHour && letters.has('m') && !letters.has('M')) return 'has "m", which is the minute: the month is M';
  if (hasHour && !hasDay && letters.has('M') && !letters.has('m')) return 'has "M", which is the month: the minute is m';
  return undefined;
};

/** Letters of other programs, and those that say the same here. */
const others: Readonly<Record<string, string>> = { D: 'd', Y: 'y', A: 'a', T: "'T'", Z: "'Z'" };

/** The pattern as other programs may have meant it. */
const variantsOf = (pattern: string): readonly string[] => {
  const translated = pattern.replace(RUN, (run: string) => {
    if (/^d{3,}$/.test(run)) return run.length === 3 ? 'EEE' : 'EEEE';
    return run.startsWith("'") ? run : [...run].map((letter) => others[letter] ?? letter).join('');
  });
  const exchanged = (from: string, to: string): string =>
    translated.replace(RUN, (run: string) => (run.startsWith(from) ? to.repeat(run.length) : run));
  return [translated, exchanged('m', 'M'), exchanged('M', 'm')];
};
