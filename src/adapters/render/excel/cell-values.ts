/** The typed value of a cell (number, date, truth value or text) and its format as the format code of a workbook. */
import { digitsOf, type Language, writeNumber } from '../../../domain/rendering/scope/formats.js';
import type { ValueFormat } from '../../../domain/rendering/scope/definitions.js';
import type { Cell } from '../../../domain/rendering/expand/expanded.js';
import { calendarOf, type Instant, wallClockOf } from '../../../domain/rendering/scope/dates.js';
import { isDated, meaningOf, PLAIN_NUMBER } from '../../../domain/rendering/scope/display-format.js';

type TypedValue = Readonly<{
  value: number | Date | boolean;
  /** Undefined: as the sheet shows such values by itself. */ code: string | undefined;
}>;

/** Undefined: the cell is text. */
export type Typed = (cell: Pick<Cell, 'value' | 'displayFormat'>) => TypedValue | undefined;

type Codes = Readonly<{
  number: (format: ValueFormat) => NumberCode | undefined;
  date: (format: ValueFormat) => string | typeof NO_CODE;
  /** The wall clock time in the time zone of the format, as if it were UTC: a sheet has no time zones. */
  wallClock: (epochMs: number, format: ValueFormat) => number;
}>;

/**
 * The code for one value; a number whose digits may vary has as many as it needs, as it has in every other output.
 * `isZero`: so it is shown.
 */
type NumberCode = (value: number) => Readonly<{ code: string; isZero: boolean }>;

type PartCode = (value: string, isLong: boolean) => string;

/** Excel writes truth values in the reader's language whatever the code; others would show them as 1 and 0. */
const TRUTH_CODE = '"TRUE";"TRUE";"FALSE"';

/** A sheet shows so many characters of a number by itself. */
const GENERAL_CHARS_MAX = 11;

/** A day in a form that every calendar knows. */
const ISO_DAY = 'yyyy-mm-dd';

/** Sheets know no day before this one; the days up to 1 March 1900 have another number in Excel than elsewhere. */
const FIRST_DAY_MS = Date.UTC(1900, 2, 1);

/** A format that a sheet cannot write: a day of another calendar, an era, a name of one letter. */
const NO_CODE = Symbol('no code');

/**
 * In: the language of a workbook. Out: the function that gives the typed value of a cell, which means what it means in
 * every output.
 */
export const typedCells = (language: Language): Typed => {
  const codes = createCodes(language);
  return ({ value, displayFormat }) => {
    if (displayFormat === undefined || value === undefined) return undefined;
    const meaning = meaningOf(value, displayFormat);
    switch (meaning.kind) {
      case 'text':
        return undefined;
      case 'boolean':
        return { value: meaning.truth, code: TRUTH_CODE };
      case 'number':
        return isShortPlain(meaning.number, meaning.format)
          ? { value: meaning.number, code: undefined }
          : numbered(meaning.number, codes.number(meaning.format)?.(meaning.number));
      case 'date':
        return dated(meaning.instant, meaning.format, codes);
    }
  };
};

/** The code for what a formula will give, which nobody knows yet: two digits where the format leaves it open. */
export const resultCodes = (language: Language): ((format: ValueFormat | undefined) => string) => {
  const codes = new Map<ValueFormat | undefined, string>([[undefined, '']]);
  return (format) => {
    const known = codes.get(format);
    if (known !== undefined || format === undefined) return known ?? '';
    const openDigits = format.style === 'percent' ? 0.2525 : 0.25;
    const written = isDated(format) ? dateCode(format, language) : numberCode(format, language)?.(openDigits).code;
    const code = written === NO_CODE ? ISO_DAY : (written ?? '');
    codes.set(format, code);
    return code;
  };
};

/** A number that needs no code: without one, what a reader enters there later is shown as it is too. */
const isShortPlain = (value: number, format: ValueFormat): boolean =>
  format === PLAIN_NUMBER && writeNumber(value).length <= GENERAL_CHARS_MAX;

/** Sheets would show a negative number that is rounded to zero with its sign. */
const numbered = (value: number, shown: ReturnType<NumberCode> | undefined): TypedValue => ({
  value: value < 0 && shown?.isZero === true ? 0 : value,
  code: shown?.code,
});

