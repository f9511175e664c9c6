/**
 * The queries behind the analytics and the start page: counts, rates and times of days in UTC, from the daily
 * summaries, in bounded reads.
 */
import {
  type EmailMilestone,
  emailMilestones,
  besideMilestones,
  type DurationSums,
} from '../../domain/email/milestones.js';
import { domainOfRow, domainRow, type DomainSide } from '../../domain/email/recipient-domains.js';
import type { EmailStatus } from '../../domain/email/status.js';
import type { TeamId } from '../../domain/core/ids.js';
import type { Page } from '../core/pages.js';
import {
  type MilestoneCounts,
  OTHER,
  summariesOf,
  TAG_SUMMARIES,
  TEMPLATE_SUMMARIES,
  type DayRowsDocument,
  SUMMARIES,
  type DaySummaryDocument,
} from '../email/summaries.js';
import type { ReadModels } from '../../domain/ports/read-models.js';
import { tagOfTerm, EMAIL_BACKLOGS, EMAILS, type EmailDocument, tagTerm } from '../email/read-models.js';
import { TEMPLATES, type TemplateDocument } from '../templates/templates.js';
import { dayNumber, dayOfNumber, mondayOf, isoTime, DAY_MS } from '../../domain/core/time.js';
import type { Clock } from '../../domain/ports/clock.js';
import { emailListItem } from '../email/emails.js';
import type { BacklogDocument } from '../email/backlogs.js';

export type AnalyticsQueries = Readonly<{
  analyticsOverview: (teamId: TeamId, range: DayRange, filter: SummaryFilter) => Promise<Overview>;
  analyticsTimeSeries: (
    teamId: TeamId,
    asked: Readonly<{ range: DayRange; interval: Interval; metrics: readonly EmailMilestone[] }>,
    filter: SummaryFilter,
  ) => Promise<TimeSeries>;
  analyticsTemplates: (teamId: TeamId, asked: RowsAsked) => Promise<Rows<TemplateRow>>;
  analyticsTags: (teamId: TeamId, asked: RowsAsked) => Promise<Rows<TagRow>>;
  /** Recipients, not emails, by the domain of that side. */
  analyticsDomains: (teamId: TeamId, side: DomainSide, asked: RowsAsked) => Promise<Rows<DomainFigures>>;
  dashboardSummary: (teamId: TeamId) => Promise<DashboardSummary>;
}>;

/** Days, from the first to the last, both of them included. */
export type DayRange = { startDate: string; endDate: string; days: number };

/** All emails of a team, those of one template or with one tag, or the recipients at one mailbox provider. */
export type SummaryFilter = Readonly<{ templateId?: string; tag?: string; recipientDomain?: string }>;

export type RowsAsked = Readonly<{ range: DayRange; sort: EmailMilestone; page: number; limit: number }>;

/** How many emails reached each milestone for the first time. */
type Totals = Record<EmailMilestone, number>;

/** In percent, to two digits; null if the whole is 0. */
type Rates = {
  sent: number | null;
  delivered: number | null;
  bounced: number | null;
  failed: number | null;
  opened: number | null;
  clicked: number | null;
  complained: number | null;
};

/** Averages in milliseconds, counted from when an email last entered the queue; null without emails. */
type Times = { firstAttemptMs: number | null; sentMs: number | null; deliveredMs: number | null };

type Period = { range: DayRange; totals: Totals; rates: Rates; times: Times };

type Overview = Period & {
  /** There may be more: on some day the template, tag or domain was not among those that are counted by name. */
  isLowerBound: boolean;
  /** As many days just before. */
  previous: Period & { isLowerBound: boolean };
  /** In percent of the range before; null if that is 0. */
  change: Record<EmailMilestone, number | null>;
};

type Interval = 'day' | 'week' | 'month';

/** One interval, as far as it lies in the range. */
type Point = { startDate: string; endDate: string } & Partial<Record<EmailMilestone, number>>;

type TimeSeries = { range: DayRange; interval: Interval; data: Point[]; isLowerBound: boolean };

