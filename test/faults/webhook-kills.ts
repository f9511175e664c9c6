/**
 * Kills while mails are sent and told of to three endpoints: one that is well, one that refuses half of the time, one
 * that never answers. Everything that the log tells reaches each of the first two, signed, with the same id and bytes
 * as often as it comes, in one chain.
 */
import { createServer, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WebhookDelivery } from '../../src/api/webhooks.js';
import { startClients, type Clients } from '../e2e/kill-clients.js';
import { seededRandom, type Random } from '../support/random.js';
import { runCommand, startServer, type ServerProcess, type Settings } from '../support/server-process.js';
import { openSmtpScript, reply, type SmtpScriptServer } from '../support/smtp-script.js';
import { eventually, pause } from '../support/wait.js';
import type { FaultReport, ProgramOptions } from './report.js';
import { openWebhookApi, type WebhookApi } from './webhook-api.js';
import {
  faultsOfChain,
  faultsOfList,
  faultsOfPosts,
  idOfPost,
  kindsOfSends,
  toldByLog,
  type Posted,
} from './webhook-chain.js';

const SENDS = 5_000;
const SENDERS = 6;
const WITHIN_MS = 600_000;
/** Beyond the longest pause before another attempt. */
const STEP_MS = 40 * 60_000;
const ATTEMPTS = 4;

type Endpoint = Readonly<{ url: string; posts: readonly Posted[]; close: () => Promise<void> }>;

/** `answer` says with which status, or undefined for none at all. */
const openEndpoint = async (answer: () => number | undefined): Promise<Endpoint> => {
  const posts: Posted[] = [];
  const held = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('error', () => undefined).on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const status = answer();
      posts.push({ headers: request.headers, body: Buffer.concat(chunks).toString(), status });
      if (status === undefined) held.add(response);
      else response.writeHead(status).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    posts,
    close: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
};

type Run = {
  readonly settings: Settings;
  readonly dataDir: string;
  readonly random: Random;
  readonly faults: string[];
  server: ServerProcess | undefined;
  base: string | undefined;
  shiftMs: number;
};

const clockModule = new URL('../support/shifted-clock.js', import.meta.url).href;

const start = async (run: Run): Promise<ServerProcess> => {
  run.server = startServer({ ...run.settings, CLOCK_SHIFT_MS: String(run.shiftMs) }, clockModule, WITHIN_MS);
  return run.server;
};

const stop = async (run: Run, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
  const ended = run.server?.end(signal);
  run.base = undefined;
  const { code } = (await ended) ?? { code: 0 };
  run.base = undefined;
  run.server = undefined;
  if (signal === 'SIGTERM' && code !== 0) run.faults.push(`a stop ended with ${code}`);
};

/**
 * Starts the server, and kills it at a moment of the seed's choice, when so many emails are accepted; one in five while
 * it starts.
 */
const killOnce = async (run: Run, clients: Clients, accepted: number): Promise<void> => {
  const server = await start(run);
  if (run.random.chance(0.2)) {
    void server.listening.then(
      (base) => (run.base = base),
      () => undefined,
    );
    await pause(run.random.between(1, 900));
  } else {
    run.base = await server.listening;
    await eventually(`${accepted} emails are accepted`, () => clients.accepted.size >= accepted, WITHIN_MS);
    await pause(run.random.between(1, 500));
  }
  await stop(run, 'SIGKILL');
};

type World = Readonly<{
  api: WebhookApi;
  well: Endpoint;
  moody: Endpoint;
  mute: Endpoint;
  ids: Readonly<{ well: string; moody: string; mute: string }>;
  secrets: Readonly<{ well: string; moody: string; mute: string }>;
}>;

