/**
 * Origins of calls (network address and user agent), how event metadata refers to them, and how long the audit log
 * keeps them, month by month.
 */
import { isoTime, DAY_MS } from '../core/time.js';
import { firstChars } from '../../shared/text.js';
import { auditOriginsStream, type StreamName } from '../core/ids.js';

/** The month of a moment: `2026-11`. */
export const monthOf = (at: string): string => at.slice(0, 7);

/** The first moment after a month. */
export const endOfMonth = (month: string): number => {
  const [year = 0, number = 0] = month.split('-').map(Number);
  return Date.UTC(year, number, 1);
};

/** The months of the last `days` days up to a moment, and the month before, because clocks differ. */
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

/** The network address of a caller, and the user agent that its program sends. */
export type CallOrigin = Readonly<{ ipAddress: string; userAgent: string }>;

const IP_ADDRESS_CHARS_MAX = 64;
const USER_AGENT_CHARS_MAX = 256;

/** Cuts what callers send, and replaces control characters, which would act in a terminal. */
export const callOrigin = (ipAddress: string, userAgent: string): CallOrigin => ({
  ipAddress: firstChars(ipAddress, IP_ADDRESS_CHARS_MAX),
  // Cut twice: the first bounds what is searched. Half a surrogate pair is a control character too.
  userAgent: firstChars(
    userAgent.slice(0, 2 * USER_AGENT_CHARS_MAX).replaceAll(/[\p{C}\u2028\u2029]/gu, ' '),
    USER_AGENT_CHARS_MAX,
  ),
});

/** Place of one stored origin: its stream, named by person or team and month, and its revision in that stream. */
type OriginPlace = Readonly<{ scope: string; month: string; revision: number }>;

const PLACE = /^([0-9a-f-]{36})\.(\d{4}-\d{2})#(\d{1,9})$/;

/** The reference to an origin in the metadata of events. */
export const writeOrigin = ({ scope, month, revision }: OriginPlace): string => `${scope}.${month}#${revision}`;

/** Reads such a reference; undefined for any other text. */
export const readOrigin = (text: string): OriginPlace | undefined => {
  const match = PLACE.exec(text);
  return match === null ? undefined : { scope: match[1]!, month: match[2]!, revision: Number(match[3]) };
};

export const streamOfOrigin = ({ scope, month }: Pick<OriginPlace, 'scope' | 'month'>): StreamName =>
  auditOriginsStream(scope, month);
