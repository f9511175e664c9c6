/** How events become the documents of emails and of their counts: each document is made once for all the events of a batch. */
import type { EmailAccepted, EmailEnvelope, EmailEvent } from '../domain/email/events.js';
import { advanceSummary, beginSummary, type Draft, type EmailProgress, type EmailSummary } from '../domain/email/summary.js';
import { emailTimer } from '../domain/email/timers.js';
import type { Recorded } from '../domain/events.js';
import { splitStream } from '../domain/ids.js';
import { countsId, dayOf, EMAIL_COUNTS, EMAIL_TIMERS, EMAILS, type EmailCountsDocument, type EmailDocument } from './email-documents.js';
import type { Change, Find, Reference } from './projection.js';
import type { TimerDocument } from './timers.js';

/** What an email's first event fixes for good, and whether lists show it and what is personal is still there. */
type Fixed = Pick<
  EmailDocument,
  'id' | 'seq' | 'owner' | 'stream' | 'templateId' | 'templateName' | 'priority' | 'createdAt' | 'team' | 'subject' | 'text'
>;

/**
 * An email while a batch is folded; `fixed` is undefined where no document is (left) of it. `counted`: where it stands now;
 * `from`: where it stood when it was counted last, for what lies between need not be counted one by one.
 */
type Folding = {
  id: string;
  position: number;
  fixed: Fixed | undefined;
  summary: Draft<EmailSummary> | undefined;
  counted: Cell | undefined;
  from: Cell | undefined;
  counting: Counting | undefined;
};

/** Where an email counts: under its status of now, as long as lists show it. */
type Cell = Readonly<{ status: string; templateId: string }>;

/** The counts of one day while a batch is folded; position 0: nothing of the batch has changed them. */
type Counting = { known: EmailCountsDocument | undefined; seq: number; position: number; team: string; day: string; moved: Moved };

/** How many more (or fewer) there are now, by template and status. */
type Moved = Map<string, Map<string, number>>;

/** The email of each stream, by the first of its events; one that begins here has no document yet, and counts on the day of that event. */
export const readsOfEmails = (batch: readonly Recorded[]): readonly Reference[] => {
  const seen = new Set<string>();
  const references: Reference[] = [];
  for (const recorded of batch) {
    const { stream, revision, event } = recorded;
    if (seen.has(stream)) continue;
    seen.add(stream);
    references.push(
      revision === 0 && 'at' in event.data
        ? { collection: EMAIL_COUNTS, id: countsId(recorded.metadata.teamId, dayOf(event.data.at)) }
        : { collection: EMAILS, id: splitStream(stream).id },
    );
  }
  return references;
};

/** In: events of emails in order. Out: the changes of their documents and of the counts. */
export const foldEmails = (batch: readonly Recorded[], find: Find, retentionMs: number): readonly Change[] => {
  const emails = new Map<string, Folding>();
  const counts = new Map<string, Counting>();
  for (const recorded of batch) {
    const { stream } = recorded;
    let email = emails.get(stream);
    if (email === undefined) {
      email = folding(splitStream(stream).id, find);
      emails.set(stream, email);
    }
    advance(email, recorded, counts, find);
  }
  for (const { counting, from, counted } of emails.values()) {
    if (counting === undefined || isSameCell(from, counted)) continue;
    move(counting.moved, from, -1);
    move(counting.moved, counted, 1);
  }
  const changes: Change[] = [];
  for (const [id, counting] of counts) {
    if (counting.position > 0)
      changes.push({ collection: EMAIL_COUNTS, id, position: counting.position, document: countsDocument(id, counting) });
  }
  for (const email of emails.values()) {
    if (email.position === 0) continue;
    changes.push(
      { collection: EMAIL_TIMERS, id: email.id, position: email.position, document: timerDocument(email, retentionMs) },
      { collection: EMAILS, id: email.id, position: email.position, document: emailDocument(email, retentionMs) },
    );
  }
  return changes;
};

const folding = (id: string, find: Find): Folding => {
  const known = find(EMAILS, id) as EmailDocument | undefined;
  const counted = known === undefined ? undefined : cellOf(known, known.status);
  // Position 0: nothing of the batch has changed it yet.
  return { id, position: 0, fixed: known, summary: known && { ...known.summary }, counted, from: counted, counting: undefined };
};

const advance = (email: Folding, recorded: Recorded, counts: Map<string, Counting>, find: Find): void => {
  const { stream, position } = recorded;
  const event = recorded.event as EmailEvent;
  if (event.type === 'EmailQueued' || event.type === 'EmailScheduled') {
    email.summary = beginSummary(event);
    // Of no other event is the metadata looked at: it is parsed when it is asked for.
    const { teamId } = recorded.metadata;
    email.fixed = accepted(event, { id: email.id, seq: position, team: teamId, owner: teamId, stream });
  } else {
    if (email.fixed === undefined || email.summary === undefined) return;
    email.summary = advanceSummary(email.summary, event);
    email.fixed = fixedAfter(email.fixed, event);
  }
  email.position = position;
  const to = cellOf(email.fixed, email.summary.status);
  if (!isSameCell(email.counted, to)) {
    const counting = (email.counting ??= countingOf(counts, find, email.fixed));
    email.counted = to;
    // Where writes are not atomic, counts may have been written without their emails: those events have counted already.
    if (counting.known !== undefined && counting.known.position >= position) email.from = to;
    else counting.position = position;
  }
  // Neither in a list nor with anything left to do: what comes after finds no email.
  if (email.fixed.team === undefined && email.summary.archivedAt !== null) email.fixed = undefined;
};

