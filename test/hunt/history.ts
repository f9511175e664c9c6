/**
 * One random history: clients call, mail leaves, messages get lost, processes die; then all faults cease and everything
 * runs to its rest.
 */
import type { FaultRates } from '../support/distant/faults.js';
import { calm } from '../support/distant/scheduler.js';
import { rebuildProjection } from '../../src/projections/core/rebuild.js';
import { makeClients, type Clients } from './clients.js';
import { openNode, type Node } from './node.js';
import { emailsOf, findings, isAtRest, nextDueMs, type Finding } from './oracles.js';
import type { Base } from './founding.js';
import { noPlant, type Plant } from './plants.js';
import { makeSubscribers, type Subscribers } from './subscribers.js';
import { limits, projections, openWorld, type World } from './world.js';

/** How a lost message is lost, for each operation, where a history has faults of the network. */
const lost = { refused: 0.01, 'answer-lost': 0.02, 'request-lost': 0.01, late: 0.02 };

const ratesAt = (scale: number): FaultRates => ({
  fates: {
    '*': Object.fromEntries(Object.entries(lost).map(([fate, share]) => [fate, share * scale])),
    'event-store.append': Object.fromEntries(Object.entries(lost).map(([fate, share]) => [fate, share * scale * 3])),
  },
  faults: {
    'event-store.subscription-dropped': 0.02 * scale,
    'read-models.torn': 0.3 * scale,
    'bus.pointer-lost': 0.05 * scale,
    'bus.pointer-doubled': 0.1 * scale,
    'bus.out-of-order': 0.3 * scale,
    'bus.id-remembered': 0.1 * scale,
    'bus.id-forgotten': 0.1 * scale,
    'lease.forgotten': 0.01 * scale,
  },
});

export type HistoryResult = Readonly<{
  seed: number;
  findings: readonly Finding[];
  /** Counts of what happened, for a reader. */
  steps: number;
  emails: number;
  posts: number;
  dialogues: number;
  crashes: number;
  struck: ReadonlyMap<string, number>;
}>;

/** `isQuiet`: no trouble was planned. */
type Cluster = { readonly world: World; readonly nodes: Node[]; started: number; crashes: number; isQuiet: boolean };

const startNode = (cluster: Cluster): Node => {
  const node = openNode(cluster.world, `process-${(cluster.started += 1)}`);
  cluster.nodes.push(node);
  // If the stores cannot be reached at the start, the supervisor starts the process again.
  const start = (): void =>
    void node.start().catch(() => cluster.world.scheduler.at(cluster.world.scheduler.now() + 500, node.machine, start));
  start();
  return node;
};

const living = ({ nodes }: Cluster): readonly Node[] => nodes.filter(({ machine }) => machine.alive);

/** A process that answers requests, where there is one. */
const anyServing = ({ world, nodes }: Cluster): Node | undefined => {
  const serving = nodes.filter((node) => node.isServing());
  return serving.length === 0 ? undefined : world.scheduler.random.pick(serving);
};

const runUntil = async ({ scheduler }: World, untilMs: number): Promise<void> => {
  while (await scheduler.step(untilMs));
  scheduler.jump(Math.max(0, untilMs - scheduler.now()));
};

/** Crashes, processes that stand still, rebuilds and time that passes at once, at random moments of the history. */
const planTroubles = (cluster: Cluster, activeMs: number): void => {
  const { scheduler } = cluster.world;
  const { random } = scheduler;
  const sometime = (run: () => void): void => {
    cluster.isQuiet = false;
    scheduler.at(scheduler.now() + random.next() * activeMs, undefined, run);
  };
  const anyone = (): Node | undefined => (living(cluster).length === 0 ? undefined : random.pick(living(cluster)));
  for (let count = random.between(0, 2); count > 0; count -= 1) {
    sometime(() => {
      const node = anyone();
      if (node === undefined) return;
      node.crash();
      cluster.crashes += 1;
      scheduler.at(scheduler.now() + random.next() * 800, undefined, () => void startNode(cluster));
    });
  }
  if (random.chance(0.3)) {
    sometime(() => {
      const node = anyone();
      if (node === undefined) return;
      node.machine.frozenUntilMs = scheduler.now() + random.pick([200, 2_000, 40_000]);
      cluster.world.frozen.add(node.machine);
    });
  }
  if (random.chance(0.3)) sometime(() => cluster.world.jump(random.pick([3_000, 20_000, 70_000, 700_000])));
  if (random.chance(0.1)) {
    sometime(() => {
      const node = anyone();
      if (node !== undefined)
        void rebuildProjection(random.pick(projections), {
          eventLog: node.deps.eventLog,
          readModels: node.readModels,
        }).catch(() => {});
    });
  }
};

/** The pauses after which everything must be at rest: longer than every lease and time-out of the service together. */
const PAUSES_MS = [
  0, 1_000, 3_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000, 600_000, 900_000, 3_600_000,
];
const RUN_MS = 150;
/** A post that hangs ends in that time at the latest; each jump is shorter than a lease, so that it is told of. */
const HANGING_PAUSES_MS = [8_000, 8_000, 8_000, 8_000];
/**
 * With webhooks what is done at each moment takes as long as leases are taken anew, and the outcomes of posts are
 * gathered.
 */
