/**
 * The analytics over documents as the projections make them: ranges and the ones before, points, lists, the start page;
 * and no team sees another's.
 */
import t, { type Test } from 'tap';
import type { EmailEvent } from '../../src/domain/email/events.js';
import { emailMilestones } from '../../src/domain/email/milestones.js';
import type { TemplateEvent } from '../../src/domain/templates/events.js';
import { assertDefined, parseTeamId } from '../../src/domain/core/ids.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import {
  makeAnalyticsQueries,
  type AnalyticsQueries,
  type DayRange,
} from '../../src/projections/analytics/analytics.js';
import { makeProjections } from '../../src/projections/index.js';
import {
  accepted,
  attempted,
  bounced,
  content,
  DAY_MS,
  failed,
  released,
  sent,
  TEAM_ID,
  TEMPLATE_ID,
} from '../support/email-facts.js';
import { fakeClock } from '../support/fake-clock.js';
import { openDocuments, openLogOfTest, projectIn } from '../support/projected.js';

const team = assertDefined(parseTeamId(TEAM_ID), 'team id');
const OTHER = '22222222-2222-4222-8222-222222222222';
const other = assertDefined(parseTeamId(OTHER), 'team id');
const NEWS = '0198f000-0000-7000-8000-00000000000d';
/** A Thursday. */
const TODAY = '2030-01-31';

type Mail = Readonly<{
  day: string;
  /** Absent: it stays queued. */
  end?: 'queued' | 'sent' | 'delivered' | 'bounced' | 'failed' | 'cancelled' | 'scheduled';
  tags?: readonly string[];
  template?: string;
  team?: string;
  /** The provider of the recipient. */
  provider?: string;
  senderDomain?: string;
}>;

const domainsOf = (provider: string | undefined, senderDomain: string | undefined) => ({
  ...(provider === undefined ? {} : { domains: [provider] }),
  ...(senderDomain === undefined ? {} : { senderDomain }),
});

/** Accepted at noon; its first attempt begins after two seconds, and it is sent after four. */
const eventsOf = ({
  day,
  end = 'queued',
  tags = [],
  template = TEMPLATE_ID,
  provider,
  senderDomain,
}: Mail): readonly EmailEvent[] => {
  const at = (seconds: number): string => new Date(Date.parse(`${day}T12:00:00.000Z`) + seconds * 1_000).toISOString();
  const data = {
    ...accepted,
    at: at(0),
    templateId: template,
    tags: [...tags],
    roles: ['to' as const],
    ...domainsOf(provider, senderDomain),
  };
  const queued: EmailEvent = { type: 'EmailQueued', data, sealed: content };
  const begun = [queued, attempted(1, at(2))];
  switch (end) {
    case 'queued':
      return [queued];
    case 'scheduled':
      return [{ type: 'EmailScheduled', data: { ...data, scheduledAt: at(1e6) }, sealed: content }];
    case 'cancelled':
      return [queued, { type: 'EmailCancelled', data: { at: at(1) } }];
    case 'sent':
      return [...begun, sent(1, at(4), [0, 'accepted'])];
    case 'delivered':
      return [
        ...begun,
        sent(1, at(4), [0, 'accepted']),
        { type: 'EmailDelivered', data: { at: at(DAY_MS / 1_000), recipients: [0] } },
      ];
    case 'bounced':
      return [...begun, bounced(1, at(4), [0, 'bounced'])];
    case 'failed':
      return [...begun, failed('refused', 1, at(4), [0, 'refused'])];
  }
};

const draft = {
  name: 'Newsletter',
  description: '',
  subject: 'Hi',
  from: null,
  variables: [],
  schema: { sections: [] },
  locale: 'en-US',
  timeZone: 'UTC',
};
const createdAt = '2030-01-01T00:00:00.000Z';
const newsletter: readonly TemplateEvent[] = [
  { type: 'TemplateCreated', data: { at: createdAt, slug: 'newsletter' } },
  { type: 'TemplateDraftSaved', data: { at: createdAt, revision: 1, draft } },
];

