/**
 * Work for one consumer: a share of each priority is pulled ahead, and given out in turns between teams. The server is
 * told again and again that deliveries are in work until they are settled.
 */
import type { Msg } from 'nats';
import type { Clock } from '../../domain/ports/clock.js';
import type { Logger } from '../../domain/ports/logger.js';
import { every, type Link, NO_RESPONDERS, NobodyListens } from './nats-link.js';
import { ACK_WAIT_MS, decodePointer, encodePointer, nanos, type Streams } from './nats-streams.js';
import { priorities, priorityShares, type Priority, type Work, type Pointer } from '../../domain/ports/bus.js';
import { openShares } from '../../shared/concurrency.js';
import { turns } from './fair-queue.js';

/** A delivery; `reply` names it to the server. */
type Delivery = Readonly<{ pointer: Pointer; deliveries: number; reply: string }>;

/** Deliveries that are not settled yet. */
type Held = Set<Delivery>;

type ConsumeDeps = Readonly<{
  clock: Clock;
  logger: Logger;
  link: Link;
  streams: Streams;
  held: Held;
  freshInbox: () => string;
}>;

type Consuming = Readonly<{ processor: string; maxInFlight: number; signal: AbortSignal }>;

/** The server ends a request for work after so long, and is asked again. */
const ASK_FOR_MS = 30_000;
/** A request whose end never arrives counts as ended after this. */
const GRACE_MS = 5_000;
const WATCH_EVERY_MS = 1_000;
const BATCH_MIN = 2;
const NOTHING_CAME = 408;

/** Out: a set of deliveries; the server hears that these are in work. */
export const openHeld = ({ clock, link }: Pick<ConsumeDeps, 'clock' | 'link'>): Held => {
  const held: Held = new Set();
  void every(clock, ACK_WAIT_MS / 3, link.closed, () => {
    for (const { reply } of held) link.post(reply, '+WPI');
  });
  return held;
};

export async function* consumeFrom(deps: ConsumeDeps, consuming: Consuming): AsyncGenerator<Work> {
  const { maxInFlight, signal } = consuming;
  const ending = new AbortController();
  const stopped = AbortSignal.any([signal, deps.link.closed, ending.signal]);
  if (stopped.aborted) return;
  let wake = (): void => {};
  const wakeUp = (): void => wake();
  const open = (priority: Priority): Pulling => openPulling(deps, { ...consuming, priority }, stopped, wakeUp);
  const pulling: Readonly<Record<Priority, Pulling>> = { high: open('high'), normal: open('normal'), low: open('low') };
  const shares = openShares(priorities, priorityShares);
  const take = (): Delivery | undefined => {
    const next = shares.next((priority) => pulling[priority].hasSome());
    return next && pulling[next].take();
  };
  // Runs at once, even while the caller is busy with a work item: what was pulled ahead goes back to the server.
  const stop = (): void => {
    for (const priority of priorities) pulling[priority].stop();
    for (let left = take(); left !== undefined; left = take()) {
      deps.held.delete(left);
      deps.link.post(left.reply, '-NAK');
    }
    wakeUp();
  };
  stopped.addEventListener('abort', stop, { once: true });
  let inFlight = 0;
  try {
    while (!stopped.aborted) {
      const delivery = inFlight < maxInFlight ? take() : undefined;
      if (delivery === undefined) {
        await new Promise<void>((resolve) => (wake = resolve));
        continue;
      }
      inFlight += 1;
      yield makeWork(deps, consuming.processor, delivery, () => {
        inFlight -= 1;
        wakeUp();
      });
    }
  } finally {
    ending.abort();
  }
}

const turnsOf = [
  ({ pointer }: Delivery) => pointer.team ?? '',
  ({ pointer }: Delivery) => pointer.source ?? '',
  ({ pointer }: Delivery) => pointer.sender ?? '',
];

type Pulling = Readonly<{ hasSome: () => boolean; take: () => Delivery | undefined; stop: () => void }>;

