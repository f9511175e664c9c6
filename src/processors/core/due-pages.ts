/**
 * Reads timers page by page and publishes them when the bus has room. When many are due, teams take turns, and within a
 * team its senders.
 */
import type { Query, Condition, Document } from '../../domain/ports/read-models.js';
import {
  behindSender,
  senderDueAt,
  senderIn,
  backlogsOf,
  timersOf,
  type TimerDocument,
} from '../../domain/ports/timers.js';
import { type Gate, type TimerUse, pointerOf, type ProcessorDeps } from './declaration.js';
import type { StreamKind } from '../../domain/events.js';
import type { Priority } from '../../domain/ports/bus.js';

/** The timer behind which the reading of a queue continues. */
export type DueCursor = Readonly<{ value: string; seq: number }>;

/** A queue of timers: those of one processor, kind and priority. */
export type DueQueue = Readonly<{
  processor: string;
  kind: StreamKind;
  timer: TimerUse;
  priority: Priority;
  gate: Gate | undefined;
}>;

const PAGE = 500;
/** Page of one team and sender while several have due timers. */
const TEAM_PAGE = 64;
/** Teams that are read at once, or wait for room on the bus. */
const TEAMS_AT_ONCE = 64;
/** How often the list of teams is read again while teams wait for room. */
const TEAMS_EVERY_MS = 500;

type DueRange = Readonly<{
  /** Timers up to this moment are due; called for each page. undefined: all timers. */
  upTo: () => string | undefined;
  from: DueCursor | undefined;
}>;

/** Publishes all timers of the range. Out: the cursor behind the last one. */
export const publishDue = async (
  deps: ProcessorDeps,
  queue: DueQueue,
  { upTo, from }: DueRange,
  signal: AbortSignal,
): Promise<DueCursor | undefined> => {
  let cursor = from;
  while (!signal.aborted) {
    const page = await publishPage(deps, queue, { upTo: upTo(), from: cursor, limit: PAGE }, signal);
    cursor = page.cursor;
    if (page.isLast) break;
    if (queue.timer.inTurns === true) return publishInTurns(deps, queue, { upTo, from: cursor }, signal);
  }
  return cursor;
};

type PageOf = Readonly<{ upTo: string | undefined; from: DueCursor | undefined; limit: number }>;
type Page = Readonly<{ cursor: DueCursor | undefined; isLast: boolean }>;

/** Publishes one page of timers of all teams. The cursor stops before the first timer that the bus refuses. */
const publishPage = async (
  deps: ProcessorDeps,
  queue: DueQueue,
  { upTo, from, limit }: PageOf,
  signal: AbortSignal,
): Promise<Page> => {
  if (!(await hasTurn(deps, queue, undefined, signal))) return { cursor: from, isLast: false };
  const found = await find(deps, queue, {
    where: upTo === undefined ? {} : { dueAt: { lte: upTo } },
    sort: { field: 'dueAt', direction: 'asc' },
    ...(from === undefined ? {} : { after: from }),
    limit,
  });
  if (found.length === 0) return { cursor: from, isLast: true };
  const refused = await publish(deps, queue, found);
  const first = found.findIndex(({ key }) => refused.has(key));
  const last = first < 0 ? found.at(-1) : found[first - 1];
  return {
    cursor: last === undefined ? from : cursorOf(last),
    isLast: first < 0 && found.length < limit,
  };
};

/**
 * Waits for room on the bus (for the team, if one is given) and for a turn of the event loop. Out: false if the reading
 * is to end.
 */
const hasTurn = async (
  deps: ProcessorDeps,
  { processor, timer, priority }: DueQueue,
  team: string | undefined,
  signal: AbortSignal,
): Promise<boolean> => {
  await deps.bus.whenRoom(processor, { priority, source: timer.kind, ...(team === undefined ? {} : { team }) }, signal);
  await deps.nextTurn();
  return !signal.aborted;
};

