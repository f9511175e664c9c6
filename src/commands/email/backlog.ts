/**
 * How much each team has waiting, in memory: what the read models told last, and what this process has accepted since. Nothing is read
 * for a request.
 */
import { DomainError } from '../../domain/core/errors.js';
import type { Limits } from '../../domain/core/limits.js';

/**
 * Of one team: `waiting` emails are under way, `ready` of these wait for nothing but their turn, `held` of these for the host alone (absent
 * from what an earlier version keeps), and `done` counts how often one that was ready has come to an end or waits for something else than
 * the host.
 */
export type TeamBacklog = Readonly<{ team: string; waiting: number; ready: number; held?: number; done: number }>;

export type Backlog = Readonly<{
  /**
   * What the read models tell now of the teams that have something open, at that moment of the monotonic clock. `hostPauseMs`: how long the
   * host is left alone before it is asked again, 0 while it takes sessions; undefined where this process does not deliver.
   */
  update: (teams: readonly TeamBacklog[], atMs: number, hostPauseMs?: number) => void;
  /** Throws QUEUE_FULL where the team has as much waiting as it may, or would with so many more (default: one). */
  assertRoom: (team: string, emails?: number) => void;
  /** So many more of the team are accepted (default: one). */
  accepted: (team: string, emails?: number) => void;
  /** How long the last of so many emails (default: one) that are accepted now is likely to wait for its turn. */
  waitMs: (team: string, emails?: number) => number;
}>;

/** How fast a rate that has become less is believed. */
const NEWEST_COUNTS = 0.2;
/** The least rate that a wait is reckoned with, in emails a second: a rate of nothing says nothing of how long it lasts. */
const RATE_MIN = 0.1;
/** Of a host that another process asks: its longest pause. */
const HOST_PAUSE_MS = 30_000;
const RETRY_AFTER_MIN_S = 1;
const RETRY_AFTER_MAX_S = 600;
const RETRY_AFTER_UNKNOWN_S = 60;

export const openBacklog = (limits: Pick<Limits, 'queueWaitingMax' | 'hostAwayHoursMax'>): Backlog => {
  let teams = new Map<string, TeamBacklog>();
  let acceptedSince = new Map<string, number>();
  let queuedOfAll = 0;
  let awayMs = 0;
  let updatedMs: number | undefined;
  let perSecond: number | undefined;

  const waitingOf = (team: string): number => (teams.get(team)?.waiting ?? 0) + (acceptedSince.get(team) ?? 0);

  return {
    update: (told, atMs, hostPauseMs) => {
      const now = new Map(told.map((of) => [of.team, of]));
      const queued = told.reduce((sum, of) => sum + queuedOf(of), 0);
      const done = updatedMs === undefined ? 0 : doneSince(teams, now);
      const wasAway = awayMs > 0;
      // Mail that is held while none is done shows a host that takes no sessions.
      awayMs = hostPauseMs ?? (done === 0 && told.some(({ held = 0 }) => held > 0) ? HOST_PAUSE_MS : 0);
      // Neither does the time in which the host was away say how much it takes when it is there.
      if (updatedMs !== undefined && atMs > updatedMs && !wasAway && awayMs === 0) {
        const rate = (done * 1_000) / (atMs - updatedMs);
        // What is done where little is queued says nothing of what could be, unless it is more than was known.
        const isBusy = Math.min(queuedOfAll, queued) > done;
        if (perSecond === undefined ? isBusy : rate > perSecond) perSecond = rate;
        else if (perSecond !== undefined && isBusy) perSecond += (rate - perSecond) * NEWEST_COUNTS;
      }
      teams = now;
      acceptedSince = new Map();
      queuedOfAll = queued;
      updatedMs = atMs;
    },
    assertRoom: (team, emails = 1) => {
      const waiting = waitingOf(team);
      if (waiting + emails <= limits.queueWaitingMax) return;
      throw queueFull({ waiting, emails, max: limits.queueWaitingMax }, { perSecond, awayMs });
    },
    accepted: (team, emails = 1) => void acceptedSince.set(team, (acceptedSince.get(team) ?? 0) + emails),
    waitMs: (team, emails = 1) => {
      if (perSecond === undefined || (queuedOfAll === 0 && emails === 1)) return awayMs;
      // Teams take turns: nobody waits for more than all, nor for more than as much of each other team as its own.
      const of = teams.get(team);
      const own = (of === undefined ? 0 : queuedOf(of)) + (acceptedSince.get(team) ?? 0);
      const ahead = Math.min(queuedOfAll, own * teams.size) + emails - 1;
      return Math.min(awayMs + (ahead / Math.max(perSecond, RATE_MIN)) * 1_000, limits.hostAwayHoursMax * 3_600_000);
    },
  };
};

/** What is held goes as soon as the host takes sessions: it is ahead of what comes now. */
const queuedOf = ({ ready, held = 0 }: TeamBacklog): number => ready + held;

/** A team that is told of no more has nothing open: all that it had ready is done. */
const doneSince = (before: ReadonlyMap<string, TeamBacklog>, now: ReadonlyMap<string, TeamBacklog>): number => {
  let done = 0;
  for (const [team, of] of before) done += Math.max(0, (now.get(team)?.done ?? of.done + of.ready) - of.done);
  return done;
};

type Pace = Readonly<{ perSecond: number | undefined; awayMs: number }>;

type Room = Readonly<{ waiting: number; emails: number; max: number }>;

const queueFull = ({ waiting, emails, max }: Room, { perSecond, awayMs }: Pace): DomainError => {
  // By then a hundredth of the room is free, or as much as was asked for.
  const surplus = waiting - Math.min(max * 0.99, max - emails);
  const known = perSecond === undefined || perSecond === 0 ? undefined : surplus / perSecond;
  const seconds = known === undefined ? RETRY_AFTER_UNKNOWN_S : Math.ceil(known + awayMs / 1_000);
  const retryAfterS = Math.min(Math.max(seconds, RETRY_AFTER_MIN_S), RETRY_AFTER_MAX_S);
  return new DomainError(
    'QUEUE_FULL',
    `${waiting} emails of your team wait for their delivery, and no more than ${max} may${emails === 1 ? '' : `: these ${emails} do not fit`}. Nothing was accepted; ${emails > max ? 'send fewer at once' : `try again in ${retryAfterS} seconds`}.`,
    { retryAfterS, relatedInfo: { waiting, max } },
  );
};
