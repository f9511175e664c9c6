/**
 * Keeps states in memory that are read far more often than they change: keys, teams, templates, slugs, sender domains.
 * A state from memory is served while a live subscription is known to have reached the head of the log within the
 * freshness limit; otherwise the stream is read.
 */
import { emptyLoaded, foldOnto, type Fold } from './handle.js';
import type { Loaded } from './ports.js';
import { AppendUnknown, WrongExpectedRevision } from '../../domain/core/errors.js';
import type { DomainEvent, EventType } from '../../domain/events.js';
import { splitStream, type StreamName } from '../../domain/core/ids.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { EventStore, Position } from '../../domain/ports/event-store.js';
import type { EventLog } from '../../event-log/event-log.js';
import { boundedCache } from '../../shared/cache.js';

export type StateCachePorts = Readonly<{
  eventLog: EventLog;
  store: Pick<EventStore, 'head' | 'subscribeAll'>;
  clock: Pick<Clock, 'monotonic'>;
  /** A state from memory includes every event that is older than this. */
  freshnessMs: number;
}>;

export type StateCache = Readonly<{
  /** A loader for states of one kind; it keeps the `statesMax` most recently used. */
  loader: <Event extends DomainEvent, State>(
    fold: Fold<Event, State>,
    statesMax: number,
    kept?: Kept,
  ) => (stream: StreamName) => Promise<Loaded<State>>;
  /** The event log, through which appends and reads of this process update the cache at once. */
  eventLog: EventLog;
  /**
   * Follows the log until the signal aborts; while it does not run, every state is read. `began` is called for each new
   * stream.
   */
  follow: (signal: AbortSignal, began?: (stream: StreamName) => void) => Promise<void>;
  /** Resolves when no state from memory is older than that position, or the signal aborts. */
  caughtUp: (position: Position, signal: AbortSignal) => Promise<void>;
}>;

/**
 * `absent`: keep also that a stream does not exist, for streams that most teams do not have. `decrypt`: the types of
 * event whose sealed part the fold needs; default: all.
 */
export type Kept = Readonly<{ absent?: true; decrypt?: readonly EventType[] }>;

/** The kinds of stream whose states are kept. */
const KINDS = [
  'apiKey',
  'team',
  'activity',
  'template',
  'attachmentTemplate',
  'block',
  'templateSlug',
  'attachmentTemplateSlug',
  'blockSlug',
  'senderDomains',
  'domainClaims',
  'oauthClient',
  'oauthGrant',
  'oauthTokens',
  'user',
  'session',
  'tokenKeys',
] as const;
const kinds: ReadonlySet<string> = new Set(KINDS);

export const openStateCache = (ports: StateCachePorts): StateCache => {
  const freshness = openFreshness(ports);
  const changes = openChanges();
  return {
    loader: (fold, statesMax, kept = {}) =>
      loaderOf({ eventLog: ports.eventLog, freshness, changes }, fold, statesMax, kept),
    eventLog: {
      ...ports.eventLog,
      append: notingAppends(ports.eventLog, changes),
      load: notingLoads(ports.eventLog, changes),
    },
    follow: async (signal, began) => {
      await freshness.begin(changes.clear);
      try {
        for await (const { events, position } of ports.store.subscribeAll(freshness.position(), {
          kinds: KINDS,
          signal,
        })) {
          for (const { stream, revision } of events) changes.note(stream, revision);
          freshness.reached(position);
          if (began !== undefined)
            for (const { stream, revision } of events) if (revision === 0) began(stream as StreamName);
        }
      } finally {
        freshness.end();
      }
    },
    caughtUp: freshness.caughtUp,
  };
};

type Entry<State> = { readonly loaded: Loaded<State>; isCurrent: boolean };

const loaderOf = <Event extends DomainEvent, State>(
  { eventLog, freshness, changes }: Readonly<{ eventLog: EventLog; freshness: Freshness; changes: Changes }>,
  fold: Fold<Event, State>,
  statesMax: number,
  { absent, decrypt }: Kept,
): ((stream: StreamName) => Promise<Loaded<State>>) => {
  const states = boundedCache<StreamName, Entry<State>>({ entriesMax: statesMax });
  changes.listen({
    changed: (stream, revision) => {
      const known = states.get(stream);
      if (known !== undefined && known.loaded.version.revision < revision) known.isCurrent = false;
    },
    cleared: states.clear,
  });

  const read = async (stream: StreamName, known: Loaded<State>): Promise<Loaded<State>> => {
    const generation = changes.generation();
    const news = await eventLog.load(stream, known.version.revision + 1, decrypt);
    const loaded = foldOnto(fold, known, news);
    // A state that was read before the subscription (re)started may lack events that the subscription does not report.
    if ((loaded.version.revision < 0 && absent !== true) || generation !== changes.generation()) return loaded;
    states.set(stream, { loaded, isCurrent: loaded.version.revision >= changes.newest(stream) });
    return loaded;
  };

  return async (stream) => {
    const known = states.get(stream);
    if (known !== undefined && known.isCurrent && freshness.isFresh()) return known.loaded;
    return read(stream, known?.loaded ?? emptyLoaded(stream, fold.initialState));
  };
};

