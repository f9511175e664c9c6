/** Asks for the approval of a send: checks it as the send call does, pins all that it depends on, and seals it. */
import type { SendEmailRequest } from '../../api/email.js';
import type { ApprovalRecord } from '../../api/approvals.js';
import {
  approvalDecider,
  approvalNotFound,
  listingOf,
  statusAt,
  type Approval,
} from '../../domain/approvals/decider.js';
import type { ApprovalRequested, Proposal } from '../../domain/approvals/events.js';
import { oauthAppDecider } from '../../domain/apps/app.js';
import { apiKeyDecider } from '../../domain/keys/decider.js';
import { DomainError, WrongExpectedRevision } from '../../domain/core/errors.js';
import {
  apiKeyStream,
  approvalIdOfFingerprint,
  approvalStream,
  assertDefined,
  oauthClientStream,
  parseApprovalId,
  parseAttachmentTemplateId,
  parseTemplateId,
  type ApprovalId,
  type EmailId,
} from '../../domain/core/ids.js';
import type { Cost } from '../../domain/billing/credits.js';
import { HOUR_MS, isoTime, latestNow } from '../../domain/core/time.js';
import type { JsonObject } from '../../domain/core/json.js';
import { lossMessage } from '../../domain/rendering/paths/losses.js';
import { canonicalJson } from '../../shared/text.js';
import { nextTurn } from '../../shared/concurrency.js';
import { causeOf, isTest, ownedBy, testPart, type Caller } from '../core/caller.js';
import { loadState } from '../core/handle.js';
import { fingerprintOf, isSameBody, keyReused, type Answer, type Idempotency } from '../core/idempotency.js';
import { publishedDocument, withFetchedFiles } from '../documents/attachments.js';
import type { PinnedDocument } from '../documents/request.js';
import { sizeOf } from '../documents/storage.js';
import { proposeEmail, type EmailOrder, type ProposedEmail, type StoredBytes } from '../email/acceptance.js';
import { proposedMail } from '../email/content.js';
import type { EmailNeeds } from '../email/needs.js';
import { derivedId, orderEmail, type SendOrder } from '../email/send.js';
import { settleSource, storedSource, type MailSource, type Settled } from '../email/source.js';
import { clippingWarnings } from '../templates/warnings.js';

export type ApprovalNeeds = EmailNeeds;

/** The name under which the email of an approval has its Idempotency-Key, which is the id of the approval. */
export const APPROVED_SENDS = 'POST /api/approvals/:id/approve';

/** The parts of a proposal that are pinned beside its request. */
type Pinned = Pick<
  ApprovalRequested['data'],
  | 'templateId'
  | 'templateName'
  | 'templateRevision'
  | 'templateVersion'
  | 'blocks'
  | 'unsubscribeList'
  | 'tracking'
  | 'documents'
>;

const WARNINGS_MAX = 100;
const WARNING_CHARS_MAX = 300;
const CHARACTERS_SHOWN = 10;

/** Facts about the team: how many sends of it wait for a person, and the bytes that its attachments take. */
export type TeamFacts = Readonly<{ open: () => Promise<number>; storedBytes?: StoredBytes }>;

/**
 * Resolves when the approval is asked for, durably. Rejects with the codes of the send call and with
 * APPROVAL_LIMIT_REACHED, having written nothing.
 */
export const requestApproval = async (
  deps: ApprovalNeeds,
  caller: Caller,
  request: SendEmailRequest,
  { open, storedBytes }: TeamFacts,
  idempotency?: Idempotency,
): Promise<Answer<ApprovalRecord>> => {
  const { id, earlier } = await idOf(deps, caller, idempotency);
  if (earlier !== undefined) return { body: earlier, replayed: true };
  const max = deps.limits.openApprovalsMax;
  if ((await open()) >= max)
    throw new DomainError(
      'APPROVAL_LIMIT_REACHED',
      `${max} sends of this team wait for a person already; more can be asked for when some of them are decided.`,
      { relatedInfo: { max } },
    );
  const { requested, proposal } = await proposalOf(deps, caller, id, { given: request, storedBytes });
  const command = {
    type: 'RequestApproval' as const,
    requested: { ...requested, ...(idempotency && { fingerprint: fingerprintOf(deps.keys, idempotency) }) },
    proposal,
  };
  const stream = approvalStream(id);
  const cause = causeOf(deps, caller, requested.at);
  try {
    // Not by `handle`: the stream begins here, and an approval that another call has begun is that call's answer.
    const events = approvalDecider.decide(command, approvalDecider.initialState);
    await deps.eventLog.append(
      stream,
      (await loadState(deps.eventLog, stream, approvalDecider)).version,
      events,
      cause,
    );
  } catch (fault) {
    const other =
      fault instanceof WrongExpectedRevision && idempotency && (await madeBefore(deps, caller, id, idempotency));
    if (!other) throw fault;
    return { body: other, replayed: true };
  }
  return { body: await getApproval(deps, caller, id), replayed: false };
};

