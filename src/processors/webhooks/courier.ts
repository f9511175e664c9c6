/**
 * Sends the events of one subscription (new ones in order, failed ones when they are due, those of a replay) with
 * bounded connections and events a second, and has the results recorded.
 */
import { routeReader } from '../../commands/webhooks/route.js';
import { type WebhookId, webhookStream } from '../../domain/core/ids.js';
import { isoTime } from '../../domain/core/time.js';
import type { SentEvent, WebhookReplay } from '../../domain/webhooks/events.js';
import {
  type Recorder,
  type CourierDeps,
  type Due,
  type Source,
  type Job,
  type Tried,
  ERASED,
  openRecorder,
  type PostSlots,
} from './recorder.js';
import type { Clock } from '../../domain/ports/clock.js';
import { attemptDelivery, type ReadBody } from '../../commands/webhooks/attempt.js';
import { loadState } from '../../commands/core/handle.js';
import { isTeamDeleted } from '../../commands/core/caller.js';
import { webhookEventId } from '../../domain/webhooks/delivery.js';
import { endpointOf, webhookDecider, type Endpoint, type Webhook } from '../../domain/webhooks/decider.js';

type Reading = Readonly<{ id: string; read: () => Promise<readonly SentEvent[]> }>;

type State = {
  first: SentEvent[];
  replay: SentEvent[];
  due: Due[];
  /** Whether there may be new events. */
  isRouted: boolean;
  reading: Reading | undefined;
  /** Whether there may be more events of the replay: the last look found some. */
  isReplaying: boolean;
  /** When to look for failed deliveries, and the position that the read models must have reached for it. */
  lookAtMs: number;
  knownUpTo: number;
};

type Queues = Readonly<{
  refill: (underWay: ReadonlyMap<number, Source>, signal: AbortSignal) => Promise<void>;
  next: (underWay: ReadonlyMap<number, Source>) => Job | undefined;
  putBack: (job: Job) => void;
  /** How many events are ready to be sent. */
  waiting: () => number;
  /** Whether looking for more may find some. */
  wantsMore: () => boolean;
  /** New events went to the subscription. */
  routed: () => void;
  /** Failed deliveries may be due from then on; their facts are in the log up to that position. */
  lookFrom: (atMs: number, position: number) => void;
  lookAtMs: () => number;
}>;

type Pace = Readonly<{
  mayStart: () => boolean;
  started: () => void;
  /** How long until so many may be started; `count` is at most PER_SECOND_MAX. */
  pauseMs: (count: number) => number;
}>;

/** Ends a wait early. */
type Waker = Readonly<{ wake: () => void; wait: (ms: number, signal: AbortSignal) => Promise<void> }>;

/** Change that concerns a courier, made by the event at that position. */
export type News = Readonly<{ of: 'routed' | 'settings' | 'asked'; position: number }>;

export type Courier = Readonly<{
  wake: (news: News) => void;
  run: (signal: AbortSignal, cutOff: AbortSignal, fence: number) => Promise<void>;
}>;

type Run = {
  readonly recorder: Recorder;
  readonly queues: Queues;
  readonly underWay: Map<number, Source>;
  readonly waker: Waker;
  /** Woken when an attempt has ended. */
  readonly attemptEnded: Waker;
  /** Woken when results must be appended at once. */
  readonly flushNow: Waker;
  webhook: Webhook | undefined;
  endpoint: Endpoint | undefined;
  isChanged: boolean;
  isAsked: boolean;
  isHanging: boolean;
  /** Called when an attempt has ended and makes room; absent while nothing may be started. */
  startNext: (() => void) | undefined;
  /** Whether the wait is for the pace to allow more. */
  isPaced: boolean;
  /** If true, no further post is started. */
  isEnding: boolean;
};

/** Resources that all couriers share: slots for posts, and bodies. */
type Shared = Readonly<{ slots: PostSlots; bodyOf: ReadBody }>;

type CourierOf = CourierDeps & Shared & Readonly<{ id: WebhookId; teamId: string }>;

/** Connections of a subscription for failed deliveries, and for those of a replay, at most. */
const [DUE_AT_ONCE_MAX, REPLAY_AT_ONCE_MAX] = [4, 2];

const DUE_PER_LOOK = 50;

/** Pause before looking again while all due deliveries are under way. */
const LOOK_AGAIN_MS = 1_000;

/** Events a second to one subscription, by the contract. */
const PER_SECOND_MAX = 100;

const SECOND_MS = 1_000;

/** The abort reason, made once: making an error for each abort costs more than a post. */
const WOKEN = new Error('woken');

/** The results of attempts within that time share a fact. */
const GATHER_MS = 500;

