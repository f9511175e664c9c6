/**
 * Records who read and who was refused. Calls do not wait for it: they are answered first, and many facts of one stream
 * share an append.
 */
import type { CallOrigins } from '../access/origins.js';
import type { AccessNeeds } from '../access/needs.js';
import type { AuditEvent } from '../../domain/audit/events.js';
import { monthOf, type CallOrigin } from '../../domain/access/origins.js';
import { AppendUnknown, StoreAway, type AppendAttempt, WrongExpectedRevision } from '../../domain/core/errors.js';
import { assertDefined, auditStream, type StreamName } from '../../domain/core/ids.js';
import type { Logger } from '../../domain/ports/logger.js';
import { startOf, versionOf, type Cause, type StreamVersion } from '../../event-log/event-log.js';
import { boundedCache } from '../../shared/cache.js';
import { isoTime } from '../../domain/core/time.js';
import { latestEvents, openRecentReads, QUARTER_HOUR_MS, readName, type RecentReads } from './recent-reads.js';
import { auditActorOf, auditScopeOf } from '../../domain/audit/entry.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Worker } from '../../domain/ports/worker.js';

/** Caller of an audited call, as in the metadata of events. */
export type AuditedCall = Readonly<{ teamId: string; actor: string; requestId: string; calledFrom: () => CallOrigin }>;

/**
 * One fact of the audit log of a team, or a person. `tried`: by appends of which nobody knows what became. `name`: of
 * a read that has one entry in a quarter of an hour.
 */
type Noted = Readonly<{
  scope: string;
  event: AuditEvent;
  call: AuditedCall;
  at: string;
  name?: string | undefined;
  tried?: readonly Tried[];
}>;
type Tried = Readonly<{ after: number; eventId: string }>;

type AuditWriterDeps = Pick<AccessNeeds, 'eventLog'> &
  Readonly<{ origins: Pick<CallOrigins, 'keep'>; logger: Logger; reads: RecentReads }>;

const STREAMS_MAX = 1_000;

/** Out: what a server that is away has not taken, in order. */
const openAuditWriter = (deps: AuditWriterDeps): ((noted: readonly Noted[]) => Promise<readonly Noted[]>) => {
  const versions = boundedCache<StreamName, StreamVersion>({ entriesMax: STREAMS_MAX });

  const versionAt = async (stream: StreamName, [first]: readonly Noted[]): Promise<StreamVersion> => {
    const known = versions.get(stream);
    if (known !== undefined) return known;
    const { before, latest } = await latestEvents(deps, stream, assertDefined(first, 'entry'));
    deps.reads.learn([...before, ...latest]);
    const last = latest.at(-1);
    return last === undefined ? startOf(stream) : versionOf(last);
  };

  /** Out: what a server that is away has not taken, or of which it is not known whether it has. */
  const append = async (stream: StreamName, noted: readonly Noted[]): Promise<readonly Noted[]> => {
    for (;;) {
      let left = noted;
      try {
        const found = await notWritten(deps, stream, noted, versionAt);
        left = found.left.filter(({ name, at }) => !deps.reads.isWritten({ name, at }));
        if (left.length === 0) return [];
        const causes: Cause[] = [];
        for (const { call, at } of left) causes.push(await causeOfCall(deps, call, at));
        const events = left.map(({ event }) => event);
        // Not by `handle`: the events note refused calls and reads, and nothing about it is decided.
        versions.set(stream, await deps.eventLog.append(stream, found.version, events, causes as [Cause, ...Cause[]]));
        for (const { name, at } of left) deps.reads.written({ name, at });
        return [];
      } catch (fault) {
        versions.delete(stream);
        if (fault instanceof AppendUnknown) return left.map((one, index) => triedBy(one, fault.attempt, index));
        if (fault instanceof StoreAway) return left;
        if (!(fault instanceof WrongExpectedRevision)) throw fault;
      }
    }
  };

  return async (noted) => {
    const left: Noted[] = [];
    for (const [stream, some] of byStream(noted)) {
      try {
        left.push(...(await append(stream, some)));
      } catch (fault) {
        deps.logger.warn(
          { err: fault instanceof Error ? fault : new Error('not an Error'), lost: some.length },
          'reads and refusals could not be recorded',
        );
      }
    }
    return left;
  };
};

type NotWritten = Readonly<{ version: StreamVersion; left: readonly Noted[] }>;

/**
 * Events that are not in the stream yet, and the version of the stream at that time: an earlier attempt that arrives
 * later is refused by its version.
 */
const notWritten = async (
  { eventLog, reads }: Pick<AuditWriterDeps, 'eventLog' | 'reads'>,
  stream: StreamName,
  noted: readonly Noted[],
  versionAt: (stream: StreamName, noted: readonly Noted[]) => Promise<StreamVersion>,
): Promise<NotWritten> => {
  const tries = noted.flatMap(({ tried = [] }) => tried);
  if (tries.length === 0) return { version: await versionAt(stream, noted), left: noted };
  const written = await eventLog.load(stream, Math.min(...tries.map(({ after }) => after)) + 1, []);
  reads.learn(written);
  const ids = new Set(written.map(({ metadata }) => metadata.eventId));
  const left = noted.filter(({ tried = [] }) => !tried.some(({ eventId }) => ids.has(eventId)));
  const last = written.at(-1);
  return { version: last === undefined ? await versionAt(stream, noted) : versionOf(last), left };
};

