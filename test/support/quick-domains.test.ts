/** A fault that no case awaits fails the case that caused it, and the run, as it does without the module. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { temporaryDirectory } from './data-directory.js';

const preload = new URL('./quick-domains.js', import.meta.url).href;

/** Runs the program, which has the library as `t`, with the module loaded before it. */
const run = (test: Test, program: string) => {
  const file = join(temporaryDirectory(test), 'program.mjs');
  writeFileSync(file, `import t from '${import.meta.resolve('tap')}';\n${program}`);
  const env = { PATH: process.env['PATH'] };
  const { status, stdout } = spawnSync(process.execPath, ['--import', preload, file], { env, encoding: 'utf8' });
  return { status, stdout };
};

/** A case within a case; `given` is what the inner one does before it waits. */
const casesThat = (given: string): string => `
const pause = () => new Promise((resolve) => setTimeout(resolve, 50));
await t.test('outer', async (t) => {
  await t.test('inner', async (t) => { ${given}; await pause(); t.pass('has waited'); });
  await pause();
});
t.pass('at last');`;

await t.test('the library asks this module and not the package', async (t) => {
  const program = `
const { Domain } = await import('${preload}');
t.ok(t.hookDomain instanceof Domain);`;
  t.match(run(t, program), { status: 0, stdout: /^ok 1/m });
});

await t.test('a fault that nobody caught fails the case, and the cases after it run', async (t) => {
  t.match(run(t, casesThat('')), { status: 0, stdout: /^ {4}ok 1 - inner[^]*^ok 2 - at last/m });
  for (const fault of [
    "setTimeout(() => { throw new Error('boom'); }, 5)",
    "setTimeout(() => void Promise.reject(new Error('boom')), 5)",
    "void Promise.reject(new Error('boom'))",
  ]) {
    const told = run(t, casesThat(fault));
    t.match(told, { status: 1, stdout: /^ {8}not ok 1 - boom/m }, fault);
    t.match(told.stdout, /^ {4}not ok \d - inner/m, fault);
    t.match(told.stdout, /^ok \d - at last/m, fault);
  }
});

await t.test('a fault between two cases and one after the last end the run with 1', async (t) => {
  const between = `t.pass('first'); setTimeout(() => { throw new Error('boom'); }, 5);
await new Promise((resolve) => setTimeout(resolve, 50));`;
  t.match(run(t, between), { status: 1 });
  t.match(run(t, `t.pass('first'); t.end(); void Promise.reject(new Error('boom'));`), { status: 1 });
});

await t.test('a listener for faults gets them, and the case goes on', async (t) => {
  for (const [event, fault] of [
    ['uncaughtException', "setTimeout(() => { throw new Error('boom'); }, 5)"],
    ['unhandledRejection', "void Promise.reject(new Error('boom'))"],
  ] as const)
    t.match(
      run(
        t,
        casesThat(`process.on('${event}', (fault) => t.equal(fault.message, 'boom', 'the listener has it')); ${fault}`),
      ),
      { status: 0, stdout: /^ {8}ok 1 - the listener has it/m },
      event,
    );
});