const openWorld = async (run: Run, seed: number): Promise<World> => {
  const moods = seededRandom(seed + 3);
  const [well, moody, mute] = await Promise.all([
    openEndpoint(() => 200),
    openEndpoint(() => (moods.chance(0.5) ? 200 : 500)),
    openEndpoint(() => undefined),
  ]);
  const server = await start(run);
  run.base = await server.listening;
  const api = await openWebhookApi(() => run.base ?? '', await server.firstKey());
  const made = {
    well: await api.subscribe(well.url, kindsOfSends),
    moody: await api.subscribe(moody.url, kindsOfSends),
    mute: await api.subscribe(mute.url, kindsOfSends),
  };
  await stop(run, 'SIGTERM');
  return {
    ...{ api, well, moody, mute },
    ids: { well: made.well.id, moody: made.moody.id, mute: made.mute.id },
    secrets: { well: made.well.secret, moody: made.moody.secret, mute: made.mute.secret },
  };
};

/** The ids that an endpoint has taken, and those that it was sent and has not. */
const takenOf = (posts: readonly Posted[]) => {
  const taken = new Set(posts.filter(({ status }) => status === 200).map(idOfPost));
  return { taken, refused: new Set(posts.map(idOfPost).filter((id) => !taken.has(id))) };
};

/** Everything has been posted once; then time passes until what was refused has been tried as often as it is. */
const finish = async (
  run: Run,
  { api, well, moody, ids }: World,
  clients: Clients,
  sends: number,
): Promise<readonly string[]> => {
  run.base = await (await start(run)).listening;
  await eventually(`${sends} emails are accepted`, () => clients.accepted.size >= sends, WITHIN_MS);
  clients.drain();
  await clients.ended;
  await eventually('every email has come to an end', () => hasEnded(api), WITHIN_MS);
  await stop(run, 'SIGTERM');
  const told = await toldByLog(run.dataDir);
  run.base = await (await start(run)).listening;
  for (const { posts } of [well, moody]) {
    let seen = 0;
    const had = new Set<string>();
    const hasAll = (): boolean => {
      for (; seen < posts.length; seen += 1) had.add(idOfPost(posts[seen]!));
      return had.size >= told.length;
    };
    await eventually(`${told.length} events have been posted`, hasAll, WITHIN_MS);
  }
  for (let step = 0; step < 3 * ATTEMPTS; step += 1) {
    await stop(run, 'SIGTERM');
    const before = countsOf(moody.posts);
    run.shiftMs += STEP_MS;
    run.base = await (await start(run)).listening;
    const open = await openAt(api, ids.moody, moody);
    if (open.size === 0) break;
    const isTriedAgain = (): boolean => {
      const now = countsOf(moody.posts);
      return [...open].every((id) => now.get(id)! > before.get(id)!);
    };
    await eventually(`${open.size} refused events are tried again`, isTriedAgain, WITHIN_MS);
  }
  return told;
};

const hasEnded = async (api: WebhookApi): Promise<boolean> => {
  for (const status of ['queued', 'scheduled', 'processing'])
    if ((await api.call<{ meta: { total: number } }>('GET', `/api/emails?limit=1&status=${status}`)).meta.total > 0)
      return false;
  return true;
};

const countsOf = (posts: readonly Posted[]): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const post of posts) counts.set(idOfPost(post), (counts.get(idOfPost(post)) ?? 0) + 1);
  return counts;
};

/** The events that have failed and are tried again. */
const openAt = async (api: WebhookApi, id: string, endpoint: Endpoint): Promise<ReadonlySet<string>> => {
  const { refused } = takenOf(endpoint.posts);
  const last = new Map<string, string | undefined>();
  for (const { eventId, nextRetryAt } of await api.deliveries(id))
    if (!last.has(eventId)) last.set(eventId, nextRetryAt);
  return new Set([...refused].filter((event) => last.get(event) !== undefined));
};

/** Checks the records of posts that were refused to the end: four attempts, all failed, and none to come. */
const faultsOfRefused = async ({ api, ids, moody }: World): Promise<readonly string[]> => {
  const records = new Map<string, WebhookDelivery[]>();
  for (const record of await api.deliveries(ids.moody))
    records.set(record.eventId, [...(records.get(record.eventId) ?? []), record]);
  return [...takenOf(moody.posts).refused].flatMap((id) => {
    const own = records.get(id) ?? [];
    const isFailed =
      own[0]?.attempt === ATTEMPTS && own.every(({ status, statusCode }) => status === 'failed' && statusCode === 500);
    return isFailed ? [] : [`refusing: ${id} was never taken, and ${own.length} attempts are recorded`];
  });
};

