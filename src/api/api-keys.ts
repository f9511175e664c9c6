/** API keys as callers see them: what makes one, and what of it is shown. */
import { Type, type Static } from '@sinclair/typebox';
import { permissions } from '../domain/api-key/permissions.js';
import { defaultLimits as limits } from '../domain/limits.js';
import { nullable } from '../domain/schema.js';
import { NAME, TEXT } from '../shared/characters.js';
import { closed, enumOf } from './common.js';

const PermissionSchema = enumOf(permissions);

export const CreateApiKeyRequestSchema = Type.Object(
  {
    name: Type.String({ pattern: NAME, minLength: 1, maxLength: limits.apiKeyNameCharsMax }),
    description: Type.Optional(Type.String({ pattern: TEXT, maxLength: 2_000 })),
    permissions: Type.Array(PermissionSchema, { minItems: 1, uniqueItems: true, description: 'At most those of the calling key' }),
    expiresAt: Type.Optional(
      Type.String({ format: 'date-time', description: 'ISO 8601, in the future; at most, and by default, that of the calling key' }),
    ),
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
    revokedAt: nullable(Type.String({ format: 'date-time', description: 'Its own end, or that of a key that made it' })),
    madeBy: nullable(Type.String({ description: 'Id of the key that made it' })),
  },
  closed,
);
export type ApiKeyRecord = Static<typeof ApiKeyRecordSchema>;

export const CreatedApiKeySchema = Type.Composite(
  [ApiKeyRecordSchema, Type.Object({ key: Type.String({ description: 'The key itself; shown this once' }) })],
  closed,
);
export type CreatedApiKey = Static<typeof CreatedApiKeySchema>;
