/**
 * Counts what an email costs in work, which does not depend on the machine: SQL statements, JSON texts, hashes, bytes.
 * `node build/bench/counts.js` prints the counts beside those of counts.json; with `--write` it replaces them. A test
 * holds the table.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { inlineCalls } from './support/captured-mail.js';
import { orderRequest } from './support/orders.js';
import { startProgram } from './support/programs.js';
import { withDirectory } from './support/scratch.js';
import { post, startService, type Service } from './support/service.js';
import { startTimedSink } from './support/timed-sink.js';

export type Counts = Readonly<Record<string, number>>;
/**
 * Per email accepted and delivered, per email whose HTML comes in its call, per email of a call with several, per email
 * of a bulk send, per delivered webhook, and per event of a rebuild.
 */
export type CountTable = Readonly<Record<'send' | 'inline' | 'several' | 'bulk' | 'webhook' | 'rebuild', Counts>>;

/** Their events are more than the first thousand, before which a projection looks for what a crash may have left. */
const WARM_UP = 400;
const EMAILS = 400;
/** Emails of one call with several. */
const CALL_EMAILS = 100;
const DEADLINE_MS = 120_000;

const preload = fileURLToPath(new URL('./support/count-work.js', import.meta.url));
const main = fileURLToPath(new URL('../src/main.js', import.meta.url));
export const tableFile = fileURLToPath(new URL('../../bench/counts.json', import.meta.url));

const until = async (what: string, isSo: () => boolean | Promise<boolean>): Promise<void> => {
  for (const fromMs = performance.now(); !(await isSo()); await wait(20))
    if (performance.now() - fromMs > DEADLINE_MS) throw new Error(`waited in vain until ${what}`);
};

const readCounts = (file: string): Counts => JSON.parse(readFileSync(file, 'utf8')) as Counts;

/** The counts of a service since the last call. */
const take = async (service: Service, file: string): Promise<Counts> => {
  rmSync(file, { force: true });
  process.kill(service.program.pid, 'SIGUSR2');
  await until('the counts are written', () => existsSync(file));
  return readCounts(file);
};

const each = (counts: Counts, count: number): Counts =>
  Object.fromEntries(
    Object.entries(counts)
      .map(([what, sum]): [string, number] => [what, Math.round((sum / count) * 10) / 10])
      .filter(([, per]) => per >= 0.2)
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );

const less = (counts: Counts, other: Counts): Counts =>
  Object.fromEntries(Object.entries(counts).map(([what, count]) => [what, count - (other[what] ?? 0)]));

/** Takes every notice. */
const startReceiver = async () => {
  let notices = 0;
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      notices += 1;
      response.end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, notices: () => notices, close: () => server.close() };
};

