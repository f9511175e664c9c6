/** The documents beside that of an email which its events may change. */
import { dayOf } from '../../domain/core/days.js';
import type { EmailAccepted, EmailEvent } from '../../domain/email/events.js';
import type { DomainEvent, Recorded } from '../../domain/events.js';
import { splitStream } from '../../domain/core/ids.js';
import type { Document } from '../../domain/ports/read-models.js';
import { ATTACHMENT_USAGE } from './attachment-usage.js';
import { batchReference } from '../bulk/batches.js';
import { countsId, EMAIL_BACKLOGS, EMAIL_COUNTS, type EmailDocument } from './documents.js';
import type { Reference } from '../core/projection.js';
import { summaryReferences } from './summaries.js';

/**
 * The backlog of the team, the counts of the day of each email, its batch, and the summaries of the day of the event; of an email that
 * begins here they are known from its first event.
 */
export const relatedToEmail = (recorded: Recorded, document: Document | undefined, first: Recorded | undefined): readonly Reference[] => {
  const { event, stream, revision } = recorded;
  if (event.type === 'EmailSummarised') return summaryReferences(event, recorded.metadata.teamId, false);
  if (event.type === 'EmailRetired')
    return besideEmail(recorded.metadata.teamId, event.data.createdAt, event.data.hasAttachments, undefined);
  if (stream.startsWith('batch-')) return [batchReference(splitStream(stream).id)];
  if (document !== undefined) {
    const { owner, createdAt, attachmentBytes, batch, tags } = document as EmailDocument;
    const beside = besideEmail(owner, createdAt, attachmentBytes !== undefined, batch);
    return [...beside, ...summaryReferences(event as EmailEvent, owner, tags !== undefined)];
  }
  // An email that was given up before it came to be begins with its deletion, and nothing stands for it anywhere.
  if (first === undefined || !isAccepted(first.event)) return [];
  const { at, tags, attachmentBytes, batch } = first.event.data;
  // Metadata is parsed when it is asked for: of the first event alone.
  const { teamId } = first.metadata;
  const summaries = summaryReferences(event as EmailEvent, teamId, tags.length > 0);
  return revision === 0 ? [...besideEmail(teamId, at, attachmentBytes !== undefined, batch?.id), ...summaries] : summaries;
};

const isAccepted = (event: DomainEvent): event is EmailAccepted => event.type === 'EmailQueued' || event.type === 'EmailScheduled';

const besideEmail = (team: string, createdAt: string, hasAttachments: boolean, batch: string | undefined): readonly Reference[] => {
  const beside: Reference[] = [
    { collection: EMAIL_COUNTS, id: countsId(team, dayOf(createdAt)) },
    { collection: EMAIL_BACKLOGS, id: team },
  ];
  if (hasAttachments) beside.push({ collection: ATTACHMENT_USAGE, id: team });
  if (batch !== undefined) beside.push(batchReference(batch));
  return beside;
};
