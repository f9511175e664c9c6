/**
 * Tools of the file stores: checks of hashes and times, writes that survive a power loss, reads that tell a missing
 * file from an unreadable one, copies of a directory.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, rm, stat, copyFile, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { constants } from 'node:fs';

const HASH = /^[0-9a-f]{64}$/;

const PREFIX = /^[0-9a-f]{2}$/;

export const isHash = (text: string): boolean => HASH.test(text);

/** Throws RangeError if the text is no SHA-256 in hex. */
export const checkHash = (hash: string): void => {
  if (!isHash(hash)) throw new RangeError('a file is named by 64 hexadecimal digits in lower case');
};

/**
 * In: an ISO time in any form. Out: that time in UTC with milliseconds, so that texts compare as times do. Throws
 * RangeError for other texts.
 */
export const isoTimeOf = (text: string): string => {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new RangeError('the time is not an ISO 8601 time');
  return new Date(ms).toISOString();
};

/** Resolves when the content has its name and survives a power loss. A reader sees all of it or nothing. */
export const writeDurably = async (directory: string, file: string, content: Uint8Array | string): Promise<void> => {
  const temporary = join(directory, 'tmp', randomUUID());
  await mkdir(dirname(temporary), { recursive: true, mode: 0o700 });
  try {
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    const made = await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await rename(temporary, file);
    await syncDirectory(dirname(file));
    // A new directory must survive a power loss too, and so must those above it.
    for (let parent = dirname(file); made !== undefined && parent.length >= made.length; parent = dirname(parent)) {
      await syncDirectory(dirname(parent));
    }
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
};

export const syncDirectory = async (directory: string): Promise<void> => {
  const handle = await orAbsent(open(directory, 'r'));
  try {
    await handle?.sync();
  } finally {
    await handle?.close();
  }
};

/** Out: undefined if the file or directory is not there. Every other failure rejects. */
export const orAbsent = async <Value>(value: Promise<Value>): Promise<Value | undefined> => {
  try {
    return await value;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
};

export const readText = (file: string): Promise<string | undefined> => orAbsent(readFile(file, 'utf8'));
export const exists = async (file: string): Promise<boolean> => (await orAbsent(stat(file))) !== undefined;

/**
 * Copies a directory of files while others put and delete in it, because the content of a hash never changes. Leaves
 * out files that are being written or deleted meanwhile. Out: how many files were copied; they survive a power loss.
 */
export const copyFiles = async ({ from, to }: Readonly<{ from: string; to: string }>): Promise<number> => {
  await mkdir(to, { recursive: true, mode: 0o700 });
  let copied = 0;
  for (const entry of (await orAbsent(readdir(from, { withFileTypes: true }))) ?? []) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) copied += entry.name === 'tmp' ? 0 : await copyFiles({ from: source, to: target });
    else if (entry.isFile() && (await copyOne(source, target))) copied += 1;
  }
  await syncDirectory(to);
  return copied;
};

const copyOne = async (source: string, target: string): Promise<boolean> => {
  const copied = await orAbsent(copyFile(source, target, constants.COPYFILE_FICLONE).then(() => true));
  if (copied !== true) return false;
  const handle = await open(target, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
  return true;
};

/** The files in a directory, each with its hash and expiry (ISO time; undefined: never). */
export async function* filesIn(
  directory: string,
): AsyncGenerator<Readonly<{ hash: string; expiresAt: string | undefined }>> {
  const folders = ((await orAbsent(readdir(directory))) ?? []).filter((name) => PREFIX.test(name)).sort();
  for (const folder of folders) {
    for (const name of (await readdir(join(directory, folder))).sort()) {
      const hash = folder + name;
      if (isHash(hash)) yield { hash, expiresAt: await readText(join(directory, folder, `${name}.until`)) };
    }
  }
}
