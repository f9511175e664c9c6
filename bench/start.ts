/**
 * The start of a program that is built, its files in the page cache: the first one with a new data directory and the
 * next one, until the service listens; `--help`; and a Node that does nothing, for comparison.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { machineWithDisk } from './support/machine.js';
import { numbersGiven } from './support/options.js';
import { median } from './support/pairs.js';
import { cpuMsOf, statusBytes } from './support/processes.js';
import { report } from './support/results.js';
import { projectRoot, withDirectory } from './support/scratch.js';

const FIRST_MS = 1_000;
const HELP_MS = 150;
/** Below this ratio of CPU time to wall time the processor was with others, and the wall time says little. */
const CPU_SHARE_MIN = 0.6;
const LISTENS = /sealpost is running on/;
const { pairs: rounds } = numbersGiven({ pairs: 9 });
const bin = join(projectRoot, 'bin/sealpost.js');

type Start = Readonly<{ wallMs: number; cpuMs: number; rssBytes: number }>;

/** In: what is started, and what it prints when it is ready. Rejects where it ends before. */
const startOf = async (
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  ready: RegExp,
): Promise<Start> => {
  const fromMs = performance.now();
  const child = spawn(command, args, {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit');
  const { pid = 0 } = child;
  let output = '';
  const found = await new Promise<Start>((resolve, reject) => {
    const take = (chunk: Buffer): void => {
      if (ready.test(output)) return;
      output += chunk.toString('utf8');
      if (ready.test(output))
        resolve({
          wallMs: performance.now() - fromMs,
          cpuMs: cpuMsOf(pid),
          rssBytes: statusBytes(pid, 'VmRSS'),
        });
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.on('error', reject);
    child.on('exit', (code) => void (ready.test(output) || reject(new Error(`it ended with ${code}:\n${output}`))));
  });
  child.kill('SIGTERM');
  await ended;
  return found;
};

/** `--help` and the bare Node end by themselves; then it is the time until they have. */
const runOf = async (command: string, args: readonly string[]): Promise<number> => {
  const fromMs = performance.now();
  const child = spawn(command, args, { stdio: 'ignore' });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}`);
  return performance.now() - fromMs;
};

const firsts: Start[] = [];
const nexts: Start[] = [];
const helps: number[] = [];
const bares: number[] = [];
// The first round fills the caches of the disk and of the compiled code; it does not count.
for (let round = 0; round <= rounds; round += 1) {
  await withDirectory(async (directory) => {
    mkdirSync(join(directory, 'data'));
    const env = {
      PORT: '0',
      SEALPOST_DATA_DIR: join(directory, 'data'),
      SEALPOST_ACCOUNT_SENDER: 'Bench <bench@service.test>',
    };
    const first = await startOf(bin, ['serve'], env, LISTENS);
    const next = await startOf(bin, ['serve'], env, LISTENS);
    const help = await runOf(bin, ['--help']);
    const bare = await runOf(process.execPath, ['-e', '0']);
    if (round === 0) return;
    firsts.push(first);
    nexts.push(next);
    helps.push(help);
    bares.push(bare);
  });
}

const isQuiet = median([...firsts, ...nexts].map(({ cpuMs, wallMs }) => cpuMs / wallMs)) >= CPU_SHARE_MIN;
const wall = (what: string, values: readonly number[]) => ({
  what,
  value: median(values),
  unit: 'ms',
  counts: isQuiet,
});
const wallOf = (starts: readonly Start[]): readonly number[] => starts.map(({ wallMs }) => wallMs);
const figures = (what: string, starts: readonly Start[]) => [
  { what: `${what}, CPU`, value: median(starts.map(({ cpuMs }) => cpuMs)), unit: 'ms' },
  { what: `${what}, memory`, value: median(starts.map(({ rssBytes }) => rssBytes)) / 1e6, unit: 'MB' },
];
report({
  name: 'start',
  figures: [
    { ...wall('first start to listening', wallOf(firsts)), target: { atMost: FIRST_MS } },
    ...figures('first start', firsts),
    wall('next start to listening', wallOf(nexts)),
    ...figures('next start', nexts),
    { ...wall('--help', helps), target: { atMost: HELP_MS } },
    wall('a Node that does nothing', bares),
  ],
  machine: machineWithDisk(),
  details: { firsts, nexts, helps, bares },
});