const AT_ONCE_MAX = 8;

/** An endpoint that gave no answer for so long gets fewer connections until it answers. */
const [HANGING_MS, HANGING_AT_ONCE_MAX] = [5_000, 2];

const LOOK_MS = 5_000;

const GONE = 410;

/** Pause between looks while a replay has events that are not sent. */
const REPLAY_LOOK_MS = 200;

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
      run.waker.wake();
    },
    run: async (signal, cutOffOfAll, fence) => {
      // Adding a listener to a signal walks all its listeners. A signal shared by all couriers would have one for each
      // post.
      const cutOff = AbortSignal.any([cutOffOfAll]);
      const recorder = openRecorder(deps, id, teamId, fence);
      await recorder.load();
      const queues = openQueues(deps, id, recorder);
      const waker = openWaker(deps.clock);
      const own: Run = {
        recorder,
        queues,
        waker,
        attemptEnded: openWaker(deps.clock),
        flushNow: openWaker(deps.clock),
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
        while (own.underWay.size > 0 && !cutOff.aborted) await waker.wait(LOOK_MS, cutOff);
        await writing;
        if (!cutOff.aborted) await recorder.flush(false);
        deps.webhooks.outbound.forget(id);
      }
    },
  };
};

const send = async (deps: CourierOf, run: Run, pace: Pace, signal: AbortSignal, cutOff: AbortSignal): Promise<void> => {
  const { queues, recorder, waker } = run;
  const startNext = openStarting(deps, run, pace, cutOff);
  try {
    while (!signal.aborted && !recorder.isEnded()) {
      run.startNext = undefined;
      await refresh(deps, run);
      if (run.webhook === undefined || run.webhook.deletedAt !== null) return;
      // Events of a deleted team wait: they are sent if the team is restored.
      if (!run.webhook.enabled || (await isTeamDeleted(deps, deps.teamId))) {
        await waker.wait(LOOK_MS, signal);
        continue;
      }
      await queues.refill(run.underWay, signal);
      startNext(true);
      run.startNext = () => startNext(run.isPaced);
      await waker.wait(waitMs(deps, run, pace), signal);
    }
  } finally {
    run.startNext = undefined;
  }
};

/**
 * Out: a function that starts what may be started now, and wakes the loop to look for more or to wait for the pace.
 * `isPaced`: the loop waits for the pace already.
 */
const openStarting =
  (deps: CourierOf, run: Run, pace: Pace, cutOff: AbortSignal): ((isPaced: boolean) => void) =>
  (isPaced) => {
    const { queues, underWay, waker } = run;
    while (underWay.size < atOnceMax(run) && !run.isChanged && !run.isAsked && queues.waiting() > 0) {
      if (!pace.mayStart()) {
        if (!isPaced) waker.wake();
        return;
      }
      const job = queues.next(underWay);
      if (job === undefined) break;
      start(deps, run, job, cutOff);
      pace.started();
    }
    if (queues.wantsMore()) waker.wake();
  };

/** How long to wait unless woken. */
const waitMs = (deps: CourierOf, run: Run, pace: Pace): number => {
  const { queues, underWay } = run;
  const lookMs = idleMs(deps, run);
  const waiting = queues.waiting();
  run.isPaced = waiting > 0 && underWay.size < atOnceMax(run) && !pace.mayStart();
  // Wait until several may be started: a wake-up for each costs as much as starting it.
  return run.isPaced ? Math.min(lookMs, pace.pauseMs(Math.min(waiting, AT_ONCE_MAX))) : lookMs;
};

const atOnceMax = ({ isHanging }: Run): number => (isHanging ? HANGING_AT_ONCE_MAX : AT_ONCE_MAX);

const idleMs = ({ clock }: CourierDeps, { queues, recorder }: Run): number =>
  recorder.progress().replay === undefined
    ? Math.max(1, Math.min(LOOK_MS, queues.lookAtMs() - clock.now()))
    : REPLAY_LOOK_MS;

const refresh = async ({ eventLog, id }: CourierOf, run: Run): Promise<void> => {
  if (run.isChanged) {
    run.isChanged = false;
    const { state: webhook } = await loadState(eventLog, webhookStream(id), webhookDecider);
    run.webhook = webhook;
    run.endpoint = webhook?.sealed && endpointOf(webhook.sealed);
  }
  if (run.isAsked) {
    run.isAsked = false;
    await run.recorder.refresh();
  }
};

