/**
 * Live events: while anybody listens, one reader follows the log and notes which items of lists have changed. Several
 * times a second these items are read, each once for all listeners of a team, and told.
 */
import { setMaxListeners } from 'node:events';
import type { TeamId, UserId } from '../../domain/core/ids.js';
import {
  changeOf,
  liveKinds,
  openPendingLooks,
  type LiveChange,
  type LiveTopic,
  type Look,
  type PendingLooks,
} from '../../domain/live/changes.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Position } from '../../domain/ports/event-store.js';
import type { Logger } from '../../domain/ports/logger.js';
import type { EventLog } from '../../event-log/event-log.js';
import { nextTurn } from '../../shared/concurrency.js';
import type { LiveItems } from './items.js';

/** Why the service ends a stream. */
export type LiveEnd = 'no-access' | 'stopping';

/**
 * `open`: what follows is told after that position. `changes`: the reader knows everything up to `position`; `data` is
 * JSON. `reset`: the reader has missed something before `position`, and reads its lists again.
 */
export type LiveMessage =
  | Readonly<{ kind: 'open' | 'reset'; position: Position }>
  | Readonly<{ kind: 'changes'; position: Position; data: string }>
  | Readonly<{ kind: 'end'; reason: LiveEnd }>;

/** The way to one reader. */
export type LiveOutlet = Readonly<{
  send: (message: LiveMessage) => void;
  /** Sends something without meaning, so that no proxy takes the connection for dead. */
  beat: () => void;
  /** False while the reader has not taken what was sent. */
  isReady: () => boolean;
  end: () => void;
}>;

export type LiveRequest = Readonly<{
  teamId: TeamId;
  person: UserId;
  topics: readonly LiveTopic[];
  /** Up to where the reader knows everything; undefined: it begins now; `unknown`: it named no position of ours. */
  after: Position | 'unknown' | undefined;
  /** Whether the reader may still hear of these topics. */
  isAllowed: () => Promise<boolean>;
  outlet: LiveOutlet;
  /** Aborts when the reader has gone. */
  gone: AbortSignal;
}>;

export type LiveFeed = Readonly<{
  /**
   * Begins to tell. Out: `opened`, or why not: the person or the process has as many streams as may be, or the service
   * stops.
   */
  open: (request: LiveRequest) => Promise<'opened' | 'full-person' | 'full' | 'stopping'>;
  /** How many streams are open. */
  streams: () => number;
  /** To be called when an outlet is ready again. */
  wake: () => void;
  /** Ends all streams, and opens no others. */
  close: () => void;
}>;

type Deps = Readonly<{
  eventLog: Pick<EventLog, 'subscribeAll' | 'readAll' | 'head'>;
  items: LiveItems;
  clock: Pick<Clock, 'monotonic' | 'sleep'>;
  logger: Logger;
  /** Resolves when the read models that have items of these topics are up to that position, or the signal aborts. */
  caughtUp: (topics: readonly LiveTopic[], position: Position, signal: AbortSignal) => Promise<void>;
}>;

/** Streams of one person, and of all, in one process. */
export const STREAMS_OF_PERSON_MAX = 2;
export const STREAMS_MAX = 200;
/** The pause between two messages of a stream: at most four a second. */
const FOLD_MS = 250;
/** Items of one message. The others follow in the next one. */
const ITEMS_MAX = 200;
/** Changed things that wait to be told in one stream. If there are more, the reader has to read its lists again. */
const PENDING_MAX = 1_000;
/** Changes that are kept for readers that come back; and events that are read for one who names an older position. */
const HISTORY_MAX = 20_000;
const LOOKED_AT_ONCE = 500;
const HEARTBEAT_MS = 15_000;
/** How often it is checked whether readers may still listen; before each message they are checked too. */
const CHECK_MS = 1_000;
const RETRY_MS = 1_000;

/** A stream. `greeting`: to be sent before anything else; while it is `reset`, changes are not noted. */
type Stream = LiveRequest & {
  readonly pending: PendingLooks;
  greeting: Readonly<{ kind: 'open'; position: Position }> | Readonly<{ kind: 'reset' }> | undefined;
  sentAtMs: number;
};

/** The reader of the log. `changes`: those after `from` and up to `seen`, in order. */
type Following = {
  readonly signal: AbortSignal;
  from: Position;
  seen: Position;
  changes: LiveChange[];
  /** The end of the reading of older changes for those who came before. */
  reading: Promise<unknown>;
};

