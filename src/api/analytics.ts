/** The queries and answers of analytics. Days are in UTC. */
import { Type, type Static, type TProperties, type TSchema } from '@sinclair/typebox';
import { emailMilestones, type EmailMilestone } from '../domain/email/milestones.js';
import { domainSides } from '../domain/email/recipient-domains.js';
import { emailStatuses } from '../domain/email/status.js';
import { defaultLimits as limits } from '../domain/core/limits.js';
import { nullable } from '../domain/core/schema.js';
import { closed, enumOf, PageMetaSchema, Time, templateFilter, templateIdField } from './core/common.js';
import { pageNumbers } from './core/queries.js';

const bound = (description: string) =>
  Type.Optional(
    Type.String({
      minLength: 10,
      maxLength: 40,
      description: `${description} (ISO 8601; a time stands for its day in UTC)`,
      examples: ['2030-01-31'],
    }),
  );

const range = {
  startDate: bound('First day; by default the range has 30 days'),
  endDate: bound('Last day; by default today'),
};

const filters = {
  templateId: Type.Optional(templateFilter),
  tag: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: limits.tagCharsMax,
      description: 'Emails with this tag; not together with `templateId`',
    }),
  ),
  recipientDomain: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description:
        'Recipients, not emails, at this mailbox provider: a domain that `GET /api/analytics/domains` lists; not together with `templateId` or `tag`. `opened` and `clicked` are not counted by domain',
      examples: ['gmail.com'],
    }),
  ),
};

export const OverviewQuerySchema = Type.Object({ ...range, ...filters }, closed);
export type OverviewQuery = Static<typeof OverviewQuerySchema>;

export const intervals = ['day', 'week', 'month'] as const;
export type Interval = (typeof intervals)[number];

export const TimeSeriesQuerySchema = Type.Object(
  {
    ...range,
    interval: Type.Optional(enumOf(intervals, 'How long each point is; weeks begin on Monday. Default: `day`')),
    metrics: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: `Names of counts, separated by commas: ${emailMilestones.join(', ')}. Default: all that are counted`,
        examples: ['accepted,sent'],
      }),
    ),
    ...filters,
  },
  closed,
);
export type TimeSeriesQuery = Static<typeof TimeSeriesQuerySchema>;

export const RowsQuerySchema = Type.Object(
  {
    ...range,
    sort: Type.Optional(enumOf(emailMilestones, 'By which count, the highest first. Default: `accepted`')),
    ...pageNumbers,
  },
  closed,
);
export type RowsQuery = Static<typeof RowsQuerySchema>;

export const DomainRowsQuerySchema = Type.Object(
  {
    ...RowsQuerySchema.properties,
    side: Type.Optional(
      enumOf(
        domainSides,
        '`recipient` (default): domains of mailbox providers; `sender`: verified sender domains of the team',
      ),
    ),
  },
  closed,
);

const Day = Type.String({ format: 'date' });
const count = (description: string) => Type.Integer({ description });

const RangeSchema = Type.Object({ startDate: Day, endDate: Day, days: Type.Integer() }, closed);

/** Each milestone has this field. */
const milestones = <Field extends TSchema>(field: Field): Record<EmailMilestone, Field> =>
  Object.fromEntries(emailMilestones.map((name) => [name, field])) as Record<EmailMilestone, Field>;

export const EmailTotalsSchema = Type.Object(
  {
    accepted: count('Taken by a send call'),
    sent: count('The relay has taken them'),
    delivered: count('The receiving host has taken them'),
    bounced: count('Refused for good by a receiving host'),
    opened: count('Opened by a person, as far as that is recorded'),
    clicked: count('A link of them was followed by a person, as far as that is recorded'),
    complained: count('A recipient has complained about them'),
    failed: count('Ended as `failed`'),
    cancelled: count('Cancelled before they left'),
    suppressed: count('Not sent, for every recipient is on the suppression list'),
  } satisfies Record<EmailMilestone, TSchema>,
  closed,
);

