/** What one consumer asks the server for: by priority and group, a batch at a time, asked anew where the server has forgotten it. */
import type { Clock } from '../../domain/ports/clock.js';
import type { Link } from './nats-link.js';
import type { Names } from './nats-names.js';
import { groups, nanos, shareOf, type Streams } from './nats-streams.js';

/** The pointers of one priority and group, as the server keeps them for all consumers. */
export type Channel = {
  readonly at: number;
  readonly next: string;
  readonly request: string;
  readonly batch: number;
  /** Asked for and not delivered. */
  asked: number;
  /** Which question is open: the end of an older one says nothing. */
  question: number;
  askedAtMs: number;
  /** Delivered and not given out. */
  waiting: number;
};

export type Channels = Readonly<{
  /** The channel of a pointer whose subject says that priority and group. */
  of: (priority: string | undefined, group: string | undefined) => Channel | undefined;
  /** Asks for more where that is due. */
  pull: (channel: Channel) => void;
  /** The server's answer to a question, where it is no pointer; `subject` names the question. */
  onEnd: (subject: string, code: number) => void;
  /** What was asked for is not known to the server any more. */
  lose: () => void;
}>;

export type ChannelsDeps = Readonly<{
  clock: Clock;
  link: Link;
  streams: Streams;
  names: Names;
  processor: string;
  maxInFlight: number;
  inbox: string;
  stopped: AbortSignal;
}>;

/** The server ends a question for work after so long, and is asked again. */
const ASK_FOR_MS = 30_000;
/** An end that was never heard of is taken for granted after this. */
const GRACE_MS = 5_000;
const TRY_EVERY_MS = 1_000;
const WATCH_EVERY_MS = 5_000;
const BATCH_MIN = 2;
const NOTHING_CAME = 408;
const HEARTBEAT = 100;

export const openChannels = (deps: ChannelsDeps): Channels => {
  const { clock, link, streams, inbox, stopped } = deps;
  const channels = makeChannels(deps);
  const all = [...channels.values()];
  let isReady = false;

  const pull = (channel: Channel): void => {
    if (!isReady || stopped.aborted || channel.asked > 0 || channel.waiting > channel.batch / 2) return;
    channel.asked = channel.batch;
    channel.askedAtMs = clock.monotonic();
    channel.question += 1;
    link.post(channel.next, channel.request, `${inbox}.${channel.at}.${channel.question}`);
  };
  const begin = openBeginning(deps, () => {
    isReady = true;
    for (const channel of all) channel.asked = 0;
    all.forEach(pull);
  });
  const lose = (): void => {
    if (!isReady) return;
    isReady = false;
    streams.forget();
    begin();
  };
  void watchOver(clock, stopped, all, pull);
  begin();
  return {
    of: (priority, group) => channels.get(`${priority}.${group}`),
    pull,
    lose,
    onEnd: (subject, code) => {
      const [at, question] = subject.slice(inbox.length + 1).split('.');
      const channel = all[Number(at)];
      if (channel === undefined || channel.question !== Number(question) || code === HEARTBEAT) return;
      channel.asked = 0;
      // Every other end says that the consumer may be gone.
      if (code === NOTHING_CAME) pull(channel);
      else lose();
    },
  };
};

const makeChannels = ({ names, processor, maxInFlight }: ChannelsDeps): ReadonlyMap<string, Channel> =>
  new Map(
    groups().map(({ priority, group }, at) => {
      const batch = shareOf(priority, maxInFlight, BATCH_MIN);
      const channel: Channel = {
        at,
        next: `$JS.API.CONSUMER.MSG.NEXT.${names.workStream}.${names.consumer(processor, priority, group)}`,
        request: JSON.stringify({ batch, expires: nanos(ASK_FOR_MS) }),
        batch,
        asked: 0,
        question: 0,
        askedAtMs: 0,
        waiting: 0,
      };
      return [`${priority}.${group}`, channel];
    }),
  );

/** Sees to it that the consumers are there, as often as it takes, then says so; at once, and then not more often than once a second. */
const openBeginning = ({ clock, streams, link, processor, stopped }: ChannelsDeps, ready: () => void): (() => void) => {
  let underWay = false;
  let begunAtMs = Number.NEGATIVE_INFINITY;
  const isOver = (): boolean => stopped.aborted || link.closed.aborted;
  const isThere = (): Promise<boolean> =>
    streams.ensure(processor).then(
      () => true,
      () => false,
    );
  const ensure = async (): Promise<void> => {
    underWay = true;
    do {
      await clock.sleep(begunAtMs + TRY_EVERY_MS - clock.monotonic(), stopped);
      begunAtMs = clock.monotonic();
    } while (!isOver() && !(await isThere()));
    underWay = false;
    if (!isOver()) ready();
  };
  return () => {
    if (!underWay) void ensure();
  };
};

/** Questions whose end was lost on the way are asked again. */
const watchOver = async (
  clock: Clock,
  stopped: AbortSignal,
  channels: readonly Channel[],
  pull: (channel: Channel) => void,
): Promise<void> => {
  while (!stopped.aborted) {
    await clock.sleep(WATCH_EVERY_MS, stopped);
    const overMs = clock.monotonic() - ASK_FOR_MS - GRACE_MS;
    for (const channel of channels) if (channel.asked > 0 && channel.askedAtMs < overMs) channel.asked = 0;
    channels.forEach(pull);
  }
};
