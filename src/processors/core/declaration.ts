/** What a processor is: which stream, what starts its work, who decides, and what it does in the world. The rest is the same for all. */
import type { StreamKind, DomainEvent, EventOfKind, EventType } from '../../domain/events.js';
import type { Clock } from '../../domain/ports/clock.js';
import { isoTime } from '../../domain/core/time.js';
import { type Bus, type Pointer, priorities, type Priority } from '../../domain/ports/bus.js';
import type { Leases } from '../../domain/ports/lease.js';
import type { Document, ReadModels } from '../../domain/ports/read-models.js';
import type { Logger, LogFields } from '../../domain/ports/logger.js';
import type { Limits } from '../../domain/core/limits.js';
import type { Cause, EventLog } from '../../event-log/event-log.js';
import type { Decider } from '../../domain/core/decider.js';
import type { StreamName } from '../../domain/core/ids.js';
import type { Worker } from '../../domain/ports/worker.js';

/* The work that met a fault of ours and waits to be tried again: what health tells of it. */

export type StuckWork = Readonly<{
  note: (worker: string, stream: string, fault: unknown) => void;
  /** The work was done, or there was none. */
  clear: (worker: string, stream: string) => void;
  /** How many streams wait, and the code or name of the newest fault. */
  of: (worker: string) => Readonly<{ count: number; fault: string }> | undefined;
}>;

/** Beyond it more streams may wait than are counted. */
const STREAMS_MAX = 10_000;

