/** People: oneself, and those of one's teams. */
import { authExamples } from '../../api/auth-examples.js';
import { ColleagueSchema, UpdateUserRequestSchema, UserRecordSchema } from '../../api/auth.js';
import { idParams } from '../../api/common.js';
import { parseUserId, type UserId } from '../../domain/ids.js';
import { userNotFound } from '../../domain/user/state.js';
import { callerOf, type App, type HttpDeps } from '../context.js';

type Deps = Pick<HttpDeps, 'commands' | 'queries'>;

const tags = ['Users'];
const withoutTeam = true;

/** A malformed id is answered as an unknown one. */
const userIdOf = (text: string): UserId => {
  const id = parseUserId(text);
  if (id === undefined) throw userNotFound();
  return id;
};

/** Registers the routes under /api/users. */
export const userRoutes = (app: App, deps: Deps): void => {
  app.get(
    '/api/users/me',
    {
      config: { access: 'profile:read', withoutTeam, command: 'getOwnUser' },
      schema: { summary: 'Read your own profile', operationId: 'getOwnUser', tags, response: { 200: UserRecordSchema } },
    },
    (request) => deps.commands.getOwnUser(callerOf(request)),
  );

  app.patch(
    '/api/users/me',
    {
      config: { access: 'profile:write', withoutTeam, command: 'updateOwnUser', examples: authExamples.updateUser },
      schema: {
        summary: 'Change your own profile',
        operationId: 'updateOwnUser',
        tags,
        body: UpdateUserRequestSchema,
        response: { 200: UserRecordSchema },
      },
    },
    (request) => deps.commands.updateOwnUser(callerOf(request), request.body),
  );

  app.get(
    '/api/users/:id',
    {
      config: { access: 'profile:read', withoutTeam, command: 'getUser', unknownId: 'USER_NOT_FOUND' },
      schema: {
        summary: 'Read a user of your teams',
        operationId: 'getUser',
        tags,
        params: idParams('Id of the user'),
        response: { 200: ColleagueSchema },
      },
    },
    (request) => deps.commands.getUser(callerOf(request), userIdOf(request.params.id), deps.queries.teamsOfUser),
  );
};
