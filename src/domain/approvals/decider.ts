/** The decider of an approval, its state, and the approval as lists and records show it. */
import type { Decider } from '../core/decider.js';
import { DomainError } from '../core/errors.js';
import type { ApprovalEvent, ApprovalRequested, Proposal, ProposalEnvelope } from './events.js';

export const approvalStatuses = ['requested', 'approved', 'rejected', 'expired', 'withdrawn'] as const;
export type ApprovalStatus = (typeof approvalStatuses)[number];

export const rejectionReasons = ['recipient', 'content', 'timing', 'unwanted', 'other'] as const;
export type RejectionReason = (typeof rejectionReasons)[number];

export type Approval = Readonly<{
  status: ApprovalStatus;
  /** The data of the first event. */
  requested: ApprovalRequested['data'];
  /** undefined once the key is destroyed. */
  proposal: Proposal | undefined;
  /** When and by which actor it was decided; an approval that expired has no actor. */
  decided: Readonly<{ at: string; by: string | null }> | null;
  reason: RejectionReason | null;
  emailId: string | null;
  /** The error code with which the approved email was refused. */
  failureCode: string | null;
  /** When nothing more can happen to it: the record is kept from then on for a while. */
  endedAt: string | null;
  /** When its record was removed because of its age, or with its team. */
  deletedAt: string | null;
}>;

/** undefined: no event yet. */
export type ApprovalState = Approval | undefined;

export type ApprovalCommand =
  | Readonly<{ type: 'RequestApproval'; requested: ApprovalRequested['data']; proposal: Proposal }>
  /** `digest`: of the proposal that the person was shown. */
  | Readonly<{ type: 'Approve'; at: string; by: string; digest: string }>
  | Readonly<{ type: 'Reject'; at: string; by: string; reason: RejectionReason }>
  | Readonly<{ type: 'Withdraw'; at: string; by: string }>
  | Readonly<{ type: 'Expire'; at: string }>
  | Readonly<{ type: 'NoteSent'; at: string; emailId: string }>
  | Readonly<{ type: 'NoteFailed'; at: string; code: string }>
  | Readonly<{ type: 'EraseProposal'; at: string }>
  /** Removes the record if it ended before that moment; undefined: in any state. */
  | Readonly<{ type: 'RemoveApproval'; at: string; endedBefore: string | undefined }>;

type CommandOf<Type extends ApprovalCommand['type']> = Extract<ApprovalCommand, { type: Type }>;

export const approvalNotFound = (): DomainError =>
  new DomainError(
    'APPROVAL_NOT_FOUND',
    'There is no approval with this id. Ids are answered by POST /api/approvals, and GET /api/approvals lists them.',
  );

/** Whether the email of an approval is approved and neither made nor refused yet. */
export const isToBeSent = ({ status, emailId, failureCode }: Approval): boolean =>
  status === 'approved' && emailId === null && failureCode === null;

/** An approval that nobody decided on in time counts as expired, before an event says so. */
export const statusAt = ({ status, requested }: Pick<Approval, 'status' | 'requested'>, now: string): ApprovalStatus =>
  status === 'requested' && requested.expiresAt <= now ? 'expired' : status;

const none: readonly ApprovalEvent[] = [];

const alreadyDecided = (status: ApprovalStatus): DomainError =>
  new DomainError(
    'APPROVAL_DECIDED',
    status === 'expired'
      ? 'Nobody approved this send in time, so it has expired. Ask for it anew.'
      : `This send is ${status} already, and that cannot be changed.`,
    { relatedInfo: { status } },
  );

const decide = (command: ApprovalCommand, state: ApprovalState): readonly ApprovalEvent[] => {
  if (command.type === 'RequestApproval')
    return state === undefined
      ? [{ type: 'ApprovalRequested', data: command.requested, sealed: command.proposal }]
      : none;
  if (state === undefined || state.deletedAt !== null) {
    if (command.type === 'RemoveApproval') return none;
    throw approvalNotFound();
  }
  const { at } = command;
  switch (command.type) {
    case 'Approve':
      return approve(command, state);
    case 'Reject':
      return reject(command, state);
    case 'Withdraw':
      if (state.status === 'withdrawn') return none;
      assertOpen(state, at);
      return [{ type: 'ApprovalWithdrawn', data: { at, withdrawnBy: command.by } }];
    case 'Expire':
      return state.status === 'requested' && statusAt(state, at) === 'expired'
        ? [{ type: 'ApprovalExpired', data: { at } }]
        : none;
    case 'NoteSent':
      return state.status === 'approved' && state.emailId === null
        ? [{ type: 'ApprovalSent', data: { at, emailId: command.emailId } }]
        : none;
    case 'NoteFailed':
      return isToBeSent(state) ? [{ type: 'ApprovalFailed', data: { at, code: command.code } }] : none;
    case 'EraseProposal':
      return state.proposal === undefined ? none : [{ type: 'ApprovalErased', data: { at } }];
    case 'RemoveApproval':
      return command.endedBefore === undefined || (state.endedAt !== null && state.endedAt < command.endedBefore)
        ? [{ type: 'ApprovalRemoved', data: { at } }]
        : none;
  }
};

const assertOpen = (state: Approval, at: string): void => {
  const status = statusAt(state, at);
  if (status !== 'requested') throw alreadyDecided(status);
};

