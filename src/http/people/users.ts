/** People: oneself, and those of one's teams. */
import { authExamples } from '../../api/auth-examples.js';
import { EraseOwnUserRequestSchema } from '../../api/own-account.js';
import { ownAccountExamples } from '../../api/own-account-examples.js';
import { ColleagueSchema, DoneSchema, UpdateUserRequestSchema, UserRecordSchema } from '../../api/people.js';
import { idParams } from '../../api/core/common.js';
import { parseUserId, type UserId } from '../../domain/core/ids.js';
import { userNotFound } from '../../domain/people/user.js';
import { callerOf, type App, type HttpDeps } from '../server/context.js';
import { countOwnAttempt } from '../server/login-pauses.js';
import { accessCookie, clearSessionCookies } from '../server/cookies.js';

type Deps = Pick<HttpDeps, 'commands' | 'limiter' | 'positions' | 'queries'>;

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

  eraseRoute(app, deps);
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

/** So long the read models are waited for: what they do not know is not ended by it. */
const CAUGHT_UP_WITHIN_MS = 10_000;

const eraseRoute = (app: App, deps: Deps): void => {
  const { commands, positions, queries } = deps;
  app.delete(
    '/api/users/me',
    {
      config: {
        access: 'profile:write',
        withoutTeam,
        command: 'eraseOwnUser',
        codes: ['LOGIN_PAUSED'],
        examples: ownAccountExamples.erase,
      },
      schema: {
        summary: 'Erase yourself',
        description:
          'You leave all teams, your sessions and what you granted to apps end, and your address, name and password are destroyed. API keys that you made go on. Refused while you are the only owner of a team.',
        operationId: 'eraseOwnUser',
        tags,
        body: EraseOwnUserRequestSchema,
        response: { 200: DoneSchema },
      },
    },
    async (request, reply) => {
      await countOwnAttempt(deps, request);
      await commands.eraseOwnUser(callerOf(request), request.body, async (userId, mailed) => {
        await positions.reached(await positions.head(), CAUGHT_UP_WITHIN_MS);
        return queries.tracesOfUser(userId, mailed);
      });
      if (accessCookie(request) !== undefined) clearSessionCookies(reply);
      return { message: 'You are erased.' };
    },
  );
};
