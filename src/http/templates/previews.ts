/**
 * Routes that show templates: previews of mails and of documents, links to them, and the page that such a link opens.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { idParams } from '../../api/core/common.js';
import { ConvertedTemplateSchema, ConvertTemplateRequestSchema } from '../../api/templates/convert.js';
import {
  convertExamples,
  documentPreviewExamples,
  previewExamples,
  unsavedAttachmentExamples,
  unsavedBlockExamples,
  unsavedTemplateExamples,
  testTemplateExamples,
} from '../../api/examples.js';
import {
  DocumentPreviewQuerySchema,
  DocumentPreviewRequestSchema,
  PreviewLinkSchema,
  type PreviewRequest,
  PreviewRequestSchema,
  type PreviewResponse,
  PreviewResponseSchema,
  TemplatePageQuerySchema,
} from '../../api/templates/templates.js';
import {
  PreviewUnsavedAttachmentRequestSchema,
  PreviewUnsavedBlockRequestSchema,
  PreviewUnsavedTemplateRequestSchema,
  TestTemplateRequestSchema,
  UnsavedBlockPreviewSchema,
  UnsavedDocumentPreviewSchema,
  UnsavedTemplatePreviewSchema,
} from '../../api/templates/unsaved.js';
import { SendEmailResponseSchema } from '../../api/email.js';
import { systemCaller, type Caller } from '../../commands/core/caller.js';
import type { DocumentPreview, DocumentPreviewRequest } from '../../commands/documents/preview.js';
import { DomainError, invalid } from '../../domain/core/errors.js';
import type { JsonObject } from '../../domain/core/json.js';
import { safeFilename } from '../../domain/mime/attachment.js';
import { openLatest } from '../../shared/concurrency.js';
import type { OutputFormat } from '../../domain/rendering/content.js';
import { callerOf, type App, type HttpDeps } from '../server/context.js';
import { statusOf } from '../server/errors.js';
import { personPage, sendPersonPage } from '../server/forms.js';
import { bodyMayBeAbsent, disposition, tellEmptyPaths, tellReplaced, tellWarnings } from '../server/headers.js';
import { untilClosed } from '../server/hooks.js';
import { MAIL_CSP } from '../server/mail-html.js';
import { queryVariables } from '../server/query.js';

type Deps = Pick<HttpDeps, 'commands' | 'queries' | 'limits' | 'settings'>;

const unknownId = 'TEMPLATE_NOT_FOUND';
const ofEmail = { tags: ['Templates'], params: idParams('Id or slug of the template') };
const ofAttachment = {
  tags: ['Attachment templates'],
  params: idParams('Id, short id (`atpl_…`) or slug of the attachment template'),
};

/** Content type and extension of a document. */
const files: Readonly<Record<OutputFormat, Readonly<{ contentType: string; extension: string }>>> = {
  pdf: { contentType: 'application/pdf', extension: '.pdf' },
  excel: { contentType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', extension: '.xlsx' },
};

const mailPreviewRoutes = (app: App, deps: Deps): void => {
  app.get(
    '/api/templates/:id/preview',
    {
      config: { access: 'templates:read', command: 'previewTemplate', unknownId, media: 'text/html' },
      schema: {
        summary: 'Show a template with its sample data',
        description:
          'The HTML of the mail as a page for a browser, where no script runs. Default values stand in for variables that are not given. The header `X-Empty-Paths` lists, percent-encoded and separated by commas, what is shown and has no value; `X-Warnings` in the same way what the answer to POST tells in `warnings`.',
        operationId: 'showTemplate',
        ...ofEmail,
        querystring: TemplatePageQuerySchema,
      },
    },
    async (request, reply) => {
      const { variables, ...options } = request.query;
      const wanted = { ...options, variables: queryVariables(variables, deps.limits) };
      return sendMailPage(
        reply,
        await deps.commands.previewTemplate(callerOf(request), request.params.id, wanted, untilClosed(reply)),
      );
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
        ...ofEmail,
        body: PreviewRequestSchema,
        response: { 200: PreviewResponseSchema },
      },
    },
    (request, reply) =>
      deps.commands.previewTemplate(callerOf(request), request.params.id, request.body, untilClosed(reply)),
  );
};

