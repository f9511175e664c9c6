/** Totals, rates and times of days that are added up. */
import { emailMilestones, besideMilestones, type DurationSums } from '../../domain/email/milestones.js';
import type { DayRange, Period, Rates, Times, Totals } from './types.js';
import type { MilestoneCounts } from '../email/summaries.js';

export type Sums = Readonly<MilestoneCounts & DurationSums>;

const durations = ['attempted', 'waitMs', 'sendMs', 'deliverMs'] as const satisfies readonly (keyof DurationSums)[];

export const addUp = (days: readonly Readonly<{ sums: Sums }>[]): Sums => {
  const all: MilestoneCounts & DurationSums = {};
  for (const { sums } of days) addTo(all, sums);
  return all;
};

export const addTo = (all: MilestoneCounts & DurationSums, sums: Sums): void => {
  for (const name of [...emailMilestones, ...besideMilestones, ...durations]) {
    const more = sums[name];
    if (more !== undefined) all[name] = (all[name] ?? 0) + more;
  }
};

export const totalsOf = (sums: Sums): Totals => {
  const { accepted = 0, sent = 0, delivered = 0, opened = 0, clicked = 0, complained = 0 } = sums;
  const { bounced = 0, failed = 0, cancelled = 0, suppressed = 0 } = sums;
  return { accepted, sent, delivered, opened, clicked, complained, bounced, failed, cancelled, suppressed };
};

/** To two digits; null where there is nothing to take a part of. */
export const percent = (part: number, whole: number): number | null => (whole === 0 ? null : Math.round((part / whole) * 10_000) / 100);

/**
 * Of emails that came to an end: sent, bounced or failed, each counted once. `delivered` and `complained` are of those that were sent,
 * `opened` and `clicked` of those that were sent with a record of it.
 */
export const ratesOf = ({ sent = 0, delivered = 0, bounced = 0, complained = 0, failed = 0, returned = 0, ...sums }: Sums): Rates => {
  const { opened = 0, clicked = 0, sentWithOpens = 0, sentWithClicks = 0 } = sums;
  const ended = sent + bounced + failed - returned;
  return {
    sent: percent(sent, ended),
    delivered: percent(delivered, sent),
    bounced: percent(bounced, ended),
    failed: percent(failed, ended),
    opened: percent(opened, sentWithOpens),
    clicked: percent(clicked, sentWithClicks),
    complained: percent(complained, sent),
  };
};

const average = (sum: number | undefined, count: number | undefined): number | null =>
  sum === undefined || count === undefined || count === 0 ? null : Math.round(sum / count);

/** Those of one template or tag have no sums of durations. */
const timesOf = ({ attempted, waitMs, sent, sendMs, delivered, deliverMs }: Sums): Times => ({
  firstAttemptMs: average(waitMs, attempted),
  sentMs: average(sendMs, sent),
  deliveredMs: average(deliverMs, delivered),
});

export const periodOf = (range: DayRange, sums: Sums): Period => {
  const totals = totalsOf(sums);
  return { range, totals, rates: ratesOf(sums), times: timesOf(sums) };
};
