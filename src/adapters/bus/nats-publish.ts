/**
 * Publishes pointers to the stream, all of a call at once, each acknowledged by the server; and counts the room that is
 * left for them.
 */
import type { Clock } from '../../domain/ports/clock.js';
import { priorities, type Bus, type Pointer, type Priority } from '../../domain/ports/bus.js';
import type { Link } from './nats-link.js';
import { encodePointer, type Streams } from './nats-streams.js';
import type { Logger } from '../../domain/ports/logger.js';

type PublishDeps = Readonly<{
  clock: Clock;
  logger: Logger;
  link: Link;
  streams: Streams;
  /** Room for pointers of one processor and priority. */
  pointersMax: number;
}>;

/** The result for a pointer, or the server's reason why it took none. */
type Fate = 'taken' | 'double' | 'no room' | Readonly<{ reason: string }>;

type Room = ReturnType<typeof openRoom>;

const STORE_FAILED = 10_077;
/** The code stands for two reasons. This one says that the pointer is there already. */
const IS_THERE = 'maximum messages per subject exceeded';
/** A count of the server is used for so long. */
const FRESH_MS = 20;
const LOOK_EVERY_MS = 100;
const CLOSED_MS = 1_000;

export const openPublish = (deps: PublishDeps): Pick<Bus, 'publish' | 'whenRoom' | 'depth'> => {
  const { clock, logger, link, streams } = deps;
  const rooms = new Map<string, Room>();
  let refuses = false;

  const roomOf = (processor: string, priority: Priority): Room => {
    const key = `${processor}\n${priority}`;
    let room = rooms.get(key);
    if (room === undefined) rooms.set(key, (room = openRoom(deps, processor, priority)));
    return room;
  };
  const publishOne = async (processor: string, pointer: Pointer): Promise<Fate> => {
    const { priority, id } = pointer;
    const room = roomOf(processor, priority);
    if (!room.reserve()) {
      await room.refresh().catch(() => {});
      if (!room.reserve()) return 'no room';
    }
    const fate = await streams.publish(streams.names.workSubject(processor, priority, id), encodePointer(pointer)).then(
      (refusal): Fate => {
        if (refusal === undefined) return 'taken';
        const { err_code, description = 'no reason given' } = refusal;
        return err_code === STORE_FAILED && description === IS_THERE ? 'double' : { reason: description };
      },
      (fault: Error): Fate => ({ reason: fault.message }),
    );
    room.end(fate === 'taken');
    if (typeof fate === 'object') room.close();
    return fate;
  };
  /** If the server takes nothing although there is room, the log says so once. */
  const noteRefusals = (fates: readonly Fate[]): void => {
    const refused = fates.find((fate) => typeof fate === 'object');
    if (refused !== undefined && !refuses && link.isUp())
      logger.error(refused, 'the NATS server takes no pointers: work waits until it does');
    if (refused !== undefined || fates.includes('taken')) refuses = refused !== undefined;
  };
  return {
    publish: async (processor, pointers) => {
      if (!link.isUp()) return pointers;
      const fates = await Promise.all(pointers.map((pointer) => publishOne(processor, pointer)));
      noteRefusals(fates);
      return pointers.filter((_, at) => fates[at] !== 'taken' && fates[at] !== 'double');
    },
    whenRoom: async (processor, { priority }, signal) => {
      const room = roomOf(processor, priority);
      while (!signal.aborted && !link.closed.aborted && !(link.isUp() && room.isHalfFree())) {
        // If the server does not answer, the next look asks again.
        if (link.isUp()) void room.refresh().catch(() => {});
        await clock.sleep(LOOK_EVERY_MS, signal);
      }
    },
    depth: async (processor) => {
      const counts = await Promise.all(priorities.map((priority) => streams.count(processor, priority)));
      return counts.reduce((whole, one) => whole + one, 0);
    },
  };
};

/**
 * The room for pointers of one processor and priority: the server's last count, and what was published since. The
 * server is asked only when these fill the room, so that a pointer costs no question. Before the first question a
 * process knows of what it has published itself.
 */
const openRoom = ({ clock, streams, pointersMax }: PublishDeps, processor: string, priority: Priority) => {
  let [said, since, underWay] = [0, 0, 0];
  let [askedAtMs, closedUntilMs] = [-Infinity, -Infinity];
  let asking: Promise<void> | undefined;

  const taken = (): number => said + since + underWay;
  const ask = async (): Promise<void> => {
    const before = since;
    const atMs = clock.monotonic();
    // Pointers that are published meanwhile count on top of the answer, so that the room is never overestimated.
    said = await streams.count(processor, priority);
    since -= before;
    askedAtMs = atMs;
  };
  return {
    /** Takes room for one pointer. Out: false if there is none by the counts at hand. */
    reserve: (): boolean => {
      if (taken() >= pointersMax) return false;
      underWay += 1;
      return true;
    },
    /** The server has answered for a pointer that had room: taken, its next count includes it. */
    end: (isTaken: boolean): void => {
      underWay -= 1;
      if (isTaken) since += 1;
    },
    isHalfFree: (): boolean => clock.monotonic() >= closedUntilMs && taken() <= pointersMax / 2,
    /** The server refuses pointers although there is room: for a while there is none. */
    close: (): void => {
      closedUntilMs = clock.monotonic() + CLOSED_MS;
    },
    /** Asks the server, unless it was asked just now. */
    refresh: async (): Promise<void> => {
      if (clock.monotonic() - askedAtMs < FRESH_MS) return;
      asking ??= ask().finally(() => (asking = undefined));
      await asking;
    },
  };
};
