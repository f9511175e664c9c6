/** Documents and collections that the suites of the read-models port share. */
import type { Test } from 'tap';
import type { CollectionSpec, Document, ReadModels, ProjectionStore } from '../../src/domain/ports/read-models.js';

export type DocumentsHarness = Readonly<{
  /** A client of the read models of that name. */
  open: (place: string) => Promise<ReadModels>;
  settle: () => Promise<void>;
  close: () => Promise<void>;
  /** The largest tests write a quarter of the documents: for servers that take milliseconds for each. */
  isSlow?: boolean;
}>;

export const emailsSpec: CollectionSpec = {
  name: 'emails',
  version: 1,
  fields: ['teamId', 'status', 'createdAt', 'cost'],
  indexes: [
    ['teamId', 'createdAt'],
    ['teamId', 'status', 'createdAt'],
    ['teamId', 'cost', 'createdAt'],
    ['teamId', 'status', 'cost', 'createdAt'],
  ],
  search: { field: 'text', within: 'teamId', terms: 'terms' },
};
export const timersSpec: CollectionSpec = { name: 'timers', version: 1, fields: ['dueAt'], indexes: [['dueAt']] };

export const anEmail = (
  seq: number,
  more: Readonly<Record<string, string | number | null | readonly string[]>> = {},
): Document => ({
  id: `id-${String(seq).padStart(4, '0')}`,
  seq,
  position: seq,
  teamId: 'team-1',
  status: 'queued',
  createdAt: `2026-01-01T00:00:00.${String(seq % 1_000).padStart(3, '0')}Z`,
  ...more,
});

/** A document as a query answers it, without the position of its last write. */
export const withoutPosition = ({ position: _, ...rest }: Document): Readonly<Record<string, unknown>> => rest;

/**
 * Writes documents, and removes others, as the next event would: all at the position to which it moves the checkpoint.
 * Out: as they were put.
 */
export const put = async (
  store: ProjectionStore,
  documents: readonly Document[],
  remove: readonly string[] = [],
  collection = 'emails',
): Promise<readonly Document[]> => {
  const from = await store.checkpoint();
  const position = from.position + 1;
  const written = documents.map((document) => ({ ...document, position }));
  await store.write([{ collection, put: written, remove: remove.map((id) => ({ id, position })) }], from, position);
  return written;
};

/** Opens stores of fresh places, and closes them with the test. */
export const placesOf = (harness: DocumentsHarness, prefix: string) => {
  let places = 0;
  return async (t: Test): Promise<{ readModels: ReadModels; another: () => Promise<ReadModels> }> => {
    places += 1;
    const place = `${prefix}-${places}`;
    const another = async (): Promise<ReadModels> => {
      const readModels = await harness.open(place);
      t.teardown(() => readModels.close());
      return readModels;
    };
    return { readModels: await another(), another };
  };
};
