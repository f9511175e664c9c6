/**
 * Faults planted by hand: each wraps the ports of a process so that one rule of the service is broken. The hunt must
 * find every one.
 */
import type { EventStore, EventToStore, StoredEvent } from '../../src/domain/ports/event-store.js';
import type { Bus } from '../../src/domain/ports/bus.js';
import type { Keys } from '../../src/domain/ports/keys.js';
import type { Leases } from '../../src/domain/ports/lease.js';
import type { Mailer, SendMessage } from '../../src/domain/ports/mailer.js';
import type { OutboundPost } from '../../src/domain/ports/outbound-http.js';
import type { ReadModels, ProjectionStore } from '../../src/domain/ports/read-models.js';

export type Plant = Readonly<{
  eventStore: (store: EventStore) => EventStore;
  readModels: (models: ReadModels) => ReadModels;
  bus: (bus: Bus) => Bus;
  keys: (keys: Keys) => Keys;
  leases: (leases: Leases) => Leases;
  mailer: (mailer: Mailer) => Mailer;
  outbound: (outbound: OutboundPost) => OutboundPost;
  /** The server of the read models puts and removes without its condition. */
  unconditionalWrites: boolean;
}>;

const same = <Port>(port: Port): Port => port;

export const noPlant: Plant = {
  eventStore: same,
  readModels: same,
  bus: same,
  keys: same,
  leases: same,
  mailer: same,
  outbound: same,
  unconditionalWrites: false,
};

const planted = (plant: Partial<Plant>): Plant => ({ ...noPlant, ...plant });

/** The result of an append that is reported as done without being done. */
const asIfDone = (expectedRevision: number, events: readonly EventToStore[]) => ({
  kind: 'done' as const,
  revision: expectedRevision + events.length,
  position: 1,
});

/** Changes what the append of a store ends with. */
const appending = (change: (append: EventStore['append']) => EventStore['append']): Plant =>
  planted({ eventStore: (store) => ({ ...store, append: change(store.append) }) });

/** Changes the collections of every projection, those of rebuilds too. */
const projecting = (change: (store: ProjectionStore) => ProjectionStore): Plant =>
  planted({
    readModels: (models) => ({
      ...models,
      projection: async (name, specs) => change(await models.projection(name, specs)),
    }),
  });

/** A fact of what came of attempts, as if those that were under way then had been told of. */
const reachedFurther = (event: StoredEvent): StoredEvent => {
  if (!event.type.startsWith('WebhookAttempted')) return event;
  const data = JSON.parse(event.data) as { progress: { reached: number } };
  return {
    ...event,
    data: JSON.stringify({ ...data, progress: { ...data.progress, reached: data.progress.reached + UNDER_WAY } }),
  };
};
const UNDER_WAY = 2;

/** A rotation, as if the secret before it signed for ever. */
const overlappingForEver = (event: StoredEvent): StoredEvent => {
  if (!event.type.startsWith('WebhookSecretRotated')) return event;
  const data = JSON.parse(event.data) as Record<string, unknown>;
  return { ...event, data: JSON.stringify({ ...data, overlapUntil: '2099-01-01T00:00:00.000Z' }) };
};

