/**
 * A part with `hideWhenEmpty` leaves no trace if it is empty: components, columns and lines, in mail, text part and
 * documents alike.
 */
import t from 'tap';
import fc from 'fast-check';
import type { JsonObject } from '../../src/domain/core/json.js';
import { defaultLimits as limits } from '../../src/domain/core/limits.js';
import { checkAttachmentTemplate } from '../../src/domain/rendering/check/document.js';
import { compileDocument } from '../../src/domain/rendering/expand/expand.js';
import type { Expanded } from '../../src/domain/rendering/expand/expanded.js';
import { linePathsOf, optionalLinesOf, type OptionalHtml } from '../../src/domain/rendering/rich-text.js';
import { growsLinearly } from '../support/linear.js';
import { environment, renderTemplate, templateOf } from '../support/rendering.js';

const bodyOf = (html: string): string => html.slice(html.indexOf('<div role="article"')).replace(/\n/g, '');
const lettersOf = (html: string): string =>
  html
    .replace(/<br>/g, '|')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();

const documentOf = (
  components: readonly unknown[],
  variables: JsonObject,
  more: Readonly<Record<string, unknown>> = {},
): readonly Expanded[] => {
  const page = { pageId: 'p', pageName: 'P', sections: [{ id: 's', type: 'main', components }] };
  const { content } = checkAttachmentTemplate(
    { variables: [], schema: { outputFormats: ['pdf'], pages: [page] }, ...more },
    limits,
  );
  return compileDocument(content, limits)(variables, environment, 'pdf').pages[0]!.sections[0]!.components;
};

const line = (id: string, content: string, more: Readonly<Record<string, unknown>> = { hideWhenEmpty: true }) => ({
  id,
  type: 'rich-text',
  content,
  props: more,
});

void t.test('a component is there where one of its values is', async (t) => {
  const components = [
    line('a', 'First', {}),
    line('b', 'VAT {{vat}}'),
    line('c', '{{x}} and {{y}}'),
    {
      id: 'd',
      type: 'container',
      props: { hideWhenEmpty: true },
      children: [line('e', 'Notes', {}), line('f', '{{note}}', {})],
    },
    {
      id: 'g',
      type: 'table',
      props: { hideWhenEmpty: true, dataSource: 'items', columns: [{ header: 'Name', content: '{{item}}' }] },
    },
    { id: 'h', type: 'qr-code', props: { hideWhenEmpty: true, value: '{{code}}' } },
    { id: 'i', type: 'list', content: '<li>{{z}}</li>', props: { hideWhenEmpty: true } },
    line('j', 'never hidden, for it shows no variable'),
  ];
  const cases: readonly (readonly [JsonObject, readonly string[]])[] = [
    [{}, ['rich-text', 'rich-text']],
    [{ vat: '  ', x: '', y: null, note: '', items: [], code: '' }, ['rich-text', 'rich-text']],
    [{ y: 0 }, ['rich-text', 'rich-text', 'rich-text']],
    [
      { vat: 'PT 5', x: 'x', note: 'n', items: ['one'], code: 'q', z: 'z' },
      ['rich-text', 'rich-text', 'rich-text', 'container', 'table', 'qr-code', 'list', 'rich-text'],
    ],
  ];
  for (const [variables, types] of cases) {
    t.same(
      documentOf(components, variables).map(({ type }) => type),
      types,
    );
    const { html, text } = renderTemplate(templateOf(components), variables);
    for (const [mark, isThere] of [
      ['VAT', types.length > 3],
      ['and', types.length > 2],
      ['Notes', types.length > 3],
      ['First', true],
    ] as const) {
      t.equal(lettersOf(bodyOf(html)).includes(mark), isThere, mark);
      t.equal(text.includes(mark), isThere, `${mark} in text`);
    }
    t.notMatch(text, /\n\n\n/, 'no gap');
    t.equal((bodyOf(html).match(/<tr><td/g) ?? []).length > 0, true);
  }
  t.equal(
    bodyOf(renderTemplate(templateOf(components), {}).html),
    bodyOf(renderTemplate(templateOf([components[0], components.at(-1)]), {}).html),
  );
});

void t.test('a value with a fallback is always there', async (t) => {
  const variables = [{ name: 'vat', type: 'string', fallback: 'none' }];
  const components = [line('b', 'VAT {{vat}}')];
  t.match(renderTemplate(templateOf(components, { variables }), {}).text, 'VAT none');
  t.match(documentOf(components, {}, { variables }), [{ html: 'VAT none' }]);
});

