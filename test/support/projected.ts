/**
 * Read models over a log in memory, in real SQLite documents: events in, documents out, in batches as the test cuts
 * them.
 */
import { openEventLog, startOf, type EventLog, type StreamVersion } from '../../src/event-log/event-log.js';
import type { DomainEvent, Recorded } from '../../src/domain/events.js';
import type { StreamName } from '../../src/domain/core/ids.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import type { Document, ProjectionStore, ReadModels } from '../../src/domain/ports/read-models.js';
import type { Projection } from '../../src/projections/core/projection.js';
import { openUnitOfWork } from '../../src/projections/core/unit-of-work.js';
import { T0, TEAM_ID } from './email-facts.js';
import { fakeClock } from './fake-clock.js';
import { countingIds } from './memory-ports.js';
import { openStoresOfTest } from './ports-of-tests.js';

export { openReadModelsOfTest as openDocuments } from './ports-of-tests.js';

export type LogOfTest = Readonly<{
  eventLog: EventLog;
  /** Appends to the end of a stream, on behalf of a team (default: the first). */
  append: (stream: string, events: readonly DomainEvent[], teamId?: string, actor?: string) => Promise<void>;
  recorded: () => Promise<readonly Recorded[]>;
}>;

export const openLogOfTest = (): LogOfTest => {
  const eventLog = openEventLog({
    ...openStoresOfTest(),
    ids: countingIds(),
    clock: fakeClock(),
    limits: defaultLimits,
  });
  const tails = new Map<string, StreamVersion>();
  return {
    eventLog,
    append: async (name, events, teamId = TEAM_ID, actor = 'test') => {
      const stream = name as StreamName;
      const cause = { teamId, actor, correlationId: 'c', causationId: 'c', at: T0 };
      tails.set(name, await eventLog.append(stream, tails.get(name) ?? startOf(stream), events, cause));
    },
    recorded: async () => {
      const all: Recorded[] = [];
      for await (const { events } of eventLog.readAll(0)) all.push(...events);
      return all;
    },
  };
};

/**
 * Folds the events in batches of these sizes, the last one again and again; each batch starts without a cache where
 * `forgetful`.
 */
export const projectIn = async (
  readModels: ReadModels,
  projection: Projection,
  recorded: readonly Recorded[],
  { sizes = [1_000], forgetful = false }: Readonly<{ sizes?: readonly number[]; forgetful?: boolean }> = {},
): Promise<void> => {
  const store = await readModels.projection(projection.name, projection.collections);
  const kinds: readonly string[] = projection.kinds;
  const own = recorded.filter(({ stream }) => kinds.includes(stream.split('-')[0]!));
  let checkpoint = await store.checkpoint();
  let work = openUnitOfWork(projection, store);
  let done = own.filter(({ position }) => position <= checkpoint.position).length;
  for (let index = 0; done < own.length; index += 1) {
    const size = sizes[Math.min(index, sizes.length - 1)]!;
    const batch = own.slice(done, done + size);
    await work.fold(batch);
    checkpoint = await work.write(checkpoint, batch.at(-1)!.position);
    done += size;
    if (forgetful) work = openUnitOfWork(projection, store);
  }
};

/**
 * Folds the events and writes the first `count` puts and removals, as a crash would leave them: the checkpoint stays.
 * Out: how many there were.
 */
export const tearWrite = async (
  readModels: ReadModels,
  projection: Projection,
  recorded: readonly Recorded[],
  count: number,
): Promise<number> => {
  const store = await readModels.projection(projection.name, projection.collections);
  let all = 0;
  const torn: ProjectionStore = {
    ...store,
    write: async (writes, from) => {
      let left = count;
      for (const { collection, put, remove } of writes) {
        all += put.length + remove.length;
        const [puts, removals] = [put.slice(0, left), remove.slice(0, Math.max(0, left - put.length))];
        left -= puts.length + removals.length;
        await store.write([{ collection, put: puts, remove: removals }], from, from.position);
      }
    },
  };
  const work = openUnitOfWork(projection, torn);
  await work.fold(recorded);
  await work.write(await store.checkpoint(), recorded.at(-1)!.position);
  return all;
};

/** Every document of a projection, by collection, as it stands in the store. */
export const documentsOf = async (
  readModels: ReadModels,
  projection: Projection,
): Promise<Record<string, Document[]>> => {
  const inspection = await readModels.inspect(projection.name, projection.collections);
  if (inspection === undefined) throw new Error(`there is no projection ${projection.name}`);
  const found: Record<string, Document[]> = {};
  for (const { name } of projection.collections) {
    found[name] = [];
    for await (const document of inspection.scan(name, 'live')) found[name].push(document);
  }
  await inspection.close();
  return found;
};
