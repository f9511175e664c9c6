/**
 * Notes what each test file costs: loaded before a test file (before-file.ts), it appends one line to
 * `build/test/cpu.tsv` when the file's process ends: CPU seconds, seconds by the clock, name. The CPU is that of the
 * process and of all processes that it started and that have ended, from Linux's /proc/self/stat; elsewhere nothing is
 * noted.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** USER_HZ of Linux, in which /proc counts CPU time. */
const TICKS_PER_SECOND = 100;

const folder = fileURLToPath(new URL('../', import.meta.url));

/** Out: the CPU seconds of this process and of its ended children: utime, stime, cutime, cstime of proc(5). */
const cpuSeconds = (): number => {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_SECOND;
};

const file = relative(folder, process.argv[1] ?? '');
if (file.endsWith('.test.js') && !file.startsWith('..') && existsSync('/proc/self/stat'))
  process.once('exit', () => {
    appendFileSync(
      `${folder}cpu.tsv`,
      `${cpuSeconds().toFixed(1)}\t${(performance.now() / 1000).toFixed(1)}\t${file.replace(/\.test\.js$/, '')}\n`,
    );
  });
