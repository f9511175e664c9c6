/**
 * Work for one consumer: pulled ahead by priority and group, a share of each priority, and given out in turns between
 * teams.
 */
import type { Msg } from 'nats';
import type { Clock } from '../../domain/ports/clock.js';
import { type Link, NobodyListens } from './nats-link.js';
import {
  type Names,
  placesOf,
  membersOf,
  nanos,
  type Place,
  shareOf,
  type Streams,
  decodePointer,
  ACK_WAIT_MS,
} from './nats-streams.js';
import { priorities, priorityShares, type Priority, type Work, type Pointer } from '../../domain/ports/bus.js';
import { openShares } from '../../shared/concurrency.js';
import { type Fifo, turns } from './fair-queue.js';

type ConsumeDeps = Readonly<{
  clock: Clock;
  link: Link;
  streams: Streams;
  names: Names;
  held: Held;
  freshInbox: () => string;
  closed: AbortSignal;
}>;

type Consuming = Readonly<{
  maxInFlight: number;
  signal: AbortSignal;
  /** The work of one delivery; `done` lets its consumer take another. */
  workOf: (delivery: Delivery, done: () => void) => Work;
}>;

type Waiting = Readonly<{ delivery: Delivery; channel: Channel }>;

/** The pointers of one place, as the server keeps them for all processes. */
type Channel = {
  readonly at: number;
  readonly place: Place;
  readonly next: string;
  readonly request: string;
  readonly batch: number;
  /** Asked for and not delivered. */
  asked: number;
  /** The number of the open request. The end of an older one is ignored. */
  question: number;
  askedAtMs: number;
  /** Delivered and not given out. */
  waiting: number;
  /** Whether there has been a consumer of this place: nothing is published where there never was one. */
  isKnown: boolean;
};

/**
 * The requests for work of one consumer: by place, a batch at a time, sent again when the server has forgotten them.
 */
type Channels = Readonly<{
  /** The channel of that priority and group. */
  of: (priority: string | undefined, group: string | undefined) => Channel | undefined;
  /** There is a consumer that may not have been there before. */
  made: (priority: string | undefined, group: string | undefined) => void;
  /** Asks for more if that is due. */
  pull: (channel: Channel) => void;
  /** Takes an answer of the server that is no pointer; `subject` names the request that it ends. */
  onEnd: (subject: string, code: number) => void;
  /** The server has forgotten the open requests: all are sent again. */
  again: () => void;
}>;

type ChannelsDeps = Readonly<{
  clock: Clock;
  link: Link;
  streams: Streams;
  names: Names;
  processor: string;
  maxInFlight: number;
  inbox: string;
  stopped: AbortSignal;
}>;

/** The server ends a request for work after so long, and is asked again. */
const ASK_FOR_MS = 30_000;
/** A request whose end never arrives counts as ended after this. */
const GRACE_MS = 5_000;
const WATCH_EVERY_MS = 1_000;
/**
 * Interval at which a missing consumer is looked for. A process that makes a consumer tells all others, so this rarely
 * finds one.
 */
const LOOK_EVERY_MS = 60_000;
const BATCH_MIN = 2;
const NOTHING_CAME = 408;
const NO_CONSUMER = 503;
const HEARTBEAT = 100;

export async function* consumeFrom(deps: ConsumeDeps, processor: string, consuming: Consuming): AsyncGenerator<Work> {
  const { maxInFlight, signal, workOf } = consuming;
  const { closed } = deps;
  let wake = (): void => {};
  const wakeUp = (): void => wake();
  const pulling = openPulling(deps, processor, maxInFlight, wakeUp);
  // Runs at once, even while the caller is busy with a work item.
  const stop = (): void => {
    pulling.stop();
    wakeUp();
  };
  let inFlight = 0;
  for (const one of [signal, closed]) one.addEventListener('abort', stop);
  try {
    while (!signal.aborted && !closed.aborted) {
      const delivery = inFlight < maxInFlight ? pulling.take() : undefined;
      if (delivery === undefined) {
        await new Promise<void>((resolve) => (wake = resolve));
        continue;
      }
      inFlight += 1;
      yield workOf(delivery, () => {
        inFlight -= 1;
        wakeUp();
      });
    }
  } finally {
    for (const one of [signal, closed]) one.removeEventListener('abort', stop);
    pulling.stop();
  }
}

