/** Finds the attempts to deliver what was told of one email, among those of every subscription of its team. */
import type { TeamId, WebhookId } from '../../domain/core/ids.js';
import { isoTime } from '../../domain/core/iso-time.js';
import type { Cursor, ReadModels } from '../../domain/ports/read-models.js';
import { eventKey, readWebhookEventId } from '../../domain/webhooks/event-id.js';
import type { TrailAttempt, WebhookCause, WebhookTrail } from '../../domain/webhooks/trail.js';
import { WEBHOOK_ATTEMPTS, WEBHOOKS, type WebhookAttemptsDocument, type WebhookDocument } from './webhooks.js';

type Reader = Pick<ReadModels, 'find'>;

/** Facts of one subscription that are looked through from the first event on, and from each time on at which an attempt was to follow. */
export const TRAIL_FACTS_MAX = 500;
const RETRY_FACTS_MAX = 100;
const PAGE = 100;
/** More than a team has. */
const SUBSCRIPTIONS_MAX = 100;
/** An attempt may begin that much before the time that was said. */
const EARLY_MS = 1_000;

export const webhookTrail = async (readModels: Reader, teamId: TeamId, told: readonly WebhookCause[]): Promise<WebhookTrail> => {
  if (told.length === 0) return { attempts: [], isComplete: true };
  const subscriptions = (await readModels.find(WEBHOOKS, {
    where: { team: { eq: teamId } },
    limit: SUBSCRIPTIONS_MAX,
  })) as readonly WebhookDocument[];
  const trails: WebhookTrail[] = [];
  for (const { id } of subscriptions) trails.push(await trailOf(readModels, id as WebhookId, told));
  return { attempts: trails.flatMap(({ attempts }) => attempts), isComplete: trails.every(({ isComplete }) => isComplete) };
};

/**
 * The first attempts follow soon, so they are looked for from the first event on; where that is not enough, the others are looked for
 * from where a failed attempt said that the next is due.
 */
const trailOf = async (readModels: Reader, webhook: WebhookId, told: readonly WebhookCause[]): Promise<WebhookTrail> => {
  const causes = new Map(told.map((cause) => [eventKey(webhook, cause.eventId, cause.recipients[0]?.place), cause]));
  const found = new Map<string, TrailAttempt>();
  const first = told.reduce((earliest, { at }) => (at < earliest ? at : earliest), told[0]!.at);
  const look = (since: string, max: number) => lookThrough(readModels, { webhook, causes, since, max }, found);
  let end = await look(first, TRAIL_FACTS_MAX);
  const isComplete = end === undefined;
  while (end !== undefined) {
    const next = dueAfter(found.values(), end);
    if (next === undefined) break;
    const reached = await look(next, RETRY_FACTS_MAX);
    end = reached === undefined || reached > end ? reached : next;
  }
  return { attempts: [...found.values()], isComplete };
};

/** The earliest time after that one at which an attempt was to follow. */
const dueAfter = (found: Iterable<TrailAttempt>, after: string): string | undefined => {
  const due = [...found]
    .flatMap(({ item }) => (item.nextRetryAt === undefined ? [] : [early(item.nextRetryAt)]))
    .filter((at) => at > after);
  return due.toSorted()[0];
};

const early = (at: string): string => isoTime(Date.parse(at) - EARLY_MS);

type Search = Readonly<{ webhook: WebhookId; causes: ReadonlyMap<string, WebhookCause>; since: string; max: number }>;

/** Adds what it finds. Out: up to when it has looked where there is more, undefined where it has seen all. */
const lookThrough = async (
  readModels: Reader,
  { webhook, causes, since, max }: Search,
  found: Map<string, TrailAttempt>,
): Promise<string | undefined> => {
  let after: Cursor | undefined;
  for (let looked = 0; looked < max; looked += PAGE) {
    const facts = (await readModels.find(WEBHOOK_ATTEMPTS, {
      where: { webhook: { eq: webhook }, at: { gte: since } },
      sort: { field: 'at', direction: 'asc' },
      limit: PAGE,
      ...(after === undefined ? {} : { after }),
    })) as readonly WebhookAttemptsDocument[];
    for (const fact of facts) addOf(fact, webhook, causes, found);
    const last = facts.at(-1);
    if (last === undefined || facts.length < PAGE) return undefined;
    after = { value: last.at, seq: last.seq };
  }
  return after?.value as string | undefined;
};

const addOf = (
  { position, items }: WebhookAttemptsDocument,
  webhook: WebhookId,
  causes: Search['causes'],
  found: Map<string, TrailAttempt>,
): void => {
  items.forEach((item, index) => {
    const cause = causes.get(readWebhookEventId(item.eventId, 'evt')?.key ?? '');
    // An event of the log stands before what came of it: an index of 0 is its own.
    if (cause !== undefined) found.set(`${position}.${index}`, { webhook, position, index: index + 1, item, cause });
  });
};
