/** The limits that the plan of a team sets to what it may have. A team that is unmetered, or on no plan, has none of them. */
import { DomainError } from '../core/errors.js';
import { plans, type Plan, type PlanName } from './plans.js';

/** What is counted; a field of the plans each. */
export const planResources = [
  'emailTemplates',
  'attachmentTemplates',
  'members',
  'teams',
  'apiKeys',
  'webhookSubscriptions',
  'oauthApps',
  'storageBytes',
] as const satisfies readonly (keyof Plan)[];
export type PlanResource = (typeof planResources)[number];

type LimitName = PlanResource | 'fileSizeBytes';

export type PlanLimit = Readonly<{ plan: PlanName; limit: LimitName; maximum: number }>;

type Terms = Readonly<{ billing: 'credits' | 'plan' | 'unmetered'; plan?: PlanName }>;

/** undefined: the team may have any number. */
export const planLimitOf = ({ billing, plan }: Terms, limit: LimitName): PlanLimit | undefined => {
  const maximum = billing === 'unmetered' || plan === undefined ? null : plans[plan][limit];
  return maximum === null || plan === undefined ? undefined : { plan, limit, maximum };
};

const written = new Intl.NumberFormat('en-US');

const names: Readonly<Record<LimitName, string>> = {
  emailTemplates: 'email templates',
  attachmentTemplates: 'attachment templates',
  members: 'members',
  teams: 'teams',
  apiKeys: 'API keys',
  webhookSubscriptions: 'webhook subscriptions',
  oauthApps: 'OAuth apps',
  storageBytes: 'bytes of storage',
  fileSizeBytes: 'bytes in one file',
};

/** `actual`: what it would come to. */
export const planLimitExceeded = ({ plan, limit, maximum }: PlanLimit, actual: number): DomainError =>
  new DomainError(
    'PLAN_LIMIT_EXCEEDED',
    `The plan ${plan} allows ${written.format(maximum)} ${names[limit]}, and with this it would be ${written.format(actual)}. Nothing was made; delete what is not used any more, or change the plan.`,
    { relatedInfo: { limit, actual, maximum, plan } },
  );
