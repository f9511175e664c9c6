/** Tools that check and send an email, and those about suppressed addresses, figures and the caller. */
import { Type, type Static } from '@sinclair/typebox';
import type { ApprovalRecord } from '../../api/approvals.js';
import type { OverviewSchema } from '../../api/analytics.js';
import type { UsageStats } from '../../api/billing.js';
import { AttachmentSchema, SendEmailRequestSchema, type SendEmailResponse } from '../../api/email.js';
import type { SendEmailsResponse } from '../../api/several-emails.js';
import type { SuppressionCheck, SuppressionRecord } from '../../api/recipients.js';
import { closed, enumOf, type PageMeta, RecipientSchema } from '../../api/core/common.js';
import { type Caller, isTest } from '../../commands/core/caller.js';
import { approvalStatuses, rejectionReasons } from '../../domain/approvals/decider.js';
import { emailStatuses } from '../../domain/email/status.js';
import { suppressionReasons } from '../../domain/recipients/suppression.js';
import { foreign, ForeignSchema, NOTICE, outputOf } from './foreign.js';
import { Cursor } from './mails.js';
import { freeObject, type Hints, inputOf, reading, tool, type Tool, type ToolContext } from './tool.js';

const { templateId, content, version, to, cc, bcc, replyTo, subject, locale, timeZone, scheduledAt, tags } =
  SendEmailRequestSchema.properties;
const { attachmentTemplateId, outputFormats, assetId, filename } = AttachmentSchema.properties;

const variables = Type.Optional(
  freeObject('Values for the template, which needs them; for `content` they may be absent'),
);

/**
 * The email as POST /api/emails/send takes it, without what a model has no need of. Files come from templates and the
 * gallery alone: bytes or an address to fetch would carry what the model has read out of the team.
 */
const email = {
  templateId,
  content,
  version,
  from: Type.Optional(
    Type.Object(RecipientSchema.properties, {
      ...closed,
      description: 'Of a sender domain of the team; default: that of the template, or of the team',
    }),
  ),
  to,
  cc,
  bcc,
  replyTo,
  subject,
  variables,
  locale,
  timeZone,
  scheduledAt,
  tags,
  metadata: Type.Optional(freeObject('Values for the records of the team; recipients do not see them')),
  attachments: Type.Optional(
    Type.Array(Type.Object({ attachmentTemplateId, outputFormats, variables, assetId, filename }, closed), {
      maxItems: 10,
      description: 'Documents of attachment templates, or files of the asset gallery',
    }),
  ),
};

const Losses = Type.Array(Type.Object({ kind: Type.String(), foreign: ForeignSchema }), {
  description: 'Values that the mail would lose, such as a missing one',
});

type Loss = Readonly<{ kind: string; path: string; field: string; message: string }>;

const lossesOf = (losses: readonly Loss[] = []) =>
  losses.map(({ kind, path, field, message }) => ({ kind, foreign: foreign({ path, field, message }) }));

const dryRun = tool({
  name: 'dry_run_send',
  title: 'Check a send without sending',
  description:
    'Takes the decision of a real send and does nothing: whether the email would be accepted, what it would cost, which values it would lose, and the error with which it would be refused. Use it before send_email.',
  needs: ['POST /api/emails/batch'],
  input: inputOf(email),
  output: outputOf({
    isAccepted: Type.Boolean(),
    credits: Type.Integer({ description: 'What the send would cost' }),
    recipientCount: Type.Union([Type.Integer(), Type.Null()]),
    attachmentCount: Type.Union([Type.Integer(), Type.Null()]),
    code: Type.Union([Type.String(), Type.Null()], { description: 'The error code where it would be refused' }),
    losses: Losses,
    errors: Type.Array(Type.Object({ foreign: ForeignSchema })),
    foreign: ForeignSchema,
  }),
  hints: reading,
  run: async (asked, { call }) => {
    const answer = await call<SendEmailsResponse>('POST /api/emails/batch', {
      body: { emails: [asked], dryRun: true },
    });
    const [result] = answer.results;
    return {
      notice: NOTICE,
      isAccepted: answer.valid === true,
      credits: answer.credits ?? 0,
      recipientCount: result?.recipientCount ?? null,
      attachmentCount: result?.attachmentCount ?? null,
      code: result?.error?.code ?? null,
      losses: lossesOf(result?.warnings),
      errors: (result?.error?.errors ?? []).map(({ field, message }) => ({ foreign: foreign({ field, message }) })),
      foreign: foreign({ refusal: result?.error?.message }),
    };
  },
});

const requestKey = Type.Optional(
  Type.String({
    pattern: '^[\\x21-\\x7e]{1,100}$',
    description: 'A name of this send that you make up; repeated with the same email it does nothing a second time',
  }),
);

/** A repetition with the same key does nothing; without one it sends again. */
const sending: Hints = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true };

