/**
 * The events of apps, of what people grant them, and of the tokens in use. Secrets, codes and tokens are stored as
 * their SHA-256 only.
 */
import { Type } from '@sinclair/typebox';
import { nullable, oneOf } from '../core/schema.js';
import { text } from '../core/stored-schemas.js';
import { event, type EventDefinitions, type EventsOf } from '../core/event.js';

const described = {
  name: text,
  description: nullable(text),
  homepage: nullable(text),
  redirectUris: Type.Array(text),
  /** As texts: a scope that this version does not know allows nothing. */
  scopes: Type.Array(text),
  /** Absent: false. */
  deviceFlow: Type.Optional(Type.Boolean()),
};

export const oauthClientEvents = {
  /** `secretHash`: hex; null for a public app, which has no secret. */
  OAuthAppRegistered: event({
    data: Type.Object({ at: text, kind: oneOf(['confidential', 'public']), secretHash: nullable(text), ...described }),
    audit: { category: 'oauth', action: 'app.registered', detail: ({ scopes }) => scopes.join(' ') },
    activity: 'app.created',
  }),
  OAuthAppChanged: event({
    data: Type.Object({ at: text, ...described }),
    audit: { category: 'oauth', action: 'app.changed', detail: ({ scopes }) => scopes.join(' ') },
    activity: 'app.changed',
  }),
  /** `oldUntil`: until when the secret before is good as well. */
  OAuthAppSecretRotated: {
    data: Type.Object({ at: text, secretHash: text, oldUntil: text }),
    audit: { category: 'oauth', action: 'app.secret_rotated' },
    activity: 'app.secret-rotated',
  },
  OAuthAppDeleted: {
    data: Type.Object({ at: text }),
    audit: { category: 'oauth', action: 'app.deleted' },
    activity: 'app.deleted',
  },
} as const satisfies EventDefinitions;

export const oauthGrantEvents = {
  /**
   * A person granted an app scopes in the team of the event; with `userId` null, the app granted them to itself in its
   * own team. `clientName`: of an app that registered itself. `resource`: `mcp` if the tokens are good at /mcp alone;
   * absent: everywhere.
   */
  OAuthGrantGiven: event({
    data: Type.Object({
      at: text,
      clientId: text,
      userId: nullable(text),
      scopes: Type.Array(text),
      clientName: Type.Optional(text),
      resource: Type.Optional(text),
    }),
    audit: {
      category: 'oauth',
      action: 'grant.given',
      detail: ({ clientId, scopes }) => [clientId, ...scopes].join(' '),
    },
  }),
  /** `challenge`: S256 of RFC 7636, base64url. */
  OAuthCodeIssued: { data: Type.Object({ at: text, hash: text, challenge: text, redirectUri: text, expiresAt: text }) },
  /** A used code is refused from now on, even if no tokens came of it. */
  OAuthCodeUsed: { data: Type.Object({ at: text }) },
  /**
   * `refreshHash`: null where the app gets no refresh token. `scopes`: of the access token, at most those of the grant.
   */
  OAuthTokensIssued: {
    data: Type.Object({
      at: text,
      number: Type.Integer(),
      accessHash: text,
      accessExpiresAt: text,
      scopes: Type.Array(text),
      refreshHash: nullable(text),
      refreshExpiresAt: nullable(text),
    }),
  },
  OAuthAccessTokenRevoked: {
    data: Type.Object({ at: text, number: Type.Integer() }),
    audit: { category: 'oauth', action: 'access_token.revoked' },
  },
  /**
   * `code-reused`, `refresh-token-reused`: somebody else may have it (a code of a device, too). `by-person`: on the page of their grants.
   * `by-app`: RFC 7009. `too-many`: a newer grant took its place. `team-removed`: the team that it was for is gone.
   */
  OAuthGrantEnded: event({
    data: Type.Object({
      at: text,
      reason: oneOf(['code-reused', 'refresh-token-reused', 'by-person', 'by-app', 'too-many', 'team-removed']),
    }),
    audit: { category: 'oauth', action: 'grant.ended', detail: ({ reason }) => reason },
  }),
} as const satisfies EventDefinitions;

/** A device or program asks for a person's consent by a short code (RFC 8628): one stream for each code. */
export const oauthDeviceEvents = {
  /** `deviceHash`: of the code that the device keeps. `network`: HMAC of the network that the request came from. */
  OAuthDeviceRequested: {
    data: Type.Object({
      at: text,
      clientId: text,
      scopes: Type.Array(text),
      resource: Type.Optional(text),
      deviceHash: text,
      network: text,
      expiresAt: text,
    }),
  },
  /** `grantId`: the grant that the person gave; null if they denied it. */
  OAuthDeviceDecided: event({
    data: Type.Object({ at: text, userId: text, grantId: nullable(text) }),
    audit: { category: 'oauth', action: ({ grantId }) => (grantId === null ? 'device.denied' : 'device.allowed') },
  }),
  /** The device has its tokens. */
  OAuthDeviceAnswered: { data: Type.Object({ at: text }) },
} as const satisfies EventDefinitions;

/**
 * The tokens in use of one person, or of one app that acts for itself: one stream for each. `clientId`: the app of a
 * grant of a person.
 */
export const oauthTokensEvents = {
  OAuthTokensCounted: {
    data: Type.Object({
      at: text,
      clientId: Type.Optional(text),
      grantId: text,
      number: Type.Integer(),
      accessExpiresAt: text,
      refreshExpiresAt: nullable(text),
    }),
  },
} as const satisfies EventDefinitions;

export type OAuthClientEvent = EventsOf<typeof oauthClientEvents>;
export type OAuthGrantEvent = EventsOf<typeof oauthGrantEvents>;
export type OAuthDeviceEvent = EventsOf<typeof oauthDeviceEvents>;
export type OAuthTokensEvent = EventsOf<typeof oauthTokensEvents>;

/** The events of each kind of stream. */
export const appStreams = {
  oauthClient: oauthClientEvents,
  oauthGrant: oauthGrantEvents,
  oauthDevice: oauthDeviceEvents,
  oauthTokens: oauthTokensEvents,
} as const;
