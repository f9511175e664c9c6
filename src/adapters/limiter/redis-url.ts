/** What the URL of a Redis server says, as the driver takes it. */
import { readFileSync } from 'node:fs';
import type { RedisOptions } from 'ioredis';

export type RedisAddress = Readonly<{
  options: Omit<RedisOptions, 'replyMapping'>;
  /** The first part of every key: several services may share a server. */
  prefix: string;
  /** Without credentials, as messages may show it. */
  shown: string;
}>;

const schemes = ['redis:', 'rediss:'];
const parameters = ['ca', 'prefix'];
const portDefault = 6_379;

/**
 * redis://user:password@host:6379/0?prefix=sealpost, rediss://… over TLS, there with ?ca=FILE of the authority that signed its certificate.
 * Throws where the URL says something else; the message shows no credentials.
 */
export const readRedisUrl = (url: string): RedisAddress => {
  const shown = url.replace(/\/\/.*@/, '//…@');
  const refuse = (why: string): never => {
    throw new Error(`SEALPOST_LIMITER_URL=${shown} ${why}`);
  };
  if (!URL.canParse(url)) refuse('is not of the form redis://user:password@host:6379/0.');
  const { protocol, hostname, port, username, password, pathname, searchParams } = new URL(url);
  if (!schemes.includes(protocol)) refuse(`has no scheme of Redis; it takes ${schemes.join(' and ')}.`);
  if (hostname === '') refuse('names no host.');
  for (const name of searchParams.keys()) {
    if (!parameters.includes(name)) refuse(`has a parameter ${name}, which is none of ${parameters.join(', ')}.`);
  }
  const db = pathname === '' || pathname === '/' ? 0 : Number(pathname.slice(1));
  if (!Number.isInteger(db) || db < 0) refuse('names a database that is no number.');
  const ca = searchParams.get('ca');
  return {
    options: {
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? portDefault : Number(port),
      db,
      ...(username === '' ? {} : { username: decodeURIComponent(username) }),
      ...(password === '' ? {} : { password: decodeURIComponent(password) }),
      ...(protocol === 'rediss:' ? { tls: ca === null ? {} : { ca: readFileSync(ca) } } : {}),
    },
    prefix: searchParams.get('prefix') ?? 'sealpost',
    shown,
  };
};
