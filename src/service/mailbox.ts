/** The built-in mailbox for commands beside the service: its copies of mails, its token, and the link that opens it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { openCopies } from '../adapters/mailbox/mailbox.js';
import type { Config } from './settings/config.js';
import type { MailCopies } from '../domain/ports/mailbox.js';
import { openMailboxToken } from '../adapters/mailbox/token-file.js';

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

/** The token of the mailbox of that data directory; the first call makes it. */
export const mailboxTokenOf = ({ dataDir }: Pick<Config, 'dataDir'>): string => openMailboxToken(join(dataDir, 'mailbox-token'));

/** In: where the service is reached, and the token. Out: the address to open. */
export const mailboxLink = (base: string, token: string): string => `${base}/mailbox?token=${token}`;
