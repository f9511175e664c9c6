/**
 * Routes of emails: send one or several, list, read, retry, reschedule, cancel, delete, the timeline, and statistics of
 * the queue.
 */
import type { HookHandlerDoneFunction } from 'fastify';
import {
  QueueStatsSchema,
  CancelEmailResponseSchema,
  RescheduleEmailRequestSchema,
  RescheduleEmailResponseSchema,
  BulkDeleteRequestSchema,
  BulkDeleteResponseSchema,
  EmailCountsSchema,
  EmailListItemSchema,
  EmailRecordSchema,
  RetryEmailResponseSchema,
  RetryEmailsRequestSchema,
  RetryEmailsResponseSchema,
  SendEmailRequestSchema,
  SendEmailResponseSchema,
  type BulkDeleteRequest,
  type BulkDeleteResponse,
  type RetryEmailsRequest,
  type RetryEmailsResponse,
  TimelineQuerySchema,
  TimelineSchema,
} from '../../api/email.js';
import { ResendEmailRequestSchema } from '../../api/email-content.js';
import { SendEmailsRequestSchema, SendEmailsResponseSchema } from '../../api/several-emails.js';
import { callerOf, type App, type HttpDeps, OWN_WRITES_WAIT_MS } from '../server/context.js';
import { DeletedSchema, idParams, pageOf } from '../../api/core/common.js';
import { invalid } from '../../domain/core/errors.js';
import { parseDomain } from '../../domain/mime/address.js';
import { isoTime } from '../../domain/core/time.js';
import { parseTemplateId, type TeamId } from '../../domain/core/ids.js';
import { INLINE, SUBMITTED } from '../../domain/core/stored-schemas.js';
import type { EmailFilter } from '../../projections/email/emails.js';
import { type Caller, isTest } from '../../commands/core/caller.js';
import type { StoredBytes } from '../../commands/email/acceptance.js';
import { answered, bodyMayBeAbsent, checkIdempotencyKey, idempotencyOf } from '../server/headers.js';
import { coerceQuery } from '../server/validation.js';
import {
  bulkDeleteExamples,
  rescheduleExamples,
  resendExamples,
  retryManyExamples,
  sendEmailsExamples,
  sendExamples,
} from '../../api/examples.js';
import { AsOfQuerySchema, EmailCountsQuerySchema, EmailListQuerySchema } from '../../api/core/queries.js';
import { emailIdOf } from './ids.js';
import { nextTurn } from '../../shared/concurrency.js';
import { asOfOf, emailFilterOf, momentOf, pagingOf } from '../server/query.js';
import { timelinePage } from '../../domain/email/timeline.js';
import { placedAttempt } from '../../domain/webhooks/delivery.js';

type Deps = Pick<HttpDeps, 'commands' | 'queries' | 'limits'>;

const params = idParams('Email log id');

/** Emails name their template by its id. A slug that no template has matches none. */
const withTemplateId = async ({ commands }: Deps, teamId: TeamId, filter: EmailFilter): Promise<EmailFilter> => {
  const { templateId } = filter;
  if (templateId === undefined || templateId === INLINE || templateId === SUBMITTED || parseTemplateId(templateId))
    return filter;
  return { ...filter, templateId: (await commands.templateIdOf(teamId, templateId)) ?? templateId };
};

/** `before` excludes its own moment, `endDate` of the read models includes it. */
const filterOf = (body: BulkDeleteRequest): EmailFilter => ({
  ...(body.status === undefined ? {} : { status: body.status }),
  ...(body.templateId === undefined ? {} : { templateId: body.templateId.toLowerCase() }),
  ...(body.before === undefined ? {} : { endDate: isoTime(Date.parse(momentOf('before', body.before, 'start')) - 1) }),
});

