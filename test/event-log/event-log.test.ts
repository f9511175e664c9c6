/** The log over its ports: sealing, destroyed keys, what is too large, what was written last, conflicts. */
import fc from 'fast-check';
import t from 'tap';
import {
  openEventLog,
  startOf,
  versionOf,
  type Cause,
  type EventLog,
  type StreamVersion,
} from '../../src/event-log/event-log.js';
import type { EmailEvent } from '../../src/domain/email/events.js';
import { UnreadableEvent } from '../../src/event-log/codec.js';
import type { Recorded } from '../../src/domain/events.js';
import type { StoredEvent } from '../../src/domain/ports/event-store.js';
import type { Unreadable } from '../../src/event-log/decode.js';
import { chainHash, chainStart } from '../../src/event-log/hash-chain.js';
import { AppendUnknown, LeaseSuperseded, WrongExpectedRevision } from '../../src/domain/core/errors.js';
import { emailStream, assertDefined, parseEmailId, type StreamName } from '../../src/domain/core/ids.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { accepted, at, attempted, content, EMAIL_ID, queued, sent, T0, TEAM_ID } from '../support/email-facts.js';
import { fakeClock } from '../support/fake-clock.js';
import { countingIds, memoryEventStore, memoryFiles, memoryKeys } from '../support/memory-ports.js';

const stream = emailStream(assertDefined(parseEmailId(EMAIL_ID), 'email id'));
const other = emailStream(assertDefined(parseEmailId(EMAIL_ID.replace('a', 'b')), 'email id'));
const cause: Cause = {
  teamId: TEAM_ID,
  actor: 'apiKey:key_1',
  correlationId: 'request-1',
  causationId: 'cause-1',
  at: T0,
};
const history: readonly EmailEvent[] = [queued, attempted(1, at(1)), sent(1, at(2), [0, 'accepted'])];

const world = (inlineBytesMax = 1_000, hotBytesMax = defaultLimits.hotBytesMax) => {
  const ports = {
    store: memoryEventStore(),
    keys: memoryKeys(),
    files: memoryFiles(),
    ids: countingIds(),
    clock: fakeClock(),
    limits: { ...defaultLimits, eventPayloadInlineBytesMax: inlineBytesMax, hotBytesMax },
  };
  const appended: unknown[] = [];
  const open = (bytesMax = hotBytesMax): EventLog =>
    openEventLog({
      ...ports,
      limits: { ...ports.limits, hotBytesMax: bytesMax },
      onAppended: (...what) => void appended.push(what),
    });
  return { ...ports, appended, eventLog: followed(open()), open };
};

/** An event log with a follower in this process, so that its writes are remembered. */
const followed = (eventLog: EventLog): EventLog => {
  void (async () => {
    for await (const { events } of eventLog.subscribeAll(0, { signal: new AbortController().signal }))
      if (events.length === 0) throw new Error('an empty batch');
  })();
  return eventLog;
};

const eventsOf = (recorded: readonly Recorded[]) => recorded.map(({ event }) => event);
const all = async (eventLog: EventLog, batchSize = 1_000): Promise<readonly Recorded[]> => {
  const found: Recorded[] = [];
  for await (const { events } of eventLog.readAll(0, { batchSize })) found.push(...events);
  return found;
};

void t.test('what is appended is read back, here and by another process, with its place and cause', async (t) => {
  const { eventLog, open, appended } = world();
  const tail = await eventLog.append(stream, startOf(stream), history.slice(0, 1), cause);
  const end = await eventLog.append(stream, tail, history.slice(1), { ...cause, at: at(2) });
  t.equal(end.revision, 2);
  for (const reader of [eventLog, open()]) {
    const recorded = await reader.load(stream);
    t.strictSame(eventsOf(recorded), history);
    t.strictSame(
      recorded.map(({ stream: of, revision, position }) => [of, revision, position]),
      [
        [stream, 0, 1],
        [stream, 1, 2],
        [stream, 2, 3],
      ],
    );
    t.strictSame(recorded[0]!.metadata, {
      eventId: '00000000-0000-7000-8000-000000000001',
      teamId: TEAM_ID,
      occurredAt: T0,
      actor: 'apiKey:key_1',
      correlationId: 'request-1',
      causationId: 'cause-1',
      keyId: '1',
      recipientKeys: ['2', '3', '4'],
    });
    t.equal(recorded[2]!.metadata.occurredAt, at(2));
    t.equal(recorded[2]!.hash, end.hash);
    t.strictSame(eventsOf(await reader.load(stream, 1)), history.slice(1));
    t.strictSame(await reader.load(other), []);
    t.strictSame(eventsOf(await all(reader, 2)), history);
    t.equal(await reader.head(), 3);
  }
  t.strictSame(
    appended,
    [
      [stream, TEAM_ID, 1],
      [stream, TEAM_ID, 3],
    ],
    'each append is told of, once it is durable',
  );
});

