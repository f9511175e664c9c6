/** The months by which keys of the audit log are made and destroyed. */
import { isoTime } from '../core/iso-time.js';
import { CLOCKS_APART_MS } from '../core/restore-period.js';
import { DAY_MS } from '../core/time.js';

/** The month of a moment: `2026-11`. */
export const monthOf = (at: string): string => at.slice(0, 7);

/** The first moment after a month: nothing of that month is as late. */
export const endOfMonth = (month: string): number => {
  const [year = 0, number = 0] = month.split('-').map(Number);
  return Date.UTC(year, number, 1);
};

/** In: a stream of one month of the audit log. Out: when all of it is over. */
export const auditOverAt = (stream: string, auditDays: number): number =>
  endOfMonth(stream.slice(stream.lastIndexOf('.') + 1)) + auditDays * DAY_MS + CLOCKS_APART_MS;

/** In: when nothing sealed of a team was left. Out: when all is over that the audit log tells of it. */
export const teamOverAt = (erasedAt: string, auditDays: number): number => Date.parse(erasedAt) + auditDays * DAY_MS + CLOCKS_APART_MS;

/** The months in which something was kept for so many days up to a moment, and the one before, for clocks that are apart. */
export const monthsUpTo = (at: string, days: number): readonly string[] => {
  const months: string[] = [];
  const until = endOfMonth(monthOf(at));
  const first = new Date(Date.parse(at) - (days + 31) * DAY_MS);
  for (let ms = Date.UTC(first.getUTCFullYear(), first.getUTCMonth(), 1); ms <= until;) {
    const month = monthOf(isoTime(ms));
    months.push(month);
    ms = endOfMonth(month);
  }
  return months;
};
