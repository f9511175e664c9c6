/**
 * The log of the program on EventStoreDB: what is appended is read, sealed and verified, and what somebody changed at
 * the server is found.
 */
import t, { type Test } from 'tap';
import { openEventStoreDb } from '../../src/adapters/event-store/eventstoredb.js';
import { systemClock } from '../../src/adapters/clock/system.js';
import { LEDGER_STREAM, type StreamName } from '../../src/domain/core/ids.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { openEventLog, startOf, type Cause } from '../../src/event-log/event-log.js';
import { verifyLog } from '../../src/event-log/verification.js';
import { sealOnce } from '../../src/processors/audit/ledger.js';
import { attempted, at, queued, sent, T0, TEAM_ID } from '../support/email-facts.js';
import { openServerLog, type Written } from '../support/eventstoredb/log.js';
import { openStandIn } from '../support/eventstoredb/server.js';
import { fakeClock } from '../support/fake-clock.js';
import { countingIds, memoryFiles, memoryKeys, memoryLog } from '../support/memory-ports.js';

const cause: Cause = { teamId: TEAM_ID, actor: 'system', correlationId: 'c', causationId: 'c', at: T0 };
const never = new AbortController().signal;

const world = async (t: Test) => {
  const log = openServerLog();
  const server = await openStandIn({ log });
  t.teardown(server.close);
  const store = await openEventStoreDb({ url: server.url, clock: systemClock(), logger: memoryLog() });
  t.teardown(() => store.close());
  const limits = { ...defaultLimits, ledgerSealEveryEvents: 10 };
  const eventLog = openEventLog({
    store,
    keys: memoryKeys(),
    files: memoryFiles(),
    ids: countingIds(),
    clock: fakeClock(),
    limits,
  });
  for (let index = 0; index < 5; index += 1) {
    const stream = `email-${index}` as StreamName;
    const version = await eventLog.append(stream, startOf(stream), [queued], cause);
    await eventLog.append(stream, version, [attempted(1, at(1)), sent(1, at(2), [0, 'accepted'])], cause);
  }
  await sealOnce({ eventLog, store, limits, clock: fakeClock() }, never);
  return {
    log,
    store,
    eventLog,
    ours: () => log.all.filter(({ stream }) => stream.startsWith('sealpost.')) as Written[],
  };
};

void t.test('what is appended is read back with its personal part, and the chain and the seals hold', async (t) => {
  const { store, eventLog } = await world(t);
  const recorded = await eventLog.load('email-3' as StreamName);
  t.strictSame(
    recorded.map(({ event }) => event),
    [queued, attempted(1, at(1)), sent(1, at(2), [0, 'accepted'])],
  );
  const found = await verifyLog(store, undefined);
  t.match(found, { events: 17, streams: 6, seals: 2, finding: undefined });
  t.equal(found.head, await store.head());
  t.equal((await store.readStream(LEDGER_STREAM)).length, 2);
  const streams = new Set<string>();
  for await (const { events } of eventLog.readAll(0, { kinds: ['email'], batchSize: 4 }))
    for (const { stream } of events) streams.add(stream);
  t.equal(streams.size, 5);
});

type Change = Readonly<{ what: string; kind: string; change: (ours: Written[], log: Written[]) => void }>;

const replaced = (bytes: Uint8Array, from: string, to: string): Buffer =>
  Buffer.from(Buffer.from(bytes).toString().replace(from, to));
const removed = (all: Written[], event: Written): void => void all.splice(all.indexOf(event), 1);

const changes: readonly Change[] = [
  {
    what: 'data',
    kind: 'changed',
    change: ([one]) => Object.assign(one!, { data: Buffer.concat([one!.data, Buffer.from(' ')]) }),
  },
  { what: 'type', kind: 'changed', change: ([one]) => Object.assign(one!, { type: 'EmailScheduled.v1' }) },
  {
    what: 'metadata',
    kind: 'changed',
    change: ([one]) => Object.assign(one!, { meta: replaced(one!.meta, '"actor":"', '"actor":"x') }),
  },
  {
    what: 'hash',
    kind: 'changed',
    change: ([one]) => Object.assign(one!, { meta: replaced(one!.meta, '{"hash":"', '{"hash":"0') }),
  },
  {
    what: 'the sealed part',
    kind: 'changed',
    change: ([one]) => Object.assign(one!, { meta: replaced(one!.meta, '"sealed":"', '"sealed":"AAAA') }),
  },
  {
    what: 'metadata beyond recognition',
    kind: 'changed',
    change: ([one]) => Object.assign(one!, { meta: Buffer.from('nothing') }),
  },
  {
    what: 'the id',
    kind: 'changed',
    change: ([one]) => Object.assign(one!, { id: '00000000-0000-4000-8000-0000000000ff' }),
  },
  { what: 'an event taken out', kind: 'removed', change: ([, second], log) => removed(log, second!) },
  {
    what: 'a whole stream taken out',
    kind: 'seal-broken',
    change: (ours, log) => ours.slice(0, 3).forEach((event) => removed(log, event)),
  },
];

for (const { what, kind, change } of changes) {
  void t.test(`verification finds at the server: ${what}`, async (t) => {
    const { log, store, ours } = await world(t);
    change(ours(), log.all as Written[]);
    t.match((await verifyLog(store, undefined)).finding, { kind });
  });
}