const documentPreviewRoutes = (app: App, deps: Deps): void => {
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
        ...ofAttachment,
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
        ...ofAttachment,
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
  return sendDocument(
    reply,
    await deps.commands.previewAttachmentTemplate(callerOf(request), id, wanted, untilClosed(reply)),
  );
};

const sendDocument = (reply: FastifyReply, made: DocumentPreview): FastifyReply => {
  const { bytes, format, name, emptyPaths, replaced, warnings } = made;
  const { contentType, extension } = files[format];
  return tellWarnings(tellReplaced(tellEmptyPaths(reply, emptyPaths), replaced), warnings)
    .header('content-type', contentType)
    .header('content-disposition', disposition('inline', `${safeFilename(name) || 'document'}${extension}`))
    .send(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
};

const linkRoutes = (app: App, deps: Deps): void => {
  for (const { path, kind, tags, params, summary, operationId, examples, body } of links) {
    app.post(
      path,
      {
        config: { access: 'templates:read', command: 'makePreviewLink', unknownId, examples },
        preValidation: bodyMayBeAbsent,
        schema: {
          summary,
          description:
            'The link is good for 15 minutes and needs no key: whoever has it sees this one preview and nothing else. What it shows is made when it is opened.',
          operationId,
          tags,
          params,
          body,
          response: { 200: PreviewLinkSchema },
        },
      },
      async (request) => {
        const asked = { kind, reference: request.params.id, request: request.body as JsonObject };
        return linkOf(deps, await deps.commands.makePreviewLink(callerOf(request), asked));
      },
    );
  }
};

const links = [
  {
    ...ofEmail,
    path: '/api/templates/:id/preview/link',
    kind: 'email',
    summary: 'Make a link that shows a template in a browser',
    operationId: 'makePreviewLink',
    examples: previewExamples,
    body: PreviewRequestSchema,
  },
  {
    ...ofAttachment,
    path: '/api/templates/attachment/:id/preview/link',
    kind: 'document',
    summary: 'Make a link that shows the document of an attachment template in a browser',
    operationId: 'makeDocumentPreviewLink',
    examples: documentPreviewExamples,
    body: DocumentPreviewRequestSchema,
  },
] as const;

const PREVIEW_PATH = '/p/';

/** The answer with the link. Throws VALIDATION_ERROR where the variables do not fit into one. */
const linkOf = (
  { settings, limits }: Pick<HttpDeps, 'settings' | 'limits'>,
  { token, expiresAt }: Readonly<{ token: string; expiresAt: string }>,
): Readonly<{ url: string; expiresAt: string }> => {
  const path = `${PREVIEW_PATH}${token}`;
  if (path.length > limits.urlSizeBytesMax)
    throw invalid(
      'request body',
      'variables',
      `make a link of ${path.length} bytes; ${limits.urlSizeBytesMax} are the most`,
    );
  return { url: `${settings.publicUrl}${path}`, expiresAt };
};

/** Answers the mail as a page in which nothing of it can act. */
const sendMailPage = (reply: FastifyReply, { html, emptyPaths, warnings }: PreviewResponse): FastifyReply =>
  tellWarnings(tellEmptyPaths(reply, emptyPaths), warnings)
    .header('content-type', 'text/html; charset=utf-8')
    .header('content-security-policy', MAIL_CSP)
    .send(html);

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
        return sendMailPage(
          reply,
          await commands.previewTemplate(caller, link.id, link.request as PreviewRequest, signal),
        );
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

const UNSAVED =
  'Nothing is stored. The answer has what can be shown, and in `errors` what a save would refuse. Each caller gets one such preview at a time: a later call ends the one before, which is answered `PREVIEW_SUPERSEDED`.';

const superseded = (): DomainError =>
  new DomainError('PREVIEW_SUPERSEDED', 'A later preview was asked for before this one was made; show that one.');

/** Registers the previews of what is not saved, for editors. */
const unsavedRoutes = (app: App, { commands }: Deps): void => {
  const latest = openLatest(superseded);
  const made = <Made>(
    request: FastifyRequest,
    reply: FastifyReply,
    preview: (caller: Caller, signal: AbortSignal) => Promise<Made>,
  ): Promise<Made> => {
    const caller = callerOf(request);
    return latest(`${caller.teamId} ${caller.actor}`, untilClosed(reply), (signal) => preview(caller, signal));
  };
  const config = { access: 'templates:write' } as const;

  app.post(
    '/api/templates/preview',
    {
      config: { ...config, command: 'previewUnsavedTemplate', examples: unsavedTemplateExamples },
      schema: {
        summary: 'Render a template that is not saved',
        description: UNSAVED,
        operationId: 'previewUnsavedTemplate',
        tags: ofEmail.tags,
        body: PreviewUnsavedTemplateRequestSchema,
        response: { 200: UnsavedTemplatePreviewSchema },
      },
    },
    (request, reply) =>
      made(request, reply, (caller, signal) => commands.previewUnsavedTemplate(caller, request.body, signal)),
  );

  app.post(
    '/api/templates/convert',
    {
      config: { ...config, command: 'convertTemplate', examples: convertExamples },
      schema: {
        summary: 'Convert a mail of another service to a template',
        description:
          'Nothing is stored: `template` is a body of `POST /api/templates`. `notes` names what the template says otherwise or not at all. `original` and `preview` are the mail before and after, filled with `samples`. The HTML of `original` is as its author wrote it, with its scripts: show it only in an `iframe` with an empty `sandbox` attribute. Each caller gets one preview or conversion at a time: a later call ends the one before, which is answered `PREVIEW_SUPERSEDED`.',
        operationId: 'convertTemplate',
        tags: ofEmail.tags,
        body: ConvertTemplateRequestSchema,
        response: { 200: ConvertedTemplateSchema },
      },
    },
    (request, reply) =>
      made(request, reply, (caller, signal) => commands.convertTemplate(caller, request.body, signal)),
  );

  app.post(
    '/api/templates/attachment/preview',
    {
      config: { ...config, command: 'previewUnsavedAttachment', examples: unsavedAttachmentExamples },
      schema: {
        summary: 'Make the document of an attachment template that is not saved',
        description: UNSAVED,
        operationId: 'previewUnsavedAttachmentTemplate',
        tags: ofAttachment.tags,
        body: PreviewUnsavedAttachmentRequestSchema,
        response: { 200: UnsavedDocumentPreviewSchema },
      },
    },
    (request, reply) =>
      made(request, reply, (caller, signal) => commands.previewUnsavedAttachment(caller, request.body, signal)),
  );

  app.post(
    '/api/blocks/preview',
    {
      config: { ...config, command: 'previewUnsavedBlock', examples: unsavedBlockExamples },
      schema: {
        summary: 'Render a block that is not saved',
        description: `Shows the block alone in a mail; in a layout a word stands for the slot. ${UNSAVED}`,
        operationId: 'previewUnsavedBlock',
        tags: ['Blocks'],
        body: PreviewUnsavedBlockRequestSchema,
        response: { 200: UnsavedBlockPreviewSchema },
      },
    },
    (request, reply) =>
      made(request, reply, (caller, signal) => commands.previewUnsavedBlock(caller, request.body, signal)),
  );
};

const testRoute = (app: App, { commands, queries }: Deps): void => {
  app.post(
    '/api/templates/:id/test',
    {
      config: {
        access: 'templates:write',
        audited: { action: 'template.tested', target: 'template' },
        command: 'testTemplate',
        unknownId,
        examples: testTemplateExamples,
      },
      preValidation: bodyMayBeAbsent,
      schema: {
        summary: 'Send a test of a template',
        description:
          'The draft, or a version, to people of the team: a mail with `[Test]` before its subject. It has `test: true`, costs nothing and is in no figures. Default values stand in for variables that are not given.',
        operationId: 'testTemplate',
        ...ofEmail,
        body: TestTemplateRequestSchema,
        response: { 201: SendEmailResponseSchema },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const answer = await commands.testTemplate(caller, request.params.id, request.body, () =>
        queries.storedAttachmentBytes(caller.teamId),
      );
      reply.code(201);
      return answer;
    },
  );
};

/** Registers the routes of previews and tests, and the page of links to previews. */
export const previewRoutes = (app: App, deps: Deps): void => {
  testRoute(app, deps);
  unsavedRoutes(app, deps);
  linkRoutes(app, deps);
  previewPage(app, deps);
  mailPreviewRoutes(app, deps);
  documentPreviewRoutes(app, deps);
};
