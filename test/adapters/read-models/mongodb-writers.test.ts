/**
 * Read models in MongoDB under writers that come late, break off or rebuild beside each other; and what is left of what
 * was removed.
 */
import t, { type Test } from 'tap';
import { openMongo, type Db, type Mongo } from '../../../src/adapters/mongodb/client.js';
import { openMongoReadModels } from '../../../src/adapters/read-models/mongodb.js';
import type { Logger } from '../../../src/domain/ports/logger.js';
import {
  CheckpointMoved,
  type Document,
  type LookupFault,
  type ReadModels,
} from '../../../src/domain/ports/read-models.js';
import { anEmail, emailsSpec, put, timersSpec } from '../../contracts/read-models-fixtures.js';
import { mongoServer } from '../../support/servers.js';

const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => silent };

type Place = Readonly<{
  db: Db;
  /** Another process; `beforeWrite` is awaited before each bulk is sent. */
  open: (
    options?: Readonly<{ beforeWrite?: () => Promise<void>; beforeRead?: () => Promise<void>; now?: () => number }>,
  ) => Promise<ReadModels>;
}>;

const placeOf = async (t: Test): Promise<Place | undefined> => {
  const server = await mongoServer(t);
  if (server === undefined) return undefined;
  const connect = (): Promise<Mongo> => openMongo({ url: server.url, logger: silent });
  const { db, close } = await connect();
  t.teardown(close);
  return {
    db,
    open: async ({ beforeWrite, beforeRead, now = Date.now } = {}) => {
      const mongo = await connect();
      const written = beforeWrite === undefined ? mongo.db : heldBack(mongo.db, beforeWrite);
      const held = { ...mongo, db: beforeRead === undefined ? written : readLate(written, beforeRead) };
      const readModels = openMongoReadModels({ mongo: held, clock: { now }, logger: silent });
      t.teardown(() => readModels.close());
      return readModels;
    },
  };
};

const overlaid = <Target extends object>(
  target: Target,
  name: string,
  call: (...given: unknown[]) => unknown,
): Target =>
  new Proxy(target, {
    get: (whole, key) => {
      if (key === name) return call;
      const value: unknown = Reflect.get(whole, key, whole);
      return typeof value === 'function' ? (value.bind(whole) as unknown) : value;
    },
  });

/** A database whose bulk writes wait for `beforeWrite`. */
const heldBack = (db: Db, beforeWrite: () => Promise<void>): Db =>
  overlaid(db, 'collection', (name) => {
    const collection = db.collection(String(name));
    return overlaid(collection, 'bulkWrite', async (...given) => {
      await beforeWrite();
      return collection.bulkWrite(...(given as Parameters<typeof collection.bulkWrite>));
    });
  });

/** A database whose reads of lists wait for `beforeRead`. Looks at the catalog do not wait. */
const readLate = (db: Db, beforeRead: () => Promise<void>): Db =>
  overlaid(db, 'collection', (name) => {
    const collection = db.collection(String(name));
    if (!String(name).startsWith('rm.')) return collection;
    return overlaid(collection, 'find', (...given) => ({
      toArray: async () => {
        await beforeRead();
        return collection.find(...(given as Parameters<typeof collection.find>)).toArray();
      },
    }));
  });

/** `pass` waits until it is opened; `reached` resolves when somebody waits. */
const gate = (): Readonly<{ reached: Promise<void>; open: () => void; pass: () => Promise<void> }> => {
  let [reach, open] = [(): void => {}, (): void => {}];
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const opened = new Promise<void>((resolve) => (open = resolve));
  const pass = (): Promise<void> => {
    reach();
    return opened;
  };
  return { reached, open: () => open(), pass };
};

const found = async (readModels: ReadModels): Promise<readonly (readonly unknown[])[]> =>
  (await readModels.find('emails', { where: {}, limit: 100 })).map(({ id, status, position }) => [
    id,
    status,
    position,
  ]);

