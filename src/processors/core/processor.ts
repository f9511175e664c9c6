/**
 * Runs every processor: take a pointer, load the stream, record that an attempt begins, act, record the outcome,
 * acknowledge. Every step is safe to repeat: after a crash the attempt without an outcome is visible, and is made
 * again.
 */
import { setMaxListeners } from 'node:events';
import type { Clock } from '../../domain/ports/clock.js';
import { handle } from '../../commands/core/handle.js';
import type { DomainEvent, StreamKind, EventOfKind, EventType } from '../../domain/events.js';
import {
  AppendUnknown,
  StoreAway,
  WrongExpectedRevision,
  EventUnreadable,
  FileDamaged,
  KeyMissing,
} from '../../domain/core/errors.js';
import type { StreamName } from '../../domain/core/ids.js';
import { isoTime } from '../../domain/core/time.js';
import { type Cause, type StreamVersion, type Written, versionOf } from '../../event-log/event-log.js';
import {
  type Declaration,
  type LogLine,
  type ProcessorDeps,
  type AttemptingDeclaration,
  type AttemptContext,
  type Made,
  type NewAttempt,
  type Processor,
  causeOfWork,
  nameOf,
  positionOf,
} from './declaration.js';
import { type Held, workerLease, underLease } from './lease.js';
import type { Priority, Work } from '../../domain/ports/bus.js';
import { runLanes } from './lanes.js';

/** Context that all lanes of a worker share. */
type WorkerContext<Kind extends StreamKind, State, Command> = Readonly<{
  deps: ProcessorDeps;
  declaration: Declaration<Kind, State, Command>;
  held: Held;
  deadlines: Deadlines;
}>;

/**
 * A stream as it was loaded. Events of the work are appended after its version. `lost` is called if another writer was
 * faster.
 */
type Loaded<State> = Readonly<{
  stream: StreamName;
  state: NonNullable<State>;
  version: StreamVersion;
  cause: Cause;
  lost?: () => void;
}>;

/** Result for the pointer: it is acknowledged, or delivered again at that moment. */
type Done = (Readonly<{ kind: 'done' }> | Readonly<{ kind: 'put-back'; atMs: number }>) & Readonly<{ line?: LogLine }>;

const NOTHING: Done = { kind: 'done' };

const RETRY_AFTER_FAULT_MS = 1_000;

const RETRY_AFTER_FAULT_MAX_MS = 5 * 60_000;

/** About two minutes of growing pauses. */
const TRIES_MAX = 8;

const lasting = [EventUnreadable, KeyMissing, FileDamaged, TypeError, RangeError, ReferenceError, SyntaxError];

export const makeProcessor = <Kind extends StreamKind, State, Command>(
  declaration: Declaration<Kind, State, Command>,
): Processor => {
  const { name, kind, timers, gate } = declaration;
  const startedBy = (declaration.startedBy ?? {}) as Readonly<Record<string, (event: never) => Priority>>;
  return {
    name,
    kind,
    timers,
    gate,
    startingTypes: Object.keys(startedBy) as EventType[],
    startedBy: (event: DomainEvent) => startedBy[event.type]?.(event as never),
    worker: (deps) => ({
      name,
      run: (signal) =>
        underLease(deps, workerLease(name, deps.worker), signal, (held) => runWorker({ deps, declaration, held })),
    }),
  };
};

const runWorker = async <Kind extends StreamKind, State, Command>(
  running: Omit<WorkerContext<Kind, State, Command>, 'deadlines'>,
): Promise<void> => {
  const { deps, declaration, held } = running;
  // After the lease is lost another worker may make the same attempts: calls under way are cut off.
  const cutOff = AbortSignal.any([deps.cutOff, held.lost]);
  const deadlines = openDeadlines(deps.clock, declaration.deadlineMs, cutOff, deps.cutOff);
  const context = { ...running, deadlines };
  const ended = new AbortController();
  const watching = declaration.gate?.watch(ended.signal);
  try {
    const maxInFlight = Math.min(deps.inFlightMax, declaration.inFlightMax ?? Infinity);
    await runLanes(deps.bus.consume(declaration.name, { maxInFlight, signal: held.signal }), {
      keyOf: ({ pointer }) => pointer.stream,
      handle: (work) => doWork(context, work),
      onFault: (work, fault) => tryAgain(context, work, fault),
    });
  } finally {
    ended.abort();
    await watching;
    deadlines.close();
  }
};

