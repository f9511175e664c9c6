/**
 * A long stretch of the log is read in a thread of its own, and nobody can tell: the same events, in the same order, as
 * long as they are wanted.
 */
import { unlinkSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { isLong, pack, readAhead, unpack } from '../../../src/adapters/event-store/read-ahead.js';
import { openSqliteEventStore } from '../../../src/adapters/event-store/sqlite.js';
import type { EventBatch, EventStore, EventToStore, StoredEvent } from '../../../src/domain/ports/event-store.js';
import { temporaryDirectory } from '../../support/data-directory.js';

const EVENTS = 24_000;
const PER_STREAM = 400;
const LONG_FROM = 20_000;

const eventOf = (n: number): EventToStore => ({
  eventId: `id-${n}`,
  type: `Type${n % 3}.v1`,
  data: JSON.stringify({ n, text: 'é✓' }),
  metadata: `{"n":${n}}`,
  hash: `${n}`,
  sealed: n % 3 === 0 ? undefined : Buffer.from(n % 3 === 1 ? '' : `sealed ${n} ✓`),
});

const filled = async (file: string): Promise<EventStore> => {
  const store = openSqliteEventStore({ file, longFrom: LONG_FROM });
  for (let n = 0; n < EVENTS; n += PER_STREAM) {
    const kind = (n / PER_STREAM) % 4 === 0 ? 'ledger' : 'email';
    await store.append(
      `${kind}-${n}`,
      -1,
      Array.from({ length: PER_STREAM }, (_, index) => eventOf(n + index)),
    );
  }
  return store;
};

const file = join(temporaryDirectory(t), 'events.db');
const stored = filled(file);
t.teardown(async () => (await stored).close());

/** With sealed parts as text, for Buffers and views of one are equal then. */
const read = async (batches: AsyncIterable<EventBatch>): Promise<unknown[]> => {
  const all: unknown[] = [];
  for await (const batch of batches) {
    all.push(
      ...batch.events.map(({ sealed, ...event }) => ({ ...event, sealed: sealed && Buffer.from(sealed).toString() })),
    );
  }
  return all;
};

void t.test('the same events as in short stretches, whatever the filter and the batches', async (t) => {
  const store = await stored;
  t.ok(isLong({ after: 0, upTo: EVENTS }, LONG_FROM));
  const STEP = 6_000;
  const short = async (kinds?: readonly string[]): Promise<unknown[]> => {
    // The last stretch is short for the store; those before are cut out of reads that begin later and later.
    const all: unknown[] = [];
    for (let after = 0; after < EVENTS; after += STEP) {
      const part = await read(store.readAll(after, { ...(kinds === undefined ? {} : { kinds }), batchSize: 777 }));
      all.push(...part.filter((event) => (event as StoredEvent).position <= after + STEP));
    }
    return all;
  };
  t.equal((await short()).length, EVENTS);
  t.strictSame(await read(store.readAll(0)), await short());
  const kinds = ['ledger'];
  const ledger = await read(store.readAll(0, { kinds, batchSize: 333 }));
  t.equal(ledger.length, EVENTS / 4);
  t.strictSame(ledger, await short(kinds));
  t.same(await read(store.readAll(0, { kinds: ['nothing'] })), []);
  const sizes: number[] = [];
  for await (const batch of store.readAll(0, { batchSize: 999 })) sizes.push(batch.events.length);
  t.equal(Math.max(...sizes), 999);
});

void t.test('whoever stops early, by a break or by the signal, is left in peace', async (t) => {
  const store = await stored;
  let seen = 0;
  for await (const batch of store.readAll(0, { batchSize: 10 })) {
    seen += batch.events.length;
    if (seen >= 50) break;
  }
  t.equal(seen, 50);
  const stop = new AbortController();
  seen = 0;
  for await (const batch of store.readAll(0, { batchSize: 10, signal: stop.signal })) {
    seen += batch.events.length;
    stop.abort();
  }
  t.equal(seen, 10);
  t.same(await read(store.readAll(0, { signal: AbortSignal.abort() })), []);
});

void t.test('a file that cannot be read rejects', async (t) => {
  const gone = join(temporaryDirectory(t), 'gone.db');
  await openSqliteEventStore({ file: gone }).close();
  unlinkSync(gone);
  await t.rejects(
    read(readAhead({ file: gone, after: 0, upTo: 1_000_000, batchSize: 10, kinds: undefined }, undefined)),
  );
});

void t.test('packed events come back as they were', async (t) => {
  const event = fc.record({
    eventId: fc.string(),
    stream: fc.string(),
    revision: fc.nat(),
    position: fc.nat(),
    type: fc.string(),
    data: fc.string(),
    metadata: fc.string(),
    hash: fc.string(),
    sealed: fc.option(fc.uint8Array(), { nil: undefined }),
  });
  const plain = (events: readonly StoredEvent[]): unknown =>
    events.map((one) => ({ ...one, sealed: one.sealed && [...one.sealed] }));
  fc.assert(
    fc.property(fc.array(event), fc.nat(), (events, position) => {
      const batch = unpack(pack({ events, position }));
      t.equal(batch.position, position);
      t.strictSame(plain(batch.events), plain(events));
    }),
    { numRuns: 50 },
  );
});
