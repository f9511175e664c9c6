/** Files in a directory: the contract, and what the directory looks like after faults. */
import { mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { openDirectoryFiles } from '../../../src/adapters/files/directory.js';
import { filesSuite } from '../../contracts/files-suite.js';
import { temporaryDirectory } from '../../support/data-directory.js';

void t.test('the contract', async (t) => {
  const directory = temporaryDirectory(t);
  filesSuite(t, {
    open: async (place) => openDirectoryFiles({ directory: join(directory, place) }),
    close: () => Promise.resolve(),
  });
});

const allFiles = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .sort();

void t.test('a file that was changed is not handed out', async (t) => {
  const directory = temporaryDirectory(t);
  const files = openDirectoryFiles({ directory });
  const hash = await files.put(Buffer.from('content'));
  const path = join(directory, hash.slice(0, 2), hash.slice(2));
  t.equal(statSync(path).mode & 0o077, 0);
  writeFileSync(path, 'c0ntent');
  await t.rejects(files.get(hash), { name: 'FileDamaged', code: 'FILE_DAMAGED' });
  await files.put(Buffer.from('content'));
  t.same(await files.get(hash), Buffer.from('content'), 'putting it again mends it');
});

void t.test('nothing is left of files that were deleted or swept, and little of a crash', async (t) => {
  const directory = temporaryDirectory(t);
  const files = openDirectoryFiles({ directory });
  await files.delete(await files.put(Buffer.from('a')));
  await files.put(Buffer.from('b'), { expiresAt: '2026-01-01T00:00:00.000Z' });
  mkdirSync(join(directory, 'tmp'), { recursive: true });
  const [old, recent] = [join(directory, 'tmp', 'old'), join(directory, 'tmp', 'recent')];
  for (const file of [old, recent]) writeFileSync(file, 'half');
  utimesSync(old, new Date('2026-01-01T00:00:00Z'), new Date('2026-01-01T00:00:00Z'));
  utimesSync(recent, new Date('2026-01-04T00:00:00Z'), new Date('2026-01-04T00:00:00Z'));
  t.equal(await files.sweep('2026-01-04T01:00:00.000Z'), 1);
  t.same(allFiles(directory), ['tmp/recent']);
});

void t.test('a put that cannot be written rejects and leaves nothing', async (t) => {
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, 'ca'), 'a file stands where a directory is needed');
  const files = openDirectoryFiles({ directory });
  // SHA-256 of "a" begins with ca.
  await t.rejects(files.put(Buffer.from('a')), { code: /EEXIST|ENOTDIR/ });
  t.same(allFiles(directory), ['ca']);
});
