/**
 * Sign-in by a provider (OpenID Connect), and the identities of a user. A browser walks through `start`, the provider
 * and `callback`; faults are shown on pages.
 */
import { Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  BeginIdentityLinkRequestSchema,
  BegunIdentityLinkSchema,
  LinkedIdentitiesSchema,
  ownAccountExamples,
  SignInProvidersSchema,
} from '../../api/people.js';
import { DeletedSchema, idParams } from '../../api/core/common.js';
import { SIGN_IN_ATTEMPT_MS, type FinishedSignIn } from '../../commands/people/providers.js';
import type { UserAuthenticated } from '../../commands/core/caller.js';
import { DomainError } from '../../domain/core/errors.js';
import { callerOf, type App, type HttpDeps } from '../server/context.js';
import { callerWith } from '../server/admission.js';
import { assertKeepsCookies, assertOwnPage, setSignInCookie, signInCookie } from '../server/cookies.js';
import { statusOf } from '../server/errors.js';
import { fieldsOf, readForms } from '../server/forms.js';
import { calledFrom } from '../server/headers.js';
import { auditDenial } from '../server/hooks.js';
import { countLogin, countOwnAttempt } from '../server/rates.js';
import { readOwnRoute } from './account.js';
import { inCookies } from './auth.js';
import {
  codeField,
  emailField,
  inWords,
  passwordField,
  readerOf,
  sendAccountPage,
  type AccountPage,
  type Reader,
} from './pages.js';
import { filledIn } from './texts.js';

type Deps = Pick<HttpDeps, 'audit' | 'commands' | 'limiter' | 'limits' | 'queries' | 'settings'>;

type Fields = Readonly<Record<string, string>>;

const ATTEMPT_S = SIGN_IN_ATTEMPT_MS / 1_000;

const CODE_PATH = '/account/sign-in/code';

const config = { access: 'public' } as const;

const schema = { hide: true };

const withoutTeam = true;

const signInTags = ['Signing in'];

const userTags = ['Users'];

/** Registers the routes under /api/auth/oidc and /api/users/me/identities, and their pages. */
export const signInRoutes = (app: App, deps: Deps): void => {
  app.get(
    '/api/auth/oidc',
    {
      config: { access: 'public', command: 'signInProviders' },
      schema: {
        summary: 'List the providers by which people sign in',
        description: 'A page leads to `/api/auth/oidc/:provider/start?returnTo=/…`, which leads to the provider.',
        operationId: 'listSignInProviders',
        tags: signInTags,
        response: { 200: SignInProvidersSchema },
      },
    },
    () => deps.commands.signInProviders(),
  );
  browserRoutes(app, deps);
  identityRoutes(app, deps);
  // In a scope of its own, for only these routes accept forms.
  app.register(async (scope: App) => {
    readForms(scope);
    scope.post(CODE_PATH, { config, schema }, (request, reply) => answerCode(deps, request, reply));
    scope.get('/account/link/:provider', { config, schema }, (request, reply) =>
      shown(request, reply, deps, async () =>
        sendAccountPage(deps, reply, 200, await linkPage(deps, providerIn(request), readerOf(request))),
      ),
    );
    scope.post('/account/link/:provider', { config, schema }, (request, reply) => answerLink(deps, request, reply));
  });
};

const browserRoutes = (app: App, deps: Deps): void => {
  app.get('/api/auth/oidc/:provider/start', { config, schema }, (request, reply) =>
    shown(request, reply, deps, async () => {
      assertKeepsCookies(request);
      const { returnTo, invitation } = request.query as Readonly<Record<string, unknown>>;
      const { url, cookie } = await deps.commands.beginSignIn({
        provider: providerIn(request),
        ...(typeof returnTo === 'string' ? { returnTo } : {}),
        ...(typeof invitation === 'string' ? { invitation } : {}),
      });
      setSignInCookie(reply, cookie, ATTEMPT_S);
      return reply.header('cache-control', 'no-store').redirect(url, 302);
    }),
  );

  app.get('/api/auth/oidc/:provider/callback', { config, schema }, (request, reply) =>
    shown(request, reply, deps, async () => {
      const query = new URL(request.url, deps.settings.publicUrl).search;
      // An attempt ends with its answer, good or bad.
      setSignInCookie(reply, undefined, 0);
      const given = { provider: providerIn(request), cookie: signInCookie(request), query };
      const finished = await deps.commands.finishSignIn(given, calledFrom(request), deps.queries.teamsOfUser);
      return answered(deps, reply, finished);
    }),
  );
};

