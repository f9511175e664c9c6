/** The built-in mailbox: an SMTP server on loopback and the newest messages in a SQLite file. */
import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server';
import PostalMime, { type Address, type Email } from 'postal-mime';
import type { Logger } from '../../domain/ports/logger.js';
import { withAsciiDomain } from '../../shared/addresses.js';
import type {
  MailboxAddress,
  MailboxAttachment,
  MailboxMessage,
  MailCopies,
  Mailbox,
  MailboxEntry,
} from '../../domain/ports/mailbox.js';
import {
  inTransaction,
  type Database,
  type Statement,
  openDatabase,
  logTruncation,
  tellingRefusals,
} from '../sqlite/database.js';
import type { Clock } from '../../domain/ports/clock.js';
import { isoTime } from '../../domain/core/time.js';
import type { Ids } from '../../domain/ports/ids.js';
import { groupCommit } from '../sqlite/group-commit.js';

export type MailboxOptions = Readonly<{
  file: string;
  clock: Clock;
  ids: Ids;
  messagesMax: number;
  logger: Logger;
  /** Default: a free one. */
  port?: number;
  /** The largest message that is taken; default 64 MiB, more than 25 MiB of attachments in base64. */
  messageSizeBytesMax?: number;
}>;

export type OpenMailbox = Readonly<{ mailbox: Mailbox; smtpUrl: string; close: () => Promise<void> }>;

type Change =
  | Readonly<{ kind: 'keep'; id: string; receivedAt: string; summary: Summary; envelope: Envelope; raw: Buffer }>
  | Readonly<{ kind: 'clear' }>
  | Readonly<{ kind: 'forget'; before: string }>
  | Readonly<{ kind: 'forget-copies'; messageId: string }>;

type Receiver = Readonly<{ url: string; close: () => Promise<void> }>;

type ParsedMessage = Pick<MailboxMessage, 'cc' | 'html' | 'text' | 'headers'> &
  Readonly<{
    attachments: readonly Readonly<{ attachment: MailboxAttachment; content: Buffer }>[];
  }>;

/** `summary` and `envelope` are JSON. */
type MessageRow = Readonly<{ id: string; received_at: string; summary: string; envelope: string; size_bytes: number }>;

/** An entry of a list, read from the header when a message arrives. */
type Summary = Readonly<{ from: MailboxAddress; to: readonly MailboxAddress[]; subject: string }>;
type Envelope = Readonly<{ from: string; to: readonly string[] }>;

/** `raw`: the bytes that the client sent, without stuffed dots. */
type NewMessage = Readonly<{ id: string; receivedAt: string; summary: Summary; envelope: Envelope; raw: Buffer }>;

/**
 * The table of messages. SQLite moves rows from page to page when it rebuilds pages, and leaves the old bytes in the
 * free space of a page even with `secure_delete`. The overflow pages of a row never move and are overwritten when the
 * row is deleted, so each row is padded until everything personal is in overflow pages.
 */