export const openLiveFeed = (deps: Deps): LiveFeed => {
  const { clock } = deps;
  const streams = new Set<Stream>();
  const places = openPlaces();
  const bell = openBell();
  let isClosed = false;
  let running: Readonly<{ stop: AbortController; following: Promise<Following> }> | undefined;

  const noted = (change: LiveChange): void => {
    for (const stream of streams) if (stream.teamId === change.team) note(stream, change);
    bell.ring();
  };

  const end = (stream: Stream, reason: LiveEnd): void => {
    stream.outlet.send({ kind: 'end', reason });
    stream.outlet.end();
    streams.delete(stream);
  };

  const due = (): readonly Stream[] =>
    [...streams].filter(
      ({ outlet, greeting, pending }) => outlet.isReady() && (greeting !== undefined || pending.size() > 0),
    );

  const telling = async (following: Following): Promise<void> => {
    const { signal } = following;
    while (!signal.aborted) {
      while (!signal.aborted && due().length === 0) await bell.rung(signal);
      await tell(deps, following, due(), end);
      await clock.sleep(FOLD_MS, signal);
    }
  };

  const watching = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await clock.sleep(CHECK_MS, signal);
      for (const stream of [...streams]) {
        // If it cannot be found out, the check before the next message decides.
        if (!(await stream.isAllowed().catch(() => true))) end(stream, 'no-access');
        else if (stream.outlet.isReady() && clock.monotonic() - stream.sentAtMs >= HEARTBEAT_MS) {
          stream.outlet.beat();
          stream.sentAtMs = clock.monotonic();
        }
      }
    }
  };

  const begin = async (signal: AbortSignal): Promise<Following> => {
    const seen = await deps.eventLog.head();
    const following: Following = { signal, from: seen, seen, changes: [], reading: Promise.resolve() };
    void follow(deps, following, noted);
    void telling(following);
    void watching(signal);
    return following;
  };

  /** Follows the log from now on, for the first reader. */
  const start = (): Promise<Following> => {
    if (running !== undefined) return running.following;
    const stop = new AbortController();
    setMaxListeners(0, stop.signal);
    const begun = { stop, following: begin(stop.signal) };
    running = begun;
    begun.following.catch(() => {
      if (running === begun) running = undefined;
    });
    return begun.following;
  };

  const leave = (person: UserId): void => {
    places.leave(person);
    if (places.taken() > 0) return;
    running?.stop.abort();
    running = undefined;
  };

  return {
    open: async (request) => {
      const { person, gone } = request;
      if (isClosed) return 'stopping';
      const place = places.take(person);
      if (place !== 'taken') return place;
      const pending = openPendingLooks(request.topics, PENDING_MAX);
      const stream: Stream = { ...request, pending, greeting: undefined, sentAtMs: clock.monotonic() };
      const left = (): void => {
        streams.delete(stream);
        leave(person);
      };
      if (gone.aborted) left();
      else gone.addEventListener('abort', left, { once: true });
      const following = await start();
      const isKnown = await reaches(deps, following, request.after);
      if (gone.aborted) return 'opened';
      if (isClosed) return 'stopping';
      join(stream, following, isKnown);
      streams.add(stream);
      bell.ring();
      return 'opened';
    },
    streams: () => streams.size,
    wake: bell.ring,
    close: () => {
      isClosed = true;
      for (const stream of [...streams]) end(stream, 'stopping');
    },
  };
};

/** The streams that are open, by person. */
const openPlaces = () => {
  const byPerson = new Map<UserId, number>();
  let taken = 0;
  return {
    taken: () => taken,
    take: (person: UserId): 'taken' | 'full-person' | 'full' => {
      const held = byPerson.get(person) ?? 0;
      if (held >= STREAMS_OF_PERSON_MAX) return 'full-person';
      if (taken >= STREAMS_MAX) return 'full';
      taken += 1;
      byPerson.set(person, held + 1);
      return 'taken';
    },
    leave: (person: UserId): void => {
      taken -= 1;
      const left = (byPerson.get(person) ?? 0) - 1;
      if (left > 0) byPerson.set(person, left);
      else byPerson.delete(person);
    },
  };
};

/** Wakes the one who waits. */
const openBell = () => {
  let wakeUp = (): void => {};
  return {
    ring: (): void => wakeUp(),
    rung: (signal: AbortSignal): Promise<void> =>
      new Promise((resolve) => {
        const done = (): void => {
          signal.removeEventListener('abort', done);
          wakeUp = () => {};
          resolve();
        };
        wakeUp = done;
        signal.addEventListener('abort', done);
      }),
  };
};

