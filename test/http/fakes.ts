/**
 * Commands, queries and a mailbox in memory, as far as the HTTP server needs them: they answer, record and refuse on
 * demand.
 */
import type { DomainRecord } from '../../src/api/domains.js';
import {
  peoplePermissions,
  type AccessPermission,
  type Permission,
  permissionsOfRole,
  personPermissions,
  type Role,
  permissionsOfScopes,
  type Scope,
  permissions as allPermissions,
} from '../../src/domain/access/permissions.js';
import { fakeOAuth, fakeOAuthApps, oauthApp } from './oauth-fakes.js';
import type { Authenticated, ForTeam } from '../../src/commands/core/caller.js';
import type { Commands } from '../../src/commands/index.js';
import type { AssetRecord, AttachmentTemplateRecord, TemplateRecord } from '../../src/api/templates/templates.js';
import type { ApiKeyRecord } from '../../src/api/keys.js';
import { readRecipientFile } from '../../src/commands/recipients/file.js';
import type { BatchResult } from '../../src/api/bulk.js';
import type { AuditEntry } from '../../src/domain/audit/entry.js';
import { readAudit } from '../../src/commands/audit/entries.js';
import type { Placed } from '../../src/domain/email/timeline.js';
import type { EmailListItem, EmailRecord } from '../../src/api/email.js';
import type { PageMeta } from '../../src/api/core/common.js';
import { DomainError } from '../../src/domain/core/errors.js';
import {
  assertDefined,
  NO_TEAM,
  parseOAuthClientId,
  parseOAuthGrantId,
  parseApiKeyId,
  parseErasureId,
  parseSuppressionId,
  parseAssetId,
  parseBatchId,
  parseEmailId,
  parseSessionId,
  parseTeamId,
  parseUserId,
  type InvitationId,
  type TeamId,
} from '../../src/domain/core/ids.js';
import { defaultLimits, type Limits } from '../../src/domain/core/limits.js';
import type { BodyChecks, BodyToCheck } from '../../src/domain/ports/body-checks.js';
import type { Ids } from '../../src/domain/ports/ids.js';
import type { Logger, LogFields } from '../../src/domain/ports/logger.js';
import type { Mailbox, MailboxMessage } from '../../src/domain/ports/mailbox.js';
import type { HealthReason, LogHealth, WorkerHealth } from '../../src/domain/core/readiness.js';
import type { InvitationRecord, MemberRecord, TeamRecord } from '../../src/api/teams.js';
import type { SessionRecord } from '../../src/api/people.js';
import { emptyCompany } from '../../src/domain/teams/state.js';
import { makeAnalyticsQueries, type AnalyticsQueries } from '../../src/projections/analytics/analytics.js';
import type { Queries } from '../../src/projections/query-types.js';
import { openMemoryLimiter } from '../../src/adapters/limiter/memory.js';
import checkApart from '../../src/http/server/json/large-body.js';
import { buildServer, type HttpDeps, type HttpSettings } from '../../src/http/index.js';
import type { App } from '../../src/http/server/context.js';
import { fakeClock, type FakeClock } from '../support/fake-clock.js';

export const NOW = '2030-01-01T12:00:00.000Z';
export const TEAM = assertDefined(parseTeamId('11111111-1111-4111-8111-111111111111'), 'team');
export const OTHER_TEAM = assertDefined(parseTeamId('22222222-2222-4222-8222-222222222222'), 'team');
export const EMAIL = assertDefined(parseEmailId('33333333-3333-4333-8333-333333333333'), 'email');
export const OTHERS_EMAIL = assertDefined(parseEmailId('44444444-4444-4444-8444-444444444444'), 'email');
export const BATCH = assertDefined(parseBatchId('55555555-5555-4555-8555-555555555555'), 'batch');
/** One that the read models do not know yet. */
export const NEW_BATCH = assertDefined(parseBatchId('66666666-6666-4666-8666-666666666666'), 'batch');
export const TEMPLATE_ID = '55555555-5555-4555-8555-555555555555';
export const ASSET = assertDefined(parseAssetId('77777777-7777-4777-8777-777777777777'), 'asset');
export const OTHERS_ASSET = assertDefined(parseAssetId('88888888-8888-4888-8888-888888888888'), 'asset');
export const KEY_ID = assertDefined(parseApiKeyId('key_AAAAAAAAAAAAAAAAAAAAAA'), 'key');
export const SUPPRESSION = assertDefined(parseSuppressionId('5c0ffee0-0000-8000-8000-00000000000a'), 'suppression id');
export const OTHERS_SUPPRESSION = '5c0ffee0-0000-8000-8000-00000000000b';
export const OTHERS_ERASURE = '5c0ffee0-0000-4000-8000-00000000000c';
export const ERASURE = assertDefined(parseErasureId('5c0ffee0-0000-4000-8000-00000000000b'), 'erasure id');

const erasure = {
  id: ERASURE,
  status: 'completed' as const,
  requestedAt: NOW,
  completedAt: NOW,
  suppressed: false,
  emails: 1,
  emailIds: [EMAIL],
  bulkSends: [],
  waiting: null,
  events: [{ id: EMAIL, type: 'ErasureCompleted', at: NOW }],
};

export const AUDIT_ENTRY = '0a0d0000-0000-4000-8000-000000000001';
const auditEntry: AuditEntry = {
  id: AUDIT_ENTRY,
  scope: TEAM,
  at: NOW,
  category: 'api_keys',
  action: 'api_key.created',
  actor: { type: 'user', id: '0b9c2f5e-6d1a-4c0e-9f3b-7a8d5e4c3b21' },
  target: { type: 'api_key', id: 'key_AAAAAAAAAAAAAAAAAAAAAA' },
  result: 'success',
  code: null,
  count: 1,
  detail: 'emails:send',
  requestId: 'request-1',
  origin: null,
};

export const USER = assertDefined(parseUserId('0b9c2f5e-6d1a-4c0e-9f3b-7a8d5e4c3b21'), 'user id');
export const OTHERS_SESSION = 'ses_BBBBBBBBBBBBBBBBBBBBBA';
export const SESSION = assertDefined(parseSessionId('ses_AAAAAAAAAAAAAAAAAAAAAA'), 'session id');

const suppression = {
  id: SUPPRESSION,
  email: 'gone@example.com',
  list: null,
  reason: 'manual' as const,
  emailId: null,
  createdAt: NOW,
};
/** Every link is good but one. */
const subscribed = (token: string, isSubscribed: boolean) =>
  token === 'bad'
    ? undefined
    : {
        list: 'news',
        company: 'Ann & Söhne <AG>',
        isSubscribed,
        locale: token.startsWith('french') ? 'fr-CA' : undefined,
      };

export const OTHERS_KEY_ID = assertDefined(parseApiKeyId('key_BBBBBBBBBBBBBBBBBBBBBB'), 'key');

const key = (keyId: string, permissions: readonly AccessPermission[], rateLimit: number | null, teamId = TEAM) => ({
  kind: 'apiKey' as const,
  teamId,
  keyId: assertDefined(parseApiKeyId(keyId), 'key'),
  permissions,
  rateLimit,
  expiresAt: null,
  madeBy: [],
  networks: null,
  test: false,
});

/** No key has them; here one stands for whoever may call a route. */
const everyPermission: readonly AccessPermission[] = [...allPermissions, ...peoplePermissions];

/** The caller behind each bearer token. */
const keys: Readonly<
  Record<string, Authenticated | 'INVALID_API_KEY' | 'API_KEY_NOT_FOUND' | 'API_KEY_REVOKED' | 'API_KEY_EXPIRED'>
> = {
  full: key('key_AAAAAAAAAAAAAAAAAAAAAA', everyPermission, null),
  unlimited: key('key_UUUUUUUUUUUUUUUUUUUUUU', everyPermission, 10_000_000),
  three: key('key_TTTTTTTTTTTTTTTTTTTTTT', everyPermission, 3),
  powerless: key('key_PPPPPPPPPPPPPPPPPPPPPP', [], 10_000_000),
  stranger: key('key_BBBBBBBBBBBBBBBBBBBBBB', everyPermission, 10_000_000, OTHER_TEAM),
  bound: {
    ...key('key_NNNNNNNNNNNNNNNNNNNNNN', everyPermission, 10_000_000),
    networks: ['192.0.2.0/24', '2001:db8::/32'],
  },
  misshapen: 'INVALID_API_KEY',
  unknown: 'API_KEY_NOT_FOUND',
  revoked: 'API_KEY_REVOKED',
  expired: 'API_KEY_EXPIRED',
};

