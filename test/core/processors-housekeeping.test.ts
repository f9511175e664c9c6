/**
 * The workers that keep house: seals over the log, sweeping of what has outlived its time, and deadlines of single
 * calls.
 */
import t from 'tap';
import { deleteEmail } from '../../src/commands/email/emails.js';
import { emailStream, LEDGER_STREAM } from '../../src/domain/core/ids.js';
import type { Mailbox } from '../../src/domain/ports/mailbox.js';
import { verifyLog } from '../../src/event-log/verification.js';
import type { LogNote, NotedStores } from '../../src/domain/ports/log-note.js';
import { noteLogWorker, openSealNotices, sealLedgerWorker } from '../../src/processors/audit/ledger.js';
import { eraseWorker } from '../../src/processors/privacy/erasure.js';
import { sweepWorker } from '../../src/processors/retention/removal.js';
import { openDeadlines } from '../../src/processors/core/processor.js';
import { at, DAY_MS, T0 } from '../support/email-facts.js';
import { caller } from '../support/command-world.js';
import { fakeClock } from '../support/fake-clock.js';
import { deliverEmailWorker, openProcessorWorld, timersAndTheirWork, until } from '../support/processor-world.js';

void t.test('the ledger is sealed at the start and every minute in which something happened', async (t) => {
  const world = await openProcessorWorld(t);
  const seals = async () => (await world.store.readStream(LEDGER_STREAM)).length;
  const { stop, done } = world.run(sealLedgerWorker({ ...world.processing, store: world.store }));
  await until(async () => (await seals()) === 1, 'what was there is sealed');
  await world.clock.whenWaiting(2);
  await world.clock.advance(60_000);
  t.equal(await seals(), 1, 'nothing happened, nothing is sealed');
  await world.send();
  await world.clock.whenWaiting(2);
  await world.clock.advance(59_999);
  t.equal(await seals(), 1);
  await world.clock.advance(1);
  await until(async () => (await seals()) === 2, 'the email is sealed');
  const { finding, seal } = await verifyLog(world.store, undefined);
  t.equal(finding, undefined);
  t.equal(seal?.count, 2, 'the email, and the seal before');
  t.match((await world.deps.eventLog.load(LEDGER_STREAM)).at(-1), {
    event: { data: { at: at(120) } },
    metadata: { actor: 'processor:seal-ledger' },
  });
  await world.clock.whenWaiting(2);
  await stop();
  await t.resolves(done);
});

void t.test(
  'two that seal at once: one wins, the other ends with the conflict or finds nothing to do, and the log is in order',
  async (t) => {
    const world = await openProcessorWorld(t);
    const one = world.run(sealLedgerWorker({ ...world.processing, store: world.store }));
    const two = world.run(sealLedgerWorker({ ...world.processing, ...world.elsewhere(), store: world.store }));
    const ends = Promise.allSettled([one.done, two.done]);
    await until(async () => (await world.store.readStream(LEDGER_STREAM)).length === 1, 'one seal');
    await Promise.allSettled([one.stop(), two.stop()]);
    const faults = (await ends).flatMap((end) => (end.status === 'rejected' ? [(end.reason as Error).name] : []));
    t.ok(faults.length <= 1 && faults.every((name) => name === 'WrongExpectedRevision'), faults.join());
    t.equal((await world.store.readStream(LEDGER_STREAM)).length, 1);
    t.equal((await verifyLog(world.store, undefined)).finding, undefined);
  },
);

void t.test(
  'the newest seal is told once at each place, and again where that failed; no log line names the place',
  async (t) => {
    const world = await openProcessorWorld(t);
    const tell: string[] = [];
    const posted: Readonly<{ url: string; body: string }>[] = [];
    const file: unknown[] = [];
    const mailed: string[] = [];
    let status = 500;
    const telling = openSealNotices({
      store: world.store,
      logger: { ...world.processing.logger, warn: (fields: object) => void tell.push(JSON.stringify(fields)) },
      sealing: { webhook: 'https://notary.example/secret', keep: async (seal) => void file.push(seal) },
      mail: async ({ at }) => void mailed.push(at),
      webhooks: {
        outbound: {
          post: async (url, { body }) => (posted.push({ url, body }), { status, retryAfter: undefined, body: '' }),
        },
      },
    });
    const now = new AbortController().signal;
    await telling(now);
    t.equal(posted.length, 0, 'there is no seal yet');
    const { stop, done } = world.run(sealLedgerWorker({ ...world.processing, store: world.store, tell: telling }));
    await until(async () => posted.length === 1, 'the first seal is told');
    await stop();
    await done;
    await telling(now);
    status = 204;
    await telling(now);
    await telling(now);
    t.equal(posted.length, 3, 'twice in vain');
    t.equal(file.length, 1);
    t.equal(mailed.length, 1);
    const { seal } = await verifyLog(world.store, undefined);
    t.match(JSON.parse(posted[2]!.body), { position: seal!.position, root: seal!.root, count: seal!.count });
    t.equal(tell.length, 2);
    t.notMatch(tell.join(), /notary|secret/);
  },
);

