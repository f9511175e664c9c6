/** Routes of usage (this month, by day, by month), and of adding credits. */
import {
  AddCreditsRequestSchema,
  AddedCreditsSchema,
  UsageByDaySchema,
  UsageByMonthSchema,
  UsageQuerySchema,
  UsageStatsSchema,
  type UsageStats,
} from '../../api/billing.js';
import { addCreditsExamples } from '../../api/examples.js';
import type { Caller } from '../../commands/core/caller.js';
import { monthAfter, type Quota } from '../../commands/billing/credits.js';
import { invalid } from '../../domain/core/errors.js';
import { isoTime, DAY_MS } from '../../domain/core/time.js';
import type { UsedOfDay } from '../../projections/query-types.js';
import { callerOf, type App, type HttpDeps, OWN_WRITES_WAIT_MS } from '../server/context.js';
import { coerceQuery } from '../server/validation.js';
import { momentOf } from '../server/query.js';

type Deps = Pick<HttpDeps, 'commands' | 'queries' | 'clock'>;

const tags = ['Usage and credits'];
/** Two leap years and a day. */
const DAYS_MAX = 733;

/** In percent, rounded down to a tenth. */
const percentOf = (used: number, limit: number | null): number =>
  limit === null || limit === 0 ? 0 : Math.floor((used * 1_000) / limit) / 10;

const usageOf = ({ used, limit, remaining }: Quota) => ({
  used,
  limit,
  remaining,
  percentUsed: percentOf(used, limit),
});

/** The figures of the month are the sum of its days, as in the answers by day and by month. */
const statsOf = async (deps: Deps, caller: Caller): Promise<UsageStats> => {
  const { billing, plan, quota } = await deps.commands.getBilling(caller);
  const { month } = quota;
  const used = sumOf(await usedBetween(deps, caller, `${month}-01`, `${month}-31`));
  const [email, attachment] = [quotaOf(used.emails, quota.emailQuota), quotaOf(used.documents, quota.attachmentQuota)];
  const { microsPerEmail } = quota.overage;
  const overage = email.limit === null ? 0 : Math.max(0, email.used - email.limit);
  return {
    email: usageOf(email),
    attachment: usageOf(attachment),
    billingPeriod: `${month}-01`,
    period: month,
    emailsSent: email.used,
    creditsUsed: email.used + attachment.used,
    creditsRemaining: quota.creditsRemaining,
    quota: email.limit,
    billing,
    plan,
    overage: { emails: overage, costCents: overageCents(overage, microsPerEmail) },
    resetsAt: monthAfter(month),
  };
};

const quotaOf = (used: number, { limit }: Quota): Quota => ({
  used,
  limit,
  remaining: limit === null ? null : Math.max(0, limit - used),
});

const overageCents = (emails: number, microsPerEmail: number | null): number | null =>
  emails === 0 ? 0 : microsPerEmail === null ? null : Math.ceil((emails * microsPerEmail) / 10_000);

const usedBetween = async (
  deps: Deps,
  { teamId }: Caller,
  first: string,
  last: string,
): Promise<readonly UsedOfDay[]> => {
  await deps.queries.awaitOwnWrites(teamId, OWN_WRITES_WAIT_MS);
  return deps.queries.usedByDay(teamId, first, last);
};

type Used = Readonly<{ emails: number; documents: number }>;

const sumOf = (days: readonly Used[]): Used =>
  days.reduce((sum, { emails, documents }) => ({ emails: sum.emails + emails, documents: sum.documents + documents }), {
    emails: 0,
    documents: 0,
  });

const itemOf = ({ emails, documents }: Used, quota: number | null) => ({
  emails,
  attachments: documents,
  credits: emails + documents,
  percentUsed: percentOf(emails, quota),
});

type Range = Readonly<{ startDate?: string | undefined; endDate?: string | undefined }>;

/** The first and the last day; `defaultFirst` gives the first if the query has none. */
const daysOf = ({ clock }: Deps, { startDate, endDate }: Range, defaultFirst: (last: string) => string) => {
  const last = (endDate === undefined ? isoTime(clock.now()) : momentOf('endDate', endDate, 'end')).slice(0, 10);
  const first = startDate === undefined ? defaultFirst(last) : momentOf('startDate', startDate, 'start').slice(0, 10);
  const days = (Date.parse(last) - Date.parse(first)) / DAY_MS + 1;
  if (days < 1) throw invalid('query', 'endDate', 'must not be before `startDate`');
  if (days > DAYS_MAX) throw invalid('query', 'startDate', `must be at most ${DAYS_MAX - 1} days before \`endDate\``);
  return { first, last };
};

