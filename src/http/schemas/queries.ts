/** What lists take in their query, what single resources take in their path, and the envelope that lists answer with. */
import { Type, type Static, type TSchema } from '@sinclair/typebox';
import { emailStatuses, PageMetaSchema, type EmailStatus } from '../../domain/email/request.js';
import { defaultLimits as limits } from '../../domain/limits.js';
import type { EmailFilter, Paging } from '../../projections/api.js';
import { DomainError } from '../../domain/errors.js';
import { isoTime } from '../../domain/ports/clock.js';

const closed = { additionalProperties: false } as const;

const paging = {
  page: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1_000_000, default: 1, description: 'Which page; for far pages `cursor` is the way' }),
  ),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: limits.pageSizeMax, default: limits.pageSizeDefault, description: 'Rows per page' }),
  ),
  cursor: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1_024,
      description: '`meta.nextCursor` of the page before: continues behind its last row, however many rows arrive meanwhile',
    }),
  ),
};

const moment = (description: string) =>
  Type.Optional(
    Type.String({
      minLength: 10,
      maxLength: 40,
      description: `${description} (ISO 8601; a date alone is a day in UTC)`,
      examples: ['2030-01-31T09:30:00Z'],
    }),
  );

export const EmailListQuerySchema = Type.Object(
  {
    ...paging,
    status: Type.Optional(Type.Unsafe<EmailStatus>({ type: 'string', enum: [...emailStatuses] })),
    templateId: Type.Optional(Type.String({ format: 'uuid', description: 'Sent from this template' })),
    startDate: moment('Created at or after'),
    endDate: moment('Created at or before'),
    search: Type.Optional(
      Type.String({
        minLength: limits.searchCharsMin,
        maxLength: limits.searchCharsMax,
        description: 'Part of a recipient’s address or name, or of the subject',
      }),
    ),
  },
  closed,
);

export const TemplateListQuerySchema = Type.Object(
  {
    ...paging,
    search: Type.Optional(Type.String({ minLength: 1, maxLength: limits.searchCharsMax, description: 'Part of the name or slug' })),
  },
  closed,
);

export const AssetListQuerySchema = Type.Object(
  {
    ...paging,
    search: Type.Optional(
      Type.String({ minLength: limits.searchCharsMin, maxLength: limits.searchCharsMax, description: 'Part of the file name' }),
    ),
  },
  closed,
);

export const PagingQuerySchema = Type.Object(paging, closed);
export const PageOnlyQuerySchema = Type.Object({ page: paging.page, limit: paging.limit }, closed);

export const idParams = (description: string) => Type.Object({ id: Type.String({ description }) });

/** The envelope of a list of these items. */
export const pageOf = <T extends TSchema>(item: T) => Type.Object({ data: Type.Array(item), meta: PageMetaSchema }, closed);

/** The page asked for, with the defaults filled in. */
export const pagingOf = (query: Static<typeof PagingQuerySchema>): Paging => ({
  page: query.page ?? 1,
  limit: query.limit ?? limits.pageSizeDefault,
  ...(query.cursor === undefined ? {} : { cursor: query.cursor }),
});

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const TIME = /^(\d{4}-\d{2}-\d{2})[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d{2}:?\d{2})$/;

/** `Date.parse` takes 31 February for 3 March; a day that does not exist must not be read as another. */
const isRealDay = (day: string): boolean => {
  const ms = Date.parse(`${day}T00:00:00.000Z`);
  return !Number.isNaN(ms) && isoTime(ms).startsWith(day);
};

/**
 * In: a date or a time with zone. Out: the same moment as the read models write it, so that they can be compared as
 * texts; a date alone is its first or its last millisecond in UTC. Throws VALIDATION_ERROR naming the field.
 */
export const momentOf = (field: string, text: string, edge: 'start' | 'end'): string => {
  const day = DATE.test(text) ? text : TIME.exec(text)?.[1];
  const ms = DATE.test(text)
    ? Date.parse(`${text}T${edge === 'start' ? '00:00:00.000' : '23:59:59.999'}Z`)
    : Date.parse(text.replace(' ', 'T').toUpperCase());
  if (day === undefined || !isRealDay(day) || Number.isNaN(ms)) {
    const message =
      'must be an ISO 8601 date, or a time with a zone, e.g. 2030-01-31 or 2030-01-31T09:30:00Z (a plus sign is written %2B in a query)';
    throw new DomainError('VALIDATION_ERROR', `The query is invalid: \`${field}\` ${message}.`, { errors: [{ field, message }] });
  }
  return isoTime(ms);
};

/** The filter asked for, its moments in one form. */
export const emailFilterOf = (query: Static<typeof EmailListQuerySchema>): EmailFilter => ({
  ...(query.status === undefined ? {} : { status: query.status }),
  ...(query.templateId === undefined ? {} : { templateId: query.templateId.toLowerCase() }),
  ...(query.startDate === undefined ? {} : { startDate: momentOf('startDate', query.startDate, 'start') }),
  ...(query.endDate === undefined ? {} : { endDate: momentOf('endDate', query.endDate, 'end') }),
  ...(query.search === undefined ? {} : { search: query.search }),
});
