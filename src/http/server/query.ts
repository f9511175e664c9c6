/** Checks the query of every request, and reads what the queries of lists and previews stand for. */
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { DomainError, invalid } from '../../domain/core/errors.js';
import { isJsonObject, type Json, type JsonObject } from '../../domain/core/json.js';
import { type Limits, defaultLimits as limits } from '../../domain/core/limits.js';
import { parseJsonBody } from './json/body.js';
import type { EmailFilterQuery, PagingQuery } from '../../api/core/queries.js';
import { parseAsOf, type AsOf } from '../../domain/core/time.js';
import { parseAddress, parseDomain } from '../../domain/mime/address.js';
import { parseMoment } from '../../domain/core/time.js';
import { foldForSearch, isSearchable } from '../../domain/core/search-text.js';
import type { SearchFilter, DeletableFilter, TemplateFilter } from '../../projections/query-types.js';
import type { TemplateListQuery } from '../../api/core/queries.js';
import type { EmailFilter } from '../../projections/email/emails.js';
import type { EmailStatus } from '../../domain/email/status.js';
import type { Paging } from '../../projections/core/pages.js';

const BROKEN_PERCENT =
  'The query of the URL holds a percent sign that is not followed by two hexadecimal digits of UTF-8 (a percent sign itself is written %25).';

const OBJECT =
  'must be a JSON object such as {"number":"2030-17"}, percent-encoded (variables=%7B%22number%22%3A%222030-17%22%7D)';

/**
 * The hook of every endpoint that needs a key. Refuses malformed percent-encoding. A schema of the query refuses
 * unknown parameters; without one this hook refuses every parameter, so that none looks as if it did something.
 */
