/** The entries of the palette: which fit a text, in which order, and what is remembered. */
import t from 'tap';
import {
  acts,
  type Entry,
  fitting,
  keysAt,
  namedBy,
  recentOf,
  withRecent,
} from '../../dashboard/src/palette/entries.js';

const page = (title: string, more: Partial<Entry> = {}): Entry => ({ id: title, title, href: `/${title}`, ...more });
const titles = (entries: readonly Entry[]): readonly string[] => entries.map(({ title }) => title);

void t.test('every word has to fit; the beginning of the title goes first', (t) => {
  const entries = [
    page('Sender domains'),
    page('Usage', { words: 'domain figures' }),
    page('Domains of links'),
    page('Café till'),
  ];
  t.same(titles(fitting(entries, 'domain')), ['Domains of links', 'Sender domains', 'Usage']);
  t.same(titles(fitting(entries, 'DOMAIN send')), ['Sender domains']);
  t.same(titles(fitting(entries, 'cafe')), ['Café till']);
  t.same(titles(fitting(entries, '  ')), titles(entries));
  t.same(fitting(entries, '.*'), []);
  t.same(titles(fitting(acts, 'send test')), ['Send a test']);
  t.end();
});

void t.test('an id and an address name their page, for who may read emails', (t) => {
  const id = '0198F000-0000-7000-8000-0000000FFFFF';
  t.match(namedBy(` ${id} `, ['emails:read']), [{ href: `/emails/${id.toLowerCase()}` }]);
  t.match(namedBy('kim+a/b@example.com', ['emails:read']), [{ href: '/recipients/kim%2Ba%2Fb%40example.com' }]);
  for (const text of ['kim@', 'invoice', '0198f000', '<a@b.c>', '']) t.same(namedBy(text, ['emails:read']), [], text);
  t.same(namedBy(id, ['templates:read']), []);
  t.end();
});

void t.test('the last five are remembered, each once, and nothing that was changed by hand leads elsewhere', (t) => {
  let recent: readonly Entry[] = [];
  for (const title of ['a', 'b', 'c', 'd', 'e', 'f', 'b'])
    recent = withRecent(recent, page(title, { act: () => undefined, words: 'w' }));
  t.same(titles(recent), ['b', 'f', 'e', 'd', 'c']);
  t.strictSame(recentOf(JSON.stringify(recent)), recent, 'it is plain data');
  t.same(recentOf(null), []);
  for (const bad of [
    '{',
    '{}',
    '[1,null]',
    '[{"id":"a","title":"a"}]',
    '[{"id":"a","title":"a","href":"javascript:alert(1)"}]',
    '[{"id":"a","title":"a","href":"//evil.example"}]',
  ])
    t.same(recentOf(bad), [], bad);
  t.end();
});

void t.test('each page tells its keys', (t) => {
  const keys = (path: string): readonly string[] => keysAt(path).map(([key]) => key);
  t.same(keys('/members'), ['Ctrl K, ⌘ K', '?', 'Esc']);
  t.ok(keys('/emails').includes('/'));
  t.ok(keys('/templates/emails/0198').includes('Ctrl S'));
  t.notOk(keys('/templates/emails').includes('Ctrl S'));
  t.end();
});
