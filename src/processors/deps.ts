/** What processors are made of. */
import type { CommandDeps } from '../commands/deps.js';
import type { RetrySchedule } from '../domain/email/decider.js';
import type { Cause } from '../event-log/event-log.js';
import { isoTime } from '../domain/ports/clock.js';
import type { Bus } from '../domain/ports/bus.js';
import type { Document, ReadModels } from '../domain/ports/read-models.js';
import type { Logger } from '../domain/ports/logger.js';
import type { Mailer } from '../domain/ports/mailer.js';

/** Open work as a read model tells it; a hint, never the ground of a decision. `owner` is the team, of a deleted email too. */
export type WorkDocument = Document & Readonly<{ phase: string; priority: string; dueAt: string; stream: string; owner: string }>;

export type ProcessorDeps = CommandDeps &
  Readonly<{
    documents: Pick<ReadModels, 'find'>;
    /** The name of the collection of open work. */
    workCollection: string;
    /** Resolves when the read model of open work has everything up to that position, or the signal aborts. */
    workCaughtUp: (position: number, signal: AbortSignal) => Promise<void>;
    bus: Bus;
    mailer: Mailer;
    logger: Logger;
    schedule: RetrySchedule;
    /** This run of the program; a dialogue of another run is over where the engine is exclusive. */
    worker: string;
    exclusive: boolean;
    deliveriesMax: number;
    /** Aborts when the time to stop in good order is over: dialogues under way are cut off. */
    cutOff: AbortSignal;
  }>;

export const DELIVER_EMAIL = 'deliver-email';

/** In: the event that led to this. Out: the metadata of what a processor appends, at the moment of now. */
export const causeOfWork = (
  deps: Pick<ProcessorDeps, 'clock'>,
  processor: string,
  from: Readonly<{ teamId: string; correlationId: string; causationId: string }>,
): Cause => ({
  teamId: from.teamId,
  actor: `processor:${processor}`,
  correlationId: from.correlationId,
  causationId: from.causationId,
  at: isoTime(deps.clock.now()),
});
