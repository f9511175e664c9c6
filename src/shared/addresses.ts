/** Whom the limits for addresses count as one. */
import { domainToASCII } from 'node:url';

/* Addresses as SMTP without SMTPUTF8 has them. */

/** The same address with its domain in A-labels; one whose domain is none stays as it is. */
export const withAsciiDomain = (address: string): string => {
  const at = address.lastIndexOf('@');
  const domain = address.slice(at + 1);
  return /^[\x00-\x7f]*$/.test(domain) ? address : address.slice(0, at + 1) + (domainToASCII(domain) || domain);
};

/* Addresses as messages, logs and kept settings may show them. */

/** The text without user and password of the URLs in it, and without what their queries call a password, a secret or a token. */
export const withoutCredentials = (text: string): string =>
  text.replace(/\/\/.*@/, '//…@').replace(/([?&][^=&]*(?:pass|secret|token)[^=&]*=)[^&]*/gi, '$1…');

/**
 * In: an IP address. Out: what stands for its owner: the address itself, or the /64 network of an IPv6 address, for
 * one subscriber commonly has all of it (RFC 6177). IPv4 inside IPv6 counts as IPv4.
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
