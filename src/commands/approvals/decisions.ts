/**
 * Decides on approvals, and sends what was approved. The decision is recorded first, by the revision of the stream, so
 * that only one is taken; the email has an id derived from that of the approval, so that there is never a second one.
 * If the process dies in between, the processor of approvals sends it.
 */
import type { ApprovalContent, ApprovalRecord, ApproveRequest, RejectRequest } from '../../api/approvals.js';
import type { SentContent } from '../../api/email-content.js';
import {
  approvalDecider,
  approvalNotFound,
  isToBeSent,
  statusAt,
  type Approval,
  type ApprovalCommand,
} from '../../domain/approvals/decider.js';
import { DomainError, type ErrorCode } from '../../domain/core/errors.js';
import {
  approvalStream,
  assertDefined,
  parseApiKeyId,
  type ApprovalId,
  type EmailId,
  type TeamId,
} from '../../domain/core/ids.js';
import { DAY_MS, isoTime } from '../../domain/core/time.js';
import type { Cause } from '../../event-log/event-log.js';
import { assertNoTestKey, causeOf, ownedBy, type Caller } from '../core/caller.js';
import { eraseStream } from '../core/erase.js';
import { handle } from '../core/handle.js';
import { proposeEmail, type EmailOrder, type ProposedEmail, type StoredBytes } from '../email/acceptance.js';
import { proposedMail, type ReadFile } from '../email/content.js';
import { orderEmail, sendOnce } from '../email/send.js';
import type { MailSource } from '../email/source.js';
import type { SendEmailRequest } from '../../api/email.js';
import {
  APPROVED_SENDS,
  assertMayBeStored,
  digestOf,
  emailIdOf,
  getApproval,
  orderOfApproval,
  requireApproval,
  type ApprovalNeeds,
} from './request.js';

const gone = (): DomainError =>
  new DomainError(
    'CONTENT_GONE',
    'The proposed email is destroyed: it was rejected or withdrawn, it expired, it is too old, or a recipient of it was erased.',
  );

/** Throws FORBIDDEN unless a person calls who is signed in: a program never decides on what a program asked for. */
const assertPerson = ({ user }: Caller): void => {
  if (user?.sessionId === undefined)
    throw new DomainError(
      'FORBIDDEN',
      'Only a person who is signed in decides on an approval, in the dashboard; no API key and no app can.',
    );
};

type Opened = Readonly<{ approval: Approval; proposal: NonNullable<Approval['proposal']> }>;

/** An approval whose proposal can be read. Rejects with APPROVAL_NOT_FOUND and CONTENT_GONE. */
const openApproval = async (deps: ApprovalNeeds, caller: Pick<Caller, 'teamId'>, id: ApprovalId): Promise<Opened> => {
  const approval = await requireApproval(deps, caller, id);
  const { proposal } = approval;
  if (proposal === undefined || statusAt(approval, isoTime(deps.clock.now())) === 'expired') throw gone();
  return { approval, proposal };
};

type MadeNow = Readonly<{ emailId: EmailId; isMetered: boolean; made: ProposedEmail }>;

/** The email as it would leave now. `isOnlyShown`: it needs no credits then. */
const makeNow = async (
  deps: ApprovalNeeds,
  caller: Caller,
  id: ApprovalId,
  { approval, proposal, isOnlyShown }: Opened & Readonly<{ isOnlyShown?: true }>,
): Promise<MadeNow> => {
  const sender = senderOf(approval, caller.teamId, caller.actor, caller.correlationId);
  const order = await orderOfApproval(deps, sender, { requested: approval.requested, proposal });
  const emailId = emailIdOf(deps, sender, id);
  const ordered = await orderEmail(deps, sender, emailId, { ...order, ...(isOnlyShown && { isOnlyShown }) }, undefined);
  // A request has a template or content; only SMTP brings messages.
  const made = await proposeEmail(deps, ordered.order as EmailOrder<MailSource>);
  return { emailId, isMetered: ordered.isMetered, made };
};

/** The proposed mail as it would leave, and its files. Rejects with APPROVAL_NOT_FOUND, CONTENT_GONE and as a send. */
const readProposal = async (deps: ApprovalNeeds, caller: Caller, id: ApprovalId) => {
  const opened = await openApproval(deps, caller, id);
  const { emailId, made } = await makeNow(deps, caller, id, { ...opened, isOnlyShown: true });
  const mail = await proposedMail(deps, caller, emailId, made);
  return { ...mail, request: opened.proposal.request as SendEmailRequest };
};

/** Rejects with APPROVAL_NOT_FOUND, CONTENT_GONE, and with the codes of the send call where it would be refused now. */
export const approvalContent = async (
  deps: ApprovalNeeds,
  caller: Caller,
  id: ApprovalId,
): Promise<ApprovalContent> => {
  const { content, request } = await readProposal(deps, caller, id);
  const { variables = {}, metadata = {} } = request;
  return { ...content, variables, metadata };
};

