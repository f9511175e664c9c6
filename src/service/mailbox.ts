/** The built-in mailbox for commands beside the service: its copies of mails, its token, and the link that opens it. */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
  existsSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { openCopies } from '../adapters/mailbox/mailbox.js';
import type { Config } from './settings/config.js';
import type { MailCopies } from '../domain/ports/mailbox.js';

const TOKEN_BYTES = 24;
const TOKEN = /^[A-Za-z0-9_-]{32}$/;

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
export const mailboxTokenOf = ({ dataDir }: Pick<Config, 'dataDir'>): string =>
  openMailboxToken(join(dataDir, 'mailbox-token'));

/** In: where the service is reached, and the token. Out: the address to open. */
export const mailboxLink = (base: string, token: string): string => `${base}/mailbox?token=${token}`;

/** Reads the token, and makes the file if there is none. Throws if the file holds no token. */
export const openMailboxToken = (file: string): string => {
  const token = readIfThere(file) ?? create(file);
  if (!TOKEN.test(token))
    throw new Error(`${file} does not hold the token of the mailbox; delete it, and the next start makes another`);
  return token;
};

const readIfThere = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (fault) {
    if (codeOf(fault) === 'ENOENT') return undefined;
    throw fault;
  }
};

const create = (file: string): string => {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  // The file gets its name when it is whole, even if the process is killed.
  const partial = `${file}.${token.slice(0, 8)}.partial`;
  const handle = openSync(partial, 'wx', 0o600);
  try {
    writeSync(handle, `${token}\n`);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  publish(partial, file);
  return readIfThere(file) ?? token;
};

/** If two starts make the file at once, the second takes the token of the first. */
const publish = (partial: string, file: string): void => {
  try {
    linkSync(partial, file);
  } catch (fault) {
    // Some file systems have no hard links.
    if (codeOf(fault) !== 'EEXIST') return renameSync(partial, file);
  }
  rmSync(partial, { force: true });
};

const codeOf = (fault: unknown): unknown => (fault instanceof Error && 'code' in fault ? fault.code : undefined);
