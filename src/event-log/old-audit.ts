/** Streams of the audit log whose month is over for as long as it is kept, and whose events are still in the log. */
import { auditOverAt } from '../domain/audit/months.js';
import type { StreamName } from '../domain/ids.js';
import type { Limits } from '../domain/limits.js';
import { DAY_MS } from '../domain/time.js';
import { namesOf } from './codec.js';
import { isWhole } from './retired-events.js';
import type { EventLog } from './event-log.js';

type Deps = Readonly<{ eventLog: Pick<EventLog, 'readAll' | 'last' | 'load'>; limits: Pick<Limits, 'auditDays'> }>;

/** `overMs`: when all of the stream was over. */
export type OldAudit = Readonly<{ stream: StreamName; overMs: number }>;

const retired = namesOf(['StreamRetired']);

/** Whether it is said of all of a stream that it leaves the log. */
const isRetired = async ({ eventLog }: Deps, stream: StreamName): Promise<boolean> => {
  const last = await eventLog.last(stream);
  if (last === undefined || !retired.has(last.storedType)) return false;
  const [recorded] = await eventLog.load(stream, last.revision, []);
  return recorded?.event.type === 'StreamRetired' && isWhole(recorded.event);
};

/**
 * In the order of the log, at most `limit`; and when the first that is not over yet will be. Reads the log up to the first event of that
 * kind that is kept still.
 */
export const oldAuditStreams = async (
  deps: Deps,
  nowMs: number,
  { limit, signal }: Readonly<{ limit: number; signal?: AbortSignal }>,
): Promise<Readonly<{ over: readonly OldAudit[]; nextMs: number | undefined }>> => {
  const { eventLog, limits } = deps;
  const over: OldAudit[] = [];
  const seen = new Set<string>();
  let nextMs: number | undefined;
  const options = { kinds: ['audit', 'auditOrigins'], decrypt: [], unknown: 'listed', ...(signal && { signal }) } as const;
  for await (const { events } of eventLog.readAll(0, options)) {
    for (const { event, stream, metadata } of events) {
      if (seen.has(stream) || event.type === 'StreamRetired') continue;
      seen.add(stream);
      const overMs = auditOverAt(stream, limits.auditDays);
      if (overMs > nowMs) nextMs = Math.min(overMs, nextMs ?? overMs);
      else if (!(await isRetired(deps, stream as StreamName))) over.push({ stream: stream as StreamName, overMs });
      if (over.length >= limit || Date.parse(metadata.occurredAt) > nowMs - limits.auditDays * DAY_MS) return { over, nextMs };
    }
  }
  return { over, nextMs };
};
