/** Tools about emails: find, read, trace and explain them. */
import { Type, type Static } from '@sinclair/typebox';
import type { EmailListItem, EmailRecord } from '../../api/email.js';
import type { SentContent } from '../../api/email-content.js';
import { enumOf, type PageMeta } from '../../api/core/common.js';
import { emailStatuses } from '../../domain/email/status.js';
import { explainEmail, type Timeline } from './explain.js';
import { foreign, ForeignSchema, jsonText, NOTICE, outputOf } from './foreign.js';
import { EmailId, inputOf, ownName, reading, tool, type Tool, type ToolContext } from './tool.js';

const ROWS_MAX = 25;
const ROWS_DEFAULT = 10;
/** A subject or a name in a list. */
const SHORT_CHARS_MAX = 200;
const RECIPIENTS_MAX = 50;
const ATTEMPTS_MAX = 10;
const VALUES_CHARS_MAX = 2_000;
const BODY_CHARS_DEFAULT = 4_000;
const BODY_CHARS_MAX = 20_000;

const moment = (description: string) =>
  Type.Optional(
    Type.String({ minLength: 10, maxLength: 40, description: `${description} (ISO 8601; a date is a day in UTC)` }),
  );

export const Cursor = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 1_024,
    description: '`nextCursor` of the answer before: continues behind it',
  }),
);

const Time = Type.Union([Type.String(), Type.Null()]);

const FoundEmail = Type.Object({
  id: Type.String(),
  status: enumOf(emailStatuses),
  failureReason: Type.Union([Type.String(), Type.Null()]),
  templateId: Type.String(),
  recipientCount: Type.Integer(),
  failedRecipients: Type.Integer(),
  tags: Type.Array(Type.String()),
  test: Type.Boolean({ description: 'Sent with a test key: nothing of it left' }),
  createdAt: Type.String(),
  sentAt: Time,
  deliveredAt: Time,
  foreign: ForeignSchema,
});

const foundEmail = (item: EmailListItem): Static<typeof FoundEmail> => ({
  id: item.id,
  status: item.status,
  failureReason: ownName(item.failureReason),
  templateId: item.templateId,
  recipientCount: item.recipientCount,
  failedRecipients: item.failedRecipients,
  tags: item.tags,
  test: item.test,
  createdAt: item.createdAt,
  sentAt: item.sentAt,
  deliveredAt: item.deliveredAt,
  foreign: foreign(
    { subject: item.subject, to: item.to?.email, toName: item.to?.name, templateName: item.emailTemplateName },
    SHORT_CHARS_MAX,
  ),
});

const findEmails = tool({
  name: 'find_emails',
  title: 'Find emails',
  description:
    'Finds emails of the team, the newest first, by recipient, status, template, tag, time or a text in recipient or subject. Every filter narrows the list. Use it first when somebody asks for a mail; then explain_email with an id.',
  needs: ['GET /api/emails'],
  input: inputOf({
    recipient: Type.Optional(
      Type.String({
        minLength: 3,
        maxLength: 512,
        description: 'Whole address of a recipient; letter case does not count',
      }),
    ),
    text: Type.Optional(
      Type.String({
        minLength: 2,
        maxLength: 200,
        description: 'Part of the address or name of a recipient, or of the subject',
      }),
    ),
    status: Type.Optional(
      Type.Array(enumOf(emailStatuses), { minItems: 1, maxItems: 9, description: 'One of these states' }),
    ),
    template: Type.Optional(
      Type.String({ pattern: '^[A-Za-z0-9-]+$', maxLength: 100, description: 'Id or slug of the template' }),
    ),
    tag: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9_-]+$', maxLength: 100, description: 'One of its tags' })),
    since: moment('Created at or after'),
    until: moment('Created at or before'),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: ROWS_MAX, description: `Default ${ROWS_DEFAULT}` })),
    cursor: Cursor,
  }),
  output: outputOf({
    emails: Type.Array(FoundEmail),
    total: Type.Integer(),
    totalIsLowerBound: Type.Boolean(),
    nextCursor: Type.Union([Type.String(), Type.Null()]),
  }),
  hints: reading,
  run: async ({ recipient, text, status, template, tag, since, until, limit, cursor }, { call }) => {
    const { data, meta } = await call<Readonly<{ data: readonly EmailListItem[]; meta: PageMeta }>>('GET /api/emails', {
      query: {
        recipient,
        search: text,
        status: status?.join(','),
        templateId: template,
        tag,
        startDate: since,
        endDate: until,
        limit: limit ?? ROWS_DEFAULT,
        cursor,
      },
    });
    const { total, totalIsLowerBound, nextCursor } = meta;
    return { notice: NOTICE, emails: data.map(foundEmail), total, totalIsLowerBound, nextCursor };
  },
});

