/** Permissions that a key may give to the keys that it creates or changes: never more than it has itself. */
import { DomainError } from '../core/errors.js';
import type { ApiKeyId } from '../core/ids.js';
import { defaultLimits } from '../core/limits.js';
import { lackedOf, type AccessPermission } from '../access/permissions.js';
import { leastDefaultRate } from '../access/rate-limits.js';
import type { ApiKey, ApiKeyChanges } from './decider.js';
import { outside } from './networks.js';

/** The properties of a key that bound the keys it creates. */
export type Maker = Pick<ApiKey, 'expiresAt' | 'rateLimit' | 'madeBy' | 'networks' | 'test'> &
  Readonly<{ id: ApiKeyId }>;

type Grant = Readonly<{
  expiresAt: string | null;
  rateLimit: number | null;
  networks: readonly string[] | null;
  test: boolean;
  madeBy: readonly ApiKeyId[];
}>;

/** Grant in the request for a new key; a field is undefined if the request leaves it out. */
type RequestedGrant = Readonly<{
  expiresAt: string | undefined;
  rateLimit: number | undefined;
  networks: readonly string[] | undefined;
  test: boolean | undefined;
}>;

/** The caller who changes or revokes a key; `key` is undefined if the caller uses no API key. */
type Changer = Readonly<{ key?: Maker | undefined; permissions: readonly AccessPermission[] }>;

type Bounds = Pick<Maker, 'rateLimit' | 'madeBy' | 'networks'>;

/**
 * In: the key that creates another, undefined where the operator does, and what is requested for the new key. Out: what
 * the new key gets: never a later end or a higher limit than its maker's, and its maker's where nothing is requested.
 * Throws FORBIDDEN.
 */
export const grantFrom = (maker: Maker | undefined, requested: RequestedGrant): Grant => {
  if (maker === undefined) {
    const { expiresAt = null, rateLimit = null, networks = null, test = false } = requested;
    return { expiresAt, rateLimit, networks, test, madeBy: [] };
  }
  const { expiresAt, rateLimit, networks } = maker;
  if (expiresAt !== null && requested.expiresAt !== undefined && requested.expiresAt > expiresAt) {
    throw new DomainError(
      'FORBIDDEN',
      `A key makes none that lasts longer than itself; the calling key expires at ${expiresAt}.`,
      {
        errors: [{ field: 'expiresAt', message: `must not be after ${expiresAt}` }],
      },
    );
  }
  if (maker.test && requested.test === false)
    throw new DomainError('FORBIDDEN', 'A test key makes only test keys.', {
      errors: [{ field: 'test', message: 'must be true' }],
    });
  if (requested.rateLimit !== undefined) assertRateWithin(maker, requested.rateLimit);
  if (requested.networks !== undefined) assertNetworksWithin(maker, requested.networks);
  if (maker.madeBy.length >= defaultLimits.apiKeyMakersMax) {
    throw new DomainError(
      'FORBIDDEN',
      `A key that was made by a key, and so on ${defaultLimits.apiKeyMakersMax} times, makes no other; use the key that made it.`,
    );
  }
  return {
    expiresAt: requested.expiresAt ?? expiresAt,
    rateLimit: requested.rateLimit ?? rateLimit,
    networks: requested.networks ?? networks,
    test: maker.test || requested.test === true,
    madeBy: [maker.id, ...maker.madeBy],
  };
};

/** null asks for the default limits, which a key with a limit of its own cannot give. Throws FORBIDDEN. */
const assertRateWithin = (bounds: Bounds, asked: number | null): void => {
  const { rateLimit } = bounds;
  const rateMax = rateMaxOf(bounds);
  if (asked === null ? rateLimit === null : rateMax === null || asked <= rateMax) return;
  const bound =
    rateLimit === null
      ? `A key that was made by a key and has the default limits gives no rate limit above the lowest of these, ${rateMax} a minute; leave it out, or use a key of the operator.`
      : `A key gives none a higher rate limit than its own, which is ${rateLimit} a minute.`;
  throw new DomainError('FORBIDDEN', bound, {
    errors: [{ field: 'rateLimit', message: `must be at most ${rateMax}` }],
  });
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
 * In: the key that changes another, undefined where no key does, the key that made that other, undefined where none
 * did, and the other. Throws FORBIDDEN where the change goes beyond what one of them may give, or bounds are changed of
 * a key that may do more.
 */
export const assertMayChange = (
  by: Changer,
  maker: Bounds | undefined,
  changed: Pick<ApiKey, 'permissions'>,
  { rateLimit, networks }: ApiKeyChanges,
): void => {
  if (rateLimit === undefined && networks === undefined) return;
  assertNotStronger(by, changed, 'changes no limit or network of a');
  for (const bounds of [by.key, maker]) {
    if (bounds === undefined) continue;
    if (rateLimit !== undefined) assertRateWithin(bounds, rateLimit);
    if (networks !== undefined) assertNetworksWithin(bounds, networks);
  }
};

/**
 * In: who revokes a key, and that key. A key revokes itself, and others that may do no more than it. Throws FORBIDDEN.
 */
export const assertMayRevoke = (by: Changer, revoked: Pick<ApiKey, 'permissions'>): void =>
  assertNotStronger(by, revoked, 'revokes no');

/**
 * Throws FORBIDDEN if a key calls and lacks a permission of the other key. People and the operator act on every key.
 */
const assertNotStronger = (by: Changer, { permissions }: Pick<ApiKey, 'permissions'>, verb: string): void => {
  const beyond = by.key === undefined ? [] : lackedOf(by.permissions, permissions);
  if (beyond.length > 0)
    throw new DomainError(
      'FORBIDDEN',
      `A key ${verb} key that may do more than itself; the calling key lacks ${beyond.join(', ')}.`,
    );
};

/**
 * The highest rate limit that a key may give; null where there is none. A limit of one's own replaces every default, so
 * a key that has the defaults and was itself made by a key gives none above the lowest of them. A key that the operator
 * made without a limit may give any limit.
 */
const rateMaxOf = ({ rateLimit, madeBy }: Pick<Maker, 'rateLimit' | 'madeBy'>): number | null =>
  rateLimit ?? (madeBy.length === 0 ? null : leastDefaultRate);
