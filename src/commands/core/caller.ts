/** Who calls a command. */
import { type Loaded, loadState } from './handle.js';
import { DomainError } from '../../domain/core/errors.js';
import {
  type TeamId,
  type UserId,
  assertDefined,
  parseTeamId,
  teamStream,
  type ApiKeyId,
  type OAuthClientId,
  type OAuthGrantId,
  type SessionId,
  INSTANCE_STREAM,
} from '../../domain/core/ids.js';
import type { CommandDeps } from './deps.js';
import type { MaybePromise } from '../../domain/core/decider.js';
import { type AccessPermission, permissions } from '../../domain/access/permissions.js';
import type { CallOrigin } from '../../domain/access/origins.js';
import type { Maker } from '../../domain/keys/grants.js';
import { evolveInstance, type InstanceState } from '../../domain/teams/state.js';

export { teamNotFound } from '../../domain/teams/decider.js';

/* Who may touch a stream. */

type Owned<State> = Pick<Loaded<State>, 'state' | 'teamId'>;

/** The state, where there is one, it is not deleted, and it is that team's; else undefined. */
export const ownedState = <State extends object>(teamId: TeamId, { state, teamId: owner }: Owned<State | undefined>): State | undefined =>
  state === undefined || owner !== teamId || ('deletedAt' in state && state.deletedAt !== null) ? undefined : state;

/** The guard of a command: what is unknown, deleted or another team's is refused alike. */
export const ownedBy =
  (teamId: TeamId, notFound: () => DomainError) =>
  (loaded: Owned<object | undefined>): void => {
    if (ownedState(teamId, loaded) === undefined) throw notFound();
  };

/* Whom a refusal concerns, where that is known and is not to be answered. */

const people = new WeakMap<object, UserId>();

/** The refusal itself says nothing of it. */
export const refusing = <Refusal extends Error>(userId: UserId, refusal: Refusal): Refusal => {
  people.set(refusal, userId);
  return refusal;
};

/** undefined where nobody is known to be refused. */
export const auditedPersonOf = (fault: unknown): UserId | undefined =>
  typeof fault === 'object' && fault !== null ? people.get(fault) : undefined;

/* Whether a team is there: how it is refused to whoever is not in it, and whether it is deleted. */

/** The same, as yes or no. */
export const isTeamDeleted = (deps: Pick<CommandDeps, 'team'>, teamId: string): MaybePromise<boolean> => {
  const deleted = deletedAtOf(deps, teamId);
  return deleted instanceof Promise ? deleted.then((at) => at !== undefined) : deleted !== undefined;
};

/** undefined of one that lives. It is no promise where the team is at hand. */
export const deletedAtOf = ({ team }: Pick<CommandDeps, 'team'>, teamId: string): MaybePromise<string | undefined> => {
  const loaded = team(teamStream(assertDefined(parseTeamId(teamId), 'team id')));
  return loaded instanceof Promise ? loaded.then(({ state }) => state?.deletedAt) : loaded.state?.deletedAt;
};

/** Who calls, on whose behalf, and under which request: becomes the metadata of every event that the call causes. */
export type Caller = Readonly<{
  /** NO_TEAM where a person calls what belongs to no team. */
  teamId: TeamId;
  /** `apiKey:<id>`, `user:<id>`, `grant:<id>` (an app), `cli`, `system`, `return-path`. */
  actor: string;
  permissions: readonly AccessPermission[];
  correlationId: string;
  /** The key that calls; undefined where no key does. */
  key?: Maker | undefined;
  /** The person who calls, or on whose behalf an app does; undefined where there is none. */
  user?: Person | undefined;
  /** The app that calls; undefined where none does. */
  app?: Readonly<{ clientId: OAuthClientId; grantId: OAuthGrantId }> | undefined;
  /** From where; absent where nobody calls over the network. */
  calledFrom?: (() => CallOrigin) | undefined;
}>;

/** `sessionId`: absent where an app calls on the person's behalf. */
type Person = Readonly<{ id: UserId; sessionId?: SessionId | undefined }>;

/** A credential that is good, and what it may do in the team that it was used for. */
export type Authenticated = KeyAuthenticated | UserAuthenticated | AppAuthenticated;

type Admitted = Readonly<{
  teamId: TeamId;
  permissions: readonly AccessPermission[];
  /** Requests a minute, in place of every default. */
  rateLimit: number | null;
}>;

export type KeyAuthenticated = Admitted &
  Readonly<{
    kind: 'apiKey';
    keyId: ApiKeyId;
    expiresAt: string | null;
    madeBy: readonly ApiKeyId[];
    /** null: it may come from anywhere. */
    networks: readonly string[] | null;
    /** Nothing leaves of what it sends. */
    test: boolean;
  }>;

export type UserAuthenticated = Admitted & Readonly<{ kind: 'user'; userId: UserId; sessionId: SessionId }>;

/** `userId`: absent where the app calls for itself. */
export type AppAuthenticated = Admitted &
  Readonly<{ kind: 'app'; clientId: OAuthClientId; grantId: OAuthGrantId; userId: UserId | undefined }>;

/** For which team a credential is used: by its id as it was given, undefined where the call names none; `isNeeded`: not where the call belongs to no team. */
export type ForTeam = Readonly<{
  asked: string | undefined;
  isNeeded: boolean;
  /** The teams of a person, as far as they are known: where there is one alone, a call that names none is for it. */
  teamsOf?: (userId: UserId) => Promise<readonly TeamId[]>;
}>;

/* What a test key may not do: let mail leave, or keep from leaving what leaves for real, and destroy or spend what is real. */

/** Whether nothing leaves of what the caller sends. */
export const isTest = ({ key }: Pick<Caller, 'key'>): boolean => key?.test === true;

/** In: what a test key does instead, after `A test key`. Throws TEST_KEY_NOT_ALLOWED. */
export const assertNoTestKey = (caller: Pick<Caller, 'key'>, instead: string): void => {
  if (isTest(caller)) throw new DomainError('TEST_KEY_NOT_ALLOWED', `A test key ${instead}. Use a live key.`);
};

type Sent = Readonly<{ accepted: Readonly<{ test?: true }> }>;

/** The guard of a command that changes an email, or a bulk send. */
export const changeableBy =
  (caller: Caller, notFound: () => DomainError) =>
  (loaded: Pick<Loaded<Sent | undefined>, 'state' | 'teamId'>): void => {
    ownedBy(caller.teamId, notFound)(loaded);
    if (loaded.state?.accepted.test !== true) assertNoTestKey(caller, 'changes what was sent with a test key alone');
  };

/** As events say it. */
export const testPart = (caller: Pick<Caller, 'key'>): { test?: true } => (isTest(caller) ? { test: true } : {});

/** The id of the first team, or undefined before the first start is done. */
export const firstTeam = async (deps: Pick<CommandDeps, 'eventLog'>): Promise<TeamId | undefined> => {
  const { state } = await loadInstance(deps);
  return state === undefined ? undefined : assertDefined(parseTeamId(state), 'team id');
};

export const loadInstance = ({ eventLog }: Pick<CommandDeps, 'eventLog'>): Promise<Loaded<InstanceState>> =>
  loadState(eventLog, INSTANCE_STREAM, { evolve: evolveInstance, initialState: undefined as InstanceState });

/** A caller that is the program itself, on behalf of a team. */
export const systemCaller = (teamId: TeamId, actor: string, correlationId: string): Caller => ({
  teamId,
  actor,
  permissions,
  correlationId,
});
