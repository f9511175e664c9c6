/**
 * Keys of the operator: the master key of a setting or of a file in the data directory, the keys under which the log is
 * sealed, and the first API key until somebody has seen it. And the file into which seals are written.
 */
import {
  createReadStream,
  readFileSync,
  rmSync,
  closeSync,
  constants,
  fsyncSync,
  mkdirSync,
  openSync,
  writeSync,
} from 'node:fs';
import { spawn } from 'node:child_process';
import { hash as digest, randomBytes } from 'node:crypto';
import { appendFile, stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { dirname } from 'node:path';
import type { PendingFirstKey } from '../../domain/ports/first-key.js';
import type { Keys, SealKey, SignedSeal } from '../../domain/ports/keys.js';
import { replaceDurably } from '../../shared/files.js';

const KEY_BYTES = 32;

/** A key is missing or is none. The message names what would be right and holds nothing of the key. */
class KeyFileError extends Error {
  override readonly name = 'KeyFileError';
}

/**
 * In: the key as set (base64 or hex), or undefined for the one in `file`, which is made with mode 0600 where
 * `mayCreate`. Out: 32 bytes.
 */
export const loadMasterKey = ({
  value,
  file,
  mayCreate,
}: Readonly<{ value: string | undefined; file: string; mayCreate: boolean }>): Buffer => {
  if (value !== undefined) return bytesOfKey(value, 'SEALPOST_MASTER_KEY');
  const kept = readIfThere(file);
  if (kept !== undefined) return bytesOfKey(kept, file);
  if (!mayCreate) {
    throw new KeyFileError(
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

/** In: 32 bytes in base64 or hex, and what names them in messages. Throws KeyFileError. */
const bytesOfKey = (text: string, source: string): Buffer => {
  const trimmed = text.trim();
  const key = /^[0-9a-fA-F]{64}$/.test(trimmed) ? Buffer.from(trimmed, 'hex') : Buffer.from(trimmed, 'base64');
  if (key.byteLength !== KEY_BYTES)
    throw new KeyFileError(
      `${source} does not hold ${KEY_BYTES} bytes in base64 or hex (openssl rand -base64 32 makes such a key).`,
    );
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

/** Makes the master key. If two processes start at once, the second takes the key of the first. */
const create = (file: string): Buffer => {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const key = randomBytes(KEY_BYTES);
  let handle: number;
  try {
    handle = openSync(file, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600);
  } catch (fault) {
    if (fault instanceof Error && 'code' in fault && fault.code === 'EEXIST')
      return bytesOfKey(readFileSync(file, 'utf8'), file);
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

const TAG_CHARS = 32;
const ID_CHARS = 16;

/** The master key signs this text; the result is the key of the tags of events. */
const TAGS = 'sealpost tags of events';

const COMMAND_TIMEOUT_MS = 10_000;
const ANSWER_CHARS_MAX = 1_024;

/** How much of the end of the file of seals is read: the seals of some months. */
const KEPT_BYTES_MAX = 32 * 1024 * 1024;
const LINE_CHARS_MAX = 4_096;

const BLOCK_BYTES = 64;

/**
 * HMAC-SHA-256 (RFC 2104, section 2) with a key of 32 bytes, in hex. Each event has one, and two hashes at one go take
 * half as long as `createHmac`.
 */
const hmacWith = (key: Buffer): ((text: string) => string) => {
  const padded = Buffer.concat([key], BLOCK_BYTES);
  const inner = padded.map((byte) => byte ^ 0x36);
  const outer = Buffer.concat([padded.map((byte) => byte ^ 0x5c)], BLOCK_BYTES + KEY_BYTES);
  return (text) => {
    outer.write(digest('sha256', Buffer.concat([inner, Buffer.from(text)])), BLOCK_BYTES, 'hex');
    return digest('sha256', outer);
  };
};

/** In: 32 bytes. */
const sealKeyOf = (bytes: Buffer): SealKey => {
  const sign = hmacWith(bytes);
  return { ...taggedBy(sign(TAGS)), sign };
};

/** `secret`: the answer of the key to `TAGS`. */
const taggedBy = (secret: string): Pick<SealKey, 'id' | 'tag'> => {
  const hmac = hmacWith(digest('sha256', secret, 'buffer'));
  return {
    id: hmac('sealpost id of the key').slice(0, ID_CHARS),
    tag: (hash) => hmac(hash).slice(0, TAG_CHARS),
  };
};

/**
 * In: the keys of the settings and the command, as they are set. Out: the keys, that of the command first, the one
 * derived from the master key last.
 */
export const openSealKeys = (
  { texts, command }: Readonly<{ texts: readonly string[]; command: readonly string[] | undefined }>,
  { fingerprint }: Pick<Keys, 'fingerprint'>,
): (() => Promise<readonly SealKey[]>) => {
  let opened: Promise<readonly SealKey[]> | undefined;
  const open = async (): Promise<readonly SealKey[]> => [
    ...(command === undefined ? [] : [await keyOfCommand(command)]),
    ...texts.map((text) => sealKeyOf(bytesOfKey(text, 'SEALPOST_SEAL_KEY'))),
    sealKeyOf(Buffer.from(fingerprint('seals', ''), 'hex')),
  ];
  return () => {
    opened ??= open().catch((fault: unknown) => {
      opened = undefined;
      throw fault;
    });
    return opened;
  };
};

/** Equal bytes must have an equal answer, or nothing that was signed could be checked. */
const keyOfCommand = async (command: readonly string[]): Promise<SealKey> => {
  const sign = (text: string): Promise<string> =>
    answerOf(command, text, { setting: 'SEALPOST_SEAL_COMMAND', charsMax: ANSWER_CHARS_MAX });
  const secret = await sign(TAGS);
  if ((await sign(TAGS)) !== secret)
    throw new Error(
      'the program of SEALPOST_SEAL_COMMAND gives two answers to the same bytes; it must give one, such as an HMAC or Ed25519',
    );
  return { ...taggedBy(secret), sign, isOutside: true };
};

/**
 * Runs a program, whose first word is its path, without a shell; it gets `text` on its input and none of the settings
 * of the service. Out: what it writes. Bounded in time and output. Rejects with a sentence that names the setting.
 */
export const answerOf = (
  [program = '', ...args]: readonly string[],
  text: string,
  { setting, charsMax }: Readonly<{ setting: string; charsMax: number }>,
): Promise<string> =>
  new Promise((resolve, reject) => {
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('SEALPOST_')));
    const child = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'ignore'] });
    let output = '';
    let isOver = false;
    const end = (fault: string | undefined, answer = ''): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      child.kill('SIGKILL');
      child.stdout.destroy();
      if (fault === undefined) resolve(answer);
      else reject(new Error(`the program of ${setting} ${fault}`));
    };
    const timer = setTimeout(
      () => end(`gave no answer within ${COMMAND_TIMEOUT_MS / 1_000} seconds`),
      COMMAND_TIMEOUT_MS,
    );
    child.on('error', (fault: NodeJS.ErrnoException) => end(`cannot be run (${fault.code ?? fault.name})`));
    child.stdin.on('error', () => {});
    child.stdout.setEncoding('latin1').on('data', (part: string) => {
      output += part;
      if (output.length > 4 * charsMax) end(`answers with more than ${4 * charsMax} bytes`);
    });
    child.on('close', (code) => {
      const answer = output.trim();
      if (code !== 0) end(`ended with ${code === null ? 'a signal' : code}`);
      else if (answer.length === 0 || answer.length > charsMax || !/^[\x21-\x7e]+$/.test(answer))
        end(`must answer with 1 to ${charsMax} characters of ASCII without spaces, such as hex or base64`);
      else end(undefined, answer);
    });
    child.stdin.end(text);
  });

/** Appends a seal as one line of JSON. The file has mode 0600. */
export const keepSeal = (file: string, { at, position, root, ...seal }: SignedSeal): Promise<void> =>
  appendFile(file, `${JSON.stringify({ at, position, root, ...seal })}\n`, { mode: 0o600, flush: true });

/** The roots of the newest seals of the file by their position. Lines that are no seals are passed over. */
export const keptSeals = async (file: string): Promise<ReadonlyMap<number, string>> => {
  const roots = new Map<number, string>();
  const found = await stat(file).catch((fault: NodeJS.ErrnoException) => {
    if (fault.code === 'ENOENT') return undefined;
    throw fault;
  });
  if (found === undefined) return roots;
  const input = createReadStream(file, { start: Math.max(0, found.size - KEPT_BYTES_MAX), encoding: 'latin1' });
  for await (const line of createInterface({ input })) {
    const seal = line.length > LINE_CHARS_MAX ? null : /"position":(\d{1,16}),"root":"([0-9a-f]{64})"/.exec(line);
    if (seal !== null) roots.set(Number(seal[1]), seal[2]!);
  }
  return roots;
};
