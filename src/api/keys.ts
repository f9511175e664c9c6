/** API keys as callers see them: what makes one, and what of it is shown. */
import { Type, type Static } from '@sinclair/typebox';
import { permissions } from '../domain/access/permissions.js';
import { defaultLimits as limits } from '../domain/core/limits.js';
import { nullable } from '../domain/core/schema.js';
import { NAME, TEXT } from '../shared/text.js';
import { closed, enumOf } from './core/common.js';

const PermissionSchema = enumOf(permissions);

const networks = (bound: string) =>
  Type.Array(Type.String({ minLength: 2, maxLength: 49 }), {
    minItems: 1,
    maxItems: limits.apiKeyNetworksMax,
    description: `Networks that it may be used from, as \`192.0.2.0/24\`, \`2001:db8::/32\` or one address; without them, from anywhere. ${bound}`,
  });

export const CreateApiKeyRequestSchema = Type.Object(
  {
    name: Type.String({ pattern: NAME, minLength: 1, maxLength: limits.apiKeyNameCharsMax }),
    description: Type.Optional(Type.String({ pattern: TEXT, maxLength: 2_000 })),
    permissions: Type.Array(PermissionSchema, {
      minItems: 1,
      uniqueItems: true,
      description: 'At most those of the calling key',
    }),
    expiresAt: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'ISO 8601, in the future; at most, and by default, that of the calling key',
      }),
    ),
    test: Type.Optional(
      Type.Boolean({
        description: 'A test key: nothing leaves of what it sends; a test key makes only such, by default too',
      }),
    ),
    networks: Type.Optional(networks('At most, and by default, those of the calling key')),
    rateLimit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: limits.apiKeyRateLimitMax,
        description:
          'Requests per minute; replaces every default limit for this key. At most, and by default, that of the calling key where it has one; at most the lowest default limit where a key made the calling key without one',
      }),
    ),
  },
  closed,
);
export type CreateApiKeyRequest = Static<typeof CreateApiKeyRequestSchema>;

export const ChangeApiKeyRequestSchema = Type.Object(
  {
    name: Type.Optional(CreateApiKeyRequestSchema.properties.name),
    description: Type.Optional(nullable(Type.String({ pattern: TEXT, maxLength: 2_000 }))),
    networks: Type.Optional(nullable(networks('null: from anywhere'))),
    rateLimit: Type.Optional(
      nullable(
        Type.Integer({
          minimum: 1,
          maximum: limits.apiKeyRateLimitMax,
          description: 'Requests per minute; null: the default limits',
        }),
      ),
    ),
  },
  { ...closed, minProperties: 1, description: 'Fields to change; fields that are left out keep their value' },
);
export type ChangeApiKeyRequest = Static<typeof ChangeApiKeyRequestSchema>;

export const RevokeApiKeyQuerySchema = Type.Object(
  {
    withMade: Type.Optional(
      Type.Boolean({ default: false, description: 'Revokes with it all keys that it made, and those that they made' }),
    ),
  },
  closed,
);

export const ApiKeyRecordSchema = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    description: nullable(Type.String()),
    permissions: Type.Array(PermissionSchema),
    rateLimit: nullable(Type.Integer()),
    status: enumOf(['active', 'expired', 'revoked']),
    start: Type.String({ description: 'First four characters of the random part' }),
    end: Type.String({ description: 'Last four characters' }),
    createdAt: Type.String({ format: 'date-time' }),
    expiresAt: nullable(Type.String({ format: 'date-time' })),
    lastUsedAt: nullable(Type.String({ format: 'date-time' })),
    revokedAt: nullable(
      Type.String({ format: 'date-time', description: 'Its own end, or that of a key that made it' }),
    ),
    madeBy: nullable(Type.String({ description: 'Id of the key that made it' })),
    createdBy: Type.String({
      description: 'Creator of the key: `apiKey:<id>`, `user:<id>`, `cli`, or `system` for the first key',
    }),
    networks: nullable(Type.Array(Type.String(), { description: 'Networks that it may be used from; null: anywhere' })),
    test: Type.Boolean({ description: 'True if the key only tests: its emails are not delivered' }),
  },
  closed,
);
export type ApiKeyRecord = Static<typeof ApiKeyRecordSchema>;

export const CreatedApiKeySchema = Type.Composite(
  [ApiKeyRecordSchema, Type.Object({ key: Type.String({ description: 'The key itself; shown this once' }) })],
  closed,
);
export type CreatedApiKey = Static<typeof CreatedApiKeySchema>;
