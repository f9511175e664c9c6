/** The last events of an email, written before its other events leave the log: they repeat all that daily counts and sums have of it. */
import { dayOf } from '../core/time.js';
import type { EmailAccepted, EmailEvent } from './events.js';
import { ACCEPTED, reachedBy, stoodAt, type EndedBefore, type Reached } from './milestones.js';
import { advanceSummary, beginSummary, endsForFree, type Draft, type EmailProgress, type EmailSummary } from './status.js';
import { emailTimerKind } from './timers.js';

export type EmailSummarised = Extract<EmailEvent, { type: 'EmailSummarised' }>;
export type EmailRetired = Extract<EmailEvent, { type: 'EmailRetired' }>;
type ReachedThen = EmailSummarised['data']['reached'][number];

/** `ordinals`: the place of each event in the log, counted from 1 with those that have left it. `hashes`: of the events; `mark`: over all of these. */
export type LogPlaces = Readonly<{ position: number; ordinals: readonly number[]; hashes: readonly string[]; mark: string }>;

/** In: all events of the email. undefined: it was given up before it was accepted. */
export const retirementOf = (
  events: readonly EmailEvent[],
  places: LogPlaces,
  at: string,
): readonly (EmailSummarised | EmailRetired)[] | undefined => {
  const [first] = events;
  if (first?.type !== 'EmailQueued' && first?.type !== 'EmailScheduled') return undefined;
  const { days, used, ended } = retold(first, events);
  const { templateId, tags, priority, generated, attachmentBytes, at: createdAt, calledAt } = first.data;
  const { position, ordinals, hashes, mark } = places;
  return [
    ...[...days].map(([day, reached]): EmailSummarised => ({
      type: 'EmailSummarised',
      data: { at, day, templateId, tags: [...new Set(tags)], reached },
    })),
    {
      type: 'EmailRetired',
      data: {
        at,
        createdAt,
        ...(calledAt === undefined ? {} : { calledAt }),
        priority,
        position,
        used,
        documents: generated === undefined ? 0 : generated.pdf + generated.excel,
        hasAttachments: attachmentBytes !== undefined,
        ended,
        ordinals: [...ordinals],
        hashes: [...hashes],
        mark,
      },
    },
  ];
};

type Retold = Readonly<{
  days: ReadonlyMap<string, ReachedThen[]>;
  used: EmailRetired['data']['used'];
  ended: EmailRetired['data']['ended'];
}>;

/** Folds the events as the projection of emails does, and notes what each adds to which day. */
const retold = (first: EmailAccepted, events: readonly EmailEvent[]): Retold => {
  const isCounted = first.data.test !== true && first.data.confidential !== true;
  const days = new Map<string, ReachedThen[]>();
  const [used, ended]: [EmailRetired['data']['used'], EmailRetired['data']['ended']] = [[], []];
  let summary: Draft<EmailSummary> = beginSummary(first);
  let endedBefore: EndedBefore | undefined;
  let isGone = false;
  const note = (revision: number, at: string, { milestones, durations }: Reached): void => {
    if (!isCounted || (milestones.length === 0 && durations.attempted === undefined)) return;
    const day = dayOf(at);
    const reached = days.get(day) ?? [];
    reached.push({ revision, milestones: [...milestones], ...durations });
    days.set(day, reached);
  };
  note(0, countsFrom(first.data), ACCEPTED);
  if (isCounted) used.push({ revision: 0, by: 1 });
  for (const [revision, event] of events.entries()) {
    if (revision === 0 || isGone || !isProgress(event)) continue;
    const [before, wasReady] = [stoodAt(summary), waitOf(summary) === 'ready'];
    if (event.type === 'EmailRetried') endedBefore = endingsAfter(summary.status, endedBefore);
    summary = advanceSummary<Draft<EmailSummary>>(summary, event);
    note(revision, event.data.at, reachedBy(event, before, summary, endedBefore));
    if (isCounted && endsForFree(summary, event, endedBefore !== undefined)) used.push({ revision, by: -1 });
    if (wasReady && isDone(summary)) ended.push({ revision, minute: minuteOf(summary.updatedAt) });
    isGone = summary.archivedAt !== null && summary.deletedAt !== null;
  }
  return { days, used, ended };
};

/** When an email was called for, by itself or with its bulk send: the day on which it counts as accepted and used. ISO 8601. */
export const countsFrom = ({ at, calledAt }: Pick<EmailAccepted['data'], 'at' | 'calledAt'>): string => calledAt ?? at;

const isProgress = (event: EmailEvent): event is EmailProgress =>
  event.type !== 'EmailQueued' && event.type !== 'EmailScheduled' && event.type !== 'EmailSummarised' && event.type !== 'EmailRetired';

/** The ends before a retry: bounced and failed count once each, however often the email is retried. */
export const endingsAfter = (status: EmailSummary['status'], before: EndedBefore | undefined): EndedBefore | undefined =>
  (status === 'failed' || status === 'bounced') && before?.includes(status) !== true ? [...(before ?? []), status] : before;

/** What an open email waits for; undefined: it has ended. */
export const waitOf = (summary: EmailSummary): 'scheduled' | 'deferred' | 'held' | 'ready' | undefined => {
  const kind = emailTimerKind(summary);
  switch (kind) {
    case 'scheduled':
    case 'deferred':
    case 'held':
      return kind;
    case 'deliver':
    case 'processing':
      return 'ready';
    case 'archive':
    case 'removal':
    case 'retirement':
      return undefined;
  }
};

const isDone = (summary: EmailSummary): boolean => {
  const wait = waitOf(summary);
  return wait !== 'ready' && wait !== 'held';
};

const MINUTE_CHARS = '2030-01-31T09:30'.length;
/** In: ISO 8601. Out: its minute, the unit of backlog counts. */
export const minuteOf = (at: string): string => at.slice(0, MINUTE_CHARS);
