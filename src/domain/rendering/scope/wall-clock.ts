/** What the clocks of a time zone show. */

/**
 * In: a time zone (IANA). Out: from a moment (milliseconds since 1970) to the moment at which a clock in UTC shows the same, to the millisecond.
 * Throws RangeError where there is no such zone.
 */
export const wallClockOf = (timeZone: string): ((epochMs: number) => number) => {
  if (timeZone === 'UTC') return (epochMs) => epochMs;
  const intl = new Intl.DateTimeFormat('en-US-u-ca-gregory-nu-latn', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  const offsets = new Map<number, number>();
  return (epochMs) => {
    const quarter = Math.floor(epochMs / QUARTER_MS);
    const known = offsets.get(quarter);
    if (known !== undefined) return epochMs + known;
    const wallMs = shown(intl, epochMs);
    if (epochMs >= QUARTERS_FROM_MS && offsets.size < OFFSETS_MAX) offsets.set(quarter, wallMs - epochMs);
    return wallMs;
  };
};

const QUARTER_MS = 15 * 60_000;
/** Since then clocks are put forward and back at full quarters of an hour only. */
const QUARTERS_FROM_MS = Date.UTC(1973, 0, 1);
const OFFSETS_MAX = 10_000;

const shown = (intl: Intl.DateTimeFormat, epochMs: number): number => {
  const found = new Map(intl.formatToParts(epochMs).map(({ type, value }) => [type, Number(value)] as const));
  const of = (type: Intl.DateTimeFormatPartTypes): number => found.get(type) ?? 0;
  return Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second')) + (((epochMs % 1_000) + 1_000) % 1_000);
};
