/**
 * Records the results of a courier's attempts: they are gathered, and appended in batches together with the progress of
 * the sending.
 */
import type { WebhookNeeds } from '../../commands/webhooks/needs.js';
import type { Cause } from '../../event-log/event-log.js';
import type { DisabledWebhook } from '../../commands/webhooks/subscriptions.js';
import type { AttemptResult } from '../../commands/webhooks/attempt.js';
import { type WebhookId, webhookStream } from '../../domain/core/ids.js';
import type { Logger } from '../../domain/ports/logger.js';
import type { FairSlots } from '../../shared/concurrency.js';
import type { SealingKey } from '../../domain/ports/keys.js';
import type { SealedAnswer, SentEvent, WebhookOutcome, WebhookProgress } from '../../domain/webhooks/events.js';
import { handle, loadState } from '../../commands/core/handle.js';
import { appendAfter, outcomesOf, type Outcomes } from '../../commands/webhooks/records.js';
import { DomainError, WrongExpectedRevision } from '../../domain/core/errors.js';
import { isoTime } from '../../domain/core/time.js';
import {
  webhookEventId,
  failingAfter,
  isDead,
  nextAttemptMs,
  retryAfterMs,
  sealAnswer,
} from '../../domain/webhooks/delivery.js';
import { webhookDecider } from '../../domain/webhooks/decider.js';

/** Slots for posts in parallel, shared fairly by all teams. */
export type PostSlots = Pick<FairSlots, 'acquire' | 'release'>;

export type CourierDeps = Pick<WebhookNeeds, 'eventLog' | 'keys' | 'clock' | 'webhooks' | 'team'> &
  Readonly<{
    logger: Logger;
    /** The pauses before the second, third, … attempt. */
    webhookDelaysMs: readonly number[];
    /** For how long since that moment the service did not run. */
    unwatchedMs: (sinceMs: number) => number;
    /** Tells the owners of the team that the subscription is about to be disabled. */
    tellOwners: (disabled: DisabledWebhook, cause: Cause) => Promise<void>;
    /** Failed deliveries in the order in which they are due, from a read model that has reached that position. */
    due: (id: WebhookId, upTo: number, limit: number, signal: AbortSignal) => Promise<readonly Due[]>;
  }>;

export type Due = Readonly<{ sent: SentEvent; attempt: number; dueAt: string }>;

/** Why an event is sent: for the first time, because an attempt has failed, or because somebody asked for it again. */
export type Source = 'first' | 'due' | 'replay';
export type Job = Readonly<{ sent: SentEvent; attempt: number; source: Source }>;
/** Result of an attempt, and the ids of the keys that decrypt the personal data in its body. */
export type Tried = AttemptResult & Readonly<{ keys: readonly string[] }>;
type EndedAttempt = Readonly<{ job: Job; tried: Tried }>;

export type Recorder = Readonly<{
  progress: () => WebhookProgress;
  isEnded: () => boolean;
  load: () => Promise<void>;
  /** Reads what a command has appended: a replay was asked for, or the subscription was deleted. */
  refresh: () => Promise<void>;
  ended: (ended: EndedAttempt) => void;
  /** Whether the outcome of an attempt with that event is not appended yet. */
  awaits: (number: number) => boolean;
  /** The event of that number is not sent: the replay does not want it, or it is under way already. */
  passOver: (source: 'first' | 'replay', number: number) => void;
  /** Whether the replay has looked at all that it was asked for. */
  isReplayOver: () => boolean;
  /** Out: the outcomes that were appended, and the position of the last fact. */
  flush: (alsoEmpty: boolean) => Promise<Readonly<{ outcomes: readonly WebhookOutcome[]; position: number }>>;
}>;

type Context = Readonly<{ deps: CourierDeps; id: WebhookId; cause: () => Cause }>;

type State = {
  outcomes: Outcomes;
  readonly ended: EndedAttempt[];
  readonly looked: Readonly<Record<'first' | 'replay', NumberSet>>;
};

/** A set of numbers that mostly arrive in order: a range without gaps, and the numbers beyond it. */
type NumberSet = Readonly<{
  add: (number: number) => void;
  /** The first number from that one on that is not in the set. */
  upTo: (from: number) => number;
  forget: () => void;
}>;