void t.test('files past their expiry and mails past the retention are removed, hour by hour', async (t) => {
  const world = await openProcessorWorld(t);
  const forgotten: string[] = [];
  const mailbox = {
    forgetBefore: async (time: string) => {
      forgotten.push(time);
      return 2;
    },
  } as Partial<Mailbox> as Mailbox;
  await world.files.put(Buffer.from('kept'));
  await world.files.put(Buffer.from('short'), { expiresAt: at(1_800) });
  await world.files.put(Buffer.from('long'), { expiresAt: at(7_200) });
  const { stop } = world.run(sweepWorker({ ...world.processing, mailbox }));
  const sizes: number[] = [];
  for (let hour = 0; hour < 3; hour += 1) {
    await until(() => forgotten.length === hour + 1 && world.clock.waiting() === 2, `hour ${hour} is swept`);
    sizes.push(world.files.stored.size);
    for (let part = 0; part < 12; part += 1) await world.clock.advance(300_000);
  }
  t.same(sizes, [3, 2, 1]);
  t.equal(forgotten[0], new Date(Date.parse(T0) - 30 * DAY_MS).toISOString());
  t.match(
    world.logger.lines.filter(({ message }) => message === 'swept').map(({ fields }) => fields),
    [
      { files: 0, mails: 2 },
      { files: 1, mails: 2 },
      { files: 1, mails: 2 },
    ],
  );
  await stop();
  const without = world.run(sweepWorker({ ...world.processing, mailbox: undefined }));
  await until(() => world.clock.waiting() === 2, 'without a mailbox too');
  await without.stop();
});

void t.test(
  'after a week in which nobody ran, the files of an email that is due since then are still there',
  async (t) => {
    const world = await openProcessorWorld(t);
    const id = await world.send({ scheduledAt: at(3_600) });
    await world.files.put(Buffer.from('its document'), { expiresAt: at(3_600 + (7 * DAY_MS) / 1_000) });
    await world.files.put(Buffer.from('older'), { expiresAt: at(1_800) });
    await world.clock.set(Date.parse(T0) + 9 * DAY_MS);
    const { stop } = world.run(sweepWorker({ ...world.processing, mailbox: undefined }));
    await until(() => world.clock.waiting() === 2, 'it has swept');
    t.equal(world.files.stored.size, 1, 'what belongs to no email that waits is gone');
    await stop();
    world.run(deliverEmailWorker(world.processing));
    world.run(timersAndTheirWork(world.processing));
    await until(async () => {
      await world.clock.advance(1_000);
      return (await world.commands.getEmail(caller, id)).status === 'sent';
    }, 'it has left');
    const after = world.run(sweepWorker({ ...world.processing, mailbox: undefined }));
    await until(() => world.files.stored.size === 0, 'its files have outlived their time now');
    await after.stop();
  },
);

void t.test('while the clock is not to be believed nothing is swept and nothing archived; then both are', async (t) => {
  let isBelieved = false;
  const world = await openProcessorWorld(t, { mayDestroy: () => isBelieved });
  const old = await world.send();
  world.run(deliverEmailWorker(world.processing));
  await world.publish(old);
  await world.reaches(old, 'sent');
  await world.files.put(Buffer.from('short'), { expiresAt: at(1_800) });
  await world.clock.set(Date.parse(T0) + 31 * DAY_MS);
  world.run(sweepWorker({ ...world.processing, mailbox: undefined }));
  world.run(timersAndTheirWork(world.processing));
  const pass = async (): Promise<void> => {
    for (let part = 0; part < 7; part += 1) {
      await world.clock.advance(600_000);
      await world.settled();
    }
  };
  await pass();
  t.equal(world.files.stored.size, 1);
  t.equal(world.keys.ids().length, 1);
  isBelieved = true;
  await pass();
  await until(() => world.keys.ids().length === 0, 'the key is destroyed');
  await until(() => world.files.stored.size === 0, 'the file is swept');
});

