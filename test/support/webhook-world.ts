/** The workers of webhooks over ports in memory: endpoints that answer as the test says, by a clock that is moved. */
import type { Test } from 'tap';
import { OutboundFault, type OutboundPost, type Posted } from '../../src/domain/ports/outbound-http.js';
import { EventUnknown } from '../../src/domain/core/errors.js';
import { isoTime } from '../../src/domain/core/time.js';
import { assertDefined, emailStream, parseWebhookId, type EmailId, type WebhookId } from '../../src/domain/core/ids.js';
import type { CreateWebhookRequest } from '../../src/api/webhooks.js';
import type { Worker } from '../../src/domain/ports/worker.js';
import { tellOwners } from '../../src/commands/webhooks/subscriptions.js';
import { versionOf } from '../../src/event-log/event-log.js';
import { deliverWebhooksWorker, removeWebhookRecordsWorker } from '../../src/processors/webhooks/delivery.js';
import { routeWebhooksWorker } from '../../src/processors/webhooks/router.js';
import { makeWebhookQueries, dueFailures, keptWebhooks, removableParts } from '../../src/projections/webhooks/reads.js';
import { deliveryListing, withAnswers, type DeliveryListing } from '../../src/domain/webhooks/delivery.js';
import {
  WEBHOOK_ATTEMPTS,
  WEBHOOK_FAILURES,
  WEBHOOKS,
  type WebhookAttemptsDocument,
} from '../../src/projections/webhooks/webhooks.js';
import { caller, TEAM } from './command-world.js';
import type { FakeClock } from './fake-clock.js';
import { openProcessorWorld, type ProcessorOptions, type ProcessorWorld } from './processor-world.js';

export type Post = Readonly<{
  path: string;
  id: string;
  previous: string | undefined;
  kind: string;
  body: string;
  atMs: number;
}>;
/** Answers a post. */
export type Endpoint = (post: Post, signal: AbortSignal) => Promise<Posted>;

export const answering =
  (status: number, more: Partial<Posted> = {}): Endpoint =>
  async () => ({ status, retryAfter: undefined, body: '', ...more });

export type WebhookWorld = ProcessorWorld &
  Readonly<{
    posts: Post[];
    /** How that path answers from now on; 200 where nothing is said. */
    endpoint: (path: string, how: Endpoint) => void;
    /** An endpoint that never answers. */
    hanging: Endpoint;
    subscribe: (path: string, more?: Partial<CreateWebhookRequest>) => Promise<WebhookId>;
    /** Runs what a process has of webhooks, under its name. */
    start: (worker: string) => readonly Readonly<{ stop: () => Promise<void> }>[];
    /** An email that is accepted, and what becomes of it: one recipient has it. */
    accept: () => Promise<EmailId>;
    deliver: (id: EmailId) => Promise<void>;
    /** Lets time pass in steps, with what each brings. */
    passes: (ms: number, stepMs?: number) => Promise<void>;
    deliveries: (id: WebhookId) => Promise<readonly DeliveryListing[]>;
    queries: ReturnType<typeof makeWebhookQueries>;
  }>;

/** The default of `SEALPOST_WEBHOOK_RETRY_DELAYS`. */
export const WEBHOOK_DELAYS_MS = [60_000, 300_000, 1_800_000];

const TURNS_PER_STEP = 6;

