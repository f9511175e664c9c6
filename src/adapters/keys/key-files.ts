/** Key files in the data directory: the master key if no setting gives it, and the first API key until somebody has seen it. */
import { readFileSync, rmSync, closeSync, constants, fsyncSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { dirname } from 'node:path';
import type { PendingFirstKey } from '../../domain/ports/first-key.js';
import { replaceDurably } from '../../shared/files.js';

const KEY_BYTES = 32;

/** The master key is missing or is none. The message names what would be right and holds nothing of the key. */
class MasterKeyError extends Error {
  override readonly name = 'MasterKeyError';
}

/** In: the key as set (base64 or hex), or undefined for the one in `file`, which is made with mode 0600 where `mayCreate`. Out: 32 bytes. */
export const loadMasterKey = ({
  value,
  file,
  mayCreate,
}: Readonly<{ value: string | undefined; file: string; mayCreate: boolean }>): Buffer => {
  if (value !== undefined) return parse(value, 'SEALPOST_MASTER_KEY');
  const kept = readIfThere(file);
  if (kept !== undefined) return parse(kept, file);
  if (!mayCreate) {
    throw new MasterKeyError(
      `There are keys, or a log, but no master key: ${file} is missing and SEALPOST_MASTER_KEY is not set. Put back the master key that the keys were wrapped with.`,
    );
  }
  return create(file);
};

/** The file has mode 0600. */
export const openFirstKeyFile = (file: string): PendingFirstKey => ({
  read: () => readIfThere(file)?.trim(),
  keep: (key) => replaceDurably(file, `${key}\n`),
  remove: () => rmSync(file, { force: true }),
});

const parse = (text: string, source: string): Buffer => {
  const trimmed = text.trim();
  const key = /^[0-9a-fA-F]{64}$/.test(trimmed) ? Buffer.from(trimmed, 'hex') : Buffer.from(trimmed, 'base64');
  if (key.byteLength !== KEY_BYTES)
    throw new MasterKeyError(`${source} does not hold ${KEY_BYTES} bytes in base64 or hex (openssl rand -base64 32 makes such a key).`);
  return key;
};

const readIfThere = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8');
  } catch (fault) {
    if (fault instanceof Error && 'code' in fault && fault.code === 'ENOENT') return undefined;
    throw fault;
  }
};

/** Makes the master key. Of two starts at once the second takes the key of the first. */
const create = (file: string): Buffer => {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const key = randomBytes(KEY_BYTES);
  let handle: number;
  try {
    handle = openSync(file, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600);
  } catch (fault) {
    if (fault instanceof Error && 'code' in fault && fault.code === 'EEXIST') return parse(readFileSync(file, 'utf8'), file);
    throw fault;
  }
  try {
    writeSync(handle, `${key.toString('base64')}\n`);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  return key;
};
