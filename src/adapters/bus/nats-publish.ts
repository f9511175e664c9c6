/**
 * Publishes pointers to the stream, all of a call at once, each acknowledged by the server; and counts the room that is
 * left for them.
 */
import type { Clock } from '../../domain/ports/clock.js';
import { priorities, type Pointer, type Priority, type Room } from '../../domain/ports/bus.js';
import { type Link, NobodyListens } from './nats-link.js';
import {
  GROUPS,
  groupOf,
  JetStreamRefusal,
  type Names,
  type Place,
  type Streams,
  encodePointer,
  membersOf,
} from './nats-streams.js';
import type { Logger } from '../../domain/ports/logger.js';

export type PublishDeps = Readonly<{ logger: Logger; link: Link; streams: Streams; names: Names; rooms: Rooms }>;

export type Publish = (processor: string, pointers: readonly Pointer[]) => Promise<readonly Pointer[]>;

/** `lost`: the stream is not there. A refusal carries the server's reason. */
type Fate = 'taken' | 'double' | 'lost' | Refused;
type Refused = `refused${string}`;

/**
 * The room for pointers of one processor and priority, which all sources share: the server's last count, and what was
 * published since. The server is asked only when these fill the room, so that a pointer costs no question. Before the
 * first question a process knows of what it has published itself.
 */
type Rooms = Readonly<{
  /** Takes room for one pointer. Out: false if there is none by the counts at hand. */
  reserve: (processor: string, pointer: Pointer) => boolean;
  /** The server has taken a pointer for which room was reserved: its next count includes it. */
  settle: (processor: string, pointer: Pointer) => void;
  /** Gives back what was reserved for a pointer that was not taken. */
  giveBack: (processor: string, pointer: Pointer) => void;
  /** The server has refused pointers although there was room: for a while there is none. */
  close: () => void;
  /** Asks the server, unless it was asked just now. */
  refresh: (processor: string, priority: Priority) => Promise<void>;
  /** Resolves when at least half of that room is free, or the signal aborts. */
  whenRoom: (processor: string, room: Room, signal: AbortSignal) => Promise<void>;
  depth: (processor: string) => Promise<number>;
}>;

const REFUSED = 'refused';
const STORE_FAILED = 10_077;
const NO_CONSUMER = 10_014;
/** The code stands for two reasons. This one says that the pointer is there already. */
const IS_THERE = 'maximum messages per subject exceeded';

/** The room is divided into so many shares. */
const SHARES = 32;
/** A count of the server is used for so long. */
const FRESH_MS = 20;
const LOOK_EVERY_MS = 100;
const CLOSED_MS = 1_000;
const NEVER = Number.NEGATIVE_INFINITY;

/**
 * By group: the server's count, how many pointers were reserved since the start, how many of these the server has
 * taken, and how many of those before it was asked.
 */
type Counts = {
  readonly said: number[];
  readonly reserved: number[];
  readonly settled: number[];
  readonly before: number[];
  askedAtMs: number;
  asking: Promise<void> | undefined;
  looking: boolean;
  readonly waiters: Set<Waiter>;
};

type Waiter = Readonly<{ group: number | undefined; end: () => void }>;

type RoomsDeps = Readonly<{
  clock: Clock;
  link: Pick<Link, 'closed' | 'isUp'>;
  streams: Streams;
  names: Names;
  pointersMax: number;
}>;

export const openPublish = (deps: PublishDeps): Publish => {
  const { link, streams, rooms } = deps;
  const noteRefusals = openRefusals(deps);
  return async (processor, pointers) => {
    if (pointers.length === 0) return [];
    if (!link.isUp()) return pointers;
    try {
      await streams.ensureStreams();
      const reserved = await reserveAll(rooms, processor, pointers);
      const fates: Fate[] = await Promise.all(
        pointers.map((pointer, at) => (reserved[at] === true ? send(deps, processor, pointer) : REFUSED)),
      );
      if (fates.includes('lost')) await makeAgain(deps, processor, pointers, fates);
      // Work is delivered by a consumer of its place, which may be made after it: the stream keeps the pointer.
      pointers.forEach((pointer, at) => {
        if (fates[at] === 'taken' || fates[at] === 'double') streams.want(placeOf(processor, pointer));
        if (fates[at] === 'taken') rooms.settle(processor, pointer);
        else if (reserved[at] === true) rooms.giveBack(processor, pointer);
      });
      noteRefusals(fates.filter((_, at) => reserved[at]));
      return pointers.filter((_, at) => fates[at] !== 'taken' && fates[at] !== 'double');
    } catch {
      // The server went away: the link logs it, and the caller publishes these pointers again later.
      return pointers;
    }
  };
};

