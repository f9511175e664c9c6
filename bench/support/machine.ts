/** Describes the machine of a measurement: the commit, the versions, the disk and how it syncs, the processor. */
import { execFileSync } from 'node:child_process';
import { closeSync, fdatasyncSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { scratchRoot } from './scratch.js';

/** How every store under measurement is opened; the limits open theirs alike. */
export const FSYNC_MODE = 'SQLite WAL, synchronous=FULL';

const require = createRequire(import.meta.url);
const versionOf = (name: string): string => (require(`${name}/package.json`) as { version: string }).version;

export const machine = (): Readonly<Record<string, string>> => ({
  commit: commit(),
  node: process.version,
  v8: process.versions.v8,
  packages: ['better-sqlite3', 'eta', 'nodemailer', 'pdfmake', 'exceljs']
    .map((name) => `${name} ${versionOf(name)}`)
    .join(', '),
  cpu: `${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}`,
  memory: `${Math.round(totalmem() / 2 ** 20)} MB`,
  kernel: output('uname', ['-sr']),
});

/** Description of the machine with its disk, for benchmarks that write to it. */
export const machineWithDisk = (): Readonly<Record<string, string>> => ({ ...machine(), fsync: FSYNC_MODE, ...disk() });

const SYNCS = 50;

const disk = (): Readonly<Record<string, string>> => {
  mkdirSync(scratchRoot, { recursive: true });
  const file = join(scratchRoot, `fsync-${process.pid}`);
  const handle = openSync(file, 'w');
  const page = Buffer.alloc(4_096, 1);
  const times = Array.from({ length: SYNCS }, () => {
    const start = performance.now();
    writeSync(handle, page);
    fdatasyncSync(handle);
    return performance.now() - start;
  }).sort((a, b) => a - b);
  closeSync(handle);
  rmSync(file);
  return {
    filesystem: output('stat', ['-f', '-c', '%T', scratchRoot]),
    fdatasyncMs: `median ${times[SYNCS / 2]!.toFixed(2)}, worst ${times.at(-1)!.toFixed(2)}`,
  };
};

const output = (program: string, args: readonly string[]): string => {
  try {
    return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return 'unknown';
  }
};

/** The commit, and whether the files are those of it. */
const commit = (): string => {
  const head = output('git', ['rev-parse', '--verify', 'HEAD']);
  if (head === 'unknown') return 'none';
  return output('git', ['status', '--porcelain', '--', 'src', 'bench', 'package-lock.json']) === ''
    ? head
    : `${head} with changes`;
};
