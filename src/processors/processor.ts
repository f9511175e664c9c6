/**
 * What every processor does, once: take a pointer, load the stream, record that an attempt begins, act, record what came of it,
 * acknowledge. Every step is safe to repeat: after a crash the attempt without an outcome is visible, and is made again.
 */
import { handle } from '../commands/command-handler.js';
import type { DomainEvent, EventOfKind, StreamKind } from '../domain/events.js';
import { WrongExpectedRevision } from '../domain/errors.js';
import type { StreamName } from '../domain/ids.js';
import type { Priority, Work } from '../domain/ports/bus.js';
import { isoTime } from '../domain/ports/clock.js';
import { versionOf, type Cause, type StreamVersion } from '../event-log/event-log.js';
import { openDeadlines, type Deadlines } from './deadlines.js';
import type { Declaration, NewAttempt, Processor } from './declaration.js';
import { causeOfWork, type ProcessorDeps } from './deps.js';
import { runLanes } from './lanes.js';
import { underLease, workerLease, type Held } from './lease.js';

const RETRY_AFTER_FAULT_MS = 1_000;
const RETRY_AFTER_FAULT_MAX_MS = 5 * 60_000;

/** A fault of ours (a disk, a bug) is met again after growing pauses: the work is kept, and the log says that it is stuck. */
const pauseAfterFault = (deliveries: number): number =>
  Math.min(RETRY_AFTER_FAULT_MS * 2 ** Math.min(deliveries - 1, 20), RETRY_AFTER_FAULT_MAX_MS);

export const makeProcessor = <Kind extends StreamKind, State, Command>(declaration: Declaration<Kind, State, Command>): Processor => {
  const { name, kind, timers, gate } = declaration;
  const startedBy: Readonly<Record<string, ((event: never) => Priority) | null>> = declaration.startedBy;
  return {
    name,
    kind,
    timers,
    gate,
    isStarted: Object.values(startedBy).some((starts) => starts !== null),
    startedBy: (event: DomainEvent) => startedBy[event.type]?.(event as never),
    worker: (deps) => ({
      name,
      run: (signal) => underLease(deps, workerLease(name, deps.worker), signal, (held) => runWorker({ deps, declaration, held })),
    }),
  };
};

type Running<Kind extends StreamKind, State, Command> = Readonly<{
  deps: ProcessorDeps;
  declaration: Declaration<Kind, State, Command>;
  held: Held;
}>;

/** What all lanes of a worker share. */
type WorkerContext<Kind extends StreamKind, State, Command> = Running<Kind, State, Command> & Readonly<{ deadlines: Deadlines }>;

const runWorker = async <Kind extends StreamKind, State, Command>(running: Running<Kind, State, Command>): Promise<void> => {
  const { deps, declaration, held } = running;
  // Where the lease is lost another may make the same attempts already: calls under way are cut off.
  const cutOff = AbortSignal.any([deps.cutOff, held.lost]);
  const deadlines = openDeadlines(deps.clock, declaration.deadlineMs, cutOff);
  const context = { ...running, deadlines };
  const ended = new AbortController();
  const watching = declaration.gate?.watch(ended.signal);
  try {
    await runLanes(deps.bus.consume(declaration.name, { maxInFlight: deps.inFlightMax, signal: held.signal }), {
      keyOf: ({ pointer }) => pointer.stream,
      handle: (work) => doWork(context, work),
      onFault: (work, fault) => tryAgain(running, work, fault),
    });
  } finally {
    ended.abort();
    await watching;
    deadlines.close();
  }
};

const asError = (fault: unknown): Error => (fault instanceof Error ? fault : new Error('not an Error'));

/** Nothing was recorded, or only that an attempt began: the stream says how to go on. */
const tryAgain = async <Kind extends StreamKind, State, Command>(
  { deps, declaration }: Running<Kind, State, Command>,
  work: Work,
  fault: unknown,
): Promise<void> => {
  const { pointer, deliveries } = work;
  deps.stuck.note(declaration.name, pointer.stream, fault);
  deps.logger.error(
    { processor: declaration.name, stream: pointer.stream, deliveries, err: asError(fault) },
    'processor fault, will be tried again',
  );
  // Where the bus does not hear of it, the pointer comes again by itself.
  await work.retryAt(deps.clock.now() + pauseAfterFault(deliveries)).catch(() => {});
};

type Begun<State> =
  | Readonly<{ kind: 'begun'; state: NonNullable<State>; version: StreamVersion; cause: Cause }>
  | Readonly<{ kind: 'nothing' }>
  /** The attempt of a worker that lives is under way. */
  | Readonly<{ kind: 'elsewhere'; untilMs: number }>;

const NOTHING = { kind: 'nothing' } as const;

