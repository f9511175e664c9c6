/** Dates as variables carry them: ISO 8601 text, read the same on every machine. */

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
  // Read by position and not by groups: every date of every mail comes by here.
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

/** 0 where there is no such month. */
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
