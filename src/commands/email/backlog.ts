/**
 * The backlog of each team, in memory: the counts last read from the read models, plus the emails that this process has
 * accepted since. A request reads nothing.
 */
import { counted } from '../../shared/text.js';
import { DomainError } from '../../domain/core/errors.js';
import type { Limits } from '../../domain/core/limits.js';

/**
 * One team: `waiting` emails have not ended and are not scheduled for later; `ready` of these wait only for their turn,
 * `held` of these only for the host. `unmade` of the ready ones are emails of bulk sends that have no stream yet.
 * `held` and `unmade` are absent from documents of an earlier version. `done` counts how often a ready email has ended
 * or begun to wait for something other than the host.
 */
export type TeamBacklog = Readonly<{
  team: string;
  waiting: number;
  ready: number;
  held?: number;
  unmade?: number;
  done: number;
}>;

export type Backlog = Readonly<{
  /**
   * Takes the counts of all teams with open emails; `atMs`: by the monotonic clock. `hostPauseMs`: the pause before the
   * host is asked again, 0 while it takes sessions; undefined if this process does not deliver.
   */
  update: (teams: readonly TeamBacklog[], atMs: number, hostPauseMs?: number) => void;
  /** Throws QUEUE_FULL if the team would have too many emails waiting with so many more (default: one). */
  assertRoom: (team: string, emails?: number) => void;
  /** Counts emails that this process has accepted (default: one). */
  accepted: (team: string, emails?: number) => void;
  /** The expected wait of the last of so many emails (default: one) that are accepted now. */
  waitMs: (team: string, emails?: number) => number;
}>;

/** The weight of the newest measurement when the rate falls. */
const NEWEST_COUNTS = 0.2;
/** The lowest rate used for an expected wait, in emails a second: a rate of 0 would give none. */
const RATE_MIN = 0.1;
/** The pause assumed if another process asks the host: its longest. */
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
    update: (backlogs, atMs, hostPauseMs) => {
      const now = new Map(backlogs.map((one) => [one.team, one]));
      const queued = backlogs.reduce((sum, one) => sum + queuedOf(one), 0);
      const done = updatedMs === undefined ? 0 : doneSince(teams, now);
      const wasAway = awayMs > 0;
      // If mail is held and none is done, the host takes no sessions.
      awayMs = hostPauseMs ?? (done === 0 && backlogs.some(({ held = 0 }) => held > 0) ? HOST_PAUSE_MS : 0);
      // Time in which the host was unavailable tells nothing about its rate.
      if (updatedMs !== undefined && atMs > updatedMs && !wasAway && awayMs === 0) {
        const rate = (done * 1_000) / (atMs - updatedMs);
        // With a short queue the rate is only a lower bound, so it can raise the known rate but not lower it.
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
      // Teams take turns: ahead of an email are at most all queued emails, and at most its team's own number from each
      // team.
      const known = teams.get(team);
      const own = (known === undefined ? 0 : queuedOf(known)) + (acceptedSince.get(team) ?? 0);
      const ahead = Math.min(queuedOfAll, own * teams.size) + emails - 1;
      return Math.min(awayMs + (ahead / Math.max(perSecond, RATE_MIN)) * 1_000, limits.hostAwayHoursMax * 3_600_000);
    },
  };
};

/** Held mail leaves as soon as the host takes sessions, so it is ahead of new mail. */
const queuedOf = ({ ready, held = 0 }: TeamBacklog): number => ready + held;

/**
 * A team that is missing in `now` has nothing open: its ready emails are done, but for those that were cancelled before
 * they were made.
 */
const doneSince = (before: ReadonlyMap<string, TeamBacklog>, now: ReadonlyMap<string, TeamBacklog>): number => {
  let done = 0;
  for (const [team, one] of before)
    done += Math.max(0, (now.get(team)?.done ?? one.done + one.ready - (one.unmade ?? 0)) - one.done);
  return done;
};

type Pace = Readonly<{ perSecond: number | undefined; awayMs: number }>;

type Room = Readonly<{ waiting: number; emails: number; max: number }>;

const queueFull = ({ waiting, emails, max }: Room, { perSecond, awayMs }: Pace): DomainError => {
  // The time until a hundredth of the limit is free, or enough for these emails.
  const surplus = waiting - Math.min(max * 0.99, max - emails);
  const known = perSecond === undefined || perSecond === 0 ? undefined : surplus / perSecond;
  const seconds = known === undefined ? RETRY_AFTER_UNKNOWN_S : Math.ceil(known + awayMs / 1_000);
  const retryAfterS = Math.min(Math.max(seconds, RETRY_AFTER_MIN_S), RETRY_AFTER_MAX_S);
  return new DomainError(
    'QUEUE_FULL',
    `${counted(waiting, 'email')} of your team ${waiting === 1 ? 'waits' : 'wait'} for ${waiting === 1 ? 'its' : 'their'} delivery, and no more than ${max} may${emails === 1 ? '' : `: these ${emails} do not fit`}. Nothing was accepted; ${emails > max ? 'send fewer at once' : `try again in ${retryAfterS} seconds`}.`,
    { retryAfterS, relatedInfo: { waiting, max } },
  );
};
