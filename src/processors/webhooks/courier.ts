/** Sends the events of one subscription, bounded in connections and in events a second, and has what came of them recorded. */
import { attemptDelivery, type Tried } from '../../commands/webhooks/attempt.js';
import type { ReadBody } from '../../commands/webhooks/bodies.js';
import { loadState } from '../../commands/core/handle.js';
import { isTeamDeleted } from '../../commands/core/team-access.js';
import { webhookStream, type WebhookId } from '../../domain/core/ids.js';
import { isoTime } from '../../domain/core/iso-time.js';
import { webhookEventId } from '../../domain/webhooks/event-id.js';
import type { SentEvent } from '../../domain/webhooks/events.js';
import { endpointOf, webhookDecider, type Endpoint, type Webhook } from '../../domain/webhooks/decider.js';
import { openBell, type Bell } from './bell.js';
import { openPace, type Pace } from './pace.js';
import { openQueues, type Queues } from './queues.js';
import { ERASED, openRecorder, type Recorder } from './recorder.js';
import type { CourierDeps, PostSlots, Source, Work } from './work.js';

/** What came of attempts within that time shares a fact. */
const GATHER_MS = 500;
const AT_ONCE_MAX = 8;
/** To an endpoint that gave no answer for so long so few connections are held at once, until it answers. */
const [HANGING_MS, HANGING_AT_ONCE_MAX] = [5_000, 2];
const LOOK_MS = 5_000;
const GONE = 410;
/** While a replay has events that are not sent. */
const REPLAY_LOOK_MS = 200;

/** What there may be news of. `position`: of the event that tells of it. */
export type News = Readonly<{ of: 'routed' | 'settings' | 'asked'; position: number }>;

export type Courier = Readonly<{
  wake: (news: News) => void;
  run: (signal: AbortSignal, cutOff: AbortSignal, fence: number) => Promise<void>;
}>;

type Run = {
  readonly recorder: Recorder;
  readonly queues: Queues;
  readonly underWay: Map<number, Source>;
  readonly bell: Bell;
  /** Rung when something has come of an attempt. */
  readonly ended: Bell;
  /** Rung when that is to be appended at once. */
  readonly hurry: Bell;
  webhook: Webhook | undefined;
  endpoint: Endpoint | undefined;
  isChanged: boolean;
  isAsked: boolean;
  isHanging: boolean;
  /** Called where one that has ended makes room; absent while nothing may be started. */
  startNext: (() => void) | undefined;
  /** What is waited for is that the pace allows more. */
  isPaced: boolean;
  /** Nothing is started any more. */
  isEnding: boolean;
};

/** What all couriers share: connections and bodies. */
export type Shared = Readonly<{ slots: PostSlots; bodyOf: ReadBody }>;
type CourierOf = CourierDeps & Shared & Readonly<{ id: WebhookId; teamId: string }>;

export const openCourier = (given: CourierDeps & Shared, id: WebhookId, teamId: string): Courier => {
  const deps: CourierOf = { ...given, id, teamId };
  let run: Run | undefined;
  const pace = openPace(deps.clock);
  return {
    wake: ({ of, position }) => {
      if (run === undefined) return;
      if (of === 'routed') run.queues.routed();
      else if (of === 'settings') run.isChanged = true;
      else {
        run.isAsked = true;
        run.queues.lookFrom(0, position);
      }
      run.bell.ring();
    },
    run: async (signal, cutOffOfAll, fence) => {
      // Each listener that is added walks the list of the signal's others: a signal that all couriers share would have one for each post.
      const cutOff = AbortSignal.any([cutOffOfAll]);
      const recorder = openRecorder(deps, id, teamId, fence);
      await recorder.load();
      const queues = openQueues(deps, id, recorder);
      const bell = openBell(deps.clock);
      const own: Run = {
        recorder,
        queues,
        bell,
        ended: openBell(deps.clock),
        hurry: openBell(deps.clock),
        underWay: new Map(),
        webhook: undefined,
        endpoint: undefined,
        isChanged: true,
        isAsked: true,
        isHanging: false,
        startNext: undefined,
        isPaced: false,
        isEnding: false,
      };
      run = own;
      const failed = new AbortController();
      const either = AbortSignal.any([signal, failed.signal]);
      const writing = keepWriting(deps, own, either);
      writing.catch(() => failed.abort());
      try {
        await send(deps, own, pace, either, cutOff);
      } finally {
        failed.abort();
        own.isEnding = true;
        while (own.underWay.size > 0 && !cutOff.aborted) await bell.wait(LOOK_MS, cutOff);
        await writing;
        if (!cutOff.aborted) await recorder.flush(false);
        deps.webhooks.outbound.forget(id);
      }
    },
  };
};

const send = async (deps: CourierOf, run: Run, pace: Pace, signal: AbortSignal, cutOff: AbortSignal): Promise<void> => {
  const { queues, recorder, bell } = run;
  const startNext = openStarting(deps, run, pace, cutOff);
  try {
    while (!signal.aborted && !recorder.isEnded()) {
      run.startNext = undefined;
      await refresh(deps, run);
      if (run.webhook === undefined || run.webhook.deletedAt !== null) return;
      // What waits for a deleted team is sent where that is restored.
      if (!run.webhook.enabled || (await isTeamDeleted(deps, deps.teamId))) {
        await bell.wait(LOOK_MS, signal);
        continue;
      }
      await queues.refill(run.underWay, signal);
      startNext(true);
      run.startNext = () => startNext(run.isPaced);
      await bell.wait(waitMs(deps, run, pace), signal);
    }
  } finally {
    run.startNext = undefined;
  }
};