const turnsOf = [
  ({ delivery }: Waiting) => delivery.pointer.team ?? '',
  ({ delivery }: Waiting) => delivery.pointer.source ?? '',
  ({ delivery }: Waiting) => delivery.pointer.sender ?? '',
];

type Pulling = Readonly<{
  /** The next of the deliveries that were pulled. */
  take: () => Delivery | undefined;
  /** Pulls no more, and hands deliveries that were not taken back to the server. */
  stop: () => void;
}>;

const openPulling = (deps: ConsumeDeps, processor: string, maxInFlight: number, wake: () => void): Pulling => {
  const { link, held, names, streams } = deps;
  const inbox = deps.freshInbox();
  const stopping = new AbortController();
  const channels = openChannels({ ...deps, processor, maxInFlight, inbox, stopped: stopping.signal });
  const ahead = openAhead();

  const onPointer = (msg: Msg): void => {
    const [priority, group] = channelNamesOf(msg.subject);
    const channel = channels.of(priority, group);
    const delivery = readDelivery(processor, priority, msg);
    if (channel === undefined || delivery === undefined) return link.post(msg.reply ?? '', '+TERM');
    channel.asked = Math.max(0, channel.asked - 1);
    channel.isKnown = true;
    if (stopping.signal.aborted) return held.handBack(delivery);
    if (held.add(delivery)) {
      ahead.push({ delivery, channel });
      wake();
    }
    channels.pull(channel);
  };
  const subscription = link.connection.subscribe(`${inbox}.>`, {
    callback: (fault, msg) => {
      if (fault !== null) return;
      if (msg.subject.startsWith(inbox)) channels.onEnd(msg.subject, msg.headers?.code ?? 0);
      else onPointer(msg);
    },
  });
  const news = link.connection.subscribe(names.madeSubject(processor), {
    callback: (fault, msg) => {
      const { priority, group } = fault === null ? membersOf(msg.string()) : {};
      channels.made(String(priority), String(group));
    },
  });
  const offDoubt = streams.onDoubt((place) => {
    if (place.processor === processor) channels.made(place.priority, String(place.group));
  });
  const offBack = link.onBack(channels.again);
  // The server drops a request whose answers nobody listens to.
  channels.again();
  return {
    take: () => {
      const taken = ahead.shift();
      if (taken !== undefined) channels.pull(taken.channel);
      return taken?.delivery;
    },
    stop: () => {
      if (stopping.signal.aborted) return;
      stopping.abort();
      offBack();
      offDoubt();
      news.unsubscribe();
      for (let left = ahead.shift(); left !== undefined; left = ahead.shift()) held.handBack(left.delivery);
      // Pointers that are still on their way are handed back as they come.
      if (!link.closed.aborted) void subscription.drain().catch(() => {});
    },
  };
};

/** Deliveries that were pulled and not given out. Each priority that has some gets its share. */
const openAhead = (): Pick<Fifo<Waiting>, 'push' | 'shift'> => {
  const waiting: Readonly<Record<Priority, Fifo<Waiting>>> = {
    high: turns(turnsOf),
    normal: turns(turnsOf),
    low: turns(turnsOf),
  };
  const shares = openShares(priorities, priorityShares);
  return {
    push: (one) => {
      one.channel.waiting += 1;
      waiting[one.delivery.pointer.priority].push(one);
    },
    shift: () => {
      const next = shares.next((priority) => !waiting[priority].isEmpty());
      const one = next === undefined ? undefined : waiting[next].shift();
      if (one !== undefined) one.channel.waiting -= 1;
      return one;
    },
  };
};

/** In: PREFIX.work.PROCESSOR.PRIORITY.GROUP.ID. */
const channelNamesOf = (subject: string): readonly [priority: string | undefined, group: string | undefined] => {
  const [, , , priority, group] = subject.split('.');
  return [priority, group];
};