/** The person of a token such as `role=admin`, who is in no team where they have none: what they are let in for. */
const personIn = (role: Role | undefined, own: TeamId, { asked, isNeeded }: ForTeam): Authenticated => {
  const person = { kind: 'user' as const, userId: USER, sessionId: SESSION, rateLimit: 10_000_000 };
  if (!isNeeded) return { ...person, teamId: NO_TEAM, permissions: personPermissions };
  if (asked === undefined && role === undefined) throw new DomainError('TEAM_REQUIRED', 'in no team');
  if (role === undefined || (asked ?? own) !== own) throw new DomainError('TEAM_NOT_FOUND', 'of another team');
  return { ...person, teamId: own, permissions: permissionsOfRole[role] };
};

/**
 * A credential of exactly what its name says: `role=viewer`, `key=emails:send`, `scope=profile:read`, each also
 * `…@other` for the other team; or `nobody`.
 */
const credentialOf = (
  token: string,
  team: ForTeam = { asked: undefined, isNeeded: true },
): Authenticated | undefined => {
  const [what = '', where] = token.split('@');
  const [kind = '', value = ''] = what.split('=');
  const teamId = where === 'other' ? OTHER_TEAM : TEAM;
  switch (kind) {
    case 'nobody':
      return personIn(undefined, teamId, team);
    case 'role':
      return personIn(value as Role, teamId, team);
    case 'key':
      return key('key_CCCCCCCCCCCCCCCCCCCCCC', [value as Permission], 10_000_000, teamId);
    case 'scope': {
      const clientId = assertDefined(parseOAuthClientId('app_AAAAAAAAAAAAAAAAAAAAAA'), 'app id');
      const grantId = assertDefined(parseOAuthGrantId('grant_AAAAAAAAAAAAAAAAAAAAAA'), 'grant id');
      const permissions = permissionsOfScopes([value as Scope]);
      return {
        kind: 'app',
        teamId: team.isNeeded ? teamId : NO_TEAM,
        clientId,
        grantId,
        userId: USER,
        permissions,
        rateLimit: 10_000_000,
      };
    }
    default:
      return undefined;
  }
};

export const sendResponse = {
  id: EMAIL,
  messageId: '<33333333@example.com>',
  status: 'queued' as const,
  recipientCount: 1,
  attachmentCount: 0,
  queuedAt: NOW,
  estimatedDeliveryAt: NOW,
};

export const tracePlaced: readonly Placed[] = [10, 20, 30].map((position) => ({
  position,
  index: 0,
  entry: {
    id: `event-${position}`,
    kind: 'EmailQueued',
    stream: `email-${EMAIL}`,
    at: new Date(Date.parse(NOW) + position).toISOString(),
    actor: 'apiKey:key_1',
    cause: { kind: 'request', id: 'request-1' },
    requestId: 'request-1',
    durationMs: null,
    recipients: [{ place: 0, role: 'to', email: null }],
    details: { attempt: 1, isLast: false, nothing: null },
  },
}));

export const emailRecord: EmailRecord = {
  id: EMAIL,
  messageId: '<33333333@example.com>',
  status: 'sent',
  archived: false,
  emailTemplateName: 'Order',
  templateId: TEMPLATE_ID,
  templateVersion: null,
  subject: 'Zoë’s "order" \u2028 </script>',
  from: null,
  replyTo: null,
  priority: 'normal',
  locale: null,
  timeZone: null,
  tags: ['a'],
  recipientCount: 1,
  failedRecipients: 0,
  attachmentCount: 0,
  batchId: null,
  test: false,
  retryCount: 0,
  failureReason: null,
  scheduledAt: null,
  queuedAt: NOW,
  processingAt: null,
  nextAttemptAt: null,
  sentAt: NOW,
  deliveredAt: null,
  openedAt: NOW,
  clickedAt: null,
  cancelledAt: null,
  archivedAt: null,
  createdAt: NOW,
  updatedAt: NOW,
  recipients: [
    {
      email: 'jane@example.com',
      name: null,
      role: 'to',
      status: 'sent',
      replyCode: 250,
      enhancedCode: null,
      rule: null,
      reply: 'OK',
      openedAt: NOW,
      clickedAt: null,
    },
  ],
  attempts: [
    {
      attempt: 1,
      startedAt: NOW,
      endedAt: null,
      host: 'mx',
      durationMs: 1.5,
      outcome: 'sent',
      replyCode: 250,
      reply: 'OK',
      nextAttemptAt: null,
    },
  ],
  tracking: {
    opens: true,
    clicks: false,
    events: [
      {
        type: 'opened',
        at: NOW,
        recipient: 0,
        times: 1,
        machine: false,
        rule: null,
        url: null,
        userAgent: 'Mozilla/5.0 (X11; Linux x86_64)',
        ipAddress: '192.0.2.7',
      },
    ],
  },
  metadata: {
    recipients: { to: [{ email: 'jane@example.com' }], cc: [], bcc: [] },
    variables: { nested: [1, { deep: null }] },
    attachments: [],
    omittedAttachments: [],
    custom: {},
  },
};

const listItem: EmailListItem = {
  id: EMAIL,
  status: 'sent',
  archived: false,
  emailTemplateName: 'Order',
  templateId: TEMPLATE_ID,
  subject: null,
  recipientCount: 1,
  failedRecipients: 0,
  createdAt: NOW,
  sentAt: null,
  deliveredAt: null,
  test: false,
};

const template: TemplateRecord = {
  id: TEMPLATE_ID,
  slug: 'welcome',
  name: 'Welcome',
  description: '',
  type: 'email',
  subject: 'Hi',
  from: { email: 'a@example.com' },
  unsubscribeList: null,
  tracking: null,
  status: 'draft',
  version: 2,
  publishedVersion: 1,
  locale: 'en-US',
  timeZone: 'UTC',
  strictVariables: false,
  translations: {},
  variables: [{ name: 'x', type: 'string', defaultValue: 0.5 }],
  schema: { sections: [{ id: 's', type: 'main', components: [] }] },
  createdAt: NOW,
  updatedAt: NOW,
  revision: 7,
};

export const ATTACHMENT_TEMPLATE_ID = '66666666-6666-5666-8666-666666666666';

const attachmentTemplate: AttachmentTemplateRecord = {
  id: ATTACHMENT_TEMPLATE_ID,
  shortId: 'atpl_0123456789',
  slug: 'welcome',
  name: 'Invoice “A/7”',
  description: '',
  type: 'attachment',
  outputFormats: ['pdf', 'excel'],
  status: 'draft',
  version: 2,
  publishedVersion: 1,
  locale: 'en-US',
  timeZone: 'UTC',
  strictVariables: false,
  translations: {},
  variables: [{ name: 'x', type: 'string', defaultValue: 0.5 }],
  schema: { outputFormats: ['pdf', 'excel'], pages: [] },
  createdAt: NOW,
  updatedAt: NOW,
  revision: 7,
};

const apiKey: ApiKeyRecord = {
  id: KEY_ID,
  name: 'k',
  description: null,
  permissions: ['emails:send'],
  rateLimit: null,
  status: 'active',
  start: 'abcd',
  end: 'wxyz',
  createdAt: NOW,
  expiresAt: null,
  lastUsedAt: null,
  revokedAt: null,
  madeBy: null,
  createdBy: 'cli',
  networks: null,
  test: false,
};

export const asset: AssetRecord = {
  id: ASSET,
  filename: 'logo "Zoë".png',
  contentType: 'image/png',
  sizeBytes: 3,
  sha256: 'ab',
  width: 7,
  height: 5,
  createdAt: NOW,
};

const meta: PageMeta = { page: 1, limit: 20, total: 1, totalPages: 1, totalIsLowerBound: false, nextCursor: null };

