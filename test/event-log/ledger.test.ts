/** The log as a ledger: chain, proofs, seals. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { openSqliteEventStore } from '../../src/adapters/event-store/sqlite.js';
import { openDatabase } from '../../src/adapters/sqlite/database.js';
import { LEDGER_STREAM, type StreamName } from '../../src/domain/core/ids.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import type { StoredEvent } from '../../src/domain/ports/event-store.js';
import type { SealKey } from '../../src/domain/ports/keys.js';
import { openEventLog, startOf, type Cause } from '../../src/event-log/event-log.js';
import { chainHash, chainStart, FIRST_SEAL, merkleRoot, sealRoot } from '../../src/event-log/hash-chain.js';
import {
  openSealedUnder,
  sealOf,
  sealSegments,
  type Seal,
  merkleProof,
  rootByProof,
  type ProvenLeaf,
} from '../../src/event-log/ledger.js';
import { eventOutsideLog, verifyLog } from '../../src/event-log/verification.js';
import { sealOnce } from '../../src/processors/audit/ledger.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { attempted, at, queued, T0, TEAM_ID } from '../support/email-facts.js';
import { fakeClock } from '../support/fake-clock.js';
import { countingIds, memoryEventStore, memoryFiles, memoryKeys, sealKeyOfTest } from '../support/memory-ports.js';

// Seals over the log, and what `verify` finds when somebody had his hands in it.

const cause: Cause = { teamId: TEAM_ID, actor: 'system', correlationId: 'c', causationId: 'c', at: T0 };
const never = new AbortController().signal;

/** A log of `emails` emails of two events each, written in turn. */
const world = async (emails: number, sealEvery = 10) => {
  const store = memoryEventStore();
  const limits = { ...defaultLimits, ledgerSealEveryEvents: sealEvery };
  const eventLog = openEventLog({
    store,
    keys: memoryKeys(),
    files: memoryFiles(),
    ids: countingIds(),
    clock: fakeClock(),
    limits,
  });
  const streams = Array.from({ length: emails }, (_, index) => `email-${index}` as StreamName);
  const tails = await Promise.all(streams.map((stream) => eventLog.append(stream, startOf(stream), [queued], cause)));
  for (const [index, stream] of streams.entries())
    await eventLog.append(stream, tails[index]!, [attempted(1, at(1))], cause);
  return { store, eventLog, seal: () => sealOnce({ eventLog, store, limits, clock: fakeClock() }, never) };
};

const segments = async (
  store: Parameters<typeof sealSegments>[0],
  last: Seal | undefined,
  max: number,
): Promise<Seal[]> => {
  const seals: Seal[] = [];
  for await (const seal of sealSegments(store, last, max, never)) seals.push(seal);
  return seals;
};

void t.test('the seals cover every event once, in segments of a bounded size', async (t) => {
  const { store } = await world(6);
  const hashes = store.events.map(({ hash }) => hash);
  const [first, second, third, ...more] = await segments(store, undefined, 5);
  t.same(more, []);
  t.same([first!.position, second!.position, third!.position], [5, 10, 12]);
  t.same([first!.count, second!.count, third!.count], [5, 5, 2]);
  t.strictSame(first, sealOf(undefined, hashes.slice(0, 5), 5));
  t.strictSame(second, sealOf(first, hashes.slice(5, 10), 10));
  t.strictSame(third, sealOf(second, hashes.slice(10), 12));
  t.strictSame(await segments(store, second, 5), [third], 'it goes on where the last seal ended');
  t.strictSame(
    await segments(store, undefined, 12),
    [sealOf(undefined, hashes, 12)],
    'a segment that is just full leaves nothing behind',
  );
});