const analyticsOf = async (
  t: Test,
  mails: readonly Mail[],
  more: (append: ReturnType<typeof openLogOfTest>['append']) => Promise<void> = async () => {},
): Promise<AnalyticsQueries> => {
  const { append, recorded } = openLogOfTest();
  for (const [index, mail] of mails.entries())
    await append(`email-0198f000-0000-7000-8000-${String(index).padStart(12, '0')}`, eventsOf(mail), mail.team);
  await more(append);
  const readModels = openDocuments(t);
  for (const projection of makeProjections(defaultLimits)) await projectIn(readModels, projection, await recorded());
  return makeAnalyticsQueries({ readModels, clock: fakeClock(Date.parse(`${TODAY}T18:00:00.000Z`)) });
};

const range = (startDate: string, endDate: string): DayRange => ({
  startDate,
  endDate,
  days: (Date.parse(endDate) - Date.parse(startDate)) / DAY_MS + 1,
});
const times = (count: number, mail: Mail): readonly Mail[] => Array.from({ length: count }, () => mail);
const none = { opened: null, clicked: null };
const unseen = { opened: 0, clicked: 0 };
const zero = {
  accepted: 0,
  sent: 0,
  delivered: 0,
  complained: 0,
  bounced: 0,
  failed: 0,
  cancelled: 0,
  suppressed: 0,
  ...unseen,
};

void t.test('an overview: totals, rates and times, beside those of as many days before', async (t) => {
  const { analyticsOverview } = await analyticsOf(t, [
    ...times(4, { day: '2030-01-09', end: 'sent' }),
    ...times(3, { day: '2030-01-10', end: 'delivered' }),
    { day: '2030-01-11', end: 'sent' },
    { day: '2030-01-11', end: 'bounced' },
    { day: '2030-01-12', end: 'failed' },
    { day: '2030-01-12', end: 'cancelled' },
    { day: '2030-01-12' },
    { day: '2030-01-13', end: 'sent' },
    { day: '2030-01-10', end: 'sent', team: OTHER },
  ]);
  t.strictSame(await analyticsOverview(team, range('2030-01-10', '2030-01-12'), {}), {
    range: { startDate: '2030-01-10', endDate: '2030-01-12', days: 3 },
    totals: {
      accepted: 8,
      sent: 4,
      delivered: 3,
      complained: 0,
      ...unseen,
      bounced: 1,
      failed: 1,
      cancelled: 1,
      suppressed: 0,
    },
    rates: { sent: 66.67, delivered: 75, bounced: 16.67, failed: 16.67, complained: 0, ...none },
    times: { firstAttemptMs: 2_000, sentMs: 4_000, deliveredMs: DAY_MS },
    isLowerBound: false,
    previous: {
      range: { startDate: '2030-01-07', endDate: '2030-01-09', days: 3 },
      totals: { ...zero, accepted: 4, sent: 4 },
      rates: { sent: 100, delivered: 0, bounced: 0, failed: 0, complained: 0, ...none },
      times: { firstAttemptMs: 2_000, sentMs: 4_000, deliveredMs: null },
      isLowerBound: false,
    },
    change: {
      accepted: 100,
      sent: 0,
      delivered: null,
      complained: null,
      bounced: null,
      failed: null,
      cancelled: null,
      suppressed: null,
      ...none,
    },
  });
  t.match(await analyticsOverview(other, range('2030-01-10', '2030-01-12'), {}), { totals: { accepted: 1, sent: 1 } });
  t.match(await analyticsOverview(team, range('2020-01-01', '2020-12-31'), {}), {
    totals: zero,
    rates: { sent: null, delivered: null, bounced: null, failed: null },
    times: { firstAttemptMs: null },
    previous: { range: { startDate: '2018-12-31', endDate: '2019-12-31' } },
  });
});

