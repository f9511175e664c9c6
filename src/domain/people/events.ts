/** The events of a person, of who has which address, of a session, and of the keys that sign access tokens. */
import { Type } from '@sinclair/typebox';
import { oneOf } from '../core/schema.js';
import { text } from '../core/stored-schemas.js';
import { event, type EventDefinitions, type EventsOf } from '../core/event.js';

/** One session: the family of refresh tokens that came from one sign-in. */
export const sessionEvents = {
  /**
   * `epoch`: how often all sessions of the person had been ended before. `hash`: SHA-256 (hex) of the refresh token.
   * `provider`: the id of the sign-in provider, if the person signed in by one. `byLink`: by a one-time link.
   */
  SessionStarted: event({
    data: Type.Object({
      at: text,
      userId: text,
      epoch: Type.Integer(),
      hash: text,
      expiresAt: text,
      secondFactor: Type.Boolean(),
      provider: Type.Optional(text),
      byLink: Type.Optional(Type.Literal(true)),
    }),
    sealed: Type.Object({ ipAddress: text, userAgent: text }),
    audit: {
      category: 'authentication',
      action: 'session.started',
      detail: ({ secondFactor, provider, byLink }) =>
        [
          ...(provider === undefined ? [] : [`by ${provider}`]),
          ...(byLink === undefined ? [] : ['by a link']),
          ...(secondFactor ? ['second factor'] : []),
        ].join(', ') || null,
    },
  }),
  SessionRefreshed: { data: Type.Object({ at: text, hash: text, expiresAt: text }) },
  /** The second factor was given after the sign-in. */
  SessionSecondFactorGiven: {
    data: Type.Object({ at: text }),
    audit: { category: 'authentication', action: 'session.second_factor_given' },
  },
  /** `reuse`: a refresh token was used that had been replaced. */
  SessionEnded: event({
    data: Type.Object({ at: text, reason: oneOf(['logout', 'reuse', 'password', 'erased', 'revoked', 'expired']) }),
    erases: true,
    audit: { category: 'authentication', action: 'session.ended', detail: ({ reason }) => reason },
  }),
} as const satisfies EventDefinitions;

export type SessionEvent = EventsOf<typeof sessionEvents>;

/** One key that signs access tokens. It serves one period, whose number names its stream. */
export const tokenKeyEvents = {
  /** The public and the private part of an Ed25519 key, as JWK has them (`x` and `d`, RFC 8037). */
  TokenKeyMade: {
    data: Type.Object({ at: text, kid: text, publicKey: text }),
    sealed: Type.Object({ privateKey: text }),
  },
  /** The key signs no more tokens; the private part is destroyed with the key of the stream. */
  TokenKeyRetired: { data: Type.Object({ at: text }), erases: true },
} as const satisfies EventDefinitions;

export type TokenKeyEvent = EventsOf<typeof tokenKeyEvents>;

/** The token of a link in a mail is stored as its SHA-256 (hex), with its end. */
const Link = Type.Object({ at: text, hash: text, expiresAt: text });

