/** Records reports of bounces, deliveries and complaints. The return path in a report tells which email it is about. */
import type { FeedbackResponse } from '../../api/recipients.js';
import { emailDecider, emailNotFound } from '../../domain/email/decider.js';
import { isGone, type ReportCommand, type ReturnPath } from '../../domain/email/feedback.js';
import type { EmailEvent } from '../../domain/email/events.js';
import type { Email, EmailState } from '../../domain/email/state.js';
import { DomainError } from '../../domain/core/errors.js';
import { emailStream, parseTeamId, type EmailId, type StreamName } from '../../domain/core/ids.js';
import type { Report } from '../../domain/ports/report-reader.js';
import { isoTime } from '../../domain/core/time.js';
import { type Caller, assertNoTestKey, causeOf } from '../core/caller.js';
import { handleFrom, loadState } from '../core/handle.js';
import type { Loaded } from '../core/ports.js';
import type { Feedback, RecipientNeeds } from './needs.js';

/** The actor of reports that came by SMTP. */
const RETURN_PATH = 'return-path';

type RawReport = Readonly<{ raw: Uint8Array; recipient: string | undefined }>;

/**
 * Rejects with FEEDBACK_NOT_SET_UP, FEEDBACK_NOT_OURS, EMAIL_NOT_FOUND, and EMAIL_IN_PROGRESS for a report that is too
 * early.
 */
export const recordFeedback = async (
  deps: RecipientNeeds,
  caller: Caller,
  { raw, recipient }: RawReport,
): Promise<FeedbackResponse> => {
  assertNoTestKey(caller, 'reports nothing, for no host has had mail of it');
  const { returnPath, reader } = feedbackOf(deps);
  const report = await reader.read(raw);
  const id = firstOf(returnPath, recipient === undefined ? report.senders : [recipient]);
  if (id === undefined) throw notOurs();
  return record(deps, caller, id, report);
};

/**
 * Records a report that was mailed to the return path. The token in the return path authenticates it, so there is no
 * caller. Rejects with EMAIL_NOT_FOUND and EMAIL_IN_PROGRESS.
 */
export const receiveReport = async (deps: RecipientNeeds, id: EmailId, raw: Uint8Array): Promise<FeedbackResponse> =>
  record(deps, undefined, id, await feedbackOf(deps).reader.read(raw));

const feedbackOf = ({ feedback }: RecipientNeeds): Feedback => {
  if (feedback !== undefined) return feedback;
  throw new DomainError(
    'FEEDBACK_NOT_SET_UP',
    'No return path is set up: SEALPOST_RETURN_PATH_DOMAIN names its domain.',
  );
};

const notOurs = (): DomainError =>
  new DomainError(
    'FEEDBACK_NOT_OURS',
    'The report names no return path of this service, bounce+…@ the return path domain; give the envelope recipient of the report as `recipient`.',
  );

const firstOf = ({ emailOf }: ReturnPath, addresses: readonly string[]): EmailId | undefined => {
  for (const address of addresses) {
    const id = emailOf(address);
    if (id !== undefined) return id;
  }
  return undefined;
};

const record = async (
  deps: RecipientNeeds,
  sender: Caller | undefined,
  id: EmailId,
  { content }: Report,
): Promise<FeedbackResponse> => {
  const stream = emailStream(id);
  const loaded = await loadState(deps.eventLog, stream, emailDecider);
  const { state: email, teamId } = loaded;
  // Only the team that owned a deleted email is told that it is gone.
  const owner = parseTeamId(teamId ?? '');
  if (email === undefined || owner === undefined) throw emailNotFound();
  if (sender !== undefined && owner !== sender.teamId) throw emailNotFound();
  const caller = sender ?? { teamId: owner, actor: RETURN_PATH, permissions: [], correlationId: deps.ids.uuid() };
  const summary = summaryOf(content);
  if (isGone(email)) return { emailId: id, outcome: 'gone', status: email.status, ...summary };
  const at = isoTime(deps.clock.now());
  const command = commandOf(content, at);
  if (command === undefined) return { emailId: id, outcome: 'unchanged', status: email.status, ...summary };
  const { email: after, isNew } = await applyReport(deps, { loaded, stream, command, caller });
  return { emailId: id, outcome: isNew ? 'recorded' : 'unchanged', status: after.status, ...summary };
};

type ReportToApply = Readonly<{
  loaded: Loaded<EmailState>;
  stream: StreamName;
  command: ReportCommand;
  caller: Caller;
}>;

/**
 * Records a report of whatever origin. In: the email as loaded, which exists. Out: the email after it, and whether the
 * report changed it. Rejects with EMAIL_IN_PROGRESS for a report that is too early.
 */
export const applyReport = async (
  deps: RecipientNeeds,
  { loaded, stream, command, caller }: ReportToApply,
): Promise<Readonly<{ email: Email; isNew: boolean }>> => {
  const cause = causeOf(deps, caller, command.at);
  const { state, events } = await handleFrom(loaded, deps.eventLog, stream, emailDecider, command, cause);
  noteBlocks(deps, loaded.state as Email, events);
  return { email: state as Email, isNew: events.length > 0 };
};

const noteBlocks = ({ noteBlocked }: RecipientNeeds, { content }: Email, events: readonly EmailEvent[]): void => {
  for (const event of events) {
    if (event.type !== 'EmailBounceReported') continue;
    for (const { recipient, bounceType, bounceSubType } of event.data.bounces) {
      const address = content?.recipients[recipient]?.email;
      if (bounceType !== 'blocked' || address === undefined) continue;
      noteBlocked?.(address.slice(address.lastIndexOf('@') + 1).toLowerCase(), bounceSubType, 1);
    }
  }
};

const commandOf = (content: Report['content'], at: string): ReportCommand | undefined => {
  switch (content.kind) {
    case 'delivery-status':
      return { type: 'RecordReport', at, recipients: content.recipients };
    case 'complaint':
      return { type: 'RecordComplaint', at, feedbackType: content.feedbackType, addresses: content.addresses };
    case 'other':
      return undefined;
  }
};

const summaryOf = (content: Report['content']): Pick<FeedbackResponse, 'kind' | 'recipients'> => {
  switch (content.kind) {
    case 'delivery-status':
      return {
        kind: content.kind,
        recipients: content.recipients.map(({ action, bounceType, bounceSubType }) =>
          action === 'failed'
            ? { action, bounceType, bounceSubType }
            : { action, bounceType: null, bounceSubType: null },
        ),
      };
    case 'complaint':
      return { kind: content.kind, recipients: [{ action: 'complained', bounceType: null, bounceSubType: null }] };
    case 'other':
      return { kind: content.kind, recipients: [] };
  }
};
