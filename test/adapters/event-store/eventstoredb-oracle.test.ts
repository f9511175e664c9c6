/**
 * The stand-in against what a real EventStoreDB 22.10.5 answered to the same calls of the library (oracle-22.10.5.txt):
 * names of the steps and answers are those of the file. Positions and figures of speed differ; persistent subscriptions
 * the stand-in does not have.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  ANY,
  BACKWARDS,
  END,
  EventStoreDBClient,
  FORWARDS,
  MaxAppendSizeExceededError,
  NO_STREAM,
  START,
  STREAM_EXISTS,
  StreamDeletedError,
  StreamNotFoundError,
  WrongExpectedVersionError,
  binaryEvent,
  eventTypeFilter,
  jsonEvent,
  streamNameFilter,
} from '@eventstore/db-client';
import t from 'tap';
import { openServerLog } from '../../support/eventstoredb/log.js';
import { openStandIn } from '../../support/eventstoredb/server.js';

const oracleFile = fileURLToPath(new URL('../../../../test/support/eventstoredb/oracle-22.10.5.txt', import.meta.url));

/** Answers of the real server, by the name of the step. */
const oracle = new Map(
  readFileSync(oracleFile, 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, name, answer = ''] = /^ok {3}(.+?) \d+ ms ?(.*)$/.exec(line) ?? [];
      return name === undefined ? [] : [[name, answer.trim()] as const];
    }),
);

const server = await openStandIn({ log: openServerLog() });
t.teardown(server.close);
const client = EventStoreDBClient.connectionString(server.url);
const run = 'oracle';
const name = (of: string): string => `email-${run}-${of}`;
const event = (
  data: { n?: number; i?: number; t?: number } = { n: 1 },
  type = 'EmailQueued.v1',
  id: string = randomUUID(),
) => jsonEvent({ type, data, id, metadata: { a: 1 } });
const collect = async <T>(read: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  for await (const one of read) all.push(one);
  return all;
};
const fails = async <Fault extends Error>(
  work: Promise<unknown>,
  kind: new (...given: never[]) => Fault,
): Promise<Fault> => {
  const fault = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (fault instanceof kind) return fault;
  throw new Error(`it did not fail with ${kind.name}`, { cause: fault });
};
const written = (answer: unknown): string =>
  typeof answer === 'string'
    ? answer
    : (JSON.stringify(answer, (_key, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value)) ?? '');

/** `but`: what of the answer is not compared, e.g. positions. */
const step = (of: string, work: () => Promise<unknown>, but: RegExp = /$^/g): void =>
  void t.test(of, async (t) => {
    const expected = oracle.get(of);
    t.ok(expected !== undefined, 'the oracle has the step');
    t.equal(
      written(await work())
        .replaceAll(but, '…')
        .trim(),
      expected?.replaceAll(but, '…'),
    );
  });
const POSITIONS = /"(?:commit|prepare)":"\d+n"/g;

