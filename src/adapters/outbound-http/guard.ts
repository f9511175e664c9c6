/**
 * Connects only to allowed addresses, by default those of the public internet. The addresses of a name are looked up
 * once and checked, and the connection goes to those very addresses: no second look-up can give another answer.
 */
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { lookup as systemLookup } from 'node:dns/promises';
import { buildConnector } from 'undici';
import { OutboundFault } from '../../domain/ports/outbound-http.js';

/** Looks up the addresses of a host name. Rejects with the codes of node:dns. */
export type Lookup = (hostname: string) => Promise<readonly Readonly<{ address: string; family: number }>[]>;

export type Guard = Readonly<{ lookup: Lookup; isAllowed: (address: string) => boolean }>;

const CONNECT_TIMEOUT_MS = 10_000;
/** A name may have hundreds of addresses, which are tried one after the other. */
const ADDRESSES_TRIED_MAX = 8;

/** Codes of node:dns for a name that does not exist or has no address. */
const NO_SUCH_NAME: readonly unknown[] = ['ENOTFOUND', 'ENODATA', 'EAI_NODATA', 'EAI_NONAME'];

/** The public addresses of IPv6 (RFC 4291, section 2.4). Special ones among them have ranges of their own. */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3') as [ipaddr.IPv6, number];
/** IPv4 through a translator (RFC 6052, section 2.1): such an address means the IPv4 address in its last 32 bits. */
const TRANSLATED = ipaddr.parseCIDR('64:ff9b::/96') as [ipaddr.IPv6, number];

export const lookupBySystem: Lookup = (hostname) => systemLookup(hostname, { all: true });

/**
 * Out: a function that makes the connector of one fetch. All share TLS sessions. A connector fails with OutboundFault
 * if an address is not allowed, and at once when the signal aborts, even if a resolver or a host does not answer.
 */
export const guardedConnectors = (guard: Guard): ((signal: AbortSignal) => buildConnector.connector) => {
  const connect = buildConnector({ lookup: guardedLookup(guard), timeout: CONNECT_TIMEOUT_MS });
  return (signal) => (options, callback) => {
    const { hostname } = options;
    // For an address in the URL itself there is no look-up, so it is checked here.
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
    // The connection came too late.
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

const guardedLookup =
  (guard: Guard): LookupFunction =>
  (hostname, { all }, callback) => {
    allowedAddresses(guard, hostname).then(
      (addresses) =>
        all === true ? callback(null, addresses) : callback(null, addresses[0]!.address, addresses[0]!.family),
      (error: NodeJS.ErrnoException) => callback(error, ''),
    );
  };

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

/**
 * One sentence for names that do not exist and for names of our own network, so that it does not reveal which exist.
 */
const notAllowed = (): OutboundFault =>
  new OutboundFault(
    'address-not-allowed',
    'The host of the URL has no public address. Give the URL of a file that anybody on the internet can fetch.',
  );

/**
 * Whether a text is a public unicast IP address. An IPv6 address that contains an IPv4 address is judged by that one.
 * Tunnels (6to4, Teredo) and texts that are no plain address are refused.
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

/** Whether the address is this machine. */
export const isLoopbackAddress = (address: string): boolean => {
  if (isIP(address) === 0 || address.includes('%')) return false;
  const parsed = ipaddr.parse(address);
  return (
    (parsed instanceof ipaddr.IPv6 && parsed.isIPv4MappedAddress() ? parsed.toIPv4Address() : parsed).range() ===
    'loopback'
  );
};
