/**
 * Takes the events of emails and bulk sends whose record is gone out of the log. Each pass reads the whole log and verifies it: what was
 * changed in it is not removed. First it is recorded what stays of a stream, then, once the read models have that, the rest is truncated.
 */
import { retireStream, type Retired, type RetireDeps } from '../commands/retire.js';
import { LEDGER_STREAM, type StreamName } from '../domain/ids.js';
import { isoTime } from '../domain/ports/clock.js';
import type { EventStore } from '../domain/ports/event-store.js';
import type { Worker } from '../domain/ports/worker.js';
import { DAY_MS, HOUR_MS } from '../domain/time.js';
import { RETIRED_WITHIN_DAYS } from '../domain/email/timers.js';
import type { LedgerEvent } from '../domain/team/events.js';
import { retirements } from '../event-log/retired-events.js';
import { verifyLog } from '../event-log/verification.js';
import { causeOfWork, type ProcessorDeps } from './deps.js';
import { recurringWorker, type LeaseDeps } from './lease.js';

export type RetireStreamsDeps = LeaseDeps &
  RetireDeps &
  Pick<ProcessorDeps, 'eventLog' | 'clock' | 'limits' | 'mayDestroy' | 'logger'> &
  Readonly<{
    store: Pick<EventStore, 'readAll' | 'readStream' | 'truncate' | 'head' | 'positions' | 'types'>;
    /** Streams whose time is over by then, the longest first, as far as the read models have it. */
    due: (now: string, limit: number) => Promise<readonly Readonly<{ stream: StreamName; dueAt: string }>[]>;
    /** Resolves when the read models have what was appended up to that position. */
    emailsCaughtUp: (position: number, signal: AbortSignal) => Promise<void>;
  }>;

const LOOK_EVERY_MS = HOUR_MS;
/** A pass reads the whole log, so it waits until the oldest has waited that long, or until there are very many. */
const PASS_EVERY_MS = RETIRED_WITHIN_DAYS * DAY_MS;
/** Streams of one pass. */
const STREAMS_MAX = 100_000;
/** So many are recorded before they are truncated: a crash leaves no more than these. */
const AT_ONCE = 200;

export const retireStreamsWorker = (deps: RetireStreamsDeps): Worker => {
  let passedMs: number | undefined;
  let hasFinished = false;
  return recurringWorker(deps, 'retire-streams', LOOK_EVERY_MS, async ({ fence, signal }) => {
    if (!deps.mayDestroy()) return;
    if (!hasFinished) hasFinished = await finishLast(deps, signal);
    if (passedMs !== undefined && deps.clock.monotonic() - passedMs < PASS_EVERY_MS) return;
    const nowMs = deps.clock.now();
    const due = await deps.due(isoTime(nowMs), STREAMS_MAX);
    const [oldest] = due;
    if (oldest === undefined || (Date.parse(oldest.dueAt) > nowMs - PASS_EVERY_MS && due.length < STREAMS_MAX)) return;
    const retired = await retireAll(deps, new Set(due.map(({ stream }) => stream)), signal, fence);
    if (!signal.aborted && retired < STREAMS_MAX / 2) passedMs = deps.clock.monotonic();
  });
};

/** What was recorded near the end of the log and not truncated, for the program ended in between. Out: false where it was broken off. */
const finishLast = async (deps: RetireStreamsDeps, signal: AbortSignal): Promise<boolean> => {
  const { store, eventLog } = deps;
  const last = await eventLog.last(LEDGER_STREAM);
  const [seal] = last === undefined ? [] : await eventLog.load(LEDGER_STREAM, Math.max(0, last.revision - SEALS_BACK));
  const event = seal?.event as LedgerEvent | undefined;
  const after = event?.type === 'LedgerSealed' ? event.data.position : 0;
  const near: EventStore['readAll'] = (position, options) => store.readAll(Math.max(position, after), options);
  for await (const { stream, first } of retirements({ readAll: near, types: store.types })) {
    if (signal.aborted) return false;
    await truncateTo(deps, stream, first);
  }
  return !signal.aborted;
};

/** In so many entries of the ledger far more happens than between a record and its truncation. */
const SEALS_BACK = 500;

const truncateTo = async ({ store }: RetireStreamsDeps, stream: string, first: number): Promise<void> => {
  const [event] = await store.readStream(stream);
  if (event !== undefined && event.revision < first) await store.truncate(stream, first);
};

/** Out: how many were taken out. Nothing is where the log is not what it was. */
export const retireAll = async (
  deps: RetireStreamsDeps,
  streams: ReadonlySet<StreamName>,
  signal: AbortSignal,
  fence?: number,
): Promise<number> => {
  const { store, logger } = deps;
  const ordinals = new Map<string, number>();
  let sealed = 0;
  const firsts = new Map<string, number>();
  for await (const { stream, first } of retirements(store)) firsts.set(stream, first);
  const unfinished = new Set<string>();
  const { finding } = await verifyLog(store, undefined, {
    chainsOf: streams,
    onEvent: ({ stream, revision, hash }, ordinal) => {
      if (streams.has(stream as StreamName)) ordinals.set(hash, ordinal);
      if (revision < (firsts.get(stream) ?? 0) && unfinished.size < STREAMS_MAX) unfinished.add(stream);
    },
    onSealed: (ordinal) => {
      sealed = ordinal;
    },
  });
  if (finding !== undefined) {
    logger.error({ position: finding.position, finding: finding.kind }, `nothing leaves the log, for it was changed: ${finding.message}`);
    return 0;
  }
  const ordinalOf = (hash: string): number | undefined => {
    const ordinal = ordinals.get(hash);
    return ordinal !== undefined && ordinal <= sealed ? ordinal : undefined;
  };
  for (const stream of unfinished) if (!signal.aborted) await truncateTo(deps, stream, firsts.get(stream) ?? 0);
  let count = 0;
  let recorded: Retired[] = [];
  for (const stream of streams) {
    if (signal.aborted) break;
    const cause = causeOfWork(
      deps,
      'retire-streams',
      { teamId: '', correlationId: 'retire-streams', causationId: 'retire-streams' },
      fence,
    );
    // Whoever appended to these did so under leases of other names.
    const { fence: _fence, ...unfenced } = cause;
    const retired = await retireStream(deps, stream, ordinalOf, unfenced);
    if (retired === undefined) continue;
    recorded.push(retired);
    count += 1;
    if (recorded.length < AT_ONCE) continue;
    await truncateAll(deps, recorded, signal);
    recorded = [];
  }
  await truncateAll(deps, recorded, signal);
  logger.info({ streams: count }, 'events of emails and bulk sends whose record is gone have left the log');
  return count;
};

/** Read models that have not read what is removed would have to make it up from what stays, which they can; so they are only waited for. */
const truncateAll = async (deps: RetireStreamsDeps, recorded: readonly Retired[], signal: AbortSignal): Promise<void> => {
  const last = recorded.at(-1);
  if (last === undefined || signal.aborted) return;
  await deps.emailsCaughtUp(last.position, signal);
  if (signal.aborted) return;
  for (const { stream, first } of recorded) await deps.store.truncate(stream, first);
};
