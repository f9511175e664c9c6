/**
 * Routes of bulk sends: send (as JSON, or as a form with a file of recipients), dry run, list, status, results, cancel.
 */
import { Readable } from 'node:stream';
import { Type } from '@sinclair/typebox';
import { createHash } from 'node:crypto';
import type { FastifyError, FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import {
  BatchResultsQuerySchema,
  type BatchResultsQuery,
  type ResultFormat,
  type SendBulkRequest,
  SendBulkRequestSchema,
  BatchStatusSchema,
  CancelBatchResponseSchema,
  DryRunResponseSchema,
  SendBulkResponseSchema,
} from '../../api/bulk.js';
import { batchNotFound } from '../../domain/bulk/decider.js';
import { parseBatchId, type BatchId } from '../../domain/core/ids.js';
import { callerOf, type App, type HttpDeps, OWN_WRITES_WAIT_MS } from '../server/context.js';
import { disposition, answered, checkIdempotencyKey, idempotencyOf } from '../server/headers.js';
import { coerceQuery, validationError } from '../server/validation.js';
import { resultLines, resultWriter } from '../../commands/bulk/results.js';
import { ColumnsSchema, type Columns } from '../../commands/recipients/file.js';
import { faultWithLines, withLines } from '../../commands/bulk/request.js';
import { DomainError, invalid } from '../../domain/core/errors.js';
import { isJsonObject, type Json, type JsonObject } from '../../domain/core/json.js';
import type { Limits } from '../../domain/core/limits.js';
import { canonicalJson, counted } from '../../shared/text.js';
import { omitNulls } from '../server/json/omit-nulls.js';
import { parseJsonBody } from '../server/json/body.js';
import { uploadSlots, registerUploads } from '../server/upload.js';
import { pageOf } from '../../api/core/common.js';
import { bulkExamples } from '../../api/examples.js';
import { PagingQuerySchema } from '../../api/core/queries.js';
import { pagingOf } from '../server/query.js';

type Deps = Pick<HttpDeps, 'commands' | 'queries' | 'limits' | 'limiter'>;
type RecipientFileRead = NonNullable<FastifyRequest['recipientFile']>;

const params = Type.Object({ batchId: Type.String({ description: 'Batch id' }) });

type Hook = (request: never, reply: never, done: HookHandlerDoneFunction) => void;

/** Most bytes of the field `request`, and of `columns`. */
const FIELD_BYTES_MAX = 1024 * 1024;

/** Registers the routes of bulk sends. */
export const bulkRoutes = (app: App, deps: Deps): void => {
  // In its own scope: the other routes take no forms.
  app.register(async (scope: App) => {
    await registerUploads(scope);
    sendRoute(scope, deps);
  });
  readRoutes(app, deps);
  cancelRoute(app, deps);
  bulkResultsRoute(app, deps);
};

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
      preHandler: takeLines,
      errorHandler: faultHandler,
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
        return withFileWarnings(await deps.commands.dryRunBulk(caller, request.body), request.recipientFile);
      }
      const answer = await deps.commands.sendBulk(
        caller,
        request.body,
        idempotencyOf(request),
        request.recipientFile?.lines,
      );
      reply.code(201);
      return withFileWarnings(answered(reply, answer), request.recipientFile);
    },
  );
};

/** A call that tells the lines of its recipients is answered as one with the file. Throws VALIDATION_ERROR. */
const takeLines = (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void => {
  const { lines, recipients } = request.body as SendBulkRequest;
  if (lines !== undefined && lines.length !== recipients.length)
    throw invalid('request body', 'lines', `has ${lines.length} lines for ${counted(recipients.length, 'recipient')}`);
  if (lines !== undefined) request.recipientFile = { lines, warnings: [] };
  done();
};

/** Names lines in the warnings, behind those about the file itself. */
const withFileWarnings = <T extends { warnings: string[] }>(answer: T, file: RecipientFileRead | undefined): T =>
  file === undefined
    ? answer
    : { ...answer, warnings: [...file.warnings, ...answer.warnings.map((warning) => withLines(warning, file.lines))] };

/** Throws BATCH_NOT_FOUND for a malformed id. */
const batchIdOf = (text: string): BatchId => {
  const id = parseBatchId(text);
  if (id === undefined) throw batchNotFound();
  return id;
};

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
        description:
          'Emails that have not left when the answer comes are not sent, except those in their SMTP dialogue.',
        operationId: 'cancelBatch',
        tags: ['Bulk'],
        params,
        response: { 200: CancelBatchResponseSchema },
      },
    },
    async (request, reply) =>
      answered(
        reply,
        await deps.commands.cancelBatch(callerOf(request), batchIdOf(request.params.batchId), idempotencyOf(request)),
      ),
  );
};

const mediaTypes: Readonly<Record<ResultFormat, string>> = { jsonl: 'application/x-ndjson', csv: 'text/csv' };

const formatOf = ({ format }: BatchResultsQuery, accept = ''): ResultFormat =>
  format ??
  (/\btext\/csv\b/i.test(accept) && !/\bapplication\/(?:x-ndjson|jsonl|json)\b/i.test(accept) ? 'csv' : 'jsonl');

