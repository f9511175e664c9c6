/** Becoming a user, signing in and out. */
import {
  DoneSchema,
  JsonWebKeysSchema,
  LoginRequestSchema,
  RefreshRequestSchema,
  RegisteredSchema,
  RegisterRequestSchema,
  SignedInSchema,
  TokensSchema,
} from '../../api/auth.js';
import { authExamples } from '../../api/auth-examples.js';
import type { CalledFrom } from '../../commands/sessions.js';
import { callerOf, type App, type HttpDeps } from '../context.js';
import { countLogin } from '../hooks/login-pauses.js';

type Deps = Pick<HttpDeps, 'commands' | 'limiter' | 'queries'>;

const tags = ['Signing in'];
const access = 'public';
/** What a browser says of itself is shown to its owner; more of it says nothing. */
const USER_AGENT_CHARS_MAX = 256;

type Asked = Readonly<{ id: string; ip: string; headers: Readonly<Record<string, string | string[] | undefined>> }>;

/** From where a call comes, as its owner sees it in the list of sessions. */
export const calledFrom = ({ id, ip, headers }: Asked): CalledFrom => ({
  requestId: id,
  ipAddress: ip,
  userAgent: String(headers['user-agent'] ?? '').slice(0, USER_AGENT_CHARS_MAX),
});

/** Registers the routes under /api/auth by which people come in and go. */
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
      const registered = await deps.commands.register(request.body, request.id);
      reply.code(201);
      return registered;
    },
  );
};

const sessionRoutes = (app: App, deps: Deps): void => {
  app.post(
    '/api/auth/login',
    {
      config: { access, command: 'login', codes: ['LOGIN_PAUSED'], examples: authExamples.login },
      schema: {
        summary: 'Sign in',
        description:
          'A wrong password and an address that nobody has get the same answer. `code` is needed where the user has a second factor.',
        operationId: 'login',
        tags,
        body: LoginRequestSchema,
        response: { 200: SignedInSchema },
      },
    },
    async (request) => {
      await countLogin(deps, request, request.body.email);
      return deps.commands.login(request.body, calledFrom(request), deps.queries.teamsOfUser);
    },
  );

  app.post(
    '/api/auth/refresh',
    {
      config: { access, command: 'refresh', examples: authExamples.refresh },
      schema: {
        summary: 'Exchange a refresh token for new tokens',
        description:
          'Each refresh token is good once. Where one is used a second time the whole session ends, for one of the two who used it stole it.',
        operationId: 'refresh',
        tags,
        body: RefreshRequestSchema,
        response: { 200: TokensSchema },
      },
    },
    (request) => deps.commands.refresh(request.body.refreshToken, request.id),
  );

  app.post(
    '/api/auth/logout',
    {
      config: { access: 'profile:write', withoutTeam: true, command: 'logout' },
      schema: {
        summary: 'Sign out',
        description: 'Ends the session of the access token, and with it the refresh token.',
        operationId: 'logout',
        tags,
        response: { 200: DoneSchema },
      },
    },
    async (request) => {
      await deps.commands.logout(callerOf(request));
      return { message: 'This session has ended.' };
    },
  );
};