void t.test('sealing comes to an end: seals alone are not sealed', async (t) => {
  const { store, eventLog, seal } = await world(6);
  t.equal(await seal(), 2);
  t.equal(await seal(), 0);
  t.equal(await seal(), 0);
  await eventLog.append('email-9' as StreamName, startOf('email-9'), [queued], cause);
  t.equal(await seal(), 1);
  t.equal((await store.readStream(LEDGER_STREAM)).length, 3);
  const found = await verifyLog(store, undefined);
  t.match(found, { events: 16, streams: 8, seals: 3, head: 16, finding: undefined });
  t.match(found.seal, { position: 15, count: 3 });
});

void t.test('an empty log is in order, and is not sealed', async (t) => {
  const { store, seal } = await world(0);
  t.equal(await seal(), 0);
  t.match(await verifyLog(store, undefined), {
    events: 0,
    streams: 0,
    seals: 0,
    head: 0,
    seal: undefined,
    finding: undefined,
  });
});

/** Gives the events from a position on a chain that holds, as a forger would who knows how. */
const rechained = (events: readonly StoredEvent[]): StoredEvent[] => {
  const tails = new Map<string, { revision: number; hash: string }>();
  return events.map((event, index) => {
    const tail = tails.get(event.stream) ?? { revision: -1, hash: chainStart(event.stream) };
    const revision = tail.revision + 1;
    const hash = chainHash(tail.hash, event.stream, revision, event);
    tails.set(event.stream, { revision, hash });
    return { ...event, revision, position: index + 1, hash };
  });
};

const forged = async (forge: (events: StoredEvent[]) => StoredEvent[]) => {
  const { store, seal } = await world(6);
  await seal();
  const noted = (await verifyLog(store, undefined)).seal!;
  const events = forge(store.events.map((event) => ({ ...event })));
  store.events.splice(0, store.events.length, ...events);
  return {
    finding: (await verifyLog(store, undefined)).finding,
    withNoted: (await verifyLog(store, { position: noted.position, root: noted.root })).finding,
  };
};

void t.test('a changed event is found, whatever was changed of it', async (t) => {
  const changes: Readonly<Record<string, (event: StoredEvent) => StoredEvent>> = {
    data: (event) => ({ ...event, data: event.data.replace('mx.example.net', 'mx.example.com') }),
    metadata: (event) => ({ ...event, metadata: event.metadata.replace('system', 'nobody') }),
    type: (event) => ({ ...event, type: 'EmailSent.v1' }),
    hash: (event) => ({ ...event, hash: event.hash.replace(/^./, (digit) => (digit === '0' ? '1' : '0')) }),
    stream: (event) => ({ ...event, stream: 'email-0' }),
  };
  for (const [what, change] of Object.entries(changes)) {
    const { finding } = await forged((events) => events.with(7, change(events[7]!)));
    t.equal(finding?.position, 8, what);
    t.not(finding, undefined, what);
  }
  const sealed = await forged((events) =>
    events.with(2, {
      ...events[2]!,
      sealed: Buffer.concat([events[2]!.sealed!.subarray(0, -1), Buffer.from([events[2]!.sealed!.at(-1)! ^ 1])]),
    }),
  );
  t.match(sealed.finding, { kind: 'changed', position: 3, stream: 'email-2' });
});

void t.test('a removed, moved or inserted event is found', async (t) => {
  t.match((await forged((events) => events.toSpliced(4, 1))).finding, { kind: 'removed', position: 6 });
  t.match(
    (await forged((events) => events.toSpliced(8, 1).map((event, index) => ({ ...event, position: index + 1 }))))
      .finding,
    { position: 12, stream: 'ledger' },
    'the end of its stream, with positions closed up',
  );
  t.match(
    (await forged((events) => events.toSpliced(2, 1).map((event, index) => ({ ...event, position: index + 1 }))))
      .finding,
    {
      kind: 'removed',
      stream: 'email-2',
    },
  );
  t.match(
    (await forged((events) => events.with(7, { ...events[8]!, position: 8 }).with(8, { ...events[7]!, position: 9 })))
      .finding,
    { kind: 'seal-broken' },
    'two streams in another order',
  );
  t.match(
    (
      await forged((events) =>
        events.toSpliced(9, 0, { ...events[8]! }).map((event, index) => ({ ...event, position: index + 1 })),
      )
    ).finding,
    { kind: 'inserted', position: 10 },
  );
});