const triedBy = (noted: Noted, { after, eventIds }: AppendAttempt, index: number): Noted => {
  const eventId = eventIds[index];
  return eventId === undefined ? noted : { ...noted, tried: [...(noted.tried ?? []), { after, eventId }] };
};

const byStream = (noted: readonly Noted[]): ReadonlyMap<StreamName, readonly Noted[]> => {
  const streams = new Map<StreamName, Noted[]>();
  for (const one of noted) {
    const stream = auditStream(one.scope, monthOf(one.at));
    const known = streams.get(stream);
    if (known === undefined) streams.set(stream, [one]);
    else known.push(one);
  }
  return streams;
};

const causeOfCall = async (
  { origins }: Pick<AuditWriterDeps, 'origins'>,
  { teamId, actor, requestId, calledFrom }: AuditedCall,
  at: string,
): Promise<Cause> => {
  const cause: Cause = { teamId, actor, correlationId: requestId, causationId: requestId, at };
  const origin = await origins.keep(cause, calledFrom());
  return origin === undefined ? cause : { ...cause, origin };
};

/** `target`: kind and id, as `email:…`. `endpoint`: method and pattern. */
export type AuditRecorder = Readonly<{
  /**
   * Something of what mails say was read, or taken away. `isOnce`: a person's reads of one target within a quarter of an
   * hour have one entry, across processes and restarts. A read for which there is no room is not recorded; the program
   * logs that.
   */
  read: (call: AuditedCall, action: string, target: string | null, isOnce?: true) => void;
  denied: (call: AuditedCall, endpoint: string, code: string, target: string | null) => void;
  /** Writes what was noted; when it is stopped, what is left of it once more. */
  worker: Worker;
  /** How many facts and counts wait to be written. */
  waiting: () => number;
}>;

type Deps = Omit<AuditWriterDeps, 'reads'> & Readonly<{ clock: Clock }>;
type QueueDeps = AuditWriterDeps & Readonly<{ clock: Clock }>;

/** `call`: the first of them. */
type Counted = { readonly scope: string; readonly call: AuditedCall; readonly data: CountedData; count: number };
type CountedData = Omit<Extract<AuditEvent, { type: 'CallsCounted' }>['data'], 'at' | 'minute' | 'count'>;

const WAITING_MAX = 10_000;
/** Actors and actions that are counted apart within one minute. */
const COUNTS_MAX = 10_000;
/** Entries of their own that one person may cause within a minute; further ones are counted. */
const OF_PERSON_MAX = 60;
/**
 * Reads with one entry in a quarter of an hour have an allowance of their own, so that a person who looks through mails
 * has an entry for each. It covers the record, the timeline and the content of 400 mails; further reads are counted.
 */
const ONCE_OF_PERSON_MAX = 1_200;
const AT_ONCE = 100;
const MINUTE_MS = 60_000;
const RETRY_AFTER_MS = 1_000;

export const openAuditRecorder = (deps: Deps): AuditRecorder => {
  const { clock } = deps;
  const reads = openRecentReads();
  const queue = openQueue({ ...deps, reads });
  const ofMinute = openAllowance(OF_PERSON_MAX, MINUTE_MS);
  const onceOfQuarterHour = openAllowance(ONCE_OF_PERSON_MAX, QUARTER_HOUR_MS);

  const note = (
    call: AuditedCall,
    event: (at: string) => AuditEvent,
    counted: CountedData,
    nameIn?: (scope: string) => string,
  ): void => {
    const scope = auditScopeOf('', call);
    if (scope === undefined) return;
    const now = clock.now();
    const at = isoTime(now);
    queue.turnMinute(at);
    const isPerson = auditActorOf(call.actor).type === 'user';
    const name = isPerson ? nameIn?.(scope) : undefined;
    if (reads.isKnown({ name, at })) return;
    const allowance = name === undefined ? ofMinute : onceOfQuarterHour;
    if (!isPerson || !allowance(call.actor, now)) {
      // The count stands for its entry.
      reads.written({ name, at });
      return queue.count(scope, call, counted);
    }
    // Taken while the request is there.
    const from = call.calledFrom();
    if (queue.add({ scope, call: { ...call, calledFrom: () => from }, at, event: event(at), name }))
      reads.waits({ name, at });
  };

  return {
    read: (call, action, target, isOnce) =>
      note(
        call,
        (at) => ({ type: 'ContentRead', data: { at, action, target } }),
        { what: 'read', action, code: null },
        isOnce && ((scope) => readName(scope, call.actor, action, target)),
      ),
    denied: (call, endpoint, code, target) =>
      note(call, (at) => ({ type: 'CallDenied', data: { at, endpoint, code, target } }), {
        what: 'denied',
        action: endpoint,
        code,
      }),
    worker: {
      name: 'record-audit',
      run: async (signal) => {
        while (!signal.aborted) {
          const woken = until(signal, queue.wakeBy, queue.facts() > 0);
          if (!(await queue.writeAll())) await clock.sleep(RETRY_AFTER_MS, signal);
          else if (!signal.aborted) await pause(clock, signal, woken);
        }
        queue.closeCounts(isoTime(clock.now()));
        await queue.writeAll();
      },
    },
    waiting: queue.size,
  };
};

