/** Tells a process every second how much each team has open, and whether the host takes sessions. */
import type { Clock } from '../../domain/ports/clock.js';
import type { ReadModels } from '../../domain/ports/read-models.js';
import type { Worker } from '../../domain/ports/worker.js';
import { EMAIL_BACKLOGS } from './emails.js';
import type { BacklogDocument } from './backlogs.js';

const EVERY_MS = 1_000;
const PAGE = 500;

export type WatchDeps = Readonly<{
  readModels: Pick<ReadModels, 'find'>;
  clock: Pick<Clock, 'monotonic' | 'sleep'>;
  backlog: Readonly<{ update: (teams: readonly BacklogDocument[], atMs: number, hostPauseMs?: number) => void }>;
  /** How long the host is left alone before it is asked again, 0 while it takes sessions; absent where this process does not deliver. */
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
