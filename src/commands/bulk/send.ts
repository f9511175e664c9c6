/** Accepts a bulk send: one durable fact, from which its emails are made afterwards. */
import { checkEmail, type ReplacedCharacters } from '../email/acceptance.js';
import type { KnownCharacters } from '../documents/documents.js';
import { isOfRecipient, orderOf, type OpenBatch } from './emails.js';
import { bulkResponse } from './answers.js';
import { prepareBulk, type PreparedBulk } from './request.js';
import type { Caller } from '../core/caller.js';
import { causeOf, type CommandDeps } from '../core/deps.js';
import { TYPICAL_DELIVERY_MS } from '../email/answers.js';
import { fingerprintOf, isSameBody, keyRetired, keyReused, type Answer, type Idempotency } from '../core/idempotency.js';
import { giveBackQuietly, reserveFor } from '../billing/reserving.js';
import { inContext } from '../documents/nested-faults.js';
import { isTest } from '../core/test-keys.js';
import type { SendBulkRequest, SendBulkResponse } from '../../api/bulk.js';
import { batchDecider } from '../../domain/bulk/decider.js';
import type { BatchAccepted } from '../../domain/bulk/events.js';
import type { Charged } from '../../domain/billing/decider.js';
import { AppendUnknown, WrongExpectedRevision } from '../../domain/core/errors.js';
import { startOf } from '../../event-log/event-log.js';
import { assertDefined, batchIdOfFingerprint, batchStream, parseBatchId, type BatchId } from '../../domain/core/ids.js';

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
