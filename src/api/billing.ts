/** Requests and answers about usage and credits. */
import { Type, type Static } from '@sinclair/typebox';
import { planNames, BLOCKS_MAX, CREDITS_PER_BLOCK } from '../domain/billing/plans.js';
import { nullable } from '../domain/core/schema.js';
import { TEXT } from '../shared/text.js';
import { closed, enumOf, Time } from './core/common.js';

const Count = Type.Integer({ minimum: 0 });
const Percent = Type.Number({
  minimum: 0,
  description: 'Percentage of the limit, to a tenth; 0 if there is no limit, above 100 if more is allowed',
});

const UsageSchema = Type.Object(
  { used: Count, limit: nullable(Count), remaining: nullable(Count), percentUsed: Percent },
  { ...closed, description: '`limit` and `remaining` are null where there is no limit' },
);

export const UsageStatsSchema = Type.Object(
  {
    email: UsageSchema,
    attachment: UsageSchema,
    billingPeriod: Type.String({ format: 'date', description: 'The first day of the month that is counted, in UTC' }),
    period: Type.String({ description: 'The month, as `2030-01`' }),
    emailsSent: Type.Integer({
      minimum: 0,
      description: 'Emails accepted in the month, without those that were cancelled',
    }),
    creditsUsed: Type.Integer({
      minimum: 0,
      description: 'One for each email, and one for each document that was made for it',
    }),
    creditsRemaining: nullable(
      Type.Integer({ minimum: 0, description: 'null where the team is not billed by credits' }),
    ),
    quota: nullable(Type.Integer({ minimum: 0, description: 'Emails a month; null for any number' })),
    billing: enumOf(['credits', 'plan', 'unmetered']),
    plan: nullable(enumOf(planNames)),
    overage: Type.Object(
      {
        emails: Type.Integer({ minimum: 0, description: 'Beyond the quota' }),
        costCents: nullable(
          Type.Integer({
            minimum: 0,
            description: 'In cents of US dollars, rounded up; null where the price is agreed',
          }),
        ),
      },
      closed,
    ),
    resetsAt: Type.String({ format: 'date-time', description: 'When the next month begins' }),
  },
  closed,
);
export type UsageStats = Static<typeof UsageStatsSchema>;

const date = (description: string) =>
  Type.Optional(Type.String({ minLength: 10, maxLength: 10, description, examples: ['2030-01-31'] }));

export const UsageQuerySchema = Type.Object(
  {
    startDate: date('First day, in UTC; default: 29 days before the last, or 11 months before its month'),
    endDate: date('Last day, in UTC; default: today'),
  },
  closed,
);

const used = {
  emails: Type.Integer({ minimum: 0, description: 'Accepted, without those that were cancelled' }),
  attachments: Type.Integer({ minimum: 0, description: 'Documents that were made for them' }),
  credits: Count,
  percentUsed: Type.Number({
    minimum: 0,
    description: 'Emails, of the monthly quota of today, to a tenth; 0 where there is none',
  }),
};

export const UsageByDaySchema = Type.Object(
  { data: Type.Array(Type.Object({ day: Type.String({ format: 'date' }), ...used }, closed)), quota: nullable(Count) },
  closed,
);
export const UsageByMonthSchema = Type.Object(
  {
    data: Type.Array(Type.Object({ month: Type.String({ description: 'As `2030-01`' }), ...used }, closed)),
    quota: nullable(Count),
  },
  closed,
);

/** Most credits of one grant. */
export const GRANT_MAX = BLOCKS_MAX * CREDITS_PER_BLOCK;

export const AddCreditsRequestSchema = Type.Object(
  {
    credits: Type.Optional(Type.Integer({ minimum: 1, maximum: GRANT_MAX, description: 'Credits that are given' })),
    blocks: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: BLOCKS_MAX,
        description: `Blocks of ${CREDITS_PER_BLOCK} credits that were paid elsewhere; either this or \`credits\``,
      }),
    ),
    note: Type.Optional(
      Type.String({
        pattern: TEXT,
        maxLength: 500,
        description: 'For the log, such as the number of an invoice; no personal data',
      }),
    ),
  },
  closed,
);
export type AddCreditsRequest = Static<typeof AddCreditsRequestSchema>;

export const AddedCreditsSchema = Type.Object(
  {
    credits: Type.Integer({ description: 'That were added' }),
    blocks: nullable(Type.Integer()),
    priceCents: nullable(Type.Integer({ description: 'Price of the blocks, in cents' })),
    currency: nullable(Type.String()),
    creditsRemaining: nullable(Type.Integer({ description: 'The balance; null where the team is billed by its plan' })),
    addedAt: Time,
  },
  closed,
);
export type AddedCredits = Static<typeof AddedCreditsSchema>;