export const plants = {
  'a conflict is swallowed': appending((append) => async (stream, expectedRevision, events) => {
    const outcome = await append(stream, expectedRevision, events);
    return outcome.kind === 'conflict' ? asIfDone(expectedRevision, events) : outcome;
  }),

  'an unknown end is taken for a failure': appending((append) => async (stream, expectedRevision, events) => {
    const outcome = await append(stream, expectedRevision, events);
    if (outcome.kind === 'unknown') throw outcome.cause;
    return outcome;
  }),

  'an unknown end is taken for done': appending((append) => async (stream, expectedRevision, events) => {
    const outcome = await append(stream, expectedRevision, events);
    return outcome.kind === 'unknown' ? asIfDone(expectedRevision, events) : outcome;
  }),

  'a call is answered before its event is durable': appending((append) => async (stream, expectedRevision, events) => {
    if (expectedRevision >= 0) return append(stream, expectedRevision, events);
    void append(stream, expectedRevision, events).catch(() => {});
    return asIfDone(expectedRevision, events);
  }),

  'a document forgets what it has folded': projecting((store) => ({
    ...store,
    getMany: async (collection, ids) => {
      const found = await store.getMany(collection, ids);
      return new Map([...found].map(([id, document]) => [id, { ...document, position: 0 }]));
    },
  })),

  'the checkpoint is written before the documents': projecting((store) => ({
    ...store,
    write: async (writes, from, to) => {
      await store.write([], from, to);
      await store.write(writes, { ...from, position: to }, to);
    },
  })),

  'the server writes documents without its condition': planted({ unconditionalWrites: true }),

  'nobody asks whether the worker of an attempt lives': planted({
    leases: (leases) => ({
      ...leases,
      read: async (name) => (name.startsWith('worker-') ? undefined : leases.read(name)),
    }),
  }),

  'the fence of a lease does not rise': planted({
    leases: (leases) => ({
      ...leases,
      acquire: async (name, holder, ttlMs) => {
        const lease = await leases.acquire(name, holder, ttlMs);
        return lease && { ...lease, fence: 1 };
      },
      renew: async (lease, ttlMs) => leases.renew((await leases.read(lease.name)) ?? lease, ttlMs),
    }),
  }),

  'the bus is told at once that work is done, and lost work is never looked for': planted({
    bus: (bus) => ({
      ...bus,
      consume: async function* (processor, options) {
        for await (const work of bus.consume(processor, options)) {
          await work.ack();
          yield { ...work, ack: async () => {}, retryAt: async () => {}, park: async () => {} };
        }
      },
    }),
    readModels: (models) => ({ ...models, find: async () => [] }),
  }),

  'a subscription does not tell of revocations': planted({
    eventStore: (store) => ({
      ...store,
      subscribeAll: async function* (after, options) {
        // The projection of the keys follows one kind, the cache of states several.
        const isCache = (options.kinds?.length ?? 0) > 1;
        for await (const { events, position } of store.subscribeAll(after, options))
          yield { events: events.filter(({ type }) => !isCache || !type.startsWith('ApiKeyRevoked')), position };
      },
    }),
  }),

  'a key is said to be destroyed and is not': planted({
    keys: (keys) => ({ ...keys, destroy: async () => ({ journalMs: 0 }) }),
  }),

  'an event id is made of the time': planted({
    outbound: (outbound) => ({
      ...outbound,
      post: (url, options) => {
        const { 'webhook-timestamp': at = '0' } = options.headers;
        const id = `evt_${Number(at).toString(36)}_${'A'.repeat(22)}`;
        return outbound.post(url, {
          ...options,
          headers: { ...options.headers, 'x-service-event-id': id, 'webhook-id': id },
        });
      },
    }),
  }),

  'a router that begins anew loses its place': planted({
    eventStore: (store) => ({
      ...store,
      subscribeAll: async function* (after, options) {
        const isRouter = ['email', 'suppression', 'webhook'].every((kind) => options.kinds?.includes(kind));
        yield* store.subscribeAll(isRouter ? await store.head() : after, options);
      },
    }),
  }),

  'a courier that begins anew forgets what was under way': planted({
    eventStore: (store) => ({
      ...store,
      readStream: async (stream, from) => (await store.readStream(stream, from)).map(reachedFurther),
    }),
  }),

  'what was sent is not written down': appending(
    (append) => async (stream, expectedRevision, events) =>
      stream.startsWith('webhookOutcome-')
        ? asIfDone(expectedRevision, events)
        : append(stream, expectedRevision, events),
  ),

  'what was taken once is said to be taken again': planted({
    outbound: (outbound) => {
      const taken = new Set<string>();
      return {
        ...outbound,
        post: async (url, options) => {
          const name = `${url} ${options.headers['webhook-id']}`;
          if (taken.has(name)) return { status: 200, retryAfter: undefined, body: '' };
          const posted = await outbound.post(url, options);
          if (posted.status < 300) taken.add(name);
          return posted;
        },
      };
    },
  }),

  'a secret that was rotated out goes on signing': planted({
    eventStore: (store) => ({
      ...store,
      readStream: async (stream, from) => (await store.readStream(stream, from)).map(overlappingForEver),
    }),
  }),

  'a mail is handed over twice': planted({
    mailer: (mailer) => ({
      ...mailer,
      lend: async (wanted, use) => {
        let sent: Parameters<SendMessage> | undefined;
        const lent = await mailer.lend(wanted, (send) => use((...given) => send(...(sent = given))));
        const again = sent;
        if (again !== undefined) await mailer.lend(wanted, (send) => send(...again));
        return lent;
      },
    }),
  }),
} as const satisfies Readonly<Record<string, Plant>>;

export type PlantName = keyof typeof plants;
