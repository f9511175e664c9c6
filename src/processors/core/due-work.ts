/**
 * Brings work to the bus when its time has come and the bus has room: reads the timers of every processor, each kind
 * and priority by itself, in the order of their times. A timer is a hint from a read model that may lag; the work looks
 * at the stream and is safe to repeat.
 */
import type { Condition } from '../../domain/ports/read-models.js';
import { gathered } from '../../shared/concurrency.js';
import type { ProcessorDeps, TimerUse, Gate, Processor } from './declaration.js';
import { type DueQueue, type DueCursor, publishDue, timersIn } from './due-pages.js';
import { isoTime } from '../../domain/core/time.js';
import { DISPATCH_LEASE, underLease } from './lease.js';
import type { UnpublishedWork } from './relay.js';
import { priorities } from '../../domain/ports/bus.js';
import type { Worker } from '../../domain/ports/worker.js';

/**
 * How often reading starts again from the first timer, to find work that led to nothing and timers that were set late.
 */
const BEGIN_AGAIN_EVERY_MS = 5_000;

/** The bus may have lost work that an event started and that is open for this long. */
const LOST_AFTER_MS = 10_000;

/** How often all held work is read while the gate is partly closed, and for how long after a change it is read as usual. */
const HELD_AGAIN_EVERY_MS = 5 * 60_000;
const HELD_SETTLES_MS = 6_000;

const UNPUBLISHED_EVERY_MS = 50;

/** How often each queue is looked at, by the monotonic clock. */
const LOOK_EVERY_MS = 500;

export const dueWorkWorker = (
  deps: ProcessorDeps,
  processors: readonly Processor[],
  unpublished: UnpublishedWork,
): Worker => ({
  name: 'due-work',
  run: (signal) =>
    underLease(deps, DISPATCH_LEASE, signal, (held) => readAll(deps, processors, unpublished, held.signal)),
});

const queuesOf = (processors: readonly Processor[]): readonly DueQueue[] =>
  processors.flatMap(({ name, kind, timers, gate }) =>
    timers.flatMap((timer) => priorities.map((priority) => ({ processor: name, kind, timer, priority, gate }))),
  );

/** One ticker for all queues. If the read of one fails, the reads of the others are ended before it rejects. */
const readAll = async (
  deps: ProcessorDeps,
  processors: readonly Processor[],
  unpublished: UnpublishedWork,
  signal: AbortSignal,
): Promise<void> => {
  const failed = new AbortController();
  const both = AbortSignal.any([signal, failed.signal]);
  const reading = { ...deps, unpublished, mayBeDue: openDueProbe(deps) };
  const readings = queuesOf(processors).map((queue) => openReading(reading, queue));
  const underWay = new Map<Reading, Promise<void>>();
  const faults: unknown[] = [];
  const news = listenForNews(unpublished, gatesOf(processors), both);
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
  /** A signal that aborts when there is something new to read, or when reading is to end. */
  next: () => AbortSignal;
  tell: () => void;
}>;

