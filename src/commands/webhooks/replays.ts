/**
 * Commands that send events again (a failed delivery, or a range by time), and the list of the events of a subscription
 * in order.
 */
import { type Caller, ownedBy, causeOf } from '../core/caller.js';
import type { WebhookNeeds } from './needs.js';
import { loadedBody, type BodyDeps } from './attempt.js';
import { handle } from '../core/handle.js';
import { numberRoutedSince, numberSince, routeEnd, sentFrom } from './route.js';
import { appendOutcome, outcomesOf } from './records.js';
import { openWebhook } from './subscriptions.js';
import type { ReplayedWebhook, ReplayWebhookRequest, WebhookEvents, WebhookEventsQuery } from '../../api/webhooks.js';
import { DomainError, invalid } from '../../domain/core/errors.js';
import type { Recorded } from '../../domain/events.js';
import { webhookStream, type WebhookId } from '../../domain/core/ids.js';
import { isoTime, requireTime, DAY_MS } from '../../domain/core/time.js';
import { readWebhookEventId, webhookEventId } from '../../domain/webhooks/delivery.js';
import type { WebhookEvent } from '../../domain/webhooks/events.js';
import type { WebhookKind } from '../../domain/core/event.js';
import {
  mayHaveMissed,
  evolveWebhook,
  replayUnderWay,
  webhookDecider,
  webhookNotFound,
  type WebhookState,
} from '../../domain/webhooks/decider.js';
import type { Cause } from '../../event-log/event-log.js';

type Range = Readonly<{ next: number; end: number }>;

type MissedRequest = Readonly<{
  cause: Cause;
  replayId: string;
  since: string;
  until: string | undefined;
  events: readonly string[] | undefined;
}>;

const PAGE_SIZE = 50;

/** The clocks of processes differ by less than this. */
const SKEW_MS = 60_000;

/**
 * `failedAttempts`: how many attempts have failed, undefined if the last one did not fail; the route asks the read
 * model first.
 */
export const retryWebhookDelivery = async (
  deps: WebhookNeeds,
  caller: Caller,
  id: WebhookId,
  delivery: string,
  failedAttempts: number | undefined,
): Promise<Readonly<{ id: string; eventId: string; nextRetryAt: string }>> => {
  const { enabled } = await openWebhook(deps, caller, id);
  const read = readWebhookEventId(delivery, 'del');
  const [sent] = read === undefined ? [] : await sentFrom(deps.eventLog, id, read.number);
  if (read === undefined || sent?.number !== read.number || sent.key !== read.key) throw deliveryNotFound();
  assertEnabled(enabled);
  if (failedAttempts === undefined)
    throw new DomainError(
      'WEBHOOK_DELIVERY_NOT_FAILED',
      'Only a delivery that has failed can be tried again; ask for a replay instead.',
    );
  const cause = causeOf(deps, caller);
  await appendOutcome(deps.eventLog, id, cause, (place, progress) => ({
    type: 'WebhookRetryAsked',
    data: { ...place, progress, attempt: failedAttempts, sent },
  }));
  return { id: delivery, eventId: webhookEventId(sent.number, sent.key), nextRetryAt: cause.at };
};

/**
 * Sends again what was sent since a moment, with the same ids and bodies, and routes what the subscription missed since
 * then.
 */
export const replayWebhook = async (
  deps: WebhookNeeds,
  caller: Caller,
  id: WebhookId,
  request: ReplayWebhookRequest,
): Promise<ReplayedWebhook> => {
  const { enabled, backfill } = await openWebhook(deps, caller, id);
  assertEnabled(enabled);
  const { events } = request;
  const since = requireTime('since', request.since);
  const until = request.until === undefined ? undefined : requireTime('until', request.until);
  if (until !== undefined && until <= since) throw invalid('request body', 'until', 'must be after `since`');
  if ((await outcomesOf(deps.eventLog, id)).progress.replay !== undefined) throw replayUnderWay();
  const cause = causeOf(deps, caller);
  const replayId = deps.ids.uuid();
  const isAsked = await askForMissed(deps, caller, id, { cause, replayId, since, until, events });
  // Missed events that were routed later have higher numbers than events that occurred after them.
  const { next, end } = await (backfill === undefined && !isAsked ? inOrder : outOfOrder)(deps, id, since, until);
  const window = {
    since,
    ...(until === undefined ? {} : { until }),
    ...(events === undefined ? {} : { events: [...events] }),
  };
  const replay = { id: replayId, next, end: Math.max(next, end), ...window };
  await appendOutcome(deps.eventLog, id, cause, (place, progress) => {
    if (progress.replay !== undefined) throw replayUnderWay();
    return { type: 'WebhookReplayAsked', data: { ...place, progress: { ...progress, replay } } };
  });
  return { replayId, from: replay.next, to: replay.end };
};

