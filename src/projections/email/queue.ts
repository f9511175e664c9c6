/**
 * The queue: the statistics of a team, figures for monitoring, and the worker that reports the backlogs of all teams
 * every second.
 */
import { priorities, type Priority } from '../../domain/ports/bus.js';
import type { ReadModels } from '../../domain/ports/read-models.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Worker } from '../../domain/ports/worker.js';
import { EMAIL_BACKLOGS, EMAILS } from './read-models.js';
import { type BacklogDocument, RATE_MINUTES, type BacklogCounts } from './backlogs.js';
import { isoTime } from '../../domain/core/time.js';
import { behindSender, senderIn, type TimerDocument } from '../../domain/ports/timers.js';

/** Numbers of all emails of a team, or of those of one priority. */
type Numbers = {
  /** Due emails: they wait only for their turn, or have it. */
  depth: number;
  oldestQueuedAt: string | null;
  oldestAgeSeconds: number | null;
  ratePerMinute: number;
  estimatedSeconds: number | null;
  deferred: number;
  held: number;
  scheduled: number;
};

export type QueueStats = Numbers & { asOf: string; priorities: Record<Priority, Numbers> };

export type QueueHealth = Readonly<{
  /** Since when the longest waiting email is due; undefined: none is queued. */
  oldestDueAt: string | undefined;
  /** Emails that wait for another attempt or for the host, counted up to `deferredMax`. */
  deferred: number;
}>;

/** Since when the first of the team's emails that are not made yet waits for its turn; undefined: none does. */
type UnmadeSince = (team: string, priority: Priority) => Promise<string | undefined>;

/** In: the team, and the time (ms since the epoch). */
export const queueStats = async (
  readModels: Pick<ReadModels, 'get' | 'find'>,
  team: string,
  nowMs: number,
  unmadeSince: UnmadeSince,
): Promise<QueueStats> => {
  const backlog = (await readModels.get(EMAIL_BACKLOGS, team)) as BacklogDocument | undefined;
  const numbersFor = async (priority: Priority): Promise<Numbers> => {
    const counts = backlog?.priorities[priority];
    if (counts === undefined) return NOTHING;
    const waiting =
      counts.ready === 0 ? [] : [await oldestOf(readModels, team, priority), await unmadeSince(team, priority)];
    const oldest = waiting.flatMap((since) => since ?? []).sort()[0];
    return numbersOf([counts], oldest, nowMs);
  };
  const [high, normal, low] = await Promise.all([numbersFor('high'), numbersFor('normal'), numbersFor('low')]);
  const oldest = [high, normal, low].flatMap(({ oldestQueuedAt }) => oldestQueuedAt ?? []).sort()[0];
  const all =
    backlog === undefined
      ? NOTHING
      : numbersOf(
          priorities.map((priority) => backlog.priorities[priority]),
          oldest,
          nowMs,
        );
  return { asOf: isoTime(nowMs), ...all, priorities: { high, normal, low } };
};

export const queueHealth = async (
  readModels: Pick<ReadModels, 'find' | 'count'>,
  deferredMax: number,
): Promise<QueueHealth> => {
  const oldest: string[] = [];
  let deferred = 0;
  for (const priority of priorities) {
    const where = (kind: string) => ({ kind: { eq: kind }, priority: { eq: priority } });
    const [first] = await readModels.find(EMAILS, {
      where: where('deliver'),
      sort: { field: 'dueAt', direction: 'asc' },
      limit: 1,
    });
    if (first !== undefined) oldest.push((first as TimerDocument).dueAt);
    for (const kind of ['deferred', 'held'])
      deferred += await readModels.count(EMAILS, { where: where(kind) }, Math.max(0, deferredMax - deferred));
  }
  return { oldestDueAt: oldest.sort()[0], deferred };
};

/** Figures of one priority, of all teams together: the sums of what `queueStats` gives for each. */
type QueueFigures = Readonly<{
  priority: Priority;
  queued: number;
  deferred: number;
  held: number;
  oldestDueAt: string | undefined;
}>;

export const queueFigures = async (
  readModels: Pick<ReadModels, 'find'>,
  unmadeSince: UnmadeSince,
): Promise<readonly QueueFigures[]> => {
  const teams = await backlogsWithOpen(readModels);
  return Promise.all(
    priorities.map(async (priority) => {
      const sum = (field: 'ready' | 'deferred' | 'held'): number =>
        teams.reduce((total, { priorities: counts }) => total + counts[priority][field], 0);
      const where = { kind: { eq: 'deliver' }, priority: { eq: priority } };
      const [first] = (await readModels.find(EMAILS, {
        where,
        sort: { field: 'dueAt', direction: 'asc' },
        limit: 1,
      })) as readonly TimerDocument[];
      const unmade = await Promise.all(
        teams.filter((one) => one.unmade > 0).map(({ team }) => unmadeSince(team, priority)),
      );
      const [oldestDueAt] = [first?.dueAt, ...unmade].flatMap((since) => since ?? []).sort();
      return { priority, queued: sum('ready'), deferred: sum('deferred'), held: sum('held'), oldestDueAt };
    }),
  );
};