const listenForNews = (unpublished: UnpublishedWork, gates: readonly Gate[], signal: AbortSignal): News => {
  let over = new AbortController();
  const tell = (): void => over.abort();
  unpublished.onNoted(tell);
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

/** Reads one queue: when, from where and how far depends on the way of reading that the processor declares. */
type Reading = Readonly<{
  /** Whether it is time to read; called while no read is under way. */
  isTime: () => boolean;
  /**
   * Whether something has happened since the last read began, so that the queue is read without waiting for its time.
   */
  hasNews: () => boolean;
  /** Publishes the timers to the end of the queue, as the bus has room. */
  read: (signal: AbortSignal) => Promise<void>;
}>;

type ReadingDeps = ProcessorDeps &
  Readonly<{
    unpublished: UnpublishedWork;
    /** Whether a queue may have a due timer; asked first, because reading the queue costs calls to the bus too. */
    mayBeDue: (asked: DueProbe) => Promise<boolean>;
  }>;

type Open = (deps: ReadingDeps, queue: DueQueue) => Reading;

/** Continues behind the last timer at every look, and starts from the first timer at intervals. */
const openDue: Open = (deps, queue) => {
  const again = openPause(deps, BEGIN_AGAIN_EVERY_MS);
  const upTo = (): string => isoTime(deps.clock.now());
  let cursor: DueCursor | undefined;
  /** The last look found something, so the next one follows at once. */
  let isMoving = false;
  return {
    isTime: () =>
      (queue.timer.destroys !== true || deps.mayDestroy()) &&
      (queue.timer.seldom !== true || isMoving || again.isOver()),
    hasNews: () => false,
    read: async (signal) => {
      const isAgain = again.isOver();
      const from = isAgain ? undefined : cursor;
      const mayHave = isMoving || (await deps.mayBeDue({ queue, upTo: upTo(), from }));
      cursor = mayHave ? await publishDue(deps, queue, { upTo, from }, signal) : from;
      isMoving = cursor !== from;
      if (isAgain) again.begin();
    },
  };
};

/**
 * Reads on when the relay reports unpublished work, and at intervals the timers of work that has waited suspiciously
 * long.
 */
const openStarted: Open = (deps, queue) => {
  const { unpublished } = deps;
  const { processor, priority, kind } = queue;
  const again = openPause(deps, BEGIN_AGAIN_EVERY_MS);
  let cursor: DueCursor | undefined;
  return {
    isTime: again.isOver,
    hasNews: () => unpublished.isNoted(processor, priority),
    read: async (signal) => {
      if (unpublished.take(processor, priority)) {
        await deps.timersCaughtUp(kind, await deps.eventLog.head(), signal);
        cursor = await publishDue(deps, queue, { upTo: () => undefined, from: cursor }, signal);
        // While the bus is full, a pause lets more work come together for one read.
        await deps.clock.sleep(UNPUBLISHED_EVERY_MS, signal);
      }
      if (!again.isOver()) return;
      const upTo = (): string => isoTime(deps.clock.now() - LOST_AFTER_MS);
      if (await deps.mayBeDue({ queue, upTo: upTo(), from: undefined }))
        await publishDue(deps, queue, { upTo, from: undefined }, signal);
      again.begin();
    },
  };
};

/**
 * Reads all timers while the gate is open, and only due timers while it is closed. While it is partly closed, most held
 * work would be held again, so all timers are read after each change, once more when the read models have caught up, and
 * then seldom.
 */
const openHeld: Open = (deps, queue) => {
  const { gate } = queue;
  const again = openPause(deps, BEGIN_AGAIN_EVERY_MS);
  const allAgain = openPause(deps, HELD_AGAIN_EVERY_MS);
  let seen: AbortSignal | undefined;
  let changedMs = Number.NEGATIVE_INFINITY;
  return {
    isTime: again.isOver,
    hasNews: () => seen?.aborted === true,
    read: async (signal) => {
      if (seen?.aborted === true) changedMs = deps.clock.monotonic();
      seen = gate?.changed();
      const isPartlyClosed = gate?.isPartlyClosed?.() === true;
      const isSettling = deps.clock.monotonic() - changedMs <= HELD_SETTLES_MS;
      const isOpen = (gate === undefined || gate.isOpen()) && (!isPartlyClosed || isSettling || allAgain.isOver());
      if (isOpen) allAgain.begin();
      const both = seen === undefined ? signal : AbortSignal.any([signal, seen]);
      const upTo = (): string | undefined => (isOpen ? undefined : isoTime(deps.clock.now()));
      if (await deps.mayBeDue({ queue, upTo: upTo(), from: undefined }))
        await publishDue(deps, queue, { upTo, from: undefined }, both);
      again.begin();
    },
  };
};

/**
 * Reads all timers, due or not, several times in the life of a lease: work whose attempt is under way elsewhere is
 * delivered again at the moment at which the lease of its worker ends.
 */
const openUnderWay: Open = (deps, queue) => {
  const again = openPause(deps, BEGIN_AGAIN_EVERY_MS);
  let isFirst = true;
  return {
    isTime: again.isOver,
    hasNews: () => false,
    read: async (signal) => {
      if (isFirst) await deps.timersCaughtUp(queue.kind, await deps.eventLog.head(), signal);
      isFirst = false;
      if (await deps.mayBeDue({ queue, upTo: undefined, from: undefined }))
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

/**
 * A pause between reads, over at first. It counts from the end of a read, so that a long read does not start again at
 * once.
 */
const openPause = (
  { clock }: Pick<ProcessorDeps, 'clock'>,
  ms: number,
): Readonly<{ isOver: () => boolean; begin: () => void }> => {
  let untilMs = Number.NEGATIVE_INFINITY;
  return {
    isOver: () => clock.monotonic() >= untilMs,
    begin: () => {
      untilMs = clock.monotonic() + ms;
    },
  };
};

type DueProbe = Readonly<{
  queue: DueQueue;
  /** Timers up to this moment; undefined: all timers. */
  upTo: string | undefined;
  from: DueCursor | undefined;
}>;

/**
 * Asks whether a queue has timers. One read answers for all queues that are asked about at the same time, because
 * mostly none has any. Out: false if the queue has no timer in the range; true if it, or another queue of the same
 * read, may have one.
 */
const openDueProbe = ({ readModels }: Pick<ProcessorDeps, 'readModels'>): ((asked: DueProbe) => Promise<boolean>) => {
  const ofCollection = new Map<string, (asked: readonly DueProbe[]) => Promise<boolean>>();
  const first = (collection: string) =>
    gathered(async (asked: ReadonlySet<DueProbe>) => {
      const anyOf = [...asked].map(conditionsOf);
      const found = await readModels.find(collection, {
        where: {},
        anyOf,
        sort: { field: 'dueAt', direction: 'asc' },
        limit: 1,
      });
      return found.length > 0;
    });
  return (asked) => {
    const collection = timersIn(asked.queue);
    const ask = ofCollection.get(collection) ?? first(collection);
    ofCollection.set(collection, ask);
    return ask([asked]);
  };
};

/** The range begins at the moment of the cursor, because more timers of that moment may stand behind it. */
const conditionsOf = ({ queue: { timer, priority }, upTo, from }: DueProbe): Readonly<Record<string, Condition>> => ({
  kind: { eq: timer.kind },
  priority: { eq: priority },
  ...(upTo === undefined && from === undefined
    ? {}
    : { dueAt: { ...(from === undefined ? {} : { gte: from.value }), ...(upTo === undefined ? {} : { lte: upTo }) } }),
});
