/**
 * Which reads of people the audit log has of the last quarter of an hour, so that looking at one thing again makes no
 * further entry. The streams of the audit log are the record: a process learns what they have before it appends, and an
 * append after events of another process is refused and learns again.
 */
import { auditScopeOf } from '../../domain/audit/entry.js';
import type { AuditEvent } from '../../domain/audit/events.js';
import { EventUnknown, EventUnreadable } from '../../domain/core/errors.js';
import { auditStream, type StreamName } from '../../domain/core/ids.js';
import { isoTime } from '../../domain/core/time.js';
import { monthOf } from '../../domain/access/origins.js';
import type { Recorded } from '../../domain/events.js';
import type { EventLog } from '../../event-log/event-log.js';

export const QUARTER_HOUR_MS = 15 * 60_000;
/** Reads in memory. Beyond them the oldest are forgotten, and reading one of those again makes an entry again. */
const READS_MAX = 50_000;

const FIRST_PIECE_EVENTS = 100;
const PIECE_EVENTS_MAX = 25_600;

/** A read by its name, and when it was. `name`: undefined for what is noted each time. */
type Read = Readonly<{ name: string | undefined; at: string }>;

export type RecentReads = Readonly<{
  /** Whether an entry of that read is written or waits to be written. */
  isKnown: (read: Read) => boolean;
  /** Whether an entry of that read is in the log. */
  isWritten: (read: Read) => boolean;
  /** The entry of the read waits to be written. */
  waits: (read: Read) => void;
  /** The entry of the read does not wait any more. */
  waited: (read: Read) => void;
  written: (read: Read) => void;
  learn: (recorded: readonly Recorded[]) => void;
}>;

/** The name of a read: equal for reads of one person of which one entry is enough. */
export const readName = (scope: string, actor: string, action: string, target: string | null): string =>
  JSON.stringify([scope, actor, action, target]);

export const openRecentReads = (): RecentReads => {
  const written = new Map<string, number>();
  const waiting = new Map<string, number>();

  const isWithin = (times: ReadonlyMap<string, number>, { name, at }: Read): boolean => {
    const known = name === undefined ? undefined : times.get(name);
    return known !== undefined && Math.abs(Date.parse(at) - known) < QUARTER_HOUR_MS;
  };

  const add: RecentReads['written'] = ({ name, at }) => {
    if (name === undefined) return;
    const atMs = Date.parse(at);
    written.delete(name);
    written.set(name, atMs);
    // The oldest stand first, or nearly so: other processes have clocks of their own.
    for (const [first, sinceMs] of written) {
      if (written.size <= READS_MAX && atMs - sinceMs < QUARTER_HOUR_MS) return;
      written.delete(first);
    }
  };

  return {
    isKnown: (read) => isWithin(written, read) || isWithin(waiting, read),
    isWritten: (read) => isWithin(written, read),
    waits: ({ name, at }) => void (name !== undefined && waiting.set(name, Date.parse(at))),
    waited: ({ name }) => void (name !== undefined && waiting.delete(name)),
    written: add,
    learn: (recorded) => {
      for (const { event, metadata } of recorded) {
        const { type, data } = event as AuditEvent;
        const scope = auditScopeOf('', metadata);
        if (type === 'ContentRead' && scope !== undefined)
          add({ name: readName(scope, metadata.actor, data.action, data.target), at: data.at });
      }
    },
  };
};

/**
 * The events of an audit stream since a quarter of an hour before `at`, and at least the last one; with those of the
 * month before, if that has ended within this time. `stream`: that of `scope` in the month of `at`.
 */
export const latestEvents = async (
  { eventLog }: Readonly<{ eventLog: Pick<EventLog, 'last' | 'load'> }>,
  stream: StreamName,
  { scope, at }: Readonly<{ scope: string; at: string }>,
): Promise<Readonly<{ before: readonly Recorded[]; latest: readonly Recorded[] }>> => {
  const since = isoTime(Date.parse(at) - QUARTER_HOUR_MS);
  const latest = await eventsSince(eventLog, stream, since);
  const before =
    monthOf(since) === monthOf(at) ? [] : await eventsSince(eventLog, auditStream(scope, monthOf(since)), since);
  return { before, latest };
};

/** Reads a stream from its end, in pieces that grow. */
const eventsSince = async (
  eventLog: Pick<EventLog, 'last' | 'load'>,
  stream: StreamName,
  since: string,
): Promise<readonly Recorded[]> => {
  const last = await eventLog.last(stream);
  if (last === undefined) return [];
  for (let count = FIRST_PIECE_EVENTS; ; count *= 4) {
    const from = Math.max(0, last.revision + 1 - count);
    try {
      const recorded = await eventLog.load(stream, from, []);
      const isEnough = (recorded[0]?.metadata.occurredAt ?? '') < since;
      if (isEnough || from === 0 || count >= PIECE_EVENTS_MAX) return recorded;
    } catch (fault) {
      // A damaged entry must not keep new ones from being written: only the last event is needed for that.
      if (!(fault instanceof EventUnreadable || fault instanceof EventUnknown)) throw fault;
      return eventLog.load(stream, last.revision, []);
    }
  }
};