const doWork = async <Kind extends StreamKind, State, Command>(
  context: WorkerContext<Kind, State, Command>,
  work: Work,
): Promise<void> => {
  const { deps, declaration, held } = context;
  const stream = work.pointer.stream as StreamName;
  if (held.signal.aborted) return work.retryAt(deps.clock.now());
  let isOutdated = false;
  const remembered = remember(context, work, () => {
    isOutdated = true;
  });
  const loaded = remembered ?? (await load(context, stream));
  const worked = loaded === undefined ? NOTHING : await workOn(context, loaded, work.deliveries);
  // Delivered again, the work reads the stream.
  const done: Done =
    isOutdated && worked.kind === 'done' ? { ...worked, kind: 'put-back', atMs: deps.clock.now() } : worked;
  deps.stuckWork.clear(declaration.name, stream);
  if (done.kind === 'put-back') await work.retryAt(done.atMs);
  else await work.ack();
  const { line } = done;
  if (line !== undefined) deps.logger[line.level]({ stream, ...line.fields }, line.message);
};

const workOn = async <Kind extends StreamKind, State, Command>(
  context: WorkerContext<Kind, State, Command>,
  loaded: Loaded<State>,
  deliveries: number,
): Promise<Done> => {
  const { declaration, deadlines } = context;
  if (declaration.attempts !== undefined) return makeAttempt({ ...context, declaration }, loaded, deliveries);
  const { stream, state, cause } = loaded;
  const { command, againAtMs, line } = await deadlines.within((signal) =>
    declaration.act({ stream, state, cause, deliveries, signal }),
  );
  if (againAtMs !== undefined) return { kind: 'put-back', atMs: againAtMs };
  if (command !== undefined) await record(context, loaded, command);
  return { kind: 'done', ...(line === undefined ? {} : { line }) };
};

/**
 * The stream as this process remembers it, for an attempt that its own last event starts. `lost` is called if the
 * stream has gone on: then nothing was done. Out: undefined if the stream must be read.
 */
const remember = <Kind extends StreamKind, State, Command>(
  context: WorkerContext<Kind, State, Command>,
  { pointer, deliveries }: Work,
  lost: () => void,
): Loaded<State> | undefined => {
  const { attempts, foldsFrom } = context.declaration;
  if (attempts === undefined || foldsFrom !== undefined || deliveries > 1) return undefined;
  const stream = pointer.stream as StreamName;
  const written = context.deps.eventLog.written(stream, positionOf(pointer));
  const loaded = written && folded(context, stream, written);
  return loaded && { ...loaded, lost };
};

/** Out: undefined if the stream does not exist. */
const load = async <Kind extends StreamKind, State, Command>(
  context: WorkerContext<Kind, State, Command>,
  stream: StreamName,
): Promise<Loaded<State> | undefined> => {
  const { deps, declaration } = context;
  const from = declaration.foldsFrom && (await declaration.foldsFrom(deps, stream));
  return folded(context, stream, await deps.eventLog.load(stream, from));
};

