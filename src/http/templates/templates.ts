/** Routes of email templates: making, changing, publishing, previewing. `:id` is an id or a slug throughout. */
import { DeletedSchema, idParams, pageOf } from '../../api/core/common.js';
import {
  CreateTemplateRequestSchema,
  ImportTemplateRequestSchema,
  PreviewLinkSchema,
  type PreviewResponse,
  PreviewRequestSchema,
  PreviewResponseSchema,
  TemplatePageQuerySchema,
  TemplateListItemSchema,
  TemplateRecordSchema,
  SavedTemplateSchema,
  UpdateTemplateRequestSchema,
} from '../../api/templates/templates.js';
import { callerOf, type App, type HttpDeps, OWN_WRITES_WAIT_MS } from '../server/context.js';
import { bodyMayBeAbsent, expectedRevisions, tagged, tellEmptyPaths, tellWarnings } from '../server/headers.js';
import type { FastifyReply } from 'fastify';
import { invalid } from '../../domain/core/errors.js';
import type { JsonObject } from '../../domain/core/json.js';
import { MAIL_CSP } from '../server/mail-html.js';
import { queryVariables, pagingOf, deletableFilterOf } from '../server/query.js';
import { untilClosed } from '../server/hooks.js';
import { coerceQuery } from '../server/validation.js';
import { createTemplateExamples, importTemplateExamples, previewExamples, updateTemplateExamples } from '../../api/examples.js';
import { TemplateListQuerySchema } from '../../api/core/queries.js';

type Deps = Pick<HttpDeps, 'commands' | 'queries' | 'limits' | 'settings'>;

const tags = ['Templates'];
const params = idParams('Id or slug of the template');
const unknownId = 'TEMPLATE_NOT_FOUND';

const readRoutes = (app: App, deps: Deps): void => {
  app.get(
    '/api/templates',
    {
      config: { access: 'templates:read', codes: ['INVALID_CURSOR'] },
      preValidation: coerceQuery(TemplateListQuerySchema),
      schema: {
        summary: 'List templates',
        operationId: 'listTemplates',
        tags,
        querystring: TemplateListQuerySchema,
        response: { 200: pageOf(TemplateListItemSchema) },
      },
    },
    async (request) => {
      const { teamId } = callerOf(request);
      const filter = deletableFilterOf(request.query);
      await deps.queries.awaitOwnWrites(teamId, OWN_WRITES_WAIT_MS);
      return deps.queries.listTemplates(teamId, filter, pagingOf(request.query));
    },
  );

  app.get(
    '/api/templates/:id',
    {
      config: { access: 'templates:read', command: 'getTemplate', unknownId, etag: true },
      schema: {
        summary: 'Read a template',
        description: 'The answer may be sent back as it is, to the PATCH, and to the POST of another team or server.',
        operationId: 'getTemplate',
        tags,
        params,
        response: { 200: TemplateRecordSchema },
      },
    },
    async (request, reply) => tagged(reply, await deps.commands.getTemplate(callerOf(request), request.params.id)),
  );
};

const creationRoute = (app: App, deps: Deps): void => {
  app.post(
    '/api/templates',
    {
      config: { access: 'templates:write', command: 'createTemplate', etag: true, examples: createTemplateExamples },
      schema: {
        summary: 'Create a template',
        description: 'Checks the whole schema and names the path of each fault.',
        operationId: 'createTemplate',
        tags,
        body: CreateTemplateRequestSchema,
        response: { 201: SavedTemplateSchema },
      },
    },
    async (request, reply) => {
      const record = await deps.commands.createTemplate(callerOf(request), request.body);
      reply.code(201);
      return tagged(reply, record);
    },
  );
};

const importRoute = (app: App, deps: Deps): void => {
  app.post(
    '/api/templates/import',
    {
      config: { access: 'templates:write', command: 'importTemplate', etag: true, examples: importTemplateExamples },
      schema: {
        summary: 'Import a template',
        description:
          'Saves and publishes what `GET /api/templates/{id}` answered, here or elsewhere; what only the server says of a template is left aside. 201 for a new template; 200 where there is one of that `slug`, which gets a next version.',
        operationId: 'importTemplate',
        tags,
        body: ImportTemplateRequestSchema,
        response: { 200: SavedTemplateSchema, 201: SavedTemplateSchema },
      },
    },
    async (request, reply) => {
      const { template, created } = await deps.commands.importTemplate(callerOf(request), request.body);
      reply.code(created ? 201 : 200);
      return tagged(reply, template);
    },
  );
};

