/** What each plan gives, as data. A limit of null is none; of Enterprise each is agreed with the customer. */

export const planNames = ['free', 'starter', 'pro', 'enterprise'] as const;
export type PlanName = (typeof planNames)[number];

export const isPlanName = (text: string): text is PlanName => (planNames as readonly string[]).includes(text);

/** Emails beyond the monthly quota. `microsPerEmail`: millionths of a dollar; null where it is agreed. */
export type Overage = Readonly<{ isAllowed: boolean; microsPerEmail: number | null }>;

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
