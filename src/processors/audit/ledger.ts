/**
 * Workers that guard the log: they seal it in the ledger (the root of a Merkle tree over the total order), note its end
 * in the other stores, and forget audit entries and origins whose time is over.
 */
import { noteLog, type LogToNote } from '../../commands/core/log-notes.js';
import type { NotedStores } from '../../domain/ports/log-note.js';
import type { Worker } from '../../domain/ports/worker.js';
import { underLease, type LeaseDeps, recurringWorker } from '../core/lease.js';
import { forgetOrigins } from '../../commands/access/origins.js';
import { loadState } from '../../commands/core/handle.js';
import type { EmailNeeds } from '../../commands/email/needs.js';
import { sendAccountMail } from '../../commands/email/service-mails.js';
import { AUDIT_RETENTION_STREAM, emailIdOfFingerprint, type StreamName, LEDGER_STREAM } from '../../domain/core/ids.js';
import { isoTime, CLOCKS_APART_MS, DAY_MS, HOUR_MS } from '../../domain/core/time.js';
import type { Cause } from '../../event-log/event-log.js';
import { causeOfWork, type ProcessorDeps } from '../core/declaration.js';
import type { Logger } from '../../domain/ports/logger.js';
import type { Sealing, SignedSeal } from '../../domain/ports/keys.js';
import { OutboundFault, type OutboundPost } from '../../domain/ports/outbound-http.js';
import type { SealedUnder } from '../../event-log/encode.js';
import { newestSeal, sealSegments, signSeal, type LedgerState, evolveLedger } from '../../event-log/ledger.js';
import type { EventStore } from '../../domain/ports/event-store.js';

type SealDeps = Pick<ProcessorDeps, 'eventLog' | 'clock' | 'limits'> &
  Readonly<{ store: Pick<EventStore, 'readAll' | 'head'>; /** Absent: seals are not signed. */ sealKey?: SealedUnder }>;

/** `awayMs`: how long nobody had seen the instance when it started; undefined where it never ran before. */
type SealWorkerDeps = SealDeps &
  LeaseDeps &
  Readonly<{
    awayMs: number | undefined;
    /** Called after each sealing; absent: seals are told nowhere. */
    tell?: (signal: AbortSignal) => Promise<void>;
  }>;

type TellDeps = Readonly<{
  store: Pick<EventStore, 'readLast' | 'readStream'>;
  sealing: Pick<Sealing, 'webhook' | 'keep'>;
  webhooks: Readonly<{ outbound: Pick<OutboundPost, 'post'> }>;
  logger: Logger;
  /** Mails the seal; a seal of the same day is mailed once. Absent: seals are not mailed. */
  mail?: (seal: SignedSeal) => Promise<void>;
}>;

const SEEN_EVERY_MS = 60 * 60_000;
/** A pause as short as that of a restart is not recorded. */
const AWAY_MIN_MS = 60_000;

/** Heartbeats stand in the same stream, so the one worker that appends to it writes them, too. */
export const sealLedgerWorker = (deps: SealWorkerDeps): Worker => {
  const { awayMs = 0, clock } = deps;
  const wasAway = Math.abs(awayMs) >= AWAY_MIN_MS;
  let seenMs = wasAway ? undefined : clock.monotonic();
  return {
    name: 'seal-ledger',
    run: (stop) =>
      underLease(deps, 'seal-ledger', stop, async ({ fence, signal }) => {
        while (!signal.aborted) {
          if (seenMs === undefined || clock.monotonic() - seenMs >= SEEN_EVERY_MS) {
            await recordSeen(deps, seenMs === undefined ? Math.round(awayMs) : null, fence);
            seenMs = clock.monotonic();
          }
          await sealOnce(deps, signal, fence);
          await deps.tell?.(signal);
          await clock.sleep(deps.limits.ledgerSealEveryMs, signal);
        }
      }),
  };
};

const loadLedger = (deps: SealDeps) =>
  loadState(deps.eventLog, LEDGER_STREAM, { evolve: evolveLedger, initialState: undefined as LedgerState });

