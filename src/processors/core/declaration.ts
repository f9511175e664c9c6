/**
 * A processor declares its kind of stream, the events that start its work, its decider, and its act in the world. All
 * other code is shared.
 */
import type { StreamKind, DomainEvent, EventOfKind, EventType } from '../../domain/events.js';
import type { Clock } from '../../domain/ports/clock.js';
import { isoTime } from '../../domain/core/time.js';
import { type Bus, type Pointer, priorities, type Priority } from '../../domain/ports/bus.js';
import type { Leases } from '../../domain/ports/lease.js';
import type { ReadModels } from '../../domain/ports/read-models.js';
import type { Logger, LogFields } from '../../domain/ports/logger.js';
import type { Limits } from '../../domain/core/limits.js';
import type { Cause, EventLog } from '../../event-log/event-log.js';
import type { Decider } from '../../domain/core/decider.js';
import type { StreamName } from '../../domain/core/ids.js';
import type { Position } from '../../domain/ports/event-store.js';
import type { Worker } from '../../domain/ports/worker.js';

export type ProcessorDeps = Readonly<{
  eventLog: EventLog;
  readModels: Pick<ReadModels, 'find'>;
  /** Resolves when the timers of that kind of stream include the events up to that position, or the signal aborts. */
  timersCaughtUp: (kind: StreamKind, position: number, signal: AbortSignal) => Promise<void>;
  bus: Bus;
  /** Waits for a turn of the event loop of its own, before each page that is read. */
  nextTurn: () => Promise<void>;
  leases: Leases;
  stuckWork: StuckWork;
  clock: Clock;
  /** False while nothing may be destroyed because of its age, because the clock cannot be trusted. */
  mayDestroy: () => boolean;
  logger: Logger;
  limits: Limits;
  /** The name of this run of the program, which no other run has: it holds leases and attempts under this name. */
  worker: string;
  /** How many pieces of work one processor does at once. */
  inFlightMax: number;
  /** Aborts when the time for an orderly stop is over: calls under way are cut off. */
  cutOff: AbortSignal;
}>;

/** The types of event that start work at once, and its priority. */
export type StartedBy<Kind extends StreamKind> = {
  readonly [Event in EventOfKind<Kind> as Event['type']]?: (event: Event) => Priority;
};

/**
 * A kind of timer that leads to this work, and when it is read.
 * - `due`: when its time has come.
 * - `started`: an event has started the work already; the timer finds the work again if the bus had no room for it or
 *   lost it.
 * - `held`: as soon as the gate of the processor is open, and at its time also while the gate is closed.
 * - `under-way`: at every start and then at intervals, whatever its time, because the worker that began the attempt
 *   may be gone.
 *
 * `inTurns`: teams take turns, and so do the senders of a team; the kind of stream keeps a backlog for each team, and
 * its timers have `senderDueAt`. `destroys`: the work destroys what is old, so it waits while the clock cannot be
 * trusted. `in`: the collection of a second timer of the stream. `seldom`: nobody waits for the work, so due timers are
 * looked for less often.
 */
export type TimerUse = Readonly<{
  kind: string;
  in?: string;
  read: 'due' | 'started' | 'held' | 'under-way';
  inTurns?: true;
  destroys?: true;
  seldom?: true;
}>;

/** The facts of a new attempt. Times are ISO 8601. */
export type NewAttempt = Readonly<{
  at: string;
  worker: string;
  /** The call in the world is cut off at this moment. */
  deadlineAt: string;
  /** The state shows an attempt under way whose worker has ended without recording an outcome. */
  workerGone: boolean;
}>;

/**
 * For work whose beginning is recorded before it is done: an attempt without an outcome shows what a crash has cut off.
 */
type Attempts<State, Command> = Readonly<{
  /** The worker of the attempt under way, undefined if there is none. */
  underWay: (state: State) => string | undefined;
  /**
   * Throws if a fault of the service prevents the attempt: then nothing is recorded, and the work comes again after a
   * pause.
   */
  assertPossible?: (stream: StreamName, state: State) => void;
  /** The command that records that an attempt begins. */
  begin: (attempt: NewAttempt, state: State) => Command;
  /** Whether the attempt is made while the gate is closed. */
  passesGate?: (state: State) => boolean;
  /** The command in place of an attempt while the gate is closed. */
  hold?: (attempt: NewAttempt, state: State) => Command;
  /**
   * Prepares what the attempt needs, begins it, does the one thing in the world, and ends it. An expected failure is an
   * outcome. A rejection is a fault of the service: the pointer comes again after a growing pause, and an attempt that
   * has begun continues.
   */
  make: (context: AttemptContext<State, Command>) => Promise<Made<Command>>;
}>;