void t.test(
  'the ledger tells each hour that the instance is there, and first how long it was away; it verifies',
  async (t) => {
    const world = await openProcessorWorld(t);
    const seen = async () =>
      (await world.deps.eventLog.load(LEDGER_STREAM)).flatMap(({ event }) =>
        event.type === 'InstanceSeen' ? [event.data] : [],
      );
    const { stop } = world.run(sealLedgerWorker({ ...world.processing, store: world.store, awayMs: 7 * DAY_MS }));
    await until(async () => (await seen()).length === 1, 'the first');
    // A store that answers late may be waited for while the hour ends.
    for (let part = 0; part < 40 && (await seen()).length < 3; part += 1) await world.clock.advance(300_000);
    t.same(
      (await seen()).map(({ awayMs }) => awayMs),
      [7 * DAY_MS, null, null],
    );
    await world.send();
    const seals = async (): Promise<number> =>
      (await world.deps.eventLog.load(LEDGER_STREAM)).filter(({ event }) => event.type === 'LedgerSealed').length;
    for (let part = 0; part < 5 && (await seals()) < 2; part += 1) await world.clock.advance(60_000);
    t.match(await verifyLog(world.store, undefined), { finding: undefined, seals: 2 });
    await stop();
    const again = world.run(sealLedgerWorker({ ...world.processing, store: world.store, awayMs: 30_000 }));
    await world.clock.whenWaiting(2);
    t.equal((await seen()).length, 3, 'a restart is no absence');
    await again.stop();
  },
);

void t.test(
  'what died between the fact and the destruction is erased at the start, and what an older copy of the keys brings back',
  async (t) => {
    const world = await openProcessorWorld(t);
    const attachments = [{ filename: 'a.txt', content: 'AAAA', contentType: 'text/plain' }];
    const [archived, deleted, kept] = [
      await world.send({ attachments }),
      await world.send({ attachments }),
      await world.send({ attachments }),
    ];
    const older = world.keys.copy();
    const dying = {
      ...world.deps,
      eventLog: { ...world.deps.eventLog, destroyKey: () => Promise.reject(new Error('died')) },
    };
    for (const id of [archived, deleted]) await t.rejects(deleteEmail(dying, caller, id), { message: 'died' });
    t.equal(world.keys.ids().length, 3);
    const reads: number[] = [];
    let looks = 0;
    const readTypes: string[] = [];
    const store = {
      ...world.store,
      head: () => {
        looks += 1;
        return world.store.head();
      },
      readAll: async function* (...given: Parameters<typeof world.store.readAll>) {
        reads.push(given[0]);
        for await (const batch of world.store.readAll(...given)) {
          readTypes.push(...batch.events.map(({ type }) => type));
          yield batch;
        }
      },
    };
    const deps = { ...world.processing, store, keys: world.keys, files: world.files };
    const first = world.run(eraseWorker(deps));
    await until(() => world.keys.ids().length === 1, 'the keys are destroyed');
    await until(() => world.clock.waiting() === 2, 'and it waits');
    t.equal(world.files.stored.size, 1, 'their files are gone');
    t.not(await world.deps.eventLog.existingKey(emailStream(kept)), undefined);
    const head = await world.deps.eventLog.head();
    t.equal((await world.keys.mark())?.position, head);
    const again = async (title: string): Promise<void> => {
      const before = looks;
      await world.clock.advance(60_000);
      await until(() => looks > before && world.clock.waiting() === 2, title);
    };
    await again('it looks again');
    t.same(reads, [0], 'nothing is new, so nothing is read');
    for (let count = 0; count < 5; count += 1) await world.send();
    await again('and again');
    t.same(reads, [0, head], 'from where it stood');
    t.same(
      readTypes,
      ['EmailDeleted.v1', 'EmailArchived.v1', 'EmailDeleted.v1', 'EmailArchived.v1'],
      'of all events only those that erase were read',
    );
    t.equal((await world.keys.mark())?.position, await world.deps.eventLog.head());
    await first.stop();

    world.keys.restore(older);
    t.equal(world.keys.ids().length, 3);
    const second = world.run(eraseWorker(deps));
    await until(() => world.keys.ids().length === 1, 'destroyed again');
    t.equal(reads.at(-1), 0, 'from the mark of the older copy');
    await second.stop();
  },
);

void t.test('generated documents are kept for a week, temporary files for a day', async (t) => {
  const world = await openProcessorWorld(t);
  const { generatedFileDays, temporaryFileHours } = world.deps.limits;
  t.same([generatedFileDays, temporaryFileHours], [7, 24]);
  const startMs = Date.parse(T0);
  const document = await world.files.put(Buffer.from('document'), {
    expiresAt: new Date(startMs + generatedFileDays * DAY_MS).toISOString(),
  });
  const preview = await world.files.put(Buffer.from('preview'), {
    expiresAt: new Date(startMs + temporaryFileHours * 3_600_000).toISOString(),
  });
  const { stop } = world.run(sweepWorker({ ...world.processing, mailbox: undefined }));
  const afterHours = async (hours: number): Promise<readonly string[]> => {
    while (world.clock.now() < startMs + hours * 3_600_000) {
      await until(() => world.clock.waiting() === 2, 'an hour is swept');
      await world.clock.advance(3_600_000);
    }
    await until(() => world.clock.waiting() === 2, 'the last hour is swept');
    return [...world.files.stored.keys()].filter((hash) => hash === document || hash === preview);
  };
  t.same(await afterHours(23), [document, preview]);
  t.same(await afterHours(24), [document]);
  t.same(await afterHours(7 * 24 - 1), [document]);
  t.same(await afterHours(7 * 24), []);
  await stop();
});

