/** Load, fold, decide, append: the one way in which a command changes a stream. */
import type { Decider } from '../domain/decider.js';
import { DomainError, WrongExpectedRevision } from '../domain/errors.js';
import { startOf, versionOf, type Cause, type EventLog, type StreamVersion } from '../event-log/event-log.js';
import type { DomainEvent, Recorded } from '../domain/events.js';
import type { StreamName } from '../domain/ids.js';
import type { MaybePromise } from '../domain/maybe-promise.js';

/** A stream folded, and where it ends. `teamId` is that of its first event; undefined where there is none. */
export type Loaded<State> = Readonly<{ state: State; version: StreamVersion; teamId: string | undefined }>;

type Fold<Event, State> = Readonly<{ evolve: (state: State, event: Event) => State; initialState: State }>;

/** Continues a fold. The events are of the stream's own kind: one kind of stream holds one union of events. */
const foldOnto = <Event extends DomainEvent, State>(
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

const nothing = <State>(stream: StreamName, initialState: State): Loaded<State> => ({
  state: initialState,
  version: startOf(stream),
  teamId: undefined,
});

export const loadState = async <Event extends DomainEvent, State>(
  eventLog: EventLog,
  stream: StreamName,
  fold: Fold<Event, State>,
): Promise<Loaded<State>> => foldOnto(fold, nothing(stream, fold.initialState), await eventLog.load(stream));

/**
 * Loads states that are read far more often than they change. The log is still asked whether anything came after, so an answer
 * is never older than the turn of the event loop in which it was asked for; only the reading and folding of the old part is saved.
 * Keeps `statesMax`, about those used last.
 */
export const cachedLoader = <Event extends DomainEvent, State>(
  eventLog: EventLog,
  fold: Fold<Event, State>,
  statesMax: number,
): ((stream: StreamName) => MaybePromise<Loaded<State>>) => {
  const states = new Map<StreamName, Loaded<State>>();

  const read = async (stream: StreamName): Promise<Loaded<State>> => {
    const known = states.get(stream) ?? nothing(stream, fold.initialState);
    const news = await eventLog.load(stream, known.version.revision + 1);
    if (known.version.revision < 0 && news.length === 0) return known;
    const loaded = foldOnto(fold, known, news);
    // Taken out and put in again: the first in the map is the one used longest ago.
    states.delete(stream);
    states.set(stream, loaded);
    if (states.size > statesMax) states.delete(states.keys().next().value!);
    return loaded;
  };

  return (stream) => {
    const known = states.get(stream);
    if (known === undefined || !eventLog.endsAt(stream, known.version.revision)) return read(stream);
    // Where there is no room left a use is noted, for the one used longest ago goes next.
    if (states.size >= statesMax) {
      states.delete(stream);
      states.set(stream, known);
    }
    return known;
  };
};

const CONFLICTS_MAX = 8;

/**
 * Decides and appends, and decides again from the newest state where another was faster. `guard` sees the stream before each
 * decision and throws where the caller may not touch it. Resolves with the state after, and the events that were appended.
 */
export const handle = async <Command, Event extends DomainEvent, State>(
  eventLog: EventLog,
  stream: StreamName,
  decider: Decider<Command, Event, State>,
  command: Command,
  cause: Cause,
  guard: (loaded: Loaded<State>) => void = () => {},
): Promise<Loaded<State> & Readonly<{ events: readonly Event[] }>> => {
  for (let conflicts = 0; ; conflicts += 1) {
    const loaded = await loadState(eventLog, stream, decider);
    guard(loaded);
    const events = decider.decide(command, loaded.state);
    if (events.length === 0) return { ...loaded, events };
    try {
      const version = await eventLog.append(stream, loaded.version, events, cause);
      return { state: events.reduce(decider.evolve, loaded.state), version, teamId: loaded.teamId ?? cause.teamId, events };
    } catch (fault) {
      if (!(fault instanceof WrongExpectedRevision)) throw fault;
      if (conflicts >= CONFLICTS_MAX) {
        throw new DomainError('CONFLICT', 'Others change the same thing at the same time, and each time they were faster. Try again.');
      }
    }
  }
};
