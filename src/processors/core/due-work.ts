/**
 * Brings work to the bus when its time has come, as the bus has room: the timers of every processor, each kind and priority by itself, in
 * the order of their times. A timer is a hint from a read model that may lag; the work looks at the stream and is safe to repeat.
 */
import type { StreamKind } from '../../domain/events.js';
import type { Condition } from '../../domain/ports/read-models.js';
import { timersOf } from '../../domain/core/timers.js';
import { gathered } from '../../shared/concurrency.js';
import type { ProcessorDeps, TimerUse, Gate, Processor } from './declaration.js';
import { type DueQueue, type DueCursor, publishDue } from './due-pages.js';
import { isoTime } from '../../domain/core/time.js';
import { LEASE_TTL_MS, DISPATCH_LEASE, underLease } from './lease.js';
import type { Overflow } from './relay.js';
import { priorities } from '../../domain/ports/bus.js';
import type { Worker } from '../../domain/ports/worker.js';

/* Whether queues of timers hold any: one read answers for all queues that are asked about at once, for most of the time none does. */

type Outlook = Readonly<{
  queue: DueQueue;
  /** Timers of this moment and of those before it; undefined where the time does not matter. */
  upTo: string | undefined;
  from: DueCursor | undefined;
}>;

/** Out: false where the queue has no timer behind the cursor up to that moment; true where it or another that is asked about has. */
const openOutlook = ({ readModels }: Pick<ProcessorDeps, 'readModels'>): ((asked: Outlook) => Promise<boolean>) => {
  const ofKind = new Map<StreamKind, (asked: readonly Outlook[]) => Promise<boolean>>();
  const first = (kind: StreamKind) =>
    gathered(async (asked: ReadonlySet<Outlook>) => {
      const anyOf = [...asked].map(conditionsOf);
      const found = await readModels.find(timersOf(kind), { where: {}, anyOf, sort: { field: 'dueAt', direction: 'asc' }, limit: 1 });
      return found.length > 0;
    });
  return (asked) => {
    const { kind } = asked.queue;
    const ask = ofKind.get(kind) ?? first(kind);
    ofKind.set(kind, ask);
    return ask([asked]);
  };
};

/** Timers of the moment of the cursor may stand behind it. */
const conditionsOf = ({ queue: { timer, priority }, upTo, from }: Outlook): Readonly<Record<string, Condition>> => ({
  kind: { eq: timer.kind },
  priority: { eq: priority },
  ...(upTo === undefined && from === undefined
    ? {}
    : { dueAt: { ...(from === undefined ? {} : { gte: from.value }), ...(upTo === undefined ? {} : { lte: upTo }) } }),
});

/* When a queue of timers is read, from where, and how far: for each way of reading that a processor may declare. */

/** Timers whose work led to nothing, and those that were set late, are found when the reading begins again from the first. */
const BEGIN_AGAIN_EVERY_MS = 5_000;
/** Work that an event started and that is open this long may have been lost by the bus. */
const LOST_AFTER_MS = 10_000;
const OVERFLOW_EVERY_MS = 50;

type Reading = Readonly<{
  /** Whether its time to be read has come; asked while it is not. */
  isTime: () => boolean;
  /** Whether something has happened since the last reading began, so that it is to be read without waiting for its time. */
  hasNews: () => boolean;
  /** Publishes what is there to the end of the queue, as the bus has room. */
  read: (signal: AbortSignal) => Promise<void>;
}>;

type ReadingDeps = ProcessorDeps &
  Readonly<{
    overflow: Overflow;
    /** Whether a queue may have a timer: asked before the queue itself is read, which costs questions to the bus as well. */
    outlook: (asked: Outlook) => Promise<boolean>;
  }>;

type Open = (deps: ReadingDeps, queue: DueQueue) => Reading;

/** Goes on from where it stood at every look, and from the first timer now and then. */
const openDue: Open = (deps, queue) => {
  const again = openPause(deps, BEGIN_AGAIN_EVERY_MS);
  const upTo = (): string => isoTime(deps.clock.now());
  let cursor: DueCursor | undefined;
  /** Where something was found the next look goes on at once. */
  let isMoving = false;
  return {
    isTime: () => (queue.timer.destroys !== true || deps.mayDestroy()) && (queue.timer.seldom !== true || isMoving || again.isOver()),
    hasNews: () => false,
    read: async (signal) => {
      const isAgain = again.isOver();
      const from = isAgain ? undefined : cursor;
      const mayHave = isMoving || (await deps.outlook({ queue, upTo: upTo(), from }));
      cursor = mayHave ? await publishDue(deps, queue, { upTo, from }, signal) : from;
      isMoving = cursor !== from;
      if (isAgain) again.begin();
    },
  };
};

/** Reads on where the relay says that some was missed, and now and then what has waited suspiciously long. */
const openStarted: Open = (deps, queue) => {
  const { overflow } = deps;
  const { processor, priority, kind } = queue;
  const again = openPause(deps, BEGIN_AGAIN_EVERY_MS);
  let cursor: DueCursor | undefined;
  return {
    isTime: again.isOver,
    hasNews: () => overflow.isNoted(processor, priority),
    read: async (signal) => {
      if (overflow.take(processor, priority)) {
        await deps.timersCaughtUp(kind, await deps.eventLog.head(), signal);
        cursor = await publishDue(deps, queue, { upTo: () => undefined, from: cursor }, signal);
        // While the bus has no room for what comes, much of it is read in one go.
        await deps.clock.sleep(OVERFLOW_EVERY_MS, signal);
      }
      if (!again.isOver()) return;
      const upTo = (): string => isoTime(deps.clock.now() - LOST_AFTER_MS);
      if (await deps.outlook({ queue, upTo: upTo(), from: undefined })) await publishDue(deps, queue, { upTo, from: undefined }, signal);
      again.begin();
    },
  };
};

