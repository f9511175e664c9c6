/**
 * The routes by which users see and change their own account (profile, sessions, second factor, password, erasure), and
 * read a colleague.
 */
import type { Static, TSchema } from '@sinclair/typebox';
import {
  DoneSchema,
  SessionRecordSchema,
  authExamples,
  EraseOwnUserRequestSchema,
  ownAccountExamples,
  ColleagueSchema,
  UpdateUserRequestSchema,
  UserRecordSchema,
  ChangePasswordRequestSchema,
  ConfirmSecondFactorRequestSchema,
  PreparedSecondFactorSchema,
  PrepareSecondFactorRequestSchema,
  RecoveryCodesSchema,
  WithCodeRequestSchema,
} from '../../api/people.js';
import { DeletedSchema, idParams, pageOf } from '../../api/core/common.js';
import { PagingQuerySchema } from '../../api/core/queries.js';
import type { Caller } from '../../commands/core/caller.js';
import { sessionNotFound } from '../../commands/people/sessions.js';
import { parseSessionId, type SessionId, parseUserId, type UserId } from '../../domain/core/ids.js';
import { callerOf, type App, type HttpDeps } from '../server/context.js';
import { coerceQuery } from '../server/validation.js';
import { pagingOf } from '../server/query.js';
import { userNotFound } from '../../domain/people/user.js';
import { countOwnAttempt } from '../server/rates.js';
import { accessCookie, clearSessionCookies } from '../server/cookies.js';

type Deps = Pick<HttpDeps, 'commands' | 'limiter' | 'positions' | 'queries'>;

const userTags = ['Users'];

const signInTags = ['Signing in'];

const withoutTeam = true;

/**
 * Sessions show where a person calls from. No app may see that, so that reading them takes the permission to change as
 * well.
 */
const sessionConfig = { access: 'profile:write', withoutTeam: true } as const;

const passwordConfig = {
  access: 'profile:write',
  withoutTeam: true,
  codes: ['LOGIN_PAUSED', 'USER_NOT_FOUND'],
} as const;

type OwnRead<Answer extends TSchema> = Readonly<{
  access: 'profile:read' | 'profile:write';
  command: keyof HttpDeps['commands'];
  summary: string;
  operationId: string;
  answer: Answer;
}>;

/** How long to wait for the read models before the erasure: what they do not know yet is not ended by it. */
const CAUGHT_UP_WITHIN_MS = 10_000;

/** Registers a GET by which people read something of their own account. */
export const readOwnRoute = <Answer extends TSchema>(
  app: App,
  path: string,
  { access, command, answer, ...said }: OwnRead<Answer>,
  read: (caller: Caller) => Promise<Static<Answer>>,
): void => {
  app.get(
    path,
    {
      config: { access, withoutTeam, command },
      schema: { ...said, tags: userTags, response: { 200: answer as TSchema } },
    },
    (request) => read(callerOf(request)),
  );
};

/** Registers the routes under /api/users. */
export const userRoutes = (app: App, deps: Deps): void => {
  readOwnRoute(
    app,
    '/api/users/me',
    {
      access: 'profile:read',
      command: 'getOwnUser',
      summary: 'Read your own profile',
      operationId: 'getOwnUser',
      answer: UserRecordSchema,
    },
    deps.commands.getOwnUser,
  );

  app.patch(
    '/api/users/me',
    {
      config: { access: 'profile:write', withoutTeam, command: 'updateOwnUser', examples: authExamples.updateUser },
      schema: {
        summary: 'Change your own profile',
        operationId: 'updateOwnUser',
        tags: userTags,
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
        tags: userTags,
        params: idParams('Id of the user'),
        response: { 200: ColleagueSchema },
      },
    },
    (request) => deps.commands.getUser(callerOf(request), userIdOf(request.params.id), deps.queries.teamsOfUser),
  );
};

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
        tags: userTags,
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

