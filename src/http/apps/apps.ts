/** The routes under /api/oauth-apps, and those under /api/users/me/grants for what the caller granted to apps. */
import {
  OAuthGrantRecordSchema,
  CreatedOAuthAppSchema,
  CreateOAuthAppRequestSchema,
  OAuthAppRecordSchema,
  RotateAppSecretRequestSchema,
  RotatedAppSecretSchema,
  UpdateOAuthAppRequestSchema,
  createOAuthAppExamples,
  rotateAppSecretExamples,
  updateOAuthAppExamples,
} from '../../api/apps.js';
import { DeletedSchema, idParams, pageOf } from '../../api/core/common.js';
import { PagingQuerySchema } from '../../api/core/queries.js';
import { grantNotFound } from '../../commands/apps/tokens.js';
import { parseOAuthGrantId, type OAuthGrantId, parseOAuthClientId, type OAuthClientId } from '../../domain/core/ids.js';
import { callerOf, type App, type HttpDeps, OWN_WRITES_WAIT_MS } from '../server/context.js';
import { coerceQuery } from '../server/validation.js';
import { pagingOf } from '../server/query.js';
import { appNotFound } from '../../domain/apps/app.js';
import { bodyMayBeAbsent } from '../server/headers.js';

type Deps = Pick<HttpDeps, 'commands' | 'queries'>;

const tags = ['OAuth'];

const PATH = '/api/oauth-apps';

const access = 'oauth-apps:manage';

const unknownId = 'OAUTH_APP_NOT_FOUND';

const params = idParams('Id of the app, its client_id (`app_…`)');

/** Registers the routes under /api/oauth-apps. */
export const oauthAppRoutes = (app: App, deps: Deps): void => {
  collectionRoutes(app, deps);
  appRoutes(app, deps);
  endingRoutes(app, deps);
};

const collectionRoutes = (app: App, { commands, queries }: Deps): void => {
  app.get(
    PATH,
    {
      config: { access, codes: ['INVALID_CURSOR'] },
      preValidation: coerceQuery(PagingQuerySchema),
      schema: {
        summary: 'List apps',
        description: 'Newest first.',
        operationId: 'listOAuthApps',
        tags,
        querystring: PagingQuerySchema,
        response: { 200: pageOf(OAuthAppRecordSchema) },
      },
    },
    async (request) => {
      const { teamId } = callerOf(request);
      await queries.awaitOwnWrites(teamId, OWN_WRITES_WAIT_MS);
      return queries.listOAuthApps(teamId, pagingOf(request.query));
    },
  );

  app.post(
    PATH,
    {
      config: { access, command: 'createOAuthApp', examples: createOAuthAppExamples },
      schema: {
        summary: 'Register an app',
        description: 'Keep the answer: the secret is never shown again.',
        operationId: 'createOAuthApp',
        tags,
        body: CreateOAuthAppRequestSchema,
        response: { 201: CreatedOAuthAppSchema },
      },
    },
    async (request, reply) => {
      const created = await commands.createOAuthApp(callerOf(request), request.body);
      reply.code(201);
      return created;
    },
  );
};

const appRoutes = (app: App, { commands }: Deps): void => {
  app.get(
    `${PATH}/:id`,
    {
      config: { access, command: 'getOAuthApp', unknownId },
      schema: {
        summary: 'Read an app',
        operationId: 'getOAuthApp',
        tags,
        params,
        response: { 200: OAuthAppRecordSchema },
      },
    },
    (request) => commands.getOAuthApp(callerOf(request), appIdOf(request.params.id)),
  );

  app.patch(
    `${PATH}/:id`,
    {
      config: { access, command: 'updateOAuthApp', unknownId, examples: updateOAuthAppExamples },
      schema: {
        summary: 'Change an app',
        description: 'A scope that is taken away is taken from what was granted already.',
        operationId: 'updateOAuthApp',
        tags,
        params,
        body: UpdateOAuthAppRequestSchema,
        response: { 200: OAuthAppRecordSchema },
      },
    },
    (request) => commands.updateOAuthApp(callerOf(request), appIdOf(request.params.id), request.body),
  );
};

const endingRoutes = (app: App, { commands }: Deps): void => {
  app.post(
    `${PATH}/:id/rotate-secret`,
    {
      config: { access, command: 'rotateOAuthAppSecret', unknownId, examples: rotateAppSecretExamples },
      preValidation: bodyMayBeAbsent,
      schema: {
        summary: 'Rotate the secret of an app',
        description: 'In the overlap both secrets are good.',
        operationId: 'rotateOAuthAppSecret',
        tags,
        params,
        body: RotateAppSecretRequestSchema,
        response: { 200: RotatedAppSecretSchema },
      },
    },
    (request) => commands.rotateOAuthAppSecret(callerOf(request), appIdOf(request.params.id), request.body),
  );

  app.delete(
    `${PATH}/:id`,
    {
      config: { access, command: 'deleteOAuthApp', unknownId },
      schema: {
        summary: 'Delete an app',
        description: 'All that was granted to it ends at once.',
        operationId: 'deleteOAuthApp',
        tags,
        params,
        response: { 200: DeletedSchema },
      },
    },
    (request) => commands.deleteOAuthApp(callerOf(request), appIdOf(request.params.id)),
  );
};

/** Registers the routes under /api/users/me/grants. */
export const oauthGrantRoutes = (app: App, { commands, queries }: Deps): void => {
  app.get(
    '/api/users/me/grants',
    {
      config: { access: 'profile:read', withoutTeam: true, codes: ['INVALID_CURSOR'] },
      preValidation: coerceQuery(PagingQuerySchema),
      schema: {
        summary: 'List what you granted to apps',
        description: 'Newest first.',
        operationId: 'listGrants',
        tags,
        querystring: PagingQuerySchema,
        response: { 200: pageOf(OAuthGrantRecordSchema) },
      },
    },
    (request) => queries.listGrants(callerOf(request).user?.id, pagingOf(request.query)),
  );

  app.delete(
    '/api/users/me/grants/:id',
    {
      config: {
        access: 'profile:write',
        withoutTeam: true,
        command: 'revokeGrant',
        unknownId: 'OAUTH_GRANT_NOT_FOUND',
      },
      schema: {
        summary: 'End what you granted to an app',
        description: 'Its tokens stop working at once.',
        operationId: 'revokeGrant',
        tags,
        params: idParams('Id of the grant (`grant_…`)'),
        response: { 200: DeletedSchema },
      },
    },
    (request) => commands.revokeGrant(callerOf(request), grantIdOf(request.params.id)),
  );
};

/** A malformed id is answered as an unknown one. */
const appIdOf = (text: string): OAuthClientId => {
  const id = parseOAuthClientId(text);
  if (id === undefined) throw appNotFound();
  return id;
};

/** A malformed id is answered as an unknown one. */
const grantIdOf = (text: string): OAuthGrantId => {
  const id = parseOAuthGrantId(text);
  if (id === undefined) throw grantNotFound();
  return id;
};
