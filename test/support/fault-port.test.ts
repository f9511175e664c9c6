/** That the faults of the tests strike where they should. */
import t from 'tap';
import type { EventStore } from '../../src/domain/ports/event-store.js';
import { faultPort } from './fault-port.js';

const deeds: string[] = [];
const store: EventStore = {
  append: async (stream) => {
    deeds.push(stream);
    return { kind: 'done', revision: 0, position: deeds.length };
  },
  positions: 'dense',
  readStream: async () => [],
  readLast: async () => undefined,
  readAll: async function* () {
    yield { events: [], position: 1 };
  },
  subscribeAll: async function* () {
    yield { events: [], position: 1 };
  },
  head: async () => deeds.length,
  types: async () => new Map(),
  close: async () => undefined,
};
const error = new Error('disk full');
const first = async (batches: AsyncIterable<unknown>): Promise<unknown> => {
  for await (const batch of batches) return batch;
  return undefined;
};

void t.test('the k-th call fails, those before and after it do not', async (t) => {
  deeds.length = 0;
  const { port, calls } = faultPort(store, { failCall: 2, error });
  t.match(await port.append('a', -1, []), { position: 1 });
  await t.rejects(port.append('b', -1, []), error);
  t.match(await port.append('c', -1, []), { position: 2 });
  t.same(deeds, ['a', 'c']);
  t.equal(calls(), 3);
});

void t.test('only the named functions count, and a deed can be done though its answer is lost', async (t) => {
  deeds.length = 0;
  const { port } = faultPort(store, { failCall: 1, error, only: ['append'], afterwards: true });
  t.equal(await port.head(), 0);
  await t.rejects(port.append('a', -1, []), error);
  t.same(deeds, ['a']);
});

void t.test('iterables fail when they are read, other functions throw', async (t) => {
  const { port } = faultPort(store, { failCall: 1, error });
  const batches = port.readAll(0);
  await t.rejects(first(batches), error);
  t.same(await first(port.readAll(0)), { events: [], position: 1 });
  const clock = faultPort({ now: () => 5 }, { failCall: 1, error });
  t.throws(() => clock.port.now(), error);
  t.equal(clock.port.now(), 5);
});