const NAME = 'deliver-webhooks';
const OUTCOMES_PER_FACT = 100;

/** The error of an event whose key is destroyed. */
export const ERASED = 'ERASED';

export const openRecorder = (deps: CourierDeps, id: WebhookId, team: string, fence: number): Recorder => {
  const cause = (): Cause => ({
    teamId: team,
    actor: `processor:${NAME}`,
    correlationId: id,
    causationId: id,
    at: isoTime(deps.clock.now()),
    fence,
  });
  const context: Context = { deps, id, cause };
  const state = { ended: [], looked: { first: openNumberSet(), replay: openNumberSet() } } as unknown as State;
  const isReplayOver = (): boolean => {
    const { replay } = state.outcomes.progress;
    return replay !== undefined && state.looked.replay.upTo(replay.next) >= replay.end;
  };
  return {
    progress: () => state.outcomes.progress,
    isEnded: () => state.outcomes.isEnded,
    load: async () => void (state.outcomes = await outcomesOf(deps.eventLog, id)),
    refresh: async () => {
      const { progress, isEnded } = await outcomesOf(deps.eventLog, id, state.outcomes.part);
      const { outcomes: known } = state;
      state.outcomes = {
        ...known,
        progress: { ...known.progress, ...(progress.replay && { replay: progress.replay }) },
        isEnded,
      };
    },
    ended: (ended) => void state.ended.push(ended),
    awaits: (number) => state.ended.some(({ job }) => job.sent.number === number),
    passOver: (source, number) => void state.looked[source].add(number),
    isReplayOver,
    flush: async (alsoEmpty) => {
      const done: WebhookOutcome[] = [];
      let position = 0;
      // Attempts that end during this flush wait for the next one: otherwise a busy subscription would append many
      // small facts.
      const count = state.ended.length;
      while (!state.outcomes.isEnded && (done.length < count || (alsoEmpty && isReplayOver()))) {
        const batch = state.ended.slice(0, Math.min(OUTCOMES_PER_FACT, count - done.length));
        const outcomes = batch.map((one) => outcomeOf(deps, one));
        for (const { job } of batch) if (job.source !== 'due') state.looked[job.source].add(job.sent.number);
        position = (await append(context, state, batch, outcomes)) ?? position;
        state.ended.splice(0, batch.length);
        done.push(...outcomes);
        await disableIfDead(context, state, outcomes);
      }
      return { outcomes: done, position };
    },
  };
};

const outcomeOf = (
  { clock, webhookDelaysMs }: CourierDeps,
  { job: { sent, attempt, source }, tried }: EndedAttempt,
): WebhookOutcome => {
  const { result, attemptedAt, statusCode, responseMs, error, retryAfter } = tried;
  const isFinal = result === 'success' || error === ERASED || statusCode === 410;
  const nowMs = clock.now();
  const failed = {
    attempt,
    eventId: webhookEventId(sent.number, sent.key),
    nowMs,
    retryAfterMs: retryAfterMs(retryAfter, nowMs),
  };
  const nextMs = isFinal ? undefined : nextAttemptMs(failed, webhookDelaysMs);
  return {
    ...sent,
    attempt,
    attemptedAt,
    result,
    ...(statusCode === undefined ? {} : { statusCode }),
    responseMs,
    ...(error === undefined ? {} : { error }),
    ...(nextMs === undefined ? {} : { nextRetryAt: isoTime(nextMs) }),
    ...(source === 'replay' ? { replayed: true as const } : {}),
  };
};

const progressAfter = (
  { outcomes: { progress }, looked }: State,
  outcomes: readonly WebhookOutcome[],
): WebhookProgress => {
  const told = outcomes.filter(({ error }) => error !== ERASED);
  const hasSuccess = told.some(({ result }) => result === 'success');
  const failing = hasSuccess
    ? { failingSince: null }
    : failingAfter(
        progress,
        told.map(({ attemptedAt }) => attemptedAt),
      );
  const { replay } = progress;
  const next = replay && looked.replay.upTo(replay.next);
  const isOpen = replay !== undefined && next !== undefined && next < replay.end;
  return {
    reached: looked.first.upTo(progress.reached),
    ...failing,
    ...(isOpen ? { replay: { ...replay, next } } : {}),
  };
};

