/** Commands on API keys: create, read, change and revoke them, and authenticate a call by its key. */
import { type Caller, type KeyAuthenticated, ownedBy, assertNoTestKey, causeOf } from '../core/caller.js';
import type { Loaded } from '../core/ports.js';
import type { KeyNeeds } from './needs.js';
import { noteTeamUse } from '../billing/billing.js';
import { handle, loadState } from '../core/handle.js';
import { idsOfKind, withPlace, type Place } from '../billing/plan-limits.js';
import type { ApiKeyRecord, ChangeApiKeyRequest, CreateApiKeyRequest, CreatedApiKey } from '../../api/keys.js';
import { assertMayChange, assertMayRevoke, grantFrom } from '../../domain/keys/grants.js';
import { lackedOf } from '../../domain/access/permissions.js';
import { readNetwork } from '../../domain/keys/networks.js';
import {
  apiKeyListing,
  admitApiKey,
  admitMade,
  apiKeyDecider,
  apiKeyUnknown,
  formatApiKey,
  API_KEY_PREFIX,
  TEST_KEY_PREFIX,
  endsOf,
  isUseWorthNoting,
  revokedWithMaker,
  readApiKey,
  type ApiKey,
  type ApiKeyState,
  type ApiKeyToCreate,
} from '../../domain/keys/decider.js';
import { admitActive } from '../../domain/billing/team-use.js';
import { DomainError } from '../../domain/core/errors.js';
import {
  teamUseStream,
  apiKeyStream,
  assertDefined,
  parseApiKeyId,
  parseTeamId,
  splitStream,
  teamStream,
  type ApiKeyId,
  type TeamId,
  type UserId,
} from '../../domain/core/ids.js';
import { teamDecider, teamNotFound } from '../../domain/teams/decider.js';
import type { Cause } from '../../event-log/event-log.js';
import { isoTime, requireTime } from '../../domain/core/time.js';

/** `chosen`: the text of the key where the caller chose it beforehand; otherwise it is random. */
export const createApiKey = async (
  deps: KeyNeeds,
  caller: Caller,
  request: CreateApiKeyRequest,
  chosen?: string,
): Promise<CreatedApiKey> => {
  const missing = lackedOf(caller.permissions, request.permissions);
  if (missing.length > 0) {
    throw new DomainError(
      'FORBIDDEN',
      `A key can grant only what it may do itself; the calling key lacks ${missing.join(', ')}.`,
    );
  }
  const nowMs = deps.clock.now();
  const expiresAt = request.expiresAt === undefined ? undefined : requireTime('expiresAt', request.expiresAt);
  if (expiresAt !== undefined && Date.parse(expiresAt) <= nowMs) {
    throw new DomainError('VALIDATION_ERROR', 'The key would be expired from the start.', {
      errors: [{ field: 'expiresAt', message: `must be after ${isoTime(nowMs)}` }],
    });
  }
  const { rateLimit } = request;
  const asked = {
    expiresAt,
    rateLimit,
    networks: request.networks && networksOf(request.networks),
    test: request.test,
  };
  const { madeBy, networks, test, ...bounds } = grantFrom(caller.key, asked);
  const key = chosen ?? formatApiKey(deps.ids.bytes(32), test);
  const { id, hash } = assertDefined(readApiKey(key), 'API key');
  const cause = causeOf(deps, caller);
  const created: ApiKeyToCreate = {
    at: cause.at,
    name: request.name,
    description: request.description ?? null,
    permissions: request.permissions,
    ...bounds,
    hash,
    ...endsOf(key),
    separateDelete: true,
    ...(madeBy.length === 0 ? {} : { madeBy: [...madeBy] }),
    ...(networks === null ? {} : { networks: [...networks] }),
    ...(test ? { test } : {}),
  };
  const { state } = await withPlace(deps, caller, placeOf(deps, caller, id), () =>
    handle(deps.eventLog, apiKeyStream(id), apiKeyDecider, { type: 'CreateApiKey', created }, cause),
  );
  if (caller.user !== undefined) await keepIfStillMember(deps, caller, caller.user.id, id, cause);
  return { ...apiKeyListing(id, { key: state!, createdBy: caller.actor }, [], cause.at), key };
};

/**
 * Revokes a new key whose creator was removed from the team meanwhile, and rejects with TEAM_NOT_FOUND. The removal
 * reads the keys after its own append, and this reads the team after the append of the key: one of the two sees the
 * other.
 */
const keepIfStillMember = async (
  deps: KeyNeeds,
  { teamId }: Caller,
  userId: UserId,
  id: ApiKeyId,
  cause: Cause,
): Promise<void> => {
  const { state } = await loadState(deps.eventLog, teamStream(teamId), teamDecider);
  if (state?.members?.has(userId) === true) return;
  await handle(
    deps.eventLog,
    apiKeyStream(id),
    apiKeyDecider,
    { type: 'RevokeApiKey', at: cause.at, withMade: true },
    cause,
  );
  throw teamNotFound();
};