const [RUN_WITH_WEBHOOKS_MS, LOOK_EVERY_MS, ROUNDS_MAX] = [2_100, 300, 18];

/** A process that died during a rebuild leaves the rebuild behind; an operator gives it up. */
const giveUpRebuilds = ({ models }: World): void => {
  for (const projected of models.projections.values()) projected.rebuilt = undefined;
};

const comeToRest = async (cluster: Cluster, clients: Clients, subscribers: Subscribers): Promise<void> => {
  const { world } = cluster;
  const { scheduler } = world;
  world.faults.cease();
  world.sink.acceptAll();
  scheduler.setLatency(calm);
  for (const { machine } of cluster.nodes) machine.frozenUntilMs = 0;
  giveUpRebuilds(world);
  if (living(cluster).length === 0) startNode(cluster);
  clients.finish();
  if (world.hasWebhooks) return restWithWebhooks(cluster, clients, subscribers);
  for (const pauseMs of PAUSES_MS) {
    // The world is idle until the next attempt is due.
    const dueMs = (nextDueMs(world) ?? 0) - scheduler.now();
    world.jump(Math.max(pauseMs, dueMs));
    await runUntil(world, scheduler.now() + RUN_MS);
    if (clients.areAnswered() && isAtRest(world)) return;
  }
};

const restWithWebhooks = async ({ world }: Cluster, clients: Clients, subscribers: Subscribers): Promise<void> => {
  const { scheduler, endpoints } = world;
  for (const pauseMs of endpoints.underWay() === 0 ? [] : HANGING_PAUSES_MS) {
    world.jump(pauseMs);
    await runUntil(world, scheduler.now() + RUN_MS);
  }
  endpoints.calm();
  subscribers.finish();
  const isOver = (): boolean => clients.areAnswered() && subscribers.areAnswered() && isAtRest(world);
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    for (let ranMs = 0; ranMs < RUN_WITH_WEBHOOKS_MS; ranMs += LOOK_EVERY_MS) {
      await runUntil(world, scheduler.now() + LOOK_EVERY_MS);
      if (isOver()) return;
    }
    const pauseMs = PAUSES_MS[Math.min(round, PAUSES_MS.length - 2)]!;
    world.jump(Math.max(pauseMs, (nextDueMs(world) ?? 0) - scheduler.now()));
  }
};

/** Lets the time of retention pass, so that everything is archived. */
const grow = async ({ world }: Cluster): Promise<void> => {
  world.jump((limits.retentionDays + 1) * 86_400_000);
  for (const pauseMs of [0, 1_000, 5_000, 5_000, 30_000, 60_000, 600_000, 60_000, 600_000, 600_000, 600_000]) {
    world.jump(pauseMs);
    await runUntil(world, world.scheduler.now() + (world.hasWebhooks ? RUN_WITH_WEBHOOKS_MS : RUN_MS));
    if (isAtRest(world) && emailsOf(world).every(({ email }) => email.archivedAt !== null)) return;
  }
};

const SUBSCRIBING_MS = 300;

export const playHistory = async (base: Base, seed: number, plant: Plant = noPlant): Promise<HistoryResult> => {
  // The first number of a seed decides how hard the history is.
  const scale = [0, 0.3, 1, 1, 2][seed % 5]!;
  const hasWebhooks = seed % 2 === 0;
  const { world: from, token } = hasWebhooks ? base.withWebhooks : base.plain;
  const world = openWorld({ seed, rates: ratesAt(scale), plant, from, hasWebhooks });
  const { scheduler } = world;
  const { random } = scheduler;
  const cluster: Cluster = { world, nodes: [], started: 0, crashes: 0, isQuiet: scale === 0 };
  for (let count = random.between(1, 2); count > 0; count -= 1) startNode(cluster);
  for (let waitedMs = 0; waitedMs < 2_000 && anyServing(cluster) === undefined; waitedMs += 50)
    await runUntil(world, scheduler.now() + 50);
  const activeMs = random.between(200, 1_500);
  const clients = makeClients(world, token, () => anyServing(cluster));
  const subscribers = makeSubscribers(world, () => anyServing(cluster));
  if (hasWebhooks) {
    subscribers.plan(random.between(4, 10), activeMs);
    // Most subscriptions are there before the first email.
    await runUntil(world, scheduler.now() + SUBSCRIBING_MS);
  }
  clients.plan(hasWebhooks ? random.between(6, 12) : random.between(3, 10), activeMs);
  planTroubles(cluster, activeMs);
  await runUntil(world, scheduler.now() + activeMs);
  await comeToRest(cluster, clients, subscribers);
  const hasGrown = random.chance(0.15);
  if (hasGrown) await grow(cluster);
  for (const node of cluster.nodes) node.crash();
  giveUpRebuilds(world);
  const found = await findings(world, clients, { hasGrown, isQuiet: cluster.isQuiet });
  for (const node of cluster.nodes) node.release();
  return {
    seed,
    findings: found,
    steps: scheduler.steps(),
    emails: emailsOf(world).length,
    posts: world.endpoints.posts.length,
    dialogues: world.sink.dialogues.length,
    crashes: cluster.crashes,
    struck: world.faults.struck,
  };
};