const changeRoutes = (app: App, deps: Deps): void => {
  app.patch(
    '/api/templates/:id',
    {
      config: {
        access: 'templates:write',
        command: 'updateTemplate',
        unknownId,
        etag: true,
        conditional: true,
        examples: updateTemplateExamples,
      },
      schema: {
        summary: 'Change the draft of a template',
        description: 'What is published stays as it is until the next publish.',
        operationId: 'updateTemplate',
        tags,
        params,
        body: UpdateTemplateRequestSchema,
        response: { 200: SavedTemplateSchema },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      return tagged(reply, await deps.commands.updateTemplate(callerOf(request), id, request.body, expectedRevisions(request)));
    },
  );

  app.delete(
    '/api/templates/:id',
    {
      config: { access: 'templates:write', command: 'deleteTemplate', unknownId, conditional: true },
      schema: {
        summary: 'Delete a template',
        description: 'Emails already accepted are still sent. For 30 days `POST /api/templates/{id}/restore` takes it back.',
        operationId: 'deleteTemplate',
        tags,
        params,
        response: { 200: DeletedSchema },
      },
    },
    (request) => deps.commands.deleteTemplate(callerOf(request), request.params.id, expectedRevisions(request)),
  );
};

const publishRoute = (app: App, deps: Deps): void => {
  app.post(
    '/api/templates/:id/publish',
    {
      config: { access: 'templates:write', command: 'publishTemplate', unknownId, etag: true, conditional: true },
      schema: {
        summary: 'Publish the draft as the next version',
        operationId: 'publishTemplate',
        tags,
        params,
        response: { 200: TemplateRecordSchema },
      },
    },
    async (request, reply) =>
      tagged(reply, await deps.commands.publishTemplate(callerOf(request), request.params.id, expectedRevisions(request))),
  );
};

const previewRoutes = (app: App, deps: Deps): void => {
  app.get(
    '/api/templates/:id/preview',
    {
      config: { access: 'templates:read', command: 'previewTemplate', unknownId, media: 'text/html' },
      schema: {
        summary: 'Show a template with its sample data',
        description:
          'The HTML of the mail as a page for a browser, where no script runs. Default values stand in for variables that are not given. The header `X-Empty-Paths` lists, percent-encoded and separated by commas, what is shown and has no value; `X-Warnings` in the same way what the answer to POST tells in `warnings`.',
        operationId: 'showTemplate',
        tags,
        params,
        querystring: TemplatePageQuerySchema,
      },
    },
    async (request, reply) => {
      const { variables, ...options } = request.query;
      const wanted = { ...options, variables: queryVariables(variables, deps.limits) };
      return sendMailPage(reply, await deps.commands.previewTemplate(callerOf(request), request.params.id, wanted, untilClosed(reply)));
    },
  );

  app.post(
    '/api/templates/:id/preview',
    {
      config: { access: 'templates:read', command: 'previewTemplate', unknownId, examples: previewExamples },
      schema: {
        summary: 'Render a template without sending',
        description: 'Default values stand in for variables that are not given.',
        operationId: 'previewTemplate',
        tags,
        params,
        body: PreviewRequestSchema,
        response: { 200: PreviewResponseSchema },
      },
    },
    (request, reply) => deps.commands.previewTemplate(callerOf(request), request.params.id, request.body, untilClosed(reply)),
  );
};

const linkRoute = (app: App, deps: Deps): void => {
  app.post(
    '/api/templates/:id/preview/link',
    {
      config: { access: 'templates:read', command: 'makePreviewLink', unknownId, examples: previewExamples },
      preValidation: bodyMayBeAbsent,
      schema: {
        summary: 'Make a link that shows a template in a browser',
        description: previewLinkDescription,
        operationId: 'makePreviewLink',
        tags,
        params,
        body: PreviewRequestSchema,
        response: { 200: PreviewLinkSchema },
      },
    },
    async (request) =>
      linkOf(
        deps,
        await deps.commands.makePreviewLink(callerOf(request), {
          kind: 'email',
          reference: request.params.id,
          request: asJson(request.body),
        }),
      ),
  );
};

export const previewLinkDescription =
  'The link is good for 15 minutes and needs no key: whoever has it sees this one preview and nothing else. What it shows is made when it is opened.';

export const PREVIEW_PATH = '/p/';

const asJson = (body: unknown): JsonObject => body as JsonObject;

/** The answer with the link. Throws VALIDATION_ERROR where the variables do not fit into one. */
export const linkOf = (
  { settings, limits }: Pick<HttpDeps, 'settings' | 'limits'>,
  { token, expiresAt }: Readonly<{ token: string; expiresAt: string }>,
): Readonly<{ url: string; expiresAt: string }> => {
  const path = `${PREVIEW_PATH}${token}`;
  if (path.length > limits.urlSizeBytesMax)
    throw invalid('request body', 'variables', `make a link of ${path.length} bytes; ${limits.urlSizeBytesMax} are the most`);
  return { url: `${settings.publicUrl}${path}`, expiresAt };
};

/** Answers the mail as a page in which nothing of it can act. */
export const sendMailPage = (reply: FastifyReply, { html, emptyPaths, warnings }: PreviewResponse): FastifyReply =>
  tellWarnings(tellEmptyPaths(reply, emptyPaths), warnings)
    .header('content-type', 'text/html; charset=utf-8')
    .header('content-security-policy', MAIL_CSP)
    .send(html);

/** Registers the routes under /api/templates. */
export const templateRoutes = (app: App, deps: Deps): void => {
  readRoutes(app, deps);
  linkRoute(app, deps);
  creationRoute(app, deps);
  importRoute(app, deps);
  changeRoutes(app, deps);
  publishRoute(app, deps);
  previewRoutes(app, deps);
};
