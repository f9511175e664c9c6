/** The caller of a command, the team it acts for, and the guards that decide what this caller may touch. */
import { loadState } from './handle.js';
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
import type { CorePorts, Loaded } from './ports.js';
import { isoTime } from '../../domain/core/time.js';
import type { Cause } from '../../event-log/event-log.js';
import { type AccessPermission, permissions } from '../../domain/access/permissions.js';
import type { CallOrigin } from '../../domain/access/origins.js';
import type { Resource } from '../../domain/apps/authorization.js';
import type { Maker } from '../../domain/keys/grants.js';
import { evolveInstance, type InstanceState } from '../../domain/teams/state.js';

/** The caller, the team it acts for, and the request. It becomes the metadata of every event that the call causes. */
export type Caller = Readonly<{
  /** NO_TEAM if the call belongs to no team, only to a person. */
  teamId: TeamId;
  /** `apiKey:<id>`, `user:<id>`, `grant:<id>` (an app), `cli`, `system`, `return-path`. */
  actor: string;
  permissions: readonly AccessPermission[];
  correlationId: string;
  /** The API key that calls, if one does. */
  key?: Maker | undefined;
  /** The person who calls, or on whose behalf an app calls. */
  user?: Person | undefined;
  /** The app that calls, if one does. */
  app?: Readonly<{ clientId: OAuthClientId; grantId: OAuthGrantId }> | undefined;
  /** The origin of the call; absent for calls that do not come over the network. */
  calledFrom?: (() => CallOrigin) | undefined;
}>;

/** `sessionId`: absent if an app calls on the person's behalf. */
type Person = Readonly<{ id: UserId; sessionId?: SessionId | undefined }>;

/** The program itself as a caller, on behalf of a team. */
export const systemCaller = (teamId: TeamId, actor: string, correlationId: string): Caller => ({
  teamId,
  actor,
  permissions,
  correlationId,
});

/** A valid credential, and what it may do in the team that it was used for. */
export type Authenticated = KeyAuthenticated | UserAuthenticated | AppAuthenticated;

type Admitted = Readonly<{
  teamId: TeamId;
  permissions: readonly AccessPermission[];
  /** Requests per minute, in place of the defaults; null: the defaults hold. */
  rateLimit: number | null;
}>;

export type KeyAuthenticated = Admitted &
  Readonly<{
    kind: 'apiKey';
    keyId: ApiKeyId;
    expiresAt: string | null;
    madeBy: readonly ApiKeyId[];
    /** The networks that the key may be used from; null: any. */
    networks: readonly string[] | null;
    /** A test key: no mail that it sends leaves. */
    test: boolean;
  }>;

export type UserAuthenticated = Admitted & Readonly<{ kind: 'user'; userId: UserId; sessionId: SessionId }>;

/** `userId`: undefined if the app calls for itself. */
export type AppAuthenticated = Admitted &
  Readonly<{
    kind: 'app';
    clientId: OAuthClientId;
    grantId: OAuthGrantId;
    userId: UserId | undefined;
    /** The part of the service at which the token is good. */
    resource: Resource;
  }>;

/** The team that a credential is used for. */
export type ForTeam = Readonly<{
  /** The id as the call gives it, undefined if the call names no team. */
  asked: string | undefined;
  /** False if the call belongs to no team. */
  isNeeded: boolean;
  /** The known teams of a person. If there is only one, a call that names no team is for this one. */
  teamsOf?: (userId: UserId) => Promise<readonly TeamId[]>;
}>;

type Owned<State> = Pick<Loaded<State>, 'state' | 'teamId'>;

/** The state if it exists, is not deleted and belongs to the team; else undefined. */
export const ownedState = <State extends object>(
  teamId: TeamId,
  { state, teamId: owner }: Owned<State | undefined>,
): State | undefined =>
  state === undefined || owner !== teamId || ('deletedAt' in state && state.deletedAt !== null) ? undefined : state;

/** A guard of a command. It refuses a stream that is unknown, deleted or of another team, all with the same error. */
export const ownedBy =
  (teamId: TeamId, notFound: () => DomainError) =>
  (loaded: Owned<object | undefined>): void => {
    if (ownedState(teamId, loaded) === undefined) throw notFound();
  };

/** True if the caller uses a test key: no mail that it sends leaves. */
export const isTest = ({ key }: Pick<Caller, 'key'>): boolean => key?.test === true;

/**
 * Refuses with TEST_KEY_NOT_ALLOWED if the caller uses a test key, which must not let mail leave, stop real mail, or
 * destroy or spend anything real. In: what a test key may do instead, as the text continues after `A test key`.
 */
export const assertNoTestKey = (caller: Pick<Caller, 'key'>, instead: string): void => {
  if (isTest(caller)) throw new DomainError('TEST_KEY_NOT_ALLOWED', `A test key ${instead}. Use a live key.`);
};

type Sent = Readonly<{ accepted: Readonly<{ test?: true }> }>;

/**
 * A guard of a command that changes an email or a bulk send: a test key may change only what was sent with a test key.
 */
export const changeableBy =
  (caller: Caller, notFound: () => DomainError) =>
  (loaded: Pick<Loaded<Sent | undefined>, 'state' | 'teamId'>): void => {
    ownedBy(caller.teamId, notFound)(loaded);
    if (loaded.state?.accepted.test !== true) assertNoTestKey(caller, 'changes what was sent with a test key alone');
  };

/** The part of an event that says that a test key was used. */
export const testPart = (caller: Pick<Caller, 'key'>): { test?: true } => (isTest(caller) ? { test: true } : {});

/** The person that a refusal concerns, for the audit log. The refusal itself does not name the person. */
const refusedPeople = new WeakMap<object, UserId>();

/** Notes for the audit log which person is refused. Out: the refusal. */
export const withRefusedUser = <Refusal extends Error>(userId: UserId, refusal: Refusal): Refusal => {
  refusedPeople.set(refusal, userId);
  return refusal;
};

/** The person that a refusal concerns, undefined if none is known. */
export const auditedPersonOf = (fault: unknown): UserId | undefined =>
  typeof fault === 'object' && fault !== null ? refusedPeople.get(fault) : undefined;

/** Whether a team is deleted. */
export const isTeamDeleted = async (deps: Pick<CorePorts, 'team'>, teamId: string): Promise<boolean> =>
  (await deletedAtOf(deps, teamId)) !== undefined;

/** When a team was deleted; undefined for a team that exists. */
export const deletedAtOf = async ({ team }: Pick<CorePorts, 'team'>, teamId: string): Promise<string | undefined> =>
  (await team(teamStream(assertDefined(parseTeamId(teamId), 'team id')))).state?.deletedAt;

/** The id of the first team, undefined before the first start is done. */
export const firstTeam = async (deps: Pick<CorePorts, 'eventLog'>): Promise<TeamId | undefined> => {
  const { state } = await loadInstance(deps);
  return state === undefined ? undefined : assertDefined(parseTeamId(state), 'team id');
};

export const loadInstance = ({ eventLog }: Pick<CorePorts, 'eventLog'>): Promise<Loaded<InstanceState>> =>
  loadState(eventLog, INSTANCE_STREAM, { evolve: evolveInstance, initialState: undefined as InstanceState });

/** In: the caller. Out: the metadata of the events that the call causes now. */
export const causeOf = (deps: Pick<CorePorts, 'clock'>, caller: Caller, at = isoTime(deps.clock.now())): Cause => ({
  teamId: caller.teamId,
  actor: caller.actor,
  correlationId: caller.correlationId,
  causationId: caller.correlationId,
  at,
  calledFrom: caller.calledFrom,
});
