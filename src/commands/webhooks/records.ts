/** The end of the records of deliveries: old ones, and those of a subscription that is deleted, are removed part by part. */
import type { CommandDeps } from '../core/deps.js';
import { eraseStream, type EraseDeps } from '../core/erase.js';
import { lastThat } from './ledger.js';
import { appendOutcome, outcomesOf } from './outcome-parts.js';
import { WrongExpectedRevision } from '../../domain/core/errors.js';
import type { Recorded } from '../../domain/events.js';
import { webhookOfStream, webhookOutcomeStream, type WebhookId } from '../../domain/core/ids.js';
import type { WebhookOutcomeEvent } from '../../domain/webhooks/events.js';
import { versionOf, type Cause, type EventLog } from '../../event-log/event-log.js';

type Deps = EraseDeps & Pick<CommandDeps, 'eventLog'>;

/** Nothing follows in the outcomes of a subscription. Safe to repeat. */
export const endOutcomes = async (deps: Deps, id: WebhookId, cause: Cause): Promise<void> => {
  await appendOutcome(deps.eventLog, id, cause, (place, progress) => ({ type: 'WebhookOutcomesEnded', data: { ...place, progress } }));
  const { part, version } = await outcomesOf(deps.eventLog, id);
  if (version.revision >= 0) await eraseStream(deps, webhookOutcomeStream(id, part));
};

const lastOf = async (eventLog: EventLog, id: WebhookId, part: number): Promise<Recorded<WebhookOutcomeEvent> | undefined> => {
  const stream = webhookOutcomeStream(id, part);
  const last = await eventLog.last(stream);
  const [recorded] = last === undefined ? [] : await eventLog.load(stream, last.revision, []);
  return recorded as Recorded<WebhookOutcomeEvent> | undefined;
};

/** The deliveries that have failed in a part, or were asked for again. */
const failedIn = (facts: readonly Recorded[]): number[] => {
  const failed = new Set<number>();
  for (const { event } of facts as readonly Recorded<WebhookOutcomeEvent>[]) {
    if (event.type === 'WebhookRetryAsked') failed.add(event.data.sent.number);
    if (event.type !== 'WebhookAttempted') continue;
    for (const { number, result } of event.data.outcomes) if (result === 'failed') failed.add(number);
  }
  return [...failed];
};

/** Records that a part is shown no more, then destroys its key. Nothing is done where another has appended meanwhile. Safe to repeat. */
export const removeOutcomes = async (deps: Deps, id: WebhookId, part: number, cause: Cause): Promise<void> => {
  const { eventLog } = deps;
  const stream = webhookOutcomeStream(id, part);
  const last = await lastOf(eventLog, id, part);
  if (last === undefined) return;
  const { type, data } = last.event;
  if (type !== 'WebhookOutcomesRemoved') {
    const { since, progress } = data;
    const place = { at: cause.at, since, progress };
    const failed = failedIn(await eventLog.load(stream, 0, []));
    const isEnded = type === 'WebhookOutcomesEnded';
    try {
      await eventLog.append(stream, versionOf(last), [{ type: 'WebhookOutcomesRemoved', data: { ...place, isEnded, failed } }], cause);
    } catch (fault) {
      if (fault instanceof WrongExpectedRevision) return;
      throw fault;
    }
  }
  await eraseStream(deps, stream);
};

/** The oldest part that is not removed, or the one after that: those that are removed stand before those that are not. */
export const firstKeptPart = async (eventLog: EventLog, id: WebhookId, upTo: number): Promise<number> => {
  const isRemoved = async (part: number): Promise<boolean> =>
    part <= upTo && (await lastOf(eventLog, id, part))?.event.type === 'WebhookOutcomesRemoved';
  return (await isRemoved(0)) ? (await lastThat(isRemoved)) + 1 : 0;
};

/** The same as for one part for all up to that one, the oldest first. */
export const removeAllOutcomes = async (deps: Deps, id: WebhookId, upTo: number, cause: Cause, signal: AbortSignal): Promise<void> => {
  const first = await firstKeptPart(deps.eventLog, id, upTo);
  for (let part = first; part <= upTo && !signal.aborted; part += 1) await removeOutcomes(deps, id, part, cause);
};

/**
 * Ends the outcomes of the subscriptions of which the log says between those positions that they are deleted, where the program died before
 * it did. Safe to repeat.
 */
export const endOutcomesOfDeleted = async (deps: Deps, after: number, upTo: number, signal?: AbortSignal): Promise<void> => {
  const options = { kinds: ['webhook'], types: ['WebhookDeleted'] as const, decrypt: [], ...(signal && { signal }) };
  for await (const { events, position: reached } of deps.eventLog.readAll(after, options)) {
    for (const { stream, position, metadata } of events) {
      const id = webhookOfStream(stream);
      if (id === undefined || position > upTo) continue;
      const { teamId, correlationId, eventId: causationId, occurredAt: at } = metadata;
      await endOutcomes(deps, id, { teamId, actor: 'processor:erase', correlationId, causationId, at });
    }
    if (reached >= upTo) return;
  }
};
