/**
 * Which timers of one team are read next, so that its senders take turns: a page of one that has more due, or the first ones of senders
 * that were not looked at yet. So much is read for each turn, however many senders there are.
 */
import type { Query } from '../../domain/ports/read-models.js';
import { behindSender, senderDueAt, senderIn } from '../../domain/core/timers.js';
import type { TimerDocument } from './deps.js';

/** Where the reading of a queue stands: behind that timer. */
export type DueCursor = Readonly<{ value: string; seq: number }>;

export type SenderTurn = Readonly<{
  query: Query;
  /** Of what the query has found, those that are due and were not read before. */
  dueOf: (found: readonly TimerDocument[]) => readonly TimerDocument[];
  /** Where the next turns go on, when the bus has refused those streams. */
  end: (found: readonly TimerDocument[], refused: ReadonlySet<string>) => void;
}>;

export type Senders = Readonly<{
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

export const openSenders = (from: DueCursor | undefined): Senders => {
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
export const furthest = (one: DueCursor | undefined, other: DueCursor | undefined): DueCursor | undefined => {
  if (one === undefined || other === undefined) return one ?? other;
  return isBehind(one, other) ? one : other;
};

export const cursorOf = ({ dueAt, seq }: TimerDocument): DueCursor => ({ value: dueAt, seq });

/** Without a sender where the timer is not in turns. */
export const senderOf = ({ dueAt, senderDueAt: place }: TimerDocument): string =>
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
