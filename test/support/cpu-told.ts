/** After the tests: prints the twenty test files that cost most CPU and the sum of all, from what `cpu-seconds.ts` noted. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const SHOWN_MAX = 20;

const noted = fileURLToPath(new URL('../cpu.tsv', import.meta.url));
if (existsSync(noted)) {
  const files = readFileSync(noted, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t'))
    .map(([cpu, clock, name]) => ({ cpu: Number(cpu), clock: Number(clock), name: name! }));
  rmSync(noted);
  console.log(`# CPU seconds of test files, the ${SHOWN_MAX} dearest of ${files.length} (by the clock):`);
  for (const { cpu, clock, name } of files.toSorted((a, b) => b.cpu - a.cpu).slice(0, SHOWN_MAX))
    console.log(`# ${cpu.toFixed(1).padStart(7)}  ${name} (${clock.toFixed(0)} s)`);
  const sum = files.reduce((total, { cpu }) => total + cpu, 0);
  console.log(`# ${sum.toFixed(1).padStart(7)}  all`);
}
