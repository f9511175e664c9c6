/** Pieces of requests and answers that several endpoints share. */
import { Type, type Static, type TSchema } from '@sinclair/typebox';
import { defaultLimits } from '../../domain/core/limits.js';
import { nullable } from '../../domain/core/schema.js';
import { INLINE, SUBMITTED } from '../../domain/core/stored-schemas.js';
import { NAME } from '../../shared/text.js';
import { healthCodes, type HealthCode } from '../../domain/core/readiness.js';

const Locale = (description: string) =>
  Type.Optional(Type.String({ minLength: 2, maxLength: 35, description, examples: ['de-AT'] }));
const TimeZone = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 64, description, examples: ['Europe/Vienna'] }));

/** The language of a call, in place of that of the templates. */
export const languageFields = {
  locale: Locale(
    'BCP 47, in place of the `locale` of the templates: their texts in that language, where they have them, and its numbers and dates',
  ),
  timeZone: TimeZone('IANA name, in place of the `timeZone` of the templates'),
};

/** The language of one recipient of a bulk send. */
export const recipientLanguageFields = {
  locale: Locale('In place of the `locale` of the call'),
  timeZone: TimeZone('In place of the `timeZone` of the call'),
};

/** The values that a call gives to a template. */
export const valuesSchema = (description: string) =>
  Type.Record(Type.String(), Type.Unknown(), { maxProperties: defaultLimits.variableNamesMax, description });

/** A name for addresses: of a template, or of a list of recipients. */
export const SlugShape = { pattern: '^[a-z0-9]+(?:-[a-z0-9]+)*$', maxLength: defaultLimits.templateSlugCharsMax };

/** The template of an email or a bulk send. */
export const templateIdField = Type.String({
  description:
    'Id of the email template (UUID); `inline` where the content came with the call, `smtp` where the mail came by SMTP',
});

/** A filter by template, as the records show it. */
export const templateFilter = Type.Union(
  [Type.String({ format: 'uuid' }), Type.Literal(INLINE), Type.Literal(SUBMITTED)],
  {
    description: 'Sent from this template (UUID); `inline`: with content that came with the call; `smtp`: by SMTP',
  },
);

/** As `templateFilter`, also by the slug of a template that exists. */
export const templateOrSlugFilter = Type.Union(
  [Type.String({ format: 'uuid' }), Type.Literal(INLINE), Type.Literal(SUBMITTED), Type.String(SlugShape)],
  {
    description:
      'Sent from the template with this id (UUID) or slug; `inline`: with content that came with the call; `smtp`: by SMTP',
  },
);

/** The body of every error answer. */
export const ErrorBodySchema = Type.Object(
  {
    statusCode: Type.Integer({ description: 'The HTTP status' }),
    code: Type.String({ description: 'Error code, for programs' }),
    message: Type.String({ description: 'The fault and its fix, for people' }),
    timestamp: Type.String({ format: 'date-time' }),
    path: Type.String({ description: 'The path that was asked for, without its query' }),
    requestId: Type.String({ description: 'Id of the request, as in the X-Request-Id header' }),
    errors: Type.Optional(
      Type.Array(
        Type.Object(
          {
            field: Type.String({ description: 'A path such as `to[2].email`; empty for the body itself' }),
            message: Type.String(),
            code: Type.Optional(
              Type.String({ description: 'With `EMAILS_REFUSED`: the code with which that email is refused' }),
            ),
          },
          { additionalProperties: false },
        ),
      ),
    ),
    relatedInfo: Type.Optional(
      Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()])),
    ),
    retryAfter: Type.Optional(Type.Integer({ description: 'Seconds to wait, on 429 and 503' })),
  },
  { additionalProperties: false },
);

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
    name: Type.Optional(
      Type.String({ pattern: NAME, maxLength: defaultLimits.displayNameCharsMax, description: 'Display name' }),
    ),
  },
  closed,
);

export const DeletedSchema = Type.Object({ id: Type.String(), deleted: Type.Literal(true) }, closed);
export type Deleted = Static<typeof DeletedSchema>;

export const DeleteQuerySchema = Type.Object(
  {
    permanently: Type.Optional(
      Type.Boolean({
        description:
          'Deletes for good, without a way to restore, also if it was deleted before. Default: it can be restored for 30 days',
      }),
    ),
  },
  closed,
);
export type DeleteQuery = Static<typeof DeleteQuerySchema>;

/** When a listed thing was deleted. */
export const DeletedAt = Type.Optional(
  Type.String({ format: 'date-time', description: 'Time of deletion; set if it is deleted and can be restored' }),
);

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
export const pageOf = <T extends TSchema>(item: T) =>
  Type.Object({ data: Type.Array(item), meta: PageMetaSchema }, closed);

/** The path of one resource. */
export const idParams = (description: string) => Type.Object({ id: Type.String({ description }) });

/** The path of one published version of a template. */
export const versionParams = (description: string) =>
  Type.Object({
    id: Type.String({ description }),
    version: Type.String({ description: 'The number of a published version' }),
  });

export const LiveSchema = Type.Object({ status: Type.Literal('live'), version: Type.String() }, closed);

const readiness = ['ready', 'degraded', 'unavailable', 'stopping'] as const;

/** The health of one process. */
export const healthParts = {
  status: enumOf(
    readiness,
    '`degraded`: requests are served, and somebody should look at the reasons; `unavailable`, `stopping`: give it no requests',
  ),
  reasons: Type.Array(
    Type.Object({ code: enumOf(Object.keys(healthCodes) as HealthCode[]), message: Type.String() }, closed),
    {
      description: 'why it is not `ready`; empty where it is',
    },
  ),
  workers: Type.Array(
    Type.Object(
      {
        name: Type.String(),
        state: enumOf(['starting', 'running', 'restarting', 'stopped']),
        restarts: Type.Integer(),
        lastFault: nullable(Type.String()),
        stuckWork: Type.Integer({
          description: 'pieces of its work that met a fault of the service and wait to be tried again',
        }),
      },
      closed,
    ),
  ),
  breaker: enumOf(['closed', 'open', 'half-open'] as const, '`closed`: mail is handed to the relay'),
};

export const ReadySchema = Type.Object(
  {
    status: healthParts.status,
    reasons: healthParts.reasons,
    workers: healthParts.workers,
    relays: Type.Optional(
      Type.Array(
        Type.Object(
          {
            name: Type.String(),
            breaker: healthParts.breaker,
            isDayFull: Type.Optional(
              Type.Boolean({ description: 'true: the relay gets no more mails today; absent: it has no ramp-up' }),
            ),
          },
          closed,
        ),
        { description: 'the relays of SEALPOST_RELAYS in a process that delivers; absent without that setting' },
      ),
    ),
    log: Type.Object(
      {
        unreadableEvents: Type.Integer({
          description: 'damaged events that were met since the start; `sealpost events unreadable` lists all',
        }),
        unknownEvent: nullable(Type.Object({ position: Type.Integer(), type: Type.String() }, closed)),
      },
      {
        ...closed,
        description:
          'what of the log cannot be read; `unknownEvent`: the first event that a newer version of the service wrote, at which readers stop',
      },
    ),
  },
  closed,
);