/** A record of calls: name and arguments. */
export type Call = readonly [string, ...unknown[]];

export type Fakes = Readonly<{
  deps: HttpDeps;
  calls: Call[];
  logged: (Readonly<{ level: string; message: string }> & LogFields)[];
  clock: FakeClock;
  /** Called before every command but `authenticate`; a rejection is the command's. */
  during: { run: (name: string) => Promise<void> | void };
  workers: WorkerHealth[];
  log: { value: LogHealth };
  noted: HealthReason[];
  accepting: { value: boolean };
  /** Bodies that were not checked in this process. */
  checkedApart: readonly BodyToCheck[];
  /** Calls of the audit log. */
  audited: readonly (readonly unknown[])[];
}>;

const bulkAnswer = {
  batchId: BATCH,
  totalEmails: 2,
  status: 'queued' as const,
  message: '2 emails are queued.',
  createdAt: NOW,
  estimatedCompletionAt: NOW,
  warnings: [],
};
const dryRunAnswer = {
  valid: true,
  totalEmails: 2,
  totalQuotaCost: 2,
  costBreakdown: { emails: 2, attachments: 0 },
  quotaStatus: {
    emailQuota: { used: 0, limit: null, remaining: null },
    attachmentQuota: { used: 0, limit: null, remaining: null },
  },
  recipientValidation: { totalRecipients: 2, validEmails: 2, invalidEmails: 0, duplicateEmails: 0, failing: [] },
  templateValidation: {
    templateFound: true,
    templateType: 'email',
    requiredVariables: [],
    missingVariables: [],
    emptyPaths: [],
  },
  warnings: [],
};
export const batchResult: BatchResult = {
  place: 0,
  email: '=1+1@example.com',
  status: 'sent',
  emailId: EMAIL,
  error: null,
  reply: '250 "OK", taken',
  sentAt: NOW,
  deliveredAt: null,
  line: 2,
};
async function* resultsOf(status: string | undefined): AsyncGenerator<readonly BatchResult[]> {
  yield status === undefined ? [batchResult] : [];
  yield [
    {
      ...batchResult,
      place: 1,
      email: null,
      status: 'skipped',
      emailId: null,
      error: '-none',
      reply: null,
      sentAt: null,
      line: 3,
    },
  ];
}
const batchListing = {
  batchId: BATCH,
  batchName: null,
  status: 'processing' as const,
  templateId: TEMPLATE_ID,
  emailTemplateName: 'Welcome',
  priority: 'low' as const,
  totalEmails: 2,
  queued: 1,
  processing: 0,
  sent: 1,
  delivered: 0,
  failed: 0,
  bounced: 0,
  cancelled: 0,
  skipped: 0,
  duplicates: 0,
  progress: 50,
  createdAt: NOW,
  scheduledAt: null,
  queuedAt: NOW,
  startedAt: NOW,
  completedAt: null,
  cancelledAt: null,
  estimatedCompletionAt: NOW,
  test: false,
};
const cancelAnswer = {
  batchId: BATCH,
  status: 'cancelled' as const,
  message: '1 email will not leave.',
  totalEmails: 2,
  sent: 1,
  cancelled: 1,
  failed: 0,
  processing: 0,
};

export const SENDER_DOMAIN = '0198f000-0000-7000-8000-0000000000d1';
export const OTHERS_SENDER_DOMAIN = '0198f000-0000-7000-8000-0000000000d2';

const senderDomain: DomainRecord = {
  id: SENDER_DOMAIN,
  domain: 'example.com',
  status: 'pending',
  createdAt: NOW,
  verifiedAt: null,
  checkedAt: null,
  nextCheckAt: NOW,
  keysRetireAt: null,
  records: [
    {
      purpose: 'dkim',
      type: 'TXT',
      name: 'sp1-ed25519._domainkey.example.com',
      value: 'v=DKIM1; k=ed25519; p=AAAA',
      required: true,
      found: 'unknown',
      key: { selector: 'sp1-ed25519', algorithm: 'ed25519', use: 'signing' },
    },
    {
      purpose: 'dmarc',
      type: 'TXT',
      name: '_dmarc.example.com',
      value: 'v=DMARC1; p=none',
      required: false,
      found: 'missing',
      key: null,
    },
  ],
};

export const WEBHOOK = 'wh_AAAAAAAAAAAAAAAAAAAAAA';
export const OTHERS_WEBHOOK = 'wh_BBBBBBBBBBBBBBBBBBBBBB';
export const WEBHOOK_DELIVERY = 'del_0_AAAAAAAAAAAAAAAAAAAAAA';
const webhook = {
  id: WEBHOOK,
  url: 'https://example.com/hooks',
  events: ['email.sent'],
  enabled: true,
  createdAt: NOW,
  updatedAt: NOW,
};
const webhookDelivery = {
  id: WEBHOOK_DELIVERY,
  eventId: 'evt_0_AAAAAAAAAAAAAAAAAAAAAA',
  event: 'email.sent',
  status: 'failed' as const,
  attempt: 1,
  statusCode: 500,
  responseTime: 12,
  attemptedAt: NOW,
  error: 'The endpoint answered 500; only 200 to 299 count as received.',
  nextRetryAt: NOW,
};

type Did = <T>(name: string, args: readonly unknown[], answer: T) => Promise<T>;
type OwnedWebhook = <T>(caller: Readonly<{ teamId: string }>, id: string, answer: () => Promise<T>) => Promise<T>;

const webhookCommands = (did: Did, owned: OwnedWebhook) =>
  ({
    createWebhook: (caller, request, held) =>
      did('createWebhook', [caller, request, held], { ...webhook, secret: 'whsec_c2VjcmV0' }),
    getWebhook: (caller, id) => owned(caller, id, () => did('getWebhook', [caller, id], webhook)),
    updateWebhook: (caller, id, request) =>
      owned(caller, id, () => did('updateWebhook', [caller, id, request], webhook)),
    restoreWebhook: (caller, id, held) => owned(caller, id, () => did('restoreWebhook', [caller, id, held], webhook)),
    deleteWebhook: (caller, id) =>
      owned(caller, id, () => did('deleteWebhook', [caller, id], { id, deleted: true as const })),
    rotateWebhookSecret: (caller, id, request) =>
      owned(caller, id, () =>
        did('rotateWebhookSecret', [caller, id, request], {
          body: { ...webhook, secret: 'whsec_c2VjcmV0', overlapUntil: NOW },
          replayed: false,
        }),
      ),
    testWebhook: (caller, id) => owned(caller, id, () => did('testWebhook', [caller, id], webhookDelivery)),
    webhookEvents: (caller, id, query) =>
      owned(caller, id, () => did('webhookEvents', [caller, id, query], { events: [], hasMore: false })),
    replayWebhook: (caller, id, request) =>
      owned(caller, id, () => did('replayWebhook', [caller, id, request], { replayId: EMAIL, from: 0, to: 1 })),
    retryWebhookDelivery: (caller, id, delivery, failedAttempts) =>
      owned(caller, id, () =>
        did('retryWebhookDelivery', [caller, id, delivery, failedAttempts], {
          id: delivery,
          eventId: webhookDelivery.eventId,
          nextRetryAt: NOW,
        }),
      ),
  }) satisfies Partial<Commands>;

const userRecord = {
  id: USER,
  email: 'ada@example.com',
  name: 'Ada',
  emailVerified: true,
  secondFactor: false,
  createdAt: NOW,
};
const tokens = {
  accessToken: 'eyJ',
  refreshToken: 'sealpost_rt_',
  expiresIn: 900,
  tokenType: 'Bearer' as const,
  sessionId: SESSION,
};

const sessionRecord: SessionRecord = {
  id: SESSION,
  current: true,
  startedAt: NOW,
  lastUsedAt: NOW,
  expiresAt: NOW,
  secondFactor: false,
  ipAddress: '192.0.2.7',
  userAgent: null,
};

let attempts = 0;