const keyed = (key: string | undefined) => (key === undefined ? {} : { headers: { 'idempotency-key': key } });

const sendTest = tool({
  name: 'send_email',
  title: 'Send a test email',
  description:
    'Sends an email with this test key: it is accepted and goes through all states, but nothing of it leaves the service and it costs nothing. Then explain_email shows what became of it.',
  needs: ['POST /api/emails/send'],
  isFor: isTest,
  input: inputOf({ ...email, requestKey }),
  output: outputOf({
    id: Type.String(),
    status: enumOf(emailStatuses),
    messageId: Type.String(),
    recipientCount: Type.Integer(),
    attachmentCount: Type.Integer(),
    losses: Losses,
  }),
  hints: { ...sending, openWorldHint: false },
  run: async ({ requestKey: key, ...asked }, { call }) => {
    const sent = await call<SendEmailResponse>('POST /api/emails/send', { body: asked, ...keyed(key) });
    const { id, status, messageId, recipientCount, attachmentCount, warnings } = sent;
    return {
      notice: NOTICE,
      id,
      status,
      messageId,
      recipientCount,
      attachmentCount,
      losses: lossesOf(warnings),
    };
  },
});

const approvalFields = {
  id: Type.String({ description: 'Id of the approval, for get_approval' }),
  status: enumOf(approvalStatuses, '`requested`: waits for a person'),
  page: Type.String({ description: 'Address of the page on which a person approves or rejects it' }),
  expiresAt: Type.String({ description: 'From then on nobody can approve it' }),
  emailId: Type.Union([Type.String(), Type.Null()], { description: 'The email, once a person has approved it' }),
  reason: Type.Union([enumOf(rejectionReasons), Type.Null()], { description: 'Why a person rejected it' }),
  failureCode: Type.Union([Type.String(), Type.Null()], {
    description: 'The error code with which the email was refused although a person approved it',
  }),
  recipientCount: Type.Integer(),
  credits: Type.Integer({ description: 'What the email costs' }),
  todo: Type.String(),
  foreign: ForeignSchema,
};

const approvalTodo: Readonly<Record<ApprovalRecord['status'], string>> = {
  requested:
    'Nothing has left. Give the person the address of the page; only a person of the team who is signed in can approve it.',
  approved: 'A person approved it. explain_email with `emailId` says what became of it.',
  rejected: 'A person rejected it. Ask that person before you ask for another send.',
  expired: 'Nobody decided in time. Ask anew only if the email is still wanted.',
  withdrawn: 'It was taken back, and nothing leaves.',
};

const approvalInWords = (
  approval: ApprovalRecord,
  { publicUrl, caller }: Pick<ToolContext, 'publicUrl' | 'caller'>,
) => {
  const { id, status, expiresAt, emailId, reason, failureCode, recipientCount, cost, proposal } = approval;
  return {
    notice: NOTICE,
    id,
    status,
    page: `${publicUrl}/app/approvals/${id}?team=${caller.teamId}`,
    expiresAt,
    emailId,
    reason,
    failureCode,
    recipientCount,
    credits: cost.emails + cost.attachments,
    todo: approvalTodo[status],
    foreign: foreign({ subject: proposal?.subject, warnings: proposal?.warnings }),
  };
};

const askToSend = tool({
  name: 'send_email',
  title: 'Ask a person to approve an email',
  description:
    'Sends nothing by itself: it asks a person of the team to approve the email, who sees it in the dashboard as it would leave. Answers the id of the approval and the address of its page; give the person that address. get_approval tells what became of it.',
  needs: ['POST /api/approvals'],
  isFor: (caller) => !isTest(caller),
  input: inputOf({ ...email, requestKey }),
  output: outputOf(approvalFields),
  hints: sending,
  run: async ({ requestKey: key, ...asked }, context) =>
    approvalInWords(await context.call<ApprovalRecord>('POST /api/approvals', { body: asked, ...keyed(key) }), context),
});

const getApproval = tool({
  name: 'get_approval',
  title: 'Read an approval',
  description: 'Says whether a person has approved or rejected a send that was asked for, and names the email.',
  needs: ['GET /api/approvals/:id'],
  input: inputOf({ id: Type.String({ format: 'uuid', description: 'Id of the approval, from send_email' }) }),
  output: outputOf(approvalFields),
  hints: reading,
  run: async ({ id }, context) =>
    approvalInWords(await context.call<ApprovalRecord>('GET /api/approvals/:id', { params: { id } }), context),
});

const Suppressed = Type.Object({
  id: Type.String(),
  reason: enumOf(suppressionReasons),
  emailId: Type.Union([Type.String(), Type.Null()], { description: 'The email that led to it' }),
  createdAt: Type.String(),
  foreign: ForeignSchema,
});

const suppressed = ({
  id,
  reason,
  emailId,
  createdAt,
  email: address,
  list,
}: SuppressionRecord): Static<typeof Suppressed> => ({
  id,
  reason,
  emailId,
  createdAt,
  foreign: foreign({ address, list }),
});

