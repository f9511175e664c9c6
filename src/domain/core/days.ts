/** Days of the calendar, in UTC, as they are written in ISO 8601. */
import { isoTime } from './iso-time.js';
import { DAY_MS } from './time.js';

export const dayOf = (isoTimeOrDay: string): string => isoTimeOrDay.slice(0, 10);

/** In: a day as `2030-01-31`. Out: how many days it lies after 1 January 1970. */
export const dayNumber = (day: string): number => Date.parse(`${day}T00:00:00.000Z`) / DAY_MS;

export const dayOfNumber = (number: number): string => dayOf(isoTime(number * DAY_MS));

/** From the first day to the last, both included. */
export const daysFromTo = (first: string, last: string): number => dayNumber(last) - dayNumber(first) + 1;

/** Monday is the first day of a week (ISO 8601). 1 January 1970 was a Thursday. */
export const mondayOf = (number: number): number => number - ((((number + 3) % 7) + 7) % 7);
