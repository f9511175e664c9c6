/**
 * Keeps the documents of a projection up to date: follows the log from the checkpoint and writes batch by batch.
 * Requests wait here until read models have what this process appended.
 */
import { isUnknown, type Unreadable, openGivingWay, type GivingWay } from '../../event-log/decode.js';
import type { EventLog } from '../../event-log/event-log.js';
import type { Clock } from '../../domain/ports/clock.js';
import { CheckpointMoved, type Checkpoint, type ProjectionStore } from '../../domain/ports/read-models.js';
import type { Worker } from '../../domain/ports/worker.js';
import type { Projection } from './projection.js';
import { openUnitOfWork } from './unit-of-work.js';
import { splitStream, type TeamId } from '../../domain/core/ids.js';

type RunnerDeps = Readonly<{
  eventLog: Pick<EventLog, 'readAll' | 'subscribeAll' | 'head'>;
  store: ProjectionStore;
  clock: Pick<Clock, 'monotonic'>;
  /** Awaited after a batch that was not full, so that more events share the next write. Ends early at the signal. */
  pause: (signal: AbortSignal) => Promise<void>;
  /** Awaited before the checkpoint that another process moves is read again. Default: `pause`. */
  look?: (signal: AbortSignal) => Promise<void>;
  /** Rebuilds the documents, because an older program has passed over events that this one knows. */
  makeAnew: () => Promise<void>;
  /** Runs the work while this process is the one that projects (under a lease). Default: at once. */
  lead?: (signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>) => Promise<void>;
}>;

export type Runner = Readonly<{
  worker: Worker;
  /** The kinds of stream it reads. */
  kinds: readonly string[];
  /** The position up to which every event is folded. */
  position: () => number;
  /** True if this process projects and has not reached that position. */
  isBehind: (position: number) => boolean;
  /** Resolves when the events of the projection up to that position are folded, or the signal aborts. */
  caughtUp: (position: number, signal: AbortSignal) => Promise<void>;
}>;

/** Events of one batch. After a full batch the next follows without a pause. */
export const BATCH_SIZE = 500;
/** How often the checkpoint moves over events of other projections, so that a start reads little again. */
const CHECKPOINT_EVERY_MS = 5_000;

export const makeRunner = (projection: Projection, deps: RunnerDeps): Runner => {
  const { kinds } = projection;
  const { lead = (signal, work) => work(signal), look = deps.pause } = deps;
  const { waiting, wakeAll, pause, hurry } = openWaiting(deps);
  const givingWay = openGivingWay(deps.clock);
  let reached = 0;
  /** This process projects. While another one does, only the checkpoint says how far it is. */
  let leading = false;

  const advance = (position: number): void => {
    reached = position;
    wakeAll();
  };

  const lookAtCheckpoint = async (): Promise<void> => {
    reached = Math.max(reached, (await deps.store.checkpoint()).position);
  };

  const followOn = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      try {
        await follow(projection, deps, { signal, advance, pause, givingWay });
      } catch (fault) {
        // Another process projects too, or a rebuild replaced the documents: continue from the checkpoint of now.
        if (!(fault instanceof CheckpointMoved)) throw fault;
      }
    }
  };

  return {
    worker: {
      name: `project-${projection.name}`,
      run: (stop) =>
        lead(stop, async (signal) => {
          leading = true;
          try {
            await followOn(signal);
          } finally {
            leading = false;
            wakeAll();
          }
        }),
    },
    kinds,
    position: () => reached,
    isBehind: (position) => leading && reached < position,
    caughtUp: async (position, signal) => {
      while (reached < position && !signal.aborted) {
        if (!leading) await lookAtCheckpoint();
        const next = await firstAfter(deps.eventLog, reached, kinds);
        if (next === undefined || next > position) return;
        while (reached < next && !signal.aborted) {
          if (leading) await progressed(waiting, hurry, signal);
          else await look(signal).then(lookAtCheckpoint);
        }
      }
    },
  };
};

/**
 * Callers that wait for a position, and the pause between two batches, which ends early when a caller begins to wait.
 */
const openWaiting = (deps: Pick<RunnerDeps, 'pause'>) => {
  const waiting = new Set<() => void>();
  let endPause = (): void => {};
  return {
    waiting,
    wakeAll: (): void => {
      for (const wake of [...waiting]) wake();
    },
    pause: async (signal: AbortSignal): Promise<void> => {
      if (waiting.size > 0) return;
      const over = new AbortController();
      endPause = () => over.abort(HURRIED);
      await deps.pause(AbortSignal.any([signal, over.signal]));
    },
    hurry: (): void => endPause(),
  };
};

type Following = Readonly<{
  signal: AbortSignal;
  /** Called with the position up to which all is folded. */
  advance: (position: number) => void;
  pause: (signal: AbortSignal) => Promise<void>;
  givingWay: GivingWay;
}>;

