/**
 * Routes of templates of emails and of attachments, and of blocks: making, changing and publishing them, their versions, and deleted
 * ones taken back. `:id` is an id, a short id of an attachment template, or a slug throughout.
 */
import { DeletedSchema, idParams, pageOf, versionParams } from '../../api/core/common.js';
import { TemplateListQuerySchema } from '../../api/core/queries.js';
import {
  createAttachmentTemplateExamples,
  createBlockExamples,
  createTemplateExamples,
  importAttachmentTemplateExamples,
  importBlockExamples,
  importTemplateExamples,
  publishBlockExamples,
  restoreTemplateExamples,
  updateAttachmentTemplateExamples,
  updateBlockExamples,
  updateTemplateExamples,
} from '../../api/examples.js';
import {
  AttachmentTemplateListItemSchema,
  AttachmentTemplateRecordSchema,
  AttachmentTemplateVersionRecordSchema,
  AttachmentTemplateVersionsSchema,
  BlockImpactSchema,
  BlockListItemSchema,
  BlockRecordSchema,
  BlockUsageSchema,
  BlockVersionRecordSchema,
  BlockVersionsSchema,
  CreateAttachmentTemplateRequestSchema,
  CreateBlockRequestSchema,
  CreateTemplateRequestSchema,
  ImportAttachmentTemplateRequestSchema,
  ImportBlockRequestSchema,
  ImportTemplateRequestSchema,
  PublishBlockRequestSchema,
  RestoreTemplateRequestSchema,
  SavedAttachmentTemplateSchema,
  SavedBlockSchema,
  SavedTemplateSchema,
  TemplateListItemSchema,
  TemplateRecordSchema,
  TemplateVersionRecordSchema,
  TemplateVersionsSchema,
  UpdateAttachmentTemplateRequestSchema,
  UpdateBlockRequestSchema,
  UpdateTemplateRequestSchema,
} from '../../api/templates/templates.js';
import { callerOf, type App, type HttpDeps, OWN_WRITES_WAIT_MS } from '../server/context.js';
import { bodyMayBeAbsent, expectedRevisions, tagged } from '../server/headers.js';
import { templateFilterOf, pagingOf } from '../server/query.js';
import { coerceQuery } from '../server/validation.js';

type Deps = Pick<HttpDeps, 'commands' | 'queries'>;

const email = {
  path: '/api/templates',
  unknownId: 'TEMPLATE_NOT_FOUND',
  tags: ['Templates'],
  noun: 'template',
  one: 'a template',
  id: 'Id',
  reference: 'Id or slug',
  query: 'listTemplates',
  versionsOperation: 'listTemplateVersions',
  versionOperation: 'getTemplateVersion',
  commands: {
    get: 'getTemplate',
    create: 'createTemplate',
    import: 'importTemplate',
    update: 'updateTemplate',
    delete: 'deleteTemplate',
    publish: 'publishTemplate',
    versions: 'templateVersions',
    version: 'templateVersion',
    restoreVersion: 'restoreTemplateVersion',
    restore: 'restoreTemplate',
  },
  schemas: {
    item: TemplateListItemSchema,
    record: TemplateRecordSchema,
    saved: SavedTemplateSchema,
    versions: TemplateVersionsSchema,
    version: TemplateVersionRecordSchema,
    create: CreateTemplateRequestSchema,
    import: ImportTemplateRequestSchema,
    update: UpdateTemplateRequestSchema,
  },
  examples: { create: createTemplateExamples, import: importTemplateExamples, update: updateTemplateExamples },
  texts: {
    read: 'The answer may be sent back as it is, to the PATCH, and to the POST of another team or server.',
    create: 'Checks the whole schema and names the path of each fault.',
    delete: 'Emails already accepted are still sent.',
  },
} as const;

