/** What the built-in mailbox keeps of mails, for a command beside the service or without it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { openCopies } from './adapters/mailbox/mailbox.js';
import type { Config } from './config.js';
import type { MailCopies } from './domain/ports/mailbox.js';

/** Runs the work with what forgets those copies; where there is no mailbox there are none. */
export const withMailboxCopies = async (
  { dataDir }: Pick<Config, 'dataDir'>,
  work: (copies: MailCopies) => Promise<void>,
): Promise<void> => {
  const file = join(dataDir, 'mailbox.db');
  if (!existsSync(file)) return work({ forgetCopies: async () => {} });
  const { copies, close } = openCopies(file);
  try {
    await work(copies);
  } finally {
    close();
  }
};
