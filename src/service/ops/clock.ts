/**
 * The clock that a running service goes by, and whether the time of day can be trusted. While it cannot, data is not
 * destroyed by its age: after the clock was set, possibly while the service was down, until the clock has been steady
 * for a day or an operator confirms it.
 */
import { join } from 'node:path';
import type { ClockMark, ClockRecord } from '../../domain/ports/clock-record.js';
import type { ContinuedClock, Clock } from '../../domain/ports/clock.js';
import type { Logger } from '../../domain/ports/logger.js';
import type { Worker } from '../../domain/ports/worker.js';
import { CLOCKS_APART_MS, DAY_MS, isoTime } from '../../domain/core/time.js';
import { continuedClock, openClockRecord, systemClock } from '../../adapters/clock/system.js';
import type { Config } from '../settings/config.js';
import type { Engine } from '../engine.js';

export type ClockTrust = Readonly<{
  /** False while nothing may be destroyed because of its age. */
  mayDestroy: () => boolean;
  /** How far the machine's time of day is ahead of the clock of this process; 0 while it is trusted. */
  leapMs: () => number;
  /** How long the instance had not run when it started, by the time of day; undefined if it never ran before. */
  awayMs: number | undefined;
  /**
   * For how long since that moment (by the time of day) this instance did not run or the machine slept, so that nothing
   * was tried.
   */
  unwatchedMs: (sinceMs: number) => number;
  /** Watches the clock, and records the time for the next start. */
  worker: Worker;
}>;

type ClockTrustDeps = Readonly<{
  clock: ContinuedClock;
  logger: Logger;
  /** `isKept`: this process, and no other, writes the mark for the next start. */
  record: ClockRecord;
  isKept: boolean;
  /** The log was empty when the program started. */
  isNew: boolean;
  /** When the newest event was appended, by the clock of who appended it; absent for an empty log. */
  newestEventMs?: number | undefined;
}>;

/** How far two counts of the same time may differ. */
const DIFFERENCE_MAX_MS = 10_000;
/** After so short an absence a set clock would not matter for what is kept for days. */
const SHORT_AWAY_MS = 10 * 60_000;
const LOOK_EVERY_MS = 5_000;
const RECORD_EVERY_MS = 60_000;
/** A shorter absence is not noted. The mark of a run that was killed may be as old as one interval of recording. */
const AWAY_MIN_MS = 2 * RECORD_EVERY_MS;
/** The oldest noted absences beyond are forgotten. */
const AWAY_MAX = 200;

const WAITS_AFTER_START =
  'nobody can tell whether the clock was set while the service was away: nothing is destroyed by its age for 24 hours; `sealpost clock confirm` ends that';
const WAITS_AFTER_LEAP =
  'the time of day was set: nothing is sent early, and nothing is destroyed by its age, until it has been steady for 24 hours; `sealpost clock confirm` ends that';

const BEHIND_THE_LOG =
  'the newest event of the log is later than the time of day: set the clock of this machine, by NTP; nothing is destroyed by its age for 24 hours, or until `sealpost clock confirm`';

/** In: the clock of the machine; tests give another. */
export const openClock = (machine: Clock = systemClock()): ContinuedClock => continuedClock(machine);

/** undefined for an empty log. */
export const newestEventMs = async (eventLog: Engine['eventLog']): Promise<number | undefined> => {
  let newestMs: number | undefined;
  for await (const { events } of eventLog.readAll(Math.max(0, (await eventLog.head()) - 1), { decrypt: [] }))
    for (const { metadata } of events) newestMs = Math.max(newestMs ?? 0, Date.parse(metadata.occurredAt));
  return newestMs;
};

/** Must be called before a first start writes anything: an empty log means a new instance. */
export const openTrust = async (
  config: Config,
  { eventLog, logger }: Engine,
  clock: ContinuedClock,
): Promise<ClockTrust> =>
  openClockTrust({
    clock,
    logger,
    record: recordOf(config.dataDir),
    isKept: config.roles.includes('process'),
    isNew: (await eventLog.head()) === 0,
    newestEventMs: await newestEventMs(eventLog),
  });