void t.test(
  'what a frozen writer has sent and arrives late changes nothing that others have folded since',
  async (t) => {
    const place = await placeOf(t);
    if (place === undefined) return;
    const { reached, open, pass } = gate();
    const [readModels, late] = [await place.open(), await place.open({ beforeWrite: pass })];
    const store = await readModels.projection('emails', [emailsSpec]);
    const frozen = await late.projection('emails', [emailsSpec]);
    await put(
      store,
      [1, 2, 3].map((seq) => anEmail(seq, { text: `first ${seq}` })),
    );
    const from = await frozen.checkpoint();
    const position = from.position + 1;
    const old = [1, 2, 3, 4, 5].map((seq) => ({ ...anEmail(seq, { text: `old ${seq}`, status: 'old' }), position }));
    const writing = frozen.write(
      [{ collection: 'emails', put: old, remove: [{ id: 'id-0003', position }] }],
      from,
      position,
    );
    await reached;
    await put(store, [], ['id-0005']);
    await put(store, [anEmail(1, { status: 'sent' }), anEmail(3, { status: 'sent', text: 'first 3' })], ['id-0002']);
    open();
    await t.rejects(writing, CheckpointMoved);
    t.same(
      await found(readModels),
      [
        ['id-0004', 'old', position],
        ['id-0003', 'sent', position + 1],
        ['id-0001', 'sent', position + 1],
      ],
      'what nobody else has folded is written as it will be folded again',
    );
    t.equal(await readModels.count('emails', { where: { teamId: { eq: 'team-1' } }, search: 'old' }, 9), 1);
  },
);

void t.test(
  'two that put the same new document at the same moment: the later state stands, whoever is first',
  async (t) => {
    const place = await placeOf(t);
    if (place === undefined) return;
    const [one, two] = [await place.open(), await place.open()];
    const stores = [await one.projection('emails', [emailsSpec]), await two.projection('emails', [emailsSpec])];
    for (let round = 0; round < 20; round += 1) {
      const from = await stores[0]!.checkpoint();
      const writes = stores.map((store, index) => {
        const position = from.position + 1 + index;
        return store.write(
          [{ collection: 'emails', put: [{ ...anEmail(1_000 + round), position }], remove: [] }],
          from,
          position,
        );
      });
      const outcomes = await Promise.allSettled(writes);
      const won = outcomes.findIndex(({ status }) => status === 'fulfilled');
      const { position } = (await one.get('emails', anEmail(1_000 + round).id))!;
      t.ok(position >= from.position + 1 + won, 'no older state than that of the winner');
    }
  },
);

void t.test(
  'a writer that is late by a whole rebuild is refused, and leaves nothing in the new generation',
  async (t) => {
    const place = await placeOf(t);
    if (place === undefined) return;
    const { reached, open, pass } = gate();
    const [readModels, late] = [await place.open(), await place.open({ beforeWrite: pass })];
    await readModels.projection('emails', [emailsSpec]);
    const frozen = await late.projection('emails', [emailsSpec]);
    const writing = frozen.write(
      [{ collection: 'emails', put: [anEmail(1)], remove: [] }],
      await frozen.checkpoint(),
      1,
    );
    await reached;
    const rebuild = await readModels.rebuild('emails');
    await put(rebuild.store, [anEmail(2)]);
    await rebuild.commit();
    open();
    await t.rejects(writing, CheckpointMoved);
    t.same(await found(readModels), [['id-0002', 'queued', 1]]);
    await (await place.open()).projection('emails', [emailsSpec]);
    const names = (await place.db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name);
    t.same(
      names.filter((name) => name.startsWith('rm.')).sort(),
      ['rm.emails.2.emails', 'rm.emails.2.emails.search'],
      'the next start drops what it made anew',
    );
  },
);