const mailOf = (context: ToolContext, id: string): Promise<EmailRecord> =>
  context.call<EmailRecord>('GET /api/emails/:id', { params: { id } });

const nameAndAddress = ({ email, name }: Readonly<{ email: string; name?: string | undefined }>): string =>
  name === undefined ? email : `${name} <${email}>`;

const recordInWords = (email: EmailRecord) => ({
  id: email.id,
  status: email.status,
  failureReason: ownName(email.failureReason),
  archived: email.archived,
  confidential: email.confidential === true,
  test: email.test,
  templateId: email.templateId,
  templateVersion: email.templateVersion,
  tags: email.tags,
  batchId: email.batchId,
  recipientCount: email.recipientCount,
  failedRecipients: email.failedRecipients,
  attachmentCount: email.attachmentCount,
  retryCount: email.retryCount,
  createdAt: email.createdAt,
  scheduledAt: email.scheduledAt,
  sentAt: email.sentAt,
  deliveredAt: email.deliveredAt,
  nextAttemptAt: email.nextAttemptAt,
  openedAt: email.openedAt,
  clickedAt: email.clickedAt,
  cancelledAt: email.cancelledAt,
});

/** The lists of a record, each item with texts of others. */
const partsOf = (email: EmailRecord) => ({
  recipients: email.recipients.slice(0, RECIPIENTS_MAX).map((recipient, place) => ({
    place,
    role: recipient.role,
    status: recipient.status,
    rule: ownName(recipient.rule),
    replyCode: recipient.replyCode,
    foreign: foreign(
      { address: recipient.email, name: recipient.name, answerOfHost: recipient.reply },
      SHORT_CHARS_MAX,
    ),
  })),
  attempts: email.attempts.slice(-ATTEMPTS_MAX).map((attempt) => ({
    attempt: attempt.attempt,
    startedAt: attempt.startedAt,
    durationMs: attempt.durationMs,
    outcome: attempt.outcome,
    replyCode: attempt.replyCode,
    nextAttemptAt: attempt.nextAttemptAt,
    foreign: foreign({ host: attempt.host, relay: attempt.relay, answerOfHost: attempt.reply }, SHORT_CHARS_MAX),
  })),
  foreign: {
    ...foreign({
      subject: email.subject,
      messageId: email.messageId,
      templateName: email.emailTemplateName,
      from: email.from === null ? null : nameAndAddress(email.from),
      attachments: email.metadata.attachments.map(({ filename }) => filename),
    }),
    ...foreign(
      { variables: jsonText(email.metadata.variables), metadata: jsonText(email.metadata.custom) },
      VALUES_CHARS_MAX,
    ),
  },
});

const CONTENT = 'GET /api/emails/:id/content';

const getEmail = tool({
  name: 'get_email',
  title: 'Read an email',
  description:
    'Reads the record of one email: state of each recipient, attempts, values. With `content` also the text of the mail itself, which needs the permission `emails:content`. To learn why a mail is missing use explain_email.',
  needs: ['GET /api/emails/:id'],
  besides: [CONTENT],
  input: inputOf({
    id: EmailId,
    content: Type.Optional(Type.Boolean({ description: 'Also the text of the mail; default false' })),
    contentChars: Type.Optional(
      Type.Integer({
        minimum: 100,
        maximum: BODY_CHARS_MAX,
        description: `Most characters of the text; default ${BODY_CHARS_DEFAULT}`,
      }),
    ),
  }),
  output: outputOf({
    id: Type.String(),
    status: enumOf(emailStatuses),
    recipients: Type.Array(Type.Object({ status: Type.String(), foreign: ForeignSchema })),
    attempts: Type.Array(Type.Object({ attempt: Type.Integer(), foreign: ForeignSchema })),
    content: Type.Optional(
      Type.Object({ textBytes: Type.Integer(), htmlBytes: Type.Integer(), foreign: ForeignSchema }),
    ),
    foreign: ForeignSchema,
  }),
  hints: reading,
  run: async ({ id, content: isWanted = false, contentChars = BODY_CHARS_DEFAULT }, context) => {
    const email = await mailOf(context, id);
    const content = isWanted ? await context.call<SentContent>(CONTENT, { params: { id } }) : undefined;
    return {
      notice: NOTICE,
      ...recordInWords(email),
      ...partsOf(email),
      ...(content === undefined
        ? {}
        : {
            content: {
              textBytes: content.sizes.text,
              htmlBytes: content.sizes.html,
              foreign: { ...foreign({ subject: content.subject }), ...foreign({ text: content.text }, contentChars) },
            },
          }),
    };
  },
});

