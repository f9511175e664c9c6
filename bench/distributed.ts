/**
 * The distributed engine: CPU per email of all our processes against a limit program that makes the same calls, and at
 * one, two and four delivering processes; how far the read models lag; how soon a revoked key is refused everywhere.
 * `--help` shows how to run less of it.
 */
import { loadavg } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { CreatedApiKey } from '../src/api/keys.js';
import { captureMail } from './support/captured-mail.js';
import {
  captureRecipe,
  profileCluster,
  runCluster,
  runEmbedded,
  runLimit,
  settled,
  smtpSettings,
  withCluster,
  type ClusterRun,
  type Counts,
  type Ready,
} from './support/cluster-runs.js';
import { clusterRoles, startRole } from './support/cluster.js';
import { machine } from './support/machine.js';
import { orderRequest } from './support/orders.js';
import { compareMeasures, median } from './support/pairs.js';
import { pinToLoad } from './support/programs.js';
import { figuresOf, report, type Figure } from './support/results.js';
import { withDirectory } from './support/scratch.js';
import { freePort, openServers, type Servers } from './support/servers.js';

const LIMIT_RATIO_MAX = 1.2;
const GROWTH_MAX = 1.15;
const LAG_MAX_S = 1;
const REVOKED_MAX_MS = 1_000;
const workerCounts = [1, 2, 4] as const;

const parts = ['limit', 'workers', 'lag', 'revoked', 'profile'] as const;
const { values: given } = parseArgs({
  options: {
    emails: { type: 'string', default: '1000' },
    'warm-up': { type: 'string', default: '1000' },
    pairs: { type: 'string', default: '8' },
    rounds: { type: 'string', default: '3' },
    only: { type: 'string', default: parts.join(',') },
    help: { type: 'boolean', default: false },
  },
});
const counts: Counts = { emails: Number(given.emails), warmUp: Number(given['warm-up']) };
const [pairs, rounds] = [Number(given.pairs), Number(given.rounds)];

/** CPU of each email against the limit program and the embedded engine. */
const againstLimit = async (servers: Servers, runs: ClusterRun[]): Promise<readonly Figure[]> => {
  const recipe = await captureRecipe(servers);
  const mail = await withDirectory((directory) => captureMail(directory, smtpSettings));
  const ours = async (): Promise<number> => {
    const run = await runCluster(servers, counts, 1);
    runs.push(run);
    return run.cpuUs;
  };
  const result = await compareMeasures({
    name: 'an email on the distributed engine',
    ours,
    limit: () => runLimit(servers, counts, recipe, mail),
    pairs,
    operations: counts.emails,
  });
  const embedded: number[] = [];
  for (let round = 0; round < rounds; round += 1) embedded.push(await runEmbedded(counts));
  const embeddedUs = median(embedded);
  return [
    ...figuresOf(result, 'µs/email', { atMost: LIMIT_RATIO_MAX }),
    ...clusterRoles.map((role) => ({
      what: `of it ${role}`,
      value: median(runs.map(({ byRole }) => byRole[role])),
      unit: 'µs/email',
    })),
    { what: 'embedded engine', value: embeddedUs, unit: 'µs/email' },
    { what: 'distributed / embedded', value: result.oursUs / embeddedUs, unit: '' },
  ];
};

/** Every delivering process has done as many emails before. */
const warmFor = (workers: number): Counts => ({ ...counts, warmUp: counts.warmUp * workers });

/** CPU of each email by the number of delivering processes, interleaved. */
const byWorkers = async (servers: Servers): Promise<readonly Figure[]> => {
  const found = new Map<number, number[]>(workerCounts.map((workers) => [workers, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const workers of workerCounts)
      found.get(workers)!.push((await runCluster(servers, warmFor(workers), workers)).cpuUs);
  }
  const ofOne = found.get(1)!;
  const growth = (workers: number): number => median(found.get(workers)!.map((us, round) => us / ofOne[round]!));
  return [
    ...workerCounts.map((workers) => ({
      what: `with ${workers} delivering`,
      value: median(found.get(workers)!),
      unit: 'µs/email',
    })),
    ...[2, 4].map((workers) => ({
      what: `${workers} delivering / 1`,
      value: growth(workers),
      unit: '',
      target: { atMost: GROWTH_MAX },
    })),
  ];
};

const LOAD_FOR_S = 20;
const STEPS_PER_S = 10;
/** Rate at which the next email is sent as soon as one is answered, as a share of the maximum throughput. */
const STEADY_SHARE = 0.9;

/** How far the read models lag while emails come in at the highest rate that everything keeps up with. */
const lag = async (servers: Servers): Promise<readonly Figure[]> => {
  const port = await freePort();
  const projectEnv = { SEALPOST_METRICS_PORT: String(port) };
  return withCluster(servers, { workers: 1, projectEnv }, async ({ cluster: { service }, sink }) => {
    await service.accept(counts.warmUp, orderRequest);
    await settled(service, sink, counts.warmUp);
    const startMs = performance.now();
    await service.accept(counts.emails, orderRequest);
    await settled(service, sink, counts.warmUp + counts.emails);
    const perStep = Math.max(
      1,
      Math.floor((STEADY_SHARE * counts.emails * 1_000) / (performance.now() - startMs) / STEPS_PER_S),
    );
    const lags: number[] = [];
    const over = new AbortController();
    const watching = watchLag(port, lags, over.signal);
    const answers: Promise<unknown>[] = [];
    const steps = LOAD_FOR_S * STEPS_PER_S;
    const fromMs = performance.now();
    for (let step = 0; step < steps; step += 1) {
      await wait(Math.max(0, fromMs + (step * 1_000) / STEPS_PER_S - performance.now()));
      answers.push(service.accept(perStep, orderRequest));
    }
    await Promise.all(answers);
    over.abort();
    await watching;
    await settled(service, sink, counts.warmUp + counts.emails + steps * perStep);
    const sorted = lags.toSorted((a, b) => a - b);
    return [
      { what: 'steady rate', value: perStep * STEPS_PER_S, unit: 'emails/s' },
      { what: 'lag of the read models, median', value: median(lags), unit: 's' },
      {
        what: 'lag of the read models, most',
        value: sorted.at(-1) ?? Number.NaN,
        unit: 's',
        target: { atMost: LAG_MAX_S },
      },
    ];
  });
};

const LOOK_EVERY_MS = 200;

const watchLag = async (port: number, lags: number[], over: AbortSignal): Promise<void> => {
  while (!over.aborted) {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const found = [...text.matchAll(/^sealpost_projection_lag_seconds\{[^}]*\} (\S+)$/gm)].map(([, value]) =>
      Number(value),
    );
    if (found.length === 0) throw new Error('the figures have no lag of the read models');
    lags.push(Math.max(...found));
    await wait(LOOK_EVERY_MS);
  }
};

