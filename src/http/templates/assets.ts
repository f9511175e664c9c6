/** Routes of the gallery: pictures and files that templates and attachments refer to by id. */
import { assetTooLarge, isRaster, assetNotFound, assetTypes } from '../../domain/templates/asset.js';
import { AssetRecordSchema, CreateAssetRequestSchema, type CreateAssetRequest } from '../../api/templates/templates.js';
import { decodeBase64, NO_BASE64 } from '../../domain/core/json.js';
import { DeletedSchema, DeleteQuerySchema, idParams, pageOf } from '../../api/core/common.js';
import { invalid } from '../../domain/core/errors.js';
import { parseAssetId, type AssetId } from '../../domain/core/ids.js';
import type { Upload } from '../../commands/templates/assets.js';
import { callerOf, type App, type HttpDeps, OWN_WRITES_WAIT_MS } from '../server/context.js';
import { contentPolicy, disposition } from '../server/headers.js';
import { readUpload, registerUploads, uploadSlots } from '../server/upload.js';
import { coerceQuery } from '../server/validation.js';
import { createAssetExamples } from '../../api/examples.js';
import { AssetListQuerySchema } from '../../api/core/queries.js';
import { deletableFilterOf, pagingOf } from '../server/query.js';

type Deps = Pick<HttpDeps, 'commands' | 'queries' | 'limits' | 'limiter'>;

const tags = ['Assets'];
const params = idParams('Id of the asset');
const unknownId = 'ASSET_NOT_FOUND';
/** A file of a stranger must never act on our origin, whatever is in it. */
const FILE_CSP = contentPolicy({}, { sandbox: '' });

/** A malformed id is answered as an unknown one. */
const assetIdOf = (text: string): AssetId => {
  const id = parseAssetId(text);
  if (id === undefined) throw assetNotFound();
  return id;
};

/** `body`: undefined where there is none, which the schema of a media type does not see. */
const decoded = (body: CreateAssetRequest | undefined): Upload => {
  if (body === undefined)
    throw invalid('request body', '', 'must be a form (multipart/form-data) with the field `file`, or JSON');
  const { filename, content } = body;
  const bytes = decodeBase64(content);
  if (bytes !== undefined) return { filename, bytes };
  throw invalid('request body', 'content', NO_BASE64);
};

const uploadRoute = (app: App, deps: Deps): void => {
  const { assetSizeBytesMax } = deps.limits;
  app.post(
    '/api/assets',
    {
      config: { access: 'templates:write', command: 'uploadAsset', uploads: true, examples: createAssetExamples },
      onRequest: uploadSlots(deps),
      schema: {
        summary: 'Upload an asset',
        description: 'As `multipart/form-data` with the one field `file`, or as JSON. The type is told from the bytes.',
        operationId: 'createAsset',
        tags,
        // Only JSON has a schema: a form is read and checked part by part.
        body: { content: { 'application/json': { schema: CreateAssetRequestSchema } } },
        response: { 201: AssetRecordSchema },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const upload = request.isMultipart()
        ? await readUpload(request, assetSizeBytesMax, () => assetTooLarge(undefined, assetSizeBytesMax))
        : decoded(request.body as CreateAssetRequest | undefined);
      await deps.queries.awaitOwnWrites(caller.teamId, OWN_WRITES_WAIT_MS);
      const record = await deps.commands.uploadAsset(caller, upload, await deps.queries.assetUsage(caller.teamId));
      reply.code(201);
      return record;
    },
  );
};

const readRoutes = (app: App, deps: Deps): void => {
  app.get(
    '/api/assets',
    {
      config: { access: 'templates:read', codes: ['INVALID_CURSOR'] },
      preValidation: coerceQuery(AssetListQuerySchema),
      schema: {
        summary: 'List assets',
        description: 'Newest first.',
        operationId: 'listAssets',
        tags,
        querystring: AssetListQuerySchema,
        response: { 200: pageOf(AssetRecordSchema) },
      },
    },
    async (request) => {
      const { teamId } = callerOf(request);
      const filter = deletableFilterOf(request.query);
      await deps.queries.awaitOwnWrites(teamId, OWN_WRITES_WAIT_MS);
      return deps.queries.listAssets(teamId, filter, pagingOf(request.query));
    },
  );

  app.get(
    '/api/assets/:id',
    {
      config: { access: 'templates:read', command: 'getAsset', unknownId },
      schema: { summary: 'Read an asset', operationId: 'getAsset', tags, params, response: { 200: AssetRecordSchema } },
    },
    (request) => deps.commands.getAsset(callerOf(request), assetIdOf(request.params.id)),
  );

  app.get(
    '/api/assets/:id/content',
    {
      config: { access: 'templates:read', command: 'assetContent', unknownId, media: assetTypes },
      schema: {
        summary: 'Download an asset',
        description: 'Its bytes, with the type that they have.',
        operationId: 'getAssetContent',
        tags,
        params,
      },
    },
    async (request, reply) => {
      const { bytes, contentType, filename } = await deps.commands.assetContent(
        callerOf(request),
        assetIdOf(request.params.id),
      );
      return reply
        .header('content-type', contentType.startsWith('text/') ? `${contentType}; charset=utf-8` : contentType)
        .header('content-security-policy', FILE_CSP)
        .header('content-disposition', disposition(isRaster(contentType) ? 'inline' : 'attachment', filename))
        .send(bytes);
    },
  );
};

const deletionRoutes = (app: App, deps: Deps): void => {
  app.delete(
    '/api/assets/:id',
    {
      config: { access: 'templates:write', command: 'deleteAsset', unknownId },
      preValidation: coerceQuery(DeleteQuerySchema),
      schema: {
        summary: 'Delete an asset',
        description:
          'Emails already accepted keep what they carry. For 30 days `POST /api/assets/{id}/restore` takes it back, and it takes room in the gallery; then its bytes are gone for good.',
        operationId: 'deleteAsset',
        tags,
        params,
        querystring: DeleteQuerySchema,
        response: { 200: DeletedSchema },
      },
    },
    (request) => deps.commands.deleteAsset(callerOf(request), assetIdOf(request.params.id), request.query),
  );

  app.post(
    '/api/assets/:id/restore',
    {
      config: { access: 'templates:write', command: 'restoreAsset', unknownId },
      schema: {
        summary: 'Restore a deleted asset',
        description: 'Within 30 days of its deletion.',
        operationId: 'restoreAsset',
        tags,
        params,
        response: { 200: AssetRecordSchema },
      },
    },
    (request) => deps.commands.restoreAsset(callerOf(request), assetIdOf(request.params.id)),
  );
};

/** Registers the routes under /api/assets. */
export const assetRoutes = (app: App, deps: Deps): void => {
  // In a scope of its own: no other endpoint takes forms.
  app.register(async (scope: App) => {
    await registerUploads(scope);
    uploadRoute(scope, deps);
  });
  readRoutes(app, deps);
  deletionRoutes(app, deps);
};