const doWork = async <Kind extends StreamKind, State, Command>(context: WorkerContext<Kind, State, Command>, work: Work): Promise<void> => {
  const { deps, declaration, held, deadlines } = context;
  const stream = work.pointer.stream as StreamName;
  if (held.signal.aborted) return work.retryAt(deps.clock.now());
  const begun = await begin(context, stream);
  if (begun.kind !== 'begun') deps.stuck.clear(declaration.name, stream);
  if (begun.kind === 'nothing') return work.ack();
  if (begun.kind === 'elsewhere') return work.retryAt(begun.untilMs);
  const { state, cause } = begun;
  const outcome = await deadlines.within((signal) => declaration.act({ stream, state, cause, signal }));
  if (outcome.command !== undefined) await record(context, stream, begun, outcome.command);
  deps.stuck.clear(declaration.name, stream);
  await work.ack();
  const { line } = outcome;
  if (line !== undefined) deps.logger[line.level]({ stream, ...line.fields }, line.message);
};

const begin = async <Kind extends StreamKind, State, Command>(
  { deps, declaration, held }: WorkerContext<Kind, State, Command>,
  stream: StreamName,
): Promise<Begun<State>> => {
  const { decider, attempts } = declaration;
  const recorded = await deps.eventLog.load(stream);
  const [first, last] = [recorded[0], recorded.at(-1)];
  if (first === undefined || last === undefined) return NOTHING;
  const state = recorded.reduce((before, { event }) => decider.evolve(before, event as EventOfKind<Kind>), decider.initialState);
  if (state === undefined || state === null) return NOTHING;
  const { teamId, correlationId } = first.metadata;
  const from = { teamId, correlationId, causationId: last.metadata.eventId };
  // An attempt names its worker; what else a processor appends carries the fence.
  const cause = causeOfWork(deps, declaration.name, from, attempts === undefined ? held.fence : undefined);
  if (attempts === undefined) return { kind: 'begun', state, version: versionOf(last), cause };

  const worker = attempts.underWay(state);
  // Work on one stream never runs beside itself here, so an attempt of our own met a fault: it goes on.
  if (worker === deps.worker) return { kind: 'begun', state, version: versionOf(last), cause };
  const lease = worker === undefined ? undefined : await deps.leases.read(workerLease(declaration.name, worker));
  if (lease !== undefined) return { kind: 'elsewhere', untilMs: lease.untilMs };
  const attempt = newAttempt(deps, cause, declaration.deadlineMs, worker !== undefined);
  const events = decider.decide(attempts.begin(attempt), state);
  if (events.length === 0) return NOTHING;
  const after = events.reduce(decider.evolve, state as State);
  const begins = after !== undefined && after !== null && attempts.underWay(after) === deps.worker;
  if (begins && attempts.hold !== undefined && declaration.gate?.isOpen() === false) {
    const held = decider.decide(attempts.hold(attempt), state);
    if (held.length > 0) await appendOrLose(deps, stream, versionOf(last), held, cause);
    else declaration.gate.ask();
    return NOTHING;
  }
  attempts.assertPossible?.(stream, state);
  const version = await appendOrLose(deps, stream, versionOf(last), events, cause);
  return version !== undefined && begins ? { kind: 'begun', state: after, version, cause } : NOTHING;
};

const newAttempt = (deps: ProcessorDeps, { at }: Cause, deadlineMs: number, workerGone: boolean): NewAttempt => ({
  at,
  worker: deps.worker,
  deadlineAt: isoTime(deps.clock.now() + deadlineMs),
  workerGone,
});

/** Out: undefined where somebody else changed the stream in this moment; what they wrote makes its own pointer where there is work left. */
const appendOrLose = async (
  deps: ProcessorDeps,
  stream: StreamName,
  version: StreamVersion,
  events: readonly DomainEvent[],
  cause: Cause,
): Promise<StreamVersion | undefined> => {
  try {
    return await deps.eventLog.append(stream, version, events, cause);
  } catch (fault) {
    if (fault instanceof WrongExpectedRevision) return undefined;
    throw fault;
  }
};

/**
 * Appends what came of it. A disk that refuses now may take it later, and forgetting it would do the work twice: so this goes on until
 * it succeeds or the program stops.
 */
const record = async <Kind extends StreamKind, State, Command>(
  context: WorkerContext<Kind, State, Command>,
  stream: StreamName,
  begun: Extract<Begun<State>, { kind: 'begun' }>,
  command: Command,
): Promise<void> => {
  const { deps, declaration, held } = context;
  const { decider } = declaration;
  const events = decider.decide(command, begun.state);
  if (events.length === 0) return;
  const cause = { ...begun.cause, at: isoTime(deps.clock.now()) };
  for (;;) {
    try {
      if ((await appendOrLose(deps, stream, begun.version, events, cause)) === undefined)
        await handle(deps.eventLog, stream, decider, command, cause);
      return;
    } catch (fault) {
      if (held.signal.aborted) throw fault;
      deps.logger.error(
        { processor: declaration.name, stream, err: asError(fault) },
        'the outcome of an attempt could not be recorded, trying again',
      );
      await deps.clock.sleep(RETRY_AFTER_FAULT_MS, held.signal);
    }
  }
};
