/** Conditional changes of single documents, sent in order, and how they go on after those that were refused. */
import { isDuplicateKey, type AnyBulkWriteOperation, type Collection, type Filter, type WithoutId } from '../mongodb/client.js';

/** What every document has; `goneAt` is the moment of its removal, and then nothing else is left of it. */
export type Rest = { _id: string; position: number; goneAt?: Date };

/** One put or removal: changes nothing where the document, or what is left of it, has folded that position or a later one. */
export type Change<Stored extends Rest> = Readonly<{ id: string; position: number; operation: AnyBulkWriteOperation<Stored> }>;

export const changing = <Stored extends Rest>(id: string, position: number, replacement: WithoutId<Stored>): Change<Stored> => ({
  id,
  position,
  operation: { replaceOne: { filter: { _id: id, position: { $lt: position } } as Filter<Stored>, replacement, upsert: true } },
});

/** Changes of one message: so many take the slowest of servers a few seconds. */
const changesMax = 500;

/** Rejects where the server cannot carry them out; a first part of them may be carried out then. */
export const carryOutAll = async <Stored extends Rest>(
  collection: Collection<Stored>,
  changes: readonly Change<Stored>[],
): Promise<void> => {
  for (let at = 0; at < changes.length; at += changesMax) await carryOut(collection, changes.slice(at, at + changesMax));
};

/** Goes on after each change that was refused because the document there, or what is left of it, has folded as much. */
const carryOut = async <Stored extends Rest>(collection: Collection<Stored>, changes: readonly Change<Stored>[]): Promise<void> => {
  let left = changes;
  while (left.length > 0) {
    try {
      await collection.bulkWrite(
        left.map(({ operation }) => operation),
        { ordered: true },
      );
      return;
    } catch (error) {
      const at = isDuplicateKey(error) ? firstRefused(error) : undefined;
      if (at === undefined) throw error;
      left = await notFolded(collection, left.slice(at));
    }
  }
};

/** Another writer may have put the document at the same moment: then it has folded less, and the change is tried again. */
const notFolded = async <Stored extends Rest>(
  collection: Collection<Stored>,
  changes: readonly Change<Stored>[],
): Promise<readonly Change<Stored>[]> => {
  const positions = new Map<string, number>();
  const among = { _id: { $in: changes.map(({ id }) => id) } } as Filter<Stored>;
  for (const { _id, position } of await collection.find<Rest>(among, { projection: { position: 1 } }).toArray())
    positions.set(_id, position);
  return changes.filter(({ id, position }) => (positions.get(id) ?? -1) < position);
};

/** The number of the first operation of a bulk that was refused. */
const firstRefused = (error: unknown): number | undefined => {
  const refused = (error as Readonly<{ writeErrors?: unknown }>).writeErrors;
  const first: unknown = Array.isArray(refused) ? refused[0] : refused;
  const { index } = (first ?? {}) as Readonly<{ index?: unknown }>;
  return typeof index === 'number' ? index : undefined;
};