void t.test('the store sees nothing personal, and a chain that holds', async (t) => {
  const { eventLog, store, keys } = world();
  await eventLog.append(stream, startOf(stream), history, cause);
  let previous = chainStart(stream);
  for (const event of store.events) {
    t.equal(event.hash, chainHash(previous, stream, event.revision, event));
    previous = event.hash;
  }
  const bytes = Buffer.concat(
    store.events.flatMap(({ data, metadata, sealed }) => [
      Buffer.from(data),
      Buffer.from(metadata),
      Buffer.from(sealed ?? []),
    ]),
  ).toString('latin1');
  for (const personal of ['ann@example.org', 'Ann', 'Order 17', 'shop@example.com', 'X-Order', '4711'])
    t.notOk(bytes.includes(personal), personal);
  t.strictSame(keys.ids(), ['1', '2', '3', '4'], 'one key for one email, and one for each of its recipients');
});

void t.test('a stream without anything personal has no key', async (t) => {
  const { eventLog, keys } = world();
  await eventLog.append(stream, startOf(stream), [attempted(1, T0)], cause);
  t.strictSame(keys.ids(), []);
  t.equal(await eventLog.existingKey(stream), undefined);
});

void t.test('with the key destroyed nobody reads the sealed part, the writer with its memory neither', async (t) => {
  const { eventLog, open, keys } = world();
  await eventLog.append(stream, startOf(stream), history, cause);
  await eventLog.append(other, startOf(other), [queued], cause);
  t.strictSame(eventsOf(await eventLog.load(stream)), history);
  await eventLog.destroyKey(stream);
  await eventLog.destroyKey(stream);
  t.strictSame(keys.ids(), ['5', '6', '7', '8'], 'the keys of the other');
  const without = history.map((event) => ('sealed' in event ? { ...event, sealed: undefined } : event));
  for (const reader of [eventLog, open()]) {
    t.strictSame(eventsOf(await reader.load(stream)), without);
    t.strictSame(eventsOf(await all(reader)), [...without, queued], 'another email is not touched');
    t.strictSame(eventsOf(await reader.load(other)), [queued]);
  }
});

void t.test(
  'after its key is destroyed a stream goes on, without anything personal and without a second key',
  async (t) => {
    const { eventLog, open, keys, store } = world();
    const tail = await eventLog.append(stream, startOf(stream), history.slice(0, 2), cause);
    await eventLog.destroyKey(stream);
    await eventLog.append(stream, tail, [sent(1, at(2), [0, 'accepted'])], cause);
    t.strictSame(keys.ids(), []);
    t.equal(store.events[2]!.sealed, undefined);
    for (const reader of [eventLog, open()])
      t.strictSame(
        eventsOf(await reader.load(stream)),
        history.map((event) => ('sealed' in event ? { ...event, sealed: undefined } : event)),
      );
  },
);

void t.test('a key that is destroyed while an append is under way leaves nothing in memory', async (t) => {
  const { eventLog, store } = world();
  const tail = await eventLog.append(stream, startOf(stream), history.slice(0, 2), cause);
  store.beforeAppend(async () => {
    store.beforeAppend(undefined);
    await eventLog.destroyKey(stream);
  });
  await eventLog.append(stream, tail, [sent(1, at(2), [0, 'accepted'])], cause);
  t.match(eventsOf(await eventLog.load(stream)), [{ sealed: undefined }, {}, { type: 'EmailSent', sealed: undefined }]);
});

