/** What the built-in mailbox keeps of mails, for a command beside the service or without it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { openCopies } from '../adapters/mailbox/mailbox.js';
import type { Config } from './settings/config.js';
import type { MailCopies } from '../domain/ports/mailbox.js';

/** Opens the mailbox when the first copy is to be forgotten; where there is none there are no copies. */
export const mailboxCopies = ({ dataDir }: Pick<Config, 'dataDir'>): MailCopies & Readonly<{ close: () => void }> => {
  const file = join(dataDir, 'mailbox.db');
  let opened: ReturnType<typeof openCopies> | undefined;
  return {
    forgetCopies: async (messageId) => {
      if (opened === undefined && existsSync(file)) opened = openCopies(file);
      await opened?.copies.forgetCopies(messageId);
    },
    close: () => opened?.close(),
  };
};
