/** The routes of analytics and of the dashboard's start page: what became of emails, day by day. */
import {
  type OverviewQuery,
  type RowsQuery,
  type TimeSeriesQuery,
  DashboardSummarySchema,
  DomainAnalyticsSchema,
  DomainRowsQuerySchema,
  OverviewQuerySchema,
  OverviewSchema,
  RowsQuerySchema,
  TagAnalyticsSchema,
  TemplateAnalyticsSchema,
  TimeSeriesQuerySchema,
  TimeSeriesSchema,
} from '../../api/analytics.js';
import { dayNumber, dayOf, dayOfNumber, isoTime } from '../../domain/core/time.js';
import { emailMilestones, type EmailMilestone } from '../../domain/email/milestones.js';
import { domainMilestones, isProviderDomain } from '../../domain/email/recipient-domains.js';
import { invalid } from '../../domain/core/errors.js';
import { defaultLimits as limits } from '../../domain/core/limits.js';
import type { DayRange, RowsAsked, SummaryFilter } from '../../projections/analytics/analytics.js';
import { momentOf } from '../server/query.js';
import type { TeamId } from '../../domain/core/ids.js';
import { callerOf, type App, type HttpDeps, OWN_WRITES_WAIT_MS } from '../server/context.js';
import { coerceQuery } from '../server/validation.js';

type Deps = Pick<HttpDeps, 'queries' | 'clock'>;

type RangeQuery = Pick<OverviewQuery, 'startDate' | 'endDate'>;

const DAYS_DEFAULT = 30;

const tags = ['Analytics'];
const access = 'analytics:read';
/** The routes check range, metrics and filters themselves, hence the code. */
const config = { access, codes: ['VALIDATION_ERROR'] } as const;

/** Registers the routes under /api/analytics and /api/dashboard. */
export const analyticsRoutes = (app: App, deps: Deps): void => {
  rangeRoutes(app, deps);
  rowRoutes(app, deps);
  domainRoute(app, deps);
  dashboardRoute(app, deps);
};

const rangeRoutes = (app: App, deps: Deps): void => {
  app.get(
    '/api/analytics/overview',
    {
      config,
      preValidation: coerceQuery(OverviewQuerySchema),
      schema: {
        summary: 'Totals and rates of a range of days',
        description: 'With those of as many days before, and how they changed.',
        operationId: 'getAnalyticsOverview',
        tags,
        querystring: OverviewQuerySchema,
        response: { 200: OverviewSchema },
      },
    },
    async (request) => {
      const [range, filter] = [rangeOf(request.query, deps.clock.now()), summaryFilterOf(request.query)];
      return deps.queries.analyticsOverview(await teamOf(deps, request), range, filter);
    },
  );

  app.get(
    '/api/analytics/timeseries',
    {
      config,
      preValidation: coerceQuery(TimeSeriesQuerySchema),
      schema: {
        summary: 'Counts day by day, week by week or month by month',
        description: 'Every interval of the range has a point, those without emails too.',
        operationId: 'getAnalyticsTimeSeries',
        tags,
        querystring: TimeSeriesQuerySchema,
        response: { 200: TimeSeriesSchema },
      },
    },
    async (request) => {
      const { interval = 'day' } = request.query;
      const asked = {
        range: seriesRangeOf(request.query, deps.clock.now()),
        interval,
        metrics: metricsOf(request.query),
      };
      const filter = summaryFilterOf(request.query);
      return deps.queries.analyticsTimeSeries(await teamOf(deps, request), asked, filter);
    },
  );
};

const rowRoutes = (app: App, deps: Deps): void => {
  app.get(
    '/api/analytics/templates',
    {
      config,
      preValidation: coerceQuery(RowsQuerySchema),
      schema: {
        summary: 'Counts of each template',
        description: 'Those of the highest count first.',
        operationId: 'listTemplateAnalytics',
        tags,
        querystring: RowsQuerySchema,
        response: { 200: TemplateAnalyticsSchema },
      },
    },
    async (request) => {
      const asked = rowsAskedOf(request.query, deps.clock.now());
      return deps.queries.analyticsTemplates(await teamOf(deps, request), asked);
    },
  );

  app.get(
    '/api/analytics/tags',
    {
      config,
      preValidation: coerceQuery(RowsQuerySchema),
      schema: {
        summary: 'Counts of each tag',
        description: 'Those of the highest count first. An email with several tags counts for each of them.',
        operationId: 'listTagAnalytics',
        tags,
        querystring: RowsQuerySchema,
        response: { 200: TagAnalyticsSchema },
      },
    },
    async (request) => {
      const asked = rowsAskedOf(request.query, deps.clock.now());
      return deps.queries.analyticsTags(await teamOf(deps, request), asked);
    },
  );
};

