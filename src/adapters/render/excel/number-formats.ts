/** The `format` of a value as the format code of a workbook: the cell holds the number or the date, the code says how it looks. */
import { digitsOf, type Language } from '../../../domain/rendering/scope/formats.js';
import type { ValueFormat } from '../../../domain/rendering/scope/definitions.js';
import { localeId } from './locale-ids.js';

/** The code for one value; a number whose digits may vary has as many as it needs, as it has in every other output. */
export type NumberCode = (value: number) => string;

/**
 * In: a format whose style is number, currency or percent. Out: the code for a value; undefined where Intl refuses the format.
 * Group and decimal marks are those of the reader's own system, as sheets have it; the currency and its place are the template's.
 */
export const numberCode = (format: ValueFormat, language: Language): NumberCode | undefined => {
  const { style, currency = 'USD' } = format;
  if (style !== 'number' && style !== 'currency' && style !== 'percent') return undefined;
  const locale = format.locale ?? language.locale;
  try {
    const intl = new Intl.NumberFormat(locale, {
      ...digitsOf(format),
      ...(style === 'currency' ? { style, currency } : style === 'percent' ? { style } : {}),
    });
    return codeOf(intl, style === 'currency' ? localeId(locale) : '');
  } catch (error) {
    if (error instanceof RangeError || error instanceof TypeError) return undefined;
    throw error;
  }
};

const codeOf = (intl: Intl.NumberFormat, lcid: string): NumberCode => {
  const {
    minimumFractionDigits: min = 0,
    maximumFractionDigits: max = 0,
    minimumIntegerDigits,
    useGrouping,
    style,
  } = intl.resolvedOptions();
  const parts = intl.formatToParts(1);
  const first = parts.findIndex(({ type }) => type === 'integer');
  const last = parts.findLastIndex(({ type }) => type === 'integer' || type === 'fraction');
  const side = (from: number, to: number): string =>
    parts
      .slice(from, to)
      .map((part) => around(part, lcid))
      .join('');
  const [prefix, suffix] = [side(0, first), side(last + 1, parts.length)];
  const whole = '0'.repeat(minimumIntegerDigits);
  const integer =
    String(useGrouping) === 'false'
      ? whole
      : minimumIntegerDigits >= 4
        ? grouped(whole)
        : `#,##0`.slice(0, 5 - minimumIntegerDigits) + whole;
  const codesOf = (digitsBefore: string): readonly string[] =>
    Array.from({ length: max - min + 1 }, (_, more) => {
      const digits = min + more;
      return `${prefix}${digitsBefore}${digits === 0 ? '' : `.${'0'.repeat(digits)}`}${suffix}`;
    });
  const codes = codesOf(integer);
  // Some languages group from five digits on only, which no code says.
  const ungrouped = isGrouped(intl, 10_000) && !isGrouped(intl, 1_000) ? codesOf(whole) : codes;
  const scale = style === 'percent' ? 100 : 1;
  return (value) => {
    const shown = value * scale;
    const fitting = ungrouped !== codes && Number(Math.abs(shown).toFixed(max)) < 10_000 ? ungrouped : codes;
    return fitting[max === min ? 0 : Math.max(0, digitsNeeded(shown, max) - min)] ?? 'General';
  };
};

const isGrouped = (intl: Intl.NumberFormat, value: number): boolean =>
  intl.formatToParts(value / (intl.resolvedOptions().style === 'percent' ? 100 : 1)).some(({ type }) => type === 'group');

const grouped = (zeros: string): string => zeros.replace(/(?!^)(?=(?:0{3})+$)/g, ',');

const around = ({ type, value }: Intl.NumberFormatPart, lcid: string): string => {
  if (type === 'currency') return `[$${value.replace(/[[\]"]/g, '')}${lcid === '' ? '' : `-${lcid}`}]`;
  return type === 'percentSign' ? '%' : literal(value);
};

/** Digits after the point that a number has once it is rounded to `max`. */
const digitsNeeded = (value: number, max: number): number => {
  const fraction = Math.abs(value).toFixed(Math.min(max, 20)).split('.')[1] ?? '';
  return fraction.replace(/0+$/, '').length;
};

/** What a sheet cannot write: a day of another calendar, or a month by its name in a language whose readers have other months. */
export const NO_CODE = Symbol('no code');

/** In: a format whose style is date, time or datetime. Out: its code; undefined where Intl refuses the format. */
export const dateCode = (format: ValueFormat, language: Language): string | undefined | typeof NO_CODE => {
  const locale = format.locale ?? language.locale;
  try {
    const calendar = calendarOf(locale);
    const written = format.pattern === undefined ? styleCode(format, locale) : patternCode(format.pattern);
    // As it stands, this one is the number of "the short date of the reader's system".
    const code = written === 'mm-dd-yy' ? 'mm\\-dd\\-yy' : written;
    // Words for months and days in the template's language, whatever the reader's own is.
    const lcid = /mmm|ddd|AM\/PM/.test(code) ? localeId(locale) : '';
    if (calendar === 'gregory' || format.style === 'time') return inLanguage(lcid, code);
    if (format.pattern !== undefined) return calendar !== 'buddhist' && /mmm/.test(code) ? NO_CODE : inLanguage(lcid, code);
    return calendar === 'buddhist' ? `[$-${BUDDHIST}${localeId(locale).padStart(4, '0')}]${code}` : NO_CODE;
  } catch (error) {
    if (error instanceof RangeError || error instanceof TypeError) return undefined;
    throw error;
  }
};

