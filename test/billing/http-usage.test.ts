/** Usage and credits over HTTP: what is answered of a metered team, ranges of days and months, and what is added. */
import t, { type Test } from 'tap';
import { causeOf } from '../../src/commands/core/caller.js';
import { changeBilling } from '../../src/commands/teams/teams.js';
import { caller } from '../support/command-world.js';
import { bearer, openServer, TEAM } from '../http/server.js';

/** The founded team has sent three emails, and sends that many more on a plan. */
const opened = async (t: Test, more = 0, emailsPerMonth = 50_000) => {
  const { app, calls, world } = await openServer(t);
  const { deps, commands } = world();
  const plan = { billing: 'plan', plan: 'starter', emailsPerMonth } as const;
  await changeBilling(deps, TEAM, plan, causeOf(deps, caller), async () => ({ emails: 3, attachments: 0 }));
  for (let sent = 0; sent < more; sent += 1)
    await commands.sendEmail(caller, { templateId: 'welcome', to: [{ email: 'jane@example.com' }], variables: {} });
  const get = async (url: string) => {
    const response = await app.inject({ method: 'GET', url, headers: bearer('unlimited') });
    return { status: response.statusCode, body: response.json<Record<string, unknown>>() };
  };
  return { app, calls, get };
};

void t.test('the usage of the month is one record of all its figures, and the sum of its days', async (t) => {
  const { get } = await opened(t, 2, 4);
  const { status, body } = await get('/api/emails/usage/stats');
  t.equal(status, 200);
  t.strictSame(body, {
    email: { used: 5, limit: 4, remaining: 0, percentUsed: 125 },
    attachment: { used: 0, limit: null, remaining: null, percentUsed: 0 },
    billingPeriod: '2030-01-01',
    period: '2030-01',
    emailsSent: 5,
    creditsUsed: 5,
    creditsRemaining: null,
    quota: 4,
    billing: 'plan',
    plan: 'starter',
    overage: { emails: 1, costCents: 1 },
    resetsAt: '2030-02-01T00:00:00.000Z',
  });
});

void t.test('usage by day has every day of the range, by month every month', async (t) => {
  const { get, calls } = await opened(t);
  const days = await get('/api/emails/usage/days?startDate=2030-01-01&endDate=2030-01-03');
  t.strictSame(days.body, {
    data: [
      { day: '2030-01-01', emails: 3, attachments: 0, credits: 3, percentUsed: 0 },
      { day: '2030-01-02', emails: 0, attachments: 0, credits: 0, percentUsed: 0 },
      { day: '2030-01-03', emails: 0, attachments: 0, credits: 0, percentUsed: 0 },
    ],
    quota: 50_000,
  });
  const months = await get('/api/emails/usage/months?startDate=2029-12-31&endDate=2030-02-01');
  t.strictSame(
    (months.body['data'] as { month: string; emails: number }[]).map(({ month, emails }) => [month, emails]),
    [
      ['2029-12', 0],
      ['2030-01', 3],
      ['2030-02', 0],
    ],
  );
  const byDefault = await get('/api/emails/usage/months');
  t.equal((byDefault.body['data'] as unknown[]).length, 12);
  t.equal(((await get('/api/emails/usage/days')).body['data'] as unknown[]).length, 30);
  t.ok(calls.some(([name]) => name === 'usedByDay'));
});

void t.test('a range that is turned round, too long or no range is refused', async (t) => {
  const { get } = await opened(t);
  for (const query of [
    'startDate=2030-02-01&endDate=2030-01-01',
    'startDate=2020-01-01&endDate=2030-01-01',
    'startDate=2030-02-31',
    'startDate=tomorrow00',
  ]) {
    const { status, body } = await get(`/api/emails/usage/days?${query}`);
    t.equal(status, 400, query);
    t.equal(body['code'], 'VALIDATION_ERROR', query);
  }
});
