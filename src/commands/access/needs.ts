/** Needs of signing in, tokens and sessions. */
import type { SessionId, UserId } from '../../domain/core/ids.js';
import type { SessionState, TokenKeyState } from '../../domain/people/session.js';
import type { Registration, UserState } from '../../domain/people/user.js';
import type { AccessTokens, TokenParties } from '../../domain/ports/access-tokens.js';
import type { Passwords } from '../../domain/ports/passwords.js';
import type { SignInProviders } from '../../domain/ports/sign-in-providers.js';
import type { SecondFactors } from '../../domain/ports/second-factor.js';
import type { BoundedCache } from '../../shared/cache.js';
import type { CorePorts, Load } from '../core/ports.js';
import type { CallOrigins } from './origins.js';

export type PeoplePorts = Readonly<{
  passwords: Passwords;
  accessTokens: AccessTokens;
  secondFactors: SecondFactors;
  /** Draws a text as a QR code (PNG). */
  drawCode: (text: string) => Buffer;
  /** The issuer of access tokens. */
  publicUrl: string;
  registration: Registration;
  /** Whether apps may register themselves (RFC 7591). */
  appsRegister: boolean;
  providers: SignInProviders;
  /** Only this machine reaches the service, so the first user needs no token. */
  isOnLoopback: boolean;
}>;

/** The claims of a verified access token. */
export type KnownToken = Readonly<{ userId: UserId; sessionId: SessionId; expiresAtMs: number }>;

export type AccessNeeds = CorePorts &
  Readonly<{
    people: PeoplePorts;
    /** A person, without personal data. */
    user: Load<UserState>;
    /** A session, without the addresses it is used from. */
    session: Load<SessionState>;
    tokenKey: Load<TokenKeyState>;
    /** Access tokens that this process made or verified; the least recently used are dropped. */
    knownTokens: BoundedCache<string, KnownToken>;
    tokenParties: TokenParties;
    /** Records the origins of audited calls. */
    origins: CallOrigins;
  }>;