const domainRoute = (app: App, deps: Deps): void => {
  app.get(
    '/api/analytics/domains',
    {
      config,
      preValidation: coerceQuery(DomainRowsQuerySchema),
      schema: {
        summary: 'Counts of each domain',
        description:
          'Recipients, not emails: at each of the great mailbox providers, or of mails of each verified sender domain. Those of the highest count first.',
        operationId: 'listDomainAnalytics',
        tags,
        querystring: DomainRowsQuerySchema,
        response: { 200: DomainAnalyticsSchema },
      },
    },
    async (request) => {
      const { side = 'recipient', ...query } = request.query;
      const asked = rowsAskedOf(query, deps.clock.now());
      return deps.queries.analyticsDomains(await teamOf(deps, request), side, asked);
    },
  );
};

const dashboardRoute = (app: App, deps: Deps): void => {
  app.get(
    '/api/dashboard/summary',
    {
      config,
      schema: {
        summary: 'The start page of a dashboard',
        description:
          'Today, the last 7 and the last 30 days (today is one of them), what waits, and what failed lately.',
        operationId: 'getDashboardSummary',
        tags,
        response: { 200: DashboardSummarySchema },
      },
    },
    async (request) => deps.queries.dashboardSummary(await teamOf(deps, request)),
  );
};

/** The team of the caller, once the read models show what it wrote. */
const teamOf = async ({ queries }: Deps, request: Parameters<typeof callerOf>[0]): Promise<TeamId> => {
  const { teamId } = callerOf(request);
  await queries.awaitOwnWrites(teamId, OWN_WRITES_WAIT_MS);
  return teamId;
};

/** The range of days that the query asks for. Throws VALIDATION_ERROR if it is empty or has more days than `max`. */
const rangeOf = ({ startDate, endDate }: RangeQuery, now: number, max: number = limits.analyticsDaysMax): DayRange => {
  const last = endDate === undefined ? dayOf(isoTime(now)) : dayOf(momentOf('endDate', endDate, 'end'));
  const first =
    startDate === undefined
      ? dayOfNumber(dayNumber(last) - DAYS_DEFAULT + 1)
      : dayOf(momentOf('startDate', startDate, 'start'));
  const days = dayNumber(last) - dayNumber(first) + 1;
  if (days < 1) throw invalid('query', 'startDate', `must not lie after the last day of the range, which is ${last}`);
  if (days > max) throw invalid('query', 'startDate', `makes a range of ${days} days; ${max} are the most here`);
  return { startDate: first, endDate: last, days };
};

/** A series with a point for each day takes a shorter range than one by week or month. */
const seriesRangeOf = (query: TimeSeriesQuery, now: number): DayRange =>
  rangeOf(query, now, (query.interval ?? 'day') === 'day' ? limits.analyticsPointsMax : limits.analyticsDaysMax);

/**
 * Throws VALIDATION_ERROR if two are given, for emails are counted by each of them alone, or if the domain is not one
 * that is counted.
 */
const summaryFilterOf = ({
  templateId,
  tag,
  recipientDomain,
}: Pick<OverviewQuery, 'templateId' | 'tag' | 'recipientDomain'>): SummaryFilter => {
  if (templateId !== undefined && tag !== undefined)
    throw invalid(
      'query',
      'tag',
      'cannot stand beside `templateId`: emails are counted by template and by tag, not by both at once',
    );
  if (recipientDomain !== undefined) {
    if (templateId !== undefined || tag !== undefined)
      throw invalid(
        'query',
        'recipientDomain',
        `cannot stand beside \`${tag === undefined ? 'templateId' : 'tag'}\`: recipients are counted by domain alone`,
      );
    const domain = recipientDomain.toLowerCase();
    if (!isProviderDomain(domain))
      throw invalid(
        'query',
        'recipientDomain',
        'is no mailbox provider whose recipients are counted, such as gmail.com: the domain of an address can name a person',
      );
    return { recipientDomain: domain };
  }
  return {
    ...(templateId === undefined ? {} : { templateId: templateId.toLowerCase() }),
    ...(tag === undefined ? {} : { tag }),
  };
};

/**
 * The metrics that the query names; all that are counted without it. Throws VALIDATION_ERROR if one is unknown, or not
 * counted by domain.
 */
const metricsOf = ({
  metrics,
  recipientDomain,
}: Pick<TimeSeriesQuery, 'metrics' | 'recipientDomain'>): readonly EmailMilestone[] => {
  const counted: readonly EmailMilestone[] = recipientDomain === undefined ? emailMilestones : domainMilestones;
  if (metrics === undefined) return counted;
  const named = new Set(metrics.split(','));
  for (const name of named) {
    if (!(emailMilestones as readonly string[]).includes(name)) throw unknownMetric();
    if (!(counted as readonly string[]).includes(name))
      throw invalid('query', 'metrics', `cannot name \`${name}\`, which is not counted by domain`);
  }
  return emailMilestones.filter((name) => named.has(name));
};

const unknownMetric = () =>
  invalid('query', 'metrics', `must be one or more of ${emailMilestones.join(', ')}, with commas between them`);

const rowsAskedOf = (query: RowsQuery, now: number): RowsAsked => {
  const { sort = 'accepted', page = 1, limit = limits.pageSizeDefault } = query;
  return { range: rangeOf(query, now, limits.analyticsPointsMax), sort, page, limit };
};
