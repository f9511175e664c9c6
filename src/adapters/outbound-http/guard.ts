/**
 * Connects only to addresses that are allowed. The addresses that a name stands for are looked up once, judged, and those very
 * addresses are connected to: no second look-up can give another answer.
 */
import { lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { OutboundFault } from '../../domain/ports/outbound-http.js';

/** In: a host name. Out: the addresses it stands for; rejects with the codes of node:dns. */
export type Lookup = (hostname: string) => Promise<readonly Readonly<{ address: string; family: number }>[]>;

export type Guard = Readonly<{ lookup: Lookup; isAllowed: (address: string) => boolean }>;

export const lookupBySystem: Lookup = (hostname) => systemLookup(hostname, { all: true });

const CONNECT_TIMEOUT_MS = 10_000;
/** A name may stand for hundreds of addresses; they are tried one after the other. */
const ADDRESSES_TRIED_MAX = 8;

/** One sentence for names that do not exist and for names of our own network, so that nobody can tell which there are. */
export const notAllowed = (): OutboundFault =>
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