/** Deletes exactly the ids of the body, or the newest emails that match its filter, up to the limit of one call. */
const bulkDelete = async (deps: Deps, caller: Caller, body: BulkDeleteRequest): Promise<BulkDeleteResponse> => {
  const given = filterOf(body);
  const filtered = Object.keys(given).length > 0;
  const filter = isTest(caller) ? { ...given, test: true } : given;
  if (body.ids !== undefined && filtered)
    throw invalid('request body', '', 'must have either `ids` or a filter, not both');
  if (body.ids !== undefined) {
    const ids = [...new Set(body.ids.map(emailIdOf))];
    return { ...(await deps.commands.deleteEmails(caller, ids)), remaining: false };
  }
  if (!filtered)
    throw invalid('request body', '', 'must have `ids`, or at least one of `status`, `before` and `templateId`');
  await deps.queries.awaitOwnWrites(caller.teamId, OWN_WRITES_WAIT_MS);
  const max = deps.limits.bulkDeleteIdsMax;
  const found = await deps.queries.emailIds(caller.teamId, filter, max + 1);
  return { ...(await deps.commands.deleteEmails(caller, found.slice(0, max))), remaining: found.length > max };
};

/** Retries the emails that match, of one page of the read model. */
const retryMany = async (deps: Deps, caller: Caller, body: RetryEmailsRequest): Promise<RetryEmailsResponse> => {
  const { status = 'queued', templateId, domain, startDate, endDate, cursor } = body;
  const filter = {
    status,
    ...(isTest(caller) ? { test: true } : {}),
    ...(templateId === undefined ? {} : { templateId: templateId.toLowerCase() }),
    ...(startDate === undefined ? {} : { startDate: momentOf('startDate', startDate, 'start') }),
    ...(endDate === undefined ? {} : { endDate: momentOf('endDate', endDate, 'end') }),
  };
  const parsed = domain === undefined ? undefined : parseDomain(domain);
  if (parsed?.ok === false)
    throw invalid('request body', 'domain', `must be a domain such as example.com: ${parsed.reason}`);
  await deps.queries.awaitOwnWrites(caller.teamId, OWN_WRITES_WAIT_MS);
  const { nextCursor, ...found } = await deps.queries.emailsToRetry(caller.teamId, filter, cursor);
  return {
    ...(await deps.commands.retryEmails(caller, { status, ...found, ...(domain === undefined ? {} : { domain }) })),
    nextCursor,
  };
};

const readRoutes = (app: App, deps: Deps): void => {
  app.get(
    '/api/emails',
    {
      config: { access: 'emails:read', codes: ['INVALID_CURSOR'] },
      preValidation: coerceQuery(EmailListQuerySchema),
      schema: {
        summary: 'List emails',
        description: 'Newest first. Every filter narrows the list further.',
        operationId: 'listEmails',
        tags: ['Emails'],
        querystring: EmailListQuerySchema,
        response: { 200: pageOf(EmailListItemSchema) },
      },
    },
    async (request) => {
      const { teamId } = callerOf(request);
      const filter = await withTemplateId(deps, teamId, emailFilterOf(request.query));
      await deps.queries.awaitOwnWrites(teamId, OWN_WRITES_WAIT_MS);
      return deps.queries.listEmails(teamId, filter, pagingOf(request.query));
    },
  );

  app.get(
    '/api/emails/counts',
    {
      config: { access: 'emails:read', codes: ['VALIDATION_ERROR'] },
      preValidation: coerceQuery(EmailCountsQuerySchema),
      schema: {
        summary: 'Count emails by status',
        description:
          'With the filters of the list. A search, and filters that look for exact terms, count each status up to a bound.',
        operationId: 'countEmails',
        tags: ['Emails'],
        querystring: EmailCountsQuerySchema,
        response: { 200: EmailCountsSchema },
      },
    },
    async (request) => {
      const { teamId } = callerOf(request);
      const filter = await withTemplateId(deps, teamId, emailFilterOf(request.query));
      await deps.queries.awaitOwnWrites(teamId, OWN_WRITES_WAIT_MS);
      const { counts, lowerBounds } = await deps.queries.countEmails(teamId, filter);
      return {
        counts: { ...counts },
        total: Object.values(counts).reduce((sum, count) => sum + count, 0),
        totalIsLowerBound: lowerBounds.length > 0,
        lowerBounds: [...lowerBounds],
      };
    },
  );

  app.get(
    '/api/emails/:id',
    {
      config: {
        audited: { action: 'email.read', target: 'email', isOnce: true },
        access: 'emails:read',
        command: 'getEmail',
        unknownId: 'EMAIL_NOT_FOUND',
      },
      schema: {
        summary: 'Read an email',
        description:
          'The whole log record: state of every recipient, every delivery attempt. After 30 days it is archived and no longer says who it went to. With `asOf` as it was then; what was destroyed since stays destroyed.',
        operationId: 'getEmail',
        tags: ['Emails'],
        params,
        querystring: AsOfQuerySchema,
        response: { 200: EmailRecordSchema },
      },
    },
    (request) => {
      const { asOf } = request.query;
      return deps.commands.getEmail(
        callerOf(request),
        emailIdOf(request.params.id),
        asOf === undefined ? undefined : asOfOf(asOf),
      );
    },
  );
};

