/** A copy of a directory of files while others put and delete in it: what stands under a hash never changes. */
import { constants } from 'node:fs';
import { copyFile, mkdir, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { orAbsent, syncDirectory } from './durable.js';

/** What is being written is left out, and what is deleted meanwhile. Out: how many files were copied; they survive a power loss. */
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
