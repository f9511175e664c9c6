/**
 * Reads timers page by page and publishes them, each page when the bus has room for it; where many are due teams take turns, and within a
 * team its senders.
 */
import type { Query, Condition, Document } from '../../domain/ports/read-models.js';
import { behindSender, senderDueAt, senderIn, backlogsOf, timersOf } from '../../domain/core/timers.js';
import { type TimerDocument, type Gate, type TimerUse, pointerOf, type ProcessorDeps } from './declaration.js';
import type { StreamKind } from '../../domain/events.js';
import type { Priority } from '../../domain/ports/bus.js';

/*
 * Which timers of one team are read next, so that its senders take turns: a page of one that has more due, or the first ones of senders
 * that were not looked at yet. So much is read for each turn, however many senders there are.
 */

/** Where the reading of a queue stands: behind that timer. */
export type DueCursor = Readonly<{ value: string; seq: number }>;

type SenderTurn = Readonly<{
  query: Query;
  /** Of what the query has found, those that are due and were not read before. */
  dueOf: (found: readonly TimerDocument[]) => readonly TimerDocument[];
  /** Where the next turns go on, when the bus has refused those streams. */
  end: (found: readonly TimerDocument[], refused: ReadonlySet<string>) => void;
}>;

type Senders = Readonly<{
  /** Undefined when all that was due is read, until it is looked again. `max`: so many timers in one turn. */
  next: (upTo: string | undefined, max: number) => SenderTurn | undefined;
  /** Looks at all senders again, where all were looked at. */
  lookAgain: () => void;
  /** All were looked at, and at most one has more. */
  areAlone: () => boolean;
}>;

type State = {
  /** Where the senders begin that were not looked at yet; undefined where there are none. */
  lookFrom: string | undefined;
  /** As few as show whether several follow, and more while several do. */
  lookLimit: number;
  wasLook: boolean;
  /** Those that may have more due; who had a page goes to the end. */
  readonly more: Set<string>;
  /** Behind which timer each goes on. */
  readonly cursors: Map<string, DueCursor>;
  /** Behind which timer those go on that have no cursor yet. */
  readonly from: DueCursor | undefined;
};

const LOOK_LIMIT_MIN = 2;

const openSenders = (from: DueCursor | undefined): Senders => {
  const state: State = { lookFrom: '', lookLimit: LOOK_LIMIT_MIN, wasLook: false, more: new Set(), cursors: new Map(), from };
  return {
    next: (upTo, max) => {
      const [sender] = state.more;
      if (state.lookFrom !== undefined && (sender === undefined || !state.wasLook)) return look(state, state.lookFrom, { upTo, max });
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

/** The further of two; undefined is before all. */
const furthest = (one: DueCursor | undefined, other: DueCursor | undefined): DueCursor | undefined => {
  if (one === undefined || other === undefined) return one ?? other;
  return isBehind(one, other) ? one : other;
};

const cursorOf = ({ dueAt, seq }: TimerDocument): DueCursor => ({ value: dueAt, seq });

/** Without a sender where the timer is not in turns. */
const senderOf = ({ dueAt, senderDueAt: place }: TimerDocument): string =>
  place === undefined ? '' : senderIn({ dueAt, senderDueAt: place });

const isBehind = (one: DueCursor, other: DueCursor): boolean =>
  one.value > other.value || (one.value === other.value && one.seq > other.seq);

const startOf = ({ cursors, from }: State, sender: string): DueCursor | undefined => cursors.get(sender) ?? from;

type Bounds = Readonly<{ upTo: string | undefined; max: number }>;

/** The first timers of the senders that follow. Of the last of them there may be more; of the others there are none. */
const look = (state: State, behind: string, { upTo, max }: Bounds): SenderTurn => {
  const limit = Math.min(max, state.lookLimit);
  state.wasLook = true;
  const isDue = ({ dueAt }: TimerDocument): boolean => upTo === undefined || dueAt <= upTo;
  const isNew = (timer: TimerDocument): boolean => {
    const start = startOf(state, senderOf(timer));
    return start === undefined || isBehind(cursorOf(timer), start);
  };
  const dueOf = (found: readonly TimerDocument[]): readonly TimerDocument[] => found.filter((timer) => isDue(timer) && isNew(timer));
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

/** What a sender has due behind its cursor. */
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

/** Each sender goes on behind the last timer before the first that was refused, and has more where one was. */
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

const PAGE = 500;
/** Of one team, and of one sender of it, where several have something due. */
const TEAM_PAGE = 64;
/** So many teams are read at once, or wait for room. */
const TEAMS_AT_ONCE = 64;
/** While a team waits for room, the others are looked at again this often. */
const TEAMS_EVERY_MS = 500;

/** One queue of timers: they lead to one processor, have one kind and one priority. */
export type DueQueue = Readonly<{ processor: string; kind: StreamKind; timer: TimerUse; priority: Priority; gate: Gate | undefined }>;

type DueRange = Readonly<{
  /** Timers of this moment and of those before it; asked for each page. Answers undefined where the time does not matter. */
  upTo: () => string | undefined;
  from: DueCursor | undefined;
}>;

/** Publishes the timers of the range to the end. Out: the cursor behind the last. */
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

/** One page of all teams. What the bus refuses stays behind the cursor. */
const publishPage = async (deps: ProcessorDeps, queue: DueQueue, { upTo, from, limit }: PageOf, signal: AbortSignal): Promise<Page> => {
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

/** Waits for room on the bus, of that team where one is named, and for a turn of the event loop. Out: false where the reading is to end. */
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

const find = async (
  { readModels }: ProcessorDeps,
  { kind, timer, priority }: DueQueue,
  query: Query,
): Promise<readonly TimerDocument[]> => {
  const where: Readonly<Record<string, Condition>> = { kind: { eq: timer.kind }, priority: { eq: priority }, ...query.where };
  return (await readModels.find(timersOf(kind), { ...query, where })) as readonly TimerDocument[];
};

/** Out: the streams of those that the bus has no room for. */
const publish = async (
  { bus }: ProcessorDeps,
  { processor, timer, priority }: DueQueue,
  timers: readonly TimerDocument[],
): Promise<ReadonlySet<string>> => {
  const pointers = timers.map((of) => {
    const work = { stream: of.key, position: of.position, priority, team: of.team, source: timer.kind };
    return pointerOf(of.senderDueAt === undefined ? work : { ...work, sender: senderOf(of) });
  });
  return new Set((await bus.publish(processor, pointers)).map(({ stream }) => stream));
};

/**
 * Every team that has something open gets a page at a time, and in a team every sender, so that nobody waits behind all that another has.
 * Out: the furthest cursor.
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

/** Ends when every team is done, or the signal aborts. Where a visit fails the others are ended before the fault is reported. */
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
  /** The teams of now; each is to be looked at again. */
  list: (teams: readonly string[]) => void;
  /** Up to `max` teams that are not done and not in `busy`: those whose last turn is longest ago. */
  next: (max: number, busy: ReadonlyMap<string, unknown>) => readonly string[];
  /** Nothing is left of that team, until the teams are listed again. */
  done: (team: string) => void;
  areAlone: () => boolean;
}>;

const openTurns = (): Turns => {
  /** A team goes to the end when it has had a turn. */
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

/** What is due is open, so no other team needs a turn. */
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