/** Western digits and the Thai calendar, before a language. */
const BUDDHIST = '107';

const calendarOf = (locale: string): string => new Intl.DateTimeFormat(locale).resolvedOptions().calendar;

const inLanguage = (lcid: string, code: string): string => (lcid === '' ? code : `[$-${lcid}]${code}`);

const TOKEN = /'((?:[^']|'')*)'|(y+|M+|d+|E+|a+|H+|h+|m+|s+)|([^'A-Za-z]+|.)/g;

const patternCode = (pattern: string): string =>
  [...pattern.matchAll(TOKEN)]
    .map(([whole, quoted, letters]) => {
      if (letters === undefined) return literal(quoted === undefined ? whole : quoted === '' ? "'" : quoted.replaceAll("''", "'"));
      const width = letters.length;
      switch (letters.charAt(0)) {
        case 'y':
          return width === 2 ? 'yy' : 'yyyy';
        case 'M':
          return 'm'.repeat(Math.min(width, 4));
        case 'd':
          return 'd'.repeat(Math.min(width, 2));
        case 'E':
          return width <= 3 ? 'ddd' : 'dddd';
        case 'a':
          return 'AM/PM';
        case 'H':
        case 'h':
          return 'h'.repeat(Math.min(width, 2));
        case 'm':
          return 'm'.repeat(Math.min(width, 2));
        default:
          return 's'.repeat(Math.min(width, 2));
      }
    })
    .join('');

/** The code as Intl itself orders the parts of a date in that language, in the Gregorian calendar. */
const styleCode = (format: ValueFormat, locale: string): string => {
  const { style, dateStyle = 'medium', timeStyle = 'short' } = format;
  const calendar = calendarOf(locale) === 'buddhist' ? 'buddhist' : 'gregory';
  const inSheets = new Intl.Locale(locale, { calendar, numberingSystem: 'latn' });
  const partsOf = (options: Intl.DateTimeFormatOptions): readonly Intl.DateTimeFormatPart[] =>
    new Intl.DateTimeFormat(inSheets, { timeZone: 'UTC', ...options }).formatToParts(SHOWN_DAY);
  const long = partsOf({ dateStyle: 'full' });
  const isLong = ({ type, value }: Intl.DateTimeFormatPart): boolean => long.some((part) => part.type === type && part.value === value);
  return partsOf({ ...(style === 'time' ? {} : { dateStyle }), ...(style === 'date' ? {} : { timeStyle }) })
    .map((part) => partCode(part, isLong(part)))
    .join('')
    .trim();
};

/** Saturday, 3 September 2005, 07:08:09: each number has one digit where the language does not ask for two, and words are longest in the longest date. */
const SHOWN_DAY = new Date(Date.UTC(2005, 8, 3, 7, 8, 9));

const partCode = ({ type, value }: Intl.DateTimeFormatPart, isLong: boolean): string =>
  Object.hasOwn(partCodes, type) ? (partCodes[type]?.(value, isLong) ?? '') : '';

type PartCode = (value: string, isLong: boolean) => string;

/** Months and days of the week are numbers or words, short or long, as the part itself shows. Time zones have no code. */
const partCodes: Readonly<Partial<Record<Intl.DateTimeFormatPartTypes, PartCode>>> = {
  year: (value) => (value.length <= 2 ? 'yy' : 'yyyy'),
  month: (value, isLong) => {
    const [, digits = '', word = ''] = /^(\d*)(.*)$/s.exec(value) ?? [];
    return digits === '' ? (isLong ? 'mmmm' : 'mmm') : `${digits.length > 1 ? 'mm' : 'm'}${literal(word)}`;
  },
  day: (value) => (value.length > 1 ? 'dd' : 'd'),
  weekday: (_, isLong) => (isLong ? 'dddd' : 'ddd'),
  hour: (value) => (value.length > 1 ? 'hh' : 'h'),
  minute: () => 'mm',
  second: () => 'ss',
  dayPeriod: () => 'AM/PM',
  era: (value) => literal(value),
  literal: (value) => literal(value),
};

const PLAIN = /^[ ,.:()-]*$/;

/** Text inside a code: what could be read as a part of the code stands in quotation marks. */
const literal = (text: string): string => {
  const spaced = text.replace(/[\u00a0\u202f\u2009]/g, ' ').replace(/[\u200e\u200f\u061c]/g, '');
  return PLAIN.test(spaced)
    ? spaced
    : spaced
        .split('"')
        .map((piece) => (piece === '' ? '' : `"${piece}"`))
        .join('\\"');
};
