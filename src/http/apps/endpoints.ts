/** What apps call by RFC 6749, 7009, 7662 and 8414. They answer as these say, not in the form of the API's errors. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { KnownApp } from '../../commands/apps/clients.js';
import { scopes } from '../../domain/access/scopes.js';
import type { App, HttpDeps } from '../server/context.js';
import { authorizeRoutes } from './authorize.js';
import { basicCredentials } from './basic.js';
import { fieldsOf, readForms } from '../server/form.js';
import { exchange } from './token-endpoint.js';

type Deps = Pick<HttpDeps, 'oauth' | 'settings' | 'commands' | 'queries' | 'limiter' | 'audit'>;

const config = { access: 'public' } as const;
const schema = { hide: true };

/** Registers /oauth/authorize, /oauth/token, /oauth/revoke, /oauth/introspect and the metadata. */
export const oauthRoutes = (app: App, deps: Deps): void => {
  app.get('/.well-known/oauth-authorization-server', { config, schema }, (_request, reply) =>
    reply.send(metadata(deps.settings.publicUrl)),
  );
  authorizeRoutes(app, deps);
  // In a scope of its own: of these calls no other takes forms.
  app.register(async (scope: App) => {
    readForms(scope);
    scope.post('/oauth/token', { config, schema }, (request, reply) => token(deps, request, reply));
    scope.post('/oauth/revoke', { config, schema }, (request, reply) => revoke(deps, request, reply));
    scope.post('/oauth/introspect', { config, schema }, (request, reply) => introspect(deps, request, reply));
  });
};

/** RFC 8414, section 2. */
const metadata = (issuer: string) => ({
  issuer,
  authorization_endpoint: `${issuer}/oauth/authorize`,
  token_endpoint: `${issuer}/oauth/token`,
  revocation_endpoint: `${issuer}/oauth/revoke`,
  introspection_endpoint: `${issuer}/oauth/introspect`,
  scopes_supported: [...scopes],
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
  token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
  revocation_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
  introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
  code_challenge_methods_supported: ['S256'],
  authorization_response_iss_parameter_supported: true,
  service_documentation: `${issuer}/docs`,
});

const refuse = (reply: FastifyReply, status: 400 | 401, error: string, description: string): FastifyReply => {
  if (status === 401) reply.header('www-authenticate', 'Basic realm="sealpost"');
  return reply.code(status).send({ error, error_description: description });
};

const TWICE = 'A parameter is given more than once, or there are too many (RFC 6749, section 3.2)';

const token = async ({ oauth }: Deps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
  const form = fieldsOf(request.body);
  if (form === undefined) return refuse(reply, 400, 'invalid_request', TWICE);
  const { status, body, headers } = await exchange(
    { oauth },
    { requestId: request.id, form, authorization: request.headers.authorization },
  );
  return reply
    .code(status)
    .headers({ ...headers, pragma: 'no-cache' })
    .send(body);
};

/** The app that a form or the header Authorization speaks for; undefined where it does not show that it is itself. */
const appOf = ({ oauth }: Deps, request: FastifyRequest, form: Readonly<Record<string, string>>): Promise<KnownApp | undefined> => {
  const { id, secret } = basicCredentials(request.headers.authorization) ?? { id: form['client_id'] ?? '', secret: form['client_secret'] };
  return oauth.authenticateOAuthApp(id, secret);
};

type Asked = Readonly<{ app: KnownApp; token: string }>;

/** Out: who asks about which token, or undefined where it was answered already. */
const asked = async (deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<Asked | undefined> => {
  const form = fieldsOf(request.body);
  if (form === undefined) return void refuse(reply, 400, 'invalid_request', TWICE);
  const app = await appOf(deps, request, form);
  if (app === undefined) return void refuse(reply, 401, 'invalid_client', 'The app is unknown, or its secret is wrong');
  const { token: text } = form;
  if (text === undefined) return void refuse(reply, 400, 'invalid_request', 'Missing parameter: `token`');
  return { app, token: text };
};

const revoke = async (deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
  const about = await asked(deps, request, reply);
  if (about === undefined) return reply;
  await deps.oauth.revokeToken(about.app, about.token, { requestId: request.id });
  return reply.code(200).send();
};

/** An app learns of its own tokens alone; a public one, which cannot show that it is itself, of none. */
const introspect = async (deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
  const about = await asked(deps, request, reply);
  if (about === undefined) return reply;
  const { app, token: text } = about;
  if (app.kind === 'public') return refuse(reply, 401, 'invalid_client', 'A public app cannot ask about tokens');
  const open = await deps.oauth.readAccessToken(text);
  if (open === undefined || open.isExpired || open.app.id !== app.id) return reply.send({ active: false });
  const seconds = (time: string): number => Math.floor(Date.parse(time) / 1_000);
  return reply.send({
    active: true,
    scope: open.scopes.join(' '),
    client_id: app.id,
    token_type: 'Bearer',
    exp: seconds(open.token.expiresAt),
    iss: deps.settings.publicUrl,
    ...(open.grant.userId === undefined ? {} : { sub: open.grant.userId }),
    team_id: open.teamId,
  });
};