/** Sets what a new stream is to be told first: from where it goes on, and what has changed since. */
const join = (stream: Stream, following: Following, isKnown: boolean): void => {
  const { after } = stream;
  const position = typeof after === 'number' && isKnown ? after : following.seen;
  stream.greeting = after === undefined || isKnown ? { kind: 'open', position } : { kind: 'reset' };
  for (const change of following.changes)
    if (change.position > position && change.team === stream.teamId) note(stream, change);
};

const lose = (stream: Stream): void => {
  stream.pending.clear();
  stream.greeting = { kind: 'reset' };
};

const note = (stream: Stream, change: LiveChange): void => {
  if (stream.greeting?.kind !== 'reset' && !stream.pending.add(change)) lose(stream);
};

/** Notes each change as it is committed, until the signal aborts. */
const follow = async (
  { eventLog, clock, logger }: Deps,
  following: Following,
  noted: (change: LiveChange) => void,
): Promise<void> => {
  const { signal } = following;
  const options = { kinds: liveKinds, decrypt: [], unknown: 'listed', signal } as const;
  while (!signal.aborted) {
    try {
      for await (const { events, position } of eventLog.subscribeAll(following.seen, options)) {
        for (const event of events) {
          const change = changeOf(event);
          if (change === undefined) continue;
          following.changes.push(change);
          noted(change);
        }
        following.seen = position;
        forgetOldest(following);
      }
    } catch (fault) {
      if (!signal.aborted) logger.warn({ err: asError(fault) }, 'live events wait: the log cannot be followed');
    }
    await clock.sleep(RETRY_MS, signal);
  }
};

const asError = (fault: unknown): Error => (fault instanceof Error ? fault : new Error('not an Error'));

const forgetOldest = (following: Following): void => {
  if (following.changes.length <= 2 * HISTORY_MAX) return;
  const forgotten = following.changes.splice(0, following.changes.length - HISTORY_MAX);
  following.from = forgotten.at(-1)!.position;
};

/** Whether all changes after a position are in memory. Older ones are read from the log if they are not too many. */
const reaches = async (deps: Deps, following: Following, after: LiveRequest['after']): Promise<boolean> => {
  if (after === undefined || after === 'unknown') return false;
  // Another process may be a little ahead of this one.
  if (after > following.seen && after > (await deps.eventLog.head())) return false;
  if (after < following.from) {
    const read = following.reading.then(() => readOlder(deps, following, after));
    following.reading = read.catch(() => {});
    await read;
  }
  return after >= following.from;
};

/** Puts the changes after a position before those in memory, unless they are too many. */
const readOlder = async ({ eventLog }: Deps, following: Following, after: Position): Promise<void> => {
  const { from, signal } = following;
  if (after >= from) return;
  const options = { kinds: liveKinds, decrypt: [], unknown: 'listed', batchSize: LOOKED_AT_ONCE, signal } as const;
  const older: LiveChange[] = [];
  for await (const { events, position } of eventLog.readAll(after, options)) {
    for (const event of events) {
      const change = event.position > from ? undefined : changeOf(event);
      if (change !== undefined) older.push(change);
    }
    if (older.length > HISTORY_MAX) return;
    if (position >= from) break;
    await nextTurn();
  }
  // Meanwhile the oldest may have been forgotten.
  if (signal.aborted || following.from !== from) return;
  following.changes.unshift(...older);
  following.from = after;
};

type Told = Readonly<{ stream: Stream }> &
  (
    Readonly<{ greeting: LiveMessage }> | Readonly<{ greeting?: undefined; looks: readonly Look[]; position: Position }>
  );

type End = (stream: Stream, reason: LiveEnd) => void;

/** Tells these streams what they have to be told up to now. A stream for which that fails has to begin anew. */
const tell = async (deps: Deps, { seen, signal }: Following, due: readonly Stream[], end: End): Promise<void> => {
  const told = due.map((stream) => takenFrom(stream, seen));
  const topics = [...new Set(due.flatMap((stream) => stream.topics))];
  const failed = (fault: unknown, streams: readonly Stream[]): void => {
    streams.forEach(lose);
    if (!signal.aborted) deps.logger.warn({ err: asError(fault) }, 'live events are lost: their items cannot be read');
  };
  try {
    await deps.caughtUp(topics, seen, signal);
  } catch (fault) {
    return failed(fault, due);
  }
  for (const team of new Set(due.map(({ teamId }) => teamId))) {
    if (signal.aborted) return;
    const ofTeam = told.filter(({ stream }) => stream.teamId === team);
    await tellTeam(deps, team, ofTeam, end).catch((fault: unknown) =>
      failed(
        fault,
        ofTeam.map(({ stream }) => stream),
      ),
    );
    await nextTurn();
  }
};

