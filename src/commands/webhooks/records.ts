/**
 * The outcomes of a subscription's attempts: appended in parts, each with a key of its own, so that old ones are
 * destroyed part by part; and exported for a person.
 */
import {
  versionOf,
  startOf,
  type Appended,
  type Cause,
  type EventLog,
  type StreamVersion,
} from '../../event-log/event-log.js';
import { lastThat } from './route.js';
import { WrongExpectedRevision } from '../../domain/core/errors.js';
import { webhookOutcomeStream, type WebhookId, webhookOfStream, splitStream } from '../../domain/core/ids.js';
import { DAY_MS } from '../../domain/core/time.js';
import type { WebhookOutcomeEvent, WebhookProgress, WebhookOutcome } from '../../domain/webhooks/events.js';
import type { WebhookNeeds } from './needs.js';
import { eraseStream, type EraseDeps } from '../core/erase.js';
import type { Recorded } from '../../domain/events.js';
import type { ExportedDelivery } from '../../api/privacy.js';
import { deliveryListing, withAnswers, type AnsweredListing } from '../../domain/webhooks/delivery.js';

/**
 * Place of the next fact, and progress of the sending. `since`: when the part began; undefined if it has no fact yet.
 */
export type Outcomes = Readonly<{
  part: number;
  version: StreamVersion;
  since: string | undefined;
  progress: WebhookProgress;
  isEnded: boolean;
}>;

/** Makes the next fact from its place and the progress of the sending. */
type MakeOutcome = (place: Readonly<{ at: string; since: string }>, progress: WebhookProgress) => WebhookOutcomeEvent;

type Deps = EraseDeps & Pick<WebhookNeeds, 'eventLog'>;

/** By the id of an email: the places of the person among its recipients, and whether it has no others. */
export type Places = ReadonlyMap<string, Readonly<{ places: readonly number[]; isOnly: boolean }>>;

type Facts = readonly Recorded<WebhookOutcomeEvent>[];

/** A part is full when it has that many facts, or when its first fact is that old. */
const FACTS_PER_PART = 128;

const PART_MAX_MS = DAY_MS;

const CONFLICTS_MAX = 16;

/** The end of the outcomes. `from`: a part that is known to exist, or the first. */
export const outcomesOf = async (
  eventLog: Pick<EventLog, 'load' | 'last'>,
  id: WebhookId,
  from = 0,
): Promise<Outcomes> => {
  const part = await lastThat(
    async (number) => (await eventLog.last(webhookOutcomeStream(id, number))) !== undefined,
    from,
  );
  const stream = webhookOutcomeStream(id, part);
  const last = await eventLog.last(stream);
  const [recorded] = last === undefined ? [] : await eventLog.load(stream, last.revision, []);
  if (recorded === undefined)
    return {
      part,
      version: startOf(stream),
      since: undefined,
      progress: { reached: 0, failingSince: null },
      isEnded: false,
    };
  const { type, data } = recorded.event as WebhookOutcomeEvent;
  const { since, progress } = data;
  switch (type) {
    case 'WebhookAttempted':
    case 'WebhookRetryAsked':
    case 'WebhookReplayAsked':
      return { part, version: versionOf(recorded), since, progress, isEnded: false };
    case 'WebhookOutcomesEnded':
      return { part, version: versionOf(recorded), since, progress, isEnded: true };
    case 'WebhookOutcomesClosed':
      return { ...nextPart(id, part), progress, isEnded: false };
    case 'WebhookOutcomesRemoved':
      return { ...nextPart(id, part), progress, isEnded: data.isEnded };
  }
};

/**
 * Appends one fact where the outcomes end; a full part is closed first. Rejects with WrongExpectedRevision if they do
 * not end there any more.
 */
export const appendAfter = async (
  eventLog: Pick<EventLog, 'append'>,
  id: WebhookId,
  known: Outcomes,
  cause: Cause,
  make: MakeOutcome,
): Promise<Readonly<{ outcomes: Outcomes; appended: Appended }>> => {
  const { at } = cause;
  let { part, version, since = at } = known;
  if (isFull(known, at)) {
    const closed = { type: 'WebhookOutcomesClosed', data: { at, since, progress: known.progress } } as const;
    // Not by `handle`: the event closes a part that is full, and nothing about it is decided.
    await eventLog.append(webhookOutcomeStream(id, part), version, [closed], cause);
    ({ part, version, since = at } = nextPart(id, part));
  }
  const event = make({ at, since }, known.progress);
  // Not by `handle`: the event notes the result of an attempt, and nothing about it is decided.
  const appended = await eventLog.append(webhookOutcomeStream(id, part), version, [event], cause);
  const isEnded = event.type === 'WebhookOutcomesEnded';
  return { outcomes: { part, version: appended, since, progress: event.data.progress, isEnded }, appended };
};

/** Appends a fact after the newest one. If another process appended first, `make` is called again. */
export const appendOutcome = async (
  eventLog: EventLog,
  id: WebhookId,
  cause: Cause,
  make: MakeOutcome,
): Promise<void> => {
  for (let conflicts = 0, from = 0; ; conflicts += 1) {
    const known = await outcomesOf(eventLog, id, from);
    if (known.isEnded) return;
    from = known.part;
    try {
      await appendAfter(eventLog, id, known, cause, make);
      return;
    } catch (fault) {
      if (!(fault instanceof WrongExpectedRevision) || conflicts >= CONFLICTS_MAX) throw fault;
    }
  }
};

