/** Removes what has outlived its time outside the log: files with an expiry, and mails in the built-in mailbox. */
import { isoTime } from '../domain/ports/clock.js';
import type { Files } from '../domain/ports/files.js';
import type { Mailbox } from '../domain/ports/mailbox.js';
import { DAY_MS } from '../domain/time.js';
import type { Worker } from '../domain/ports/worker.js';
import type { Limits } from '../domain/limits.js';
import { underLease, type LeaseDeps } from './lease.js';

const SWEEP_EVERY_MS = 60 * 60_000;

export type SweepDeps = LeaseDeps & Readonly<{ files: Pick<Files, 'sweep'>; limits: Limits; mailbox: Mailbox | undefined }>;

export const sweepWorker = (deps: SweepDeps): Worker => ({
  name: 'sweep',
  run: (stop) =>
    underLease(deps, 'sweep', stop, async ({ signal }) => {
      while (!signal.aborted) {
        const nowMs = deps.clock.now();
        const files = await deps.files.sweep(isoTime(nowMs));
        const mails = (await deps.mailbox?.forgetBefore(isoTime(nowMs - deps.limits.retentionDays * DAY_MS))) ?? 0;
        if (files + mails > 0) deps.logger.info({ files, mails }, 'swept');
        await deps.clock.sleep(SWEEP_EVERY_MS, signal);
      }
    }),
});
