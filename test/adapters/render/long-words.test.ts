/** Words that are wider than a small screen: wherever one stands in a mail, it may break. */
import { Parser } from 'htmlparser2';
import t from 'tap';
import { breakWords } from '../../../src/adapters/render/email/escape.js';
import type { Json } from '../../../src/domain/core/json.js';
import { renderTemplate, templateOf } from '../../support/rendering.js';

const word = 'x'.repeat(130);
const link = `https://shop.example/orders/${'a1b2c3d4'.repeat(13)}`;
const rich = (id: string, content: string): Json => ({ id, type: 'rich-text', content });

/** Every place where a word can stand, written by the author and brought by a value. */
const places: Readonly<Record<string, Json>> = {
  headings: rich('a', `<h1>${word}</h1><p>{{w}}</p><p>${link} {{u}}</p>`),
  'rich text': rich(
    'a',
    '<ul><li>{{w}}</li></ul><blockquote>{{w}}</blockquote><pre>{{w}}</pre><a href="{{u}}">{{u}}</a>',
  ),
  'a table of the author': rich('a', '<table><tr><td>{{w}}</td><td>b</td></tr></table>'),
  'put together': rich('a', '<p>https://shop.example/orders/{{id}}/{{id}}/{{id}}/{{id}}</p><p>{{id}}-{{id}}</p>'),
  fragment: { id: 'a', type: 'html-fragment', content: '<div>{{w}}</div>' },
  button: { id: 'a', type: 'button', content: '{{w}}', props: { href: '{{u}}' } },
  'button, written': { id: 'a', type: 'button', content: word, props: { href: '{{u}}', fullWidth: true } },
  list: { id: 'a', type: 'list', content: '{{item}}', props: { dataSource: 'list' } },
  table: {
    id: 'a',
    type: 'table',
    props: {
      dataSource: 'list',
      columns: [
        { header: 'Name', content: '{{item}}', footer: word },
        { header: word, content: '{{u}}' },
      ],
    },
  },
  'table, empty': {
    id: 'a',
    type: 'table',
    props: { dataSource: 'none', emptyText: word, columns: [{ header: 'a', content: 'a' }] },
  },
  'table, written': {
    id: 'a',
    type: 'table',
    props: {
      rows: [
        ['Number', word],
        ['Link', '{{u}}'],
      ],
    },
  },
  container: { id: 'a', type: 'container', props: { padding: 24 }, children: [rich('b', '{{w}}')] },
  columns: {
    id: 'a',
    type: 'columns',
    props: { stackOnMobile: false },
    children: [rich('b', '{{w}}'), rich('c', 'c')],
  },
  timeline: {
    id: 'a',
    type: 'timeline',
    props: { items: [{ title: word, description: '{{u}}', date: word, status: word }] },
  },
  'loop, empty': {
    id: 'a',
    type: 'loop',
    props: { dataSource: 'none', itemVariable: 'item', emptyText: word },
    children: [rich('b', 'b')],
  },
};

/** The words between tags that cannot break, in the body and out of hidden places. */
const unbroken = (html: string): readonly string[] => {
  const open: string[] = [];
  const found: string[] = [];
  const parser = new Parser({
    onopentag: (name, { style = '' }) => void open.push(`${name} ${style}`),
    onclosetag: () => void open.pop(),
    ontext: (text) => {
      if (open.some((element) => /^(?:title|style) |break-all|display:none/.test(element))) return;
      found.push(...text.split(/\s+/).filter(({ length }) => length > 30));
    },
  });
  parser.end(html);
  return found;
};

void t.test('no word stands anywhere that cannot break', (t) => {
  const variables = { w: word, u: link, id: '0123456789abcdef', list: [word], none: [] };
  for (const type of ['header', 'main', 'footer']) {
    for (const [name, component] of Object.entries(places)) {
      const { html, text } = renderTemplate(
        { subject: 's', variables: [], schema: { sections: [{ id: 's', type, components: [component] }] } },
        variables,
      );
      t.same(unbroken(html), [], `${name}, in ${type}`);
      t.notMatch(text, /word-break|<span/, 'the text part has words alone');
    }
  }
  t.end();
});

void t.test('what is told to be wide gives way on a narrow screen', (t) => {
  for (const one of [
    { id: 'a', type: 'container', props: { width: 560 }, children: [rich('b', 'x')] },
    { id: 'a', type: 'divider', props: { width: '500px' } },
    { id: 'a', type: 'image', props: { src: 'https://shop.example/a.png', width: 560 } },
  ] as const) {
    const { html } = renderTemplate(templateOf([one]));
    const wide = [...html.matchAll(/<(?:table|img)[^>]* width="(\d+)"[^>]*style="([^"]*)"/g)].filter(
      ([, width]) => Number(width) >= 500,
    );
    const inside = wide.filter(([, width]) => width !== '600');
    t.ok(inside.length > 0, one.type);
    for (const [, width, style] of inside) t.match(style, `width:100%;max-width:${width}px`, one.type);
  }
  t.end();
});

void t.test('only words that are too long', (t) => {
  t.equal(breakWords('short words & <signs>', 18), 'short words &amp; &lt;signs&gt;');
  t.equal(breakWords('Versandbestätigung', 18), 'Versandbest&#228;tigung');
  t.equal(breakWords('Auftragsbestätigung ist da', 18), '<span class="w">Auftragsbest&#228;tigung</span> ist da');
  t.equal(breakWords(`see ${'a'.repeat(31)}.`, 18), `see <span style="word-break:break-all">${'a'.repeat(31)}.</span>`);
  for (const text of [
    'ภาษาไทยไม่มีช่องว่างระหว่างคำในประโยคที่ยาวมากๆ',
    '日本語の長い文章は空白がなくても折り返されます。日本語の長い文章',
    'والسلامعليكمورحمةاللهوبركاتهوالسلامعليكم',
  ])
    t.notMatch(breakWords(text, 18), /<span/, 'scripts that break by themselves, or whose letters join');
  const huge = '<'.repeat(5_000_000);
  t.ok(breakWords(huge, 18, 1_000).length > 1_000, 'what is too long is told by its length');
  t.equal(
    breakWords(huge, 18).length,
    huge.length * 4 + '<span style="word-break:break-all"></span>'.length,
    'however long it is',
  );
  t.equal(breakWords(`${'a'.repeat(18)}\u0301`, 18).includes('<span'), false, 'a mark stays with its letter');
  t.end();
});

void t.test('a mail is not refused for what lets its words break, and carries no more of it than some', async (t) => {
  const word = '0123456789abcdef0123456789abcdef';
  const all = Array.from({ length: 20_000 }, () => word).join(' ');
  const template = templateOf([{ id: 'r', type: 'rich-text', content: '<p>{{all}}</p>' }]);
  const { html } = renderTemplate(template, { all });
  t.ok(all.length < 700_000 && html.length < 1024 * 1024, `${html.length} characters`);
  t.equal(html.split(word).length - 1, 20_000, 'nothing is lost');
  t.match(html, `<span style="word-break:break-all">${word}</span>`);
  const most = Array.from({ length: 31_000 }, () => word).join(' ');
  t.equal(renderTemplate(template, { all: most }).html.split(word).length - 1, 31_000, 'near the largest');
  t.throws(() => renderTemplate(template, { all: `${most} ${most}` }), { code: 'RENDERED_BODY_TOO_LARGE' });
});