const start = (deps: CourierOf, run: Run, job: Job, cutOff: AbortSignal): void => {
  const { underWay, recorder, queues, waker } = run;
  const { number } = job.sent;
  // An event is not sent twice in parallel.
  if (underWay.has(number)) {
    if (job.source !== 'due') recorder.passOver(job.source, number);
    return;
  }
  underWay.set(number, job.source);
  void tryOnce(deps, run.endpoint, job.sent, cutOff)
    .then(
      (tried) => {
        underWay.delete(number);
        if (tried === undefined) return;
        if (tried === 'kept') {
          queues.putBack(job);
          // Read the state of the team again before anything else is started.
          run.isChanged = true;
          waker.wake();
          return;
        }
        run.isHanging = tried.statusCode === undefined && tried.responseMs >= HANGING_MS;
        recorder.ended({ job, tried });
        run.attemptEnded.wake();
        // The subscription is disabled at once.
        if (tried.statusCode === GONE) run.flushNow.wake();
      },
      (fault: unknown) => {
        // Before it is put back, or the next start finds it under way and passes over it.
        underWay.delete(number);
        deps.logger.error(
          { webhook: deps.id, err: fault instanceof Error ? fault : undefined },
          'a webhook could not be tried, trying again',
        );
        queues.putBack(job);
      },
    )
    .finally(() => {
      if (run.isEnding) waker.wake();
      else run.startNext?.();
    });
};

/**
 * Out: undefined without a result, because the subscription is deleted or the program stops; 'kept' if the team is
 * deleted.
 */
const tryOnce = async (
  deps: CourierOf,
  endpoint: Endpoint | undefined,
  sent: SentEvent,
  cutOff: AbortSignal,
): Promise<Tried | 'kept' | undefined> => {
  if (endpoint === undefined) return undefined;
  if (await isTeamDeleted(deps, deps.teamId)) return 'kept';
  const body = await deps.bodyOf(sent);
  if (body === undefined)
    return {
      result: 'failed',
      attemptedAt: isoTime(deps.clock.now()),
      responseMs: 0,
      error: ERASED,
      answer: null,
      keys: [],
    };
  const post = {
    id: webhookEventId(sent.number, sent.key),
    previousId: sent.previous,
    kind: sent.kind,
    body: body.text,
  };
  if ((await deps.slots.acquire(deps.teamId, cutOff)) !== 'acquired') return undefined;
  try {
    const tried = await attemptDelivery(deps, deps.id, endpoint, post, cutOff);
    return cutOff.aborted ? undefined : { ...tried, keys: body.keys };
  } finally {
    deps.slots.release(deps.teamId);
  }
};

/** Appends the results of attempts while others are under way. */
const keepWriting = async (
  { clock }: CourierDeps,
  { recorder, queues, waker, attemptEnded, flushNow }: Run,
  signal: AbortSignal,
): Promise<void> => {
  while (!signal.aborted) {
    // The wait is bounded: a replay that wants none of its events ends without an attempt.
    await attemptEnded.wait(LOOK_MS, signal);
    // All couriers append at the same moments, so that their facts share a commit.
    await flushNow.wait(GATHER_MS - (clock.monotonic() % GATHER_MS), signal);
    const { outcomes, position } = await recorder.flush(true);
    const next = outcomes.flatMap(({ nextRetryAt }) => (nextRetryAt === undefined ? [] : [Date.parse(nextRetryAt)]));
    if (next.length === 0) continue;
    queues.lookFrom(Math.min(...next), position);
    waker.wake();
  }
};

const openQueues = (deps: CourierDeps, id: WebhookId, recorder: Recorder): Queues => {
  const state: State = {
    first: [],
    replay: [],
    due: [],
    isRouted: true,
    reading: undefined,
    isReplaying: false,
    lookAtMs: 0,
    knownUpTo: 0,
  };
  const readFirst = routeReader(deps.eventLog, id, recorder.progress().reached);
  return {
    refill: async (underWay, signal) => {
      if (state.first.length === 0 && state.isRouted) {
        // Set before reading, so that events routed meanwhile are read by the next call.
        state.isRouted = false;
        state.first = [...(await readFirst())];
        if (state.first.length > 0) state.isRouted = true;
      }
      await refillReplay(deps, id, recorder, state);
      if (state.due.length === 0 && deps.clock.now() >= state.lookAtMs)
        await refillDue(deps, id, recorder, state, underWay, signal);
    },
    next: (underWay) => {
      const isBelow = (source: Source, atOnceMax: number): boolean =>
        [...underWay.values()].filter((one) => one === source).length < atOnceMax;
      const failed = state.due.length > 0 && isBelow('due', DUE_AT_ONCE_MAX) ? state.due.shift() : undefined;
      if (failed !== undefined) return { sent: failed.sent, attempt: failed.attempt + 1, source: 'due' };
      const sent = state.first.shift();
      if (sent !== undefined) return { sent, attempt: 1, source: 'first' };
      const again = state.replay.length > 0 && isBelow('replay', REPLAY_AT_ONCE_MAX) ? state.replay.shift() : undefined;
      return again && { sent: again, attempt: 1, source: 'replay' };
    },
    putBack: ({ sent, source }) => {
      if (source === 'due') state.lookAtMs = deps.clock.now() + LOOK_AGAIN_MS;
      else state[source].unshift(sent);
    },
    waiting: () => state.first.length + state.due.length + state.replay.length,
    wantsMore: () =>
      (state.isRouted && state.first.length === 0) ||
      (state.due.length === 0 && deps.clock.now() >= state.lookAtMs) ||
      (state.isReplaying && state.replay.length === 0),
    routed: () => void (state.isRouted = true),
    lookFrom: (atMs, position) => {
      state.lookAtMs = Math.min(state.lookAtMs, atMs);
      state.knownUpTo = Math.max(state.knownUpTo, position);
    },
    lookAtMs: () => (state.due.length > 0 ? Number.POSITIVE_INFINITY : state.lookAtMs),
  };
};

