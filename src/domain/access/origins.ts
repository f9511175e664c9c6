/** From where somebody calls, and how events name it without saying it. */
import { isoTime, CLOCKS_APART_MS, DAY_MS } from '../core/time.js';
import { firstChars } from '../../shared/text.js';
import { auditOriginsStream, type StreamName } from '../core/ids.js';

/* The months by which keys of the audit log are made and destroyed. */

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

/** The address of the network, and what the program of the caller says of itself. */
export type CallOrigin = Readonly<{ ipAddress: string; userAgent: string }>;

const IP_ADDRESS_CHARS_MAX = 64;
const USER_AGENT_CHARS_MAX = 256;

/** What callers send is cut, and shows no control characters to whoever reads it in a terminal. */
export const callOrigin = (ipAddress: string, userAgent: string): CallOrigin => ({
  ipAddress: firstChars(ipAddress, IP_ADDRESS_CHARS_MAX),
  // Cut twice: the first bounds what is searched. Half a surrogate pair is a control character too.
  userAgent: firstChars(userAgent.slice(0, 2 * USER_AGENT_CHARS_MAX).replaceAll(/[\p{C}\u2028\u2029]/gu, ' '), USER_AGENT_CHARS_MAX),
});

/** Where one origin is kept: the stream by whose it is and the month, and the revision in it. */
type OriginPlace = Readonly<{ scope: string; month: string; revision: number }>;

const PLACE = /^([0-9a-f-]{36})\.(\d{4}-\d{2})#(\d{1,9})$/;

/** As the metadata of events name it. */
export const writeOrigin = ({ scope, month, revision }: OriginPlace): string => `${scope}.${month}#${revision}`;

/** undefined where the text names none. */
export const readOrigin = (text: string): OriginPlace | undefined => {
  const match = PLACE.exec(text);
  return match === null ? undefined : { scope: match[1]!, month: match[2]!, revision: Number(match[3]) };
};

export const streamOfOrigin = ({ scope, month }: Pick<OriginPlace, 'scope' | 'month'>): StreamName => auditOriginsStream(scope, month);
