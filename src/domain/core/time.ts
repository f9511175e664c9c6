/** Times as events have them, moments as people write them, and days of the calendar in UTC. */

import { invalid } from './errors.js';

/** How far the clocks of two processes may differ. Removal waits this much longer than restoring is allowed. */
export const CLOCKS_APART_MS = 60_000;

const MINUTE_MS = 60_000;
/** The last minute that was written, as most times are of the same one. */
let minute = Number.NaN;
let minuteText = '';

/** ISO 8601 in UTC with milliseconds, the only form in which times enter events. */
export const isoTime = (ms: number): string => {
  const whole = Math.trunc(ms);
  const at = Math.floor(whole / MINUTE_MS);
  if (at !== minute) {
    minuteText = new Date(at * MINUTE_MS).toISOString().slice(0, -'ss.sssZ'.length);
    minute = at;
  }
  // The first digit keeps the zeros of the others.
  const rest = String(100_000 + whole - at * MINUTE_MS);
  return `${minuteText}${rest.slice(1, 3)}.${rest.slice(3)}Z`;
};

const isoLength = 'YYYY-MM-DDThh:mm:ss.sssZ'.length;
/** Days from 1 March of the year 0 to 1 January 1970. */
const DAYS_BEFORE_1970 = 719_468;

/**
 * The milliseconds of a time as events have it: as `Date.parse`, which takes eight times as long. NaN if the text is no
 * time.
 */
export const timeMs = (time: string): number => {
  const [year, month, day] = [digits(time, 0, 4), digits(time, 5, 2), digits(time, 8, 2)];
  const [hour, minute, second] = [digits(time, 11, 2), digits(time, 14, 2), digits(time, 17, 2)];
  const isUsual =
    time.length === isoLength &&
    time.charCodeAt(4) === 45 &&
    time.charCodeAt(7) === 45 &&
    time.charCodeAt(10) === 84 &&
    time.charCodeAt(13) === 58 &&
    time.charCodeAt(16) === 58 &&
    time.charCodeAt(19) === 46 &&
    time.charCodeAt(23) === 90 &&
    year >= 1970 &&
    month >= 1 &&
    month <= 12 &&
    day >= 1 &&
    day <= 28 &&
    hour >= 0 &&
    hour <= 23 &&
    minute >= 0 &&
    minute <= 59 &&
    second >= 0 &&
    second <= 59;
  const fraction = digits(time, 20, 3);
  if (!isUsual || fraction < 0) return Date.parse(time);
  // Years begin in March, so that a leap day is the last day of a year.
  const [years, months] = month > 2 ? [year, month - 3] : [year - 1, month + 9];
  const leapDays = Math.trunc(years / 4) - Math.trunc(years / 100) + Math.trunc(years / 400);
  const days = 365 * years + leapDays + Math.trunc((153 * months + 2) / 5) + day - 1 - DAYS_BEFORE_1970;
  return days * DAY_MS + hour * HOUR_MS + minute * 60_000 + second * 1_000 + fraction;
};

/** The number of so many digits; negative if one is no digit. */
const digits = (text: string, at: number, count: number): number => {
  let value = 0;
  for (let index = at; index < at + count; index += 1) {
    const digit = text.charCodeAt(index) - 48;
    if (!(digit >= 0 && digit <= 9)) return -1;
    value = 10 * value + digit;
  }
  return value;
};

const DATE = /^\d{4}-\d{2}-\d{2}$/;
/** The day, the hour and minute, the second, its fraction, the hours of the zone and its minutes. */
const TIME = /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2})(?::(\d{2})(\.\d{1,9})?)?(?:[Zz]|([+-]\d{2})(?::?(\d{2}))?)$/;

/** `Date.parse` takes 31 February for 3 March; a day that does not exist must not be read as another. */
const isRealDay = (day: string): boolean => {
  const ms = Date.parse(`${day}T00:00:00.000Z`);
  return !Number.isNaN(ms) && isoTime(ms).startsWith(day);
};

/**
 * In: an ISO 8601 date, or a time with a zone, as people and programs write it: with or without seconds, a zone by
 * hours alone (`+02`), a leap second (RFC 3339), which is read as the first second of the next minute. Out: the moment
 * as `isoTime` writes it, so that it can be compared as text with events and read models; a date alone is its first or
 * last millisecond in UTC. undefined for any other text.
 */
export const parseMoment = (text: string, edge: 'start' | 'end'): string | undefined => {
  if (DATE.test(text))
    return isRealDay(text) ? `${text}T${edge === 'start' ? '00:00:00.000' : '23:59:59.999'}Z` : undefined;
  return parseTime(text);
};

/** In: as for `parseMoment`, but no date alone. */
export const parseTime = (text: string): string | undefined => {
  const [, day, minute = '', second = '00', fraction = '', zoneHours, zoneMinutes = '00'] = TIME.exec(text) ?? [];
  if (day === undefined || !isRealDay(day)) return undefined;
  const isLeap = second === '60' && minute.endsWith(':59');
  const zone = zoneHours === undefined ? 'Z' : `${zoneHours}:${zoneMinutes}`;
  const ms = Date.parse(`${day}T${minute}:${isLeap ? '59' : second}${fraction}${zone}`) + (isLeap ? 1_000 : 0);
  if (Number.isNaN(ms)) return undefined;
  const time = isoTime(ms);
  // Years outside of 0000 to 9999 are written longer, and do not compare as text.
  return time.length === isoLength ? time : undefined;
};

/** In: the time of a field of a body, as for `parseTime`. Throws VALIDATION_ERROR naming the field. */
export const requireTime = (field: string, text: string): string => {
  const time = parseTime(text);
  if (time === undefined)
    throw invalid('request body', field, 'must be an ISO 8601 time with a zone, e.g. 2030-01-31T09:30:00Z');
  return time;
};

/** The time of day that others are told: that of the machine, also while the service goes by a clock of its own. */
export const outwardNow = ({
  now,
  machineNow = now,
}: Readonly<{ now: () => number; machineNow?: () => number }>): number => machineNow();

/** The later of the two clocks: a scheduled time must be ahead of both. */
export const latestNow = (clock: Readonly<{ now: () => number; machineNow?: () => number }>): number =>
  Math.max(clock.now(), outwardNow(clock));

export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

export const dayOf = (isoTimeOrDay: string): string => isoTimeOrDay.slice(0, 10);

/** In: a day as `2030-01-31`. Out: the number of days since 1 January 1970. */
export const dayNumber = (day: string): number => Date.parse(`${day}T00:00:00.000Z`) / DAY_MS;

export const dayOfNumber = (number: number): string => dayOf(isoTime(number * DAY_MS));

/** The number of the Monday of that week (ISO 8601). 1 January 1970 was a Thursday. */
export const mondayOf = (number: number): number => number - ((((number + 3) % 7) + 7) % 7);

/** A moment of the past to read a stream at: a time, or an event of the stream. */
export type AsOf = Readonly<{ at: string }> | Readonly<{ eventId: string }>;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * In: as people write it; a date alone is the end of that day. Out: undefined where it is neither a time nor the id of
 * an event.
 */
export const parseAsOf = (text: string): AsOf | undefined => {
  if (UUID.test(text)) return { eventId: text.toLowerCase() };
  const at = parseMoment(text, 'end');
  return at === undefined ? undefined : { at };
};
