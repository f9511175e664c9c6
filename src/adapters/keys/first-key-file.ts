/** The first API key between its making and its showing: a file of mode 0600 in the data directory. */
import { readFileSync, rmSync } from 'node:fs';
import type { PendingFirstKey } from '../../domain/ports/first-key.js';
import { replaceDurably } from '../../shared/durable-file.js';

export const openFirstKeyFile = (file: string): PendingFirstKey => ({
  read: () => {
    try {
      return readFileSync(file, 'utf8').trim();
    } catch (fault) {
      if (fault instanceof Error && 'code' in fault && fault.code === 'ENOENT') return undefined;
      throw fault;
    }
  },
  keep: (key) => replaceDurably(file, `${key}\n`),
  remove: () => rmSync(file, { force: true }),
});
