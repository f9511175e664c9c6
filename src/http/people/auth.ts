/**
 * The routes under /api/auth that register a user, sign in, refresh and sign out; and the public keys of access tokens.
 */
import {
  DoneSchema,
  FollowSignInLinkRequestSchema,
  GivenSessionSchema,
  GivenTokensSchema,
  JsonWebKeysSchema,
  LoginRequestSchema,
  RefreshRequestSchema,
  RegisteredSchema,
  RegisterRequestSchema,
  authExamples,
} from '../../api/people.js';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../../domain/core/errors.js';
import { assertDefined, parseSessionId } from '../../domain/core/ids.js';
import { callerOf, OWN_WRITES_WAIT_MS, type App, type HttpDeps } from '../server/context.js';
import { bodyMayBeAbsent, calledFrom } from '../server/headers.js';
import { countLogin, countSignInLink } from '../server/rates.js';
import {
  accessCookie,
  assertKeepsCookies,
  assertMeant,
  assertOwnPage,
  clearSessionCookies,
  refreshCookie,
  setSessionCookies,
} from '../server/cookies.js';

type Deps = Pick<HttpDeps, 'commands' | 'limiter' | 'limits' | 'queries' | 'settings'>;

const tags = ['Signing in'];
const access = 'public';

/** Registers these routes. */
export const authRoutes = (app: App, deps: Deps): void => {
  registerRoute(app, deps);
  sessionRoutes(app, deps);
  app.get(
    '/.well-known/jwks.json',
    {
      config: { access, command: 'readJsonWebKeys' },
      schema: {
        summary: 'Read the public keys of access tokens',
        operationId: 'readJsonWebKeys',
        tags,
        response: { 200: JsonWebKeysSchema },
      },
    },
    async (_request, reply) => {
      reply.header('cache-control', 'public, max-age=300');
      return deps.commands.readJsonWebKeys();
    },
  );
};

const registerRoute = (app: App, deps: Deps): void => {
  app.post(
    '/api/auth/register',
    {
      config: { access, command: 'register', codes: ['LOGIN_PAUSED'], examples: authExamples.register },
      schema: {
        summary: 'Become a user',
        description:
          'The first user owns the first team and needs the token that the terminal showed. After that SEALPOST_REGISTRATION says who may register. An address that is taken is answered as one that is not.',
        operationId: 'register',
        tags,
        body: RegisterRequestSchema,
        response: { 201: RegisteredSchema },
      },
    },
    async (request, reply) => {
      await countLogin(deps, request, request.body.email);
      const registered = await deps.commands.register(request.body, calledFrom(request));
      reply.code(201);
      return registered;
    },
  );
};

const sessionRoutes = (app: App, deps: Deps): void => {
  loginRoute(app, deps);
  linkRoute(app, deps);
  refreshRoute(app, deps);
  app.post(
    '/api/auth/logout',
    {
      config: { access: 'profile:write', withoutTeam: true, command: 'logout' },
      schema: {
        summary: 'Sign out',
        description: 'Ends the session of the access token, and with it the refresh token. Cookies are cleared.',
        operationId: 'logout',
        tags,
        response: { 200: DoneSchema },
      },
    },
    async (request, reply) => {
      await deps.commands.logout(callerOf(request));
      if (accessCookie(request) !== undefined) clearSessionCookies(reply);
      return { message: 'This session has ended.' };
    },
  );
};

const loginRoute = (app: App, deps: Deps): void => {
  app.post(
    '/api/auth/login',
    {
      config: { access, command: 'login', codes: ['LOGIN_PAUSED', 'CSRF_REJECTED'], examples: authExamples.login },
      schema: {
        summary: 'Sign in',
        description:
          'A wrong password and an address that nobody has get the same answer. `code` is needed where the user has a second factor. With `"session": "cookie"` the tokens go into cookies that no script reads.',
        operationId: 'login',
        tags,
        body: LoginRequestSchema,
        response: { 200: GivenSessionSchema },
      },
    },
    async (request, reply) => {
      const { session = 'tokens', ...credentials } = request.body;
      if (session === 'cookie') assertMaySignIn(request, deps);
      await countLogin(deps, request, credentials.email);
      // Each sign-in begins a new session, whatever cookies the caller sends.
      const signedIn = await deps.commands.login(credentials, calledFrom(request), deps.queries.teamsOfUser);
      return session === 'cookie' ? inCookies(deps, reply, signedIn) : signedIn;
    },
  );
};