export type AttemptContext<State, Command> = Readonly<{
  stream: StreamName;
  /** The team of the stream. */
  teamId: string;
  /** The state before the attempt begins. */
  state: State;
  /** 1 for the first delivery of the work. */
  deliveries: number;
  /** Aborts when no attempt may begin any more. */
  signal: AbortSignal;
  /**
   * Records that the attempt begins, before anything is done in the world; called once. `completed`: adds to the
   * command what is known only then. Out: undefined if it must not be made any more.
   */
  begin: (completed?: (command: Command) => Command) => Promise<BegunAttempt<State> | undefined>;
  /** Records an intermediate result of an attempt that continues. */
  note: (command: Command) => Promise<void>;
  /** Records the outcome of the attempt; called once. */
  end: (command: Command) => Promise<void>;
}>;

/**
 * The state includes the attempt. `signal` aborts when its time is over, when the program must stop, or when another
 * process may take the attempt over; `cut` aborts for the first two alone. `isOurs`: whether no other process can have
 * taken the attempt over, nor can within `forMs`; asked right before what cannot be undone, because the signal of a
 * process that was frozen aborts late.
 */
export type BegunAttempt<State> = Readonly<{
  state: State;
  signal: AbortSignal;
  cut: AbortSignal;
  isOurs: (forMs?: number) => boolean;
}>;

/**
 * `done`: the attempt has ended, or was not needed any more. `hold`: it has not begun, and the command is recorded in
 * its place. `put-back`: it has not begun, and is to be made at that moment.
 */
export type Made<Command> =
  | Readonly<{ kind: 'done'; line?: LogLine }>
  | Readonly<{ kind: 'hold'; command: Command; line?: LogLine }>
  | Readonly<{ kind: 'put-back'; atMs: number; line?: LogLine }>;

/** Whether the other side (for example a mail host) takes work at all. */
export type Gate = Readonly<{
  isOpen: () => boolean;
  /** Whether a part of the other side takes no work although the gate is open; absent: it has no parts. */
  isPartlyClosed?: () => boolean;
  /** How long the watch pauses before it probes again; 0 while the gate is open. */
  pauseMs: () => number;
  /** Aborts when `isOpen` changes next. */
  changed: () => AbortSignal;
  /** Probes now instead of after the pause; for held work that an operator or user starts again. */
  ask: () => void;
  /** Runs beside the worker until the signal aborts; probes whether a closed gate may open again. */
  watch: (signal: AbortSignal) => Promise<void>;
}>;

export type Context<State> = Readonly<{
  stream: StreamName;
  state: State;
  cause: Cause;
  /** 1 for the first delivery of the work. */
  deliveries: number;
  /** Aborts when the time of the call is over, or when the program must stop. */
  signal: AbortSignal;
}>;

export type Outcome<Command> = Readonly<{
  /** Records the outcome; absent if there is nothing to record. */
  command?: Command;
  /** Nothing was done: the work comes again at that moment, and other work is done meanwhile. */
  againAtMs?: number;
  line?: LogLine;
}>;

/** The log line, written when all is done; the stream is added to its fields. */
export type LogLine = Readonly<{ level: 'info' | 'warn'; fields: LogFields; message: string }>;

type Common<Kind extends StreamKind, State, Command> = Readonly<{
  /** The name of its queue on the bus, of its worker, and of the actor of its events. */
  name: string;
  kind: Kind;
  decider: Decider<Command, EventOfKind<Kind>, State>;
  /** Absent if only timers lead to the work. */
  startedBy?: StartedBy<Kind>;
  timers: readonly TimerUse[];
  /** How long a call in the world may take. */
  deadlineMs: number;
  /** Absent if work may always begin. */
  gate?: Gate;
  /** How many pieces of its work are done at once at most; absent: the limit of all processors. */
  inFlightMax?: number;
  /** The revision from which a stream is folded; absent: from its first event. */
  foldsFrom?: (deps: Pick<ProcessorDeps, 'eventLog'>, stream: StreamName) => Promise<number>;
}>;

