/** Addresses that a team does not write to: listed, added, removed, asked for, brought in and taken out as files. */
import type { FastifyReply } from 'fastify';
import { Readable } from 'node:stream';
import { type Subscribed, UNSUBSCRIBE_PATH } from '../../commands/recipients/unsubscribe.js';
import { type App, type HttpDeps, callerOf, OWN_WRITES_WAIT_MS } from '../server/context.js';
import { personPage, sendPersonPage } from '../server/forms.js';
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
import { suppressionNotFound } from '../../domain/recipients/suppression.js';
import { disposition } from '../server/headers.js';
import { readUpload, registerUploads, uploadSlots } from '../server/upload.js';
import { coerceQuery } from '../server/validation.js';
import { parseJsonBody } from '../server/json/body.js';
import { pagingOf } from '../server/query.js';

/* Where the links of mails lead by which recipients unsubscribe (RFC 8058): a page that changes nothing, and the calls of its buttons. */

type Button = Readonly<{ name: string; value: string; text: string; isMain: boolean }>;
type Page = Readonly<{ title: string; text: string; list: string; company: string; button: Button | undefined }>;

/** Whoever reads it knows the list and its sender, not the service. */
const fill = personPage<Page>(
  `<h1><%= it.title %></h1>
<p><%= it.text %><% if (it.list !== '') { %> <strong><%= it.list %></strong><% if (it.company !== '') { %> from <strong><%= it.company %></strong><% } %>.<% } %></p>
<% if (it.button !== undefined) { %>\
<form method="post">
<input type="hidden" name="<%= it.button.name %>" value="<%= it.button.value %>">
<div class="buttons"><button type="submit"<% if (it.button.isMain) { %> class="main"<% } %>><%= it.button.text %></button></div>
</form>
<% } %>\
`,
  '',
);

/** RFC 8058, section 3.1. */
const ONE_CLICK = ['List-Unsubscribe', 'One-Click'] as const;
const AGAIN = ['Subscribe', 'Again'] as const;

const button = ([name, value]: readonly [string, string], text: string, isMain: boolean): Button => ({ name, value, text, isMain });
const unsubscribeButton = button(ONE_CLICK, 'Unsubscribe', true);
const againButton = button(AGAIN, 'Subscribe again', false);

const asked = ({ list, company, isSubscribed }: Subscribed): Page =>
  isSubscribed
    ? { title: 'Unsubscribe?', text: 'You will get no more mails of the list', list, company, button: unsubscribeButton }
    : unsubscribed({ list, company });

const unsubscribed = ({ list, company }: Pick<Subscribed, 'list' | 'company'>): Page => ({
  title: 'You are unsubscribed',
  text: 'You get no more mails of the list',
  list,
  company,
  button: againButton,
});

const subscribedAgain = ({ list, company }: Subscribed): Page => ({
  title: 'You are subscribed',
  text: 'You get the mails of the list',
  list,
  company,
  button: button(ONE_CLICK, 'Unsubscribe', false),
});

const nothing = { list: '', company: '', button: undefined };

const send = (reply: FastifyReply, status: number, page: Page): FastifyReply => sendPersonPage(reply, status, fill(page));

const unknown: Page = { title: 'This link is not valid', text: 'It may have been cut short; open it from the mail once more.', ...nothing };

/** What came of it as a page. A link that was not made here tells nothing. */
const answer = async (
  reply: FastifyReply,
  result: Promise<Subscribed | undefined>,
  page: (found: Subscribed) => Page,
): Promise<FastifyReply> => {
  const found = await result;
  return found === undefined ? send(reply, 404, unknown) : send(reply, 200, page(found));
};

const FORM_BYTES_MAX = 4_096;

/** Whether a form of either type has that field with that value. */
const has = (body: unknown, [name, value]: readonly [string, string]): boolean => {
  if (typeof body !== 'string') return false;
  if (new URLSearchParams(body).get(name) === value) return true;
  const part = new RegExp(`name="?${name}"?[^\\r\\n]*\\r\\n(?:[^\\r\\n]+\\r\\n)*\\r\\n${value}\\r\\n--`, 'i');
  return part.test(body);
};

