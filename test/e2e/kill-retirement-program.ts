/** A program of its own that takes what is over out of the log of a file, as the worker does: it is killed in the midst. In: the file, and what time it is. */
import { memoryFiles, memoryKeys, memoryLog } from '../support/memory-ports.js';
import { fakeClock } from '../support/fake-clock.js';
import { leaseKeeper } from '../support/memory-leases.js';
import { openSqliteEventStore } from '../../src/adapters/event-store/sqlite.js';
import { systemIds } from '../../src/adapters/ids/system.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import type { StreamName } from '../../src/domain/core/ids.js';
import { openEventLog } from '../../src/event-log/event-log.js';
import { retireAll } from '../../src/processors/retention/retirement.js';
import { sealOnce } from '../../src/processors/audit/ledger.js';

const [file = '', now = ''] = process.argv.slice(2);
const store = openSqliteEventStore({ file });
const clock = fakeClock(Date.parse(now));
const limits = defaultLimits;
const keys = memoryKeys();
const eventLog = openEventLog({ store, keys, files: memoryFiles(), ids: systemIds(), clock, limits });
const never = new AbortController().signal;
const streams = new Set<StreamName>();
for await (const { events } of store.readAll(0))
  for (const { stream } of events) if (/^(email|audit)-/.test(stream)) streams.add(stream as StreamName);
await sealOnce({ eventLog, store, limits, clock }, never);
/** Tells of each write once it is there. */
const told =
  <Args extends unknown[], Out>(write: (...args: Args) => Promise<Out>) =>
  async (...args: Args): Promise<Out> => {
    const out = await write(...args);
    process.stdout.write('+');
    return out;
  };
const telling = {
  eventLog: { ...eventLog, append: told(eventLog.append) as typeof eventLog.append },
  store: { ...store, truncate: told(store.truncate) },
};
const deps = {
  eventLog,
  keys,
  store,
  limits,
  clock,
  logger: memoryLog(),
  mayDestroy: () => true,
  worker: 'w1',
  leases: leaseKeeper(clock).open(),
};
await retireAll(
  { ...deps, ...telling, isFull: async () => false, due: async () => [], dueWhole: async () => [], emailsCaughtUp: async () => {} },
  streams,
  never,
);
await store.close();
process.stdout.write('done\n');
