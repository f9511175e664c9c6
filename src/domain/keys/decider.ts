/** One API key: its state, the decisions about it, what the API shows of it, and the text of the key itself. */
import { hash as digestOf, timingSafeEqual } from 'node:crypto';
import type { Decider } from '../core/decider.js';
import { boundedCache } from '../../shared/cache.js';
import { DomainError } from '../core/errors.js';
import { assertDefined, parseApiKeyId, type ApiKeyId } from '../core/ids.js';
import { defaultLimits } from '../core/limits.js';
import type { ApiKeyEvent } from './events.js';
import { isPermission, type Permission } from '../access/permissions.js';

/** A key is a prefix and 256 random bits in base64url. */
export const API_KEY_PREFIX = 'sealpost_sk_';
export const TEST_KEY_PREFIX = 'sealpost_test_sk_';
const RANDOM_CHARS = 43;
const FORMAT = new RegExp(`^(?:${API_KEY_PREFIX}|${TEST_KEY_PREFIX})[A-Za-z0-9_-]{${RANDOM_CHARS}}$`);

type Created = Extract<ApiKeyEvent, { type: 'ApiKeyCreated' }>['data'];
export type ApiKeyToCreate = Created;
export type ApiKey = Omit<Created, 'permissions' | 'madeBy' | 'separateDelete' | 'networks' | 'test'> &
  Readonly<{
    permissions: Permission[];
    /** Networks that calls may come from; null: anywhere. */
    networks: readonly string[] | null;
    /** A test key: what it sends is not delivered. */
    test: boolean;
    /** The maker first, then the maker's makers. */
    madeBy: readonly ApiKeyId[];
    /** The key was created when `emails:send` still included `emails:delete`, so it may delete emails. */
    impliedDelete: boolean;
    lastUsedAt: string | null;
    revokedAt: string | null;
    /** Since when the keys that it created are revoked. */
    madeRevokedAt: string | null;
  }>;
export type ApiKeyState = ApiKey | undefined;

/** Changes to a key; absent fields keep their value. */
export type ApiKeyChanges = Readonly<{
  name?: string;
  description?: string | null;
  rateLimit?: number | null;
  networks?: readonly string[] | null;
}>;

export type ApiKeyCommand =
  | Readonly<{ type: 'CreateApiKey'; created: Created }>
  | Readonly<{ type: 'UseApiKey'; at: string }>
  | Readonly<{ type: 'ChangeApiKey'; at: string; changes: ApiKeyChanges }>
  | Readonly<{ type: 'RevokeApiKey'; at: string; withMade?: boolean }>;

/** A key in answers of the API. */
export type ApiKeyListing = {
  id: string;
  name: string;
  description: string | null;
  permissions: Permission[];
  rateLimit: number | null;
  status: 'active' | 'expired' | 'revoked';
  /** The first four characters of the random part, and the last four. */
  start: string;
  end: string;
  createdAt: string;
  expiresAt: string | null;
  lastUsedAt: string | null;
  revokedAt: string | null;
  /** The key that made it. */
  madeBy: string | null;
  /** The actor who created the key, as stored in the log. */
  createdBy: string;
  networks: string[] | null;
  test: boolean;
};

/** `createdBy`: the actor of its first event. */
type Listed = Readonly<{ key: Omit<ApiKey, 'hash'>; createdBy: string }>;

export const apiKeyUnknown = (): DomainError =>
  new DomainError('API_KEY_UNKNOWN', 'There is no API key with this id. GET /api/api-keys lists yours.');

const decide = (command: ApiKeyCommand, key: ApiKeyState): readonly ApiKeyEvent[] => {
  switch (command.type) {
    case 'CreateApiKey':
      return key === undefined ? [{ type: 'ApiKeyCreated', data: command.created }] : [];
    case 'UseApiKey':
      return key !== undefined && isUseWorthNoting(key, Date.parse(command.at))
        ? [{ type: 'ApiKeyUsed', data: { at: command.at } }]
        : [];
    case 'ChangeApiKey':
      return change(command, key);
    case 'RevokeApiKey':
      if (key === undefined) throw apiKeyUnknown();
      if (command.withMade === true)
        return key.madeRevokedAt === null ? [{ type: 'ApiKeyRevoked', data: { at: command.at, withMade: true } }] : [];
      return key.revokedAt === null ? [{ type: 'ApiKeyRevoked', data: { at: command.at } }] : [];
  }
};

export const apiKeyDecider: Decider<ApiKeyCommand, ApiKeyEvent, ApiKeyState> = {
  decide,
  evolve: (key, event) => {
    switch (event.type) {
      case 'ApiKeyCreated':
        return fromCreated(event.data);
      case 'ApiKeyUsed':
        return key && { ...key, lastUsedAt: event.data.at };
      case 'ApiKeyChanged': {
        const { at: _at, ...changes } = event.data;
        return key && { ...key, ...changes };
      }
      case 'ApiKeyRevoked':
        return (
          key && {
            ...key,
            revokedAt: key.revokedAt ?? event.data.at,
            madeRevokedAt: key.madeRevokedAt ?? (event.data.withMade === true ? event.data.at : null),
          }
        );
    }
  },
  initialState: undefined,
};

/** Only what differs from the current state goes into the event. */
const change = (
  { at, changes }: Extract<ApiKeyCommand, { type: 'ChangeApiKey' }>,
  key: ApiKeyState,
): readonly ApiKeyEvent[] => {
  if (key === undefined) throw apiKeyUnknown();
  const { name, description, rateLimit, networks } = changes;
  const data = {
    ...(name === undefined || name === key.name ? {} : { name }),
    ...(description === undefined || description === key.description ? {} : { description }),
    ...(rateLimit === undefined || rateLimit === key.rateLimit ? {} : { rateLimit }),
    ...(networks === undefined || String(networks) === String(key.networks)
      ? {}
      : { networks: networks === null ? null : [...networks] }),
  };
  return Object.keys(data).length === 0 ? [] : [{ type: 'ApiKeyChanged', data: { at, ...data } }];
};

