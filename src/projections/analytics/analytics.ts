/** The queries behind the analytics and the start page: from the daily summaries, in bounded reads. */
import { dayNumber, dayOfNumber, mondayOf } from '../../domain/core/days.js';
import { emailMilestones, type EmailMilestone } from '../../domain/email/milestones.js';
import type { TeamId } from '../../domain/core/ids.js';
import type { Clock } from '../../domain/ports/clock.js';
import { isoTime } from '../../domain/core/iso-time.js';
import type { ReadModels } from '../../domain/ports/read-models.js';
import { DAY_MS } from '../../domain/core/time.js';
import type {
  AnalyticsQueries,
  DashboardSummary,
  DayRange,
  Interval,
  Overview,
  Period,
  Point,
  RecentFailure,
  SummaryFilter,
} from './types.js';
import { addUp, percent, periodOf, type Sums } from './sums.js';
import { listTags, listTemplates } from './rows.js';
import { EMAIL_BACKLOGS, EMAILS, type EmailDocument } from '../email/documents.js';
import { tagTerm } from '../email/search.js';
import { emailListItem } from '../email/emails.js';
import {
  OTHER,
  SUMMARIES,
  summariesOf,
  TAG_SUMMARIES,
  TEMPLATE_SUMMARIES,
  type DayRowsDocument,
  type DaySummaryDocument,
} from '../email/summaries.js';
import type { BacklogDocument } from '../email/backlogs.js';

export type AnalyticsDeps = Readonly<{ readModels: Pick<ReadModels, 'get' | 'find'>; clock: Pick<Clock, 'now'> }>;

export const makeAnalyticsQueries = (deps: AnalyticsDeps): AnalyticsQueries => ({
  analyticsOverview: (teamId, range, filter) => overview(deps, teamId, range, filter),
  analyticsTimeSeries: async (teamId, { range, interval, metrics }, filter) => {
    const days = await readDays(deps, teamId, range, filter);
    return { range, interval, data: pointsOf(range, interval, metrics, days), isLowerBound: days.some(({ isLowerBound }) => isLowerBound) };
  },
  analyticsTemplates: (teamId, asked) => listTemplates(deps, teamId, asked),
  analyticsTags: (teamId, asked) => listTags(deps, teamId, asked),
  dashboardSummary: (teamId) => dashboard(deps, teamId),
});

/** What was counted on one day. */
type Day = Readonly<{ day: string; sums: Sums; isLowerBound: boolean }>;

const readDays = async (
  { readModels }: AnalyticsDeps,
  teamId: TeamId,
  range: DayRange,
  { templateId, tag }: SummaryFilter,
): Promise<readonly Day[]> => {
  const found: Day[] = [];
  const name = tag === undefined ? templateId : tagTerm(tag);
  if (name === undefined)
    for await (const day of summariesOf(readModels, SUMMARIES, teamId, range)) found.push(dayOfTeam(day as DaySummaryDocument));
  else
    for await (const day of summariesOf(readModels, tag === undefined ? TEMPLATE_SUMMARIES : TAG_SUMMARIES, teamId, range))
      found.push(dayOfName(day as DayRowsDocument, name));
  return found;
};

const dayOfTeam = ({ day, counts }: DaySummaryDocument): Day => ({ day, sums: counts, isLowerBound: false });

const dayOfName = ({ day, rows }: DayRowsDocument, name: string): Day => {
  const row = rows[name];
  return { day, sums: row ?? {}, isLowerBound: row === undefined && rows[OTHER] !== undefined };
};

