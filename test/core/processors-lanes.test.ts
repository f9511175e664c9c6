/** Lanes: order within a stream, work side by side across streams, faults that end nothing, and a drain at the end. */
import fc from 'fast-check';
import t from 'tap';
import { runLanes } from '../../src/processors/core/lanes.js';

type Item = Readonly<{ key: string; number: number }>;

async function* from<T>(items: readonly T[]): AsyncGenerator<T> {
  for (const item of items) yield item;
}

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

void t.test('whatever comes: all is handled once, in order within a key, one at a time of a key', async () => {
  const items = fc.array(
    fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), turns: fc.nat(3), fails: fc.boolean() }),
    {
      maxLength: 60,
    },
  );
  await fc.assert(
    fc.asyncProperty(items, async (given) => {
      const handled: (Item & { key: string })[] = [];
      const faults: number[] = [];
      const busy = new Set<string>();
      const work = given.map((item, number) => ({ ...item, number }));
      await runLanes(from(work), {
        keyOf: ({ key }) => key,
        handle: async (item) => {
          if (busy.has(item.key)) throw new Error('TWO AT ONCE');
          busy.add(item.key);
          await turns(item.turns);
          busy.delete(item.key);
          handled.push(item);
          if (item.fails) throw new Error('expected');
        },
        onFault: (item, fault) => {
          if ((fault as Error).message !== 'expected') throw fault;
          faults.push(item.number);
        },
      });
      if (handled.length !== work.length)
        throw new Error(`${handled.length} of ${work.length} were handled when it ended`);
      for (const key of new Set(work.map((item) => item.key))) {
        const numbers = handled.filter((item) => item.key === key).map(({ number }) => number);
        if (numbers.some((number, index) => index > 0 && number < numbers[index - 1]!))
          throw new Error(`${key} out of order`);
      }
      if (
        JSON.stringify(faults.sort()) !==
        JSON.stringify(
          work
            .filter(({ fails }) => fails)
            .map(({ number }) => number)
            .sort(),
        )
      )
        throw new Error('each fault is told once');
    }),
    { numRuns: 60 },
  );
});

void t.test('lanes do not wait for one another', async (t) => {
  const [slow, quick] = ['a', 'b'];
  let release: (() => void) | undefined;
  const done: string[] = [];
  const running = runLanes(from([slow, slow, quick, quick]), {
    keyOf: (key) => key,
    handle: async (key) => {
      if (key === slow && release === undefined) await new Promise<void>((resolve) => (release = resolve));
      done.push(key);
    },
    onFault: (_, fault) => void t.fail(String(fault)),
  });
  await turns(10);
  t.same(done, [quick, quick]);
  release!();
  await running;
  t.same(done, [quick, quick, slow, slow]);
});

void t.test('however many are slow, what comes after them waits for none', async (t) => {
  const releases: (() => void)[] = [];
  const done: string[] = [];
  const running = runLanes(from([...Array.from({ length: 500 }, (_, at) => `slow-${at}`), 'quick']), {
    keyOf: (key) => key,
    handle: async (key) => {
      if (key !== 'quick') await new Promise<void>((resolve) => releases.push(resolve));
      done.push(key);
    },
    onFault: (_, fault) => void t.fail(String(fault)),
  });
  await turns(10);
  t.same(done, ['quick']);
  for (const release of releases) release();
  await running;
  t.equal(done.length, 501);
});

void t.test('a handler that throws at once is a fault of its item alone', async (t) => {
  const done: number[] = [];
  const faults: number[] = [];
  await runLanes(from([1, 2, 3]), {
    keyOf: () => 'one',
    handle: (item) => {
      if (item === 2) throw new Error('at once');
      done.push(item);
      return Promise.resolve();
    },
    onFault: (item) => void faults.push(item),
  });
  t.same([done, faults], [[1, 3], [2]]);
});

void t.test('a source that fails ends the run with its fault; an empty one ends it quietly', async (t) => {
  const failing = async function* (): AsyncGenerator<number> {
    yield 1;
    throw new Error('source');
  };
  const options = { keyOf: String, handle: async () => {}, onFault: () => {} };
  await t.rejects(runLanes(failing(), options), { message: 'source' });
  await t.resolves(runLanes(from<number>([]), options));
});

void t.test(
  'a source that fails is reported when every lane has drained: whoever starts again has no one beside it',
  async (t) => {
    const failing = async function* (): AsyncGenerator<number> {
      yield* [1, 2, 3];
      throw new Error('source');
    };
    const releases: (() => void)[] = [];
    const done: number[] = [];
    let fault: unknown;
    const running = runLanes(failing(), {
      keyOf: (item) => (item === 3 ? '1' : String(item)),
      handle: async (item) => {
        await new Promise<void>((resolve) => releases.push(resolve));
        done.push(item);
      },
      onFault: () => {},
    }).catch((reported: unknown) => (fault = reported));
    await turns(10);
    t.equal(releases.length, 2);
    t.equal(fault, undefined, 'two are still at work');
    for (const release of releases) release();
    await turns(10);
    t.equal(fault, undefined, 'what waits in a lane is done, too');
    releases.at(-1)!();
    await running;
    t.match(fault, { message: 'source' });
    t.same(done, [1, 2, 3]);
  },
);
