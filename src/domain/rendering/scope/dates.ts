/**
 * Dates of templates: read from ISO 8601 text, written by patterns, and moved to the clock of a time zone, the same on
 * every machine.
 */
import { boundedCache } from '../../../shared/cache.js';

export type Instant = Readonly<{
  epochMs: number;
  /** A calendar day without a time: it has no time zone to be moved by. */ dateOnly: boolean;
}>;

const ISO = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

/**
 * In: ISO 8601 text (`2026-11-21`, `2026-11-21T09:30:00Z`, `…+02:00`); a time without an offset is taken as UTC.
 * Out: the instant, or undefined where the text has another form or names a day or time that does not exist.
 */
export const parseDate = (text: string): Instant | undefined => {
  if (text.length < 10 || text.length > 40) return undefined;
  if (!ISO.test(text)) return undefined;
  // Read by position, not by groups: this runs for every date of every mail.
  const [year, month, day] = [numberAt(text, 0, 4), numberAt(text, 5, 7), numberAt(text, 8, 10)];
  if (day < 1 || day > daysOf(year, month)) return undefined;
  const dayMs = epochMsOf(year, month, day);
  if (text.length === 10) return { epochMs: dayMs, dateOnly: true };
  const [hour, minute] = [numberAt(text, 11, 13), numberAt(text, 14, 16)];
  const second = text[16] === ':' ? numberAt(text, 17, 19) : 0;
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  let at = text[16] === ':' ? 19 : 16;
  const fractionAt = at;
  if (text[at] === '.')
    do at += 1;
    while (isDigit(text, at));
  const fractionMs = at === fractionAt ? 0 : Math.trunc(Number(`0${text.slice(fractionAt, at)}`) * 1_000);
  const offsetMs = offsetOf(text.slice(at));
  if (offsetMs === undefined) return undefined;
  return {
    epochMs: dayMs + hour * 3_600_000 + minute * 60_000 + second * 1_000 + fractionMs - offsetMs,
    dateOnly: false,
  };
};

/** The characters from `from` to before `to` are digits. */
const numberAt = (text: string, from: number, to: number): number => {
  let number = 0;
  for (let at = from; at < to; at += 1) number = number * 10 + text.charCodeAt(at) - 0x30;
  return number;
};

const isDigit = (text: string, at: number): boolean => text.charCodeAt(at) >= 0x30 && text.charCodeAt(at) <= 0x39;

const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Days of a month; 0 where there is no such month. */
const daysOf = (year: number, month: number): number =>
  month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : (MONTH_DAYS[month - 1] ?? 0);

/** Date.UTC takes the years 0 to 99 for those of the twentieth century. */
const epochMsOf = (year: number, month: number, day: number): number =>
  year < 100 ? new Date(Date.UTC(2000, month - 1, day)).setUTCFullYear(year) : Date.UTC(year, month - 1, day);

/** In: what stands behind the time: nothing, `Z`, or an offset. */
const offsetOf = (zone: string): number | undefined => {
  if (zone === '' || zone === 'Z') return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(-2));
  if (hours > 23 || minutes > 59) return undefined;
  const ms = (hours * 60 + minutes) * 60_000;
  return zone.startsWith('-') ? -ms : ms;
};

export type DateUnit = 'days' | 'months' | 'years';

/**
 * Adds whole days, months or years. If the month has no such day, the last day of the month is taken. The clock of the
 * time zone shows the same time as before; a time that the clock leaves out in spring is as much later. Answers
 * undefined beyond the years 0 to 9999.
 */
export const addToDate = (
  { epochMs, dateOnly }: Instant,
  { unit, count }: Readonly<{ unit: DateUnit; count: number }>,
  timeZone: string,
): Date | undefined => {
  if (Math.abs(count) > DAYS_MAX) return undefined;
  const clock = dateOnly ? wallClockOf('UTC') : sharedClock(timeZone);
  const shownMs = clock(epochMs);
  const shown = new Date(shownMs);
  const [year, month, day] = [shown.getUTCFullYear(), shown.getUTCMonth() + 1, shown.getUTCDate()];
  const months = year * 12 + month - 1 + (unit === 'days' ? 0 : count * (unit === 'years' ? 12 : 1));
  const [toYear, toMonth] = [Math.floor(months / 12), (months % 12) + 1];
  if (toYear < 0 || toYear > YEAR_MAX) return undefined;
  const dayMs = epochMsOf(toYear, toMonth, Math.min(day, daysOf(toYear, toMonth)));
  const timeMs = shownMs - epochMsOf(year, month, day);
  const added = new Date(momentOf(dayMs + (unit === 'days' ? count * DAY_MS : 0) + timeMs, clock));
  const reached = added.getUTCFullYear();
  return reached >= 0 && reached <= YEAR_MAX ? added : undefined;
};