const placeOf = (processor: string, pointer: Pointer): Place => ({
  processor,
  priority: pointer.priority,
  group: groupOf(pointer),
});

/** If the server takes nothing although there is room, the log says so once, and the room is closed for a while. */
const openRefusals = ({ link, logger, rooms }: PublishDeps): ((fates: readonly Fate[]) => void) => {
  let refuses = false;
  return (fates) => {
    const refused = fates.find((fate) => fate === 'lost' || fate.startsWith(REFUSED));
    if (refused === undefined) {
      if (fates.includes('taken')) refuses = false;
      return;
    }
    rooms.close();
    if (!refuses && link.isUp())
      logger.error({ reason: refused }, 'the NATS server takes no pointers: work waits until it does');
    refuses = true;
  };
};

/** Asks the server for its counts only if the room seems to be full. */
const reserveAll = async (
  rooms: Rooms,
  processor: string,
  pointers: readonly Pointer[],
): Promise<readonly boolean[]> => {
  const reserved = pointers.map((pointer) => rooms.reserve(processor, pointer));
  const wanting = new Set(pointers.filter((_, at) => !reserved[at]).map(({ priority }) => priority));
  if (wanting.size === 0) return reserved;
  try {
    await Promise.all([...wanting].map((priority) => rooms.refresh(processor, priority)));
  } catch {
    return reserved;
  }
  return pointers.map((pointer, at) => reserved[at] === true || rooms.reserve(processor, pointer));
};

const makeAgain = async (
  { streams, ...deps }: PublishDeps,
  processor: string,
  pointers: readonly Pointer[],
  fates: Fate[],
): Promise<void> => {
  streams.forget();
  await streams.ensureStreams();
  await Promise.all(
    fates.map(async (fate, at) => {
      if (fate === 'lost') fates[at] = await send({ streams, ...deps }, processor, pointers[at]!);
    }),
  );
};

const send = async ({ link, names }: PublishDeps, processor: string, pointer: Pointer): Promise<Fate> => {
  try {
    const answer = (await link.ask(names.workSubject(processor, pointer), encodePointer(pointer))).string();
    return answer.includes('"error"') ? fateOf(answer) : 'taken';
  } catch (fault) {
    return fault instanceof NobodyListens ? 'lost' : REFUSED;
  }
};

const fateOf = (answer: string): Fate => {
  const fault = membersOf(answer)['error'] as Readonly<{ err_code?: number; description?: string }> | undefined;
  return fault?.err_code === STORE_FAILED && fault.description === IS_THERE
    ? 'double'
    : `${REFUSED}: ${fault?.description ?? 'no reason given'}`;
};

export const openRooms = (deps: RoomsDeps): Rooms => {
  const { clock, link, pointersMax } = deps;
  const countsOf = openCounts();
  const shareMax = Math.max(1, Math.floor(pointersMax / SHARES));
  let closedUntilMs = NEVER;

  const refresh = (processor: string, priority: Priority): Promise<void> => {
    const counts = countsOf(processor, priority);
    if (counts.asking !== undefined) return counts.asking;
    if (clock.monotonic() - counts.askedAtMs < FRESH_MS) return Promise.resolve();
    counts.asking = ask(deps, counts, processor, priority).finally(() => (counts.asking = undefined));
    return counts.asking;
  };
  const hasRoom = (counts: Counts, group: number | undefined): boolean => {
    if (clock.monotonic() < closedUntilMs) return false;
    const taken = sum(counts);
    return (
      taken <= pointersMax / 2 ||
      (group !== undefined && taken <= pointersMax * 1.5 && takenBy(counts, group) <= shareMax / 2)
    );
  };
  /** Looks on behalf of all that wait for the same room. */
  const look = async (counts: Counts, again: () => Promise<void>): Promise<void> => {
    counts.looking = true;
    const endThoseWithRoom = (): void => {
      for (const waiter of counts.waiters) if (hasRoom(counts, waiter.group)) waiter.end();
    };
    while (counts.waiters.size > 0) {
      if (link.isUp()) endThoseWithRoom();
      // If the server does not answer or has lost its streams, the next look asks again.
      const isTold = counts.waiters.size > 0 && link.isUp() && (await again().then(isDone, isNotDone));
      if (isTold) endThoseWithRoom();
      if (counts.waiters.size > 0) await clock.sleep(LOOK_EVERY_MS, link.closed);
    }
    counts.looking = false;
  };

  return {
    reserve: (processor, pointer) => {
      const counts = countsOf(processor, pointer.priority);
      const group = groupOf(pointer);
      const hasPlace = sum(counts) < (takenBy(counts, group) < shareMax ? 2 : 1) * pointersMax;
      if (hasPlace) counts.reserved[group]! += 1;
      return hasPlace;
    },
    settle: (processor, pointer) => {
      countsOf(processor, pointer.priority).settled[groupOf(pointer)]! += 1;
    },
    giveBack: (processor, pointer) => {
      countsOf(processor, pointer.priority).reserved[groupOf(pointer)]! -= 1;
    },
    close: () => {
      closedUntilMs = clock.monotonic() + CLOSED_MS;
    },
    refresh,
    whenRoom: async (processor, room, signal) => {
      const counts = countsOf(processor, room.priority);
      const waiting = waitIn(counts, room.team === undefined ? undefined : groupOf(room), [signal, link.closed]);
      if (!counts.looking) void look(counts, () => refresh(processor, room.priority));
      await waiting;
    },
    depth: async (processor) => {
      const all = await Promise.all(priorities.map((priority) => askApart(deps, processor, priority)));
      return all.reduce((whole, one) => whole + one, 0);
    },
  };
};