/** Registers the routes under /api/users/me/sessions. */
export const sessionRoutes = (app: App, { commands, queries }: Deps): void => {
  app.get(
    '/api/users/me/sessions',
    {
      config: { ...sessionConfig, command: 'readSessions', codes: ['INVALID_CURSOR'] },
      preValidation: coerceQuery(PagingQuerySchema),
      schema: {
        summary: 'List where you are signed in',
        description: 'The session that began last comes first.',
        operationId: 'listSessions',
        tags: userTags,
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
      config: { ...sessionConfig, command: 'revokeSession', unknownId: 'SESSION_NOT_FOUND' },
      schema: {
        summary: 'End one of your sessions',
        description: 'Its tokens stop working at once.',
        operationId: 'revokeSession',
        tags: userTags,
        params: idParams('Id of the session (`ses_…`)'),
        response: { 200: DeletedSchema },
      },
    },
    (request) => commands.revokeSession(callerOf(request), sessionIdOf(request.params.id)),
  );

  app.delete(
    '/api/users/me/sessions',
    {
      config: { ...sessionConfig, command: 'revokeOtherSessions' },
      schema: {
        summary: 'End all your other sessions',
        description: 'The session that calls goes on.',
        operationId: 'revokeOtherSessions',
        tags: userTags,
        response: { 200: DoneSchema },
      },
    },
    async (request) => {
      await commands.revokeOtherSessions(callerOf(request), queries.sessionsOfUser);
      return { message: 'All other sessions have ended.' };
    },
  );
};

/** Registers the routes under /api/auth/totp, and the change of a password. */
export const ownAccountRoutes = (app: App, deps: Deps): void => {
  settingUpRoutes(app, deps);
  changingRoutes(app, deps);
  app.post(
    '/api/auth/password/change',
    {
      config: { ...passwordConfig, command: 'changePassword', examples: ownAccountExamples.changePassword },
      schema: {
        summary: 'Choose another password',
        description: 'All other sessions end. Attempts are counted with those to sign in.',
        operationId: 'changePassword',
        tags: signInTags,
        body: ChangePasswordRequestSchema,
        response: { 200: DoneSchema },
      },
    },
    async (request) => {
      await countOwnAttempt(deps, request);
      await deps.commands.changePassword(callerOf(request), request.body, deps.queries.sessionsOfUser);
      return { message: 'The password is changed, and all other sessions have ended.' };
    },
  );
};

const settingUpRoutes = (app: App, deps: Deps): void => {
  app.post(
    '/api/auth/totp/prepare',
    {
      config: { ...passwordConfig, command: 'prepareSecondFactor', examples: ownAccountExamples.prepare },
      schema: {
        summary: 'Begin to set up a second factor',
        description:
          'Makes a secret for an authenticator app. Nothing is asked for until a code of it is confirmed, within an hour.',
        operationId: 'prepareSecondFactor',
        tags: signInTags,
        body: PrepareSecondFactorRequestSchema,
        response: { 200: PreparedSecondFactorSchema },
      },
    },
    async (request) => {
      await countOwnAttempt(deps, request);
      return deps.commands.prepareSecondFactor(callerOf(request), request.body);
    },
  );

  app.post(
    '/api/auth/totp/confirm',
    {
      config: { ...passwordConfig, command: 'confirmSecondFactor', examples: ownAccountExamples.confirm },
      schema: {
        summary: 'Confirm the second factor by a code of it',
        description: 'From here on a code is asked for at each sign-in. The answer has the recovery codes, this once.',
        operationId: 'confirmSecondFactor',
        tags: signInTags,
        body: ConfirmSecondFactorRequestSchema,
        response: { 200: RecoveryCodesSchema },
      },
    },
    async (request) => {
      await countOwnAttempt(deps, request);
      return deps.commands.confirmSecondFactor(callerOf(request), request.body);
    },
  );
};

const changingRoutes = (app: App, deps: Deps): void => {
  app.post(
    '/api/auth/totp/remove',
    {
      config: { ...passwordConfig, command: 'removeSecondFactor', examples: ownAccountExamples.withCode },
      schema: {
        summary: 'Take the second factor away',
        description: 'A team that asks for one lets you in no more until you set up another.',
        operationId: 'removeSecondFactor',
        tags: signInTags,
        body: WithCodeRequestSchema,
        response: { 200: DoneSchema },
      },
    },
    async (request) => {
      await countOwnAttempt(deps, request);
      await deps.commands.removeSecondFactor(callerOf(request), request.body);
      return { message: 'No code is asked for any more.' };
    },
  );

  app.post(
    '/api/auth/totp/recovery-codes',
    {
      config: { ...passwordConfig, command: 'renewRecoveryCodes', examples: ownAccountExamples.withCode },
      schema: {
        summary: 'Take new recovery codes',
        description: 'Those of before are good for nothing any more. The answer has the new ones, this once.',
        operationId: 'renewRecoveryCodes',
        tags: signInTags,
        body: WithCodeRequestSchema,
        response: { 200: RecoveryCodesSchema },
      },
    },
    async (request) => {
      await countOwnAttempt(deps, request);
      return deps.commands.renewRecoveryCodes(callerOf(request), request.body);
    },
  );
};

/** A malformed id is answered as an unknown one. */
const sessionIdOf = (text: string): SessionId => {
  const id = parseSessionId(text);
  if (id === undefined) throw sessionNotFound();
  return id;
};

/** A malformed id is answered as an unknown one. */
const userIdOf = (text: string): UserId => {
  const id = parseUserId(text);
  if (id === undefined) throw userNotFound();
  return id;
};