/** Out: undefined if the message is no pointer of ours. */
const readDelivery = (processor: string, priority: string | undefined, msg: Msg): Delivery | undefined => {
  const pointer = decodePointer(msg.string(), priority);
  const reply = msg.reply ?? '';
  return pointer === undefined || reply === ''
    ? undefined
    : { pointer, processor, deliveries: deliveriesOf(reply), reply };
};

/** In: $JS.ACK.STREAM.CONSUMER.DELIVERIES.…, or with a domain and an account before the stream. */
const deliveriesOf = (reply: string): number => {
  const parts = reply.split('.');
  return Math.max(1, Number(parts.length > 9 ? parts[6] : parts[4]) || 1);
};

/**
 * Asks every place at once whether it has work, because a request for work costs the server next to nothing. A consumer
 * is made here only where one was: the server answers 503 where there is none, or (before 2.10) does not answer at all.
 */
const openChannels = (deps: ChannelsDeps): Channels => {
  const { clock, link, streams, inbox, stopped } = deps;
  const channels = makeChannels(deps);
  const all = [...channels.values()];

  const pull = (channel: Channel): void => {
    if (stopped.aborted || channel.asked > 0 || channel.waiting > channel.batch / 2) return;
    channel.asked = channel.batch;
    channel.askedAtMs = clock.monotonic();
    channel.question += 1;
    link.post(channel.next, channel.request, `${inbox}.${channel.at}.${channel.question}`);
  };
  const again = (): void => {
    for (const channel of all) channel.asked = 0;
    all.forEach(pull);
  };
  const watch = (): void => {
    const nowMs = clock.monotonic();
    for (const channel of all) {
      if (channel.asked === 0) {
        pull(channel);
        continue;
      }
      if (nowMs - channel.askedAtMs < (channel.isKnown ? ASK_FOR_MS + GRACE_MS : LOOK_EVERY_MS)) continue;
      // The end of the request was lost, or the consumer is.
      if (channel.isKnown && link.isUp()) streams.wantAgain(channel.place);
      channel.asked = 0;
      pull(channel);
    }
  };
  void watchOver(clock, stopped, watch);
  return {
    of: (priority, group) => channels.get(`${priority}.${group}`),
    pull,
    again,
    made: (priority, group) => {
      const channel = channels.get(`${priority}.${group}`);
      if (channel === undefined) return;
      channel.isKnown = true;
      channel.asked = 0;
      pull(channel);
    },
    onEnd: (subject, code) => {
      const [at, question] = subject.slice(inbox.length + 1).split('.');
      const channel = all[Number(at)];
      if (channel === undefined || channel.question !== Number(question) || code === HEARTBEAT) return;
      switch (code) {
        case NOTHING_CAME:
          channel.isKnown = true;
          channel.asked = 0;
          return pull(channel);
        case NO_CONSUMER:
          // It stays asked, so that the watch asks again later; where the consumer is made, `made` asks at once.
          if (channel.isKnown) streams.wantAgain(channel.place);
          return;
        default:
          // The watch asks again, and hears whether the consumer is gone.
          channel.isKnown = true;
          channel.asked = 0;
      }
    },
  };
};

const makeChannels = ({ names, processor, maxInFlight }: ChannelsDeps): ReadonlyMap<string, Channel> =>
  new Map(
    placesOf(processor).map((place, at) => {
      const { priority, group } = place;
      const batch = shareOf(priority, maxInFlight, BATCH_MIN);
      const channel: Channel = {
        at,
        place,
        next: `$JS.API.CONSUMER.MSG.NEXT.${names.workStream}.${names.consumer(place)}`,
        request: JSON.stringify({ batch, expires: nanos(ASK_FOR_MS) }),
        batch,
        asked: 0,
        question: 0,
        askedAtMs: 0,
        waiting: 0,
        isKnown: false,
      };
      return [`${priority}.${group}`, channel];
    }),
  );