/** Equal log in a store whose positions have gaps. */
const sparse = async () => {
  const { store, eventLog, seal } = await world(6);
  const spread = (position: number): number => position * 7 + (position % 3);
  const readAll: typeof store.readAll = async function* (after, options) {
    for await (const { events, position } of store.readAll(0, options)) {
      const spreadOut = events.map((event) => ({ ...event, position: spread(event.position) }));
      yield { events: spreadOut.filter((event) => event.position > after), position: spread(position) };
    }
  };
  const gappy = { positions: 'sparse' as const, readAll, head: async () => spread(await store.head()) };
  const limits = { ...defaultLimits, ledgerSealEveryEvents: 10 };
  await sealOnce({ eventLog, store: gappy, limits, clock: fakeClock() }, never);
  return { store, gappy, seal };
};

void t.test('an event that was slipped in below position 1 is read by nobody, and found', async (t) => {
  const [one, two] = ['email-1' as StreamName, 'email-2' as StreamName];
  for (const position of [0, -1]) {
    const file = join(temporaryDirectory(t), 'events.db');
    const store = openSqliteEventStore({ file });
    t.teardown(() => store.close());
    const ports = {
      store,
      keys: memoryKeys(),
      files: memoryFiles(),
      ids: countingIds(),
      clock: fakeClock(),
      limits: defaultLimits,
    };
    const eventLog = openEventLog(ports);
    await eventLog.append(one, startOf(one), [queued], cause);
    await eventLog.append(two, startOf(two), [queued], cause);
    t.equal((await verifyLog(store, undefined)).finding, undefined);
    t.equal(await eventOutsideLog(store), undefined);
    const database = openDatabase({ file, synchronous: 'off' });
    database.prepare("UPDATE events SET position = ? WHERE stream = 'email-2'").run(position);
    database.close();
    t.equal((await eventLog.load(two)).length, 0, 'nobody who loads the stream obeys it');
    t.equal(await store.readLast(two), undefined);
    t.match(await eventOutsideLog(store), { position, stream: two });
    t.match((await verifyLog(store, undefined)).finding, { kind: 'inserted', position, stream: two });
  }
});

void t.test(
  'gaps between positions are no finding where the store has them, and what was removed is found still',
  async (t) => {
    const { store, gappy } = await sparse();
    const sound = await verifyLog(gappy, undefined);
    t.match(sound, { events: 14, seals: 2, finding: undefined });
    t.equal((await verifyLog(gappy, sound.seal)).finding, undefined);
    t.equal((await verifyLog(store, undefined)).finding, undefined, 'a copy whose positions are others verifies, too');
    const all = [...store.events];
    const without = (index: number): void =>
      void store.events.splice(0, store.events.length, ...all.toSpliced(index, 1));
    without(2);
    t.match(
      (await verifyLog(gappy, undefined)).finding,
      { kind: 'removed', stream: 'email-2' },
      'in the middle of a stream',
    );
    without(8);
    t.match(
      (await verifyLog(gappy, undefined)).finding,
      { kind: 'seal-broken', stream: 'ledger' },
      'at the end of a stream',
    );
    store.events.splice(0, store.events.length, all[1]!, all[0]!, ...all.slice(2));
    t.match((await verifyLog(gappy, undefined)).finding, { kind: 'moved' }, 'out of order');
  },
);

