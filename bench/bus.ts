/**
 * Pointers over NATS, published and consumed, against the bare driver: at most 1.3 times its CPU, the server's apart.
 */
import { randomUUID } from 'node:crypto';
import { connect } from 'nats';
import { openNatsBus } from '../src/adapters/bus/nats.js';
import { systemClock } from '../src/adapters/clock/system.js';
import type { Pointer } from '../src/domain/ports/bus.js';
import type { Logger } from '../src/domain/ports/logger.js';
import { openBareBus } from './limits/bus.js';
import { machine } from './support/machine.js';
import { compareMeasures } from './support/pairs.js';
import { figuresOf, report, UNDECIDED } from './support/results.js';

export type RunOfBus = Readonly<{
  publish: (pointers: readonly Pointer[]) => Promise<void>;
  /** Takes and acknowledges so many. */
  consume: (count: number) => Promise<void>;
  close: () => Promise<void>;
}>;

const TARGET = 1.3;
const OPERATIONS = 1_500;
/** The number of events that the relay finds in the log at once, under load. */
const BATCH = 64;
const IN_FLIGHT = 64;
const PAIRS = 10;

const quiet = (): void => {};
const logger: Logger = { debug: quiet, info: quiet, warn: quiet, error: quiet, child: () => logger };

const openOurs = async (url: string, name: string): Promise<RunOfBus> => {
  const bus = await openNatsBus({ url: `${url}?prefix=${name}`, clock: systemClock(), logger, pointersMax: 100_000 });
  return {
    publish: async (pointers) => {
      if ((await bus.publish('deliver-email', pointers)).length > 0) throw new Error('the bus had no room');
    },
    consume: async (count) => {
      const stopping = new AbortController();
      const acks: Promise<void>[] = [];
      for await (const work of bus.consume('deliver-email', { maxInFlight: IN_FLIGHT, signal: stopping.signal })) {
        acks.push(work.ack());
        if (acks.length === count) break;
      }
      await Promise.all(acks);
    },
    close: async () => {
      await bus.close();
      const connection = await connect({ servers: url });
      const manager = await connection.jetstreamManager();
      for (const kind of ['WORK', 'PARKED']) await manager.streams.delete(`${name.toUpperCase()}_${kind}`);
      await connection.close();
    },
  };
};

let made = 0;
const pointers = (count: number): readonly Pointer[] =>
  Array.from({ length: count }, () => {
    made += 1;
    const stream = `email-0198c1a0-0000-7000-8000-${String(made).padStart(12, '0')}`;
    return {
      id: `${stream}@${made}`,
      stream,
      priority: 'normal',
      team: '0198c1a0-0000-7000-8000-000000000000',
      source: 'relay',
      sender: 'key_1',
    };
  });

/** µs of CPU of this process for each pointer. */
const measure = (run: RunOfBus, what: 'publish' | 'consume') => async (): Promise<number> => {
  const all = pointers(OPERATIONS);
  const publish = async (): Promise<void> => {
    for (let at = 0; at < all.length; at += BATCH) await run.publish(all.slice(at, at + BATCH));
  };
  const consume = () => run.consume(OPERATIONS);
  if (what === 'consume') await publish();
  const before = process.cpuUsage();
  await (what === 'publish' ? publish() : consume());
  const { user, system } = process.cpuUsage(before);
  if (what === 'publish') await consume();
  return (user + system) / OPERATIONS;
};

const run = async (url: string): Promise<void> => {
  const name = `bench${randomUUID().slice(0, 8)}`;
  const ours = await openOurs(url, name);
  const limit = await openBareBus(url, `${name}-bare`);
  const compare = async (what: 'publish' | 'consume') => {
    await measure(ours, what)();
    await measure(limit, what)();
    return compareMeasures({
      name: what,
      ours: measure(ours, what),
      limit: measure(limit, what),
      pairs: PAIRS,
      operations: OPERATIONS,
    });
  };
  const published = await compare('publish');
  const consumed = await compare('consume');
  await ours.close();
  await limit.close();
  report({
    name: 'bus',
    figures: [
      ...figuresOf(published, 'µs/pointer, published', { atMost: TARGET }),
      ...figuresOf(consumed, 'µs/pointer, consumed', { atMost: TARGET }),
    ],
    machine: machine(),
    details: { published, consumed },
  });
};

const url = process.env['SEALPOST_TEST_NATS_URL'];
if (url === undefined) {
  console.log('set SEALPOST_TEST_NATS_URL to a NATS server with JetStream');
  process.exitCode = UNDECIDED;
} else {
  await run(url);
}
