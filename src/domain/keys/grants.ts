/** What a key may give to the keys that it makes or changes: never more than it has. */
import { DomainError } from '../core/errors.js';
import type { ApiKeyId } from '../core/ids.js';
import { defaultLimits } from '../core/limits.js';
import { leastDefaultRate } from '../access/rate-limits.js';
import type { ApiKey, ApiKeyChanges } from './decider.js';

/* The networks that a key may come from, and whether an address lies in one of them. IPv4 inside IPv6 (`::ffff:192.0.2.1`) is IPv4. */

/** `bytes`: 4 or 16 of them. */
type Address = readonly number[];
type Network = Readonly<{ bytes: Address; bits: number }>;

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;
const IPV6 = /^[0-9a-f:.]{2,45}$/i;
const MAPPED_PREFIX = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
const MAPPED_BITS = 96;

const bytesOfV4 = (text: string): Address => text.split('.').map(Number);

/** The parser of URLs knows every way of writing one, and gives eight groups at most, with no IPv4 in it. */
const bytesOfV6 = (text: string): Address | undefined => {
  if (!URL.canParse(`http://[${text}]`)) return undefined;
  const [left = '', right] = new URL(`http://[${text}]`).hostname.slice(1, -1).split('::');
  const groupsOf = (part: string | undefined): readonly string[] => (part === undefined || part === '' ? [] : part.split(':'));
  const [before, after] = [groupsOf(left), groupsOf(right)];
  const groups = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => '0'), ...after];
  return groups.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff]);
};

const isMapped = (bytes: Address): boolean => bytes.length === 16 && MAPPED_PREFIX.every((byte, index) => bytes[index] === byte);

const bytesOf = (text: string): Address | undefined => (IPV4.test(text) ? bytesOfV4(text) : IPV6.test(text) ? bytesOfV6(text) : undefined);

/** An address as a socket or a proxy gives it; the zone of a link-local one does not count. */
const addressOf = (text: string): Address | undefined => {
  const bytes = bytesOf(text.split('%', 1)[0]!);
  return bytes !== undefined && isMapped(bytes) ? bytes.slice(12) : bytes;
};

const networkOf = (text: string): Network | undefined => {
  const [, address = '', prefix] = /^([^/]+)(?:\/(0|[1-9]\d{0,2}))?$/.exec(text) ?? [];
  const bytes = bytesOf(address);
  if (bytes === undefined) return undefined;
  const bits = prefix === undefined ? bytes.length * 8 : Number(prefix);
  if (bits > bytes.length * 8) return undefined;
  return isMapped(bytes) && bits >= MAPPED_BITS ? { bytes: bytes.slice(12), bits: bits - MAPPED_BITS } : { bytes, bits };
};

/** The byte of an address as far as the prefix goes. */
const within = (bytes: Address, bits: number, index: number): number => {
  const left = Math.min(8, Math.max(0, bits - index * 8));
  return bytes[index]! & (0xff00 >> left) & 0xff;
};

const contains = ({ bytes, bits }: Network, address: Address): boolean =>
  bytes.length === address.length && bytes.every((byte, index) => byte === within(address, bits, index));

const textOf = ({ bytes, bits }: Network): string => {
  if (bytes.length === 4) return `${bytes.join('.')}/${bits}`;
  const groups = Array.from({ length: 8 }, (_, index) => ((bytes[index * 2]! << 8) | bytes[index * 2 + 1]!).toString(16));
  return `${new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)}/${bits}`;
};

type ReadNetwork = Readonly<{ ok: true; network: string }> | Readonly<{ ok: false; reason: string }>;

/** In: a network as it is typed, `192.0.2.0/24` or an address alone. Out: the form in which keys have it, or what is wrong with it. */
export const readNetwork = (typed: string): ReadNetwork => {
  const network = networkOf(typed);
  if (network === undefined) return { ok: false, reason: 'is no network; give CIDR such as 192.0.2.0/24 or 2001:db8::/32, or one address' };
  const first = { ...network, bytes: network.bytes.map((_, index) => within(network.bytes, network.bits, index)) };
  const text = textOf(first);
  return textOf(network) !== text
    ? { ok: false, reason: `names an address inside its network; the network is ${text}` }
    : { ok: true, network: text };
};

/** Lists of networks that calls are held against again and again. */
const parsed = new WeakMap<readonly string[], readonly Network[]>();

const parsedOf = (networks: readonly string[]): readonly Network[] => {
  const known = parsed.get(networks);
  if (known !== undefined) return known;
  // One that cannot be read, as of a later program, holds no address.
  const read = networks.flatMap((text) => networkOf(text) ?? []);
  parsed.set(networks, read);
  return read;
};

/** In: networks as keys have them, and an address as a socket or a proxy gives it. */
export const isFrom = (networks: readonly string[], address: string): boolean => {
  const bytes = addressOf(address);
  return bytes !== undefined && parsedOf(networks).some((network) => contains(network, bytes));
};

/** The networks of the first list that do not lie in one of the second, whole. */
export const outside = (networks: readonly string[], bounds: readonly string[]): readonly string[] =>
  networks.filter((text) => {
    const network = networkOf(text);
    return network === undefined || !parsedOf(bounds).some((bound) => bound.bits <= network.bits && contains(bound, network.bytes));
  });

/** What bounds the keys that a key makes. */
export type Maker = Pick<ApiKey, 'expiresAt' | 'rateLimit' | 'madeBy' | 'networks' | 'test'> & Readonly<{ id: ApiKeyId }>;

