/**
 * The endpoints of analytics: which ranges, counts and filters they take, what they ask the read models for, and how
 * often they may be called.
 */
import t, { type Test } from 'tap';
import { bearer, openServer, own, TEAM } from '../http/server.js';

const TEMPLATE_ID = own.template.id;

/** The clock stands at noon of 1 January 2030. */
const DEFAULT = { startDate: '2029-12-03', endDate: '2030-01-01', days: 30 };

const served = async (t: Test) => {
  const { app, calls } = await openServer(t);
  const ask = (path: string) => app.inject({ url: `/api/${path}`, headers: bearer('unlimited') });
  const asked = async (path: string): Promise<readonly unknown[]> => {
    const { statusCode, body } = await ask(path);
    t.equal(statusCode, 200, `${path}: ${body}`);
    return calls.at(-1)!.slice(1);
  };
  const refused = async (path: string): Promise<string> => {
    const before = calls.length;
    const response = await ask(path);
    const { code, errors } = response.json<{ code: string; errors: { field: string; message: string }[] }>();
    t.same([response.statusCode, code, calls.length], [400, 'VALIDATION_ERROR', before], path);
    return `${errors[0]!.field} ${errors[0]!.message}`;
  };
  return { app, calls, ask, asked, refused };
};

void t.test('ranges are days in UTC: 30 of them up to today where none are given', async (t) => {
  const { asked, refused } = await served(t);
  t.same(await asked('analytics/overview'), [TEAM, DEFAULT, {}]);
  t.same((await asked('analytics/overview?startDate=2029-12-31'))[1], {
    startDate: '2029-12-31',
    endDate: '2030-01-01',
    days: 2,
  });
  t.same((await asked('analytics/overview?endDate=2029-01-30'))[1], {
    startDate: '2029-01-01',
    endDate: '2029-01-30',
    days: 30,
  });
  t.same(
    (await asked('analytics/overview?startDate=2029-06-01T23:30:00-02:00&endDate=2029-06-03T10:00:00Z'))[1],
    { startDate: '2029-06-02', endDate: '2029-06-03', days: 2 },
    'a time stands for its day',
  );
  t.match(
    await refused('analytics/overview?startDate=2030-02-01'),
    /^startDate must not lie after the last day of the range, which is 2030-01-01/,
  );
  t.match(await refused('analytics/overview?startDate=2029-02-30'), /^startDate must be an ISO 8601 date/);
  t.match(await refused('analytics/overview?timezone=Europe/Berlin'), /^timezone is not a known field/);
  t.match(
    await refused('analytics/overview?startDate=2020-01-01'),
    /^startDate makes a range of 3654 days; 1827 are the most here/,
  );
});

void t.test('by template or by tag, and not by both', async (t) => {
  const { asked, refused } = await served(t);
  t.same((await asked(`analytics/overview?templateId=${TEMPLATE_ID.toUpperCase()}`))[2], { templateId: TEMPLATE_ID });
  t.same((await asked('analytics/timeseries?tag=order'))[2], { tag: 'order' });
  t.match(
    await refused(`analytics/timeseries?tag=order&templateId=${TEMPLATE_ID}`),
    /^tag cannot stand beside `templateId`/,
  );
});

void t.test('by the mailbox provider of recipients, which has no opens and clicks', async (t) => {
  const { asked, refused } = await served(t);
  t.same((await asked('analytics/overview?recipientDomain=GMail.com'))[2], { recipientDomain: 'gmail.com' });
  const series = await asked('analytics/timeseries?recipientDomain=gmx.de');
  t.same(series[2], { recipientDomain: 'gmx.de' });
  t.same((series[1] as Readonly<{ metrics: unknown }>).metrics, [
    ...['accepted', 'sent', 'delivered', 'bounced', 'complained', 'failed', 'cancelled', 'suppressed'],
  ]);
  t.match(
    await refused('analytics/overview?recipientDomain=kims-own-domain.example'),
    /^recipientDomain is no mailbox provider whose recipients are counted/,
  );
  for (const other of [`templateId=${TEMPLATE_ID}`, 'tag=order'])
    t.match(
      await refused(`analytics/overview?recipientDomain=gmail.com&${other}`),
      new RegExp(`^recipientDomain cannot stand beside \`${other.split('=')[0]}\``),
    );
  t.match(
    await refused('analytics/timeseries?recipientDomain=gmail.com&metrics=sent,opened'),
    /^metrics cannot name `opened`, which is not counted by domain/,
  );
});

