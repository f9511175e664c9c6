/**
 * Reads timers page by page and publishes them, each page when the bus has room for it; where many are due teams take turns, and within a
 * team its senders.
 */
import type { StreamKind } from '../../domain/events.js';
import type { Priority } from '../../domain/ports/bus.js';
import type { Condition, Document, Query } from '../../domain/ports/read-models.js';
import { backlogsOf, timersOf } from '../../domain/core/timers.js';
import type { Gate, TimerUse } from './declaration.js';
import { pointerOf, type ProcessorDeps, type TimerDocument } from './deps.js';
import { cursorOf, furthest, openSenders, senderOf, type DueCursor, type Senders } from './due-senders.js';

const PAGE = 500;
/** Of one team, and of one sender of it, where several have something due. */
const TEAM_PAGE = 64;
/** So many teams are read at once, or wait for room. */
const TEAMS_AT_ONCE = 64;
/** While a team waits for room, the others are looked at again this often. */
const TEAMS_EVERY_MS = 500;

/** One queue of timers: they lead to one processor, have one kind and one priority. */
export type DueQueue = Readonly<{ processor: string; kind: StreamKind; timer: TimerUse; priority: Priority; gate: Gate | undefined }>;

export type DueRange = Readonly<{
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
