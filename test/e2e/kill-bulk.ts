/**
 * Bulk sends under kills: a client sends batches and cancels some of them while the server is killed at random moments
 * and started again. Afterwards every recipient must have one email or count as cancelled, every email that is not
 * cancelled must have arrived once (twice only where a kill fell into its SMTP dialogue), what the API tells of each
 * batch must be what the log says, and the credits that are left must be those granted without one for each email that
 * is not cancelled. As a program: `node build/test/e2e/kill-bulk.js [--rounds N] [--seed N]`; the seed repeats every
 * choice of the run.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { openSqliteEventStore } from '../../src/adapters/event-store/sqlite.js';
import { copyFounded, createdKey, setSender } from '../support/founded.js';
import { seededRandom, type Random } from '../support/random.js';
import { runCommand, startServer, type ServerProcess, type Settings } from '../support/server-process.js';
import { late, openSmtpScript, type SmtpScriptServer } from '../support/smtp-script.js';
import { pause } from '../support/wait.js';

export type KillBulkOptions = Readonly<{ rounds: number; seed: number; print?: (line: string) => void }>;
export type KillBulkReport = Readonly<{ counts: Readonly<Record<string, number>>; faults: readonly string[] }>;

const CONNECTIONS = 10;
const ENDS_WITHIN_MS = 120_000;
const OPEN_BATCHES_MAX = 6;
const CREDITS_OF_SIGNUP = 1_000;
const GRANTED = 1_000_000;

type Batch = {
  readonly key: string;
  readonly total: number;
  readonly cancelAfterMs: number | undefined;
  id?: string;
  answer?: string;
  cancelled: boolean;
};
type Status = Readonly<Record<'totalEmails' | 'queued' | 'processing' | 'sent' | 'failed' | 'cancelled', number>> &
  Readonly<{ status: string }>;
/** One email in the log: the types of its events, and how often a kill found it in a dialogue. */
type InLog = { messageId: string; batch: string | undefined; types: string[]; caught: number };

type Run = {
  readonly settings: Settings;
  readonly dataDir: string;
  readonly faults: string[];
  readonly batches: Batch[];
  readonly random: Random;
  readonly emails: Map<string, InLog>;
  apiKey: string;
  base: string | undefined;
  drains: boolean;
};

