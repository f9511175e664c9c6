/** Accepts and cancels bulk sends. Accepting appends one event, from which the emails are made afterwards. */
import { TYPICAL_DELIVERY_MS } from '../email/answers.js';
import { isoTime } from '../../domain/core/time.js';
import type { CancelBatchResponse, SendBulkResponse, SendBulkRequest } from '../../api/bulk.js';
import type { BatchAccepted, BatchEnds } from '../../domain/bulk/events.js';
import { type BatchId, assertDefined, batchStream, batchIdOfFingerprint, parseBatchId } from '../../domain/core/ids.js';
import { completeBatch, endsOfBatch, stopBatch } from './batches.js';
import { type Caller, changeableBy, isTest, causeOf } from '../core/caller.js';
import { loadState, handleKeyed } from '../core/handle.js';
import type { EmailNeeds } from '../email/needs.js';
import {
  type Answer,
  type Idempotency,
  type JoinedCalls,
  fingerprintOf,
  isSameBody,
  keyReused,
} from '../core/idempotency.js';
import { batchDecider, batchNotFound } from '../../domain/bulk/decider.js';
import { type Cause, startOf } from '../../event-log/event-log.js';
import { checkEmail, type CheckedDocuments } from '../email/acceptance.js';
import type { KnownCharacters } from '../documents/documents.js';
import { isRecipientFault, orderOf, suppressedBelow, type OpenBatch } from './emails.js';
import { leftOutWarnings, prepareBulk, readRecipients, type PreparedBulk } from './request.js';
import { giveBackQuietly, reserveFor } from '../billing/credits.js';
import { inContext } from '../documents/attachments.js';
import type { Charged } from '../../domain/billing/decider.js';
import { AppendUnknown, WrongExpectedRevision } from '../../domain/core/errors.js';

export type BulkNeeds = EmailNeeds &
  Readonly<{
    /** The bulk sends under way in this process that carry an Idempotency-Key, by their id. */
    joinBulkSends: JoinedCalls<Answer<SendBulkResponse>>;
  }>;

const ENDPOINT = 'POST /api/emails/send/bulk';

/** A call is refused if all of its first recipients, this many, fail; those that are suppressed do not count. */
export const FIRST_RECIPIENTS = 10;

/**
 * Resolves when the bulk send is durable. Rejects with the codes of its checks, having written nothing. `lines`: where
 * each recipient begins in the file that the call came by, for its results.
 */
export const sendBulk = async (
  deps: BulkNeeds,
  caller: Caller,
  request: SendBulkRequest,
  idempotency?: Idempotency,
  lines?: readonly number[],
): Promise<Answer<SendBulkResponse>> => {
  const id = newBatchId(deps, caller, idempotency);
  if (idempotency === undefined) return { body: await accept(deps, caller, id, { request, lines }), replayed: false };
  const fingerprint = fingerprintOf(deps.keys, idempotency);
  const { answer, joined } = await deps.joinBulkSends(id, fingerprint, async () => {
    const replayed = await replay(deps, id, request, idempotency);
    if (replayed !== undefined) return replayed;
    try {
      return { body: await accept(deps, caller, id, { request, lines, fingerprint }), replayed: false };
    } catch (fault) {
      // Another process has accepted the bulk send under this key meanwhile: answer as it did.
      const other = fault instanceof WrongExpectedRevision ? await replay(deps, id, request, idempotency) : undefined;
      if (other === undefined) throw fault;
      return other;
    }
  });
  return joined ? { ...answer, replayed: true } : answer;
};

const newBatchId = (deps: BulkNeeds, caller: Caller, idempotency: Idempotency | undefined): BatchId =>
  idempotency === undefined
    ? assertDefined(parseBatchId(deps.ids.uuid()), 'UUID')
    : batchIdOfFingerprint(
        deps.keys.fingerprint(
          'batch id',
          JSON.stringify([caller.teamId, isTest(caller) ? `${ENDPOINT} (test)` : ENDPOINT, idempotency.key]),
        ),
      );

/**
 * The reasons why recipients are left out are read from the request again: it is the same, and the event stores only
 * their places.
 */
const replay = async (
  deps: BulkNeeds,
  id: BatchId,
  request: SendBulkRequest,
  idempotency: Idempotency,
): Promise<Answer<SendBulkResponse> | undefined> => {
  const first = (await deps.eventLog.load(batchStream(id)))[0]?.event;
  if (first === undefined || (first.type !== 'BatchQueued' && first.type !== 'BatchScheduled')) return undefined;
  if (!isSameBody(deps.keys, first.data.fingerprint, idempotency)) throw keyReused();
  return { body: bulkResponse(id, first, leftOutWarnings(await readRecipients(request, deps.limits))), replayed: true };
};

type Accepting = Readonly<{ request: SendBulkRequest; lines?: readonly number[] | undefined; fingerprint?: string }>;

