/**
 * One process of the service over the distant servers: it is started, crashes or stands still, and is started again.
 */
import type { CommandNeeds } from '../../src/commands/needs.js';
import { makeCommandNeeds } from '../../src/service/engine.js';
import { makeCommands } from '../../src/commands/index.js';
import type { Commands } from '../../src/commands/index.js';
import { decodeMetadata } from '../../src/event-log/hash-chain.js';
import type { EventStore } from '../../src/domain/ports/event-store.js';
import { openEventLog } from '../../src/event-log/event-log.js';
import type { WebhookId } from '../../src/domain/core/ids.js';
import type { Worker } from '../../src/domain/ports/worker.js';
import { deliverWebhooksWorker, removeWebhookRecordsWorker } from '../../src/processors/webhooks/delivery.js';
import { routeWebhooksWorker } from '../../src/processors/webhooks/router.js';
import { dueFailures, keptWebhooks, removableParts } from '../../src/projections/webhooks/reads.js';
import { WEBHOOKS } from '../../src/projections/webhooks/webhooks.js';
import type { Logger } from '../../src/domain/ports/logger.js';
import type { ReadModels } from '../../src/domain/ports/read-models.js';
import type { Generator } from '../../src/domain/ports/generator.js';
import type { OutboundHttp } from '../../src/domain/ports/outbound-http.js';
import { type ProcessorDeps, openStuckWork } from '../../src/processors/core/declaration.js';
import { dueWorkWorker } from '../../src/processors/core/due-work.js';
import { eraseWorker } from '../../src/processors/privacy/erasure.js';
import { storedAttachmentBytes } from '../../src/projections/email/attachment-usage.js';
import { addressIndex } from '../../src/projections/privacy/traces.js';
import { readBatchEnds } from '../../src/projections/bulk/batches.js';
import { makeProcessors } from '../../src/processors/index.js';
import { underLease, workerLease, type LeaseDeps } from '../../src/processors/core/lease.js';
import { openUnpublishedWork, relayWorker } from '../../src/processors/core/relay.js';
import { sealLedgerWorker } from '../../src/processors/audit/ledger.js';
import { sweepWorker } from '../../src/processors/retention/removal.js';
import { makeRunner, type Runner } from '../../src/projections/core/runner.js';
import { openServingLease } from '../../src/service/stores/instances.js';
import { makeSupervisor } from '../../src/service/workers.js';
import { peopleOfTest } from '../support/people.js';
import { openDistantBus } from '../support/distant/bus.js';
import { openDistantEventStore } from '../support/distant/event-store.js';
import { openDistantFiles } from '../support/distant/files.js';
import { openDistantLeases } from '../support/distant/lease.js';
import { openDistantKeys } from '../support/distant/keys.js';
import type { Network } from '../support/distant/network.js';
import { openDistantReadModels } from '../support/distant/read-models.js';
import { clockOf, machineNamed, type Machine } from '../support/distant/scheduler.js';
import { plainRenderer } from './renderer.js';
import { limits, projections, type World } from './world.js';

export type Node = Readonly<{
  machine: Machine;
  worker: string;
  deps: CommandNeeds;
  commands: Commands;
  /** Whether it answers requests. */
  isServing: () => boolean;
  readModels: ReadModels;
  /** Starts everything that runs beside the requests. */
  start: () => Promise<void>;
  /** From now on nothing that it still does has an effect. */
  crash: () => void;
  /**
   * Frees a crashed process after its history is over: Node keeps listeners of a signal that never aborts for as long
   * as it runs.
   */
  release: () => void;
}>;

const nobody = (): never => {
  throw new Error('no history asks for this');
};
const noGenerator: Generator = {
  imageSources: nobody,
  check: nobody,
  make: nobody,
  renderEmail: nobody,
  drawSvg: nobody,
  checkFont: nobody,
  convertTemplate: nobody,
  prepare: () => {},
  close: async () => {},
};
const noOutbound: OutboundHttp = { get: nobody, close: async () => {} } as unknown as OutboundHttp;

const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => silent };

/** Whether a process appends under a fence that is not that of the lease which it holds, and knows that it holds. */
const watchFences = ({ leases, broken }: World, worker: string, store: EventStore): EventStore => ({
  ...store,
  append: (stream, expectedRevision, events) => {
    for (const { metadata, type } of events) {
      const { fence, actor } = decodeMetadata(metadata);
      const name = actor.slice(actor.indexOf(':') + 1);
      const row = leases.rows.get(name) ?? leases.rows.get(workerLease(name, worker));
      if (fence !== undefined && row?.isHeard === true && row.holder === worker && row.fence !== fence)
        broken.push(`fence: ${actor} appends ${type} under fence ${fence}, and holds its lease under ${row.fence}`);
    }
    return store.append(stream, expectedRevision, events);
  },
});

/** The webhook workers of a process, wired as in `src/service/workers.ts`. */
const webhookWorkers = (processing: ProcessorDeps, deps: CommandNeeds, { caughtUp }: Runner): readonly Worker[] => {
  const { readModels } = processing;
  const both = { ...deps, ...processing };
  const keptUpTo = async (position: number, signal: AbortSignal) => {
    await caughtUp(position, signal);
    return keptWebhooks(readModels);
  };
  const due = async (id: WebhookId, position: number, limit: number, signal: AbortSignal) => {
    await caughtUp(position, signal);
    return dueFailures(readModels, id, limit);
  };
  return [
    routeWebhooksWorker({ ...both, keptUpTo }),
    // No team of a history has people whom a mail could reach.
    deliverWebhooksWorker({
      ...both,
      webhookDelaysMs: [60_000, 300_000, 1_800_000],
      unwatchedMs: () => 0,
      keptUpTo,
      due,
      tellOwners: async () => {},
    }),
    removeWebhookRecordsWorker({ ...both, removable: (upTo, limit) => removableParts(readModels, upTo, limit) }),
  ];
};