const causeOf = (deps: SealDeps, fence: number | undefined) =>
  causeOfWork(deps, 'seal-ledger', { teamId: '', correlationId: 'seal-ledger', causationId: 'seal-ledger' }, fence);

const recordSeen = async (deps: SealDeps, awayMs: number | null, fence: number): Promise<void> => {
  const { version } = await loadLedger(deps);
  const cause = causeOf(deps, fence);
  // Not by `handle`: the event notes that this instance runs, and nothing about it is decided.
  await deps.eventLog.append(LEDGER_STREAM, version, [{ type: 'InstanceSeen', data: { at: cause.at, awayMs } }], cause);
};

/** Seals everything up to now in segments of a bounded size. Out: how many seals were appended. */
export const sealOnce = async (deps: SealDeps, signal: AbortSignal, fence?: number): Promise<number> => {
  const loaded = await loadLedger(deps);
  let version = loaded.version;
  let seals = 0;
  const cause = causeOf(deps, fence);
  for await (const seal of sealSegments(deps.store, loaded.state, deps.limits.ledgerSealEveryEvents, signal)) {
    const data = await signSeal(await deps.sealKey?.(), cause.at, seal);
    // Not by `handle`: a seal is calculated from the log under a lease, and nothing about it is decided.
    version = await deps.eventLog.append(LEDGER_STREAM, version, [{ type: 'LedgerSealed', data }], cause);
    seals += 1;
  }
  return seals;
};

const TELL_TIMEOUT_MS = 10_000;

/**
 * Out: tells the newest seal at each place that does not know it yet. It covers all before it, so one that a place
 * missed need not be told there again.
 */
export const openSealNotices = ({ store, sealing, webhooks, logger, mail }: TellDeps) => {
  const post = async (seal: SignedSeal, signal: AbortSignal): Promise<void> => {
    if (sealing.webhook === undefined) return;
    const { status } = await webhooks.outbound.post(sealing.webhook, {
      sender: 'seals',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(seal),
      answerBytesMax: 0,
      timeoutMs: TELL_TIMEOUT_MS,
      signal,
    });
    if (status < 200 || status > 299) throw new Error(`it answered ${status}`);
  };
  const each = ({ position }: SignedSeal): string => String(position);
  const places: readonly Readonly<{ name: string; tell: typeof post; keyOf: typeof each }>[] = [
    { name: 'SEALPOST_SEAL_WEBHOOK', tell: post, keyOf: each },
    { name: 'SEALPOST_SEAL_FILE', tell: (seal) => sealing.keep(seal), keyOf: each },
    // The events of the mail itself are sealed on the same day, so one mail does not lead to the next.
    ...(mail === undefined ? [] : [{ name: 'SEALPOST_SEAL_MAIL', tell: mail, keyOf: dayOf }]),
  ];
  /** Last seal that each place was told. */
  const told = new Map<string, string>();
  return async (signal: AbortSignal): Promise<void> => {
    const seal = await newestSeal(store);
    if (seal === undefined) return;
    for (const { name, tell, keyOf } of places) {
      if (told.get(name) === keyOf(seal) || signal.aborted) continue;
      try {
        await tell(seal, signal);
        told.set(name, keyOf(seal));
      } catch (fault) {
        if (signal.aborted) return;
        // The message of a fault may name the address, so only its kind is told.
        logger.warn(
          { setting: name, fault: faultOf(fault) },
          'the newest seal could not be told outside; it is tried again with the next seal',
        );
      }
    }
  };
};

const dayOf = ({ at }: SignedSeal): string => at.slice(0, 10);

