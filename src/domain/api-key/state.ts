/** What the events of one API key add up to, and the decisions about it. */
import { hash as digestOf, timingSafeEqual } from 'node:crypto';
import type { Decider } from '../decider.js';
import { DomainError } from '../errors.js';
import { assertDefined, parseApiKeyId, type ApiKeyId } from '../ids.js';
import { defaultLimits } from '../limits.js';
import type { ApiKeyEvent } from './events.js';
import { isPermission, type Permission } from './permissions.js';

/** `<prefix>_sk_<random>`: 256 random bits in base64url. */
export const API_KEY_PREFIX = 'sealpost_sk_';
const FORMAT = /^sealpost_sk_[A-Za-z0-9_-]{43}$/;

/** In: 32 random bytes. Out: the key as its owner sees it, once. */
export const formatApiKey = (random: Buffer): string => `${API_KEY_PREFIX}${random.toString('base64url')}`;

/** In: a bearer token. Out: its SHA-256 (hex) and the id that follows from it, or undefined where it is no key of ours by form. */
export const readApiKey = (token: string): { id: ApiKeyId; hash: string } | undefined => {
  if (!FORMAT.test(token)) return undefined;
  const digest = digestOf('sha256', token, 'buffer');
  // 128 bits of the hash of 256 random bits name the stream: no index of hashes is needed, and the id tells nothing of the key.
  const id = assertDefined(parseApiKeyId(`key_${digest.subarray(0, 16).toString('base64url')}`), 'API key id');
  return { id, hash: digest.toString('hex') };
};

type Created = Extract<ApiKeyEvent, { type: 'ApiKeyCreated' }>['data'];
export type ApiKey = Omit<Created, 'permissions'> &
  Readonly<{ permissions: Permission[]; lastUsedAt: string | null; revokedAt: string | null }>;
export type ApiKeyState = ApiKey | undefined;

export type ApiKeyCommand =
  | Readonly<{ type: 'CreateApiKey'; created: Created }>
  | Readonly<{ type: 'UseApiKey'; at: string }>
  | Readonly<{ type: 'RevokeApiKey'; at: string }>;

export const apiKeyUnknown = (): DomainError =>
  new DomainError('API_KEY_UNKNOWN', 'There is no API key with this id. GET /api/api-keys lists yours.');

const decide = (command: ApiKeyCommand, key: ApiKeyState): readonly ApiKeyEvent[] => {
  switch (command.type) {
    case 'CreateApiKey':
      return key === undefined ? [{ type: 'ApiKeyCreated', data: command.created }] : [];
    case 'UseApiKey':
      return key !== undefined && isUseWorthNoting(key, command.at) ? [{ type: 'ApiKeyUsed', data: { at: command.at } }] : [];
    case 'RevokeApiKey':
      if (key === undefined) throw apiKeyUnknown();
      return key.revokedAt === null ? [{ type: 'ApiKeyRevoked', data: { at: command.at } }] : [];
  }
};

/** Last used is noted to a few minutes, so that a busy key does not fill the log. */
export const isUseWorthNoting = (key: ApiKey, at: string): boolean =>
  key.lastUsedAt === null || Date.parse(at) - Date.parse(key.lastUsedAt) >= defaultLimits.apiKeyUsedEveryMs;

export const apiKeyDecider: Decider<ApiKeyCommand, ApiKeyEvent, ApiKeyState> = {
  decide,
  evolve: (key, event) => {
    switch (event.type) {
      case 'ApiKeyCreated':
        return { ...event.data, permissions: event.data.permissions.filter(isPermission), lastUsedAt: null, revokedAt: null };
      case 'ApiKeyUsed':
        return key && { ...key, lastUsedAt: event.data.at };
      case 'ApiKeyRevoked':
        return key && { ...key, revokedAt: event.data.at };
    }
  },
  initialState: undefined,
};

/** Throws API_KEY_NOT_FOUND, API_KEY_REVOKED or API_KEY_EXPIRED; compares in constant time. */
export const admitApiKey = (key: ApiKeyState, hash: string, at: string): ApiKey => {
  if (key === undefined || !timingSafeEqual(Buffer.from(key.hash, 'hex'), Buffer.from(hash, 'hex'))) {
    throw new DomainError('API_KEY_NOT_FOUND', 'There is no such API key. Check that it was copied whole and belongs to this server.');
  }
  if (key.revokedAt !== null) throw new DomainError('API_KEY_REVOKED', `This API key was revoked at ${key.revokedAt}. Use another.`);
  if (key.expiresAt !== null && key.expiresAt <= at) {
    throw new DomainError('API_KEY_EXPIRED', `This API key expired at ${key.expiresAt}. Create another.`);
  }
  return key;
};

/** What is shown of a key. */
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
};

export const apiKeyListing = (id: ApiKeyId, key: Omit<ApiKey, 'hash'>, now: string): ApiKeyListing => ({
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
});
