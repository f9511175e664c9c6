/** The events that are to be sent to one subscription: new ones in their order, failed ones when they are due, those of a replay. */
import { routeReader } from '../../commands/webhooks/ledger.js';
import type { WebhookId } from '../../domain/core/ids.js';
import { isoTime } from '../../domain/core/iso-time.js';
import type { SentEvent, WebhookReplay } from '../../domain/webhooks/events.js';
import type { Recorder } from './recorder.js';
import type { CourierDeps, Due, Source, Work } from './work.js';

/** Of all connections of a subscription so many at most are for failed deliveries, and for those of a replay. */
const [DUE_AT_ONCE_MAX, REPLAY_AT_ONCE_MAX] = [4, 2];
const DUE_PER_LOOK = 50;
/** While those that are due are all under way. */
const LOOK_AGAIN_MS = 1_000;

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
  /** When failed deliveries are looked for, and up to which position the read models must have come for it. */
  lookAtMs: number;
  knownUpTo: number;
};

export type Queues = Readonly<{
  refill: (underWay: ReadonlyMap<number, Source>, signal: AbortSignal) => Promise<void>;
  next: (underWay: ReadonlyMap<number, Source>) => Work | undefined;
  putBack: (work: Work) => void;
  /** How many are ready to be sent. */
  waiting: () => number;
  /** Whether looking for more may find some. */
  wantsMore: () => boolean;
  /** New events went to the subscription. */
  routed: () => void;
  /** Failed deliveries may be due from then on; the log tells of them up to that position. */
  lookFrom: (atMs: number, position: number) => void;
  lookAtMs: () => number;
}>;

export const openQueues = (deps: CourierDeps, id: WebhookId, recorder: Recorder): Queues => {
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
        // What is routed while this reads is read again.
        state.isRouted = false;
        state.first = [...(await readFirst())];
        if (state.first.length > 0) state.isRouted = true;
      }
      await refillReplay(deps, id, recorder, state);
      if (state.due.length === 0 && deps.clock.now() >= state.lookAtMs) await refillDue(deps, id, recorder, state, underWay, signal);
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
  // Who sends looks again at once where there may be more: that must not stay true where nothing more is read.
  state.isReplaying = false;
  if (asked === undefined || recorder.isReplayOver()) return;
  if (state.reading?.id !== asked.id) state.reading = { id: asked.id, read: routeReader(deps.eventLog, id, asked.next) };
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
  // What is recorded while this reads may be due sooner.
  state.lookAtMs = Number.POSITIVE_INFINITY;
  const found = await read(id, state.knownUpTo, DUE_PER_LOOK, signal);
  const now = isoTime(lookedMs);
  state.due = found.filter(({ dueAt, sent }) => dueAt <= now && !underWay.has(sent.number) && !recorder.awaits(sent.number));
  const later = found.find(({ dueAt }) => dueAt > now);
  if (state.due.length > 0) state.lookAtMs = 0;
  else if (found.length > 0) state.lookAtMs = Math.min(state.lookAtMs, Math.max(Date.parse(later?.dueAt ?? now), lookedMs + LOOK_AGAIN_MS));
};
