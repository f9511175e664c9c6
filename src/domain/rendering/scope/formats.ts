/**
 * Writes values in the reader's language: by the `format` of a variable or a column, with the meaning of ECMA-402, or
 * plainly where no format is given.
 */
import type { Json } from '../../core/json.js';
import { isArray } from './path.js';
import type { ValueFormat } from './definitions.js';
import { boundedCache } from '../../../shared/cache.js';
import { toNumber } from './conditions.js';
import { parseDate, type Instant, formatWithPattern } from './dates.js';

/** The language that a template says once for all its formats. */
export type Language = Readonly<{ /** BCP 47 */ locale: string; /** IANA name */ timeZone: string }>;

export type Formatter = (value: Json | undefined) => string;

const CACHE_MAX = 500;
const cache = boundedCache<string, Formatter>({ entriesMax: CACHE_MAX });

/**
 * In: a format, and the template's language for what the format leaves open. Out: the function that writes a value so.
 * A value that is no number (no date) is written as it is. A format that Intl refuses writes values as they are.
 * The Intl objects behind it are made once: they cost a thousand times what a call to them does.
 */
export const formatterOf = (format: ValueFormat, language: Language): Formatter => {
  const key = JSON.stringify([
    format.style,
    format.currency,
    format.minimumFractionDigits,
    format.maximumFractionDigits,
    format.dateStyle,
    format.timeStyle,
    format.pattern,
    format.locale ?? language.locale,
    format.timeZone ?? language.timeZone,
  ]);
  return cache.getOrMake(key, () => makeFormatter(format, language));
};

const COLLATORS_MAX = 100;
const collators = boundedCache<string, Intl.Collator>({ entriesMax: COLLATORS_MAX });

/**
 * Orders as a language does, whatever language the machine runs in. Making a collator costs as much as hundreds of
 * comparisons, so that each is made once.
 */
export const collatorOf = (locale: string, isNumeric: boolean): Intl.Collator =>
  collators.getOrMake(
    isNumeric ? `${locale} numeric` : locale,
    () => new Intl.Collator(locale, isNumeric ? { numeric: true } : {}),
  );

const makeFormatter = (format: ValueFormat, language: Language): Formatter => {
  const locale = format.locale ?? language.locale;
  const timeZone = format.timeZone ?? language.timeZone;
  try {
    switch (format.style) {
      case 'number':
      case 'currency':
      case 'percent':
        return numberFormatter(format, locale);
      case 'date':
      case 'time':
      case 'datetime':
        return dateFormatter(format, locale, timeZone);
    }
  } catch (error) {
    if (error instanceof RangeError || error instanceof TypeError) return writeValue;
    throw error;
  }
};

const numberFormatter = (format: ValueFormat, locale: string): Formatter => {
  const { style, currency } = format;
  // A negative number that is rounded to zero has no sign.
  const options: Intl.NumberFormatOptions = { ...digitsOf(format), signDisplay: 'negative' };
  if (style === 'percent') options.style = 'percent';
  if (style === 'currency') Object.assign(options, { style: 'currency', currency: currency ?? 'USD' });
  const intl = new Intl.NumberFormat(locale, options);
  const fast = fastNumbers(intl);
  return (value) => {
    const number = toNumber(value);
    if (number === undefined) return writeValue(value);
    return fast?.(number) ?? intl.format(number);
  };
};

