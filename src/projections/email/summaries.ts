/**
 * Daily counts (UTC) of emails accepted, sent, delivered, … by team, template and tag. Kept for ever; they hold nothing
 * personal.
 */
import { dayNumber, dayOf, dayOfNumber } from '../../domain/core/time.js';
import { countsFrom, type CountedMilestone, type DurationSums, type Reached } from '../../domain/email/milestones.js';
import type { DomainCounts } from '../../domain/email/recipient-domains.js';
import type { EmailEvent } from '../../domain/email/events.js';
import { defaultLimits } from '../../domain/core/limits.js';
import type { TeamId } from '../../domain/core/ids.js';
import type { CollectionSpec, Cursor, Document, ReadModels } from '../../domain/ports/read-models.js';
import { tagTerm } from './read-models.js';
import { dayOfTeamId, type Reference, type Step } from '../core/projection.js';

export const SUMMARIES = 'emailSummaries';
export const TEMPLATE_SUMMARIES = 'emailTemplateSummaries';
export const TAG_SUMMARIES = 'emailTagSummaries';
type Rows = typeof TEMPLATE_SUMMARIES | typeof TAG_SUMMARIES;
export const SUMMARIES_OF_ROWS = [TEMPLATE_SUMMARIES, TAG_SUMMARIES] as const satisfies readonly Rows[];

/** Each collection has one document for each day of a team with any event. */
export const summariesSpecs: readonly CollectionSpec[] = [SUMMARIES, TEMPLATE_SUMMARIES, TAG_SUMMARIES].map((name) => ({
  name,
  version: 4,
  fields: ['team', 'day'],
  indexes: [['team', 'day'], ['day']],
}));

/** The documents of a team in one of the collections, in the order of their days. */
export async function* summariesOf(
  readModels: Pick<ReadModels, 'find'>,
  collection: keyof typeof DAYS_AT_ONCE,
  teamId: TeamId,
  { startDate, days }: Readonly<{ startDate: string; days: number }>,
): AsyncIterable<Document> {
  const [begin, step] = [dayNumber(startDate), DAYS_AT_ONCE[collection]];
  for (let first = begin; first < begin + days; first += step) {
    const last = Math.min(first + step, begin + days) - 1;
    yield* await readModels.find(collection, {
      where: { team: { eq: teamId }, day: { gte: dayOfNumber(first), lte: dayOfNumber(last) } },
      sort: { field: 'day', direction: 'asc' },
      limit: step,
    });
  }
}

/** An absent count is 0. */
export type MilestoneCounts = Partial<Record<CountedMilestone, number>>;

type DayOfTeam = Document & Readonly<{ team: string; day: string }>;
/**
 * `domains`: recipients by the row of a domain, of the recipient or the sender; absent: none. The first ROWS_MAX of a
 * day have a row of their own; all others are counted in `OTHER`.
 */
export type DaySummaryDocument = DayOfTeam &
  Readonly<{
    counts: Readonly<MilestoneCounts & DurationSums>;
    domains?: Readonly<Record<string, Readonly<MilestoneCounts>>>;
  }>;
/**
 * Rows by template id, or by the term of the tag, so that no tag equals a property of objects. The first ROWS_MAX of a
 * day have a row of their own; all others are counted in `OTHER`. `size`: the number of rows without that one.
 */
export type DayRowsDocument = DayOfTeam &
  Readonly<{ size: number; rows: Readonly<Record<string, Readonly<MilestoneCounts>>> }>;

/** Key of the row for all others; neither an id nor a term of a tag. */
export const OTHER = 'other';

/** Days that are read at once, by the size of the documents, so that other requests go on in between. */
const DAYS_AT_ONCE = { [SUMMARIES]: 366, [TEMPLATE_SUMMARIES]: 31, [TAG_SUMMARIES]: 31 } as const;

/** Changing it changes the documents that a rebuild makes. */
const ROWS_MAX = defaultLimits.summaryRowsMax;

/**
 * The team, day, template and tags for which an event counts. `seq`: of a document that is made for it; default: its
 * position.
 */
