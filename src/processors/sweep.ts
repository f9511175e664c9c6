/** Removes what has outlived its time outside the log: files with an expiry, and mails in the built-in mailbox. */
import { isoTime } from '../domain/ports/clock.js';
import type { Files } from '../domain/ports/files.js';
import type { Mailbox } from '../domain/ports/mailbox.js';
import { DAY_MS } from '../domain/time.js';
import type { Worker } from '../domain/ports/worker.js';
import type { Limits } from '../domain/limits.js';
import type { ProcessorDeps } from './deps.js';
import { underLease, type LeaseDeps } from './lease.js';

const SWEEP_EVERY_MS = 60 * 60_000;

export type SweepDeps = LeaseDeps &
  Pick<ProcessorDeps, 'mayDestroy'> &
  Readonly<{ files: Pick<Files, 'sweep'>; limits: Limits; mailbox: Mailbox | undefined }>;

export const sweepWorker = (deps: SweepDeps): Worker => ({
  name: 'sweep',
  run: (stop) =>
    underLease(deps, 'sweep', stop, async ({ signal }) => {
      while (!signal.aborted) {
        if (deps.mayDestroy()) await sweepOnce(deps);
        await deps.clock.sleep(SWEEP_EVERY_MS, signal);
      }
    }),
});

const sweepOnce = async ({ clock, files, limits, logger, mailbox }: SweepDeps): Promise<void> => {
  const nowMs = clock.now();
  const swept = await files.sweep(isoTime(nowMs));
  const mails = (await mailbox?.forgetBefore(isoTime(nowMs - limits.retentionDays * DAY_MS))) ?? 0;
  if (swept + mails > 0) logger.info({ files: swept, mails }, 'swept');
};
