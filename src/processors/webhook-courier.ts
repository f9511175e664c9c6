/** Sends the events of one subscription, bounded in connections and in events a second, and has what came of them recorded. */
import { attemptDelivery, type Tried } from '../commands/webhook-attempt.js';
import type { ReadBody } from '../commands/webhook-bodies.js';
import { loadState } from '../commands/command-handler.js';
import { webhookStream, type WebhookId } from '../domain/ids.js';
import { isoTime } from '../domain/ports/clock.js';
import { webhookEventId } from '../domain/webhook/event-id.js';
import type { SentEvent } from '../domain/webhook/events.js';
import { endpointOf, webhookDecider, type Endpoint, type Webhook } from '../domain/webhook/state.js';
import { openPace } from './webhook-pace.js';
import { openQueues, type Queues } from './webhook-queues.js';
import { ERASED, openRecorder, type Recorder } from './webhook-recorder.js';
import type { CourierDeps, PostSlots, Source, Work } from './webhook-work.js';

const GATHER_MS = 200;
const AT_ONCE_MAX = 8;
/** To an endpoint that gave no answer for so long so few connections are held at once, until it answers. */
const [HANGING_MS, HANGING_AT_ONCE_MAX] = [5_000, 2];
const LOOK_MS = 5_000;

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
  webhook: Webhook | undefined;
  endpoint: Endpoint | undefined;
  isChanged: boolean;
  isAsked: boolean;
  isHanging: boolean;
  /** The next one waits until one under way has ended. */
  isFull: boolean;
  /** Nothing is started any more. */
  isEnding: boolean;
};

/** What all couriers share: connections and bodies. */
export type Shared = Readonly<{ slots: PostSlots; bodyOf: ReadBody }>;
type CourierOf = CourierDeps & Shared & Readonly<{ id: WebhookId; team: string }>;

export const openCourier = (given: CourierDeps & Shared, id: WebhookId, team: string): Courier => {
  const deps: CourierOf = { ...given, id, team };
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
    run: async (signal, cutOff, fence) => {
      const recorder = openRecorder(deps, id, team, fence);
      await recorder.load();
      const queues = openQueues(deps, id, recorder);
      const bell = openBell(deps);
      const own: Run = {
        recorder,
        queues,
        bell,
        ended: openBell(deps),
        underWay: new Map(),
        webhook: undefined,
        endpoint: undefined,
        isChanged: true,
        isAsked: true,
        isHanging: false,
        isFull: false,
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

const send = async (
  deps: CourierOf,
  run: Run,
  pace: ReturnType<typeof openPace>,
  signal: AbortSignal,
  cutOff: AbortSignal,
): Promise<void> => {
  const { queues, recorder, underWay, bell } = run;
  while (!signal.aborted && !recorder.isEnded()) {
    await refresh(deps, run);
    if (run.webhook === undefined || run.webhook.deletedAt !== null) return;
    if (!run.webhook.enabled) {
      await bell.wait(LOOK_MS, signal);
      continue;
    }
    await queues.refill(underWay, signal);
    while (underWay.size < atOnceMax(run) && pace.mayStart()) {
      const work = queues.next(underWay);
      if (work === undefined) break;
      start(deps, run, work, cutOff);
      pace.started();
    }
    run.isFull = underWay.size >= atOnceMax(run);
    const waitMs = run.isFull ? LOOK_MS : queues.hasWork() ? Math.max(GATHER_MS / 20, pace.pauseMs()) : idleMs(deps, run);
    await bell.wait(waitMs, signal);
  }
};

const atOnceMax = ({ isHanging }: Run): number => (isHanging ? HANGING_AT_ONCE_MAX : AT_ONCE_MAX);

const idleMs = ({ clock }: CourierDeps, { queues, recorder }: Run): number =>
  recorder.progress().replay === undefined ? Math.max(1, Math.min(LOOK_MS, queues.lookAtMs() - clock.now())) : GATHER_MS;

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
        if (tried === undefined) return;
        run.isHanging = tried.statusCode === undefined && tried.responseMs >= HANGING_MS;
        recorder.ended({ work, tried });
        run.ended.ring();
      },
      (fault: unknown) => {
        deps.logger.error(
          { webhook: deps.id, err: fault instanceof Error ? fault : undefined },
          'a webhook could not be tried, trying again',
        );
        queues.putBack(work);
      },
    )
    .finally(() => {
      underWay.delete(number);
      // Else the next one is waited for by its time.
      if (run.isFull || run.isEnding) bell.ring();
    });
};

/** Out: undefined where nothing can be said of it: the subscription is deleted, or the program stops. */
const tryOnce = async (
  deps: CourierOf,
  endpoint: Endpoint | undefined,
  sent: SentEvent,
  cutOff: AbortSignal,
): Promise<Tried | undefined> => {
  if (endpoint === undefined) return undefined;
  const body = await deps.bodyOf(sent);
  if (body === undefined) return { result: 'failed', attemptedAt: isoTime(deps.clock.now()), responseMs: 0, error: ERASED, answer: null };
  const post = { id: webhookEventId(sent.number, sent.key), previousId: sent.previous, kind: sent.kind, body };
  if ((await deps.slots.acquire(deps.team, cutOff)) !== 'acquired') return undefined;
  try {
    const tried = await attemptDelivery(deps, deps.id, endpoint, post, cutOff);
    return cutOff.aborted ? undefined : tried;
  } finally {
    deps.slots.release(deps.team);
  }
};

/** Appends what came of the attempts while others are under way. */
const keepWriting = async ({ clock }: CourierDeps, { recorder, queues, bell, ended }: Run, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    // A replay that wants none of its events ends without an attempt.
    await ended.wait(LOOK_MS, signal);
    // All couriers append at the same moments: their facts share a commit.
    await clock.sleep(GATHER_MS - (clock.monotonic() % GATHER_MS), signal);
    const { outcomes, position } = await recorder.flush(true);
    const next = outcomes.flatMap(({ nextRetryAt }) => (nextRetryAt === undefined ? [] : [Date.parse(nextRetryAt)]));
    if (next.length === 0) continue;
    queues.lookFrom(Math.min(...next), position);
    bell.ring();
  }
};

type Bell = Readonly<{ ring: () => void; wait: (ms: number, signal: AbortSignal) => Promise<void> }>;

/** The reason of each: a reason that is made anew costs more than a post. */
const RUNG = new Error('rung');

/** A ring that nobody waits for ends the next wait at once. */
const openBell = ({ clock }: Pick<CourierDeps, 'clock'>): Bell => {
  let hasRung = false;
  let wake: (() => void) | undefined;
  return {
    ring: () => {
      hasRung = true;
      wake?.();
    },
    wait: async (ms, signal) => {
      if (!hasRung && !signal.aborted) {
        const woken = new AbortController();
        const end = (): void => woken.abort(RUNG);
        wake = end;
        signal.addEventListener('abort', end);
        await clock.sleep(ms, woken.signal);
        signal.removeEventListener('abort', end);
      }
      hasRung = false;
      wake = undefined;
    },
  };
};
