/** The routes under /api/api-keys. The key itself is shown once, in the answer that created it. */
import {
  ApiKeyRecordSchema,
  ChangeApiKeyRequestSchema,
  CreateApiKeyRequestSchema,
  CreatedApiKeySchema,
  RevokeApiKeyQuerySchema,
} from '../../api/keys.js';
import { DeletedSchema, idParams, pageOf } from '../../api/core/common.js';
import { DomainError } from '../../domain/core/errors.js';
import { parseApiKeyId, type ApiKeyId } from '../../domain/core/ids.js';
import { callerOf, type App, type HttpDeps, OWN_WRITES_WAIT_MS } from '../server/context.js';
import { coerceQuery } from '../server/validation.js';
import { changeApiKeyExamples, createApiKeyExamples } from '../../api/examples.js';
import { PagingQuerySchema } from '../../api/core/queries.js';
import { pagingOf } from '../server/query.js';

type Deps = Pick<HttpDeps, 'commands' | 'queries'>;

const tags = ['API keys'];
const params = idParams('Id of the API key (`key_…`)');
const access = 'api-keys:manage';
const unknownId = 'API_KEY_UNKNOWN';

/** Registers the routes under /api/api-keys. */
export const apiKeyRoutes = (app: App, deps: Deps): void => {
  collectionRoutes(app, deps);
  keyRoutes(app, deps);
};

const collectionRoutes = (app: App, deps: Deps): void => {
  app.get(
    '/api/api-keys',
    {
      config: { access, codes: ['INVALID_CURSOR'] },
      preValidation: coerceQuery(PagingQuerySchema),
      schema: {
        summary: 'List API keys',
        operationId: 'listApiKeys',
        tags,
        querystring: PagingQuerySchema,
        response: { 200: pageOf(ApiKeyRecordSchema) },
      },
    },
    async (request) => {
      const { teamId } = callerOf(request);
      await deps.queries.awaitOwnWrites(teamId, OWN_WRITES_WAIT_MS);
      return deps.queries.listApiKeys(teamId, pagingOf(request.query));
    },
  );

  app.post(
    '/api/api-keys',
    {
      config: { access, command: 'createApiKey', examples: createApiKeyExamples },
      schema: {
        summary: 'Create an API key',
        description:
          'A key gives no permission that it lacks, no later end, no higher rate limit and no wider networks than its own. Keep the answer: the key is never shown again.',
        operationId: 'createApiKey',
        tags,
        body: CreateApiKeyRequestSchema,
        response: { 201: CreatedApiKeySchema },
      },
    },
    async (request, reply) => {
      const created = await deps.commands.createApiKey(callerOf(request), request.body);
      reply.code(201);
      return created;
    },
  );
};

const keyRoutes = (app: App, deps: Deps): void => {
  app.get(
    '/api/api-keys/:id',
    {
      config: { access, command: 'getApiKey', unknownId },
      schema: {
        summary: 'Read an API key',
        operationId: 'getApiKey',
        tags,
        params,
        response: { 200: ApiKeyRecordSchema },
      },
    },
    (request) => deps.commands.getApiKey(callerOf(request), apiKeyIdOf(request.params.id)),
  );

  app.patch(
    '/api/api-keys/:id',
    {
      config: { access, command: 'changeApiKey', unknownId, examples: changeApiKeyExamples },
      schema: {
        summary: 'Change an API key',
        description:
          'Its name, description, networks and rate limit. A key gives no other, and not itself, a higher limit or wider networks than it has, nor than the key has that made that one. Permissions and expiry stay.',
        operationId: 'changeApiKey',
        tags,
        params,
        body: ChangeApiKeyRequestSchema,
        response: { 200: ApiKeyRecordSchema },
      },
    },
    (request) => deps.commands.changeApiKey(callerOf(request), apiKeyIdOf(request.params.id), request.body),
  );

  app.delete(
    '/api/api-keys/:id',
    {
      config: { access, command: 'revokeApiKey', unknownId },
      preValidation: coerceQuery(RevokeApiKeyQuerySchema),
      schema: {
        summary: 'Revoke an API key',
        description: 'It stops working at once and for good; its record stays, with the status `revoked`.',
        operationId: 'revokeApiKey',
        tags,
        params,
        querystring: RevokeApiKeyQuerySchema,
        response: { 200: DeletedSchema },
      },
    },
    async (request) => {
      const { id } = await deps.commands.revokeApiKey(
        callerOf(request),
        apiKeyIdOf(request.params.id),
        request.query.withMade,
      );
      return { id, deleted: true as const };
    },
  );
};

/** A malformed id is answered as an unknown one. */
const apiKeyIdOf = (text: string): ApiKeyId => {
  const id = parseApiKeyId(text);
  if (id === undefined) throw new DomainError('API_KEY_UNKNOWN', 'There is no API key with this id.');
  return id;
};
