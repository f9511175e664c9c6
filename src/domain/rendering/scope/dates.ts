/** Dates of templates: read from ISO 8601 text, written by patterns, and moved to the clock of a time zone, the same on every machine. */

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
  return { epochMs: dayMs + hour * 3_600_000 + minute * 60_000 + second * 1_000 + fractionMs - offsetMs, dateOnly: false };
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
 * Adds whole days, months or years. Of a month that has no such day it takes the last day. The clock of the time zone shows the same time as
 * before; a time that the clock leaves out in spring is as much later. Answers undefined beyond the years 0 to 9999.
 */
export const addToDate = (
  { epochMs, dateOnly }: Instant,
  { unit, count }: Readonly<{ unit: DateUnit; count: number }>,
  timeZone: string,
): Date | undefined => {
  if (Math.abs(count) > DAYS_MAX) return undefined;
  const clock = dateOnly ? wallClockOf('UTC') : sharedClock(timeZone);
  const shownMs = clock(epochMs);
  const { year, month, day } = utcFields(new Date(shownMs));
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

/** The moment at which a clock shows this. Of two it takes the first; where the clock leaves the time out, it goes on as before. */
const momentOf = (shownMs: number, clock: (epochMs: number) => number): number => {
  const [before, after] = [-DAY_MS, DAY_MS].map((away) => shownMs - (clock(shownMs + away) - (shownMs + away)));
  return [before, after].find((moment) => moment !== undefined && clock(moment) === shownMs) ?? before ?? shownMs;
};

/** The clock of the time zone that was last asked for: mails are rendered in bursts, and Intl is slow. */
let last = { timeZone: 'UTC', clock: (epochMs: number): number => epochMs };
const sharedClock = (timeZone: string): ((epochMs: number) => number) => {
  if (last.timeZone !== timeZone) last = { timeZone, clock: wallClockOf(timeZone) };
  return last.clock;
};

const TOKEN = /'((?:[^']|'')*)'|(y+|M+|L+|d+|E+|a+|H+|h+|m+|s+)|([^'A-Za-z]+|.)/g;

/** A moment as clocks and calendars of one time zone show it; month 1 to 12, weekday 0 (Sunday) to 6. */
type Fields = Readonly<{ year: number; month: number; day: number; hour: number; minute: number; second: number; weekday: number }>;
type Writer = (fields: Fields) => string;

/**
 * In: a pattern such as `yyyy-MM-dd HH:mm` (the letters of Unicode TR 35 that templates need), a locale, an IANA time zone. Out: the
 * function that writes a date so, in the Gregorian calendar, with Intl's words. Letters it does not know stand for themselves.
 */
export const formatWithPattern = (pattern: string, locale: string, timeZone: string): ((date: Date) => string) => {
  const shownAt = wallClockOf(timeZone);
  const tokens = [...pattern.matchAll(TOKEN)];
  // Languages that decline the name of a month have one form beside a day and another alone.
  const hasDay = tokens.some(([, , letters]) => letters?.startsWith('d') === true);
  const writers = tokens.map(([whole, quoted, letters]): Writer => {
    if (letters !== undefined) return writerOf(letters, locale, hasDay);
    const literal = quoted === undefined ? whole : quoted === '' ? "'" : quoted.replaceAll("''", "'");
    return () => literal;
  });
  return (date) => {
    const fields = utcFields(new Date(shownAt(date.getTime())));
    let text = '';
    for (const write of writers) text += write(fields);
    return text;
  };
};

const writerOf = (letters: string, locale: string, hasDay: boolean): Writer => {
  const width = letters.length;
  const digits = (value: number): string => String(value).padStart(width, '0');
  switch (letters.charAt(0)) {
    case 'y':
      return width === 2 ? ({ year }) => String(year).padStart(2, '0').slice(-2) : ({ year }) => digits(year);
    case 'M':
    case 'L':
      return width <= 2
        ? ({ month }) => digits(month)
        : monthNames(locale, width === 3 ? 'short' : 'long', hasDay && letters.startsWith('M'));
    case 'd':
      return ({ day }) => digits(day);
    case 'E':
      return names(locale, 'weekday', width <= 3 ? 'short' : 'long');
    case 'a':
      return names(locale, 'dayPeriod', 'short');
    case 'H':
      return ({ hour }) => digits(hour);
    case 'h':
      return ({ hour }) => digits(hour % 12 === 0 ? 12 : hour % 12);
    case 'm':
      return ({ minute }) => digits(minute);
    case 's':
      return ({ second }) => digits(second);
  }
  return () => letters;
};

/**
 * The names of the months as they stand beside a day, or alone: then as they stand beside a year, for some languages have no other form in
 * Intl. Where that is a number, the whole of what stands for a month alone. Asked of Intl once.
 */
const monthNames = (locale: string, length: 'short' | 'long', isBesideDay: boolean): Writer => {
  const language = new Intl.Locale(locale, { calendar: 'gregory' });
  const wordsOf = (options: Intl.DateTimeFormatOptions): readonly string[] => {
    const intl = new Intl.DateTimeFormat(language, { timeZone: 'UTC', month: length, ...options });
    return Array.from({ length: 12 }, (_, month) => {
      const date = Date.UTC(2023, month, 15);
      return intl.formatToParts(date).find(({ type }) => type === 'month')?.value ?? '';
    });
  };
  const isWord = (word: string): boolean => !/^\p{N}+\.?$/u.test(word);
  const alone = new Intl.DateTimeFormat(language, { timeZone: 'UTC', month: length });
  const byItself = Array.from({ length: 12 }, (_, month) => alone.format(Date.UTC(2023, month, 15)));
  const candidates = [...(isBesideDay ? [wordsOf({ day: 'numeric' })] : []), ...(length === 'long' ? [wordsOf({ year: 'numeric' })] : [])];
  const words = candidates.find((names) => names.every(isWord)) ?? byItself;
  return ({ month }) => words[month - 1] ?? '';
};

/** Words for weekdays and halves of the day, asked of Intl once. */
const names = (locale: string, part: 'weekday' | 'dayPeriod', length: 'short' | 'long'): Writer => {
  const language = new Intl.Locale(locale, { calendar: 'gregory' });
  const intl = new Intl.DateTimeFormat(language, {
    timeZone: 'UTC',
    ...(part === 'weekday' ? { weekday: length } : { hour: 'numeric', hour12: true }),
  });
  const word = (date: number): string => intl.formatToParts(date).find(({ type }) => type === part)?.value ?? '';
  switch (part) {
    case 'weekday': {
      // 1 January 2023 was a Sunday.
      const words = Array.from({ length: 7 }, (_, day) => word(Date.UTC(2023, 0, 1 + day)));
      return ({ weekday }) => words[weekday] ?? '';
    }
    case 'dayPeriod': {
      const words = [word(Date.UTC(2023, 0, 1, 9)), word(Date.UTC(2023, 0, 1, 21))];
      return ({ hour }) => words[hour < 12 ? 0 : 1] ?? '';
    }
  }
};

const utcFields = (date: Date): Fields => ({
  year: date.getUTCFullYear(),
  month: date.getUTCMonth() + 1,
  day: date.getUTCDate(),
  hour: date.getUTCHours(),
  minute: date.getUTCMinutes(),
  second: date.getUTCSeconds(),
  weekday: date.getUTCDay(),
});

/**
 * In: a time zone (IANA). Out: from a moment (milliseconds since 1970) to the moment at which a clock in UTC shows the same, to the millisecond.
 * Throws RangeError where there is no such zone.
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
  return Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second')) + (((epochMs % 1_000) + 1_000) % 1_000);
};
