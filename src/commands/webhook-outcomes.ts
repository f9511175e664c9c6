/** Asks for deliveries that were made before: an event that failed, or a range of them; and shows the events of a subscription in order. */
import type { Caller } from './caller.js';
import { causeOf, type CommandDeps } from './deps.js';
import { loadedBody, type BodyDeps } from './webhook-bodies.js';
import { numberSince, routeEnd, sentFrom } from './webhook-ledger.js';
import { appendOutcome } from './webhook-outcome-parts.js';
import { openWebhook } from './webhooks.js';
import type { ReplayedWebhook, ReplayWebhookRequest, WebhookEvents, WebhookEventsQuery } from '../api/webhooks.js';
import { DomainError, invalid } from '../domain/errors.js';
import type { WebhookId } from '../domain/ids.js';
import { isoTime } from '../domain/ports/clock.js';
import { readWebhookEventId, webhookEventId } from '../domain/webhook/event-id.js';

const PAGE_SIZE = 50;

const deliveryNotFound = (): DomainError => new DomainError('WEBHOOK_DELIVERY_NOT_FOUND', 'The subscription has no delivery with this id.');

const assertEnabled = (enabled: boolean): void => {
  if (!enabled) throw new DomainError('WEBHOOK_DISABLED', 'The subscription is disabled; enable it first (PATCH, `enabled: true`).');
};

/** `failedAttempts`: how many attempts have failed, undefined where the last one did not; the route asks the read model first. */
export const retryWebhookDelivery = async (
  deps: CommandDeps,
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
    throw new DomainError('WEBHOOK_DELIVERY_NOT_FAILED', 'Only a delivery that has failed can be tried again; ask for a replay instead.');
  const cause = causeOf(deps, caller);
  await appendOutcome(deps.eventLog, id, cause, (place, progress) => ({
    type: 'WebhookRetryAsked',
    data: { ...place, progress, attempt: failedAttempts, sent },
  }));
  return { id: delivery, eventId: webhookEventId(sent.number, sent.key), nextRetryAt: cause.at };
};

/** What was sent since a moment is sent again, with the same ids and bodies. */
export const replayWebhook = async (
  deps: CommandDeps,
  caller: Caller,
  id: WebhookId,
  { since, until, events }: ReplayWebhookRequest,
): Promise<ReplayedWebhook> => {
  const { enabled } = await openWebhook(deps, caller, id);
  assertEnabled(enabled);
  const [from, to] = [isoTime(Date.parse(since)), until === undefined ? undefined : isoTime(Date.parse(until))];
  if (to !== undefined && to <= from) throw invalid('request body', 'until', 'must be after `since`');
  const next = await numberSince(deps.eventLog, id, from);
  const end = to === undefined ? (await routeEnd(deps.eventLog, id)).count : await numberSince(deps.eventLog, id, to);
  const replay = { id: deps.ids.uuid(), next, end: Math.max(next, end), ...(events === undefined ? {} : { events: [...events] }) };
  const cause = causeOf(deps, caller);
  await appendOutcome(deps.eventLog, id, cause, (place, progress) => {
    if (progress.replay !== undefined)
      throw new DomainError('WEBHOOK_REPLAY_UNDER_WAY', 'A replay of this subscription is under way; ask again when it has ended.');
    return { type: 'WebhookReplayAsked', data: { ...place, progress: { ...progress, replay } } };
  });
  return { replayId: replay.id, from: replay.next, to: replay.end };
};

/** The events of a subscription in the order in which they are sent, for who would rather pull. */
export const webhookEvents = async (
  deps: CommandDeps & BodyDeps,
  caller: Caller,
  id: WebhookId,
  { after, limit = PAGE_SIZE }: WebhookEventsQuery,
): Promise<WebhookEvents> => {
  await openWebhook(deps, caller, id);
  const number = after === undefined ? -1 : readWebhookEventId(after, 'evt')?.number;
  const notFound = (): DomainError => new DomainError('WEBHOOK_EVENT_NOT_FOUND', 'The subscription has no event with the id in `after`.');
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
    const body = (await loadedBody(deps, sent)) ?? null;
    events.push({ id: webhookEventId(place, key), previousId, event, timestamp, body });
  }
  return { events, hasMore: found.length > limit };
};
