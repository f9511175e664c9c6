/** Makes directories step by step: Node's own recursion never ends where a file system, such as /proc, denies having just the next one. */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync, existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/* Small files that are replaced as a whole and survive a power loss. */

/** Under its name the file is whole, whenever the program or the machine ends; mode 0600. */
export const replaceDurably = (file: string, text: string): void => {
  const partial = `${file}.partial`;
  // Of an earlier mode, or of another owner, nothing is kept.
  rmSync(partial, { force: true });
  const handle = openSync(partial, 'wx', 0o600);
  try {
    writeSync(handle, text);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  renameSync(partial, file);
  // Only then the new name survives a power loss.
  syncDirectory(dirname(file));
};

const syncDirectory = (directory: string): void => {
  const handle = openSync(directory, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
};

/** Makes a directory, for its owner only, and those above it where they are missing. Throws with a sentence that names it where that cannot be. */
export const makeDirectory = (directory: string): void => {
  if (existsSync(directory)) return;
  const above = dirname(directory);
  if (above !== directory) makeDirectory(above);
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    const fault = error as NodeJS.ErrnoException;
    // Another process was faster.
    if (fault.code === 'EEXIST') return;
    throw Object.assign(new Error(`the directory ${directory} cannot be made (${fault.message}); name one on a disk that can be written`), {
      code: fault.code,
      cause: error,
    });
  }
};
