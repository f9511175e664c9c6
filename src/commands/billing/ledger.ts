/**
 * The stream of a team's credits as this process decides on it: its state is kept in memory, commands that wait are decided together and
 * appended at once, and whoever is refused is refused on a state that was read after the call.
 */
import { DomainError, WrongExpectedRevision } from '../../domain/core/errors.js';
import {
  advanceCredits,
  noCredits,
  reservationOf,
  withReturned,
  type CreditsState,
  type Reservation,
} from '../../domain/billing/credits.js';
import { CARRY_EVERY, decideCredits, type CreditsCommand, type Decision } from '../../domain/billing/decider.js';
import type { CreditsEvent } from '../../domain/billing/events.js';
import type { StreamName } from '../../domain/core/ids.js';
import { startOf, versionOf, type Cause, type EventLog, type StreamVersion } from '../../event-log/event-log.js';
import { boundedCache } from '../../shared/cache.js';

type Log = Pick<EventLog, 'load' | 'append' | 'last'>;

/** What is decided, made of the state as it is then; it may look further into the log. */
export type MakeCommand = (state: CreditsState) => CreditsCommand | Promise<CreditsCommand>;

export type CreditsLedger = Readonly<{
  /** Resolves when what was decided is durable. Rejects as an append does; then nothing of it holds in this process. */
  decide: (stream: StreamName, make: MakeCommand, cause: Cause) => Promise<Decision>;
  /** The state as it stands in the log; the caller does not change it. */
  read: (stream: StreamName) => Promise<CreditsState>;
}>;

/** Of how many teams the state is kept, those used last. */
const STATES_MAX = 1_000;
/** Commands that are appended at once. */
const ROUND_MAX = 500;
/** Each conflict means that another process has gone on. */
const CONFLICTS_MAX = 100;

type Loaded = { readonly state: CreditsState; version: StreamVersion };
type Waiting = Readonly<{ make: MakeCommand; cause: Cause; done: (decision: Decision) => void; failed: (fault: unknown) => void }>;

export const openCreditsLedger = (eventLog: Log): CreditsLedger => {
  const states = boundedCache<StreamName, Loaded>({ entriesMax: STATES_MAX });
  const queues = new Map<StreamName, Waiting[]>();

  const work = async (stream: StreamName, queue: Waiting[]): Promise<void> => {
    while (queue.length > 0) {
      const taken = queue.splice(0, ROUND_MAX);
      try {
        const decisions = await decideTogether(eventLog, states, stream, taken);
        taken.forEach(({ done }, index) => done(decisions[index]!));
      } catch (fault) {
        // What stands in the log now is not known.
        states.delete(stream);
        for (const { failed } of taken) failed(fault);
      }
    }
    queues.delete(stream);
  };

  return {
    decide: (stream, make, cause) =>
      new Promise((done, failed) => {
        const waiting = { make, cause, done, failed };
        const queue = queues.get(stream);
        if (queue !== undefined) return void queue.push(waiting);
        const begun = [waiting];
        queues.set(stream, begun);
        void work(stream, begun);
      }),
    read: async (stream) => (await loadCredits(eventLog, stream)).state,
  };
};

type States = Readonly<{ get: (stream: StreamName) => Loaded | undefined; set: (stream: StreamName, loaded: Loaded) => void }>;

const decideTogether = async (
  eventLog: Log,
  states: States,
  stream: StreamName,
  waiting: readonly Waiting[],
): Promise<readonly Decision[]> => {
  const kept = states.get(stream);
  const loaded = kept ?? (await loadCredits(eventLog, stream));
  let isFresh = kept === undefined;
  for (let conflicts = 0; ; conflicts += 1) {
    const commands: CreditsCommand[] = [];
    for (const { make } of waiting) commands.push(await make(loaded.state));
    const { decisions, events, causes } = decideCredits(commands, loaded.state);
    // An answer that rests on nothing being appended is given on what stands in the log.
    if (!isFresh && decisions.some((decision) => decision.events.length === 0)) {
      await readNews(eventLog, stream, loaded);
      isFresh = true;
      continue;
    }
    const [first, ...rest] = causes.map((index) => waiting[index]!.cause);
    if (first === undefined) return decisions;
    try {
      loaded.version = await eventLog.append(stream, loaded.version, events, [first, ...rest]);
      for (const event of events) advanceCredits(loaded.state, event);
      states.set(stream, loaded);
      return decisions;
    } catch (fault) {
      if (!(fault instanceof WrongExpectedRevision)) throw fault;
      if (conflicts >= CONFLICTS_MAX)
        throw new DomainError(
          'CONFLICT',
          'Others use the credits of this team at the same time, and each time they were faster. Try again.',
        );
      await readNews(eventLog, stream, loaded);
      isFresh = true;
    }
  }
};

/** Of a long stream only what stands behind the last carried sums is read, and the reservations that are open. */
const loadCredits = async (eventLog: Log, stream: StreamName): Promise<Loaded> => {
  const last = await eventLog.last(stream);
  const loaded: Loaded = { state: noCredits(), version: startOf(stream) };
  if (last === undefined) return loaded;
  const carriedAt = last.revision - (last.revision % CARRY_EVERY);
  const recorded = await eventLog.load(stream, carriedAt);
  const first = recorded[0]?.event;
  const openFrom = first?.type === 'CreditsCarried' ? first.data.openFrom : carriedAt;
  return fold(loaded, openFrom < carriedAt ? await eventLog.load(stream, openFrom) : recorded);
};

const readNews = async (eventLog: Log, stream: StreamName, loaded: Loaded): Promise<void> => {
  fold(loaded, await eventLog.load(stream, loaded.version.revision + 1));
};

const fold = (loaded: Loaded, recorded: Awaited<ReturnType<EventLog['load']>>): Loaded => {
  const { state } = loaded;
  const first = recorded[0];
  if (first === undefined) return loaded;
  state.sums.events = first.revision;
  for (const { event } of recorded) advanceCredits(state, event as CreditsEvent);
  loaded.version = versionOf(recorded.at(-1)!);
  return loaded;
};

/** What the whole stream says of a reservation; undefined where there is none. */
export const findReservation = async (
  eventLog: Pick<EventLog, 'load'>,
  stream: StreamName,
  reference: string,
): Promise<Reservation | undefined> => {
  let found: Reservation | undefined;
  for (const { event, revision } of await eventLog.load(stream)) {
    if (event.type === 'CreditsReserved' && event.data.reference === reference) found = reservationOf(event.data, revision);
    if (event.type === 'CreditsReturned' && event.data.reference === reference) found = found && withReturned(reference, found, event.data);
  }
  return found;
};