type Rows<Row> = {
  range: DayRange;
  data: (Row & { totals: Totals; rates: Rates })[];
  /** The sum of the names that are not counted by name on days with many; null if there is none. */
  other: Totals | null;
  meta: Page<never>['meta'];
};

type TemplateRow = { templateId: string; emailTemplateName: string | null };
type TagRow = { tag: string };
type DomainFigures = { domain: string };

type RecentFailure = {
  id: string;
  status: EmailStatus;
  templateId: string;
  emailTemplateName: string;
  recipientCount: number;
  failedRecipients: number;
  createdAt: string;
  updatedAt: string;
};

type DashboardSummary = {
  today: Period;
  last7Days: Period;
  last30Days: Period;
  /** Emails that are not at an end, by what they wait for. */
  queue: { ready: number; deferred: number; held: number; scheduled: number };
  /** The newest emails that failed or bounced. */
  recentFailures: RecentFailure[];
};

type Sums = Readonly<MilestoneCounts & DurationSums>;

/** Counts of one day. */
type Day = Readonly<{ day: string; sums: Sums; isLowerBound: boolean }>;

type AnalyticsDeps = Readonly<{ readModels: Pick<ReadModels, 'get' | 'find'>; clock: Pick<Clock, 'now'> }>;

const durations = ['attempted', 'waitMs', 'sendMs', 'deliverMs'] as const satisfies readonly (keyof DurationSums)[];

const RECENT_FAILURES = 10;

export const makeAnalyticsQueries = (deps: AnalyticsDeps): AnalyticsQueries => ({
  analyticsOverview: (teamId, range, filter) => overview(deps, teamId, range, filter),
  analyticsTimeSeries: async (teamId, { range, interval, metrics }, filter) => {
    const days = await readDays(deps, teamId, range, filter);
    return {
      range,
      interval,
      data: pointsOf(range, interval, metrics, days),
      isLowerBound: days.some(({ isLowerBound }) => isLowerBound),
    };
  },
  analyticsTemplates: (teamId, asked) => listTemplates(deps, teamId, asked),
  analyticsTags: (teamId, asked) => listTags(deps, teamId, asked),
  analyticsDomains: (teamId, side, asked) => listDomains(deps, teamId, side, asked),
  dashboardSummary: (teamId) => dashboard(deps, teamId),
});

const overview = async (
  deps: AnalyticsDeps,
  teamId: TeamId,
  range: DayRange,
  filter: SummaryFilter,
): Promise<Overview> => {
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

const readDays = async (
  { readModels }: AnalyticsDeps,
  teamId: TeamId,
  range: DayRange,
  { templateId, tag, recipientDomain }: SummaryFilter,
): Promise<readonly Day[]> => {
  if (recipientDomain !== undefined) return readDaysOfDomain(readModels, teamId, range, recipientDomain);
  const found: Day[] = [];
  const name = tag === undefined ? templateId : tagTerm(tag);
  if (name === undefined)
    for await (const day of summariesOf(readModels, SUMMARIES, teamId, range))
      found.push(dayOfTeam(day as DaySummaryDocument));
  else
    for await (const day of summariesOf(
      readModels,
      tag === undefined ? TEMPLATE_SUMMARIES : TAG_SUMMARIES,
      teamId,
      range,
    ))
      found.push(dayOfName(day as DayRowsDocument, name));
  return found;
};

const readDaysOfDomain = async (
  readModels: AnalyticsDeps['readModels'],
  teamId: TeamId,
  range: DayRange,
  recipientDomain: string,
): Promise<readonly Day[]> => {
  const found: Day[] = [];
  for await (const document of summariesOf(readModels, SUMMARIES, teamId, range)) {
    const { day, domains = {} } = document as DaySummaryDocument;
    found.push(dayOfName({ day, rows: domains }, domainRow('recipient', recipientDomain)));
  }
  return found;
};

const dayOfTeam = ({ day, counts }: DaySummaryDocument): Day => ({ day, sums: counts, isLowerBound: false });

const dayOfName = ({ day, rows }: Pick<DayRowsDocument, 'day' | 'rows'>, name: string): Day => {
  const row = rows[name];
  return { day, sums: row ?? {}, isLowerBound: row === undefined && rows[OTHER] !== undefined };
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
    if (begin !== begun)
      points.push({ startDate: day, endDate: day, ...Object.fromEntries(metrics.map((name) => [name, 0])) });
    begun = begin;
    const point = points.at(-1)!;
    point.endDate = day;
    for (const name of metrics) point[name] = (point[name] ?? 0) + (byDay.get(day)?.[name] ?? 0);
  }
  return points;
};

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