export const openStuckWork = (): StuckWork => {
  const workers = new Map<string, Map<string, string>>();
  return {
    note: (worker, stream, fault) => {
      const streams = workers.get(worker) ?? new Map<string, string>();
      workers.set(worker, streams);
      // Taken out first, so that the newest fault stands last.
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

/** What a fault is called without its message, which may quote what is personal. */
export const nameOf = (fault: unknown): string => {
  if (!(fault instanceof Error)) return 'not an Error';
  return 'code' in fault ? String(fault.code) : fault.name;
};

/* What every processor is made of. */

/** A timer as a read model tells it; a hint, never the ground of a decision. */
export type TimerDocument = Document &
  Readonly<{ kind: string; key: string; dueAt: string; priority: string; team: string; senderDueAt?: string }>;

export type ProcessorDeps = Readonly<{
  eventLog: EventLog;
  readModels: Pick<ReadModels, 'find'>;
  /** Resolves when the timers of that kind of stream have everything up to that position, or the signal aborts. */
  timersCaughtUp: (kind: StreamKind, position: number, signal: AbortSignal) => Promise<void>;
  bus: Bus;
  /** Resolves in a later turn of the event loop, in which it has been asked for by nobody else: before each page that is read. */
  nextTurn: () => Promise<void>;
  leases: Leases;
  /** Told of work that met a fault of ours, and of its end. */
  stuck: StuckWork;
  clock: Clock;
  /** False while nothing may be destroyed because of its age, for the clock is not to be believed. */
  mayDestroy: () => boolean;
  logger: Logger;
  limits: Limits;
  /** This run of the program: it holds leases and attempts under this name, which no other run has. */
  worker: string;
  /** How many pieces of work one processor does at once. */
  inFlightMax: number;
  /** Aborts when the time to stop in good order is over: calls under way are cut off. */
  cutOff: AbortSignal;
}>;

/** In: the event that led to this. Out: the metadata of what a processor appends, at the moment of now. */
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

/** Work on one stream at one position of the log: the same work found twice has the same id. */
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

/** For each type of event of the kind: the priority of the work that it starts at once, null where it starts none. */
export type StartedBy<Kind extends StreamKind> = {
  readonly [Event in EventOfKind<Kind> as Event['type']]: ((event: Event) => Priority) | null;
};

/**
 * A kind of timer that leads to this work. `due`: when its time has come. `started`: an event has started the work already, and the timer
 * finds it again where the bus had no room for it or lost it. `held`: as soon as the gate of the processor is open, and at its time whether
 * it is or not. `under-way`: whatever its time, at every start and every now and then, for
 * the worker that had begun may be gone. `inTurns`: where many are there, teams take turns, and the senders of a team; the kind of stream
 * then keeps a backlog of each team, and its timers have `senderDueAt`.
 * `destroys`: the work destroys what is old, so it waits while the clock is not to be believed. `seldom`: nobody waits for the work, so
 * timers that are read when they are due are looked for less often.
 */
export type TimerUse = Readonly<{
  kind: string;
  read: 'due' | 'started' | 'held' | 'under-way';
  inTurns?: true;
  destroys?: true;
  seldom?: true;
}>;

/** What a new attempt is told. Times are ISO 8601. */
export type NewAttempt = Readonly<{
  at: string;
  worker: string;
  /** The call in the world is cut off at this moment. */
  deadlineAt: string;
  /** The worker of the attempt that the state shows as under way has ended without an outcome. */
  workerGone: boolean;
}>;

/** For work that must be seen to have begun before it is done: an attempt without an outcome shows what a crash has cut off. */
type Attempts<State, Command> = Readonly<{
  /** The worker of the attempt under way, undefined where there is none. */
  underWay: (state: State) => string | undefined;
  /** Throws where a fault of ours keeps the attempt from being made: then nothing is recorded, and the work comes again after a pause. */
  assertPossible?: (stream: StreamName, state: State) => void;
  /** The command that records that an attempt begins. */
  begin: (attempt: NewAttempt, state: State) => Command;
  /** Whether the attempt is made while the gate is closed. */
  passesGate?: (state: State) => boolean;
  /** The command in place of an attempt while the gate is closed. */
  hold?: (attempt: NewAttempt) => Command;
  /**
   * Gets ready what the attempt needs, begins it, does the one thing in the world, and ends it. An expected failure is an outcome; a
   * rejection is a fault of ours: the pointer comes again after a growing pause, and an attempt that has begun goes on.
   */
  make: (context: AttemptContext<State, Command>) => Promise<Made<Command>>;
}>;

export type AttemptContext<State, Command> = Readonly<{
  stream: StreamName;
  /** Whose stream it is. */
  teamId: string;
  /** Before the attempt has begun. */
  state: State;
  /** 1 where the work comes for the first time. */
  deliveries: number;
  /** Aborts when nothing is to be begun any more. */
  signal: AbortSignal;
  /** Records that the attempt begins, before anything is done in the world; called once. Out: undefined where it is not to be made any more. */
  begin: () => Promise<BegunAttempt<State> | undefined>;
  /** Records what is known already of an attempt that has begun and goes on. */
  note: (command: Command) => Promise<void>;
  /** Records what came of an attempt that has begun; called once. */
  end: (command: Command) => Promise<void>;
}>;

/** The state shows the attempt; the signal aborts when its time is over, or when the program must stop. */
export type BegunAttempt<State> = Readonly<{ state: State; signal: AbortSignal }>;

/**
 * `done`: it has ended, or was not to be made any more. `hold`: it has not begun, and the command is recorded in its place. `put-back`: it
 * has not begun, and is to be made at that moment.
 */
export type Made<Command> =
  | Readonly<{ kind: 'done'; line?: LogLine }>
  | Readonly<{ kind: 'hold'; command: Command; line?: LogLine }>
  | Readonly<{ kind: 'put-back'; atMs: number; line?: LogLine }>;

/** Whether the other side takes work at all. */
export type Gate = Readonly<{
  isOpen: () => boolean;
  /** How long it pauses now before it finds out again; 0 while it is open. */
  pauseMs: () => number;
  /** Aborts when `isOpen` changes next. */
  changed: () => AbortSignal;
  /** Finds out now, rather than after the pause of the watch; for work that was told to wait already and comes again by hand. */
  ask: () => void;
  /** Runs beside the worker until the signal aborts: finds out when a closed gate may open again. */
  watch: (signal: AbortSignal) => Promise<void>;
}>;

export type Context<State> = Readonly<{
  stream: StreamName;
  state: State;
  cause: Cause;
  /** Aborts when the time of the call is over, or when the program must stop. */
  signal: AbortSignal;
}>;

export type Outcome<Command> = Readonly<{
  /** Records what came of it; absent where there is nothing to be recorded. */
  command?: Command;
  line?: LogLine;
}>;

/** The line in the log, beside the stream; written when all is done. */
export type LogLine = Readonly<{ level: 'info' | 'warn'; fields: LogFields; message: string }>;

type Common<Kind extends StreamKind, State, Command> = Readonly<{
  /** Of its queue on the bus, of its worker, and of the actor of its events. */
  name: string;
  kind: Kind;
  decider: Decider<Command, EventOfKind<Kind>, State>;
  startedBy: StartedBy<Kind>;
  timers: readonly TimerUse[];
  /** How long a call in the world may take. */
  deadlineMs: number;
  /** Absent where work may always begin. */
  gate?: Gate;
  /** How many pieces of its work are done at once at most; absent: as many as of any. */
  inFlightMax?: number;
  /** The revision of a stream from which it is folded; absent: from its first event. */
  foldsFrom?: (deps: Pick<ProcessorDeps, 'eventLog'>, stream: StreamName) => Promise<number>;
}>;

/** Work that does no harm where it is done twice, and of which nobody needs to see that it has begun. */
export type ActingDeclaration<Kind extends StreamKind, State, Command> = Common<Kind, State, Command> &
  Readonly<{
    attempts?: undefined;
    /**
     * Does the one thing in the world. An expected failure is an outcome; a rejection is a fault of ours: the pointer comes again after a
     * growing pause.
     */
    act: (context: Context<NonNullable<State>>) => Promise<Outcome<Command>>;
  }>;

export type AttemptingDeclaration<Kind extends StreamKind, State, Command> = Common<Kind, State, Command> &
  Readonly<{ attempts: Attempts<NonNullable<State>, Command> }>;

export type Declaration<Kind extends StreamKind, State, Command> =
  ActingDeclaration<Kind, State, Command> | AttemptingDeclaration<Kind, State, Command>;

/** A declaration as those see it who work for all of them: the relay, the reader of timers, the composition root. */
export type Processor = Readonly<{
  name: string;
  kind: StreamKind;
  /** The types of event that start its work. */
  startingTypes: readonly EventType[];
  /** The priority of the work that an event of its kind starts. */
  startedBy: (event: DomainEvent) => Priority | undefined;
  timers: readonly TimerUse[];
  gate: Gate | undefined;
  /** The worker that does its work. */
  worker: (deps: ProcessorDeps) => Worker;
}>;
