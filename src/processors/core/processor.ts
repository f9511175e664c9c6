/**
 * What every processor does, once: take a pointer, load the stream, record that an attempt begins, act, record what came of it,
 * acknowledge. Every step is safe to repeat: after a crash the attempt without an outcome is visible, and is made again.
 */
import type { DomainEvent, EventOfKind, EventType, StreamKind } from '../../domain/events.js';
import { EventUnreadable, FileDamaged, KeyMissing } from '../../domain/core/errors.js';
import type { StreamName } from '../../domain/core/ids.js';
import type { Priority, Work } from '../../domain/ports/bus.js';
import { versionOf } from '../../event-log/event-log.js';
import { makeAttempt } from './attempt.js';
import { openDeadlines } from './deadlines.js';
import type { Declaration, Processor } from './declaration.js';
import { causeOfWork } from './deps.js';
import { runLanes } from './lanes.js';
import { underLease, workerLease } from './lease.js';
import { NOTHING, asError, record, RETRY_AFTER_FAULT_MS, type Done, type Loaded, type WorkerContext } from './recording.js';
import { nameOf } from './stuck.js';

const RETRY_AFTER_FAULT_MAX_MS = 5 * 60_000;

/** A fault of ours (a disk, a bug) is met again after growing pauses: the work is kept, and the log says that it is stuck. */
const pauseAfterFault = (deliveries: number): number =>
  Math.min(RETRY_AFTER_FAULT_MS * 2 ** Math.min(deliveries - 1, 20), RETRY_AFTER_FAULT_MAX_MS);

/** Some two minutes of growing pauses. */
const TRIES_MAX = 8;

/** What no pause mends: what is stored is damaged or missing, or the program itself is wrong. What a server or a disk refuses may pass. */
const isLasting = (fault: unknown): boolean =>
  lasting.some((kind) => fault instanceof kind) && !(fault instanceof Error && 'syscall' in fault);
const lasting = [EventUnreadable, KeyMissing, FileDamaged, TypeError, RangeError, ReferenceError, SyntaxError];

export const makeProcessor = <Kind extends StreamKind, State, Command>(declaration: Declaration<Kind, State, Command>): Processor => {
  const { name, kind, timers, gate } = declaration;
  const startedBy: Readonly<Record<string, ((event: never) => Priority) | null>> = declaration.startedBy;
  return {
    name,
    kind,
    timers,
    gate,
    startingTypes: (Object.keys(startedBy) as EventType[]).filter((type) => startedBy[type] !== null),
    startedBy: (event: DomainEvent) => startedBy[event.type]?.(event as never),
    worker: (deps) => ({
      name,
      run: (signal) => underLease(deps, workerLease(name, deps.worker), signal, (held) => runWorker({ deps, declaration, held })),
    }),
  };
};

const runWorker = async <Kind extends StreamKind, State, Command>(
  running: Omit<WorkerContext<Kind, State, Command>, 'deadlines'>,
): Promise<void> => {
  const { deps, declaration, held } = running;
  // Where the lease is lost another may make the same attempts already: calls under way are cut off.
  const cutOff = AbortSignal.any([deps.cutOff, held.lost]);
  const deadlines = openDeadlines(deps.clock, declaration.deadlineMs, cutOff);
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

/**
 * Nothing was recorded, or only that an attempt began: the stream says how to go on. What fails for good is parked where the bus keeps it
 * for an operator; elsewhere the growing pauses go on.
 */
const tryAgain = async <Kind extends StreamKind, State, Command>(
  { deps, declaration }: WorkerContext<Kind, State, Command>,
  work: Work,
  fault: unknown,
): Promise<void> => {
  const { pointer, deliveries } = work;
  deps.stuck.note(declaration.name, pointer.stream, fault);
  const isParked = deps.bus.parked !== undefined && deliveries >= TRIES_MAX && isLasting(fault);
  deps.logger.error(
    { processor: declaration.name, stream: pointer.stream, deliveries, err: asError(fault) },
    isParked ? 'processor fault, the work is parked' : 'processor fault, will be tried again',
  );
  // Where the bus does not hear of it, the pointer comes again by itself.
  const told = isParked ? work.park(nameOf(fault)) : work.retryAt(deps.clock.now() + pauseAfterFault(deliveries));
  await told.catch(() => {});
};

const doWork = async <Kind extends StreamKind, State, Command>(context: WorkerContext<Kind, State, Command>, work: Work): Promise<void> => {
  const { deps, declaration, held } = context;
  const stream = work.pointer.stream as StreamName;
  if (held.signal.aborted) return work.retryAt(deps.clock.now());
  const loaded = await load(context, stream);
  const done = loaded === undefined ? NOTHING : await workOn(context, loaded, work.deliveries);
  deps.stuck.clear(declaration.name, stream);
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
  const { command, line } = await deadlines.within((signal) => declaration.act({ stream, state, cause, signal }));
  if (command !== undefined) await record(context, loaded, command);
  return { kind: 'done', ...(line === undefined ? {} : { line }) };
};

/** Out: undefined where there is no such stream. */
const load = async <Kind extends StreamKind, State, Command>(
  { deps, declaration, held }: WorkerContext<Kind, State, Command>,
  stream: StreamName,
): Promise<Loaded<State> | undefined> => {
  const { decider, attempts, name, foldsFrom } = declaration;
  const recorded = await deps.eventLog.load(stream, foldsFrom && (await foldsFrom(deps, stream)));
  const [first, last] = [recorded[0], recorded.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const state = recorded.reduce((before, { event }) => decider.evolve(before, event as EventOfKind<Kind>), decider.initialState);
  if (state === undefined || state === null) return undefined;
  const { teamId, correlationId } = first.metadata;
  const from = { teamId, correlationId, causationId: last.metadata.eventId };
  // An attempt names its worker; what else a processor appends carries the fence.
  const cause = causeOfWork(deps, name, from, attempts === undefined ? held.fence : undefined);
  return { stream, state, version: versionOf(last), cause };
};