const overview = async (deps: AnalyticsDeps, teamId: TeamId, range: DayRange, filter: SummaryFilter): Promise<Overview> => {
  const before = rangeBefore(range);
  const [now, then] = [await readDays(deps, teamId, range, filter), await readDays(deps, teamId, before, filter)];
  const [period, previous] = [periodOf(range, addUp(now)), periodOf(before, addUp(then))];
  const change = Object.fromEntries(
    emailMilestones.map((name) => [name, percent(period.totals[name] - previous.totals[name], previous.totals[name])]),
  ) as Overview['change'];
  const isLower = (days: readonly Day[]): boolean => days.some(({ isLowerBound }) => isLowerBound);
  return { ...period, isLowerBound: isLower(now), previous: { ...previous, isLowerBound: isLower(then) }, change };
};

const rangeBefore = ({ startDate, days }: DayRange): DayRange => lastDays(dayNumber(startDate) - 1, days);

const lastDays = (last: number, days: number): DayRange => ({
  startDate: dayOfNumber(last - days + 1),
  endDate: dayOfNumber(last),
  days,
});

/** The number of the first day of the interval that a day lies in. */
const beginOf = (day: number, interval: Interval): number => {
  switch (interval) {
    case 'day':
      return day;
    case 'week':
      return mondayOf(day);
    case 'month':
      return dayNumber(`${dayOfNumber(day).slice(0, 7)}-01`);
  }
};

const pointsOf = (
  { startDate, days }: DayRange,
  interval: Interval,
  metrics: readonly EmailMilestone[],
  counted: readonly Day[],
): Point[] => {
  const byDay = new Map(counted.map(({ day, sums }) => [day, sums]));
  const points: Point[] = [];
  let begun = Number.NaN;
  for (let number = dayNumber(startDate), end = number + days; number < end; number += 1) {
    const day = dayOfNumber(number);
    const begin = beginOf(number, interval);
    if (begin !== begun) points.push({ startDate: day, endDate: day, ...Object.fromEntries(metrics.map((name) => [name, 0])) });
    begun = begin;
    const point = points.at(-1)!;
    point.endDate = day;
    for (const name of metrics) point[name] = (point[name] ?? 0) + (byDay.get(day)?.[name] ?? 0);
  }
  return points;
};

const RECENT_FAILURES = 10;

const dashboard = async (deps: AnalyticsDeps, teamId: TeamId): Promise<DashboardSummary> => {
  const today = Math.floor(deps.clock.now() / DAY_MS);
  const days = await readDays(deps, teamId, lastDays(today, 30), {});
  const period = (count: number): Period => {
    const range = lastDays(today, count);
    return periodOf(range, addUp(days.filter(({ day }) => day >= range.startDate)));
  };
  return {
    today: period(1),
    last7Days: period(7),
    last30Days: period(30),
    queue: queueOf((await deps.readModels.get(EMAIL_BACKLOGS, teamId)) as BacklogDocument | undefined),
    recentFailures: await recentFailures(deps, teamId, lastDays(today, 30)),
  };
};

const queueOf = (backlog: BacklogDocument | undefined): DashboardSummary['queue'] => {
  if (backlog === undefined) return { ready: 0, deferred: 0, held: 0, scheduled: 0 };
  const { open, waiting, ready, held } = backlog;
  return { ready, deferred: waiting - ready - held, held, scheduled: open - waiting };
};

const recentFailures = async ({ readModels }: AnalyticsDeps, teamId: TeamId, { startDate }: DayRange): Promise<RecentFailure[]> => {
  const found = await readModels.find(EMAILS, {
    where: { team: { eq: teamId }, createdAt: { gte: isoTime(Date.parse(startDate)) } },
    anyOf: [{ status: { eq: 'failed' } }, { status: { eq: 'bounced' } }],
    sort: { field: 'createdAt', direction: 'desc' },
    limit: RECENT_FAILURES,
  });
  return (found as readonly EmailDocument[]).map((document) => {
    const { id, status, templateId, emailTemplateName, recipientCount, failedRecipients, createdAt } = emailListItem(document);
    const { updatedAt } = document.summary;
    return { id, status, templateId, emailTemplateName, recipientCount, failedRecipients, createdAt, updatedAt };
  });
};
