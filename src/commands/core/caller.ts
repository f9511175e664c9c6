/** Who calls a command. */
import type { AccessPermission } from '../../domain/access/permissions.js';
import type { CallOrigin } from '../../domain/access/origins.js';
import type { Maker } from '../../domain/keys/grants.js';
import type { ApiKeyId, OAuthClientId, OAuthGrantId, SessionId, TeamId, UserId } from '../../domain/core/ids.js';

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
export type Person = Readonly<{ id: UserId; sessionId?: SessionId | undefined }>;

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
