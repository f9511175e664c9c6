/** Settings of mail that are lists: headers for the relay, servers of the DNS, and what SPF records of sender domains are to say. */
import { isIP } from 'node:net';
import { ConfigError } from './config-error.js';
import { parseAllowedHeaders } from './domain/message/header.js';

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