/** A pattern of digits: groups, whole digits, fraction. */
export const DIGITS_PATTERN = /^[#,]*(0+)?(?:\.(0*)(#*))?$/;

/** Fraction digits from the format, or from a pattern such as `#,##0.00`. */
export const digitsOf = (format: ValueFormat): Intl.NumberFormatOptions => {
  const digits: Intl.NumberFormatOptions = {};
  const pattern = DIGITS_PATTERN.exec(format.pattern ?? '');
  if (format.pattern !== undefined && pattern !== null) {
    digits.minimumFractionDigits = pattern[2]?.length ?? 0;
    digits.maximumFractionDigits = (pattern[2]?.length ?? 0) + (pattern[3]?.length ?? 0);
    digits.useGrouping = format.pattern.includes(',');
    digits.minimumIntegerDigits = Math.max(1, pattern[1]?.length ?? 1);
  }
  const { minimumFractionDigits: min, maximumFractionDigits: max } = format;
  if (min !== undefined) digits.minimumFractionDigits = min;
  if (max !== undefined) digits.maximumFractionDigits = max;
  if (max !== undefined && min === undefined)
    digits.minimumFractionDigits = Math.min(max, digits.minimumFractionDigits ?? 0);
  return digits;
};

/** Texts of moments that one format keeps: many mails of an hour show the same days. */
const MOMENTS_MAX = 64;
const MINUTE_MS = 60_000;
/** Since then every clock is whole minutes apart from UTC (tz database: Liberia was the last to change). */
const WHOLE_MINUTES_FROM_MS = Date.UTC(1973, 0);

const dateFormatter = (format: ValueFormat, locale: string, timeZone: string): Formatter => {
  const write = (zone: string): ((date: Date) => string) => {
    if (format.pattern !== undefined) return formatWithPattern(format.pattern, locale, zone);
    const styles = stylesOf(format);
    const intl = new Intl.DateTimeFormat(locale, { timeZone: zone, ...styles });
    return styles.timeStyle === undefined || styles.timeStyle === 'short'
      ? byMinute(intl)
      : (date) => intl.format(date);
  };
  const [inZone, asDay] = [write(timeZone), write('UTC')];
  return (value) => {
    const instant = toInstant(value);
    if (instant === undefined) return writeValue(value);
    return (instant.dateOnly ? asDay : inZone)(new Date(instant.epochMs));
  };
};

/** In: a format that shows no seconds. Out: its function, which asks Intl once for each minute. */
const byMinute = (intl: Intl.DateTimeFormat): ((date: Date) => string) => {
  const texts = boundedCache<number, string>({ entriesMax: MOMENTS_MAX });
  return (date) => {
    const ms = date.getTime();
    if (!(ms >= WHOLE_MINUTES_FROM_MS)) return intl.format(date);
    return texts.getOrMake(Math.floor(ms / MINUTE_MS), () => intl.format(date));
  };
};

const stylesOf = (format: ValueFormat): Intl.DateTimeFormatOptions => {
  const { style, dateStyle = 'medium', timeStyle = 'short' } = format;
  return { ...(style === 'time' ? {} : { dateStyle }), ...(style === 'date' ? {} : { timeStyle }) };
};

const toInstant = (value: Json | undefined): Instant | undefined => {
  if (typeof value === 'number')
    return Math.abs(value) <= 8.64e15 ? { epochMs: Math.trunc(value), dateOnly: false } : undefined;
  return typeof value === 'string' ? parseDate(value) : undefined;
};

const FAST_ABOVE = 1e9;

/**
 * A way around Intl for amounts and shares: where a locale writes Western digits in groups of three, a number is a
 * prefix, the grouped integer, the decimal mark and the fraction, and a suffix; the sign is a part of the prefix or the
 * suffix. The pieces are learnt from Intl itself, the result is used only for numbers that the fraction digits hold
 * exactly (no rounding to agree upon; where their count is open, for whole numbers), and it is proven against Intl on
 * samples before it is trusted; otherwise the answer is undefined and Intl does the work.
 */
const fastNumbers = (intl: Intl.NumberFormat): ((value: number) => string | undefined) | undefined => {
  const { style, minimumFractionDigits: min = 0, maximumFractionDigits: max = 0 } = intl.resolvedOptions();
  const fractionDigits = min === max ? max : min;
  if ((min !== max && min !== 0) || fractionDigits > 3) return undefined;
  const factor = style === 'percent' ? 100 : 1;
  const pieces = intl.formatToParts(1234567.5);
  const [positive, negative] = [affixesOf(pieces), affixesOf(intl.formatToParts(-1234567.5))];
  const group = pieces.find(isGroup)?.value ?? '';
  const decimal = pieces.find((piece) => piece.type === 'decimal')?.value ?? '';
  const groupsFrom = intl.formatToParts(1234 / factor).some(isGroup) ? 1_000 : 10_000;
  const fractionScale = 10 ** fractionDigits;
  const scale = fractionScale * factor;
  const write = (value: number): string | undefined => {
    const size = Math.abs(value);
    if (!(size < FAST_ABOVE)) return undefined;
    const scaled = Math.round(size * scale);
    if (scaled / scale !== size) return undefined;
    const whole = Math.trunc(scaled / fractionScale);
    const fraction =
      fractionDigits === 0 ? '' : decimal + String(scaled - whole * fractionScale).padStart(fractionDigits, '0');
    const { prefix, suffix } = value < 0 ? negative : positive;
    return prefix + (whole < groupsFrom ? String(whole) : grouped(whole, group)) + fraction + suffix;
  };
  const samples = SAMPLES.flatMap((sample) => [sample, -sample, sample / 100, -sample / 100]);
  return samples.every((sample) => (write(sample) ?? intl.format(sample)) === intl.format(sample)) ? write : undefined;
};

const isGroup = ({ type }: Intl.NumberFormatPart): boolean => type === 'group';

const SAMPLES = [0, 1, 9.5, 12, 999, 1000, 1234, 9999.25, 12345, 123456.75, 999999, 1234567, 98765432, 999999999];

/** Out: the text that Intl writes before the first digit of a number, and behind the last. */
const affixesOf = (pieces: readonly Intl.NumberFormatPart[]): Readonly<{ prefix: string; suffix: string }> => {
  const isDigits = ({ type }: Intl.NumberFormatPart): boolean => type === 'integer' || type === 'fraction';
  const text = (some: readonly Intl.NumberFormatPart[]): string => some.map(({ value }) => value).join('');
  return {
    prefix: text(pieces.slice(0, pieces.findIndex(isDigits))),
    suffix: text(pieces.slice(pieces.findLastIndex(isDigits) + 1)),
  };
};

const grouped = (whole: number, group: string): string => {
  const digits = String(whole);
  const head = digits.length % 3;
  let text = digits.slice(0, head);
  for (let at = head; at < digits.length; at += 3) text += (at === 0 ? '' : group) + digits.slice(at, at + 3);
  return text;
};

/** Control characters, which no mail needs and some readers trip over; tab and line breaks stay. */
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/;
const CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g;

/** Text without control characters other than tab, LF and CR. */
export const withoutControls = (text: string): string => (CONTROL.test(text) ? text.replace(CONTROLS, '') : text);

/**
 * Writes a value without a format: text as it is (without control characters), numbers and booleans in JavaScript's way
 * but without the noise of binary fractions, nothing for null and undefined, an array of simple values joined by
 * commas, anything else as JSON.
 */
export const writeValue = (value: Json | undefined): string => {
  if (typeof value === 'string') return withoutControls(value);
  if (value === undefined || value === null) return '';
  if (typeof value === 'number') return writeNumber(value);
  if (typeof value !== 'object') return String(value);
  if (isArray(value) && value.every((item) => typeof item !== 'object' || item === null))
    return value.map(writeValue).join(', ');
  return JSON.stringify(value);
};

/** Fractions keep the 15 digits that a double holds for certain: 0.1 + 0.2 is 0.3. */
export const writeNumber = (value: number): string => {
  const text = String(value);
  return text.length <= DIGITS_MAX || Number.isInteger(value) ? text : String(Number(value.toPrecision(DIGITS_MAX)));
};

const DIGITS_MAX = 15;
