/**
 * A relay is away while mails come, and is back: all that waited leaves at once, at about the rate of always, and what
 * comes meanwhile waits behind none of it.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CreatedApiKey } from '../../src/api/keys.js';
import type { EmailRecord, SendEmailResponse } from '../../src/api/email.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import type { Priority } from '../../src/domain/ports/bus.js';
import { sendBody } from '../support/app.js';
import { runCommand, startServer } from '../support/server-process.js';
import { eventually, pause } from '../support/wait.js';
import type { Gauge } from './loop-gauge.js';
import { openQuickRelay, type QuickRelay } from './quick-relay.js';
import type { FaultReport, ProgramOptions } from './report.js';

/** Mails of one round of a long run. */
const MAILS = 20_000;
const SENDERS = 32;
const PROBE_EVERY_MS = 50;
const WITHIN_MS = 300_000;
/** The promises of the service, measured on a machine that does little else. */
const RATE_SHARE_MIN = 0.8;
const LIVE_P99_MS = 100;
/** Computed by the thread in one turn, whoever else has the processor. */
const TURN_MS_MAX = 100;
const NORMAL_MS_MAX = 1_000;
const HIGH_P99_MS = 100;
/** Records that are checked of the mails that came while the relay was away. */
const LOOKED_AT = 50;

type Api = Readonly<{
  send: (priority?: Priority) => Promise<string>;
  record: (messageId: string) => Promise<EmailRecord>;
  live: () => Promise<void>;
  pushOn: () => Promise<void>;
}>;

