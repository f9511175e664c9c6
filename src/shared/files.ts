/** Makes directories step by step: Node's own recursion never ends where a file system, such as /proc, denies having just the next one. */
import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

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