void t.test(
  'what was written last is known with its place, until another process was faster or its key is destroyed',
  async (t) => {
    const { eventLog, open, store, keys } = world();
    const begun = await eventLog.append(other, startOf(other), [queued], cause);
    t.equal(eventLog.written(other, begun.position + 1), undefined, 'not up to another place');
    t.match(eventLog.written(other, begun.position), [
      { event: queued, revision: 0, hash: begun.hash, metadata: { keyId: begun.keyId } },
    ]);
    const gone = await open().append(other, begun, [attempted(1, at(1))], cause);
    await t.rejects(eventLog.append(other, begun, [attempted(1, at(1))], cause), { name: 'WrongExpectedRevision' });
    t.equal(eventLog.written(other, begun.position), undefined, 'another was faster');
    await eventLog.append(other, gone, [sent(1, at(2), [0, 'accepted'])], cause);
    t.equal(eventLog.written(other, store.events.at(-1)!.position), undefined, 'its beginning is not known');

    const { getMany } = keys;
    let asked = 0;
    Object.assign(keys, { getMany: (ids: readonly string[]) => ((asked += 1), getMany(ids)) });
    const alone = { ...content, recipients: content.recipients.slice(0, 1) };
    const single: EmailEvent = { type: 'EmailQueued', data: { ...accepted, roles: ['to'] }, sealed: alone };
    const first = await eventLog.append(stream, startOf(stream), [single], cause);
    const last = await eventLog.append(stream, first, [attempted(1, at(1)), sent(1, at(2), [0, 'accepted'])], cause);
    t.equal(asked, 0, 'its key is at hand');
    t.equal(eventLog.written(stream, last.position)?.length, 3);
    t.strictSame(eventsOf(await open().load(stream)), [single, attempted(1, at(1)), sent(1, at(2), [0, 'accepted'])]);
    await eventLog.destroyKey(stream);
    t.equal(eventLog.written(stream, last.position), undefined);
  },
);

void t.test('what has no room in the memory of waiting streams is read again', async (t) => {
  const { eventLog, open } = world(100_000, 64 * 1024);
  const wide = await eventLog.append(stream, startOf(stream), [large(2_000)], cause);
  t.equal(eventLog.written(stream, wide.position), undefined, 'an event takes a 64th of it at most');
  t.strictSame(eventsOf(await eventLog.load(stream)), [large(2_000)]);
  const roomy = followed(open(1024 * 1024));
  const streams = Array.from({ length: 200 }, (_, n) =>
    emailStream(assertDefined(parseEmailId(EMAIL_ID.slice(0, -3) + String(100 + n)), 'email id')),
  );
  const placed = [];
  for (const one of streams) placed.push(await roomy.append(one, startOf(one), [large(8_000)], cause));
  const known = placed.filter(({ position }, n) => roomy.written(streams[n]!, position) !== undefined).length;
  t.ok(known > 50 && known < 128, `${known} of 200 have room`);
  t.ok(roomy.written(streams[0]!, placed[0]!.position), 'the one that waits longest is kept');
});

void t.test('a sealed part belongs to its event: moved to another it is not opened', async (t) => {
  const { store, eventLog, open } = world();
  await eventLog.append(stream, startOf(stream), history, cause);
  const [first, , last] = store.events;
  store.events[2] = { ...last!, sealed: first!.sealed };
  await t.rejects(open().load(stream), /belong to another key or context/);
});

const large = (chars: number): EmailEvent => ({
  type: 'EmailQueued',
  data: accepted,
  sealed: { ...content, subject: 'x'.repeat(chars) },
});
const wide = (chars: number): EmailEvent => ({
  type: 'EmailQueued',
  data: { ...accepted, templateName: 'y'.repeat(chars) },
  sealed: content,
});

