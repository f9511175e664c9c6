/**
 * A real server whose files may not grow, at random bounds, as on a full disk (setrlimit(2), RLIMIT_FSIZE): calls are
 * refused, nothing is half written, and the same calls go through when there is room again.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sendBody } from '../support/app.js';
import { seededRandom, type Random } from '../support/random.js';
import { runCommand, startServer, type ServerProcess } from '../support/server-process.js';
import { openSmtpScript, type SmtpScriptServer } from '../support/smtp-script.js';
import { eventually } from '../support/wait.js';
import type { FaultReport, ProgramOptions } from './report.js';

export const hasPrlimit = process.platform === 'linux' && spawnSync('prlimit', ['--version']).status === 0;

const MAILS = 10;
/** Some of the mails of a round fit into it. */
const ROOM_BYTES = 400_000;
const DELIVERED_WITHIN_MS = 60_000;

type Run = Readonly<{
  dataDir: string;
  server: ServerProcess;
  sink: SmtpScriptServer;
  random: Random;
  send: (key: string) => Promise<Readonly<{ status: number; messageId: string | undefined }>>;
  faults: string[];
  counts: {
    'bounds of file sizes': number;
    'calls refused': number;
    'calls accepted while bounded': number;
    mails: number;
  };
}>;

const limitFileSize = (pid: number, sizeBytes: number | 'unlimited'): void =>
  void execFileSync('prlimit', ['--pid', String(pid), `--fsize=${sizeBytes}:unlimited`]);

const begin = async (seed: number): Promise<Run> => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sealpost-full-'));
  const sink = await openSmtpScript();
  const settings = {
    SEALPOST_DATA_DIR: dataDir,
    SEALPOST_SMTP_URL: `${sink.url}?tls=off`,
    SEALPOST_LOG_LEVEL: 'silent',
  };
  const server = startServer(settings);
  const base = await server.listening;
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${await server.firstKey()}` };
  const made = await fetch(`${base}/api/api-keys`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ name: 'full disk', permissions: ['emails:send'], rateLimit: 1_000_000 }),
  });
  const { key } = (await made.json()) as { key: string };
  const counts = { 'bounds of file sizes': 0, 'calls refused': 0, 'calls accepted while bounded': 0, mails: 0 };
  return {
    dataDir,
    server,
    sink,
    random: seededRandom(seed),
    send: async (idempotencyKey) => {
      const response = await fetch(`${base}/api/emails/send`, {
        method: 'POST',
        headers: { ...headers, authorization: `Bearer ${key}`, 'idempotency-key': idempotencyKey },
        body: JSON.stringify(sendBody()),
      });
      const { messageId } = (await response.json()) as { messageId?: string };
      return { status: response.status, messageId };
    },
    faults: [],
    counts,
  };
};

/** Sends under a bound, then again without one; what was answered before must be answered the same. */
const oneRound = async (
  { dataDir, server, random, send, faults, counts }: Run,
  round: number,
): Promise<readonly string[]> => {
  const largest = Math.max(
    ...readdirSync(dataDir)
      .filter((file) => /\.db(?:-wal)?$/.test(file))
      .map((file) => statSync(join(dataDir, file)).size),
  );
  limitFileSize(server.pid, random.chance(0.2) ? 0 : random.between(0, largest + ROOM_BYTES));
  counts['bounds of file sizes'] += 1;
  const keys = Array.from({ length: MAILS }, (_, mail) => `round ${round}, mail ${mail}`);
  const first = new Map<string, string>();
  for (const key of keys) {
    const { status, messageId } = await send(key);
    if (status === 201 && messageId !== undefined) first.set(key, messageId);
    else if (status < 500) faults.push(`${key}: answered ${status} on a full disk`);
    counts[status === 201 ? 'calls accepted while bounded' : 'calls refused'] += 1;
  }
  limitFileSize(server.pid, 'unlimited');
  const accepted: string[] = [];
  for (const key of keys) {
    const { status, messageId } = await send(key);
    if (status !== 201 || messageId === undefined) faults.push(`${key}: answered ${status} when there was room again`);
    else if (first.has(key) && first.get(key) !== messageId)
      faults.push(`${key}: is another mail when it is sent again`);
    else accepted.push(messageId);
  }
  counts.mails += accepted.length;
  return accepted;
};

/** `rounds`: how many bounds. Does nothing where the system has no prlimit(1). */
export const fullDiskTest = async ({ rounds, seed, print }: ProgramOptions): Promise<FaultReport> => {
  if (!hasPrlimit) return { counts: { 'bounds of file sizes': 0 }, faults: [] };
  const run = await begin(seed);
  const { server, sink, faults, counts, dataDir } = run;
  try {
    const accepted: string[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      accepted.push(...(await oneRound(run, round)));
      if (round % 10 === 0)
        print(`  bound ${round}: ${counts['calls refused']} calls refused, ${faults.length} faults`);
    }
    const copies = (messageId: string): number =>
      sink.accepted().filter((mail) => `<${mail.messageId}>` === messageId).length;
    await eventually(
      'every accepted mail has come',
      () => accepted.every((messageId) => copies(messageId) > 0),
      DELIVERED_WITHIN_MS,
    );
    const { code } = await server.end('SIGTERM');
    if (code !== 0) faults.push(`the stop ended with ${code}`);
    // A mail whose outcome could not be recorded is not sent again by the same process.
    for (const messageId of accepted)
      if (copies(messageId) > 1) faults.push(`${messageId} came ${copies(messageId)} times`);
    if (sink.accepted().length > accepted.length)
      faults.push(`${sink.accepted().length - accepted.length} mails came that nobody was promised`);
    const verified = await runCommand(['verify'], { SEALPOST_DATA_DIR: dataDir });
    if (verified.code !== 0) faults.push(`verify: ${verified.stdout}${verified.stderr}`);
    return { counts, faults };
  } finally {
    await server.end('SIGKILL');
    await sink.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
};