void t.test('a chain that was made anew from the forgery on breaks the seal over it', async (t) => {
  const { finding } = await forged((events) =>
    rechained(events.with(7, { ...events[7]!, data: events[7]!.data.replace('mx.example.net', 'mx.example.com') })),
  );
  t.match(finding, { kind: 'seal-broken', stream: 'ledger' });
  const dropped = await forged((events) => rechained(events.toSpliced(4, 1)));
  t.match(dropped.finding, { kind: 'seal-broken' });
});

void t.test(
  'a cut end, and a log that was rewritten with all its seals, are found by a root noted elsewhere',
  async (t) => {
    const cut = await forged((events) => events.slice(0, -3));
    t.equal(cut.finding, undefined, 'the log alone cannot tell');
    t.match(cut.withNoted, { kind: 'cut-off', position: 11 });

    const { store, seal } = await world(6);
    await seal();
    const noted = (await verifyLog(store, undefined)).seal!;
    t.equal((await verifyLog(store, noted)).finding, undefined);
    const rewritten = rechained(
      store.events
        .filter(({ stream }) => stream !== LEDGER_STREAM)
        .map((event) => ({ ...event, metadata: event.metadata.replace('system', 'nobody') })),
    );
    store.events.splice(0, store.events.length, ...rewritten);
    await seal();
    t.equal((await verifyLog(store, undefined)).finding, undefined);
    t.match((await verifyLog(store, noted)).finding, { kind: 'seal-broken', position: noted.position });
  },
);

/** A log that is written, and sealed after each email, under one key after the other. */
const keyedWorld = async () => {
  const store = memoryEventStore();
  const clock = fakeClock();
  const ids = countingIds();
  let emails = 0;
  const under = async (
    key: SealKey | undefined,
    options: Readonly<{ seals?: boolean; tags?: boolean }> = {},
  ): Promise<void> => {
    const { seals = true, tags = true } = options;
    const sealKey = async () => key;
    const parts = { store, keys: memoryKeys(), files: memoryFiles(), ids, clock, limits: defaultLimits };
    const eventLog = openEventLog({ ...parts, ...(tags && { sealKey }) });
    const stream = `email-${(emails += 1)}` as StreamName;
    await eventLog.append(stream, startOf(stream), [queued], cause);
    if (seals) await sealOnce({ ...parts, eventLog: openEventLog({ ...parts, sealKey }), sealKey }, never);
  };
  const verified = async (given: readonly SealKey[], lost: readonly string[] = [], isSet = true) => {
    const { finding, proof } = await verifyLog(store, undefined, { seals: { keys: async () => given, lost, isSet } });
    return { finding, proof: proof! };
  };
  return { store, clock, under, verified };
};

const HOUR_MS = 3_600_000;
const [old, key, newer, derived] = (await Promise.all(['old', 'key', 'newer', 'derived'].map(sealKeyOfTest))) as [
  SealKey,
  SealKey,
  SealKey,
  SealKey,
];

void t.test('a log that was written before the seal key is proved from its first seal on', async (t) => {
  const { under, verified, clock } = await keyedWorld();
  await under(undefined);
  t.match(await verified([derived], [], false), {
    finding: undefined,
    proof: { key: undefined, unproved: 2, isAsSet: true },
  });
  t.match(
    await verified([key, derived]),
    { finding: undefined, proof: { key: undefined, isAsSet: false } },
    'nothing is under the key that is set',
  );
  await under(key);
  t.match(await verified([key, derived]), {
    finding: undefined,
    proof: { key: key.id, from: 3, unproved: 0, untagged: undefined, isAsSet: true },
  });
  await under(key, { tags: false });
  await under(key, { seals: false });
  t.match(
    await verified([key, derived]),
    { finding: undefined, proof: { unproved: 1, untagged: { events: 1, first: 5 } } },
    'within the hour',
  );
  await clock.advance(HOUR_MS);
  await under(key);
  t.equal((await verified([key, derived])).finding, undefined);
  await under(key, { tags: false });
  t.match((await verified([key, derived])).finding, { kind: 'inserted', stream: 'email-6' }, 'after it');
});

