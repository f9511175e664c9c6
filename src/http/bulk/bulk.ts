/** Bulk sends: accepted, tried, followed, cancelled. */
import type { HookHandlerDoneFunction } from 'fastify';
import {
  BatchStatusSchema,
  CancelBatchResponseSchema,
  DryRunResponseSchema,
  SendBulkRequestSchema,
  SendBulkResponseSchema,
} from '../../api/bulk.js';
import { pageOf } from '../../api/core/common.js';
import { bulkExamples } from '../../api/examples.js';
import { PagingQuerySchema } from '../../api/core/queries.js';
import { batchNotFound } from '../../domain/bulk/decider.js';
import { parseBatchId, type BatchId } from '../../domain/core/ids.js';
import { Type } from '@sinclair/typebox';
import { bulkResultsRoute } from './results.js';
import { formSlots, readRecipientsForm, tellingLines } from './recipients-form.js';
import { registerUploads } from '../server/upload.js';
import { withLines } from '../../commands/bulk/recipients-of-file.js';
import { callerOf, type App, type HttpDeps } from '../server/context.js';
import { answered, checkIdempotencyKey, idempotencyOf } from '../server/idempotency.js';
import { coerceQuery } from '../server/validation.js';
import { OWN_WRITES_WAIT_MS } from '../server/own-writes.js';
import { pagingOf } from '../server/query.js';

type Deps = Pick<HttpDeps, 'commands' | 'queries' | 'limits' | 'limiter'>;

/** A malformed id is answered as an unknown one. */
const batchIdOf = (text: string): BatchId => {
  const id = parseBatchId(text);
  if (id === undefined) throw batchNotFound();
  return id;
};

const params = Type.Object({ batchId: Type.String({ description: 'Batch id' }) });

type Hook = (request: never, reply: never, done: HookHandlerDoneFunction) => void;

const formFields = {
  request: { description: 'The JSON of the call, without `recipients`', required: true },
  columns: {
    description:
      'JSON: `{"email": column, "name": column, "locale": column, "timeZone": column, "variables": {variable: column}}`. Default: `email`, `name`, every other a variable',
    required: false,
  },
};

const sendRoute = (app: App, deps: Deps): void => {
  app.post(
    '/api/emails/send/bulk',
    {
      config: {
        access: 'emails:send',
        command: 'sendBulk',
        idempotent: true,
        examples: bulkExamples,
        unknownId: 'ERR_TMPL_002',
        codes: ['MALFORMED_REQUEST'],
        uploads: formFields,
      },
      onRequest: [checkIdempotencyKey(deps.limits.idempotencyKeyCharsMax) satisfies Hook, formSlots(deps)],
      preValidation: readRecipientsForm(deps),
      errorHandler: tellingLines,
      schema: {
        summary: 'Send to many',
        description:
          'One email for each recipient, with its own variables and attachments. The call is recorded durably and answered; its emails are made and delivered afterwards. With `dryRun` nothing is sent: the answer, 200, says what the call would do. In place of `recipients` a file may be sent, CSV or JSON lines, by a form (`multipart/form-data`).',
        operationId: 'sendBulk',
        tags: ['Bulk'],
        body: SendBulkRequestSchema,
        response: { 200: DryRunResponseSchema, 201: SendBulkResponseSchema },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      if (request.body.dryRun === true) {
        reply.code(200);
        return toldWithLines(await deps.commands.dryRunBulk(caller, request.body), request.recipientLines);
      }
      const answer = await deps.commands.sendBulk(caller, request.body, idempotencyOf(request));
      reply.code(201);
      return toldWithLines(answered(reply, answer), request.recipientLines);
    },
  );
};

const toldWithLines = <T extends { warnings: string[] }>(answer: T, lines: readonly number[] | undefined): T =>
  lines === undefined ? answer : { ...answer, warnings: answer.warnings.map((warning) => withLines(warning, lines)) };

const readRoutes = (app: App, deps: Deps): void => {
  app.get(
    '/api/emails/batches',
    {
      config: { access: 'emails:read', codes: ['INVALID_CURSOR'] },
      preValidation: coerceQuery(PagingQuerySchema),
      schema: {
        summary: 'List bulk sends',
        description: 'Newest first.',
        operationId: 'listBatches',
        tags: ['Bulk'],
        querystring: PagingQuerySchema,
        response: { 200: pageOf(BatchStatusSchema) },
      },
    },
    async (request) => {
      const { teamId } = callerOf(request);
      await deps.queries.awaitOwnWrites(teamId, OWN_WRITES_WAIT_MS);
      return deps.queries.listBatches(teamId, pagingOf(request.query));
    },
  );

  app.get(
    '/api/emails/batch/:batchId/status',
    {
      config: { access: 'emails:read', codes: ['BATCH_NOT_FOUND'], unknownId: 'BATCH_NOT_FOUND' },
      schema: {
        summary: 'Follow a bulk send',
        description:
          'Every email counts once: `queued`, `processing`, `sent`, `failed` and `cancelled` add up to the total at every moment.',
        operationId: 'getBatchStatus',
        tags: ['Bulk'],
        params,
        response: { 200: BatchStatusSchema },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const id = batchIdOf(request.params.batchId);
      await deps.queries.awaitOwnWrites(caller.teamId, OWN_WRITES_WAIT_MS);
      return (await deps.queries.batch(caller.teamId, id)) ?? deps.commands.getBatch(caller, id);
    },
  );
};

const cancelRoute = (app: App, deps: Deps): void => {
  app.post(
    '/api/emails/batch/:batchId/cancel',
    {
      config: { access: 'emails:send', command: 'cancelBatch', idempotent: true, unknownId: 'BATCH_NOT_FOUND' },
      onRequest: checkIdempotencyKey(deps.limits.idempotencyKeyCharsMax) satisfies Hook,
      schema: {
        summary: 'Cancel a bulk send',
        description: 'What has not left when the answer comes does not leave, but for emails that are in their SMTP dialogue.',
        operationId: 'cancelBatch',
        tags: ['Bulk'],
        params,
        response: { 200: CancelBatchResponseSchema },
      },
    },
    async (request, reply) =>
      answered(reply, await deps.commands.cancelBatch(callerOf(request), batchIdOf(request.params.batchId), idempotencyOf(request))),
  );
};

/** Registers the routes of bulk sends. */
export const bulkRoutes = (app: App, deps: Deps): void => {
  // In a scope of its own: of the calls on emails no other takes forms.
  app.register(async (scope: App) => {
    await registerUploads(scope);
    sendRoute(scope, deps);
  });
  readRoutes(app, deps);
  cancelRoute(app, deps);
  bulkResultsRoute(app, deps);
};
