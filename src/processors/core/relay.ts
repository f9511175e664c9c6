/**
 * The relay turns events that start work into pointers on the bus. It follows the log from the moment of its start;
 * timers find what was there before, and what the bus had no room for.
 */
import { type Priority, priorities, type Pointer } from '../../domain/ports/bus.js';
import type { Recorded } from '../../domain/events.js';
import { splitStream } from '../../domain/core/ids.js';
import type { Worker } from '../../domain/ports/worker.js';
import { type Processor, pointerOf, type ProcessorDeps } from './declaration.js';
import { DISPATCH_LEASE, underLease } from './lease.js';

export const relayWorker = (
  deps: ProcessorDeps,
  processors: readonly Processor[],
  unpublished: UnpublishedWork,
): Worker => {
  const started = processors.filter(({ startingTypes }) => startingTypes.length > 0);
  return {
    name: 'relay',
    run: (signal) =>
      underLease(deps, DISPATCH_LEASE, signal, (held) => follow(deps, started, unpublished, held.signal)),
  };
};

const follow = async (
  deps: ProcessorDeps,
  processors: readonly Processor[],
  unpublished: UnpublishedWork,
  signal: AbortSignal,
): Promise<void> => {
  const start = await deps.eventLog.head();
  for (const { name } of processors) for (const priority of priorities) unpublished.note(name, priority);
  const kinds = [...new Set(processors.map(({ kind }) => kind))];
  const only = [...new Set(processors.flatMap(({ startingTypes }) => startingTypes))];
  for await (const { events } of deps.eventLog.subscribeAll(start, { kinds, only, decrypt: [], signal })) {
    for (const processor of processors) {
      const pointers = pointersOf(processor, events);
      if (pointers.length === 0) continue;
      for (const { priority } of await deps.bus.publish(processor.name, pointers))
        unpublished.note(processor.name, priority);
    }
  }
};

const pointersOf = ({ kind, startedBy }: Processor, events: readonly Recorded[]): readonly Pointer[] => {
  const pointers: Pointer[] = [];
  for (const recorded of events) {
    const { stream, position } = recorded;
    const priority = startedBy(recorded.event);
    if (priority === undefined || splitStream(stream).kind !== kind) continue;
    const { teamId: team, actor: sender } = recorded.metadata;
    pointers.push(pointerOf({ stream, position, priority, team, source: 'relay', sender }));
  }
  return pointers;
};

/** Queues with work that the bus refused: the reader of timers finds it again. */
export type UnpublishedWork = Readonly<{
  note: (processor: string, priority: Priority) => void;
  /** True if work was noted since the last `take`. */
  isNoted: (processor: string, priority: Priority) => boolean;
  /** As `isNoted`, and clears the note. */
  take: (processor: string, priority: Priority) => boolean;
  /** Sets the one listener, which is called at each note. */
  onNoted: (wake: () => void) => void;
}>;

export const openUnpublishedWork = (): UnpublishedWork => {
  const noted = new Set<string>();
  let listener = (): void => {};
  const keyOf = (processor: string, priority: Priority): string => `${processor}\n${priority}`;
  return {
    note: (processor, priority) => {
      noted.add(keyOf(processor, priority));
      listener();
    },
    isNoted: (processor, priority) => noted.has(keyOf(processor, priority)),
    take: (processor, priority) => noted.delete(keyOf(processor, priority)),
    onNoted: (wake) => {
      listener = wake;
    },
  };
};