/** Commands of people on their own account. */
const personalCommands = (did: Did) =>
  ({
    readJsonWebKeys: async () => ({ keys: [] }),
    // The attempts of tests are counted apart.
    loginBucketOf: async (email) => `${email} ${attempts++}`,
    register: (request, requestId) =>
      did('register', [request, requestId], {
        email: request.email,
        emailVerified: false,
        message: 'A mail goes there.',
      }),
    login: ({ email, code }) => did('login', [email, code], { ...tokens, user: userRecord }),
    refresh: (token) => did('refresh', [token], tokens),
    verifyAddress: (token, password) => did('verifyAddress', [token, password], undefined),
    resetPassword: (token) => did('resetPassword', [token], undefined),
    sendVerifyLink: (email) => did('sendVerifyLink', [email], undefined),
    sendResetLink: (email) => did('sendResetLink', [email], undefined),
    askAddressChange: (caller, request) => did('askAddressChange', [caller, request], undefined),
    addressLinkBucket: async () => `link ${attempts++}`,
    checkLink: async () => undefined,
    changeAddress: (token, password) => did('changeAddress', [token, password], { email: 'ada@example.org' }),
    logout: (caller) => did('logout', [caller], undefined),
    csrfTokenOf: async (sessionId) => `csrf of ${sessionId}`,
    sessionOfRefreshToken: async () => SESSION,
    ownLoginBucket: async () => `own ${attempts++}`,
    prepareSecondFactor: (caller, request) =>
      did('prepareSecondFactor', [caller, request], {
        secret: 'JBSWY3DPEHPK3PXP',
        url: 'otpauth://totp/x',
        qrCode: 'data:image/png;base64,',
      }),
    confirmSecondFactor: (caller, request) =>
      did('confirmSecondFactor', [caller, request], { recoveryCodes: ['abcd-efgh-jkmn-pqrs'] }),
    removeSecondFactor: (caller, request) => did('removeSecondFactor', [caller, request], undefined),
    renewRecoveryCodes: (caller, request) =>
      did('renewRecoveryCodes', [caller, request], { recoveryCodes: ['abcd-efgh-jkmn-pqrs'] }),
    changePassword: (caller, request) => did('changePassword', [caller, request], undefined),
    readSessions: (caller, ids) => did('readSessions', [caller, ids], [sessionRecord]),
    revokeSession: async (caller, id) => {
      if (caller.teamId === OTHER_TEAM || id !== SESSION) throw new DomainError('SESSION_NOT_FOUND', 'unknown');
      return did('revokeSession', [caller, id], { id, deleted: true as const });
    },
    eraseOwnUser: (caller, request) => did('eraseOwnUser', [caller, request], undefined),
    revokeOtherSessions: (caller) => did('revokeOtherSessions', [caller], undefined),
    getOwnUser: (caller) => did('getOwnUser', [caller], userRecord),
    updateOwnUser: (caller, request) => did('updateOwnUser', [caller, request], { ...userRecord, ...request }),
    getUser: async (caller, id) => {
      if (caller.teamId === OTHER_TEAM || id !== USER) throw new DomainError('USER_NOT_FOUND', 'unknown');
      return did('getUser', [caller, id], { id, email: 'ada@example.com', name: 'Ada' });
    },
  }) satisfies Partial<Commands>;

export const OTHERS_USER = assertDefined(parseUserId('0b9c2f5e-6d1a-4c0e-9f3b-7a8d5e4c3b22'), 'user id');

const teamRecord: TeamRecord = {
  id: TEAM,
  name: 'Shop',
  role: 'owner',
  defaultFrom: { email: 'shop@example.com' },
  company: { ...emptyCompany },
  requiresSecondFactor: false,
  billing: 'unmetered',
  plan: null,
  memberCount: 1,
  revision: 1,
  createdAt: NOW,
};
export const INVITATION = '9c0ffee0-0000-4000-8000-00000000000d';
export const OTHERS_INVITATION = '9c0ffee0-0000-4000-8000-00000000000e';
const invitation: InvitationRecord = {
  id: INVITATION,
  email: 'bea@example.com',
  role: 'member',
  invitedBy: USER,
  invitedAt: NOW,
  expiresAt: NOW,
};
const member: MemberRecord = {
  userId: USER,
  name: 'Ada',
  email: 'ada@example.com',
  role: 'owner',
  since: NOW,
  secondFactor: false,
};

const openedInvitation = {
  id: INVITATION as InvitationId,
  teamId: TEAM,
  email: 'bea@example.com',
  team: 'Shop',
  inviter: 'Ada',
  role: 'member',
  account: 'none' as const,
};

/** Commands on teams and their members. */
const teamCommands = (did: Did) => {
  const ofMember = async <T>(id: string, answer: () => Promise<T>): Promise<T> => {
    if (id === OTHERS_USER) throw new DomainError('MEMBER_NOT_FOUND', 'unknown');
    return answer();
  };
  const ofInvitation = async <T>(id: string, answer: () => Promise<T>): Promise<T> => {
    if (id !== INVITATION) throw new DomainError('INVITATION_NOT_FOUND', 'unknown');
    return answer();
  };
  return {
    createTeam: (caller, request, teams) => did('createTeam', [caller, request, teams], teamRecord),
    getTeam: (caller) => did('getTeam', [caller], teamRecord),
    updateTeam: (caller, request) => did('updateTeam', [caller, request], teamRecord),
    deleteTeam: (caller) => did('deleteTeam', [caller], undefined),
    restoreTeam: async (caller, id) => {
      if (id !== TEAM) throw new DomainError('TEAM_NOT_FOUND', 'unknown');
      return did('restoreTeam', [caller, id], teamRecord);
    },
    listMembers: (caller) => did('listMembers', [caller], { data: [member] }),
    describeActivity: (page) => did('describeActivity', [page], []),
    changeMember: (caller, id, role) =>
      ofMember(id, () => did('changeMember', [caller, id, role], { ...member, role })),
    removeMember: (caller, id, query) =>
      ofMember(id, () => did('removeMember', [caller, id, query], { userId: id, removed: true as const, keys: [] })),
    leaveTeam: (caller) =>
      did('leaveTeam', [caller], { userId: caller.user?.id ?? '', removed: true as const, keys: [] }),
    transferOwnership: (caller, to) => did('transferOwnership', [caller, to], { data: [member] }),
    listInvitations: (caller) => did('listInvitations', [caller], { data: [invitation] }),
    inviteMember: (caller, request) => did('inviteMember', [caller, request], { ...invitation, ...request }),
    revokeInvitation: (caller, id) => ofInvitation(id, () => did('revokeInvitation', [caller, id], undefined)),
    resendInvitation: (caller, id) => ofInvitation(id, () => did('resendInvitation', [caller, id], invitation)),
    openInvitation: (token) => did('openInvitation', [token], openedInvitation),
    acceptInvitation: (caller, token) => did('acceptInvitation', [caller, token], TEAM),
  } satisfies Partial<Commands>;
};