const percentOf = (what: string) =>
  nullable(Type.Number({ description: `In percent of ${what}; null where there is none` }));
const ofEnded = percentOf('the emails that were sent, bounced or failed, each counted once');

export const EmailRatesSchema = Type.Object(
  {
    sent: ofEnded,
    delivered: percentOf('`sent`'),
    opened: percentOf('those that were sent with a record of opens'),
    clicked: percentOf('those that were sent with a record of clicks'),
    complained: percentOf('`sent`'),
    bounced: ofEnded,
    failed: ofEnded,
  },
  closed,
);

const averageMs = (until: string) =>
  nullable(
    Type.Integer({
      description: `Milliseconds, on average, ${until}; null where there is none, and for a template, tag or domain`,
    }),
  );

export const EmailTimesSchema = Type.Object(
  {
    firstAttemptMs: averageMs('from the queue to the first attempt'),
    sentMs: averageMs('from the queue to `sent`'),
    deliveredMs: averageMs('from the queue to `delivered`'),
  },
  closed,
);

const period = {
  range: RangeSchema,
  totals: EmailTotalsSchema,
  rates: EmailRatesSchema,
  times: EmailTimesSchema,
} satisfies TProperties;
const isLowerBound = Type.Boolean({
  description:
    'True where there may be more: on some day the template, tag or domain was not among those that are counted by name',
});

export const AnalyticsPeriodSchema = Type.Object(period, closed);

const change = nullable(Type.Number({ description: 'In percent of the range before; null where that is 0' }));

export const OverviewSchema = Type.Object(
  {
    ...period,
    isLowerBound,
    previous: Type.Object({ ...period, isLowerBound }, { ...closed, description: 'As many days just before' }),
    change: Type.Object(milestones(change), closed),
  },
  closed,
);

const some = Type.Optional(
  Type.Integer({ description: 'Absent where `metrics` does not name it, or where it is not counted by domain' }),
);

export const TimeSeriesSchema = Type.Object(
  {
    range: RangeSchema,
    interval: enumOf(intervals),
    data: Type.Array(
      Type.Object(
        {
          startDate: Day,
          endDate: Day,
          ...milestones(some),
        },
        { ...closed, description: 'One interval, as far as it lies in the range' },
      ),
    ),
    isLowerBound,
  },
  closed,
);

const rows = <Row extends TProperties>(row: Row) =>
  Type.Object(
    {
      range: RangeSchema,
      data: Type.Array(Type.Object({ ...row, totals: EmailTotalsSchema, rates: EmailRatesSchema }, closed)),
      other: nullable(EmailTotalsSchema),
      meta: PageMetaSchema,
    },
    closed,
  );

export const TemplateAnalyticsSchema = rows({
  templateId: templateIdField,
  emailTemplateName: nullable(Type.String({ description: 'As it is called now' })),
});
export const TagAnalyticsSchema = rows({ tag: Type.String() });

export const DomainAnalyticsSchema = rows({ domain: Type.String() });

export const DashboardSummarySchema = Type.Object(
  {
    today: AnalyticsPeriodSchema,
    last7Days: AnalyticsPeriodSchema,
    last30Days: AnalyticsPeriodSchema,
    queue: Type.Object(
      {
        ready: Type.Integer({ description: 'In delivery, or waiting for nothing but their turn' }),
        deferred: Type.Integer({ description: 'Waiting for their next attempt' }),
        held: Type.Integer({ description: 'Waiting for the relay, which takes no sessions' }),
        scheduled: Type.Integer({ description: 'Waiting for their time' }),
      },
      closed,
    ),
    recentFailures: Type.Array(
      Type.Object(
        {
          id: Type.String(),
          status: enumOf(emailStatuses),
          templateId: templateIdField,
          emailTemplateName: Type.String(),
          recipientCount: Type.Integer(),
          failedRecipients: Type.Integer(),
          createdAt: Time,
          updatedAt: Time,
        },
        closed,
      ),
      { description: 'The newest emails of the last 30 days that failed or bounced, at most ten' },
    ),
  },
  closed,
);