export const checkQuery = (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void => {
  const { config, schema } = request.routeOptions;
  const url = request.raw.url ?? '';
  const start = url.indexOf('?');
  if (start < 0 || config.access === undefined || config.access === 'public') return done();
  const query = url.slice(start + 1);
  if (query.includes('%') && !isDecodable(query)) return done(new DomainError('MALFORMED_REQUEST', BROKEN_PERCENT));
  const [name] = schema?.querystring === undefined ? Object.keys(request.query as object) : [];
  done(
    name === undefined ? undefined : invalid('query', name, 'is not known; this endpoint takes no query parameters'),
  );
};

const isDecodable = (query: string): boolean => {
  try {
    decodeURIComponent(query);
    return true;
  } catch {
    return false;
  }
};

/** The page asked for, with the defaults filled in. */
export const pagingOf = (query: PagingQuery): Paging => ({
  page: query.page ?? 1,
  limit: query.limit ?? limits.pageSizeDefault,
  ...(query.cursor === undefined ? {} : { cursor: query.cursor }),
});

/** In: as `parseMoment`. Throws VALIDATION_ERROR naming the field. */
export const momentOf = (field: string, text: string, edge: 'start' | 'end'): string => {
  const moment = parseMoment(text, edge);
  if (moment !== undefined) return moment;
  const message =
    'must be an ISO 8601 date, or a time with a zone, e.g. 2030-01-31 or 2030-01-31T09:30:00Z (a plus sign is written %2B in a query)';
  throw invalid('query', field, message);
};

/**
 * In: a time as for `momentOf`, where a date alone stands for its last moment, or the id of an event. Throws
 * VALIDATION_ERROR naming the field.
 */
export const asOfOf = (text: string): AsOf => {
  const asOf = parseAsOf(text);
  if (asOf !== undefined) return asOf;
  const message =
    'must be an ISO 8601 date, a time with a zone, e.g. 2030-01-31T09:30:00Z (a plus sign is written %2B in a query), or the id of an event';
  throw invalid('query', 'asOf', message);
};

/** The filter that the query asks for, its moments in one form. */
export const emailFilterOf = (query: EmailFilterQuery): EmailFilter => ({
  ...(query.status === undefined ? {} : { status: statusOf(query.status) }),
  ...(query.templateId === undefined ? {} : { templateId: query.templateId.toLowerCase() }),
  ...(query.startDate === undefined ? {} : { startDate: momentOf('startDate', query.startDate, 'start') }),
  ...(query.endDate === undefined ? {} : { endDate: momentOf('endDate', query.endDate, 'end') }),
  ...searchOf(query),
  ...(query.recipient === undefined ? {} : { recipient: addressOf('recipient', query.recipient) }),
  ...(query.recipientStatus === undefined ? {} : { recipientStatus: query.recipientStatus }),
  ...(query.test === undefined ? {} : { test: query.test }),
  ...(query.tag === undefined ? {} : { tag: query.tag }),
  ...(query.batchId === undefined ? {} : { batchId: query.batchId.toLowerCase() }),
  ...(query.createdBy === undefined ? {} : { createdBy: actorOf(query.createdBy) }),
  ...(query.senderDomain === undefined ? {} : { senderDomain: domainOf('senderDomain', query.senderDomain) }),
  ...(query.metadataKey === undefined ? {} : { metadataKey: query.metadataKey }),
  ...(query.metadata === undefined ? {} : { metadata: query.metadata }),
});

/** Whether living or deleted records are listed. Throws VALIDATION_ERROR if deleted ones are searched. */
export const deletableFilterOf = ({
  search,
  deleted,
}: Readonly<{ search?: string; deleted?: boolean }>): DeletableFilter => {
  if (deleted !== true) return searchOf({ search });
  if (search !== undefined)
    throw invalid('query', 'search', 'cannot stand beside `deleted`: what is deleted is listed, newest first');
  return { deleted };
};

/** The filter of a list of templates. Throws VALIDATION_ERROR if deleted ones are searched, filtered or sorted. */
export const templateFilterOf = ({ status, sort, ...query }: TemplateListQuery): TemplateFilter => {
  if (query.deleted === true && (status !== undefined || sort !== undefined))
    throw invalid(
      'query',
      status === undefined ? 'sort' : 'status',
      'cannot stand beside `deleted`: what is deleted is listed, newest first',
    );
  return {
    ...deletableFilterOf(query),
    ...(status !== undefined && { status }),
    ...(sort !== undefined && { sort }),
  };
};

/** The text that is searched for. Throws VALIDATION_ERROR if it is too short for the search index. */
const searchOf = ({ search }: Readonly<{ search?: string | undefined }>): SearchFilter => {
  if (search === undefined) return {};
  if (isSearchable(foldForSearch(search))) return { search };
  throw invalid('query', 'search', 'must have at least two characters; one is enough in Chinese, Japanese and Korean');
};

/** A blank in an address or a time is most likely a plus sign that was not encoded. */
export const plusHint = (text: string): string =>
  text.includes(' ') ? ' (a plus sign is written %2B in a query; a bare one is a blank)' : '';

/** Several statuses, each once; one by itself; none where all are named. */
const statusOf = (given: readonly EmailStatus[]): EmailStatus | readonly EmailStatus[] => {
  const statuses = [...new Set(given)];
  return statuses.length === 1 ? statuses[0]! : statuses;
};

/** In: an actor as records show it, such as `user:<id>`, or the id of an API key. */
const actorOf = (text: string): string => (text.startsWith('key_') ? `apiKey:${text}` : text);

/** In: the domain that a parameter holds. Throws VALIDATION_ERROR naming it. */
const domainOf = (field: string, text: string): string => {
  const parsed = parseDomain(text);
  if (parsed.ok) return parsed.text;
  throw invalid('query', field, `must be a domain such as example.com: ${parsed.reason}`);
};

/** In: the address that a parameter holds. Throws VALIDATION_ERROR naming it. */
const addressOf = (field: string, text: string): string => {
  const parsed = parseAddress(text);
  if (parsed.ok) return parsed.address;
  throw invalid('query', field, `must be an email address: ${parsed.reason}${plusHint(text)}`);
};

/**
 * The variables of a preview: a JSON object in the query, with the checks of a body. Empty if the query has none.
 * Throws VALIDATION_ERROR.
 */
export const queryVariables = (text: string | undefined, limits: Limits): JsonObject => {
  if (text === undefined) return {};
  let value: unknown;
  try {
    value = parseJsonBody(Buffer.from(text), limits);
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    throw invalidVariables(
      `${OBJECT}; of its text is said: ${fault.message.replace(/^The body/, 'it').replace(/\.$/, '')}`,
    );
  }
  if (isJsonObject(value as Json)) return value as JsonObject;
  throw invalidVariables(OBJECT);
};

const invalidVariables = (message: string): DomainError => invalid('query', 'variables', message);