const fakeCommands = (calls: Call[], during: Fakes['during']): Commands => {
  const did = async <T>(name: string, args: readonly unknown[], answer: T): Promise<T> => {
    calls.push([name, ...args]);
    await during.run(name);
    return answer;
  };
  const owned = async <T>(
    known: boolean,
    code:
      | 'EMAIL_NOT_FOUND'
      | 'BATCH_NOT_FOUND'
      | 'TEMPLATE_NOT_FOUND'
      | 'API_KEY_UNKNOWN'
      | 'ASSET_NOT_FOUND'
      | 'DOMAIN_NOT_FOUND'
      | 'SUPPRESSION_NOT_FOUND'
      | 'WEBHOOK_NOT_FOUND'
      | 'ERASURE_NOT_FOUND'
      | 'OAUTH_APP_NOT_FOUND'
      | 'OAUTH_GRANT_NOT_FOUND',
    answer: () => Promise<T>,
  ): Promise<T> => {
    if (!known) throw new DomainError(code, 'unknown');
    return answer();
  };
  const templateIsOwned = (teamId: string, reference: string): boolean =>
    teamId === TEAM && [TEMPLATE_ID, 'welcome', 'order-confirmation'].includes(reference);
  return {
    authenticate: async (token, team) => {
      const found = keys[token] ?? credentialOf(token, team);
      if (found === undefined) throw new DomainError('INVALID_API_KEY', 'not a key');
      if (typeof found === 'string') throw new DomainError(found, 'no good key');
      if (team?.asked !== undefined && team.asked.toLowerCase() !== found.teamId)
        throw new DomainError('TEAM_NOT_FOUND', 'of another team');
      return found;
    },
    ...personalCommands(did),
    ...teamCommands(did),
    getBilling: async ({ teamId }) =>
      did('getBilling', [teamId], {
        billing: 'plan' as const,
        plan: 'starter' as const,
        quota: {
          isMetered: true,
          month: '2030-01',
          emailQuota: { used: 50_010, limit: 50_000, remaining: 0 },
          attachmentQuota: { used: 7, limit: null, remaining: null },
          creditsRemaining: null,
          overage: { emails: 10, microsPerEmail: 1_000 },
          wouldRefuse: () => undefined,
        },
      }),
    recordFeedback: (caller, report) =>
      did('recordFeedback', [caller, report], {
        emailId: '0198f000-0000-7000-8000-00000000000a',
        kind: 'delivery-status' as const,
        outcome: 'recorded' as const,
        status: 'bounced' as const,
        recipients: [{ action: 'failed' as const, bounceType: 'hard' as const, bounceSubType: 'no-such-mailbox' }],
      }),
    addCredits: (caller, request) =>
      did('addCredits', [caller, request], {
        credits: request.credits ?? 70_000,
        blocks: request.blocks ?? null,
        priceCents: request.blocks === undefined ? null : 19_800,
        currency: request.blocks === undefined ? null : 'USD',
        creditsRemaining: 71_000,
        addedAt: NOW,
      }),
    addDomain: (caller, request) => did('addDomain', [caller, request], senderDomain),
    listDomains: (caller) => did('listDomains', [caller], { data: [senderDomain] }),
    getDomain: ({ teamId }, id) =>
      owned(teamId === TEAM && id === SENDER_DOMAIN, 'DOMAIN_NOT_FOUND', () =>
        did('getDomain', [teamId, id], senderDomain),
      ),
    verifyDomain: ({ teamId }, id) =>
      owned(teamId === TEAM && id === SENDER_DOMAIN, 'DOMAIN_NOT_FOUND', () =>
        did('verifyDomain', [teamId, id], senderDomain),
      ),
    rotateDomainKeys: ({ teamId }, id) =>
      owned(teamId === TEAM && id === SENDER_DOMAIN, 'DOMAIN_NOT_FOUND', () =>
        did('rotateDomainKeys', [teamId, id], senderDomain),
      ),
    deleteDomain: ({ teamId }, id) =>
      owned(teamId === TEAM && id === SENDER_DOMAIN, 'DOMAIN_NOT_FOUND', () =>
        did('deleteDomain', [teamId, id], undefined),
      ),
    restoreDomain: ({ teamId }, id) =>
      owned(teamId === TEAM && id === SENDER_DOMAIN, 'DOMAIN_NOT_FOUND', () =>
        did('restoreDomain', [teamId, id], senderDomain),
      ),
    ...webhookCommands(did, (caller, id, answer) =>
      owned(caller.teamId === TEAM && id === WEBHOOK, 'WEBHOOK_NOT_FOUND', answer),
    ),
    sendEmail: async (caller, request, idempotency) =>
      did('sendEmail', [caller, request, idempotency], { body: sendResponse, replayed: idempotency?.key === 'seen' }),
    sendBulk: async (caller, request, idempotency) =>
      did('sendBulk', [caller, request, idempotency], { body: bulkAnswer, replayed: idempotency?.key === 'seen' }),
    dryRunBulk: async (caller, request) => did('dryRunBulk', [caller, request], dryRunAnswer),
    getBatch: (caller, id) =>
      owned(caller.teamId === TEAM && id === NEW_BATCH, 'BATCH_NOT_FOUND', () =>
        did('getBatch', [caller, id], { ...batchListing, batchId: id }),
      ),
    cancelBatch: (caller, id, idempotency) =>
      owned(caller.teamId === TEAM && id === BATCH, 'BATCH_NOT_FOUND', () =>
        did('cancelBatch', [caller, id, idempotency], { body: cancelAnswer, replayed: idempotency?.key === 'seen' }),
      ),
    batchResults: (caller, id, status) =>
      owned(caller.teamId === TEAM && id === BATCH, 'BATCH_NOT_FOUND', () =>
        did('batchResults', [caller, id, status], resultsOf(status)),
      ),
    recipientsOfFile: async (_caller, { bytes, ...options }) =>
      readRecipientFile(bytes, {
        rowsMax: 1_000,
        ...options,
        types: new Map([['seats', 'number']]),
        limits: defaultLimits,
      }),
    getEmail: (caller, id, asOf) =>
      owned(caller.teamId === TEAM && id === EMAIL, 'EMAIL_NOT_FOUND', () =>
        did('getEmail', [caller, id, ...(asOf === undefined ? [] : [asOf])], emailRecord),
      ),
    isConfidentialMail: async (messageId) => messageId === CONFIDENTIAL_MESSAGE_ID,
    emailTrace: (caller, id) =>
      owned(caller.teamId === TEAM && id === EMAIL, 'EMAIL_NOT_FOUND', () =>
        did('emailTrace', [caller, id], { placed: tracePlaced, told: [] }),
      ),
    retryEmail: (caller, id, idempotency) =>
      owned(caller.teamId === TEAM && id === EMAIL, 'EMAIL_NOT_FOUND', () =>
        did('retryEmail', [caller, id, idempotency], {
          body: { id, status: 'queued' as const, message: 'again', retryCount: 1, queuedAt: NOW },
          replayed: idempotency?.key === 'seen',
        }),
      ),
    addSuppression: (caller, request) => did('addSuppression', [caller, request], suppression),
    removeSuppression: (caller, id) =>
      owned(caller.teamId === TEAM && id === SUPPRESSION, 'SUPPRESSION_NOT_FOUND', () =>
        did('removeSuppression', [caller, id], { id, deleted: true as const }),
      ),
    checkSuppression: (caller, email) =>
      did('checkSuppression', [caller, email], { email, suppressed: true, suppression }),
    readSubscription: async (token) => did('readSubscription', [token], subscribed(token, true)),
    unsubscribe: async (token, requestId) => did('unsubscribe', [token, requestId], subscribed(token, false)),
    subscribeAgain: async (token, requestId) => did('subscribeAgain', [token, requestId], subscribed(token, true)),
    readSuppressions: (caller, ids) => did('readSuppressions', [caller, ids], ids.length === 0 ? [] : [suppression]),
    importSuppressions: (caller, file) =>
      did('importSuppressions', [caller, file.bytes.toString()], {
        rows: 2,
        added: 1,
        existing: 0,
        invalid: 1,
        errors: [{ line: 3, message: 'the address has no @' }],
      }),
    eraseAddress: (caller, request) => did('eraseAddress', [caller, request], erasure),
    getErasure: ({ teamId }, id) =>
      owned(teamId === TEAM && id === ERASURE, 'ERASURE_NOT_FOUND', () => did('getErasure', [teamId, id], erasure)),
    exportAddress: (caller, request) =>
      did('exportAddress', [caller, request], linesOf(JSON.stringify({ type: 'address', ...request }))),
    getTracking: (caller) => did('getTracking', [caller], { opens: false, clicks: false }),
    setTracking: (caller, tracking) => did('setTracking', [caller, tracking], { ...tracking }),
    retryEmails: (caller, found) =>
      did('retryEmails', [caller, found], { retried: found.ids.length, held: found.held.length }),
    rescheduleEmail: (caller, id, request) =>
      owned(caller.teamId === TEAM && id === EMAIL, 'EMAIL_NOT_FOUND', () =>
        did('rescheduleEmail', [caller, id, request], {
          id,
          status: 'scheduled' as const,
          message: 'later',
          scheduledAt: NOW,
          estimatedDeliveryAt: NOW,
        }),
      ),
    cancelEmail: (caller, id, idempotency) =>
      owned(caller.teamId === TEAM && id === EMAIL, 'EMAIL_NOT_FOUND', () =>
        did('cancelEmail', [caller, id, idempotency], {
          body: { id, status: 'cancelled' as const, message: 'not at all', cancelledAt: NOW },
          replayed: idempotency?.key === 'seen',
        }),
      ),
    deleteEmail: (caller, id) =>
      owned(caller.teamId === TEAM && id === EMAIL, 'EMAIL_NOT_FOUND', () =>
        did('deleteEmail', [caller, id], { id, deleted: true as const }),
      ),
    deleteEmails: (caller, ids) =>
      did('deleteEmails', [caller, ids], { deleted: ids.length, notFound: 0, inProgress: 0 }),
    createTemplate: (caller, request) => did('createTemplate', [caller, request], { ...template, warnings: [] }),
    importTemplate: (caller, request) =>
      did('importTemplate', [caller, request], {
        template: { ...template, warnings: [] },
        created: request.slug !== 'known',
      }),
    getTemplate: (caller, reference) =>
      owned(templateIsOwned(caller.teamId, reference), 'TEMPLATE_NOT_FOUND', () =>
        did('getTemplate', [caller, reference], template),
      ),
    updateTemplate: (caller, reference, request, expected) =>
      owned(templateIsOwned(caller.teamId, reference), 'TEMPLATE_NOT_FOUND', () =>
        did('updateTemplate', [caller, reference, request, ...(expected === undefined ? [] : [expected])], {
          ...template,
          warnings: [],
        }),
      ),
    deleteTemplate: (caller, reference, expected) =>
      owned(templateIsOwned(caller.teamId, reference), 'TEMPLATE_NOT_FOUND', () =>
        did('deleteTemplate', [caller, reference, ...(expected === undefined ? [] : [expected])], {
          id: TEMPLATE_ID,
          deleted: true as const,
        }),
      ),
    publishTemplate: (caller, reference, expected) =>
      owned(templateIsOwned(caller.teamId, reference), 'TEMPLATE_NOT_FOUND', () =>
        did('publishTemplate', [caller, reference, ...(expected === undefined ? [] : [expected])], template),
      ),
    templateVersions: (caller, reference) =>
      owned(templateIsOwned(caller.teamId, reference), 'TEMPLATE_NOT_FOUND', () =>
        did(
          'templateVersions',
          [caller, reference],
          [{ version: 1, name: 'Welcome', subject: 'Hi', publishedAt: NOW, current: true }],
        ),
      ),
    templateVersion: (caller, reference, version) =>
      owned(templateIsOwned(caller.teamId, reference), 'TEMPLATE_NOT_FOUND', () =>
        did('templateVersion', [caller, reference, version], {
          ...template,
          version: 1,
          publishedAt: NOW,
          current: true,
        }),
      ),
    restoreTemplateVersion: (caller, reference, version, expected) =>
      owned(templateIsOwned(caller.teamId, reference), 'TEMPLATE_NOT_FOUND', () =>
        did(
          'restoreTemplateVersion',
          [caller, reference, version, ...(expected === undefined ? [] : [expected])],
          template,
        ),
      ),
    restoreTemplate: (caller, reference, request) =>
      owned(templateIsOwned(caller.teamId, reference), 'TEMPLATE_NOT_FOUND', () =>
        did('restoreTemplate', [caller, reference, request], template),
      ),
    previewTemplate: (caller, reference, request) =>
      owned(templateIsOwned(caller.teamId, reference), 'TEMPLATE_NOT_FOUND', () =>
        did('previewTemplate', [caller, reference, request], {
          subject: 'Hi',
          html: '<p>é</p>',
          text: 'é',
          sizeBytes: 9,
          emptyPaths: [],
          warnings: [],
        }),
      ),
    makePreviewLink: (caller, asked) =>
      owned(templateIsOwned(caller.teamId, asked.reference), 'TEMPLATE_NOT_FOUND', () =>
        did('makePreviewLink', [caller, asked], {
          token: asked.request['locale'] === 'long' ? 'x'.repeat(9_000) : 'a-token',
          expiresAt: NOW,
        }),
      ),
    openPreviewLink: async () => undefined,
    createAttachmentTemplate: (caller, request) =>
      did('createAttachmentTemplate', [caller, request], { ...attachmentTemplate, warnings: [] }),
    importAttachmentTemplate: (caller, request) =>
      did('importAttachmentTemplate', [caller, request], {
        template: { ...attachmentTemplate, warnings: [] },
        created: request.slug !== 'known',
      }),
    getAttachmentTemplate: (caller, reference) =>
      owned(templateIsOwned(caller.teamId, reference), 'TEMPLATE_NOT_FOUND', () =>
        did('getAttachmentTemplate', [caller, reference], attachmentTemplate),
      ),
    updateAttachmentTemplate: (caller, reference, request, expected) =>
      owned(templateIsOwned(caller.teamId, reference), 'TEMPLATE_NOT_FOUND', () =>
        did('updateAttachmentTemplate', [caller, reference, request, ...(expected === undefined ? [] : [expected])], {
          ...attachmentTemplate,
          warnings: [],
        }),
      ),
    deleteAttachmentTemplate: (caller, reference, expected) =>
      owned(templateIsOwned(caller.teamId, reference), 'TEMPLATE_NOT_FOUND', () =>
        did('deleteAttachmentTemplate', [caller, reference, ...(expected === undefined ? [] : [expected])], {
          id: ATTACHMENT_TEMPLATE_ID,
          deleted: true as const,
        }),
      ),
    publishAttachmentTemplate: (caller, reference, expected) =>
      owned(templateIsOwned(caller.teamId, reference), 'TEMPLATE_NOT_FOUND', () =>
        did(
          'publishAttachmentTemplate',
          [caller, reference, ...(expected === undefined ? [] : [expected])],
          attachmentTemplate,
        ),
      ),
    attachmentTemplateVersions: (caller, reference) =>
      owned(templateIsOwned(caller.teamId, reference), 'TEMPLATE_NOT_FOUND', () =>
        did(
          'attachmentTemplateVersions',
          [caller, reference],
          [{ version: 1, name: 'Invoice', publishedAt: NOW, current: true }],
        ),
      ),
    attachmentTemplateVersion: (caller, reference, version) =>
      owned(templateIsOwned(caller.teamId, reference), 'TEMPLATE_NOT_FOUND', () =>
        did('attachmentTemplateVersion', [caller, reference, version], {
          ...attachmentTemplate,
          version: 1,
          publishedAt: NOW,
          current: true,
        }),
      ),
    restoreAttachmentTemplateVersion: (caller, reference, version, expected) =>
      owned(templateIsOwned(caller.teamId, reference), 'TEMPLATE_NOT_FOUND', () =>
        did(
          'restoreAttachmentTemplateVersion',
          [caller, reference, version, ...(expected === undefined ? [] : [expected])],
          attachmentTemplate,
        ),
      ),
    restoreAttachmentTemplate: (caller, reference, request) =>
      owned(templateIsOwned(caller.teamId, reference), 'TEMPLATE_NOT_FOUND', () =>
        did('restoreAttachmentTemplate', [caller, reference, request], attachmentTemplate),
      ),
    previewAttachmentTemplate: (caller, reference, request, signal) =>
      owned(templateIsOwned(caller.teamId, reference), 'TEMPLATE_NOT_FOUND', () =>
        did('previewAttachmentTemplate', [caller, reference, request, signal], {
          bytes: Buffer.from('%PDF-\xff', 'latin1'),
          format: request.format ?? 'pdf',
          name: attachmentTemplate.name,
          emptyPaths: ['customer.name', 'größe'],
          replaced: ['ᜋ', '\ufffd'],
          warnings: [{ field: 'schema.pages[0].pageSettings.watermark.text', message: 'has 121 characters' }],
        }),
      ),
    uploadAsset: (caller, upload, usage) => did('uploadAsset', [caller, upload, usage], asset),
    getAsset: (caller, id) =>
      owned(caller.teamId === TEAM && id === ASSET, 'ASSET_NOT_FOUND', () => did('getAsset', [caller, id], asset)),
    assetContent: (caller, id) =>
      owned(caller.teamId === TEAM && id === ASSET, 'ASSET_NOT_FOUND', () =>
        did('assetContent', [caller, id], {
          bytes: Buffer.from([0, 255, 1]),
          contentType: asset.contentType,
          filename: asset.filename,
        }),
      ),
    restoreAsset: (caller, id) =>
      owned(caller.teamId === TEAM && id === ASSET, 'ASSET_NOT_FOUND', () => did('restoreAsset', [caller, id], asset)),
    deleteAsset: (caller, id) =>
      owned(caller.teamId === TEAM && id === ASSET, 'ASSET_NOT_FOUND', () =>
        did('deleteAsset', [caller, id], { id, deleted: true as const }),
      ),
    createApiKey: (caller, request) => did('createApiKey', [caller, request], { ...apiKey, key: 'secret' }),
    getApiKey: (caller, id) =>
      owned(caller.teamId === TEAM && id === KEY_ID, 'API_KEY_UNKNOWN', () => did('getApiKey', [caller, id], apiKey)),
    changeApiKey: (caller, id, changes) =>
      owned(caller.teamId === TEAM && id === KEY_ID, 'API_KEY_UNKNOWN', () =>
        did('changeApiKey', [caller, id, changes], apiKey),
      ),
    revokeApiKey: (caller, id, withMade) =>
      owned(caller.teamId === TEAM && id === KEY_ID, 'API_KEY_UNKNOWN', () =>
        did('revokeApiKey', [caller, id, withMade], apiKey),
      ),
    ...fakeOAuthApps(did, owned, TEAM),
    recordAuditExport: (...args) => did('recordAuditExport', args, undefined),
    readAudit: (teamId, entries) =>
      readAudit({ origins: { keep: async () => undefined, read: async () => new Map() } }, teamId, entries),
  };
};