const call = async ({ port }: Service, key: string, path: string, body: unknown): Promise<void> => {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path} was answered ${answer.status}: ${await answer.text()}`);
};

const countService = async (directory: string): Promise<Omit<CountTable, 'rebuild'>> => {
  const inlineOf = await inlineCalls();
  const sink = await startTimedSink(() => false);
  const receiver = await startReceiver();
  sink.open();
  const file = join(directory, 'counts.json');
  const service = await startService({
    directory,
    env: {
      SEALPOST_SMTP_URL: `smtp://127.0.0.1:${sink.port}`,
      SEALPOST_WEBHOOK_INSECURE_HOSTS: '127.0.0.1',
      COUNT_WORK_FILE: file,
      COUNT_WORK_SMTP_PORT: String(sink.port),
    },
    nodeOptions: ['--import', pathToFileURL(preload).href],
    side: 'any',
  });
  let sent = 0;
  const settled = async (count: number): Promise<void> => {
    sent += count;
    await until(
      `${sent} emails are sent`,
      async () => sink.mails() === sent && (await service.listed('sent')) === sent,
    );
  };
  const send = async (count: number, bodyOf: (n: number) => unknown = orderRequest): Promise<Counts> => {
    await take(service, file);
    await post(service.port, service.authorization, count, bodyOf);
    await settled(count);
    return take(service, file);
  };
  const sendBulk = async (count: number): Promise<Counts> => {
    await take(service, file);
    await call(service, service.firstKey, '/api/emails/send/bulk', {
      templateId: 'order-confirmation',
      recipients: Array.from({ length: count }, (_, n) => ({
        ...orderRequest(n).to[0],
        variables: orderRequest(n).variables,
      })),
    });
    await settled(count);
    return take(service, file);
  };
  const sendSeveral = async (calls: number, emails = CALL_EMAILS): Promise<Counts> => {
    await take(service, file);
    for (let made = 0; made < calls; made += 1)
      await call(service, service.firstKey, '/api/emails/batch', {
        emails: Array.from({ length: emails }, (_, n) => orderRequest(made * emails + n)),
      });
    await settled(calls * emails);
    return take(service, file);
  };
  try {
    await send(WARM_UP);
    const one = await send(EMAILS);
    // The first call of each kind compiles its checks.
    await send(1, inlineOf);
    const inline = await send(EMAILS, inlineOf);
    await sendSeveral(1, 1);
    const several = await sendSeveral(EMAILS / CALL_EMAILS);
    await sendBulk(1);
    const many = await sendBulk(EMAILS);
    const subscription = { url: `http://127.0.0.1:${receiver.port}/`, events: ['email.sent'] };
    await call(service, service.firstKey, '/api/v1/webhook-subscriptions', subscription);
    await send(WARM_UP);
    await until('the first notices came', () => receiver.notices() === WARM_UP);
    await take(service, file);
    await post(service.port, service.authorization, EMAILS, orderRequest);
    await settled(EMAILS);
    await until('all notices came', () => receiver.notices() === WARM_UP + EMAILS);
    const told = await take(service, file);
    await service.stop();
    // The difference of two large sums of bytes says little about the small part.
    const { 'bytes allocated': _, ...webhook } = each(less(told, one), EMAILS);
    return {
      send: each(one, EMAILS),
      inline: each(inline, EMAILS),
      several: each(several, EMAILS),
      bulk: each(many, EMAILS),
      webhook,
    };
  } finally {
    service.kill();
    receiver.close();
    sink.close();
  }
};

const countRebuild = async (directory: string): Promise<Counts> => {
  const file = join(directory, 'rebuild.json');
  const program = startProgram({
    command: process.execPath,
    args: ['--import', pathToFileURL(preload).href, main, 'rebuild'],
    env: { SEALPOST_DATA_DIR: join(directory, 'data'), COUNT_WORK_FILE: file, SEALPOST_LOG_LEVEL: 'warn' },
    side: 'any',
  });
  await until('the read models are rebuilt', () => existsSync(file));
  const events = [...program.output().matchAll(/([\d,]+) events?/g)].map(([, text]) =>
    Number(text!.replaceAll(',', '')),
  );
  if (events.length === 0) throw new Error(`the rebuild told no events:\n${program.output()}`);
  return each(readCounts(file), Math.max(...events));
};

/** Starts a service of its own, and counts. Takes some 20 seconds of CPU. */
export const countWork = (): Promise<CountTable> =>
  withDirectory(async (directory) => ({ ...(await countService(directory)), rebuild: await countRebuild(directory) }));

export const readTable = (): CountTable => JSON.parse(readFileSync(tableFile, 'utf8')) as CountTable;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const counted = await countWork();
  if (process.argv.includes('--write')) writeFileSync(tableFile, `${JSON.stringify(counted, null, 2)}\n`);
  const table: Partial<CountTable> = existsSync(tableFile) ? readTable() : counted;
  for (const [kind, counts] of Object.entries(counted) as [keyof CountTable, Counts][]) {
    console.log(kind);
    for (const [what, per] of Object.entries(counts))
      console.log(`  ${what.padEnd(32)} ${String(per).padStart(10)}  (${table[kind]?.[what] ?? 0})`);
  }
}
