/** The routes under /api/auth that the links in mails call, and those that ask for another link. */
import {
  authExamples,
  AddressRequestSchema,
  ChangeAddressRequestSchema,
  ConfirmRequestSchema,
  DoneSchema,
  ResetRequestSchema,
} from '../../api/people.js';
import type { FastifyRequest } from 'fastify';
import { callerOf, type App, type HttpDeps } from '../server/context.js';
import { countLinkAttempt, countLogin, countOwnAttempt } from '../server/rates.js';
import { calledFrom } from '../server/headers.js';

type Deps = Pick<HttpDeps, 'commands' | 'limiter' | 'logger' | 'queries'>;

const tags = ['Signing in'];
const access = 'public';
const response = { 200: DoneSchema };

/** Registers the routes under /api/auth for verifying an address and for a password that was forgotten. */
export const accountLinkRoutes = (app: App, deps: Deps): void => {
  followRoutes(app, deps);
  addressRoutes(app, deps);
  const asks = [
    [
      '/api/auth/verify/resend',
      'resendVerification',
      'Ask for another link by which your address is verified',
      'sendVerifyLink',
    ],
    [
      '/api/auth/password/forgot',
      'forgotPassword',
      'Ask for a link by which another password is chosen',
      'sendResetLink',
    ],
  ] as const;
  for (const [path, operationId, summary, command] of asks) {
    app.post(
      path,
      {
        config: { access, codes: ['ERR_EMAIL_001', 'LOGIN_PAUSED'], examples: authExamples.address },
        schema: {
          summary,
          description: 'The answer is the same, and comes at the same time, whether somebody has the address or not.',
          operationId,
          tags,
          body: AddressRequestSchema,
          response,
        },
      },
      async (request) => {
        await askForLink(deps, request, request.body.email, command);
        return { message: 'If a user has this address, a mail with a link is sent to it.' };
      },
    );
  }
};

/**
 * Sends the link after the answer, which must not take longer if somebody has the address. Rejects with LOGIN_PAUSED
 * and ERR_EMAIL_001.
 */
export const askForLink = async (
  deps: Deps,
  request: Pick<FastifyRequest, 'id' | 'ip' | 'hostname' | 'headers'>,
  email: string,
  command: 'sendVerifyLink' | 'sendResetLink',
): Promise<void> => {
  await countLogin(deps, request, email);
  setImmediate(() => {
    deps.commands[command](email, calledFrom(request)).catch((fault: unknown) =>
      deps.logger.warn({ err: fault instanceof Error ? fault : undefined }, 'a mail about an account was not sent'),
    );
  });
};

const addressRoutes = (app: App, deps: Deps): void => {
  app.post(
    '/api/auth/email/change',
    {
      config: {
        access: 'profile:write',
        withoutTeam: true,
        command: 'askAddressChange',
        codes: ['LOGIN_PAUSED'],
        examples: authExamples.changeAddress,
      },
      schema: {
        summary: 'Ask to sign in by another address',
        description:
          'A link goes to the new address and makes the change; the address of now is told at once. The link of an earlier change ends. An address that is taken is answered as one that is not.',
        operationId: 'askAddressChange',
        tags,
        body: ChangeAddressRequestSchema,
        response,
      },
    },
    async (request) => {
      await countOwnAttempt(deps, request);
      await deps.commands.askAddressChange(callerOf(request), request.body);
      return { message: 'A mail with a link goes to the new address. Until it is followed nothing changes.' };
    },
  );

  app.post(
    '/api/auth/email/confirm',
    {
      config: { access, command: 'changeAddress', codes: ['LOGIN_PAUSED'], examples: authExamples.confirm },
      schema: {
        summary: 'Take another address by the link of a mail',
        description:
          '`password` is that of the account: who reads the mails of the new address may be somebody else. Sessions go on; from here on the person signs in by the new address alone.',
        operationId: 'changeAddress',
        tags,
        body: ConfirmRequestSchema,
        response,
      },
    },
    async (request) => {
      const { token, password } = request.body;
      await countLinkAttempt(deps, request, token);
      await deps.commands.changeAddress(token, password, calledFrom(request));
      return { message: 'The address is changed. Sign in by the new one from now on.' };
    },
  );
};

const followRoutes = (app: App, deps: Deps): void => {
  app.post(
    '/api/auth/verify',
    {
      config: { access, command: 'verifyAddress', examples: authExamples.reset },
      schema: {
        summary: 'Verify your address by the link of a mail',
        description:
          '`password` is that of the registration, or another one: it is the password from now on, for who registered the address may not be who reads its mails.',
        operationId: 'verifyAddress',
        tags,
        body: ResetRequestSchema,
        response,
      },
    },
    async (request) => {
      await deps.commands.verifyAddress(request.body.token, request.body.password, calledFrom(request));
      return { message: 'The address is verified. Sign in by POST /api/auth/login.' };
    },
  );

  app.post(
    '/api/auth/password/reset',
    {
      config: { access, command: 'resetPassword', examples: authExamples.reset },
      schema: {
        summary: 'Choose another password by the link of a mail',
        description: 'Every session of the user ends.',
        operationId: 'resetPassword',
        tags,
        body: ResetRequestSchema,
        response,
      },
    },
    async (request) => {
      await deps.commands.resetPassword(
        request.body.token,
        request.body.password,
        calledFrom(request),
        deps.queries.sessionsOfUser,
      );
      return { message: 'The password is changed, and every session has ended. Sign in by POST /api/auth/login.' };
    },
  );
};