/** Registers /u/:token: no cookie, no redirect, no key. */
export const unsubscribeRoutes = (app: App, { commands }: Pick<HttpDeps, 'commands'>): void => {
  const path = `${UNSUBSCRIBE_PATH}:token`;
  const config = { access: 'public' } as const;
  const schema = { hide: true };
  const tokenOf = (params: unknown): string => (params as Readonly<{ token: string }>).token;
  // In a scope of its own: of these calls no other takes forms.
  app.register(async (scope: App) => {
    const types = ['application/x-www-form-urlencoded', 'multipart/form-data'];
    scope.addContentTypeParser(types, { parseAs: 'string', bodyLimit: FORM_BYTES_MAX }, (_request, body, done) => done(null, body));

    scope.get(path, { config, schema }, ({ params }, reply) => answer(reply, commands.readSubscription(tokenOf(params)), asked));

    scope.post(path, { config, schema }, ({ params, body, id }, reply) => {
      if (has(body, AGAIN)) return answer(reply, commands.subscribeAgain(tokenOf(params), id), subscribedAgain);
      if (has(body, ONE_CLICK)) return answer(reply, commands.unsubscribe(tokenOf(params), id), unsubscribed);
      return send(reply, 400, {
        title: 'Nothing was changed',
        text: 'The form must have the field List-Unsubscribe with the value One-Click (RFC 8058).',
        ...nothing,
      });
    });
  });
};

type Deps = Pick<HttpDeps, 'commands' | 'queries' | 'limits' | 'limiter'>;

const tags = ['Suppressions'];
const access = 'suppressions:manage';
const unknownId = 'SUPPRESSION_NOT_FOUND';

/** A malformed id is answered as an unknown one. */
const suppressionIdOf = (text: string): SuppressionId => {
  const id = parseSuppressionId(text);
  if (id === undefined) throw suppressionNotFound();
  return id;
};

const readRoutes = (app: App, deps: Deps): void => {
  app.get(
    '/api/suppressions',
    {
      config: { access, command: 'readSuppressions', codes: ['INVALID_CURSOR'] },
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
      config: { access, command: 'checkSuppression' },
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
    (request) => deps.commands.checkSuppression(callerOf(request), request.query.email, request.query.list),
  );
};

/** What a caller reads slowly is read slowly: a piece is made when the one before it is taken. */
const exportRoute = (app: App, deps: Deps): void => {
  app.get(
    '/api/suppressions/export',
    {
      config: { audited: { action: 'suppressions.exported' }, access, command: 'readSuppressions', media: 'text/csv' },
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
      const lines = suppressionLines(deps.queries.suppressionPages(caller.teamId), (ids) => deps.commands.readSuppressions(caller, ids));
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
        description: 'From the answer on nothing is accepted for it that would be sent. One that is suppressed already stays as it is.',
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
        description: `A form (\`multipart/form-data\`) with one \`file\`: CSV with the column \`email\`, or JSON lines with the member, at most ${SUPPRESSION_ROWS_MAX} rows. Where \`reason\` is one of ours it is kept, else it is \`import\`; \`list\` keeps mails of that list alone from the address. The same file once more changes nothing.`,
        operationId: 'importSuppressions',
        tags,
        response: { 200: SuppressionsImportedSchema },
      },
    },
    async (request) => {
      if (!request.isMultipart()) throw invalid('upload', '', 'must be a form (multipart/form-data) with one `file`');
      const { bytes } = await readUpload(request, bodySizeBytesMax, tooLarge);
      return deps.commands.importSuppressions(callerOf(request), { bytes, parseLine: (line) => parseJsonBody(line, deps.limits) });
    },
  );
};

/** Registers the routes under /api/suppressions. */
export const suppressionRoutes = (app: App, deps: Deps): void => {
  // In a scope of its own: of these calls no other takes forms.
  app.register(async (scope: App) => {
    await registerUploads(scope);
    importRoute(scope, deps);
  });
  readRoutes(app, deps);
  exportRoute(app, deps);
  writeRoutes(app, deps);
};