void t.test(
  'a time series has the counts and the interval that are asked for, and a bounded number of points',
  async (t) => {
    const { ask, asked, refused } = await served(t);
    const all = [
      'accepted',
      'sent',
      'delivered',
      'bounced',
      'complained',
      'failed',
      'cancelled',
      'suppressed',
      'opened',
      'clicked',
    ];
    t.same((await asked('analytics/timeseries'))[1], { range: DEFAULT, interval: 'day', metrics: all });
    t.match((await asked('analytics/timeseries?metrics=sent,accepted,sent&interval=month&startDate=2025-01-01'))[1], {
      interval: 'month',
      metrics: ['accepted', 'sent'],
      range: { days: 1_827 },
    });
    t.same((await ask('analytics/timeseries?metrics=sent&startDate=2030-01-01')).json(), {
      range: { startDate: '2030-01-01', endDate: '2030-01-01', days: 1 },
      interval: 'day',
      data: [{ startDate: '2030-01-01', endDate: '2030-01-01', sent: 0 }],
      isLowerBound: false,
    });
    t.match(await refused('analytics/timeseries?metrics=sent,seen'), /^metrics must be one or more of accepted, sent/);
    t.match(await refused('analytics/timeseries?metrics=sent,'), /^metrics/);
    t.match(await refused('analytics/timeseries?interval=hour'), /^interval must be one of day, week, month/);
    t.match(await refused('analytics/timeseries?startDate=2028-12-31'), /366 are the most here/);
    t.match((await asked('analytics/timeseries?startDate=2028-12-31&interval=week'))[1], { range: { days: 367 } });
  },
);

void t.test('templates and tags are listed by a count, page by page', async (t) => {
  const { ask, asked, refused } = await served(t);
  for (const [path, query, used] of [
    ['templates', 'analyticsTemplates', [{ templateId: TEMPLATE_ID, totals: { accepted: 3, failed: 1 } }]],
    ['tags', 'analyticsTags', []],
  ] as const) {
    t.same(await asked(`analytics/${path}`), [TEAM, { range: DEFAULT, sort: 'accepted', page: 1, limit: 20 }], query);
    t.match((await asked(`analytics/${path}?sort=bounced&page=3&limit=5`))[1], { sort: 'bounced', page: 3, limit: 5 });
    t.match((await ask(`analytics/${path}`)).json(), {
      data: used,
      other: null,
      meta: { total: used.length, totalPages: used.length, nextCursor: null },
    });
    t.match(await refused(`analytics/${path}?sort=name`), /^sort must be one of accepted/);
    t.match(await refused(`analytics/${path}?tag=order`), /^tag is not a known field/);
    t.match(await refused(`analytics/${path}?startDate=2028-12-31`), /366 are the most here/);
  }
});

void t.test('the start page of a dashboard', async (t) => {
  const { ask, refused } = await served(t);
  const totals = {
    accepted: 3,
    sent: 0,
    delivered: 0,
    opened: 0,
    clicked: 0,
    complained: 0,
    bounced: 0,
    failed: 1,
    cancelled: 0,
  };
  t.match((await ask('dashboard/summary')).json(), {
    today: {
      range: { startDate: '2030-01-01', endDate: '2030-01-01', days: 1 },
      totals,
      rates: { sent: 0 },
      times: { sentMs: null },
    },
    last7Days: { range: { days: 7 }, totals },
    last30Days: { range: DEFAULT, totals },
    queue: { ready: 1, deferred: 0, held: 0, scheduled: 1 },
    recentFailures: [{ id: own.email }],
  });
  t.match(await refused('dashboard/summary?days=7'), /^days/);
});

void t.test('domains of recipients, or those of senders', async (t) => {
  const { app, calls } = await served(t);
  for (const [query, side] of [
    ['', 'recipient'],
    ['?side=recipient', 'recipient'],
    ['?side=sender&sort=bounced&limit=5', 'sender'],
  ] as const) {
    const answer = await app.inject({ url: `/api/analytics/domains${query}`, headers: bearer('full') });
    t.match(answer.json(), { data: [], other: null, meta: { total: 0, totalIsLowerBound: false } });
    t.match(
      calls.findLast(([name]) => name === 'analyticsDomains'),
      ['analyticsDomains', TEAM, side],
    );
  }
  const wrong = await app.inject({ url: '/api/analytics/domains?side=both', headers: bearer('full') });
  t.match(wrong.json(), { statusCode: 400, errors: [{ field: 'side' }] });
});

void t.test('each may be called a hundred times a minute', async (t) => {
  const { app } = await served(t);
  for (const path of [
    'analytics/overview',
    'analytics/timeseries',
    'analytics/templates',
    'analytics/tags',
    'analytics/domains',
    'dashboard/summary',
  ]) {
    const ask = () => app.inject({ url: `/api/${path}`, headers: bearer('full') });
    const first = await ask();
    t.equal(first.headers['x-ratelimit-limit'], '100', path);
    for (let count = 1; count < 100; count += 1) await ask();
    t.equal((await ask()).statusCode, 429, path);
  }
});