/** The events of a subscription in the order in which they are sent, for receivers that pull them. */
export const webhookEvents = async (
  deps: WebhookNeeds & BodyDeps,
  caller: Caller,
  id: WebhookId,
  { after, limit = PAGE_SIZE }: WebhookEventsQuery,
): Promise<WebhookEvents> => {
  await openWebhook(deps, caller, id);
  const number = after === undefined ? -1 : readWebhookEventId(after, 'evt')?.number;
  const notFound = (): DomainError =>
    new DomainError('WEBHOOK_EVENT_NOT_FOUND', 'The subscription has no event with the id in `after`.');
  if (number === undefined) throw notFound();
  if (number >= 0) {
    const [known] = await sentFrom(deps.eventLog, id, number);
    if (known?.number !== number || webhookEventId(number, known.key) !== after) throw notFound();
  }
  const found = [];
  while (found.length <= limit) {
    const more = await sentFrom(deps.eventLog, id, number + 1 + found.length);
    if (more.length === 0) break;
    found.push(...more.slice(0, limit + 1 - found.length));
  }
  const events = [];
  for (const sent of found.slice(0, limit)) {
    const { number: place, key, previous: previousId, kind: event, at: timestamp } = sent;
    const body = (await loadedBody(deps, sent))?.text ?? null;
    events.push({ id: webhookEventId(place, key), previousId, event, timestamp, body });
  }
  return { events, hasMore: found.length > limit };
};

const deliveryNotFound = (): DomainError =>
  new DomainError('WEBHOOK_DELIVERY_NOT_FOUND', 'The subscription has no delivery with this id.');

const assertEnabled = (enabled: boolean): void => {
  if (!enabled)
    throw new DomainError(
      'WEBHOOK_DISABLED',
      'The subscription is disabled; enable it first (PATCH, `enabled: true`).',
    );
};
const endOf = async ({ eventLog }: WebhookNeeds, id: WebhookId): Promise<number> =>
  (await routeEnd(eventLog, id)).count;

const inOrder = async (
  deps: WebhookNeeds,
  id: WebhookId,
  since: string,
  until: string | undefined,
): Promise<Range> => ({
  next: await numberSince(deps.eventLog, id, since),
  end: until === undefined ? await endOf(deps, id) : await numberSince(deps.eventLog, id, until),
});

const outOfOrder = async (deps: WebhookNeeds, id: WebhookId, since: string): Promise<Range> => ({
  next: await numberRoutedSince(deps.eventLog, id, isoTime(Date.parse(since) - SKEW_MS)),
  end: await endOf(deps, id),
});

/**
 * Asks for missed events, not older than the retention of emails: archived ones have no content. Out: whether there may
 * be some.
 */
const askForMissed = async (
  deps: WebhookNeeds,
  caller: Caller,
  id: WebhookId,
  { cause, replayId, since, until, events }: MissedRequest,
): Promise<boolean> => {
  const facts = (await deps.eventLog.load(webhookStream(id))) as readonly Recorded<WebhookEvent>[];
  const { events: kinds = [] } =
    facts.reduce((state, { event }) => evolveWebhook(state, event), undefined as WebhookState) ?? {};
  const oldest = isoTime(deps.clock.now() - deps.limits.retentionDays * DAY_MS);
  const wanted = {
    since: since > oldest ? since : oldest,
    until,
    events: kinds.filter((kind) => events?.includes(kind as WebhookKind) ?? true),
  };
  if (!mayHaveMissed(facts, wanted)) return false;
  const { backfill } = await routeEnd(deps.eventLog, id);
  const ask = {
    at: cause.at,
    id: replayId,
    since: wanted.since,
    ...(until === undefined ? {} : { until }),
    events: wanted.events,
  };
  const command = { type: 'AskBackfill', ask, doneId: backfill?.isDone ? backfill.id : undefined } as const;
  await handle(
    deps.eventLog,
    webhookStream(id),
    webhookDecider,
    command,
    cause,
    ownedBy(caller.teamId, webhookNotFound),
  );
  return true;
};
