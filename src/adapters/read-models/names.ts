/**
 * The names of tables and columns. Our own code names collections and fields, but the names enter SQL and file names,
 * so they are checked.
 */
import type { CollectionSpec } from '../../domain/ports/read-models.js';

const NAME = /^[A-Za-z][A-Za-z0-9_]{0,62}$/;

/**
 * Throws RangeError if a name of the projection or of its specs is not letters, digits and underscores, or is used
 * without being declared.
 */
export const checkNames = (projection: string, specs: readonly CollectionSpec[]): void => {
  const fields = specs.flatMap((spec) => [
    ...spec.fields,
    ...(spec.search === undefined
      ? []
      : [spec.search.field, ...(spec.search.terms === undefined ? [] : [spec.search.terms])]),
    ...(spec.personal ?? []),
  ]);
  for (const name of [projection, ...specs.map((spec) => spec.name), ...fields]) {
    if (!NAME.test(name)) throw new RangeError(`"${name}" is no name for a projection, a collection or a field`);
  }
  for (const spec of specs) {
    const undeclared = spec.indexes.flat().find((field) => field !== 'seq' && !spec.fields.includes(field));
    if (undeclared !== undefined)
      throw new RangeError(`the collection ${spec.name} has an index on ${undeclared}, which is no field of it`);
    if (spec.search !== undefined && !spec.fields.includes(spec.search.within))
      throw new RangeError(
        `the collection ${spec.name} searches within ${spec.search.within}, which is no field of it`,
      );
    const indexed = spec.personal?.find((field) => spec.fields.includes(field));
    if (indexed !== undefined)
      throw new RangeError(
        `the collection ${spec.name} has the personal field ${indexed} among those that are indexed`,
      );
  }
};

export const tableOf = (collection: string): string => `c_${collection}`;
/** The name of an index; `at`: its place in the order of declaration. */
export const indexOf = (collection: string, at: number): string => `${tableOf(collection)}_${at}`;
export const searchTableOf = (collection: string): string => `s_${collection}`;
/** Holds the personal fields of documents. */
export const personalTableOf = (collection: string): string => `p_${collection}`;
/** Holds personal fields that replaced earlier ones. */
export const laterPersonalTableOf = (collection: string): string => `l_${collection}`;
export const laterPersonalIndexOf = (collection: string): string => `i_${collection}`;
/** Holds which documents wait to be put into the search index. */
export const waitingTableOf = (collection: string): string => `w_${collection}`;
/** The prefix keeps fields apart from our own columns and from SQL's words; `seq` is a column of every collection. */
export const columnOf = (field: string): string => (field === 'seq' ? field : `f_${field}`);
