/** What came of the attempts of one subscription: gathered, and appended together with how far the sending has come. */
import type { CommandDeps } from '../../commands/core/deps.js';
import type { Cause } from '../../event-log/event-log.js';
import type { DisabledWebhook } from '../../commands/webhooks/subscriptions.js';
import type { Tried } from '../../commands/webhooks/attempt.js';
import { type WebhookId, webhookStream } from '../../domain/core/ids.js';
import type { Logger } from '../../domain/ports/logger.js';
import type { FairSlots } from '../../shared/fairness.js';
import type { SentEvent, WebhookOutcome, WebhookProgress } from '../../domain/webhooks/events.js';
import { handle } from '../../commands/core/handle.js';
import { appendAfter, outcomesOf, type Outcomes } from '../../commands/webhooks/records.js';
import { DomainError, WrongExpectedRevision } from '../../domain/core/errors.js';
import { isoTime } from '../../domain/core/time.js';
import { webhookEventId, FAILING_MAX_MS, nextAttemptMs, retryAfterMs } from '../../domain/webhooks/delivery.js';
import { webhookDecider } from '../../domain/webhooks/decider.js';

/* What a courier does: one attempt to send one event, and what came of it. */

/** How many posts are under way at once, of all teams: none has them all. */
export type PostSlots = Pick<FairSlots, 'acquire' | 'release'>;

export type CourierDeps = Pick<CommandDeps, 'eventLog' | 'clock' | 'webhooks' | 'team'> &
  Readonly<{
    logger: Logger;
    /** Who owns the team hears that the subscription is about to be disabled. */
    tellOwners: (disabled: DisabledWebhook, cause: Cause) => Promise<void>;
    /** Failed deliveries in the order in which they are due, as the read models know them up to that position at least. */
    due: (id: WebhookId, upTo: number, limit: number, signal: AbortSignal) => Promise<readonly Due[]>;
  }>;

export type Due = Readonly<{ sent: SentEvent; attempt: number; dueAt: string }>;

/** Why an event is sent: for the first time, because an attempt has failed, or because somebody asked for it again. */
export type Source = 'first' | 'due' | 'replay';
export type Work = Readonly<{ sent: SentEvent; attempt: number; source: Source }>;
type Ended = Readonly<{ work: Work; tried: Tried }>;

const NAME = 'deliver-webhooks';
const OUTCOMES_PER_FACT = 100;

export type Recorder = Readonly<{
  progress: () => WebhookProgress;
  isEnded: () => boolean;
  load: () => Promise<void>;
  /** Somebody else has appended: a replay may have been asked for, or the subscription deleted. */
  refresh: () => Promise<void>;
  ended: (ended: Ended) => void;
  /** Whether the outcome of an attempt to send that event waits to be appended. */
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
  readonly ended: Ended[];
  readonly looked: Readonly<Record<'first' | 'replay', Passed>>;
};

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
  const state = { ended: [], looked: { first: openPassed(), replay: openPassed() } } as unknown as State;
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
      state.outcomes = { ...known, progress: { ...known.progress, ...(progress.replay && { replay: progress.replay }) }, isEnded };
    },
    ended: (ended) => void state.ended.push(ended),
    awaits: (number) => state.ended.some(({ work }) => work.sent.number === number),
    passOver: (source, number) => void state.looked[source].add(number),
    isReplayOver,
    flush: async (alsoEmpty) => {
      const done: WebhookOutcome[] = [];
      let position = 0;
      // What ends while facts are appended waits for the next time: else a busy subscription has a fact for each few.
      const count = state.ended.length;
      while (!state.outcomes.isEnded && (done.length < count || (alsoEmpty && isReplayOver()))) {
        const batch = state.ended.slice(0, Math.min(OUTCOMES_PER_FACT, count - done.length));
        const outcomes = batch.map((one) => outcomeOf(deps.clock.now(), one));
        for (const { work } of batch) if (work.source !== 'due') state.looked[work.source].add(work.sent.number);
        position = (await append(context, state, batch, outcomes)) ?? position;
        state.ended.splice(0, batch.length);
        done.push(...outcomes);
        await disableWhere(context, state, outcomes);
      }
      return { outcomes: done, position };
    },
  };
};

const outcomeOf = (nowMs: number, { work: { sent, attempt, source }, tried }: Ended): WebhookOutcome => {
  const { result, attemptedAt, statusCode, responseMs, error, retryAfter } = tried;
  const isFinal = result === 'success' || error === ERASED || statusCode === 410;
  const pauseMs = retryAfterMs(retryAfter, nowMs);
  const nextMs = isFinal ? undefined : nextAttemptMs(attempt, webhookEventId(sent.number, sent.key), nowMs, pauseMs);
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

/** Of an event whose key is destroyed. */
export const ERASED = 'ERASED';

const progressAfter = ({ outcomes: { progress }, looked }: State, outcomes: readonly WebhookOutcome[]): WebhookProgress => {
  const told = outcomes.filter(({ error }) => error !== ERASED);
  const hasSuccess = told.some(({ result }) => result === 'success');
  const failingSince = hasSuccess ? null : (progress.failingSince ?? told[0]?.attemptedAt ?? null);
  const { replay } = progress;
  const next = replay && looked.replay.upTo(replay.next);
  const isOpen = replay !== undefined && next !== undefined && next < replay.end;
  return { reached: looked.first.upTo(progress.reached), failingSince, ...(isOpen ? { replay: { ...replay, next } } : {}) };
};

/** Out: the position of the fact; undefined where the subscription was deleted meanwhile. */
const append = async (
  { deps, id, cause }: Context,
  state: State,
  batch: readonly Ended[],
  outcomes: WebhookOutcome[],
): Promise<number | undefined> => {
  const answers = batch.map(({ tried }) => tried.answer);
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
      const { reached, failingSince } = state.outcomes.progress;
      const found = await outcomesOf(deps.eventLog, id, state.outcomes.part);
      state.outcomes = { ...found, progress: { ...found.progress, reached, failingSince } };
      if (found.isEnded) return undefined;
    }
  }
};

/** An endpoint that is gone for good, or has failed for days, is asked no more. */
const disableWhere = async ({ deps, id, cause }: Context, { outcomes }: State, appended: readonly WebhookOutcome[]): Promise<void> => {
  const { failingSince } = outcomes.progress;
  const isGone = appended.some(({ statusCode }) => statusCode === 410);
  const isFailing = failingSince !== null && deps.clock.now() - Date.parse(failingSince) >= FAILING_MAX_MS;
  if (!isGone && !isFailing) return;
  const { fence: _fence, ...by } = cause();
  const reason = isGone ? 'gone' : 'failing';
  await tellQuietly(deps, { id, reason }, by);
  const command = { type: 'DisableWebhook', at: by.at, reason } as const;
  await handle(deps.eventLog, webhookStream(id), webhookDecider, command, by);
};

/** What keeps the mail from being sent, as a template that somebody broke, does not keep the subscription enabled. */
const tellQuietly = async ({ tellOwners, logger }: CourierDeps, disabled: DisabledWebhook, cause: Cause): Promise<void> => {
  try {
    await tellOwners(disabled, cause);
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    logger.warn({ webhook: disabled.id, code: fault.code }, 'the owners could not be told that a webhook is disabled');
  }
};

/** Which numbers were looked at: as a rule each is the one after the last, and those before it take no room. */
type Passed = Readonly<{
  add: (number: number) => void;
  /** The first number from that one on that was not looked at. */
  upTo: (from: number) => number;
  forget: () => void;
}>;

const openPassed = (): Passed => {
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
