/**
 * Captures the records that one email makes on the servers of the distributed engine. A limit program writes the same
 * records.
 */
import { MongoClient } from 'mongodb';
import { openEventStoreDb } from '../../src/adapters/event-store/eventstoredb.js';
import { toServerEvent } from '../../src/adapters/event-store/eventstoredb/records.js';
import { systemClock } from '../../src/adapters/clock/system.js';
import type { StoredEvent } from '../../src/domain/ports/event-store.js';
import type { Logger } from '../../src/domain/ports/logger.js';
import type { Place } from './servers.js';

/** An event as the server is given it. */
export type RecipeEvent = Readonly<{ type: string; data: string; metadata: string }>;
export type Recipe = Readonly<{
  /** The events of each append, in order: the first accepts, the others are of the delivery. */
  appends: readonly (readonly RecipeEvent[])[];
  /** The documents that end as its read models, by collection; without their `_id`. */
  documents: readonly Readonly<{ collection: string; document: Readonly<Record<string, unknown>> }>[];
}>;

const quiet = (): void => {};
export const silent: Logger = { debug: quiet, info: quiet, warn: quiet, error: quiet, child: () => silent };

/** In: a place where emails were delivered and folded. Out: what the last of them left. */
export const readRecipe = async ({ urls }: Place): Promise<Recipe> => {
  const stream = await lastEmail(urls.eventStore);
  const id = stream[0]!.stream.slice('email-'.length);
  const client = await MongoClient.connect(urls.mongodb);
  try {
    const documents: Recipe['documents'][number][] = [];
    for (const { name } of await client.db().listCollections({}, { nameOnly: true }).toArray()) {
      if (!name.startsWith('rm.')) continue;
      const found = await client
        .db()
        .collection<{ _id: string }>(name)
        .findOne({ _id: id }, { projection: { _id: 0 } });
      if (found !== null) documents.push({ collection: name, document: found });
    }
    if (documents.length === 0) throw new Error('an email has left no read model');
    return { appends: inAppends(stream), documents };
  } finally {
    await client.close();
  }
};

const lastEmail = async (url: string): Promise<readonly StoredEvent[]> => {
  const store = await openEventStoreDb({ url, clock: systemClock(), logger: silent });
  try {
    let last = '';
    for await (const { events } of store.readAll(0, { kinds: ['email'] })) last = events.at(-1)?.stream ?? last;
    return await store.readStream(last);
  } finally {
    await store.close();
  }
};

/** Events of one append have one time and one cause. */
const inAppends = (stream: readonly StoredEvent[]): readonly (readonly RecipeEvent[])[] => {
  const appends = new Map<string, RecipeEvent[]>();
  for (const event of stream) {
    const { occurredAt, causationId } = JSON.parse(event.metadata) as Readonly<{
      occurredAt: string;
      causationId: string;
    }>;
    const { type, data, metadata } = toServerEvent(event);
    const key = `${occurredAt} ${causationId}`;
    appends.set(key, [
      ...(appends.get(key) ?? []),
      { type, data: Buffer.from(data).toString(), metadata: Buffer.from(metadata).toString() },
    ]);
  }
  return [...appends.values()];
};
