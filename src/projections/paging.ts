/** Pages of a list: by number, or by a cursor that stays in its place while rows arrive. */
import { DomainError } from '../domain/errors.js';
import type { Page } from '../domain/email/request.js';
import type { Document, Documents, Place, Query } from '../domain/ports/documents.js';
import type { Paging } from './api.js';

export type ListQuery = Readonly<{
  collection: string;
  where: Query['where'];
  search?: string | undefined;
  /** The field of the order, newest first; `seq` where absent or where a search is given. */
  sortField?: string;
  total: () => Promise<Readonly<{ total: number; isLowerBound: boolean }>>;
}>;

/** Reads one page and says where the next begins. */
export const readPage = async <Found extends Document, Item>(
  documents: Documents,
  { collection, where, search, sortField = 'seq', total }: ListQuery,
  { page, limit, cursor }: Paging,
  itemOf: (document: Found) => Item,
): Promise<Page<Item>> => {
  const field = search === undefined ? sortField : 'seq';
  const after = cursor === undefined ? undefined : readCursor(cursor, collection, field);
  const found = (await documents.find(collection, {
    where,
    ...(search === undefined ? { sort: { field, direction: 'desc' as const } } : { search }),
    ...(after === undefined ? { skip: (page - 1) * limit } : { after }),
    limit: limit + 1,
  })) as readonly Found[];
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  const { total: counted, isLowerBound } = await total();
  return {
    data: shown.map(itemOf),
    meta: {
      page: cursor === undefined ? page : 1,
      limit,
      total: counted,
      totalPages: Math.ceil(counted / limit),
      totalIsLowerBound: isLowerBound,
      nextCursor: found.length > limit && last !== undefined ? writeCursor(last, collection, field) : null,
    },
  };
};

const writeCursor = (document: Document, collection: string, field: string): string => {
  const value = document[field];
  return Buffer.from(JSON.stringify([collection, field, typeof value === 'number' ? value : String(value), document.seq])).toString('base64url');
};

const readCursor = (cursor: string, collection: string, field: string): Place => {
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    throw invalid();
  }
  if (!Array.isArray(parsed) || parsed.length !== 4) throw invalid();
  const [list, of, value, seq] = parsed as unknown[];
  if (list !== collection || of !== field || (typeof value !== 'string' && typeof value !== 'number') || !Number.isSafeInteger(seq)) throw invalid();
  return { value, seq: seq as number };
};

const invalid = (): DomainError =>
  new DomainError('INVALID_CURSOR', 'The cursor is not one of this list. Take `meta.nextCursor` of the page before, with the same filter, or leave it out.');
