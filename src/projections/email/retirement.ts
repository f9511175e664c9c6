/**
 * What the last events of an email do, which say again what those before them said that have left the log. Where these were folded, nothing
 * is counted twice; where none or only the first of them could be read, the rest is made up for. All documents are touched either way, so
 * that they name the same position.
 */
import { dayOf } from '../../domain/core/days.js';
import { waitOf, type EmailRetired, type EmailSummarised } from '../../domain/email/retirement.js';
import type { CountedMilestone } from '../../domain/email/milestones.js';
import { splitStream } from '../../domain/core/ids.js';
import { attachmentUsageTouched } from './attachment-usage.js';
import { endedBacklog } from './backlogs.js';
import { countEmails } from './counts.js';
import { cellOf, countsId, EMAIL_BACKLOGS, EMAIL_COUNTS, EMAIL_TIMERS, EMAILS, type EmailDocument } from './documents.js';
import type { Handler } from '../core/projection.js';
import { summarySteps } from './summaries.js';

/** The revision of the last event that is folded; -1 where there is none. */
const foldedOf = (document: EmailDocument | undefined): number => document?.revision ?? -1;

const emailSummarised: Handler<EmailSummarised> = ({ event: { data }, position, metadata }, document) => {
  const folded = foldedOf(document as EmailDocument | undefined);
  const { day, templateId, tags } = data;
  // The day alone is looked at.
  const counted = { team: metadata.teamId, at: day, position, templateId, tags };
  const steps = data.reached.flatMap(({ revision, milestones, ...durations }) => {
    const reached = { milestones: milestones as readonly CountedMilestone[], durations };
    return summarySteps(counted, reached, { touchesOnly: revision <= folded });
  });
  return mergedByDocument(steps);
};

/** A document takes one step of an event: those after it would find that it has folded the event. */
const mergedByDocument = (steps: ReturnType<typeof summarySteps>): ReturnType<typeof summarySteps> => {
  const merged = new Map<string, (typeof steps)[number]>();
  for (const step of steps) {
    const known = merged.get(step.collection);
    if (known === undefined || !('next' in known) || !('next' in step)) merged.set(step.collection, step);
    else merged.set(step.collection, { ...step, next: (document) => step.next(known.next(document)) });
  }
  return [...merged.values()];
};

const emailRetired: Handler<EmailRetired> = ({ event: { data }, stream, position, metadata: { teamId: team } }, document) => {
  const known = document as EmailDocument | undefined;
  const folded = foldedOf(known);
  // Only its first events could be read: what they made of it is taken back.
  const half = known !== undefined && known.gone !== 1 ? known : undefined;
  const { id } = splitStream(stream);
  const day = dayOf(data.createdAt);
  const emails = data.used.reduce((sum, { revision, by }) => (revision > folded ? sum + by : sum), 0);
  const change = { team, day, seq: position, position, at: data.position, to: undefined, emails, documents: emails * data.documents };
  const minutes = data.ended.flatMap(({ revision, minute }) => (revision > folded ? [minute] : []));
  const ended = { team, seq: position, position, priority: data.priority, from: half && waitOf(half.summary), minutes };
  const usage = { team, at: data.at, position, freed: half?.attachmentBytes };
  return [
    {
      collection: EMAIL_COUNTS,
      id: countsId(team, day),
      next: (before) => countEmails(before, { ...change, from: half && cellOf(half) }),
    },
    { collection: EMAIL_BACKLOGS, id: team, next: (before) => endedBacklog(before, ended) },
    ...(data.hasAttachments ? [attachmentUsageTouched(usage)] : []),
    { collection: EMAIL_TIMERS, id, document: undefined },
    { collection: EMAIL_TIMERS, id: `${id}:bounced`, document: undefined },
    { collection: EMAILS, id, next: () => undefined },
  ];
};

export const retirementHandlers = { EmailSummarised: emailSummarised, EmailRetired: emailRetired } as const;
