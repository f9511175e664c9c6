/** What a key may give to the keys that it makes or changes: never more than it has. */
import { DomainError } from '../core/errors.js';
import type { ApiKeyId } from '../core/ids.js';
import { defaultLimits } from '../core/limits.js';
import { leastDefaultRate } from '../access/rate-limits.js';
import { outside } from './networks.js';
import type { ApiKey, ApiKeyChanges } from './decider.js';

/** What bounds the keys that a key makes. */
export type Maker = Pick<ApiKey, 'expiresAt' | 'rateLimit' | 'madeBy' | 'networks' | 'test'> & Readonly<{ id: ApiKeyId }>;

export type Grant = Readonly<{
  expiresAt: string | null;
  rateLimit: number | null;
  networks: readonly string[] | null;
  test: boolean;
  madeBy: readonly ApiKeyId[];
}>;

/** undefined where nothing is asked for. */
export type Asked = Readonly<{
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