void t.test('by template and by tag', async (t) => {
  const { analyticsOverview } = await analyticsOf(t, [
    { day: '2030-01-10', end: 'sent', tags: ['order', 'vip'] },
    { day: '2030-01-10', end: 'failed', tags: ['order'], template: NEWS },
  ]);
  const days = range('2030-01-01', '2030-01-31');
  t.match(await analyticsOverview(team, days, { templateId: NEWS }), {
    totals: { accepted: 1, sent: 0, failed: 1 },
    times: { firstAttemptMs: null, sentMs: null, deliveredMs: null },
  });
  t.match(await analyticsOverview(team, days, { tag: 'order' }), {
    totals: { accepted: 2, sent: 1, failed: 1 },
    isLowerBound: false,
  });
  t.match(await analyticsOverview(team, days, { tag: 'other' }), { totals: zero });
  t.match(await analyticsOverview(team, days, { tag: '__proto__' }), { totals: zero });
  t.match(await analyticsOverview(other, days, { tag: 'order' }), { totals: zero });
});

void t.test('a point for each day, week and month, those without emails too', async (t) => {
  const { analyticsTimeSeries } = await analyticsOf(t, [
    ...times(2, { day: '2030-01-06', end: 'sent' }),
    { day: '2030-01-07' },
    { day: '2030-01-31', end: 'failed' },
    { day: '2030-02-01', end: 'sent' },
  ]);
  const series = async (interval: 'day' | 'week' | 'month', days: DayRange) =>
    (await analyticsTimeSeries(team, { range: days, interval, metrics: ['accepted', 'sent'] }, {})).data;
  const point = (startDate: string, endDate: string, acceptedCount: number, sentCount: number) => ({
    startDate,
    endDate,
    accepted: acceptedCount,
    sent: sentCount,
  });
  t.strictSame(await series('day', range('2030-01-05', '2030-01-08')), [
    point('2030-01-05', '2030-01-05', 0, 0),
    point('2030-01-06', '2030-01-06', 2, 2),
    point('2030-01-07', '2030-01-07', 1, 0),
    point('2030-01-08', '2030-01-08', 0, 0),
  ]);
  t.strictSame(
    await series('week', range('2030-01-05', '2030-01-16')),
    [
      point('2030-01-05', '2030-01-06', 2, 2),
      point('2030-01-07', '2030-01-13', 1, 0),
      point('2030-01-14', '2030-01-16', 0, 0),
    ],
    'weeks begin on Monday, and those at the edges are cut',
  );
  t.strictSame(await series('month', range('2030-01-02', '2030-03-01')), [
    point('2030-01-02', '2030-01-31', 4, 2),
    point('2030-02-01', '2030-02-28', 1, 1),
    point('2030-03-01', '2030-03-01', 0, 0),
  ]);
  const year = await analyticsTimeSeries(
    team,
    { range: range('2030-01-01', '2031-01-01'), interval: 'day', metrics: emailMilestones },
    {},
  );
  t.equal(year.data.length, 366);
  t.equal(
    year.data.reduce((sum, { accepted: count = 0 }) => sum + count, 0),
    5,
  );
});

void t.test('templates and tags: the highest count first, page by page, with what templates are called', async (t) => {
  const { analyticsTemplates, analyticsTags } = await analyticsOf(
    t,
    [
      ...times(3, { day: '2030-01-10', end: 'sent', tags: ['order'] }),
      ...times(2, { day: '2030-01-11', end: 'failed', tags: ['news', 'order'], template: NEWS }),
      { day: '2030-01-12', end: 'sent', tags: ['late'], template: NEWS },
      { day: '2030-01-12', end: 'sent', tags: ['theirs'], team: OTHER },
    ],
    async (append) => append(`template-${NEWS}`, newsletter),
  );
  const asked = { range: range('2030-01-01', '2030-01-31'), sort: 'accepted', page: 1, limit: 2 } as const;
  const templates = await analyticsTemplates(team, asked);
  t.match(templates, {
    other: null,
    meta: { page: 1, limit: 2, total: 2, totalPages: 1, totalIsLowerBound: false, nextCursor: null },
  });
  t.strictSame(templates.data[1], {
    templateId: NEWS,
    emailTemplateName: 'Newsletter',
    totals: { ...zero, accepted: 3, sent: 1, failed: 2 },
    rates: { sent: 33.33, delivered: 0, bounced: 0, failed: 66.67, complained: 0, ...none },
  });
  t.match(templates.data[0], { templateId: TEMPLATE_ID, emailTemplateName: null });
  const names = async (more: object) => (await analyticsTags(team, { ...asked, ...more })).data.map(({ tag }) => tag);
  t.same([await names({}), await names({ page: 2 }), await names({ page: 3 })], [['order', 'news'], ['late'], []]);
  t.same(await names({ sort: 'failed', limit: 3 }), ['news', 'order', 'late']);
  t.same(await names({ range: range('2030-01-12', '2030-01-12') }), ['late']);
});