const identityRoutes = (app: App, deps: Deps): void => {
  app.post(
    '/api/auth/oidc/:provider/link',
    {
      config: {
        access: 'profile:write',
        withoutTeam,
        command: 'beginIdentityLink',
        codes: ['LOGIN_PAUSED'],
        unknownId: 'SIGN_IN_PROVIDER_UNKNOWN',
        examples: ownAccountExamples.beginLink,
      },
      schema: {
        summary: 'Begin to link an identity at a provider to your account',
        description:
          'Sets a cookie and answers the address at the provider, to which the same browser goes. From then on you can sign in by the provider.',
        operationId: 'beginIdentityLink',
        tags: signInTags,
        params: Type.Object({ provider: Type.String({ description: 'Id of the provider' }) }),
        body: BeginIdentityLinkRequestSchema,
        response: { 200: BegunIdentityLinkSchema },
      },
    },
    async (request, reply) => {
      await countOwnAttempt(deps, request);
      const { provider } = request.params;
      const { url, cookie } = await deps.commands.beginIdentityLink(callerOf(request), provider, request.body);
      setSignInCookie(reply, cookie, ATTEMPT_S);
      return { url };
    },
  );

  readOwnRoute(
    app,
    '/api/users/me/identities',
    {
      access: 'profile:write',
      command: 'listIdentities',
      summary: 'List the identities by which you sign in',
      operationId: 'listIdentities',
      answer: LinkedIdentitiesSchema,
    },
    deps.commands.listIdentities,
  );

  app.delete(
    '/api/users/me/identities/:id',
    {
      config: { access: 'profile:write', withoutTeam, command: 'unlinkIdentity', unknownId: 'IDENTITY_NOT_FOUND' },
      schema: {
        summary: 'Unlink an identity',
        description: 'You sign in by it no more. Your sessions go on.',
        operationId: 'unlinkIdentity',
        tags: userTags,
        params: idParams('Id of the identity'),
        response: { 200: DeletedSchema },
      },
    },
    (request) => deps.commands.unlinkIdentity(callerOf(request), request.params.id),
  );
};

const providerIn = ({ params }: Pick<FastifyRequest, 'params'>): string =>
  String((params as Readonly<Record<string, unknown>>)['provider']);

/** Sends what `send` sends, or the page that says what is wrong; a fault that is not the caller's rejects. */
const shown = async (
  request: FastifyRequest,
  reply: FastifyReply,
  deps: Deps,
  send: () => Promise<FastifyReply>,
  again?: (reader: Reader, fault: DomainError) => AccountPage,
): Promise<FastifyReply> => {
  try {
    return await send();
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    const status = statusOf[fault.code];
    auditDenial(deps.audit, request, { code: fault.code, status }, fault);
    const reader = readerOf(request);
    const { retryAfterS } = fault.details;
    if (retryAfterS !== undefined) reply.header('retry-after', retryAfterS);
    const isCorrectable = fault.code === 'INVALID_CODE' || fault.code === 'CODE_REQUIRED';
    if (again !== undefined && isCorrectable) return await sendAccountPage(deps, reply, status, again(reader, fault));
    return sendAccountPage(deps, reply, status, {
      title: reader.said.notSignedIn,
      texts: [inWords(fault, reader)],
      links: [{ href: '/account', label: reader.said.beginAnew }],
    });
  }
};