const listTemplates = async (deps: AnalyticsDeps, teamId: TeamId, asked: RowsAsked): Promise<Rows<TemplateRow>> => {
  const { data, ...rest } = await listRows(deps, TEMPLATE_SUMMARIES, teamId, asked);
  const named = data.map(async ({ name: templateId, ...row }) => ({
    templateId,
    emailTemplateName: await templateName(deps, teamId, templateId),
    ...row,
  }));
  return { ...rest, data: await Promise.all(named) };
};

/** Emails of the last 30 days that were sent, and the last of these days with one; null: none. */
export type TemplateUse = Readonly<{ sent30d: number; lastSentOn: string | null }>;

const USE_DAYS = 30;

/** By template: how many of its emails were sent in the last 30 days (UTC), and the last of these days with one. */
export const templateUse = async (
  { readModels, clock }: AnalyticsDeps,
  teamId: TeamId,
): Promise<ReadonlyMap<string, TemplateUse>> => {
  const use = new Map<string, TemplateUse>();
  const startDate = isoTime(clock.now() - (USE_DAYS - 1) * DAY_MS).slice(0, 10);
  for await (const document of summariesOf(readModels, TEMPLATE_SUMMARIES, teamId, { startDate, days: USE_DAYS })) {
    const { day, rows } = document as DayRowsDocument;
    for (const [name, { sent = 0 }] of Object.entries(rows))
      if (sent > 0) use.set(name, { sent30d: (use.get(name)?.sent30d ?? 0) + sent, lastSentOn: day });
  }
  return use;
};

const listTags = async (deps: AnalyticsDeps, teamId: TeamId, asked: RowsAsked): Promise<Rows<TagRow>> => {
  const { data, ...rest } = await listRows(deps, TAG_SUMMARIES, teamId, asked);
  return { ...rest, data: data.map(({ name, ...row }) => ({ tag: tagOfTerm(name), ...row })) };
};

/** The current name of a template; null if the team does not have it, or not any more. */
const templateName = async ({ readModels }: AnalyticsDeps, teamId: TeamId, id: string): Promise<string | null> => {
  const found = (await readModels.get(TEMPLATES, id)) as TemplateDocument<'email'> | undefined;
  return found !== undefined && (found.team === teamId || found.deletedOf === teamId) ? found.item.name : null;
};

const listRows = async (
  { readModels }: AnalyticsDeps,
  collection: typeof TEMPLATE_SUMMARIES | typeof TAG_SUMMARIES,
  teamId: TeamId,
  asked: RowsAsked,
): Promise<Rows<{ name: string }>> => {
  const sums = new Map<string, MilestoneCounts>();
  for await (const document of summariesOf(readModels, collection, teamId, asked.range))
    for (const [name, row] of Object.entries((document as DayRowsDocument).rows)) addRow(sums, name, row);
  return rowsOf(sums, asked);
};

const listDomains = async (
  { readModels }: AnalyticsDeps,
  teamId: TeamId,
  side: DomainSide,
  asked: RowsAsked,
): Promise<Rows<DomainFigures>> => {
  const sums = new Map<string, MilestoneCounts>();
  for await (const document of summariesOf(readModels, SUMMARIES, teamId, asked.range))
    for (const [name, row] of Object.entries((document as DaySummaryDocument).domains ?? {}))
      if (name === OTHER || domainOfRow(side, name) !== undefined) addRow(sums, name, row);
  const { data, ...rest } = rowsOf(sums, asked);
  return { ...rest, data: data.map(({ name, ...row }) => ({ domain: domainOfRow(side, name) ?? name, ...row })) };
};

