/**
 * Forms of addresses: a mail address with its domain in ASCII, a URL without credentials, and the network that limits
 * count an IP address by.
 */
import { domainToASCII } from 'node:url';

/**
 * The mail address with its domain in A-labels, as SMTP without SMTPUTF8 needs it. An address whose domain has no ASCII
 * form stays as it is.
 */
export const withAsciiDomain = (address: string): string => {
  const at = address.lastIndexOf('@');
  const domain = address.slice(at + 1);
  return /^[\x00-\x7f]*$/.test(domain) ? address : address.slice(0, at + 1) + (domainToASCII(domain) || domain);
};

/**
 * For messages and logs: the text without user and password of the URLs in it, and without the values of query
 * parameters called password, secret or token.
 */
export const withoutCredentials = (text: string): string =>
  text.replace(/\/\/.*@/, '//…@').replace(/([?&][^=&]*(?:pass|secret|token)[^=&]*=)[^&]*/gi, '$1…');

/**
 * In: an IP address. Out: the prefix that one owner may have as a whole: /16 of IPv4, /32 of IPv6, which is what a
 * registry gives to a provider.
 */
export const addressPrefix = (address: string): string => {
  const bucket = addressBucket(address);
  const [first = '', second = ''] = bucket.split(/[.:]/, 2);
  return bucket.includes(':') ? `${first}:${second}::/32` : `${first}.${second}.0.0/16`;
};

/**
 * In: an IP address. Out: the key under which limits count its owner: an IPv4 address itself, of an IPv6 address its
 * /64 network, because one subscriber commonly has all of it (RFC 6177). IPv4 inside IPv6 counts as IPv4.
 */
export const addressBucket = (address: string): string => {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped?.[1] !== undefined) return mapped[1];
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.split('%', 1)[0]!.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length);
  const groups = [...left, ...Array.from({ length: zeros }, () => '0'), ...right];
  return `${groups.slice(0, 4).join(':')}::/64`;
};
