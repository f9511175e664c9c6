/**
 * `npm test` and, with `--all`, `npm run test:all` after the build: runs the test files, each in a process of its own,
 * and beside them the rules, one after the other; split.ts says which files run only with `--all`. `--guide` builds the
 * documentation site (`npm run docs`) as the first rule, and the files that read the site wait for it. Prints TAP: a
 * line for each file and rule, before it the whole output of one that failed. Other arguments are parts of names
 * (`e2e/kill`): only such files are run, wherever they belong. A file that failed beside others runs once more when all
 * have ended, alone; the output of its first run is printed, and the summary counts it. Ends with 1 where a file failed
 * twice or a rule failed.
 */
import { spawn } from 'node:child_process';
import { globSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { forgetCpu, tellCpu } from './cpu-told.js';
import { CPU_SECONDS_MAX, dear, isOnlyInAll, nameOfTest, readsGuide, runsAlone } from './split.js';

/** Scripts of package.json. */
const RULES = ['check:imports', 'check:format', 'check:dashboard', 'check:client', 'check:lint', 'check:env'] as const;

/** The site, from what the build has made. */
const GUIDE_RULE = 'check:guide';

const FILES_AT_ONCE = 3;
/** More files than these that fail are no matter of a busy machine: none of them runs again. */
const AGAIN_MAX = 8;
/** Ends only what hangs. The assertion library has the same bound for each test. */
const FILE_TIMEOUT_S = 900;
/** After the library had its time to say which test hangs. */
const KILL_AFTER_MS = (FILE_TIMEOUT_S + 30) * 1_000;

/** So long the rest of the output may take after the process has ended. */
const PIPES_GRACE_MS = 3_000;

type Ended = Readonly<{ name: string; isGood: boolean; output: string; seconds: number }>;

const folder = fileURLToPath(new URL('../../../', import.meta.url));
/** Compiled modules are kept for the many processes that the tests start. */
const compiled = fileURLToPath(new URL('../../compiled', import.meta.url));
const isAll = process.argv.includes('--all');
const buildsGuide = process.argv.includes('--guide');
const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const isPlain = !isAll && wanted.length === 0;

const run = (name: string, command: string, args: readonly string[]): Promise<Ended> =>
  new Promise((resolve) => {
    const begunMs = performance.now();
    const env: NodeJS.ProcessEnv = {
      NODE_COMPILE_CACHE: compiled,
      ...process.env,
      ...(isPlain ? { SEALPOST_TEST_PLAIN: '1' } : {}),
      TAP_TIMEOUT: String(FILE_TIMEOUT_S),
    };
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
    const cutOff = setTimeout(() => {
      output += `\nnot ok - ${name} is killed after ${KILL_AFTER_MS / 1_000} s\n`;
      child.kill('SIGKILL');
    }, KILL_AFTER_MS);
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
    let isEnded = false;
    const end = (isGood: boolean): void => {
      if (isEnded) return;
      isEnded = true;
      clearTimeout(cutOff);
      resolve({ name, isGood, output, seconds: (performance.now() - begunMs) / 1_000 });
    };
    child.on('error', (fault) => {
      output += String(fault);
      end(false);
    });
    child.on('close', (code) => end(code === 0));
    // A process that a test left behind may hold the pipes open.
    child.on('exit', (code) => setTimeout(() => end(code === 0), PIPES_GRACE_MS).unref());
  });

let told = 0;
let failed = 0;
let checks = 0;
const tell = ({ name, isGood, output, seconds }: Ended): void => {
  told += 1;
  if (!isGood) failed += 1;
  checks += Number(/^# \{ total: (\d+)/m.exec(output)?.[1] ?? 0);
  if (!isGood) console.log(`# Subtest: ${name}\n${output.trimEnd().replaceAll(/^/gm, '    ')}`);
  console.log(`${isGood ? 'ok' : 'not ok'} ${told} - ${name} # time=${(seconds * 1_000).toFixed(0)}ms`);
};

const files = globSync('build/test/**/*.test.js', { cwd: folder })
  .filter((file) =>
    wanted.length === 0 ? isAll || !isOnlyInAll(nameOfTest(file)) : wanted.some((part) => file.includes(part)),
  )
  .sort()
  .sort((a, b) => Number(readsGuide(nameOfTest(a))) - Number(readsGuide(nameOfTest(b))));

const runFile = (file: string): Promise<Ended> =>
  run(file, process.execPath, ['--import=./build/test/support/before-file.js', file]);

/** Files that failed beside others. */
const toRunAgain: Ended[] = [];
const waiting = files.filter((file) => !runsAlone(nameOfTest(file))).values();
let endGuide: () => void = () => undefined;
const guideIsBuilt = new Promise<void>((resolve) => (endGuide = resolve));

/** Runs one file after the other of those that nobody has begun. */
const runSome = async (): Promise<void> => {
  for (const file of waiting) {
    if (readsGuide(nameOfTest(file))) await guideIsBuilt;
    const ended = await runFile(file);
    if (ended.isGood) tell(ended);
    else runLater(ended);
  }
};

/** Keeps a file that failed until the others have ended. Its faults are printed at once, and its output later. */
const runLater = (ended: Ended): void => {
  toRunAgain.push(ended);
  const faults = ended.output.split('\n').filter((line) => /^ *not ok /.test(line));
  console.log(
    [`# ${ended.name} failed, and will run again:`, ...faults.slice(0, 5)].map((line) => line.trim()).join('\n#   '),
  );
};

const runAgain = async (): Promise<void> => {
  for (const first of toRunAgain) {
    if (toRunAgain.length > AGAIN_MAX) {
      tell(first);
      continue;
    }
    console.log(
      `# ${first.name} failed beside other files and runs once more, alone:\n${first.output.trimEnd().replaceAll(/^/gm, '#     ')}`,
    );
    tell(await runFile(first.name));
  }
};

const runRule = async (rule: string): Promise<void> => tell(await run(rule, 'npm', ['run', '--silent', rule]));

const runRules = async (): Promise<void> => {
  if (buildsGuide) await runRule(GUIDE_RULE);
  endGuide();
  for (const rule of wanted.length === 0 ? RULES : []) await runRule(rule);
};

/** As many processes run at the end as at the beginning: after the rules come more files. */
const runRulesThenFiles = async (): Promise<void> => {
  await runRules();
  await runSome();
};

/** A slow machine needs more CPU seconds for the same work, so a dear file is named and fails nothing. */
const judgeCpu = (): void => {
  for (const { name, cpu } of tellCpu())
    if (cpu > CPU_SECONDS_MAX && dear[name] === undefined)
      console.log(
        `# ${name} took ${cpu.toFixed(0)} CPU seconds, more than ${CPU_SECONDS_MAX}: make it cheaper, split it, or say in split.ts why not`,
      );
};

process.chdir(folder);
forgetCpu();
// Files of earlier builds are not read.
if (isAll) rmSync(compiled, { recursive: true, force: true });
if (files.length === 0) {
  console.error(`no test file has ${wanted.join(' or ')} in its name`);
  process.exitCode = 1;
} else {
  await Promise.all([runRulesThenFiles(), ...Array.from({ length: FILES_AT_ONCE }, runSome)]);
  await runAgain();
  for (const file of files.filter((one) => runsAlone(nameOfTest(one)))) tell(await runFile(file));
  if (toRunAgain.length > 0)
    console.log(`# failed beside other files: ${toRunAgain.map(({ name }) => name).join(', ')}`);
  judgeCpu();
  console.log(`1..${told}\n# ${told - failed} passed, ${failed} failed; ${checks} checks`);
  if (failed > 0) process.exitCode = 1;
}