const takenFrom = (stream: Stream, seen: Position): Told => {
  const { greeting } = stream;
  if (greeting === undefined) return { stream, ...stream.pending.take(ITEMS_MAX, seen) };
  stream.greeting = undefined;
  return { stream, greeting: greeting.kind === 'open' ? greeting : { kind: 'reset', position: seen } };
};

const tellTeam = async (deps: Deps, team: TeamId, told: readonly Told[], end: End): Promise<void> => {
  const allowed: Told[] = [];
  for (const one of told) {
    if (await one.stream.isAllowed()) allowed.push(one);
    else end(one.stream, 'no-access');
  }
  const read = await readItems(deps.items, team, allowed);
  /** Streams of the same topics have the same changes most of the time: their text is made once. */
  const texts = new Map<string, string>();
  for (const one of allowed) {
    const { stream } = one;
    const message = one.greeting ?? changesMessage(one, read, texts);
    if (message === undefined) continue;
    stream.outlet.send(message);
    stream.sentAtMs = deps.clock.monotonic();
  }
};

const idsOf = (looks: readonly Look[], kind: Exclude<Look['kind'], 'queue'>): readonly string[] =>
  looks.flatMap((look) => (look.kind === kind ? [look.id] : []));

type Read = Readonly<{
  emails: Awaited<ReturnType<LiveItems['emails']>>;
  batches: Awaited<ReturnType<LiveItems['batches']>>;
  webhooks: Awaited<ReturnType<LiveItems['webhooks']>>;
  queue: Awaited<ReturnType<LiveItems['queue']>> | undefined;
  approvals: Awaited<ReturnType<LiveItems['approvals']>>;
}>;

const readItems = async (items: LiveItems, team: TeamId, told: readonly Told[]): Promise<Read> => {
  const looks = told.flatMap((one) => (one.greeting === undefined ? one.looks : []));
  const emails = await items.emails(team, [...new Set(idsOf(looks, 'email'))]);
  const areBatchesTold = told.some(({ stream }) => stream.topics.includes('batches'));
  const ofEmails = areBatchesTold ? [...emails.values()].flatMap(({ batch }) => batch ?? []) : [];
  return {
    emails,
    batches: await items.batches(team, [...new Set([...idsOf(looks, 'batch'), ...ofEmails])]),
    webhooks: await items.webhooks(team, [...new Set(idsOf(looks, 'webhook'))]),
    queue: looks.some(({ kind }) => kind === 'queue') ? await items.queue(team) : undefined,
    approvals: await items.approvals(team, [...new Set(idsOf(looks, 'approval'))]),
  };
};

/** Out: undefined if nothing has changed that the stream is about. */
const changesMessage = (
  { stream: { topics }, looks, position }: Extract<Told, { looks: readonly Look[] }>,
  read: Read,
  texts: Map<string, string>,
): LiveMessage | undefined => {
  const key = JSON.stringify([topics, looks]);
  let data = texts.get(key);
  if (data === undefined) texts.set(key, (data = JSON.stringify(changesIn(topics, looks, read))));
  return data === '{}' ? undefined : { kind: 'changes', position, data };
};

const changesIn = (topics: readonly LiveTopic[], looks: readonly Look[], read: Read): object => {
  const { emails, batches, webhooks, queue, approvals } = read;
  const approvalIds = idsOf(looks, 'approval');
  const [emailIds, webhookIds, attempted] = [idsOf(looks, 'email'), idsOf(looks, 'webhook'), idsOf(looks, 'attempts')];
  const ofEmails = emailIds.flatMap((id) => emails.get(id)?.batch ?? []);
  const batchIds = topics.includes('batches') ? [...new Set([...idsOf(looks, 'batch'), ...ofEmails])] : [];
  return {
    ...(topics.includes('emails') && emailIds.length > 0 && { emails: listed(emailIds, (id) => emails.get(id)?.item) }),
    ...(batchIds.length > 0 && { batches: listed(batchIds, (id) => batches.get(id)) }),
    ...(webhookIds.length + attempted.length > 0 && {
      webhooks: { ...listed(webhookIds, (id) => webhooks.get(id)), attempted },
    }),
    ...(looks.some(({ kind }) => kind === 'queue') && { queue }),
    ...(approvalIds.length > 0 && { approvals: listed(approvalIds, (id) => approvals.get(id)) }),
  };
};

/** The items of those ids, and the ids of which lists show none. */
const listed = (ids: readonly string[], itemOf: (id: string) => object | undefined) => ({
  changed: ids.flatMap((id) => itemOf(id) ?? []),
  removed: ids.filter((id) => itemOf(id) === undefined),
});
