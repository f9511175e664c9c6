/** Small files that are replaced as a whole and survive a power loss. */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

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