/** Work that may be done twice without harm, and whose beginning is not recorded. */
export type ActingDeclaration<Kind extends StreamKind, State, Command> = Common<Kind, State, Command> &
  Readonly<{
    attempts?: undefined;
    /**
     * Does the one thing in the world. An expected failure is an outcome. A rejection is a fault of the service: the
     * pointer comes again after a growing pause.
     */
    act: (context: Context<NonNullable<State>>) => Promise<Outcome<Command>>;
  }>;

export type AttemptingDeclaration<Kind extends StreamKind, State, Command> = Common<Kind, State, Command> &
  Readonly<{ attempts: Attempts<NonNullable<State>, Command> }>;

export type Declaration<Kind extends StreamKind, State, Command> =
  ActingDeclaration<Kind, State, Command> | AttemptingDeclaration<Kind, State, Command>;

/** A processor without its types, for the relay, the reader of timers and the composition root. */
export type Processor = Readonly<{
  name: string;
  kind: StreamKind;
  /** The types of event that start its work. */
  startingTypes: readonly EventType[];
  /** The priority of the work that an event starts; undefined if it starts none. */
  startedBy: (event: DomainEvent) => Priority | undefined;
  timers: readonly TimerUse[];
  gate: Gate | undefined;
  /** Makes the worker that does its work. */
  worker: (deps: ProcessorDeps) => Worker;
}>;

/** In: the event that led to the work. Out: the metadata of the events that a processor appends now. */
export const causeOfWork = (
  deps: Pick<ProcessorDeps, 'clock'>,
  processor: string,
  from: Readonly<{ teamId: string; correlationId: string; causationId: string }>,
  fence?: number,
): Cause => ({
  teamId: from.teamId,
  actor: `processor:${processor}`,
  correlationId: from.correlationId,
  causationId: from.causationId,
  at: isoTime(deps.clock.now()),
  ...(fence === undefined ? {} : { fence }),
});

/** The pointer to work on one stream at one position of the log. Work that is found twice gets the same id. */
export const pointerOf = (
  work: Readonly<{ stream: string; position: number; priority: string; team: string; source: string; sender?: string }>,
): Pointer => ({
  id: `${work.stream}@${work.position}`,
  stream: work.stream,
  priority: priorities.find((known) => known === work.priority) ?? 'normal',
  team: work.team,
  source: work.source,
  ...(work.sender === undefined ? {} : { sender: work.sender }),
});

/** The position of the event that a pointer is about. */
export const positionOf = ({ id, stream }: Pointer): Position => Number(id.slice(stream.length + 1));

/** Counts the streams whose work met a fault of the service and waits for a retry; health reports them. */
export type StuckWork = Readonly<{
  note: (worker: string, stream: string, fault: unknown) => void;
  /** The work was done, or there was none left. */
  clear: (worker: string, stream: string) => void;
  /** How many streams of a worker wait, and the code or name of the newest fault. */
  of: (worker: string) => Readonly<{ count: number; fault: string }> | undefined;
}>;

/** Streams that are counted for one worker; more may wait. */
const STREAMS_MAX = 10_000;

export const openStuckWork = (): StuckWork => {
  const workers = new Map<string, Map<string, string>>();
  return {
    note: (worker, stream, fault) => {
      const streams = workers.get(worker) ?? new Map<string, string>();
      workers.set(worker, streams);
      // Deleted first, so that the newest fault stands last.
      streams.delete(stream);
      if (streams.size < STREAMS_MAX) streams.set(stream, nameOf(fault));
    },
    clear: (worker, stream) => void workers.get(worker)?.delete(stream),
    of: (worker) => {
      const streams = workers.get(worker);
      if (streams === undefined || streams.size === 0) return undefined;
      return { count: streams.size, fault: [...streams.values()].at(-1)! };
    },
  };
};

/** The code or name of a fault, and the file that is damaged; without its message, which may quote personal data. */
export const nameOf = (fault: unknown): string => {
  if (!(fault instanceof Error)) return 'not an Error';
  const name = 'code' in fault ? String(fault.code) : fault.name;
  return 'damagedFile' in fault ? `${name} in ${String(fault.damagedFile)}` : name;
};
