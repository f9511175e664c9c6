/** Directions of writing, and long words. */
import { Parser } from 'htmlparser2';
import t from 'tap';
import { breakWords } from '../../../src/adapters/render/email/escape.js';
import { makePdf } from '../../../src/adapters/render/pdf/make-pdf.js';
import type { Json } from '../../../src/domain/core/json.js';
import { defaultLimits } from '../../../src/domain/core/limits.js';
import { directionOfLocale, directionOfText, sideOf } from '../../../src/domain/rendering/direction.js';
import type { Expanded, ExpandedPage } from '../../../src/domain/rendering/expand/expanded.js';
import { attachmentOf, expandTemplate } from '../../support/documents.js';
import { cell, column, component, documentOf, page, richText } from '../../support/expanded-documents.js';
import { kitchenSink, sinkVariables } from '../../support/kitchen-sink.js';
import { placedWords, type PlacedWord } from '../../support/pdf-words.js';
import { readPdf } from '../../support/read-pdf.js';
import { renderTemplate, templateOf } from '../../support/rendering.js';
import { pageOf, workbookOf } from './excel/xlsx.js';

// From right to left: each component of a mail, a PDF and a workbook is the mirror image of the one from the left; left
// and right stay what they say.

void t.test('what runs from the right', async (t) => {
  for (const locale of ['ar', 'ar-SA', 'he-IL', 'fa', 'ur-PK', 'ckb', 'az-Arab', 'pa-PK', 'yi', 'dv'])
    t.equal(directionOfLocale(locale), 'rtl', locale);
  for (const locale of ['en', 'de-AT', 'ar-Latn', 'az', 'th', 'ja', 'zz'])
    t.equal(directionOfLocale(locale), 'ltr', locale);
  t.equal(directionOfText('12. iPhone ו'), 'ltr');
  t.equal(directionOfText('«12» שלום iPhone'), 'rtl');
  t.equal(directionOfText('12 – 7'), undefined);
  t.same(
    (['start', 'end', 'left', 'center'] as const).map((align) => sideOf(align, 'rtl')),
    ['right', 'left', 'left', 'center'],
  );
});

