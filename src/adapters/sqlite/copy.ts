/** A copy of a database while others read and write it. */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { createPrivately, openDatabase } from './database.js';

/** More than any database has: all is copied in one step, for which the source is read as it is at one moment. */
const ALL_PAGES = 0x7fff_ffff;

/** Resolves when the copy, readable by its owner only, survives a power loss. There must be no file of that name. */
export const copyDatabase = async ({ from, to }: Readonly<{ from: string; to: string }>): Promise<void> => {
  if (existsSync(to)) throw new Error(`${to} is there already`);
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
  createPrivately(to);
  const source = openDatabase({ file: from, synchronous: 'normal', cacheSizeKiB: 64, mustExist: true });
  try {
    await source.backup(to, { progress: () => ALL_PAGES });
  } finally {
    source.close();
  }
  for (const path of [to, dirname(to)]) syncPath(path);
};

const syncPath = (path: string): void => {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
};