void t.test('beyond the tags that a day counts by name, counts say that there may be more', async (t) => {
  const { summaryRowsMax } = defaultLimits;
  const mails = Array.from({ length: summaryRowsMax + 2 }, (_, index) => ({
    day: '2030-01-10',
    tags: [`order-${index}`],
  }));
  const { analyticsTags, analyticsOverview, analyticsTimeSeries } = await analyticsOf(t, mails);
  const days = range('2030-01-10', '2030-01-11');
  t.match(await analyticsTags(team, { range: days, sort: 'accepted', page: 1, limit: 100 }), {
    other: { ...zero, accepted: 2 },
    meta: { total: summaryRowsMax, totalIsLowerBound: true },
  });
  t.match(await analyticsOverview(team, days, { tag: `order-${summaryRowsMax}` }), {
    totals: zero,
    isLowerBound: true,
  });
  t.match(await analyticsOverview(team, days, { tag: 'order-1' }), { totals: { accepted: 1 }, isLowerBound: false });
  const asked = { range: days, interval: 'day', metrics: ['accepted'] } as const;
  t.match(await analyticsTimeSeries(team, asked, { tag: 'unknown' }), { isLowerBound: true });
});

void t.test('the start page: today, a week, a month, what waits, and what failed lately', async (t) => {
  const { dashboardSummary } = await analyticsOf(
    t,
    [
      { day: '2030-01-01', end: 'failed' },
      { day: '2030-01-02', end: 'failed' },
      { day: '2030-01-24', end: 'sent' },
      { day: '2030-01-25', end: 'sent' },
      { day: TODAY, end: 'bounced' },
      { day: TODAY },
      { day: TODAY, end: 'scheduled' },
      { day: TODAY, end: 'failed', team: OTHER },
    ],
    async (append) =>
      append('email-0198f000-0000-7000-8000-0000000000aa', [
        ...eventsOf({ day: TODAY, end: 'scheduled' }),
        released('2030-01-31T13:00:00.000Z'),
      ]),
  );
  const summary = await dashboardSummary(team);
  t.match(summary, {
    today: { range: { startDate: TODAY, endDate: TODAY, days: 1 }, totals: { accepted: 4, bounced: 1, sent: 0 } },
    last7Days: {
      range: { startDate: '2030-01-25', endDate: TODAY, days: 7 },
      totals: { accepted: 5, bounced: 1, sent: 1 },
    },
    last30Days: { range: { startDate: '2030-01-02', days: 30 }, totals: { accepted: 7, failed: 1 } },
    queue: { ready: 2, deferred: 0, held: 0, scheduled: 1 },
  });
  t.strictSame(
    summary.recentFailures.map(({ status, createdAt }) => [status, createdAt.slice(0, 10)]),
    [
      ['bounced', TODAY],
      ['failed', '2030-01-02'],
    ],
  );
  t.notMatch(JSON.stringify(summary), /Order 17|ann@/, 'neither subject nor address');
  const nothing = assertDefined(parseTeamId('33333333-3333-4333-8333-333333333333'), 'team id');
  t.match(await dashboardSummary(nothing), {
    today: { totals: zero },
    queue: { ready: 0, scheduled: 0 },
    recentFailures: [],
  });
});