const watchOver = async (clock: Clock, stopped: AbortSignal, watch: () => void): Promise<void> => {
  while (!stopped.aborted) {
    await clock.sleep(WATCH_EVERY_MS, stopped);
    watch();
  }
};

// Pointers that were delivered and are not settled yet: the server is told that they are in work, and in the end what
// became of them.

/** A delivery; `reply` names it to the server. */
export type Delivery = Readonly<{ pointer: Pointer; processor: string; deliveries: number; reply: string }>;

export type Held = Readonly<{
  /** Out: false where the pointer is to wait on: the server has delivered it before its time, and has been told so. */
  add: (delivery: Delivery) => boolean;
  /** To somebody else, now; nobody waits for the answer. */
  handBack: (delivery: Delivery) => void;
  ack: (delivery: Delivery) => Promise<void>;
  retryAt: (delivery: Delivery, atMs: number) => Promise<void>;
}>;

const SAY_EVERY_MS = ACK_WAIT_MS / 3;
/** The server keeps no longer pause; what waits longer is told to wait on when it comes. */
const PAUSE_MAX_MS = 3_600_000;
/** A delivery that comes so much too soon has come at its time. */
const EARLY_MS = 100;

export const openHeld = ({ clock, link }: Readonly<{ clock: Clock; link: Link }>): Held => {
  const kept: Kept = { held: new Map(), later: new Map() };
  const keepSaying = openSaying(kept, clock, link);

  const settle = async (delivery: Delivery, payload: string): Promise<void> => {
    kept.held.delete(delivery);
    try {
      await link.ask(delivery.reply, payload);
    } catch (fault) {
      // The stream or the consumer is gone, and the pointer with it.
      if (!(fault instanceof NobodyListens)) throw fault;
    }
  };
  return {
    add: (delivery) => {
      const key = keyOf(delivery);
      const leftMs = (kept.later.get(key) ?? Number.NEGATIVE_INFINITY) - clock.monotonic();
      if (leftMs > EARLY_MS) {
        link.post(delivery.reply, pauseOf(leftMs));
        return false;
      }
      kept.later.delete(key);
      kept.held.set(delivery, clock.monotonic());
      keepSaying();
      return true;
    },
    handBack: (delivery) => {
      kept.held.delete(delivery);
      link.post(delivery.reply, '-NAK');
    },
    ack: (delivery) => settle(delivery, '+ACK'),
    retryAt: (delivery, atMs) => {
      // The time of day may be set meanwhile: the distance from now counts.
      const ms = atMs - clock.now();
      if (ms > EARLY_MS) {
        kept.later.set(keyOf(delivery), clock.monotonic() + ms);
        keepSaying();
      }
      return settle(delivery, pauseOf(ms));
    },
  };
};

type Kept = Readonly<{
  /** When the server was last told that a delivery is in work. */
  held: Map<Delivery, number>;
  /**
   * When pointers are due that this process has sent back, by the monotonic clock: a server that was restarted may
   * deliver them at once.
   */
  later: Map<string, number>;
}>;

/** Tells the server what is in work, as long as something is. */
const openSaying = ({ held, later }: Kept, clock: Clock, link: Link): (() => void) => {
  let saying = false;
  const say = async (): Promise<void> => {
    saying = true;
    while ((held.size > 0 || later.size > 0) && !link.closed.aborted) {
      await clock.sleep(SAY_EVERY_MS / 2, link.closed);
      const atMs = clock.monotonic();
      for (const [delivery, saidAtMs] of held) {
        if (atMs - saidAtMs < SAY_EVERY_MS) continue;
        link.post(delivery.reply, '+WPI');
        held.set(delivery, atMs);
      }
      for (const [key, dueMs] of later) if (dueMs <= atMs) later.delete(key);
    }
    saying = false;
  };
  return () => {
    if (!saying) void say();
  };
};

const pauseOf = (ms: number): string => (ms <= 0 ? '-NAK' : `-NAK {"delay": ${nanos(Math.min(ms, PAUSE_MAX_MS))}}`);

const keyOf = ({ processor, pointer }: Delivery): string => `${processor}\n${pointer.id}`;