const YEAR_MAX = 9_999;
/** From the first day of the year 0 to the last of 9999. */
const DAYS_MAX = 3_652_425;
const DAY_MS = 86_400_000;

/**
 * The moment at which a clock shows this. If the clock shows this time twice, the first moment is taken; if the clock
 * skips this time, the offset before the skip applies.
 */
const momentOf = (shownMs: number, clock: (epochMs: number) => number): number => {
  const [before, after] = [-DAY_MS, DAY_MS].map((away) => shownMs - (clock(shownMs + away) - (shownMs + away)));
  return [before, after].find((moment) => moment !== undefined && clock(moment) === shownMs) ?? before ?? shownMs;
};

const CLOCKS_MAX = 100;
const clocks = boundedCache<string, (epochMs: number) => number>({ entriesMax: CLOCKS_MAX });

/** Making a clock is slow, so that each is made once. */
const sharedClock = (timeZone: string): ((epochMs: number) => number) =>
  clocks.getOrMake(timeZone, () => wallClockOf(timeZone));

const TOKEN = /'((?:[^']|'')*)'|(G+|y+|M+|L+|d+|E+|a+|H+|h+|m+|s+)|([^'A-Za-z]+|.)/g;

/**
 * A moment as clocks and calendars of one time zone show it. Year, month and day are numbers in Western digits, or
 * words where the calendar has no number; `wallMs` is the moment at which a clock in UTC shows the same; weekday 0
 * (Sunday) to 6.
 */
type Fields = Readonly<{
  wallMs: number;
  year: string;
  month: string;
  day: string;
  hour: number;
  minute: number;
  second: number;
  weekday: number;
}>;
type Writer = (fields: Fields) => string;

/** Language of a pattern: calendar and digits are those that Intl has for the locale. */
type PatternLanguage = Readonly<{ locale: string; calendar: string; digits: string; hasDay: boolean }>;

/** The calendar that dates of a language are written in, by `-u-ca-` of its tag or by its region. */
export const calendarOf = (locale: string): string => {
  const { calendar } = new Intl.DateTimeFormat(locale).resolvedOptions();
  return calendar === 'iso8601' ? 'gregory' : calendar;
};

/** The ten digits of a language. */
const digitsOf = (locale: string): string => {
  const intl = new Intl.NumberFormat(locale);
  return Array.from({ length: 10 }, (_, digit) => intl.format(digit)).join('');
};

/** The last moment that a date can hold. A clock east of UTC may show a later one, which is written as UTC shows it. */
const MOMENT_MAX = 8.64e15;

const WESTERN = '0123456789';

/**
 * In: a pattern such as `yyyy-MM-dd HH:mm` (the letters of Unicode TR 35 that templates need), a locale, an IANA time
 * zone. Out: the function that writes a date so, in the calendar, the digits and the words that Intl has for the
 * locale, as its own styles are. Letters it does not know stand for themselves.
 */
export const formatWithPattern = (pattern: string, locale: string, timeZone: string): ((date: Date) => string) => {
  const shownAt = wallClockOf(timeZone);
  const tokens = [...pattern.matchAll(TOKEN)];
  // Languages that decline the name of a month have one form beside a day and another alone.
  const hasDay = tokens.some(([, , letters]) => letters?.startsWith('d') === true);
  const language: PatternLanguage = { locale, calendar: calendarOf(locale), digits: digitsOf(locale), hasDay };
  const fieldsAt = fieldsIn(language);
  const writers = tokens.map(([whole, quoted, letters]): Writer => {
    if (letters !== undefined) return writerOf(letters, language);
    const literal = quoted === undefined ? whole : quoted === '' ? "'" : quoted.replaceAll("''", "'");
    return () => literal;
  });
  return (date) => {
    const wallMs = shownAt(date.getTime());
    const fields = fieldsAt(Math.abs(wallMs) <= MOMENT_MAX ? wallMs : date.getTime());
    let text = '';
    for (const write of writers) text += write(fields);
    return text;
  };
};