/** Rejects only where it could not be run; what it found wrong stands in `faults`. */
export const killBulkTest = async ({
  rounds,
  seed,
  print = () => undefined,
}: KillBulkOptions): Promise<KillBulkReport> => {
  const random = seededRandom(seed);
  const slow = seededRandom(seed + 7);
  const sink = await openSmtpScript({
    script: ({ step }) => (step === 'message' ? late(slow.between(1, 30)) : undefined),
  });
  const dataDir = mkdtempSync(join(tmpdir(), 'sealpost-kill-bulk-'));
  const settings: Settings = {
    SEALPOST_DATA_DIR: dataDir,
    SEALPOST_SMTP_URL: `${sink.url}?tls=off`,
    SEALPOST_SMTP_CONNECTIONS: String(CONNECTIONS),
    SEALPOST_LOG_LEVEL: 'error',
  };
  const run: Run = {
    settings,
    dataDir,
    random,
    faults: [],
    batches: [],
    emails: new Map(),
    apiKey: '',
    base: undefined,
    drains: false,
  };
  print(`bulk sends under kills: ${rounds} rounds, seed ${seed}, data in ${dataDir}`);
  try {
    await makeKey(run);
    const sending = sender(run);
    for (let round = 1; round <= rounds; round += 1) {
      const server = startServer(settings);
      run.base = await server.listening;
      await pause(random.between(30, 900));
      await kill(run, server);
      await readLog(run, true);
    }
    const server = startServer(settings);
    run.base = await server.listening;
    run.drains = true;
    await sending;
    const statuses = await ended(run);
    await judgeCredits(run, statuses);
    const { code } = await server.end('SIGTERM');
    if (code !== 0) run.faults.push(`the last stop ended with ${code}`);
    await readLog(run, false);
    judge(run, statuses, sink);
    const verified = await runCommand(['verify'], settings);
    if (verified.code !== 0) run.faults.push(`verify: ${verified.stdout}${verified.stderr}`);
    const report = { counts: countsOf(run, rounds, sink), faults: run.faults };
    for (const [name, count] of Object.entries(report.counts)) print(`  ${name.padEnd(42)} ${count}`);
    for (const fault of report.faults.slice(0, 20)) print(`  FAULT ${fault}`);
    return report;
  } finally {
    await sink.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
};

const makeKey = async (run: Run): Promise<void> => {
  await copyFounded(run.dataDir);
  run.apiKey = await createdKey(run.settings, 'bulk');
  await setSender(run.settings);
  for (const args of [
    ['team', 'billing', '--by', 'credits'],
    ['credits', 'grant', String(GRANTED - CREDITS_OF_SIGNUP)],
  ]) {
    const { code, stderr } = await runCommand(args, run.settings);
    if (code !== 0) throw new Error(`sealpost ${args.join(' ')} ended with ${code}: ${stderr}`);
  }
};

const kill = async (run: Run, server: ServerProcess): Promise<void> => {
  const ending = server.end('SIGKILL');
  run.base = undefined;
  const { code } = await ending;
  run.base = undefined;
  if (code !== null) run.faults.push(`the server ended by itself with code ${code}`);
};

/** One batch after the other, each repeated under its key until it is answered; some are cancelled soon after. */
const sender = async (run: Run): Promise<void> => {
  const cancels: Promise<void>[] = [];
  for (let number = 0; !run.drains; number += 1) {
    while (!run.drains && (run.base === undefined || openOf(run) >= OPEN_BATCHES_MAX)) await pause(5);
    if (run.drains) break;
    const { random } = run;
    const cancelAfterMs = random.chance(0.4) ? random.between(0, 400) : undefined;
    const batch: Batch = { key: `batch-${number}`, total: random.between(20, 320), cancelAfterMs, cancelled: false };
    run.batches.push(batch);
    const body = JSON.stringify({
      templateId: 'sign-in-code',
      baseVariables: { code: '1' },
      recipients: peopleOf(number, batch.total),
    });
    const answer = await untilAnswered(run, '/api/emails/send/bulk', batch.key, body);
    if (answer.status !== 201) run.faults.push(`a bulk call was answered ${answer.status} ${answer.text}`);
    batch.answer = answer.text;
    batch.id = (JSON.parse(answer.text) as { batchId: string }).batchId;
    if (cancelAfterMs !== undefined) cancels.push(cancelLater(run, batch, cancelAfterMs));
  }
  await Promise.all(cancels);
};

const openOf = (run: Run): number => {
  const ended = new Set<string>();
  for (const { batch, types } of run.emails.values())
    if (batch !== undefined && types.some((type) => ends.has(type))) ended.add(batch);
  return run.batches.filter(({ id }) => id === undefined || !ended.has(id)).length;
};
const ends = new Set(['EmailSent', 'EmailCancelled', 'EmailFailed']);

const peopleOf = (number: number, total: number) =>
  Array.from({ length: total }, (_, index) => ({
    email: `r${index}.${number}@example.com`,
    variables: { firstName: `N${index}` },
  }));

const cancelLater = async (run: Run, batch: Batch, afterMs: number): Promise<void> => {
  await pause(afterMs);
  const path = `/api/emails/batch/${batch.id}/cancel`;
  const { status, text } = await untilAnswered(run, path, `cancel-${batch.key}`, undefined);
  if (status === 200) {
    batch.cancelled = true;
    const { totalEmails, sent, failed, cancelled, processing } = JSON.parse(text) as Status & { processing: number };
    if (totalEmails !== batch.total || sent + failed + cancelled + processing !== batch.total)
      run.faults.push(`cancel answered ${text}`);
  } else if (status !== 400 || !text.includes('BATCH_NOT_CANCELLABLE'))
    run.faults.push(`a cancel was answered ${status} ${text}`);
};

const untilAnswered = async (
  run: Run,
  path: string,
  key: string,
  body: string | undefined,
): Promise<Readonly<{ status: number; text: string }>> => {
  for (;;) {
    const { base } = run;
    if (base === undefined) {
      await pause(5);
      continue;
    }
    try {
      const response = await fetch(`${base}${path}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${run.apiKey}`,
          'idempotency-key': key,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body }),
        signal: AbortSignal.timeout(60_000),
      });
      return { status: response.status, text: await response.text() };
    } catch {
      await pause(5);
    }
  }
};

/** Waits until no email of any batch is open; by its id what the API tells of each. */
const ended = async (run: Run): Promise<ReadonlyMap<string, Status>> => {
  const statuses = new Map<string, Status>();
  const untilMs = performance.now() + ENDS_WITHIN_MS;
  for (const { id } of run.batches) {
    for (;;) {
      const response = await fetch(`${run.base}/api/emails/batch/${id}/status`, {
        headers: { authorization: `Bearer ${run.apiKey}` },
      });
      const status = (await response.json()) as Status;
      const sum = status.queued + status.processing + status.sent + status.failed + status.cancelled;
      if (sum !== status.totalEmails) run.faults.push(`batch ${id}: its counts are ${JSON.stringify(status)}`);
      statuses.set(id!, status);
      if (['completed', 'cancelled'].includes(status.status) && status.queued + status.processing === 0) break;
      if (performance.now() > untilMs) {
        run.faults.push(`batch ${id} never ended: ${JSON.stringify(status)}`);
        break;
      }
      await pause(50);
    }
  }
  return statuses;
};