void t.test('a wrong key is said to be wrong, and no key as well', async (t) => {
  const { under, verified, store } = await keyedWorld();
  await under(key);
  const wrong = await verified([newer, derived]);
  t.match(wrong, { finding: undefined, proof: { key: undefined, isAsSet: false, unproved: 2 } });
  t.same([...wrong.proof.missing], [[key.id, 2]]);
  t.match(await verified([derived], [], false), { proof: { isAsSet: false } });
  await t.rejects(async () => openSealedUnder(store, { keys: async () => [derived], lost: [] })(), {
    name: 'SealKeyMissing',
    message: key.id,
  });
  t.equal(await openSealedUnder(store, { keys: async () => [newer, key, derived], lost: [] })(), newer);
});

void t.test('a key is replaced by another while both are given', async (t) => {
  const { under, verified } = await keyedWorld();
  await under(old);
  await under(key);
  t.match(await verified([key, old, derived]), {
    finding: undefined,
    proof: { key: key.id, untagged: undefined, isAsSet: true },
  });
  t.match(
    await verified([key, derived]),
    { finding: undefined, proof: { key: key.id, isAsSet: false } },
    'the one before is not given',
  );
  await under(old);
  t.match(
    (await verified([key, old, derived])).finding,
    { kind: 'seal-broken', position: 6 },
    'and does not come back',
  );
});

void t.test('a lost key ends nothing: what was under it is unproved, and nothing more may be under it', async (t) => {
  const { under, verified, store } = await keyedWorld();
  await under(old);
  const lost = [old.id];
  t.equal(await openSealedUnder(store, { keys: async () => [key, derived], lost })(), key);
  await under(key);
  t.match(await verified([key, derived], lost), { finding: undefined, proof: { key: key.id, from: 3, isAsSet: true } });
  await under(old);
  t.match((await verified([key, derived], lost)).finding, { kind: 'seal-broken', position: 6 });
});

void t.test('once a key is set, seals and tags of the one that is derived are not those of the service', async (t) => {
  const { under, verified, clock } = await keyedWorld();
  await under(derived);
  await under(key);
  await clock.advance(HOUR_MS);
  await under(key);
  t.match(await verified([key, derived]), {
    finding: undefined,
    proof: { key: key.id, untagged: undefined, isAsSet: true },
  });
  await under(derived, { seals: false });
  t.match((await verified([key, derived])).finding, { kind: 'inserted', stream: 'email-4' });
  const other = await keyedWorld();
  await other.under(key);
  await other.under(undefined, { tags: true });
  t.match((await other.verified([key, derived])).finding, { kind: 'inserted' });
});

void t.test('a signer outside is asked for the newest seal alone', async (t) => {
  const { under, verified } = await keyedWorld();
  const asked: string[] = [];
  const outside: SealKey = { ...key, isOutside: true, sign: async (text) => (asked.push(text), key.sign(text)) };
  for (let n = 0; n < 3; n += 1) await under(outside);
  asked.length = 0;
  t.match(await verified([outside, derived]), { finding: undefined, proof: { key: key.id, isAsSet: true } });
  t.equal(asked.length, 1);
  const forger: SealKey = { ...outside, sign: async () => 'nothing' };
  await under(forger);
  t.match((await verified([outside, derived])).finding, { kind: 'seal-broken' });
});

// The hash chain and the Merkle tree over it: nothing can change without changing them.

const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');
const event = {
  type: 'EmailSent.v1',
  data: '{"at":"now"}',
  metadata: '{"eventId":"1"}',
  sealed: Buffer.from([1, 2, 3]),
};

