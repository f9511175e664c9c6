/** The SQLite table in which the built-in mailbox keeps its messages. */
import type { MailboxAddress } from '../../domain/ports/mailbox.js';
import type { Database, Statement } from '../sqlite/database.js';

/** `summary` and `envelope` are JSON; `raw` is what the client sent, without the dots it stuffed. */
export type MessageRow = Readonly<{ id: string; received_at: string; summary: string; envelope: string; size_bytes: number }>;

/** What lists show; read from the header when a message arrives. */
export type Summary = Readonly<{ from: MailboxAddress; to: readonly MailboxAddress[]; subject: string }>;
export type Envelope = Readonly<{ from: string; to: readonly string[] }>;

export type MessageTable = Readonly<{
  insert: (message: Readonly<{ id: string; receivedAt: string; summary: Summary; envelope: Envelope; raw: Buffer }>) => void;
  /** Deletes all but the newest `count`; answers how many went. */
  keepNewest: (count: number) => number;
  deleteAll: () => number;
  deleteBefore: (time: string) => number;
  page: (limit: number, offset: number) => readonly MessageRow[];
  total: () => number;
  find: (id: string) => MessageRow | undefined;
  raw: (id: string) => Buffer | undefined;
}>;

/** `seq` rises with every message for ever, so that the order of arrival is the order of lists, whatever the clock does. */
const schema = `
  CREATE TABLE IF NOT EXISTS message (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    received_at TEXT NOT NULL,
    summary TEXT NOT NULL,
    envelope TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    raw BLOB NOT NULL
  ) STRICT`;
const columns = 'id, received_at, summary, envelope, size_bytes';

export const openMessageTable = (database: Database): MessageTable => {
  database.exec(schema);
  const insert = database.prepare('INSERT INTO message (id, received_at, summary, envelope, size_bytes, raw) VALUES (?, ?, ?, ?, ?, ?)');
  const keepNewest = database.prepare('DELETE FROM message WHERE seq <= (SELECT seq FROM message ORDER BY seq DESC LIMIT 1 OFFSET ?)');
  const deleteAll = database.prepare('DELETE FROM message');
  const deleteBefore = database.prepare('DELETE FROM message WHERE received_at < ?');
  const page: Statement<[number, number], MessageRow> = database.prepare(
    `SELECT ${columns} FROM message ORDER BY seq DESC LIMIT ? OFFSET ?`,
  );
  const total: Statement<[], { total: number }> = database.prepare('SELECT count(*) AS total FROM message');
  const find: Statement<[string], MessageRow> = database.prepare(`SELECT ${columns} FROM message WHERE id = ?`);
  const raw: Statement<[string], { raw: Buffer }> = database.prepare('SELECT raw FROM message WHERE id = ?');
  return {
    insert: (message) =>
      void insert.run(
        message.id,
        message.receivedAt,
        JSON.stringify(message.summary),
        JSON.stringify(message.envelope),
        message.raw.length,
        message.raw,
      ),
    keepNewest: (count) => keepNewest.run(count).changes,
    deleteAll: () => deleteAll.run().changes,
    deleteBefore: (time) => deleteBefore.run(time).changes,
    page: (limit, offset) => page.all(limit, offset),
    total: () => total.get()?.total ?? 0,
    find: (id) => find.get(id),
    raw: (id) => raw.get(id)?.raw,
  };
};