/** A use is recorded only if the last recorded one is old enough, so that a busy key does not fill the log. */
export const isUseWorthNoting = ({ lastUsedAt }: ApiKey, atMs: number): boolean =>
  lastUsedAt === null || Date.parse(lastUsedAt) <= atMs - defaultLimits.apiKeyUsedEveryMs;

const fromCreated = ({ permissions, madeBy, separateDelete, networks, test, ...data }: Created): ApiKey => {
  const known = permissions.filter(isPermission);
  const impliedDelete = separateDelete !== true && known.includes('emails:send') && !known.includes('emails:delete');
  return {
    ...data,
    permissions: impliedDelete ? [...known, 'emails:delete'] : known,
    networks: networks ?? null,
    test: test === true,
    madeBy: (madeBy ?? []).map((id) => assertDefined(parseApiKeyId(id), 'API key id')),
    impliedDelete,
    lastUsedAt: null,
    revokedAt: null,
    madeRevokedAt: null,
  };
};

/** Throws API_KEY_NOT_FOUND, API_KEY_REVOKED or API_KEY_EXPIRED; compares in constant time. */
export const admitApiKey = (key: ApiKeyState, hash: string, at: string): ApiKey => {
  if (key === undefined || !timingSafeEqual(Buffer.from(key.hash, 'hex'), Buffer.from(hash, 'hex'))) {
    throw new DomainError(
      'API_KEY_NOT_FOUND',
      'There is no such API key. Check that it was copied whole and belongs to this server.',
    );
  }
  if (key.revokedAt !== null)
    throw new DomainError('API_KEY_REVOKED', `This API key was revoked at ${key.revokedAt}. Use another.`);
  if (key.expiresAt !== null && key.expiresAt <= at) {
    throw new DomainError('API_KEY_EXPIRED', `This API key expired at ${key.expiresAt}. Create another.`);
  }
  return key;
};

/** In: the keys that made a key. Out: since when it is revoked with one of them, or null. */
export const revokedWithMaker = (makers: readonly (Pick<ApiKey, 'madeRevokedAt'> | undefined)[]): string | null =>
  makers.reduce<string | null>((first, maker) => {
    const at = maker?.madeRevokedAt ?? null;
    return first === null || (at !== null && at < first) ? at : first;
  }, null);

/** Throws API_KEY_REVOKED where one of the keys that made it was revoked with what it made. */
export const admitMade = (makers: readonly (Pick<ApiKey, 'madeRevokedAt'> | undefined)[]): void => {
  const at = revokedWithMaker(makers);
  if (at !== null) {
    throw new DomainError(
      'API_KEY_REVOKED',
      `This API key was revoked at ${at}, together with the key that made it. Use another.`,
    );
  }
};

/** `makers`: the keys of its `madeBy`, as far as they are known. */
export const apiKeyListing = (
  id: ApiKeyId,
  { key, createdBy }: Listed,
  makers: readonly (Pick<ApiKey, 'madeRevokedAt'> | undefined)[],
  now: string,
): ApiKeyListing =>
  listingOf(id, { key: { ...key, revokedAt: key.revokedAt ?? revokedWithMaker(makers) }, createdBy }, now);

const listingOf = (id: ApiKeyId, { key, createdBy }: Listed, now: string): ApiKeyListing => ({
  id,
  name: key.name,
  description: key.description,
  permissions: key.permissions,
  rateLimit: key.rateLimit,
  status: key.revokedAt !== null ? 'revoked' : key.expiresAt !== null && key.expiresAt <= now ? 'expired' : 'active',
  start: key.start,
  end: key.end,
  createdAt: key.at,
  expiresAt: key.expiresAt,
  lastUsedAt: key.lastUsedAt,
  revokedAt: key.revokedAt,
  madeBy: key.madeBy[0] ?? null,
  createdBy,
  networks: key.networks && [...key.networks],
  test: key.test,
});

/** In: 32 random bytes. Out: the key as its owner sees it, once. */
export const formatApiKey = (random: Buffer, isTest = false): string =>
  `${isTest ? TEST_KEY_PREFIX : API_KEY_PREFIX}${random.toString('base64url')}`;

/** The first four characters of the random part, and the last four. */
export const endsOf = (key: string): Readonly<{ start: string; end: string }> => ({
  start: key.slice(-RANDOM_CHARS, 4 - RANDOM_CHARS),
  end: key.slice(-4),
});

/**
 * In: a bearer token. Out: its SHA-256 (hex) and the id derived from it, or undefined if the token does not have the
 * format of a key.
 */
export const readApiKey = (token: string): { id: ApiKeyId; hash: string } | undefined => {
  if (!FORMAT.test(token)) return undefined;
  const hash = digestOf('sha256', token, 'hex');
  return { id: idsByHash.getOrMake(hash, () => idOfHash(hash)), hash };
};

/**
 * The first 128 bits of the hash are the id, so that a key is found without an index of hashes; the id reveals nothing
 * of the key.
 */
const idOfHash = (hash: string): ApiKeyId =>
  assertDefined(parseApiKeyId(`key_${Buffer.from(hash.slice(0, 32), 'hex').toString('base64url')}`), 'API key id');

/** Ids of the keys that call again and again. */
const idsByHash = boundedCache<string, ApiKeyId>({ entriesMax: 1_000 });
