/**
 * The projection of emails and bulk sends. Each event of an email updates its document and timers, the backlog of its
 * team, the counts and summaries of days, and the bulk send that the email belongs to.
 */
import { dayOf } from '../../domain/core/time.js';
import type { BatchEvent } from '../../domain/bulk/events.js';
import type { EmailAccepted, EmailEvent, EmailEnvelope } from '../../domain/email/events.js';
import type { DomainEvent, Recorded } from '../../domain/events.js';
import { splitStream } from '../../domain/core/ids.js';
import type { Document } from '../../domain/ports/read-models.js';
import {
  ATTACHMENT_USAGE,
  attachmentUsageMoved,
  attachmentUsageSpec,
  attachmentUsageSteps,
} from '../email/attachment-usage.js';
import {
  type Expected,
  batchesSpec,
  batchHandlers,
  batchReference,
  batchTimersSpec,
  emailMadeSteps,
  emailOfBatchSteps,
  relatedToBatch,
} from './batches.js';
import {
  countEmails,
  countsId,
  EMAIL_BACKLOGS,
  EMAIL_COUNTS,
  type EmailDocument,
  cellOf,
  EMAILS,
  stubOf,
  withSubject,
  eraseRecipients,
  removeErased,
  setSearched,
  recipientStatusesOf,
} from '../email/read-models.js';
import {
  declareProjection,
  secondSeq,
  timerIndexes,
  timersSpec,
  type Reference,
  type Handler,
  type Projection,
  type Step,
  type Handlers,
} from '../core/projection.js';
import { SUMMARIES, SUMMARIES_OF_ROWS, summariesSpecs, summaryReferences, summarySteps } from '../email/summaries.js';
import {
  type Draft,
  type EmailProgress,
  advanceSummary,
  beginSummary,
  endsForFree,
  failureReasonAfter,
  type EmailSummary,
} from '../../domain/email/status.js';
import { ACCEPTED, countsFrom, endingsAfter, reachedBy, stoodAt, type Reached } from '../../domain/email/milestones.js';
import { backlogsSpec, changeBacklog, changeUnmade, type BacklogDocument, type Wait } from '../email/backlogs.js';
import { type DomainCounts, domainCounts } from '../../domain/email/recipient-domains.js';
import { hasHardBounce, hasHardReport } from '../../domain/email/feedback.js';
import {
  BOUNCED_TIMER,
  BOUNCED_TIMERS,
  emailTimer,
  emailTimerKind,
  waitOf,
  type EmailTimerKind,
  type Periods,
} from '../../domain/email/timers.js';
import { senderDueAt } from '../../domain/ports/timers.js';

/**
 * A document that the unit of work may change. Fields are deleted rather than set to undefined, so that equal documents
 * are equal JSON.
 */
type EmailDraft = Draft<EmailDocument> & { summary: Draft<EmailSummary> };

