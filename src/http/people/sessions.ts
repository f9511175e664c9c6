/** The sessions of the person who calls. */
import { DoneSchema } from '../../api/people.js';
import { DeletedSchema, idParams, pageOf } from '../../api/core/common.js';
import { SessionRecordSchema } from '../../api/own-account.js';
import { PagingQuerySchema } from '../../api/core/queries.js';
import { sessionNotFound } from '../../commands/people/own-sessions.js';
import { parseSessionId, type SessionId } from '../../domain/core/ids.js';
import { callerOf, type App, type HttpDeps } from '../server/context.js';
import { coerceQuery } from '../server/validation.js';
import { pagingOf } from '../server/query.js';

const tags = ['Users'];
/** From where a person calls is shown to no app: reading it takes the permission to change, too. */
const config = { access: 'profile:write', withoutTeam: true } as const;

/** A malformed id is answered as an unknown one. */
const sessionIdOf = (text: string): SessionId => {
  const id = parseSessionId(text);
  if (id === undefined) throw sessionNotFound();
  return id;
};

/** Registers the routes under /api/users/me/sessions. */
export const sessionRoutes = (app: App, { commands, queries }: Pick<HttpDeps, 'commands' | 'queries'>): void => {
  app.get(
    '/api/users/me/sessions',
    {
      config: { ...config, command: 'readSessions', codes: ['INVALID_CURSOR'] },
      preValidation: coerceQuery(PagingQuerySchema),
      schema: {
        summary: 'List where you are signed in',
        description: 'The session that began last comes first.',
        operationId: 'listSessions',
        tags,
        querystring: PagingQuerySchema,
        response: { 200: pageOf(SessionRecordSchema) },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const { data, meta } = await queries.listSessions(caller.user?.id, pagingOf(request.query));
      return { data: await commands.readSessions(caller, data), meta };
    },
  );

  app.delete(
    '/api/users/me/sessions/:id',
    {
      config: { ...config, command: 'revokeSession', unknownId: 'SESSION_NOT_FOUND' },
      schema: {
        summary: 'End one of your sessions',
        description: 'Its tokens stop working at once.',
        operationId: 'revokeSession',
        tags,
        params: idParams('Id of the session (`ses_…`)'),
        response: { 200: DeletedSchema },
      },
    },
    (request) => commands.revokeSession(callerOf(request), sessionIdOf(request.params.id)),
  );

  app.delete(
    '/api/users/me/sessions',
    {
      config: { ...config, command: 'revokeOtherSessions' },
      schema: {
        summary: 'End all your other sessions',
        description: 'The session that calls goes on.',
        operationId: 'revokeOtherSessions',
        tags,
        response: { 200: DoneSchema },
      },
    },
    async (request) => {
      await commands.revokeOtherSessions(callerOf(request), queries.sessionsOfUser);
      return { message: 'All other sessions have ended.' };
    },
  );
};
