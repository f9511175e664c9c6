/**
 * `sealpost credits` and `team billing` beside a running server: what they change holds there, and what is cancelled
 * comes back.
 */
import t from 'tap';
import { eventually } from '../support/wait.js';
import { openCliWorld } from './world.js';

void t.test('a team is billed by credits, and cannot send without them', async (t) => {
  const { run, call, firstKey, createKey } = await openCliWorld(t);
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
