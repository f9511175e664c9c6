/**
 * Takes the events of streams whose time is over out of the log: of emails and bulk sends without a record, of months of the audit log, of removed
 * teams. Each pass verifies the whole log first, so that nothing that was changed is removed. It appends what stays of a stream, waits until the
 * read models have that, and truncates the rest.
 */
import { retireStream, type RetireDeps, type OrdinalOf, type Retired } from '../../commands/retention/retirement.js';
import { LEDGER_STREAM, type StreamName } from '../../domain/core/ids.js';
import { isoTime, DAY_MS, HOUR_MS } from '../../domain/core/time.js';
import type { EventStore } from '../../domain/ports/event-store.js';
import type { Worker } from '../../domain/ports/worker.js';
import { RETIRED_WITHIN_DAYS } from '../../domain/email/timers.js';
import type { LedgerEvent } from '../../domain/teams/events.js';
import { retirements, truncateRetired } from '../../event-log/retirement.js';
import { verifyLog } from '../../event-log/verification.js';
import { causeOfWork, type ProcessorDeps } from '../core/declaration.js';
import { recurringWorker, type LeaseDeps } from '../core/lease.js';

export type RetireStreamsDeps = LeaseDeps &
  RetireDeps &
  Pick<ProcessorDeps, 'eventLog' | 'clock' | 'limits' | 'mayDestroy' | 'logger'> &
  Readonly<{
    store: Pick<EventStore, 'readAll' | 'readStream' | 'truncate' | 'head' | 'positions' | 'types'>;
    /** Streams whose time is over by then, the longest first, as far as the read models have it. */
    due: (now: string, limit: number) => Promise<readonly Readonly<{ stream: StreamName; dueAt: string }>[]>;
    /**
     * Streams of the audit log, and of teams that were removed, that are over at that moment; undefined while the audit log lists anything
     * as old. Reads much of the log.
     */
    dueWhole: (nowMs: number, limit: number, signal: AbortSignal) => Promise<readonly StreamName[] | undefined>;
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
  let lookedMs: number | undefined;
  let hasFinished = false;
  const isEarly = (sinceMs: number | undefined): boolean => sinceMs !== undefined && deps.clock.monotonic() - sinceMs < PASS_EVERY_MS;
  return recurringWorker(deps, 'retire-streams', LOOK_EVERY_MS, async ({ fence, signal }) => {
    if (!deps.mayDestroy()) return;
    if (!hasFinished) hasFinished = await finishLast(deps, signal);
    if (isEarly(passedMs) || signal.aborted) return;
    const [nowMs, startedMs] = [deps.clock.now(), deps.clock.monotonic()];
    const found = isEarly(lookedMs) ? [] : await deps.dueWhole(nowMs, STREAMS_MAX, signal);
    if (signal.aborted) return;
    const whole = found ?? [];
    if (!isEarly(lookedMs) && found?.length === 0) lookedMs = startedMs;
    const due = await deps.due(isoTime(nowMs), STREAMS_MAX - whole.length);
    const oldest = due[0]?.dueAt ?? isoTime(nowMs);
    if (whole.length === 0 && Date.parse(oldest) > nowMs - PASS_EVERY_MS && due.length < STREAMS_MAX) return;
    // What is recorded and not truncated when this is broken off is found at the next look.
    hasFinished = false;
    const retired = await retireAll(deps, new Set([...whole, ...due.map(({ stream }) => stream)]), signal, fence);
    if (signal.aborted) return;
    hasFinished = true;
    if (whole.length > 0) lookedMs = startedMs;
    if (retired < STREAMS_MAX / 2) passedMs = startedMs;
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
    if (first !== undefined) await truncateRetired(store, deps.keys, stream);
  }
  return !signal.aborted;
};

/** In so many entries of the ledger far more happens than between a record and its truncation. */
const SEALS_BACK = 500;

/** Out: how many were taken out. Nothing is where the log is not what it was. */
export const retireAll = async (
  deps: RetireStreamsDeps,
  streams: ReadonlySet<StreamName>,
  signal: AbortSignal,
  fence?: number,
): Promise<number> => {
  const { store, logger } = deps;
  const ordinals = new Map<string, number[]>();
  let sealed = 0;
  const unfinished = new Set<string>();
  const { finding } = await verifyLog(store, undefined, {
    keys: deps.keys,
    chainsOf: streams,
    onEvent: ({ stream, revision }, ordinal, isLeaving) => {
      if (streams.has(stream as StreamName)) {
        const known = ordinals.get(stream) ?? [];
        known[revision] = ordinal;
        ordinals.set(stream, known);
      }
      if (isLeaving && unfinished.size < STREAMS_MAX) unfinished.add(stream);
    },
    onSealed: (ordinal) => {
      sealed = ordinal;
    },
  });
  if (finding !== undefined) {
    logger.error({ position: finding.position, finding: finding.kind }, `nothing leaves the log, for it was changed: ${finding.message}`);
    return 0;
  }
  const ordinalOf: OrdinalOf = (stream, revision) => {
    const ordinal = ordinals.get(stream)?.[revision];
    return ordinal !== undefined && ordinal <= sealed ? ordinal : undefined;
  };
  for (const stream of unfinished) if (!signal.aborted) await truncateRetired(store, deps.keys, stream);
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
  logger.info({ streams: count }, 'streams whose time is over have left the log');
  return count;
};

/** Read models that have not read what is removed would have to make it up from what stays, which they can; so they are only waited for. */
const truncateAll = async (deps: RetireStreamsDeps, recorded: readonly Retired[], signal: AbortSignal): Promise<void> => {
  const last = recorded.at(-1);
  if (last === undefined || signal.aborted) return;
  await deps.emailsCaughtUp(last.position, signal);
  if (signal.aborted) return;
  for (const { stream } of recorded) await truncateRetired(deps.store, deps.keys, stream);
};
