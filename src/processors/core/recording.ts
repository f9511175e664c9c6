/** What a worker knows of the stream that it works on, and how it appends to it. */
import { handle } from '../../commands/core/handle.js';
import type { DomainEvent, StreamKind } from '../../domain/events.js';
import { AppendUnknown, StoreAway, WrongExpectedRevision } from '../../domain/core/errors.js';
import type { StreamName } from '../../domain/core/ids.js';
import { isoTime } from '../../domain/core/iso-time.js';
import type { Cause, StreamVersion } from '../../event-log/event-log.js';
import type { Deadlines } from './deadlines.js';
import type { Declaration, LogLine } from './declaration.js';
import type { ProcessorDeps } from './deps.js';
import type { Held } from './lease.js';

export const RETRY_AFTER_FAULT_MS = 1_000;

/** What all lanes of a worker share. */
export type WorkerContext<Kind extends StreamKind, State, Command> = Readonly<{
  deps: ProcessorDeps;
  declaration: Declaration<Kind, State, Command>;
  held: Held;
  deadlines: Deadlines;
}>;

/** A stream as it was found; what is appended on behalf of the work continues that version. */
export type Loaded<State> = Readonly<{ stream: StreamName; state: NonNullable<State>; version: StreamVersion; cause: Cause }>;

/** What becomes of the pointer: acknowledged, or delivered again at that moment. */
export type Done = (Readonly<{ kind: 'done' }> | Readonly<{ kind: 'put-back'; atMs: number }>) & Readonly<{ line?: LogLine }>;

export const NOTHING: Done = { kind: 'done' };

export const asError = (fault: unknown): Error => (fault instanceof Error ? fault : new Error('not an Error'));

/** Out: undefined where somebody else changed the stream in this moment; what they wrote makes its own pointer where there is work left. */
export const appendOrLose = async (
  deps: Pick<ProcessorDeps, 'eventLog'>,
  { stream, version, cause }: Omit<Loaded<unknown>, 'state'>,
  events: readonly DomainEvent[],
): Promise<StreamVersion | undefined> => {
  try {
    return await deps.eventLog.append(stream, version, events, cause);
  } catch (fault) {
    if (fault instanceof WrongExpectedRevision) return undefined;
    throw fault;
  }
};

/**
 * Appends what came of it, and answers what gives the stream as it is then. A disk that refuses now may take it later, and forgetting it would do the work twice: so this goes on until
 * it succeeds or the program stops. Where a server is away it goes on although the lease is lost by that, and until calls are cut off:
 * what came of it stays true, and nobody else can record anything meanwhile.
 */
export const record = async <Kind extends StreamKind, State, Command>(
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
      if (version !== undefined) return () => ({ ...loaded, version, state: events.reduce(decider.evolve, loaded.state as State)! });
      const handled = await handle(deps.eventLog, stream, decider, command, cause);
      return () => ({ ...loaded, version: handled.version, state: handled.state! });
    } catch (fault) {
      const signal = isAway(fault) ? deps.cutOff : held.signal;
      if (signal.aborted) throw fault;
      deps.logger.error({ processor: name, stream, err: asError(fault) }, 'the outcome of an attempt could not be recorded, trying again');
      await deps.clock.sleep(RETRY_AFTER_FAULT_MS, signal);
    }
  }
};

const isAway = (fault: unknown): boolean => fault instanceof StoreAway || fault instanceof AppendUnknown;