/** The place of a key within the plan of its team. */
const placeOf = (deps: KeyNeeds, { teamId }: Caller, id: ApiKeyId): Place => ({
  resource: 'apiKeys',
  key: id,
  standingOf: async (key) => {
    const { state } = await loadState(deps.eventLog, apiKeyStream(key as ApiKeyId), apiKeyDecider);
    if (state === undefined) return 'absent';
    const isRevoked = state.revokedAt !== null || revokedWithMaker(await makersOf(deps, state)) !== null;
    const isOver = state.expiresAt !== null && state.expiresAt <= isoTime(deps.clock.now());
    return isRevoked || isOver ? 'gone' : 'living';
  },
  all: idsOfKind(deps, teamId, 'apiKey', 'ApiKeyCreated'),
});

export const getApiKey = async (deps: KeyNeeds, caller: Caller, id: ApiKeyId): Promise<ApiKeyRecord> => {
  const loaded = await loadState(deps.eventLog, apiKeyStream(id), apiKeyDecider);
  ownedBy(caller.teamId, apiKeyUnknown)(loaded);
  return recordOf(deps, id, loaded.state!, isoTime(deps.clock.now()));
};

/**
 * Resolves when the change holds in every process. Rejects with FORBIDDEN where it gives the key more than its maker,
 * or the calling key, may give.
 */
export const changeApiKey = async (
  deps: KeyNeeds,
  caller: Caller,
  id: ApiKeyId,
  { name, description, rateLimit, networks: given }: ChangeApiKeyRequest,
): Promise<ApiKeyRecord> => {
  const stream = apiKeyStream(id);
  const changes = {
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(rateLimit === undefined ? {} : { rateLimit }),
    ...(given === undefined ? {} : { networks: given && networksOf(given) }),
  };
  const known = await loadState(deps.eventLog, stream, apiKeyDecider);
  ownedBy(caller.teamId, apiKeyUnknown)(known);
  const [maker] = await makersOf(deps, known.state!);
  const cause = causeOf(deps, caller);
  const { state, events } = await handle(
    deps.eventLog,
    stream,
    apiKeyDecider,
    { type: 'ChangeApiKey', at: cause.at, changes },
    cause,
    (loaded) => {
      assertChangeable(caller, loaded);
      assertMayChange(caller, maker, loaded.state!, changes);
    },
  );
  // The answer goes out when every process applies the change.
  if (events.length > 0) await deps.whenHeldEverywhere();
  return recordOf(deps, id, state!, cause.at);
};

/**
 * `withMade`: revokes with it all keys that it created, and those that they created, including a key whose creation is
 * under way. Rejects with FORBIDDEN where a key calls that may do less than the key.
 */
export const revokeApiKey = async (
  deps: KeyNeeds,
  caller: Caller,
  id: ApiKeyId,
  withMade = false,
): Promise<ApiKeyRecord> => {
  const cause = causeOf(deps, caller);
  const key = await revoke(deps, caller, id, withMade, cause);
  // The answer goes out when no process accepts the key any more.
  await deps.whenHeldEverywhere();
  return recordOf(deps, id, key, cause.at);
};

const revoke = async (
  deps: KeyNeeds,
  caller: Caller,
  id: ApiKeyId,
  withMade: boolean,
  cause: Cause,
): Promise<ApiKey> => {
  const { state } = await handle(
    deps.eventLog,
    apiKeyStream(id),
    apiKeyDecider,
    { type: 'RevokeApiKey', at: cause.at, withMade },
    cause,
    (loaded) => {
      assertChangeable(caller, loaded);
      assertMayRevoke(caller, loaded.state!);
    },
  );
  return state!;
};

/** Revokes the keys that `keysCreatedBy` finds. Out: these keys, revoked. */
export const revokeKeysCreatedBy = async (
  deps: KeyNeeds,
  caller: Caller,
  userId: UserId,
): Promise<readonly ApiKeyRecord[]> => {
  const cause = causeOf(deps, caller);
  const revoked: ApiKeyRecord[] = [];
  for (const { id: text } of await keysCreatedBy(deps, caller.teamId, userId)) {
    const id = assertDefined(parseApiKeyId(text), 'API key id');
    revoked.push(await recordOf(deps, id, await revoke(deps, caller, id, true, cause), cause.at));
  }
  if (revoked.length > 0) await deps.whenHeldEverywhere();
  return revoked;
};

