/** The list of emails with what is still to be done for each, and how many there are of each status and template on each day. */
import type { EmailListItem, EmailStatus } from '../domain/email/request.js';
import { advanceSummary, beginSummary, type EmailSummary } from '../domain/email/summary.js';
import { openWork } from '../domain/email/work.js';
import type { EmailAccepted, EmailEvent } from '../domain/email/events.js';
import type { Recorded } from '../domain/events.js';
import { splitStream } from '../domain/ids.js';
import type { Document } from '../domain/ports/documents.js';
import type { Change, Projection } from './projection.js';

export const EMAILS = 'emails';
export const EMAIL_COUNTS = 'emailCounts';

/** `team` is absent from a deleted email, so no list finds it; `phase` and `dueAt` are absent where nothing is left to do. */
export type EmailDocument = Document &
  Readonly<{
    team?: string;
    owner: string;
    stream: string;
    status: EmailStatus;
    templateId: string;
    templateName: string;
    priority: string;
    createdAt: string;
    phase?: string;
    dueAt?: string;
    subject?: string;
    summary: EmailSummary;
    /** Subject, addresses and names, line by line; absent once archived. */
    text?: string;
  }>;

/** One day of one team: how many emails there are, by `status|templateId`. */
export type EmailCountsDocument = Document & Readonly<{ team: string; day: string; cells: Readonly<Record<string, number>> }>;

export const dayOf = (isoTime: string): string => isoTime.slice(0, 10);
const countsId = (team: string, day: string): string => `${team}:${day}`;

export const emailsProjection = (retentionMs: number): Projection => ({
  name: 'emails',
  // Counts stand first: where writes are not atomic, an email that is written says that it is counted.
  collections: [
    { name: EMAIL_COUNTS, version: 1, fields: ['team', 'day'], indexes: [['team', 'day']] },
    {
      name: EMAILS,
      version: 1,
      fields: ['team', 'status', 'templateId', 'createdAt', 'phase', 'priority', 'dueAt'],
      indexes: [
        ['team', 'createdAt'],
        ['team', 'status', 'createdAt'],
        ['team', 'templateId', 'createdAt'],
        ['phase', 'priority'],
        ['phase', 'dueAt'],
      ],
      search: 'text',
      searchScope: 'team',
    },
  ],
  kinds: ['email'],
  opens: ['EmailQueued', 'EmailScheduled'],
  reads: ({ stream, revision, event, metadata }) => {
    const { id } = splitStream(stream);
    // The day of the counts is that of the first event; what comes later names it by the email's own document.
    return revision === 0 && 'at' in event.data
      ? [{ collection: EMAIL_COUNTS, id: countsId(metadata.teamId, dayOf(event.data.at)) }]
      : [{ collection: EMAILS, id }];
  },
  related: (document) => {
    const email = document as EmailDocument;
    return document['owner'] === undefined ? [] : [{ collection: EMAIL_COUNTS, id: countsId(email.owner, dayOf(email.createdAt)) }];
  },
  apply: (recorded, find) => {
    const { id } = splitStream(recorded.stream);
    const before = find(EMAILS, id) as EmailDocument | undefined;
    const after = evolveDocument(id, before, recorded, retentionMs);
    if (after === undefined) return [];
    const done = after.phase === undefined && after.team === undefined;
    return [...countChanges(before, after, find), { collection: EMAILS, id, document: done ? undefined : after }];
  },
});

const evolveDocument = (
  id: string,
  before: EmailDocument | undefined,
  { event, stream, position, metadata }: Recorded,
  retentionMs: number,
): EmailDocument | undefined => {
  const email = event as EmailEvent;
  if (email.type === 'EmailQueued' || email.type === 'EmailScheduled') {
    return withWork({ ...accepted(email), id, seq: position, position, team: metadata.teamId, owner: metadata.teamId, stream }, retentionMs);
  }
  if (before === undefined) return undefined;
  const summary = { ...before.summary, ...advanceSummary(before.summary, email) };
  const next = { ...before, position, status: summary.status, summary };
  if (email.type === 'EmailDeleted') {
    const { team: _, ...unlisted } = withoutPersonal(next);
    return withWork(unlisted, retentionMs);
  }
  return withWork(email.type === 'EmailArchived' ? withoutPersonal(next) : next, retentionMs);
};

const accepted = (event: EmailAccepted) => {
  const summary = beginSummary(event);
  const { templateId, templateName, priority } = event.data;
  return {
    status: summary.status,
    templateId,
    templateName,
    priority,
    createdAt: summary.createdAt,
    summary,
    ...(event.sealed === undefined ? {} : { subject: event.sealed.subject, text: searchText(event.sealed) }),
  };
};

const searchText = ({ subject, recipients }: NonNullable<EmailAccepted['sealed']>): string =>
  [subject, ...recipients.map(({ email, name }) => (name === undefined ? email : `${email} ${name}`))].join('\n');

const withoutPersonal = (document: EmailDocument): EmailDocument => {
  const { subject: _subject, text: _text, ...rest } = document;
  return rest;
};

const withWork = (document: EmailDocument, retentionMs: number): EmailDocument => {
  const work = openWork(document.summary, retentionMs);
  if (work !== undefined) return { ...document, phase: work.phase, dueAt: work.dueAt };
  // Taking fields out is slow, and only an archived email has them taken.
  const { phase: _phase, dueAt: _dueAt, ...rest } = document;
  return rest;
};

const cellOf = ({ status, templateId }: EmailDocument): string => `${status}|${templateId}`;

/** An email counts on the day it was made, under its status of now, as long as lists show it. */
const countChanges = (
  before: EmailDocument | undefined,
  after: EmailDocument,
  find: (collection: string, id: string) => Document | undefined,
): readonly Change[] => {
  const from = before?.team === undefined ? undefined : cellOf(before);
  const to = after.team === undefined ? undefined : cellOf(after);
  if (from === to) return [];
  const day = dayOf(after.createdAt);
  const id = countsId(after.owner, day);
  const known = find(EMAIL_COUNTS, id) as EmailCountsDocument | undefined;
  if (known !== undefined && known.position >= after.position) return [];
  const cells = moved(known?.cells ?? {}, from, to);
  const seq = known?.seq ?? after.seq;
  const document: EmailCountsDocument = { id, seq, position: after.position, team: after.owner, day, cells };
  return [{ collection: EMAIL_COUNTS, id, document }];
};

/** One less in `from`, one more in `to`; a cell that is down to nothing is left out. Made anew, for an object that fields are deleted from is slow for good. */
const moved = (cells: Readonly<Record<string, number>>, from: string | undefined, to: string | undefined): Record<string, number> => {
  const next: Record<string, number> = {};
  for (const [cell, count] of Object.entries(cells)) {
    const left = cell === from ? count - 1 : count;
    if (left !== 0) next[cell] = left;
  }
  if (to !== undefined) next[to] = (next[to] ?? 0) + 1;
  return next;
};

export const emailListItem = ({ id, status, templateId, templateName, subject, createdAt, summary }: EmailDocument): EmailListItem => ({
  id,
  status,
  archived: summary.archivedAt !== null,
  emailTemplateName: templateName,
  templateId,
  subject: subject ?? null,
  recipientCount: summary.recipientStatuses.length,
  createdAt,
  sentAt: summary.sentAt,
  deliveredAt: summary.deliveredAt,
});
