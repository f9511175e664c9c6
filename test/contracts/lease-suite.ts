/** The contract of every lease store, in one file or far away. */
import fc from 'fast-check';
import type { Test } from 'tap';
import type { Lease, Leases } from '../../src/domain/ports/lease.js';

export type LeaseHarness = Readonly<{
  /** One more client of the keeper of that name; the first makes it. */
  open: (keeper: string) => Promise<Leases>;
  /** The time of day as clients see it. */
  now: () => number;
  /** Lets that much of the keeper's time pass. */
  pass: (ms: number) => Promise<void>;
}>;

const TTL_MS = 10_000;

export const leaseSuite = (t: Test, harness: LeaseHarness): void => {
  let keepers = 0;
  const fresh = async (t: Test): Promise<{ leases: Leases; another: () => Promise<Leases> }> => {
    keepers += 1;
    const keeper = `keeper-${keepers}`;
    const another = async (): Promise<Leases> => {
      const leases = await harness.open(keeper);
      t.teardown(() => leases.close());
      return leases;
    };
    return { leases: await another(), another };
  };

  void t.test('of many that ask at once one is given the lease', async (t) => {
    const { leases, another } = await fresh(t);
    const clients = [leases, await another(), await another()];
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, index) => clients[index % 3]!.acquire('relay', `holder-${index}`, TTL_MS)),
    );
    const given = answers.filter((lease): lease is Lease => lease !== undefined);
    t.equal(given.length, 1);
    t.match(given[0], { name: 'relay', holder: /^holder-/ });
    t.ok(Number.isInteger(given[0]!.fence) && given[0]!.fence > 0);
    for (const client of clients)
      t.match(await client.read('relay'), { holder: given[0]!.holder, fence: given[0]!.fence });
  });

  void t.test('names do not touch each other', async (t) => {
    const { leases } = await fresh(t);
    t.ok(await leases.acquire('relay', 'a', TTL_MS));
    t.ok(await leases.acquire('sweep', 'b', TTL_MS));
    t.equal(await leases.read('other'), undefined);
  });

  void t.test('a lease ends when its time is over, and the next holder has a higher fence', async (t) => {
    const { leases, another } = await fresh(t);
    const other = await another();
    const first = (await leases.acquire('relay', 'a', TTL_MS))!;
    t.ok(Math.abs(first.untilMs - harness.now() - TTL_MS) <= 2);
    await harness.pass(TTL_MS - 1_000);
    t.equal(await other.acquire('relay', 'b', TTL_MS), undefined);
    const seen = (await other.read('relay'))!;
    t.ok(Math.abs(seen.untilMs - harness.now() - 1_000) <= 2, 'it says when to ask again');
    await harness.pass(1_001);
    t.equal(await other.read('relay'), undefined);
    const second = (await other.acquire('relay', 'b', TTL_MS))!;
    t.ok(second.fence > first.fence);
    t.equal(await leases.renew(first, TTL_MS), undefined);
    t.equal(await leases.acquire('relay', 'a', TTL_MS), undefined);
  });

  void t.test('what is renewed lasts, under the same fence', async (t) => {
    const { leases, another } = await fresh(t);
    const other = await another();
    let lease = (await leases.acquire('relay', 'a', TTL_MS))!;
    const { fence } = lease;
    for (let round = 0; round < 5; round += 1) {
      await harness.pass(TTL_MS / 2);
      lease = (await leases.renew(lease, TTL_MS))!;
      t.equal(lease.fence, fence);
      t.equal(await other.acquire('relay', 'b', TTL_MS), undefined);
    }
  });

  void t.test(
    'a lease that has ended cannot be renewed, even where nobody took it: others have seen it free',
    async (t) => {
      const { leases } = await fresh(t);
      const first = (await leases.acquire('relay', 'a', TTL_MS))!;
      await harness.pass(TTL_MS + 1);
      t.equal(await leases.renew(first, TTL_MS), undefined);
      const again = (await leases.acquire('relay', 'a', TTL_MS))!;
      t.ok(again.fence > first.fence);
    },
  );

  void t.test('who holds the name is given it again with the same fence: the answer may have been lost', async (t) => {
    const { leases } = await fresh(t);
    const first = (await leases.acquire('relay', 'a', TTL_MS))!;
    await harness.pass(TTL_MS / 2);
    const again = (await leases.acquire('relay', 'a', TTL_MS))!;
    t.equal(again.fence, first.fence);
    await harness.pass(TTL_MS - 1_000);
    t.match(await leases.read('relay'), { holder: 'a' }, 'it lasts from the second call on');
  });

  void t.test('a release frees the name at once; that of an older lease frees nothing', async (t) => {
    const { leases, another } = await fresh(t);
    const other = await another();
    const first = (await leases.acquire('relay', 'a', TTL_MS))!;
    await leases.release(first);
    await leases.release(first);
    t.equal(await leases.read('relay'), undefined);
    t.equal(await leases.renew(first, TTL_MS), undefined);
    const second = (await other.acquire('relay', 'b', TTL_MS))!;
    t.ok(second.fence > first.fence);
    await leases.release(first);
    t.match(await leases.read('relay'), { holder: 'b', fence: second.fence });
  });

  void t.test('closing a client frees what it holds and nothing else', async (t) => {
    const { leases, another } = await fresh(t);
    const other = await another();
    t.ok(await leases.acquire('relay', 'a', TTL_MS));
    const kept = (await other.acquire('sweep', 'b', TTL_MS))!;
    await leases.close();
    t.equal(await other.read('relay'), undefined);
    t.match(await other.renew(kept, TTL_MS), { fence: kept.fence });
  });

  void t.test('whatever happens: one holder at a time, and fences rise with the holders', async (t) => {
    const step = fc.record({
      client: fc.nat(2),
      act: fc.constantFrom('acquire', 'renew', 'release', 'pass'),
      ms: fc.integer({ min: 1, max: 6_000 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        keepers += 1;
        const keeper = `keeper-${keepers}`;
        const clients = await Promise.all([0, 1, 2].map(() => harness.open(keeper)));
        /** The lease that each client holds, and the time for which it may rely on it. */
        const held = new Map<number, { lease: Lease; leftMs: number }>();
        let lastFence = 0;
        for (const { client, act, ms } of steps) {
          const leases = clients[client]!;
          const own = held.get(client);
          if (act === 'pass') {
            await harness.pass(ms);
            for (const holding of held.values()) holding.leftMs -= ms;
          } else if (act === 'acquire') {
            const lease = await leases.acquire('x', `holder-${client}`, ms);
            const others = [...held].some(([other, { leftMs }]) => other !== client && leftMs > 1);
            if (lease !== undefined && others) throw new Error('two hold it at once');
            if (lease === undefined && !others && ![...held.values()].some(({ leftMs }) => leftMs > -1))
              throw new Error('free, but refused');
            if (lease === undefined) continue;
            if (lease.fence < lastFence) throw new Error('the fence went back');
            if (lease.fence === lastFence && own?.lease.fence !== lastFence)
              throw new Error('a new holder has an old fence');
            lastFence = lease.fence;
            held.set(client, { lease, leftMs: ms });
          } else if (own !== undefined) {
            if (act === 'release') {
              await leases.release(own.lease);
              held.delete(client);
              continue;
            }
            const renewed = await leases.renew(own.lease, ms);
            if ((renewed === undefined) !== own.leftMs <= 0 && Math.abs(own.leftMs) > 1)
              throw new Error('renewed beyond its end, or refused before');
            if (renewed === undefined) held.delete(client);
            else held.set(client, { lease: renewed, leftMs: ms });
          }
        }
        await Promise.all(clients.map((client) => client.close()));
      }),
      { numRuns: 20 },
    );
    t.pass('held');
  });
};
