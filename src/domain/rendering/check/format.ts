/** Checks the display format of a variable or a column, and the language of a template, against what Intl takes. */
import { DIGITS_PATTERN } from '../scope/formats.js';
import type { Limits } from '../../core/limits.js';
import type { ValueFormat } from '../scope/definitions.js';
import type { Faults } from './faults.js';
import { shorten } from '../scope/path.js';
import { hasPlaceholder, parseTemplatedText } from '../fill/templated-text.js';

export const isPlainObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const formatStyles = ['number', 'currency', 'percent', 'date', 'time', 'datetime'] as const;
export const dateLengths = ['full', 'long', 'medium', 'short'] as const;
export const PATTERN_CHARS_MAX = 100;
export const DIGITS_MAX = 20;
export const CURRENCY = /^[A-Za-z]{3}$/;

/** Longest language tag, and longest name of a time zone. */
export const LANGUAGE_CHARS_MAX = 100;

type Check = (value: unknown, limits: Limits) => string | undefined;

const oneOf =
  (values: readonly string[]): Check =>
  (value) =>
    values.some((known) => known === value) ? undefined : `must be one of ${values.join(', ')}`;

const digits: Check = (value) =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= DIGITS_MAX
    ? undefined
    : `must be a whole number from 0 to ${DIGITS_MAX}`;

/** A currency code may come from a variable, for an order knows its own. */
const currency: Check = (value, limits) => {
  if (typeof value !== 'string') return 'must be a currency code such as EUR';
  if (hasPlaceholder(value)) return parseTemplatedText(value, limits.pathSegmentsMax).faults[0];
  return CURRENCY.test(value)
    ? undefined
    : `must be a currency code of three letters such as EUR, got "${shorten(value)}"`;
};

const fields: Readonly<Record<keyof ValueFormat, Check>> = {
  style: oneOf(formatStyles),
  currency,
  minimumFractionDigits: digits,
  maximumFractionDigits: digits,
  dateStyle: oneOf(dateLengths),
  timeStyle: oneOf(dateLengths),
  pattern: (value) =>
    typeof value === 'string' && value !== '' && value.length <= PATTERN_CHARS_MAX
      ? undefined
      : `must be a pattern of at most ${PATTERN_CHARS_MAX} characters such as "yyyy-MM-dd"`,
  locale: (value) => localeFault(value),
  timeZone: (value) => timeZoneFault(value),
};

const isField = (name: string): name is keyof ValueFormat => Object.hasOwn(fields, name);

/** Adds what is wrong with a `format` to the faults, each with its path. */
export const checkFormat = (format: unknown, field: string, faults: Faults, limits: Limits): void => {
  if (!isPlainObject(format))
    return faults.add(
      field,
      'must be an object such as {"style": "currency", "currency": "EUR"} or {"style": "date", "dateStyle": "long"}',
    );
  for (const [name, value] of Object.entries(format)) {
    const check = isField(name) ? fields[name] : undefined;
    const fault =
      check === undefined ? `is not known; known are ${Object.keys(fields).join(', ')}` : check(value, limits);
    if (fault !== undefined) faults.add(`${field}.${shorten(name)}`, fault);
  }
  checkPattern(format, field, faults);
  if (format['style'] === undefined) faults.add(`${field}.style`, `is required: one of ${formatStyles.join(', ')}`);
  if (format['style'] === 'currency' && format['currency'] === undefined)
    faults.add(`${field}.currency`, 'is required where style is currency');
  const { minimumFractionDigits: min, maximumFractionDigits: max } = format;
  if (typeof min === 'number' && typeof max === 'number' && min > max) {
    faults.add(`${field}.minimumFractionDigits`, `is ${min}, more than maximumFractionDigits, which is ${max}`);
  }
};