const refillReplay = async (deps: CourierDeps, id: WebhookId, recorder: Recorder, state: State): Promise<void> => {
  const { replay: asked } = recorder.progress();
  if (state.replay.length > 0) return;
  // `isReplaying` makes `send` look again at once: reset it before each return.
  state.isReplaying = false;
  if (asked === undefined || recorder.isReplayOver()) return;
  if (state.reading?.id !== asked.id)
    state.reading = { id: asked.id, read: routeReader(deps.eventLog, id, asked.next) };
  const more = await state.reading.read();
  for (const sent of more) {
    if (sent.number < asked.end && isWanted(asked, sent)) state.replay.push(sent);
    else recorder.passOver('replay', sent.number);
  }
  state.isReplaying = more.length > 0 && !recorder.isReplayOver();
};

const isWanted = ({ events, since, until }: WebhookReplay, { kind, at }: SentEvent): boolean =>
  (events?.includes(kind) ?? true) && (since === undefined || at >= since) && (until === undefined || at < until);

const refillDue = async (
  { due: read, clock }: CourierDeps,
  id: WebhookId,
  recorder: Recorder,
  state: State,
  underWay: ReadonlyMap<number, Source>,
  signal: AbortSignal,
): Promise<void> => {
  const lookedMs = clock.now();
  // Set before reading: what is recorded meanwhile may be due sooner.
  state.lookAtMs = Number.POSITIVE_INFINITY;
  const found = await read(id, state.knownUpTo, DUE_PER_LOOK, signal);
  const now = isoTime(lookedMs);
  state.due = found.filter(
    ({ dueAt, sent }) => dueAt <= now && !underWay.has(sent.number) && !recorder.awaits(sent.number),
  );
  const later = found.find(({ dueAt }) => dueAt > now);
  if (state.due.length > 0) state.lookAtMs = 0;
  else if (found.length > 0)
    state.lookAtMs = Math.min(state.lookAtMs, Math.max(Date.parse(later?.dueAt ?? now), lookedMs + LOOK_AGAIN_MS));
};

export const openPace = (clock: Pick<Clock, 'monotonic'>): Pace => {
  /** When each of the last events was started, in a ring. */
  const startedMs: number[] = [];
  let count = 0;
  const waitMs = (more = 1): number => {
    const earlier = startedMs[(count + more - 1) % PER_SECOND_MAX];
    return earlier === undefined ? 0 : Math.max(0, earlier + SECOND_MS - clock.monotonic());
  };
  return {
    mayStart: () => waitMs() === 0,
    started: () => {
      startedMs[count % PER_SECOND_MAX] = clock.monotonic();
      count += 1;
    },
    pauseMs: (more) => Math.max(1, waitMs(more)),
  };
};

/** A wake-up while nobody waits ends the next wait at once. */
const openWaker = (clock: Pick<Clock, 'sleep'>): Waker => {
  let isWoken = false;
  let wake: (() => void) | undefined;
  return {
    wake: () => {
      isWoken = true;
      wake?.();
    },
    wait: async (ms, signal) => {
      if (!isWoken && !signal.aborted) {
        const woken = new AbortController();
        const end = (): void => woken.abort(WOKEN);
        wake = end;
        signal.addEventListener('abort', end);
        await clock.sleep(ms, woken.signal);
        signal.removeEventListener('abort', end);
      }
      isWoken = false;
      wake = undefined;
    },
  };
};