const writerOf = (letters: string, language: PatternLanguage): Writer => {
  const { hasDay } = language;
  const width = letters.length;
  const inDigits = inDigitsOf(language);
  const number = (value: number): string => inDigits(String(value).padStart(width, '0'));
  const field = (value: string): string => inDigits(isNumber(value) ? value.padStart(width, '0') : value);
  switch (letters.charAt(0)) {
    case 'G':
      return eraOf(language, lengthOf(Math.max(width, 3)));
    case 'y':
      return width === 2 ? ({ year }) => (isNumber(year) ? field(year).slice(-2) : year) : ({ year }) => field(year);
    case 'M':
    case 'L':
      return width <= 2
        ? ({ month }) => field(month)
        : monthNames(language, lengthOf(width), hasDay && letters.startsWith('M'));
    case 'd':
      return ({ day }) => field(day);
    case 'E':
      return weekdayNames(language, lengthOf(Math.max(width, 3)));
    case 'a':
      return dayPeriods(language);
    case 'H':
      return ({ hour }) => number(hour);
    case 'h':
      return ({ hour }) => number(hour % 12 === 0 ? 12 : hour % 12);
    case 'm':
      return ({ minute }) => number(minute);
    case 's':
      return ({ second }) => number(second);
  }
  return () => letters;
};

type Length = 'short' | 'long' | 'narrow';

const lengthOf = (width: number): Length => (width === 3 ? 'short' : width === 4 ? 'long' : 'narrow');

const isNumber = (text: string): boolean => /^\d+$/.test(text);

/** From Western digits to those of the language. */
const inDigitsOf = ({ digits }: PatternLanguage): ((text: string) => string) =>
  digits === WESTERN ? (text) => text : (text) => text.replace(/\d/g, (digit) => digits.charAt(Number(digit)));

const partOf = (parts: readonly Intl.DateTimeFormatPart[], ...types: readonly string[]): string | undefined =>
  parts.find(({ type }) => types.includes(type))?.value;

const fieldsIn = (language: PatternLanguage): ((wallMs: number) => Fields) => {
  const { locale, calendar, digits } = language;
  if (calendar === 'gregory') return utcFields;
  const numeric = new Intl.DateTimeFormat(locale, {
    timeZone: 'UTC',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
  });
  const short = new Intl.DateTimeFormat(locale, { timeZone: 'UTC', dateStyle: 'short' });
  const western = (text: string): string => {
    const plain = [...text].map((sign) => (digits.includes(sign) ? String(digits.indexOf(sign)) : sign)).join('');
    return isNumber(plain) ? String(Number(plain)) : plain;
  };
  return (wallMs) => {
    const [parts, shortParts] = [numeric.formatToParts(wallMs), short.formatToParts(wallMs)];
    const year = western(partOf(parts, 'year', 'relatedYear') ?? '');
    const shortYear = western(partOf(shortParts, 'year', 'relatedYear') ?? '');
    return {
      ...utcFields(wallMs),
      // A short date may cut the year off; one in letters, as in Hebrew, is whole.
      year: /\d/.test(shortYear) ? year : shortYear,
      month: western(partOf(shortParts, 'month') ?? partOf(parts, 'month') ?? ''),
      day: western(partOf(shortParts, 'day') ?? partOf(parts, 'day') ?? ''),
    };
  };
};

const utcFields = (wallMs: number): Fields => {
  const date = new Date(wallMs);
  return {
    wallMs,
    year: String(date.getUTCFullYear()),
    month: String(date.getUTCMonth() + 1),
    day: String(date.getUTCDate()),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
    weekday: date.getUTCDay(),
  };
};

/** The era of a year; nothing in calendars that have none. */
const eraOf = ({ locale, calendar }: PatternLanguage, length: Length): Writer => {
  const intl = new Intl.DateTimeFormat(new Intl.Locale(locale, { calendar }), {
    timeZone: 'UTC',
    era: length,
    year: 'numeric',
  });
  return ({ wallMs }) => partOf(intl.formatToParts(wallMs), 'era') ?? '';
};

/**
 * The names of the months as they stand beside a day, or alone. The form for a month alone is read from a month beside
 * a year, because some languages have no other form in Intl. If that is a number, it is read from a month alone, or
 * from a date with its weekday. The twelve names of the Gregorian calendar are asked of Intl once.
 */