/** Ends the outcomes of a subscription and destroys the key of the last part. Safe to repeat. */
export const endOutcomes = async (deps: Deps, id: WebhookId, cause: Cause): Promise<void> => {
  await appendOutcome(deps.eventLog, id, cause, (place, progress) => ({
    type: 'WebhookOutcomesEnded',
    data: { ...place, progress },
  }));
  const { part, version } = await outcomesOf(deps.eventLog, id);
  if (version.revision >= 0) await eraseStream(deps, webhookOutcomeStream(id, part));
};

/**
 * Records that a part is shown no more, then destroys its key. Does nothing if another process appended meanwhile. Safe
 * to repeat.
 */
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
      // Not by `handle`: the event notes that the outcomes are removed, and nothing about it is decided.
      await eventLog.append(
        stream,
        versionOf(last),
        [{ type: 'WebhookOutcomesRemoved', data: { ...place, isEnded, failed } }],
        cause,
      );
    } catch (fault) {
      if (fault instanceof WrongExpectedRevision) return;
      throw fault;
    }
  }
  await eraseStream(deps, stream);
};

/** Removes all parts up to that one, the oldest first. */
export const removeAllOutcomes = async (
  deps: Deps,
  id: WebhookId,
  upTo: number,
  cause: Cause,
  signal: AbortSignal,
): Promise<void> => {
  const first = await firstKeptPart(deps.eventLog, id, upTo);
  for (let part = first; part <= upTo && !signal.aborted; part += 1) await removeOutcomes(deps, id, part, cause);
};

/**
 * Ends the outcomes of the subscriptions that were deleted between those positions of the log, in case the program died
 * before it did. Safe to repeat.
 */
export const endOutcomesOfDeleted = async (
  deps: Deps,
  after: number,
  upTo: number,
  signal?: AbortSignal,
): Promise<void> => {
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

const nextPart = (id: WebhookId, part: number): Pick<Outcomes, 'part' | 'version' | 'since'> => ({
  part: part + 1,
  version: startOf(webhookOutcomeStream(id, part + 1)),
  since: undefined,
});

const isFull = ({ version, since }: Outcomes, at: string): boolean =>
  since !== undefined && (version.revision + 2 >= FACTS_PER_PART || Date.parse(at) - Date.parse(since) >= PART_MAX_MS);

const lastOf = async (
  eventLog: EventLog,
  id: WebhookId,
  part: number,
): Promise<Recorded<WebhookOutcomeEvent> | undefined> => {
  const stream = webhookOutcomeStream(id, part);
  const last = await eventLog.last(stream);
  const [recorded] = last === undefined ? [] : await eventLog.load(stream, last.revision, []);
  return recorded as Recorded<WebhookOutcomeEvent> | undefined;
};

/** The numbers of the deliveries that failed in a part, or were asked for again. */
const failedIn = (facts: readonly Recorded[]): number[] => {
  const failed = new Set<number>();
  for (const { event } of facts as readonly Recorded<WebhookOutcomeEvent>[]) {
    if (event.type === 'WebhookRetryAsked') failed.add(event.data.sent.number);
    if (event.type !== 'WebhookAttempted') continue;
    for (const { number, result } of event.data.outcomes) if (result === 'failed') failed.add(number);
  }
  return [...failed];
};

/** The oldest part that is not removed. Parts are removed from the oldest on. */
const firstKeptPart = async (eventLog: EventLog, id: WebhookId, upTo: number): Promise<number> => {
  const isRemoved = async (part: number): Promise<boolean> =>
    part <= upTo && (await lastOf(eventLog, id, part))?.event.type === 'WebhookOutcomesRemoved';
  return (await isRemoved(0)) ? (await lastThat(isRemoved)) + 1 : 0;
};

/** The records of deliveries of a subscription about given recipients, part by part, the oldest first. */
export async function* deliveriesAbout(
  { eventLog, keys }: Pick<WebhookNeeds, 'eventLog' | 'keys'>,
  webhook: WebhookId,
  about: Places,
): AsyncGenerator<readonly ExportedDelivery[]> {
  const { part: last } = await outcomesOf(eventLog, webhook);
  for (let part = await firstKeptPart(eventLog, webhook, last); part <= last; part += 1) {
    const stream = webhookOutcomeStream(webhook, part);
    // The answers are decrypted only if the part has such deliveries.
    const facts = (await eventLog.load(stream, 0, [])) as Facts;
    const isAbout = facts.some(
      ({ event }) => event.type === 'WebhookAttempted' && event.data.outcomes.some((one) => isOf(one, about)),
    );
    const found = isAbout ? ((await eventLog.load(stream)) as Facts).flatMap((fact) => deliveriesIn(fact, about)) : [];
    const items = await withAnswers(keys, found);
    yield items.map((item, at) => ({ webhookId: webhook, emailId: found[at]!.emailId, ...item }));
  }
}

const isOf = ({ stream, recipient }: WebhookOutcome, about: Places): boolean => {
  const { kind, id } = splitStream(stream);
  const known = kind === 'email' ? about.get(id) : undefined;
  return known !== undefined && (recipient === undefined || known.places.includes(recipient));
};

type AboutEmail = AnsweredListing & Readonly<{ emailId: string }>;

const deliveriesIn = ({ event }: Facts[number], about: Places): readonly AboutEmail[] => {
  if (event.type !== 'WebhookAttempted') return [];
  const { data, sealed } = event;
  return data.outcomes.flatMap((outcome, at) => {
    if (!isOf(outcome, about)) return [];
    const emailId = splitStream(outcome.stream).id;
    // An answer to an event of the whole email may name any recipient.
    const isOwn = outcome.recipient !== undefined || about.get(emailId)?.isOnly === true;
    return [{ emailId, item: deliveryListing(outcome), answer: isOwn ? sealed?.answers[at] : null }];
  });
};
