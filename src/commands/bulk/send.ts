/** Accepts a bulk send: one durable fact, from which its emails are made afterwards. */
import { TYPICAL_DELIVERY_MS } from '../email/answers.js';
import { isoMoment } from '../core/memo.js';
import type { CancelBatchResponse, SendBulkResponse, SendBulkRequest } from '../../api/bulk.js';
import type { BatchAccepted, BatchEnds } from '../../domain/bulk/events.js';
import { type BatchId, assertDefined, batchStream, batchIdOfFingerprint, parseBatchId } from '../../domain/core/ids.js';
import { completeBatch, endsOfBatch, stopBatch } from './batches.js';
import { type Caller, changeableBy, isTest } from '../core/caller.js';
import { loadState, handleKeyed } from '../core/handle.js';
import { causeOf, type CommandDeps } from '../core/deps.js';
import { type Answer, type Idempotency, fingerprintOf, isSameBody, keyRetired, keyReused } from '../core/idempotency.js';
import { batchDecider, batchNotFound } from '../../domain/bulk/decider.js';
import { type Cause, startOf } from '../../event-log/event-log.js';
import { checkEmail, type ReplacedCharacters } from '../email/acceptance.js';
import type { KnownCharacters } from '../documents/documents.js';
import { isOfRecipient, orderOf, type OpenBatch } from './emails.js';
import { prepareBulk, type PreparedBulk } from './request.js';
import { giveBackQuietly, reserveFor } from '../billing/credits.js';
import { inContext } from '../documents/attachments.js';
import type { Charged } from '../../domain/billing/decider.js';
import { AppendUnknown, WrongExpectedRevision } from '../../domain/core/errors.js';

/* What the calls on bulk sends answer. */

/** The answer to the bulk call, made of its event alone: a replay gives the same bytes for ever. */
const bulkResponse = (batchId: BatchId, event: BatchAccepted): SendBulkResponse => {
  const { data } = event;
  const isScheduled = event.type === 'BatchScheduled';
  const dueAt = isScheduled ? event.data.scheduledAt : data.at;
  return {
    batchId,
    totalEmails: data.total,
    status: isScheduled ? 'scheduled' : 'queued',
    message: `${emails(data.total)} ${data.total === 1 ? 'is' : 'are'} ${isScheduled ? 'scheduled' : 'queued'}.`,
    createdAt: data.at,
    estimatedCompletionAt: isoMoment(Date.parse(dueAt) + (data.expectedWaitMs ?? TYPICAL_DELIVERY_MS)),
    warnings: leftOutWarnings(data),
  };
};

/** Says of each recipient that is left out where it stands in the call; nothing personal, for it is made of what is kept. */
const leftOutWarnings = ({ invalid, duplicates }: Pick<BatchAccepted['data'], 'invalid' | 'duplicates'>): string[] => [
  ...invalid.map((given) => `recipients[${given}] is left out: its address is not a valid email address`),
  ...duplicates.map((given) => `recipients[${given}] is left out: its address stands there before`),
];

const emails = (count: number): string => (count === 1 ? '1 email' : `${count} emails`);

/** The answer to the cancelling of a bulk send, made of the event that ends it. */
const cancelResponse = (
  batchId: BatchId,
  totalEmails: number,
  { sent, failed, cancelled, processing }: BatchEnds,
): CancelBatchResponse => ({
  batchId,
  status: 'cancelled',
  message:
    processing === 0
      ? `${emails(cancelled)} will not leave.`
      : `${emails(cancelled)} will not leave; ${emails(processing)} ${processing === 1 ? 'is' : 'are'} being delivered right now.`,
  totalEmails,
  sent,
  cancelled,
  failed,
  processing,
});

/* Cancels a bulk send: what has not left does not leave. */

/**
 * Resolves when every email that had not left is cancelled. Rejects with BATCH_NOT_FOUND, with BATCH_NOT_CANCELLABLE where it has ended,
 * and with IDEMPOTENCY_KEY_REUSED.
 */
export const cancelBatch = async (
  deps: CommandDeps,
  caller: Caller,
  id: BatchId,
  idempotency?: Idempotency,
): Promise<Answer<CancelBatchResponse>> => {
  const cause = causeOf(deps, caller);
  const guard = changeableBy(caller, batchNotFound);
  await completeEnded(deps, id, guard, cause);
  const { replayed } = await handleKeyed(deps, batchStream(id), batchDecider, {
    command: (key) => ({ type: 'CancelBatch' as const, at: cause.at, ...key }),
    earlier: ({ cancelled }, key) => (cancelled?.idempotencyKey === key ? cancelled : undefined),
    idempotency,
    cause,
    guard,
  });
  const batch = await stopBatch(deps, { id, cause, signal: new AbortController().signal });
  return { body: cancelResponse(id, batch.accepted.total, assertDefined(batch.stopped ?? undefined, 'end of the batch')), replayed };
};

/** Where all emails have come to an end the bulk send is completed, though nobody may have said so yet: it cannot be cancelled any more. */
const completeEnded = async (deps: CommandDeps, id: BatchId, guard: ReturnType<typeof changeableBy>, cause: Cause): Promise<void> => {
  const loaded = await loadState(deps.eventLog, batchStream(id), batchDecider);
  guard(loaded);
  const batch = assertDefined(loaded.state, 'batch');
  if (batch.fannedOutAt === null || batch.cancelled !== null || batch.completedAt !== null) return;
  await completeBatch(deps, id, await endsOfBatch(deps, id, batch.accepted.total), cause);
};

const ENDPOINT = 'POST /api/emails/send/bulk';

