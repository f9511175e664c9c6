/**
 * The promises of the service, through several processes that share its stores: one serves, the others deliver and keep
 * the read models. It is run on each engine. The processes run in this one, except the one that is killed.
 */
import type { ApprovalRecord } from '../../src/api/approvals.js';
import type { ErasureReceipt } from '../../src/api/privacy.js';
import { randomUUID } from 'node:crypto';
import { MongoClient } from 'mongodb';
import type { Test } from 'tap';
import { systemClock } from '../../src/adapters/clock/system.js';
import { emailStream, assertDefined, parseEmailId } from '../../src/domain/core/ids.js';
import type { Clock } from '../../src/domain/ports/clock.js';
import { DAY_MS } from '../../src/domain/core/time.js';
import { confirmTimeOfDay } from '../../src/service/ops/clock.js';
import { firstTeam } from '../../src/commands/core/caller.js';
import { signedIn } from '../support/people.js';
import { sendBody, startTestApp, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { afterwards, hearsOfReaders, tellsOfAll } from './engine-afterwards.js';
import { openEngineOfTest, type EngineName, type EngineOfTest } from '../support/engines.js';
import type { FakeClock } from '../support/fake-clock.js';
import { runCommand, startServer, type ServerProcess } from '../support/server-process.js';
import { letsPeopleIn } from './engine-people.js';
import { late, openSmtpScript, reply, type SmtpScriptServer } from '../support/smtp-script.js';
import { eventually } from '../support/wait.js';

const WITHIN_MS = 400_000;

type Role = 'http' | 'process' | 'project';
type Started = TestApp & Readonly<{ dataDir: string }>;

type World = Readonly<{
  engine: EngineOfTest;
  sink: SmtpScriptServer;
  /** `clock`: what the process takes for the time of its machine. */
  start: (role: string, clock?: Clock) => Promise<Started>;
  /** Starts the roles in a process of their own. */
  spawn: (role: Role) => ServerProcess;
  /** The command line, on the same stores. */
  command: (...args: readonly string[]) => ReturnType<typeof runCommand>;
  /** How often each message was taken. */
  taken: (messageId: string) => number;
}>;

const openWorld = async (t: Test, engine: EngineOfTest): Promise<World> => {
  const sink = await openSmtpScript();
  t.teardown(() => sink.close());
  const delivery = { SEALPOST_SMTP_URL: `${sink.url}?tls=off`, SEALPOST_RETRY_DELAYS: '1,1,1,1,1,1' };
  const settings = (role: string) => ({
    ...engine.ofProcess(),
    ...delivery,
    ...afterwards,
    SEALPOST_ROLES: role,
    SEALPOST_LOG_LEVEL: 'silent',
  });
  return {
    engine,
    sink,
    start: async (role, clock) => {
      const { SEALPOST_DATA_DIR: dataDir = '', ...rest } = settings(role) as Readonly<Record<string, string>>;
      const app = await startTestApp({
        dataDir,
        settings: rest,
        ...(clock === undefined ? {} : { clock: clock as FakeClock }),
      });
      t.teardown(() => app.stop());
      return { ...app, dataDir };
    },
    spawn: (role) => {
      const server = startServer({ ...settings(role), PORT: '0' });
      t.teardown(() => server.end('SIGKILL'));
      return server;
    },
    command: (...args) => runCommand(args, settings('http,process,project'), WITHIN_MS),
    taken: (messageId) => sink.accepted().filter((mail) => `<${mail.messageId}>` === messageId).length,
  };
};

/** One serves, two keep the read models, and as many deliver as the engine lets. */
const startAll = async ({
  engine,
  start,
}: World): Promise<Readonly<{ http: Started; delivering: readonly Started[]; all: readonly Started[] }>> => {
  const http = await start('http');
  const projecting = [await start('project'), await start('project')];
  const delivering: Started[] = [];
  for (let count = 0; count < engine.delivering; count += 1) delivering.push(await start('process'));
  return { http, delivering, all: [http, ...projecting, ...delivering] };
};

const stopAll = async (apps: readonly Started[]): Promise<void> =>
  void (await Promise.all(apps.map((app) => app.stop())));

/** The length of the list for a reader who gives a position. */
const listed = async (app: Started, query: string, position: unknown): Promise<number> =>
  (
    await app.call<{ meta: { total: number } }>('GET', `/api/emails?${query}`, undefined, {
      'x-sealpost-position': String(position),
    })
  ).body.meta.total;

/** Thirty-one days ago one mail is delivered. Out: its id. */
const sendLongAgo = async (world: World): Promise<string> => {
  const now = systemClock();
  const past = await world.start('http,process,project', { ...now, now: () => now.now() - 31 * DAY_MS });
  const { id } = await past.send({ to: [{ email: 'long-ago@example.com' }] });
  await past.whenStatus(id, 'sent');
  await past.whenCaughtUp();
  await past.stop();
  return id;
};

const sendsOnce = async (t: Test, { sink, taken }: World, http: Started): Promise<void> => {
  const key = { 'idempotency-key': 'once' };
  const first = await http.call('POST', '/api/emails/send', sendBody(), key);
  t.equal(first.status, 201, first.text);
  const again = await http.call('POST', '/api/emails/send', sendBody(), key);
  t.same(again.body, first.body);
  t.equal(again.headers['idempotency-replayed'], 'true');
  const other = await http.call('POST', '/api/emails/send', sendBody({ to: [{ email: 'other@example.com' }] }), key);
  t.match(other, { status: 400, body: { code: 'IDEMPOTENCY_KEY_REUSED' } });
  const sent = await Promise.all(
    Array.from({ length: 20 }, (_, index) => http.send({ priority: (['high', 'normal', 'low'] as const)[index % 3] })),
  );
  const ids = [...sent, first.body as (typeof sent)[number]];
  await eventually('all are delivered', () => ids.every(({ messageId }) => taken(messageId) > 0), WITHIN_MS);
  for (const { messageId } of ids) t.equal(taken(messageId), 1, `${messageId} once`);
  t.equal(sink.accepted().length, ids.length + 1, 'and nothing else, but for the one of long ago');
};

const triesAgain = async (t: Test, { sink, taken }: World, http: Started): Promise<void> => {
  const refused = new Set<number>();
  sink.setScript(({ step, message }) => {
    if (step !== 'message' || refused.size > 0) return undefined;
    refused.add(message);
    return reply('451 4.3.0 later');
  });
  const { id, messageId } = await http.send();
  await eventually('the second attempt is taken', () => taken(messageId) === 1, WITHIN_MS);
  t.equal(refused.size, 1);
  await http.whenStatus(id, 'sent');
  t.equal(sink.received.filter((mail) => `<${mail.messageId}>` === messageId).length, 2);
};

/**
 * An address that was refused for good is on the list, whichever process delivered, and gets no mail until it is taken
 * off.
 */
const suppresses = async (t: Test, { sink, taken }: World, http: Started): Promise<void> => {
  const gone = 'gone@example.net';
  sink.setScript(({ step, address }) =>
    step === 'rcpt' && address === gone ? reply('550 5.1.1 no such user') : undefined,
  );
  const first = await http.send({ to: [{ email: gone }] });
  await http.whenStatus(first.id, 'bounced');
  const list = async () =>
    (await http.call<{ data: { id: string; email: string }[] }>('GET', '/api/suppressions')).body.data;
  await eventually('it is on the list', async () => (await list()).length === 1, WITHIN_MS);
  const [listed] = await list();
  t.match(listed, { email: gone, reason: 'hard-bounce', emailId: first.id });
  sink.setScript(() => undefined);
  const both = await http.send({ to: [{ email: gone }, { email: 'here@example.net' }] });
  await http.whenStatus(both.id, 'sent');
  t.match((await http.email(both.id)).recipients, [{ status: 'suppressed' }, { status: 'sent' }]);
  const alone = await http.send({ to: [{ email: gone }] });
  await http.whenStatus(alone.id, 'failed');
  t.equal(taken(alone.messageId), 0);
  const found = async () =>
    (await http.call<{ meta: { total: number } }>('GET', '/api/emails?recipientStatus=suppressed')).body.meta.total;
  await eventually('both are found by it', async () => (await found()) === 2, WITHIN_MS);
  t.match(await http.call('GET', '/api/suppressions/export'), {
    status: 200,
    text: /^email,.*\r\ngone@example\.net,,hard-bounce,/,
  });
  t.equal((await http.call('DELETE', `/api/suppressions/${listed!.id}`)).status, 200);
  await http.whenStatus((await http.send({ to: [{ email: gone }] })).id, 'sent');
  await eventually('the list is empty', async () => (await list()).length === 0, WITHIN_MS);
};

/** Each address of the simulator goes its way; the relay hears of none, and the suppression list neither. */
const simulates = async (t: Test, { sink, taken }: World, http: Started): Promise<void> => {
  const ways = {
    success: 'delivered',
    bounce: 'bounced',
    softbounce: 'bounced',
    complaint: 'complained',
    delay: 'delivered',
  } as const;
  const sent: Readonly<{ id: string; messageId: string; status: (typeof ways)[keyof typeof ways] }>[] = [];
  for (const [name, status] of Object.entries(ways))
    sent.push({ ...(await http.send({ to: [{ email: `${name}+engine@simulator.sealpost` }] })), status });
  const mixed = await http.send({ to: [{ email: 'here@example.net' }, { email: 'bounce@simulator.sealpost' }] });
  for (const { id, status } of sent) await http.whenStatus(id, status);
  await http.whenStatus(mixed.id, 'sent');
  t.match((await http.email(mixed.id)).recipients, [{ status: 'sent' }, { status: 'bounced', simulated: true }]);
  t.equal(taken(mixed.messageId), 1);
  t.notOk(sink.accepted().some(({ messageId }) => sent.some((mail) => mail.messageId === `<${messageId}>`)));
  const { body } = await http.call<{ data: { email: string }[] }>('GET', '/api/suppressions');
  t.same(body.data, []);
};

/**
 * Whichever process carries it out: what holds the address is found, also what was sent through another one just
 * before.
 */
const erasesByAddress = async (t: Test, { engine }: World, http: Started): Promise<void> => {
  const email = 'hedy.lamarr@stage.example';
  const ids: string[] = [];
  for (let count = 0; count < 5; count += 1) ids.push((await http.send({ to: [{ email }] })).id);
  for (const id of ids) await http.whenStatus(id, 'sent');
  const last = await http.send({ to: [{ email }], scheduledAt: new Date(Date.now() + 3_600_000).toISOString() });
  const other = 'greta@stage.example';
  const both = await http.send({
    to: [
      { email: other, name: 'Greta' },
      { email, name: 'Hedy' },
    ],
  });
  await http.whenStatus(both.id, 'sent');
  const given = await http.call('POST', '/api/privacy/export', { email });
  t.equal(given.text.trim().split('\n').length, 1 + ids.length + 2);
  const { status, body } = await http.call<ErasureReceipt>('POST', '/api/privacy/erase', {
    email: email.toUpperCase(),
  });
  t.match({ status, body }, { status: 200, body: { status: 'completed', emails: 7, waiting: null } });
  t.same(body.emailIds.toSorted(), [...ids, last.id, both.id].sort());
  for (const id of body.emailIds) {
    const events = await http.engine.eventLog.load(emailStream(assertDefined(parseEmailId(id), 'email id')));
    t.notMatch(JSON.stringify(events), 'lamarr', 'its key is destroyed');
  }
  t.match(await http.email(both.id), {
    archived: false,
    subject: String,
    recipients: [
      { email: other, name: 'Greta' },
      { email: null, name: null, status: 'sent', erased: true },
    ],
  });
  await eventually('it is found no more', async () => (await listed(http, `recipient=${email}`, 0)) === 0, WITHIN_MS);
  t.equal(await listed(http, 'search=lamarr', 0), 0);
  const { SEALPOST_READ_MODELS_URL: url = '' } = engine.stores as Readonly<Record<string, string>>;
  if (url.startsWith('mongodb:'))
    t.same(await collectionsWith(url, 'lamarr'), [], 'no document of the database has it');
  t.equal(await listed(http, `recipient=${other}`, 0), 1, 'and the other is');
};

/** One process answers, and others send and keep the read models. */
const approvesOnce = async (t: Test, { taken }: World, http: Started): Promise<void> => {
  const teamId = assertDefined(await firstTeam(http.engine), 'team');
  const { headers } = await signedIn(http.engine, { email: 'approver@stage.example', name: 'Ada', teamId });
  const ask = async (email: string): Promise<ApprovalRecord> => {
    const content = { subject: 'Curtain', html: '<p>Up</p>' };
    const answer = await http.call<ApprovalRecord>('POST', '/api/approvals', { content, to: [{ email }] });
    t.equal(answer.status, 201, answer.text);
    return answer.body;
  };
  const decide = ({ id, digest }: ApprovalRecord, act: 'approve' | 'withdraw') =>
    act === 'approve'
      ? http.call<ApprovalRecord>('POST', `/api/approvals/${id}/approve`, { digest }, headers)
      : http.call<ApprovalRecord>('POST', `/api/approvals/${id}/withdraw`);
  const asked = await ask('louise.brooks@stage.example');
  const both = await Promise.all([decide(asked, 'approve'), decide(asked, 'approve')]);
  for (const { status, body } of both) t.match([status, body], [200, { status: 'approved', failureCode: null }]);
  const sent = await http.whenStatus(String(both[0]!.body.emailId), 'sent');
  t.equal(taken(sent.messageId), 1);

  const contrary = await ask('buster@stage.example');
  const ends = await Promise.all([decide(contrary, 'withdraw'), decide(contrary, 'approve')]);
  t.same(ends.map(({ status }) => status).toSorted(), [200, 400]);
  const { status, emailId } = (await http.call<ApprovalRecord>('GET', `/api/approvals/${contrary.id}`)).body;
  t.equal(emailId !== null, status === 'approved');

  // The search of the erasure waits until the read model of another process has it.
  const gone = await ask('clara.bow@stage.example');
  await http.call('POST', '/api/privacy/erase', { email: 'clara.bow@stage.example' });
  const record = await eventually('it is erased', async () => {
    const { body } = await http.call<ApprovalRecord>('GET', `/api/approvals/${gone.id}`);
    return body.status === 'requested' ? undefined : body;
  });
  t.match(record, { status: 'withdrawn', decidedBy: null, proposal: null });
  const listOf = async (of: string): Promise<readonly string[]> =>
    (await http.call<{ data: readonly ApprovalRecord[] }>('GET', `/api/approvals?status=${of}`)).body.data.map(
      ({ id }) => id,
    );
  await eventually('the lists follow', async () => (await listOf('requested')).length === 0);
  t.ok((await listOf('approved')).includes(asked.id));
  t.ok((await listOf('withdrawn')).includes(gone.id));
};

/** The collections of the database that have the word in a document, whatever its field. */
const collectionsWith = async (url: string, word: string): Promise<readonly string[]> => {
  const client = await new MongoClient(url).connect();
  try {
    const found: string[] = [];
    let documents = 0;
    for (const { name } of await client.db().listCollections().toArray())
      for (const document of await client.db().collection(name).find().toArray()) {
        documents += 1;
        if (JSON.stringify(document).toLowerCase().includes(word)) found.push(name);
      }
    if (documents === 0) throw new Error(`${url} holds nothing`);
    return found;
  } finally {
    await client.close();
  }
};

const listsAndErases = async (t: Test, { command }: World, http: Started): Promise<void> => {
  const sent = await http.call<{ id: string }>(
    'POST',
    '/api/emails/send',
    sendBody({ to: [{ email: 'grace.hopper@navy.example', name: 'Grace' }], tags: ['erased'] }),
  );
  const { id } = sent.body;
  await eventually(
    'it is found by a part of its address',
    async () => (await listed(http, 'search=hopper', sent.headers['x-sealpost-position'])) === 1,
  );
  await http.whenStatus(id, 'sent');
  t.equal(
    await eventually('by its status too', async () => (await listed(http, 'search=r@navy&status=sent', 0)) === 1),
    true,
  );
  const deleted = await http.call('DELETE', `/api/emails/${id}`);
  t.equal(deleted.status < 300, true, deleted.text);
  await eventually(
    'it is in no list',
    async () => (await listed(http, 'search=hopper', deleted.headers['x-sealpost-position'])) === 0,
  );
  t.equal((await http.call('GET', `/api/emails/${id}`)).status, 404);
  const overview = await http.call<{ totals: Record<string, unknown> }>('GET', '/api/analytics/overview?tag=erased');
  t.match(overview.body.totals, { accepted: 1, sent: 1, failed: 0 }, 'it stays counted');
  const events = await http.engine.eventLog.load(emailStream(assertDefined(parseEmailId(id), 'email id')));
  t.ok(events.length > 2);
  t.notMatch(JSON.stringify(events), 'hopper', 'its key is destroyed');
  const replayed = await command('replay', id, '--json');
  t.match(replayed, { code: 0, stdout: /"sealed":"destroyed"/ });
  t.notMatch(replayed.stdout, 'hopper');
};

const archives = async (t: Test, id: string, http: Started, delivering: readonly Started[]): Promise<void> => {
  t.equal(
    (await http.email(id)).archived,
    false,
    'while nobody can tell whether the clock was set, nothing is destroyed',
  );
  for (const { dataDir } of delivering) confirmTimeOfDay({ dataDir }, randomUUID());
  await eventually('it is archived', async () => (await http.email(id)).archived, WITHIN_MS);
  await eventually(
    'and not found by what was personal',
    async () => (await listed(http, 'search=long-ago', 0)) === 0,
    WITHIN_MS,
  );
};

/** While a dialogue is under way the process that holds it dies; another goes on, with the same message. */
const outlivesAKill = async (t: Test, { sink, spawn, start, taken }: World, http: Started): Promise<Started> => {
  sink.setScript(({ step }) => (step === 'message' ? late(300) : undefined));
  const killed = spawn('process');
  await killed.printed(/sealpost is running/);
  const before = sink.received.length;
  const sent = await Promise.all(Array.from({ length: 12 }, () => http.send()));
  await eventually('it delivers', () => sink.received.length > before, WITHIN_MS);
  await killed.end('SIGKILL');
  sink.setScript(() => undefined);
  const next = await start('process');
  await eventually('all are delivered', () => sent.every(({ messageId }) => taken(messageId) > 0), WITHIN_MS);
  const doubles = sent.filter(({ messageId }) => taken(messageId) > 1).length;
  t.ok(doubles <= 10, `${doubles} twice: at most what was in a dialogue at the kill`);
  await Promise.all(sent.map(({ id }) => http.whenStatus(id, 'sent')));
  return next;
};

/** A key that one process has revoked is refused by every other process once the first has answered. */
const revokesEverywhere = async (t: Test, { start }: World, http: Started): Promise<void> => {
  const other = await start('http');
  const made = await http.call<{ id: string; key: string }>('POST', '/api/api-keys', {
    name: 'short-lived',
    permissions: ['emails:read'],
  });
  const authorization = `Bearer ${made.body.key}`;
  const ask = (app: Started) => app.call('GET', '/api/emails?limit=1', undefined, { authorization });
  for (const app of [http, other]) t.equal((await ask(app)).status, 200, 'it opens both');
  const revoked = await http.call('DELETE', `/api/api-keys/${made.body.id}`);
  t.ok(revoked.status < 300, revoked.text);
  for (const app of [other, http]) t.match(await ask(app), { status: 401, body: { code: 'API_KEY_REVOKED' } });
  await other.stop();
};

/** A process that is frozen past its leases while it delivers, and wakes: others have gone on, and it does no harm. */
const wakesHarmless = async (t: Test, { sink, spawn, start, taken }: World, http: Started): Promise<void> => {
  sink.setScript(({ step }) => (step === 'message' ? late(300) : undefined));
  const frozen = spawn('process');
  await frozen.printed(/sealpost is running/);
  const before = sink.received.length;
  const sent = await Promise.all(Array.from({ length: 12 }, () => http.send()));
  await eventually('it delivers', () => sink.received.length > before, WITHIN_MS);
  process.kill(frozen.pid, 'SIGSTOP');
  sink.setScript(() => undefined);
  const next = await start('process');
  await eventually('all are delivered', () => sent.every(({ messageId }) => taken(messageId) > 0), WITHIN_MS);
  process.kill(frozen.pid, 'SIGCONT');
  const more = await Promise.all(Array.from({ length: 12 }, () => http.send()));
  await eventually('both go on', () => more.every(({ messageId }) => taken(messageId) > 0), WITHIN_MS);
  await Promise.all([...sent, ...more].map(({ id }) => http.whenStatus(id, 'sent')));
  for (const { messageId } of more) t.equal(taken(messageId), 1, 'once');
  t.match(await frozen.end('SIGTERM'), { code: 0 });
  await next.stop();
  const newest = new Map<string, number>();
  for await (const { events } of http.engine.eventLog.readAll(0, { decrypt: [] }))
    for (const { stream, metadata } of events) {
      if (metadata.fence === undefined) continue;
      t.ok(metadata.fence >= (newest.get(stream) ?? 0), `the fence of ${stream} does not fall`);
      newest.set(stream, metadata.fence);
    }
};

/** Two processes that serve a team at its edge. */
const chargesExactly = async (t: Test, { command, start }: World, http: Started): Promise<void> => {
  const other = await start('http');
  const billed = async (...args: readonly string[]): Promise<void> => {
    t.match(await command('team', 'billing', ...args), { code: 0 });
  };
  // Emails that were sent before the team became metered count for the month.
  const used = Number((await http.call('GET', '/api/emails/usage/stats')).body['emailsSent']);
  await billed('--by', 'plan', '--plan', 'free', '--emails-per-month', String(used + 40));
  // A busy machine may answer that it is busy: whoever sends asks again, and is decided on then.
  const sendOnce = async (from: Started): Promise<unknown> => {
    let told: Readonly<{ status: number; body: Readonly<Record<string, unknown>> }> | undefined;
    await eventually(
      'a send is decided',
      async () => (told = await from.call('POST', '/api/emails/send', sendBody())).status !== 503,
      WITHIN_MS,
    );
    return told?.status === 201 ? 'sent' : told?.body['code'];
  };
  const codes = await Promise.all(Array.from({ length: 60 }, (_, index) => sendOnce(index % 2 === 0 ? http : other)));
  t.same(
    Object.fromEntries([...new Set(codes)].sort().map((code) => [code, codes.filter((one) => one === code).length])),
    { QUOTA_EXCEEDED: 20, sent: 40 },
    'as many as the quota, and all others are refused for it',
  );
  await billed('--by', 'credits', '--plan', 'none', '--emails-per-month', 'plan');
  const left = async (): Promise<number> =>
    (JSON.parse((await command('credits', 'balance', '--json')).stdout) as { creditsRemaining: number })
      .creditsRemaining;
  const { id } = await http.send({ scheduledAt: new Date(Date.now() + DAY_MS).toISOString() });
  t.equal(await left(), 999);
  t.equal((await http.call('DELETE', `/api/emails/${id}`)).status, 200);
  await eventually('the credit of the cancelled email is back', async () => (await left()) === 1_000, WITHIN_MS);
  await billed('--by', 'unmetered');
  await other.stop();
};

const isSound = async (t: Test, { command }: World, when: string): Promise<void> => {
  const { code, stdout, stderr } = await command('verify');
  t.equal(code, 0, `verify ${when}: ${stdout}${stderr}`);
  t.match(stdout, /emails: \d+ documents at position \d+ equal a rebuild/);
};

export const engineSuite = async (t: Test, name: EngineName): Promise<void> => {
  const engine = await openEngineOfTest(t, name);
  if (engine === undefined) return;
  const world = await openWorld(t, engine);
  const old = await sendLongAgo(world);
  const { http, delivering, all } = await startAll(world);
  await t.test('what is sent is delivered once, whoever asks again', (t) => sendsOnce(t, world, http));
  await t.test('what is refused for now is tried again', (t) => triesAgain(t, world, http));
  await t.test('who is refused for good is written to no more', (t) => suppresses(t, world, http));
  await t.test('what is for the simulator goes its way, and no further', (t) => simulates(t, world, http));
  await t.test('what is sent is found; what is deleted is erased', (t) => listsAndErases(t, world, http));
  await t.test('what readers do is recorded and counted', async (t) => {
    const now = systemClock();
    const later = await world.start('http', { ...now, now: () => now.now() + 60_000 });
    await hearsOfReaders(t, world.sink, http, later);
    await later.stop();
  });
  await t.test('subscribers hear of all, whichever process posts it', (t) =>
    tellsOfAll(t, http, engine.delivering > 1 ? () => world.spawn('process') : undefined),
  );
  await t.test('an address is given out and erased', (t) => erasesByAddress(t, world, http));
  await t.test('a metered team gets what it has room for, from several processes', (t) =>
    chargesExactly(t, world, http),
  );
  await t.test('a key that is revoked opens nothing any more, in no process', (t) => revokesEverywhere(t, world, http));
  await t.test('people, teams, apps and keys hold in every process', async (t) => {
    const other = await world.start('http');
    await letsPeopleIn(t, { one: http, other, command: world.command });
    await other.stop();
  });
  await t.test('what a program asks for is approved once, and erased', (t) => approvesOnce(t, world, http));
  await t.test('what has grown old is archived', (t) => archives(t, old, http, delivering));
  await t.test('beside the running processes the log is sound, and the read models can be made anew', async (t) => {
    await isSound(t, world, 'beside them');
    t.match(await world.command('rebuild'), { code: 0 });
    await isSound(t, world, 'after a rebuild');
    const { code, stdout } = await world.command('doctor');
    t.equal(code, 0, stdout);
    t.match(stdout, /one delivers from/);
    t.match(
      await world.command('repair', 'read-models'),
      { code: 1, stderr: /A sealpost runs on / },
      'not beside a running service',
    );
  });
  await stopAll(delivering);
  await t.test('a process that is killed in a dialogue loses nothing', async (t) => {
    const next = await outlivesAKill(t, world, http);
    await next.stop();
  });
  if (engine.delivering > 1)
    await t.test('a process that is frozen past its leases and wakes does no harm', (t) =>
      wakesHarmless(t, world, http),
    );
  await stopAll(all);
  if (name === 'distributed')
    await t.test('what is for files says what to do instead', async (t) => {
      for (const given of [[], ['--keys']])
        t.match(await world.command('backup', temporaryDirectory(t), ...given), {
          code: 1,
          stderr: /back (it|them) up, and restore, with the tools of that server/,
        });
      t.match(await world.command('repair', 'read-models'), { code: 0, stdout: /emails: made anew from \d+ events/ });
    });
  await t.test('at rest it is sound', (t) => isSound(t, world, 'at rest'));
};