const accept = async (
  deps: BulkNeeds,
  caller: Caller,
  id: BatchId,
  { request, lines, fingerprint }: Accepting,
): Promise<SendBulkResponse> => {
  const { teamId } = caller;
  deps.backlog.assertRoom(teamId);
  const prepared = await prepareBulk(deps, caller, request, lines);
  deps.backlog.assertRoom(teamId, prepared.cost.emails);
  await refuseUnmakeable(deps, openOf(id, caller, prepared));
  const stream = batchStream(id);
  const cause = causeOf(deps, caller, prepared.accepted.at);
  const charged = isTest(caller) ? undefined : await reserveFor(deps, caller, { stream, cost: prepared.cost, cause });
  const event = eventOf(deps, caller, prepared, { fingerprint, charged });
  try {
    // Not by `handle`: the stream begins here, so there is no state to decide on.
    await deps.eventLog.append(stream, startOf(stream), [event], cause);
  } catch (fault) {
    // The bulk send may exist, by this call or another with its key: `settle-credits` checks the reservation later.
    const isCertain = !(fault instanceof AppendUnknown) && fingerprint === undefined;
    if (charged !== undefined && isCertain) await giveBackQuietly(deps, caller, charged, cause);
    throw fault;
  }
  if (event.type === 'BatchQueued') deps.backlog.accepted(teamId, prepared.cost.emails);
  return bulkResponse(id, event, leftOutWarnings(prepared));
};

const eventOf = (
  deps: BulkNeeds,
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

/** The bulk send that would be accepted, for checking its emails. */
export const openOf = (
  id: BatchId,
  { teamId }: Pick<Caller, 'teamId'>,
  { accepted, content, scheduledAt }: PreparedBulk,
): OpenBatch => ({
  id,
  teamId,
  batch: { accepted, scheduledAt: scheduledAt ?? null },
  content,
});

/**
 * Resolves if the email of one of the first recipients can be made, or all are suppressed; otherwise rejects with the
 * fault of the first.
 */
const refuseUnmakeable = async (deps: BulkNeeds, open: OpenBatch): Promise<void> => {
  const end = Math.min(FIRST_RECIPIENTS, open.content.recipients.length);
  const suppressed = await suppressedBelow(deps, open, end);
  let refused: unknown;
  for (let index = 0; index < end; index += 1) {
    if (suppressed.has(index)) continue;
    try {
      return void (await checkOne(deps, open, index));
    } catch (fault) {
      if (!isRecipientFault(fault)) throw fault;
      refused ??= fault;
    }
  }
  if (refused !== undefined) throw refused;
};

/** Checks the email of one recipient. Rejects with its fault, which names the recipient's place in the call. */
export const checkOne = (
  deps: EmailNeeds,
  open: OpenBatch,
  index: number,
  onlyChecked?: KnownCharacters,
): Promise<CheckedDocuments> => {
  const { given } = assertDefined(open.content.recipients[index], 'recipient of the batch');
  return inContext(`recipients[${given}]`, `email ${index + 1} of ${open.content.recipients.length}`, () =>
    checkEmail(deps, orderOf(open, index), onlyChecked),
  );
};

/**
 * Resolves when every email that was not sent is cancelled. Rejects with BATCH_NOT_FOUND, BATCH_NOT_CANCELLABLE if the
 * bulk send has ended, and IDEMPOTENCY_KEY_REUSED.
 */
export const cancelBatch = async (
  deps: BulkNeeds,
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
  return {
    body: cancelResponse(id, batch.accepted.total, assertDefined(batch.stopped ?? undefined, 'end of the batch')),
    replayed,
  };
};

/** If all emails have ended, records the completion first, so that the bulk send can no longer be cancelled. */
const completeEnded = async (
  deps: BulkNeeds,
  id: BatchId,
  guard: ReturnType<typeof changeableBy>,
  cause: Cause,
): Promise<void> => {
  const loaded = await loadState(deps.eventLog, batchStream(id), batchDecider);
  guard(loaded);
  const batch = assertDefined(loaded.state, 'batch');
  if (batch.fannedOutAt === null || batch.cancelled !== null || batch.completedAt !== null) return;
  await completeBatch(deps, id, await endsOfBatch(deps, id, batch.accepted.total), cause);
};

/**
 * The answer to the bulk call, made from its event and its request alone, so that a replay always gives the same bytes.
 */
const bulkResponse = (batchId: BatchId, event: BatchAccepted, warnings: string[]): SendBulkResponse => {
  const { data } = event;
  const isScheduled = event.type === 'BatchScheduled';
  const dueAt = isScheduled ? event.data.scheduledAt : data.at;
  return {
    batchId,
    totalEmails: data.total,
    status: isScheduled ? 'scheduled' : 'queued',
    message: `${emails(data.total)} ${data.total === 1 ? 'is' : 'are'} ${isScheduled ? 'scheduled' : 'queued'}.`,
    createdAt: data.at,
    estimatedCompletionAt: isoTime(Date.parse(dueAt) + (data.expectedWaitMs ?? TYPICAL_DELIVERY_MS)),
    warnings,
  };
};

const emails = (count: number): string => (count === 1 ? '1 email' : `${count} emails`);

/** The answer to a cancel call, made from the event that ends the bulk send. */
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
