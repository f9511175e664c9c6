/** What every processor is made of. */
import type { StreamKind } from '../../domain/events.js';
import type { Clock } from '../../domain/ports/clock.js';
import { isoTime } from '../../domain/core/iso-time.js';
import type { Bus, Pointer } from '../../domain/ports/bus.js';
import { priorities } from '../../domain/ports/bus.js';
import type { Leases } from '../../domain/ports/lease.js';
import type { Document, ReadModels } from '../../domain/ports/read-models.js';
import type { Logger } from '../../domain/ports/logger.js';
import type { Limits } from '../../domain/core/limits.js';
import type { StuckWork } from './stuck.js';
import type { Cause, EventLog } from '../../event-log/event-log.js';

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
