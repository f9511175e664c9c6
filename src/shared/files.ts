/** Writes small files so that they survive a power loss, makes directories, and says in words why a file cannot be used. */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync, existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/** Replaces the whole file (mode 0600): after a crash or power loss its name holds the old text or the new one, never a part. */
export const replaceDurably = (file: string, text: string): void => {
  const partial = `${file}.partial`;
  // A leftover file would keep its mode and its owner.
  rmSync(partial, { force: true });
  const handle = openSync(partial, 'wx', 0o600);
  try {
    writeSync(handle, text);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  renameSync(partial, file);
  // The rename survives a power loss only when the directory is synced too.
  syncDirectory(dirname(file));
};

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'it is not there',
  EACCES: 'this user may not use it',
  EPERM: 'this user may not use it',
  EISDIR: 'it is a directory',
  ENOTDIR: 'a part of its path is no directory',
  EEXIST: 'it is there already',
  EROFS: 'its disk cannot be written',
  ENOSPC: 'its disk is full',
};

/** In: what the file system threw. Out: why, in words; its code where there are none. */
export const reasonOf = (fault: unknown): string => {
  const code = fault instanceof Error && 'code' in fault ? String(fault.code) : 'unreadable';
  return reasons[code] ?? code;
};

const syncDirectory = (directory: string): void => {
  const handle = openSync(directory, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
};

/**
 * Makes a directory and its missing parents, readable for the owner only. Throws an Error that names the directory. Not `recursive` of Node:
 * that never ends on file systems such as /proc, which deny that the next directory exists.
 */
export const makeDirectory = (directory: string): void => {
  if (existsSync(directory)) return;
  const above = dirname(directory);
  if (above !== directory) makeDirectory(above);
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    const fault = error as NodeJS.ErrnoException;
    // Another process made it first.
    if (fault.code === 'EEXIST') return;
    throw Object.assign(
      new Error(`the directory ${directory} cannot be made (${reasonOf(error)}); name one on a disk that can be written`),
      {
        code: fault.code,
        cause: error,
      },
    );
  }
};
