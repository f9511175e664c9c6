/** What each event of an email does: to its document, to its timer, to the backlog of its team, to the counts of the day on which it was made, and to the summaries of the day on which it happened. */
import type { EmailAccepted, EmailEnvelope, EmailEvent } from '../../domain/email/events.js';
import { ACCEPTED, reachedBy, stoodAt, type Reached } from '../../domain/email/milestones.js';
import { advanceSummary, beginSummary, endsForFree, type Draft, type EmailProgress, type EmailSummary } from '../../domain/email/status.js';
import { endingsAfter, waitOf } from '../../domain/email/retirement.js';
import { emailTimer, emailTimerKind, type EmailTimerKind, type Periods } from '../../domain/email/timers.js';
import type { Recorded } from '../../domain/events.js';
import { splitStream } from '../../domain/core/ids.js';
import type { Document } from '../../domain/ports/read-models.js';
import { senderDueAt } from '../../domain/core/timers.js';
import { dayOf } from '../../domain/core/days.js';
import { cellOf, countsId, EMAIL_BACKLOGS, EMAIL_COUNTS, EMAIL_TIMERS, EMAILS, stubOf, type EmailDocument } from './documents.js';
import { countEmails } from './counts.js';
import { retirementHandlers } from './retirement.js';
import { withSubject } from './search.js';
import { eraseRecipients, removeErased, setSearched } from './texts.js';
import { attachmentUsageMoved, attachmentUsageSteps } from './attachment-usage.js';
import { emailOfBatchSteps } from '../bulk/batches.js';
import type { Handler, Handlers, Step } from '../core/projection.js';
import { recipientStatusesOf } from './recipient-statuses.js';
import { changeBacklog, type BacklogDocument, type Wait } from './backlogs.js';
import { bounceSteps } from './bounced-timers.js';
import type { TimerDocument } from '../core/timers.js';
import { summarySteps } from './summaries.js';

/** A document that its unit of work may change; fields are only ever taken out of it, so that equal documents are equal texts. */
type EmailDraft = Draft<EmailDocument> & { summary: Draft<EmailSummary> };

const beginning =
  (periods: Periods): Handler<EmailAccepted> =>
  (recorded) => {
    const email = accepted(recorded);
    return [
      ...countSteps(email, undefined, 1),
      ...backlogSteps(email, undefined, waitOf(email.summary)),
      ...usageSteps(email, recorded, 1),
      ...(email.batch === undefined ? [] : emailOfBatchSteps(email.batch, undefined, email.status, email.createdAt)),
      ...countedSteps(email, recorded, ACCEPTED),
      timerStep(email, periods),
      { collection: EMAILS, id: email.id, next: () => email },
    ];
  };