void t.test('a column is left out where no row has a value for it', async (t) => {
  const table = {
    id: 't',
    type: 'table',
    props: {
      dataSource: 'items',
      emptyText: 'nothing',
      columns: [
        { header: 'Name', content: '{{item.name}}', footer: 'Sum' },
        { header: 'Note', content: '({{item.note}})', hideWhenEmpty: true, footer: '-' },
        { header: 'Price', content: '{{item.price}}', footer: '{{total}}' },
      ],
    },
  };
  const without = {
    items: [
      { name: 'Mug', price: 1 },
      { name: 'Pot', price: 2, note: ' ' },
    ],
    total: 3,
  };
  const mail = renderTemplate(templateOf([table]), without);
  t.equal(lettersOf(bodyOf(mail.html)), 'Name Price Mug 1 Pot 2 Sum 3');
  t.notMatch(mail.text, /Note|\(/);
  t.match(mail.text, /Name +Price/);
  t.match(documentOf([table], without), [
    {
      columns: [{ header: 'Name' }, { header: 'Price' }],
      rows: [
        [{ value: 'Mug' }, { value: 1 }],
        [{}, { value: 2 }],
      ],
    },
  ]);
  const widths = ['20%', '30%', '50%'];
  const shared = {
    ...table,
    props: { ...table.props, columns: table.props.columns.map((one, at) => ({ ...one, width: widths[at] })) },
  };
  t.match(documentOf([shared], without), [
    { columns: [{ width: { percent: 20 / 0.7 } }, { width: { percent: 50 / 0.7 } }] },
  ]);
  const withNote = { ...without, items: [...without.items, { name: 'Cup', note: 'green' }] };
  t.match(lettersOf(bodyOf(renderTemplate(templateOf([table]), withNote).html)), 'Name Note Price Mug () 1');
  t.equal((documentOf([table], withNote)[0] as { columns?: unknown[] }).columns?.length, 3);
  t.match(
    lettersOf(bodyOf(renderTemplate(templateOf([table]), { items: [] }).html)),
    'Name Note Price nothing',
    'without rows nothing is known',
  );
});

void t.test('lines without a value are left out, and their breaks', async (t) => {
  const address =
    '<p><b>{{name}}</b><br>{{company}}<br>{{street}}<br>Portugal</p><p>VAT {{vat}}</p><ul><li>{{a}}</li><li>b {{b}}</li></ul>';
  const components = [line('x', address, { hideWhenEmpty: 'lines' })];
  const cases: readonly (readonly [JsonObject, string, string])[] = [
    [{ name: 'Ada', street: 'Rua 1' }, 'Ada | Rua 1 |Portugal', 'Ada\nRua 1\nPortugal'],
    [{ company: 'Ltd', vat: 'PT', b: 1 }, 'Ltd |Portugal VAT PT b 1', 'Ltd\nPortugal\n\nVAT PT\n\n- b 1'],
    [
      { name: 'Ada', company: 'Ltd', street: 'Rua', vat: 'PT', a: 1, b: 2 },
      'Ada | Ltd | Rua |Portugal VAT PT 1 b 2',
      'Ada\nLtd\nRua\nPortugal\n\nVAT PT\n\n- 1\n- b 2',
    ],
  ];
  for (const [variables, letters, text] of cases) {
    const mail = renderTemplate(templateOf(components), variables);
    t.equal(lettersOf(bodyOf(mail.html)).replaceAll(' ', ''), letters.replaceAll(' ', ''));
    t.equal(mail.text.trim(), text);
    const [made] = documentOf(components, variables);
    t.equal(lettersOf((made as { html: string }).html).replaceAll(' ', ''), letters.replaceAll(' ', ''));
  }
  t.notMatch(
    bodyOf(renderTemplate(templateOf(components), { name: 'Ada' }).html),
    /<ul/,
    'a list that has lost its items is gone',
  );
  t.same(
    documentOf([line('y', '<p>{{a}}</p><p>{{b}}</p>', { hideWhenEmpty: 'lines' })], {}),
    [],
    'and a text that has lost its lines',
  );
});

const whole = (part: OptionalHtml): string =>
  typeof part === 'string' ? part : part.open + part.children.map(whole).join('') + part.close;

void t.test('pieces of HTML, put together, are the same HTML', async (t) => {
  const tag = fc.constantFrom(
    'p',
    'b',
    'span',
    'ul',
    'li',
    'tr',
    'td',
    'table',
    'div',
    'h1',
    'blockquote',
    'section',
    'svg',
    'style',
  );
  const piece = fc.oneof(
    tag.map((name) => `<${name}>`),
    tag.map((name) => `</${name}>`),
    fc.constantFrom(
      '<br>',
      '<br/>',
      '<BR class=x>',
      '<hr>',
      '<img src="{{a}}">',
      '<p title="a > b">',
      "<p '>",
      '<p ',
      '<!-- {{a}} <p> -->',
      '<!-',
      '< ',
    ),
    fc.constantFrom('{{a}}', '{{b.c}}', 'letters', ' ', '\n', '&nbsp;', '<', '>', '"', '='),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const html = pieces.join('');
      const again = optionalLinesOf(html, 10).map(whole).join('');
      t.ok(again.replaceAll('<div></div>', '') === html.replaceAll('<div></div>', ''), html);
    }),
    { numRuns: 500 },
  );
});