/** The active API keys of a team that a person created, and those that these keys created, the oldest first. */
export const keysCreatedBy = async (
  deps: KeyNeeds,
  teamId: TeamId,
  userId: UserId,
): Promise<readonly ApiKeyRecord[]> => {
  const created = new Set<string>();
  for await (const { events } of deps.eventLog.readAll(0, {
    kinds: ['apiKey'],
    types: ['ApiKeyCreated'],
    decrypt: [],
  })) {
    for (const { event, stream, metadata } of events) {
      if (metadata.teamId !== teamId || event.type !== 'ApiKeyCreated') continue;
      const isTheirs =
        metadata.actor === `user:${userId}` || (event.data.madeBy ?? []).some((maker) => created.has(maker));
      if (isTheirs) created.add(splitStream(stream).id);
    }
  }
  const at = isoTime(deps.clock.now());
  const records: ApiKeyRecord[] = [];
  for (const text of created) {
    const id = assertDefined(parseApiKeyId(text), 'API key id');
    const { state } = await loadState(deps.eventLog, apiKeyStream(id), apiKeyDecider);
    if (state !== undefined) records.push(await recordOf(deps, id, state, at));
  }
  return records.filter(({ status }) => status === 'active');
};

const recordOf = async (deps: KeyNeeds, id: ApiKeyId, key: ApiKey, at: string): Promise<ApiKeyRecord> => {
  const [first] = await deps.eventLog.load(apiKeyStream(id));
  return apiKeyListing(id, { key, createdBy: first!.metadata.actor }, await makersOf(deps, key), at);
};

/** The current states of the keys that created a key. */
const makersOf = async (deps: KeyNeeds, { madeBy }: ApiKey): Promise<readonly ApiKeyState[]> => {
  const makers: ApiKeyState[] = [];
  for (const id of madeBy) makers.push((await deps.apiKey(apiKeyStream(id))).state);
  return makers;
};

const assertChangeable = (caller: Caller, loaded: Loaded<ApiKeyState>): void => {
  ownedBy(caller.teamId, apiKeyUnknown)(loaded);
  if (!loaded.state!.test) assertNoTestKey(caller, 'changes and revokes test keys alone');
};

/**
 * The networks in the form in which API keys store them, without duplicates. Throws VALIDATION_ERROR with each that is
 * not a network.
 */
const networksOf = (given: readonly string[]): readonly string[] => {
  const read = given.map(readNetwork);
  const faults = read.flatMap((one, index) => (one.ok ? [] : [{ field: `networks[${index}]`, message: one.reason }]));
  if (faults.length > 0)
    throw new DomainError('VALIDATION_ERROR', `${faults[0]!.field} ${faults[0]!.message}.`, { errors: faults });
  return [...new Set(read.flatMap((one) => (one.ok ? [one.network] : [])))];
};

/**
 * In: the bearer token. Rejects with INVALID_API_KEY (format), API_KEY_NOT_FOUND, API_KEY_REVOKED, API_KEY_EXPIRED,
 * TEAM_DELETED, API_KEY_DISABLED. A key that another process revoked is refused within the bound of the state cache;
 * that process answers no sooner.
 */
export const authenticateKey = async (deps: KeyNeeds, token: string): Promise<KeyAuthenticated> => {
  const read = readApiKey(token);
  if (read === undefined) {
    throw new DomainError(
      'INVALID_API_KEY',
      `The bearer token is no API key: it must be ${API_KEY_PREFIX}, or ${TEST_KEY_PREFIX}, followed by 43 characters.`,
    );
  }
  const { state, teamId } = await deps.apiKey(apiKeyStream(read.id));
  const nowMs = deps.clock.now();
  const at = isoTime(nowMs);
  const key = admitApiKey(state, read.hash, at);
  for (const id of key.madeBy) {
    admitMade([(await deps.apiKey(apiKeyStream(id))).state]);
  }
  const team = assertDefined(teamId === undefined ? undefined : parseTeamId(teamId), 'team id');
  if ((await deps.team(teamStream(team))).state?.deletedAt !== undefined) throw teamDeleted();
  admitActive((await deps.teamUse(teamUseStream(team))).state);
  if (isUseWorthNoting(key, nowMs)) await noteUse(deps, read.id, team, at);
  const { permissions, rateLimit, expiresAt, madeBy, networks, test } = key;
  return { kind: 'apiKey', teamId: team, keyId: read.id, permissions, rateLimit, expiresAt, madeBy, networks, test };
};

const teamDeleted = (): DomainError =>
  new DomainError(
    'TEAM_DELETED',
    'The team of this API key is deleted. An owner restores it by POST /api/teams/:teamId/restore, for 30 days.',
  );

const noteUse = async (deps: KeyNeeds, id: ApiKeyId, teamId: TeamId, at: string): Promise<void> => {
  const cause = { teamId, actor: `apiKey:${id}`, correlationId: id, causationId: id, at };
  await handle(deps.eventLog, apiKeyStream(id), apiKeyDecider, { type: 'UseApiKey', at }, cause);
  await noteTeamUse(deps, teamId, cause);
};
