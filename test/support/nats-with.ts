/** A NATS server with settings of the test's own, such as TLS and users. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { temporaryDirectory } from './data-directory.js';
import { freePort } from './free-port.js';
import { eventually } from './wait.js';

/** Out: its port, when it takes connections. It ends with the test. */
export const startNatsWith = async (t: Test, settings: string): Promise<number> => {
  const directory = temporaryDirectory(t);
  const port = await freePort();
  const config = join(directory, 'nats.conf');
  writeFileSync(
    config,
    `host: 127.0.0.1\nport: ${port}\njetstream { store_dir: "${join(directory, 'data')}" }\n${settings}\n`,
  );
  const folder = process.env['SEALPOST_TEST_SERVERS'];
  const program = folder === undefined ? 'nats-server' : join(folder, 'nats/usr/sbin/nats-server');
  const child = spawn(program, ['-c', config], { stdio: ['ignore', 'ignore', 'pipe'] });
  t.teardown(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  let told = '';
  // It is read on to the end: a server that cannot log ends.
  child.stderr.on('data', (chunk) => (told += String(chunk)));
  await eventually('NATS is ready', () => told.includes('Server is ready'));
  return port;
};
