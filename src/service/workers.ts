/** What runs beside the requests: the projections, the processors, and the workers that look after the stores. */
import { slicesOfLoop } from '../adapters/clock/event-loop.js';
import { turnsOfLoop } from '../adapters/clock/turns.js';
import { tellOwners } from '../commands/webhooks/disabled-mail.js';
import type { ClockTrust } from './ops/clock.js';
import type { Config } from './settings/config.js';
import type { Worker } from '../domain/ports/worker.js';
import { timersOf } from '../domain/core/timers.js';
import type { Engine } from './engine.js';
import type { Processor } from '../processors/core/declaration.js';
import type { ProcessorDeps } from '../processors/core/deps.js';
import { dueWorkWorker } from '../processors/core/due-work.js';
import { endSessionsWorker } from '../processors/people/sessions.js';
import { eraseWorker } from '../processors/privacy/erase.js';
import { makeProcessors } from '../processors/index.js';
import type { LeaseDeps } from '../processors/core/lease.js';
import { lookAfterTeamsWorker } from '../processors/teams/teams.js';
import { forgetAuditWorker } from '../processors/audit/forget-audit.js';
import { retireStreamsWorker } from '../processors/retention/retirement.js';
import { isDayFull, retirableStreams } from '../projections/retention/retirable.js';
import { noteLogWorker } from '../processors/audit/note-log.js';
import { openOverflow } from '../processors/core/overflow.js';
import { relayWorker } from '../processors/core/relay.js';
import { returnCreditsWorker } from '../processors/billing/billing.js';
import { sealLedgerWorker } from '../processors/audit/ledger.js';
import type { StuckWork } from '../processors/core/stuck.js';
import { sweepWorker } from '../processors/retention/sweep.js';
import { storedAttachmentBytes } from '../projections/email/attachment-usage.js';
import { AUDIT } from '../projections/audit/audit.js';
import { EMAILS } from '../projections/email/emails.js';
import { overdueAudit } from '../projections/audit/queries.js';
import { addressIndex } from '../projections/privacy/traces.js';
import { readBatchEnds } from '../projections/bulk/batches.js';
import { feederOf, type Runners } from './projecting.js';
import { WEBHOOKS } from '../projections/webhooks/webhooks.js';
import { dueFailures, keptWebhooks, removableParts } from '../projections/webhooks/reads.js';
import { deliverWebhooksWorker } from '../processors/webhooks/delivery.js';
import { removeWebhookRecordsWorker } from '../processors/webhooks/remove-webhook-records.js';
import { routeWebhooksWorker } from '../processors/webhooks/router.js';
import { unusedSessions } from '../projections/people/sessions.js';
import { returnedUpTo } from '../projections/billing/credits.js';
import { teamsToLapse, teamsToRemove } from '../projections/teams/teams.js';
import { isoTime } from '../domain/core/iso-time.js';
import { CLOCKS_APART_MS } from '../domain/core/restore-period.js';
import { DAY_MS } from '../domain/core/time.js';
import { PEOPLE_FROM, RECORD_REMOVALS_FROM } from '../domain/core/write-level.js';
import { oldAuditStreams } from '../event-log/old-audit.js';
import { oldTeamStreams } from '../event-log/old-teams.js';
import type { Surroundings } from './ports.js';

export type WorkerParts = Engine &
  Surroundings &
  LeaseDeps &
  Readonly<{ runners: Runners; stuck: StuckWork; clockTrust: ClockTrust; cutOff: AbortSignal }>;

export type Workers = Readonly<{ projecting: readonly Worker[]; processing: readonly Worker[]; processors: readonly Processor[] }>;