/** Mails a seal; one of the same day to the same address is mailed once, whichever process does it. */
export const mailSeal = async (deps: EmailNeeds, to: string, seal: SignedSeal): Promise<void> => {
  const { at, position, root } = seal;
  const id = emailIdOfFingerprint(deps.keys.fingerprint('email id', JSON.stringify(['log-sealed', to, dayOf(seal)])));
  const variables = { at: `${at.slice(0, 16).replace('T', ' ')} UTC`, position, root };
  const cause = causeOfWork(deps, 'seal-ledger', {
    teamId: '',
    correlationId: 'seal-ledger',
    causationId: 'seal-ledger',
  });
  await sendAccountMail(deps, { kind: 'log-sealed', to: { email: to }, variables, id }, cause);
};

const faultOf = (fault: unknown): string =>
  fault instanceof OutboundFault
    ? fault.fault
    : fault instanceof Error && 'code' in fault
      ? String(fault.code)
      : 'refused';

const NOTE_EVERY_MS = 60_000;

/**
 * Notes the end of the log in the other stores every minute, so that the next start recognises an older copy of any of
 * them.
 */
export const noteLogWorker = (deps: LeaseDeps & Readonly<{ store: LogToNote; noted: NotedStores }>): Worker => ({
  name: 'note-log',
  run: (stop) =>
    underLease(deps, 'note-log', stop, async ({ signal }) => {
      while (!signal.aborted) {
        await noteLog(deps.store, deps.noted);
        await deps.clock.sleep(NOTE_EVERY_MS, signal);
      }
    }),
});

type ForgetAuditDeps = LeaseDeps &
  Pick<ProcessorDeps, 'eventLog' | 'clock' | 'limits' | 'mayDestroy'> &
  Readonly<{
    /**
     * Expired data, as far as the read models have caught up: the streams of origins, and the entries up to a moment.
     */
    overdue: (
      now: string,
      entriesUpTo: string,
      limit: number,
    ) => Promise<Readonly<{ origins: readonly StreamName[]; entries: readonly string[] }>>;
    /** Resolves when the read models have what was appended up to that position. */
    auditCaughtUp: (position: number, signal: AbortSignal) => Promise<void>;
  }>;

/** Entries or origins per round: one fact names each entry. */
const AT_ONCE = 500;

export const forgetAuditWorker = (deps: ForgetAuditDeps): Worker =>
  recurringWorker(deps, 'forget-audit', HOUR_MS, async ({ fence, signal }) => {
    if (deps.mayDestroy()) await forgetOverdue(deps, signal, fence);
  });

/** Repeats what a crash has left: what is told as overdue once more is forgotten once more. */
const forgetOverdue = async (deps: ForgetAuditDeps, signal: AbortSignal, fence: number): Promise<void> => {
  while (!signal.aborted) {
    await deps.auditCaughtUp(await deps.eventLog.head(), signal);
    if (signal.aborted) return;
    const nowMs = deps.clock.now();
    const upTo = isoTime(nowMs - deps.limits.auditDays * DAY_MS - CLOCKS_APART_MS);
    const { origins, entries } = await deps.overdue(isoTime(nowMs), upTo, AT_ONCE);
    const cause = causeOfWork(
      deps,
      'forget-audit',
      { teamId: '', correlationId: 'forget-audit', causationId: 'forget-audit' },
      fence,
    );
    // The command appends to these streams without a lease.
    const { fence: _fence, ...unfenced } = cause;
    for (const stream of origins) await forgetOrigins(deps.eventLog, stream, unfenced);
    if (entries.length > 0) await forgetEntries(deps, entries, cause);
    if (origins.length < AT_ONCE && entries.length < AT_ONCE) return;
  }
};

const forgetEntries = async ({ eventLog }: ForgetAuditDeps, ids: readonly string[], cause: Cause): Promise<void> => {
  const { version } = await loadState(eventLog, AUDIT_RETENTION_STREAM, {
    evolve: (state: null) => state,
    initialState: null,
  });
  // Not by `handle`: the event notes what was forgotten, and nothing about it is decided.
  await eventLog.append(
    AUDIT_RETENTION_STREAM,
    version,
    [{ type: 'AuditEntriesForgotten', data: { at: cause.at, ids: [...ids] } }],
    cause,
  );
};
