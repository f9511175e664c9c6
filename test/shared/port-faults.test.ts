/** Faults of a port, of the ports that it answers, and of its iterations pass through one function. */
import t from 'tap';
import { tellingFaults } from '../../src/shared/port-faults.js';

class Away extends Error {
  override readonly name = 'Away';
}

const fails = (): never => {
  throw new Error('no route');
};

const tell = (fault: unknown): unknown => (fault instanceof Error && fault.message === 'no route' ? new Away() : fault);

void t.test('what is thrown, rejected, and what comes out of iterations and answered ports', async (t) => {
  const port = tellingFaults(
    {
      name: 'a port',
      sync: () => fails(),
      late: async () => fails(),
      other: async () => Promise.reject(new RangeError('not ours')),
      all: async function* () {
        yield 1;
        fails();
      },
      inner: async () => ({ read: async () => fails(), deeper: { scan: () => fails() } }),
    },
    tell,
  );
  t.equal(port.name, 'a port');
  t.throws(() => port.sync(), Away);
  await t.rejects(port.late(), Away);
  await t.rejects(port.other(), RangeError);
  const seen: unknown[] = [];
  await t.rejects(async () => {
    for await (const value of port.all()) seen.push(value);
  }, Away);
  t.same(seen, [1]);
  const inner = await port.inner();
  await t.rejects(inner.read(), Away);
  t.throws(() => inner.deeper.scan(), Away);
});

void t.test('answers are passed on as they are, with a promise or without', async (t) => {
  const data = { a: 1, list: [1] };
  const map = new Map([['a', () => 1]]);
  let isClosed = false;
  const port = tellingFaults(
    {
      now: () => data,
      soon: async () => map,
      all: async function* () {
        try {
          yield 1;
          yield 2;
        } finally {
          isClosed = true;
        }
      },
    },
    tell,
  );
  t.equal(port.now(), data);
  t.equal(await port.soon(), map);
  for await (const value of port.all()) {
    t.equal(value, 1);
    break;
  }
  t.ok(isClosed, 'an iteration that is left ends the one behind it');
});
