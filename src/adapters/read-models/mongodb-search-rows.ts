/**
 * The rows of a search: beside each document that has a text one row with the numbers of its text and terms, so that a document that
 * changes takes its row along only where these change. A row only says where to look: the text itself stands in the document. Rows are
 * written before their documents, so a document with a text has its row.
 */
import { hash } from 'node:crypto';
import type { CollectionSpec, Document, Removal } from '../../domain/ports/read-models.js';
import type { Collection } from '../mongodb/client.js';
import { changing, type Change, type Rest } from './mongodb-changes.js';
import { gramsOf } from './mongodb-grams.js';

/** Of a document that has no text any more its id, its position and a date are left, as of a removed document. */
export type Row = Rest & { seq?: number; grams?: number[] };
export type Rows = Collection<Row>;

/** What is known of the rows at the server; undefined where nothing is, false where there is none, else what `markOf` makes of its document. */
export type KnownRows = Readonly<{
  get: (id: string) => string | false | undefined;
  set: (id: string, mark: string | false) => void;
  clear: () => void;
}>;

const knownMax = 16_384;

export const knownRows = (): KnownRows => {
  const rows = new Map<string, string | false>();
  return {
    get: (id) => rows.get(id),
    set: (id, mark) => {
      rows.delete(id);
      rows.set(id, mark);
      if (rows.size > knownMax) for (const oldest of rows.keys()) return void rows.delete(oldest);
    },
    clear: () => rows.clear(),
  };
};

export type RowWrites = Readonly<{ put: readonly Document[]; remove: readonly Removal[]; goneAt: Date }>;

/** The same for two documents exactly where their rows are; false where a document has none. */
export const markOf = (document: Document, { search }: CollectionSpec): string | false => {
  const text = search === undefined ? undefined : document[search.field];
  if (search === undefined || typeof text !== 'string') return false;
  const terms = search.terms === undefined ? undefined : document[search.terms];
  return hash('sha256', JSON.stringify([document.seq, document[search.within], text, terms ?? []]), 'base64');
};

/** `isAlone`: nobody else writes these collections, so what is not known is not there. */
export const rowChangesOf = (
  spec: CollectionSpec,
  { put, remove, goneAt }: RowWrites,
  known: KnownRows,
  isAlone: boolean,
): Change<Row>[] => {
  if (spec.search === undefined) return [];
  const mayBe = (id: string): boolean => (known.get(id) ?? (isAlone ? false : undefined)) !== false;
  const changes: Change<Row>[] = [];
  const remain = ({ id, position }: Removal): void => {
    if (mayBe(id)) changes.push(changing(id, position, { position, goneAt }));
  };
  for (const document of put) {
    const { id, seq, position } = document;
    const mark = markOf(document, spec);
    if (mark !== false && known.get(id) === mark) continue;
    const grams = gramsExpected(document, spec);
    if (grams === undefined) remain(document);
    else changes.push(changing(id, position, { position, seq, grams: [...grams] }));
  }
  for (const removal of remove) remain(removal);
  return changes;
};

/** What the row of a document must hold; undefined where it has no text. */
export const gramsExpected = (document: Document, { search }: CollectionSpec): readonly number[] | undefined => {
  const text = search === undefined ? undefined : document[search.field];
  if (search === undefined || typeof text !== 'string') return undefined;
  const tenant = document[search.within];
  if (typeof tenant !== 'string' && typeof tenant !== 'number') return undefined;
  const terms = search.terms === undefined ? undefined : document[search.terms];
  return gramsOf(tenant, text, (terms ?? []) as readonly string[]);
};