type Hook = (request: never, reply: never, done: HookHandlerDoneFunction) => void;

/** The bytes that the team stores, as far as projected: a send does not wait for the read models. */
const storedBytesOf =
  ({ queries }: Pick<Deps, 'queries'>, { teamId }: Caller): StoredBytes =>
  () =>
    queries.storedAttachmentBytes(teamId);

const writeRoutes = (app: App, deps: Deps): void => {
  const onRequest = checkIdempotencyKey(deps.limits.idempotencyKeyCharsMax) satisfies Hook;

  app.post(
    '/api/emails/send',
    {
      config: {
        access: 'emails:send',
        command: 'sendEmail',
        idempotent: true,
        examples: sendExamples,
        unknownId: 'ERR_TMPL_002',
      },
      onRequest,
      schema: {
        summary: 'Send an email',
        description:
          'Renders the template to check it, records the email durably and answers; delivery follows at once or at `scheduledAt`.',
        operationId: 'sendEmail',
        tags: ['Emails'],
        body: SendEmailRequestSchema,
        response: { 201: SendEmailResponseSchema },
      },
    },
    async (request, reply) => {
      if (request.isLargeBody) await nextTurn();
      const caller = callerOf(request);
      const answer = await deps.commands.sendEmail(
        caller,
        request.body,
        idempotencyOf(request),
        storedBytesOf(deps, caller),
      );
      reply.code(201);
      return answered(reply, answer);
    },
  );

  app.post(
    '/api/emails/:id/retry',
    {
      config: { access: 'emails:send', command: 'retryEmail', idempotent: true, unknownId: 'EMAIL_NOT_FOUND' },
      onRequest,
      schema: {
        summary: 'Retry a failed email',
        operationId: 'retryEmail',
        tags: ['Emails'],
        params,
        response: { 200: RetryEmailResponseSchema },
      },
    },
    async (request, reply) =>
      answered(
        reply,
        await deps.commands.retryEmail(callerOf(request), emailIdOf(request.params.id), idempotencyOf(request)),
      ),
  );
};