const addRow = (sums: Map<string, MilestoneCounts>, name: string, row: Readonly<MilestoneCounts>): void => {
  const sum = sums.get(name);
  if (sum === undefined) sums.set(name, { ...row });
  else addTo(sum, row);
};

/** One page of the rows, those with the highest count first. */
const rowsOf = (
  sums: Map<string, MilestoneCounts>,
  { range, sort, page, limit }: RowsAsked,
): Rows<{ name: string }> => {
  const other = sums.get(OTHER);
  sums.delete(OTHER);
  const inOrder = [...sums].sort(([one, a], [two, b]) => (b[sort] ?? 0) - (a[sort] ?? 0) || (one < two ? -1 : 1));
  const data = inOrder.slice((page - 1) * limit, page * limit).map(([name, row]) => {
    return { name, totals: totalsOf(row), rates: ratesOf(row) };
  });
  const total = inOrder.length;
  return {
    range,
    data,
    other: other === undefined ? null : totalsOf(other),
    meta: {
      page,
      limit,
      total,
      totalPages: Math.ceil(total / limit),
      totalIsLowerBound: other !== undefined,
      nextCursor: null,
    },
  };
};

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

const recentFailures = async (
  { readModels }: AnalyticsDeps,
  teamId: TeamId,
  { startDate }: DayRange,
): Promise<RecentFailure[]> => {
  const found = await readModels.find(EMAILS, {
    where: { team: { eq: teamId }, createdAt: { gte: isoTime(Date.parse(startDate)) } },
    anyOf: [{ status: { eq: 'failed' } }, { status: { eq: 'bounced' } }],
    sort: { field: 'createdAt', direction: 'desc' },
    limit: RECENT_FAILURES,
  });
  return (found as readonly EmailDocument[]).map((document) => {
    const { id, status, templateId, emailTemplateName, recipientCount, failedRecipients, createdAt } =
      emailListItem(document);
    const { updatedAt } = document.summary;
    return { id, status, templateId, emailTemplateName, recipientCount, failedRecipients, createdAt, updatedAt };
  });
};

const periodOf = (range: DayRange, sums: Sums): Period => {
  const totals = totalsOf(sums);
  return { range, totals, rates: ratesOf(sums), times: timesOf(sums) };
};

const totalsOf = (sums: Sums): Totals => {
  const { accepted = 0, sent = 0, delivered = 0, opened = 0, clicked = 0, complained = 0 } = sums;
  const { bounced = 0, failed = 0, cancelled = 0, suppressed = 0 } = sums;
  return { accepted, sent, delivered, opened, clicked, complained, bounced, failed, cancelled, suppressed };
};

/**
 * `sent`, `bounced` and `failed` are shares of the emails that came to an end, each counted once; `delivered` and
 * `complained` of those that were sent; `opened` and `clicked` of those that were sent with tracking.
 */
const ratesOf = ({
  sent = 0,
  delivered = 0,
  bounced = 0,
  complained = 0,
  failed = 0,
  returned = 0,
  ...sums
}: Sums): Rates => {
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

/** To two digits; null if the whole is 0. */
const percent = (part: number, whole: number): number | null =>
  whole === 0 ? null : Math.round((part / whole) * 10_000) / 100;

/** The average times; null for one template, tag or domain, which have no sums of durations. */
const timesOf = ({ attempted, waitMs, sent, sendMs, delivered, deliverMs }: Sums): Times => ({
  firstAttemptMs: average(waitMs, attempted),
  sentMs: average(sendMs, sent),
  deliveredMs: average(deliverMs, delivered),
});

const average = (sum: number | undefined, count: number | undefined): number | null =>
  sum === undefined || count === undefined || count === 0 ? null : Math.round(sum / count);

const addUp = (days: readonly Readonly<{ sums: Sums }>[]): Sums => {
  const all: MilestoneCounts & DurationSums = {};
  for (const { sums } of days) addTo(all, sums);
  return all;
};

const addTo = (all: MilestoneCounts & DurationSums, sums: Sums): void => {
  for (const name of [...emailMilestones, ...besideMilestones, ...durations]) {
    const more = sums[name];
    if (more !== undefined) all[name] = (all[name] ?? 0) + more;
  }
};