const one = (type: string, more: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> => ({
  id: 'c',
  type,
  ...more,
});
const bodyOf = (component: unknown, locale: string, variables = {}): string =>
  /<div style="max-width.*/s.exec(renderTemplate(templateOf([component], { locale }), variables).html)?.[0] ?? '';

void t.test('mail', async (t) => {
  const sink = renderTemplate({ ...kitchenSink(), locale: 'he-IL' }, sinkVariables);
  t.match(sink.html, '<html lang="he-IL" dir="rtl"');
  const tables =
    sink.html
      .replace(/<!--\[if mso\]>|<!\[endif\]-->/g, '')
      .match(/<table role="presentation"(?! cellpadding)[^>]*>/g) ?? [];
  t.ok(
    tables.length > 10 && tables.every((tag) => tag.includes(' dir="rtl"')),
    'every table of the layout, for Outlook and Gmail inherit it into none',
  );
  t.notMatch(
    sink.html,
    /padding:0 0 0 (?:12|24)px|border-left:[23]px/,
    'lists, quotations and timelines are indented from the right',
  );
  t.match(sink.html, '.gut{padding-left:0!important}');

  const table = one('table', {
    props: {
      columns: [
        { header: 'A' },
        { header: 'B', type: 'number' },
        { header: 'C', align: 'left' },
        { header: 'D', align: 'end' },
      ],
      rows: [['x', 1, 'y', 'z']],
    },
  });
  const sides = (locale: string): readonly string[] =>
    [...bodyOf(table, locale).matchAll(/<th [^>]*align="(\w+)"/g)].map(([, side = '']) => side);
  t.same(sides('en'), ['left', 'right', 'left', 'right']);
  t.same(sides('ar'), ['right', 'left', 'left', 'left']);
  t.match(
    bodyOf(table, 'ar'),
    /<table dir="rtl" width="100%"[^>]*>.*padding:10px 12px;padding-right:0.*padding-left:0/s,
  );
  t.notMatch(bodyOf(table, 'en'), /dir=/);

  t.match(
    bodyOf(one('button', { content: 'x', props: { href: 'https://x.example' } }), 'ar'),
    /<tr>\n?<td align="right"/,
  );
  t.match(
    bodyOf(one('image', { props: { src: 'https://x.example/a.png', align: 'left' } }), 'ar'),
    /<tr>\n?<td align="left"/,
    'left is left',
  );
  const placed = one('rich-text', { content: 'x', props: { align: '{{where}}' } });
  t.match(bodyOf(placed, 'ar', { where: 'end' }), 'align="left"');
  t.match(bodyOf(placed, 'en', { where: 'end' }), 'align="right"');
  t.match(
    bodyOf(one('rich-text', { content: '<div dir="rtl"><ul><li>x</li></ul></div>' }), 'en'),
    'padding:0 24px 0 0',
    'a part that runs the other way',
  );
  const whole = renderTemplate({
    ...templateOf([one('rich-text', { content: '<p>x</p>' })]),
    schema: {
      props: { direction: 'rtl' },
      sections: [{ id: 's', type: 'main', components: [one('rich-text', { content: 'x' })] }],
    },
  });
  t.match(whole.html, /<html lang="en-US" dir="rtl"/);
});

void t.test('a mail whose text brings its own direction', async (t) => {
  const own = one('rich-text', { content: '<p>{{name}}</p><ul><li>x</li></ul>', props: { direction: 'auto' } });
  t.match(bodyOf(own, 'en', { name: '12: שלום' }), /<td dir="rtl"[^>]* align="right".*padding:0 24px 0 0/s);
  t.match(bodyOf(own, 'en', { name: 'Ada' }), /<tr><td(?! dir)[^>]*style.*padding:0 0 0 24px/s);
  t.match(bodyOf(own, 'he', { name: 'Ada' }), /<td dir="ltr"[^>]* align="left".*padding:0 0 0 24px/s);
  t.match(
    bodyOf(one('rich-text', { content: 'x', props: { direction: 'ltr' } }), 'he'),
    /<td dir="ltr"[^>]* align="left"/,
  );
});

void t.test('the text part from the right', async (t) => {
  const { text } = renderTemplate(
    templateOf(
      [
        one('rich-text', { content: '<p>iPhone</p><ul><li>12</li></ul>' }),
        { id: 't', type: 'table', props: { columns: [{ header: 'מחיר' }, { header: 'כמות' }], rows: [['5', '7']] } },
      ],
      { locale: 'he' },
    ),
  );
  t.equal(
    text,
    '\u200fiPhone\n\n\u200f- 12\n\n\u200fמחיר: 5\n\u200fכמות: 7\n',
    'each line says how it runs, and no columns are made of blanks',
  );
});

const metadata = { title: 'T', author: 'A', createdAt: '2026-01-02T03:04:05.000Z' };
const pdfOf = (components: readonly Expanded[], more: Partial<ExpandedPage> = {}): Promise<Uint8Array> =>
  makePdf(documentOf(page(components, more)), new Map(), metadata, defaultLimits);

const WIDTH = 595.28;
/** Words by their places, from the left and in the mirror. */
const bothOf = async (
  ...components: readonly Expanded[]
): Promise<Readonly<{ ltr: readonly PlacedWord[]; rtl: readonly PlacedWord[] }> | undefined> => {
  const ltr = placedWords(await pdfOf(components));
  const rtl = placedWords(await pdfOf(components, { direction: 'rtl' }));
  return ltr === undefined || rtl === undefined ? undefined : { ltr, rtl };
};

void t.test('a PDF from the right is the mirror image', async (t) => {
  const texts = ['12', '345', '6789'];
  const cases: Readonly<Record<string, Expanded>> = {
    paragraph: richText('<p>12</p><h1>345</h1><blockquote>6789</blockquote>'),
    list: richText('<ul><li>12</li><li>345<ul><li>6789</li></ul></li></ul>'),
    table: component('table', {
      columns: [column('12'), column('345', { align: 'end', headerAlign: 'end' })],
      rows: [[cell('6789'), cell('77')]],
      padding: { top: 0, right: 0, bottom: 0, left: 0 },
    }),
    columns: component('columns', {
      children: [richText('12'), richText('345')],
      widths: [{ percent: 70 }, 'rest'],
      gap: 12,
      verticalAlign: 'top',
    }),
    timeline: component('timeline', {
      items: texts.map((title) => ({ title, description: '', date: '', status: 'pending' })),
      color: '#2563eb',
    }),
    container: component('container', {
      children: [richText('12')],
      width: { percent: 50 },
      padding: { top: 5, right: 5, bottom: 5, left: 5 },
      align: 'start',
    }),
    'rich table': richText(
      '<table><tr><td colspan="2">12</td><td>345</td></tr><tr><td>6789</td><td>55</td><td>777</td></tr></table>',
    ),
  };
  for (const [name, drawn] of Object.entries(cases)) {
    const both = await bothOf(drawn);
    if (both === undefined) continue;
    t.ok(both.ltr.length >= 1);
    for (const { text, left, right, top } of both.ltr) {
      const twin = both.rtl.find((word) => word.text === text && Math.abs(word.top - top) < 0.5);
      t.ok(
        twin !== undefined && Math.abs(WIDTH - right - twin.left) < 1 && Math.abs(WIDTH - left - twin.right) < 1,
        `${name}: ${text}`,
      );
    }
  }
});

void t.test('numbers of a list, and letters from the left in lines from the right', async (t) => {
  const both = await bothOf(
    richText('<ol><li>77</li><li>88</li></ol>'),
    component('list', {
      items: ['99'],
      html: undefined,
      ordered: true,
      style: {},
      padding: { top: 0, right: 0, bottom: 0, left: 0 },
    }),
  );
  if (both === undefined) return;
  const spans = both.rtl.filter(({ text }) => /77|88|99/.test(text));
  t.equal(spans.length, 3);
  const marks = both.rtl.filter(({ text }) => /^\.?[12]\.?$/.test(text));
  t.equal(marks.length, 3, 'a mark for each item');
  t.ok(
    marks.every(({ right, left }) => left > 520 && right <= WIDTH - 50 + 1),
    'at the right edge, inside of the page',
  );
});

void t.test('a mirrored table is read in the order of its columns', async (t) => {
  const drawn = component('table', {
    columns: [column('one'), column('two')],
    rows: [[cell('three'), cell('four')]],
    padding: { top: 0, right: 0, bottom: 0, left: 0 },
  });
  const { sheets, structure } = readPdf(await pdfOf([drawn], { direction: 'rtl' }));
  t.same(sheets[0]?.lines, ['two\tone', 'four\tthree'], 'drawn from the left');
  t.same(
    structure,
    ['Document', '  Table', '    TR', '      TH', '      TH', '    TR', '      TD', '      TD'],
    'no element twice',
  );
});

void t.test('the page says its direction, else its locale', async (t) => {
  const directions = (locale: string | undefined, direction?: string): readonly string[] =>
    expandTemplate(
      attachmentOf([], {
        ...(locale === undefined ? {} : { locale }),
        schema: {
          pages: [
            {
              pageId: 'p',
              pageName: 'P',
              ...(direction === undefined ? {} : { pageSettings: { direction } }),
              sections: [{ id: 's', type: 'main', components: [] }],
            },
          ],
        },
      }),
      {},
    ).pages.map((one) => one.direction);
  t.same(directions('he-IL'), ['rtl']);
  t.same(directions('he-IL', 'ltr'), ['ltr']);
  t.same(directions(undefined, 'rtl'), ['rtl']);
  t.same(directions(undefined), ['ltr']);
  t.throws(() => directions('he', 'up'), /direction: must be one of ltr, rtl/);
});

void t.test('a workbook from the right', async (t) => {
  const table = {
    id: 't',
    type: 'table' as const,
    props: { columns: [{ header: 'A' }, { header: 'B', type: 'number' }], rows: [['x', 1]] },
  };
  const text = { id: 'r', type: 'rich-text' as const, content: 'x' };
  const { sheets } = await workbookOf({
    pages: [
      { ...pageOf('one', [text, table]), pageSettings: { direction: 'rtl', header: { content: 'h', align: 'start' } } },
    ],
  });
  const [sheet] = sheets;
  t.match(sheet?.xml, /rightToLeft="1"/);
  t.match(sheet?.xml, '<oddHeader>&amp;Rh</oddHeader>');
  const styleOf = (text: string): string =>
    [...(sheet?.cells.values() ?? [])].find((found) => found.text === text)?.style.xf ?? '';
  t.match(styleOf('x'), 'horizontal="right"');
  t.match(styleOf('1'), 'horizontal="left"');
});

// Words that are wider than a small screen: wherever one stands in a mail, it may break.

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
