/** What the analytics answer: counts, rates and times of a range of days, all of them in UTC. */
import type { EmailMilestone } from '../../domain/email/milestones.js';
import type { EmailStatus } from '../../domain/email/email-status.js';
import type { TeamId } from '../../domain/core/ids.js';
import type { Page } from '../core/pages.js';

/** Days, from the first to the last, both of them included. */
export type DayRange = { startDate: string; endDate: string; days: number };

/** All emails of a team, or those of one template or with one tag. */
export type SummaryFilter = Readonly<{ templateId?: string; tag?: string }>;

/** How many emails came to it for the first time; null is what this version does not measure. */
export type Totals = Record<EmailMilestone, number>;

/** In percent, to two digits; null where there is nothing to take a part of. */
export type Rates = {
  sent: number | null;
  delivered: number | null;
  bounced: number | null;
  failed: number | null;
  opened: number | null;
  clicked: number | null;
  complained: number | null;
};

/** Averages in milliseconds, from when an email last entered the queue; null where there is none. */
export type Times = { firstAttemptMs: number | null; sentMs: number | null; deliveredMs: number | null };

export type Period = { range: DayRange; totals: Totals; rates: Rates; times: Times };

export type Overview = Period & {
  /** There may be more: on some day the template or tag was not among those that are counted by name. */
  isLowerBound: boolean;
  /** As many days just before. */
  previous: Period & { isLowerBound: boolean };
  /** In percent of the range before; null where that is 0. */
  change: Record<EmailMilestone, number | null>;
};

export type Interval = 'day' | 'week' | 'month';

/** One interval, as far as it lies in the range. */
export type Point = { startDate: string; endDate: string } & Partial<Record<EmailMilestone, number>>;

export type TimeSeries = { range: DayRange; interval: Interval; data: Point[]; isLowerBound: boolean };

export type RowsAsked = Readonly<{ range: DayRange; sort: EmailMilestone; page: number; limit: number }>;

export type Rows<Row> = {
  range: DayRange;
  data: (Row & { totals: Totals; rates: Rates })[];
  /** Of days with more names than are counted by name: what is counted of the rest; null where there is none. */
  other: Totals | null;
  meta: Page<never>['meta'];
};

export type TemplateRow = { templateId: string; emailTemplateName: string | null };
export type TagRow = { tag: string };

export type RecentFailure = {
  id: string;
  status: EmailStatus;
  templateId: string;
  emailTemplateName: string;
  recipientCount: number;
  failedRecipients: number;
  createdAt: string;
  updatedAt: string;
};

export type DashboardSummary = {
  today: Period;
  last7Days: Period;
  last30Days: Period;
  /** Emails that are not at an end, by what they wait for. */
  queue: { ready: number; deferred: number; held: number; scheduled: number };
  /** The newest emails that failed or bounced. */
  recentFailures: RecentFailure[];
};

export type AnalyticsQueries = Readonly<{
  analyticsOverview: (teamId: TeamId, range: DayRange, filter: SummaryFilter) => Promise<Overview>;
  analyticsTimeSeries: (
    teamId: TeamId,
    asked: Readonly<{ range: DayRange; interval: Interval; metrics: readonly EmailMilestone[] }>,
    filter: SummaryFilter,
  ) => Promise<TimeSeries>;
  analyticsTemplates: (teamId: TeamId, asked: RowsAsked) => Promise<Rows<TemplateRow>>;
  analyticsTags: (teamId: TeamId, asked: RowsAsked) => Promise<Rows<TagRow>>;
  dashboardSummary: (teamId: TeamId) => Promise<DashboardSummary>;
}>;
