/**
 * Appending to and reading from EventStoreDB, against the same bytes through the bare client library. The server is the
 * stand-in of the tests in a process of its own, so what is compared is the CPU of the client's process alone.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { EventStoreDBClient, NO_STREAM, START, binaryEvent } from '@eventstore/db-client';
import { systemClock } from '../src/adapters/clock/system.js';
import { openEventStoreDb } from '../src/adapters/event-store/eventstoredb.js';
import { toServerEvent } from '../src/adapters/event-store/eventstoredb/records.js';
import type { EventToStore } from '../src/domain/ports/event-store.js';
import type { Logger } from '../src/domain/ports/logger.js';
import { startStandInProcess } from '../test/support/eventstoredb/process.js';
import { machine } from './support/machine.js';
import { comparePairs } from './support/pairs.js';
import { figuresOf, report } from './support/results.js';

/** At once, as concurrent calls of the API append. */
const IN_FLIGHT = 100;
const READ_EVENTS = 500;
const TARGET = 1;

const silent = (): void => {};
const logger: Logger = { debug: silent, info: silent, warn: silent, error: silent, child: () => logger };

const sealed = randomBytes(600);
/** An event as large as the first event of an email. */
const anEvent = (): EventToStore => {
  const eventId = randomUUID();
  return {
    eventId,
    type: 'EmailQueued.v1',
    data: JSON.stringify({ templateId: eventId, revision: 3, priority: 'normal', text: 'x'.repeat(600) }),
    metadata: JSON.stringify({
      eventId,
      teamId: randomUUID(),
      occurredAt: '2026-11-21T10:00:00.000Z',
      actor: 'apiKey:key_1',
      keyId: '4711',
    }),
    sealed,
    hash: 'ab'.repeat(32),
  };
};

const run = async (): Promise<void> => {
  const server = await startStandInProcess();
  const store = await openEventStoreDb({ url: server.url(), clock: systemClock(), logger });
  const bare = EventStoreDBClient.connectionString(server.url());
  let streams = 0;
  const burst = async (append: (stream: string) => Promise<boolean>): Promise<void> => {
    const done = await Promise.all(Array.from({ length: IN_FLIGHT }, () => append(`email-${(streams += 1)}`)));
    if (!done.every(Boolean)) throw new Error('an append was not done');
  };
  const oursAppends = (): Promise<void> =>
    burst(async (stream) => (await store.append(stream, -1, [anEvent()])).kind === 'done');
  const bareAppends = (): Promise<void> =>
    burst(async (stream) => {
      const { id, type, data, metadata } = toServerEvent(anEvent());
      return (
        await bare.appendToStream(stream, binaryEvent({ id, type, data, metadata }), { expectedRevision: NO_STREAM })
      ).success;
    });
  const appends = await comparePairs({
    name: 'append',
    ours: oursAppends,
    limit: bareAppends,
    pairs: 12,
    operations: 8,
    warmUp: 20,
  });
  const readOurs = async (): Promise<void> => {
    for await (const { events } of store.readAll(0, { batchSize: READ_EVENTS })) {
      if (events.length !== READ_EVENTS) throw new Error(`${events.length} events were read`);
      return;
    }
  };
  const readBare = async (): Promise<void> => {
    let count = 0;
    for await (const { event } of bare.readAll({ fromPosition: START, maxCount: READ_EVENTS }))
      if (event !== undefined) count += 1;
    if (count !== READ_EVENTS) throw new Error(`${count} events were read`);
  };
  const reads = await comparePairs({
    name: 'read',
    ours: readOurs,
    limit: readBare,
    pairs: 12,
    operations: 10,
    warmUp: 20,
  });
  await store.close();
  await bare.dispose();
  await server.kill();
  report({
    name: 'event-store',
    figures: [
      ...figuresOf(appends, `µs/${IN_FLIGHT} appends`, { atMost: TARGET }),
      ...figuresOf(reads, `µs/${READ_EVENTS} events read`, undefined),
    ],
    machine: machine(),
    details: { appends, reads },
  });
};

await run();
