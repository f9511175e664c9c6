/** Streams of the audit log whose month is over for as long as it is kept, and whose events are still in the log. */
import { isRetired, type LookForOld, type OldStream, type OldStreams, type OldStreamsDeps } from './old-streams.js';
import { auditOverAt } from '../domain/access/months.js';
import type { StreamName } from '../domain/core/ids.js';
import { DAY_MS } from '../domain/core/time.js';

/** At most `limit`. Reads the log up to the first event of that kind that is kept still. */
export const oldAuditStreams = async (deps: OldStreamsDeps, nowMs: number, { limit, signal }: LookForOld): Promise<OldStreams> => {
  const { eventLog, limits } = deps;
  const over: OldStream[] = [];
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
