/** What people do with what protects their account: the second factor and the password. */
import { DoneSchema } from '../../api/people.js';
import { ownAccountExamples } from '../../api/own-account-examples.js';
import { ChangePasswordRequestSchema } from '../../api/own-account.js';
import {
  ConfirmSecondFactorRequestSchema,
  PreparedSecondFactorSchema,
  PrepareSecondFactorRequestSchema,
  RecoveryCodesSchema,
  WithCodeRequestSchema,
} from '../../api/second-factor.js';
import { callerOf, type App, type HttpDeps } from '../server/context.js';
import { countOwnAttempt } from '../server/login-pauses.js';

type Deps = Pick<HttpDeps, 'commands' | 'limiter' | 'queries'>;

const tags = ['Signing in'];
const config = { access: 'profile:write', withoutTeam: true, codes: ['LOGIN_PAUSED', 'USER_NOT_FOUND'] } as const;

/** Registers the routes under /api/auth/totp, and the change of a password. */
export const ownAccountRoutes = (app: App, deps: Deps): void => {
  settingUpRoutes(app, deps);
  changingRoutes(app, deps);
  app.post(
    '/api/auth/password/change',
    {
      config: { ...config, command: 'changePassword', examples: ownAccountExamples.changePassword },
      schema: {
        summary: 'Choose another password',
        description: 'All other sessions end. Attempts are counted with those to sign in.',
        operationId: 'changePassword',
        tags,
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
      config: { ...config, command: 'prepareSecondFactor', examples: ownAccountExamples.prepare },
      schema: {
        summary: 'Begin to set up a second factor',
        description: 'Makes a secret for an authenticator app. Nothing is asked for until a code of it is confirmed, within an hour.',
        operationId: 'prepareSecondFactor',
        tags,
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
      config: { ...config, command: 'confirmSecondFactor', examples: ownAccountExamples.confirm },
      schema: {
        summary: 'Confirm the second factor by a code of it',
        description: 'From here on a code is asked for at each sign-in. The answer has the recovery codes, this once.',
        operationId: 'confirmSecondFactor',
        tags,
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
      config: { ...config, command: 'removeSecondFactor', examples: ownAccountExamples.withCode },
      schema: {
        summary: 'Take the second factor away',
        description: 'A team that asks for one lets you in no more until you set up another.',
        operationId: 'removeSecondFactor',
        tags,
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
      config: { ...config, command: 'renewRecoveryCodes', examples: ownAccountExamples.withCode },
      schema: {
        summary: 'Take new recovery codes',
        description: 'Those of before are good for nothing any more. The answer has the new ones, this once.',
        operationId: 'renewRecoveryCodes',
        tags,
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
