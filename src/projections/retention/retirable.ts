/** The streams of emails and bulk sends whose events are to leave the log. */
import type { StreamName } from '../../domain/core/ids.js';
import { defaultLimits } from '../../domain/core/limits.js';
import { priorities } from '../../domain/ports/bus.js';
import type { Cursor, ReadModels } from '../../domain/ports/read-models.js';
import { timersOf } from '../../domain/core/timers.js';
import { SUMMARIES_OF_ROWS, summaryId, type DayRowsDocument } from '../email/summaries.js';
import type { TimerDocument } from '../core/timers.js';

export type Retirable = Readonly<{ stream: StreamName; dueAt: string }>;

const PAGE = 1_000;

/** Those that are due at that moment, the longest first; of each kind and priority at most `limit`. */
export const retirableStreams = async (readModels: Pick<ReadModels, 'find'>, now: string, limit: number): Promise<readonly Retirable[]> => {
  const found: Retirable[] = [];
  for (const kind of ['batch', 'email'] as const)
    for (const priority of priorities) {
      let after: Cursor | undefined;
      for (let taken = 0; taken < limit; taken += PAGE) {
        const where = { kind: { eq: 'retirement' }, priority: { eq: priority }, dueAt: { lte: now } };
        const sort = { field: 'dueAt', direction: 'asc' } as const;
        const query = { where, sort, limit: Math.min(PAGE, limit - taken), ...(after === undefined ? {} : { after }) };
        const page = (await readModels.find(timersOf(kind), query)) as readonly TimerDocument[];
        for (const { key, dueAt } of page) found.push({ stream: key as StreamName, dueAt });
        const last = page.at(-1);
        if (last === undefined || page.length < PAGE) break;
        after = { value: last.dueAt, seq: last.seq };
      }
    }
  return found.sort((one, other) => (one.dueAt < other.dueAt ? -1 : one.dueAt > other.dueAt ? 1 : 0)).slice(0, limit);
};

/** Whether there may have been more templates or tags on that day of a team than have a row of their own. */
export const isDayFull = async (readModels: Pick<ReadModels, 'get'>, team: string, day: string): Promise<boolean> => {
  for (const collection of SUMMARIES_OF_ROWS) {
    const rows = (await readModels.get(collection, summaryId(team, day))) as DayRowsDocument | undefined;
    if (rows !== undefined && rows.size >= defaultLimits.summaryRowsMax) return true;
  }
  return false;
};