const folded = <Kind extends StreamKind, State, Command>(
  { deps, declaration: { decider, attempts, name }, held }: WorkerContext<Kind, State, Command>,
  stream: StreamName,
  recorded: readonly Written[],
): Loaded<State> | undefined => {
  const [first, last] = [recorded[0], recorded.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const state = recorded.reduce(
    (before, { event }) => decider.evolve(before, event as EventOfKind<Kind>),
    decider.initialState,
  );
  if (state === undefined || state === null) return undefined;
  const { teamId, correlationId } = first.metadata;
  const from = { teamId, correlationId, causationId: last.metadata.eventId };
  // An attempt names its worker; events of other work carry the fence of the lease.
  const cause = causeOfWork(deps, name, from, attempts === undefined ? held.fence : undefined);
  return { stream, state, version: versionOf(last), cause };
};

/**
 * Work met a fault: nothing was recorded, or only that an attempt began, so the stream says how to continue. Work with
 * a lasting fault is parked for an operator if the bus can keep it; all other work is delivered again after a growing
 * pause.
 */
const tryAgain = async <Kind extends StreamKind, State, Command>(
  { deps, declaration }: WorkerContext<Kind, State, Command>,
  work: Work,
  fault: unknown,
): Promise<void> => {
  const { pointer, deliveries } = work;
  deps.stuckWork.note(declaration.name, pointer.stream, fault);
  const isParked = deps.bus.parked !== undefined && deliveries >= TRIES_MAX && isLasting(fault);
  deps.logger.error(
    { processor: declaration.name, stream: pointer.stream, deliveries, err: asError(fault) },
    isParked ? 'processor fault, the work is parked' : 'processor fault, will be tried again',
  );
  // If the bus cannot be reached, the pointer comes again by itself.
  const told = isParked ? work.park(nameOf(fault)) : work.retryAt(deps.clock.now() + pauseAfterFault(deliveries));
  await told.catch(() => {});
};

const asError = (fault: unknown): Error => (fault instanceof Error ? fault : new Error('not an Error'));

/** Work that met a fault of the service (a disk, a bug) is kept and tried again after growing pauses. */
const pauseAfterFault = (deliveries: number): number =>
  Math.min(RETRY_AFTER_FAULT_MS * 2 ** Math.min(deliveries - 1, 20), RETRY_AFTER_FAULT_MAX_MS);

/**
 * True for faults that no retry mends: stored data is damaged or missing, or the program is wrong. Refusals of a server
 * or disk may pass.
 */
const isLasting = (fault: unknown): boolean =>
  lasting.some((kind) => fault instanceof kind) && !(fault instanceof Error && 'syscall' in fault);

type Context<Kind extends StreamKind, State, Command> = WorkerContext<Kind, State, Command> &
  Readonly<{ declaration: AttemptingDeclaration<Kind, State, Command> }>;

/**
 * Makes an attempt if there is anything to attempt. It is prepared first and then recorded to begin, so that a crash
 * before wastes no attempt.
 */
const makeAttempt = async <Kind extends StreamKind, State, Command>(
  context: Context<Kind, State, Command>,
  loaded: Loaded<State>,
  deliveries: number,
): Promise<Done> => {
  const { deps, declaration } = context;
  const { attempts, gate, name } = declaration;
  const { stream, state } = loaded;
  const worker = attempts.underWay(state);
  // Work on one stream never runs twice at once here, so an attempt under our own name met a fault: it continues.
  if (worker === deps.worker) return making(context, loaded, { isOurs: true, workerGone: false }, deliveries);
  const lease = worker === undefined ? undefined : await deps.leases.read(workerLease(name, worker));
  // The other worker is alive: its attempt is under way.
  if (lease !== undefined) return { kind: 'put-back', atMs: lease.untilMs };
  const workerGone = worker !== undefined;
  const { attempt, events, begins } = beginning(context, loaded, workerGone);
  if (events.length === 0) return NOTHING;
  if (!begins) {
    await appendOrLose(deps, loaded, events);
    return NOTHING;
  }
  if (attempts.hold !== undefined && gate?.isOpen() === false && attempts.passesGate?.(state) !== true) {
    if (!(await hold(context, loaded, attempts.hold(attempt, state)))) gate.ask();
    return NOTHING;
  }
  attempts.assertPossible?.(stream, state);
  return making(context, loaded, { isOurs: false, workerGone }, deliveries);
};

/** The events that record now that an attempt begins, and whether it begins by them. */
const beginning = <Kind extends StreamKind, State, Command>(
  { deps, declaration: { attempts, decider, deadlineMs } }: Context<Kind, State, Command>,
  { state }: Loaded<State>,
  workerGone: boolean,
  completed: (command: Command) => Command = (command) => command,
) => {
  const nowMs = deps.clock.now();
  const attempt: NewAttempt = {
    at: isoTime(nowMs),
    worker: deps.worker,
    deadlineAt: isoTime(nowMs + deadlineMs),
    workerGone,
  };
  const events = decider.decide(completed(attempts.begin(attempt, state)), state);
  const after = events.reduce(decider.evolve, state as State);
  const begins = events.length > 0 && after !== undefined && after !== null && attempts.underWay(after) === deps.worker;
  return { attempt, events, after, begins };
};

/** Records the command in place of an attempt. Out: false if it led to no event. */
const hold = async <Kind extends StreamKind, State, Command>(
  { deps, declaration: { decider } }: Context<Kind, State, Command>,
  loaded: Loaded<State>,
  command: Command,
): Promise<boolean> => {
  const events = decider.decide(command, loaded.state);
  if (events.length > 0) await appendOrLose(deps, { ...loaded, cause: causeNow(deps, loaded) }, events);
  return events.length > 0;
};

const causeNow = ({ clock }: Context<StreamKind, unknown, unknown>['deps'], { cause }: Loaded<unknown>) => ({
  ...cause,
  at: isoTime(clock.now()),
});

type Earlier = Readonly<{
  /** The state already shows the attempt, begun by this worker. */
  isOurs: boolean;
  workerGone: boolean;
}>;

const making = async <Kind extends StreamKind, State, Command>(
  context: Context<Kind, State, Command>,
  loaded: Loaded<State>,
  earlier: Earlier,
  deliveries: number,
): Promise<Done> => {
  const { declaration, held, deadlines } = context;
  let begun: Loaded<State> | undefined;
  let time: ReturnType<typeof deadlines.begin> | undefined;
  const begin: AttemptContext<NonNullable<State>, Command>['begin'] = async (completed) => {
    // The timeout starts before the time is taken that is recorded as its beginning, so it ends before the recorded
    // deadline.
    time = deadlines.begin();
    begun = earlier.isOurs ? loaded : await recordBeginning(context, loaded, earlier.workerGone, completed);
    return begun && { state: begun.state, signal: time.signal, cut: time.cut, isOurs: held.isSure };
  };
  const note = async (command: Command): Promise<void> => {
    if (begun === undefined) throw new Error('an attempt ends that has not begun');
    begun = (await record(context, begun, command))();
  };
  const end = async (command: Command): Promise<void> => {
    if (begun === undefined) throw new Error('an attempt ends that has not begun');
    await record(context, begun, command);
  };
  try {
    const made = await declaration.attempts.make({
      stream: loaded.stream,
      teamId: loaded.cause.teamId,
      state: loaded.state,
      deliveries,
      signal: held.signal,
      begin,
      note,
      end,
    });
    return await conclude(context, loaded, made);
  } finally {
    time?.over();
  }
};

const conclude = async <Kind extends StreamKind, State, Command>(
  context: Context<Kind, State, Command>,
  loaded: Loaded<State>,
  made: Made<Command>,
): Promise<Done> => {
  switch (made.kind) {
    case 'done':
    case 'put-back':
      return made;
    case 'hold':
      await hold(context, loaded, made.command);
      return { kind: 'done', ...(made.line === undefined ? {} : { line: made.line }) };
  }
};

/** Out: undefined if another writer changed the stream since it was loaded, or the time of the attempt has not come. */
const recordBeginning = async <Kind extends StreamKind, State, Command>(
  context: Context<Kind, State, Command>,
  loaded: Loaded<State>,
  workerGone: boolean,
  completed: ((command: Command) => Command) | undefined,
): Promise<Loaded<State> | undefined> => {
  const { deps } = context;
  const cause = causeNow(deps, loaded);
  const { events, after, begins } = beginning(context, loaded, workerGone, completed);
  if (!begins) return undefined;
  const version = await appendOrLose(deps, { ...loaded, cause }, events as readonly EventOfKind<Kind>[]);
  return version && { ...loaded, state: after as NonNullable<State>, version, cause };
};

/**
 * Out: undefined if another writer changed the stream meanwhile. If there is work left, the event of that writer makes
 * its own pointer.
 */
const appendOrLose = async (
  deps: Pick<ProcessorDeps, 'eventLog'>,
  { stream, version, cause, lost }: Omit<Loaded<unknown>, 'state'>,
  events: readonly DomainEvent[],
): Promise<StreamVersion | undefined> => {
  try {
    return await deps.eventLog.append(stream, version, events, cause);
  } catch (fault) {
    if (!(fault instanceof WrongExpectedRevision)) throw fault;
    lost?.();
    return undefined;
  }
};

/**
 * Appends the outcome. Out: a function that answers the stream as it is afterwards. A fault is met by trying until the
 * append succeeds or the program stops, because work without a recorded outcome would be done twice. While a server is
 * away it tries on even after the lease is lost, until calls are cut off: the outcome stays true, and nobody else can
 * record anything meanwhile.
 */
const record = async <Kind extends StreamKind, State, Command>(
  { deps, declaration, held }: WorkerContext<Kind, State, Command>,
  loaded: Loaded<State>,
  command: Command,
): Promise<() => Loaded<State>> => {
  const { decider, name } = declaration;
  const { stream } = loaded;
  const events = decider.decide(command, loaded.state);
  if (events.length === 0) return () => loaded;
  const cause = { ...loaded.cause, at: isoTime(deps.clock.now()) };
  for (;;) {
    try {
      const version = await appendOrLose(deps, { ...loaded, cause }, events);
      if (version !== undefined)
        return () => ({ ...loaded, version, state: events.reduce(decider.evolve, loaded.state as State)! });
      const handled = await handle(deps.eventLog, stream, decider, command, cause);
      return () => ({ ...loaded, version: handled.version, state: handled.state! });
    } catch (fault) {
      const signal = isAway(fault) ? deps.cutOff : held.signal;
      if (signal.aborted) throw fault;
      deps.logger.error(
        { processor: name, stream, err: asError(fault) },
        'the outcome of an attempt could not be recorded, trying again',
      );
      await deps.clock.sleep(RETRY_AFTER_FAULT_MS, signal);
    }
  }
};

const isAway = (fault: unknown): boolean => fault instanceof StoreAway || fault instanceof AppendUnknown;

/**
 * Timeouts for many calls, by the injected clock. Calls that begin at about the same time share a bucket with one
 * signal, which aborts when the time of its first call is over: a signal and a timer for each call would cost more than
 * the rest of its bookkeeping.
 */
type Deadlines = Readonly<{
  /**
   * Begins a call. `signal` aborts when the time of the call is over (up to a hundredth of it early), or with the
   * parent; `cut` aborts at that time, or with `cutOff`. `over` ends the call.
   */
  begin: () => Readonly<{ signal: AbortSignal; cut: AbortSignal; over: () => void }>;
  /** Runs `work` as one call; resolves or rejects as `work` does. */
  within: <Result>(work: (signal: AbortSignal) => Promise<Result>) => Promise<Result>;
  /** Ends the timer; calls under way then end only with the parent or `cutOff`. */
  close: () => void;
}>;

/** Calls that share one timeout. `fromMs` is by the monotonic clock. */
type Bucket = Readonly<{ fromMs: number; over: AbortController; signal: AbortSignal; cut: AbortSignal }> & {
  open: number;
};

/** The part of the timeout during which a bucket takes new calls. */
const SHARED_PART = 0.01;

/** `parent` aborts with `cutOff`, and before it if calls may end by themselves before they are cut off. */
export const openDeadlines = (
  clock: Clock,
  timeoutMs: number,
  parent: AbortSignal,
  cutOff: AbortSignal = parent,
): Deadlines => {
  /** The oldest first; only the last takes new calls. */
  const buckets: Bucket[] = [];
  const closed = new AbortController();
  let watching = false;

  /**
   * Sleeps until the oldest bucket is due, aborts what is over, and continues with the bucket that is the oldest then.
   */
  const watch = async (): Promise<void> => {
    watching = true;
    for (let [oldest] = buckets; oldest !== undefined && !closed.signal.aborted; [oldest] = buckets) {
      await clock.sleep(oldest.fromMs + timeoutMs - clock.monotonic(), closed.signal);
      const dueFromMs = clock.monotonic() - timeoutMs;
      while (buckets[0] !== undefined && (buckets[0].open === 0 || buckets[0].fromMs <= dueFromMs))
        buckets.shift()!.over.abort();
    }
    watching = false;
  };

  const bucketOfNow = (): Bucket => {
    const nowMs = clock.monotonic();
    const last = buckets.at(-1);
    if (last !== undefined && !last.signal.aborted && nowMs - last.fromMs < timeoutMs * SHARED_PART) return last;
    const over = new AbortController();
    const [signal, cut] = [AbortSignal.any([over.signal, parent]), AbortSignal.any([over.signal, cutOff])];
    const bucket = { fromMs: nowMs, over, signal, cut, open: 0 };
    // As many listen as there are calls.
    setMaxListeners(0, signal, cut);
    buckets.push(bucket);
    if (!watching) void watch();
    return bucket;
  };

  const begin: Deadlines['begin'] = () => {
    const bucket = bucketOfNow();
    bucket.open += 1;
    return { signal: bucket.signal, cut: bucket.cut, over: () => void (bucket.open -= 1) };
  };

  return {
    begin,
    within: async (work) => {
      const { signal, over } = begin();
      try {
        return await work(signal);
      } finally {
        over();
      }
    },
    close: () => closed.abort(),
  };
};