const EVERY_MS = 1_000;
const PAGE = 500;

type WatchDeps = Readonly<{
  readModels: Pick<ReadModels, 'find'>;
  clock: Pick<Clock, 'monotonic' | 'sleep'>;
  backlog: Readonly<{ update: (teams: readonly BacklogDocument[], atMs: number, hostPauseMs?: number) => void }>;
  /** The pause before the host is asked again, 0 while it takes sessions; absent if this process does not deliver. */
  hostPauseMs?: () => number;
}>;

export const watchBacklogsWorker = ({ readModels, clock, backlog, hostPauseMs }: WatchDeps): Worker => ({
  name: 'watch-backlogs',
  run: async (signal) => {
    while (!signal.aborted) {
      backlog.update(await backlogsWithOpen(readModels), clock.monotonic(), hostPauseMs?.());
      await clock.sleep(EVERY_MS, signal);
    }
  },
});

const backlogsWithOpen = async ({ find }: WatchDeps['readModels']): Promise<readonly BacklogDocument[]> => {
  const teams: BacklogDocument[] = [];
  for (;;) {
    const after = teams.at(-1);
    const page = (await find(EMAIL_BACKLOGS, {
      where: { open: { gte: 1 } },
      sort: { field: 'seq', direction: 'asc' },
      ...(after === undefined ? {} : { after: { value: after.seq, seq: after.seq } }),
      limit: PAGE,
    })) as readonly BacklogDocument[];
    teams.push(...page);
    if (page.length < PAGE) return teams;
  }
};

const MINUTE_MS = 60_000;
/** Senders of a team that are checked for the oldest email; further ones are not. */
const SENDERS_MAX = 100;
/** The shortest time over which a rate is measured. */
const RATE_SPAN_MIN_MS = 1_000;

const NOTHING: Numbers = {
  depth: 0,
  oldestQueuedAt: null,
  oldestAgeSeconds: null,
  ratePerMinute: 0,
  estimatedSeconds: 0,
  deferred: 0,
  held: 0,
  scheduled: 0,
};

const numbersOf = (counts: readonly BacklogCounts[], oldest: string | undefined, nowMs: number): Numbers => {
  const sum = (field: 'ready' | 'deferred' | 'held' | 'scheduled'): number =>
    counts.reduce((total, one) => total + one[field], 0);
  const depth = sum('ready');
  const perMinute = rateOf(counts, nowMs);
  return {
    depth,
    oldestQueuedAt: oldest ?? null,
    oldestAgeSeconds: oldest === undefined ? null : Math.max(0, Math.round((nowMs - Date.parse(oldest)) / 1_000)),
    ratePerMinute: Math.round(perMinute * 10) / 10,
    estimatedSeconds: depth === 0 ? 0 : perMinute === 0 ? null : Math.ceil((depth / perMinute) * 60),
    deferred: sum('deferred'),
    held: sum('held'),
    scheduled: sum('scheduled'),
  };
};

/** Emails a minute over the last RATE_MINUTES, or since the first minute with any. */
const rateOf = (counts: readonly BacklogCounts[], nowMs: number): number => {
  const sinceMs = nowMs - RATE_MINUTES * MINUTE_MS;
  let [done, firstMs] = [0, nowMs];
  for (const { minutes } of counts)
    for (const [minute, count] of Object.entries(minutes)) {
      const beganMs = Date.parse(`${minute}:00.000Z`);
      if (beganMs < sinceMs || beganMs > nowMs) continue;
      done += count;
      firstMs = Math.min(firstMs, beganMs);
    }
  return (done * MINUTE_MS) / Math.max(nowMs - firstMs, RATE_SPAN_MIN_MS);
};

/** The oldest due time. Timers are ordered by sender first, so the oldest of each sender is read. */
const oldestOf = async (
  { find }: Pick<ReadModels, 'find'>,
  team: string,
  priority: Priority,
): Promise<string | undefined> => {
  const where = { kind: { eq: 'deliver' }, priority: { eq: priority }, team: { eq: team } };
  let oldest: string | undefined;
  let behind: string | undefined;
  for (let senders = 0; senders < SENDERS_MAX; senders += 1) {
    const [first] = (await find(EMAILS, {
      where: { ...where, ...(behind === undefined ? {} : { senderDueAt: { gte: behind } }) },
      sort: { field: 'senderDueAt', direction: 'asc' },
      limit: 1,
    })) as readonly TimerDocument[];
    if (first?.senderDueAt === undefined) return oldest;
    if (oldest === undefined || first.dueAt < oldest) oldest = first.dueAt;
    behind = behindSender(senderIn({ dueAt: first.dueAt, senderDueAt: first.senderDueAt }));
  }
  return oldest;
};
