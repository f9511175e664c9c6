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
  const match = ISO.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction, zone] = match;
  const dayMs = Date.UTC(Number(year), Number(month) - 1, Number(day));
  const there = new Date(dayMs);
  if (there.getUTCMonth() !== Number(month) - 1 || there.getUTCDate() !== Number(day)) return undefined;
  if (hour === undefined) return { epochMs: dayMs, dateOnly: true };
  const [h, m, s] = [Number(hour), Number(minute), Number(second ?? 0)];
  if (h > 23 || m > 59 || s > 60) return undefined;
  const offsetMs = offsetOf(zone);
  if (offsetMs === undefined) return undefined;
  const fractionMs = fraction === undefined ? 0 : Number(`0.${fraction}`) * 1_000;
  return { epochMs: dayMs + h * 3_600_000 + m * 60_000 + s * 1_000 + Math.trunc(fractionMs) - offsetMs, dateOnly: false };
};

const offsetOf = (zone: string | undefined): number | undefined => {
  if (zone === undefined || zone === 'Z') return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(-2));
  if (hours > 23 || minutes > 59) return undefined;
  const ms = (hours * 60 + minutes) * 60_000;
  return zone.startsWith('-') ? -ms : ms;
};
