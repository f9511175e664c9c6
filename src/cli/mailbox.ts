/** `sealpost mailbox`: prints the link that opens the built-in mailbox once more. */
import { existsSync } from 'node:fs';
import { readServeConfig } from '../service/settings/config.js';
import { mailboxLink, mailboxTokenOf } from '../service/mailbox.js';
import { print } from './core/output.js';

export const mailbox = (): void => {
  const config = readServeConfig();
  if (config.smtp.url !== undefined)
    throw new Error('SEALPOST_SMTP_URL names a relay: mail goes there, and there is no mailbox to look into');
  if (!existsSync(config.dataDir))
    throw new Error(`there is no data directory ${config.dataDir}; set SEALPOST_DATA_DIR to that of the service`);
  print(mailboxLink(config.publicUrl, mailboxTokenOf(config)));
};
