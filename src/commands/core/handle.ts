/**
 * Load, fold, decide, append: the one way in which a command changes a stream. A comment that begins with "Not by
 * `handle`" stands where an event is appended without it, and says why.
 */
import type { Decider } from '../../domain/core/decider.js';
import { DomainError, WrongExpectedRevision } from '../../domain/core/errors.js';
import { startOf, versionOf, type Cause, type EventLog } from '../../event-log/event-log.js';
import type { DomainEvent, Recorded } from '../../domain/events.js';
import type { StreamName } from '../../domain/core/ids.js';
import type { CorePorts, Loaded } from './ports.js';
import { fingerprintOf, isSameBody, keyReused, type Idempotency } from './idempotency.js';

export type Fold<Event, State> = Readonly<{ evolve: (state: State, event: Event) => State; initialState: State }>;

/**
 * Continues a fold with later events of the stream. A kind of stream holds one union of events, which the types cannot
 * check.
 */
export const foldOnto = <Event extends DomainEvent, State>(
  { evolve }: Fold<Event, State>,
  loaded: Loaded<State>,
  recorded: readonly Recorded[],
): Loaded<State> => {
  const last = recorded.at(-1);
  if (last === undefined) return loaded;
  return {
    state: recorded.reduce((state, { event }) => evolve(state, event as Event), loaded.state),
    version: versionOf(last),
    teamId: loaded.teamId ?? recorded[0]!.metadata.teamId,
  };
};

/** A stream without events. */
export const emptyLoaded = <State>(stream: StreamName, initialState: State): Loaded<State> => ({
  state: initialState,
  version: startOf(stream),
  teamId: undefined,
});

export const loadState = async <Event extends DomainEvent, State>(
  eventLog: EventLog,
  stream: StreamName,
  fold: Fold<Event, State>,
): Promise<Loaded<State>> => foldOnto(fold, emptyLoaded(stream, fold.initialState), await eventLog.load(stream));

const CONFLICTS_MAX = 8;

type Handled<Event, State> = Loaded<State> & Readonly<{ events: readonly Event[] }>;

/**
 * Decides and appends. If another writer was faster, decides again from the newest state. `guard` sees the stream
 * before each decision and throws if the caller may not touch it. Resolves with the state after the appended events,
 * and these events.
 */
export const handle = <Command, Event extends DomainEvent, State>(
  eventLog: EventLog,
  stream: StreamName,
  decider: Decider<Command, Event, State>,
  command: Command,
  cause: Cause,
  guard: (loaded: Loaded<State>) => void = () => {},
): Promise<Handled<Event, State>> => handleFrom(undefined, eventLog, stream, decider, command, cause, guard);

/** As `handle`, but starts from a known state: the stream is read only if another writer was faster. */
export const handleFrom = async <Command, Event extends DomainEvent, State>(
  known: Loaded<State> | undefined,
  eventLog: EventLog,
  stream: StreamName,
  decider: Decider<Command, Event, State>,
  command: Command,
  cause: Cause,
  guard: (loaded: Loaded<State>) => void = () => {},
): Promise<Handled<Event, State>> => {
  for (let conflicts = 0; ; conflicts += 1) {
    const loaded = conflicts === 0 && known !== undefined ? known : await loadState(eventLog, stream, decider);
    guard(loaded);
    const events = decider.decide(command, loaded.state);
    if (events.length === 0) return { ...loaded, events };
    try {
      const version = await eventLog.append(stream, loaded.version, events, cause);
      return {
        state: events.reduce(decider.evolve, loaded.state),
        version,
        teamId: loaded.teamId ?? cause.teamId,
        events,
      };
    } catch (fault) {
      if (!(fault instanceof WrongExpectedRevision)) throw fault;
      if (conflicts >= CONFLICTS_MAX) {
        throw new DomainError(
          'CONFLICT',
          'Others change the same thing at the same time, and each time they were faster. Try again.',
        );
      }
    }
  }
};

/** HMACs of the Idempotency-Key and of the body of a call, which its event keeps. */
type CallKey = Readonly<{ idempotencyKey: string | undefined; fingerprint: string | undefined }>;

type KeyedCommand<Command, State> = Readonly<{
  command: (key: CallKey) => Command;
  /** Call that used that key before; undefined if there was none. */
  earlier: (state: NonNullable<State>, idempotencyKey: string) => Pick<CallKey, 'fingerprint'> | undefined;
  idempotency: Idempotency | undefined;
  cause: Cause;
  guard: (loaded: Loaded<State>) => void;
}>;

/**
 * Handles a command that may carry an Idempotency-Key: what was made under a key is not made again, whatever happened
 * to the stream since. Rejects as `handle`, and with IDEMPOTENCY_KEY_REUSED.
 */
export const handleKeyed = async <Command, Event extends DomainEvent, State>(
  { eventLog, keys }: Pick<CorePorts, 'eventLog' | 'keys'>,
  stream: StreamName,
  decider: Decider<Command, Event, State>,
  { command, earlier, idempotency, cause, guard }: KeyedCommand<Command, State>,
): Promise<Readonly<{ state: NonNullable<State>; idempotencyKey: string | undefined; replayed: boolean }>> => {
  const idempotencyKey = idempotency && keys.fingerprint('idempotency-key', idempotency.key);
  const fingerprint = idempotency && fingerprintOf(keys, idempotency);
  const madeIn = (state: State): Pick<CallKey, 'fingerprint'> | undefined =>
    idempotencyKey === undefined || state === undefined || state === null ? undefined : earlier(state, idempotencyKey);
  const once: Decider<Command, Event, State> = {
    ...decider,
    decide: (given, state) => (madeIn(state) === undefined ? decider.decide(given, state) : []),
  };
  const { state, events } = await handle(
    eventLog,
    stream,
    once,
    command({ idempotencyKey, fingerprint }),
    cause,
    guard,
  );
  if (state === undefined || state === null) throw new Error(`${stream} is there, and has no state`);
  const replayed = events.length === 0;
  if (replayed && idempotency !== undefined && !isSameBody(keys, madeIn(state)?.fingerprint, idempotency))
    throw keyReused();
  return { state, idempotencyKey, replayed };
};
