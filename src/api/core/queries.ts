/** The query parameters of lists. */
import { Type, type Static } from '@sinclair/typebox';
import { emailStatuses, recipientStatuses } from '../../domain/email/status.js';
import { defaultLimits as limits } from '../../domain/core/limits.js';
import { closed, enumOf, templateOrSlugFilter } from './common.js';

export const paging = {
  page: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      default: 1,
      description: 'Number of the page; use `cursor` for far pages',
    }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: limits.pageSizeMax,
      default: limits.pageSizeDefault,
      description: 'Rows per page',
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1_024,
      description:
        '`meta.nextCursor` of the page before: continues behind its last row, however many rows arrive meanwhile',
    }),
  ),
};

export const moment = (description: string) =>
  Type.Optional(
    Type.String({
      minLength: 10,
      maxLength: 40,
      description: `${description} (ISO 8601; a date alone is a day in UTC)`,
      examples: ['2030-01-31T09:30:00Z'],
    }),
  );

const search = (description: string) =>
  Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: limits.searchCharsMax,
      description: `${description}; two characters, or one that is Chinese, Japanese or Korean. Letter case does not count`,
    }),
  );

const emailFilters = {
  status: Type.Optional(
    Type.Array(enumOf(emailStatuses), {
      minItems: 1,
      maxItems: 20,
      description: 'One state, or several with commas between them: the email is in one of them',
    }),
  ),
  templateId: Type.Optional(templateOrSlugFilter),
  startDate: moment('Created at or after'),
  endDate: moment('Created at or before'),
  search: search('Part of a recipient’s address or name, or of the subject'),
  recipient: Type.Optional(
    Type.String({
      minLength: 3,
      maxLength: 512,
      description: 'Address of a recipient, whole; letter case does not count',
    }),
  ),
  recipientStatus: Type.Optional(
    enumOf(
      recipientStatuses,
      'A recipient has this status, whatever that of the email is; `failed` and `bounced` did not get it',
    ),
  ),
  test: Type.Optional(Type.Boolean({ description: 'Sent with a test key, or not; without it, all' })),
  tag: Type.Optional(
    Type.String({ minLength: 1, maxLength: limits.tagCharsMax, description: 'One of its tags, whole' }),
  ),
  batchId: Type.Optional(Type.String({ format: 'uuid', description: 'Id of its bulk send' })),
  createdBy: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 128,
      description: 'Who sent it: the id of an API key, or an actor as records show it, such as `user:<id>`',
      examples: ['key_15bfDCnPGSQBXbacFwWY6Q'],
    }),
  ),
  senderDomain: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'Domain of the sender’s address, whole: subdomains are domains of their own',
      examples: ['shop.example'],
    }),
  ),
  metadataKey: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: limits.metadataKeyFoundCharsMax,
      description: `A key at the top of its \`metadata\`; of each email the first ${limits.metadataKeysFoundMax} are found`,
    }),
  ),
  metadata: Type.Optional(
    Type.Unsafe<Readonly<Record<string, string>>>({
      type: 'object',
      propertyNames: { minLength: 1, maxLength: limits.metadataKeyFoundCharsMax },
      additionalProperties: { type: 'string', maxLength: limits.metadataValueFoundCharsMax },
      maxProperties: limits.metadataFiltersMax,
      description: `\`metadata[orderId]=4711\`: that key at the top of its \`metadata\` has that text, number, true or false; up to ${limits.metadataFiltersMax} at once`,
      examples: [{ orderId: '4711' }],
    }),
  ),
};

export const EmailListQuerySchema = Type.Object({ ...paging, ...emailFilters }, closed);
export const EmailCountsQuerySchema = Type.Object(emailFilters, closed);

/** The filters of both. */
export type EmailFilterQuery = Static<typeof EmailCountsQuerySchema>;

export const AsOfQuerySchema = Type.Object(
  {
    asOf: Type.Optional(
      Type.String({
        minLength: 10,
        maxLength: 40,
        description:
          'As it was then: an ISO 8601 time (a date alone is the end of that day in UTC), or the id of one of its events',
        examples: ['2030-01-31T09:30:00Z'],
      }),
    ),
  },
  closed,
);

export const TeamListQuerySchema = Type.Object(
  {
    ...paging,
    deleted: Type.Optional(Type.Boolean({ description: 'Lists instead the deleted teams that can still be restored' })),
  },
  closed,
);

export const TemplateListQuerySchema = Type.Object(
  {
    ...paging,
    search: search('Part of the name, slug or description'),
    status: Type.Optional(
      enumOf(['draft', 'published'], '`draft`: the draft is ahead of what is published, or nothing is'),
    ),
    sort: Type.Optional(
      enumOf(['createdAt', 'updatedAt'], 'The newest first; default `createdAt`. A search is always by `createdAt`'),
    ),
    deleted: Type.Optional(
      Type.Boolean({ description: 'Lists instead the deleted templates that can still be restored, without `search`' }),
    ),
  },
  closed,
);

export type TemplateListQuery = Static<typeof TemplateListQuerySchema>;

export const AssetListQuerySchema = Type.Object(
  {
    ...paging,
    search: search('Part of the file name'),
    deleted: Type.Optional(
      Type.Boolean({ description: 'Lists instead the deleted assets that can still be restored, without `search`' }),
    ),
  },
  closed,
);

export type AssetListQuery = Static<typeof AssetListQuerySchema>;

export const WebhookListQuerySchema = Type.Object(
  {
    ...paging,
    deleted: Type.Optional(
      Type.Boolean({ description: 'Lists instead the deleted subscriptions that can still be restored' }),
    ),
  },
  closed,
);

export const PagingQuerySchema = Type.Object(paging, closed);
export type PagingQuery = Static<typeof PagingQuerySchema>;
/** Paging of lists without a cursor. */
export const pageNumbers = { page: paging.page, limit: paging.limit };
export const PageOnlyQuerySchema = Type.Object(pageNumbers, closed);
