/** Pieces of requests and answers that several endpoints share. */
import { Type, type Static, type TSchema } from '@sinclair/typebox';
import { defaultLimits } from '../../domain/core/limits.js';
import { nullable } from '../../domain/core/schema.js';
import { NAME } from '../../shared/text.js';

/** Unknown fields are refused in requests, and left out of answers. */
export const closed = { additionalProperties: false } as const;

/** One of the given texts, shown to people as one `enum` instead of many constants. */
export const enumOf = <const T extends string>(values: readonly T[], description?: string) =>
  Type.Unsafe<T>({ type: 'string', enum: [...values], ...(description === undefined ? {} : { description }) });

export const Time = Type.String({ format: 'date-time' });

/** A mailbox: `email` is an addr-spec (RFC 5322, section 3.4.1), `name` the display name. */
export const RecipientSchema = Type.Object(
  {
    email: Type.String({ minLength: 1, maxLength: 512, description: 'Email address' }),
    name: Type.Optional(Type.String({ pattern: NAME, maxLength: defaultLimits.displayNameCharsMax, description: 'Display name' })),
  },
  closed,
);

export const DeletedSchema = Type.Object({ id: Type.String(), deleted: Type.Literal(true) }, closed);
export type Deleted = Static<typeof DeletedSchema>;

export const DeleteQuerySchema = Type.Object(
  {
    permanently: Type.Optional(
      Type.Boolean({
        description: 'Nothing is left to be restored, also of what was deleted before. Default: it can be restored for 30 days',
      }),
    ),
  },
  closed,
);
export type DeleteQuery = Static<typeof DeleteQuerySchema>;

/** Of what is listed: when it was deleted. */
export const DeletedAt = Type.Optional(Type.String({ format: 'date-time', description: 'Of what is deleted and can be restored' }));

/** The envelope of every list. `nextCursor` is null on the last page. */
export const PageMetaSchema = Type.Object(
  {
    page: Type.Integer({ description: 'The page asked for; 1 where a cursor was given' }),
    limit: Type.Integer(),
    total: Type.Integer(),
    totalPages: Type.Integer(),
    totalIsLowerBound: Type.Boolean({ description: 'True where a search matches more than is counted' }),
    nextCursor: nullable(Type.String()),
  },
  closed,
);
export type PageMeta = Static<typeof PageMetaSchema>;

/** The envelope of a list of these items. */
export const pageOf = <T extends TSchema>(item: T) => Type.Object({ data: Type.Array(item), meta: PageMetaSchema }, closed);

/** The path of one resource. */
export const idParams = (description: string) => Type.Object({ id: Type.String({ description }) });

/** The path of one published version of a template. */
export const versionParams = (description: string) =>
  Type.Object({ id: Type.String({ description }), version: Type.String({ description: 'The number of a published version' }) });