export type Counted = Readonly<{
  team: string;
  at: string;
  position: number;
  seq?: number;
  templateId: string;
  tags: readonly string[];
}>;

type SummaryDraft = DayOfTeam & {
  counts: MilestoneCounts & DurationSums;
  domains?: Record<string, MilestoneCounts>;
};
type RowsDraft = DayOfTeam & { size: number; rows: Record<string, MilestoneCounts> };

export const summaryId = dayOfTeamId;

/**
 * `times`: how often the milestones are reached, known when the step is applied; default: once. `domains`: what is added
 * to the rows of domains.
 */
type SummaryOptions = Readonly<{ times?: () => number; domains?: DomainCounts | undefined }>;

const once = (): number => 1;

/** The changes of an event to the summaries of its day. */
export const summarySteps = (
  counted: Counted,
  { milestones, durations }: Reached,
  { times = once, domains }: SummaryOptions = {},
): readonly Step[] => {
  const steps: Step[] = [];
  if (milestones.length > 0) {
    steps.push(rowsStep(TEMPLATE_SUMMARIES, counted, [counted.templateId], milestones, times));
    if (counted.tags.length > 0)
      steps.push(rowsStep(TAG_SUMMARIES, counted, counted.tags.map(tagTerm), milestones, times));
  } else if (durations.attempted === undefined && domains === undefined) return steps;
  const { team, at, position, seq = position } = counted;
  const day = dayOf(at);
  const id = summaryId(team, day);
  const next = (document: Document | undefined): SummaryDraft => {
    const summary: SummaryDraft = (document as SummaryDraft | undefined) ?? {
      id,
      seq,
      position,
      team,
      day,
      counts: {},
    };
    add(summary.counts, milestones, times());
    for (const name of Object.keys(durations) as (keyof DurationSums)[])
      summary.counts[name] = (summary.counts[name] ?? 0) + durations[name]!;
    if (domains !== undefined) addDomains(summary, domains);
    return summary;
  };
  steps.push({ collection: SUMMARIES, id, next });
  return steps;
};

const addDomains = (summary: SummaryDraft, added: DomainCounts): void => {
  const domains = (summary.domains ??= {});
  for (const [name, counts] of Object.entries(added)) {
    const isNamed = domains[name] !== undefined || Object.keys(domains).length < ROWS_MAX;
    const row = (domains[isNamed ? name : OTHER] ??= {});
    for (const milestone of Object.keys(counts) as CountedMilestone[])
      row[milestone] = (row[milestone] ?? 0) + counts[milestone]!;
  }
};

const rowsStep = (
  collection: Rows,
  { team, at, position, seq = position }: Counted,
  names: readonly string[],
  milestones: readonly CountedMilestone[],
  times: () => number,
): Step => {
  const day = dayOf(at);
  const id = summaryId(team, day);
  const next = (document: Document | undefined): RowsDraft => {
    const draft: RowsDraft = (document as RowsDraft | undefined) ?? { id, seq, position, team, day, size: 0, rows: {} };
    const by = milestones.length === 0 ? 0 : times();
    if (by === 0) return draft;
    let hasOther = false;
    for (const name of names) {
      const row = rowOf(draft, name);
      if (row === undefined) hasOther = true;
      else if (add(row, milestones, by)) removeRow(draft, name);
    }
    // An email with several tags beyond ROWS_MAX counts once in OTHER.
    if (hasOther && add((draft.rows[OTHER] ??= {}), milestones, by)) delete draft.rows[OTHER];
    return draft;
  };
  return { collection, id, next };
};

/** undefined if the day has ROWS_MAX rows. */
const rowOf = (draft: RowsDraft, name: string): MilestoneCounts | undefined => {
  const known = draft.rows[name];
  if (known !== undefined || draft.size >= ROWS_MAX) return known;
  draft.size += 1;
  return (draft.rows[name] = {});
};

const removeRow = (draft: RowsDraft, name: string): void => {
  delete draft.rows[name];
  draft.size -= 1;
};

