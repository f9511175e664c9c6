/* What holds for everything that can be restored for some days after it was deleted. */

/** So far the clocks of two processes may be apart: what one of them still restores, no other removes meanwhile. */
export const CLOCKS_APART_MS = 60_000;

/** ISO 8601 in UTC with milliseconds, the only form in which times enter events. */
export const isoTime = (ms: number): string => new Date(ms).toISOString();

/* Reads moments as people write them, in queries and on the command line. */

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const TIME = /^(\d{4}-\d{2}-\d{2})[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d{2}:?\d{2})$/;

/** `Date.parse` takes 31 February for 3 March; a day that does not exist must not be read as another. */
const isRealDay = (day: string): boolean => {
  const ms = Date.parse(`${day}T00:00:00.000Z`);
  return !Number.isNaN(ms) && isoTime(ms).startsWith(day);
};

/**
 * In: an ISO 8601 date, or a time with a zone. Out: the same moment as events and read models write it, so that they can be compared as
 * texts; a date alone is its first or its last millisecond in UTC. undefined where it is neither.
 */
export const parseMoment = (text: string, edge: 'start' | 'end'): string | undefined => {
  const day = DATE.test(text) ? text : TIME.exec(text)?.[1];
  const ms = DATE.test(text)
    ? Date.parse(`${text}T${edge === 'start' ? '00:00:00.000' : '23:59:59.999'}Z`)
    : Date.parse(text.replace(' ', 'T').toUpperCase());
  return day === undefined || !isRealDay(day) || Number.isNaN(ms) ? undefined : isoTime(ms);
};

/** Lengths of time. */
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/* Days of the calendar, in UTC, as they are written in ISO 8601. */

export const dayOf = (isoTimeOrDay: string): string => isoTimeOrDay.slice(0, 10);

/** In: a day as `2030-01-31`. Out: how many days it lies after 1 January 1970. */
export const dayNumber = (day: string): number => Date.parse(`${day}T00:00:00.000Z`) / DAY_MS;

export const dayOfNumber = (number: number): string => dayOf(isoTime(number * DAY_MS));

/** From the first day to the last, both included. */
export const daysFromTo = (first: string, last: string): number => dayNumber(last) - dayNumber(first) + 1;

/** Monday is the first day of a week (ISO 8601). 1 January 1970 was a Thursday. */
export const mondayOf = (number: number): number => number - ((((number + 3) % 7) + 7) % 7);
