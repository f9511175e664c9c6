/** The program's file: under a Node that is too old, and what the options of Node in its first line do. */
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { statusBytes } from '../../bench/support/processes.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { eventually } from '../support/wait.js';

const bin = fileURLToPath(new URL('../../../bin/sealpost.js', import.meta.url));
const asVersion = (version: string): string =>
  `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'${version}'}})`;
const run = (version: string) =>
  spawnSync(process.execPath, ['--import', asVersion(version), bin, '--version'], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] },
  });

await t.test('an older Node is told what to do', async (t) => {
  const { status, stdout, stderr } = run('20.20.2');
  t.equal(status, 1);
  t.equal(stdout, '');
  t.match(
    stderr,
    /^sealpost: this is Node 20\.20\.2, and sealpost needs Node 22 or newer: start it with `npm start` or `npx sealpost`[^\n]*\n$/,
  );
});

await t.test('a command that fails ends, whatever it left open', async (t) => {
  const { status, signal, stderr } = spawnSync(
    process.execPath,
    ['--import', 'data:text/javascript,setInterval(()=>{},1e9)', bin, 'serve'],
    {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], SEALPOST_SMTP_URL: 'nowhere' },
      timeout: 60_000,
    },
  );
  t.match({ status, signal, stderr }, { status: 1, signal: null, stderr: /^sealpost: .*SEALPOST_SMTP_URL/ });
});

await t.test('the oldest supported one runs it', async (t) => {
  const { status, stdout } = run('22.0.0');
  t.equal(status, 0);
  t.match(stdout, /^\d+\.\d+\.\d+\n$/);
});

await t.test('a service gives back what its start took', async (t) => {
  const service = spawn(bin, ['serve'], {
    env: { PATH: process.env['PATH'], PORT: '0', SEALPOST_DATA_DIR: temporaryDirectory(t) },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  t.teardown(() => service.kill('SIGKILL'));
  let output = '';
  service.stdout.on('data', (text) => (output += String(text)));
  await eventually('it listens', () => output.includes('sealpost is running'), 60_000);
  const pid = service.pid ?? -1;
  const givenBack = statusBytes(pid, 'VmHWM') - statusBytes(pid, 'VmRSS');
  t.ok(givenBack > 8_000_000, `${givenBack} bytes were given back`);
});

await t.test('the program runs in few files, unless its modules were compiled after them', (t) => {
  const root = temporaryDirectory(t);
  const [copy, modules, few, compiled] = [
    'bin/sealpost.js',
    'build/src/main.js',
    'build/src/bundle/main.js',
    'build/.tsbuildinfo',
  ].map((path) => join(root, path)) as [string, string, string, string];
  for (const file of [copy, few]) mkdirSync(dirname(file), { recursive: true });
  cpSync(bin, copy);
  writeFileSync(join(root, 'package.json'), '{"type":"module"}');
  writeFileSync(modules, `process.stdout.write('modules')`);
  const runs = (): string => spawnSync(process.execPath, [copy], { encoding: 'utf8' }).stdout;
  t.equal(runs(), 'modules', 'nothing was bundled');
  writeFileSync(few, `process.stdout.write('few files')`);
  t.equal(runs(), 'few files', 'an image has no note of the compiler');
  writeFileSync(compiled, '');
  utimesSync(few, 2_000_000_000, 2_000_000_000);
  t.equal(runs(), 'few files');
  utimesSync(compiled, 2_000_000_001, 2_000_000_001);
  t.equal(runs(), 'modules', 'compiled since');
  t.end();
});
