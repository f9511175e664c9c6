/** `sealpost parked` beside a NATS server: what is parked is shown, and given to its processor again. */
import t from 'tap';
import { openNatsBus } from '../../src/adapters/bus/nats.js';
import { systemClock } from '../../src/adapters/clock/system.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { copyFounded } from '../support/founded.js';
import { keptLog } from '../support/kept-log.js';
import { runCommand } from '../support/server-process.js';
import { natsServer } from '../support/servers.js';

t.setTimeout(900_000);

void t.test('parked list and parked release', async (t) => {
  const server = await natsServer(t);
  if (server === undefined) return;
  const url = `${server.url}?prefix=${server.place}`;
  const bus = await openNatsBus({ url, clock: systemClock(), logger: keptLog().logger, pointersMax: 10 });
  t.teardown(() => bus.close());
  const pointers = bus.consume('deliver-email', { maxInFlight: 1, signal: new AbortController().signal });
  const work = pointers[Symbol.asyncIterator]();
  await bus.publish('deliver-email', [{ id: 'email-1@7', stream: 'email-1', priority: 'high' }]);
  await (await work.next()).value?.park('poison');

  const dataDir = temporaryDirectory(t);
  await copyFounded(dataDir);
  const settings = {
    SEALPOST_DATA_DIR: dataDir,
    SEALPOST_LOG_LEVEL: 'error',
    SEALPOST_BUS_URL: url,
    SEALPOST_ROLES: 'http,project',
  };
  const run = (...args: readonly string[]) => runCommand(['parked', ...args], settings);
  t.match(await run('list'), { code: 0, stdout: /^\S+Z {2}email-1@7 {2}deliver-email, after 1 delivery: poison\n$/ });
  const { stdout } = await run('list', '--json');
  t.match(JSON.parse(stdout), {
    id: 'email-1@7',
    stream: 'email-1',
    processor: 'deliver-email',
    priority: 'high',
    deliveries: 1,
    reason: 'poison',
  });
  t.match(await run('release', 'email-9@1'), { code: 1, stderr: /not parked: email-9@1/ });
  t.match(await run('release', 'email-1@7'), { code: 0, stdout: /email-1@7 is given to deliver-email again/ });
  t.equal((await work.next()).value?.pointer.id, 'email-1@7');
  t.match(await run('list'), { code: 0, stdout: /^nothing is parked$/m });
  t.match(await run('release', '--all'), { code: 0, stdout: /^nothing is parked$/m });
});