/** Both the proposed mail and its files, for a page that shows them together. Rejects as `approvalContent`. */
export const approvalMail = (
  deps: ApprovalNeeds,
  caller: Caller,
  id: ApprovalId,
): Promise<Readonly<{ content: SentContent; files: readonly ReadFile[] }>> => readProposal(deps, caller, id);

/** A file of the proposed mail, by its `index` in the content. Rejects as `approvalContent`, and with NOT_FOUND. */
export const approvalAttachment = async (
  deps: ApprovalNeeds,
  caller: Caller,
  id: ApprovalId,
  index: number | undefined,
): Promise<ReadFile> => {
  const { files } = await readProposal(deps, caller, id);
  const file = index === undefined ? undefined : files[index];
  if (file === undefined)
    throw new DomainError('NOT_FOUND', 'The email has no such attachment; `attachments` of its content lists them.');
  return file;
};

/**
 * Approves what has that digest, and sends it. A second approval is answered as the first. Rejects with
 * FORBIDDEN, APPROVAL_NOT_FOUND, APPROVAL_DECIDED, APPROVAL_CHANGED, and with the codes of the send call where the
 * email would be refused now: nobody has approved it then.
 */
export const approve = async (
  deps: ApprovalNeeds,
  caller: Caller,
  id: ApprovalId,
  { digest }: ApproveRequest,
  storedBytes?: StoredBytes,
): Promise<ApprovalRecord> => {
  assertPerson(caller);
  const approval = await requireApproval(deps, caller, id);
  if (approval.status === 'requested' && approval.requested.digest === digest && approval.proposal !== undefined) {
    deps.backlog.assertRoom(caller.teamId);
    if (statusAt(approval, isoTime(deps.clock.now())) === 'requested') {
      const now = await makeNow(deps, caller, id, { approval, proposal: approval.proposal });
      await assertMayBeStored(deps, caller, { ...now, storedBytes });
    }
  }
  const cause = causeOf(deps, caller);
  await decideOn(deps, caller, id, { type: 'Approve', at: cause.at, by: caller.actor, digest }, cause);
  await sendApproved(deps, { id, cause, storedBytes });
  return getApproval(deps, caller, id);
};

/** Rejects with FORBIDDEN, APPROVAL_NOT_FOUND and APPROVAL_DECIDED. */
export const reject = async (
  deps: ApprovalNeeds,
  caller: Caller,
  id: ApprovalId,
  { reason = 'other' }: RejectRequest,
): Promise<ApprovalRecord> => {
  assertPerson(caller);
  const cause = causeOf(deps, caller);
  await decideOn(deps, caller, id, { type: 'Reject', at: cause.at, by: caller.actor, reason }, cause);
  await eraseStream(deps, approvalStream(id));
  return getApproval(deps, caller, id);
};

/**
 * For callers who may send, as they may cancel an email; a test key withdraws what a test key asked for. Rejects with
 * TEST_KEY_NOT_ALLOWED, APPROVAL_NOT_FOUND and APPROVAL_DECIDED.
 */
export const withdraw = async (deps: ApprovalNeeds, caller: Caller, id: ApprovalId): Promise<ApprovalRecord> => {
  const { requested } = await requireApproval(deps, caller, id);
  if (requested.test !== true) assertNoTestKey(caller, 'withdraws what a test key asked for alone');
  const cause = causeOf(deps, caller);
  await decideOn(deps, caller, id, { type: 'Withdraw', at: cause.at, by: caller.actor }, cause);
  await eraseStream(deps, approvalStream(id));
  return getApproval(deps, caller, id);
};

const decideOn = (
  { eventLog }: ApprovalNeeds,
  { teamId }: Caller,
  id: ApprovalId,
  command: ApprovalCommand,
  cause: Cause,
) => handle(eventLog, approvalStream(id), approvalDecider, command, cause, ownedBy(teamId, approvalNotFound));

/**
 * The caller of the send: the person who approved. A proposal of a test key stays a test, whoever approves it. Nothing
 * but the test of the key is used, for what the key may do was checked when it asked.
 */
const senderOf = ({ requested }: Approval, teamId: TeamId, actor: string, correlationId: string): Caller => {
  const keyId = parseApiKeyId(requested.askedBy.slice('apiKey:'.length));
  const bounds = { expiresAt: null, rateLimit: null, madeBy: [], networks: null };
  return {
    teamId,
    actor,
    permissions: ['emails:send'],
    correlationId,
    ...(requested.test === true && { key: { ...bounds, id: assertDefined(keyId, 'API key id'), test: true } }),
  };
};

