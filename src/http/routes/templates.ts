/** Making, changing, publishing and previewing email templates. `:id` is an id or a slug throughout. */
import { DeletedSchema, idParams, pageOf } from '../../api/common.js';
import {
  CreateTemplateRequestSchema,
  PreviewRequestSchema,
  PreviewResponseSchema,
  TemplateListItemSchema,
  TemplateRecordSchema,
  TemplateVersionsSchema,
  UpdateTemplateRequestSchema,
} from '../../api/templates.js';
import { callerOf, type App, type HttpDeps } from '../context.js';
import { coerceQuery } from '../hooks/validation.js';
import { createTemplateExamples, previewExamples, updateTemplateExamples } from '../../api/examples.js';
import { TemplateListQuerySchema } from '../../api/queries.js';
import { pagingOf } from '../query-values.js';
import { OWN_WRITES_WAIT_MS } from './emails.js';

type Deps = Pick<HttpDeps, 'commands' | 'queries'>;

const tags = ['Templates'];
const params = idParams('Id or slug of the template');
const unknownId = 'TEMPLATE_NOT_FOUND';

const readRoutes = (app: App, deps: Deps): void => {
  app.get(
    '/api/templates',
    {
      config: { access: 'templates:read' },
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
      const { search } = request.query;
      await deps.queries.awaitOwnWrites(teamId, OWN_WRITES_WAIT_MS);
      return deps.queries.listTemplates(teamId, search === undefined ? {} : { search }, pagingOf(request.query));
    },
  );

  app.get(
    '/api/templates/:id',
    {
      config: { access: 'templates:read', unknownId },
      schema: { summary: 'Read a template', operationId: 'getTemplate', tags, params, response: { 200: TemplateRecordSchema } },
    },
    (request) => deps.commands.getTemplate(callerOf(request), request.params.id),
  );

  app.get(
    '/api/templates/:id/versions',
    {
      config: { access: 'templates:read', unknownId },
      schema: {
        summary: 'List the published versions of a template',
        operationId: 'listTemplateVersions',
        tags,
        params,
        response: { 200: TemplateVersionsSchema },
      },
    },
    async (request) => ({ data: [...(await deps.commands.templateVersions(callerOf(request), request.params.id))] }),
  );
};

const writeRoutes = (app: App, deps: Deps): void => {
  app.post(
    '/api/templates',
    {
      config: { access: 'templates:write', examples: createTemplateExamples },
      schema: {
        summary: 'Create a template',
        description: 'Checks the whole schema and names the path of each fault.',
        operationId: 'createTemplate',
        tags,
        body: CreateTemplateRequestSchema,
        response: { 201: TemplateRecordSchema },
      },
    },
    async (request, reply) => {
      const record = await deps.commands.createTemplate(callerOf(request), request.body);
      reply.code(201);
      return record;
    },
  );

  app.patch(
    '/api/templates/:id',
    {
      config: { access: 'templates:write', unknownId, examples: updateTemplateExamples },
      schema: {
        summary: 'Change the draft of a template',
        description: 'What is published stays as it is until the next publish.',
        operationId: 'updateTemplate',
        tags,
        params,
        body: UpdateTemplateRequestSchema,
        response: { 200: TemplateRecordSchema },
      },
    },
    (request) => deps.commands.updateTemplate(callerOf(request), request.params.id, request.body),
  );

  app.delete(
    '/api/templates/:id',
    {
      config: { access: 'templates:write', unknownId },
      schema: {
        summary: 'Delete a template',
        description: 'Emails already accepted are still sent.',
        operationId: 'deleteTemplate',
        tags,
        params,
        response: { 200: DeletedSchema },
      },
    },
    (request) => deps.commands.deleteTemplate(callerOf(request), request.params.id),
  );
};

const actionRoutes = (app: App, deps: Deps): void => {
  app.post(
    '/api/templates/:id/publish',
    {
      config: { access: 'templates:write', unknownId },
      schema: {
        summary: 'Publish the draft as the next version',
        operationId: 'publishTemplate',
        tags,
        params,
        response: { 200: TemplateRecordSchema },
      },
    },
    (request) => deps.commands.publishTemplate(callerOf(request), request.params.id),
  );

  app.post(
    '/api/templates/:id/preview',
    {
      config: { access: 'templates:read', unknownId, examples: previewExamples },
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
    (request) => deps.commands.previewTemplate(callerOf(request), request.params.id, request.body),
  );
};

/** Registers the routes under /api/templates. */
export const templateRoutes = (app: App, deps: Deps): void => {
  readRoutes(app, deps);
  writeRoutes(app, deps);
  actionRoutes(app, deps);
};