type MessageTable = Readonly<{
  insert: (message: NewMessage) => void;
  /** Deletes all but the newest `count`. Out: how many it deleted. */
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

const messageSizeBytesMaxDefault = 64 * 1024 * 1024;
/** Bytes of a message that gave way to newer ones may stay in the write-ahead log for so long. */
const trimmedStaysMs = 1_000;

const loopback = '127.0.0.1';
const clientsMax = 100;
const recipientsMax = 1_000;
const silenceMs = 5 * 60_000;
const closeMs = 2_000;

const partsDepthMax = 64;
const subjectCharsMax = 1_000;

const messageIdCharsMax = 998;
const MESSAGE_ID = /^message-id:[ \t]*(?:\r?\n[ \t]+)?([^\r\n]*)/im;

/** `seq` increases with every message, so that lists are in the order of arrival, whatever the clock does. */
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

/** Rejects if the file or the port cannot be opened. */
export const openMailbox = async (options: MailboxOptions): Promise<OpenMailbox> => {
  const { clock, ids, logger } = options;
  const database = openDatabase({ file: options.file, synchronous: 'full', secureDelete: true });
  const table = openMessageTable(database);
  const truncation = logTruncation({
    database,
    withinMs: trimmedStaysMs,
    onFault: (error) => logger.error({ error }, 'the log of the mailbox could not be cut'),
  });

  const commits = groupCommit<Change, number>({
    database,
    weight: () => 1,
    apply: (change) => applied(change, table, { messagesMax: options.messagesMax, trimmed: truncation.soon }),
  });

  const erase = async (change: Change): Promise<number> => {
    const deleted = await commits.run(change);
    // Truncate even if no mail was deleted: an earlier call may have been cut off before this point.
    truncation.now();
    return deleted;
  };

  const keep = async (envelope: Envelope, raw: Buffer): Promise<void> => {
    const summary = await summaryOf(raw, envelope);
    await commits.run({ kind: 'keep', id: ids.uuid(), receivedAt: isoTime(clock.now()), summary, envelope, raw });
  };

  const forgetCopies = async (messageId: string): Promise<void> => {
    if (!table.hasCopy(messageId)) return;
    await commits.run({ kind: 'forget-copies', messageId });
    // Many mails may be deleted one after the other.
    truncation.soon();
  };

  // The write-ahead log may still hold messages that a killed process had deleted.
  truncation.soon();
  const receiver = await openReceiver({
    port: options.port ?? 0,
    sizeBytesMax: options.messageSizeBytesMax ?? messageSizeBytesMaxDefault,
    store: keep,
    logger,
  }).catch((error: unknown) => {
    truncation.close();
    database.close();
    throw error;
  });

  return {
    mailbox: tellingRefusals('mailbox', mailboxOf(table, erase, forgetCopies)),
    smtpUrl: receiver.url,
    close: async () => {
      await receiver.close();
      commits.close();
      truncation.close();
      database.close();
    },
  };
};

/**
 * Deletes copies in the file of the mailbox, for a process that takes no mails. The service may have the file open at
 * the same time.
 */
export const openCopies = (file: string): Readonly<{ copies: MailCopies; close: () => void }> => {
  const database = openDatabase({ file, synchronous: 'full', secureDelete: true });
  const table = openMessageTable(database);
  const truncation = logTruncation({ database, withinMs: trimmedStaysMs, onFault: () => {} });
  return {
    copies: {
      forgetCopies: async (messageId) => {
        table.deleteCopies(messageId);
        truncation.soon();
      },
    },
    close: () => {
      truncation.close();
      database.close();
    },
  };
};

/** Out: how many messages were stored or deleted. Calls `trimmed` if older messages gave way to a new one. */
const applied = (
  change: Change,
  table: MessageTable,
  { messagesMax, trimmed }: Readonly<{ messagesMax: number; trimmed: () => void }>,
): number => {
  switch (change.kind) {
    case 'keep':
      table.insert(change);
      if (table.keepNewest(messagesMax) > 0) trimmed();
      return 1;
    case 'clear':
      return table.deleteAll();
    case 'forget':
      return table.deleteBefore(change.before);
    case 'forget-copies':
      return table.deleteCopies(change.messageId);
  }
};

const mailboxOf = (
  table: MessageTable,
  erase: (change: Change) => Promise<number>,
  forgetCopies: (messageId: string) => Promise<void>,
): Mailbox => ({
  list: async ({ page, limit }) => ({
    entries: table.page(limit, (page - 1) * limit).map(entryOf),
    total: table.total(),
  }),
  get: async (id) => {
    const row = table.find(id);
    const raw = table.raw(id);
    if (row === undefined || raw === undefined) return undefined;
    const parsed = await parsedMessage(raw);
    return {
      ...entryOf(row),
      envelope: JSON.parse(row.envelope) as Envelope,
      ...parsed,
      attachments: parsed.attachments.map(({ attachment }) => attachment),
    };
  },
  raw: async (id) => table.raw(id),
  attachment: async (id, index) => {
    const raw = table.raw(id);
    return raw === undefined ? undefined : (await parsedMessage(raw)).attachments[index];
  },
  clear: () => erase({ kind: 'clear' }),
  forgetBefore: (before) => erase({ kind: 'forget', before }),
  forgetCopies,
});

const entryOf = (row: MessageRow): MailboxEntry => ({
  id: row.id,
  ...(JSON.parse(row.summary) as Summary),
  receivedAt: row.received_at,
  sizeBytes: row.size_bytes,
});

/**
 * The SMTP server: on loopback, without login or TLS, it takes every message. `store` resolves when the message is
 * durable; only then the server answers 250, and 452 if it rejects. The server's parser refuses quoted local parts that
 * hold a space or an @.
 */
const openReceiver = async ({
  port,
  sizeBytesMax,
  store,
  logger,
}: Readonly<{
  port: number;
  sizeBytesMax: number;
  store: (envelope: Envelope, raw: Buffer) => Promise<void>;
  logger: Logger;
}>): Promise<Receiver> => {
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    hideENHANCEDSTATUSCODES: false,
    disableReverseLookup: true,
    size: sizeBytesMax,
    maxClients: clientsMax,
    maxRecipients: recipientsMax,
    socketTimeout: silenceMs,
    closeTimeout: closeMs,
    logger: false,
    onData: (stream, session, done) => {
      receive(stream, session, sizeBytesMax)
        .then(({ envelope, raw }) => store(envelope, raw))
        .then(
          () => done(null, 'kept'),
          (error: unknown) => {
            if (error instanceof TooLarge) return done(error);
            logger.error(
              { error: error instanceof Error ? error : new Error('unknown') },
              'the mailbox could not keep a message',
            );
            done(Object.assign(new Error('4.3.1 the mailbox cannot keep the message now'), { responseCode: 452 }));
          },
        );
    },
  });
  // Faults of single clients. Those of listening reject below.
  server.on('error', (error) => logger.debug({ error }, 'a client of the mailbox broke off'));
  await new Promise<void>((resolve, reject) => {
    server.server.once('error', reject);
    server.listen(port, loopback, () => {
      server.server.off('error', reject);
      resolve();
    });
  });
  return {
    url: `smtp://${loopback}:${portOf(server.server.address())}?tls=off`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
};

