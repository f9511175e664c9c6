/** Routes of attachment templates: making, changing, publishing, previewing. `:id` is an id, a short id or a slug throughout. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  AttachmentTemplateListItemSchema,
  AttachmentTemplateRecordSchema,
  SavedAttachmentTemplateSchema,
  CreateAttachmentTemplateRequestSchema,
  DocumentPreviewQuerySchema,
  DocumentPreviewRequestSchema,
  ImportAttachmentTemplateRequestSchema,
  PreviewLinkSchema,
  type PreviewRequest,
  UpdateAttachmentTemplateRequestSchema,
} from '../../api/templates/templates.js';
import type { OutputFormat } from '../../domain/rendering/content.js';
import { DeletedSchema, idParams, pageOf } from '../../api/core/common.js';
import { safeFilename } from '../../domain/mime/attachment.js';
import type { JsonObject } from '../../domain/core/json.js';
import { callerOf, type App, type HttpDeps, OWN_WRITES_WAIT_MS } from '../server/context.js';
import type { DocumentPreview, DocumentPreviewRequest } from '../../commands/documents/preview.js';
import { queryVariables, pagingOf, deletableFilterOf } from '../server/query.js';
import { disposition, expectedRevisions, tagged, tellEmptyPaths, tellReplaced, tellWarnings } from '../server/headers.js';
import { untilClosed } from '../server/hooks.js';
import { bodyMayBeAbsent } from '../server/headers.js';
import { personPage, sendPersonPage } from '../server/forms.js';
import { statusOf } from '../server/errors.js';
import { linkOf, previewLinkDescription, PREVIEW_PATH, sendMailPage } from './templates.js';
import { systemCaller } from '../../commands/core/caller.js';
import { DomainError } from '../../domain/core/errors.js';
import { coerceQuery } from '../server/validation.js';
import {
  createAttachmentTemplateExamples,
  documentPreviewExamples,
  importAttachmentTemplateExamples,
  updateAttachmentTemplateExamples,
} from '../../api/examples.js';
import { TemplateListQuerySchema } from '../../api/core/queries.js';

type Deps = Pick<HttpDeps, 'commands' | 'queries' | 'limits' | 'settings'>;

const tags = ['Attachment templates'];
const params = idParams('Id, short id (`atpl_…`) or slug of the attachment template');
const unknownId = 'TEMPLATE_NOT_FOUND';

/** Content type and extension of a document. */
const files: Readonly<Record<OutputFormat, Readonly<{ contentType: string; extension: string }>>> = {
  pdf: { contentType: 'application/pdf', extension: '.pdf' },
  excel: { contentType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', extension: '.xlsx' },
};

const readRoutes = (app: App, deps: Deps): void => {
  app.get(
    '/api/templates/attachment',
    {
      config: { access: 'templates:read', codes: ['INVALID_CURSOR'] },
      preValidation: coerceQuery(TemplateListQuerySchema),
      schema: {
        summary: 'List attachment templates',
        operationId: 'listAttachmentTemplates',
        tags,
        querystring: TemplateListQuerySchema,
        response: { 200: pageOf(AttachmentTemplateListItemSchema) },
      },
    },
    async (request) => {
      const { teamId } = callerOf(request);
      const filter = deletableFilterOf(request.query);
      await deps.queries.awaitOwnWrites(teamId, OWN_WRITES_WAIT_MS);
      return deps.queries.listAttachmentTemplates(teamId, filter, pagingOf(request.query));
    },
  );

  app.get(
    '/api/templates/attachment/:id',
    {
      config: { access: 'templates:read', command: 'getAttachmentTemplate', unknownId, etag: true },
      schema: {
        summary: 'Read an attachment template',
        description: 'The answer is an export: `POST /api/templates/attachment/import` takes it as it is, and so do POST and PATCH.',
        operationId: 'getAttachmentTemplate',
        tags,
        params,
        response: { 200: AttachmentTemplateRecordSchema },
      },
    },
    async (request, reply) => tagged(reply, await deps.commands.getAttachmentTemplate(callerOf(request), request.params.id)),
  );
};

const creationRoutes = (app: App, deps: Deps): void => {
  app.post(
    '/api/templates/attachment',
    {
      config: { access: 'templates:write', command: 'createAttachmentTemplate', etag: true, examples: createAttachmentTemplateExamples },
      schema: {
        summary: 'Create an attachment template',
        description: 'Checks the whole schema for each of its formats and names the path of each fault.',
        operationId: 'createAttachmentTemplate',
        tags,
        body: CreateAttachmentTemplateRequestSchema,
        response: { 201: SavedAttachmentTemplateSchema },
      },
    },
    async (request, reply) => {
      const record = await deps.commands.createAttachmentTemplate(callerOf(request), request.body);
      reply.code(201);
      return tagged(reply, record);
    },
  );

  app.post(
    '/api/templates/attachment/import',
    {
      config: { access: 'templates:write', command: 'importAttachmentTemplate', etag: true, examples: importAttachmentTemplateExamples },
      schema: {
        summary: 'Import an attachment template',
        description:
          'Saves and publishes what `GET /api/templates/attachment/:id` answered, here or elsewhere; what only the server says of a template is left aside. 201 for a new template; 200 where there is one of that `slug`, which gets a next version.',
        operationId: 'importAttachmentTemplate',
        tags,
        body: ImportAttachmentTemplateRequestSchema,
        response: { 200: SavedAttachmentTemplateSchema, 201: SavedAttachmentTemplateSchema },
      },
    },
    async (request, reply) => {
      const { template, created } = await deps.commands.importAttachmentTemplate(callerOf(request), request.body);
      reply.code(created ? 201 : 200);
      return tagged(reply, template);
    },
  );
};

const changeRoutes = (app: App, deps: Deps): void => {
  app.patch(
    '/api/templates/attachment/:id',
    {
      config: {
        access: 'templates:write',
        command: 'updateAttachmentTemplate',
        unknownId,
        etag: true,
        conditional: true,
        examples: updateAttachmentTemplateExamples,
      },
      schema: {
        summary: 'Change the draft of an attachment template',
        description: 'What is published stays as it is until the next publish.',
        operationId: 'updateAttachmentTemplate',
        tags,
        params,
        body: UpdateAttachmentTemplateRequestSchema,
        response: { 200: SavedAttachmentTemplateSchema },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      return tagged(reply, await deps.commands.updateAttachmentTemplate(callerOf(request), id, request.body, expectedRevisions(request)));
    },
  );

  app.delete(
    '/api/templates/attachment/:id',
    {
      config: { access: 'templates:write', command: 'deleteAttachmentTemplate', unknownId, conditional: true },
      schema: {
        summary: 'Delete an attachment template',
        description:
          'Emails already accepted are still sent with their documents. For 30 days `POST /api/templates/attachment/{id}/restore` takes it back.',
        operationId: 'deleteAttachmentTemplate',
        tags,
        params,
        response: { 200: DeletedSchema },
      },
    },
    (request) => deps.commands.deleteAttachmentTemplate(callerOf(request), request.params.id, expectedRevisions(request)),
  );
};

const publishRoute = (app: App, deps: Deps): void => {
  app.post(
    '/api/templates/attachment/:id/publish',
    {
      config: { access: 'templates:write', command: 'publishAttachmentTemplate', unknownId, etag: true, conditional: true },
      schema: {
        summary: 'Publish the draft as the next version',
        operationId: 'publishAttachmentTemplate',
        tags,
        params,
        response: { 200: AttachmentTemplateRecordSchema },
      },
    },
    async (request, reply) =>
      tagged(reply, await deps.commands.publishAttachmentTemplate(callerOf(request), request.params.id, expectedRevisions(request))),
  );
};

const previewRoutes = (app: App, deps: Deps): void => {
  const config = {
    access: 'templates:read',
    command: 'previewAttachmentTemplate',
    unknownId,
    media: [files.pdf.contentType, files.excel.contentType],
  } as const;
  const told =
    'The header `X-Empty-Paths` lists, percent-encoded and separated by commas, what is shown and has no value; `X-Replaced-Characters` in the same way the characters that no font of a PDF has, `X-Warnings` what the answer to a save tells of what is shown: addresses that lead nowhere, formulas that stand as text, watermarks that are cut off, cells of a workbook whose text cannot all be seen.';

  app.get(
    '/api/templates/attachment/:id/preview',
    {
      config,
      schema: {
        summary: 'Make the document of an attachment template',
        description: `Answers the file itself. Default values stand in for variables that are not given. ${told}`,
        operationId: 'previewAttachmentTemplate',
        tags,
        params,
        querystring: DocumentPreviewQuerySchema,
      },
    },
    (request, reply) => {
      const { variables, ...options } = request.query;
      return answerDocument(deps, request, reply, { ...options, variables: queryVariables(variables, deps.limits) });
    },
  );

  app.post(
    '/api/templates/attachment/:id/preview',
    {
      config: { ...config, examples: documentPreviewExamples },
      schema: {
        summary: 'Make the document of an attachment template from variables of any size',
        description: `As GET does, with the variables in the body. ${told}`,
        operationId: 'previewAttachmentTemplateWith',
        tags,
        params,
        body: DocumentPreviewRequestSchema,
      },
    },
    (request, reply) => {
      const { variables = {}, ...options } = request.body;
      return answerDocument(deps, request, reply, { ...options, variables: variables as JsonObject });
    },
  );
};

/** Answers the file, named as its template is; the name is filled as that of an attachment is. */
const answerDocument = async (
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  wanted: DocumentPreviewRequest,
): Promise<FastifyReply> => {
  const { id } = request.params as Readonly<{ id: string }>;
  return sendDocument(reply, await deps.commands.previewAttachmentTemplate(callerOf(request), id, wanted, untilClosed(reply)));
};

const sendDocument = (reply: FastifyReply, made: DocumentPreview): FastifyReply => {
  const { bytes, format, name, emptyPaths, replaced, warnings } = made;
  const { contentType, extension } = files[format];
  return tellWarnings(tellReplaced(tellEmptyPaths(reply, emptyPaths), replaced), warnings)
    .header('content-type', contentType)
    .header('content-disposition', disposition('inline', `${safeFilename(name) || 'document'}${extension}`))
    .send(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
};

const linkRoute = (app: App, deps: Deps): void => {
  app.post(
    '/api/templates/attachment/:id/preview/link',
    {
      config: { access: 'templates:read', command: 'makePreviewLink', unknownId, examples: documentPreviewExamples },
      preValidation: bodyMayBeAbsent,
      schema: {
        summary: 'Make a link that shows the document of an attachment template in a browser',
        description: previewLinkDescription,
        operationId: 'makeDocumentPreviewLink',
        tags,
        params,
        body: DocumentPreviewRequestSchema,
        response: { 200: PreviewLinkSchema },
      },
    },
    async (request) => {
      const asked = { kind: 'document', reference: request.params.id, request: request.body as JsonObject } as const;
      return linkOf(deps, await deps.commands.makePreviewLink(callerOf(request), asked));
    },
  );
};

const fillGone = personPage<Readonly<{ text: string }>>(`<h1><%= it.title %></h1>
<p><%= it.text %></p>
`);

const GONE = 'It was good for 15 minutes, or its template is gone. Make another one.';

/** Registers the page of preview links: no key, no cookie. */
const previewPage = (app: App, { commands }: Deps): void => {
  app.get(`${PREVIEW_PATH}:token`, { config: { access: 'public' }, schema: { hide: true } }, async (request, reply) => {
    const refused = (status: number, text: string) =>
      sendPersonPage(reply, status, fillGone({ title: 'This preview cannot be shown', text }));
    const link = await commands.openPreviewLink((request.params as Readonly<{ token: string }>).token);
    if (link === undefined) return refused(404, GONE);
    const caller = systemCaller(link.teamId, 'preview-link', request.id);
    const signal = untilClosed(reply);
    reply.header('x-robots-tag', 'noindex, nofollow');
    try {
      if (link.kind === 'email')
        return sendMailPage(reply, await commands.previewTemplate(caller, link.id, link.request as PreviewRequest, signal));
      const wanted = { variables: {}, ...link.request } as DocumentPreviewRequest;
      return sendDocument(reply, await commands.previewAttachmentTemplate(caller, link.id, wanted, signal));
    } catch (fault) {
      if (!(fault instanceof DomainError)) throw fault;
      const { retryAfterS } = fault.details;
      if (retryAfterS !== undefined) reply.header('retry-after', retryAfterS);
      return refused(statusOf[fault.code], fault.code === 'TEMPLATE_NOT_FOUND' ? GONE : fault.message);
    }
  });
};

/** Registers the routes under /api/templates/attachment, and the page of preview links of both kinds. */
export const attachmentTemplateRoutes = (app: App, deps: Deps): void => {
  readRoutes(app, deps);
  linkRoute(app, deps);
  previewPage(app, deps);
  creationRoutes(app, deps);
  changeRoutes(app, deps);
  publishRoute(app, deps);
  previewRoutes(app, deps);
};
