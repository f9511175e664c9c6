/** How the stand-in answers reads and subscriptions. */
import type { ServerWritableStream } from '@grpc/grpc-js';
import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { ServerLog, Written } from './log.js';
import { callError, checkpoint, confirmation, eventMessage, nameOf, streamNotFound } from './messages.js';

export type ReadCall = ServerWritableStream<ReadReq, ReadResp>;

const BACKWARDS = 1;
const FAILED_PRECONDITION = 9;
const UNKNOWN = 2;

/** `endsAfter`: a filtered reading ends when it has looked at so many events. */
export const answerRead = async (
  log: ServerLog,
  call: ReadCall,
  endsAfter = Number.POSITIVE_INFINITY,
): Promise<void> => {
  call.setMaxListeners(0);
  const options = call.request.getOptions()!;
  const output = outputOf(call);
  if (options.hasSubscription()) await output.put(confirmation());
  if (options.hasStream()) await readStream(log, call, options, output);
  else await readAll(log, call, options, { ...output, endsAfter });
};

type Output = Readonly<{
  put: (response: ReadResp) => Promise<void>;
  isStopped: () => boolean;
  more: (log: ServerLog) => Promise<void>;
}>;

const outputOf = (call: ReadCall): Output => {
  let isStopped = false;
  call.on('cancelled', () => (isStopped = true));
  const once = (listen: (wake: () => void) => void): Promise<void> =>
    new Promise((resolve) => {
      listen(resolve);
      call.once('cancelled', resolve);
    });
  return {
    put: async (response) => {
      if (!call.write(response)) await once((wake) => call.once('drain', wake));
    },
    isStopped: () => isStopped,
    more: (log) => (isStopped ? Promise.resolve() : once((wake) => log.news.once('more', wake))),
  };
};

const readStream = async (log: ServerLog, call: ReadCall, options: ReadReq.Options, output: Output): Promise<void> => {
  const of = options.getStream()!;
  const name = nameOf(of.getStreamIdentifier());
  const isLive = options.hasSubscription();
  const step = options.getReadDirection() === BACKWARDS ? -1 : 1;
  const events = (): readonly Written[] => log.stream(name)?.events ?? [];
  if (log.stream(name)?.isGone === true)
    return void call.emit('error', callError(FAILED_PRECONDITION, 'stream-deleted', { 'stream-name': name }));
  if (!isLive && (events().length === 0 || log.isDeleted(name))) {
    await output.put(streamNotFound(options));
    return void call.end();
  }
  const last = events().length - 1;
  let left = isLive ? Number.POSITIVE_INFINITY : Number(options.getCount());
  let at = of.hasStart() ? 0 : of.hasEnd() ? (step < 0 ? last : last + 1) : Number(of.getRevision()) + (isLive ? 1 : 0);
  if (step < 0) at = Math.min(at, last);
  for (;;) {
    for (; left > 0 && at >= 0 && at < events().length && !output.isStopped(); at += step) {
      const event = events()[at]!;
      if (!log.isVisible(event)) continue;
      left -= 1;
      await output.put(eventMessage(event, false));
    }
    if (!isLive || output.isStopped()) return void call.end();
    await output.more(log);
  }
};

const readAll = async (
  log: ServerLog,
  call: ReadCall,
  options: ReadReq.Options,
  output: Output & Readonly<{ endsAfter: number }>,
): Promise<void> => {
  const isLive = options.hasSubscription();
  const filter = filterOf(options);
  const step = options.getReadDirection() === BACKWARDS ? -1 : 1;
  let at = beginning(log, options, step);
  if (at === undefined) return void call.emit('error', callError(UNKNOWN, 'no record begins at this position'));
  let left = isLive ? Number.POSITIVE_INFINITY : Number(options.getCount());
  let considered = 0;
  for (;;) {
    for (; left > 0 && at >= 0 && at < log.all.length && !output.isStopped(); at += step) {
      const event = log.all[at]!;
      if ((filter === undefined || filter.matches(event)) && log.isVisible(event)) {
        left -= 1;
        await output.put(eventMessage(event, true));
      }
      considered += 1;
      if (!isLive && filter !== undefined && considered >= output.endsAfter) return void call.end();
      if (isLive && filter !== undefined && considered % filter.window === 0)
        await output.put(checkpoint(event.position));
    }
    if (!isLive || output.isStopped()) return void call.end();
    await output.more(log);
  }
};

/** The index of the first event to look at; undefined for a position at which no record begins. */
const beginning = (log: ServerLog, options: ReadReq.Options, step: number): number | undefined => {
  const all = options.getAll()!;
  const end = log.all.length;
  if (all.hasStart()) return 0;
  if (all.hasEnd()) return step < 0 ? end - 1 : end;
  const position = Number(all.getPosition()!.getCommitPosition());
  if (position > (log.all.at(-1)?.position ?? 0)) return options.hasSubscription() ? waitingAfter(log, position) : end;
  const index = log.indexAt(position);
  if (index < 0) return undefined;
  // A subscription begins after the event at its position, a read with it, a read backwards before it.
  return index + (options.hasSubscription() ? 1 : 0) - (step < 0 ? 1 : 0);
};

/** Sends no answer until the log has reached the position. */
const waitingAfter = (log: ServerLog, position: number): number =>
  log.all.length > 0 ? Number.MAX_SAFE_INTEGER : position;

type Filter = Readonly<{ matches: (event: Written) => boolean; window: number }>;

const filterOf = (options: ReadReq.Options): Filter | undefined => {
  const filter = options.getFilter();
  if (filter === undefined) return undefined;
  const isByStream = filter.hasStreamIdentifier();
  const wanted = isByStream ? filter.getStreamIdentifier()! : filter.getEventType()!;
  const pattern = wanted.getRegex() === '' ? undefined : new RegExp(wanted.getRegex());
  const prefixes = wanted.getPrefixList();
  return {
    matches: (event) => {
      const text = isByStream ? event.stream : event.type;
      return pattern === undefined ? prefixes.some((prefix) => text.startsWith(prefix)) : pattern.test(text);
    },
    window: Math.max(1, (filter.hasMax() ? filter.getMax() : 32) * filter.getCheckpointintervalmultiplier()),
  };
};