const dated = ({ epochMs, dateOnly }: Instant, format: ValueFormat, codes: Codes): TypedValue | undefined => {
  const wallMs = dateOnly ? epochMs : codes.wallClock(epochMs, format);
  if (wallMs < FIRST_DAY_MS || wallMs >= Date.UTC(10_000, 0, 1)) return undefined;
  const code = codes.date(format);
  // A date of another calendar becomes the text that mails and PDFs show.
  return code === NO_CODE ? undefined : { value: new Date(wallMs), code };
};

/** Codes and clocks once for each format: Intl's objects cost a thousand times what a call to them does. */
const createCodes = (language: Language): Codes => {
  const kept = <T>(make: (format: ValueFormat) => T): ((format: ValueFormat) => T) => {
    const made = new Map<string, T>();
    let last: readonly [ValueFormat, T] | undefined;
    return (format) => {
      if (last?.[0] === format) return last[1];
      const key = JSON.stringify(format);
      const value = made.has(key) ? (made.get(key) as T) : make(format);
      made.set(key, value);
      last = [format, value];
      return value;
    };
  };
  const dates = kept((format) => dateCode(format, language));
  const clocks = kept((format) => clocksOf(format.timeZone ?? language.timeZone));
  return {
    number: kept((format) => numberCode(format, language)),
    date: (format) => dates(format) ?? ISO_DAY,
    wallClock: (epochMs, format) => clocks(format)(epochMs),
  };
};

/** An unknown time zone counts as UTC. */
const clocksOf = (timeZone: string): ((epochMs: number) => number) => {
  try {
    return wallClockOf(timeZone);
  } catch (error) {
    if (error instanceof RangeError) return (epochMs) => epochMs;
    throw error;
  }
};

/**
 * In: a format whose style is number, currency or percent. Out: the code for a value; undefined where Intl refuses the
 * format. Group and decimal marks are those of the reader's own system, as sheets have it; the currency and its place
 * are the template's.
 */
const numberCode = (format: ValueFormat, language: Language): NumberCode | undefined => {
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
    const rounded = Number(Math.abs(shown).toFixed(max));
    const fitting = ungrouped !== codes && rounded < 10_000 ? ungrouped : codes;
    return {
      code: fitting[max === min ? 0 : Math.max(0, digitsNeeded(shown, max) - min)] ?? 'General',
      isZero: rounded === 0,
    };
  };
};

const isGrouped = (intl: Intl.NumberFormat, value: number): boolean =>
  intl
    .formatToParts(value / (intl.resolvedOptions().style === 'percent' ? 100 : 1))
    .some(({ type }) => type === 'group');

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

/** Western digits and the Thai calendar, before a language. */
const BUDDHIST = '107';

const TOKEN = /'((?:[^']|'')*)'|(G+|y+|M+|L+|d+|E+|a+|H+|h+|m+|s+)|([^'A-Za-z]+|.)/g;

/**
 * Saturday, 3 September 2005, 07:08:09: each number has one digit where the language does not ask for two, and words
 * are longest in the longest date.
 */
const SHOWN_DAY = new Date(Date.UTC(2005, 8, 3, 7, 8, 9));

/** In: a format whose style is date, time or datetime. Out: its code; undefined where Intl refuses the format. */
const dateCode = (format: ValueFormat, language: Language): string | undefined | typeof NO_CODE => {
  const locale = format.locale ?? language.locale;
  try {
    const calendar = calendarOf(locale);
    const written = format.pattern === undefined ? styleCode(format, locale) : patternCode(format.pattern);
    // As it stands, this one is the number of "the short date of the reader's system".
    const code = written === 'mm-dd-yy' ? 'mm\\-dd\\-yy' : written;
    // Words for months and days in the template's language, whatever the reader's own is.
    const lcid = /mmm|ddd|AM\/PM/.test(code) ? localeId(locale) : '';
    const holdsDay =
      format.pattern === undefined ? format.style !== 'time' : DAY_LETTERS.test(withoutQuotes(format.pattern));
    if (format.pattern !== undefined && WORDS_OF_NO_CODE.test(withoutQuotes(format.pattern))) return NO_CODE;
    if (calendar === 'gregory' || !holdsDay) return inLanguage(lcid, code);
    return calendar === 'buddhist' ? `[$-${BUDDHIST}${localeId(locale).padStart(4, '0')}]${code}` : NO_CODE;
  } catch (error) {
    if (error instanceof RangeError || error instanceof TypeError) return undefined;
    throw error;
  }
};