const monthNames = ({ locale, calendar, digits }: PatternLanguage, length: Length, isBesideDay: boolean): Writer => {
  const language = new Intl.Locale(locale, { calendar });
  const wordIn = (options: Intl.DateTimeFormatOptions): ((wallMs: number) => string) => {
    const intl = new Intl.DateTimeFormat(language, { timeZone: 'UTC', month: length, ...options });
    return (wallMs) => partOf(intl.formatToParts(wallMs), 'month') ?? '';
  };
  const alone = new Intl.DateTimeFormat(language, { timeZone: 'UTC', month: length });
  const byItself = (wallMs: number): string => alone.format(wallMs);
  const candidates = [
    ...(isBesideDay ? [wordIn({ day: 'numeric' })] : []),
    ...(length === 'long' ? [wordIn({ year: 'numeric' })] : []),
    byItself,
    ...(length === 'short' ? [wordIn({ day: 'numeric', year: 'numeric', weekday: 'long' })] : []),
  ];
  const isWord = (word: string): boolean =>
    !/^\p{N}+\.?$/u.test(word) && [...word].some((sign) => !digits.includes(sign));
  if (calendar !== 'gregory')
    return ({ wallMs }) => candidates.map((write) => write(wallMs)).find(isWord) ?? byItself(wallMs);
  const lists = candidates.map((write) => Array.from({ length: 12 }, (_, month) => write(Date.UTC(2023, month, 15))));
  const words =
    lists.find((names) => names.every(isWord)) ??
    Array.from({ length: 12 }, (_, month) => byItself(Date.UTC(2023, month, 15)));
  return ({ month }) => words[Number(month) - 1] ?? '';
};

/** Names of weekdays as they stand in a date, or alone; asked of Intl once. */
const weekdayNames = ({ locale, hasDay }: PatternLanguage, weekday: Length): Writer => {
  const language = new Intl.Locale(locale, { calendar: 'gregory' });
  const intl = new Intl.DateTimeFormat(language, {
    timeZone: 'UTC',
    weekday,
    ...(hasDay && { day: 'numeric', month: 'long' }),
  });
  // 1 January 2023 was a Sunday.
  const words = Array.from(
    { length: 7 },
    (_, day) => partOf(intl.formatToParts(Date.UTC(2023, 0, 1 + day)), 'weekday') ?? '',
  );
  return ({ weekday: at }) => words[at] ?? '';
};

/** Words for the halves of the day, asked of Intl once. */
const dayPeriods = ({ locale }: PatternLanguage): Writer => {
  const language = new Intl.Locale(locale, { calendar: 'gregory' });
  const intl = new Intl.DateTimeFormat(language, { timeZone: 'UTC', hour: 'numeric', hour12: true });
  const [morning = '', evening = ''] = [9, 21].map((hour) =>
    partOf(intl.formatToParts(Date.UTC(2023, 0, 1, hour)), 'dayPeriod'),
  );
  return ({ hour }) => (hour < 12 ? morning : evening);
};

/**
 * In: a time zone (IANA). Out: from a moment (milliseconds since 1970) to the moment at which a clock in UTC shows the
 * same, to the millisecond. Throws RangeError where there is no such zone.
 */
export const wallClockOf = (timeZone: string): ((epochMs: number) => number) => {
  if (timeZone === 'UTC') return (epochMs) => epochMs;
  const intl = new Intl.DateTimeFormat('en-US-u-ca-gregory-nu-latn', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  const offsets = new Map<number, number>();
  return (epochMs) => {
    const quarter = Math.floor(epochMs / QUARTER_MS);
    const known = offsets.get(quarter);
    if (known !== undefined) return epochMs + known;
    const wallMs = shown(intl, epochMs);
    if (epochMs >= QUARTERS_FROM_MS && offsets.size < OFFSETS_MAX) offsets.set(quarter, wallMs - epochMs);
    return wallMs;
  };
};

const QUARTER_MS = 15 * 60_000;
/** Since then clocks are put forward and back at full quarters of an hour only. */
const QUARTERS_FROM_MS = Date.UTC(1973, 0, 1);
const OFFSETS_MAX = 10_000;

const shown = (intl: Intl.DateTimeFormat, epochMs: number): number => {
  const found = new Map(intl.formatToParts(epochMs).map(({ type, value }) => [type, Number(value)] as const));
  const of = (type: Intl.DateTimeFormatPartTypes): number => found.get(type) ?? 0;
  return (
    Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second')) +
    (((epochMs % 1_000) + 1_000) % 1_000)
  );
};
