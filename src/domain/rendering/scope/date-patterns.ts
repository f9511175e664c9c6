/** Date patterns such as `yyyy-MM-dd HH:mm` (the letters of Unicode TR 35 that templates need), in the Gregorian calendar, with Intl's words. */
import { wallClockOf } from './wall-clock.js';

const TOKEN = /'((?:[^']|'')*)'|(y+|M+|d+|E+|a+|H+|h+|m+|s+)|([^'A-Za-z]+|.)/g;

/** A moment as clocks and calendars of one time zone show it; month 1 to 12, weekday 0 (Sunday) to 6. */
type Fields = Readonly<{ year: number; month: number; day: number; hour: number; minute: number; second: number; weekday: number }>;
type Writer = (fields: Fields) => string;

/** In: a pattern, a locale, an IANA time zone. Out: the function that writes a date so. Letters it does not know stand for themselves. */
export const formatWithPattern = (pattern: string, locale: string, timeZone: string): ((date: Date) => string) => {
  const shownAt = wallClockOf(timeZone);
  const writers = [...pattern.matchAll(TOKEN)].map(([whole, quoted, letters]): Writer => {
    if (letters !== undefined) return writerOf(letters, locale);
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

const writerOf = (letters: string, locale: string): Writer => {
  const width = letters.length;
  const digits = (value: number): string => String(value).padStart(width, '0');
  switch (letters.charAt(0)) {
    case 'y':
      return width === 2 ? ({ year }) => String(year).padStart(2, '0').slice(-2) : ({ year }) => digits(year);
    case 'M':
      return width <= 2 ? ({ month }) => digits(month) : names(locale, 'month', width === 3 ? 'short' : 'long');
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

/** Words for months, weekdays and halves of the day, asked of Intl once. */
const names = (locale: string, part: 'month' | 'weekday' | 'dayPeriod', length: 'short' | 'long'): Writer => {
  const language = new Intl.Locale(locale, { calendar: 'gregory' });
  const intl = new Intl.DateTimeFormat(language, {
    timeZone: 'UTC',
    // With the day beside it, languages that decline month names give the form that stands in a date.
    ...(part === 'month'
      ? { month: length, day: 'numeric' }
      : part === 'weekday'
        ? { weekday: length }
        : { hour: 'numeric', hour12: true }),
  });
  const word = (date: number): string => intl.formatToParts(date).find(({ type }) => type === part)?.value ?? '';
  switch (part) {
    case 'month': {
      const words = Array.from({ length: 12 }, (_, month) => word(Date.UTC(2023, month, 15)));
      return ({ month }) => words[month - 1] ?? '';
    }
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
