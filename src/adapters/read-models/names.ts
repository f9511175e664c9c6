/** The names of tables and columns. Collections and fields are named by our own code, yet they enter SQL and file names: they are checked. */
import type { CollectionSpec } from '../../domain/ports/read-models.js';

const NAME = /^[A-Za-z][A-Za-z0-9_]{0,62}$/;

/** Throws RangeError where a name of the projection or of its specs is not letters, digits and underscores, or is used without being declared. */
export const checkNames = (projection: string, specs: readonly CollectionSpec[]): void => {
  const fields = specs.flatMap((spec) => [
    ...spec.fields,
    ...(spec.search === undefined ? [] : [spec.search.field, ...(spec.search.terms === undefined ? [] : [spec.search.terms])]),
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
      throw new RangeError(`the collection ${spec.name} searches within ${spec.search.within}, which is no field of it`);
    const indexed = spec.personal?.find((field) => spec.fields.includes(field));
    if (indexed !== undefined)
      throw new RangeError(`the collection ${spec.name} has the personal field ${indexed} among those that are indexed`);
  }
};

export const tableOf = (collection: string): string => `c_${collection}`;
/** Of the indexes of a collection, in the order in which they are declared. */
export const indexOf = (collection: string, at: number): string => `${tableOf(collection)}_${at}`;
export const searchTableOf = (collection: string): string => `s_${collection}`;
/** Holds the personal fields of documents. */
export const personalTableOf = (collection: string): string => `p_${collection}`;
/** Holds those that took the place of others. */
export const laterPersonalTableOf = (collection: string): string => `l_${collection}`;
export const laterPersonalIndexOf = (collection: string): string => `i_${collection}`;
/** Holds which documents wait to be put into the search index. */
export const waitingTableOf = (collection: string): string => `w_${collection}`;
/** The prefix keeps fields apart from our own columns and from SQL's words; `seq` is a column of every collection. */
export const columnOf = (field: string): string => (field === 'seq' ? field : `f_${field}`);