/** The id for a call, and the approval that an earlier call with its Idempotency-Key asked for. */
const idOf = async (
  deps: ApprovalNeeds,
  caller: Caller,
  idempotency: Idempotency | undefined,
): Promise<Readonly<{ id: ApprovalId; earlier?: ApprovalRecord | undefined }>> => {
  if (idempotency === undefined) return { id: assertDefined(parseApprovalId(deps.ids.uuid()), 'UUID') };
  const endpoint = isTest(caller) ? 'POST /api/approvals (test)' : 'POST /api/approvals';
  const parts: (string | number)[] = [caller.teamId, endpoint, idempotency.key];
  // A key is known as long as the record that it led to; each removed record has taken one id.
  for (let removed = 0; ; removed += 1) {
    const text = JSON.stringify(removed === 0 ? parts : [...parts, removed]);
    const id = approvalIdOfFingerprint(deps.keys.fingerprint('approval id', text));
    const { state } = await loadState(deps.eventLog, approvalStream(id), approvalDecider);
    if (state === undefined || state.deletedAt === null)
      return { id, earlier: await madeBefore(deps, caller, id, idempotency) };
  }
};

const madeBefore = async (
  deps: ApprovalNeeds,
  caller: Caller,
  id: ApprovalId,
  idempotency: Idempotency,
): Promise<ApprovalRecord | undefined> => {
  const { state } = await loadState(deps.eventLog, approvalStream(id), approvalDecider);
  if (state === undefined) return undefined;
  if (!isSameBody(deps.keys, state.requested.fingerprint, idempotency)) throw keyReused();
  return getApproval(deps, caller, id);
};

/** Rejects with APPROVAL_NOT_FOUND. */
export const getApproval = async (
  deps: Pick<ApprovalNeeds, 'eventLog' | 'clock'>,
  caller: Pick<Caller, 'teamId'>,
  id: ApprovalId,
): Promise<ApprovalRecord> => {
  const approval = await requireApproval(deps, caller, id);
  const status = statusAt(approval, isoTime(deps.clock.now()));
  return listingOf(id, { ...approval, status, proposal: status === 'expired' ? undefined : approval.proposal });
};

/** Rejects with APPROVAL_NOT_FOUND. */
export const requireApproval = async (
  { eventLog }: Pick<ApprovalNeeds, 'eventLog'>,
  { teamId }: Pick<Caller, 'teamId'>,
  id: ApprovalId,
): Promise<Approval> => {
  const loaded = await loadState(eventLog, approvalStream(id), approvalDecider);
  ownedBy(teamId, approvalNotFound)(loaded);
  return loaded.state!;
};