/** Each write of these commands stands one position further than the one before; the head is at 900. */
const fakePositions = (calls: Call[]): HttpDeps['positions'] => {
  let position = 0;
  return {
    written: () => (position += 1),
    head: async () => 900,
    reached: async (...given) => void calls.push(['reached', ...given]),
  };
};

const queueNumbers = {
  depth: 3,
  oldestQueuedAt: NOW,
  oldestAgeSeconds: 0,
  ratePerMinute: 1.5,
  estimatedSeconds: 120,
  deferred: 0,
  held: 0,
  scheduled: 0,
};

async function* linesOf(...lines: readonly string[]): AsyncGenerator<string> {
  for (const line of lines) yield `${line}\n`;
}

const fakeQueries = (calls: Call[]): Queries => ({
  listEmails: async (teamId, filter, paging) => {
    calls.push(['listEmails', teamId, filter, paging]);
    if (paging.cursor === 'nonsense') throw new DomainError('INVALID_CURSOR', 'not a cursor');
    return { data: [listItem], meta: { ...meta, page: paging.page, limit: paging.limit } };
  },
  queueStats: async (teamId) => {
    calls.push(['queueStats', teamId]);
    return { asOf: NOW, ...queueNumbers, priorities: { high: queueNumbers, normal: queueNumbers, low: queueNumbers } };
  },
  listSuppressions: async (teamId, filter, paging) => {
    calls.push(['listSuppressions', teamId, filter, paging]);
    return { data: [SUPPRESSION], meta: { ...meta, page: paging.page, limit: paging.limit } };
  },
  suppressionPages: async function* (teamId) {
    calls.push(['suppressionPages', teamId]);
    yield [SUPPRESSION];
  },
  suppressionTotal: async () => 1,
  listTeamActivity: async (teamId, paging) => {
    calls.push(['listTeamActivity', teamId, paging]);
    return { data: [], meta };
  },
  teamsOfUser: async () => [TEAM],
  listTeams: async (userId, filter, paging) => {
    calls.push(['listTeams', userId, filter, paging]);
    return { data: [], meta };
  },
  emailsOfAddress: async function* () {
    yield { ids: [], isLast: true };
  },
  openBatches: async () => [],
  webhooksOfTeam: async () => [],
  usedByDay: async (teamId, first, last) => {
    calls.push(['usedByDay', teamId, first, last]);
    return [{ day: first, emails: 3, documents: 1 }];
  },
  emailIds: async (teamId, filter, limit) => {
    calls.push(['emailIds', teamId, filter, limit]);
    return filter.status === 'failed' ? Array.from({ length: limit }, () => EMAIL) : [EMAIL];
  },
  emailsToRetry: async (teamId, filter, cursor) => {
    calls.push(['emailsToRetry', teamId, filter, cursor]);
    if (cursor === 'nonsense') throw new DomainError('INVALID_CURSOR', 'not a cursor');
    return { ids: [EMAIL], held: [], nextCursor: cursor === undefined ? 'next' : null };
  },
  listBatches: async (teamId, paging) => {
    calls.push(['listBatches', teamId, paging]);
    if (paging.cursor === 'nonsense') throw new DomainError('INVALID_CURSOR', 'not a cursor');
    return { data: [batchListing], meta };
  },
  batch: async (teamId, id) => {
    calls.push(['batch', teamId, id]);
    return teamId === TEAM && id === BATCH ? batchListing : undefined;
  },
  listTemplates: async (teamId, filter, paging) => {
    calls.push(['listTemplates', teamId, filter, paging]);
    const { variables: _variables, schema: _schema, revision: _revision, ...item } = template;
    return { data: [item], meta };
  },
  listAttachmentTemplates: async (teamId, filter, paging) => {
    calls.push(['listAttachmentTemplates', teamId, filter, paging]);
    const { variables: _variables, schema: _schema, revision: _revision, ...item } = attachmentTemplate;
    return { data: [item], meta };
  },
  listAssets: async (teamId, filter, paging) => {
    calls.push(['listAssets', teamId, filter, paging]);
    return { data: [asset], meta };
  },
  storedAttachmentBytes: async (teamId) => {
    calls.push(['storedAttachmentBytes', teamId]);
    return { bytes: 0, position: 0 };
  },
  assetUsage: async (teamId) => {
    calls.push(['assetUsage', teamId]);
    return { count: 1, sizeBytes: 3 };
  },
  listWebhooks: async (teamId, paging) => {
    calls.push(['listWebhooks', teamId, paging]);
    return {
      data: [webhook],
      meta: { page: 1, limit: 20, total: 1, totalPages: 1, totalIsLowerBound: false, nextCursor: null },
    };
  },
  restorableWebhooks: async () => [],
  webhookDeliveries: async (id, paging) => {
    calls.push(['webhookDeliveries', id, paging]);
    return { deliveries: [webhookDelivery], nextCursor: null };
  },
  webhookTrail: async (teamId, told) => {
    calls.push(['webhookTrail', teamId, told]);
    return { attempts: [], isComplete: true };
  },
  webhookFailedAttempts: async () => 1,
  listOAuthApps: async (teamId, paging) => {
    calls.push(['listOAuthApps', teamId, paging]);
    return { data: [oauthApp], meta };
  },
  listGrants: async () => ({ data: [], meta }),
  listSessions: async () => ({ data: [SESSION], meta }),
  sessionsOfUser: async () => [SESSION],
  tracesOfUser: async () => ({ teams: [TEAM], sessions: [SESSION], grants: [], mails: [] }),
  listAudit: async (teamId, filter, paging) => {
    calls.push(['listAudit', teamId, filter, paging]);
    return { data: [auditEntry], meta };
  },
  auditEntry: async (teamId, id) => (teamId === TEAM && id === AUDIT_ENTRY ? auditEntry : undefined),
  listApiKeys: async (teamId, paging) => {
    calls.push(['listApiKeys', teamId, paging]);
    return { data: [apiKey], meta };
  },
  ...recorded(calls, makeAnalyticsQueries({ readModels: noReadModels, clock: fakeClock(Date.parse(NOW)) })),
  awaitOwnWrites: async (teamId, withinMs) => void calls.push(['awaitOwnWrites', teamId, withinMs]),
});