export const emailHandlers = (periods: Periods): Handlers<'email'> => {
  const begin = beginning(periods);
  const progress: Handler<EmailProgress> = (recorded, document) => {
    const { event } = recorded;
    if (document === undefined) return [];
    const email = document as EmailDraft;
    email.revision = recorded.revision;
    if (email.gone === 1) return [{ collection: EMAILS, id: email.id, next: () => email }];
    const [cell, timer, dueAt, status] = [cellOf(email), emailTimerKind(email.summary), email.summary.deletedAt, email.status];
    const wait = waitOf(email.summary);
    const reached = advance(email, event);
    const isErased = event.type === 'EmailDeleted' || event.type === 'EmailArchived' || event.type === 'EmailRemoved';
    const freed = isErased ? usageSteps(email, recorded, -1) : [];
    if (isErased) removeErased(email, event.type);
    if (event.type === 'RecipientsErased') eraseRecipients(email, event.data.recipients);
    const steps = countSteps(email, cell, endsForFree(email.summary, event, email.endedBefore !== undefined) ? -1 : 0);
    for (const step of countedSteps(email, recorded, reached)) steps.push(step);
    for (const step of freed) steps.push(step);
    if (email.batch !== undefined) for (const step of emailOfBatchSteps(email.batch, status, email.status, event.data.at)) steps.push(step);
    // The day of the archive is fixed from the start, unless the email is deleted; every other timer is set anew.
    const now = emailTimerKind(email.summary);
    setSender(email, now, recorded);
    for (const step of backlogSteps(email, wait, waitOf(email.summary))) steps.push(step);
    if (now !== 'archive' || timer !== now || dueAt !== email.summary.deletedAt) steps.push(timerStep(email, periods));
    for (const step of bounceSteps(email, recorded)) steps.push(step);
    // Neither in a list nor with anything left to do: what comes after changes nothing.
    const isGone = email.team === undefined && email.summary.archivedAt !== null;
    steps.push({ collection: EMAILS, id: email.id, next: () => (isGone ? stubOf(email) : email) });
    return steps;
  };
  const rescheduled: Handler<EmailRescheduled> = (recorded, document) => {
    return [...(document === undefined ? [] : reschedule(document as EmailDraft, recorded)), ...progress(recorded, document)];
  };
  return {
    EmailQueued: begin,
    EmailScheduled: begin,
    EmailRescheduled: rescheduled,
    EmailReleased: progress,
    DeliveryAttempted: progress,
    EmailSent: progress,
    EmailDeferred: progress,
    EmailBounced: progress,
    EmailFailed: progress,
    EmailDelivered: progress,
    EmailBounceReported: progress,
    EmailComplained: progress,
    EmailRetried: progress,
    EmailCancelled: progress,
    CopyAnswered: progress,
    RecipientsSuppressed: progress,
    EmailBouncesNoted: progress,
    RecipientsErased: progress,
    EmailOpened: progress,
    EmailClicked: progress,
    EmailDeleted: progress,
    EmailArchived: progress,
    EmailRemoved: progress,
    ...retirementHandlers,
  };
};

const accepted = ({ event, stream, revision, position, metadata: { teamId, actor } }: Recorded<EmailAccepted>): EmailDraft => {
  const { templateId, templateName, priority, at: createdAt } = event.data;
  const envelope: EmailEnvelope | undefined = event.sealed;
  const summary = beginSummary(event);
  const { id } = splitStream(stream);
  const email: EmailDraft = {
    id,
    seq: position,
    position,
    owner: teamId,
    revision,
    sender: actor,
    stream,
    status: summary.status,
    templateId,
    templateName,
    priority,
    createdAt,
    test: event.data.test === true ? 1 : 0,
    ...recipientStatusesOf(summary.status, summary.recipientStatuses),
    summary: summary as Draft<EmailSummary>,
    team: teamId,
  };
  const { batch, attachmentBytes, generated, confidential } = event.data;
  if (confidential === true) email.confidential = 1;
  if (batch !== undefined) email.batch = batch.id;
  if (attachmentBytes !== undefined) email.attachmentBytes = attachmentBytes;
  if (generated !== undefined) email.documents = generated.pdf + generated.excel;
  if (event.data.tags.length > 0) email.tags = [...new Set(event.data.tags)];
  if (envelope !== undefined) {
    email.subject = envelope.subject;
    setSearched(email, envelope, event.data.tags);
  }
  return email;
};

type EmailRescheduled = Extract<EmailEvent, { type: 'EmailRescheduled' }>;

/** The subject of the new time, and how long its files are kept. */
const reschedule = (email: EmailDraft, { event: { data, sealed }, position }: Recorded<EmailRescheduled>): readonly Step[] => {
  const { subject, text, attachmentBytes: bytes } = email;
  if (sealed !== undefined && subject !== undefined && text !== undefined) {
    email.subject = sealed.subject;
    email.text = withSubject(text, subject, sealed.subject);
  }
  const until = data.temporaryUntil;
  if (bytes === undefined || until === undefined) return [];
  email.attachmentBytes = { ...bytes, temporaryUntil: until };
  return [attachmentUsageMoved({ team: email.owner, bytes, until, at: data.at, position })];
};

