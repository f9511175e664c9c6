/** What came of the attempts of a subscription: facts in parts, each under a key of its own, so that what is old can be destroyed part by part. */
import { versionOf, startOf, type Appended, type Cause, type EventLog, type StreamVersion } from '../../event-log/event-log.js';
import { lastThat } from './ledger.js';
import { WrongExpectedRevision } from '../../domain/core/errors.js';
import { webhookOutcomeStream, type WebhookId } from '../../domain/core/ids.js';
import { DAY_MS } from '../../domain/core/time.js';
import type { WebhookOutcomeEvent, WebhookProgress } from '../../domain/webhooks/events.js';

/** A part has no more facts than these, and none that is appended later than so long after its first. */
const FACTS_PER_PART = 128;
const PART_MAX_MS = DAY_MS;

/** Where the next fact goes, and how far the sending has come. `since`: of the part; undefined where it has no fact yet. */
export type Outcomes = Readonly<{
  part: number;
  version: StreamVersion;
  since: string | undefined;
  progress: WebhookProgress;
  isEnded: boolean;
}>;

/** Makes a fact of its place and of how far the sending has come. */
export type MakeOutcome = (place: Readonly<{ at: string; since: string }>, progress: WebhookProgress) => WebhookOutcomeEvent;

const nextPart = (id: WebhookId, part: number): Pick<Outcomes, 'part' | 'version' | 'since'> => ({
  part: part + 1,
  version: startOf(webhookOutcomeStream(id, part + 1)),
  since: undefined,
});

/** `from`: a part that is known to be there, or the first. */
export const outcomesOf = async (eventLog: Pick<EventLog, 'load' | 'last'>, id: WebhookId, from = 0): Promise<Outcomes> => {
  const part = await lastThat(async (number) => (await eventLog.last(webhookOutcomeStream(id, number))) !== undefined, from);
  const stream = webhookOutcomeStream(id, part);
  const last = await eventLog.last(stream);
  const [recorded] = last === undefined ? [] : await eventLog.load(stream, last.revision, []);
  if (recorded === undefined)
    return { part, version: startOf(stream), since: undefined, progress: { reached: 0, failingSince: null }, isEnded: false };
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

const isFull = ({ version, since }: Outcomes, at: string): boolean =>
  since !== undefined && (version.revision + 2 >= FACTS_PER_PART || Date.parse(at) - Date.parse(since) >= PART_MAX_MS);

/**
 * Appends one fact where the subscription's outcomes end; a part that is full is closed first. Rejects with WrongExpectedRevision where
 * they do not end there any more.
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
    await eventLog.append(webhookOutcomeStream(id, part), version, [closed], cause);
    ({ part, version, since = at } = nextPart(id, part));
  }
  const event = make({ at, since }, known.progress);
  const appended = await eventLog.append(webhookOutcomeStream(id, part), version, [event], cause);
  const isEnded = event.type === 'WebhookOutcomesEnded';
  return { outcomes: { part, version: appended, since, progress: event.data.progress, isEnded }, appended };
};

const CONFLICTS_MAX = 16;

/** Appends what `make` says after the newest fact of the subscription's outcomes; where another was faster it is asked again. */
export const appendOutcome = async (eventLog: EventLog, id: WebhookId, cause: Cause, make: MakeOutcome): Promise<void> => {
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
