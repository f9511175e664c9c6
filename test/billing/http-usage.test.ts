/** Usage and credits over HTTP: what is answered of a metered team, ranges of days and months, and what is added. */
import t, { type Test } from 'tap';
import type { UsedOfDay } from '../../src/projections/query-types.js';
import { buildServer } from '../../src/http/index.js';
import { fakes } from '../http/fakes.js';

const bearer = (key: string) => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' });

/** `used`: by day; default: 3 emails and a document on the first day that is asked for. */
const opened = async (t: Test, used?: readonly UsedOfDay[]) => {
  const { deps, calls } = fakes();
  const usedByDay: typeof deps.queries.usedByDay = async (...asked) => used ?? deps.queries.usedByDay(...asked);
  const app = await buildServer({ ...deps, queries: { ...deps.queries, usedByDay } });
  t.teardown(() => app.close());
  const get = async (url: string) => {
    const response = await app.inject({ method: 'GET', url, headers: bearer('unlimited') });
    return { status: response.statusCode, body: response.json<Record<string, unknown>>() };
  };
  return { app, calls, get };
};

void t.test('the usage of the month is one record of all its figures, and the sum of its days', async (t) => {
  const { get } = await opened(t, [
    { day: '2030-01-01', emails: 50_000, documents: 0 },
    { day: '2030-01-31', emails: 10, documents: 6 },
  ]);
  const { status, body } = await get('/api/emails/usage/stats');
  t.equal(status, 200);
  t.strictSame(body, {
    email: { used: 50_010, limit: 50_000, remaining: 0, percentUsed: 100 },
    attachment: { used: 6, limit: null, remaining: null, percentUsed: 0 },
    billingPeriod: '2030-01-01',
    period: '2030-01',
    emailsSent: 50_010,
    creditsUsed: 50_016,
    creditsRemaining: null,
    quota: 50_000,
    billing: 'plan',
    plan: 'starter',
    overage: { emails: 10, costCents: 1 },
    resetsAt: '2030-02-01T00:00:00.000Z',
  });
});

void t.test('usage by day has every day of the range, by month every month', async (t) => {
  const { get, calls } = await opened(t);
  const days = await get('/api/emails/usage/days?startDate=2030-01-30&endDate=2030-02-01');
  t.strictSame(days.body, {
    data: [
      { day: '2030-01-30', emails: 3, attachments: 1, credits: 4, percentUsed: 0 },
      { day: '2030-01-31', emails: 0, attachments: 0, credits: 0, percentUsed: 0 },
      { day: '2030-02-01', emails: 0, attachments: 0, credits: 0, percentUsed: 0 },
    ],
    quota: 50_000,
  });
  const months = await get('/api/emails/usage/months?startDate=2029-12-31&endDate=2030-02-01');
  t.strictSame(
    (months.body['data'] as { month: string; emails: number }[]).map(({ month, emails }) => [month, emails]),
    [
      ['2029-12', 3],
      ['2030-01', 0],
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