type Listener = Readonly<{ changed: (stream: StreamName, revision: number) => void; cleared: () => void }>;

type Changes = Readonly<{
  listen: (listener: Listener) => void;
  /** Notes that the stream has reached the revision. */
  note: (stream: string, revision: number) => void;
  /** The newest noted revision, -1 if none was. */
  newest: (stream: StreamName) => number;
  clear: () => void;
  /** How often `clear` was called. */
  generation: () => number;
}>;

/**
 * Streams whose newest revision is remembered, those noted last: a read that is older than its note is not kept as
 * current.
 */
const NOTED_MAX = 4_096;

const openChanges = (): Changes => {
  const listeners: Listener[] = [];
  const noted = boundedCache<string, number>({ entriesMax: NOTED_MAX });
  let generation = 0;
  return {
    listen: (listener) => void listeners.push(listener),
    note: (stream, revision) => {
      // Appends of this process and the subscription report the same events, in any order.
      if (revision <= (noted.get(stream) ?? -1)) return;
      noted.set(stream, revision);
      for (const { changed } of listeners) changed(stream as StreamName, revision);
    },
    newest: (stream) => noted.get(stream) ?? -1,
    clear: () => {
      generation += 1;
      noted.clear();
      for (const { cleared } of listeners) cleared();
    },
    generation: () => generation,
  };
};

/** A command may answer from what it has read, so a read is noted too: no state from memory is then older. */
const notingLoads =
  (eventLog: EventLog, changes: Changes): EventLog['load'] =>
  async (stream, fromRevision, decrypt) => {
    const recorded = await eventLog.load(stream, fromRevision, decrypt);
    const last = recorded.at(-1);
    if (last !== undefined && kinds.has(splitStream(stream).kind)) changes.note(stream, last.revision);
    return recorded;
  };

/** Notes each append of this process before it resolves. */
const notingAppends =
  (eventLog: EventLog, changes: Changes): EventLog['append'] =>
  (stream, version, events, cause) => {
    const appended = eventLog.append(stream, version, events, cause);
    if (!kinds.has(splitStream(stream).kind)) return appended;
    return appended.then(
      (after) => {
        changes.note(stream, after.revision);
        return after;
      },
      (fault: unknown) => {
        if (fault instanceof WrongExpectedRevision) changes.note(stream, fault.actual);
        // The events may appear at any time: until these or others do, the state is read.
        if (fault instanceof AppendUnknown) changes.note(stream, version.revision + events.length);
        throw fault;
      },
    );
  };

type Freshness = Readonly<{
  /** Notes where the log ends now; `clear` is called for what was read before. */
  begin: (clear: () => void) => Promise<void>;
  /** Position at which the subscription begins. */
  position: () => Position;
  reached: (position: Position) => void;
  end: () => void;
  isFresh: () => boolean;
  caughtUp: StateCache['caughtUp'];
}>;

/** Reads the head of the log at most twice within the freshness limit, and only while states are loaded. */
const openFreshness = ({ store, clock, freshnessMs }: StateCachePorts): Freshness => {
  /** All events before this moment have been noted. */
  let asOfMs = Number.NEGATIVE_INFINITY;
  let position: Position = 0;
  let isFollowing = false;
  /** End of the log at a moment that the subscription has not reached. */
  let ahead: Readonly<{ position: Position; atMs: number }> | undefined;
  let isAsking = false;
  const waiting = new Set<() => void>();
  const wakeAll = (): void => {
    for (const wake of [...waiting]) wake();
  };

  const settle = (): void => {
    if (ahead === undefined || position < ahead.position) return;
    asOfMs = Math.max(asOfMs, ahead.atMs);
    ahead = undefined;
  };

  const ask = async (atMs: number): Promise<void> => {
    isAsking = true;
    try {
      ahead = { position: await store.head(), atMs };
      settle();
    } catch {
      // Without the head the states are read, and the read reports the fault.
    } finally {
      isAsking = false;
    }
  };

  return {
    begin: async (clear) => {
      const atMs = clock.monotonic();
      position = await store.head();
      clear();
      [asOfMs, ahead, isFollowing] = [atMs, undefined, true];
    },
    position: () => position,
    reached: (reached) => {
      position = reached;
      settle();
      if (waiting.size > 0) wakeAll();
    },
    end: () => {
      isFollowing = false;
      wakeAll();
    },
    caughtUp: async (wanted, signal) => {
      while (isFollowing && position < wanted && !signal.aborted) await nextWake(waiting, signal);
    },
    isFresh: () => {
      if (!isFollowing) return false;
      const nowMs = clock.monotonic();
      if (nowMs - asOfMs > freshnessMs / 2 && ahead === undefined && !isAsking) void ask(nowMs);
      return nowMs - asOfMs < freshnessMs;
    },
  };
};

const nextWake = (waiting: Set<() => void>, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      waiting.delete(done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    waiting.add(done);
    signal.addEventListener('abort', done, { once: true });
  });
