/**
 * The contracts on the adapters that behave like distant servers: once with calm messages, once with messages that
 * overtake each other.
 */
import t, { type Test } from 'tap';
import { busSuite } from '../../contracts/bus-suite.js';
import { keysSuite } from '../../contracts/keys-suite.js';
import { leaseSuite } from '../../contracts/lease-suite.js';
import { documentsSuite } from '../../contracts/read-models-suite.js';
import { openDistantReadModels, readModelServer } from '../../support/distant/read-models.js';
import { limiterSuite } from '../../contracts/limiter-suite.js';
import { openMemoryLimiter } from '../../../src/adapters/limiter/memory.js';
import { busServer, openDistantBus } from '../../support/distant/bus.js';
import { keyServer, openDistantKeys } from '../../support/distant/keys.js';
import { leaseServer, openDistantLeases } from '../../support/distant/lease.js';
import { openDistantLimiter } from '../../support/distant/limiter.js';
import { fakeClock } from '../../support/fake-clock.js';
import { eventStoreSuite } from '../../contracts/event-store-suite.js';
import { filesSuite } from '../../contracts/files-suite.js';
import { noFaults, scriptedFaults } from '../../support/distant/faults.js';
import { eventServer, openDistantEventStore } from '../../support/distant/event-store.js';
import { fileServer, openDistantFiles } from '../../support/distant/files.js';
import type { Network } from '../../support/distant/network.js';
import { calm, machineNamed, makeScheduler, reordering, type Latency } from '../../support/distant/scheduler.js';

const SEED = 1_109;

const modes: readonly Readonly<{ name: string; latency: Latency }>[] = [
  { name: 'calm', latency: calm },
  { name: 'reordering', latency: reordering },
];

/** One server for each place, and another client with each call. */
const placed = <Server>(make: () => Server): ((place: string) => Server) => {
  const servers = new Map<string, Server>();
  return (place) => {
    const server = servers.get(place) ?? make();
    servers.set(place, server);
    return server;
  };
};

for (const { name, latency } of modes) {
  const scheduler = makeScheduler({ seed: SEED, latency, selfDriven: true });
  const network = (): Network => ({ scheduler, faults: noFaults(), machine: machineNamed('test') });
  const close = async (): Promise<void> => {};
  const suite = (port: string, run: (t: Test) => void): void =>
    void t.test(`${port}, ${name}, seed ${SEED}`, (t) => {
      run(t);
      t.end();
    });

  const clock = fakeClock();
  const timed = { now: clock.now, pass: clock.advance };

  suite('event store', (t) => {
    const server = placed(() => eventServer(scheduler));
    eventStoreSuite(t, {
      open: async (place) => openDistantEventStore(server(place), network()),
      openLosing: async (place, when) => {
        const fate = when === 'written' ? 'answer-lost' : 'request-lost';
        const faults = scriptedFaults([{ operation: 'event-store.append', call: 1, fate }]);
        return openDistantEventStore(server(place), { ...network(), faults });
      },
      settle: close,
      close,
    });
  });
  suite('read models', (t) => {
    const server = placed(readModelServer);
    documentsSuite(t, { open: async (place) => openDistantReadModels(server(place), network()), settle: close, close });
  });
  suite('bus', (t) => {
    const open = async ({ pointersMax }: { pointersMax: number }) =>
      openDistantBus(busServer({ clock, random: scheduler.random, faults: noFaults(), pointersMax }), network());
    busSuite(t, { open, ...timed, shift: clock.shift });
  });
  suite('leases', (t) => {
    const server = placed(() => leaseServer(clock));
    leaseSuite(t, { open: async (keeper) => openDistantLeases(server(keeper), network()), ...timed });
  });
  suite('limiter', (t) => {
    limiterSuite(t, {
      open: async () => openDistantLimiter(openMemoryLimiter({ clock }), network(), { clock }),
      ...timed,
    });
  });
  suite('keys', (t) => {
    const server = placed(keyServer);
    keysSuite(t, { open: async (place, masterKey) => openDistantKeys(server(place), network(), masterKey), close });
  });
  suite('files', (t) => {
    const server = placed(fileServer);
    filesSuite(t, { open: async (place) => openDistantFiles(server(place), network()), close });
  });
}