const emailHandlers = (periods: Periods): Handlers<'email'> => {
  const begin = beginning(periods);
  const progress: Handler<EmailProgress> = (recorded, document) => {
    const { event } = recorded;
    if (document === undefined) return [];
    let email = document as EmailDraft;
    if (email.gone === 1) return [{ collection: EMAILS, id: email.id, next: () => email }];
    const [cell, timer, dueAt, status] = [
      cellOf(email),
      emailTimerKind(email.summary),
      email.summary.deletedAt,
      email.status,
    ];
    const [wait, statuses] = [waitOf(email.summary), email.summary.recipientStatuses];
    const reached = advance(email, event);
    const isErased = event.type === 'EmailDeleted' || event.type === 'EmailArchived' || event.type === 'EmailRemoved';
    const freed = isErased ? usageSteps(email, recorded, -1) : [];
    if (isErased) removeErased(email, event.type);
    if (event.type === 'RecipientsErased') eraseRecipients(email, event.data.recipients);
    const steps = countSteps(email, cell, endsForFree(email.summary, event, email.endedBefore !== undefined) ? -1 : 0);
    const domains = domainCounts(email, statuses, email.summary.recipientStatuses);
    for (const step of countedSteps(email, recorded, reached, { domains })) steps.push(step);
    for (const step of freed) steps.push(step);
    if (email.batch !== undefined)
      for (const step of emailOfBatchSteps(email.batch, status, email.status, event.data.at)) steps.push(step);
    // The time of archiving changes only if the email is deleted; every other timer is set at each event.
    const now = emailTimerKind(email.summary);
    email = withSender(email, now, recorded);
    for (const step of backlogSteps(email, wait, waitOf(email.summary))) steps.push(step);
    if (now !== 'archive' || timer !== now || dueAt !== email.summary.deletedAt) email = withTimer(email, periods);
    for (const step of bounceSteps(email, recorded)) steps.push(step);
    // Not listed, and nothing left to do: later events change nothing.
    const isGone = email.team === undefined && email.summary.archivedAt !== null;
    steps.push({ collection: EMAILS, id: email.id, next: () => (isGone ? stubOf(email) : email) });
    return steps;
  };
  const rescheduled: Handler<EmailRescheduled> = (recorded, document) => {
    return [
      ...(document === undefined ? [] : reschedule(document as EmailDraft, recorded)),
      ...progress(recorded, document),
    ];
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
    ProviderEventKept: progress,
    RecipientsErased: progress,
    EmailOpened: progress,
    EmailClicked: progress,
    EmailDeleted: progress,
    EmailArchived: progress,
    EmailRemoved: progress,
  };
};

const beginning =
  (periods: Periods): Handler<EmailAccepted> =>
  (recorded) => {
    const email = accepted(recorded, periods);
    // The step of the bulk send comes first: the others take from it what it had counted for the email.
    const expected: Expected = { emails: 0, documents: 0, open: 0, wait: 'ready' };
    return [
      ...(email.batch === undefined ? [] : emailMadeSteps(email.batch, email, calledOn(email), expected)),
      ...countSteps(email, undefined, 1, expected),
      ...backlogSteps(email, undefined, waitOf(email.summary), expected),
      ...usageSteps(email, recorded, 1),
      ...countedSteps(email, recorded, ACCEPTED, {
        expected,
        domains: domainCounts(email, undefined, email.summary.recipientStatuses),
      }),
      { collection: EMAILS, id: email.id, next: () => email },
    ];
  };

const accepted = (
  { event, stream, position, metadata: { teamId, actor } }: Recorded<EmailAccepted>,
  periods: Periods,
): EmailDraft => {
  const { templateId, templateName, priority, at: createdAt } = event.data;
  const envelope: EmailEnvelope | undefined = event.sealed;
  const summary = beginSummary(event);
  const { id } = splitStream(stream);
  const email = withTimer(
    {
      id,
      seq: position,
      position,
      owner: teamId,
      sender: actor,
      key: stream,
      status: summary.status,
      templateId,
      templateName,
      priority,
      createdAt,
      test: event.data.test === true ? 1 : 0,
      ...recipientStatusesOf(summary.status, summary.recipientStatuses),
      summary: summary as Draft<EmailSummary>,
      team: teamId,
    },
    periods,
  );
  const { batch, calledAt, attachmentBytes, attachmentCount, generated, confidential } = event.data;
  if (confidential === true) email.confidential = 1;
  if (calledAt !== undefined) email.calledAt = calledAt;
  if (batch !== undefined) email.batch = batch.id;
  if (attachmentCount > 0) email.attachments = attachmentCount;
  if (attachmentBytes !== undefined) email.attachmentBytes = attachmentBytes;
  if (generated !== undefined) email.documents = generated.pdf + generated.excel;
  const { domains, senderDomain } = event.data;
  if (domains !== undefined) email.domains = domains;
  if (senderDomain !== undefined) email.senderDomain = senderDomain;
  if (event.data.tags.length > 0) email.tags = [...new Set(event.data.tags)];
  if (envelope !== undefined) {
    email.subject = envelope.subject;
    const [first] = envelope.recipients;
    if (first !== undefined && first !== null) {
      email.to = first.email;
      if (first.name !== undefined) email.toName = first.name;
    }
    setSearched(email, envelope, { tags: event.data.tags, actor, batch: batch?.id });
  }
  return email;
};

type EmailRescheduled = Extract<EmailEvent, { type: 'EmailRescheduled' }>;

