/** Reads the log after a kill: whether it only grew, and which emails were in an SMTP dialogue. */
import { join } from 'node:path';
import { openSqliteEventStore } from '../../src/adapters/event-store/sqlite.js';
import type { StoredEvent } from '../../src/domain/ports/event-store.js';

/** `openAttempt`: the number of the attempt that has begun and not ended. */
export type EmailInLog = { readonly messageId: string; openAttempt: number | undefined; finished: boolean };

export type LogSnapshot = Readonly<{
  /** The hash of each event, in the total order. */
  hashes: readonly string[];
  emails: ReadonlyMap<string, EmailInLog>;
  /** The first place where the log is not what it was, if any. */
  changedAt: number | undefined;
}>;

/** Reads the whole log of a server that is down and compares it with what it was before. */
export const readLog = async (dataDir: string, before: LogSnapshot | undefined): Promise<LogSnapshot> => {
  const store = openSqliteEventStore({ file: join(dataDir, 'events.db') });
  const hashes: string[] = [];
  const emails = new Map<string, EmailInLog>();
  try {
    for await (const batch of store.readAll(0)) {
      for (const event of batch.events) {
        hashes.push(event.hash);
        noteEmail(emails, event);
      }
    }
  } finally {
    await store.close();
  }
  const changedAt = before?.hashes.findIndex((hash, index) => hashes[index] !== hash) ?? -1;
  return { hashes, emails, changedAt: changedAt < 0 ? undefined : changedAt + 1 };
};

const noteEmail = (emails: Map<string, EmailInLog>, { stream, type, data }: StoredEvent): void => {
  if (!stream.startsWith('email-')) return;
  const id = stream.slice('email-'.length);
  const name = type.slice(0, type.indexOf('.'));
  if (name === 'EmailQueued' || name === 'EmailScheduled') {
    const { messageId } = JSON.parse(data) as { messageId: string };
    emails.set(id, { messageId, openAttempt: undefined, finished: false });
    return;
  }
  const email = emails.get(id);
  if (email === undefined) throw new Error(`the log has a ${name} of the email ${id} before it was accepted`);
  if (name === 'DeliveryAttempted') email.openAttempt = (JSON.parse(data) as { attempt: number }).attempt;
  if (name === 'EmailSent' || name === 'EmailDeferred' || name === 'EmailFailed' || name === 'EmailBounced')
    email.openAttempt = undefined;
  if (name === 'EmailSent') email.finished = true;
};
