/** The first API key between its making and its showing: a file of mode 0600 in the data directory. */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { PendingFirstKey } from '../../domain/ports/first-key.js';

export const openFirstKeyFile = (file: string): PendingFirstKey => ({
  read: () => {
    try {
      return readFileSync(file, 'utf8').trim();
    } catch (fault) {
      if (fault instanceof Error && 'code' in fault && fault.code === 'ENOENT') return undefined;
      throw fault;
    }
  },
  keep: (key) => {
    // Under its name it is whole.
    const partial = `${file}.partial`;
    rmSync(partial, { force: true });
    const handle = openSync(partial, 'wx', 0o600);
    try {
      writeSync(handle, `${key}\n`);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(partial, file);
    // Only then the new name survives a power loss.
    syncDirectory(dirname(file));
  },
  remove: () => rmSync(file, { force: true }),
});

const syncDirectory = (directory: string): void => {
  const handle = openSync(directory, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
};