void t.test(
  'a read of collections that are dropped meanwhile is made again, whether it finds nothing or is broken off',
  async (t) => {
    const place = await placeOf(t);
    if (place === undefined) return;
    for (const isBroken of [false, true]) {
      const { reached, open, pass } = gate();
      let reads = 0;
      const beforeRead = async (): Promise<void> => {
        reads += 1;
        if (reads !== 1) return;
        await pass();
        if (isBroken) throw new Error('the collection was dropped');
      };
      const [readModels, reader] = [await place.open(), await place.open({ beforeRead })];
      const store = await readModels.projection('emails', [emailsSpec]);
      await put(store, [anEmail(1)]);
      t.ok(await reader.get('emails', 'id-0001'));
      const reading = found(reader);
      await reached;
      const rebuild = await readModels.rebuild('emails');
      await put(rebuild.store, [anEmail(1), anEmail(2)]);
      await rebuild.commit();
      open();
      t.same((await reading).length, 2);
      t.equal(reads, 2);
    }
  },
);

void t.test('the rest of a removed document has its id, its position and a date, and goes by that', async (t) => {
  const place = await placeOf(t);
  if (place === undefined) return;
  const readModels = await place.open({ now: () => Date.UTC(2026, 0, 1) });
  const store = await readModels.projection('emails', [emailsSpec, timersSpec]);
  await put(store, [anEmail(1, { text: 'anna' })]);
  await put(store, [], ['id-0001', 'id-0002']);
  const collection = place.db.collection<{ _id: string }>('rm.emails.1.emails');
  const goneAt = new Date(Date.UTC(2026, 0, 1));
  t.same(await collection.find({}, { sort: { _id: 1 } }).toArray(), [
    { _id: 'id-0001', position: 2, goneAt },
    { _id: 'id-0002', position: 2, goneAt },
  ]);
  for (const name of ['emails', 'timers']) {
    const indexes = await place.db.collection(`rm.emails.1.${name}`).indexes();
    t.match(
      indexes.find(({ key }) => 'goneAt' in key),
      { expireAfterSeconds: 86_400, sparse: true },
    );
  }
});

void t.test(
  'a document that is put without what is personal keeps nothing of it, nor does its row, whoever wrote that',
  async (t) => {
    const place = await placeOf(t);
    if (place === undefined) return;
    const spec = { ...emailsSpec, personal: ['subject', 'text'] };
    const [one, two] = [await place.open(), await place.open()];
    const [first, second] = [await one.projection('emails', [spec]), await two.projection('emails', [spec])];
    const whole = (seq: number): Document =>
      anEmail(seq, { subject: 'for Anna', text: 'for anna', terms: ['recipient:anna'] });
    await put(first, [whole(1), whole(2), whole(3)]);
    await put(first, [anEmail(1, { status: 'archived' })]);
    // Without having read it before.
    await put(second, [anEmail(2, { status: 'archived' })]);
    await put(second, [], ['id-0003']);
    for (const name of ['rm.emails.1.emails', 'rm.emails.1.emails.search']) {
      const left = await place.db.collection(name).find({}).toArray();
      t.equal(left.length, 3);
      t.notMatch(JSON.stringify(left), /anna|grams/i, name);
    }
  },
);

void t.test('a document whose personal text loses a part is found by nothing of that part', async (t) => {
  const place = await placeOf(t);
  if (place === undefined) return;
  const store = await (await place.open()).projection('emails', [{ ...emailsSpec, personal: ['subject', 'text'] }]);
  const both = { text: 'for anna\nfor bea', terms: ['recipient:anna', 'recipient:bea'] };
  const left = { text: 'for bea', terms: ['recipient:bea'] };
  const { generation } = await store.checkpoint();
  // As a runner goes on: what it has written or read it does not ask for again.
  const write = (position: number, documents: readonly Document[]): Promise<void> => {
    const put = documents.map((document) => ({ ...document, position }));
    return store.write([{ collection: 'emails', put, remove: [] }], { position: position - 1, generation }, position);
  };
  await write(1, [anEmail(1, both), anEmail(2, both), anEmail(3, left)]);
  await write(2, [anEmail(1, left)]);
  await store.getMany('emails', ['id-0002']);
  await write(3, [anEmail(2, left)]);
  const search = place.db.collection<{ _id: string; grams: number[] }>('rm.emails.1.emails.search');
  const rows = await search.find({}, { sort: { _id: 1 } }).toArray();
  for (const { _id, grams } of rows) t.strictSame(grams, rows[2]!.grams, _id);
});

