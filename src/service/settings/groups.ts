/** Settings of mail: the address of links, headers for the relay, servers of the DNS, and what SPF records of sender domains are to say. */
import { isIP } from 'node:net';
import { ConfigError } from './config-error.js';
import { parseAllowedHeaders } from '../../domain/mime/header.js';

export const readRelayHeaders = (value: string | undefined): readonly string[] => {
  const read = parseAllowedHeaders(value ?? '');
  if ('fault' in read) throw new ConfigError(`SEALPOST_ALLOWED_RELAY_HEADERS: ${read.fault}.`);
  return read.names;
};

/** An IP address with or without a port: that of IPv6 stands in brackets then. */
export const readDnsServers = (value: string | undefined): readonly string[] => {
  if (value === undefined) return [];
  const servers = value.split(',').map((server) => server.trim());
  for (const server of servers) {
    const [, address = server, port = '53'] = /^\[(.+)\]:(\d+)$/.exec(server) ?? /^([^:]+):(\d+)$/.exec(server) ?? [];
    if (isIP(address) === 0 || Number(port) < 1 || Number(port) > 65_535)
      throw new ConfigError(`SEALPOST_DNS_SERVERS: ${server} is no IP address, such as 192.0.2.1, 192.0.2.1:5353 or [2001:db8::1]:5353.`);
  }
  return servers;
};

/** Terms as they stand between `v=spf1` and the last term of a record. */
export const readSpf = (value: string): string => {
  const terms = value.split(/\s+/);
  const wrong = terms.find((term) => !/^(?:a|mx|include|ip4|ip6|exists)(?:[:/][A-Za-z0-9._:/%{}-]+)?$/i.test(term));
  if (wrong === undefined) return terms.join(' ');
  throw new ConfigError(`SEALPOST_SPF_MECHANISMS: ${wrong} is no mechanism of SPF, such as mx, ip4:192.0.2.1 or include:_spf.example.net.`);
};

/** Without a slash at its end; without a setting it is where the server listens. */
export const readPublicUrl = (
  value: string | undefined,
  { host, port, isHttps }: Readonly<{ host: string; port: number; isHttps: boolean }>,
): string => {
  const shownHost = host.includes(':') ? `[${host}]` : host;
  return (value ?? `${isHttps ? 'https' : 'http'}://${shownHost}:${port}`).replace(/\/+$/, '');
};

/**
 * In: the address of the service, and whether recipients can be sent there: it is set, or no mail leaves this machine. Out: what links in
 * mails begin with, which is https, or on loopback.
 */
export const readLinkBase = (publicUrl: string, isKnown: boolean): string | undefined => {
  const url = URL.parse(publicUrl);
  if (!isKnown || url === null) return undefined;
  const isSafe = url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname.replace(/^\[|\]$/g, '')));
  return isSafe ? publicUrl : undefined;
};

export const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