/** Streams the results: the next emails are read when the caller has taken the lines before. */
const bulkResultsRoute = (app: App, deps: Deps): void => {
  app.get(
    '/api/emails/batch/:batchId/results',
    {
      config: {
        audited: { action: 'batch.results_exported', target: 'batch' },
        access: 'emails:read',
        command: 'batchResults',
        unknownId: 'BATCH_NOT_FOUND',
        media: [mediaTypes.jsonl, mediaTypes.csv],
      },
      preValidation: coerceQuery(BatchResultsQuerySchema),
      schema: {
        summary: 'Result for each recipient',
        description:
          'One line for each recipient of the call, in its order: `place`, `email`, `status`, `emailId`, `error`, `reply`, `sentAt`, `deliveredAt`, `line`. In CSV a cell that begins like a formula has an apostrophe before it.',
        operationId: 'getBatchResults',
        tags: ['Bulk'],
        params,
        querystring: BatchResultsQuerySchema,
      },
    },
    async (request, reply) => {
      const id = batchIdOf(request.params.batchId);
      const format = formatOf(request.query, request.headers.accept);
      const results = await deps.commands.batchResults(callerOf(request), id, request.query.status);
      const lines = resultLines(results, await resultWriter(format));
      return reply
        .header('content-type', `${mediaTypes[format]}; charset=utf-8`)
        .header('content-disposition', disposition('attachment', `batch-${id}.${format}`))
        .send(Readable.from(lines, { objectMode: false }));
    },
  );
};

const isForm = (request: FastifyRequest): boolean =>
  /^multipart\/form-data\b/i.test(request.headers['content-type'] ?? '');

/** A hook before the body is read: a form takes an upload slot. */
const formSlots = (deps: Deps) => {
  const acquire = uploadSlots(deps);
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (isForm(request)) await acquire(request, reply);
  };
};

type Form = { request?: Buffer; columns?: Buffer; file?: Buffer };

const wrong = (message: string): DomainError => invalid('upload', '', message);
const SHAPE =
  'must have the field `request` with the JSON of the call, one `file` with its recipients, and where wanted `columns`';

const readForm = async (
  request: FastifyRequest,
  { bodySizeBytesMax }: Pick<Limits, 'bodySizeBytesMax'>,
): Promise<Form> => {
  const form: Form = {};
  const limits = { fileSize: bodySizeBytesMax, files: 4, fields: 0, parts: 4, headerPairs: 20 };
  try {
    // Every part is read as bytes: programs give that of the JSON a type of its own, or a file name.
    for await (const part of request.parts({ limits, isPartAFile: () => true })) {
      const { fieldname: name } = part;
      if (
        part.type !== 'file' ||
        (name !== 'file' && name !== 'request' && name !== 'columns') ||
        form[name] !== undefined
      )
        throw wrong(SHAPE);
      const bytes = await part.toBuffer();
      const bytesMax = name === 'file' ? bodySizeBytesMax : FIELD_BYTES_MAX;
      if (part.file.truncated || bytes.length > bytesMax)
        throw invalid('upload', name, `has more than ${bytesMax} bytes, the most that is read`);
      form[name] = bytes;
    }
  } catch (fault) {
    // Discard the rest: the request would otherwise wait for a reader.
    request.raw.unpipe();
    request.raw.resume();
    if (fault instanceof DomainError) throw fault;
    throw new DomainError(
      'MALFORMED_REQUEST',
      'The body is no well-formed multipart/form-data, or ended too early (RFC 7578).',
    );
  }
  return form;
};

const fieldOf = (name: 'request' | 'columns', bytes: Buffer, limits: Limits): JsonObject => {
  try {
    const value = parseJsonBody(bytes, limits) as Json | undefined;
    if (isJsonObject(value)) return value;
  } catch (fault) {
    if (fault instanceof DomainError)
      throw invalid('upload', name, `is not the JSON that it must be (${fault.message.replace(/\.$/, '')})`);
    throw fault;
  }
  throw invalid('upload', name, 'must be a JSON object');
};

/**
 * Turns a form (multipart/form-data, RFC 7578) into the JSON body of the call, and keeps the line of each recipient.
 */
const readRecipientsForm =
  ({ commands, limits }: Deps) =>
  async (request: FastifyRequest): Promise<void> => {
    if (!isForm(request)) return;
    const form = await readForm(request, limits);
    if (form.request === undefined || form.file === undefined) throw wrong(SHAPE);
    const call = fieldOf('request', form.request, limits);
    const columns = form.columns === undefined ? undefined : fieldOf('columns', form.columns, limits);
    for (const name of ['recipients', 'lines'])
      if (name in call) throw invalid('upload', `request.${name}`, 'stands beside a file; give one of them');
    const checkColumns = request.compileValidationSchema(ColumnsSchema);
    if (columns !== undefined && !checkColumns(columns)) throw validationError(checkColumns.errors ?? [], 'columns');
    const { recipients, ...read } = await commands.recipientsOfFile(callerOf(request), {
      bytes: form.file,
      columns: columns as Columns | undefined,
      request: templateNamed(call),
      parseLine: (line) => parseJsonBody(line, limits),
    });
    const body = { ...call, recipients };
    omitNulls(SendBulkRequestSchema, body);
    request.body = body;
    request.recipientFile = read;
    const sha256 = createHash('sha256').update(form.file).digest('hex');
    request.canonicalBody = canonicalJson({ request: call, columns: columns ?? null, file: sha256 });
  };

/** The template of the call, before the body is validated. */
const templateNamed = ({ templateId, version }: JsonObject): Pick<SendBulkRequest, 'templateId' | 'version'> => ({
  templateId: typeof templateId === 'string' ? templateId : '',
  ...(version === 'published' || version === 'draft' || typeof version === 'number' ? { version } : {}),
});

/** Adds the lines of the file to the faults of recipients. */
const faultHandler = (fault: FastifyError, request: FastifyRequest): never => {
  const { recipientFile } = request;
  throw recipientFile === undefined || !(fault instanceof DomainError)
    ? fault
    : faultWithLines(fault, recipientFile.lines);
};
