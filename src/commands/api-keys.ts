/** Commands on API keys, and the admission of a call by its key. */
import type { Authenticated, Caller } from './caller.js';
import { causeOf, type CommandDeps } from './deps.js';
import { handle, loadState } from './command-handler.js';
import { ownedBy } from './owned-by.js';
import { isoMoment } from './remembered.js';
import type { ApiKeyRecord, CreateApiKeyRequest, CreatedApiKey } from '../api/api-keys.js';
import {
  admitApiKey,
  apiKeyDecider,
  apiKeyListing,
  apiKeyUnknown,
  formatApiKey,
  API_KEY_PREFIX,
  isUseWorthNoting,
  readApiKey,
  type ApiKey,
} from '../domain/api-key/state.js';
import { DomainError } from '../domain/errors.js';
import { apiKeyStream, assertDefined, parseTeamId, type ApiKeyId, type TeamId } from '../domain/ids.js';
import { isoTime } from '../domain/ports/clock.js';

export const getApiKey = async (deps: CommandDeps, caller: Caller, id: ApiKeyId): Promise<ApiKeyRecord> => {
  const loaded = await loadState(deps.eventLog, apiKeyStream(id), apiKeyDecider);
  ownedBy(caller.teamId, apiKeyUnknown)(loaded);
  return apiKeyListing(id, loaded.state!, isoTime(deps.clock.now()));
};

export const revokeApiKey = async (deps: CommandDeps, caller: Caller, id: ApiKeyId): Promise<ApiKeyRecord> => {
  const cause = causeOf(deps, caller);
  const { state } = await handle(
    deps.eventLog,
    apiKeyStream(id),
    apiKeyDecider,
    { type: 'RevokeApiKey', at: cause.at },
    cause,
    ownedBy(caller.teamId, apiKeyUnknown),
  );
  // Whoever is told that the key is revoked may rely on it.
  await deps.whenHeldEverywhere();
  return apiKeyListing(id, state!, cause.at);
};

/**
 * In: the bearer token. Rejects with INVALID_API_KEY (format), API_KEY_NOT_FOUND, API_KEY_REVOKED, API_KEY_EXPIRED.
 * A key that another process revoked is refused within the bound of the state cache; that process answers no sooner.
 */
export const authenticate = async (deps: CommandDeps, token: string): Promise<Authenticated> => {
  const read = readApiKey(token);
  if (read === undefined) {
    throw new DomainError('INVALID_API_KEY', `The bearer token is no API key: it must be ${API_KEY_PREFIX} followed by 43 characters.`);
  }
  const { state, teamId } = await deps.apiKey(apiKeyStream(read.id));
  const at = isoMoment(deps.clock.now());
  const key = admitApiKey(state, read.hash, at);
  const team = assertDefined(teamId === undefined ? undefined : parseTeamId(teamId), 'team id');
  if (isUseWorthNoting(key, at)) await noteUse(deps, read.id, team, at);
  return { teamId: team, keyId: read.id, permissions: key.permissions, rateLimit: key.rateLimit };
};

const noteUse = async (deps: CommandDeps, id: ApiKeyId, teamId: TeamId, at: string): Promise<void> => {
  const cause = { teamId, actor: `apiKey:${id}`, correlationId: id, causationId: id, at };
  await handle(deps.eventLog, apiKeyStream(id), apiKeyDecider, { type: 'UseApiKey', at }, cause);
};

/** `key` is given where it was chosen before. */
export const createApiKey = async (
  deps: CommandDeps,
  caller: Caller,
  request: CreateApiKeyRequest,
  key = formatApiKey(deps.ids.bytes(32)),
): Promise<CreatedApiKey> => {
  const missing = request.permissions.filter((permission) => !caller.permissions.includes(permission));
  if (missing.length > 0) {
    throw new DomainError('FORBIDDEN', `A key can grant only what it may do itself; the calling key lacks ${missing.join(', ')}.`);
  }
  const nowMs = deps.clock.now();
  const expiresAt = request.expiresAt === undefined ? null : isoTime(Date.parse(request.expiresAt));
  if (expiresAt !== null && Date.parse(expiresAt) <= nowMs) {
    throw new DomainError('VALIDATION_ERROR', 'The key would be expired from the start.', {
      errors: [{ field: 'expiresAt', message: `must be after ${isoTime(nowMs)}` }],
    });
  }
  const { id, hash } = assertDefined(readApiKey(key), 'API key');
  const cause = causeOf(deps, caller);
  const created: Omit<ApiKey, 'lastUsedAt' | 'revokedAt'> = {
    at: cause.at,
    name: request.name,
    description: request.description ?? null,
    permissions: request.permissions,
    rateLimit: request.rateLimit ?? null,
    expiresAt,
    hash,
    start: key.slice(API_KEY_PREFIX.length, API_KEY_PREFIX.length + 4),
    end: key.slice(-4),
  };
  const { state } = await handle(deps.eventLog, apiKeyStream(id), apiKeyDecider, { type: 'CreateApiKey', created }, cause);
  return { ...apiKeyListing(id, state!, cause.at), key };
};