/** Sets the subject for the new time, and how long its files are kept. */
const reschedule = (
  email: EmailDraft,
  { event: { data, sealed }, position }: Recorded<EmailRescheduled>,
): readonly Step[] => {
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

/** Applies the event to the email. Out: the milestones that it reaches. */
const advance = (email: EmailDraft, event: EmailProgress): Reached => {
  const before = stoodAt(email.summary);
  if (event.type === 'EmailRetried') noteEnd(email);
  email.summary = advanceSummary(email.summary, event);
  email.status = email.summary.status;
  setReason(email, event);
  if (event.type === 'DeliveryAttempted' && event.data.relay !== undefined) email.relay = event.data.relay;
  setRecipientStatuses(email);
  return reachedBy(event, before, email.summary, email.endedBefore);
};

const setReason = (email: EmailDraft, event: EmailProgress): void => {
  const reason = failureReasonAfter(email.reason ?? null, event, email.summary);
  if (reason !== null) email.reason = reason;
  else if (email.reason !== undefined) delete email.reason;
};

/** Notes the end before a retry, so that summaries count it once. */
const noteEnd = (email: EmailDraft): void => {
  const after = endingsAfter(email.status, email.endedBefore);
  if (after !== undefined) email.endedBefore = after;
};

const countedSteps = (
  { owner: team, templateId, test, confidential, tags = [] }: EmailDraft,
  { event, position }: Recorded<EmailAccepted | EmailProgress>,
  reached: Reached,
  { expected, domains }: Readonly<{ expected?: Expected; domains: DomainCounts | undefined }>,
): readonly Step[] => {
  if (test === 1 || confidential === 1) return [];
  const at = isAccepted(event) ? countsFrom(event.data) : event.data.at;
  const counted = { team, at, position, templateId, tags };
  return summarySteps(counted, reached, {
    domains,
    ...(expected === undefined ? {} : { times: () => 1 - expected.emails }),
  });
};

/** The document as the timer that follows from the email's state; the email may be changed in place. */
const withTimer = (email: EmailDraft, periods: Periods): EmailDraft => {
  const timer = emailTimer(email.summary, periods);
  if (timer === undefined) {
    const { kind: _kind, dueAt: _dueAt, senderDueAt: _senderDueAt, ...others } = email;
    return others;
  }
  const { kind, dueAt } = timer;
  const draft = waitsForTurn[kind] || email.senderDueAt === undefined ? email : withoutSenderDueAt(email);
  draft.kind = kind;
  draft.dueAt = dueAt;
  if (waitsForTurn[kind]) draft.senderDueAt = senderDueAt(draft.sender ?? '', dueAt);
  return draft;
};

const withoutSenderDueAt = ({ senderDueAt: _, ...others }: EmailDraft): EmailDraft => others;

/** The timers whose work takes turns by sender; the others need no sender. */
const waitsForTurn: Readonly<Record<EmailTimerKind, boolean>> = {
  deliver: true,
  scheduled: true,
  deferred: true,
  held: true,
  processing: false,
  archive: false,
  removal: false,
};

/** Keeps the sender as long as a timer needs it. An ended email that goes on takes the actor of that event. */
const withSender = (
  email: EmailDraft,
  timer: EmailTimerKind | undefined,
  recorded: Recorded<EmailProgress>,
): EmailDraft => {
  if (timer === 'archive' || timer === 'removal' || timer === undefined)
    return email.sender === undefined ? email : withoutSender(email);
  email.sender ??= recorded.metadata.actor;
  return email;
};

/** A copy: an object of which a field was deleted is slow wherever it is used. */
const withoutSender = ({ sender: _, ...others }: EmailDraft): EmailDraft => others;

const usageSteps = (
  { owner: team, attachmentBytes: bytes }: EmailDraft,
  { event: { data }, position }: Recorded<EmailAccepted | EmailProgress>,
  sign: 1 | -1,
): readonly Step[] => attachmentUsageSteps({ team, bytes, sign, at: data.at, position });

/**
 * `used`: the change of the number of emails of the day from which it counts; 0 for test keys and mails of the service.
 * `expected`: what its bulk send had counted for it before.
 */
const countSteps = (email: EmailDraft, from: string | undefined, used: 1 | 0 | -1, expected?: Expected): Step[] => {
  const to = cellOf(email);
  const { owner: team, seq, position, documents = 0 } = email;
  const isUsed = used !== 0 && email.test !== 1 && email.confidential !== 1;
  const [shown, called] = [dayOf(email.createdAt), calledOn(email)];
  const step = (day: string, hasCell: boolean, hasUse: boolean): Step => ({
    collection: EMAIL_COUNTS,
    id: countsId(team, day),
    next: (document) =>
      countEmails(document, {
        team,
        day,
        seq: hasCell ? seq : secondSeq(seq),
        position,
        ...(hasCell ? { cell: { at: seq, from, to } } : {}),
        emails: hasUse ? used - (expected?.emails ?? 0) : 0,
        documents: hasUse ? used * documents - (expected?.documents ?? 0) : 0,
      }),
  });
  if (shown === called) return from === to && used === 0 ? [] : [step(shown, true, isUsed)];
  return [...(from === to ? [] : [step(shown, true, false)]), ...(isUsed ? [step(called, false, true)] : [])];
};

/** The day from which an email counts as accepted and used. */
const calledOn = ({ createdAt, calledAt = createdAt }: Pick<EmailDocument, 'createdAt' | 'calledAt'>): string =>
  dayOf(calledAt);

const backlogSteps = (
  { owner: team, seq, priority, summary: { updatedAt: at } }: EmailDraft,
  from: Wait | undefined,
  to: Wait | undefined,
  expected?: Expected,
): readonly Step[] => {
  if (from === to) return [];
  const of = { team, seq, position: seq };
  const next = (document: Document | undefined): BacklogDocument => {
    const after = changeBacklog(document, { ...of, priority, from, to, at });
    return expected === undefined
      ? after
      : changeUnmade(after, [{ priority, wait: expected.wait, by: -expected.open }], of);
  };
  return [{ collection: EMAIL_BACKLOGS, id: team, next }];
};

const setRecipientStatuses = (email: EmailDraft): void => {
  const { mixed, recipientStatuses } = recipientStatusesOf(email.status, email.summary.recipientStatuses);
  email.mixed = mixed;
  if (recipientStatuses !== undefined) email.recipientStatuses = recipientStatuses;
  else if (email.recipientStatuses !== undefined) delete email.recipientStatuses;
};

/**
 * The other documents that an event of an email may change: the backlog of its team, the counts of its day, its batch,
 * and the summaries of the day of the event. For a new email they follow from its first event.
 */
const relatedToEmail = (
  recorded: Recorded,
  document: Document | undefined,
  first: Recorded | undefined,
): readonly Reference[] => {
  const { event, stream, revision } = recorded;
  if (stream.startsWith('batch-')) return relatedToBatch(recorded as Recorded<BatchEvent>, document, first);
  if (document !== undefined) {
    const { owner, attachmentBytes, batch, tags, domains, senderDomain } = document as EmailDocument;
    const beside = besideEmail(owner, document as EmailDocument, attachmentBytes !== undefined, batch);
    return [
      ...beside,
      ...summaryReferences(event as EmailEvent, owner, {
        hasTags: tags !== undefined,
        hasDomains: (domains ?? senderDomain) !== undefined,
      }),
    ];
  }
  // An email that was given up before it was accepted begins with its deletion, and has no document.
  if (first === undefined || !isAccepted(first.event)) return [];
  const { at: createdAt, calledAt, tags, attachmentBytes, batch, domains, senderDomain } = first.event.data;
  // Metadata is parsed on access, so it is read from the first event only.
  const { teamId } = first.metadata;
  const summaries = summaryReferences(event as EmailEvent, teamId, {
    hasTags: tags.length > 0,
    hasDomains: (domains ?? senderDomain) !== undefined,
  });
  const days = calledAt === undefined ? { createdAt } : { createdAt, calledAt };
  return revision === 0
    ? [...besideEmail(teamId, days, attachmentBytes !== undefined, batch?.id), ...summaries]
    : summaries;
};

const isAccepted = (event: DomainEvent): event is EmailAccepted =>
  event.type === 'EmailQueued' || event.type === 'EmailScheduled';

const besideEmail = (
  team: string,
  days: Pick<EmailDocument, 'createdAt' | 'calledAt'>,
  hasAttachments: boolean,
  batch: string | undefined,
): readonly Reference[] => {
  const beside: Reference[] = [
    { collection: EMAIL_COUNTS, id: countsId(team, dayOf(days.createdAt)) },
    { collection: EMAIL_BACKLOGS, id: team },
  ];
  if (days.calledAt !== undefined) beside.push({ collection: EMAIL_COUNTS, id: countsId(team, dayOf(days.calledAt)) });
  if (hasAttachments) beside.push({ collection: ATTACHMENT_USAGE, id: team });
  if (batch !== undefined) beside.push(batchReference(batch));
  return beside;
};

/**
 * The second timer of an email, set by a hard bounce or a complaint until the address is on the suppression list or is
 * destroyed.
 */
const bounceSteps = (
  { id, key: stream, owner: team, summary }: EmailDocument,
  { event, position }: Recorded<EmailProgress>,
): readonly Step[] => {
  const key = { collection: BOUNCED_TIMERS, id };
  const due = (dueAt: string): readonly Step[] => [
    {
      ...key,
      document: { id: key.id, seq: position, position, kind: BOUNCED_TIMER, key: stream, dueAt, priority: 'low', team },
    },
  ];
  switch (event.type) {
    case 'EmailSent':
    case 'EmailDeferred':
    case 'EmailBounced':
    case 'EmailFailed':
      return hasHardBounce(event.data.outcomes) ? due(event.data.at) : [];
    case 'EmailBounceReported':
      return hasHardReport(event.data.bounces) ? due(event.data.at) : [];
    case 'EmailComplained':
      return event.data.recipients.length > 0 && event.data.simulated === undefined ? due(event.data.at) : [];
    case 'EmailBouncesNoted':
      return [{ ...key, document: undefined }];
    case 'EmailDeleted':
    case 'EmailArchived':
      return summary.recipientStatuses.some((status) => status === 'bounced' || status === 'complained')
        ? [{ ...key, document: undefined }]
        : [];
    default:
      return [];
  }
};

export const emailsProjection = (periods: Periods): Projection =>
  declareProjection({
    name: 'emails',
    collections: [
      { name: EMAIL_COUNTS, version: 4, fields: ['team', 'day'], indexes: [['team', 'day']] },
      timersSpec(BOUNCED_TIMERS),
      backlogsSpec(EMAIL_BACKLOGS),
      attachmentUsageSpec,
      ...summariesSpecs,
      batchTimersSpec,
      // Last but for the emails: what one of their events changes elsewhere follows from its bulk send before it.
      batchesSpec,
      {
        name: EMAILS,
        version: 14,
        fields: [
          'team',
          'status',
          'templateId',
          'mixed',
          'test',
          'recipientStatuses',
          'createdAt',
          'kind',
          'key',
          'priority',
          'dueAt',
          'senderDueAt',
        ],
        indexes: [
          ['team', 'createdAt'],
          ['team', 'status', 'createdAt'],
          ['team', 'templateId', 'createdAt'],
          ['team', 'status', 'templateId', 'createdAt'],
          ['team', 'mixed', 'createdAt'],
          ['team', 'test', 'createdAt'],
          ...timerIndexes,
        ],
        search: { field: 'text', within: 'team', terms: 'terms' },
        personal: ['subject', 'to', 'toName', 'text'],
      },
    ],
    main: EMAILS,
    mainOf: { batch: batchesSpec.name },
    kinds: ['email', 'batch'],
    decrypts: ['EmailQueued', 'EmailScheduled', 'EmailRescheduled'],
    related: relatedToEmail,
    relatedCollections: [
      EMAIL_COUNTS,
      EMAIL_BACKLOGS,
      ATTACHMENT_USAGE,
      SUMMARIES,
      ...SUMMARIES_OF_ROWS,
      batchesSpec.name,
    ],
    on: { ...emailHandlers(periods), ...batchHandlers(periods.retentionMs + periods.archiveMs) },
  });