const answered = async (deps: Deps, reply: FastifyReply, finished: FinishedSignIn): Promise<FastifyReply> => {
  reply.header('cache-control', 'no-store');
  const reader = readerOf(reply.request);
  const { language, said } = reader;
  switch (finished.kind) {
    case 'signed-in':
      await inCookies(deps, reply, finished.signedIn);
      return reply.redirect(reply.server.ownPath(finished.returnTo), 303);
    case 'code':
      setSignInCookie(reply, finished.cookie, ATTEMPT_S);
      return sendAccountPage(deps, reply, 200, codePage(reader));
    case 'linked':
      return sendAccountPage(deps, reply, 200, {
        title: filledIn(language, said.isLinked, { provider: finished.label }),
        texts: [filledIn(language, said.signInFromNow, { provider: finished.label })],
        links: [{ href: finished.returnTo, label: said.goOn }],
      });
  }
};

const codePage = (reader: Reader, fault?: DomainError): AccountPage => ({
  title: reader.said.oneMoreStep,
  texts: [reader.said.needsCode],
  fault: fault === undefined ? '' : inWords(fault, reader),
  forms: [{ action: CODE_PATH, hidden: {}, fields: [codeField(reader)], button: reader.said.signIn }],
});

const answerCode = (deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
  shown(
    request,
    reply,
    deps,
    async () => {
      const cookie = signInCookie(request);
      await countLogin(deps, request, await deps.commands.pendingAddress(cookie));
      const code = fieldsOf(request.body)?.['code'];
      const finished = await deps.commands.giveSignInCode(
        { cookie, code },
        calledFrom(request),
        deps.queries.teamsOfUser,
      );
      setSignInCookie(reply, undefined, 0);
      return answered(deps, reply, finished);
    },
    codePage,
  );

/** Throws SIGN_IN_PROVIDER_UNKNOWN by the command that answers the form. */
const linkPage = async (
  { commands }: Deps,
  provider: string,
  reader: Reader,
  again?: Readonly<{ email: string; fault: DomainError }>,
): Promise<AccountPage> => {
  const { data } = await commands.signInProviders();
  const label = data.find(({ id }) => id === provider)?.label;
  if (label === undefined)
    throw new DomainError('SIGN_IN_PROVIDER_UNKNOWN', 'There is no sign-in provider with this name.');
  const { language, said } = reader;
  return {
    title: filledIn(language, said.link, { provider: label }),
    texts: [filledIn(language, said.linkHow, { provider: label })],
    fault: again === undefined ? '' : inWords(again.fault, reader),
    forms: [
      {
        action: `/account/link/${provider}`,
        hidden: {},
        fields: [
          emailField(again?.email ?? '', reader),
          passwordField(reader),
          { ...codeField(reader), isOptional: true },
        ],
        button: filledIn(language, said.goOnTo, { provider: label }),
      },
    ],
  };
};

/** Signs in, begins the link, and ends the session again: the cookie of the attempt says whose account it is. */
const answerLink = async (deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
  const { email = '', password = '', code = '' }: Fields = fieldsOf(request.body) ?? {};
  const provider = providerIn(request);
  const reader = readerOf(request);
  try {
    // A form of another site would link the identity of its reader to the account of its author.
    assertOwnPage(request, deps);
    assertKeepsCookies(request);
    await countLogin(deps, request, email);
    const { commands, queries } = deps;
    const credentials = { email, password, ...(code === '' ? {} : { code }) };
    const { accessToken } = await commands.login(credentials, calledFrom(request), queries.teamsOfUser);
    const admitted = (await commands.authenticate(accessToken, {
      asked: undefined,
      isNeeded: false,
    })) as UserAuthenticated;
    const caller = callerWith(admitted, request);
    try {
      const { url, cookie } = await commands.beginProvenLink(caller, provider);
      setSignInCookie(reply, cookie, ATTEMPT_S);
      return await sendAccountPage(deps, reply, 200, {
        title: reader.said.oneMoreStep,
        texts: [reader.said.providerAsks],
        links: [{ href: url, label: reader.said.goOn }],
      });
    } finally {
      await commands.logout(caller);
    }
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    const status = statusOf[fault.code];
    auditDenial(deps.audit, request, { code: fault.code, status }, fault);
    return sendAccountPage(deps, reply, status, await linkPage(deps, provider, reader, { email, fault }));
  }
};