type Grant = Readonly<{
  expiresAt: string | null;
  rateLimit: number | null;
  networks: readonly string[] | null;
  test: boolean;
  madeBy: readonly ApiKeyId[];
}>;

/** undefined where nothing is asked for. */
type Asked = Readonly<{
  expiresAt: string | undefined;
  rateLimit: number | undefined;
  networks: readonly string[] | undefined;
  test: boolean | undefined;
}>;

/**
 * In: what is asked for a new key, undefined where nothing is, and the key that makes it, undefined where the operator does.
 * Out: what it gets: never a later end or a higher limit than its maker's, and its maker's where nothing is asked for. Throws FORBIDDEN.
 */
export const grantFrom = (maker: Maker | undefined, asked: Asked): Grant => {
  if (maker === undefined) {
    const { expiresAt = null, rateLimit = null, networks = null, test = false } = asked;
    return { expiresAt, rateLimit, networks, test, madeBy: [] };
  }
  const { expiresAt, rateLimit, networks } = maker;
  if (expiresAt !== null && asked.expiresAt !== undefined && asked.expiresAt > expiresAt) {
    throw new DomainError('FORBIDDEN', `A key makes none that lasts longer than itself; the calling key expires at ${expiresAt}.`, {
      errors: [{ field: 'expiresAt', message: `must not be after ${expiresAt}` }],
    });
  }
  if (maker.test && asked.test === false)
    throw new DomainError('FORBIDDEN', 'A test key makes only test keys.', { errors: [{ field: 'test', message: 'must be true' }] });
  if (asked.rateLimit !== undefined) assertRateWithin(maker, asked.rateLimit);
  if (asked.networks !== undefined) assertNetworksWithin(maker, asked.networks);
  if (maker.madeBy.length >= defaultLimits.apiKeyMakersMax) {
    throw new DomainError(
      'FORBIDDEN',
      `A key that was made by a key, and so on ${defaultLimits.apiKeyMakersMax} times, makes no other; use the key that made it.`,
    );
  }
  return {
    expiresAt: asked.expiresAt ?? expiresAt,
    rateLimit: asked.rateLimit ?? rateLimit,
    networks: asked.networks ?? networks,
    test: maker.test || asked.test === true,
    madeBy: [maker.id, ...maker.madeBy],
  };
};

type Bounds = Pick<Maker, 'rateLimit' | 'madeBy' | 'networks'>;

/** null asks for the default limits, which a key with a limit of its own cannot give. Throws FORBIDDEN. */
const assertRateWithin = (bounds: Bounds, asked: number | null): void => {
  const { rateLimit } = bounds;
  const rateMax = rateMaxOf(bounds);
  if (asked === null ? rateLimit === null : rateMax === null || asked <= rateMax) return;
  const bound =
    rateLimit === null
      ? `A key that was made by a key and has the default limits gives no rate limit above the lowest of these, ${rateMax} a minute; leave it out, or use a key of the operator.`
      : `A key gives none a higher rate limit than its own, which is ${rateLimit} a minute.`;
  throw new DomainError('FORBIDDEN', bound, { errors: [{ field: 'rateLimit', message: `must be at most ${rateMax}` }] });
};

/** null asks for a key that may come from anywhere. Throws FORBIDDEN. */
const assertNetworksWithin = ({ networks: bounds }: Bounds, asked: readonly string[] | null): void => {
  if (bounds === null) return;
  const beyond = asked === null ? ['0.0.0.0/0', '::/0'] : outside(asked, bounds);
  if (beyond.length === 0) return;
  throw new DomainError(
    'FORBIDDEN',
    `A key lets none come from networks that it may not come from itself; its own are ${bounds.join(', ')}.`,
    {
      errors: [{ field: 'networks', message: `${beyond.join(', ')} lies beyond them` }],
    },
  );
};

/**
 * In: the key that changes another, undefined where no key does, the key that made that other, undefined where none did, and the other.
 * Throws FORBIDDEN where the change goes beyond what one of them may give, or bounds are changed of a key that may do more.
 */
export const assertMayChange = (
  by: Readonly<{ key?: Maker | undefined; permissions: readonly string[] }>,
  maker: Bounds | undefined,
  changed: Pick<ApiKey, 'permissions'>,
  { rateLimit, networks }: ApiKeyChanges,
): void => {
  if (rateLimit === undefined && networks === undefined) return;
  const beyond = changed.permissions.filter((permission) => !by.permissions.includes(permission));
  if (by.key !== undefined && beyond.length > 0) {
    throw new DomainError(
      'FORBIDDEN',
      `A key changes no limit or network of one that may do more; the calling key lacks ${beyond.join(', ')}.`,
    );
  }
  for (const bounds of [by.key, maker]) {
    if (bounds === undefined) continue;
    if (rateLimit !== undefined) assertRateWithin(bounds, rateLimit);
    if (networks !== undefined) assertNetworksWithin(bounds, networks);
  }
};

/**
 * The highest rate limit that a key may give; null where there is none. A limit of one's own replaces every default, so a key that has
 * the defaults and was itself made by a key gives none above the lowest of them. What the operator made without a limit is not bounded.
 */
const rateMaxOf = ({ rateLimit, madeBy }: Pick<Maker, 'rateLimit' | 'madeBy'>): number | null =>
  rateLimit ?? (madeBy.length === 0 ? null : leastDefaultRate);