const openApi = async (base: string, firstKey: string): Promise<Api> => {
  const call = async <Answer>(key: string, method: string, path: string, body?: unknown): Promise<Answer> => {
    const response = await fetch(base + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}: ${text}`);
    return JSON.parse(text) as Answer;
  };
  const { key } = await call<CreatedApiKey>(firstKey, 'POST', '/api/api-keys', {
    name: 'outage',
    permissions: ['emails:send', 'emails:read'],
    rateLimit: defaultLimits.apiKeyRateLimitMax,
  });
  const idOf = new Map<string, string>();
  return {
    send: async (priority) => {
      const { id, messageId } = await call<SendEmailResponse>(
        key,
        'POST',
        '/api/emails/send',
        sendBody(priority === undefined ? {} : { priority }),
      );
      idOf.set(messageId, id);
      return messageId;
    },
    record: (messageId) => call(key, 'GET', `/api/emails/${idOf.get(messageId)}`),
    live: async () => void (await call(key, 'GET', '/health/live')),
    pushOn: async () => void (await call(key, 'POST', '/api/emails/retry', {})),
  };
};

/** How long the server's event loop was held at most since the last question. */
const askGauge = (socketPath: string): Promise<Gauge> =>
  new Promise((resolve, reject) => {
    get({ socketPath, path: '/' }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => resolve(JSON.parse(text) as Gauge));
    }).on('error', reject);
  });

const sendMany = async (api: Api, count: number): Promise<readonly string[]> => {
  const sent: string[] = [];
  let begun = 0;
  const sender = async (): Promise<void> => {
    while (begun < count) {
      begun += 1;
      sent.push(await api.send());
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, sender));
  return sent;
};

const whenTaken = async (relay: QuickRelay, mails: readonly string[]): Promise<void> => {
  let seen = 0;
  const hasAll = (): boolean => {
    while (seen < mails.length && relay.taken.has(mails[seen]!)) seen += 1;
    return seen === mails.length;
  };
  await eventually('the relay has every mail', hasAll, WITHIN_MS);
};

const lastTakenMs = (relay: QuickRelay, mails: readonly string[]): number =>
  mails.reduce((last, id) => Math.max(last, relay.taken.get(id)![0]!), 0);

const firstTakenMs = (relay: QuickRelay, mails: readonly string[]): number =>
  mails.reduce((first, id) => Math.min(first, relay.taken.get(id)![0]!), Infinity);

/**
 * Sends a mail of each priority and asks for a sign of life, again and again until it is stopped. Times are in
 * milliseconds.
 */
const openProbe = (api: Api, relay: QuickRelay) => {
  const sent: Readonly<{ messageId: string; priority: Priority; atMs: number }>[] = [];
  const liveMs: number[] = [];
  let isOver = false;
  const running = (async () => {
    while (!isOver) {
      const atMs = performance.now();
      await api.live();
      liveMs.push(performance.now() - atMs);
      for (const priority of ['normal', 'high'] as const)
        sent.push({ messageId: await api.send(priority), priority, atMs: performance.now() });
      await pause(PROBE_EVERY_MS);
    }
  })();
  return {
    stop: async () => {
      isOver = true;
      await running;
      const mails = sent.map(({ messageId }) => messageId);
      await whenTaken(relay, mails);
      const waitedMs = (of: Priority): readonly number[] =>
        sent
          .filter(({ priority }) => priority === of)
          .map(({ messageId, atMs }) => Math.max(0, relay.taken.get(messageId)![0]! - atMs));
      return { mails, liveMs, normalMs: waitedMs('normal'), highMs: waitedMs('high') };
    },
  };
};

const p99 = (times: readonly number[]): number =>
  [...times].sort((a, b) => a - b)[Math.ceil(times.length * 0.99) - 1] ?? 0;

/** `mails` come while the relay is away; where `judgesTime` is false only what is delivered counts. */
export const outageTest = async ({
  rounds,
  print,
  mails = MAILS,
  judgesTime = true,
}: Pick<ProgramOptions, 'rounds' | 'print'> &
  Readonly<{ mails?: number; judgesTime?: boolean }>): Promise<FaultReport> => {
  const counts: Record<string, number> = {};
  const faults: string[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const figures = await oneOutage(mails);
    print(
      `  round ${round}: ${Object.entries(figures.counts)
        .map(([what, count]) => `${what} ${count}`)
        .join(', ')}`,
    );
    for (const [what, count] of Object.entries(figures.counts))
      counts[`${what} (worst)`] = worse(what, counts[`${what} (worst)`], count);
    faults.push(...figures.faults, ...(judgesTime ? figures.late : []));
  }
  return { counts: { rounds, ...counts }, faults };
};

const worse = (what: string, before: number | undefined, now: number): number =>
  before === undefined ? now : what.includes('a second') ? Math.min(before, now) : Math.max(before, now);

type Outage = FaultReport & Readonly<{ late: readonly string[] }>;

const oneOutage = async (count: number): Promise<Outage> => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sealpost-outage-'));
  const relay = await openQuickRelay();
  const settings = { SEALPOST_DATA_DIR: dataDir, SEALPOST_SMTP_URL: relay.url, SEALPOST_LOG_LEVEL: 'warn' };
  const gauge = join(dataDir, 'gauge.sock');
  const server = startServer(
    { ...settings, LOOP_GAUGE_SOCKET: gauge },
    new URL('./loop-gauge.js', import.meta.url).href,
  );
  try {
    const api = await openApi(await server.listening, await server.firstKey());
    // The first mails are slow: the program is compiled while it runs.
    await whenTaken(relay, await sendMany(api, Math.ceil(count / 4)));
    const fromMs = performance.now();
    const usual = await sendMany(api, count);
    await whenTaken(relay, usual);
    const usualRate = (count * 1_000) / (lastTakenMs(relay, usual) - fromMs);

    await relay.close();
    const held = await sendMany(api, count);
    for (const id of held.slice(-LOOKED_AT))
      await eventually(`${id} is held`, async () => (await api.record(id)).nextAttemptAt ?? undefined, WITHIN_MS);
    await relay.open();
    await askGauge(gauge);
    await api.pushOn();
    // Emails that are sent before the service knows that the relay is back wait like all the others.
    await eventually('the first leaves', () => held.some((id) => relay.taken.has(id)), WITHIN_MS);
    const probe = openProbe(api, relay);
    await whenTaken(relay, held);
    const { heldMs, cpuMs } = await askGauge(gauge);
    const met = await probe.stop();
    const rate = (count * 1_000) / (lastTakenMs(relay, held) - firstTakenMs(relay, held));
    const figures = {
      usualRate,
      rate,
      live: p99(met.liveMs),
      turn: Math.min(heldMs, cpuMs),
      normal: Math.max(...met.normalMs),
      high: p99(met.highMs),
    };
    const faults = [
      ...copiesOf(relay, [...usual, ...held, ...met.mails]),
      ...(await attemptsOf(api, held.slice(-LOOKED_AT))),
    ];
    await server.end('SIGTERM');
    const { code, stdout, stderr } = await runCommand(['verify'], settings, WITHIN_MS);
    return {
      counts: countsOf(figures, count),
      faults: code === 0 ? faults : [...faults, `verify: ${stdout}${stderr}`],
      late: lateOf(figures),
    };
  } finally {
    await server.end('SIGKILL');
    await relay.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
};

type Figures = Readonly<{ usualRate: number; rate: number; live: number; turn: number; normal: number; high: number }>;

const countsOf = ({ usualRate, rate, live, turn, normal, high }: Figures, mails: number) => ({
  'mails while it was away': mails,
  'mails a second as always': Math.round(usualRate),
  'mails a second after it': Math.round(rate),
  'sign of life, ms P99': Math.round(live),
  'a turn of the event loop, ms at most': Math.round(turn),
  'a new normal mail, ms at most': Math.round(normal),
  'a new high mail, ms P99': Math.round(high),
});

const lateOf = ({ usualRate, rate, live, turn, normal, high }: Figures): readonly string[] => [
  ...(rate >= usualRate * RATE_SHARE_MIN
    ? []
    : [`after the outage ${Math.round(rate)} mails a second leave, usually ${Math.round(usualRate)}`]),
  ...(live <= LIVE_P99_MS ? [] : [`a sign of life took ${Math.round(live)} ms (P99)`]),
  ...(turn <= TURN_MS_MAX ? [] : [`a turn of the event loop took ${Math.round(turn)} ms`]),
  ...(normal <= NORMAL_MS_MAX ? [] : [`a new normal mail waited ${Math.round(normal)} ms`]),
  ...(high <= HIGH_P99_MS ? [] : [`a new high mail waited ${Math.round(high)} ms (P99)`]),
];

const copiesOf = ({ taken }: QuickRelay, mails: readonly string[]): readonly string[] =>
  mails.flatMap((id) =>
    taken.get(id)?.length === 1 ? [] : [`the relay has ${taken.get(id)?.length ?? 0} copies of ${id}`],
  );

/** A mail that came while the relay was away is attempted once, when it is back. */
const attemptsOf = async (api: Api, mails: readonly string[]): Promise<readonly string[]> => {
  const faults: string[] = [];
  for (const id of mails) {
    const { status, attempts } = await api.record(id);
    if (status !== 'sent' || attempts.length > 1) faults.push(`${id} is ${status} after ${attempts.length} attempts`);
  }
  return faults;
};