const attachment = {
  path: '/api/templates/attachment',
  unknownId: 'TEMPLATE_NOT_FOUND',
  tags: ['Attachment templates'],
  noun: 'attachment template',
  one: 'an attachment template',
  id: 'Id or short id (`atpl_…`)',
  reference: 'Id, short id (`atpl_…`) or slug',
  query: 'listAttachmentTemplates',
  versionsOperation: 'listAttachmentTemplateVersions',
  versionOperation: 'getAttachmentTemplateVersion',
  commands: {
    get: 'getAttachmentTemplate',
    create: 'createAttachmentTemplate',
    import: 'importAttachmentTemplate',
    update: 'updateAttachmentTemplate',
    delete: 'deleteAttachmentTemplate',
    publish: 'publishAttachmentTemplate',
    versions: 'attachmentTemplateVersions',
    version: 'attachmentTemplateVersion',
    restoreVersion: 'restoreAttachmentTemplateVersion',
    restore: 'restoreAttachmentTemplate',
  },
  schemas: {
    item: AttachmentTemplateListItemSchema,
    record: AttachmentTemplateRecordSchema,
    saved: SavedAttachmentTemplateSchema,
    versions: AttachmentTemplateVersionsSchema,
    version: AttachmentTemplateVersionRecordSchema,
    create: CreateAttachmentTemplateRequestSchema,
    import: ImportAttachmentTemplateRequestSchema,
    update: UpdateAttachmentTemplateRequestSchema,
  },
  examples: {
    create: createAttachmentTemplateExamples,
    import: importAttachmentTemplateExamples,
    update: updateAttachmentTemplateExamples,
  },
  texts: {
    read: 'The answer is an export: `POST /api/templates/attachment/import` takes it as it is, and so do POST and PATCH.',
    create: 'Checks the whole schema for each of its formats and names the path of each fault.',
    delete: 'Emails already accepted are still sent with their documents.',
  },
} as const;

const block = {
  path: '/api/blocks',
  unknownId: 'BLOCK_NOT_FOUND',
  tags: ['Blocks'],
  noun: 'block',
  one: 'a block',
  id: 'Id',
  reference: 'Id or slug',
  query: 'listBlocks',
  versionsOperation: 'listBlockVersions',
  versionOperation: 'getBlockVersion',
  commands: {
    get: 'getBlock',
    create: 'createBlock',
    import: 'importBlock',
    update: 'updateBlock',
    delete: 'deleteBlock',
    publish: 'publishBlock',
    versions: 'blockVersions',
    version: 'blockVersion',
    restoreVersion: 'restoreBlockVersion',
    restore: 'restoreBlock',
  },
  schemas: {
    item: BlockListItemSchema,
    record: BlockRecordSchema,
    saved: SavedBlockSchema,
    versions: BlockVersionsSchema,
    version: BlockVersionRecordSchema,
    create: CreateBlockRequestSchema,
    import: ImportBlockRequestSchema,
    update: UpdateBlockRequestSchema,
  },
  examples: { create: createBlockExamples, import: importBlockExamples, update: updateBlockExamples },
  texts: {
    read: 'The answer may be sent back as it is, to the PATCH, and to the POST of another team or server.',
    create: 'Checks the whole schema, names the path of each fault, and finds the outputs that can show the block.',
    delete: 'Emails already accepted are still sent with the block.',
  },
} as const;

/** Differences between the routes of the kinds. */
type Kind = typeof email | typeof attachment | typeof block;

const readOf = ({ unknownId }: Kind) => ({ access: 'templates:read', unknownId }) as const;
const writeOf = ({ unknownId }: Kind) => ({ access: 'templates:write', unknownId }) as const;

const readRoutes = (app: App, { commands, queries }: Deps, kind: Kind): void => {
  const { path, tags, noun, one, reference, schemas } = kind;
  app.get(
    path,
    {
      config: { access: 'templates:read', codes: ['INVALID_CURSOR'] },
      preValidation: coerceQuery(TemplateListQuerySchema),
      schema: {
        summary: `List ${noun}s`,
        operationId: kind.query,
        tags,
        querystring: TemplateListQuerySchema,
        response: { 200: pageOf(schemas.item) },
      },
    },
    async (request) => {
      const { teamId } = callerOf(request);
      const filter = templateFilterOf(request.query);
      await queries.awaitOwnWrites(teamId, OWN_WRITES_WAIT_MS);
      return queries[kind.query](teamId, filter, pagingOf(request.query));
    },
  );

  const command = kind.commands.get;
  app.get(
    `${path}/:id`,
    {
      config: { ...readOf(kind), command, etag: true },
      schema: {
        summary: `Read ${one}`,
        description: kind.texts.read,
        operationId: command,
        tags,
        params: idParams(`${reference} of the ${noun}`),
        response: { 200: schemas.record },
      },
    },
    async (request, reply) => tagged(reply, await commands[command](callerOf(request), request.params.id)),
  );
};

