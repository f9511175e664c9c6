/** Tells which open instances live: each holds a lock of the operating system on a file of its own, which ends with its process. */
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { holdLock, isLockHeld } from '../sqlite/lock.js';

export type Presence = Readonly<{
  /** The name of this instance; no other has it. */
  instance: string;
  isAlive: (instance: string) => boolean;
  /** From then on this instance counts as dead. */
  close: () => void;
}>;

const attemptsMax = 100;

/** In: the directory of the lock files (made where there is none), and where fresh names come from. */
export const openPresence = (directory: string, freshName: () => string): Presence => {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const fileOf = (instance: string): string => join(directory, `${instance}.lock`);
  sweep(directory);
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const instance = freshName();
    const file = fileOf(instance);
    const lock = holdLock({ file });
    // Somebody who sweeps may have removed the file before it was locked: others would not find the lock.
    if (lock === undefined || !existsSync(file)) {
      lock?.release();
      continue;
    }
    return {
      instance,
      isAlive: (other) => other === instance || isLockHeld({ file: fileOf(other) }),
      close: () => {
        rmSync(file, { force: true });
        lock.release();
      },
    };
  }
  throw new Error(`no lock file in ${directory} could be held`);
};

/** Removes the files of the dead. Each is removed while its lock is held, so that nobody takes it in between. */
const sweep = (directory: string): void => {
  for (const name of readdirSync(directory)) {
    if (!name.endsWith('.lock')) continue;
    const file = join(directory, name);
    const lock = holdLock({ file });
    if (lock === undefined) continue;
    rmSync(file, { force: true });
    lock.release();
  }
};
