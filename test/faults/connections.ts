/**
 * Clients that take and do not give: thousands of connections that say nothing, and pipelined requests whose answers
 * nobody reads. Others are answered meanwhile, the memory of the service stays in its bounds, and those who do not read
 * are ended.
 */
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from '../support/server-process.js';
import { eventually } from '../support/wait.js';
import type { FaultReport, ProgramOptions } from './report.js';

const MB = 1_000_000;
/** The bound of unread answers of all, and what their requests and connections take. */
const GROWTH_MAX_MB = 400;
/** CPU that the service may spend before it answers somebody else; the time would be that of a busy machine. */
const CPU_BEFORE_ANSWER_MAX_MS = 1_000;
/** A tick of proc_pid_stat(5). */
const TICK_MS = 10;
const SILENCE_MS = 5_000;
/** Connections whose answers the buffers of the system took are idle, and end as such. */
const ENDED_WITHIN_MS = 120_000;
const PROBED_EVERY_MS = 200;
const OTHER = '127.0.0.99';
/** The largest that are given without a key: one from memory, one from a file. */
const LARGE_ANSWERS = ['/openapi.json', '/docs/static/swagger-ui-bundle.js'];

export type ConnectionsOptions = Pick<ProgramOptions, 'rounds' | 'print'> &
  Readonly<{
    /** Addresses that attack at once. */
    addresses?: number;
    /** Connections of each that read nothing, with so many requests on each. */
    unread?: number;
    pipelined?: number;
    /** Connections of the first address that say nothing. */
    idle?: number;
  }>;

type Target = Readonly<{ port: number; pid: number }>;

const peakBytes = (pid: number, name: 'VmRSS' | 'VmHWM'): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024;

const cpuMs = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
};

/** Opens connections that never read; resolves when each is open or refused. */
const attack = async (port: number, localAddress: string, count: number, bytes: string): Promise<readonly Socket[]> => {
  const sockets = Array.from({ length: count }, () => {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    socket.on('error', () => undefined);
    socket.pause();
    if (bytes !== '') socket.write(bytes);
    return socket;
  });
  await Promise.all(
    sockets.map((socket) =>
      socket.closed ? undefined : Promise.race([once(socket, 'connect'), once(socket, 'close')]),
    ),
  );
  return sockets;
};

/**
 * Asks for a sign of life from an address that attacks nobody. Out: the CPU that the service spent until then;
 * undefined where it was not answered.
 */
const signOfLife = ({ port, pid }: Target): Promise<number | undefined> =>
  new Promise((resolve) => {
    const from = cpuMs(pid);
    const asked = request(
      { port, host: '127.0.0.1', localAddress: OTHER, path: '/health/live', agent: false },
      (response) => {
        response.resume().on('end', () => resolve(response.statusCode === 200 ? cpuMs(pid) - from : undefined));
      },
    );
    asked.on('error', () => resolve(undefined));
    asked.end();
  });

/**
 * How many connections of these addresses the service has (proc_net_tcp(5)); by it a client that reads nothing knows
 * that it was ended.
 */
const openAt = (port: number): number =>
  readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .filter((line) => {
      const [, local = '', remote = '', state] = line.trim().split(/\s+/);
      return local.endsWith(`:${port.toString(16).toUpperCase().padStart(4, '0')}`) && remote !== '' && state === '01';
    }).length;

const attackOnce = async (target: Target, options: Required<ConnectionsOptions>): Promise<readonly string[]> => {
  const { port } = target;
  const { addresses, unread, pipelined, idle } = options;
  const faults: string[] = [];
  const most = { ms: 0 };
  const probe = async (when: string): Promise<void> => {
    const ms = await signOfLife(target);
    if (ms === undefined) faults.push(`${when}: another address was not answered`);
    else most.ms = Math.max(most.ms, ms);
  };
  const sockets: Socket[] = [];
  try {
    sockets.push(...(await attack(port, '127.0.0.11', idle, '')));
    await probe('beside idle connections');
    const bytes = LARGE_ANSWERS.map((path) =>
      `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(pipelined / LARGE_ANSWERS.length),
    ).join('');
    for (let address = 1; address <= addresses; address += 1) {
      sockets.push(...(await attack(port, `127.0.0.${20 + address}`, unread, bytes)));
      await probe('beside answers that nobody reads');
    }
    let probed = 0;
    const areEnded = async (): Promise<boolean> => {
      if (performance.now() >= probed + PROBED_EVERY_MS) {
        await probe('while clients are ended');
        probed = performance.now();
      }
      return openAt(port) === 0;
    };
    await eventually('clients that read nothing are ended', areEnded, ENDED_WITHIN_MS);
  } catch (error) {
    faults.push(error instanceof Error ? error.message : 'unknown');
  } finally {
    for (const socket of sockets) socket.destroy();
  }
  if (most.ms > CPU_BEFORE_ANSWER_MAX_MS)
    faults.push(
      `the service spent ${most.ms} ms of CPU before it answered another address, ${CPU_BEFORE_ANSWER_MAX_MS} are allowed`,
    );
  options.print(`  most CPU before another address was answered: ${most.ms} ms; ${faults.length} faults`);
  return faults;
};

/** `rounds`: attacks, one after the other. */
export const connectionsTest = async (given: ConnectionsOptions): Promise<FaultReport> => {
  const options = { addresses: 4, unread: 60, pipelined: 20, idle: 2_000, ...given };
  const dataDir = mkdtempSync(join(tmpdir(), 'sealpost-connections-'));
  const server = startServer({
    SEALPOST_DATA_DIR: dataDir,
    SEALPOST_LOG_LEVEL: 'warn',
    SEALPOST_LIMIT_ANSWER_SILENCE_MS: String(SILENCE_MS),
  });
  try {
    const port = Number(new URL(await server.listening).port);
    const restBytes = peakBytes(server.pid, 'VmRSS');
    const faults: string[] = [];
    for (let round = 1; round <= options.rounds; round += 1)
      faults.push(...(await attackOnce({ port, pid: server.pid }, options)));
    const growthMb = Math.round((peakBytes(server.pid, 'VmHWM') - restBytes) / MB);
    if (growthMb > GROWTH_MAX_MB)
      faults.push(`the memory of the service grew by ${growthMb} MB, ${GROWTH_MAX_MB} are allowed`);
    const { code } = await server.end('SIGTERM');
    if (code !== 0) faults.push(`the stop ended with ${code}`);
    return {
      counts: {
        attacks: options.rounds,
        'connections that say nothing, in each': options.idle,
        'connections that read nothing, in each': options.addresses * options.unread,
        'growth of memory, MB': growthMb,
      },
      faults,
    };
  } finally {
    await server.end('SIGKILL');
    rmSync(dataDir, { recursive: true, force: true });
  }
};