/** The collection in which the timers of a queue are. */
export const timersIn = ({ kind, timer }: Pick<DueQueue, 'kind' | 'timer'>): string => timer.in ?? timersOf(kind);

const find = async (
  { readModels }: ProcessorDeps,
  { kind, timer, priority }: DueQueue,
  query: Query,
): Promise<readonly TimerDocument[]> => {
  const where: Readonly<Record<string, Condition>> = {
    kind: { eq: timer.kind },
    priority: { eq: priority },
    ...query.where,
  };
  return (await readModels.find(timersIn({ kind, timer }), { ...query, where })) as readonly TimerDocument[];
};

/** Out: the streams whose pointers the bus refused. */
const publish = async (
  { bus }: ProcessorDeps,
  { processor, timer, priority }: DueQueue,
  timers: readonly TimerDocument[],
): Promise<ReadonlySet<string>> => {
  const pointers = timers.map((of) => {
    const work = {
      stream: of.key,
      position: of.position,
      priority,
      team: of.team ?? of.owner ?? '',
      source: timer.kind,
    };
    return pointerOf(of.senderDueAt === undefined ? work : { ...work, sender: senderOf(of) });
  });
  return new Set((await bus.publish(processor, pointers)).map(({ stream }) => stream));
};

/**
 * Gives each team with open work one page at a time, and in a team each sender, so that nobody waits for all timers of
 * another. Out: the latest cursor.
 */
const publishInTurns = async (
  deps: ProcessorDeps,
  queue: DueQueue,
  { upTo, from }: DueRange,
  signal: AbortSignal,
): Promise<DueCursor | undefined> => {
  const turns = openTurns();
  const sendersOf = new Map<string, Senders>();
  let reached = from;
  const list = async (): Promise<readonly string[]> => {
    for (const senders of sendersOf.values()) senders.lookAgain();
    return teamsWithOpen(deps, queue.kind);
  };
  const visit = async (team: string, both: AbortSignal): Promise<void> => {
    const senders = sendersOf.get(team) ?? openSenders(from);
    sendersOf.set(team, senders);
    const turn = senders.next(upTo(), turns.areAlone() && senders.areAlone() ? PAGE : TEAM_PAGE);
    if (turn === undefined) return turns.done(team);
    if (!(await hasTurn(deps, queue, team, both))) return;
    const found = await find(deps, queue, { ...turn.query, where: { team: { eq: team }, ...turn.query.where } });
    const due = turn.dueOf(found);
    const refused = due.length === 0 ? NONE : await publish(deps, queue, due);
    for (const timer of due) if (!refused.has(timer.key)) reached = furthest(reached, cursorOf(timer));
    turn.end(found, refused);
  };
  await takeTurns(deps, turns, list, visit, signal);
  return reached;
};

const NONE: ReadonlySet<string> = new Set();

