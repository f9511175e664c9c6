/**
 * The SQLite table in which the built-in mailbox keeps its messages. SQLite moves rows from page to page when their pages are rebuilt, and
 * leaves the old bytes in the free space of a page, whatever `secure_delete` says. What lies in a row's overflow pages never moves, and is
 * overwritten when the row is deleted: so each row is padded until everything personal lies there.
 */
import type { MailboxAddress } from '../../domain/ports/mailbox.js';
import { inTransaction, type Database, type Statement } from '../sqlite/database.js';
import { bareMessageId, messageIdOf } from './parse.js';

/** `summary` and `envelope` are JSON; `raw` is what the client sent, without the dots it stuffed. */
export type MessageRow = Readonly<{ id: string; received_at: string; summary: string; envelope: string; size_bytes: number }>;

/** What lists show; read from the header when a message arrives. */
export type Summary = Readonly<{ from: MailboxAddress; to: readonly MailboxAddress[]; subject: string }>;
export type Envelope = Readonly<{ from: string; to: readonly string[] }>;

export type NewMessage = Readonly<{ id: string; receivedAt: string; summary: Summary; envelope: Envelope; raw: Buffer }>;

export type MessageTable = Readonly<{
  insert: (message: NewMessage) => void;
  /** Deletes all but the newest `count`; answers how many went. */
  keepNewest: (count: number) => number;
  deleteAll: () => number;
  deleteBefore: (time: string) => number;
  deleteCopies: (messageId: string) => number;
  hasCopy: (messageId: string) => boolean;
  page: (limit: number, offset: number) => readonly MessageRow[];
  total: () => number;
  find: (id: string) => MessageRow | undefined;
  raw: (id: string) => Buffer | undefined;
}>;

/** `seq` rises with every message for ever, so that the order of arrival is the order of lists, whatever the clock does. */
const schema = `
  CREATE TABLE IF NOT EXISTS mail (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    received_at TEXT NOT NULL,
    message_id TEXT NOT NULL,
    padding BLOB NOT NULL,
    summary TEXT NOT NULL,
    envelope TEXT NOT NULL,
    raw BLOB NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS mail_message_id ON mail (message_id)`;
const columns = 'id, received_at, summary, envelope, length(raw) AS size_bytes';

export const openMessageTable = (database: Database): MessageTable => {
  database.exec(schema);
  const insertRow = database.prepare(
    'INSERT INTO mail (id, received_at, message_id, padding, summary, envelope, raw) VALUES (?, ?, ?, ?, ?, ?, ?)',
  );
  const paddingBytes = paddingFor(database.pragma('page_size', { simple: true }) as number);
  const insert = ({ id, receivedAt, summary, envelope, raw }: NewMessage): void => {
    const before = [id, receivedAt, messageIdOf(raw)].map((text) => Buffer.from(text));
    const after = [Buffer.from(JSON.stringify(summary)), Buffer.from(JSON.stringify(envelope)), raw];
    const padding = Buffer.alloc(paddingBytes([...before, ...after].map(({ length }) => length)));
    insertRow.run(...before.map(String), padding, String(after[0]), String(after[1]), raw);
  };
  const keepNewest = database.prepare('DELETE FROM mail WHERE seq <= (SELECT seq FROM mail ORDER BY seq DESC LIMIT 1 OFFSET ?)');
  const deleteAll = database.prepare('DELETE FROM mail');
  const deleteBefore = database.prepare('DELETE FROM mail WHERE received_at < ?');
  const deleteCopies = database.prepare('DELETE FROM mail WHERE message_id = ?');
  const hasCopy = database.prepare<[string], number>('SELECT 1 FROM mail WHERE message_id = ? LIMIT 1').pluck();
  const page: Statement<[number, number], MessageRow> = database.prepare(`SELECT ${columns} FROM mail ORDER BY seq DESC LIMIT ? OFFSET ?`);
  const total: Statement<[], { total: number }> = database.prepare('SELECT count(*) AS total FROM mail');
  const find: Statement<[string], MessageRow> = database.prepare(`SELECT ${columns} FROM mail WHERE id = ?`);
  const raw: Statement<[string], { raw: Buffer }> = database.prepare('SELECT raw FROM mail WHERE id = ?');
  takeOver(database, insert);
  return {
    insert,
    keepNewest: (count) => keepNewest.run(count).changes,
    deleteAll: () => deleteAll.run().changes,
    deleteBefore: (time) => deleteBefore.run(time).changes,
    deleteCopies: (messageId) => deleteCopies.run(bareMessageId(messageId)).changes,
    hasCopy: (messageId) => hasCopy.get(bareMessageId(messageId)) !== undefined,
    page: (limit, offset) => page.all(limit, offset),
    total: () => total.get()?.total ?? 0,
    find: (id) => find.get(id),
    raw: (id) => raw.get(id)?.raw,
  };
};

/** Messages of a mailbox whose rows were not padded yet are put into the table as it is now. */
const takeOver = (database: Database, insert: (message: NewMessage) => void): void => {
  const isOld = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'message'").get() !== undefined;
  if (!isOld) return;
  inTransaction(database, () => {
    const old: Statement<[], Omit<MessageRow, 'size_bytes'> & { raw: Buffer }> = database.prepare(
      'SELECT id, received_at, summary, envelope, raw FROM message ORDER BY seq',
    );
    for (const { id, received_at: receivedAt, summary, envelope, raw } of old.all())
      insert({ id, receivedAt, summary: JSON.parse(summary) as Summary, envelope: JSON.parse(envelope) as Envelope, raw });
    database.exec('DROP TABLE message');
  });
};

/** How SQLite writes a number of these sizes: seven bits to a byte. */
const varintBytes = (value: number): number => Math.max(1, Math.ceil(Math.log2(value + 1) / 7));
/** The type of a text or blob of that size, as a record's header has it; a text's is one more, which never takes a byte more. */
const typeBytes = (sizeBytes: number): number => varintBytes(2 * sizeBytes + 12);

/**
 * A row of a table keeps at least `leastLocal` bytes in its leaf page, and exactly so many where the rest fills whole overflow pages
 * (SQLite's file format, section 1.6). The padding is as long as these bytes, so what comes after it lies in overflow pages.
 * In: the sizes of all other columns. Out: that of the padding.
 */
const paddingFor = (pageSizeBytes: number): ((sizesBytes: readonly number[]) => number) => {
  const leastLocal = Math.floor(((pageSizeBytes - 12) * 32) / 255) - 23;
  const overflowBytes = pageSizeBytes - 4;
  return (sizesBytes) => {
    const typesBytes = 1 + typeBytes(leastLocal + overflowBytes) + sizesBytes.reduce((sum, size) => sum + typeBytes(size), 0);
    const rowBytes = typesBytes + varintBytes(typesBytes + 1) + sizesBytes.reduce((sum, size) => sum + size, 0) + leastLocal;
    return leastLocal + ((overflowBytes - ((rowBytes - leastLocal) % overflowBytes)) % overflowBytes);
  };
};
