/**
 * Brings work to the bus when its time has come, as the bus has room: the timers of every processor, each kind and priority by itself, in
 * the order of their times. A timer is a hint from a read model that may lag; the work looks at the stream and is safe to repeat.
 */
import { priorities } from '../../domain/ports/bus.js';
import type { Worker } from '../../domain/ports/worker.js';
import type { Gate, Processor } from './declaration.js';
import type { ProcessorDeps } from './deps.js';
import { openOutlook } from './due-outlook.js';
import type { DueQueue } from './due-pages.js';
import { openReading, type Reading } from './due-reading.js';
import { DISPATCH_LEASE, underLease } from './lease.js';
import type { Overflow } from './overflow.js';

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
