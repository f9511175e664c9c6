/** The built-in mailbox: an SMTP server on loopback and the newest messages in a SQLite file. */
import type { Clock } from '../../domain/ports/clock.js';
import { isoTime } from '../../domain/core/iso-time.js';
import type { Ids } from '../../domain/ports/ids.js';
import type { Logger } from '../../domain/ports/logger.js';
import type { MailCopies, Mailbox, MailboxEntry } from '../../domain/ports/mailbox.js';
import { openDatabase } from '../sqlite/database.js';
import { groupCommit } from '../sqlite/group-commit.js';
import { logTruncation } from '../sqlite/log-truncation.js';
import { openMessageTable, type Envelope, type MessageRow, type Summary } from './message-table.js';
import { parsedMessage, summaryOf } from './parse.js';
import { openReceiver } from './receiver.js';

export type MailboxOptions = Readonly<{
  file: string;
  clock: Clock;
  ids: Ids;
  messagesMax: number;
  logger: Logger;
  /** Default: a free one. */
  port?: number;
  /** The largest message taken; default 64 MiB, above what 25 MiB of attachments become in base64. */
  messageSizeBytesMax?: number;
}>;

export type OpenMailbox = Readonly<{ mailbox: Mailbox; smtpUrl: string; close: () => Promise<void> }>;

const messageSizeBytesMaxDefault = 64 * 1024 * 1024;
/** How long bytes of a message that was pushed out by newer ones may stay in the write-ahead log. */
const trimmedStaysMs = 1_000;

type Change =
  | Readonly<{ kind: 'keep'; id: string; receivedAt: string; summary: Summary; envelope: Envelope; raw: Buffer }>
  | Readonly<{ kind: 'clear' }>
  | Readonly<{ kind: 'forget'; before: string }>
  | Readonly<{ kind: 'forget-copies'; messageId: string }>;

/** Rejects where the file or the port cannot be opened. */
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
    // Also where nothing was deleted: an earlier call may have been cut off before this point.
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
    // Many mails may be forgotten one after the other.
    truncation.soon();
  };

  // What a process that was killed had deleted may still stand in the log.
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
    mailbox: mailboxOf(table, erase, forgetCopies),
    smtpUrl: receiver.url,
    close: async () => {
      await receiver.close();
      commits.close();
      truncation.close();
      database.close();
    },
  };
};

/** For a process that takes no mails: what forgets copies in the file of the mailbox, beside the service that has it open or without it. */
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

type MessageTable = ReturnType<typeof openMessageTable>;

/** How many messages were kept or deleted; `trimmed` is called where older messages gave way to a new one. */
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
  list: async ({ page, limit }) => ({ entries: table.page(limit, (page - 1) * limit).map(entryOf), total: table.total() }),
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
