/** What the links in mails to people call, and how another one is asked for. */
import { authExamples } from '../../api/auth-examples.js';
import { AddressRequestSchema, DoneSchema, LinkRequestSchema, ResetRequestSchema } from '../../api/auth.js';
import type { App, HttpDeps } from '../context.js';
import { countLogin } from '../hooks/login-pauses.js';

type Deps = Pick<HttpDeps, 'commands' | 'limiter' | 'logger'>;

const tags = ['Signing in'];
const access = 'public';
const response = { 200: DoneSchema };

/** Registers the routes under /api/auth for verifying an address and for a password that was forgotten. */
export const accountLinkRoutes = (app: App, deps: Deps): void => {
  followRoutes(app, deps);
  /** What it takes longer for an address that somebody has is done when the answer is out. */
  const afterwards = (work: () => Promise<void>): void => {
    setImmediate(() => {
      work().catch((fault: unknown) =>
        deps.logger.warn({ err: fault instanceof Error ? fault : undefined }, 'a mail about an account was not sent'),
      );
    });
  };
  const asks = [
    ['/api/auth/verify/resend', 'resendVerification', 'Ask for another link by which your address is verified', 'sendVerifyLink'],
    ['/api/auth/password/forgot', 'forgotPassword', 'Ask for a link by which another password is chosen', 'sendResetLink'],
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
        const { email } = request.body;
        await countLogin(deps, request, email);
        afterwards(() => deps.commands[command](email, request.id));
        return { message: 'Where a user has this address, a mail with a link goes to it.' };
      },
    );
  }
};

const followRoutes = (app: App, deps: Deps): void => {
  app.post(
    '/api/auth/verify',
    {
      config: { access, command: 'verifyAddress', examples: authExamples.verify },
      schema: { summary: 'Verify your address', operationId: 'verifyAddress', tags, body: LinkRequestSchema, response },
    },
    async (request) => {
      await deps.commands.verifyAddress(request.body.token, request.id);
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
      await deps.commands.resetPassword(request.body.token, request.body.password, request.id);
      return { message: 'The password is changed, and every session has ended. Sign in by POST /api/auth/login.' };
    },
  );
};