void t.test('domains of recipients and of senders, with their rates', async (t) => {
  const { analyticsDomains } = await analyticsOf(t, [
    { day: '2030-01-30', end: 'delivered', provider: 'gmail.com', senderDomain: 'shop.example' },
    { day: '2030-01-31', end: 'bounced', provider: 'gmail.com' },
    { day: '2030-01-31', end: 'sent', provider: 'gmx.de', senderDomain: 'news.example' },
    { day: '2030-01-31', end: 'sent' },
    { day: '2030-01-31', end: 'bounced', provider: 'web.de', senderDomain: 'shop.example', team: OTHER },
  ]);
  const asked = { range: range('2030-01-30', '2030-01-31'), sort: 'accepted', page: 1, limit: 10 } as const;
  t.match(await analyticsDomains(team, 'recipient', asked), {
    data: [
      {
        domain: 'gmail.com',
        totals: { accepted: 2, sent: 1, delivered: 1, bounced: 1 },
        rates: { bounced: 50, delivered: 100, complained: 0 },
      },
      { domain: 'gmx.de', totals: { accepted: 1, sent: 1, bounced: 0 } },
    ],
    other: null,
    meta: { total: 2, totalIsLowerBound: false },
  });
  t.match(
    (await analyticsDomains(team, 'sender', asked)).data.map(({ domain }) => domain),
    ['news.example', 'shop.example'],
  );
  t.match(await analyticsDomains(team, 'recipient', { ...asked, page: 2, limit: 1 }), { data: [{ domain: 'gmx.de' }] });
  t.match((await analyticsDomains(other, 'recipient', asked)).data, [{ domain: 'web.de', rates: { bounced: 100 } }]);
});

void t.test('an overview and a series of the recipients at one provider', async (t) => {
  const { summaryRowsMax } = defaultLimits;
  const { analyticsOverview, analyticsTimeSeries } = await analyticsOf(t, [
    { day: '2030-01-29', end: 'sent', provider: 'gmail.com' },
    { day: '2030-01-30', end: 'delivered', provider: 'gmail.com', senderDomain: 'shop.example' },
    { day: '2030-01-31', end: 'bounced', provider: 'gmail.com' },
    { day: '2030-01-31', end: 'sent', provider: 'gmx.de', senderDomain: 'gmail.com' },
    { day: '2030-01-31', end: 'sent' },
    { day: '2030-01-31', end: 'bounced', provider: 'gmail.com', team: OTHER },
    ...Array.from({ length: summaryRowsMax + 1 }, (_, n) => ({ day: '2030-01-20', senderDomain: `d${n}.example` })),
  ]);
  const days = range('2030-01-30', '2030-01-31');
  const gmail = { recipientDomain: 'gmail.com' };
  t.match(await analyticsOverview(team, days, gmail), {
    totals: { accepted: 2, sent: 1, delivered: 1, bounced: 1, ...unseen },
    rates: { delivered: 100, bounced: 50, ...none },
    times: { firstAttemptMs: null, sentMs: null, deliveredMs: null },
    isLowerBound: false,
    previous: { totals: { accepted: 1, sent: 1 } },
  });
  t.match(await analyticsOverview(other, days, gmail), { totals: { accepted: 1, bounced: 1 } });
  t.match(await analyticsOverview(team, days, { recipientDomain: 'web.de' }), { totals: zero, isLowerBound: false });
  const asked = { range: days, interval: 'day', metrics: ['accepted', 'sent'] } as const;
  t.strictSame((await analyticsTimeSeries(team, asked, gmail)).data, [
    { startDate: '2030-01-30', endDate: '2030-01-30', accepted: 1, sent: 1 },
    { startDate: '2030-01-31', endDate: '2030-01-31', accepted: 1, sent: 0 },
  ]);
  t.match(
    await analyticsOverview(team, range('2030-01-20', '2030-01-20'), gmail),
    { totals: zero, isLowerBound: true },
    'on a day with more domains than are counted by name there may be more',
  );
});