const noReadModels = { find: async () => [], get: async () => undefined };

/** The analytics of a team that has sent nothing. */
const recorded = (calls: Call[], queries: AnalyticsQueries): AnalyticsQueries => ({
  analyticsOverview: (...given) => (calls.push(['analyticsOverview', ...given]), queries.analyticsOverview(...given)),
  analyticsTimeSeries: (...given) => (
    calls.push(['analyticsTimeSeries', ...given]),
    queries.analyticsTimeSeries(...given)
  ),
  analyticsTemplates: (...given) => (
    calls.push(['analyticsTemplates', ...given]),
    queries.analyticsTemplates(...given)
  ),
  analyticsTags: (...given) => (calls.push(['analyticsTags', ...given]), queries.analyticsTags(...given)),
  dashboardSummary: (...given) => (calls.push(['dashboardSummary', ...given]), queries.dashboardSummary(...given)),
});

export const mailMessage: MailboxMessage = {
  id: 'm1',
  from: { address: 'shop@example.com', name: 'Shop' },
  to: [{ address: 'jane@example.com', name: 'Jane' }],
  subject: 'Ordér',
  receivedAt: NOW,
  sizeBytes: 42,
  cc: [],
  envelope: { from: 'shop@example.com', to: ['jane@example.com', 'hidden@example.com'] },
  html: '<html><head><style>@media (prefers-color-scheme: dark) {p{color:#fff}}</style></head><body><img src="cid:logo@x"><script>alert(1)</script></body></html>',
  text: 'Hello',
  headers: [{ name: 'Subject', value: 'Ordér' }],
  attachments: [
    { filename: 'löschen"\r\n.svg', contentType: 'text/html', contentId: null, sizeBytes: 4 },
    { filename: 'logo.png', contentType: 'image/png', contentId: '<logo@x>', sizeBytes: 3 },
    { filename: 'x', contentType: 'bad type\r\nx: y', contentId: null, sizeBytes: 1 },
  ],
};

