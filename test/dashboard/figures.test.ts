/** Days and filters of the start page, and files for spreadsheets. */
import t from 'tap';
import {
  type Asked,
  askedOf,
  daysOf,
  type OverviewSearch,
  overviewSearchOf,
  withDays,
  withFilter,
} from '../../dashboard/src/pages/overview/period.js';
import { csvFile, csvOf } from '../../dashboard/src/ui/csv.js';

const TODAY = '2026-11-29';

void t.test('days of an address', (t) => {
  const asked = (search: OverviewSearch) => askedOf(search, TODAY) as Asked;
  t.match(asked({}), {
    range: { startDate: '2026-10-31', endDate: TODAY },
    days: 30,
    choice: 30,
    interval: 'day',
    filter: {},
  });
  t.match(asked({ days: '1' }), { range: { startDate: TODAY, endDate: TODAY }, days: 1, choice: 1 });
  t.match(asked({ from: '2024-02-28', to: '2024-03-01', days: '7' }), {
    range: { startDate: '2024-02-28', endDate: '2024-03-01' },
    days: 3,
    choice: undefined,
  });
  t.match(asked({ from: '2026-11-01' }).range, { startDate: '2026-11-01', endDate: TODAY });
  t.match(asked({ to: '2026-01-30' }).range, { startDate: '2026-01-01', endDate: '2026-01-30' });
  t.match(asked({ from: '2026-12-01', to: '2026-12-02' }), { days: 2 }, 'days to come are days');
  for (const [from, days, interval] of [
    ['2026-08-30', 92, 'day'],
    ['2026-08-29', 93, 'week'],
    ['2024-11-29', 731, 'week'],
    ['2024-11-28', 732, 'month'],
    ['2021-11-29', 1_827, 'month'],
  ] as const)
    t.match(asked({ from }), { days, interval }, from);
  t.equal(daysOf({ startDate: '2026-03-28', endDate: '2026-03-30' }), 3, 'no change of clocks counts');
  t.end();
});

void t.test('addresses that ask for nothing that there is', (t) => {
  const fault = (search: OverviewSearch) => (askedOf(search, TODAY) as Readonly<{ fault: string }>).fault;
  for (const days of ['0', '8', '-7', '7.5', 'NaN', 'today']) t.match(fault({ days }), /^Choose the last 1, 7, 30, 90/);
  for (const from of [
    '2026-02-30',
    '2026-13-01',
    '2026-1-1',
    'yesterday',
    '1969-12-31',
    '20261101',
    '2026-11-01T10:00',
  ])
    t.match(fault({ from }), `${from} is no day such as 2026-11-30.`);
  t.match(fault({ from: 'x'.repeat(10_000) }).length < 100, true, 'a long text is not repeated');
  t.match(fault({ from: '2026-11-30' }), /lies after the last one/);
  t.match(fault({ from: '2021-11-28' }), /at most 1,827 days/);
  t.match(fault({ tag: 'a', domain: 'gmail.com' }), /each alone/);
  t.end();
});

void t.test('a choice keeps the others', (t) => {
  const search = overviewSearchOf({ days: '7', tag: 'order', team: 'x', from: '', template: 3 });
  t.same(search, { days: '7', tag: 'order' }, 'other parameters, and empty ones, are not of this page');
  t.same(withDays(search, { from: '2026-11-01', to: TODAY }), { from: '2026-11-01', to: TODAY, tag: 'order' });
  t.same(withDays(search, {}), { tag: 'order' });
  t.same(withFilter(search, { domain: 'gmail.com' }), { days: '7', domain: 'gmail.com' });
  t.match(askedOf(search, TODAY), { filter: { tag: 'order' } });
  t.end();
});

void t.test('files for spreadsheets', async (t) => {
  t.equal(
    csvOf([
      ['name', 'sent', 'of %'],
      ['say "hi", then\nleave', 3, null],
      ['', -1, 0.5],
    ]),
    'name,sent,of %\r\n"say ""hi"", then\nleave",3,\r\n,-1,0.5\r\n',
  );
  for (const text of ['=1+1', '+1', '-1', '@sum', '\tx', '\rx'])
    t.match(csvOf([[text]]), new RegExp(`^"?'`), 'a text that begins like a formula is a text');
  t.same([...new Uint8Array(await csvFile('a').arrayBuffer())], [0xef, 0xbb, 0xbf, 0x61]);
});
