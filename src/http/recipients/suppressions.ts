/** Routes of a team's suppression list: list, check, add, remove, import, export. */
import { Readable } from 'node:stream';
import { type App, type HttpDeps, callerOf, OWN_WRITES_WAIT_MS } from '../server/context.js';
import { DeletedSchema, idParams, pageOf } from '../../api/core/common.js';
import {
  AddSuppressionRequestSchema,
  SuppressionCheckQuerySchema,
  SuppressionCheckSchema,
  SuppressionListQuerySchema,
  SuppressionRecordSchema,
  SuppressionsImportedSchema,
} from '../../api/recipients.js';
import { addSuppressionExamples } from '../../api/examples.js';
import { SUPPRESSION_ROWS_MAX, suppressionLines } from '../../commands/recipients/suppressions.js';
import { invalid } from '../../domain/core/errors.js';
import { parseSuppressionId, type SuppressionId } from '../../domain/core/ids.js';
import { invalidAddresses, parseAddress } from '../../domain/mime/address.js';
import { suppressionNotFound } from '../../domain/recipients/suppression.js';
import { disposition } from '../server/headers.js';
import { readUpload, registerUploads, uploadSlots } from '../server/upload.js';
import { coerceQuery } from '../server/validation.js';
import { parseJsonBody } from '../server/json/body.js';
import { pagingOf, plusHint } from '../server/query.js';

type Deps = Pick<HttpDeps, 'commands' | 'queries' | 'limits' | 'limiter'>;

const tags = ['Suppressions'];
const access = 'suppressions:manage';
const reading = 'suppressions:read';
const unknownId = 'SUPPRESSION_NOT_FOUND';

/** Throws SUPPRESSION_NOT_FOUND for a malformed id. */
const suppressionIdOf = (text: string): SuppressionId => {
  const id = parseSuppressionId(text);
  if (id === undefined) throw suppressionNotFound();
  return id;
};

