/**
 * Hostile sizes against a real server: every endpoint of its API description gets values of hostile sizes at random
 * places, and it is measured how long each holds the event loop and how much memory it takes.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { firstPermissions } from '../../src/domain/access/permissions.js';
import type { JsonObject } from '../../src/domain/core/json.js';
import { seededRandom } from '../support/random.js';
import { startServer, type ServerProcess } from '../support/server-process.js';
import { fragments, hostileRequest, operationsOf, type HostileRequest } from './hostile-inputs.js';
import { bodyOf, followed, type Call } from './hostile-calls.js';
import type { Gauge } from './loop-gauge.js';
import type { FaultReport } from './report.js';

/** `rounds`: how often each value is put into each endpoint. */
export type SizesOptions = Readonly<{ rounds: number; seed: number; only?: RegExp; print: (line: string) => void }>;

export const HELD_MS_MAX = 100;
export const ADDED_MB_MAX = 150;
/** A call above its bound is tried again: the machine may have been busy, or the code not yet compiled. */
const TRIES = 3;
/** On a machine that has much else to do it takes long. */
const SERVES_AT_MOST_MS = 6 * 60 * 60_000;
/** A server that is gone is told as ended when all that it said is read. */
const ENDED_WITHIN_MS = 2_000;
const OUTPUT_CHARS_MAX = 20_000;
const SIZES_BYTES = [20_000, 90_000, 900_000, 9_900_000];

const agent = new Agent({ keepAlive: true });

const exchange = (
  options: Parameters<typeof httpRequest>[1],
  body: Buffer | undefined,
): Promise<Readonly<{ status: number; text: string }>> =>
  new Promise((resolve, reject) => {
    const request = httpRequest({ agent, ...(options as object) }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
      response.on('error', reject);
    });
    request.on('error', reject);
    request.end(body);
  });

const callOf =
  (base: URL, key: string): Call =>
  async ({ method, path, headers, body }) => {
    const all = {
      authorization: `Bearer ${key}`,
      ...headers,
      ...(body === undefined ? {} : { 'content-length': body.length }),
    };
    const { status, text } = await exchange(
      { host: base.hostname, port: base.port, method, path, headers: all } as never,
      body,
    );
    return { status, body: objectIn(text) };
  };

const objectIn = (text: string): JsonObject => {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
  } catch {
    return {};
  }
};

type Target = Readonly<{ server: ServerProcess; call: Call; gauge: () => Promise<Gauge>; document: JsonObject }>;

const begin = async (dataDir: string): Promise<Target> => {
  const socketPath = join(dataDir, 'gauge.sock');
  const settings = { SEALPOST_DATA_DIR: dataDir, SEALPOST_LOG_LEVEL: 'error', LOOP_GAUGE_SOCKET: socketPath };
  const server = startServer(settings, new URL('./loop-gauge.js', import.meta.url).href, SERVES_AT_MOST_MS);
  const base = new URL(await server.listening);
  const first = callOf(base, await server.firstKey());
  const request = { name: 'sizes', permissions: firstPermissions, rateLimit: 10_000_000 };
  const { body } = await first({ method: 'POST', path: '/api/api-keys', ...bodyOf(request) });
  if (typeof body['key'] !== 'string') throw new Error(`no key was made: ${JSON.stringify(body)}`);
  const call = callOf(base, body['key']);
  const gauge = async (): Promise<Gauge> =>
    JSON.parse((await exchange({ socketPath, path: '/' } as never, undefined)).text) as Gauge;
  const { body: document } = await call({ method: 'GET', path: '/openapi.json', headers: {}, body: undefined });
  return { server, call, gauge, document };
};

type Outcome = Readonly<{ statuses: readonly number[]; gauge: Gauge }>;

/** A turn that computed less than the bound was held by whoever else had the processor. */
const isHeavy = ({ heldMs, cpuMs, addedMb }: Gauge): boolean =>
  Math.min(heldMs, cpuMs) > HELD_MS_MAX || addedMb > ADDED_MB_MAX;
const isFaulty = (status: number): boolean => status >= 500 && status !== 503;

