/** Authenticates the apps that call the endpoints of OAuth, and refuses in the form of RFC 6749. */
import type { FastifyReply } from 'fastify';
import type { KnownApp } from '../../commands/apps/apps.js';
import type { HttpDeps } from '../server/context.js';

export type AppCredentials = Readonly<{
  form: Readonly<Record<string, string>>;
  /** The header Authorization, if there is one. */
  authorization: string | undefined;
}>;

type Credentials = Readonly<{ id: string; secret: string | undefined }>;

/** An error of RFC 6749, section 5.2. */
type Refused = Readonly<{ error: 'invalid_request' | 'invalid_client'; description: string }>;

/** Fields of a form by which an app authenticates, ours and those of RFC 7521. */
const authenticatingFields = ['client_secret', 'client_assertion', 'client_assertion_type'] as const;

const BASIC = /^Basic +([A-Za-z0-9+/]+={0,2})$/i;

export const CHALLENGE = 'Basic realm="sealpost"';

export const refuse = (
  reply: FastifyReply,
  status: 400 | 401 | 403,
  error: string,
  description: string,
): FastifyReply => {
  if (status === 401) reply.header('www-authenticate', CHALLENGE);
  return reply.code(status).send({ error, error_description: description });
};

/**
 * Authenticates the app that calls one of these endpoints, by the Authorization header or by the form (RFC 6749,
 * section 2.3). Out: the app, or the error that it gets.
 */
export const authenticateApp = async (
  { oauth }: Pick<HttpDeps, 'oauth'>,
  { form, authorization }: AppCredentials,
): Promise<KnownApp | Refused> => {
  const read = authorization === undefined ? credentialsInForm(form) : credentialsInHeader(authorization, form);
  if ('error' in read) return read;
  const app = await oauth.authenticateOAuthApp(read.id, read.secret);
  return app ?? { error: 'invalid_client', description: 'The app is unknown, or its secret is wrong' };
};

/** A public app sends its `client_id` alone. An empty secret is none (RFC 6749, section 2.3.1). */
const credentialsInForm = (form: AppCredentials['form']): Credentials | Refused => {
  if (authenticatingFields.some((name) => name !== 'client_secret' && form[name] !== undefined))
    return { error: 'invalid_client', description: 'Apps authenticate by a secret here, not by an assertion' };
  const { client_id: id, client_secret: secret } = form;
  if (id === undefined)
    return {
      error: 'invalid_client',
      description: 'The app says who it is by a Basic header, or by `client_id` in the form',
    };
  return { id, secret: secret === '' ? undefined : secret };
};

/** The id and secret in a Basic header, each encoded as in a form (RFC 6749, section 2.3.1). */
const credentialsInHeader = (header: string, form: AppCredentials['form']): Credentials | Refused => {
  const encoded = BASIC.exec(header)?.[1];
  const text = encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString('utf8');
  const at = text.indexOf(':');
  const [id, secret] = at < 0 ? [] : [decoded(text.slice(0, at)), decoded(text.slice(at + 1))];
  if (id === undefined || secret === undefined)
    return {
      error: 'invalid_client',
      description: 'The Authorization header must be Basic, with `client_id:client_secret`, each encoded as in a form',
    };
  if (authenticatingFields.some((name) => form[name] !== undefined))
    return {
      error: 'invalid_request',
      description: 'The app authenticates in two ways: send the Authorization header, or the secret in the form',
    };
  if (form['client_id'] !== undefined && form['client_id'] !== id)
    return {
      error: 'invalid_request',
      description: 'The `client_id` of the form is not that of the Authorization header',
    };
  return { id, secret: secret === '' ? undefined : secret };
};

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
};
