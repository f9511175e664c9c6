/**
 * Brings work to the bus when its time has come, as the bus has room: the timers of every processor, each kind and priority by itself,
 * in the order of their times. A timer is a hint from a read model that may lag; the work looks at the stream and is safe to repeat.
 */
import type { StreamKind } from '../domain/events.js';
import { priorities, type Priority } from '../domain/ports/bus.js';
import { isoTime } from '../domain/ports/clock.js';
import type { Worker } from '../domain/ports/worker.js';
import { timersOf } from '../domain/timers.js';
import type { Gate, Processor, TimerUse } from './declaration.js';
import { pointerOf, type ProcessorDeps, type TimerDocument } from './deps.js';
import { LEASE_TTL_MS, underLease } from './lease.js';
import type { Overflow } from './overflow.js';

const PAGE = 500;
const LOOK_EVERY_MS = 500;
/** Timers whose work led to nothing, and those that were set late, are found when the reading begins again from the first. */
const BEGIN_AGAIN_EVERY_MS = 5_000;
/** Work that an event started and that is open this long may have been lost by the bus. */
const LOST_AFTER_MS = 10_000;
/** While the bus has no room for what comes, so much of it is read in one go. */
const OVERFLOW_EVERY_MS = 50;

/** One queue of timers: they lead to one processor, have one kind and one priority. */
type Queue = Readonly<{ processor: string; kind: StreamKind; timer: TimerUse; priority: Priority; gate: Gate | undefined }>;

/** Where the reading of a queue stands: behind that timer. */
type Cursor = Readonly<{ value: string; seq: number }>;

export const dueWorkWorker = (deps: ProcessorDeps, processors: readonly Processor[], overflow: Overflow): Worker => {
  const queues: readonly Queue[] = processors.flatMap(({ name, kind, timers, gate }) =>
    timers.flatMap((timer) => priorities.map((priority) => ({ processor: name, kind, timer, priority, gate }))),
  );
  return {
    name: 'due-work',
    run: (signal) => underLease(deps, 'due-work', signal, (held) => readAll(deps, queues, overflow, held.signal)),
  };
};

/** Where the reading of one queue fails that of the others is ended before the fault is reported. */
const readAll = async (deps: ProcessorDeps, queues: readonly Queue[], overflow: Overflow, signal: AbortSignal): Promise<void> => {
  const failed = new AbortController();
  const both = AbortSignal.any([signal, failed.signal]);
  const readers = queues.map(async (queue) => {
    try {
      await readerOf[queue.timer.read](deps, queue, both, overflow);
    } catch (fault) {
      failed.abort();
      throw fault;
    }
  });
  const ends = await Promise.allSettled(readers);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
};

type Reader = (deps: ProcessorDeps, queue: Queue, signal: AbortSignal, overflow: Overflow) => Promise<void>;

/** Goes on from where it stood, and from the first timer now and then. */
const readDue: Reader = async (deps, queue, signal) => {
  let cursor: Cursor | undefined;
  let beganMs = deps.clock.monotonic();
  while (!signal.aborted) {
    cursor = await publishUpTo(deps, queue, isoTime(deps.clock.now()), cursor, signal);
    await deps.clock.sleep(LOOK_EVERY_MS, signal);
    if (deps.clock.monotonic() - beganMs < BEGIN_AGAIN_EVERY_MS) continue;
    cursor = undefined;
    beganMs = deps.clock.monotonic();
  }
};

/** Reads all where the relay says that some was missed, else what has waited suspiciously long. */
const readStarted: Reader = async (deps, queue, signal, overflow) => {
  const { processor, priority } = queue;
  while (!signal.aborted) {
    const missed = overflow.take(processor, priority);
    if (missed) await deps.timersCaughtUp(queue.kind, await deps.eventLog.head(), signal);
    await publishUpTo(deps, queue, missed ? undefined : isoTime(deps.clock.now() - LOST_AFTER_MS), undefined, signal);
    if (missed) await deps.clock.sleep(OVERFLOW_EVERY_MS, signal);
    else await overflow.next(processor, priority, (over) => deps.clock.sleep(BEGIN_AGAIN_EVERY_MS, AbortSignal.any([signal, over])));
  }
};

/** Reads all as soon as the gate is open. While it is not, those whose time has come. */
const readHeld: Reader = async (deps, queue, signal) => {
  const { gate } = queue;
  while (!signal.aborted) {
    const both = gate === undefined ? signal : AbortSignal.any([signal, gate.changed()]);
    const isOpen = gate === undefined || gate.isOpen();
    await publishUpTo(deps, queue, isOpen ? undefined : isoTime(deps.clock.now()), undefined, both);
    await deps.clock.sleep(BEGIN_AGAIN_EVERY_MS, both);
  }
};

/** Reads all, due or not, as often as leases end. */
const readUnderWay: Reader = async (deps, queue, signal) => {
  await deps.timersCaughtUp(queue.kind, await deps.eventLog.head(), signal);
  while (!signal.aborted) {
    await publishUpTo(deps, queue, undefined, undefined, signal);
    await deps.clock.sleep(LEASE_TTL_MS, signal);
  }
};

const readerOf: Readonly<Record<TimerUse['read'], Reader>> = {
  due: readDue,
  started: readStarted,
  held: readHeld,
  'under-way': readUnderWay,
};

/** Publishes the timers behind the cursor that are due at `dueAt` (absent: all of them). Out: the cursor behind the last. */
const publishUpTo = async (
  deps: ProcessorDeps,
  { processor, kind, timer, priority }: Queue,
  dueAt: string | undefined,
  from: Cursor | undefined,
  signal: AbortSignal,
): Promise<Cursor | undefined> => {
  let cursor = from;
  while (!signal.aborted) {
    await deps.bus.whenRoom(processor, { priority, source: timer.kind }, signal);
    if (signal.aborted) return cursor;
    const found = (await deps.readModels.find(timersOf(kind), {
      where: { kind: { eq: timer.kind }, priority: { eq: priority }, ...(dueAt === undefined ? {} : { dueAt: { lte: dueAt } }) },
      sort: { field: 'dueAt', direction: 'asc' },
      ...(cursor === undefined ? {} : { after: cursor }),
      limit: PAGE,
    })) as readonly TimerDocument[];
    if (found.length === 0) return cursor;
    const refused = await deps.bus.publish(
      processor,
      found.map(({ key, position, team }) => pointerOf({ stream: key, position, priority, team, source: timer.kind })),
    );
    const first = refused[0];
    const last = first === undefined ? found.at(-1) : found[found.findIndex(({ key }) => key === first.stream) - 1];
    if (last !== undefined) cursor = { value: last.dueAt, seq: last.seq };
    if (first === undefined && found.length < PAGE) return cursor;
  }
  return cursor;
};
