/** What is shown of a key, wherever it is read from. */
import type { ApiKeyId } from '../core/ids.js';
import type { Permission } from '../access/key-permissions.js';
import { revokedWithMaker, type ApiKey } from './decider.js';

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
  /** The key that made it. */
  madeBy: string | null;
  /** Who made it, as the log has it. */
  createdBy: string;
  networks: string[] | null;
  test: boolean;
};

/** `createdBy`: the actor of its first event. */
type Listed = Readonly<{ key: Omit<ApiKey, 'hash'>; createdBy: string }>;

/** `makers`: the keys of its `madeBy`, as far as they are known. */
export const apiKeyListing = (
  id: ApiKeyId,
  { key, createdBy }: Listed,
  makers: readonly (Pick<ApiKey, 'madeRevokedAt'> | undefined)[],
  now: string,
): ApiKeyListing => listingOf(id, { key: { ...key, revokedAt: key.revokedAt ?? revokedWithMaker(makers) }, createdBy }, now);

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