const ROWS_MAX = 50;

const listSuppressions = tool({
  name: 'list_suppressions',
  title: 'List suppressed addresses',
  description:
    'Lists the addresses that the team sends nothing to, the newest first, with the reason: a bounce, a complaint, an unsubscription, or a person.',
  needs: ['GET /api/suppressions'],
  input: inputOf({
    reason: Type.Optional(enumOf(suppressionReasons)),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: ROWS_MAX, description: 'Default 20' })),
    cursor: Cursor,
  }),
  output: outputOf({
    suppressions: Type.Array(Suppressed),
    total: Type.Integer(),
    nextCursor: Type.Union([Type.String(), Type.Null()]),
  }),
  hints: reading,
  run: async ({ reason, limit = 20, cursor }, { call }) => {
    const { data, meta } = await call<Readonly<{ data: readonly SuppressionRecord[]; meta: PageMeta }>>(
      'GET /api/suppressions',
      { query: { reason, limit, cursor } },
    );
    return {
      notice: NOTICE,
      suppressions: data.map(suppressed),
      total: meta.total,
      nextCursor: meta.nextCursor,
    };
  },
});

const checkSuppression = tool({
  name: 'check_suppression',
  title: 'Check one address',
  description: 'Says whether the team sends to an address at this moment, and if not, why.',
  needs: ['GET /api/suppressions/check'],
  input: inputOf({ address: Type.String({ minLength: 3, maxLength: 512, description: 'The address, whole' }) }),
  output: outputOf({ isSuppressed: Type.Boolean(), suppression: Type.Union([Suppressed, Type.Null()]) }),
  hints: reading,
  run: async ({ address }, { call }) => {
    const found = await call<SuppressionCheck>('GET /api/suppressions/check', { query: { email: address } });
    return {
      notice: NOTICE,
      isSuppressed: found.suppressed,
      suppression: found.suppression === null ? null : suppressed(found.suppression),
    };
  },
});

const day = (description: string) =>
  Type.Optional(Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\d$', description: `${description}, as 2030-01-31 (UTC)` }));

const figures = tool({
  name: 'figures',
  title: 'Figures',
  description:
    'Counts and rates of a range of days (by default the last 30): accepted, sent, delivered, bounced, opened, complained; and the usage and credits of this month.',
  needs: ['GET /api/analytics/overview', 'GET /api/emails/usage/stats'],
  input: inputOf({ firstDay: day('First day'), lastDay: day('Last day') }),
  output: outputOf({
    overview: freeObject(
      'As GET /api/analytics/overview answers: totals, rates in percent, and those of the days before',
    ),
    usage: freeObject('As GET /api/emails/usage/stats answers: emails, attachments and credits of the month'),
  }),
  hints: reading,
  run: async ({ firstDay, lastDay }, { call }) => ({
    overview: await call<Static<typeof OverviewSchema>>('GET /api/analytics/overview', {
      query: { startDate: firstDay, endDate: lastDay },
    }),
    usage: await call<UsageStats>('GET /api/emails/usage/stats'),
  }),
});

const credentialOf = ({
  key,
  app,
  user,
}: Caller): Readonly<{ credential: 'API key' | 'app' | 'person'; id: string }> => {
  if (key !== undefined) return { credential: 'API key', id: key.id };
  return app === undefined ? { credential: 'person', id: user?.id ?? '' } : { credential: 'app', id: app.clientId };
};

const whoAmI = tool({
  name: 'who_am_i',
  title: 'Who am I?',
  description:
    'Says which team and credential this connection uses, whether it is a test key, what it may do, and how send_email works for it.',
  needs: [],
  input: inputOf({}),
  output: outputOf({
    service: Type.String(),
    teamId: Type.String(),
    credential: enumOf(['API key', 'app', 'person']),
    id: Type.String(),
    mode: enumOf(['test', 'live']),
    permissions: Type.Array(Type.String()),
    expiresAt: Type.Union([Type.String(), Type.Null()]),
    sending: Type.String(),
  }),
  hints: reading,
  run: async (_input, { caller, mayCall, publicUrl }) => ({
    service: publicUrl,
    teamId: caller.teamId,
    ...credentialOf(caller),
    mode: isTest(caller) ? ('test' as const) : ('live' as const),
    permissions: [...caller.permissions],
    expiresAt: caller.key?.expiresAt ?? null,
    sending: !mayCall('POST /api/emails/send')
      ? 'not allowed'
      : isTest(caller)
        ? 'send_email sends at once, and nothing leaves the service'
        : 'send_email asks a person for approval, and nothing leaves before',
  }),
});

export const sendingTools: readonly Tool[] = [dryRun, sendTest, askToSend, getApproval];
export const otherTools: readonly Tool[] = [listSuppressions, checkSuppression, figures, whoAmI];