export const openClockTrust = (deps: ClockTrustDeps): ClockTrust => {
  const { clock, logger, record } = deps;
  const mark = record.read();
  const startedMs = clock.machineNow();
  let leaps = clock.leaps();
  let confirmation = mark?.confirmation ?? record.confirmation();
  let untilMs = clock.monotonic() + waitAtStart(mark, deps);
  const behindMs = (deps.newestEventMs ?? startedMs) - startedMs;
  if (behindMs > CLOCKS_APART_MS) {
    untilMs = clock.monotonic() + DAY_MS;
    logger.warn({ code: 'CLOCK_BEHIND', behindMs }, BEHIND_THE_LOG);
  } else if (untilMs > clock.monotonic()) logger.warn({ awayMs: mark && startedMs - mark.nowMs }, WAITS_AFTER_START);

  let away = mark?.away ?? [];
  // An instance without a mark may have run before.
  let watchedUpToMs = mark === undefined ? (deps.isNew ? startedMs : 0) : Math.min(mark.nowMs, startedMs);
  const noteAway = (): void => {
    const nowMs = clock.now();
    if (nowMs - watchedUpToMs >= AWAY_MIN_MS) away = [...away, { fromMs: watchedUpToMs, toMs: nowMs }].slice(-AWAY_MAX);
    watchedUpToMs = nowMs;
  };
  noteAway();

  const lookForLeaps = (): void => {
    if (clock.leaps() === leaps) return;
    leaps = clock.leaps();
    untilMs = clock.monotonic() + DAY_MS;
    logger.warn({ leapMs: Math.round(clock.leapMs()) }, WAITS_AFTER_LEAP);
  };

  const look = (): void => {
    lookForLeaps();
    noteAway();
    const newest = record.confirmation();
    if (newest !== confirmation) {
      confirmation = newest;
      untilMs = clock.monotonic();
      logger.info({}, 'the clock was confirmed by an operator');
    }
    if (clock.monotonic() >= untilMs && clock.leapMs() !== 0) {
      logger.info({ leapMs: Math.round(clock.leapMs()) }, 'the time of day is believed again');
      clock.believe();
    }
  };

  const keep = (): void => {
    const waitMs = Math.max(0, untilMs - clock.monotonic());
    if (deps.isKept) record.write({ nowMs: clock.machineNow(), uptimeMs: clock.uptime(), waitMs, confirmation, away });
  };

  return {
    mayDestroy: () => {
      lookForLeaps();
      return clock.monotonic() >= untilMs;
    },
    leapMs: clock.leapMs,
    awayMs: mark && startedMs - mark.nowMs,
    unwatchedMs: (sinceMs) => {
      noteAway();
      return away.reduce((sum, { fromMs, toMs }) => sum + overlapMs(Math.max(fromMs, sinceMs), toMs), 0);
    },
    worker: {
      name: 'clock',
      run: async (signal) => {
        let kept = { leaps, confirmation, atMs: -Infinity };
        while (!signal.aborted) {
          look();
          if (
            kept.leaps !== leaps ||
            kept.confirmation !== confirmation ||
            clock.monotonic() - kept.atMs >= RECORD_EVERY_MS
          ) {
            keep();
            kept = { leaps, confirmation, atMs: clock.monotonic() };
          }
          await clock.sleep(LOOK_EVERY_MS, signal);
        }
        keep();
      },
    },
  };
};

const overlapMs = (fromMs: number, toMs: number): number => Math.max(0, toMs - fromMs);

/**
 * How long to wait before ages are trusted. A machine that kept running has counted the time itself: then only the rest
 * of an earlier wait is left.
 */
const waitAtStart = (mark: ClockMark | undefined, { clock, isNew }: ClockTrustDeps): number => {
  if (mark === undefined) return isNew ? 0 : DAY_MS;
  const passedMs = clock.machineNow() - mark.nowMs;
  const countedMs = clock.uptime() - mark.uptimeMs;
  if (countedMs >= 0 && Math.abs(passedMs - countedMs) <= DIFFERENCE_MAX_MS)
    return Math.max(0, mark.waitMs - countedMs);
  return Math.abs(passedMs) <= SHORT_AWAY_MS ? mark.waitMs : DAY_MS;
};

/**
 * Tells the service that runs or starts next that the time of day is right; `id` differs from all before. Out: that
 * time.
 */
export const confirmTimeOfDay = ({ dataDir }: Pick<Config, 'dataDir'>, id: string): string => {
  recordOf(dataDir).confirm(id);
  return isoTime(systemClock().now());
};

/**
 * For how long, when it was noted last, nothing was to be destroyed by its age; 0 where an operator has confirmed the
 * clock since.
 */
export const notedWaitMs = ({ dataDir }: Pick<Config, 'dataDir'>): number => {
  const record = recordOf(dataDir);
  const mark = record.read();
  return mark === undefined || mark.confirmation !== record.confirmation() ? 0 : mark.waitMs;
};

const recordOf = (dataDir: string): ClockRecord => openClockRecord(join(dataDir, 'clock.json'));