/** Resolves when the bulk send is durable. Rejects with the codes of its checks, having written nothing. */
export const sendBulk = async (
  deps: CommandDeps,
  caller: Caller,
  request: SendBulkRequest,
  idempotency?: Idempotency,
): Promise<Answer<SendBulkResponse>> => {
  const id = newBatchId(deps, caller, idempotency);
  if (idempotency === undefined) return { body: await accept(deps, caller, id, request), replayed: false };
  const fingerprint = fingerprintOf(deps.keys, idempotency);
  const { answer, joined } = await deps.joinBulkSends(id, fingerprint, async () => {
    const replayed = await replay(deps, id, idempotency);
    if (replayed !== undefined) return replayed;
    try {
      return { body: await accept(deps, caller, id, request, fingerprint), replayed: false };
    } catch (fault) {
      // Another process was faster with the same key: its answer is the answer.
      const other = fault instanceof WrongExpectedRevision ? await replay(deps, id, idempotency) : undefined;
      if (other === undefined) throw fault;
      return other;
    }
  });
  return joined ? { ...answer, replayed: true } : answer;
};

const newBatchId = (deps: CommandDeps, caller: Caller, idempotency: Idempotency | undefined): BatchId =>
  idempotency === undefined
    ? assertDefined(parseBatchId(deps.ids.uuid()), 'UUID')
    : batchIdOfFingerprint(
        deps.keys.fingerprint(
          'batch id',
          JSON.stringify([caller.teamId, isTest(caller) ? `${ENDPOINT} (test)` : ENDPOINT, idempotency.key]),
        ),
      );

const replay = async (deps: CommandDeps, id: BatchId, idempotency: Idempotency): Promise<Answer<SendBulkResponse> | undefined> => {
  const first = (await deps.eventLog.load(batchStream(id)))[0]?.event;
  if (first?.type === 'BatchRetired') throw keyRetired();
  if (first === undefined || (first.type !== 'BatchQueued' && first.type !== 'BatchScheduled')) return undefined;
  if (!isSameBody(deps.keys, first.data.fingerprint, idempotency)) throw keyReused();
  return { body: bulkResponse(id, first), replayed: true };
};

const accept = async (
  deps: CommandDeps,
  caller: Caller,
  id: BatchId,
  request: SendBulkRequest,
  fingerprint?: string,
): Promise<SendBulkResponse> => {
  const { teamId } = caller;
  deps.backlog.assertRoom(teamId);
  const prepared = await prepareBulk(deps, caller, request);
  deps.backlog.assertRoom(teamId, prepared.cost.emails);
  await refuseUnmakeable(deps, openOf(id, caller, prepared));
  const stream = batchStream(id);
  const cause = causeOf(deps, caller, prepared.accepted.at);
  const charged = isTest(caller) ? undefined : await reserveFor(deps, caller, { stream, cost: prepared.cost, cause });
  const event = eventOf(deps, caller, prepared, { fingerprint, charged });
  try {
    await deps.eventLog.append(stream, startOf(stream), [event], cause);
  } catch (fault) {
    // Where it may have come to be, by this call or by another with its key, the due work finds out.
    const isCertain = !(fault instanceof AppendUnknown) && fingerprint === undefined;
    if (charged !== undefined && isCertain) await giveBackQuietly(deps, caller, charged, cause);
    throw fault;
  }
  if (event.type === 'BatchQueued') deps.backlog.accepted(teamId, prepared.cost.emails);
  return bulkResponse(id, event);
};

const eventOf = (
  deps: CommandDeps,
  { teamId }: Caller,
  { accepted, content, scheduledAt }: PreparedBulk,
  { fingerprint, charged }: Readonly<{ fingerprint: string | undefined; charged: Charged | undefined }>,
): BatchAccepted => {
  const waitMs = scheduledAt === undefined ? Math.round(deps.backlog.waitMs(teamId, accepted.total)) : 0;
  const data: BatchAccepted['data'] = {
    ...accepted,
    ...(fingerprint === undefined ? {} : { fingerprint }),
    ...(charged === undefined ? {} : { charged: { month: charged.month, isByCredits: charged.isByCredits } }),
    ...(waitMs <= TYPICAL_DELIVERY_MS ? {} : { expectedWaitMs: waitMs }),
  };
  const [event] = batchDecider.decide({ type: 'AcceptBatch', accepted: data, scheduledAt, content }, undefined);
  return event as BatchAccepted;
};

/** The bulk send as it will be, for the checks of its emails. */
export const openOf = (id: BatchId, { teamId }: Pick<Caller, 'teamId'>, { accepted, content, scheduledAt }: PreparedBulk): OpenBatch => ({
  id,
  teamId,
  batch: { accepted, scheduledAt: scheduledAt ?? null },
  content,
});

/** A call is refused where each of so many recipients, the first ones, fails. */
export const FIRST_RECIPIENTS = 10;

/** Resolves when one of the first recipients can be written to; else rejects with what is wrong for the first of them. */
const refuseUnmakeable = async (deps: CommandDeps, open: OpenBatch): Promise<void> => {
  const { recipients } = open.content;
  let refused: unknown;
  for (let index = 0; index < Math.min(FIRST_RECIPIENTS, recipients.length); index += 1) {
    try {
      return void (await checkOne(deps, open, index));
    } catch (fault) {
      if (!isOfRecipient(fault)) throw fault;
      refused ??= fault;
    }
  }
  throw refused;
};

/** Rejects with what is wrong with the email of one recipient, at the recipient's place in the call. */
export const checkOne = (deps: CommandDeps, open: OpenBatch, index: number, onlyChecked?: KnownCharacters): Promise<ReplacedCharacters> => {
  const { given } = assertDefined(open.content.recipients[index], 'recipient of the batch');
  return inContext(`recipients[${given}]`, `email ${index + 1} of ${open.content.recipients.length}`, () =>
    checkEmail(deps, orderOf(open, index), onlyChecked),
  );
};