const judge = async (run: Run, world: World, told: readonly string[]): Promise<void> => {
  const { api, ids, secrets } = world;
  for (const name of ['well', 'moody', 'mute'] as const)
    run.faults.push(...faultsOfPosts(name, world[name].posts, secrets[name]));
  for (const name of ['well', 'moody'] as const)
    run.faults.push(...faultsOfChain(name, world[name].posts, await api.events(ids[name]), told));
  run.faults.push(...faultsOfList('mute', await api.events(ids.mute), told), ...(await faultsOfRefused(world)));
  await stop(run, 'SIGTERM');
  const { code, stdout, stderr } = await runCommand(['verify'], run.settings, WITHIN_MS);
  if (code !== 0) run.faults.push(`verify: ${stdout}${stderr}`);
};

const openSink = (seed: number): Promise<SmtpScriptServer> => {
  const random = seededRandom(seed + 7);
  return openSmtpScript({
    script: ({ step }) => (step === 'message' && random.chance(0.03) ? reply('451 4.3.0 not now') : undefined),
    discardRaw: true,
  });
};

/** `rounds`: kills; `sends`: how many emails are accepted meanwhile, about. */
export const webhookKillsTest = async ({
  rounds,
  seed,
  print,
  sends = SENDS,
}: ProgramOptions & Readonly<{ sends?: number }>): Promise<FaultReport> => {
  const startedMs = performance.now();
  const dataDir = mkdtempSync(join(tmpdir(), 'sealpost-webhooks-'));
  const sink = await openSink(seed);
  const settings = {
    SEALPOST_DATA_DIR: dataDir,
    SEALPOST_SMTP_URL: `${sink.url}?tls=off`,
    SEALPOST_RETRY_DELAYS: Array.from({ length: 20 }, () => '1').join(','),
    SEALPOST_WEBHOOK_INSECURE_HOSTS: '127.0.0.1',
    SEALPOST_LOG_LEVEL: 'error',
  };
  const run: Run = {
    settings,
    dataDir,
    random: seededRandom(seed),
    faults: [],
    server: undefined,
    base: undefined,
    shiftMs: 0,
  };
  const world = await openWorld(run, seed);
  let allowed = 0;
  const clients = startClients({
    senders: SENDERS,
    seed,
    apiKey: world.api.key,
    base: () => run.base,
    tooFarAhead: () => clients.accepted.size >= allowed,
  });
  try {
    for (let round = 1; round <= rounds; round += 1) {
      const share = Math.ceil(sends / rounds);
      allowed = share * round;
      await killOnce(run, clients, allowed - run.random.between(0, share - 1));
      if (round % 5 === 0)
        print(
          `  kill ${round}: ${clients.accepted.size} accepted, ${world.well.posts.length} posts to the one that is well`,
        );
    }
    const told = await finish(run, world, clients, sends);
    run.faults.push(...clients.faults);
    await judge(run, world, told);
    return { counts: countsOfRun(world, clients, told, rounds, performance.now() - startedMs), faults: run.faults };
  } finally {
    clients.drain();
    await run.server?.end('SIGKILL');
    await Promise.all([sink, world.well, world.moody, world.mute].map((one) => one.close()));
    rmSync(dataDir, { recursive: true, force: true });
  }
};

const countsOfRun = (
  { well, moody, mute }: World,
  clients: Clients,
  told: readonly string[],
  kills: number,
  durationMs: number,
) => {
  const { taken, refused } = takenOf(moody.posts);
  return {
    kills,
    'emails answered 201': clients.accepted.size,
    'events that the log tells of': told.length,
    'events at the endpoint that is well': countsOf(well.posts).size,
    'of them twice or more': well.posts.length - countsOf(well.posts).size,
    'posts to the one that refuses half': moody.posts.length,
    'events that it took': taken.size,
    'events that it refused four times': refused.size,
    'posts to the one that never answers': mute.posts.length,
    seconds: Math.round(durationMs / 1_000),
  };
};
