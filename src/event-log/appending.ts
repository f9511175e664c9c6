/** Appends to the store until it is certain what became of it: an answer that was lost is made up for by reading the stream. */
import { AppendUnknown, WrongExpectedRevision } from '../domain/core/errors.js';
import type { Clock } from '../domain/ports/clock.js';
import type { AppendOutcome, EventStore, EventToStore, Position } from '../domain/ports/event-store.js';

export type AppendingPorts = Readonly<{ store: Pick<EventStore, 'append' | 'readStream'>; clock: Pick<Clock, 'sleep'> }>;

type Append = Readonly<{ stream: string; expectedRevision: number; events: readonly EventToStore[] }>;
type Done = Readonly<{ revision: number; position: Position }>;

const ATTEMPTS_MAX = 6;
const PAUSE_MS = 50;
const never = new AbortController().signal;

/**
 * Resolves when the events are durable. Rejects with WrongExpectedRevision, or as the store does, where they are certainly not in the
 * log, and with AppendUnknown where that could not be found out within a bounded number of attempts.
 */
export const appendForCertain = async (ports: AppendingPorts, append: Append): Promise<Done> => {
  const { stream, expectedRevision } = append;
  let outcome = await ports.store.append(stream, expectedRevision, append.events);
  for (let attempt = 1; outcome.kind === 'unknown'; attempt += 1) {
    if (attempt > ATTEMPTS_MAX)
      throw new AppendUnknown(stream, outcome.cause, { after: expectedRevision, eventIds: append.events.map(({ eventId }) => eventId) });
    // The first look is taken at once: most answers are lost after the deed.
    if (attempt > 1) await ports.clock.sleep(PAUSE_MS * 2 ** (attempt - 2), never);
    outcome = await settle(ports, append);
  }
  if (outcome.kind === 'conflict') throw new WrongExpectedRevision(stream, expectedRevision, outcome.actualRevision);
  return outcome;
};

/** Looks for the events in the stream; where they are not, appends them again under the same ids. */
const settle = async ({ store }: AppendingPorts, append: Append): Promise<AppendOutcome> => {
  try {
    const written = await find(store, append);
    if (written !== undefined) return written;
    const outcome = await store.append(append.stream, append.expectedRevision, append.events);
    // What stands in the way may be the first attempt, which was written late.
    return outcome.kind === 'conflict' ? ((await find(store, append)) ?? outcome) : outcome;
  } catch (cause) {
    // That this attempt failed says nothing of the one before.
    return { kind: 'unknown', cause: cause instanceof Error ? cause : new Error('not an Error', { cause }) };
  }
};

const find = async (store: AppendingPorts['store'], { stream, expectedRevision, events }: Append): Promise<AppendOutcome | undefined> => {
  const stored = await store.readStream(stream, expectedRevision + 1);
  const last = stored[events.length - 1];
  if (last === undefined || events.some(({ eventId }, index) => stored[index]!.eventId !== eventId)) return undefined;
  return { kind: 'done', revision: last.revision, position: last.position };
};
