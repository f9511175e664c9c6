/** The note of the log in a SQLite database: one row beside what the database holds. */
import type { LogNote, NotedStore } from '../../domain/ports/log-note.js';
import { openDatabase } from './database.js';

const schema = `
  CREATE TABLE IF NOT EXISTS log_note (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    instance TEXT NOT NULL,
    position INTEGER NOT NULL,
    hash TEXT NOT NULL
  ) STRICT`;

/** In: a database file, which exists; the note has a connection of its own, for it is written beside all other work. */
export const openLogNote = ({ file }: Readonly<{ file: string }>): NotedStore => {
  const database = openDatabase({ file, synchronous: 'full', cacheSizeKiB: 64, mustExist: true });
  database.exec(schema);
  const select = database.prepare<[], LogNote>('SELECT instance, position, hash FROM log_note');
  const upsert = database.prepare('INSERT OR REPLACE INTO log_note (one, instance, position, hash) VALUES (1, ?, ?, ?)');
  return {
    place: file,
    note: async () => select.get(),
    setNote: async ({ instance, position, hash }) => void upsert.run(instance, position, hash),
    close: async () => void database.close(),
  };
};