const REVOCATIONS = 20;

/** How long a key that one process has revoked is still taken by another. */
const revoked = (servers: Servers): Promise<readonly Figure[]> =>
  withCluster(servers, { workers: 1 }, async (ready) => {
    const other = await startRole('http', {
      ...ready.env,
      PORT: '0',
      SEALPOST_DATA_DIR: `${ready.directory}/http-other`,
    });
    try {
      const port = Number((await other.saw(/sealpost is running on http:\/\/[^\s:]+:(\d+)/))[1]);
      const times: number[] = [];
      for (let round = 0; round < REVOCATIONS; round += 1) times.push(await revokeOnce(ready, port));
      await other.stop();
      return [
        { what: 'a revoked key is refused elsewhere, median', value: median(times), unit: 'ms' },
        { what: 'the same, slowest', value: Math.max(...times), unit: 'ms', target: { atMost: REVOKED_MAX_MS } },
      ];
    } finally {
      other.kill();
    }
  });

const revokeOnce = async ({ cluster: { service } }: Ready, otherPort: number): Promise<number> => {
  const authorization = `Bearer ${service.firstKey}`;
  const keys = `http://127.0.0.1:${service.port}/api/api-keys`;
  const made = await fetch(keys, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'to be revoked', permissions: ['emails:read'] }),
  });
  if (made.status !== 201) throw new Error(`no key was made: ${made.status} ${await made.text()}`);
  const { id, key } = (await made.json()) as CreatedApiKey;
  const statusElsewhere = async (): Promise<number> => {
    const answer = await fetch(`http://127.0.0.1:${otherPort}/api/emails?limit=1`, {
      headers: { authorization: `Bearer ${key}` },
    });
    await answer.arrayBuffer();
    return answer.status;
  };
  while ((await statusElsewhere()) !== 200) await wait(10);
  const gone = await fetch(`${keys}/${id}`, { method: 'DELETE', headers: { authorization } });
  if (!gone.ok) throw new Error(`the key was not revoked: ${gone.status} ${await gone.text()}`);
  await gone.arrayBuffer();
  const startMs = performance.now();
  for (;;) {
    const status = await statusElsewhere();
    if (status === 401) return performance.now() - startMs;
    if (status !== 200 || performance.now() - startMs > 60_000) throw new Error(`a revoked key was answered ${status}`);
    await wait(5);
  }
};

const measureAll = async (servers: Servers): Promise<void> => {
  const wanted = new Set(given.only.split(','));
  const figures: Figure[] = [];
  const runs: ClusterRun[] = [];
  const loads: string[] = [];
  const add = async (part: (typeof parts)[number], measure: () => Promise<readonly Figure[]>): Promise<void> => {
    if (!wanted.has(part)) return;
    figures.push(...(await measure()));
    loads.push(`${part} ${loadavg()[0]!.toFixed(1)}`);
    console.log(`${part}: done, load average ${loadavg()[0]!.toFixed(1)}`);
  };
  await add('limit', () => againstLimit(servers, runs));
  await add('workers', () => byWorkers(servers));
  await add('lag', () => lag(servers));
  await add('revoked', () => revoked(servers));
  if (wanted.has('profile')) {
    const run = runs.at(-1) ?? (await runCluster(servers, counts, 1));
    for (const line of await profileCluster(servers, counts, run.byRole)) console.log(line);
  }
  report({
    name: 'distributed',
    figures,
    machine: { ...machine(), eventStore: servers.eventStore, loadAverage: loads.join(', ') },
    details: { ...counts, pairs, rounds, runs },
  });
  console.log(`  load average after each part: ${loads.join(', ')}`);
};

if (given.help) {
  console.log(`--emails N --warm-up N --pairs N --rounds N --only ${parts.join(',')}`);
} else {
  await withDirectory(async (directory) => {
    // The servers are not held to the core of the load.
    const servers = await openServers(directory);
    try {
      pinToLoad();
      await measureAll(servers);
    } finally {
      servers.stop();
    }
  });
}