const TIMELINE = 'GET /api/emails/:id/timeline';

const Details = Type.Object({
  at: Type.String(),
  kind: Type.String(),
  actor: Type.String(),
  durationMs: Type.Union([Type.Number(), Type.Null()]),
  sinceMs: Type.Union([Type.Number(), Type.Null()]),
  foreign: ForeignSchema,
});

const timelineEntry = (entry: Timeline['data'][number]): Static<typeof Details> => ({
  at: entry.at,
  kind: ownName(entry.kind) ?? 'unknown',
  // Ours: a kind and an id.
  actor: entry.actor,
  durationMs: entry.durationMs,
  sinceMs: entry.sinceMs,
  foreign: {
    ...foreign(
      {
        recipients: entry.recipients.map(({ role, email, result, replyCode, reply }) =>
          [role, email, result, replyCode, reply].filter((part) => part !== undefined && part !== null).join(' '),
        ),
      },
      SHORT_CHARS_MAX,
    ),
    ...foreign({ details: jsonText(entry.details) }, VALUES_CHARS_MAX),
  },
});

const emailTimeline = tool({
  name: 'email_timeline',
  title: 'Trace an email',
  description:
    'Everything that was recorded of one email in the order of the log: the call, each attempt, each answer, reports, webhooks. explain_email says the same in plain words.',
  needs: [TIMELINE],
  input: inputOf({
    id: EmailId,
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: ROWS_MAX, description: `Default ${ROWS_DEFAULT}` })),
    cursor: Cursor,
  }),
  output: outputOf({
    entries: Type.Array(Details),
    total: Type.Integer(),
    nextCursor: Type.Union([Type.String(), Type.Null()]),
  }),
  hints: reading,
  run: async ({ id, limit, cursor }, { call }) => {
    const { data, meta } = await call<Timeline>(TIMELINE, {
      params: { id },
      query: { limit: limit ?? ROWS_DEFAULT, cursor },
    });
    return { notice: NOTICE, entries: data.map(timelineEntry), total: meta.total, nextCursor: meta.nextCursor };
  },
});

/** Entries of the longest timeline that an explanation reads. */
const EXPLAINED_MAX = 100;

const explain = tool({
  name: 'explain_email',
  title: 'Explain why an email is not there',
  description:
    'Says in plain words whether an email arrived, what happened, what the receiving host answered, what that means and what to do. The answer for "why is my mail not there?". Needs the id: find_emails finds it.',
  needs: ['GET /api/emails/:id', TIMELINE],
  input: inputOf({ id: EmailId }),
  output: outputOf({
    id: Type.String(),
    status: enumOf(emailStatuses),
    arrived: enumOf(
      ['yes', 'partly', 'no', 'not yet', 'never sent', 'unknown'],
      '`unknown`: the next host took it and nothing tells what it did then; `never sent`: a test',
    ),
    summary: Type.String(),
    recipients: Type.Array(
      Type.Object({
        place: Type.Integer({ description: 'Among to, cc and bcc, from 0; those who did not get it come first' }),
        role: Type.String(),
        status: Type.String(),
        means: Type.String(),
        todo: Type.String(),
        rule: Type.Union([Type.String(), Type.Null()]),
        replyCode: Type.Union([Type.Integer(), Type.Null()], { description: 'SMTP reply code' }),
        enhancedCode: Type.Union([Type.String(), Type.Null()], { description: 'Status code of RFC 3463' }),
        foreign: ForeignSchema,
      }),
    ),
    recipientsLeftOut: Type.Integer(),
    steps: Type.Array(Type.Object({ at: Type.String(), what: Type.String(), foreign: Type.Optional(ForeignSchema) })),
    stepsLeftOut: Type.Integer(),
    foreign: ForeignSchema,
  }),
  hints: reading,
  run: async ({ id }, context) => {
    const email = await mailOf(context, id);
    const timeline = await context.call<Timeline>(TIMELINE, { params: { id }, query: { limit: EXPLAINED_MAX } });
    const { messageId, status, subject } = email;
    // A program that hands over its mail by SMTP writes the Message-ID.
    const texts = foreign({ subject, messageId });
    return { notice: NOTICE, id, status, ...explainEmail(email, timeline), foreign: texts };
  },
});

export const mailTools: readonly Tool[] = [findEmails, explain, getEmail, emailTimeline];