void t.test('the hashes stay what they are for ever', async (t) => {
  t.equal(chainStart('email-1'), sha256('stream:email-1'));
  t.equal(FIRST_SEAL, sha256('sealpost ledger'));
  const start = chainStart('email-1');
  t.equal(
    chainHash(start, 'email-1', 0, event),
    sha256(`${start}\nemail-1\n0\nEmailSent.v1\n${sha256(Buffer.from([1, 2, 3]))}\n12\n{"at":"now"}\n{"eventId":"1"}`),
  );
  t.equal(
    chainHash(start, 'email-1', 0, { ...event, sealed: undefined }),
    sha256(`${start}\nemail-1\n0\nEmailSent.v1\n\n12\n{"at":"now"}\n{"eventId":"1"}`),
  );
});

void t.test('a single byte anywhere changes the hash', async () => {
  const json = fc.jsonValue().map((value) => JSON.stringify(value));
  const sealed = fc.option(fc.uint8Array({ minLength: 1, maxLength: 40 }), { nil: undefined });
  const parts = fc.record({
    type: fc.stringMatching(/^[A-Z][a-zA-Z]{1,12}\.v[1-9]$/),
    data: json,
    metadata: json,
    sealed,
  });
  fc.assert(
    fc.property(parts, fc.nat(), fc.integer({ min: 1, max: 255 }), (stored, where, flip) => {
      const hash = chainHash(chainStart('s-1'), 's-1', 3, stored);
      const mutated = (text: string): string | undefined => {
        const bytes = Buffer.from(text);
        bytes[where % bytes.length]! ^= flip;
        const changed = bytes.toString();
        // Bytes that are no UTF-8 cannot stand in a text of the store.
        return Buffer.from(changed).equals(bytes) ? changed : undefined;
      };
      for (const field of ['type', 'data', 'metadata'] as const) {
        const changed = mutated(stored[field]);
        if (changed !== undefined && chainHash(chainStart('s-1'), 's-1', 3, { ...stored, [field]: changed }) === hash)
          throw new Error(`a change of ${field} is not seen`);
      }
      if (stored.sealed !== undefined) {
        const bytes = Uint8Array.from(stored.sealed);
        bytes[where % bytes.length]! ^= flip;
        if (chainHash(chainStart('s-1'), 's-1', 3, { ...stored, sealed: bytes }) === hash)
          throw new Error('a change of sealed is not seen');
        if (chainHash(chainStart('s-1'), 's-1', 3, { ...stored, sealed: undefined }) === hash)
          throw new Error('taking sealed away is not seen');
      }
      const places = [
        chainHash(chainStart('s-2'), 's-1', 3, stored),
        chainHash(chainStart('s-1'), 's-2', 3, stored),
        chainHash(chainStart('s-1'), 's-1', 4, stored),
      ];
      if (places.includes(hash)) throw new Error('another place gives the same hash');
    }),
    { numRuns: 500 },
  );
});

void t.test('text cannot wander from one part into the next', async () => {
  const text = fc.string({ minLength: 2, maxLength: 12, unit: fc.constantFrom('a', '1', '{', '}', '"') });
  fc.assert(
    fc.property(text, fc.nat(12), fc.nat(12), (whole, i, j) => {
      const hashAt = (at: number): string =>
        chainHash('00', 's-1', 0, {
          type: 'T',
          data: whole.slice(0, at),
          metadata: whole.slice(at),
          sealed: undefined,
        });
      if ((hashAt(i) === hashAt(j)) !== (whole.slice(0, i) === whole.slice(0, j)))
        throw new Error('data and metadata run into one another');
    }),
    { numRuns: 500 },
  );
});

/** RFC 6962, section 2.1, in its own words: split at the largest power of two below the number of leaves. */
const referenceRoot = (leaves: readonly string[]): string => {
  if (leaves.length === 0) return sha256('');
  if (leaves.length === 1) return sha256(Buffer.from(`00${leaves[0]!}`, 'hex'));
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  return sha256(Buffer.from(`01${referenceRoot(leaves.slice(0, split))}${referenceRoot(leaves.slice(split))}`, 'hex'));
};