/** Brings the email to where it stands after the event. Out: what it reaches by that. */
const advance = (email: EmailDraft, event: EmailProgress): Reached => {
  const before = stoodAt(email.summary);
  if (event.type === 'EmailRetried') noteEnd(email);
  email.summary = advanceSummary(email.summary, event);
  email.status = email.summary.status;
  setRecipientStatuses(email);
  return reachedBy(event, before, email.summary, email.endedBefore);
};

/** What it is retried after counts once in the summaries, however it ends. */
const noteEnd = (email: EmailDraft): void => {
  const after = endingsAfter(email.status, email.endedBefore);
  if (after !== undefined) email.endedBefore = after;
};

const countedSteps = (
  { owner: team, templateId, test, confidential, tags = [] }: EmailDraft,
  { event: { data }, position }: Recorded<EmailAccepted | EmailProgress>,
  reached: Reached,
): readonly Step[] => (test === 1 || confidential === 1 ? [] : summarySteps({ team, at: data.at, position, templateId, tags }, reached));

/** The timer is made of the email's state alone, so nothing of the former one is read. */
const timerStep = (email: EmailDraft, periods: Periods): Step => ({
  collection: EMAIL_TIMERS,
  id: email.id,
  document: timerOf(email, periods),
});

const timerOf = (email: EmailDraft, periods: Periods): TimerDocument => {
  const { id, seq, position, stream, priority, owner, summary, sender = '' } = email;
  const { kind, dueAt } = emailTimer(summary, periods);
  const document = { id, seq, position, kind, key: stream, dueAt, priority, team: owner };
  return waitsForTurn[kind] ? { ...document, senderDueAt: senderDueAt(sender, dueAt) } : document;
};

/** Which timers lead to work in turns: the readers of all others need no sender. */
const waitsForTurn: Readonly<Record<EmailTimerKind, boolean>> = {
  deliver: true,
  scheduled: true,
  deferred: true,
  held: true,
  processing: false,
  archive: false,
  removal: false,
  retirement: false,
};

/** Kept as long as a timer may name it. Metadata is parsed where an email that had ended goes on for whoever asked for that. */
const setSender = (email: EmailDraft, timer: EmailTimerKind, recorded: Recorded<EmailProgress>): void => {
  if (timer === 'archive' || timer === 'removal' || timer === 'retirement') delete email.sender;
  else email.sender ??= recorded.metadata.actor;
};

const usageSteps = (
  { owner: team, attachmentBytes: bytes }: EmailDraft,
  { event: { data }, position }: Recorded<EmailAccepted | EmailProgress>,
  sign: 1 | -1,
): readonly Step[] => attachmentUsageSteps({ team, bytes, sign, at: data.at, position });

/** `used`: by how many the emails of its day become more; those of test keys and of the service itself use nothing. */
const countSteps = (email: EmailDraft, from: string | undefined, used: 1 | 0 | -1): Step[] => {
  const to = cellOf(email);
  if (from === to && used === 0) return [];
  const { owner: team, seq, position, documents = 0 } = email;
  const counted = email.test === 1 || email.confidential === 1 ? 0 : used;
  const change = { team, day: dayOf(email.createdAt), seq, position, at: seq, from, to, emails: counted, documents: counted * documents };
  return [{ collection: EMAIL_COUNTS, id: countsId(team, change.day), next: (document) => countEmails(document, change) }];
};

const backlogSteps = (
  { owner: team, seq, priority, summary: { updatedAt: at } }: EmailDraft,
  from: Wait | undefined,
  to: Wait | undefined,
): readonly Step[] => {
  if (from === to) return [];
  const next = (document: Document | undefined): BacklogDocument =>
    changeBacklog(document, { team, seq, position: seq, priority, from, to, at });
  return [{ collection: EMAIL_BACKLOGS, id: team, next }];
};

const setRecipientStatuses = (email: EmailDraft): void => {
  const { mixed, recipientStatuses } = recipientStatusesOf(email.status, email.summary.recipientStatuses);
  email.mixed = mixed;
  if (recipientStatuses === undefined) delete email.recipientStatuses;
  else email.recipientStatuses = recipientStatuses;
};