/** Ends when every team is done or the signal aborts. If a visit fails, the others are ended before it rejects. */
const takeTurns = async (
  { clock }: Pick<ProcessorDeps, 'clock'>,
  turns: Turns,
  list: () => Promise<readonly string[]>,
  visit: (team: string, signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> => {
  const failed = new AbortController();
  const both = AbortSignal.any([signal, failed.signal]);
  const visits = new Map<string, Promise<void>>();
  let listAtMs = Number.NEGATIVE_INFINITY;
  try {
    while (!signal.aborted) {
      if (clock.monotonic() >= listAtMs) {
        turns.list(await list());
        listAtMs = clock.monotonic() + TEAMS_EVERY_MS;
      }
      for (const team of turns.next(TEAMS_AT_ONCE - visits.size, visits)) {
        visits.set(
          team,
          visit(team, both).finally(() => visits.delete(team)),
        );
      }
      if (visits.size === 0) return;
      const over = new AbortController();
      await Promise.race([...visits.values(), clock.sleep(TEAMS_EVERY_MS, over.signal)]).finally(() => over.abort());
    }
  } finally {
    failed.abort();
    await Promise.allSettled(visits.values());
  }
};

type Turns = Readonly<{
  /** Sets the teams; each is to be visited again. */
  list: (teams: readonly string[]) => void;
  /** Up to `max` teams that are neither done nor in `busy`, those first whose last turn is longest ago. */
  next: (max: number, busy: ReadonlyMap<string, unknown>) => readonly string[];
  /** Marks a team as done until the teams are listed again. */
  done: (team: string) => void;
  areAlone: () => boolean;
}>;

const openTurns = (): Turns => {
  /** A team goes to the end after its turn. */
  const waiting = new Set<string>();
  const ended = new Set<string>();
  return {
    list: (teams) => {
      for (const team of teams) waiting.add(team);
      ended.clear();
    },
    next: (max, busy) => {
      const teams: string[] = [];
      for (const team of waiting) {
        if (teams.length >= max) break;
        if (!ended.has(team) && !busy.has(team)) teams.push(team);
      }
      for (const team of teams) {
        waiting.delete(team);
        waiting.add(team);
      }
      return teams;
    },
    done: (team) => void ended.add(team),
    areAlone: () => waiting.size === 1,
  };
};

/** The teams with open work. Every due timer belongs to open work, so no other team needs a turn. */
const teamsWithOpen = async (deps: Pick<ProcessorDeps, 'readModels'>, kind: StreamKind): Promise<readonly string[]> => {
  const teams: Document[] = [];
  for (;;) {
    const after = teams.at(-1);
    const page = await deps.readModels.find(backlogsOf(kind), {
      where: { open: { gte: 1 } },
      sort: { field: 'seq', direction: 'asc' },
      ...(after === undefined ? {} : { after: { value: after.seq, seq: after.seq } }),
      limit: PAGE,
    });
    teams.push(...page);
    if (page.length < PAGE) return teams.map(({ id }) => id);
  }
};

type SenderTurn = Readonly<{
  query: Query;
  /** The timers among the found that are due and were not read before. */
  dueOf: (found: readonly TimerDocument[]) => readonly TimerDocument[];
  /** Ends the turn: later turns continue behind what was read, except for streams that the bus refused. */
  end: (found: readonly TimerDocument[], refused: ReadonlySet<string>) => void;
}>;

/**
 * The senders of one team, which take turns: a page of a sender that has more due timers alternates with the first
 * timers of senders that were not looked at yet. The work of a turn is bounded, however many senders there are.
 */
type Senders = Readonly<{
  /** The next turn of at most `max` timers; undefined when all due timers are read, until `lookAgain`. */
  next: (upTo: string | undefined, max: number) => SenderTurn | undefined;
  /** Starts to look at all senders again, if all were looked at. */
  lookAgain: () => void;
  /** True if all were looked at and at most one has more. */
  areAlone: () => boolean;
}>;

type State = {
  /** The sort key behind which senders were not looked at yet; undefined if all were. */
  lookFrom: string | undefined;
  /** Timers in one look: few at first, and twice as many while a look finds several senders. */
  lookLimit: number;
  wasLook: boolean;
  /** Senders that may have more due timers; a sender goes to the end after its page. */
  readonly more: Set<string>;
  /** The timer behind which each sender continues. */
  readonly cursors: Map<string, DueCursor>;
  /** The timer behind which senders without a cursor begin. */
  readonly from: DueCursor | undefined;
};

const LOOK_LIMIT_MIN = 2;

const openSenders = (from: DueCursor | undefined): Senders => {
  const state: State = {
    lookFrom: '',
    lookLimit: LOOK_LIMIT_MIN,
    wasLook: false,
    more: new Set(),
    cursors: new Map(),
    from,
  };
  return {
    next: (upTo, max) => {
      const [sender] = state.more;
      if (state.lookFrom !== undefined && (sender === undefined || !state.wasLook))
        return look(state, state.lookFrom, { upTo, max });
      return sender === undefined ? undefined : pageOf(state, sender, { upTo, max });
    },
    lookAgain: () => {
      if (state.lookFrom !== undefined) return;
      state.lookFrom = '';
      state.lookLimit = LOOK_LIMIT_MIN;
    },
    areAlone: () => state.lookFrom === undefined && state.more.size <= 1,
  };
};

/** The later of two cursors; undefined is before all. */
const furthest = (one: DueCursor | undefined, other: DueCursor | undefined): DueCursor | undefined => {
  if (one === undefined || other === undefined) return one ?? other;
  return isBehind(one, other) ? one : other;
};

const cursorOf = ({ dueAt, seq }: TimerDocument): DueCursor => ({ value: dueAt, seq });

/** The sender of a timer; empty for timers without turns. */
const senderOf = ({ dueAt, senderDueAt: place }: TimerDocument): string =>
  place === undefined ? '' : senderIn({ dueAt, senderDueAt: place });

const isBehind = (one: DueCursor, other: DueCursor): boolean =>
  one.value > other.value || (one.value === other.value && one.seq > other.seq);

const startOf = ({ cursors, from }: State, sender: string): DueCursor | undefined => cursors.get(sender) ?? from;

type Bounds = Readonly<{ upTo: string | undefined; max: number }>;

/** A turn with the first timers of the next senders. Only the last of these senders may have more timers. */
const look = (state: State, behind: string, { upTo, max }: Bounds): SenderTurn => {
  const limit = Math.min(max, state.lookLimit);
  state.wasLook = true;
  const isDue = ({ dueAt }: TimerDocument): boolean => upTo === undefined || dueAt <= upTo;
  const isNew = (timer: TimerDocument): boolean => {
    const start = startOf(state, senderOf(timer));
    return start === undefined || isBehind(cursorOf(timer), start);
  };
  const dueOf = (found: readonly TimerDocument[]): readonly TimerDocument[] =>
    found.filter((timer) => isDue(timer) && isNew(timer));
  return {
    query: { where: { senderDueAt: { gte: behind } }, sort: { field: 'senderDueAt', direction: 'asc' }, limit },
    dueOf,
    end: (found, refused) => {
      advance(state, dueOf(found), refused);
      const [first, last] = [found[0], found.at(-1)];
      if (first === undefined || last === undefined || found.length < limit) {
        state.lookFrom = undefined;
        return;
      }
      const sender = senderOf(last);
      if (isDue(last)) state.more.add(sender);
      state.lookFrom = behindSender(sender);
      state.lookLimit = sender === senderOf(first) ? LOOK_LIMIT_MIN : limit * 2;
    },
  };
};

/** A turn with the due timers of one sender behind its cursor. */
const pageOf = (state: State, sender: string, { upTo, max: limit }: Bounds): SenderTurn => {
  state.wasLook = false;
  const start = startOf(state, sender);
  const until = upTo === undefined ? { lt: behindSender(sender) } : { lte: senderDueAt(sender, upTo) };
  const from: Pick<Query, 'where' | 'after'> =
    start === undefined
      ? { where: { senderDueAt: { gte: senderDueAt(sender, ''), ...until } } }
      : { where: { senderDueAt: until }, after: { value: senderDueAt(sender, start.value), seq: start.seq } };
  return {
    query: {
      ...from,
      sort: { field: 'senderDueAt', direction: 'asc' },
      limit,
    },
    dueOf: (found) => found,
    end: (found, refused) => {
      state.more.delete(sender);
      if (found.length === limit) state.more.add(sender);
      advance(state, found, refused);
    },
  };
};

/**
 * Moves the cursor of each sender to the last timer before the first refused one; a sender with a refused timer has
 * more.
 */
const advance = (state: State, read: readonly TimerDocument[], refused: ReadonlySet<string>): void => {
  const stopped = new Set<string>();
  for (const timer of read) {
    const sender = senderOf(timer);
    if (refused.has(timer.key)) {
      stopped.add(sender);
      state.more.add(sender);
    }
    if (!stopped.has(sender)) state.cursors.set(sender, cursorOf(timer));
  }
};