void t.test(
  'a deadline aborts each call when its time is over, or with the parent, and one timer serves them all',
  async (t) => {
    const clock = fakeClock();
    const parent = new AbortController();
    const deadlines = openDeadlines(clock, 1_000, parent.signal);
    const aborted = (signal: AbortSignal): Promise<string> =>
      new Promise((resolve) => {
        if (signal.aborted) resolve('at once');
        else signal.addEventListener('abort', () => resolve('aborted'));
      });
    t.equal(await deadlines.within(async (signal) => (signal.aborted ? 'aborted' : 'in time')), 'in time');
    await t.rejects(
      deadlines.within(() => Promise.reject(new Error('fault'))),
      { message: 'fault' },
    );
    t.equal(clock.waiting(), 1);

    const over: string[] = [];
    const start = (name: string) =>
      deadlines.within(aborted).then((end) => {
        over.push(name);
        return end;
      });
    await clock.advance(200);
    const first = start('first');
    await clock.advance(300);
    const second = start('second');
    t.equal(clock.waiting(), 1);
    await clock.advance(699);
    t.same(over, []);
    await clock.advance(1);
    t.equal(await first, 'aborted');
    t.same(over, ['first'], 'the second has time left');
    await clock.advance(300);
    t.equal(await second, 'aborted');
    t.equal(clock.waiting(), 0, 'nothing is under way, so nothing waits');

    const cut = deadlines.within(aborted);
    parent.abort();
    t.equal(await cut, 'aborted');
    t.equal(await deadlines.within(aborted), 'at once');
    deadlines.close();
    t.equal(clock.waiting(), 0);
  },
);

void t.test('a call is cut off when its time is over, or with the program, and not with the lease', async (t) => {
  const clock = fakeClock();
  const [lost, cutOff] = [new AbortController(), new AbortController()];
  const parent = AbortSignal.any([cutOff.signal, lost.signal]);
  const deadlines = openDeadlines(clock, 1_000, parent, cutOff.signal);
  const first = deadlines.begin();
  await clock.advance(500);
  const second = deadlines.begin();
  lost.abort();
  t.same(
    [first, second].map(({ signal }) => signal.aborted),
    [true, true],
  );
  t.same(
    [first, second].map(({ cut }) => cut.aborted),
    [false, false],
  );
  await clock.advance(500);
  t.same(
    [first, second].map(({ cut }) => cut.aborted),
    [true, false],
  );
  cutOff.abort();
  t.ok(second.cut.aborted);
  deadlines.close();
  await clock.advance(0);
  t.equal(clock.waiting(), 0);
});

void t.test(
  'where the log ends is noted in each store, the keys last: at the start, and every minute in which something happened',
  async (t) => {
    const world = await openProcessorWorld(t);
    const written: string[] = [];
    const notes = new Map<string, LogNote>();
    const noted = (place: string) => ({
      place,
      note: async () => notes.get(place),
      setNote: async (note: LogNote) => {
        written.push(place);
        notes.set(place, note);
      },
      close: async () => {},
    });
    const stores: NotedStores = {
      keys: { ...noted('keys'), isDestroyed: async () => false, destroyed: () => [] },
      files: { ...noted('files'), has: async () => true },
      readModels: noted('read models'),
    };
    const { stop, done } = world.run(noteLogWorker({ ...world.processing, store: world.store, noted: stores }));
    await until(() => written.length === 3, 'the start is noted');
    t.same(written, ['files', 'read models', 'keys']);
    t.match(notes.get('keys'), { instance: world.store.events[0]!.hash, hash: world.store.events.at(-1)!.hash });
    await world.clock.whenWaiting(2);
    await world.clock.advance(60_000);
    await world.clock.whenWaiting(2);
    t.equal(written.length, 3, 'nothing happened, nothing is written');
    await world.send();
    await world.clock.advance(60_000);
    await until(() => written.length === 6, 'the email is noted');
    const last = world.store.events.at(-1)!;
    for (const place of ['files', 'read models', 'keys'])
      t.match(notes.get(place), { instance: world.store.events[0]!.hash, position: last.position, hash: last.hash });
    await world.clock.whenWaiting(2);
    await stop();
    await t.resolves(done);
  },
);