const resendRoute = (app: App, deps: Deps): void => {
  app.post(
    '/api/emails/:id/resend',
    {
      config: {
        access: 'emails:content',
        audited: { action: 'email.resent', target: 'email' },
        command: 'resendEmail',
        idempotent: true,
        unknownId: 'EMAIL_NOT_FOUND',
        examples: resendExamples,
      },
      onRequest: checkIdempotencyKey(deps.limits.idempotencyKeyCharsMax) satisfies Hook,
      preValidation: bodyMayBeAbsent,
      schema: {
        summary: 'Send an email again as a copy',
        description:
          'A new email of the same version of the template, or the same content, with the variables and files of the old one; `resentFrom` of its record names that. Needs `emails:send` too. Archived, the answer is 410 CONTENT_GONE.',
        operationId: 'resendEmail',
        tags: ['Emails'],
        params,
        body: ResendEmailRequestSchema,
        response: { 201: SendEmailResponseSchema },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const answer = await deps.commands.resendEmail(
        caller,
        emailIdOf(request.params.id),
        request.body,
        idempotencyOf(request),
        storedBytesOf(deps, caller),
      );
      reply.code(201);
      return answered(reply, answer);
    },
  );
};

const sendSeveralRoute = (app: App, deps: Deps): void => {
  app.post(
    '/api/emails/batch',
    {
      config: { access: 'emails:send', command: 'sendEmails', idempotent: true, examples: sendEmailsExamples },
      onRequest: checkIdempotencyKey(deps.limits.idempotencyKeyCharsMax) satisfies Hook,
      schema: {
        summary: 'Send several different emails',
        description: `Up to ${deps.limits.callEmailsMax} emails, each with its own template or content and its own result. An email that is refused leaves the others alone; with \`allOrNone\` it refuses the call. 201 where an email was accepted, else 200, also with \`dryRun\`.`,
        operationId: 'sendEmails',
        tags: ['Emails'],
        body: SendEmailsRequestSchema,
        response: {
          200: SendEmailsResponseSchema,
          201: SendEmailsResponseSchema,
        },
      },
    },
    async (request, reply) => {
      if (request.isLargeBody) await nextTurn();
      const caller = callerOf(request);
      if (request.body.dryRun === true) {
        reply.code(200);
        return deps.commands.dryRunEmails(caller, request.body);
      }
      const answer = await deps.commands.sendEmails(
        caller,
        request.body,
        idempotencyOf(request),
        storedBytesOf(deps, caller),
      );
      reply.code(answer.body.accepted > 0 ? 201 : 200);
      return answered(reply, answer);
    },
  );
};

const rescheduleAndCancelRoutes = (app: App, deps: Deps): void => {
  app.patch(
    '/api/emails/:id',
    {
      config: {
        access: 'emails:send',
        command: 'rescheduleEmail',
        unknownId: 'EMAIL_NOT_FOUND',
        examples: rescheduleExamples,
      },
      schema: {
        summary: 'Give a scheduled email another time',
        description: `In the future, at most ${deps.limits.scheduledAheadDaysMax} days ahead. What the template shows of dates follows; once the email is released it is answered 400 EMAIL_NOT_SCHEDULED.`,
        operationId: 'rescheduleEmail',
        tags: ['Emails'],
        params,
        body: RescheduleEmailRequestSchema,
        response: { 200: RescheduleEmailResponseSchema },
      },
    },
    (request) => deps.commands.rescheduleEmail(callerOf(request), emailIdOf(request.params.id), request.body),
  );

  app.post(
    '/api/emails/:id/cancel',
    {
      config: { access: 'emails:send', command: 'cancelEmail', idempotent: true, unknownId: 'EMAIL_NOT_FOUND' },
      onRequest: checkIdempotencyKey(deps.limits.idempotencyKeyCharsMax) satisfies Hook,
      schema: {
        summary: 'Cancel an email',
        description:
          'While it is scheduled or queued, also where it waits for another attempt or for the relay. Once it is answered the email does not leave; where it is too late, the answer is 400 EMAIL_NOT_CANCELLABLE.',
        operationId: 'cancelEmail',
        tags: ['Emails'],
        params,
        response: { 200: CancelEmailResponseSchema },
      },
    },
    async (request, reply) =>
      answered(
        reply,
        await deps.commands.cancelEmail(callerOf(request), emailIdOf(request.params.id), idempotencyOf(request)),
      ),
  );
};

const retryManyRoute = (app: App, deps: Deps): void => {
  app.post(
    '/api/emails/retry',
    {
      config: { access: 'emails:send', command: 'retryEmails', codes: ['INVALID_CURSOR'], examples: retryManyExamples },
      schema: {
        summary: 'Retry many emails',
        description:
          'Pushes on by hand what waits for its next attempt or for the relay, or tries anew what has failed, the oldest first. A call looks at a bounded number of emails: where `nextCursor` is not null, call again with it.',
        operationId: 'retryEmails',
        tags: ['Emails'],
        body: RetryEmailsRequestSchema,
        response: { 200: RetryEmailsResponseSchema },
      },
    },
    (request) => retryMany(deps, callerOf(request), request.body),
  );
};

const deleteRoutes = (app: App, deps: Deps): void => {
  app.delete(
    '/api/emails/:id',
    {
      config: {
        audited: { action: 'email.deleted', target: 'email' },
        access: 'emails:delete',
        command: 'deleteEmail',
        unknownId: 'EMAIL_NOT_FOUND',
      },
      schema: {
        summary: 'Delete an email',
        description:
          'Destroys the key under which its personal data is sealed. An email in delivery is answered 400 EMAIL_IN_PROGRESS.',
        operationId: 'deleteEmail',
        tags: ['Emails'],
        params,
        response: { 200: DeletedSchema },
      },
    },
    (request) => deps.commands.deleteEmail(callerOf(request), emailIdOf(request.params.id)),
  );

  app.delete(
    '/api/emails/bulk',
    {
      config: {
        audited: { action: 'emails.deleted' },
        access: 'emails:delete',
        command: 'deleteEmails',
        examples: bulkDeleteExamples,
      },
      schema: {
        summary: 'Delete many emails',
        description: `Either the emails of \`ids\`, or those that match a filter, the newest first, at most ${deps.limits.bulkDeleteIdsMax} per call.`,
        operationId: 'deleteEmails',
        tags: ['Emails'],
        body: BulkDeleteRequestSchema,
        response: { 200: BulkDeleteResponseSchema },
      },
    },
    (request) => bulkDelete(deps, callerOf(request), request.body),
  );
};

/** Registers the routes under /api/emails. */
export const emailRoutes = (app: App, deps: Deps): void => {
  writeRoutes(app, deps);
  sendSeveralRoute(app, deps);
  resendRoute(app, deps);
  rescheduleAndCancelRoutes(app, deps);
  retryManyRoute(app, deps);
  readRoutes(app, deps);
  deleteRoutes(app, deps);
};

/** Registers GET /api/emails/:id/timeline. */
export const emailTimelineRoute = (app: App, { commands, queries, limits }: Deps): void => {
  app.get(
    '/api/emails/:id/timeline',
    {
      config: {
        audited: { action: 'email.timeline_read', target: 'email', isOnce: true },
        access: 'emails:read',
        command: 'emailTrace',
        unknownId: 'EMAIL_NOT_FOUND',
        codes: ['INVALID_CURSOR'],
      },
      preValidation: coerceQuery(TimelineQuerySchema),
      schema: {
        summary: 'Trace an email',
        description:
          'Everything that was recorded of it, in the order of the log: the call, every delivery attempt, what came back, and every attempt to tell a webhook endpoint of it. Once archived without what is personal.',
        operationId: 'getEmailTimeline',
        tags: ['Emails'],
        params: idParams('Email log id'),
        querystring: TimelineQuerySchema,
        response: { 200: TimelineSchema },
      },
    },
    async (request) => {
      const { limit = limits.pageSizeDefault, cursor } = request.query;
      const caller = callerOf(request);
      const { placed, told } = await commands.emailTrace(caller, emailIdOf(request.params.id));
      await queries.awaitOwnWrites(caller.teamId, OWN_WRITES_WAIT_MS);
      const { attempts, isComplete } = await queries.webhookTrail(caller.teamId, told);
      const { data, meta } = timelinePage([...placed, ...attempts.map(placedAttempt)], { limit, cursor });
      return { data, meta: { ...meta, webhooksComplete: isComplete } };
    },
  );
};

/** Registers GET /api/emails/queue/stats. */
export const queueRoutes = (app: App, { queries }: Pick<HttpDeps, 'queries'>): void => {
  app.get(
    '/api/emails/queue/stats',
    {
      config: { access: 'analytics:read', codes: ['VALIDATION_ERROR'] },
      schema: {
        summary: 'See what waits',
        description:
          'How many emails of the team are due, since when, and how fast they leave, of all and by priority; and what waits for a time.',
        operationId: 'queueStats',
        tags: ['Emails'],
        response: { 200: QueueStatsSchema },
      },
    },
    async (request) => {
      const { teamId } = callerOf(request);
      await queries.awaitOwnWrites(teamId, OWN_WRITES_WAIT_MS);
      return queries.queueStats(teamId);
    },
  );
};
