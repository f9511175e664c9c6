/** A durable replacement is on the disk before its name is, and its name is before the call returns. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { replaceDurably } from '../../src/shared/files.js';
import { temporaryDirectory } from '../support/data-directory.js';

type Calls = 'openSync' | 'writeSync' | 'fsyncSync' | 'renameSync';

/** Every call of these, in order, with the file that it is of. */
const recorded = (t: Test): readonly string[] => {
  const calls: string[] = [];
  const files = new Map<number, string>();
  const { openSync, writeSync, fsyncSync, renameSync } = fs;
  const restore = { openSync, writeSync, fsyncSync, renameSync } satisfies Pick<typeof fs, Calls>;
  const patched = {
    openSync: (...given: Parameters<typeof openSync>) => {
      const handle = openSync(...given);
      files.set(handle, String(given[0]));
      return handle;
    },
    writeSync: (handle: number, text: string) => {
      calls.push(`write ${files.get(handle)}`);
      return writeSync(handle, text);
    },
    fsyncSync: (handle: number) => {
      calls.push(`sync ${files.get(handle)}`);
      fsyncSync(handle);
    },
    renameSync: (from: string, to: string) => {
      calls.push(`rename to ${to}`);
      renameSync(from, to);
    },
  };
  Object.assign(fs, patched);
  syncBuiltinESMExports();
  t.teardown(() => {
    Object.assign(fs, restore);
    syncBuiltinESMExports();
  });
  return calls;
};

void t.test('the text is synced, then renamed, then the directory is synced', async (t) => {
  const file = join(temporaryDirectory(t), 'state.json');
  fs.writeFileSync(`${file}.partial`, 'what a crash has left');
  const calls = recorded(t);
  replaceDurably(file, 'one');
  replaceDurably(file, 'two');
  const once = [`write ${file}.partial`, `sync ${file}.partial`, `rename to ${file}`, `sync ${dirname(file)}`];
  t.same(calls, [...once, ...once]);
  t.equal(fs.readFileSync(file, 'utf8'), 'two');
  t.equal(fs.statSync(file).mode & 0o777, 0o600);
  t.notOk(fs.existsSync(`${file}.partial`));
});
