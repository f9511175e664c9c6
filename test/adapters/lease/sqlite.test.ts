/**
 * Leases in a SQLite file against the contract of all, and what is their own: the death of a process, a frozen one, a
 * clock that is set.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { systemClock } from '../../../src/adapters/clock/system.js';
import { openSqliteLeases } from '../../../src/adapters/lease/sqlite.js';
import type { Lease } from '../../../src/domain/ports/lease.js';
import { leaseSuite } from '../../contracts/lease-suite.js';
import { temporaryDirectory } from '../../support/data-directory.js';
import { fakeClock } from '../../support/fake-clock.js';

const clock = fakeClock();
const directory = temporaryDirectory(t);
leaseSuite(t, {
  open: async (keeper) => openSqliteLeases({ file: join(directory, `${keeper}.db`), clock, freshName: randomUUID }),
  now: clock.now,
  pass: clock.advance,
});

const holdElsewhere = async (file: string, name: string, ttlMs: number) => {
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('./hold-lease.js', import.meta.url)), file, name, String(ttlMs)],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  const [said] = (await once(child.stdout, 'data')) as [Buffer];
  return { lease: JSON.parse(said.toString()) as Lease | null, child };
};

void t.test('what a killed process held is free at once, and its lock file goes with the next start', async (t) => {
  const file = join(temporaryDirectory(t), 'leases.db');
  const { lease, child } = await holdElsewhere(file, 'relay', 3_600_000);
  const leases = openSqliteLeases({ file, clock: systemClock(), freshName: randomUUID });
  t.teardown(() => leases.close());
  t.match(await leases.read('relay'), { holder: lease!.holder, fence: lease!.fence });
  t.equal(await leases.acquire('relay', 'a', 10_000), undefined);
  child.kill('SIGKILL');
  await once(child, 'close');
  t.equal(await leases.read('relay'), undefined);
  t.ok((await leases.acquire('relay', 'a', 10_000))!.fence > lease!.fence);
  t.equal(readdirSync(`${file}-locks`).length, 2);
  const next = openSqliteLeases({ file, clock: systemClock(), freshName: randomUUID });
  t.equal(readdirSync(`${file}-locks`).length, 2, 'that of the dead is gone, those of the living stay');
  t.match(await next.read('relay'), { holder: 'a' });
  await next.close();
});

void t.test('a frozen process loses its lease when its time is over, and finds that out when it wakes', async (t) => {
  const file = join(temporaryDirectory(t), 'leases.db');
  const { lease, child } = await holdElsewhere(file, 'relay', 200);
  child.kill('SIGSTOP');
  t.teardown(() => child.kill('SIGKILL'));
  const leases = openSqliteLeases({ file, clock: systemClock(), freshName: randomUUID });
  t.teardown(() => leases.close());
  let taken = await leases.acquire('relay', 'a', 60_000);
  while (taken === undefined) {
    await new Promise((resolve) => setImmediate(resolve));
    taken = await leases.acquire('relay', 'a', 60_000);
  }
  t.ok(taken.fence > lease!.fence);
  t.equal(await leases.renew(lease!, 60_000), undefined);
});

void t.test('setting the clock of the machine ends no lease and makes none longer', async (t) => {
  for (const byMs of [-86_400_000, 86_400_000]) {
    const clock = fakeClock();
    const leases = openSqliteLeases({ file: join(temporaryDirectory(t), 'leases.db'), clock, freshName: randomUUID });
    await leases.acquire('relay', 'a', 10_000);
    clock.shift(byMs);
    t.match(await leases.read('relay'), { holder: 'a', untilMs: clock.now() + 10_000 });
    await clock.advance(10_000);
    t.equal(await leases.read('relay'), undefined);
    await leases.close();
  }
});

void t.test(
  'fences go on rising when the file is opened again, and names that were used once leave no row',
  async (t) => {
    const file = join(temporaryDirectory(t), 'leases.db');
    let last = 0;
    for (let start = 0; start < 5; start += 1) {
      const leases = openSqliteLeases({ file, clock: systemClock(), freshName: randomUUID });
      const { fence } = (await leases.acquire(`worker-${start}`, 'a', 10_000))!;
      t.ok(fence > last);
      last = fence;
      await leases.close();
    }
  },
);