const creationRoutes = (
  app: App,
  { commands }: Deps,
  { path, tags, one, commands: names, schemas, examples, texts }: Kind,
): void => {
  app.post(
    path,
    {
      config: { access: 'templates:write', command: names.create, etag: true, examples: examples.create },
      schema: {
        summary: `Create ${one}`,
        description: texts.create,
        operationId: names.create,
        tags,
        body: schemas.create,
        response: { 201: schemas.saved },
      },
    },
    async (request, reply) => {
      const record = await commands[names.create](callerOf(request), request.body as never);
      reply.code(201);
      return tagged(reply, record);
    },
  );

  app.post(
    `${path}/import`,
    {
      config: { access: 'templates:write', command: names.import, etag: true, examples: examples.import },
      schema: {
        summary: `Import ${one}`,
        description: `Saves and publishes what \`GET ${path}/{id}\` answered, here or elsewhere; what only the server says of a template is left aside. 201 for a new template; 200 where there is one of that \`slug\`, which gets a next version.`,
        operationId: names.import,
        tags,
        body: schemas.import,
        response: { 200: schemas.saved, 201: schemas.saved },
      },
    },
    async (request, reply) => {
      const { template, created } = await commands[names.import](callerOf(request), request.body as never);
      reply.code(created ? 201 : 200);
      return tagged(reply, template);
    },
  );
};