const linkRoute = (app: App, deps: Deps): void => {
  app.post(
    '/api/auth/link',
    {
      config: {
        access,
        command: 'signInByLink',
        codes: ['LOGIN_PAUSED', 'CSRF_REJECTED'],
        examples: authExamples.followLink,
      },
      schema: {
        summary: 'Sign in by a one-time link',
        description:
          'The link of `sealpost serve` makes the first user, that of `sealpost user link` is for a person who lost the password. The tokens go into cookies. In this session `POST /api/auth/password/change` takes a password without the current one.',
        operationId: 'signInByLink',
        tags,
        body: FollowSignInLinkRequestSchema,
        response: { 200: GivenSessionSchema },
      },
    },
    async (request, reply) => {
      assertMaySignIn(request, deps);
      await countSignInLink(deps, request, request.body.token);
      const { commands, queries } = deps;
      const { signedIn, team } = await commands.signInByLink(request.body, calledFrom(request), queries.teamsOfUser);
      // The page asks for the teams next.
      if (team !== undefined) await queries.awaitOwnWrites(team, OWN_WRITES_WAIT_MS);
      return inCookies(deps, reply, signedIn);
    },
  );
};

/** Throws CSRF_REJECTED and HTTPS_REQUIRED. */
const assertMaySignIn = (request: FastifyRequest, deps: Pick<HttpDeps, 'settings'>): void => {
  assertOwnPage(request, deps);
  assertKeepsCookies(request);
};

export type GivenTokens = Awaited<ReturnType<HttpDeps['commands']['refresh']>>;
type InCookies<Given> = Omit<Given, 'accessToken' | 'refreshToken' | 'tokenType'> & { csrfToken: string };

/** The answer without the tokens, which go into cookies. */
export const inCookies = async <Given extends GivenTokens>(
  { commands, limits }: Pick<HttpDeps, 'commands' | 'limits'>,
  reply: FastifyReply,
  given: Given,
): Promise<InCookies<Given>> => {
  const { accessToken, refreshToken, tokenType: _type, ...rest } = given;
  const csrfToken = await commands.csrfTokenOf(assertDefined(parseSessionId(given.sessionId), 'session id'));
  setSessionCookies(reply, { accessToken, refreshToken, expiresIn: given.expiresIn, csrfToken }, limits);
  return { ...rest, csrfToken };
};

const refreshRoute = (app: App, deps: Deps): void => {
  app.post(
    '/api/auth/refresh',
    {
      config: { access, command: 'refresh', codes: ['CSRF_REJECTED', 'UNAUTHORIZED'], examples: authExamples.refresh },
      preValidation: bodyMayBeAbsent,
      schema: {
        summary: 'Exchange a refresh token for new tokens',
        description:
          'Each refresh token is good once. Where one is used a second time the whole session ends, for one of the two who used it stole it. Without `refreshToken` that of the cookie is exchanged, and the new ones go into cookies.',
        operationId: 'refresh',
        tags,
        body: RefreshRequestSchema,
        response: { 200: GivenTokensSchema },
      },
    },
    (request, reply) => {
      const { refreshToken } = request.body;
      return refreshToken === undefined
        ? refreshByCookie(deps, request, reply)
        : deps.commands.refresh(refreshToken, calledFrom(request));
    },
  );
};

/** If the session has ended, the cookies are cleared, and the next page asks to sign in. */
const refreshByCookie = async (
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<InCookies<GivenTokens>> => {
  const token = refreshCookie(request);
  if (token === undefined)
    throw new DomainError('UNAUTHORIZED', 'The call brings no refresh token, neither in its body nor as a cookie.');
  try {
    const sessionId = await deps.commands.sessionOfRefreshToken(token);
    await assertMeant(request, sessionId, deps);
    return await inCookies(deps, reply, await deps.commands.refresh(token, calledFrom(request)));
  } catch (fault) {
    if (fault instanceof DomainError && (fault.code === 'SESSION_ENDED' || fault.code === 'INVALID_TOKEN'))
      clearSessionCookies(reply);
    throw fault;
  }
};
