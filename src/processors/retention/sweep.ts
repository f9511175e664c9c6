/** Removes what has outlived its time outside the log: files with an expiry, and mails in the built-in mailbox. */
import { isoTime } from '../../domain/core/iso-time.js';
import type { Files } from '../../domain/ports/files.js';
import type { Mailbox } from '../../domain/ports/mailbox.js';
import { DAY_MS, HOUR_MS } from '../../domain/core/time.js';
import type { Worker } from '../../domain/ports/worker.js';
import type { Limits } from '../../domain/core/limits.js';
import type { EmailTimerKind } from '../../domain/email/timers.js';
import { priorities } from '../../domain/ports/bus.js';
import { timersOf } from '../../domain/core/timers.js';
import type { ProcessorDeps, TimerDocument } from '../core/deps.js';
import { recurringWorker, type LeaseDeps } from '../core/lease.js';

const SWEEP_EVERY_MS = 60 * 60_000;

export type SweepDeps = LeaseDeps &
  Pick<ProcessorDeps, 'mayDestroy' | 'readModels' | 'timersCaughtUp' | 'eventLog'> &
  Readonly<{ files: Pick<Files, 'sweep'>; limits: Limits; mailbox: Mailbox | undefined }>;

export const sweepWorker = (deps: SweepDeps): Worker =>
  recurringWorker(deps, 'sweep', SWEEP_EVERY_MS, async ({ signal }) => {
    if (deps.mayDestroy()) await sweepOnce(deps, signal);
  });

/** The timers of emails that have not left: their files are still needed, however long they should have left ago. */
const openKinds = ['deliver', 'scheduled', 'deferred', 'held'] as const satisfies readonly EmailTimerKind[];

/** The moment at which the email was due that has waited longest; undefined where none waits. */
const oldestDueAt = async ({ readModels, timersCaughtUp, eventLog }: SweepDeps, signal: AbortSignal): Promise<string | undefined> => {
  await timersCaughtUp('email', await eventLog.head(), signal);
  let oldest: string | undefined;
  for (const kind of openKinds)
    for (const priority of priorities) {
      const where = { kind: { eq: kind }, priority: { eq: priority } };
      const found = await readModels.find(timersOf('email'), { where, sort: { field: 'dueAt', direction: 'asc' }, limit: 1 });
      const [first] = found as readonly TimerDocument[];
      if (first !== undefined && (oldest === undefined || first.dueAt < oldest)) oldest = first.dueAt;
    }
  return oldest;
};

const sweepOnce = async (deps: SweepDeps, signal: AbortSignal): Promise<void> => {
  const { clock, files, limits, logger, mailbox } = deps;
  const nowMs = clock.now();
  const now = isoTime(nowMs);
  const oldest = await oldestDueAt(deps, signal);
  if (signal.aborted) return;
  // Files are kept for days after their email was due: those of one that is late are not old yet.
  const abandonedBefore = isoTime(nowMs - limits.temporaryFileHours * HOUR_MS);
  const swept = await files.sweep(oldest === undefined || oldest > now ? now : oldest, { abandonedBefore });
  const mails = (await mailbox?.forgetBefore(isoTime(nowMs - limits.retentionDays * DAY_MS))) ?? 0;
  if (swept + mails > 0) logger.info({ files: swept, mails }, 'swept');
};
