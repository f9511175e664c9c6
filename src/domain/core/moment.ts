/** Reads moments as people write them, in queries and on the command line. */
import { isoTime } from './iso-time.js';

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
