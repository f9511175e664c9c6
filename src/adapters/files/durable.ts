/** Writes that survive a power loss, and reads that tell a file that is not there from one that cannot be read. */
import { randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Resolves when the content stands under its name and survives a power loss; a reader sees all of it or nothing. */
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
    // A directory that is new must be found again too, and so must those above it.
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

/** Undefined where the file or directory is not there; every other failure rejects. */
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
