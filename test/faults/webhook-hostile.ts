/**
 * Endpoints that mean no good: slow byte by byte, endless, behind wrong certificates, redirecting inside, behind names
 * that change, gone in the midst. Each delivery to them ends as failed, in time and in little memory, and the one
 * beside them that is well gets everything.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WebhookDelivery } from '../../src/api/webhooks.js';
import { sendBody } from '../support/app.js';
import { startServer, type ServerProcess } from '../support/server-process.js';
import { eventually } from '../support/wait.js';
import { openQuickRelay } from './quick-relay.js';
import type { FaultReport, ProgramOptions } from './report.js';
import { openWebhookApi, type WebhookApi } from './webhook-api.js';
import { certificate, openHostileEndpoints, type HostileEndpoints } from './webhook-hostile-endpoints.js';

/** An attempt takes 30 s at most; what is left is for a busy machine. */
const WITHIN_MS = 150_000;
const MB = 1_000_000;
/** Half of it is the heap of a program that has just begun to work; an endless answer that is kept takes gigabytes. */
const GROWTH_MAX_MB = 250;

const memoryBytes = (pid: number, name: 'VmRSS' | 'VmHWM'): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024;

/** DNS answers of host names, most of which lead to an internal address. */
const names = {
  // Allowed on loopback as hosts for development are, and nowhere else.
  'other.test': [['127.0.0.1']],
  'turns.test': [['127.0.0.1'], ['10.0.0.1']],
  'inside.test': [['127.0.0.1', '::1', '10.0.0.1', '169.254.169.254']],
  'rebinds.test': ['EAI_AGAIN', ['127.0.0.1']],
};

type Run = Readonly<{
  api: WebhookApi;
  endpoints: HostileEndpoints;
  ids: ReadonlyMap<string, string>;
  faults: string[];
}>;

/** One mail, told to every endpoint: each has one attempt more on record, failed but for the one that is well. */
const tellAll = async ({ api, endpoints, ids, faults }: Run, round: number): Promise<void> => {
  await api.call('POST', '/api/emails/send', sendBody());
  for (const { name, isTaken = () => false } of endpoints.all) {
    const record = await eventually(
      `${name} has an attempt on record`,
      () => firstAttempt(api, ids.get(name)!, round),
      WITHIN_MS,
    );
    const { status, error, responseTime } = record;
    const expected = isTaken(round) ? 'success' : 'failed';
    if (status !== expected)
      faults.push(`${name}, mail ${round}: ${status} instead of ${expected} (${JSON.stringify(record)})`);
    if (status === 'failed' && (error ?? '') === '') faults.push(`${name}, mail ${round}: nothing says why it failed`);
    if (status === 'failed' && record.nextRetryAt === undefined)
      faults.push(`${name}, mail ${round}: it is not tried again`);
    if (responseTime > WITHIN_MS) faults.push(`${name}, mail ${round}: it took ${responseTime} ms`);
  }
};

/** First attempt for the n-th event of a subscription. */
const firstAttempt = async (api: WebhookApi, id: string, round: number): Promise<WebhookDelivery | undefined> => {
  const [event] = (await api.events(id)).slice(round - 1);
  return (await api.deliveries(id)).find(({ eventId, attempt }) => eventId === event?.id && attempt === 1);
};

const open = async (server: ServerProcess, endpoints: HostileEndpoints): Promise<Run> => {
  const base = await server.listening;
  const api = await openWebhookApi(() => base, await server.firstKey());
  const ids = new Map<string, string>();
  for (const { name, url } of endpoints.all) ids.set(name, (await api.subscribe(url, ['email.sent'])).id);
  return { api, endpoints, ids, faults: [] };
};

/** `rounds`: mails, each told to every endpoint. */
export const webhookHostileTest = async ({
  rounds,
  print,
}: Pick<ProgramOptions, 'rounds' | 'print'>): Promise<FaultReport> => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sealpost-hostile-'));
  const trusted = join(dataDir, 'trusted.pem');
  writeFileSync(trusted, Buffer.concat([certificate('valid'), Buffer.from('\n'), certificate('expired')]));
  const relay = await openQuickRelay();
  const endpoints = await openHostileEndpoints();
  const settings = {
    SEALPOST_DATA_DIR: dataDir,
    SEALPOST_SMTP_URL: relay.url,
    SEALPOST_LOG_LEVEL: 'warn',
    SEALPOST_WEBHOOK_INSECURE_HOSTS: '127.0.0.1,localhost,other.test,turns.test',
    NODE_EXTRA_CA_CERTS: trusted,
    TOLD_NAMES: JSON.stringify(names),
  };
  const server = startServer(settings, new URL('../support/told-names.js', import.meta.url).href);
  try {
    const run = await open(server, endpoints);
    const restBytes = memoryBytes(server.pid, 'VmRSS');
    for (let round = 1; round <= rounds; round += 1) {
      await tellAll(run, round);
      print(`  mail ${round}: ${endpoints.all.length} endpoints, ${run.faults.length} faults`);
    }
    const growthMb = Math.round((memoryBytes(server.pid, 'VmHWM') - restBytes) / MB);
    if (growthMb > GROWTH_MAX_MB)
      run.faults.push(`the memory of the service grew by ${growthMb} MB, ${GROWTH_MAX_MB} are allowed`);
    run.faults.push(...endpoints.trespasses());
    const { code } = await server.end('SIGTERM');
    if (code !== 0) run.faults.push(`the stop ended with ${code}`);
    return {
      counts: {
        'hostile endpoints': endpoints.all.filter(({ isTaken }) => isTaken === undefined).length,
        'mails told to each': rounds,
        'bytes that the endless one got rid of': endpoints.endlessBytes(),
        'growth of memory, MB': growthMb,
      },
      faults: run.faults,
    };
  } finally {
    await server.end('SIGKILL');
    await Promise.all([relay.close(), endpoints.close()]);
    rmSync(dataDir, { recursive: true, force: true });
  }
};