const passing = async (clock: FakeClock, ms: number, stepMs: number): Promise<void> => {
  for (let passedMs = 0; passedMs < ms; passedMs += stepMs) {
    await clock.advance(stepMs);
    for (let turn = 0; turn < TURNS_PER_STEP; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }
};

/** A worker that gives way to a newer program begins again after a pause, as under the supervisor. */
const begunAgain = (clock: FakeClock, worker: Worker): Worker => ({
  ...worker,
  run: async (signal) => {
    while (!signal.aborted) {
      try {
        return await worker.run(signal);
      } catch (fault) {
        if (!(fault instanceof EventUnknown)) throw fault;
        await clock.sleep(1_000, signal);
      }
    }
  },
});

export const openWebhookWorld = async (
  t: Test,
  options: ProcessorOptions = {},
  unwatchedMs = (_sinceMs: number): number => 0,
): Promise<WebhookWorld> => {
  const world = await openProcessorWorld(t, options);
  const { clock, readModels } = world;
  const processing = { ...world.processing, unwatchedMs };
  const posts: Post[] = [];
  const endpoints = new Map<string, Endpoint>();
  const hanging: Endpoint = async (_, signal) => {
    await clock.sleep(30_000, signal);
    throw new OutboundFault('timeout', 'No whole answer within 30 seconds.');
  };
  const outbound: OutboundPost = {
    post: async (url, { headers, body, signal }) => {
      const path = new URL(url).pathname;
      const {
        'x-service-event-id': id = '',
        'x-service-previous-event-id': previous,
        'x-service-event-type': kind = '',
      } = headers;
      const post = { path, id, previous, kind, body, atMs: clock.now() };
      posts.push(post);
      return (endpoints.get(path) ?? answering(200))(post, signal);
    },
    forget: () => {},
    close: async () => {},
  };
  const started: Readonly<{ stop: () => Promise<void> }>[] = [];
  // The teardown waits for posts under way. No time passes by itself.
  t.teardown(async () => {
    let isOver = false;
    const stopped = Promise.allSettled(started.map(({ stop }) => stop())).then(() => (isOver = true));
    while (!isOver) await passing(clock, 1_000, 1_000);
    await stopped;
  });
  const queries = makeWebhookQueries({ readModels, keys: world.keys, clock, limits: world.deps.limits });
  const living = async (position: number, signal: AbortSignal) => {
    await processing.timersCaughtUp('email', position, signal);
    return keptWebhooks(readModels);
  };
  const workers = (worker: string): readonly Worker[] => {
    const deps = {
      ...processing,
      ...world.elsewhere(),
      worker,
      leases: world.keeper.open(),
      webhooks: { outbound, insecureHosts: [] },
    };
    return [
      routeWebhooksWorker({ ...deps, keptUpTo: living }),
      deliverWebhooksWorker({
        ...deps,
        webhookDelaysMs: WEBHOOK_DELAYS_MS,
        keptUpTo: living,
        tellOwners: (disabled, cause) => tellOwners({ ...world.deps, ...world.elsewhere() }, disabled, cause),
        due: async (id, position, limit, signal) => {
          await processing.timersCaughtUp('email', position, signal);
          return dueFailures(readModels, id, limit);
        },
      }),
      removeWebhookRecordsWorker({ ...deps, removable: (upTo, limit) => removableParts(readModels, upTo, limit) }),
    ];
  };
  const deliver: WebhookWorld['deliver'] = async (id) => {
    const stream = emailStream(id);
    const last = (await world.deps.eventLog.load(stream)).at(-1)!;
    const at = isoTime(clock.now());
    const cause = { teamId: TEAM, actor: 'test', correlationId: id, causationId: id, at };
    await world.deps.eventLog.append(
      stream,
      versionOf(last),
      [{ type: 'EmailDelivered', data: { at, recipients: [0] } }],
      cause,
    );
  };
  return {
    ...world,
    posts,
    endpoint: (path, how) => void endpoints.set(path, how),
    hanging,
    subscribe: async (path, more = {}) => {
      const request = { url: `https://hooks.example${path}`, events: ['email.queued' as const], ...more };
      return assertDefined(parseWebhookId((await world.commands.createWebhook(caller, request, 0)).id), 'webhook id');
    },
    start: (worker) => {
      const runs = workers(worker).map((one) => world.run(begunAgain(clock, one)));
      started.push(...runs);
      return runs;
    },
    accept: () => world.send(),
    deliver,
    passes: (ms, stepMs = 100) => passing(clock, ms, stepMs),
    deliveries: async (id) => (await queries.webhookDeliveries(id, { limit: 100, cursor: undefined })).deliveries,
    queries,
  };
};

/** Everything that the log, the keys and the read models still give of the answers. */
export const answersKept = async (world: WebhookWorld): Promise<string> => {
  const events = [];
  for await (const batch of world.elsewhere().eventLog.readAll(0)) events.push(...batch.events);
  const documents = [];
  for (const collection of [WEBHOOK_ATTEMPTS, WEBHOOK_FAILURES, WEBHOOKS])
    documents.push(...(await world.readModels.find(collection, { where: {}, limit: 1_000 })));
  const inLog = events.flatMap(({ event }) =>
    event.type === 'WebhookAttempted'
      ? event.data.outcomes.map((outcome, at) => ({
          item: deliveryListing(outcome),
          answer: event.sealed?.answers[at],
        }))
      : [],
  );
  const inModels = (documents as Partial<WebhookAttemptsDocument>[]).flatMap(({ items = [], answers }) =>
    items.map((item, at) => ({ item, answer: answers?.[at] })),
  );
  return JSON.stringify([events, documents, await withAnswers(world.keys, [...inLog, ...inModels])]);
};
