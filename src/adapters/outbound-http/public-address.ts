/** Which addresses belong to the public internet: everything else may be part of our own network, or of nobody's. */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The addresses of IPv6 that have been given to the public (RFC 4291, section 2.4); special ones among them have ranges of their own. */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3') as [ipaddr.IPv6, number];
/** IPv4 seen through a translator (RFC 6052, section 2.1): stands for the IPv4 address in its last 32 bits. */
const TRANSLATED = ipaddr.parseCIDR('64:ff9b::/96') as [ipaddr.IPv6, number];

/**
 * In: an IP address as text. Out: true where it is a public unicast address. An IPv6 address that carries an IPv4 address is
 * judged by that one; tunnels (6to4, Teredo) and whatever is no plain address are refused.
 */
export const isPublicAddress = (address: string): boolean => {
  if (isIP(address) === 0 || address.includes('%')) return false;
  const parsed = ipaddr.parse(address);
  return parsed instanceof ipaddr.IPv6 ? isPublicV6(parsed) : isPublicV4(parsed);
};

const isPublicV4 = (address: ipaddr.IPv4): boolean => address.range() === 'unicast';

const isPublicV6 = (address: ipaddr.IPv6): boolean => {
  if (address.isIPv4MappedAddress() || address.match(TRANSLATED)) return isPublicV4(embedded(address));
  return address.match(GLOBAL_UNICAST) && address.range() === 'unicast';
};

const embedded = (address: ipaddr.IPv6): ipaddr.IPv4 => new ipaddr.IPv4(address.toByteArray().slice(-4));

/** Whether it is this machine itself. */
export const isLoopbackAddress = (address: string): boolean => {
  if (isIP(address) === 0 || address.includes('%')) return false;
  const parsed = ipaddr.parse(address);
  return (parsed instanceof ipaddr.IPv6 && parsed.isIPv4MappedAddress() ? parsed.toIPv4Address() : parsed).range() === 'loopback';
};
