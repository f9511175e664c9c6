/** Pages of a list, by number or by a cursor. A cursor keeps its place while rows arrive. */
import { DomainError } from '../../domain/core/errors.js';
import type { Limits } from '../../domain/core/limits.js';
import type { Document, ReadModels, Cursor, Query } from '../../domain/ports/read-models.js';

export type Paging = Readonly<{ page: number; limit: number; cursor?: string }>;

/** One page of a list. `nextCursor` is null on the last page. */
export type Page<Item> = {
  data: Item[];
  meta: {
    /** The page asked for; 1 where a cursor was given. */
    page: number;
    limit: number;
    total: number;
    totalPages: number;
    /** True if a search matches more than is counted. */
    totalIsLowerBound: boolean;
    nextCursor: string | null;
  };
};

/** An item of a list that may show deleted things. */
export type Listed<Listing> = Listing & { deletedAt?: string };

export type ListQuery = Readonly<{
  collection: string;
  where: Query['where'];
  anyOf?: NonNullable<Query['anyOf']>;
  search?: string | undefined;
  terms?: readonly string[];
  /** The hits of a search are counted up to this number. */
  searchTotalMax: number;
  /** The field of the order, newest first. Default, and always with a search or terms: `seq`. */
  sortField?: string;
  /** Counts the total of a list without search and terms. */
  total: () => Promise<Total>;
}>;

export type Total = Readonly<{ total: number; isLowerBound: boolean }>;

/** Reads one page and says where the next begins. */
export const readPage = async <Found extends Document, Item>(
  readModels: ReadModels,
  query: ListQuery,
  { page, limit, cursor }: Paging,
  itemOf: (document: Found) => Item,
): Promise<Page<Item>> => {
  const { collection, sortField = 'seq' } = query;
  const search = searchOf(query);
  const field = search === undefined ? sortField : 'seq';
  const place = cursor === undefined ? { skip: (page - 1) * limit } : { after: readCursor(cursor, collection, field) };
  // One more than the page holds tells whether others follow.
  const part = { where: query.where, ...(query.anyOf && { anyOf: query.anyOf }), ...place, limit: limit + 1 };
  const { rows, total, isLowerBound } =
    search === undefined
      ? await listed(readModels, query, part)
      : await searched(readModels, query, { ...part, ...search });
  const found = rows as readonly Found[];
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  return {
    data: shown.map(itemOf),
    meta: {
      page: cursor === undefined ? page : 1,
      limit,
      total,
      totalPages: Math.ceil(total / limit),
      totalIsLowerBound: isLowerBound,
      nextCursor: found.length > limit && last !== undefined ? writeCursor(last, collection, field) : null,
    },
  };
};

/** The search of the query, undefined if there is none. */
export const searchOf = ({ search, terms = [] }: Pick<ListQuery, 'search' | 'terms'>): Search | undefined => {
  if (search !== undefined) return { search, terms };
  return terms.length === 0 ? undefined : { terms };
};

type Search = Readonly<{ search?: string; terms: readonly string[] }>;
type Part = Omit<Query, 'search' | 'terms' | 'sort'>;
type Rows = Total & Readonly<{ rows: readonly Document[] }>;

const listed = async (
  readModels: ReadModels,
  { collection, sortField = 'seq', total }: ListQuery,
  part: Part,
): Promise<Rows> => {
  const rows = await readModels.find(collection, { ...part, sort: { field: sortField, direction: 'desc' } });
  return { rows, ...(totalOfLast(part, rows) ?? (await total())) };
};

const searched = async (
  readModels: ReadModels,
  { collection, searchTotalMax }: ListQuery,
  part: Part & Search,
): Promise<Rows> => {
  const { documents: rows, count, isLowerBound } = await readModels.findCounted(collection, part, searchTotalMax);
  return { rows, total: count, isLowerBound };
};

/**
 * The total without counting: known if the rows are the last of the list and the number of rows before them is known.
 */
const totalOfLast = ({ skip, limit }: Part, rows: readonly Document[]): Total | undefined =>
  skip !== undefined && rows.length < limit && (rows.length > 0 || skip === 0)
    ? { total: skip + rows.length, isLowerBound: false }
    : undefined;

export const writeCursor = (document: Document, collection: string, field: string): string => {
  const value = document[field];
  return Buffer.from(
    JSON.stringify([collection, field, typeof value === 'number' ? value : String(value), document.seq]),
  ).toString('base64url');
};

export const readCursor = (cursor: string, collection: string, field: string): Cursor => {
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    throw invalid();
  }
  if (!Array.isArray(parsed) || parsed.length !== 4) throw invalid();
  const [list, of, value, seq] = parsed as unknown[];
  if (
    list !== collection ||
    of !== field ||
    (typeof value !== 'string' && typeof value !== 'number') ||
    !Number.isSafeInteger(seq)
  )
    throw invalid();
  return { value, seq: seq as number };
};

const invalid = (): DomainError =>
  new DomainError(
    'INVALID_CURSOR',
    'The cursor is not one of this list. Take `meta.nextCursor` of the page before, with the same filter, or leave it out.',
  );

type CountDeps = Readonly<{ readModels: ReadModels; limits: Pick<Limits, 'listTotalMax'> }>;

/** The total of a list, counted up to `max`. */
export const counted = async (
  deps: CountDeps,
  collection: string,
  where: Query['where'],
  max: number = deps.limits.listTotalMax,
): Promise<Total> => {
  const total = await deps.readModels.count(collection, { where }, max);
  return { total, isLowerBound: total >= max };
};