const leaf = (index: number): string => sha256(`leaf ${index}`);

void t.test('the root is that of RFC 6962, for every number of leaves', async (t) => {
  for (let count = 0; count <= 70; count += 1) {
    const leaves = Array.from({ length: count }, (_, index) => leaf(index));
    t.equal(merkleRoot(leaves), referenceRoot(leaves), `${count} leaves`);
  }
});

void t.test('a leaf that is changed, removed, doubled or moved changes the root', async () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 40 }), fc.nat(), fc.nat(), (count, a, b) => {
      const leaves = Array.from({ length: count }, (_, index) => leaf(index));
      const [i, j] = [a % count, b % count];
      const root = merkleRoot(leaves);
      const others = [
        leaves.with(i, leaf(999)),
        leaves.toSpliced(i, 1),
        leaves.toSpliced(i, 0, leaves[i]!),
        [...leaves, leaves.at(-1)!],
      ];
      if (i !== j) others.push(leaves.with(i, leaves[j]!).with(j, leaves[i]!));
      if (others.some((other) => merkleRoot(other) === root)) throw new Error('another tree has the same root');
    }),
  );
});

void t.test('a seal is bound to the seal before it', async (t) => {
  t.equal(sealRoot(leaf(1), leaf(2)), sha256(Buffer.from(`02${leaf(1)}${leaf(2)}`, 'hex')));
  t.not(sealRoot(leaf(1), leaf(2)), sealRoot(leaf(2), leaf(1)));
  t.not(sealRoot(leaf(1), leaf(2)), merkleRoot([leaf(1), leaf(2)]));
});

// One proof for several leaves gives the root of the whole tree, and no other leaves give it.

const leavesOf = (count: number): readonly string[] => Array.from({ length: count }, (_, n) => chainStart(`leaf ${n}`));

const cases = fc
  .integer({ min: 1, max: 70 })
  .chain((count) => fc.tuple(fc.constant(count), fc.subarray([...Array(count).keys()], { minLength: 1 })));

void t.test('any leaves of any tree', async (t) => {
  fc.assert(
    fc.property(cases, ([count, places]) => {
      const all = leavesOf(count);
      const siblings = merkleProof(all, places);
      const proven = places.map((place): ProvenLeaf => [place, all[place]!]);
      return rootByProof(count, proven, siblings) === merkleRoot(all);
    }),
  );
  t.pass('give the root');
});

void t.test(
  'a leaf that is changed, moved, taken out or added, or a hash too many or too few, gives another root or none',
  async (t) => {
    fc.assert(
      fc.property(
        cases,
        fc.nat(),
        fc.constantFrom('change', 'move', 'drop', 'add', 'more', 'less', 'count'),
        ([count, places], pick, how) => {
          const all = leavesOf(count);
          let siblings = [...merkleProof(all, places)];
          let proven = places.map((place): ProvenLeaf => [place, all[place]!]);
          const at = pick % proven.length;
          let given = count;
          switch (how) {
            case 'change':
              proven[at] = [proven[at]![0], chainStart('another')];
              break;
            case 'move':
              proven[at] = [(proven[at]![0] + 1) % (count + 1), proven[at]![1]];
              break;
            case 'drop':
              proven = proven.filter((_, index) => index !== at);
              break;
            case 'add':
              proven.push([count, chainStart('another')]);
              given = count + 1;
              break;
            case 'more':
              siblings.push(chainStart('another'));
              break;
            case 'less':
              if (siblings.length === 0) return true;
              siblings = siblings.slice(1);
              break;
            case 'count':
              given = count * 2 + 1;
              break;
          }
          return rootByProof(given, proven, siblings) !== merkleRoot(all);
        },
      ),
    );
    t.equal(rootByProof(3, [], []), undefined);
    t.equal(rootByProof(3, [[-1, chainStart('x')]], []), undefined);
  },
);