/** Checks a pattern by the style, which says what it may hold. */
const checkPattern = ({ style, pattern }: Readonly<Record<string, unknown>>, field: string, faults: Faults): void => {
  if (typeof pattern !== 'string' || pattern.length > PATTERN_CHARS_MAX) return;
  const isDate = style === 'date' || style === 'time' || style === 'datetime';
  const isNumber = style === 'number' || style === 'currency' || style === 'percent';
  const fault = isDate ? datePatternFault(pattern) : isNumber ? numberPatternFault(pattern) : undefined;
  if (fault !== undefined) faults.add(`${field}.pattern`, fault);
};

/** undefined where Intl takes the language tag (BCP 47). */
export const localeFault = (value: unknown): string | undefined =>
  typeof value === 'string' &&
  value.length <= LANGUAGE_CHARS_MAX &&
  accepted(() => Intl.getCanonicalLocales(value)) &&
  hasCode(value)
    ? undefined
    : 'must be a language tag (BCP 47) such as en-US or de-DE';

/** No language has a code of more than three letters, but a word such as "german" has the form of one. */
const hasCode = (tag: string): boolean => new Intl.Locale(tag).language.length <= 3;

/** undefined where Intl knows the time zone (IANA). */
export const timeZoneFault = (value: unknown): string | undefined =>
  typeof value === 'string' &&
  value.length <= LANGUAGE_CHARS_MAX &&
  accepted(() => new Intl.DateTimeFormat('en-US', { timeZone: value }))
    ? undefined
    : 'must be the IANA name of a time zone such as UTC or Europe/Berlin';

const accepted = (attempt: () => unknown): boolean => {
  try {
    attempt();
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
};

const LETTERS =
  "letters are G (era), y (year), M (month), L (month as it stands alone), d (day), E (weekday), H or h (hour), m (minute), s (second) and a (am, pm); others stand in quotes, such as 'at'";

/**
 * In: the pattern of a date or a time. Out: what is wrong with it; undefined where each of its letters says something.
 * Other letters would stand in every mail as they are.
 */
const datePatternFault = (pattern: string): string | undefined => {
  const fault = faultOf(runsOf(pattern));
  if (fault === undefined) return undefined;
  const right = variantsOf(pattern).find((variant) => faultOf(runsOf(variant)) === undefined);
  return right === undefined ? fault : `${fault}; did you mean "${right}"?`;
};

/** In: the pattern of a number, an amount or a share. Out: what is wrong with it. */
const numberPatternFault = (pattern: string): string | undefined =>
  DIGITS_PATTERN.test(pattern)
    ? undefined
    : 'must be a pattern of digits such as 0.00 or #,##0.00, in which "," groups and "." begins the fraction, whatever the language; signs and currencies come from style and locale';

/** A quoted text, or a run of one letter. */
const RUN = /'(?:[^']|'')*'|([A-Za-z])\1*/g;

const runsOf = (pattern: string): readonly string[] =>
  [...pattern.matchAll(RUN)].flatMap(([run]) => (run.startsWith("'") ? [] : [run]));

const faultOf = (runs: readonly string[]): string | undefined => {
  const meaningless = runs.find((run) => !'GyMLdEaHhms'.includes(run.charAt(0)));
  if (meaningless !== undefined) return `has "${meaningless}", which stands for nothing: ${LETTERS}`;
  const weekday = runs.find((run) => /^d{3,}$/.test(run));
  if (weekday !== undefined) return `has "${weekday}": the weekday is EEE or EEEE, and d the day of the month`;
  const letters = new Set(runs.map((run) => run.charAt(0)));
  const [hasDay, hasHour] = [letters.has('y') || letters.has('d'), letters.has('H') || letters.has('h')];
  if (hasDay && !hasHour && letters.has('m') && !letters.has('M') && !letters.has('L'))
    return 'has "m", which is the minute: the month is M';
  if (hasHour && !hasDay && letters.has('M') && !letters.has('m'))
    return 'has "M", which is the month: the minute is m';
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