const dayBefore = (day: string, days: number): string => isoTime(Date.parse(day) - days * DAY_MS).slice(0, 10);

const elevenMonthsBefore = (day: string): string => {
  const [year, month] = day.split('-').map(Number);
  return isoTime(Date.UTC(year!, month! - 12, 1)).slice(0, 10);
};

/** Every day of the range; days without usage have 0. */
const byDay = (used: readonly UsedOfDay[], first: string, last: string): readonly UsedOfDay[] => {
  const known = new Map(used.map((day) => [day.day, day]));
  const days: UsedOfDay[] = [];
  for (let ms = Date.parse(first); ms <= Date.parse(last); ms += DAY_MS) {
    const day = isoTime(ms).slice(0, 10);
    days.push(known.get(day) ?? { day, emails: 0, documents: 0 });
  }
  return days;
};

const byMonth = (days: readonly UsedOfDay[]): ReadonlyMap<string, Used> => {
  const months = new Map<string, Used>();
  for (const day of days) {
    const month = day.day.slice(0, 7);
    months.set(month, sumOf([months.get(month) ?? { emails: 0, documents: 0 }, day]));
  }
  return months;
};

const access = 'analytics:read';

const statsRoute = (app: App, deps: Deps): void => {
  app.get(
    '/api/emails/usage/stats',
    {
      config: { access, command: 'getBilling' },
      schema: {
        summary: 'Read the usage of this month',
        description: 'Used quota and credits of the team in the calendar month, in UTC.',
        operationId: 'getUsageStats',
        tags,
        response: { 200: UsageStatsSchema },
      },
    },
    (request) => statsOf(deps, callerOf(request)),
  );
};

const rangeRoutes = (app: App, deps: Deps): void => {
  app.get(
    '/api/emails/usage/days',
    {
      config: { access, command: 'getBilling' },
      preValidation: coerceQuery(UsageQuerySchema),
      schema: {
        summary: 'Read the usage by day',
        description:
          'Every day from the first to the last, in UTC. An email counts on the day on which it was accepted.',
        operationId: 'getUsageByDay',
        tags,
        querystring: UsageQuerySchema,
        response: { 200: UsageByDaySchema },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const { first, last } = daysOf(deps, request.query, (day) => dayBefore(day, 29));
      const { quota } = await deps.commands.getBilling(caller);
      const { limit } = quota.emailQuota;
      const days = byDay(await usedBetween(deps, caller, first, last), first, last);
      return { data: days.map((day) => ({ day: day.day, ...itemOf(day, limit) })), quota: limit };
    },
  );

  app.get(
    '/api/emails/usage/months',
    {
      config: { access, command: 'getBilling' },
      preValidation: coerceQuery(UsageQuerySchema),
      schema: {
        summary: 'Read the usage by month',
        description: 'Every month that has a day from the first to the last, in UTC; only these days are counted.',
        operationId: 'getUsageByMonth',
        tags,
        querystring: UsageQuerySchema,
        response: { 200: UsageByMonthSchema },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const { first, last } = daysOf(deps, request.query, elevenMonthsBefore);
      const { quota } = await deps.commands.getBilling(caller);
      const { limit } = quota.emailQuota;
      const months = byMonth(byDay(await usedBetween(deps, caller, first, last), first, last));
      return { data: [...months].map(([month, used]) => ({ month, ...itemOf(used, limit) })), quota: limit };
    },
  );
};

/** Registers the routes under /api/emails/usage, and /api/credits. */
export const creditsRoutes = (app: App, deps: Deps): void => {
  statsRoute(app, deps);
  rangeRoutes(app, deps);
  app.post(
    '/api/credits',
    {
      config: { access: 'credits:grant', command: 'addCredits', examples: addCreditsExamples },
      schema: {
        summary: 'Add credits',
        description:
          'Grants `credits`, or records `blocks` that were paid elsewhere, to the team of the key. No payment is taken here. Each call adds: it is not to be repeated blindly.',
        operationId: 'addCredits',
        tags,
        body: AddCreditsRequestSchema,
        response: { 201: AddedCreditsSchema },
      },
    },
    async (request, reply) => {
      const added = await deps.commands.addCredits(callerOf(request), request.body);
      reply.code(201);
      return added;
    },
  );
};