export const makeWorkers = (config: Config, parts: WorkerParts): Workers => {
  const { runners, limits, clockTrust } = parts;
  const { mayDestroy, awayMs } = clockTrust;
  const deps: ProcessorDeps = {
    ...parts,
    mayDestroy,
    timersCaughtUp: (kind, position, signal) => feederOf(runners, limits, timersOf(kind)).caughtUp(position, signal),
    nextTurn: turnsOfLoop(),
    inFlightMax: limits.lanes,
  };
  const processors = makeProcessors({
    ...parts,
    ...composedOf(parts),
    mayDestroy,
    turnFor: slicesOfLoop(),
    schedule: { delaysMs: config.retryDelaysMs },
    batchEnds: readBatchEnds(parts.readModels),
    addressIndex: addressIndex(parts.readModels),
    emailsCaughtUp: async (signal) => deps.timersCaughtUp('email', await parts.eventLog.head(), signal),
    storedBytes: storedAttachmentBytes(parts),
  });
  const overflow = openOverflow();
  const { kept, due } = webhookReading(parts);
  return {
    processors: config.roles.includes('process') ? processors : [],
    projecting: config.roles.includes('project') ? [...runners.values()].map(({ worker }) => worker) : [],
    processing: config.roles.includes('process')
      ? [
          ...(config.roles.includes('http') ? [] : [{ name: 'follow-states', run: parts.followStates }]),
          relayWorker(deps, processors, overflow),
          dueWorkWorker(deps, processors, overflow),
          ...processors.map(({ worker }) => worker(deps)),
          sealLedgerWorker({ ...parts, awayMs }),
          eraseWorker(parts),
          endSessionsWorker({ ...parts, ...deps, unused: (upTo, limit) => unusedSessions(parts.readModels, upTo, limit) }),
          returnCreditsWorker({ ...parts, returnedUpTo }),
          routeWebhooksWorker({ ...parts, keptUpTo: kept }),
          deliverWebhooksWorker({ ...parts, keptUpTo: kept, due, tellOwners: (disabled, cause) => tellOwners(parts, disabled, cause) }),
          removeWebhookRecordsWorker({ ...parts, ...deps, removable: (upTo, limit) => removableParts(parts.readModels, upTo, limit) }),
          ...(parts.codec.level < PEOPLE_FROM ? [] : [lookAfterTeamsWorker({ ...parts, mayDestroy, ...teamReading(parts) })]),
          forgetAuditWorker({
            ...parts,
            ...deps,
            overdue: (now, entriesUpTo, limit) => overdueAudit(parts.readModels, now, entriesUpTo, limit),
            auditCaughtUp: (position, signal) => feederOf(runners, limits, AUDIT).caughtUp(position, signal),
          }),
          ...(parts.codec.level < RECORD_REMOVALS_FROM ? [] : [retireStreamsWorker({ ...parts, ...deps, ...retiring(parts) })]),
          noteLogWorker(parts),
          sweepWorker({ ...parts, ...deps, mailbox: parts.mailbox?.mailbox }),
        ]
      : [],
  };
};

const retiring = ({ readModels, runners, limits, eventLog }: WorkerParts) => ({
  dueWhole: async (nowMs: number, limit: number, signal: AbortSignal) => {
    await feederOf(runners, limits, AUDIT).caughtUp(await eventLog.head(), signal);
    if (signal.aborted) return undefined;
    const keptSince = isoTime(nowMs - limits.auditDays * DAY_MS - CLOCKS_APART_MS);
    const { origins, entries } = await overdueAudit(readModels, isoTime(nowMs), keptSince, 1);
    if (origins.length > 0 || entries.length > 0) return undefined;
    // A day later a seal covers that it is forgotten.
    const audit = await oldAuditStreams({ eventLog, limits }, nowMs - DAY_MS, { limit, signal });
    const teams = await oldTeamStreams({ eventLog, limits }, nowMs - DAY_MS, { limit: limit - audit.over.length, signal });
    return [...audit.over, ...teams.over].map(({ stream }) => stream);
  },
  due: (now: string, limit: number) => retirableStreams(readModels, now, limit),
  isFull: (teamId: string, day: string) => isDayFull(readModels, teamId, day),
  emailsCaughtUp: (position: number, signal: AbortSignal) => feederOf(runners, limits, EMAILS).caughtUp(position, signal),
});

const teamReading = ({ readModels }: WorkerParts) => ({
  toRemove: (deletedUpTo: string, limit: number) => teamsToRemove(readModels, deletedUpTo, limit),
  toLapse: (upTo: string, limit: number) => teamsToLapse(readModels, upTo, limit),
});

/** What the workers of webhooks read of the read models, as they are when these have come as far as is asked. */
const webhookReading = ({ runners, limits, readModels }: WorkerParts) => {
  const upTo = (position: number, signal: AbortSignal): Promise<void> => feederOf(runners, limits, WEBHOOKS).caughtUp(position, signal);
  const kept: Parameters<typeof routeWebhooksWorker>[0]['keptUpTo'] = async (position, signal) => {
    await upTo(position, signal);
    return keptWebhooks(readModels);
  };
  const due: Parameters<typeof deliverWebhooksWorker>[0]['due'] = async (id, position, limit, signal) => {
    await upTo(position, signal);
    return (await dueFailures(readModels, id, limit)).map(({ sent, attempt, dueAt }) => ({ sent, attempt, dueAt }));
  };
  return { kept, due };
};

const composedOf = ({ metrics: { composed } }: Surroundings) => (composed === undefined ? {} : { composed });