const changeRoutes = (app: App, { commands }: Deps, kind: Kind): void => {
  const { path, tags, one, commands: names, schemas } = kind;
  const params = idParams(`${kind.reference} of the ${kind.noun}`);
  app.patch(
    `${path}/:id`,
    {
      config: {
        ...writeOf(kind),
        command: names.update,
        etag: true,
        conditional: true,
        examples: kind.examples.update,
      },
      schema: {
        summary: `Change the draft of ${one}`,
        description: 'The published version does not change until the next publish.',
        operationId: names.update,
        tags,
        params,
        body: schemas.update,
        response: { 200: schemas.saved },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      return tagged(
        reply,
        await commands[names.update](callerOf(request), id, request.body as never, expectedRevisions(request)),
      );
    },
  );

  app.delete(
    `${path}/:id`,
    {
      config: { ...writeOf(kind), command: names.delete, conditional: true },
      schema: {
        summary: `Delete ${one}`,
        description: `${kind.texts.delete} For 30 days \`POST ${path}/{id}/restore\` takes it back.`,
        operationId: names.delete,
        tags,
        params,
        response: { 200: DeletedSchema },
      },
    },
    (request) => commands[names.delete](callerOf(request), request.params.id, expectedRevisions(request)),
  );
};

const publishRoutes = (app: App, { commands }: Deps, kind: typeof email | typeof attachment): void => {
  const { path, tags, commands: names, schemas } = kind;
  app.post(
    `${path}/:id/publish`,
    {
      config: { ...writeOf(kind), command: names.publish, etag: true, conditional: true },
      schema: {
        summary: 'Publish the draft as the next version',
        operationId: names.publish,
        tags,
        params: idParams(`${kind.reference} of the ${kind.noun}`),
        response: { 200: schemas.record },
      },
    },
    async (request, reply) =>
      tagged(reply, await commands[names.publish](callerOf(request), request.params.id, expectedRevisions(request))),
  );
};

/** Routes that only blocks have: their publish, where they are used, and how a draft changes what follows them. */
const blockRoutes = (app: App, { commands }: Deps): void => {
  const { path, tags, schemas } = block;
  const params = idParams('Id or slug of the block');
  app.post(
    `${path}/:id/publish`,
    {
      config: {
        ...writeOf(block),
        command: 'publishBlock',
        etag: true,
        conditional: true,
        examples: publishBlockExamples,
      },
      preValidation: bodyMayBeAbsent,
      schema: {
        summary: 'Publish the draft as the next version',
        description:
          'Templates that follow the block show it from now on. Where a published one could not be rendered any more, nothing is published, unless `force` is true.',
        operationId: 'publishBlock',
        tags,
        params,
        body: PublishBlockRequestSchema,
        response: { 200: schemas.record },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const { body } = request;
      return tagged(reply, await commands.publishBlock(callerOf(request), id, expectedRevisions(request), body));
    },
  );

  app.get(
    `${path}/:id/usage`,
    {
      config: { ...readOf(block), command: 'blockUsage' },
      schema: {
        summary: 'List the templates and blocks that name a block',
        operationId: 'blockUsage',
        tags,
        params,
        response: { 200: BlockUsageSchema },
      },
    },
    (request) => commands.blockUsage(callerOf(request), request.params.id),
  );

  app.get(
    `${path}/:id/impact`,
    {
      config: { ...readOf(block), command: 'blockImpact' },
      schema: {
        summary: 'Show how the draft of a block changes the templates that follow it',
        description:
          'Renders each of them with the published block and with the draft, with the defaults of its variables; up to 100.',
        operationId: 'blockImpact',
        tags,
        params,
        response: { 200: BlockImpactSchema },
      },
    },
    (request) => commands.blockImpact(callerOf(request), request.params.id),
  );
};

const versionRoutes = (app: App, { commands }: Deps, kind: Kind): void => {
  const { path, tags, one, commands: names, schemas } = kind;
  const name = `${kind.reference} of the ${kind.noun}`;
  app.get(
    `${path}/:id/versions`,
    {
      config: { ...readOf(kind), command: names.versions },
      schema: {
        summary: `List the published versions of ${one}`,
        operationId: kind.versionsOperation,
        tags,
        params: idParams(name),
        response: { 200: schemas.versions },
      },
    },
    async (request) => ({ data: [...(await commands[names.versions](callerOf(request), request.params.id))] }),
  );

  app.get(
    `${path}/:id/versions/:version`,
    {
      config: { ...readOf(kind), command: names.version },
      schema: {
        summary: `Read a published version of ${one}`,
        operationId: kind.versionOperation,
        tags,
        params: versionParams(name),
        response: { 200: schemas.version },
      },
    },
    (request) => commands[names.version](callerOf(request), request.params.id, request.params.version),
  );
};

const restoreRoutes = (app: App, { commands }: Deps, kind: Kind): void => {
  const { path, tags, noun, id, reference, commands: names, schemas } = kind;
  app.post(
    `${path}/:id/versions/:version/restore`,
    {
      config: { ...writeOf(kind), command: names.restoreVersion, etag: true, conditional: true },
      schema: {
        summary: 'Make a published version the draft again',
        description:
          'Makes the content of that version the draft; what is published stays as it is until the next publish.',
        operationId: names.restoreVersion,
        tags,
        params: versionParams(`${reference} of the ${noun}`),
        response: { 200: schemas.record },
      },
    },
    async (request, reply) => {
      const { id, version } = request.params;
      return tagged(
        reply,
        await commands[names.restoreVersion](callerOf(request), id, version, expectedRevisions(request)),
      );
    },
  );

  app.post(
    `${path}/:id/restore`,
    {
      config: { ...writeOf(kind), command: names.restore, etag: true, examples: restoreTemplateExamples },
      preValidation: bodyMayBeAbsent,
      schema: {
        summary: `Restore a deleted ${noun}`,
        description:
          'For 30 days after the DELETE, with all its versions. Its slug is taken again; where another template has it by now, give another in `slug`. Nothing is changed of a template that is not deleted.',
        operationId: names.restore,
        tags,
        params: idParams(`${id} of the ${noun}`),
        body: RestoreTemplateRequestSchema,
        response: { 200: schemas.record },
      },
    },
    async (request, reply) =>
      tagged(reply, await commands[names.restore](callerOf(request), request.params.id, request.body)),
  );
};

/** Registers the routes under /api/templates, but for previews, and those under /api/blocks. */
export const templateRoutes = (app: App, deps: Deps): void => {
  for (const kind of [email, attachment, block]) {
    readRoutes(app, deps, kind);
    creationRoutes(app, deps, kind);
    changeRoutes(app, deps, kind);
    versionRoutes(app, deps, kind);
    restoreRoutes(app, deps, kind);
  }
  for (const kind of [email, attachment]) publishRoutes(app, deps, kind);
  blockRoutes(app, deps);
};