export const userEvents = {
  /**
   * `addressId`: that of the stream which holds who has the address. `invitation`: by which the person came, into its
   * team.
   */
  UserRegistered: {
    data: Type.Object({ at: text, addressId: text, isVerified: Type.Boolean(), invitation: Type.Optional(text) }),
    sealed: Type.Object({ email: text, name: text, passwordHash: text }),
    audit: { category: 'authentication', action: 'user.registered' },
  },
  /** A link to verify the address, or to choose another password, was asked for; the one before it ends. */
  UserLinkMade: event({
    data: Type.Object({ ...Link.properties, use: oneOf(['verify', 'reset']) }),
    audit: {
      category: 'authentication',
      action: ({ use }) => (use === 'reset' ? 'password.reset_asked' : 'address.link_sent'),
    },
  }),
  /** The operator made a link that signs the person in once; the one before it ends. */
  UserSignInLinkMade: {
    data: Link,
    audit: { category: 'authentication', action: 'sign_in_link.made' },
  },
  UserSignInLinkFollowed: {
    data: Type.Object({ at: text }),
    audit: { category: 'authentication', action: 'sign_in_link.followed' },
  },
  UserAddressVerified: {
    data: Type.Object({ at: text }),
    audit: { category: 'authentication', action: 'address.verified' },
  },
  /** The new address is the person's once its link was followed. */
  UserAddressChangeAsked: {
    data: Type.Object({ ...Link.properties, addressId: text }),
    sealed: Type.Object({ email: text }),
    audit: { category: 'authentication', action: 'address.change_asked' },
  },
  UserAddressChanged: {
    data: Type.Object({ at: text, addressId: text }),
    sealed: Type.Object({ email: text }),
    audit: { category: 'authentication', action: 'address.changed' },
  },
  UserProfileChanged: {
    data: Type.Object({ at: text }),
    sealed: Type.Object({ name: text }),
    audit: { category: 'settings', action: 'profile.changed' },
  },
  /**
   * `rehashed`: the same password under newer parameters. All sessions end but `keptSession`, unless it was rehashed.
   */
  UserPasswordChanged: event({
    data: Type.Object({ at: text, reason: oneOf(['changed', 'reset', 'rehashed']), keptSession: Type.Optional(text) }),
    sealed: Type.Object({ passwordHash: text }),
    audit: { category: 'authentication', action: 'password.changed', detail: ({ reason }) => reason },
  }),
  /** All sessions end but `keptSession`. */
  UserSessionsEnded: {
    data: Type.Object({ at: text, keptSession: Type.Optional(text) }),
    audit: { category: 'authentication', action: 'sessions.ended' },
  },
  /** A second factor that is not asked for until it is confirmed. */
  SecondFactorPrepared: {
    data: Type.Object({ at: text }),
    sealed: Type.Object({ secret: text }),
    audit: { category: 'authentication', action: 'second_factor.prepared' },
  },
  /** `step`: of the code that confirmed it. The recovery codes are kept as HMACs. */
  SecondFactorConfirmed: {
    data: Type.Object({ at: text, step: Type.Integer() }),
    sealed: Type.Object({ secret: text, recoveryHashes: Type.Array(text) }),
    audit: { category: 'authentication', action: 'second_factor.enabled' },
  },
  /** No code of that step or of one before is taken again. */
  SecondFactorUsed: { data: Type.Object({ at: text, step: Type.Integer() }) },
  RecoveryCodeUsed: {
    data: Type.Object({ at: text, index: Type.Integer() }),
    audit: { category: 'authentication', action: 'recovery_code.used' },
  },
  /** Fingerprints of the network and of the device of a sign-in, of which one was not known. */
  UserSignInPlaceSeen: { data: Type.Object({ at: text }), sealed: Type.Object({ network: text, device: text }) },
  /** They replace all earlier recovery codes, used or not. */
  RecoveryCodesRenewed: {
    data: Type.Object({ at: text }),
    sealed: Type.Object({ recoveryHashes: Type.Array(text) }),
    audit: { category: 'authentication', action: 'recovery_codes.renewed' },
  },
  SecondFactorRemoved: {
    data: Type.Object({ at: text }),
    audit: { category: 'authentication', action: 'second_factor.disabled' },
  },
  /**
   * The person may sign in as that identity of a provider. `identityId`: that of the stream which holds who has the
   * identity. `email`: the address that the provider said.
   */
  UserIdentityLinked: event({
    data: Type.Object({ at: text, identityId: text, provider: text }),
    sealed: Type.Object({ email: text }),
    audit: { category: 'authentication', action: 'identity.linked', detail: ({ provider }) => provider },
  }),
  UserIdentityUnlinked: event({
    data: Type.Object({ at: text, identityId: text, provider: text }),
    audit: { category: 'authentication', action: 'identity.unlinked', detail: ({ provider }) => provider },
  }),
  /** The person is an operator of the instance. */
  OperatorGranted: {
    data: Type.Object({ at: text }),
    audit: { category: 'authentication', action: 'operator.granted' },
  },
  OperatorRevoked: {
    data: Type.Object({ at: text }),
    audit: { category: 'authentication', action: 'operator.revoked' },
  },
  /** The stream holds no personal data, and this person cannot sign in again. */
  UserErased: {
    data: Type.Object({ at: text }),
    erases: true,
    audit: { category: 'authentication', action: 'user.erased' },
  },
} as const satisfies EventDefinitions;

/** The stream is named by an HMAC of the address, or of the identity at a sign-in provider. */
export const userAddressEvents = {
  UserAddressClaimed: { data: Type.Object({ at: text, userId: text }) },
  UserAddressReleased: { data: Type.Object({ at: text, userId: text }) },
} as const satisfies EventDefinitions;

export type UserEvent = EventsOf<typeof userEvents>;
export type UserAddressEvent = EventsOf<typeof userAddressEvents>;

/** The events of each kind of stream. */
export const peopleStreams = {
  user: userEvents,
  userAddress: userAddressEvents,
  session: sessionEvents,
  tokenKeys: tokenKeyEvents,
} as const;
