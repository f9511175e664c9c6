/** Times as events have them, moments as people write them, and days of the calendar in UTC. */

import { invalid } from './errors.js';

/** How far the clocks of two processes may differ. Removal waits this much longer than restoring is allowed. */
export const CLOCKS_APART_MS = 60_000;

/** ISO 8601 in UTC with milliseconds, the only form in which times enter events. */
export const isoTime = (ms: number): string => new Date(ms).toISOString();

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
  return time.length === 'YYYY-MM-DDThh:mm:ss.sssZ'.length ? time : undefined;
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