step('capabilities', async () => ({ serverVersion: (await client['capabilities']).serverVersion }));
step(
  'append NO_STREAM',
  () => client.appendToStream(name('a'), [event(), event()], { expectedRevision: NO_STREAM }),
  POSITIONS,
);
step('append NO_STREAM again conflicts', async () => {
  const fault = await fails(
    client.appendToStream(name('a'), event(), { expectedRevision: NO_STREAM }),
    WrongExpectedVersionError,
  );
  return { actual: fault.actualVersion, expected: fault.expectedVersion };
});
step('append exact 1n', () => client.appendToStream(name('a'), event(), { expectedRevision: 1n }), POSITIONS);
step('append exact wrong conflicts', async () => {
  const fault = await fails(
    client.appendToStream(name('a'), event(), { expectedRevision: 7n }),
    WrongExpectedVersionError,
  );
  return { actual: fault.actualVersion };
});
step('conflict without throwing (client option)', async () => {
  const other = EventStoreDBClient.connectionString(`${server.url}&throwOnAppendFailure=false`);
  const { success, nextExpectedRevision } = await other.appendToStream(name('a'), event(), { expectedRevision: 7n });
  await other.dispose();
  return [success, nextExpectedRevision];
});
step('idempotent: same id, same NO_STREAM', async () => {
  const same = event();
  const first = await client.appendToStream(name('i'), same, { expectedRevision: NO_STREAM });
  const second = await client.appendToStream(name('i'), same, { expectedRevision: NO_STREAM });
  return [
    first.nextExpectedRevision,
    second.nextExpectedRevision,
    (await collect(client.readStream(name('i')))).length,
  ];
});
step('idempotent: same id, ANY', async () => {
  const same = event();
  await client.appendToStream(name('j'), same);
  await client.appendToStream(name('j'), same);
  return (await collect(client.readStream(name('j')))).length;
});
step('idempotent: same id, exact revision, after later events', async () => {
  const [first, second] = [event(), event()];
  await client.appendToStream(name('k'), first, { expectedRevision: NO_STREAM });
  await client.appendToStream(name('k'), second, { expectedRevision: 0n });
  await client.appendToStream(name('k'), first, { expectedRevision: NO_STREAM });
  return (await collect(client.readStream(name('k')))).length;
});
step('STREAM_EXISTS on none conflicts', async () => {
  await fails(
    client.appendToStream(name('none'), event(), { expectedRevision: STREAM_EXISTS }),
    WrongExpectedVersionError,
  );
});
step('200 raced NO_STREAM appends: exactly one wins', async () => {
  const racing = Array.from({ length: 200 }, () =>
    client.appendToStream(name('race'), event(), { expectedRevision: NO_STREAM }),
  );
  return `${(await Promise.allSettled(racing)).filter(({ status }) => status === 'fulfilled').length} won`;
});
step('read forwards from 1, max 1', async () => {
  const read = await collect(client.readStream(name('a'), { fromRevision: 1n, direction: FORWARDS, maxCount: 1 }));
  return read.map((one) => one.event?.revision);
});
step('read backwards from END', async () => {
  const read = await collect(client.readStream(name('a'), { fromRevision: END, direction: BACKWARDS }));
  return read.map((one) => one.event?.revision);
});
step('read missing stream', async () => {
  await fails(collect(client.readStream(name('nothing'))), StreamNotFoundError);
});
step('binary event 256 KB', async () => {
  await client.appendToStream(
    name('bin'),
    binaryEvent({ type: 'B', data: Buffer.alloc(262_144, 7), id: randomUUID() }),
  );
  const [read] = await collect(client.readStream(name('bin')));
  return (read?.event?.data as Uint8Array).length;
});
step('too large (5 MB) refused', async () => {
  const large = binaryEvent({ type: 'B', data: Buffer.alloc(5e6, 7), id: randomUUID() });
  const fault = await fails(client.appendToStream(name('big'), large), MaxAppendSizeExceededError);
  return `MaxAppendSizeExceededError ${fault.message}`;
});
step('batch: 500 in one append, atomic', async () => {
  const many = Array.from({ length: 500 }, (_, i) => event({ i }, 'X'));
  return (await client.appendToStream(name('m'), many, { expectedRevision: NO_STREAM })).nextExpectedRevision;
});
step(
  'readAll forwards 100 and on from its position',
  async () => {
    const first = await collect(client.readAll({ fromPosition: START, maxCount: 100 }));
    const from = first.at(-1)!.event!.position;
    const [next] = await collect(client.readAll({ fromPosition: from, maxCount: 3 }));
    const same = next!.event!.position.commit === from.commit;
    return [first.length, { commit: from.commit, prepare: from.prepare }, 'first of next is the same one', same];
  },
  POSITIONS,
);
step('readAll with filter', async () => (await collect(client.readAll({ fromPosition: START, maxCount: 5 }))).length);
step(
  'readAll backwards',
  async () => (await collect(client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 2 }))).length,
);
step(
  'subscribeToAll from START, stream prefix filter, checkpoints, caught up',
  async () => {
    const counts = { events: 0, checkpoints: 0, caughtUp: 0 };
    const checkpointReached = async (): Promise<void> => void (counts.checkpoints += 1);
    const filter = streamNameFilter({
      prefixes: [`email-${run}-`],
      checkpointInterval: 1,
      maxSearchWindow: 32,
      checkpointReached,
    });
    const subscription = client.subscribeToAll({ fromPosition: START, filter });
    subscription.on('caughtUp', () => (counts.caughtUp += 1));
    for await (const _ of subscription) {
      counts.events += 1;
      if (counts.events === 509) break;
    }
    t.ok(counts.checkpoints >= 10, 'checkpoints come');
    await subscription.unsubscribe();
    return counts;
  },
  /"checkpoints":\d+/g,
);
step(
  'subscribeToAll live latency',
  async () => {
    const subscription = client.subscribeToAll({ fromPosition: END, filter: eventTypeFilter({ prefixes: ['Live'] }) });
    await new Promise((resolve) => subscription.on('confirmation', () => resolve(undefined)));
    const appending = (async () => {
      for (let i = 0; i < 20; i += 1) await client.appendToStream(name('live'), event({ t: i }, 'Live'));
    })();
    let n = 0;
    for await (const _ of subscription) if ((n += 1) === 20) break;
    await appending;
    await subscription.unsubscribe();
    return { n, p50: 0, max: 0 };
  },
  /"(?:p50|max)":\d+/g,
);
step('subscribeToStream from revision', async () => {
  const subscription = client.subscribeToStream(name('m'), { fromRevision: 489n });
  let n = 0;
  for await (const { event: read } of subscription) {
    n += 1;
    if (read?.revision === 499n) break;
  }
  await subscription.unsubscribe();
  return n;
});
step('metadata $maxCount, $maxAge', async () => {
  await client.appendToStream(name('meta'), [event(), event(), event()]);
  await client.setStreamMetadata(name('meta'), { maxCount: 1, maxAge: 3600 });
  const { metadata } = await client.getStreamMetadata(name('meta'));
  return [metadata, (await collect(client.readStream(name('meta')))).length];
});
step('delete, then recreate continues revisions', async () => {
  await client.appendToStream(name('del'), [event(), event()]);
  await client.deleteStream(name('del'), { expectedRevision: 1n });
  await fails(collect(client.readStream(name('del'))), StreamNotFoundError);
  return (await client.appendToStream(name('del'), event(), { expectedRevision: ANY })).nextExpectedRevision;
});
step('NO_STREAM after delete', async () => {
  await client.appendToStream(name('del2'), [event(), event()]);
  await client.deleteStream(name('del2'));
  return (await client.appendToStream(name('del2'), event(), { expectedRevision: NO_STREAM })).nextExpectedRevision;
});
step('tombstone', async () => {
  await client.appendToStream(name('tomb'), event());
  await client.tombstoneStream(name('tomb'), { expectedRevision: 0n });
  await fails(client.appendToStream(name('tomb'), event()), StreamDeletedError);
});
void t.test('the client is closed', () => client.dispose());
