/**
 * Everything that outlives a process: the servers, the host that mail goes to, the time, and what was there when a
 * history begins.
 */
import { randomFaults, type FaultPlan, type FaultRates } from '../support/distant/faults.js';
import { busServer, type BusServer } from '../support/distant/bus.js';
import { eventServer, type EventServer } from '../support/distant/event-store.js';
import { fileServer, type FileServer } from '../support/distant/files.js';
import { keyServer, type KeyServer } from '../support/distant/keys.js';
import { leaseServer, type LeaseServer } from '../support/distant/lease.js';
import { readModelServer, type ReadModelServer } from '../support/distant/read-models.js';
import { clockOf, makeScheduler, reordering, type Machine, type Scheduler } from '../support/distant/scheduler.js';
import { permissions } from '../../src/domain/access/permissions.js';
import type { Caller } from '../../src/commands/core/caller.js';
import { assertDefined, parseTeamId, type TeamId } from '../../src/domain/core/ids.js';
import { defaultLimits, type Limits } from '../../src/domain/core/limits.js';
import type { Ids } from '../../src/domain/ports/ids.js';
import { workerLease } from '../../src/processors/core/lease.js';
import { countingIds } from '../support/memory-ports.js';
import { makeProjections } from '../../src/projections/index.js';
import { makeEndpoints, type Endpoints } from './endpoints.js';
import { makeSink, type Dialogue, type Sink } from './sink.js';
import { noPlant, type Plant } from './plants.js';

export const TEAM = assertDefined(parseTeamId('11111111-1111-4111-8111-111111111111'), 'team id');
/** A second team in histories with webhooks; neither team hears of the events of the other. */
export const OTHER_TEAM = assertDefined(parseTeamId('22222222-2222-4222-8222-222222222222'), 'team id');
export const START_MS = Date.parse('2030-01-01T12:00:00.000Z');
export const limits: Limits = { ...defaultLimits, lanes: 4 };

/** Projections that histories do not touch run too if they have timers, which are read. */
export const projections = makeProjections(limits);

export const callerOf = (correlationId: string, teamId: TeamId = TEAM): Caller => ({
  teamId,
  actor: 'apiKey:key_1',
  permissions,
  correlationId,
});

export type World = Readonly<{
  seed: number;
  scheduler: Scheduler;
  faults: FaultPlan;
  plant: Plant;
  ids: Ids;
  events: EventServer;
  keys: KeyServer;
  files: FileServer;
  models: ReadModelServer;
  bus: BusServer;
  leases: LeaseServer;
  sink: Sink;
  /** Whether its processes send webhooks. */
  hasWebhooks: boolean;
  endpoints: Endpoints;
  /** Processes that have stood still once. */
  frozen: Set<Machine>;
  /** Moves the time on without running anything. */
  jump: (ms: number) => void;
  /** How often it was, by now or by a moment of before. */
  jumps: (atMs?: number) => number;
  /** Rules that were broken while the history went on, each with the name of the oracle in front. */
  broken: string[];
}>;

export type WorldOptions = Readonly<{
  seed: number;
  rates: FaultRates;
  plant?: Plant;
  from?: World;
  hasWebhooks?: boolean;
}>;

export const openWorld = ({ seed, rates, plant = noPlant, from, hasWebhooks = false }: WorldOptions): World => {
  const scheduler = makeScheduler({ seed, startMs: START_MS, latency: reordering });
  const faults = randomFaults(scheduler.random, rates);
  const clock = clockOf(scheduler, undefined);
  const leases = leaseServer(clock);
  const hasLost = ({ machine, worker, startMs }: Dialogue): boolean => {
    const held = leases.rows.get(workerLease('deliver-email', worker));
    const isHeld = held !== undefined && held.endMs > scheduler.now() && held.fence === 1;
    return !machine.alive || machine.frozenUntilMs > startMs || !isHeld;
  };
  const jumpedAt: number[] = [];
  return {
    seed,
    scheduler,
    faults,
    plant,
    ids: countingIds(from === undefined ? 0 : 1_000_000),
    events: eventServer(scheduler, from?.events.events),
    keys: keyServer(from?.keys),
    files: fileServer(),
    models: readModelServer({ isConditional: !plant.unconditionalWrites }),
    bus: busServer({ clock, random: scheduler.random, faults, pointersMax: 8 }),
    leases,
    broken: [],
    hasWebhooks,
    endpoints: makeEndpoints({ scheduler, jumps: () => jumpedAt.length }),
    frozen: new Set(),
    jump: (ms) => {
      jumpedAt.push(scheduler.now());
      scheduler.jump(ms);
    },
    jumps: (atMs = Infinity) => jumpedAt.filter((ms) => ms < atMs).length,
    sink: makeSink(scheduler, hasLost),
  };
};
