/** The events of one API key. The key itself is not stored, only its SHA-256. */
import { Type } from '@sinclair/typebox';
import { nullable } from '../core/schema.js';
import { text } from '../core/stored-schemas.js';
import { event, type EventDefinitions, type EventsOf } from '../core/event.js';

const optionalText = nullable(text);

export const apiKeyEvents = {
  ApiKeyCreated: event({
    data: Type.Object({
      at: text,
      name: text,
      description: optionalText,
      /** As texts: a permission that this version does not know allows nothing, and the key stays readable. */
      permissions: Type.Array(text),
      /** Requests per minute, null for the default limits. */
      rateLimit: nullable(Type.Integer()),
      expiresAt: optionalText,
      /** SHA-256 of the key, hex. */
      hash: text,
      start: text,
      end: text,
      /** True: `emails:delete` is a permission of its own. Absent in older keys, whose `emails:send` includes it. */
      separateDelete: Type.Optional(Type.Boolean()),
      /**
       * The ids of the keys that made it: the maker first, then the maker's makers. Absent where no key made it, or
       * before it was noted.
       */
      madeBy: Type.Optional(Type.Array(text)),
      /** The networks that it may come from, as `192.0.2.0/24`; absent where it may come from anywhere. */
      networks: Type.Optional(Type.Array(text)),
      /** A test key: what it sends is not delivered. Absent in other keys. */
      test: Type.Optional(Type.Literal(true)),
    }),
    audit: { category: 'api_keys', action: 'api_key.created', detail: ({ permissions }) => permissions.join(' ') },
    activity: 'api-key.created',
  }),
  /** Absent fields keep their value; null removes it. */
  ApiKeyChanged: {
    data: Type.Object({
      at: text,
      name: Type.Optional(text),
      description: Type.Optional(optionalText),
      rateLimit: Type.Optional(nullable(Type.Integer())),
      networks: Type.Optional(nullable(Type.Array(text))),
    }),
    audit: { category: 'api_keys', action: 'api_key.changed' },
    activity: 'api-key.changed',
  },
  ApiKeyUsed: { data: Type.Object({ at: text }) },
  /** `withMade`: what this key made, and what that made, is revoked with it. */
  ApiKeyRevoked: {
    data: Type.Object({ at: text, withMade: Type.Optional(Type.Boolean()) }),
    audit: { category: 'api_keys', action: 'api_key.revoked' },
    activity: 'api-key.revoked',
  },
} as const satisfies EventDefinitions;

export type ApiKeyEvent = EventsOf<typeof apiKeyEvents>;

/** The events of each kind of stream. */
export const keyStreams = { apiKey: apiKeyEvents } as const;