/** Out: starts what may be started now, and rings where more is to be looked for, or waited for by the pace. `isPaced`: that is known. */
const openStarting =
  (deps: CourierOf, run: Run, pace: Pace, cutOff: AbortSignal): ((isPaced: boolean) => void) =>
  (isPaced) => {
    const { queues, underWay, bell } = run;
    while (underWay.size < atOnceMax(run) && !run.isChanged && !run.isAsked && queues.waiting() > 0) {
      if (!pace.mayStart()) {
        if (!isPaced) bell.ring();
        return;
      }
      const work = queues.next(underWay);
      if (work === undefined) break;
      start(deps, run, work, cutOff);
      pace.started();
    }
    if (queues.wantsMore()) bell.ring();
  };

/** How long nothing is looked for unless the bell rings. */
const waitMs = (deps: CourierOf, run: Run, pace: Pace): number => {
  const { queues, underWay } = run;
  const lookMs = idleMs(deps, run);
  const waiting = queues.waiting();
  run.isPaced = waiting > 0 && underWay.size < atOnceMax(run) && !pace.mayStart();
  // Some are started in one go: waking for each costs as much as what is done then.
  return run.isPaced ? Math.min(lookMs, pace.pauseMs(Math.min(waiting, AT_ONCE_MAX))) : lookMs;
};

const atOnceMax = ({ isHanging }: Run): number => (isHanging ? HANGING_AT_ONCE_MAX : AT_ONCE_MAX);

const idleMs = ({ clock }: CourierDeps, { queues, recorder }: Run): number =>
  recorder.progress().replay === undefined ? Math.max(1, Math.min(LOOK_MS, queues.lookAtMs() - clock.now())) : REPLAY_LOOK_MS;

const refresh = async ({ eventLog, id }: CourierOf, run: Run): Promise<void> => {
  if (run.isChanged) {
    run.isChanged = false;
    const { state: webhook } = await loadState(eventLog, webhookStream(id), webhookDecider);
    run.webhook = webhook;
    run.endpoint = webhook?.sealed && endpointOf({ sealed: webhook.sealed, overlapUntil: webhook.overlapUntil });
  }
  if (run.isAsked) {
    run.isAsked = false;
    await run.recorder.refresh();
  }
};

const start = (deps: CourierOf, run: Run, work: Work, cutOff: AbortSignal): void => {
  const { underWay, recorder, queues, bell } = run;
  const { number } = work.sent;
  // The same event is not under way twice.
  if (underWay.has(number)) {
    if (work.source !== 'due') recorder.passOver(work.source, number);
    return;
  }
  underWay.set(number, work.source);
  void tryOnce(deps, run.endpoint, work.sent, cutOff)
    .then(
      (tried) => {
        underWay.delete(number);
        if (tried === undefined) return;
        if (tried === 'kept') {
          queues.putBack(work);
          // Nothing else is started before the team is asked for again.
          run.isChanged = true;
          bell.ring();
          return;
        }
        run.isHanging = tried.statusCode === undefined && tried.responseMs >= HANGING_MS;
        recorder.ended({ work, tried });
        run.ended.ring();
        // It is disabled at once.
        if (tried.statusCode === GONE) run.hurry.ring();
      },
      (fault: unknown) => {
        // Before it is put back: who takes it then shall not find it under way, and pass over it.
        underWay.delete(number);
        deps.logger.error(
          { webhook: deps.id, err: fault instanceof Error ? fault : undefined },
          'a webhook could not be tried, trying again',
        );
        queues.putBack(work);
      },
    )
    .finally(() => {
      if (run.isEnding) bell.ring();
      else run.startNext?.();
    });
};

/** Out: undefined where nothing can be said of it: the subscription is deleted, or the program stops; 'kept' where the team is deleted. */
const tryOnce = async (
  deps: CourierOf,
  endpoint: Endpoint | undefined,
  sent: SentEvent,
  cutOff: AbortSignal,
): Promise<Tried | 'kept' | undefined> => {
  if (endpoint === undefined) return undefined;
  if (await isTeamDeleted(deps, deps.teamId)) return 'kept';
  const body = await deps.bodyOf(sent);
  if (body === undefined) return { result: 'failed', attemptedAt: isoTime(deps.clock.now()), responseMs: 0, error: ERASED, answer: null };
  const post = { id: webhookEventId(sent.number, sent.key), previousId: sent.previous, kind: sent.kind, body };
  if ((await deps.slots.acquire(deps.teamId, cutOff)) !== 'acquired') return undefined;
  try {
    const tried = await attemptDelivery(deps, deps.id, endpoint, post, cutOff);
    return cutOff.aborted ? undefined : tried;
  } finally {
    deps.slots.release(deps.teamId);
  }
};

/** Appends what came of the attempts while others are under way. */
const keepWriting = async ({ clock }: CourierDeps, { recorder, queues, bell, ended, hurry }: Run, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    // A replay that wants none of its events ends without an attempt.
    await ended.wait(LOOK_MS, signal);
    // All couriers append at the same moments: their facts share a commit.
    await hurry.wait(GATHER_MS - (clock.monotonic() % GATHER_MS), signal);
    const { outcomes, position } = await recorder.flush(true);
    const next = outcomes.flatMap(({ nextRetryAt }) => (nextRetryAt === undefined ? [] : [Date.parse(nextRetryAt)]));
    if (next.length === 0) continue;
    queues.lookFrom(Math.min(...next), position);
    bell.ring();
  }
};