/** Answers whose email was destroyed meanwhile are recorded as null. */
const sealAnswers = async ({ keys }: CourierDeps, batch: readonly EndedAttempt[]): Promise<(SealedAnswer | null)[]> => {
  const ids = new Set(batch.flatMap(({ tried }) => (tried.answer ? tried.keys : [])));
  const found = ids.size === 0 ? new Map<string, SealingKey>() : await keys.getMany([...ids]);
  return batch.map(({ job: { sent, attempt }, tried }) =>
    sealAnswer(found, { eventId: webhookEventId(sent.number, sent.key), attempt }, tried),
  );
};

/** Out: the position of the fact; undefined where the subscription was deleted meanwhile. */
const append = async (
  { deps, id, cause }: Context,
  state: State,
  batch: readonly EndedAttempt[],
  outcomes: WebhookOutcome[],
): Promise<number | undefined> => {
  const answers = await sealAnswers(deps, batch);
  for (;;) {
    const progress = progressAfter(state, outcomes);
    try {
      const { outcomes: after, appended } = await appendAfter(deps.eventLog, id, state.outcomes, cause(), (place) => ({
        type: 'WebhookAttempted',
        data: { ...place, progress, outcomes },
        sealed: { answers },
      }));
      state.outcomes = after;
      if (progress.replay === undefined) state.looked.replay.forget();
      return appended.position;
    } catch (fault) {
      if (!(fault instanceof WrongExpectedRevision)) throw fault;
      const { reached, failingSince, failures } = state.outcomes.progress;
      const found = await outcomesOf(deps.eventLog, id, state.outcomes.part);
      state.outcomes = {
        ...found,
        progress: { ...found.progress, reached, failingSince, ...(failures && { failures }) },
      };
      if (found.isEnded) return undefined;
    }
  }
};

/** Disables a subscription whose endpoint is gone for good, or has failed for days. */
const disableIfDead = async (
  { deps, id, cause }: Context,
  { outcomes }: State,
  appended: readonly WebhookOutcome[],
): Promise<void> => {
  const isGone = appended.some(({ statusCode }) => statusCode === 410);
  if (!isGone && !(await isFailing(deps, id, outcomes.progress))) return;
  const { fence: _fence, ...by } = cause();
  const reason = isGone ? 'gone' : 'failing';
  await tryToTellOwners(deps, { id, reason }, by);
  const command = { type: 'DisableWebhook', at: by.at, reason } as const;
  await handle(deps.eventLog, webhookStream(id), webhookDecider, command, by);
};

/** The settings are read only if the subscription may be dead. */
const isFailing = async (
  { eventLog, clock, unwatchedMs }: CourierDeps,
  id: WebhookId,
  progress: WebhookProgress,
): Promise<boolean> => {
  const time = { nowMs: clock.now(), unwatchedMs };
  if (!isDead(progress, time)) return false;
  const { state } = await loadState(eventLog, webhookStream(id), webhookDecider);
  return isDead(progress, { ...time, enabledAgainAt: state?.enabledAgainAt });
};

/** If the mail cannot be sent, because somebody broke its template, the subscription is disabled all the same. */
const tryToTellOwners = async (
  { tellOwners, logger }: CourierDeps,
  disabled: DisabledWebhook,
  cause: Cause,
): Promise<void> => {
  try {
    await tellOwners(disabled, cause);
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    logger.warn({ webhook: disabled.id, code: fault.code }, 'the owners could not be told that a webhook is disabled');
  }
};

const openNumberSet = (): NumberSet => {
  const beyond = new Set<number>();
  let [start, end] = [0, 0];
  const goOn = (): void => {
    while (beyond.delete(end)) end += 1;
  };
  return {
    add: (number) => {
      if (number < start || number >= end) beyond.add(number);
      goOn();
    },
    upTo: (from) => {
      if (from < start || from > end) {
        [start, end] = [from, from];
        for (const number of beyond) if (number < from) beyond.delete(number);
        goOn();
      }
      return end;
    },
    forget: () => {
      beyond.clear();
      [start, end] = [0, 0];
    },
  };
};