void t.test('what is too large for an event stands in a file, sealed where it is personal', async (t) => {
  const { eventLog, open, store, files } = world();
  await eventLog.append(stream, startOf(stream), [large(5_000)], cause);
  t.equal(files.stored.size, 1);
  t.equal(store.events[0]!.sealed, undefined);
  t.notOk([...files.stored.values()][0]!.toString('latin1').includes('xxxx'), 'the file is ciphertext');
  await eventLog.append(other, startOf(other), [wide(5_000)], cause);
  t.equal(store.events[1]!.data, '{}');
  t.equal(files.stored.size, 2);
  for (const reader of [eventLog, open()]) {
    t.strictSame(eventsOf(await reader.load(stream)), [large(5_000)]);
    t.strictSame(eventsOf(await reader.load(other)), [wide(5_000)]);
    const { metadata } = (await reader.load(stream))[0]!;
    t.ok(files.stored.has(metadata.sealedFile!));
    t.equal(metadata.dataFile, undefined);
  }
  await eventLog.destroyKey(stream);
  t.strictSame(
    eventsOf(await open().load(stream)),
    [{ ...large(5_000), sealed: undefined }],
    'the file is of no use without the key',
  );
});

void t.test(
  'a sealed file that is lost is a fault, unless the stream is being erased; a lost data file always is one',
  async (t) => {
    const { eventLog, open, files } = world();
    await eventLog.append(stream, startOf(stream), [large(5_000)], cause);
    const { metadata } = (await eventLog.load(stream))[0]!;
    await files.delete(metadata.sealedFile!);
    await t.rejects(open().load(stream), { code: 'EVENT_UNREADABLE', message: /its file [0-9a-f]{64} is missing/ });
    const last = versionOf((await eventLog.load(stream)).at(-1)!);
    await eventLog.append(stream, last, [{ type: 'EmailArchived', data: { at: T0 } }], cause);
    t.strictSame(eventsOf(await open().load(stream))[0], { ...large(5_000), sealed: undefined });
    await eventLog.append(other, startOf(other), [wide(5_000)], cause);
    await files.delete((await eventLog.load(other))[0]!.metadata.dataFile!);
    await t.rejects(open().load(other), { code: 'EVENT_UNREADABLE', message: /its file [0-9a-f]{64} is missing/ });
  },
);