const attempt = async (target: Target, request: HostileRequest): Promise<Outcome> => {
  await target.gauge();
  try {
    const answer = await target.call(request);
    return {
      statuses: [answer.status, ...(await followed(target.call, request, answer))],
      gauge: await target.gauge(),
    };
  } catch (fault) {
    // The server may close a connection whose headers or body are too large before all of it is sent; it must go on.
    if (!['ECONNRESET', 'EPIPE'].includes(String((fault as NodeJS.ErrnoException).code))) throw fault;
    return { statuses: [0], gauge: await target.gauge() };
  }
};

/** Out: the fault of a call; where the server has ended, how it ended and what it said last. */
export const endOf = async ({ ended }: Pick<ServerProcess, 'ended'>, fault: unknown): Promise<unknown> => {
  const over = new AbortController();
  const late = sleep(ENDED_WITHIN_MS, undefined, over).catch(() => undefined);
  const end = await Promise.race([ended, late]);
  over.abort();
  if (end === undefined) return fault;
  const { code, signal, stdout, stderr } = end;
  const said = `${stdout}\n${stderr}`.slice(-OUTPUT_CHARS_MAX);
  return new Error(`the server ended (code ${code}, signal ${signal}); it said:\n${said}`, { cause: fault });
};

/**
 * Rejects only where it could not be run; what is above a bound, and what is answered by a fault of ours, stands in
 * `faults`.
 */
export const sizesTest = async ({ rounds, seed, only, print }: SizesOptions): Promise<FaultReport> => {
  const random = seededRandom(seed);
  const dataDir = mkdtempSync(join(tmpdir(), 'sealpost-sizes-'));
  const faults: string[] = [];
  const counts = {
    requests: 0,
    accepted: 0,
    refused: 0,
    closed: 0,
    'tried again': 0,
    'held at most, ms': 0,
    'added at most, MB': 0,
  };
  const target = await begin(dataDir);
  const note = ({ statuses, gauge }: Outcome): void => {
    counts.requests += 1;
    const [status = 0] = statuses;
    if (status === 0) counts.closed += 1;
    else if (status < 400) counts.accepted += 1;
    else counts.refused += 1;
    counts['held at most, ms'] = Math.max(counts['held at most, ms'], Math.round(Math.min(gauge.heldMs, gauge.cpuMs)));
    counts['added at most, MB'] = Math.max(counts['added at most, MB'], Math.round(gauge.addedMb));
  };
  const tryOut = async (request: HostileRequest): Promise<void> => {
    let outcome = await attempt(target, request);
    for (let tries = 1; tries < TRIES && isHeavy(outcome.gauge); tries += 1) {
      counts['tried again'] += 1;
      const again = await attempt(target, request);
      const { heldMs, addedMb, cpuMs } = again.gauge;
      outcome = {
        statuses: [...outcome.statuses, ...again.statuses],
        gauge: {
          heldMs: Math.min(heldMs, outcome.gauge.heldMs),
          addedMb: Math.min(addedMb, outcome.gauge.addedMb),
          cpuMs: Math.min(cpuMs, outcome.gauge.cpuMs),
        },
      };
    }
    note(outcome);
    const { statuses, gauge } = outcome;
    if (isHeavy(gauge) || statuses.some(isFaulty))
      faults.push(
        `${request.name}: answered ${statuses.join(', ')}, held ${gauge.heldMs.toFixed(0)} ms (${gauge.cpuMs.toFixed(0)} of its own), added ${gauge.addedMb.toFixed(0)} MB`,
      );
  };
  try {
    for (let round = 1; round <= rounds; round += 1) {
      for (const operation of operationsOf(target.document)) {
        if (only?.test(`${operation.method} ${operation.path}`) === false) continue;
        for (const fragment of fragments) {
          await tryOut(hostileRequest(operation, fragment, { random, sizesBytes: SIZES_BYTES }));
        }
        print(
          `  round ${round}, ${operation.method} ${operation.path}: ${counts.requests} requests, ${faults.length} faults`,
        );
      }
    }
    return { counts, faults };
  } catch (fault) {
    throw await endOf(target.server, fault);
  } finally {
    await target.server.end('SIGKILL');
    rmSync(dataDir, { recursive: true, force: true });
  }
};
