/**
 * Writes small files so that they survive a power loss, makes directories, and says in words why a file cannot be used.
 */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';

/**
 * Replaces the whole file (mode 0600): after a crash or power loss its name holds the old text or the new one, never a
 * part.
 */
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
  EMFILE: 'this process has as many files open as it may; raise its limit (ulimit -n, LimitNOFILE)',
  ENFILE: 'this machine has as many files open as it may; raise its limit (fs.file-max)',
};
const DENIALS = ['EACCES', 'EPERM'];

/**
 * In: what the file system threw. Out: why, in words, with owner and mode where access was denied; its code where there
 * are none.
 */
export const reasonOf = (fault: unknown): string => {
  const code = fault instanceof Error && 'code' in fault ? String(fault.code) : 'unreadable';
  const isDenied = DENIALS.includes(code) && fault instanceof Error && 'path' in fault;
  return `${reasons[code] ?? code}${isDenied ? whose(String(fault.path)) : ''}`;
};

/** The owner of a file, or of the nearest directory above it that can be read; and the user of this process. */
const whose = (path: string): string => {
  for (let at = path; ; at = dirname(at)) {
    try {
      const { uid, mode } = statSync(at);
      const octal = (mode & 0o7777).toString(8).padStart(4, '0');
      return `: ${at === path ? 'it' : at} belongs to uid ${uid} (mode ${octal}), this is uid ${process.geteuid?.()}`;
    } catch {
      if (at === dirname(at)) return '';
    }
  }
};

/**
 * Why this process cannot read and write a database file, those beside it and their directory, in words; undefined if
 * it can.
 */
export const accessFault = (file: string): string | undefined => {
  const directory = dirname(file);
  const { R_OK, W_OK, X_OK } = constants;
  for (const path of [directory, file, `${file}-wal`, `${file}-shm`])
    try {
      accessSync(path, path === directory ? R_OK | X_OK : R_OK | W_OK);
    } catch (fault) {
      if ((fault as NodeJS.ErrnoException).code !== 'ENOENT') return `${path} cannot be used: ${reasonOf(fault)}`;
    }
  try {
    accessSync(directory, W_OK);
    // Not the file: closing it would drop every lock that this process holds on it (POSIX).
    closeSync(openSync(directory, 'r'));
    return undefined;
  } catch (fault) {
    return `${file} cannot be used, because of ${directory}: ${reasonOf(fault)}`;
  }
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
 * Makes a directory and its missing parents, readable for the owner only. Throws an Error that names the directory. Not
 * `recursive` of Node: that never ends on file systems such as /proc, which deny that the next directory exists.
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
      new Error(
        `the directory ${directory} cannot be made (${reasonOf(error)}); name one on a disk that can be written`,
      ),
      {
        code: fault.code,
        cause: error,
      },
    );
  }
};