export const RAW = Buffer.from('Subject: x\r\n\r\n\xff\xfe\x00bytes', 'latin1');

export const MAILBOX_TOKEN = 'x7Qm-token-of-the-mailbox_000000';

/** The headers of a browser that has opened the link of the mailbox. */
export const opened = { cookie: `other=1; sealpost_mailbox_3000=${MAILBOX_TOKEN}` };

/** Message id of a mail that is shown only to a person who opens the mailbox by its link. */
export const CONFIDENTIAL_MESSAGE_ID = '<confidential@example.com>';

export const fakeMailbox = (held: readonly MailboxMessage[] = [mailMessage]): Mailbox => {
  let messages: MailboxMessage[] = [...held];
  const find = (id: string): MailboxMessage | undefined => messages.find((message) => message.id === id);
  return {
    list: async ({ page, limit }) => ({
      entries: messages.slice((page - 1) * limit, page * limit),
      total: messages.length,
    }),
    get: async (id) => find(id),
    raw: async (id) => (find(id) === undefined ? undefined : RAW),
    attachment: async (id, index) => {
      const attachment = find(id)?.attachments[index];
      return attachment === undefined ? undefined : { attachment, content: Buffer.from('abc') };
    },
    clear: async () => {
      const count = messages.length;
      messages = [];
      return count;
    },
    forgetBefore: async () => 0,
    forgetCopies: async () => {},
  };
};

const fakeLog = (logged: Fakes['logged']): Logger => {
  const at =
    (level: string) =>
    (fields: LogFields, message: string): void =>
      void logged.push({ level, message, ...fields });
  const logger: Logger = {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: () => logger,
  };
  return logger;
};

const fakeIds = (): Ids => {
  let count = 0;
  return {
    uuid: () => `00000000-0000-4000-8000-${String((count += 1)).padStart(12, '0')}`,
    bytes: (sizeBytes) => Buffer.alloc(sizeBytes, 7),
  };
};

/** One token of each kind is good. */
const fakeTrackingTokens: HttpDeps['tracking']['tokens'] = {
  openOpen: (token) => (token === 'good-pixel' ? { emailId: EMAIL, recipient: 0 } : undefined),
  openClick: (token) =>
    token === 'good-link' ? { emailId: EMAIL, recipient: 0, link: 2, url: 'https://shop.example/?a=1&b=2' } : undefined,
};

/** Does in this process what another one does for a server, and notes what it is given. */
const checksHere = (limits: Limits, given: BodyToCheck[]): BodyChecks => ({
  check: async (body) => {
    given.push(body);
    const answer = await checkApart(limits)(body);
    if (answer.kind === 'refused') throw new DomainError(answer.code, answer.message, answer.details);
    return answer;
  },
  close: async () => undefined,
});

export type FakeOptions = Readonly<{ settings?: Partial<HttpSettings>; limits?: Partial<Limits>; mailbox?: Mailbox }>;

/** Everything the server needs, with a clock that stands at NOW until it is moved. */
export const fakes = (options: FakeOptions = {}): Fakes => {
  const calls: Call[] = [];
  const logged: Fakes['logged'] = [];
  const during: Fakes['during'] = { run: () => undefined };
  const clock = fakeClock(Date.parse(NOW));
  const workers: WorkerHealth[] = [{ name: 'relay', state: 'running', restarts: 0, lastFault: null }];
  const accepting = { value: true };
  const checkedApart: BodyToCheck[] = [];
  const noted: HealthReason[] = [];
  const audited: unknown[][] = [];
  const log: Fakes['log'] = { value: { unreadableEvents: 0, unknownEvent: null } };
  const deps: HttpDeps = {
    settings: {
      publicUrl: 'http://127.0.0.1:3000',
      host: '127.0.0.1',
      port: 3000,
      requireHttps: false,
      trustProxy: false,
      ...options.settings,
    },
    limits: { ...defaultLimits, ...options.limits },
    clock,
    ids: fakeIds(),
    logger: fakeLog(logged),
    limiter: openMemoryLimiter({ clock }),
    bodyChecks: checksHere({ ...defaultLimits, ...options.limits }, checkedApart),
    commands: fakeCommands(calls, during),
    oauth: fakeOAuth,
    queries: fakeQueries(calls),
    positions: fakePositions(calls),
    ...(options.mailbox === undefined ? {} : { mailbox: { mails: options.mailbox, token: MAILBOX_TOKEN } }),
    exportAudit: async (_team, _period, done) => {
      await done({ entries: 0, upTo: 0, root: '' });
      return (async function* () {
        yield '{}\n';
      })();
    },
    audit: {
      read: ({ calledFrom, ...call }, ...what) => void audited.push(['read', { ...call, ...calledFrom() }, ...what]),
      denied: ({ calledFrom, ...call }, ...what) =>
        void audited.push(['denied', { ...call, ...calledFrom() }, ...what]),
    },
    tracking: { tokens: fakeTrackingTokens, note: (seen) => void calls.push(['noteSeen', seen]) },
    health: { accepting: () => accepting.value, workers: () => workers, log: () => log.value, noted: () => noted },
    version: '1.2.3',
  };
  return { deps, calls, logged, clock, during, workers, accepting, checkedApart, log, noted, audited };
};

/** A server over fakes, closed by the caller. */
export const fakeServer = async (options: FakeOptions = {}): Promise<Fakes & Readonly<{ app: App }>> => {
  const made = fakes(options);
  return { ...made, app: await buildServer(made.deps) };
};

export const bearer = (token: string): Readonly<{ authorization: string }> => ({ authorization: `Bearer ${token}` });

/** A send body that the schema takes. */
export const sendBody = { templateId: 'order-confirmation', to: [{ email: 'jane@example.com' }], variables: {} };

/** The query that a route cannot do without. */
export const queryOf = (path: string): string => (path.endsWith('/check') ? '?email=ann%40example.org' : '');

/** The body as it is sent: a string is sent as it is, any other value as JSON. */
export const asSent = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/**
 * The headers and the payload of a request to a route: the body that is given, or a form with a file where it takes
 * nothing else.
 */
export const bodyOf = (
  { takesBody, reads, uploads }: Readonly<{ takesBody: boolean; reads?: string | undefined; uploads: unknown }>,
  body: unknown,
  headers: Readonly<Record<string, string>>,
): Readonly<{ headers: Record<string, string>; payload?: string }> => {
  if (takesBody) return { headers: { ...headers, 'content-type': reads ?? 'application/json' }, payload: asSent(body) };
  if (uploads === false) return { headers };
  const payload =
    '--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nemail\r\nann@example.org\r\n--x--\r\n';
  return { headers: { ...headers, 'content-type': 'multipart/form-data; boundary=x' }, payload };
};
