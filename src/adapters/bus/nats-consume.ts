/** Work for one consumer: pulled ahead by priority and group, a share of each priority, and given out in turns between teams. */
import type { Msg } from 'nats';
import { priorities, priorityShares, type Priority, type Work } from '../../domain/ports/bus.js';
import type { Clock } from '../../domain/ports/clock.js';
import { openShares } from '../../shared/shares.js';
import type { Fifo } from './fifo.js';
import { openChannels, type Channel } from './nats-channels.js';
import type { Delivery, Held } from './nats-held.js';
import type { Link } from './nats-link.js';
import { decodePointer, type Names } from './nats-names.js';
import type { Streams } from './nats-streams.js';
import { turns } from './turns.js';

export type ConsumeDeps = Readonly<{
  clock: Clock;
  link: Link;
  streams: Streams;
  names: Names;
  held: Held;
  freshInbox: () => string;
  closed: AbortSignal;
}>;

export type Consuming = Readonly<{
  maxInFlight: number;
  signal: AbortSignal;
  /** The work of one delivery; `done` lets its consumer take another. */
  workOf: (delivery: Delivery, done: () => void) => Work;
}>;

type Waiting = Readonly<{ delivery: Delivery; channel: Channel }>;

const turnsOf = [
  ({ delivery }: Waiting) => delivery.pointer.team ?? '',
  ({ delivery }: Waiting) => delivery.pointer.source ?? '',
  ({ delivery }: Waiting) => delivery.pointer.sender ?? '',
];

export async function* consumeFrom(deps: ConsumeDeps, processor: string, consuming: Consuming): AsyncGenerator<Work> {
  const { maxInFlight, signal, workOf } = consuming;
  const { closed } = deps;
  let wake = (): void => {};
  const wakeUp = (): void => wake();
  const pulling = openPulling(deps, processor, maxInFlight, wakeUp);
  // At once, also while whoever takes the work is busy with it.
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

type Pulling = Readonly<{
  /** What is next of what was pulled. */
  take: () => Delivery | undefined;
  /** Pulls no more; what was not taken goes back to the server. */
  stop: () => void;
}>;

const openPulling = (deps: ConsumeDeps, processor: string, maxInFlight: number, wake: () => void): Pulling => {
  const { link, held } = deps;
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
  const offBack = link.onBack(channels.lose);
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
      for (let left = ahead.shift(); left !== undefined; left = ahead.shift()) held.handBack(left.delivery);
      // What is on its way meanwhile is handed back as well.
      if (!link.closed.aborted) void subscription.drain().catch(() => {});
    },
  };
};

/** What was pulled and not given out: of the priorities that wait, each is given its share. */
const openAhead = (): Pick<Fifo<Waiting>, 'push' | 'shift'> => {
  const waiting: Readonly<Record<Priority, Fifo<Waiting>>> = { high: turns(turnsOf), normal: turns(turnsOf), low: turns(turnsOf) };
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

/** Of PREFIX.work.PROCESSOR.PRIORITY.GROUP.ID. */
const channelNamesOf = (subject: string): readonly [priority: string | undefined, group: string | undefined] => {
  const [, , , priority, group] = subject.split('.');
  return [priority, group];
};

/** Out: undefined where it is no pointer of ours. */
const readDelivery = (processor: string, priority: string | undefined, msg: Msg): Delivery | undefined => {
  const pointer = decodePointer(msg.string(), priority);
  const reply = msg.reply ?? '';
  return pointer === undefined || reply === '' ? undefined : { pointer, processor, deliveries: deliveriesOf(reply), reply };
};

/** $JS.ACK.STREAM.CONSUMER.DELIVERIES.…, or with a domain and an account before the stream. */
const deliveriesOf = (reply: string): number => {
  const parts = reply.split('.');
  return Math.max(1, Number(parts.length > 9 ? parts[6] : parts[4]) || 1);
};
