/**
 * Routes of a template's past, for both kinds of templates: published versions, versions put back into the draft, and deleted templates
 * taken back.
 */
import {
  AttachmentTemplateRecordSchema,
  AttachmentTemplateVersionRecordSchema,
  AttachmentTemplateVersionsSchema,
  RestoreTemplateRequestSchema,
  TemplateRecordSchema,
  TemplateVersionRecordSchema,
  TemplateVersionsSchema,
} from '../../api/templates/templates.js';
import { idParams, versionParams } from '../../api/core/common.js';
import { restoreTemplateExamples } from '../../api/examples.js';
import { callerOf, type App, type HttpDeps } from '../server/context.js';
import { bodyMayBeAbsent, expectedRevisions, tagged } from '../server/headers.js';

type Deps = Pick<HttpDeps, 'commands'>;

const unknownId = 'TEMPLATE_NOT_FOUND';
const restoring = 'Makes the content of that version the draft; what is published stays as it is until the next publish.';
const takingBack =
  'For 30 days after the DELETE, with all its versions. Its slug is taken again; where another template has it by now, give another in `slug`. Nothing is changed of a template that is not deleted.';

const emailVersionRoutes = (app: App, deps: Deps): void => {
  const tags = ['Templates'];
  const name = 'Id or slug of the template';
  app.get(
    '/api/templates/:id/versions',
    {
      config: { access: 'templates:read', command: 'templateVersions', unknownId },
      schema: {
        summary: 'List the published versions of a template',
        operationId: 'listTemplateVersions',
        tags,
        params: idParams(name),
        response: { 200: TemplateVersionsSchema },
      },
    },
    async (request) => ({ data: [...(await deps.commands.templateVersions(callerOf(request), request.params.id))] }),
  );

  app.get(
    '/api/templates/:id/versions/:version',
    {
      config: { access: 'templates:read', command: 'templateVersion', unknownId },
      schema: {
        summary: 'Read a published version of a template',
        operationId: 'getTemplateVersion',
        tags,
        params: versionParams(name),
        response: { 200: TemplateVersionRecordSchema },
      },
    },
    (request) => deps.commands.templateVersion(callerOf(request), request.params.id, request.params.version),
  );
};

const emailRestoreRoutes = (app: App, deps: Deps): void => {
  const tags = ['Templates'];
  app.post(
    '/api/templates/:id/versions/:version/restore',
    {
      config: { access: 'templates:write', command: 'restoreTemplateVersion', unknownId, etag: true, conditional: true },
      schema: {
        summary: 'Make a published version the draft again',
        description: restoring,
        operationId: 'restoreTemplateVersion',
        tags,
        params: versionParams('Id or slug of the template'),
        response: { 200: TemplateRecordSchema },
      },
    },
    async (request, reply) => {
      const { id, version } = request.params;
      return tagged(reply, await deps.commands.restoreTemplateVersion(callerOf(request), id, version, expectedRevisions(request)));
    },
  );

  app.post(
    '/api/templates/:id/restore',
    {
      config: { access: 'templates:write', command: 'restoreTemplate', unknownId, etag: true, examples: restoreTemplateExamples },
      preValidation: bodyMayBeAbsent,
      schema: {
        summary: 'Restore a deleted template',
        description: takingBack,
        operationId: 'restoreTemplate',
        tags,
        params: idParams('Id of the template'),
        body: RestoreTemplateRequestSchema,
        response: { 200: TemplateRecordSchema },
      },
    },
    async (request, reply) => tagged(reply, await deps.commands.restoreTemplate(callerOf(request), request.params.id, request.body)),
  );
};

const attachmentVersionRoutes = (app: App, deps: Deps): void => {
  const tags = ['Attachment templates'];
  const name = 'Id, short id (`atpl_…`) or slug of the attachment template';
  app.get(
    '/api/templates/attachment/:id/versions',
    {
      config: { access: 'templates:read', command: 'attachmentTemplateVersions', unknownId },
      schema: {
        summary: 'List the published versions of an attachment template',
        operationId: 'listAttachmentTemplateVersions',
        tags,
        params: idParams(name),
        response: { 200: AttachmentTemplateVersionsSchema },
      },
    },
    async (request) => ({ data: [...(await deps.commands.attachmentTemplateVersions(callerOf(request), request.params.id))] }),
  );

  app.get(
    '/api/templates/attachment/:id/versions/:version',
    {
      config: { access: 'templates:read', command: 'attachmentTemplateVersion', unknownId },
      schema: {
        summary: 'Read a published version of an attachment template',
        operationId: 'getAttachmentTemplateVersion',
        tags,
        params: versionParams(name),
        response: { 200: AttachmentTemplateVersionRecordSchema },
      },
    },
    (request) => deps.commands.attachmentTemplateVersion(callerOf(request), request.params.id, request.params.version),
  );
};

const attachmentRestoreRoutes = (app: App, deps: Deps): void => {
  const tags = ['Attachment templates'];
  app.post(
    '/api/templates/attachment/:id/versions/:version/restore',
    {
      config: { access: 'templates:write', command: 'restoreAttachmentTemplateVersion', unknownId, etag: true, conditional: true },
      schema: {
        summary: 'Make a published version the draft again',
        description: restoring,
        operationId: 'restoreAttachmentTemplateVersion',
        tags,
        params: versionParams('Id, short id (`atpl_…`) or slug of the attachment template'),
        response: { 200: AttachmentTemplateRecordSchema },
      },
    },
    async (request, reply) => {
      const { id, version } = request.params;
      return tagged(
        reply,
        await deps.commands.restoreAttachmentTemplateVersion(callerOf(request), id, version, expectedRevisions(request)),
      );
    },
  );

  app.post(
    '/api/templates/attachment/:id/restore',
    {
      config: { access: 'templates:write', command: 'restoreAttachmentTemplate', unknownId, etag: true, examples: restoreTemplateExamples },
      preValidation: bodyMayBeAbsent,
      schema: {
        summary: 'Restore a deleted attachment template',
        description: takingBack,
        operationId: 'restoreAttachmentTemplate',
        tags,
        params: idParams('Id or short id (`atpl_…`) of the attachment template'),
        body: RestoreTemplateRequestSchema,
        response: { 200: AttachmentTemplateRecordSchema },
      },
    },
    async (request, reply) =>
      tagged(reply, await deps.commands.restoreAttachmentTemplate(callerOf(request), request.params.id, request.body)),
  );
};

/** Registers the routes of versions and of deleted templates. */
export const templateVersionRoutes = (app: App, deps: Deps): void => {
  emailVersionRoutes(app, deps);
  emailRestoreRoutes(app, deps);
  attachmentVersionRoutes(app, deps);
  attachmentRestoreRoutes(app, deps);
};