/** Letters of a pattern that another calendar writes otherwise. */
const DAY_LETTERS = /[yMLd]/;
/** Eras, and names of one letter. */
const WORDS_OF_NO_CODE = /G|M{5}|L{5}|E{5}/;
const withoutQuotes = (pattern: string): string => pattern.replaceAll(/'[^']*'/g, '');

const inLanguage = (lcid: string, code: string): string => (lcid === '' ? code : `[$-${lcid}]${code}`);

const patternCode = (pattern: string): string =>
  [...pattern.matchAll(TOKEN)]
    .map(([whole, quoted, letters]) => {
      if (letters === undefined)
        return literal(quoted === undefined ? whole : quoted === '' ? "'" : quoted.replaceAll("''", "'"));
      const width = letters.length;
      switch (letters.charAt(0)) {
        case 'y':
          return width === 2 ? 'yy' : 'yyyy';
        case 'M':
        case 'L':
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
  const isLong = ({ type, value }: Intl.DateTimeFormatPart): boolean =>
    long.some((part) => part.type === type && part.value === value);
  return partsOf({ ...(style === 'time' ? {} : { dateStyle }), ...(style === 'date' ? {} : { timeStyle }) })
    .map((part) => partCode(part, isLong(part)))
    .join('')
    .trim();
};

const partCode = ({ type, value }: Intl.DateTimeFormatPart, isLong: boolean): string =>
  Object.hasOwn(partCodes, type) ? (partCodes[type]?.(value, isLong) ?? '') : '';

/**
 * Months and days of the week are numbers or words, short or long, as the part itself shows. Time zones have no code.
 */
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

/** Language ids of Windows (MS-LCID), by which format codes name a locale. */
const localeTable =
  'af 436 am 45e ar 401 ar-ae 3801 ar-eg c01 ar-sa 401 az 42c be 423 bg 402 bn 445 bs 141a ca 403 cs 405 cy 452 da 406 de 407 de-at c07 de-ch 807 ' +
  'el 408 en 409 en-au c09 en-ca 1009 en-gb 809 en-ie 1809 en-in 4009 en-nz 1409 en-za 1c09 es c0a es-ar 2c0a es-cl 340a es-co 240a es-mx 80a ' +
  'es-us 540a et 425 eu 42d fa 429 fi 40b fil 464 fr 40c fr-be 80c fr-ca c0c fr-ch 100c ga 83c gl 456 gu 447 he 40d hi 439 hr 41a hu 40e hy 42b ' +
  'id 421 is 40f it 410 it-ch 810 ja 411 ka 437 kk 43f km 453 kn 44b ko 412 lt 427 lv 426 mk 42f ml 44c mr 44e ms 43e mt 43a my 455 nb 414 ne 461 ' +
  'nl 413 nl-be 813 nn 814 no 414 pa 446 pl 415 pt 416 pt-br 416 pt-pt 816 ro 418 ru 419 sk 41b sl 424 sq 41c sr 241a sv 41d sv-fi 81d sw 441 ' +
  'ta 449 te 44a th 41e tr 41f uk 422 ur 420 uz 443 vi 42a zh 804 zh-cn 804 zh-hk c04 zh-hant 404 zh-sg 1004 zh-tw 404 zu 435';

const localeWords = localeTable.split(' ');
const localeIds: ReadonlyMap<string, string> = new Map(
  localeWords.flatMap((tag, at) => (at % 2 === 0 ? [[tag, localeWords[at + 1] ?? ''] as const] : [])),
);

/** In: BCP 47. Out: the id in hexadecimal, or '' where Windows has none that is known here. */
const localeId = (locale: string): string => {
  const { language, script, region } = new Intl.Locale(locale);
  const tags = [
    region === undefined ? undefined : `${language}-${region}`,
    script === undefined ? undefined : `${language}-${script}`,
    language,
  ];
  return (
    tags
      .map((tag) => localeIds.get((tag ?? '').toLowerCase()))
      .find((id) => id !== undefined)
      ?.toUpperCase() ?? ''
  );
};