class TooLarge extends Error {
  override readonly name = 'TooLarge';
  readonly responseCode = 552;
}

const receive = async (
  stream: SMTPServerDataStream,
  session: SMTPServerSession,
  sizeBytesMax: number,
): Promise<Readonly<{ envelope: Envelope; raw: Buffer }>> => {
  const chunks: Buffer[] = [];
  // A message that is too large is read to its end, as the protocol requires, but not kept.
  for await (const chunk of stream) if (!stream.sizeExceeded) chunks.push(chunk as Buffer);
  if (stream.sizeExceeded) throw new TooLarge(`5.3.4 the message is larger than ${sizeBytesMax} bytes`);
  const { mailFrom, rcptTo } = session.envelope;
  // The server gives A-labels of the client as Unicode.
  return {
    envelope: {
      from: mailFrom === false ? '' : withAsciiDomain(mailFrom.address),
      to: rcptTo.map(({ address }) => withAsciiDomain(address)),
    },
    raw: Buffer.concat(chunks),
  };
};

const portOf = (address: AddressInfo | string | null): number => {
  if (address === null || typeof address === 'string') throw new Error('the mailbox has no port');
  return address.port;
};

const parse = (raw: Uint8Array): Promise<Email> =>
  new PostalMime({
    attachmentEncoding: 'arraybuffer',
    forceRfc822Attachments: true,
    maxNestingDepth: partsDepthMax,
  }).parse(raw);

/**
 * The entry of a list, from the header. If that cannot be read, it has the envelope's addresses: no message is refused
 * for its form.
 */
const summaryOf = async (raw: Buffer, envelope: Envelope): Promise<Summary> => {
  const end = raw.indexOf('\r\n\r\n');
  const head = await parse(end < 0 ? raw : raw.subarray(0, end + 4)).catch(() => undefined);
  const to = addressesOf(head?.to);
  return {
    from: addressesOf(head?.from)[0] ?? { address: envelope.from, name: '' },
    to: to.length > 0 ? to : envelope.to.map((address) => ({ address, name: '' })),
    subject: (head?.subject ?? '').slice(0, subjectCharsMax),
  };
};

/** The whole message. One that cannot be parsed is shown as plain text. */
const parsedMessage = async (raw: Buffer): Promise<ParsedMessage> => {
  const mail = await parse(raw).catch(() => undefined);
  if (mail === undefined) return { cc: [], html: null, text: raw.toString('utf8'), headers: [], attachments: [] };
  return {
    cc: addressesOf(mail.cc),
    html: mail.html ?? null,
    text: mail.text ?? null,
    headers: mail.headers.map(({ originalKey, value }) => ({ name: originalKey, value })),
    attachments: mail.attachments.map((one) => {
      const content = bytesOf(one.content);
      return {
        attachment: {
          filename: one.filename ?? 'attachment',
          contentType: one.mimeType,
          contentId: one.contentId === undefined ? null : one.contentId.replace(/^<|>$/g, ''),
          sizeBytes: content.length,
        },
        content,
      };
    }),
  };
};

