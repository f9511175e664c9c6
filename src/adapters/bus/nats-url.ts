/** What the URL of a NATS server says: servers, credentials, TLS, and the name under which the bus keeps its work there. */
import { readFileSync } from 'node:fs';
import type * as Driver from 'nats';
import type { ConnectionOptions, TlsOptions } from 'nats';

export type NatsAddress = Readonly<{
  /** Without credentials, as messages and logs may show them. */
  servers: readonly string[];
  user: string | undefined;
  password: string | undefined;
  token: string | undefined;
  /** A file of a JWT and its key, as `nsc` writes them. */
  credentials: string | undefined;
  tls: TlsOptions | undefined;
  /** The first part of every subject, in capitals the names of the streams: several services may share a server. */
  prefix: string;
  replicas: number;
}>;

const schemes = ['nats:', 'tls:'];
const parameters = ['ca', 'cert', 'key', 'creds', 'prefix', 'replicas'];
const prefixDefault = 'sealpost';
const replicasMax = 5;

/**
 * nats://user:password@host:4222,other:4222?prefix=sealpost&replicas=3, tls://… where only an encrypted connection will do.
 * Throws where the URL says what the bus does not understand; the message shows no credentials.
 */
export const readNatsUrl = (url: string): NatsAddress => {
  const refuse = (why: string): never => {
    throw new Error(`SEALPOST_BUS_URL=${withoutCredentials(url)} ${why}`);
  };
  // WHATWG URLs have one host, those of a NATS cluster several.
  const [, scheme = '', userInfo = '', hosts = '', query = ''] =
    /^([a-z]+:)\/\/(?:(.*)@)?([^/?#@]*)\/?(?:\?(.*))?$/i.exec(url) ?? refuse('is not of the form nats://user:password@host:4222.');
  if (!schemes.includes(scheme)) refuse(`has no scheme of NATS; it takes ${schemes.join(' and ')}.`);
  const search = new URLSearchParams(query);
  for (const name of search.keys()) {
    if (!parameters.includes(name)) refuse(`has a parameter ${name}, which is none of ${parameters.join(', ')}.`);
  }
  const given = (name: string): string | undefined => search.get(name) ?? undefined;
  const prefix = given('prefix') ?? prefixDefault;
  if (!/^[A-Za-z0-9_-]{1,32}$/.test(prefix)) refuse('has a prefix that is not made of 1 to 32 letters, digits, hyphens and underscores.');
  const replicas = Number(given('replicas') ?? 1);
  if (!Number.isInteger(replicas) || replicas < 1 || replicas > replicasMax)
    refuse(`has replicas that are no number from 1 to ${replicasMax}.`);
  const [user, password] = credentialsOf(userInfo);
  const isToken = user !== undefined && password === undefined;
  return {
    servers: serversOf(hosts) ?? refuse('names no host.'),
    user: isToken ? undefined : user,
    password,
    token: isToken ? user : undefined,
    credentials: given('creds'),
    tls: tlsOf(scheme, given),
    prefix,
    replicas,
  };
};

/** As the driver takes them. */
export const connectionOptionsOf = (
  { servers, user, password, token, credentials, tls }: NatsAddress,
  { credsAuthenticator }: Pick<typeof Driver, 'credsAuthenticator'>,
): ConnectionOptions => ({
  servers: [...servers],
  ...(user === undefined ? {} : { user }),
  ...(password === undefined ? {} : { pass: password }),
  ...(token === undefined ? {} : { token }),
  ...(tls === undefined ? {} : { tls }),
  // Read again for each connection, so that a file that was renewed holds.
  ...(credentials === undefined ? {} : { authenticator: credsAuthenticator(() => readFileSync(credentials)) }),
});

export const withoutCredentials = (url: string): string => url.replace(/\/\/.*@/, '//…@');

const credentialsOf = (userInfo: string): readonly [string | undefined, string | undefined] => {
  if (userInfo === '') return [undefined, undefined];
  const at = userInfo.indexOf(':');
  return at === -1 ? [decoded(userInfo), undefined] : [decoded(userInfo.slice(0, at)), decoded(userInfo.slice(at + 1))];
};

/** A percent sign that encodes nothing stands for itself. */
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

const serversOf = (hosts: string): readonly string[] | undefined => {
  const servers = hosts.split(',').map((host) => host.trim());
  return servers.every((server) => server !== '') ? servers : undefined;
};

const tlsOf = (scheme: string, given: (name: string) => string | undefined): TlsOptions | undefined => {
  const [caFile, certFile, keyFile] = [given('ca'), given('cert'), given('key')];
  if (scheme !== 'tls:' && caFile === undefined && certFile === undefined && keyFile === undefined) return undefined;
  return {
    ...(caFile === undefined ? {} : { caFile }),
    ...(certFile === undefined ? {} : { certFile }),
    ...(keyFile === undefined ? {} : { keyFile }),
  };
};