/** One credit for each recipient that is not cancelled; what is cancelled comes back soon after. */
const judgeCredits = async (run: Run, statuses: ReadonlyMap<string, Status>): Promise<void> => {
  const used = [...statuses.values()].reduce((sum, { totalEmails, cancelled }) => sum + totalEmails - cancelled, 0);
  const untilMs = performance.now() + ENDS_WITHIN_MS;
  for (;;) {
    const { stdout } = await runCommand(['credits', 'balance'], run.settings);
    const left = Number(/^Credits +([\d,]+) left/m.exec(stdout)?.[1]?.replaceAll(',', ''));
    if (left === GRANTED - used) return;
    if (performance.now() > untilMs)
      return void run.faults.push(`${left} credits are left of ${GRANTED}, ${used} emails were not cancelled`);
    await pause(200);
  }
};

/** Reads the whole log of a server that is down. */
const readLog = async (run: Run, isKilled: boolean): Promise<void> => {
  const store = openSqliteEventStore({ file: join(run.dataDir, 'events.db') });
  const caught = new Map([...run.emails].map(([id, { caught: times }]) => [id, times]));
  run.emails.clear();
  try {
    for await (const { events } of store.readAll(0))
      for (const { stream, type, data } of events) {
        if (!stream.startsWith('email-')) continue;
        const name = type.slice(0, type.indexOf('.'));
        const known = run.emails.get(stream);
        if (known !== undefined) known.types.push(name);
        else {
          const { messageId, batch } = JSON.parse(data) as { messageId: string; batch?: { id: string } };
          run.emails.set(stream, { messageId, batch: batch?.id, types: [name], caught: caught.get(stream) ?? 0 });
        }
      }
  } finally {
    await store.close();
  }
  if (isKilled)
    for (const email of run.emails.values()) if (email.types.at(-1) === 'DeliveryAttempted') email.caught += 1;
};

const judge = (run: Run, statuses: ReadonlyMap<string, Status>, sink: SmtpScriptServer): void => {
  const { faults, emails } = run;
  const arrived = new Map<string, number>();
  for (const { messageId } of sink.accepted()) arrived.set(`<${messageId}>`, (arrived.get(`<${messageId}>`) ?? 0) + 1);
  const counted = new Map<string, { made: number; sent: number; failed: number; cancelled: number }>();
  for (const [stream, { messageId, batch, types, caught }] of emails) {
    const [isSent, isCancelled] = [types.includes('EmailSent'), types.includes('EmailCancelled')];
    const copies = arrived.get(messageId) ?? 0;
    if (isSent && isCancelled) faults.push(`${stream} is both sent and cancelled`);
    if (isSent && copies === 0) faults.push(`${stream} never arrived`);
    if (isCancelled && copies > caught)
      faults.push(`${stream} is cancelled and arrived ${copies} times, caught ${caught} times`);
    if (copies > 1 + caught) faults.push(`${stream} arrived ${copies} times, caught ${caught} times`);
    if (batch === undefined) continue;
    const of = counted.get(batch) ?? { made: 0, sent: 0, failed: 0, cancelled: 0 };
    counted.set(batch, of);
    of.made += 1;
    if (isSent) of.sent += 1;
    else if (isCancelled) of.cancelled += 1;
    else if (types.includes('EmailFailed')) of.failed += 1;
    else faults.push(`${stream} has not ended: ${types.join(', ')}`);
  }
  for (const { id, total, cancelled } of run.batches) {
    const of = counted.get(id ?? '') ?? { made: 0, sent: 0, failed: 0, cancelled: 0 };
    const told = statuses.get(id ?? '');
    if (told === undefined) continue;
    if (!cancelled && of.made !== total) faults.push(`batch ${id} made ${of.made} of ${total} emails`);
    if (cancelled !== (told.status === 'cancelled'))
      faults.push(`batch ${id} is ${told.status}, its cancel was ${cancelled ? '' : 'not '}accepted`);
    const expected = { sent: of.sent, failed: of.failed, cancelled: of.cancelled + total - of.made };
    for (const [name, count] of Object.entries(expected))
      if (told[name as 'sent'] !== count)
        faults.push(`batch ${id} tells of ${told[name as 'sent']} ${name}, the log of ${count}`);
  }
};

const countsOf = (run: Run, rounds: number, sink: SmtpScriptServer): KillBulkReport['counts'] => {
  const emails = [...run.emails.values()];
  const accepted = sink.accepted();
  return {
    kills: rounds,
    batches: run.batches.length,
    'of them cancelled': run.batches.filter(({ cancelled }) => cancelled).length,
    recipients: run.batches.reduce((sum, { total }) => sum + total, 0),
    'emails made': emails.length,
    'of them sent': emails.filter(({ types }) => types.includes('EmailSent')).length,
    'of them cancelled ': emails.filter(({ types }) => types.includes('EmailCancelled')).length,
    'in a dialogue at a kill': emails.reduce((sum, { caught }) => sum + caught, 0),
    'arrived twice or more': accepted.length - new Set(accepted.map(({ messageId }) => messageId)).size,
  };
};

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { values } = parseArgs({ options: { rounds: { type: 'string', default: '20' }, seed: { type: 'string' } } });
  const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
  const { faults } = await killBulkTest({ rounds: Number(values.rounds), seed, print: (line) => console.log(line) });
  process.exitCode = faults.length === 0 ? 0 : 1;
}