/**
 * Bounds the entries of each actor within a window, which begins at a multiple of its length. Out: takes one; false
 * where none is left.
 */
const openAllowance = (max: number, windowMs: number): ((actor: string, nowMs: number) => boolean) => {
  const taken = new Map<string, number>();
  let window = 0;
  return (actor, nowMs) => {
    const current = Math.floor(nowMs / windowMs);
    if (current !== window) taken.clear();
    window = current;
    const before = taken.get(actor) ?? 0;
    if (before >= max) return false;
    taken.set(actor, before + 1);
    return true;
  };
};

type Queue = Readonly<{
  /** Out: false where there is no room. */
  add: (noted: Noted) => boolean;
  /** Counts one more call in the minute of the last turn. */
  count: (scope: string, call: AuditedCall, data: CountedData) => void;
  /** Starts a minute; the counts of the one before wait to be written. */
  turnMinute: (at: string) => void;
  closeCounts: (at: string) => void;
  /** Out: false where a server is away, so that it must be tried again. */
  writeAll: () => Promise<boolean>;
  /** Sets the function that is called when there is something to write. */
  wakeBy: (go: () => void) => void;
  facts: () => number;
  size: () => number;
}>;

const openQueue = (deps: QueueDeps): Queue => {
  const { clock, logger } = deps;
  const write = openAuditWriter(deps);
  const waiting: Noted[] = [];
  let minute = '';
  let wake = (): void => {};
  let isFull = false;

  const full = (): void => {
    if (!isFull)
      logger.warn(
        { waiting: waiting.length },
        'reads and refusals come faster than they can be recorded; some are not',
      );
    isFull = true;
  };

  const add = (noted: Noted): boolean => {
    if (waiting.length >= WAITING_MAX) {
      full();
      return false;
    }
    isFull = false;
    waiting.push(noted);
    wake();
    return true;
  };

  const counts = openCounts(full);

  const closeCounts: Queue['closeCounts'] = (at) => {
    for (const { scope, call, data, count } of counts.takeAll())
      add({ scope, call, at, event: { type: 'CallsCounted', data: { at, minute, ...data, count } } });
  };

  const turnMinute: Queue['turnMinute'] = (at) => {
    const now = `${at.slice(0, 16)}:00.000Z`;
    if (now === minute) return;
    closeCounts(at);
    minute = now;
  };

  const writeAll = async (): Promise<boolean> => {
    turnMinute(isoTime(clock.now()));
    while (waiting.length > 0) {
      const some = waiting.splice(0, AT_ONCE);
      const left = await write(some);
      const waitsStill = new Set(left.map(({ name }) => name));
      for (const { name, at } of some) if (!waitsStill.has(name)) deps.reads.waited({ name, at });
      if (left.length === 0) continue;
      waiting.unshift(...left);
      return false;
    }
    return true;
  };

  return {
    add,
    count: counts.count,
    turnMinute,
    closeCounts,
    writeAll,
    wakeBy: (go) => void (wake = go),
    facts: () => waiting.length,
    size: () => waiting.length + counts.size(),
  };
};

/** `full`: called where there is no room for more. */
const openCounts = (
  full: () => void,
): Pick<Queue, 'count' | 'size'> & Readonly<{ takeAll: () => readonly Counted[] }> => {
  const counts = new Map<string, Counted>();
  return {
    count: (scope, call, data) => {
      const key = JSON.stringify([scope, call.actor, data]);
      const known = counts.get(key);
      if (known !== undefined) {
        known.count += 1;
        return;
      }
      if (counts.size >= COUNTS_MAX) return full();
      const from = call.calledFrom();
      counts.set(key, { scope, call: { ...call, calledFrom: () => from }, data, count: 1 });
    },
    takeAll: () => {
      const all = [...counts.values()];
      counts.clear();
      return all;
    },
    size: () => counts.size,
  };
};

/** Until there is something to write, or the minute of the counts may be over. */
const pause = async (clock: Pick<Clock, 'sleep' | 'now'>, signal: AbortSignal, woken: Promise<void>): Promise<void> => {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  try {
    await Promise.race([woken, clock.sleep(MINUTE_MS - (clock.now() % MINUTE_MS), either)]);
  } finally {
    over.abort();
  }
};

/** Resolves when it is woken, or the signal aborts; at once where there is something already. */
const until = (signal: AbortSignal, wakeBy: (go: () => void) => void, isThere: boolean): Promise<void> =>
  new Promise((resolve) => {
    const go = (): void => {
      signal.removeEventListener('abort', go);
      wakeBy(() => {});
      resolve();
    };
    if (isThere || signal.aborted) return go();
    signal.addEventListener('abort', go, { once: true });
    wakeBy(go);
  });
