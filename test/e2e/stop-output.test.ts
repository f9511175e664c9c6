/** A stop ends although nothing can be written to standard output, and although a thread hangs in a system call. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { closeSync, constants, existsSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { programDirectory } from '../../src/service/version.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { freePort } from '../support/free-port.js';
import { environmentOf, mainFile } from '../support/server-process.js';
import { eventually } from '../support/wait.js';

t.setTimeout(900_000);

/** Long for a process of its own on a busy machine, and no measure: without the bounds it never ends. */
const ENDS_WITHIN_MS = 60_000;

type Output = number | 'pipe' | 'ignore';

const serve = async (
  t: Tap,
  [stdout, stderr]: readonly [Output, Output],
): Promise<Readonly<{ child: ChildProcess; base: string }>> => {
  const port = await freePort();
  const env = environmentOf({
    PORT: String(port),
    SEALPOST_DATA_DIR: temporaryDirectory(t),
    SEALPOST_LOG_LEVEL: 'debug',
  });
  delete env['NODE_OPTIONS'];
  const child = spawn(process.execPath, [mainFile, 'serve'], { env, stdio: ['ignore', stdout, stderr] });
  t.teardown(() => child.kill('SIGKILL'));
  child.stdout?.resume();
  const base = `http://127.0.0.1:${port}`;
  await eventually('it listens', async () => (await fetch(`${base}/health/live`)).ok);
  return { child, base };
};

type Tap = Parameters<typeof temporaryDirectory>[0];

/** Makes more log lines than a batch has: each of these calls is refused. */
const makeLines = async (base: string): Promise<void> => {
  for (let count = 0; count < 80; count += 1) await (await fetch(`${base}/api/emails`)).arrayBuffer();
};

const stopped = async (
  child: ChildProcess,
  signal: NodeJS.Signals,
): Promise<readonly [number | null, NodeJS.Signals | null]> => {
  child.kill(signal);
  await eventually('it ends', () => child.exitCode !== null || child.signalCode !== null, ENDS_WITHIN_MS);
  return [child.exitCode, child.signalCode];
};

void t.test('nobody reads standard output any more (EPIPE)', async (t) => {
  const { child, base } = await serve(t, ['pipe', 'pipe']);
  let said = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (said += text));
  child.stdout!.destroy();
  // Without handlers the first opens a debugger, which is told on standard error, and the second ends the process.
  child.kill('SIGUSR1');
  child.kill('SIGUSR2');
  await makeLines(base);
  t.ok((await fetch(`${base}/health/live`)).ok, 'it goes on');
  t.same(await stopped(child, 'SIGTERM'), [0, null]);
  t.equal(said, '');
});

void t.test('a signal during the start stops the service when it has started', async (t) => {
  const dataDir = temporaryDirectory(t);
  const program = join(programDirectory, 'bin', 'sealpost.js');
  const child = spawn(process.execPath, [program, 'serve'], {
    env: environmentOf({ NODE_OPTIONS: '', PORT: '0', SEALPOST_DATA_DIR: dataDir }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (said += text));
  await eventually('it starts', () => existsSync(join(dataDir, 'service.lock')));
  t.same(await stopped(child, 'SIGTERM'), [0, null]);
  t.notMatch(said, /is running|sealpost:/);
});

void t.test('the reader of standard output does not read (EAGAIN)', async (t) => {
  const fifo = join(temporaryDirectory(t), 'fifo');
  execFileSync('mkfifo', [fifo]);
  const fd = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK);
  t.teardown(() => closeSync(fd));
  fillPipe(fd);
  const { child, base } = await serve(t, [fd, fd]);
  await makeLines(base);
  t.same(await stopped(child, 'SIGHUP'), [0, null]);
});

void t.test(
  'the disk behind standard output and standard error is full (ENOSPC)',
  { skip: !existsSync('/dev/full') },
  async (t) => {
    const fd = openSync('/dev/full', 'w');
    t.teardown(() => closeSync(fd));
    const { child, base } = await serve(t, [fd, fd]);
    await makeLines(base);
    t.ok((await fetch(`${base}/health/live`)).ok, 'it goes on');
    t.same(await stopped(child, 'SIGQUIT'), [0, null]);
  },
);

void t.test(
  'a thread that hangs in a system call does not keep the process, and handlers of its end run',
  async (t) => {
    const fifo = join(temporaryDirectory(t), 'fifo');
    execFileSync('mkfifo', [fifo]);
    const program = `
    import { open } from 'node:fs';
    import { endProcess } from '${new URL('../../src/cli/core/exit.js', import.meta.url).href}';
    process.on('exit', (code) => console.log('exit', code));
    open('${fifo}', 'r', () => {});
    await endProcess(7);`;
    const env = environmentOf({});
    delete env['NODE_OPTIONS'];
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.teardown(() => child.kill('SIGKILL'));
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
    await eventually('it ends', () => child.exitCode !== null || child.signalCode !== null, ENDS_WITHIN_MS);
    t.same([child.exitCode, child.signalCode, said], [7, null, 'exit 7\n']);
  },
);

const fillPipe = (fd: number): void => {
  const page = Buffer.alloc(4_096, 'x');
  try {
    for (;;) writeSync(fd, page);
  } catch (fault) {
    if (!(fault instanceof Error) || !('code' in fault) || fault.code !== 'EAGAIN') throw fault;
  }
};
