/**
 * Plans with their limits, the price of credits, and the refusal beyond a limit. A limit of null is none; Enterprise
 * limits are agreed one by one.
 */
import { DomainError } from '../core/errors.js';

export const planNames = ['free', 'starter', 'pro', 'enterprise'] as const;
export type PlanName = (typeof planNames)[number];

export const isPlanName = (text: string): text is PlanName => (planNames as readonly string[]).includes(text);

/**
 * Emails beyond the monthly quota. `microsPerEmail`: millionths of a dollar; null: none, or agreed with the customer.
 */
type Overage = Readonly<{ isAllowed: boolean; microsPerEmail: number | null }>;

export type Plan = Readonly<{
  emailTemplates: number | null;
  attachmentTemplates: number | null;
  emailsPerMonth: number | null;
  overage: Overage;
  members: number | null;
  teams: number | null;
  apiKeys: number | null;
  webhookSubscriptions: number | null;
  oauthApps: number | null;
  storageBytes: number | null;
  fileSizeBytes: number | null;
}>;

const MB = 1024 * 1024;
const GB = 1024 * MB;

export const plans: Readonly<Record<PlanName, Plan>> = {
  free: {
    emailTemplates: 5,
    attachmentTemplates: 2,
    emailsPerMonth: 1_000,
    overage: { isAllowed: false, microsPerEmail: null },
    members: 1,
    teams: 1,
    apiKeys: 2,
    webhookSubscriptions: 2,
    oauthApps: 1,
    storageBytes: 100 * MB,
    fileSizeBytes: 5 * MB,
  },
  starter: {
    emailTemplates: 25,
    attachmentTemplates: 10,
    emailsPerMonth: 50_000,
    overage: { isAllowed: true, microsPerEmail: 1_000 },
    members: 5,
    teams: 1,
    apiKeys: 10,
    webhookSubscriptions: 10,
    oauthApps: 5,
    storageBytes: GB,
    fileSizeBytes: 10 * MB,
  },
  pro: {
    emailTemplates: null,
    attachmentTemplates: null,
    emailsPerMonth: 200_000,
    overage: { isAllowed: true, microsPerEmail: 800 },
    members: 10,
    teams: 3,
    apiKeys: 25,
    webhookSubscriptions: 25,
    oauthApps: 10,
    storageBytes: 10 * GB,
    fileSizeBytes: 25 * MB,
  },
  enterprise: {
    emailTemplates: null,
    attachmentTemplates: null,
    emailsPerMonth: null,
    overage: { isAllowed: true, microsPerEmail: null },
    members: null,
    teams: null,
    apiKeys: null,
    webhookSubscriptions: null,
    oauthApps: null,
    storageBytes: null,
    fileSizeBytes: null,
  },
};

export const CREDITS_PER_BLOCK = 10_000;

export const SIGNUP_CREDITS = 1_000;

/** The most blocks of one purchase or grant. */
export const BLOCKS_MAX = 100_000;

export const CURRENCY = 'USD';

/** The price of a purchase's blocks up to and including number `upTo`. Money is whole cents of US dollars. */
type PriceTier = Readonly<{ name: string; upTo: number; unitCents: number }>;

const priceTiers: readonly PriceTier[] = [
  { name: 'Starter', upTo: 5, unitCents: 3_000 },
  { name: 'Growth', upTo: 10, unitCents: 2_400 },
  { name: 'Business', upTo: 50, unitCents: 2_100 },
  { name: 'Scale', upTo: 100, unitCents: 1_800 },
  { name: 'Enterprise', upTo: Infinity, unitCents: 1_500 },
];

type Price = Readonly<{
  credits: number;
  priceCents: number;
  tiers: readonly Readonly<{ blocks: number; unitCents: number }>[];
}>;

/** Graduated within one purchase: 7 blocks are five at the price of the first tier and two at that of the second. */
export const priceOf = (blocks: number): Price => {
  const tiers: { blocks: number; unitCents: number }[] = [];
  let before = 0;
  for (const { upTo, unitCents } of priceTiers) {
    const within = Math.min(blocks, upTo) - before;
    if (within <= 0) break;
    tiers.push({ blocks: within, unitCents });
    before += within;
  }
  const priceCents = tiers.reduce((sum, tier) => sum + tier.blocks * tier.unitCents, 0);
  return { credits: blocks * CREDITS_PER_BLOCK, priceCents, tiers };
};

/** The resources that a plan limits; each is a field of `Plan`. */
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

type TeamBilling = Readonly<{ billing: 'credits' | 'plan' | 'unmetered'; plan?: PlanName }>;

/** undefined: no limit. A team that is unmetered, or on no plan, has none. */
export const planLimitOf = ({ billing, plan }: TeamBilling, limit: LimitName): PlanLimit | undefined => {
  const maximum = billing === 'unmetered' || plan === undefined ? null : plans[plan][limit];
  return maximum === null || plan === undefined ? undefined : { plan, limit, maximum };
};

const numberFormat = new Intl.NumberFormat('en-US');

const limitNames: Readonly<Record<LimitName, string>> = {
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

/** `actual`: the number that it would be. */
export const planLimitExceeded = ({ plan, limit, maximum }: PlanLimit, actual: number): DomainError =>
  new DomainError(
    'PLAN_LIMIT_EXCEEDED',
    `The plan ${plan} allows ${numberFormat.format(maximum)} ${limitNames[limit]}, and with this it would be ${numberFormat.format(actual)}. Nothing was made; delete what is not used any more, or change the plan.`,
    { relatedInfo: { limit, actual, maximum, plan } },
  );
