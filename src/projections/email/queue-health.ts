/** How long emails have been waiting, and how many wait for another attempt: from the timers. */
import { priorities, type Priority } from '../../domain/ports/bus.js';
import type { ReadModels } from '../../domain/ports/read-models.js';
import { EMAIL_TIMERS } from './documents.js';
import type { TimerDocument } from '../core/timers.js';

export type QueueHealth = Readonly<{
  /** Since when the email that has waited longest is due; undefined where none is queued. */
  oldestDueAt: string | undefined;
  /** Emails that wait for another attempt, counted no further than the given number. */
  deferred: number;
}>;

export const queueHealth = async (readModels: Pick<ReadModels, 'find' | 'count'>, deferredMax: number): Promise<QueueHealth> => {
  const oldest: string[] = [];
  let deferred = 0;
  for (const priority of priorities) {
    const where = (kind: string) => ({ kind: { eq: kind }, priority: { eq: priority } });
    const [first] = await readModels.find(EMAIL_TIMERS, { where: where('deliver'), sort: { field: 'dueAt', direction: 'asc' }, limit: 1 });
    if (first !== undefined) oldest.push((first as TimerDocument).dueAt);
    for (const kind of ['deferred', 'held'])
      deferred += await readModels.count(EMAIL_TIMERS, { where: where(kind) }, Math.max(0, deferredMax - deferred));
  }
  return { oldestDueAt: oldest.sort()[0], deferred };
};

/** Of one priority; what is counted is counted no further than 10,000. */
export type QueueFigures = Readonly<{
  priority: Priority;
  queued: number;
  deferred: number;
  held: number;
  oldestDueAt: string | undefined;
}>;

const COUNTED_MAX = 10_000;

export const queueFigures = (readModels: Pick<ReadModels, 'find' | 'count'>): Promise<readonly QueueFigures[]> =>
  Promise.all(
    priorities.map(async (priority) => {
      const where = (kind: string) => ({ kind: { eq: kind }, priority: { eq: priority } });
      const counted = (kind: string): Promise<number> => readModels.count(EMAIL_TIMERS, { where: where(kind) }, COUNTED_MAX);
      const [queued, deferred, held] = await Promise.all([counted('deliver'), counted('deferred'), counted('held')]);
      const [first] = await readModels.find(EMAIL_TIMERS, {
        where: where('deliver'),
        sort: { field: 'dueAt', direction: 'asc' },
        limit: 1,
      });
      return { priority, queued, deferred, held, oldestDueAt: (first as TimerDocument | undefined)?.dueAt };
    }),
  );
