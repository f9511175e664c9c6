/** The faults of the distributed engine, each done once to the end: when it resolves everything runs again. */
import type { Random } from '../support/random.js';
import { pause } from '../support/wait.js';
import type { Member, RoleName } from './distributed-processes.js';
import type { Part, PartName, Servers } from './distributed-servers.js';

/** How long each lasts. */
export type FaultTimes = Readonly<{
  serverFrozenMs: number;
  processFrozenMs: number;
  networkMs: number;
  clockMs: number;
}>;

export type FaultContext = Readonly<{
  members: readonly Member[];
  servers: Servers;
  random: Random;
  times: FaultTimes;
  count: (what: string, by?: number) => void;
}>;

/**
 * `delivers`: after it attempts of one worker, or of all, may have been cut off. `lateMs`: how much later than else
 * mails may come.
 */
export type Fault = Readonly<{
  name: string;
  cutsOff: 'none' | 'one' | 'all';
  lateMs?: number;
  run: (context: FaultContext) => Promise<void>;
}>;

export const CLOCK_SHIFT_MS = 5 * 60_000;

const membersOf = (members: readonly Member[], role: RoleName): readonly Member[] =>
  members.filter(({ roles }) => roles.split(',').includes(role));

const kill = (role: RoleName, at: number): Fault => ({
  name: `kill -9 of ${role} ${at + 1}`,
  cutsOff: role === 'process' ? 'one' : 'none',
  run: async ({ members, random, count }) => {
    const member = membersOf(members, role)[at]!;
    await pause(random.between(0, 500));
    await member.end('SIGKILL');
    count(`kills of ${role}`);
    await pause(random.between(0, 1_000));
    await member.start();
  },
});

/** The leases and what keeps them renewed may be lost to all while the documents' server stands still. */
const freezeServer = (name: PartName): Fault => ({
  name: `SIGSTOP of ${name}`,
  cutsOff: name === 'mongodb' || name === 'eventstore' ? 'all' : 'none',
  run: async ({ servers, times, count }) => {
    const server = servers.parts[name];
    server.freeze();
    await pause(times.serverFrozenMs);
    server.resume();
    count(`freezes of ${name}`);
  },
});

const wipeBus: Fault = {
  name: 'the data of nats wiped',
  cutsOff: 'none',
  run: async ({ servers, count }) => {
    await servers.parts.nats.wipe();
    count('wipes of nats');
  },
};

/** Each request of the API takes so long, one after another: a hundred of them take longer than a question waits. */
const API_REQUEST_MS = 1_000;

/** Connections are cut while NATS is slow to make and to describe consumers. */
const slowBus: Fault = {
  name: 'connections to nats cut while it is slow to answer',
  cutsOff: 'none',
  run: async ({ servers, times, count }) => {
    servers.slowNats(API_REQUEST_MS);
    count(
      'connections cut',
      servers.parts.nats.relay.cut(() => true),
    );
    await pause(times.networkMs);
    servers.slowNats(0);
    count('times that nats was slow');
  },
};

const SLOWEST_MS = 150;

/** Connections are cut one by one and all pieces slowed, each by another time. */
const trouble = async ({ relay }: Part, { random, times, count }: FaultContext): Promise<void> => {
  relay.slow(() => (random.chance(0.3) ? random.between(1, SLOWEST_MS) : 0));
  const untilMs = performance.now() + times.networkMs;
  while (performance.now() < untilMs) {
    count(
      'connections cut',
      relay.cut(() => random.chance(0.4)),
    );
    await pause(random.between(100, 1_000));
  }
  relay.slow(undefined);
};

const roughNetwork = (name: PartName): Fault => ({
  name: `connections to ${name} cut and slowed`,
  cutsOff: name === 'mongodb' || name === 'eventstore' ? 'all' : 'none',
  run: (context) => trouble(context.servers.parts[name], context),
});

const roughNetworks: Fault = {
  name: 'all connections cut and slowed',
  cutsOff: 'all',
  run: async (context) =>
    void (await Promise.all(Object.values(context.servers.parts).map((part) => trouble(part, context)))),
};

const freezeProcess = (role: RoleName): Fault => ({
  name: `a process (${role}) frozen past its lease and continued`,
  cutsOff: role === 'process' ? 'one' : 'none',
  run: async ({ members, random, times, count }) => {
    const member = random.pick(membersOf(members, role));
    member.freeze();
    await pause(times.processFrozenMs);
    member.resume();
    count('processes frozen');
  },
});

const wrongClock = (role: RoleName): Fault => ({
  name: `the clock of a process (${role}) 5 minutes off`,
  cutsOff: 'none',
  lateMs: CLOCK_SHIFT_MS,
  run: async ({ members, random, times, count }) => {
    const member = random.pick(membersOf(members, role));
    const shiftMs = random.chance(0.5) ? CLOCK_SHIFT_MS : -CLOCK_SHIFT_MS;
    await member.end('SIGTERM');
    await member.start(shiftMs);
    await pause(times.clockMs);
    await member.end('SIGTERM');
    await member.start();
    count(shiftMs > 0 ? 'clocks ahead' : 'clocks behind');
  },
});

const parts: readonly PartName[] = ['eventstore', 'nats', 'mongodb', 'redis'];
const roles: readonly RoleName[] = ['http', 'process', 'project'];

/** Each once: what a round is made of. */
export const allFaults: readonly Fault[] = [
  ...roles.flatMap((role) => [kill(role, 0), kill(role, 1)]),
  ...parts.map(freezeServer),
  wipeBus,
  slowBus,
  ...parts.map(roughNetwork),
  roughNetworks,
  ...roles.map(freezeProcess),
  ...roles.map(wrongClock),
];

/** In an order of the seed's choice. */
export const shuffled = (faults: readonly Fault[], random: Random): readonly Fault[] =>
  faults
    .map((fault) => ({ fault, at: random.next() }))
    .sort((one, other) => one.at - other.at)
    .map(({ fault }) => fault);

/** The names that a run may be told to take. */
export const faultNamed = (text: string): readonly Fault[] => allFaults.filter(({ name }) => name.includes(text));
