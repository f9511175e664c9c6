/**
 * Processors started by an email's timer: release a scheduled email, archive an old or deleted one, remove the record
 * of an archived one. The processor of approvals sends what was approved if the process of the person died, and expires
 * and removes the others.
 */
import type { EmailNeeds } from '../../commands/email/needs.js';
import { archiveEmail, removeEmailRecord } from '../../commands/email/emails.js';
import { endApproval, sendApproved } from '../../commands/approvals/decisions.js';
import type { ApprovalNeeds } from '../../commands/approvals/request.js';
import type { EraseDeps } from '../../commands/core/erase.js';
import {
  approvalDecider,
  isToBeSent,
  type ApprovalCommand,
  type ApprovalState,
} from '../../domain/approvals/decider.js';
import { emailDecider, type EmailCommand } from '../../domain/email/decider.js';
import type { EmailState } from '../../domain/email/state.js';
import { assertDefined, parseApprovalId, parseEmailId, splitStream } from '../../domain/core/ids.js';
import { isoTime } from '../../domain/core/time.js';
import type { ActingDeclaration, Processor, ProcessorDeps } from '../core/declaration.js';
import { makeProcessor } from '../core/processor.js';

/** No event starts this work: only timers do. */
/** Only our own stores are called. */
const DEADLINE_MS = 60_000;

const timed = (
  declaration: Pick<ActingDeclaration<'email', EmailState, EmailCommand>, 'name' | 'timers' | 'act'>,
): Processor => makeProcessor({ kind: 'email', decider: emailDecider, deadlineMs: DEADLINE_MS, ...declaration });

export const releaseEmail = (deps: Pick<EmailNeeds, 'clock'>): Processor =>
  timed({
    name: 'release-email',
    timers: [{ kind: 'scheduled', read: 'due', inTurns: true }],
    act: async () => ({ command: { type: 'ReleaseEmail', at: isoTime(deps.clock.now()) } }),
  });

/** `archiveEmail` checks itself whether it is due. */
export const archiveEmailInTime = (
  deps: EraseDeps & Pick<EmailNeeds, 'limits'> & Pick<ProcessorDeps, 'mayDestroy'>,
): Processor =>
  timed({
    name: 'archive-email',
    timers: [{ kind: 'archive', read: 'due', destroys: true }],
    act: async ({ stream, cause }) => {
      if (!deps.mayDestroy()) return {};
      await archiveEmail(deps, assertDefined(parseEmailId(splitStream(stream).id), 'email id'), cause);
      return {};
    },
  });

/** `removeEmailRecord` checks itself whether it is due. */
export const removeEmailInTime = (
  deps: Pick<EmailNeeds, 'eventLog' | 'limits'> & Pick<ProcessorDeps, 'mayDestroy'>,
): Processor =>
  timed({
    name: 'remove-email',
    timers: [{ kind: 'removal', read: 'due', destroys: true, seldom: true }],
    act: async ({ stream, cause }) => {
      if (deps.mayDestroy())
        await removeEmailRecord(deps, assertDefined(parseEmailId(splitStream(stream).id), 'email id'), cause);
      return {};
    },
  });

/** Long enough for the documents of an email. */
const SENDING_DEADLINE_MS = 10 * 60_000;
const RETRY_AFTER_MS = 10_000;
/** Each may hold an email with its files in memory. */
const IN_FLIGHT_MAX = 4;

export type ApprovalProcessorDeps = ApprovalNeeds & Pick<ProcessorDeps, 'mayDestroy'>;

/** All of it is recorded by the commands, which may be repeated. */
export const carryOutApprovals = (deps: ApprovalProcessorDeps): Processor =>
  makeProcessor<'approval', ApprovalState, ApprovalCommand>({
    name: 'carry-out-approvals',
    kind: 'approval',
    decider: approvalDecider,
    startedBy: { ApprovalApproved: () => 'normal' },
    timers: [
      { kind: 'sending', read: 'started' },
      { kind: 'expiry', read: 'due' },
      { kind: 'removal', read: 'due', destroys: true, seldom: true },
    ],
    deadlineMs: SENDING_DEADLINE_MS,
    inFlightMax: IN_FLIGHT_MAX,
    act: async ({ stream, state, cause: { fence: _fence, ...cause } }) => {
      // People append to the stream as well, so no lease is named.
      const id = assertDefined(parseApprovalId(splitStream(stream).id), 'approval id');
      if (isToBeSent(state))
        return (await sendApproved(deps, { id, cause })) ? {} : { againAtMs: deps.clock.now() + RETRY_AFTER_MS };
      await endApproval(deps, id, cause, deps.mayDestroy());
      return {};
    },
  });