/** Refusals that pass by themselves: the email is tried again. */
const passing: ReadonlySet<ErrorCode> = new Set(['QUEUE_FULL', 'GENERATOR_BUSY', 'CONFLICT', 'DNS_LOOKUP_FAILED']);

type ApprovedWork = Readonly<{ id: ApprovalId; cause: Cause; storedBytes?: StoredBytes | undefined }>;

/**
 * Sends the email of an approval that a person has approved, once, and records what became of it. Safe to repeat. Out:
 * false if the email is to be tried again.
 */
export const sendApproved = async (deps: ApprovalNeeds, work: ApprovedWork): Promise<boolean> => {
  const { id, cause, storedBytes } = work;
  const teamId = cause.teamId as TeamId;
  const approval = await requireApproval(deps, { teamId }, id);
  if (!isToBeSent(approval)) return true;
  const outcome = await outcomeOf(deps, id, approval, { teamId, cause, storedBytes });
  if (outcome === undefined) return false;
  const at = isoTime(deps.clock.now());
  await handle(deps.eventLog, approvalStream(id), approvalDecider, { ...outcome, at }, { ...cause, at });
  return true;
};

type Sending = Readonly<{ teamId: TeamId; cause: Cause; storedBytes: StoredBytes | undefined }>;
type Outcome = Readonly<{ type: 'NoteSent'; emailId: string }> | Readonly<{ type: 'NoteFailed'; code: string }>;

const outcomeOf = async (
  deps: ApprovalNeeds,
  id: ApprovalId,
  approval: Approval,
  { teamId, cause, storedBytes }: Sending,
): Promise<Outcome | undefined> => {
  const { requested, proposal } = approval;
  const approvedBy = assertDefined(approval.decided?.by ?? undefined, 'person who approved');
  if (proposal === undefined) return { type: 'NoteFailed', code: 'CONTENT_GONE' };
  const request = proposal.request as SendEmailRequest;
  if (digestOf(deps, { teamId }, request, requested) !== requested.digest)
    throw new Error(`the proposal of approval ${id} is not the one that was shown`);
  const sender = senderOf(approval, teamId, approvedBy, cause.correlationId);
  const note = { id, askedBy: requested.askedBy, approvedBy };
  try {
    const { body } = await sendOnce(
      deps,
      sender,
      APPROVED_SENDS,
      async () => ({ ...(await orderOfApproval(deps, sender, { requested, proposal }, note)), storedBytes }),
      { key: id, body: requested.digest },
    );
    return { type: 'NoteSent', emailId: body.id };
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    return passing.has(fault.code) ? undefined : { type: 'NoteFailed', code: fault.code };
  }
};

/** Records that nobody decided in time, or removes the record, and destroys the proposal. Safe to repeat. */
export const endApproval = async (
  deps: Pick<ApprovalNeeds, 'eventLog' | 'files' | 'mailCopies' | 'clock' | 'limits'>,
  id: ApprovalId,
  cause: Cause,
  mayDestroy: boolean,
): Promise<void> => {
  const stream = approvalStream(id);
  const at = isoTime(deps.clock.now());
  const expired = await handle(deps.eventLog, stream, approvalDecider, { type: 'Expire', at }, { ...cause, at });
  let { events } = expired;
  if (events.length === 0 && mayDestroy) {
    const endedBefore = isoTime(deps.clock.now() - deps.limits.retentionDays * DAY_MS);
    const command = { type: 'RemoveApproval' as const, at, endedBefore };
    ({ events } = await handle(deps.eventLog, stream, approvalDecider, command, { ...cause, at }));
  }
  if (events.length > 0) await eraseStream(deps, stream);
};

/** Destroys the proposal of an approval in which an erased address stands. Safe to repeat. */
export const eraseProposal = async (
  deps: Pick<ApprovalNeeds, 'eventLog' | 'files' | 'mailCopies'>,
  id: ApprovalId,
  cause: Cause,
): Promise<void> => {
  const stream = approvalStream(id);
  await handle(deps.eventLog, stream, approvalDecider, { type: 'EraseProposal', at: cause.at }, cause);
  await eraseStream(deps, stream);
};

/** Removes an approval with its team, in whatever state it is. Safe to repeat. */
export const removeApprovalNow = async (
  deps: Pick<ApprovalNeeds, 'eventLog' | 'files' | 'mailCopies'>,
  id: ApprovalId,
  cause: Cause,
): Promise<void> => {
  const stream = approvalStream(id);
  const command = { type: 'RemoveApproval' as const, at: cause.at, endedBefore: undefined };
  await handle(deps.eventLog, stream, approvalDecider, command, cause);
  await eraseStream(deps, stream);
};