/** Checks the request as the send call does, by making the whole mail. */
const proposalOf = async (
  deps: ApprovalNeeds,
  caller: Caller,
  id: ApprovalId,
  { given, storedBytes }: Readonly<{ given: SendEmailRequest; storedBytes: StoredBytes | undefined }>,
): Promise<Readonly<{ requested: ApprovalRequested['data']; proposal: Proposal }>> => {
  deps.backlog.assertRoom(caller.teamId);
  const at = isoTime(deps.clock.now());
  const order: SendOrder = { request: given, storedBytes: undefined };
  const emailId = emailIdOf(deps, caller, id);
  // Before any file is fetched: a request with faults fetches none.
  await orderEmail(deps, caller, emailId, order, undefined);
  const { attachments, ...rest } = given;
  const fetched = attachments && [...(await withFetchedFiles(deps, caller, attachments))];
  const request: SendEmailRequest = { ...rest, ...(fetched && { attachments: fetched }) };
  const settled = await settleSource(deps, caller, request, request.variables !== undefined);
  const pinned: Pinned = {
    ...storedSource(settled.source),
    ...(settled.unsubscribeList !== undefined && { unsubscribeList: settled.unsubscribeList }),
    ...(settled.tracking !== undefined && { tracking: settled.tracking }),
    documents: await documentsOf(deps, caller, request),
  };
  const ordered = await orderEmail(
    deps,
    caller,
    emailId,
    { request, settled, storedBytes: undefined, approved: { approval: undefined, documents: pinsOf(pinned) } },
    undefined,
  );
  const whole: SendEmailRequest = { ...request, from: ordered.order.from };
  // A request has a template or content; only SMTP brings messages.
  const made = await proposeEmail(deps, ordered.order as EmailOrder<MailSource>);
  await assertMayBeStored(deps, caller, { isMetered: ordered.isMetered, made, storedBytes });
  const mail = await proposedMail(deps, caller, emailId, made);
  await nextTurn();
  const cost = ordered.isMetered ? costOfProposed(made) : { emails: 0, attachments: 0 };
  const { recipients, roles, scheduledAt } = ordered.order;
  const latest = isoTime(deps.clock.now() + deps.limits.approvalHours * HOUR_MS);
  const requested: ApprovalRequested['data'] = {
    ...pinned,
    at,
    expiresAt: scheduledAt !== undefined && scheduledAt < latest ? scheduledAt : latest,
    askedBy: caller.actor,
    askedByName: await nameOfCaller(deps, caller),
    ...(caller.app !== undefined && caller.user !== undefined && { askedFor: `user:${caller.user.id}` }),
    digest: digestOf(deps, caller, whole, pinned),
    recipientCount: recipients.length,
    cost,
    scheduledAt: scheduledAt ?? null,
    ...testPart(caller),
  };
  const proposal: Proposal = {
    from: ordered.order.from,
    recipients: recipients.map(({ email, name }, place) => ({
      email,
      ...(name !== undefined && { name }),
      role: roles[place] ?? 'to',
    })),
    subject: mail.content.subject,
    attachments: mail.content.attachments.map(({ filename, contentType, sizeBytes }) => ({
      filename,
      contentType,
      sizeBytes,
    })),
    warnings: warningsOf(made, mail.content.sizes.html, ordered),
    request: whole,
  };
  return { requested, proposal };
};

const costOfProposed = ({ generated: { pdf, excel } = { pdf: 0, excel: 0 } }: ProposedEmail): Cost => ({
  emails: 1,
  attachments: pdf + excel,
});

type Proposed = Readonly<{ isMetered: boolean; made: ProposedEmail; storedBytes: StoredBytes | undefined }>;

/**
 * Refuses an email that the team has no credits or no storage for. The send call finds that out while it reserves and
 * stores, and here nothing is reserved or stored. Rejects with QUOTA_EXCEEDED and ATTACHMENT_STORAGE_EXCEEDED.
 */
export const assertMayBeStored = async (
  { credits, attachmentClaims }: ApprovalNeeds,
  { teamId }: Pick<Caller, 'teamId'>,
  { isMetered, made, storedBytes }: Proposed,
): Promise<void> => {
  const refusal = isMetered ? (await credits.quote(teamId)).wouldRefuse(costOfProposed(made)) : undefined;
  if (refusal !== undefined) throw refusal;
  const stored = made.files.length > 0 ? await storedBytes?.() : undefined;
  if (stored !== undefined) attachmentClaims.check(teamId, stored, sizeOf(made.files));
};

/** The id of the email that an approval leads to. */
export const emailIdOf = (deps: Pick<ApprovalNeeds, 'keys'>, caller: Caller, id: ApprovalId): EmailId =>
  derivedId(deps, caller, { endpoint: APPROVED_SENDS, idempotency: { key: id, body: undefined } });

/** HMAC of all that leaves: a person approves what has this digest, and only that is sent. */
export const digestOf = (
  { keys }: Pick<ApprovalNeeds, 'keys'>,
  { teamId }: Pick<Caller, 'teamId'>,
  request: SendEmailRequest,
  pinned: Pinned,
): string => {
  const { templateId, templateRevision, blocks = [], unsubscribeList = null, tracking = null, documents } = pinned;
  const pins = { templateId, templateRevision, blocks, unsubscribeList, tracking, documents };
  return keys.fingerprint('approval', canonicalJson({ teamId, request, pins } as unknown as JsonObject));
};