/** A second approval changes nothing: the first one's email is its answer. */
const approve = ({ at, by, digest }: CommandOf<'Approve'>, state: Approval): readonly ApprovalEvent[] => {
  if (state.status === 'approved') return none;
  assertOpen(state, at);
  if (digest !== state.requested.digest)
    throw new DomainError(
      'APPROVAL_CHANGED',
      'The `digest` is not that of this send. Read it with GET /api/approvals/:id, look at it, and approve what you saw.',
      { errors: [{ field: 'digest', message: 'is not that of this send' }] },
    );
  return [{ type: 'ApprovalApproved', data: { at, askedBy: state.requested.askedBy, approvedBy: by, digest } }];
};

const reject = ({ at, by, reason }: CommandOf<'Reject'>, state: Approval): readonly ApprovalEvent[] => {
  if (state.status === 'rejected') return none;
  assertOpen(state, at);
  return [{ type: 'ApprovalRejected', data: { at, askedBy: state.requested.askedBy, rejectedBy: by, reason } }];
};

/** Pure and total: events without a first one are ignored. */
const evolve = (state: ApprovalState, event: ApprovalEvent): ApprovalState => {
  if (event.type === 'ApprovalRequested')
    return {
      status: 'requested',
      requested: event.data,
      proposal: event.sealed,
      decided: null,
      reason: null,
      emailId: null,
      failureCode: null,
      endedAt: null,
      deletedAt: null,
    };
  if (state === undefined) return undefined;
  const { at } = event.data;
  switch (event.type) {
    case 'ApprovalApproved':
      return { ...state, status: 'approved', decided: { at, by: event.data.approvedBy } };
    case 'ApprovalSent':
      return { ...state, emailId: event.data.emailId, failureCode: null, endedAt: at };
    case 'ApprovalFailed':
      return { ...state, failureCode: event.data.code, endedAt: at };
    case 'ApprovalRejected': {
      const { rejectedBy, reason } = event.data;
      return { ...ended(state, 'rejected', at), decided: { at, by: rejectedBy }, reason };
    }
    case 'ApprovalWithdrawn':
      return { ...ended(state, 'withdrawn', at), decided: { at, by: event.data.withdrawnBy } };
    case 'ApprovalExpired':
      return { ...ended(state, 'expired', at), decided: { at, by: null } };
    case 'ApprovalErased':
      return state.status === 'requested'
        ? { ...ended(state, 'withdrawn', at), decided: { at, by: null } }
        : { ...state, proposal: undefined };
    case 'ApprovalRemoved':
      return { ...state, proposal: undefined, deletedAt: at };
  }
};

const ended = (state: Approval, status: ApprovalStatus, at: string): Approval => ({
  ...state,
  status,
  proposal: undefined,
  endedAt: at,
});

export const approvalDecider: Decider<ApprovalCommand, ApprovalEvent, ApprovalState> = {
  decide,
  evolve,
  initialState: undefined,
};

/** An approval in a list. `proposal`: null once it is destroyed. Times are ISO 8601. */
export type ApprovalListing = {
  id: string;
  status: ApprovalStatus;
  askedAt: string;
  askedBy: string;
  askedByName: string | null;
  askedFor: string | null;
  expiresAt: string;
  decidedAt: string | null;
  decidedBy: string | null;
  reason: RejectionReason | null;
  emailId: string | null;
  failureCode: string | null;
  digest: string;
  templateId: string;
  templateName: string;
  templateVersion: number | null;
  recipientCount: number;
  cost: { emails: number; attachments: number };
  scheduledAt: string | null;
  test: boolean;
  proposal: ShownProposal | null;
};
type ShownRecipient = { email: string; name?: string };
export type ShownProposal = Pick<ProposalEnvelope, 'from' | 'subject' | 'attachments' | 'warnings'> &
  Record<'to' | 'cc' | 'bcc', ShownRecipient[]>;

/** In: the state, with no more than the envelope of its proposal. */
export const listingOf = (
  id: string,
  approval: Omit<Approval, 'proposal'> & Readonly<{ proposal: ProposalEnvelope | undefined }>,
): ApprovalListing => {
  const { requested, proposal, decided, reason, emailId, failureCode, status } = approval;
  return {
    id,
    status,
    askedAt: requested.at,
    askedBy: requested.askedBy,
    askedByName: requested.askedByName,
    askedFor: requested.askedFor ?? null,
    expiresAt: requested.expiresAt,
    decidedAt: decided?.at ?? null,
    decidedBy: decided?.by ?? null,
    reason,
    emailId,
    failureCode,
    digest: requested.digest,
    templateId: requested.templateId,
    templateName: requested.templateName,
    templateVersion: requested.templateVersion,
    recipientCount: requested.recipientCount,
    cost: requested.cost,
    scheduledAt: requested.scheduledAt,
    test: requested.test === true,
    proposal: proposal === undefined ? null : shownProposal(proposal),
  };
};

const shownProposal = ({ from, recipients, subject, attachments, warnings }: ProposalEnvelope): ShownProposal => {
  const of = (wanted: 'to' | 'cc' | 'bcc'): ShownRecipient[] =>
    recipients.flatMap(({ role, ...mailbox }) => (role === wanted ? [mailbox] : []));
  return { from, to: of('to'), cc: of('cc'), bcc: of('bcc'), subject, attachments, warnings };
};
