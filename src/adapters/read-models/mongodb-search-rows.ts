/**
 * The rows of a search: beside each document that has a text one row with the numbers of its text and terms, so that a document that
 * changes takes its row along only where these change. A row only says where to look: the text itself stands in the document. Rows are
 * written before their documents, so a document with a text has its row.
 */
import type { CollectionSpec, Document, Removal } from '../../domain/ports/read-models.js';
import type { Collection } from '../mongodb/client.js';
import { changing, type Change, type Rest } from './mongodb-changes.js';
import { gramsOf } from './mongodb-grams.js';

/** Of a document that has no text any more its id, its position and a date are left, as of a removed document. */
export type Row = Rest & { seq?: number; grams?: number[] };
export type Rows = Collection<Row>;

/** What is known of the rows at the server; undefined where nothing is, false where there is none, else its `seq`. */
export type KnownRows = Readonly<{
  get: (id: string) => number | false | undefined;
  set: (id: string, seq: number | false) => void;
  clear: () => void;
}>;

const knownMax = 16_384;

export const knownRows = (): KnownRows => {
  const rows = new Map<string, number | false>();
  return {
    get: (id) => rows.get(id),
    set: (id, seq) => {
      rows.delete(id);
      rows.set(id, seq);
      if (rows.size > knownMax) for (const oldest of rows.keys()) return void rows.delete(oldest);
    },
    clear: () => rows.clear(),
  };
};

export type RowWrites = Readonly<{ put: readonly Document[]; remove: readonly Removal[]; goneAt: Date }>;

/**
 * `isAlone`: nobody else writes these collections, so what is not known is not there. A personal text that is written does not change.
 */
export const rowChangesOf = (
  spec: CollectionSpec,
  { put, remove, goneAt }: RowWrites,
  known: KnownRows,
  isAlone: boolean,
): Change<Row>[] => {
  const { search, personal = [] } = spec;
  if (search === undefined) return [];
  const isConstant = personal.includes(search.field);
  const mayBe = (id: string): boolean => (known.get(id) ?? (isAlone ? false : undefined)) !== false;
  const changes: Change<Row>[] = [];
  const remain = ({ id, position }: Removal): void => {
    if (mayBe(id)) changes.push(changing(id, position, { position, goneAt }));
  };
  for (const document of put) {
    const { id, seq, position } = document;
    const grams = rowGramsOf(document, spec, isConstant && known.get(id) === seq);
    if (grams === undefined) remain(document);
    else if (grams !== 'written') changes.push(changing(id, position, { position, seq, grams }));
  }
  for (const removal of remove) remain(removal);
  return changes;
};

/** The numbers of a document; undefined where it has no text. */
const rowGramsOf = (document: Document, spec: CollectionSpec, isWritten: boolean): number[] | 'written' | undefined => {
  const { search } = spec;
  const text = search === undefined ? undefined : document[search.field];
  if (search === undefined || typeof text !== 'string') return undefined;
  if (isWritten) return 'written';
  const tenant = document[search.within];
  if (typeof tenant !== 'string' && typeof tenant !== 'number') return undefined;
  const terms = search.terms === undefined ? undefined : document[search.terms];
  return gramsOf(tenant, text, (terms ?? []) as readonly string[]);
};

/** What the row of a document that is at hand must hold. */
export const gramsExpected = (document: Document, spec: CollectionSpec): readonly number[] | undefined => {
  const grams = rowGramsOf(document, spec, false);
  return grams === 'written' ? undefined : grams;
};