const follow = async (
  projection: Projection,
  deps: RunnerDeps,
  { signal, advance, pause, givingWay }: Following,
): Promise<void> => {
  const { kinds, decrypts: decrypt } = projection;
  const work = openUnitOfWork(projection, deps.store);
  let checkpoint = await deps.store.checkpoint();
  if (checkpoint.passedOver !== undefined && (await isKnown(deps.eventLog, checkpoint.passedOver))) {
    await deps.makeAnew();
    checkpoint = await deps.store.checkpoint();
  }
  givingWay.begin(await deps.eventLog.head());
  let writtenMs = deps.clock.monotonic();
  let seen = checkpoint.position;
  const write = async (): Promise<void> => {
    checkpoint = await work.write(checkpoint, seen);
    writtenMs = deps.clock.monotonic();
  };
  advance(seen);
  const options = { kinds, decrypt, batchSize: BATCH_SIZE, signal, unknown: givingWay.passes };
  for await (const { events, unreadable, position } of deps.eventLog.subscribeAll(seen, options)) {
    seen = position;
    checkpoint = passingOver(checkpoint, unreadable);
    if (events.length > 0) await work.fold(events);
    if (events.length > 0 || unreadable.length > 0 || deps.clock.monotonic() - writtenMs >= CHECKPOINT_EVERY_MS)
      await write();
    advance(seen);
    if (events.length > 0 && events.length < BATCH_SIZE) await pause(signal);
  }
  if (seen > checkpoint.position) await write();
};

/** The checkpoint with the first event of a newer program that is not folded. */
export const passingOver = (checkpoint: Checkpoint, unreadable: readonly Unreadable[]): Checkpoint => {
  const passedOver = checkpoint.passedOver ?? unreadable.find(isUnknown)?.position;
  return passedOver === undefined ? checkpoint : { ...checkpoint, passedOver };
};

/** Whether this program reads the event at a position. */
const isKnown = async (eventLog: Pick<EventLog, 'readAll'>, position: number): Promise<boolean> => {
  for await (const { events, unreadable } of eventLog.readAll(position - 1, {
    decrypt: [],
    batchSize: 1,
    unknown: 'listed',
  }))
    if (events.length + unreadable.length > 0)
      return !unreadable.some((event) => event.position === position && isUnknown(event));
  return true;
};

/** The position of the first event of streams of those kinds after a position. */
export const firstAfter = async (
  eventLog: Pick<EventLog, 'readAll'>,
  after: number,
  kinds: readonly string[],
): Promise<number | undefined> => {
  const options = { kinds, decrypt: [], batchSize: 1, unknown: 'listed' } as const;
  for await (const { events } of eventLog.readAll(after, options)) if (events.length > 0) return events[0]!.position;
  return undefined;
};

/** The reason of the abort: without a reason the runtime makes a DOMException with a stack each time. */
const HURRIED = 'hurried';

const progressed = (waiting: Set<() => void>, hurry: () => void, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      waiting.delete(done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    waiting.add(done);
    hurry();
    signal.addEventListener('abort', done, { once: true });
  });

/** The newest appends of this process, so that a client finds its own writes in lists. */
export type OwnWrites = Readonly<{
  /** Notes an append of this process. */
  note: (stream: string, teamId: string, position: number) => void;
  /** The position of the newest event that this process appended for the team, by kind of stream. */
  of: (teamId: TeamId) => ReadonlyMap<string, number>;
  /** The position of the newest of them, 0 if there is none. */
  newest: (teamId: TeamId) => number;
}>;

export const openOwnWrites = (): OwnWrites => {
  const positions = new Map<string, Map<string, number>>();
  /** Kept apart, because each call that writes reads it twice. */
  const newest = new Map<string, number>();
  return {
    note: (stream, teamId, position) => {
      let byKind = positions.get(teamId);
      if (byKind === undefined) positions.set(teamId, (byKind = new Map()));
      const { kind } = splitStream(stream);
      // Appends that run at the same time may be answered in any order.
      byKind.set(kind, Math.max(position, byKind.get(kind) ?? 0));
      newest.set(teamId, Math.max(position, newest.get(teamId) ?? 0));
    },
    of: (teamId) => positions.get(teamId) ?? new Map<string, number>(),
    newest: (teamId) => newest.get(teamId) ?? 0,
  };
};

/** Waits until each read model has the written events of its kinds, for at most `withinMs`. */
export const caughtUpWith = async (
  runners: Iterable<Runner>,
  written: ReadonlyMap<string, number>,
  withinMs: number,
): Promise<void> => {
  const behind = [...runners].flatMap((runner) => {
    const positions = runner.kinds.map((kind) => written.get(kind) ?? 0);
    const position = Math.max(0, ...positions);
    return runner.position() < position ? [{ runner, position }] : [];
  });
  if (behind.length === 0) return;
  const signal = AbortSignal.timeout(withinMs);
  await Promise.all(behind.map(({ runner, position }) => runner.caughtUp(position, signal)));
};

/** Waits until all read models have folded the log up to a position, for at most `withinMs`. */
export const caughtUpTo = async (runners: Iterable<Runner>, position: number, withinMs: number): Promise<void> => {
  const behind = [...runners].filter((runner) => runner.position() < position);
  if (behind.length === 0) return;
  const signal = AbortSignal.timeout(withinMs);
  await Promise.all(behind.map((runner) => runner.caughtUp(position, signal)));
};
