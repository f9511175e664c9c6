/** The contract of every store of what processes tell of themselves. */
import type { Test } from 'tap';
import type { Processes } from '../../src/domain/ports/processes.js';

export type ProcessesHarness = Readonly<{
  /** One more client of that store; the first makes it. */
  open: (store: string) => Promise<Processes>;
  /** Lets that much of the store's time pass. */
  pass: (ms: number) => Promise<void>;
}>;

const [FIRST, SECOND] = ['0192f3c0-0000-7000-8000-000000000001', '0192f3c0-0000-7000-8000-000000000002'];

export const processesSuite = (t: Test, { open, pass }: ProcessesHarness): void => {
  let stores = 0;
  const fresh = async (t: Test): Promise<readonly [Processes, Processes]> => {
    stores += 1;
    const [one, other] = [await open(`store-${stores}`), await open(`store-${stores}`)];
    t.teardown(() => Promise.all([one.close(), other.close()]));
    return [one, other];
  };

  void t.test('every client reads what each process told last, in the order of ids', async (t) => {
    const [one, other] = await fresh(t);
    t.same(await one.read(), [], 'none before the first');
    await other.tell(SECOND, { name: 'b' }, 1_000);
    await one.tell(FIRST, { name: 'a', 'of.$dots': [1, { deep: null }] }, 1_000);
    await one.tell(FIRST, { name: 'a', 'of.$dots': [2, { deep: null }] }, 1_000);
    for (const client of [one, other])
      t.same(await client.read(), [{ name: 'a', 'of.$dots': [2, { deep: null }] }, { name: 'b' }]);
  });

  void t.test('a process that tells nothing more is not shown when its time is over', async (t) => {
    const [one, other] = await fresh(t);
    await one.tell(FIRST, { n: 1 }, 1_000);
    await other.tell(SECOND, { n: 2 }, 1_000);
    await pass(600);
    await one.tell(FIRST, { n: 3 }, 1_000);
    await pass(500);
    t.same(await other.read(), [{ n: 3 }]);
    await other.tell(SECOND, { n: 4 }, 1_000);
    t.same(await one.read(), [{ n: 3 }, { n: 4 }], 'it may come again');
  });

  void t.test('a process that ends is forgotten at once, alone', async (t) => {
    const [one, other] = await fresh(t);
    await one.tell(FIRST, { n: 1 }, 1_000);
    await other.tell(SECOND, { n: 2 }, 1_000);
    await one.forget(FIRST);
    await one.forget(FIRST);
    t.same(await other.read(), [{ n: 2 }]);
  });
};
