/** Apps that act for people and teams by OAuth 2, and what people granted them, as callers see them. */
import { Type, type Static } from '@sinclair/typebox';
import { scopes } from '../domain/access/permissions.js';
import { nullable } from '../domain/core/schema.js';
import { NAME, TEXT } from '../shared/text.js';
import { closed, enumOf } from './core/common.js';

const REDIRECT_URIS_MAX = 10;
const URL_CHARS_MAX = 2_000;
const time = Type.String({ format: 'date-time' });
const ScopesSchema = Type.Array(enumOf(scopes), { minItems: 1, uniqueItems: true });

const described = {
  name: Type.String({
    pattern: NAME,
    minLength: 1,
    maxLength: 100,
    description: 'Name that people see when they are asked for their consent',
  }),
  description: Type.Optional(Type.String({ pattern: TEXT, maxLength: 2_000 })),
  homepage: Type.Optional(Type.String({ maxLength: URL_CHARS_MAX, description: 'An https URL' })),
  redirectUris: Type.Array(Type.String({ maxLength: URL_CHARS_MAX }), {
    uniqueItems: true,
    maxItems: REDIRECT_URIS_MAX,
    description:
      'Addresses to which people are sent back; compared letter by letter, but for the port of a loopback address of a public app. Https only, or http on the same machine; none for an app that acts for its own team alone',
  }),
  scopes: ScopesSchema,
  deviceFlow: Type.Optional(
    Type.Boolean({
      description:
        'Whether people may let it in by a code that they type on another device (RFC 8628); default: false. Choose it only for a program without a browser',
    }),
  ),
};

export const CreateOAuthAppRequestSchema = Type.Object(
  {
    ...described,
    kind: Type.Optional(
      enumOf(
        ['confidential', 'public'],
        '`public`: a program that cannot keep a secret, such as one in a browser; default: confidential',
      ),
    ),
  },
  closed,
);
export type CreateOAuthAppRequest = Static<typeof CreateOAuthAppRequestSchema>;

export const UpdateOAuthAppRequestSchema = Type.Partial(Type.Object(described, closed), closed);
export type UpdateOAuthAppRequest = Static<typeof UpdateOAuthAppRequestSchema>;

export const OAuthAppRecordSchema = Type.Object(
  {
    id: Type.String({ description: 'The client_id (`app_…`)' }),
    kind: enumOf(['confidential', 'public']),
    name: Type.String(),
    description: nullable(Type.String()),
    homepage: nullable(Type.String()),
    redirectUris: Type.Array(Type.String()),
    scopes: Type.Array(enumOf(scopes)),
    deviceFlow: Type.Boolean(),
    createdAt: time,
    updatedAt: time,
  },
  closed,
);
export type OAuthAppRecord = Static<typeof OAuthAppRecordSchema>;

export const CreatedOAuthAppSchema = Type.Composite(
  [
    OAuthAppRecordSchema,
    Type.Object({ clientSecret: nullable(Type.String({ description: 'Shown this once; null for a public app' })) }),
  ],
  closed,
);
export type CreatedOAuthApp = Static<typeof CreatedOAuthAppSchema>;

export const RotateAppSecretRequestSchema = Type.Object(
  {
    overlapHours: Type.Optional(
      Type.Number({ minimum: 0, maximum: 168, default: 24, description: 'How long the old secret is good as well' }),
    ),
  },
  closed,
);
export type RotateAppSecretRequest = Static<typeof RotateAppSecretRequestSchema>;

export const RotatedAppSecretSchema = Type.Composite(
  [
    OAuthAppRecordSchema,
    Type.Object({ clientSecret: Type.String({ description: 'Shown this once' }), oldSecretUntil: time }),
  ],
  closed,
);
export type RotatedAppSecret = Static<typeof RotatedAppSecretSchema>;

export const OAuthGrantRecordSchema = Type.Object(
  {
    id: Type.String({ description: '`grant_…`' }),
    appId: Type.String(),
    appName: Type.String(),
    teamId: Type.String({ description: 'The team in which the app acts' }),
    scopes: Type.Array(enumOf(scopes)),
    givenAt: time,
    lastUsedAt: nullable(time),
  },
  closed,
);

export type OAuthGrantRecord = Static<typeof OAuthGrantRecordSchema>;

export const createOAuthAppExamples = {
  web: {
    summary: 'A web application',
    value: {
      name: 'Shop dashboard',
      homepage: 'https://shop.example.com',
      redirectUris: ['https://shop.example.com/callback'],
      scopes: ['emails:send', 'emails:read', 'profile:read'],
    } satisfies CreateOAuthAppRequest,
  },
  browser: {
    summary: 'A program without a server of its own',
    value: {
      name: 'Mail viewer',
      kind: 'public',
      redirectUris: ['https://viewer.example.com/', 'http://127.0.0.1:8976/callback'],
      scopes: ['emails:read'],
    } satisfies CreateOAuthAppRequest,
  },
};

export const updateOAuthAppExamples = {
  name: { summary: 'Another name', value: { name: 'Shop back office' } satisfies UpdateOAuthAppRequest },
};

export const rotateAppSecretExamples = {
  day: { summary: 'Both secrets are good for a day', value: { overlapHours: 24 } satisfies RotateAppSecretRequest },
};