/** A count of 0 is left out. Out: whether nothing is left. */
const add = (row: MilestoneCounts, milestones: readonly CountedMilestone[], by: number): boolean => {
  for (const milestone of milestones) {
    const sum = (row[milestone] ?? 0) + by;
    if (sum === 0) delete row[milestone];
    else row[milestone] = sum;
  }
  return Object.keys(row).length === 0;
};

/** Merges steps by document: a document takes only one step of an event. */
export const mergedByDocument = (steps: readonly Step[]): readonly Step[] => {
  const merged = new Map<string, Step>();
  for (const step of steps) {
    const key = `${step.collection} ${step.id}`;
    const known = merged.get(key);
    if (known === undefined || !('next' in known) || !('next' in step)) merged.set(key, step);
    else merged.set(key, { ...step, next: (document) => step.next(known.next(document)) });
  }
  return [...merged.values()];
};

/**
 * The summaries that an event may change: all of its day, or only those of the team. Other documents are not loaded.
 */
const changedBy: Readonly<Partial<Record<EmailEvent['type'], 'all' | 'team'>>> = {
  EmailQueued: 'all',
  EmailScheduled: 'all',
  DeliveryAttempted: 'team',
  EmailSent: 'all',
  EmailDelivered: 'all',
  EmailBounceReported: 'all',
  EmailComplained: 'all',
  EmailBounced: 'all',
  EmailFailed: 'all',
  EmailCancelled: 'all',
  RecipientsSuppressed: 'all',
  RecipientsErased: 'all',
  EmailOpened: 'all',
  EmailClicked: 'all',
};

/** An attempt that goes on for some recipients may have ended for others, which counts for domains alone. */
const changesDomains = (type: EmailEvent['type'], hasDomains: boolean): 'team' | undefined =>
  hasDomains && type === 'EmailDeferred' ? 'team' : undefined;

/** `hasTags`, `hasDomains`: whether the email counts for tags, and for domains. */
export const summaryReferences = (
  event: EmailEvent,
  team: string,
  { hasTags, hasDomains }: Readonly<{ hasTags: boolean; hasDomains: boolean }>,
): readonly Reference[] => {
  const changed = changedBy[event.type] ?? changesDomains(event.type, hasDomains);
  if (changed === undefined) return [];
  const isFirst = event.type === 'EmailQueued' || event.type === 'EmailScheduled';
  const id = summaryId(team, dayOf(isFirst ? countsFrom(event.data) : event.data.at));
  const references: Reference[] = [{ collection: SUMMARIES, id }];
  if (changed === 'all') references.push({ collection: TEMPLATE_SUMMARIES, id });
  if (changed === 'all' && hasTags) references.push({ collection: TAG_SUMMARIES, id });
  return references;
};

const TEAMS_AT_ONCE = 200;

/** The summaries of a day of all teams that have recipients by domain, some at a time. */
export async function* domainsOfDay(
  { find }: Pick<ReadModels, 'find'>,
  day: string,
): AsyncGenerator<readonly DaySummaryDocument[]> {
  for (let after: Cursor | undefined; ;) {
    const page = (await find(SUMMARIES, {
      where: { day: { eq: day } },
      sort: { field: 'seq', direction: 'asc' },
      limit: TEAMS_AT_ONCE,
      ...(after === undefined ? {} : { after }),
    })) as readonly DaySummaryDocument[];
    yield page.filter(({ domains }) => domains !== undefined);
    const last = page.at(-1);
    if (last === undefined || page.length < TEAMS_AT_ONCE) return;
    after = { value: last.seq, seq: last.seq };
  }
}

/** The summaries of a day of a team. */
export const summariesOfDay = (team: string, day: string, hasTags: boolean): readonly Reference[] =>
  (hasTags ? [SUMMARIES, TEMPLATE_SUMMARIES, TAG_SUMMARIES] : [SUMMARIES, TEMPLATE_SUMMARIES]).map((collection) => ({
    collection,
    id: summaryId(team, day),
  }));
