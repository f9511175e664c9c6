/**
 * The ports that tests of commands, processors and projections look into, on distant servers whose messages overtake
 * each other.
 */
import type { BusServerOptions } from './bus.js';
import { busServer, openDistantBus } from './bus.js';
import { eventServer, openDistantEventStore } from './event-store.js';
import { noFaults } from './faults.js';
import { fileServer, openDistantFiles } from './files.js';
import { keyServer, openDistantKeys, type KeyServer } from './keys.js';
import { leaseServer, openDistantLeases, type LeaseServer } from './lease.js';
import type { Network } from './network.js';
import { openDistantReadModels, readModelServer } from './read-models.js';
import { machineNamed, makeScheduler, reordering } from './scheduler.js';
import type { Bus } from '../../../src/domain/ports/bus.js';
import type { AppendOutcome } from '../../../src/domain/ports/event-store.js';
import type { Leases } from '../../../src/domain/ports/lease.js';
import type { ReadModels } from '../../../src/domain/ports/read-models.js';
import type { MemoryEventStore, MemoryFiles, MemoryKeys } from '../memory-ports.js';

let worlds = 0;

/** A way to servers of its own; the n-th of a run is always the same. */
const freshNetwork = (): Network => ({
  scheduler: makeScheduler({ seed: 7_000 + (worlds += 1), latency: reordering, selfDriven: true }),
  faults: noFaults(),
  machine: machineNamed('test'),
});

const lostAnswer: AppendOutcome = { kind: 'unknown', cause: new Error('the connection was lost') };

export const distantEventStore = (): MemoryEventStore => {
  const network = freshNetwork();
  const server = eventServer(network.scheduler);
  const store = openDistantEventStore(server, network);
  let hook: ((stream: string) => Promise<void> | void) | undefined;
  let reads = 0;
  let lost: ('written' | 'not written')[] = [];
  let failing = 0;
  return {
    ...store,
    events: server.events,
    reads: () => reads,
    beforeAppend: (next) => {
      hook = next;
    },
    loseAnswers: (deeds) => {
      lost = [...deeds];
    },
    failReads: (count) => {
      failing = count;
    },
    append: async (stream, expectedRevision, events) => {
      await hook?.(stream);
      const deed = lost.shift();
      if (deed === 'not written') return lostAnswer;
      const outcome = await store.append(stream, expectedRevision, events);
      return deed === undefined ? outcome : lostAnswer;
    },
    readStream: async (stream, fromRevision) => {
      reads += 1;
      if (failing === 0) return store.readStream(stream, fromRevision);
      failing -= 1;
      throw new Error('no connection');
    },
  };
};

export const distantKeys = (): MemoryKeys => {
  const server = keyServer();
  let copies: readonly KeyServer[] = [];
  return {
    ...openDistantKeys(server, freshNetwork()),
    ids: () => [...server.keys.keys()],
    copy: () => {
      copies = [...copies, keyServer(server)];
      return copies.length - 1;
    },
    restore: (number) => {
      const { keys, mark } = copies[number]!;
      server.keys.clear();
      for (const [id, key] of keys) server.keys.set(id, key);
      server.mark = mark;
    },
  };
};

export const distantFiles = (): MemoryFiles => {
  const server = fileServer();
  return { ...openDistantFiles(server, freshNetwork()), stored: server.stored };
};

export const distantBus = (options: Pick<BusServerOptions, 'clock' | 'pointersMax'>): Bus => {
  const network = freshNetwork();
  return openDistantBus(busServer({ ...options, random: network.scheduler.random, faults: network.faults }), network);
};

export const distantLeases = (clock: LeaseServer['clock']): (() => Leases) => {
  const network = freshNetwork();
  const server = leaseServer(clock);
  return () => openDistantLeases(server, network);
};

export const distantReadModels = (): ReadModels => openDistantReadModels(readModelServer(), freshNetwork());
