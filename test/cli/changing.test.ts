/**
 * Commands of billing, bulk sending, webhooks and teams beside one running server: what they change holds there, and
 * wrong arguments are refused.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { WebhookRecord } from '../../src/api/webhooks.js';
import { sendBody } from '../support/app.js';
import { environmentOf, finished, mainFile } from '../support/server-process.js';
import { eventually } from '../support/wait.js';
import { openCliWorld } from './world.js';

t.setTimeout(900_000);

const { dataDir, settings, firstKey, run, call, createKey } = await openCliWorld(t, { SEALPOST_REGISTRATION: 'open' });

// Credits and billing.

await t.test('a team is billed by credits, and cannot send without them', async (t) => {
  const done = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(...args);
    t.equal(code, 0, `${args.join(' ')} ${stderr}`);
    return stdout;
  };
  const body = (more: object = {}) => ({
    templateId: 'sign-in-code',
    to: [{ email: 'ada@example.com' }],
    variables: { code: '1' },
    ...more,
  });
  const balance = async (): Promise<number> =>
    (JSON.parse(await done('credits', 'balance', '--json')) as { creditsRemaining: number }).creditsRemaining;

  t.match(await done('credits', 'balance'), /not metered/);
  t.match((await run('credits', 'grant', '5')).stderr, /not metered/);
  t.match((await run('team', 'billing', '--by', 'plan')).stderr, /needs one/);
  t.match(
    (await run('team', 'billing', '--plan', 'gold')).stderr,
    /gold is not one of free, starter, pro, enterprise, none/,
  );
  const unmetered = 3;
  for (let sent = 0; sent < unmetered; sent += 1)
    t.equal((await call(firstKey, 'POST', '/api/emails/send', body())).status, 201);
  await done('team', 'billing', '--by', 'credits');
  t.equal(await balance(), 1_000, 'the credits of the signup');
  const begun = JSON.parse(await done('credits', 'balance', '--json')) as { emails: { used: number } };
  t.equal(begun.emails.used, unmetered, 'the month begins with what was sent before');
  t.equal(await done('credits', 'grant', '500', '--note', 'for a test'), '500 credits added; 1,500 are left now.\n');
  t.equal(await done('credits', 'buy', '7'), '70,000 credits added for 198.00 USD; 71,500 are left now.\n');
  t.match((await run('credits', 'buy', '0')).stderr, /<blocks> 0 is not a whole number from 1 to/);

  const send = (more?: object) => call(firstKey, 'POST', '/api/emails/send', body(more));
  await eventually('the server knows of it', async () => {
    const sent = await send();
    t.equal(sent.status, 201, JSON.stringify(sent.body));
    return (await balance()) < 71_500;
  });
  const before = await balance();
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  const { body: scheduled } = await send({ scheduledAt: tomorrow });
  t.equal(await balance(), before - 1);
  t.equal((await call(firstKey, 'DELETE', `/api/emails/${String(scheduled['id'])}`)).status, 200);
  await eventually('the credit of the cancelled email is back', async () => (await balance()) === before);

  t.equal((await call(firstKey, 'POST', '/api/credits', { credits: 1 })).status, 403, 'the first key adds nothing');
  t.notOk((await createKey('--name', 'usual')).permissions.includes('credits:grant'));
  const { key } = await createKey('--name', 'billing', '--permissions', 'credits:grant');
  const added = await call(key, 'POST', '/api/credits', { blocks: 7, note: 'invoice 17' });
  t.match(added, {
    status: 201,
    body: { credits: 70_000, priceCents: 19_800, currency: 'USD', creditsRemaining: before + 70_000 },
  });
  t.match((await call(key, 'POST', '/api/credits', { blocks: 1, credits: 1 })).body, { code: 'VALIDATION_ERROR' });

  t.match(await done('credits', 'reset'), /credits taken away; 0 are left now\./);
  t.equal(await balance(), 0);
  await done('team', 'billing', '--by', 'plan', '--plan', 'free', '--emails-per-month', '1');
  await eventually('the server refuses beyond the quota', async () => (await send()).body['code'] === 'QUOTA_EXCEEDED');
  const stats = await call(firstKey, 'GET', '/api/emails/usage/stats');
  t.match(stats.body, { quota: 1, billing: 'plan', plan: 'free', creditsRemaining: null });
  await done('team', 'billing', '--by', 'unmetered', '--plan', 'none', '--emails-per-month', 'plan');
  await eventually('any number may be sent', async () => (await send()).status === 201);
  const verified = await run('verify');
  t.equal(verified.code, 0, verified.stdout + verified.stderr);
});

// Bulk sending.

await t.test('a file of more than one call is tried, sent once, followed and told', async (t) => {
  const file = join(dataDir, 'people.csv');
  const rows = Array.from({ length: 1_003 }, (_, at) => `r${at}@example.com;${at}`);
  writeFileSync(file, ['E-Mail;Code', ...rows, 'no address;1'].join('\n'));
  const send = (...more: readonly string[]) =>
    run('bulk', 'send', file, '--template', 'sign-in-code', '--map', 'email=E-Mail', 'code=Code', ...more);
  const dry = await send('--dry-run');
  const would =
    '1003 emails would be made, 0 of them would fail; they cost 1003. 1 row is left out. Nothing was sent.\n';
  t.match(dry, { code: 1, stdout: would }, 'a row that is left out is not sent to');
  t.match(dry.stderr, /\(line 1005\) is left out/);
  t.equal((await run('bulk', 'list')).stdout, '');
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  const sent = await send('--schedule', tomorrow, '--name', 'People');
  t.equal(sent.code, 0, sent.stderr);
  const lines = sent.stdout.trim().split('\n');
  t.match(lines, [/^\S+ {2}1000 emails are scheduled\.$/, /^\S+ {2}3 emails are scheduled\.$/]);
  const ids = lines.map((line) => line.split(' ')[0]!);
  const again = await send('--schedule', tomorrow, '--name', 'People');
  t.same(
    again.stdout.trim().split('\n'),
    ids.map((id) => `${id}  was accepted before`),
    'nothing is made twice',
  );
  t.match(JSON.parse((await run('bulk', 'status', ids[0]!, '--json')).stdout), {
    status: 'scheduled',
    totalEmails: 1_000,
    batchName: 'People',
  });
  t.equal((await run('bulk', 'cancel', ids[0]!)).stdout, '1000 emails will not leave.\n');
  t.match((await run('bulk', 'cancel', ids[0]!)).stderr, /this one is cancelled/);
  t.match((await run('bulk', 'status', 'x')).stderr, /x is not the id of a bulk send/);

  writeFileSync(file, 'email,code\na@example.com,1\nb@example.com,2\n');
  const now = await run('bulk', 'send', file, '--template', 'sign-in-code', '--follow');
  t.match(now, {
    code: 0,
    stdout: /2 emails are queued\.\n\S+ {2}completed {2}2 sent, 0 failed, 0 cancelled, 0 open of 2\n$/,
  });
  const id = now.stdout.split(' ')[0]!;
  t.match(
    (await run('bulk', 'results', id)).stdout,
    /^place,email,.*\r\n0,a@example\.com,delivered,.*\r\n1,b@example\.com,delivered,.*\r\n$/,
  );
  t.match(JSON.parse((await run('bulk', 'results', id, '--format', 'jsonl')).stdout.split('\n')[1]!), {
    place: 1,
    email: 'b@example.com',
  });
  t.match((await run('bulk', 'list')).stdout, new RegExp(`^${id}  completed`));
  t.match(
    (await run('bulk', 'send', file, '--template', 'sign-in-code', '--map', 'x')).stderr,
    /--map x is not written field=column/,
  );
  t.match(
    (await run('bulk', 'send', file, '--template', 'sign-in-code', '--priority', 'now')).stderr,
    /--priority now is not one of/,
  );
});

// Webhooks, as a newcomer listens to them.

let key = '';
await t.test('a key of its own', async () => {
  ({ key } = await createKey('--name', 'webhooks', '--rate-limit', '1000000'));
});

const listening = (...args: readonly string[]) => {
  const child = spawn(process.execPath, [mainFile, 'webhooks', 'listen', ...args], {
    env: { ...environmentOf(settings), NODE_OPTIONS: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = finished(child, 120_000);
  return {
    output: () => output,
    end: (signal: NodeJS.Signals) => {
      child.kill(signal);
      return ended;
    },
  };
};

const subscriptions = async (): Promise<readonly WebhookRecord[]> => {
  const { body } = await call(key, 'GET', '/api/v1/webhook-subscriptions');
  return (body['data'] ?? body['subscriptions'] ?? []) as readonly WebhookRecord[];
};

await t.test('what becomes of a mail is printed, and what is not signed is refused', async (t) => {
  const listener = listening();
  const url = await eventually(
    'it listens',
    () => /arrive on (http:\/\/127\.0\.0\.1:\d+\/)/.exec(listener.output())?.[1],
  );
  await eventually('it has a subscription', async () => (await subscriptions()).length === 1);
  await call(key, 'POST', '/api/emails/send', sendBody());
  for (const kind of ['email.queued', 'email.sent', 'email.delivered']) {
    const line = new RegExp(`${kind.replace('.', '\\.')} .*ada@example\\.com  .*  evt_`);
    await eventually(`it is told of ${kind}`, () => line.test(listener.output()));
  }
  const headers = {
    'x-service-timestamp': String(Math.floor(Date.now() / 1_000)),
    'x-service-signature': `v1=${'0'.repeat(64)}`,
  };
  t.equal((await fetch(url, { method: 'POST', body: '{}', headers })).status, 401);
  t.equal((await fetch(url, { method: 'POST', body: '{}' })).status, 401);
  for (const reason of ['X-Service-Signature is wrong', 'X-Service-Timestamp is not of now'])
    await eventually(`it says ${reason}`, () => listener.output().includes(`A post was refused: its ${reason}.`));
  t.match(await listener.end('SIGINT'), { code: 0 });
  await eventually('its subscription went with it', async () => (await subscriptions()).length === 0);
});

await t.test('chosen kinds as JSON; a listener that was killed leaves nothing to the next', async (t) => {
  const first = listening('--events', 'email.sent', '--json');
  const [made] = await eventually('it has a subscription', async () => {
    const all = await subscriptions();
    return all.length === 1 && all;
  });
  t.same(made?.events, ['email.sent']);
  await call(key, 'POST', '/api/emails/send', sendBody());
  await eventually('it is told', () => first.output().includes('\n'));
  t.match(JSON.parse(first.output()), { event: 'email.sent', data: { recipient: 'ada@example.com' } });
  await first.end('SIGKILL');
  const second = listening('--events', 'email.bounced,email.failed');
  await eventually('there is its subscription alone', async () => {
    const all = (await subscriptions()).map(({ events }) => events.join());
    return all.length === 1 && all[0] === 'email.bounced,email.failed';
  });
  t.match(await second.end('SIGTERM'), { code: 0 });
});

await t.test('what is asked for wrongly is refused', async (t) => {
  t.match(await run('webhooks', 'listen', '--events', 'email.nothing'), { code: 1, stderr: /there are email\.sent, / });
  t.match(await run('webhooks', 'listen', '--port', '70000'), { code: 1, stderr: /from 1 to 65535/ });
});

// Teams: who is in which one.

const ada = { email: 'ada@example.com', password: 'a pelican in the rain', name: 'Ada Example' };

const idOf = async (): Promise<string> => {
  const { stdout } = await run('team', 'members', '--json');
  return String((JSON.parse(stdout) as { userId: string }[])[0]?.userId);
};

await t.test('the operator lists teams and members, adds and removes people', async (t) => {
  const listed = await run('team', 'list');
  t.match(listed, { code: 0, stdout: /^[-0-9a-f]{36} {2}First team {2}0 members\n$/ });
  const [{ id: teamId = '' } = {}] = JSON.parse((await run('team', 'list', '--json')).stdout) as { id?: string }[];
  t.match(await run('team', 'add-member', ada.email, '--role', 'owner'), {
    code: 1,
    stderr: /there is no user ada@example\.com/,
  });
  t.equal((await call('', 'POST', '/api/auth/register', ada)).status, 201);
  const { body } = await call('', 'POST', '/api/auth/login', { email: ada.email, password: ada.password });
  const token = String(body.accessToken);
  t.match(await run('team', 'members'), { stdout: /owner {2}ada@example\.com {2}Ada Example {2}since / });
  const userId = await idOf();
  t.match(JSON.parse((await run('team', 'show')).stdout), { id: teamId, members: { [userId]: { role: 'owner' } } });
  t.match(await run('team', 'remove-member', ada.email), { code: 1, stderr: /only one/ }, 'a team keeps an owner');

  const second = await call(token, 'POST', '/api/teams', {
    name: 'Market',
    defaultFrom: { email: 'market@example.com' },
  });
  const market = String(second.body.id);
  t.match(await run('team', 'list'), { stdout: new RegExp(`${market} {2}Market {2}1 member\n$`) });
  t.match(await run('team', 'members', '--team', market), { stdout: /ada@example\.com/ });
  t.match(await run('team', 'add-member', userId, '--role', 'viewer', '--team', market), {
    code: 1,
    stderr: /in the team already/,
  });
  t.match(await run('team', 'add-member', userId, '--role', 'king'), {
    code: 1,
    stderr: /--role king is not one of owner, admin/,
  });
  for (const unknown of ['nonsense', '00000000-0000-4000-8000-000000000000'])
    t.match(await run('team', 'members', '--team', unknown), { code: 1, stderr: /there is no team/ });
  t.match(await run('team', 'remove-member', '00000000-0000-4000-8000-000000000000'), {
    code: 1,
    stderr: /there is no user/,
  });

  const bob = { email: 'bob@example.com', password: 'a pelican in the snow', name: 'Bob Example' };
  t.equal((await call('', 'POST', '/api/auth/register', bob)).status, 201);
  t.match(await run('team', 'add-member', 'BOB@example.com', '--role', 'viewer', '--team', market), {
    code: 0,
    stdout: /is viewer of team/,
  });
  t.match((await call(token, 'GET', `/api/teams/${market}/members`)).body, {
    data: [{ userId }, { email: bob.email, role: 'viewer' }],
  });
  t.match(await run('team', 'remove-member', bob.email, '--team', market), {
    code: 0,
    stdout: /is not in team .* any more/,
  });
  t.match(await run('team', 'remove-member', bob.email, '--team', market), {
    code: 1,
    stderr: /The team has no member with this id/,
  });

  const activity = await call(token, 'GET', `/api/teams/${market}/activity`);
  t.match(activity.body, {
    data: [
      { kind: 'member.removed', actor: { type: 'operator', id: null }, target: { name: 'Bob Example' } },
      { kind: 'member.added', actor: { type: 'operator' }, target: { name: 'Bob Example' }, role: 'viewer' },
      {
        kind: 'member.added',
        actor: { type: 'user', id: userId, name: 'Ada Example' },
        target: { name: 'Ada Example' },
        role: 'owner',
      },
      { kind: 'team.created', target: { id: market, name: 'Market' } },
    ],
  });
  t.equal((await call(firstKey, 'GET', `/api/teams/${teamId}/activity`)).status, 403, 'a key is no member');

  // From here on Ada is in one team, and Bob owns both.
  for (const team of [teamId, market])
    t.equal((await run('team', 'add-member', bob.email, '--role', 'owner', '--team', team)).code, 0);
  t.equal((await run('team', 'remove-member', ada.email)).code, 0);
  for (const [options, end] of [
    [[], /^key_\S+ {2}of Ada {2}goes on; sealpost key revoke ends it$/m],
    [['--revoke-keys'], /^key_\S+ {2}of Ada {2}revoked$/m],
  ] as const) {
    const made = await call(token, 'POST', '/api/api-keys', { name: 'of Ada', permissions: ['emails:read'] });
    t.equal(made.status, 201);
    t.match(await run('team', 'remove-member', ada.email, '--team', market, ...options), { code: 0, stdout: end });
    t.equal((await call(String(made.body.key), 'GET', '/api/emails')).status, options.length === 0 ? 200 : 401);
    t.equal((await run('team', 'add-member', ada.email, '--role', 'admin', '--team', market)).code, 0);
  }
});