/** Deleting an email takes it out of every list, and what is personal goes with it. */
const fixedAfter = (fixed: Fixed, event: EmailProgress): Fixed => {
  switch (event.type) {
    case 'EmailDeleted':
      return unlisted(withoutPersonal(fixed));
    case 'EmailArchived':
      return withoutPersonal(fixed);
    case 'EmailReleased':
    case 'DeliveryAttempted':
    case 'EmailSent':
    case 'EmailDeferred':
    case 'EmailBounced':
    case 'EmailFailed':
    case 'EmailDelivered':
    case 'EmailRetried':
    case 'EmailCancelled':
      return fixed;
  }
};

const accepted = (
  event: EmailAccepted,
  { id, seq, team, owner, stream }: Pick<Fixed, 'id' | 'seq' | 'owner' | 'stream'> & Readonly<{ team: string }>,
): Fixed => {
  const { templateId, templateName, priority, at: createdAt } = event.data;
  const envelope: EmailEnvelope | undefined = event.sealed;
  if (envelope === undefined) return { id, seq, team, owner, stream, templateId, templateName, priority, createdAt };
  return {
    id,
    seq,
    team,
    owner,
    stream,
    templateId,
    templateName,
    priority,
    createdAt,
    subject: envelope.subject,
    text: searchText(envelope),
  };
};

const searchText = ({ subject, recipients }: EmailEnvelope): string => {
  let text = subject;
  for (const { email, name } of recipients) text += name === undefined ? `\n${email}` : `\n${email} ${name}`;
  return text;
};

const withoutPersonal = (fixed: Fixed): Fixed => {
  const { subject: _subject, text: _text, ...rest } = fixed;
  return rest;
};

const unlisted = (fixed: Fixed): Fixed => {
  const { team: _team, ...rest } = fixed;
  return rest;
};

/** Its fields always stand in the same order, however its events came, so that equal documents are equal texts. */
const emailDocument = ({ fixed, summary, position }: Folding, retentionMs: number): EmailDocument | undefined => {
  if (fixed === undefined || summary === undefined) return undefined;
  const { id, seq, owner, stream, templateId, templateName, priority, createdAt, team, subject, text } = fixed;
  const { status } = summary;
  const work = emailTimer(summary, retentionMs);
  const document: Draft<EmailDocument> = {
    id,
    seq,
    position,
    owner,
    stream,
    status,
    templateId,
    templateName,
    priority,
    createdAt,
    summary,
  };
  if (team !== undefined) document.team = team;
  if (work !== undefined) {
    document.phase = work.kind;
    document.dueAt = work.dueAt;
  }
  if (subject !== undefined) document.subject = subject;
  if (text !== undefined) document.text = text;
  return document;
};

/** The timer of an email is made of its state alone, so nothing of the former one is read. */
const timerDocument = ({ id, fixed, summary, position }: Folding, retentionMs: number): TimerDocument | undefined => {
  const timer = fixed === undefined || summary === undefined ? undefined : emailTimer(summary, retentionMs);
  if (fixed === undefined || timer === undefined) return undefined;
  const { seq, stream, priority, owner } = fixed;
  return { id, seq, position, kind: timer.kind, key: stream, dueAt: timer.dueAt, priority, team: owner };
};

const cellOf = ({ team, templateId }: Fixed, status: string): Cell | undefined => (team === undefined ? undefined : { status, templateId });

const isSameCell = (a: Cell | undefined, b: Cell | undefined): boolean => a?.status === b?.status && a?.templateId === b?.templateId;

/** The counts of the day on which the email was made. */
const countingOf = (counts: Map<string, Counting>, find: Find, { seq, owner, createdAt }: Fixed): Counting => {
  const day = dayOf(createdAt);
  const id = countsId(owner, day);
  const begun = counts.get(id);
  if (begun !== undefined) return begun;
  const known = find(EMAIL_COUNTS, id) as EmailCountsDocument | undefined;
  const counting = { known, seq: known?.seq ?? seq, position: 0, team: owner, day, moved: new Map() };
  counts.set(id, counting);
  return counting;
};

const move = (moved: Moved, cell: Cell | undefined, by: number): void => {
  if (cell === undefined) return;
  const ofTemplate = moved.get(cell.templateId);
  if (ofTemplate === undefined) moved.set(cell.templateId, new Map([[cell.status, by]]));
  else ofTemplate.set(cell.status, (ofTemplate.get(cell.status) ?? 0) + by);
};

/** Its cells stand in the order of their names; one that is down to nothing is left out. */
const countsDocument = (id: string, { known, seq, position, team, day, moved }: Counting): EmailCountsDocument => {
  const sums = new Map(Object.entries(known?.cells ?? {}));
  for (const [templateId, ofTemplate] of moved) {
    for (const [status, change] of ofTemplate) sums.set(`${status}|${templateId}`, (sums.get(`${status}|${templateId}`) ?? 0) + change);
  }
  const cells = Object.fromEntries([...sums].filter(([, sum]) => sum !== 0).sort(([a], [b]) => (a < b ? -1 : 1)));
  return { id, seq, position, team, day, cells };
};