/** Pulls a batch of one priority whenever the last one came and half of it was taken. */
const openPulling = (
  { clock, link, streams, held, freshInbox }: ConsumeDeps,
  { processor, priority, maxInFlight }: Omit<Consuming, 'signal'> & Readonly<{ priority: Priority }>,
  stopped: AbortSignal,
  wake: () => void,
): Pulling => {
  const next = `$JS.API.CONSUMER.MSG.NEXT.${streams.names.workStream}.${streams.names.consumer(processor, priority)}`;
  const batch = batchOf(priority, maxInFlight);
  const request = JSON.stringify({ batch, expires: nanos(ASK_FOR_MS) });
  const inbox = freshInbox();
  const ahead = turns(turnsOf);
  /** Asked for and not delivered, and delivered and not taken. */
  let [asked, waiting] = [0, 0];
  let askedAtMs = 0;
  let isMaking = false;

  const pull = (): void => {
    if (stopped.aborted || asked > 0 || waiting > batch / 2) return;
    asked = batch;
    askedAtMs = clock.monotonic();
    link.post(next, request, inbox);
  };
  const again = (): void => {
    asked = 0;
    pull();
  };
  const make = async (): Promise<void> => {
    if (isMaking || stopped.aborted) return;
    isMaking = true;
    await streams.makeConsumer(processor, priority).catch(() => clock.sleep(WATCH_EVERY_MS, stopped));
    isMaking = false;
    again();
  };
  const onPointer = (msg: Msg, reply: string): void => {
    const pointer = decodePointer(msg.string(), priority);
    asked = Math.max(0, asked - 1);
    if (pointer === undefined) link.post(reply, '+TERM');
    else if (stopped.aborted) link.post(reply, '-NAK');
    else {
      const delivery = { pointer, deliveries: deliveriesOf(reply), reply };
      held.add(delivery);
      ahead.push(delivery);
      waiting += 1;
      wake();
    }
    pull();
  };
  const onMessage = (fault: Error | null, msg: Msg): void => {
    if (fault !== null) return;
    // A message that cannot be acknowledged is the end of a request.
    if (msg.reply !== undefined && msg.reply !== '') onPointer(msg, msg.reply);
    else if (msg.headers?.code === NOTHING_CAME) again();
    else if (msg.headers?.code === NO_RESPONDERS) void make();
    // The watch asks again, and hears whether the consumer is gone.
    else asked = 0;
  };
  const subscription = link.connection.subscribe(inbox, { callback: onMessage });
  const offBack = link.onBack(again);
  void every(clock, WATCH_EVERY_MS, stopped, () => {
    if (asked === 0) pull();
    // Servers before 2.10 do not answer a request where there is no consumer.
    else if (link.isUp() && clock.monotonic() - askedAtMs > ASK_FOR_MS + GRACE_MS) void make();
  });
  pull();
  void make();
  return {
    hasSome: () => waiting > 0,
    take: () => {
      waiting -= 1;
      pull();
      return ahead.shift();
    },
    stop: () => {
      offBack();
      // Pointers that are still on their way are handed back as they come.
      if (!link.closed.aborted) void subscription.drain().catch(() => {});
    },
  };
};

/** The share of a priority in what is pulled ahead. */
const batchOf = (priority: Priority, maxInFlight: number): number => {
  const sum = priorities.reduce((all, one) => all + priorityShares[one], 0);
  return Math.max(BATCH_MIN, Math.ceil((maxInFlight * priorityShares[priority]) / sum));
};

/** In: $JS.ACK.STREAM.CONSUMER.DELIVERIES.…, or with a domain and an account before the stream. */
const deliveriesOf = (reply: string): number => {
  const parts = reply.split('.');
  return Math.max(1, Number(parts.length > 9 ? parts[6] : parts[4]) || 1);
};

const makeWork = (
  { clock, logger, link, streams, held }: ConsumeDeps,
  processor: string,
  delivery: Delivery,
  done: () => void,
): Work => {
  const { pointer, deliveries, reply } = delivery;
  const { id, stream, priority } = pointer;
  let [isOpen, isOut] = [true, true];
  const tell = async (payload: string): Promise<void> => {
    held.delete(delivery);
    await link.ask(reply, payload).catch((fault: unknown) => {
      // The stream or the consumer is gone, and the pointer with it.
      if (!(fault instanceof NobodyListens)) throw fault;
    });
  };
  const settle = async (act: () => Promise<void>): Promise<void> => {
    if (!isOpen) throw new Error(`work ${id} was settled twice`);
    isOpen = false;
    try {
      await act();
    } catch (fault) {
      // The server has not heard of it, so the caller may try another end.
      isOpen = true;
      throw fault;
    } finally {
      if (isOut) done();
      isOut = false;
    }
  };
  return {
    pointer,
    deliveries,
    ack: () => settle(() => tell('+ACK')),
    // The time of day may be set meanwhile: the distance from now counts.
    retryAt: (atMs) => settle(() => tell(`-NAK {"delay": ${nanos(Math.max(0, atMs - clock.now()))}}`)),
    park: (reason) =>
      settle(async () => {
        const work = { processor, priority, pointer: encodePointer(pointer) };
        const kept = { ...work, deliveries, reason, parkedAtMs: clock.now() };
        const refusal = await streams.publish(streams.names.parkedSubject(processor, id), JSON.stringify(kept));
        if (refusal !== undefined) throw new Error(`the NATS server keeps no parked work: ${JSON.stringify(refusal)}`);
        await tell('+ACK');
        logger.error({ id, stream, deliveries, reason }, 'work was parked');
      }),
  };
};