/** Counts by processor and priority. */
const openCounts = (): ((processor: string, priority: Priority) => Counts) => {
  const all = new Map<string, Counts>();
  return (processor, priority) => {
    const key = `${processor}\n${priority}`;
    let counts = all.get(key);
    if (counts === undefined) all.set(key, (counts = newCounts()));
    return counts;
  };
};

const isDone = (): boolean => true;
const isNotDone = (): boolean => false;

/** Resolves when the waiter is ended, or a signal aborts. */
const waitIn = (counts: Counts, group: number | undefined, signals: readonly AbortSignal[]): Promise<void> =>
  new Promise((resolve) => {
    if (signals.some(({ aborted }) => aborted)) return resolve();
    const waiter: Waiter = {
      group,
      end: () => {
        counts.waiters.delete(waiter);
        for (const one of signals) one.removeEventListener('abort', waiter.end);
        resolve();
      },
    };
    counts.waiters.add(waiter);
    for (const one of signals) one.addEventListener('abort', waiter.end);
  });

/** The server's count at this moment, without the counts at hand. */
const askApart = async (deps: RoomsDeps, processor: string, priority: Priority): Promise<number> => {
  const counts = newCounts();
  await ask(deps, counts, processor, priority);
  return sum(counts);
};

const zeros = (): number[] => Array.from({ length: GROUPS }, () => 0);

const newCounts = (): Counts => ({
  said: zeros(),
  reserved: zeros(),
  settled: zeros(),
  before: zeros(),
  askedAtMs: NEVER,
  asking: undefined,
  looking: false,
  waiters: new Set(),
});

const takenBy = ({ said, reserved, before }: Counts, group: number): number =>
  Math.max(0, said[group]! + reserved[group]! - before[group]!);

const sum = (counts: Counts): number => {
  let whole = 0;
  for (let group = 0; group < GROUPS; group += 1) whole += takenBy(counts, group);
  return whole;
};

/** Pointers published while the server is asked count on top of its answer, so that the room is never overestimated. */
const ask = async (
  { clock, streams, names }: RoomsDeps,
  counts: Counts,
  processor: string,
  priority: Priority,
): Promise<void> => {
  await streams.ensureStreams();
  const before = [...counts.settled];
  const askedAtMs = clock.monotonic();
  const answers = await Promise.all(
    zeros().map((_, group) => askOne({ streams, names }, { processor, priority, group })),
  );
  counts.askedAtMs = askedAtMs;
  answers.forEach((said, group) => {
    if (said === undefined) return;
    counts.said[group] = said;
    counts.before[group] = before[group]!;
  });
};

/** Out: undefined where the count at hand is better than what the server knows. */
const askOne = async (
  { streams, names }: Pick<RoomsDeps, 'streams' | 'names'>,
  place: Place,
): Promise<number | undefined> => {
  try {
    const info = await streams.api(`CONSUMER.INFO.${names.workStream}.${names.consumer(place)}`);
    return Number(info['num_pending'] ?? 0) + Number(info['num_ack_pending'] ?? 0);
  } catch (fault) {
    if (!(fault instanceof JetStreamRefusal && fault.code === NO_CONSUMER)) throw fault;
    return streams.isWanted(place) ? undefined : 0;
  }
};
