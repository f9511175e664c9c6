/**
 * `npm test` after the build: runs the tests, and beside them the rules, one after the other. Prints after the tests what each rule says.
 * Ends with the exit code of the tests, or with 1 where a rule fails. Its arguments are those of `tap run`.
 */
import { spawn, type StdioOptions } from 'node:child_process';

/** Scripts of package.json. */
const rules = ['check:imports', 'check:format', 'check:lint', 'check:env'] as const;

type Ended = Readonly<{ code: number; output: string; seconds: number }>;

const run = (command: string, args: readonly string[], stdio: StdioOptions): Promise<Ended> =>
  new Promise((resolve) => {
    const begunMs = performance.now();
    const child = spawn(command, args, { stdio });
    let output = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (output += text));
    const end = (code: number): void => resolve({ code, output, seconds: (performance.now() - begunMs) / 1_000 });
    child.on('error', (fault) => {
      output += String(fault);
      end(1);
    });
    child.on('close', (code) => end(code ?? 1));
  });

const runRules = async (): Promise<ReadonlyMap<string, Ended>> => {
  const ended = new Map<string, Ended>();
  for (const rule of rules) ended.set(rule, await run('npm', ['run', '--silent', rule], ['ignore', 'pipe', 'pipe']));
  return ended;
};

const [tests, ruled] = await Promise.all([run('tap', ['run', ...process.argv.slice(2)], 'inherit'), runRules()]);
let count = 0;
for (const [rule, { code, output, seconds }] of ruled) {
  count += 1;
  console.log(`${code === 0 ? 'ok' : 'not ok'} ${count} - ${rule} (${seconds.toFixed(0)} s)`);
  if (output.trim() !== '') console.log(output.trimEnd());
}
process.exitCode = tests.code !== 0 ? tests.code : [...ruled.values()].every(({ code }) => code === 0) ? 0 : 1;