void t.test('any JSON comes back as it was put', async (t) => {
  const place = await placeOf(t);
  if (place === undefined) return;
  const readModels = await place.open();
  const store = await readModels.projection('emails', [emailsSpec]);
  const nested = {
    'a.b': { $set: 1, $where: '$x', '': null, __proto__: 'p' },
    'c\0d': ['$$ROOT', { $literal: [1e300, -0.5, 2 ** 53 - 1] }],
  };
  const email = {
    ...anEmail(1),
    variables: nested,
    metadata: { 'x.y': 'z', $type: 'q' },
    lone: '\ud800',
    $top: 1,
    'dotted.top': 2,
  } as Document;
  await put(store, [email]);
  t.equal(JSON.stringify(await readModels.get('emails', 'id-0001')), JSON.stringify({ ...email, position: 1 }));
});

void t.test(
  'a rebuild whose process is gone makes room for another after two minutes, and is refused when it comes back',
  async (t) => {
    const place = await placeOf(t);
    if (place === undefined) return;
    let now = Date.UTC(2026, 0, 1);
    const [one, two] = [await place.open({ now: () => now }), await place.open({ now: () => now })];
    await one.projection('emails', [emailsSpec]);
    const gone = await one.rebuild('emails');
    await put(gone.store, [anEmail(1)]);
    now += 119_000;
    await t.rejects(two.rebuild('emails'), /a rebuild of the projection emails is under way/);
    now += 2_000;
    const next = await two.rebuild('emails');
    await put(next.store, [anEmail(2)]);
    await t.rejects(put(gone.store, [anEmail(3)]), CheckpointMoved);
    await t.rejects(gone.commit(), CheckpointMoved);
    await next.commit();
    t.same(await found(one), [['id-0002', 'queued', 1]]);
    const names = (await place.db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name);
    t.same(names.filter((name) => name.startsWith('rm.')).sort(), ['rm.emails.4.emails', 'rm.emails.4.emails.search']);
  },
);

void t.test('a field, a position or a number of the search that is not as the document has it is named', async (t) => {
  const place = await placeOf(t);
  if (place === undefined) return;
  const readModels = await place.open();
  const store = await readModels.projection('emails', [emailsSpec, timersSpec]);
  await put(
    store,
    [1, 2, 3, 4].map((seq) => anEmail(seq, { text: `anna ${seq}`, terms: ['tag:a'] })),
  );
  const inspection = (await readModels.inspect('emails', [emailsSpec, timersSpec]))!;
  t.teardown(() => inspection.close());
  const faults = async (): Promise<LookupFault[]> => {
    const all: LookupFault[] = [];
    for await (const fault of inspection.lookupFaults()) all.push(fault);
    return all;
  };
  t.same(await faults(), []);
  const collection = place.db.collection<{ _id: string }>('rm.emails.1.emails');
  const rows = place.db.collection<{ _id: string; grams: number[] }>('rm.emails.1.emails.search');
  await collection.updateOne({ _id: 'id-0002' }, { $set: { f_status: 'sent' } });
  await rows.updateOne({ _id: 'id-0003' }, { $pop: { grams: 1 } });
  await rows.deleteOne({ _id: 'id-0001' });
  await collection.updateOne({ _id: 'id-0004' }, { $set: { position: 99 } });
  t.same(await faults(), [
    { collection: 'emails', id: 'id-0001', field: 'text', in: 'search index' },
    { collection: 'emails', id: 'id-0002', field: 'status', in: 'column' },
    { collection: 'emails', id: 'id-0003', field: 'text', in: 'search index' },
    { collection: 'emails', id: 'id-0004', field: 'position', in: 'column' },
  ]);
});
