/**
 * The oldest and the newest Node that are supported: the first start, a send, kills, a rebuild and the command line run
 * on each.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { otherNode } from '../support/other-nodes.js';

t.setTimeout(900_000);

const FILES = ['e2e/first-start', 'e2e/first-start-kill', 'e2e/kill', 'cli/commands'];

const folder = fileURLToPath(new URL('../../../', import.meta.url));
const { NODE_OPTIONS: _loader, ...environment } = process.env;
const OUTPUT_MAX = 64 * 1024 * 1024;

type Ran = Readonly<{ code: number | null; output: string }>;

const run = (command: string, args: readonly string[], path: string): Promise<Ran> =>
  promisify(execFile)(command, args, {
    cwd: folder,
    env: { ...environment, PATH: path, TAP_TIMEOUT: '900' },
    maxBuffer: OUTPUT_MAX,
  }).then(
    ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
    (fault: Readonly<{ code?: number; stdout?: string; stderr?: string }>) => ({
      code: fault.code ?? null,
      output: `${fault.stdout ?? ''}${fault.stderr ?? ''}`,
    }),
  );

for (const major of [22, 26] as const) {
  await t.test(`Node ${major}`, async (t) => {
    const bin = await otherNode(t, major);
    if (bin === undefined) return;
    const path = `${bin}:${process.env['PATH'] ?? ''}`;
    const wouldInstall = await run('npm', ['ci', '--dry-run'], path);
    t.equal(wouldInstall.code, 0, 'npm ci runs on it');
    t.notMatch(wouldInstall.output, /EBADENGINE/, 'every package runs on it');
    t.match((await run('node', ['--version'], path)).output, new RegExp(`^v${major}\\.`));
    for (const file of FILES) {
      const { code, output } = await run(join(bin, 'node'), [`build/test/${file}.test.js`], path);
      if (code !== 0) t.comment(output);
      t.equal(code, 0, file);
    }
  });
}