/** A name is given once: a process that is started again has another. */
export const openNode = (world: World, name: string): Node => {
  const { scheduler, faults, plant, ids } = world;
  const machine = machineNamed(name);
  const network: Network = { scheduler, faults, machine };
  const clock = clockOf(scheduler, machine);
  const worker = ids.uuid();
  const store = watchFences(world, worker, plant.eventStore(openDistantEventStore(world.events, network)));
  const keys = plant.keys(openDistantKeys(world.keys, network));
  const files = openDistantFiles(world.files, network);
  const readModels = plant.readModels(openDistantReadModels(world.models, network));
  const bus = plant.bus(openDistantBus(world.bus, network));
  const mailCopies = { forgetCopies: async () => {} };
  const eventLog = openEventLog({ store, keys, files, ids, clock, limits });
  const leases = plant.leases(openDistantLeases(world.leases, network));
  const leasing: LeaseDeps = { leases, clock, logger: silent, worker };
  let servesAlone = async (): Promise<boolean> => false;
  const deps = makeCommandNeeds({
    store,
    servesAlone: () => servesAlone(),
    eventLog,
    keys,
    files,
    mailCopies,
    renderer: plainRenderer(),
    generator: noGenerator,
    outbound: noOutbound,
    webhooks: { outbound: plant.outbound(world.endpoints.portOf(network)), insecureHosts: [] },
    mediaTypes: { ofBytes: nobody } as never,
    dns: {
      txt: async () => ({ kind: 'failed' }),
      mx: async () => ({ kind: 'failed' }),
      cname: async () => ({ kind: 'failed' }),
    },
    dkimKeys: { make: async () => [] },
    people: peopleOfTest(),
    spfMechanisms: 'mx',
    linkBase: 'https://mail.example.com',
    clock,
    ids,
    limits,
  });
  const cutOff = new AbortController();
  const supervisor = makeSupervisor({ clock, logger: silent });
  const serving = openServingLease(leasing, (signal) => deps.followStates(signal, 'serving'));
  servesAlone = serving.alone;
  let isServing = false;
  void serving.whenSeen.then(() => (isServing = true));

  const start = async (): Promise<void> => {
    const runners: Runner[] = [];
    for (const projection of projections) {
      const models = await readModels.projection(projection.name, projection.collections);
      const pause = (signal: AbortSignal): Promise<void> => clock.sleep(20, signal);
      const lead = (signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void> =>
        underLease(leasing, `project-${projection.name}`, signal, (held) => work(held.signal));
      runners.push(makeRunner(projection, { eventLog, clock, makeAnew: async () => {}, store: models, pause, lead }));
    }
    const ofWebhooks = (): Runner => runners[projections.findIndex(({ name }) => name === WEBHOOKS)]!;
    const processing: ProcessorDeps = {
      ...deps,
      ...leasing,
      readModels,
      stuckWork: openStuckWork(),
      bus,
      // The emails' projection comes first; but for those of webhooks no other timers are waited for.
      timersCaughtUp: (kind, position, signal) =>
        (kind === 'webhook' ? ofWebhooks() : runners[0]!).caughtUp(position, signal),
      inFlightMax: limits.lanes,
      nextTurn: async () => {},
      mayDestroy: () => true,
      cutOff: cutOff.signal,
    };
    const processors = makeProcessors({
      ...deps,
      mayDestroy: () => true,
      unwatchedMs: () => 0,
      turnFor: async () => {},
      logger: silent,
      mailer: plant.mailer(world.sink.mailerOf(network, worker)),
      schedule: { delaysMs: [60_000, 300_000] },
      batchEnds: readBatchEnds(readModels),
      addressIndex: addressIndex(readModels),
      emailsCaughtUp: async (signal) => runners[0]!.caughtUp(await deps.eventLog.head(), signal),
      storedBytes: storedAttachmentBytes({ readModels, clock }),
    });
    const unpublished = openUnpublishedWork();
    supervisor.start([
      serving.worker,
      ...runners.map((runner) => runner.worker),
      relayWorker(processing, processors, unpublished),
      dueWorkWorker(processing, processors, unpublished),
      ...processors.map((processor) => processor.worker(processing)),
      sealLedgerWorker({ ...processing, store, awayMs: undefined }),
      eraseWorker({ ...processing, store, keys, files, mailCopies }),
      sweepWorker({ ...processing, files, mailbox: undefined }),
      ...(world.hasWebhooks ? webhookWorkers(processing, { ...deps, mailCopies }, ofWebhooks()) : []),
    ]);
  };

  return {
    machine,
    worker,
    deps,
    readModels,
    commands: makeCommands(deps),
    isServing: () => machine.alive && isServing,
    start,
    crash: () => {
      machine.alive = false;
    },
    release: () => {
      cutOff.abort();
      void supervisor.stop(undefined, cutOff.signal);
    },
  };
};