const readRoutes = (app: App, deps: Deps): void => {
  app.get(
    '/api/suppressions',
    {
      config: { access: reading, command: 'readSuppressions', codes: ['INVALID_CURSOR'] },
      preValidation: coerceQuery(SuppressionListQuerySchema),
      schema: {
        summary: 'List suppressed addresses',
        description: 'Newest first. One that is removed in this moment may be missing from its page.',
        operationId: 'listSuppressions',
        tags,
        querystring: SuppressionListQuerySchema,
        response: { 200: pageOf(SuppressionRecordSchema) },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const { reason, list } = request.query;
      await deps.queries.awaitOwnWrites(caller.teamId, OWN_WRITES_WAIT_MS);
      const filter = { ...(reason === undefined ? {} : { reason }), ...(list === undefined ? {} : { list }) };
      const { data, meta } = await deps.queries.listSuppressions(caller.teamId, filter, pagingOf(request.query));
      return { data: [...(await deps.commands.readSuppressions(caller, data))], meta };
    },
  );

  app.get(
    '/api/suppressions/check',
    {
      config: { access: reading, command: 'checkSuppression' },
      preValidation: coerceQuery(SuppressionCheckQuerySchema),
      schema: {
        summary: 'Check one address',
        description:
          'Whether the team writes to it at this moment; with `list`, whether it sends it mails of that list. Letter case does not count.',
        operationId: 'checkSuppression',
        tags,
        querystring: SuppressionCheckQuerySchema,
        response: { 200: SuppressionCheckSchema },
      },
    },
    (request) => {
      const { email, list } = request.query;
      const parsed = parseAddress(email);
      if (!parsed.ok) throw invalidAddresses([{ field: 'email', message: `${parsed.reason}${plusHint(email)}` }]);
      return deps.commands.checkSuppression(callerOf(request), email, list);
    },
  );
};

/** Streams the export: each page is read from the log when the caller has taken the one before it. */
const exportRoute = (app: App, deps: Deps): void => {
  app.get(
    '/api/suppressions/export',
    {
      config: {
        audited: { action: 'suppressions.exported' },
        access: reading,
        command: 'readSuppressions',
        media: 'text/csv',
      },
      schema: {
        summary: 'Export suppressed addresses',
        description:
          'CSV with `email`, `list`, `reason`, `createdAt`, `emailId`, `id`, the oldest first, written as it is read. The header `X-Total-Count` says how many rows are to come. A cell that begins like a formula has an apostrophe before it.',
        operationId: 'exportSuppressions',
        tags,
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      await deps.queries.awaitOwnWrites(caller.teamId, OWN_WRITES_WAIT_MS);
      const total = await deps.queries.suppressionTotal(caller.teamId);
      const lines = suppressionLines(deps.queries.suppressionPages(caller.teamId), (ids) =>
        deps.commands.readSuppressions(caller, ids),
      );
      return reply
        .header('content-type', 'text/csv; charset=utf-8')
        .header('content-disposition', disposition('attachment', 'suppressions.csv'))
        .header('x-total-count', String(total))
        .send(Readable.from(lines, { objectMode: false }));
    },
  );
};

const writeRoutes = (app: App, deps: Deps): void => {
  app.post(
    '/api/suppressions',
    {
      config: { access, command: 'addSuppression', examples: addSuppressionExamples },
      schema: {
        summary: 'Suppress an address',
        description:
          'From the answer on nothing is accepted for it that would be sent. One that is suppressed already stays as it is.',
        operationId: 'addSuppression',
        tags,
        body: AddSuppressionRequestSchema,
        response: { 201: SuppressionRecordSchema },
      },
    },
    async (request, reply) => {
      const record = await deps.commands.addSuppression(callerOf(request), request.body);
      reply.code(201);
      return record;
    },
  );

  app.delete(
    '/api/suppressions/:id',
    {
      config: { access, command: 'removeSuppression', unknownId },
      schema: {
        summary: 'Write to an address again',
        description: 'Emails that were not sent for it stay as they are; send them anew.',
        operationId: 'removeSuppression',
        tags,
        params: idParams('Id of the suppression'),
        response: { 200: DeletedSchema },
      },
    },
    (request) => deps.commands.removeSuppression(callerOf(request), suppressionIdOf(request.params.id)),
  );
};

const importRoute = (app: App, deps: Deps): void => {
  const { bodySizeBytesMax } = deps.limits;
  const tooLarge = () => invalid('upload', 'file', `has more than ${bodySizeBytesMax} bytes, the most that is read`);
  app.post(
    '/api/suppressions/import',
    {
      config: { access, command: 'importSuppressions', uploads: true },
      onRequest: uploadSlots(deps),
      schema: {
        summary: 'Import addresses',
        description: `A form (\`multipart/form-data\`) with one \`file\`: CSV with the column \`email\`, or JSON lines with the member, or the export of another service, at most ${SUPPRESSION_ROWS_MAX} rows. Where \`reason\` is one of ours it is kept, those of other services are mapped, and any other is \`import\`; \`list\` keeps mails of that list alone from the address. The same file once more changes nothing.`,
        operationId: 'importSuppressions',
        tags,
        response: { 200: SuppressionsImportedSchema },
      },
    },
    async (request) => {
      if (!request.isMultipart()) throw invalid('upload', '', 'must be a form (multipart/form-data) with one `file`');
      const { bytes } = await readUpload(request, bodySizeBytesMax, tooLarge);
      return deps.commands.importSuppressions(callerOf(request), {
        bytes,
        parseLine: (line) => parseJsonBody(line, deps.limits),
      });
    },
  );
};

/** Registers the routes under /api/suppressions. */
export const suppressionRoutes = (app: App, deps: Deps): void => {
  // In its own scope: the other routes take no forms.
  app.register(async (scope: App) => {
    await registerUploads(scope);
    importRoute(scope, deps);
  });
  readRoutes(app, deps);
  exportRoute(app, deps);
  writeRoutes(app, deps);
};
