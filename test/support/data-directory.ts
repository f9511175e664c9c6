/** Directories that live as long as a test. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';

export const temporaryDirectory = (t: Test): string => {
  const directory = mkdtempSync(join(tmpdir(), 'sealpost-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
};

/** The files below the directory that hold the bytes anywhere. */
export const filesHolding = (directory: string, bytes: Buffer | string): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => readFileSync(file).includes(bytes));