void t.test('the chain covers a payload in a file by its hash', async (t) => {
  const { eventLog, store } = world();
  await eventLog.append(stream, startOf(stream), [large(5_000)], cause);
  const [event] = store.events;
  const forged = {
    ...event!,
    metadata:
      event!.metadata.replace(/"sealedFile":"./, '"sealedFile":"0') === event!.metadata
        ? event!.metadata.replace(/"sealedFile":"0/, '"sealedFile":"1')
        : event!.metadata.replace(/"sealedFile":"./, '"sealedFile":"0'),
  };
  t.not(forged.metadata, event!.metadata);
  t.not(chainHash(chainStart(stream), stream, 0, forged), event!.hash);
});

void t.test('who read an older revision writes nothing', async (t) => {
  const { eventLog, store, appended } = world();
  const tail = await eventLog.append(stream, startOf(stream), [queued], cause);
  await eventLog.append(stream, tail, [attempted(1, T0)], cause);
  const [late, double] = await Promise.allSettled([
    eventLog.append(stream, tail, [attempted(1, T0)], cause),
    eventLog.append(stream, startOf(stream), [queued], cause),
  ]);
  t.match(late, { status: 'rejected', reason: { name: 'WrongExpectedRevision', stream, expected: 0, actual: 1 } });
  t.match(double, { status: 'rejected', reason: { name: 'WrongExpectedRevision', stream, expected: -1, actual: 1 } });
  t.equal(store.events.length, 2);
  t.equal(appended.length, 2);
});

void t.test('of many who append at once to one place, one wins', async (t) => {
  const { eventLog } = world();
  const results = await Promise.allSettled(
    Array.from({ length: 20 }, () => eventLog.append(stream, startOf(stream), [queued], cause)),
  );
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
  t.equal((await eventLog.load(stream)).length, 1);
});

void t.test('an event of another writer at a known place is not taken for ours', async (t) => {
  const { eventLog, store } = world();
  await eventLog.append(stream, startOf(stream), [attempted(1, T0)], cause);
  const [event] = store.events;
  const data = JSON.stringify({ ...attempted(1, T0).data, host: 'elsewhere' });
  store.events[0] = { ...event!, data, hash: chainHash(chainStart(stream), stream, 0, { ...event!, data }) };
  t.match(eventsOf(await eventLog.load(stream)), [{ data: { host: 'elsewhere' } }]);
});

void t.test('an event that is not of its schema is not written, one that is unknown not read', async (t) => {
  const { eventLog, open, store } = world();
  await t.rejects(
    eventLog.append(stream, startOf(stream), [{ type: 'EmailDeleted', data: { at: 5 } } as never], cause),
    UnreadableEvent,
  );
  t.equal(store.events.length, 0);
  await eventLog.append(stream, startOf(stream), [attempted(1, T0)], cause);
  store.events[0] = { ...store.events[0]!, type: 'EmailTeleported.v1' };
  await t.rejects(open().load(stream), {
    code: 'EVENT_UNKNOWN',
    message: /position 1 .*EmailTeleported\.v1.* newer version/,
  });
});

/** Damages of a stored event, each with its error. */
const damages: readonly Readonly<{
  name: string;
  change: (event: StoredEvent, sound: StoredEvent) => Partial<StoredEvent>;
  said: RegExp;
}>[] = [
  { name: 'data cut short', change: ({ data }) => ({ data: data.slice(0, -5) }), said: /is not JSON/ },
  { name: 'data of another shape', change: () => ({ data: '{"at":5}' }), said: /EmailQueued\.v1\// },
  { name: 'data that is no object', change: () => ({ data: 'null' }), said: /EmailQueued\.v1/ },
  {
    name: 'a time that is none',
    change: ({ data }) => ({ data: data.replace(/"at":"[^"]*"/, '"at":"soon"') }),
    said: /at: is no time/,
  },
  { name: 'metadata that is no JSON', change: () => ({ metadata: 'no JSON' }), said: /metadata is no JSON/ },
  {
    name: 'metadata cut short',
    change: ({ metadata }) => ({ metadata: metadata.slice(0, 100) }),
    said: /metadata is no JSON/,
  },
  { name: 'metadata that is no object', change: () => ({ metadata: '7' }), said: /metadata is no object/ },
  {
    name: 'metadata without a team',
    change: ({ metadata }) => ({ metadata: metadata.replace('"teamId"', '"x"') }),
    said: /no text teamId/,
  },
  {
    name: 'metadata of other types',
    change: ({ metadata }) => ({ metadata: metadata.replace(/"keyId":"\d+"/, '"keyId":7') }),
    said: /keyId/,
  },
  {
    name: 'a bit of the sealed part',
    change: ({ sealed }) => ({ sealed: flipped(sealed!) }),
    said: /sealed bytes were changed/,
  },
  { name: 'a sealed part cut short', change: ({ sealed }) => ({ sealed: sealed!.subarray(0, 9) }), said: /too short/ },
  { name: 'the sealed part taken away', change: () => ({ sealed: undefined }), said: /sealed part is missing/ },
  {
    name: 'the sealed part of another event',
    change: (_, { sealed }) => ({ sealed }),
    said: /sealed bytes were changed/,
  },
  {
    name: 'the sealed part of another event with the key and the id that belong to it',
    change: (_, { sealed, metadata, eventId }) => ({ sealed, metadata, eventId }),
    said: /sealed bytes were changed/,
  },
];

const flipped = (bytes: Uint8Array): Uint8Array => {
  const copy = Buffer.from(bytes);
  copy[copy.byteLength - 20]! ^= 1;
  return copy;
};

void t.test('an event that is damaged stops no reader of the whole log, and is told of once', async (t) => {
  for (const { name, change, said } of damages) {
    const { store, keys, files, ids, clock, limits } = world();
    const told: Unreadable[] = [];
    const eventLog = openEventLog({
      store,
      keys,
      files,
      ids,
      clock,
      limits,
      onUnreadable: (event) => void told.push(event),
    });
    const names = Array.from({ length: 3 }, (_, index) => `email-${index}` as StreamName);
    for (const stream of names) await eventLog.append(stream, startOf(stream), [queued], cause);
    store.events[1] = { ...store.events[1]!, hash: 'another', ...change(store.events[1]!, store.events[0]!) };
    for (let reader = 0; reader < 2; reader += 1) {
      for await (const { events, unreadable, position } of eventLog.readAll(0)) {
        t.strictSame(eventsOf(events), [queued, queued], name);
        t.match(
          unreadable,
          [{ position: 2, stream: names[1], revision: 0, storedType: 'EmailQueued.v1', unreadable: { message: said } }],
          name,
        );
        t.equal(position, 3);
      }
    }
    t.same(
      told.map(({ position }) => position),
      [2],
    );
    await t.rejects(
      eventLog.load(names[1]!),
      { code: 'EVENT_UNREADABLE', place: { position: 2 }, message: said },
      `${name}: who loads the stream`,
    );
    t.match(await eventLog.inspect(names[1]!), [{ position: 2, unreadable: { message: said } }]);
    for (const sound of [names[0]!, names[2]!])
      t.equal((await eventLog.load(sound)).length, 1, `${name}: the other streams`);
  }
});

void t.test('what a reader does not decrypt it looks at all the same', async (t) => {
  const open = damages.filter(({ name }) => !name.includes('sealed'));
  for (const { name, change, said } of open) {
    const { store, eventLog } = world();
    for (const stream of ['email-1', 'email-2'] as StreamName[])
      await eventLog.append(stream, startOf(stream), [queued], cause);
    store.events[0] = { ...store.events[0]!, hash: 'another', ...change(store.events[0]!, store.events[1]!) };
    for await (const { events, unreadable } of eventLog.readAll(0, { decrypt: [] })) {
      t.match(unreadable, [{ position: 1, unreadable: { message: said } }], name);
      t.equal(events[0]!.metadata.teamId, cause.teamId);
    }
  }
});

void t.test('a stream that lacks an event in its middle is not decided on', async (t) => {
  const { store, eventLog } = world();
  await eventLog.append(stream, startOf(stream), history, cause);
  store.events.splice(1, 1);
  await t.rejects(eventLog.load(stream), { code: 'EVENT_UNREADABLE', message: /revision 1 of the stream is missing/ });
  await t.rejects(eventLog.load(stream, 1), { code: 'EVENT_UNREADABLE' });
  t.equal((await eventLog.load(stream, 2)).length, 1);
});

void t.test('at an event of a newer program a reader ends, after all that stands before it', async (t) => {
  const { store, keys, files, ids, clock, limits } = world();
  const told: number[] = [];
  const eventLog = openEventLog({
    store,
    keys,
    files,
    ids,
    clock,
    limits,
    onUnreadable: ({ position }) => void told.push(position),
  });
  const names = Array.from({ length: 4 }, (_, index) => `email-${index}` as StreamName);
  for (const stream of names) await eventLog.append(stream, startOf(stream), [queued], cause);
  store.events[1] = { ...store.events[1]!, hash: 'another', data: '{' };
  store.events[2] = {
    ...store.events[2]!,
    hash: 'yet another',
    type: 'EmailQueued.v2',
    data: 'whatever',
    metadata: 'that is',
  };
  const reached: number[] = [];
  const read = async (options: Parameters<typeof eventLog.readAll>[1]): Promise<void> => {
    for await (const { position } of eventLog.readAll(0, options)) reached.push(position);
  };
  for (const options of [{}, { decrypt: [] }])
    await t.rejects(read(options), {
      code: 'EVENT_UNKNOWN',
      place: { position: 3, stream: names[2], storedType: 'EmailQueued.v2' },
    });
  t.same(reached, [2, 2]);
  t.same(told, [2, 3]);
  await t.rejects(read({ batchSize: 1 }), { code: 'EVENT_UNKNOWN' });
  t.same(reached, [2, 2, 1, 2]);
  for await (const { events, unreadable } of eventLog.readAll(0, { unknown: 'listed' })) {
    t.equal(events.length, 2);
    t.match(unreadable, [{ position: 2 }, { position: 3, unreadable: { message: /a newer one wrote it/ } }]);
  }
});

void t.test('a port that fails is no unreadable event: the reader is told', async (t) => {
  const { store, keys, files, ids, clock, limits } = world();
  const eventLog = openEventLog({ store, keys, files, ids, clock, limits });
  await eventLog.append(stream, startOf(stream), [queued], cause);
  await eventLog.append(other, startOf(other), [wide(5_000)], cause);
  const failing = () => Promise.reject(new Error('the disk refuses'));
  const noKeys = openEventLog({ store, keys: { ...keys, getMany: failing }, files, ids, clock, limits });
  const noFiles = openEventLog({ store, keys, files: { ...files, get: failing }, ids, clock, limits });
  for (const reader of [noKeys, noFiles]) await t.rejects(all(reader), { message: 'the disk refuses' });
});

void t.test('a subscriber gets what was there and what comes, and ends with its signal', async (t) => {
  const { eventLog } = world();
  let tail: StreamVersion = await eventLog.append(stream, startOf(stream), [queued], cause);
  const stop = new AbortController();
  const seen: Recorded[] = [];
  const reading = (async () => {
    for await (const { events } of eventLog.subscribeAll(0, { kinds: ['email'], signal: stop.signal })) {
      seen.push(...events);
      if (seen.length === 1) tail = await eventLog.append(stream, tail, [attempted(1, T0)], cause);
      else stop.abort();
    }
  })();
  await reading;
  t.strictSame(eventsOf(seen), [queued, attempted(1, T0)]);
  t.equal(tail.revision, 1);
});

void t.test(
  'a subscriber to some types passes over the others as they stand, and ends at one that no version of this program wrote',
  async (t) => {
    const { store, keys, files, ids, clock, limits } = world();
    const eventLog = openEventLog({ store, keys, files, ids, clock, limits });
    await eventLog.append(stream, startOf(stream), history, cause);
    await eventLog.append(other, startOf(other), history, cause);
    const third = 'email-3' as StreamName;
    await eventLog.append(third, startOf(third), [queued], cause);
    store.events[2] = { ...store.events[2]!, hash: 'another', data: '{' };
    store.events[5] = { ...store.events[5]!, hash: 'yet another', type: 'EmailLaunched.v1' };
    const seen: Recorded[] = [];
    const told: unknown[] = [];
    const reading = (async () => {
      const options = { kinds: ['email'], only: ['EmailQueued'], signal: new AbortController().signal } as const;
      for await (const { events, unreadable } of eventLog.subscribeAll(0, options)) {
        seen.push(...events);
        told.push(...unreadable);
      }
    })();
    await t.rejects(reading, { code: 'EVENT_UNKNOWN', place: { storedType: 'EmailLaunched.v1' } });
    t.strictSame(eventsOf(seen), [queued, queued]);
    t.same(told, []);
  },
);

void t.test('an append whose answer is lost is found again, or made again, once', async (t) => {
  const no = 'not written' as const;
  for (const deeds of [['written'], [no], [no, 'written'], [no, no], [no, no, no, 'written']] as const) {
    const { store, appended, clock, eventLog } = world();
    store.loseAnswers(deeds);
    let version: StreamVersion | undefined;
    void eventLog.append(stream, startOf(stream), history, cause).then((after) => (version = after));
    while (version === undefined) await clock.advance(10_000);
    t.match(version, { revision: 2, hash: store.events[2]!.hash, keyId: '1' });
    t.strictSame(eventsOf(await eventLog.load(stream)), history);
    t.equal(store.events.length, 3);
    t.equal(appended.length, 1);
  }
});

void t.test(
  'where it cannot be found out what became of an append, that is said, and nothing of it is known to be undone',
  async (t) => {
    const { store, clock, eventLog } = world();
    store.loseAnswers(['written']);
    store.failReads(Infinity);
    const appending = eventLog.append(stream, startOf(stream), history, cause).catch((fault: unknown) => fault);
    let fault: unknown;
    void appending.then((end) => (fault = end));
    while (fault === undefined) await clock.advance(10_000);
    t.ok(fault instanceof AppendUnknown);
    t.match(fault, { message: /the connection was lost|no connection/ });
    t.equal(store.events.length, 3);
    const eventIds = store.events.map(({ eventId }) => eventId);
    t.strictSame((fault as AppendUnknown).attempt, { after: -1, eventIds }, 'by these it can be found later');
  },
);

void t.test('an answer that is lost while another was faster is a conflict', async (t) => {
  const { store, eventLog, open } = world();
  store.loseAnswers(['not written']);
  store.beforeAppend(async () => {
    store.beforeAppend(undefined);
    store.loseAnswers([]);
    await open().append(stream, startOf(stream), [queued], cause);
    store.loseAnswers(['not written']);
  });
  await t.rejects(eventLog.append(stream, startOf(stream), history, cause), WrongExpectedRevision);
  t.equal(store.events.length, 1);
});

void t.test(
  'whichever keys are destroyed and whoever reads, the sealed part is there exactly while its key is',
  async () => {
    const streams = Array.from({ length: 4 }, (_, index) => `email-${index}` as StreamName);
    const action = fc.oneof(
      fc.record({ what: fc.constant('append' as const), which: fc.nat(3), chars: fc.constantFrom(1, 400, 3_000) }),
      fc.record({ what: fc.constant('destroy' as const), which: fc.nat(3), chars: fc.constant(0) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 25 }), async (actions) => {
        const { eventLog, open } = world();
        const tails = streams.map((name) => startOf(name));
        /** For each stream, the subjects in order; undefined once destroyed. */
        const model: (number | undefined)[][] = streams.map(() => []);
        for (const { what, which, chars } of actions) {
          if (what === 'append') {
            // After the destruction of a key its stream accepts no encrypted data.
            const open = model[which]!.length === 0 || model[which]!.some((known) => known !== undefined);
            tails[which] = await eventLog.append(streams[which]!, tails[which]!, [large(chars)], cause);
            model[which]!.push(open ? chars : undefined);
          } else {
            await eventLog.destroyKey(streams[which]!);
            model[which] = model[which]!.map(() => undefined);
          }
        }
        for (const reader of [eventLog, open()]) {
          for (const [index, name] of streams.entries()) {
            const found = (await reader.load(name)).map(({ event }) =>
              event.type === 'EmailQueued' ? event.sealed?.subject.length : -1,
            );
            if (JSON.stringify(found) !== JSON.stringify(model[index]))
              throw new Error(`${name}: ${JSON.stringify(found)} instead of ${JSON.stringify(model[index])}`);
          }
        }
      }),
      { numRuns: 60 },
    );
  },
);

void t.test('the fence of a lease stands in the metadata, and only where there is a lease', async (t) => {
  const { eventLog, store } = world();
  const tail = await eventLog.append(stream, startOf(stream), history.slice(0, 1), cause);
  await eventLog.append(stream, tail, history.slice(1, 2), { ...cause, fence: 7 });
  t.same(
    (await eventLog.load(stream)).map(({ metadata }) => metadata.fence),
    [undefined, 7],
  );
  t.notOk(store.events[0]!.metadata.includes('fence'));
});

void t.test(
  'under an older lease than that of the last event nothing is appended, also where the stream is known to its end',
  async (t) => {
    const { eventLog, open, store } = world();
    const first = await eventLog.append(stream, startOf(stream), [queued], { ...cause, fence: 7 });
    const second = await eventLog.append(stream, first, [attempted(1, at(1))], { ...cause, fence: 8 });
    const [woken, last] = [open(), (await open().load(stream)).at(-1)];
    for (const version of [second, versionOf(last!)])
      await t.rejects(
        woken.append(stream, version, [sent(1, at(2), [0, 'accepted'])], { ...cause, fence: 7 }),
        LeaseSuperseded,
      );
    t.equal((await store.readStream(stream)).length, 2);
    const after = await woken.append(stream, versionOf(last!), [sent(1, at(2), [0, 'accepted'])], {
      ...cause,
      fence: 8,
    });
    t.match(after, { revision: 2, fence: 8 }, 'the holder of the newest one goes on');
    const unfenced = await woken.append(other, startOf(other), [queued], cause);
    t.notOk('fence' in unfenced);
  },
);
