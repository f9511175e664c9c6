/** What the person who calls has granted to apps. */
import { OAuthGrantRecordSchema } from '../../api/apps.js';
import { DeletedSchema, idParams, pageOf } from '../../api/core/common.js';
import { PagingQuerySchema } from '../../api/core/queries.js';
import { grantNotFound } from '../../commands/apps/grants.js';
import { parseOAuthGrantId, type OAuthGrantId } from '../../domain/core/ids.js';
import { callerOf, type App, type HttpDeps } from '../server/context.js';
import { coerceQuery } from '../server/validation.js';
import { pagingOf } from '../server/query.js';

const tags = ['OAuth'];

/** A malformed id is answered as an unknown one. */
const grantIdOf = (text: string): OAuthGrantId => {
  const id = parseOAuthGrantId(text);
  if (id === undefined) throw grantNotFound();
  return id;
};

/** Registers the routes under /api/users/me/grants. */
export const oauthGrantRoutes = (app: App, { commands, queries }: Pick<HttpDeps, 'commands' | 'queries'>): void => {
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
      config: { access: 'profile:write', withoutTeam: true, command: 'revokeGrant', unknownId: 'OAUTH_GRANT_NOT_FOUND' },
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
