/**
 * Golden files: what a test made is compared with what was once looked at and kept; `UPDATE_GOLDEN=1` keeps it anew.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Compiled tests lie three folders deep in the output: build/test/support. */
const root = fileURLToPath(new URL('../../../test/golden/', import.meta.url));

type Same = { equal: (found: unknown, wanted: unknown, message: string) => unknown };

/** `name` is a path below test/golden. */
export const matchesGolden = (t: Same, name: string, made: string): void => {
  const file = `${root}${name}`;
  if (process.env['UPDATE_GOLDEN'] === '1') {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, made);
  }
  t.equal(made, readFileSync(file, 'utf8'), name);
};
