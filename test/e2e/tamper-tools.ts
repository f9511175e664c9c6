/** Tools that change a log as somebody would who can write its file and knows how its hashes and seals are made. */
import type Sqlite from 'better-sqlite3';
import { chainHash, chainStart, FIRST_SEAL, merkleRoot, sealRoot } from '../../src/event-log/hash-chain.js';
import { signedText } from '../../src/event-log/ledger.js';
import type { SealKey } from '../../src/domain/ports/keys.js';

export type Row = {
  position: number;
  stream: string;
  revision: number;
  type: string;
  data: string;
  metadata: string;
  sealed: Buffer | null;
  hash: string;
};
export type Database = Sqlite.Database;

export const rowsOf = (database: Database, stream?: string): Row[] =>
  stream === undefined
    ? database.prepare<[], Row>('SELECT * FROM events ORDER BY position').all()
    : database.prepare<[string], Row>('SELECT * FROM events WHERE stream = ? ORDER BY revision').all(stream);

export const ended = (database: Database): number => rowsOf(database).at(-1)!.position;

export const hashed = (previous: string, row: Row): string =>
  chainHash(previous, row.stream, row.revision, { ...row, sealed: row.sealed ?? undefined });

/**
 * Computes the hashes of a stream anew, as somebody would who knows how they are made, with the tags of a key where
 * they have one.
 */
export const rehash = (database: Database, stream: string, key?: SealKey): void => {
  let previous = chainStart(stream);
  for (const row of rowsOf(database, stream)) {
    const hash = hashed(previous, row);
    previous = key === undefined ? hash : hash + key.tag(hash);
    database.prepare('UPDATE events SET hash = ? WHERE position = ?').run(previous, row.position);
  }
};

/** Moves all positions from `from` on by one, up or down. */
export const shift = (database: Database, from: number, by: 1 | -1): void => {
  database.prepare('UPDATE events SET position = -position WHERE position >= ?').run(from);
  database.prepare('UPDATE events SET position = -position + ? WHERE position < 0').run(by);
};

/** Makes all seals anew over what the log holds now; signed by a key where there is one. */
export const reseal = (database: Database, key?: SealKey): void => {
  let previousSeal = FIRST_SEAL;
  let from = 0;
  for (const row of rowsOf(database, 'ledger')) {
    const data = JSON.parse(row.data) as { at: string; position: number; count: number; root: string };
    const hashes = rowsOf(database)
      .filter(({ position }) => position > from && position <= data.position)
      .map(({ hash }) => hash);
    previousSeal = sealRoot(previousSeal, merkleRoot(hashes));
    from = data.position;
    const seal = { at: data.at, position: data.position, count: hashes.length, root: previousSeal };
    const signed = key === undefined ? seal : { ...seal, key: key.id, mac: key.sign(signedText(seal)) };
    database.prepare('UPDATE events SET data = ? WHERE position = ?').run(JSON.stringify(signed), row.position);
    rehash(database, 'ledger', key);
  }
};

export const insert = (
  database: Database,
  { position, stream, revision, type, data, metadata, sealed, hash }: Row,
): void =>
  void database
    .prepare(
      'INSERT INTO events (position, stream, revision, type, data, metadata, sealed, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    )
    .run(position, stream, revision, type, data, metadata, sealed, hash);

export const at = (database: Database, stream: string, revision: number): Row => rowsOf(database, stream)[revision]!;

/** The event that carries the seal under which a position falls. */
export const sealOver = (database: Database, position: number): number =>
  rowsOf(database, 'ledger').find(({ data }) => (JSON.parse(data) as { position: number }).position >= position)!
    .position;