const bytesOf = (content: ArrayBuffer | Uint8Array | string): Buffer => {
  if (typeof content === 'string') return Buffer.from(content);
  return content instanceof Uint8Array
    ? Buffer.from(content.buffer, content.byteOffset, content.byteLength)
    : Buffer.from(content);
};

const addressesOf = (parsed: Address | readonly Address[] | undefined): readonly MailboxAddress[] =>
  [parsed ?? []]
    .flat()
    .flatMap((one) =>
      one.group === undefined
        ? [{ address: one.address, name: one.name }]
        : one.group.map(({ address, name }) => ({ address, name })),
    );

/** The Message-ID of a message without its angle brackets; empty if it has none. */
const messageIdOf = (raw: Buffer): string => {
  const end = raw.indexOf('\r\n\r\n');
  const head = (end < 0 ? raw : raw.subarray(0, end)).toString('latin1');
  return bareMessageId(MESSAGE_ID.exec(head)?.[1] ?? '').slice(0, messageIdCharsMax);
};

const bareMessageId = (messageId: string): string => messageId.replace(/[<>\s]/g, '');

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
  const keepNewest = database.prepare(
    'DELETE FROM mail WHERE seq <= (SELECT seq FROM mail ORDER BY seq DESC LIMIT 1 OFFSET ?)',
  );
  const deleteAll = database.prepare('DELETE FROM mail');
  const deleteBefore = database.prepare('DELETE FROM mail WHERE received_at < ?');
  const deleteCopies = database.prepare('DELETE FROM mail WHERE message_id = ?');
  const hasCopy = database.prepare<[string], number>('SELECT 1 FROM mail WHERE message_id = ? LIMIT 1').pluck();
  const page: Statement<[number, number], MessageRow> = database.prepare(
    `SELECT ${columns} FROM mail ORDER BY seq DESC LIMIT ? OFFSET ?`,
  );
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

/** Copies the messages of a mailbox from before rows were padded into the present table. */
const takeOver = (database: Database, insert: (message: NewMessage) => void): void => {
  const isOld = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'message'").get() !== undefined;
  if (!isOld) return;
  inTransaction(database, () => {
    const old: Statement<[], Omit<MessageRow, 'size_bytes'> & { raw: Buffer }> = database.prepare(
      'SELECT id, received_at, summary, envelope, raw FROM message ORDER BY seq',
    );
    for (const { id, received_at: receivedAt, summary, envelope, raw } of old.all())
      insert({
        id,
        receivedAt,
        summary: JSON.parse(summary) as Summary,
        envelope: JSON.parse(envelope) as Envelope,
        raw,
      });
    database.exec('DROP TABLE message');
  });
};

/** The size of a number in SQLite's encoding: seven bits to a byte. */
const varintBytes = (value: number): number => Math.max(1, Math.ceil(Math.log2(value + 1) / 7));
/**
 * The size of the type of a blob of that size in a record's header. The type of a text is one more, which never takes
 * another byte.
 */
const typeBytes = (sizeBytes: number): number => varintBytes(2 * sizeBytes + 12);

/**
 * A row of a table keeps at least `leastLocal` bytes in its leaf page, and exactly so many where the rest fills whole
 * overflow pages (SQLite's file format, section 1.6). The padding is as long as these bytes, so what comes after it
 * lies in overflow pages. In: the sizes of all other columns. Out: that of the padding.
 */
const paddingFor = (pageSizeBytes: number): ((sizesBytes: readonly number[]) => number) => {
  const leastLocal = Math.floor(((pageSizeBytes - 12) * 32) / 255) - 23;
  const overflowBytes = pageSizeBytes - 4;
  return (sizesBytes) => {
    const typesBytes =
      1 + typeBytes(leastLocal + overflowBytes) + sizesBytes.reduce((sum, size) => sum + typeBytes(size), 0);
    const rowBytes =
      typesBytes + varintBytes(typesBytes + 1) + sizesBytes.reduce((sum, size) => sum + size, 0) + leastLocal;
    return leastLocal + ((overflowBytes - ((rowBytes - leastLocal) % overflowBytes)) % overflowBytes);
  };
};