void t.test('many tags, breaks and lines take no longer than others', async (t) => {
  const units = [
    '<p ">"',
    "<p '>'",
    '<p ',
    '<br ">"',
    '<br>',
    '<b>',
    '</b>',
    '<p title="',
    '<!--',
    '<style>',
    '{{a}}<br>',
    '{{a}}<br><br>',
    '<li>{{a}}',
  ];
  const texts = [
    ...units.flatMap((unit) => [(unit + 'a'.repeat(250)).repeat(3_500), unit.repeat(20_000)]),
    `<script>${'</script'.repeat(20_000)}`,
  ];
  for (const text of texts) {
    const began = process.cpuUsage();
    t.equal(optionalLinesOf(text, 10).map(whole).join('').length, text.length, text.slice(0, 20));
    const { user } = process.cpuUsage(began);
    t.ok(user < 1_500_000, `${text.slice(0, 20)}: ${Math.round(user / 1_000)} ms`);
  }
});

const namedIn = (part: OptionalHtml): number =>
  typeof part === 'string'
    ? 0
    : [...part.when.map(({ length }) => length), ...part.children.map(namedIn)].reduce(
        (total, count) => total + count,
        0,
      );

void t.test('breaks of a text with very many paths do not each name all of them', async (t) => {
  const count = 1_000;
  const values = Array.from({ length: count }, (_, at) => `{{a${at}}}`);
  for (const text of [
    values.join(' ') + '<br>'.repeat(count),
    '<br>'.repeat(count) + values.join('<br>'),
    values.join('<br>'),
    values.join(' ') + '<br>b'.repeat(count),
  ]) {
    const named = optionalLinesOf(`<p>{{z}}</p>${text}`, 10)
      .map(namedIn)
      .reduce((total, one) => total + one, 0);
    t.ok(named < 50 * count, `${text.slice(0, 20)}: ${named}`);
  }
});

void t.test('tags with many paths around many lines take work in proportion to the text', async (t) => {
  const paths = (count: number): string => Array.from({ length: count }, (_, at) => `{{a${at}}}`).join('');
  const texts: Readonly<Record<string, (size: number) => string>> = {
    'one tag of many paths': (size) => `<i title="${paths(size)}">${'x<br>'.repeat(size)}</i>`,
    'tags in each other': (size) => '<a href="{{x}}">'.repeat(50) + '{{a}}<br>'.repeat(10 * size),
  };
  for (const [name, text] of Object.entries(texts)) {
    const isLinear = await growsLinearly((size) => optionalLinesOf(text(size), 10), 1_600);
    t.ok(isLinear, name);
  }
});

void t.test(
  'tags around a line that hold very many paths keep it, and all of them decide about its component',
  async (t) => {
    const around = (count: number): string =>
      `<i title="${Array.from({ length: count }, (_, at) => `{{a${at}}}`).join('')}">{{v}}<br>{{w}}</i>{{z}}`;
    const whens = (html: string): number => optionalLinesOf(html, 10).filter((part) => typeof part !== 'string').length;
    t.ok(whens(around(20)) > 0);
    t.equal(whens(around(21)), 0);
    for (const count of [20, 21]) t.equal(linePathsOf(around(count), 10).length, count + 3);
  },
);
