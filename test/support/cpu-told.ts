/** Prints the cost of test files, which `cpu-seconds.ts` noted in this run. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const SHOWN_MAX = 10;

const noted = fileURLToPath(new URL('../cpu.tsv', import.meta.url));

export type CpuOfFile = Readonly<{ name: string; cpu: number }>;

/** Before the tests: what an earlier run noted is no part of this one. */
export const forgetCpu = (): void => rmSync(noted, { force: true });

/** Prints the ten files that cost most CPU, and the sum of all. Out: each run of a file. */
export const tellCpu = (): readonly CpuOfFile[] => {
  if (!existsSync(noted)) return [];
  const files = readFileSync(noted, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t'))
    .map(([cpu, clock, name]) => ({ cpu: Number(cpu), clock: Number(clock), name: name! }));
  console.log(`# CPU seconds of test files, the ${SHOWN_MAX} dearest of ${files.length} (by the clock):`);
  for (const { cpu, clock, name } of files.toSorted((a, b) => b.cpu - a.cpu).slice(0, SHOWN_MAX))
    console.log(`# ${cpu.toFixed(1).padStart(7)}  ${name} (${clock.toFixed(0)} s)`);
  const sum = files.reduce((total, { cpu }) => total + cpu, 0);
  console.log(`# ${sum.toFixed(1).padStart(7)}  all`);
  return files;
};