/** Reads all as soon as the gate is open. While it is not, those whose time has come. */
const openHeld: Open = (deps, queue) => {
  const { gate } = queue;
  const again = openPause(deps, BEGIN_AGAIN_EVERY_MS);
  let seen: AbortSignal | undefined;
  return {
    isTime: again.isOver,
    hasNews: () => seen?.aborted === true,
    read: async (signal) => {
      seen = gate?.changed();
      const isOpen = gate === undefined || gate.isOpen();
      const both = seen === undefined ? signal : AbortSignal.any([signal, seen]);
      const upTo = (): string | undefined => (isOpen ? undefined : isoTime(deps.clock.now()));
      if (await deps.outlook({ queue, upTo: upTo(), from: undefined })) await publishDue(deps, queue, { upTo, from: undefined }, both);
      again.begin();
    },
  };
};

/** Reads all, due or not, as often as leases end. */
const openUnderWay: Open = (deps, queue) => {
  const again = openPause(deps, LEASE_TTL_MS);
  let isFirst = true;
  return {
    isTime: again.isOver,
    hasNews: () => false,
    read: async (signal) => {
      if (isFirst) await deps.timersCaughtUp(queue.kind, await deps.eventLog.head(), signal);
      isFirst = false;
      if (await deps.outlook({ queue, upTo: undefined, from: undefined }))
        await publishDue(deps, queue, { upTo: () => undefined, from: undefined }, signal);
      again.begin();
    },
  };
};

const openBy: Readonly<Record<TimerUse['read'], Open>> = {
  due: openDue,
  started: openStarted,
  held: openHeld,
  'under-way': openUnderWay,
};

const openReading = (deps: ReadingDeps, queue: DueQueue): Reading => openBy[queue.timer.read](deps, queue);

/** A pause that is over at first; it counts from the end of a reading, so that a long one is not begun again at once. */
const openPause = ({ clock }: Pick<ProcessorDeps, 'clock'>, ms: number): Readonly<{ isOver: () => boolean; begin: () => void }> => {
  let untilMs = Number.NEGATIVE_INFINITY;
  return {
    isOver: () => clock.monotonic() >= untilMs,
    begin: () => {
      untilMs = clock.monotonic() + ms;
    },
  };
};

/** Every queue that is not being read is looked at this often; time is counted monotonically, whatever the time of day does. */
const LOOK_EVERY_MS = 500;

export const dueWorkWorker = (deps: ProcessorDeps, processors: readonly Processor[], overflow: Overflow): Worker => ({
  name: 'due-work',
  run: (signal) => underLease(deps, DISPATCH_LEASE, signal, (held) => readAll(deps, processors, overflow, held.signal)),
});

const queuesOf = (processors: readonly Processor[]): readonly DueQueue[] =>
  processors.flatMap(({ name, kind, timers, gate }) =>
    timers.flatMap((timer) => priorities.map((priority) => ({ processor: name, kind, timer, priority, gate }))),
  );

/** One ticker for all queues. Where the reading of one fails that of the others is ended before the fault is reported. */
const readAll = async (deps: ProcessorDeps, processors: readonly Processor[], overflow: Overflow, signal: AbortSignal): Promise<void> => {
  const failed = new AbortController();
  const both = AbortSignal.any([signal, failed.signal]);
  const reading = { ...deps, overflow, outlook: openOutlook(deps) };
  const readings = queuesOf(processors).map((queue) => openReading(reading, queue));
  const underWay = new Map<Reading, Promise<void>>();
  const faults: unknown[] = [];
  const news = listenForNews(overflow, gatesOf(processors), both);
  const begin = async (reading: Reading): Promise<void> => {
    try {
      await reading.read(both);
    } catch (fault) {
      faults.push(fault);
      failed.abort();
    } finally {
      underWay.delete(reading);
      if (reading.hasNews()) news.tell();
    }
  };
  while (!both.aborted) {
    for (const reading of readings) {
      if (underWay.has(reading)) continue;
      if (reading.isTime() || reading.hasNews()) underWay.set(reading, begin(reading));
    }
    const over = news.next();
    await deps.clock.sleep(LOOK_EVERY_MS, over);
  }
  await Promise.all(underWay.values());
  if (faults.length > 0) throw faults[0];
};

const gatesOf = (processors: readonly Processor[]): readonly Gate[] => processors.flatMap(({ gate }) => gate ?? []);

type News = Readonly<{
  /** A signal that aborts when there is something new to read, or when the reading is to end. */
  next: () => AbortSignal;
  tell: () => void;
}>;

const listenForNews = (overflow: Overflow, gates: readonly Gate[], signal: AbortSignal): News => {
  let over = new AbortController();
  const tell = (): void => over.abort();
  overflow.onNoted(tell);
  signal.addEventListener('abort', tell, { once: true });
  const follow = (gate: Gate): void => {
    if (signal.aborted) return;
    const changed = (): void => {
      tell();
      follow(gate);
    };
    gate.changed().addEventListener('abort', changed, { once: true, signal });
  };
  gates.forEach(follow);
  return {
    tell,
    next: () => {
      over = new AbortController();
      if (signal.aborted) over.abort();
      return over.signal;
    },
  };
};
