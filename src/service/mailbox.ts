/** The link that opens the built-in mailbox: what `serve` prints, and `sealpost mailbox` prints again. */
import { join } from 'node:path';
import { openMailboxToken } from '../adapters/mailbox/token-file.js';
import type { Config } from './settings/config.js';

/** The token of the mailbox of that data directory; the first call makes it. */
export const mailboxTokenOf = ({ dataDir }: Pick<Config, 'dataDir'>): string => openMailboxToken(join(dataDir, 'mailbox-token'));

/** In: where the service is reached, and the token. Out: the address to open. */
export const mailboxLink = (base: string, token: string): string => `${base}/mailbox?token=${token}`;
