/**
 * Connects only to addresses that are allowed. The addresses that a name stands for are looked up once, judged, and those very
 * addresses are connected to: no second look-up can give another answer.
 */
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { lookup as systemLookup } from 'node:dns/promises';
import { buildConnector } from 'undici';
import { OutboundFault } from '../../domain/ports/outbound-http.js';

/* Which addresses belong to the public internet: everything else may be part of our own network, or of nobody's. */

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

/** In: a host name. Out: the addresses it stands for; rejects with the codes of node:dns. */
export type Lookup = (hostname: string) => Promise<readonly Readonly<{ address: string; family: number }>[]>;

export type Guard = Readonly<{ lookup: Lookup; isAllowed: (address: string) => boolean }>;

export const lookupBySystem: Lookup = (hostname) => systemLookup(hostname, { all: true });

const CONNECT_TIMEOUT_MS = 10_000;
/** A name may stand for hundreds of addresses; they are tried one after the other. */
const ADDRESSES_TRIED_MAX = 8;

/** One sentence for names that do not exist and for names of our own network, so that nobody can tell which there are. */
const notAllowed = (): OutboundFault =>
  new OutboundFault(
    'address-not-allowed',
    'The host of the URL has no public address. Give the URL of a file that anybody on the internet can fetch.',
  );

/** Codes of node:dns that say that there is no such name, or none with an address. */
const NO_SUCH_NAME: readonly unknown[] = ['ENOTFOUND', 'ENODATA', 'EAI_NODATA', 'EAI_NONAME'];

const allowedAddresses = async ({ lookup, isAllowed }: Guard, hostname: string) => {
  let found: Awaited<ReturnType<Lookup>>;
  try {
    found = await lookup(hostname);
  } catch (error) {
    throw NO_SUCH_NAME.includes((error as { code?: unknown }).code) ? notAllowed() : error;
  }
  const allowed = found.filter(({ address }) => isAllowed(address)).slice(0, ADDRESSES_TRIED_MAX);
  if (allowed.length === 0) throw notAllowed();
  return allowed.map(({ address, family }) => ({ address, family }));
};

const guardedLookup =
  (guard: Guard): LookupFunction =>
  (hostname, { all }, callback) => {
    allowedAddresses(guard, hostname).then(
      (addresses) => (all === true ? callback(null, addresses) : callback(null, addresses[0]!.address, addresses[0]!.family)),
      (error: NodeJS.ErrnoException) => callback(error, ''),
    );
  };

/**
 * Out: makes the connector of one fetch; TLS sessions are shared by all. It fails with OutboundFault where an address is not
 * allowed, and at once when the signal aborts: a resolver or a host that says nothing is not waited for.
 */
export const guardedConnectors = (guard: Guard): ((signal: AbortSignal) => buildConnector.connector) => {
  const connect = buildConnector({ lookup: guardedLookup(guard), timeout: CONNECT_TIMEOUT_MS });
  return (signal) => (options, callback) => {
    const { hostname } = options;
    // An address in the URL itself is connected to without a look-up.
    if (isIP(hostname) !== 0 && !guard.isAllowed(hostname)) return queueMicrotask(() => callback(notAllowed(), null));
    const end = endOnce(callback, signal);
    connect(options, (...[error, socket]) => {
      if (error !== null) return end(error, null);
      if (guard.isAllowed(socket.remoteAddress ?? '')) return end(null, socket);
      socket.destroy();
      end(notAllowed(), null);
    });
  };
};

const endOnce = (callback: buildConnector.Callback, signal: AbortSignal): buildConnector.Callback => {
  let ended = false;
  const end: buildConnector.Callback = (...[error, socket]) => {
    // A connection that comes after all is wanted by nobody.
    if (ended) return void socket?.destroy();
    ended = true;
    signal.removeEventListener('abort', giveUp);
    if (error !== null) callback(error, null);
    else callback(null, socket);
  };
  const giveUp = (): void => end(new Error('given up'), null);
  signal.addEventListener('abort', giveUp);
  return end;
};