/** The revisions of the attachment templates that the request names. */
const documentsOf = async (
  deps: ApprovalNeeds,
  caller: Caller,
  { attachments = [] }: SendEmailRequest,
): Promise<Pinned['documents']> => {
  const documents: Pinned['documents'] = [];
  for (const [place, { attachmentTemplateId }] of attachments.entries()) {
    if (attachmentTemplateId === undefined) continue;
    const { id, name, revision, blocks } = await publishedDocument(
      deps,
      caller,
      attachmentTemplateId,
      `attachments[${place}]`,
    );
    documents.push({
      place,
      templateId: id,
      templateName: name,
      templateRevision: revision,
      ...(blocks && { blocks: [...blocks] }),
    });
  }
  return documents;
};

const pinsOf = ({ documents }: Pinned): ReadonlyMap<number, PinnedDocument> =>
  new Map(
    documents.map(({ place, templateId, templateName: name, templateRevision: revision, blocks }) => {
      const id = assertDefined(parseAttachmentTemplateId(templateId), 'attachment template id');
      return [place, { id, name, revision, ...(blocks && { blocks }) }];
    }),
  );

/** The order of an approval whose proposal can be read: the same email, whatever was published since. */
export const orderOfApproval = async (
  deps: ApprovalNeeds,
  caller: Caller,
  { requested, proposal }: Readonly<{ requested: ApprovalRequested['data']; proposal: Proposal }>,
  approval?: EmailOrder['approval'],
): Promise<SendOrder> => {
  const request = leavingNow(deps, proposal.request as SendEmailRequest);
  const { templateId, templateName: name, templateRevision: revision, templateVersion: version, blocks } = requested;
  const settled: Settled =
    request.content === undefined
      ? {
          source: {
            kind: 'template',
            id: assertDefined(parseTemplateId(templateId), 'template id'),
            name,
            revision,
            version,
            ...(blocks && { blocks }),
          },
          unsubscribeList: requested.unsubscribeList,
          from: null,
          tracking: requested.tracking,
        }
      : await settleSource(deps, caller, request, request.variables !== undefined);
  return { request, settled, storedBytes: undefined, approved: { approval, documents: pinsOf(requested) } };
};

/** A mail that was to leave by now leaves at once: a person approved it before. */
const leavingNow = (
  { clock }: Pick<ApprovalNeeds, 'clock'>,
  { scheduledAt, ...request }: SendEmailRequest,
): SendEmailRequest =>
  scheduledAt === undefined || Date.parse(scheduledAt) <= latestNow(clock) ? request : { ...request, scheduledAt };

const nameOfCaller = async (deps: ApprovalNeeds, { key, app }: Caller): Promise<string | null> => {
  if (key !== undefined)
    return (await loadState(deps.eventLog, apiKeyStream(key.id), apiKeyDecider)).state?.name ?? null;
  if (app === undefined) return null;
  return (await loadState(deps.eventLog, oauthClientStream(app.clientId), oauthAppDecider)).state?.name ?? null;
};

type Ordered = Awaited<ReturnType<typeof orderEmail>>;

const warningsOf = (
  { losses, replaced = [] }: ProposedEmail,
  htmlBytes: number,
  { suppressed, order: { recipients } }: Ordered,
): string[] =>
  [
    ...suppressed.map((place) => `${recipients[place]?.email ?? ''} is on the suppression list, and gets nothing`),
    ...losses.map((loss) => `{{${loss.path}}} ${lossMessage(loss)}`),
    ...replaced.map(
      ({ name, characters }) =>
        `no font has ${characters.slice(0, CHARACTERS_SHOWN).join(', ')}, in whose place names stand in ${name}`,
    ),
    ...clippingWarnings(htmlBytes).map(({ message }) => `the mail ${message}`),
  ]
    .slice(0, WARNINGS_MAX)
    .map((text) => (text.length > WARNING_CHARS_MAX ? `${text.slice(0, WARNING_CHARS_MAX)}…` : text));
