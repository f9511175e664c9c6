/** The events of apps, of what people grant them, and of the tokens in use. Secrets, codes and tokens are stored as their SHA-256 only. */
import { Type } from '@sinclair/typebox';
import { nullable, oneOf } from '../core/schema.js';
import { text, type EventsOf } from '../core/stored.js';

const described = {
  name: text,
  description: nullable(text),
  homepage: nullable(text),
  redirectUris: Type.Array(text),
  /** As texts: a scope that this version does not know allows nothing. */
  scopes: Type.Array(text),
};

export const oauthClientEventSchemas = {
  /** `secretHash`: hex; null for a public app, which has no secret. */
  OAuthAppRegistered: {
    data: Type.Object({ at: text, kind: oneOf(['confidential', 'public']), secretHash: nullable(text), ...described }),
  },
  OAuthAppChanged: { data: Type.Object({ at: text, ...described }) },
  /** `oldUntil`: until when the secret before is good as well. */
  OAuthAppSecretRotated: { data: Type.Object({ at: text, secretHash: text, oldUntil: text }) },
  OAuthAppDeleted: { data: Type.Object({ at: text }) },
} as const;

export const oauthGrantEventSchemas = {
  /** A person granted an app scopes in the team of the event; with `userId` null, the app granted them to itself in its own team. */
  OAuthGrantGiven: { data: Type.Object({ at: text, clientId: text, userId: nullable(text), scopes: Type.Array(text) }) },
  /** `challenge`: S256 of RFC 7636, base64url. */
  OAuthCodeIssued: { data: Type.Object({ at: text, hash: text, challenge: text, redirectUri: text, expiresAt: text }) },
  /** A used code is refused from now on, even if no tokens came of it. */
  OAuthCodeUsed: { data: Type.Object({ at: text }) },
  /** `refreshHash`: null where the app gets no refresh token. `scopes`: of the access token, at most those of the grant. */
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
  OAuthAccessTokenRevoked: { data: Type.Object({ at: text, number: Type.Integer() }) },
  /**
   * `code-reused`, `refresh-token-reused`: somebody else may have it. `by-person`: on the page of their grants. `by-app`: RFC 7009.
   * `too-many`: a newer grant took its place. `team-removed`: the team that it was for is gone.
   */
  OAuthGrantEnded: {
    data: Type.Object({
      at: text,
      reason: oneOf(['code-reused', 'refresh-token-reused', 'by-person', 'by-app', 'too-many', 'team-removed']),
    }),
  },
} as const;

/** The tokens in use of one person, or of one app that acts for itself: one stream for each. */
export const oauthTokensEventSchemas = {
  OAuthTokensCounted: {
    data: Type.Object({ at: text, grantId: text, number: Type.Integer(), accessExpiresAt: text, refreshExpiresAt: nullable(text) }),
  },
} as const;

export type OAuthClientEvent = EventsOf<typeof oauthClientEventSchemas>;
export type OAuthGrantEvent = EventsOf<typeof oauthGrantEventSchemas>;
export type OAuthTokensEvent = EventsOf<typeof oauthTokensEventSchemas>;
