/**
 * Rendering of emails: every component and sample against its golden files, loops, conditions, formats, limits by their
 * codes.
 */
import t from 'tap';
import { HtmlValidate } from 'html-validate';
import { openRenderer } from '../../../src/adapters/render/email/renderer.js';
import { DomainError } from '../../../src/domain/core/errors.js';
import type { JsonObject } from '../../../src/domain/core/json.js';
import { defaultLimits } from '../../../src/domain/core/limits.js';
import { checkEmailTemplate } from '../../../src/domain/rendering/check/email.js';
import { emailSamples, sampleTemplates } from '../../support/samples.js';
import { matchesGolden } from '../../support/golden.js';
import { everyComponent, kitchenSink, sinkDefinitions, sinkVariables } from '../../support/kitchen-sink.js';
import { company, environment, renderTemplate, templateOf } from '../../support/rendering.js';

const validator = new HtmlValidate({
  root: true,
  rules: {
    'close-order': 'error',
    'void-content': 'error',
    'no-dup-attr': 'error',
    'no-dup-class': 'error',
    'attr-quotes': 'error',
    'no-raw-characters': 'error',
    'element-permitted-content': 'error',
    'wcag/h37': 'error',
  },
});

const wellFormed = async (html: string): Promise<readonly string[]> => {
  const report = await validator.validateString(html.replace(/<!--\[if mso\]>.*?<!\[endif\]-->/gs, ''));
  return report.results.flatMap(({ messages }) =>
    messages.map(({ message, ruleId, line, column }) => `${ruleId}: ${message} at ${line}:${column}`),
  );
};

const failure = (action: () => unknown): DomainError => {
  try {
    action();
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
};

const rich = (id: string, content: string): JsonObject => ({ id, type: 'rich-text', content });
const bodyOf = (html: string): string => html.slice(html.indexOf('<div role="article"'));

void t.test('every component, by itself', async (t) => {
  for (const [name, component] of Object.entries(everyComponent)) {
    const file = `email/component-${name.replaceAll(', ', '-')}`;
    const { html, text } = renderTemplate(templateOf([component], { variables: sinkDefinitions }), sinkVariables);
    matchesGolden(t, `${file}.html`, html);
    matchesGolden(t, `${file}.txt`, text);
    t.same(await wellFormed(html), [], `${name} is well formed`);
    t.notMatch(html, /\{\{|undefined|\[object|NaN/, `${name} leaves nothing behind`);
  }
});

void t.test('all of them together', async (t) => {
  const rendered = renderTemplate(kitchenSink(), sinkVariables);
  const { subject, html, text } = rendered;
  t.equal(subject, 'Everything for Tom & "Ann" <Sons>');
  t.same(await wellFormed(html), []);
  t.ok(html.startsWith('<!doctype html><html lang="en-US" dir="ltr"'));
  t.ok(Buffer.byteLength(html) < 102 * 1024, 'below the size at which Gmail clips');
  t.equal(
    html.match(/<!--\[if mso\]>/g)?.length,
    html.match(/<!\[endif\]-->/g)?.length,
    'conditional comments are paired',
  );
  for (const line of text.split('\n'))
    t.ok(line.length <= 78 || !line.includes(' '), 'lines of the text part are short enough');
  t.same(renderTemplate(kitchenSink(), sinkVariables), rendered, 'same input, same output');
});

void t.test('the samples', async (t) => {
  for (const { name, description } of sampleTemplates) t.ok(name.length > 3 && description.length > 10);
  for (const { name, locale, content, values } of emailSamples) {
    const rendered = renderTemplate(content, values, locale === undefined ? {} : { language: { locale } });
    matchesGolden(t, `email/sample-${name}.html`, rendered.html);
    matchesGolden(t, `email/sample-${name}.txt`, `Subject: ${rendered.subject}\n\n${rendered.text}`);
    t.same(await wellFormed(rendered.html), [], name);
    t.ok(Buffer.byteLength(rendered.html) < 24 * 1024, `${name} is small`);
    const defaults = Object.fromEntries(
      content.variables.map(({ name: of, defaultValue }) => [of, defaultValue ?? null]),
    );
    t.doesNotThrow(() => renderTemplate(content, defaults as JsonObject), `${name} renders with its defaults`);
  }
});

void t.test('loops nested to three, with index variables and shadowed names', async (t) => {
  const loop = (id: string, dataSource: string, item: string, child: JsonObject): JsonObject => ({
    id,
    type: 'loop',
    props: { dataSource, itemVariable: item, indexVariable: `${item}At` },
    children: [child],
  });
  const template = templateOf([
    loop(
      'a',
      'rows',
      'row',
      loop(
        'b',
        '{{row.cells}}',
        'cell',
        loop('c', 'cell.parts', 'part', rich('d', '{{rowAt}}{{cellAt}}{{partAt}}={{part}};')),
      ),
    ),
    rich('after', 'row is {{row}}'),
  ]);
  const { text } = renderTemplate(template, {
    rows: [{ cells: [{ parts: ['a', 'b'] }, { parts: [] }] }, { cells: [{ parts: ['c'] }] }],
    row: 'outside',
  });
  t.equal(text.replace(/\s+/g, ' ').trim(), '000=a; 001=b; 100=c; row is outside');
});

void t.test('conditions choose, values keep their types', async (t) => {
  const template = templateOf([
    {
      id: 'a',
      type: 'conditional',
      props: { condition: 'a', operator: '>=', value: '{{b}}' },
      children: [rich('a1', 'A')],
      elseChildren: [rich('a2', 'B')],
    },
    {
      id: 'c',
      type: 'conditional',
      props: { condition: 'list', operator: 'contains', value: 2 },
      children: [rich('c1', 'C')],
    },
    {
      id: 'd',
      type: 'conditional',
      props: { condition: '__CURRENT_YEAR__', operator: '==', value: 2026 },
      children: [rich('d1', 'D')],
    },
    {
      id: 'e',
      type: 'conditional',
      props: { condition: '__CURRENT_DATE__', operator: '>', value: '2026-11-20' },
      children: [rich('e1', 'E')],
    },
  ]);
  const shown = (variables: JsonObject): string => renderTemplate(template, variables).text.replace(/\s+/g, '');
  t.equal(shown({ a: 10, b: '9', list: ['1', '2'] }), 'ACDE');
  t.equal(shown({ a: 1, b: 9, list: [] }), 'BDE');
  t.equal(shown({}), 'BDE');
});

void t.test('formats come from definitions, schemas, columns and the language of the template', async (t) => {
  const template = templateOf(
    [rich('a', '{{price}} | {{order.total}} | {{order.lines[0].at}} | {{raw}} | {{__CURRENT_DATE__}}')],
    {
      locale: 'de-DE',
      timeZone: 'Europe/Berlin',
      variables: [
        { name: 'price', type: 'number', format: { style: 'currency', currency: 'EUR' } },
        {
          name: 'order',
          type: 'object',
          schema: {
            type: 'object',
            properties: {
              total: { type: 'number', format: { style: 'currency', currency: '{{currency}}' } },
              lines: {
                type: 'array',
                itemType: 'object',
                itemSchema: {
                  properties: { at: { type: 'date', format: { style: 'datetime', pattern: 'd. MMMM yyyy HH:mm' } } },
                },
              },
            },
          },
        },
      ],
    },
  );
  const { text, html } = renderTemplate(template, {
    price: 1234.5,
    order: { total: 9, lines: [{ at: '2026-03-01T22:30:00Z' }] },
    currency: 'USD',
    raw: 1234.5,
  });
  t.equal(text.replaceAll('\u00a0', ' '), '1.234,50 € | 9,00 $ | 1. März 2026 23:30 | 1234.5 | 21. November 2026\n');
  t.match(html, /<html lang="de-DE" dir="ltr"/);
  t.match(renderTemplate(templateOf([rich('a', 'x')], { locale: 'ar-EG' })).html, /dir="rtl"/);
});

void t.test('a written cell has a format of its own', async (t) => {
  const rows = [
    [{ content: '{{x}}', format: { style: 'percent' } }, '{{x}}', { content: '<b>{{x}}</b>', type: 'currency' }],
  ];
  const columns = [{}, { format: { style: 'number', minimumFractionDigits: 2 } }, {}];
  const variables = [{ name: 'x', type: 'number' }];
  const { text } = renderTemplate(templateOf([{ id: 't', type: 'table', props: { rows, columns } }], { variables }), {
    x: 0.5,
  });
  t.match(text, /50% +0\.50/);
});

void t.test('defaults, required variables, types', async (t) => {
  const template = templateOf([rich('a', '{{greeting}} {{who}}')], {
    variables: [
      { name: 'greeting', type: 'string', defaultValue: 'Hello' },
      { name: 'who', type: 'string', required: true, defaultValue: 'sample' },
    ],
  });
  t.equal(renderTemplate(template, { who: 'Ada' }).text, 'Hello Ada\n');
  t.match(
    failure(() => renderTemplate(template, {})),
    { code: 'VALIDATION_ERROR', details: { errors: [{ field: 'variables.who', message: 'is required' }] } },
  );
  t.match(
    failure(() => renderTemplate(template, { who: 5 })),
    {
      code: 'VALIDATION_ERROR',
      details: { errors: [{ field: 'variables.who', message: 'must be a string, got a number' }] },
    },
  );
  const loop = templateOf([
    { id: 'l', type: 'loop', props: { dataSource: 'order.items', itemVariable: 'i' }, children: [rich('x', 'x')] },
  ]);
  t.match(
    failure(() => renderTemplate(loop, { order: { items: 'no' } })),
    { code: 'VALIDATION_ERROR', details: { errors: [{ field: 'variables.order.items' }] } },
  );
  t.doesNotThrow(() => renderTemplate(loop, { order: null }));
});

void t.test('only own members are read', async (t) => {
  const template = templateOf([
    rich(
      'a',
      '[{{constructor}}{{toString}}{{a.constructor.name}}{{a.hasOwnProperty}}{{list.map}}{{text.length}}{{list.length}}{{own.toString}}{{valueOf}}]',
    ),
  ]);
  t.equal(renderTemplate(template, { a: {}, list: [1, 2], text: 'abc', own: { toString: 'mine' } }).text, '[2mine]\n');
});

void t.test('subjects', async (t) => {
  const template = templateOf([rich('a', 'x')], {
    subject: 'Order {{no}} for {{__COMPANY_NAME__}}',
    variables: [{ name: 'no', type: 'number', format: { style: 'number' } }],
  });
  t.equal(renderTemplate(template, { no: 1234 }).subject, 'Order 1,234 for Northwind Coffee');
  t.equal(
    renderTemplate(template, { no: 1 }, { subject: 'Changed {{no}} & {{__CURRENT_YEAR__}}' }).subject,
    'Changed 1 & 2026',
  );
  t.match(renderTemplate(template, { no: 1 }, { subject: '<b>' }).html, /<title>&lt;b&gt;<\/title>/);
  t.equal(
    renderTemplate(templateOf([rich('a', 'x')], { subject: 'a{{x}}b' }), { x: '\r\nBcc: evil@example.com\r\n\u2028' })
      .subject,
    'a Bcc: evil@example.com b',
  );
  t.match(
    failure(() => renderTemplate(template, { no: 1 }, { subject: 'x {{oops' })),
    { code: 'VALIDATION_ERROR', details: { errors: [{ field: 'subject' }] } },
  );
  t.match(
    failure(() => renderTemplate(templateOf([rich('a', 'x')], { subject: '{{x}}' }), { x: 'y'.repeat(999) })),
    {
      code: 'SUBJECT_TOO_LONG',
      message: /999 characters, the maximum is 998/,
      details: { relatedInfo: { actualChars: 999, maxChars: 998 } },
    },
  );
  t.equal(
    renderTemplate(templateOf([rich('a', 'x')], { subject: '{{x}}' }), { x: 'y'.repeat(998) }).subject.length,
    998,
  );
});

void t.test('limits, code by code', async (t) => {
  const table = templateOf([
    { id: 't', type: 'table', props: { dataSource: 'rows', columns: [{ content: '{{item}}' }] } },
  ]);
  const rows = (count: number): JsonObject => ({ rows: Array.from({ length: count }, (_, at) => at) });
  t.doesNotThrow(() => renderTemplate(table, rows(1_000)));
  t.match(
    failure(() => renderTemplate(table, rows(1_001))),
    {
      code: 'ERR_LIMIT_007',
      message: /"rows" has 1,001 iterations, the maximum is 1,000/,
      details: { relatedInfo: { actualIterations: 1_001, maxIterations: 1_000 } },
    },
  );

  const loop = templateOf([
    { id: 'l', type: 'loop', props: { dataSource: 'rows', itemVariable: 'i' }, children: [rich('x', 'x')] },
  ]);
  t.doesNotThrow(() => renderTemplate(loop, rows(499)), 'the loop itself and 499 texts');
  t.match(
    failure(() => renderTemplate(loop, rows(500))),
    {
      code: 'ERR_LIMIT_009',
      message: /at least 501 components.*maximum is 500/,
      details: { relatedInfo: { actualComponents: 501, maxComponents: 500 } },
    },
  );
  const nested = templateOf([
    {
      id: 'l',
      type: 'loop',
      props: { dataSource: 'rows', itemVariable: 'i' },
      children: [
        { id: 'm', type: 'loop', props: { dataSource: 'rows', itemVariable: 'j' }, children: [rich('x', 'x')] },
      ],
    },
  ]);
  t.match(
    failure(() => renderTemplate(nested, rows(1_000))),
    { code: 'ERR_LIMIT_009' },
    'a million iterations stop at five hundred',
  );

  const big = templateOf([rich('a', '{{x}}')]);
  t.match(
    failure(() => renderTemplate(big, { x: 'y'.repeat(1_048_576) })),
    { code: 'RENDERED_BODY_TOO_LARGE', message: /bytes, the maximum is 1,048,576/ },
  );
  t.match(
    failure(() => renderTemplate(big, { x: '漢'.repeat(349_526) })),
    { code: 'RENDERED_BODY_TOO_LARGE' },
    'bytes, not characters',
  );
  t.doesNotThrow(() => renderTemplate(big, { x: 'y'.repeat(1_000_000) }));
  const bigRows = templateOf([
    { id: 't', type: 'table', props: { dataSource: 'rows', columns: [{ content: '{{x}}' }] } },
  ]);
  t.match(
    failure(() => renderTemplate(bigRows, { ...rows(1_000), x: 'y'.repeat(100_000) })),
    { code: 'RENDERED_BODY_TOO_LARGE', message: /at least/ },
    'stops while it grows',
  );
  t.match(
    failure(() => renderTemplate(table, rows(4), { limits: { ...defaultLimits, loopIterationsMax: 3 } })),
    { code: 'ERR_LIMIT_007', message: /maximum is 3/ },
    'limits are settings',
  );
});

void t.test('the text part', async (t) => {
  const { text } = renderTemplate(
    templateOf([
      rich(
        'a',
        '<p>A paragraph that is long enough to be broken over several lines, with {{name}} in it, and a link to <a href="https://example.com/a/rather/long/path/that/does/not/fit">our page</a>.</p>',
      ),
      rich(
        'b',
        '<p><a href="https://example.com">https://example.com</a> <a href="mailto:{{mail}}">{{mail}}</a> <a href="{{bad}}">no way</a> <a href="#top">up</a></p>',
      ),
      {
        id: 'c',
        type: 'table',
        props: {
          dataSource: 'rows',
          columns: [
            { header: 'Name', content: '{{item.a}}' },
            { header: 'Much', content: '{{item.b}}' },
          ],
        },
      },
    ]),
    {
      name: 'a name that has many words too',
      mail: 'a@example.com',
      bad: 'javascript:alert(1)',
      rows: [
        { a: 'x', b: 'y'.repeat(90) },
        { a: 'z', b: '' },
      ],
    },
  );
  t.equal(
    text,
    [
      'A paragraph that is long enough to be broken over several lines, with a name',
      'that has many words too in it, and a link to our page',
      '(https://example.com/a/rather/long/path/that/does/not/fit).',
      '',
      'https://example.com a@example.com no way up',
      '',
      'Name: x',
      'Much:',
      `  ${'y'.repeat(90)}`,
      '',
      'Name: z',
      '',
    ].join('\n'),
  );
});

void t.test('the text part says what elements mean', (t) => {
  const shown = (content: string, variables: JsonObject = {}, props: JsonObject = {}): string =>
    renderTemplate(templateOf([{ id: 'a', type: 'rich-text', content, props }]), variables).text;

  t.equal(
    shown(
      '12 m<sup>2</sup>, {{n}} m<sup>{{e}}</sup>, CO<sub>2</sub>, 1<sup>st</sup>, M<sup>me</sup>, Northwind<sup>TM</sup>, x<sub>max</sub>',
      {
        n: 3,
        e: 3,
      },
    ),
    '12 m², 3 m³, CO₂, 1st, Mme, Northwind™, x_max\n',
  );
  t.equal(
    shown('10<sup>-6</sup>, note<sup>[1]</sup>, a<sup>2x</sup>, $19<sup>99</sup>, <sup>see page 2 of it</sup>'),
    '10⁻⁶, note[¹], a^(2x), $19⁹⁹, see page 2 of it\n',
  );

  t.equal(
    shown(
      '<div style="display:none;max-height:0">Before</div><p>a <span hidden>b</span><span aria-hidden="true">*</span>c</p>',
    ),
    'a c\n',
  );
  t.equal(
    shown(
      '<div style="max-height: 0px; overflow:hidden">Before</div><p style="opacity:0.5">a</p><p style="visibility:hidden !important">b</p>',
    ),
    'a\n',
  );
  t.equal(shown('<p>a<img src="https://example.com/a.png" alt="b" hidden></p><ul hidden><li>c</li></ul>'), 'a\n');

  const phone = {
    t: '+4989123456',
    l: '+49 (0)89 123456',
    url: 'https://www.example.com/',
    name: 'www.example.com',
    mail: 'a+b@example.com',
    none: '',
  };
  const link = (href: string, label: string): string => shown(`<p><a href="${href}">${label}</a></p>`, phone).trim();
  for (const label of ['+49 89 123456', '089 / 123456', '+49 (0)89 12 34 56', 'Tel. +49-89-123456'])
    t.equal(link('tel:+4989123456', label), label);
  t.equal(link('tel:{{t}}', '{{l}}'), '+49 (0)89 123456');
  t.equal(link('tel:{{t}}', 'Call us'), 'Call us (+4989123456)');
  t.equal(link('tel:+18003569377', '1-800-FLOWERS'), '1-800-FLOWERS (+18003569377)');
  t.equal(link('mailto:a@example.com?subject=b%20c', 'Write'), 'Write (a@example.com)');
  t.equal(link('mailto:a@example.com,b@example.com', 'Write'), 'Write (a@example.com, b@example.com)');
  t.equal(link('mailto:a@example.com', 'A@example.com'), 'A@example.com');
  t.equal(link('mailto:{{mail}}', '{{mail}}'), 'a+b@example.com');
  t.equal(link('mailto:?subject=a', 'Tell a friend'), 'Tell a friend');
  t.equal(link('https://example.com/', 'example.com'), 'https://example.com/');
  t.equal(link('{{url}}', '{{name}}'), 'https://www.example.com/');
  t.equal(link('https://example.com/{{none}}', '{{none}}'), 'https://example.com/');

  t.equal(shown('<ol start="3"><li>c</li><li value="10">j</li><li>k</li></ol>'), '3. c\n10. j\n11. k\n');
  t.equal(shown('<ol reversed><li>a</li><li>b</li></ol>'), '2. a\n1. b\n');
  t.equal(shown('<ol type="I" start="4"><li>a</li><li>b</li></ol>'), 'IV. a\nV. b\n');
  t.equal(
    shown('<ol style="list-style-type:upper-alpha" start="{{s}}"><li>a</li><li value="{{v}}">b</li><li>c</li></ol>', {
      s: 27,
      v: 2,
    }),
    'AA. a\nB. b\nC. c\n',
  );
  t.equal(shown('<ol start="x"><li>a</li></ol><ul type="a"><li>b</li></ul>'), '1. a\n- b\n');
  t.equal(
    shown(
      '<ol reversed><li>{{a}}</li><li>{{b}}</li><li>{{c}}</li></ol>',
      { a: 'A', c: 'C' },
      { hideWhenEmpty: 'lines' },
    ),
    '2. A\n1. C\n',
  );
  t.equal(
    shown('<ul><li>a<ol><li>b<ul><li>c</li></ul></li></ol></li><ul><li>d</li></ul><li>e</li></ul>'),
    '- a\n  1. b\n     - c\n  - d\n- e\n',
  );

  t.equal(shown('Hello {{none}} {{a}},&nbsp;&nbsp;b {{none}}', { a: 'A' }), 'Hello A,  b\n');
  const cells = (cell: string): string =>
    renderTemplate(templateOf([{ id: 'a', type: 'list', content: cell, props: { dataSource: 'rows' } }]), {
      rows: [{ a: 'A', b: '', c: 'C' }],
    }).text;
  t.equal(cells('{{item.a}}<br>{{item.b}}'), '- A\n');
  t.equal(cells('{{item.b}}<br>{{item.a}}<br>{{item.b}}<br>{{item.c}}, {{item.b}}'), '- A\n  C,\n');
  const image = { id: 'a', type: 'image', props: { src: 'https://example.com/a.png', alt: '{{alt}}' } };
  t.equal(renderTemplate(templateOf([image]), { alt: '' }).text, '\n');
  t.equal(renderTemplate(templateOf([image]), { alt: 'A mug' }).text, '[A mug]\n');
  t.end();
});

void t.test('tables of rich text in the text part', (t) => {
  const shown = (
    content: string,
    variables: JsonObject = {},
    more: Readonly<Record<string, unknown>> = {},
    props: JsonObject = {},
  ): string[] =>
    renderTemplate(templateOf([{ id: 'a', type: 'rich-text', content, props }], more), variables)
      .text.trimEnd()
      .split('\n');
  const [long, row] = ['word '.repeat(18).trim(), '<tr><td>{{a}}</td><td>{{b}}</td></tr>'];

  t.same(
    shown(
      '<table><tr><th>Item</th><th>Address</th></tr><tr><td>Mug</td><td>Line 1<br>Line 2</td></tr><tr><td>Kettle with timer</td><td>x</td></tr></table><p>y</p>',
    ),
    [
      'Item               Address',
      '-'.repeat(26),
      'Mug                Line 1',
      '                   Line 2',
      'Kettle with timer  x',
      '',
      'y',
    ],
    'heads without thead, the second line of a cell in its column',
  );
  t.same(
    shown(
      '<table><caption>Sales</caption><thead><tr><th rowspan="2">Name</th><th colspan="2">Amounts {{y}}</th></tr><tr><th>Q1</th><th>Q2</th></tr></thead><tbody><tr><td>日本</td><td>1,200.50</td><td>€3</td></tr><tr><td>{{a}}</td><td>{{b}}</td><td>40</td></tr></tbody><tfoot><tr><td colspan="2">Total</td><td>43</td></tr></tfoot></table>',
      { y: 2026, a: 'Ada', b: 12 },
    ),
    [
      'Sales',
      'Name  Amounts 2026',
      '            Q1  Q2',
      '-'.repeat(18),
      '日本  1,200.50  €3',
      'Ada         12  40',
      '-'.repeat(18),
      'Total           43',
    ],
    'spans, wide letters, numbers at the right, a foot',
  );
  t.same(
    shown(
      '<table><tr><th>A</th><th align="right">B</th><th>C</th></tr><tr><td align="center">a</td><td>x</td><td>1.2.2026</td></tr><tr><td>bbb</td><td style="text-align:right">y</td><td>24.12.2026</td></tr></table>',
    ),
    [' A   B  C', '-'.repeat(18), ' a   x  1.2.2026', 'bbb  y  24.12.2026'],
    'sides that the author names; a date is no number',
  );
  t.same(shown(`<table>${row}<tr><td>Shipping</td><td>free</td></tr></table>`, { a: 'Subtotal', b: '€10.00' }), [
    'Subtotal  €10.00',
    'Shipping  free',
  ]);

  t.same(
    shown(`<table><tr><th>Name:</th><th>Text</th></tr>${row}${row}</table>`, { a: 'x', b: long }),
    [
      'Name: x',
      `Text: ${'word '.repeat(14).trim()}`,
      '  word word word word',
      '',
      'Name: x',
      `Text: ${'word '.repeat(14).trim()}`,
      '  word word word word',
    ],
    'too wide: label and value',
  );
  t.same(shown(`<table><tr><th>Name</th><td>${long}</td></tr><tr><th>Age</th><td>3</td></tr></table>`), [
    `Name: ${'word '.repeat(14).trim()}`,
    '  word word word word',
    'Age: 3',
  ]);
  t.same(shown(`<table>${row}</table>`, { a: long, b: 'x' }), [
    ...[15, 3].map((count, at) => (at === 0 ? '' : '  ') + 'word '.repeat(count).trim()),
    'x',
  ]);
  t.same(
    shown('<table><tr><th>A</th><th>B</th></tr><tr><td>{{c}}</td><td>x</td></tr></table>', { c: 'C' }, { locale: 'ar' })
      .length,
    2,
  );

  const layout =
    '<tr><td>&nbsp;</td><td>A</td><td>{{none}}</td><td>{{b}}</td></tr><tr><td><p>Hello</p></td><td>World</td></tr>';
  t.same(
    shown(`<table role="presentation">${layout}</table>`, { b: 'B' }),
    ['A  B', '', 'Hello', '', 'World'],
    'a table for the layout',
  );
  t.same(shown('<table><tr><td>One</td></tr><tr><td>Two</td></tr></table>'), ['One', '', 'Two'], 'a single column');
  t.same(
    shown(
      '<table><tr><th>A</th><th>B</th></tr><tr><td><table><tr><td>x</td><td>y</td></tr></table></td><td>z</td></tr></table>',
    ),
    ['A  B', '', 'x  y', '', 'z'],
  );
  t.same(
    shown('<ul><li>x<table><tr><th>A</th><td>{{b}}</td></tr><tr><th>Long</th><td>2</td></tr></table></li></ul>', {
      b: 'B',
    }),
    ['- x', '', '  A     B', '  Long  2'],
  );
  t.same(
    shown(
      `<table><tr><th>A</th><th>B</th></tr>${row}<tr><td>{{c}}</td><td>x<ul><li>i</li></ul></td></tr></table>`,
      { c: 'C' },
      {},
      { hideWhenEmpty: 'lines' },
    ),
    ['A  B', '------', 'C  x', '   - i'],
    'a row without a value is left out',
  );
  t.same(
    shown(
      '<table><tr><td colspan="1000" rowspan="1000">a</td><td>b</td></tr><tr hidden><td>c</td><td>d</td></tr></table>',
    ),
    ['a  b'],
  );
  t.end();
});

void t.test('what is hidden is hidden in the HTML too', (t) => {
  const html = (content: string): string => bodyOf(renderTemplate(templateOf([rich('a', content)])).html);
  t.match(html('<p>a</p><p hidden>b</p>'), /<p hidden="" style="[^"]*display:none">b/);
  t.match(
    html('<p>a</p><div style="max-height:0;overflow:hidden">b</div>'),
    /<div style="max-height:0;overflow:hidden;display:none">b/,
  );
  t.match(html('<p>a <span aria-hidden="true">b</span></p>'), /<span aria-hidden="true">b/);
  t.end();
});

void t.test('dark mode has a twin for each light colour, and leaves fixed surfaces alone', async (t) => {
  const { html } = renderTemplate(
    templateOf([
      { id: 'c', type: 'container', props: { backgroundColor: '#1e3a8a' }, children: [rich('x', 'on blue')] },
      rich('y', 'on the card'),
    ]),
  );
  t.match(html, /@media \(prefers-color-scheme:dark\)\{/);
  const blue = /<td style="[^"]*color:#ffffff">on blue/.exec(html);
  t.ok(blue, 'white text without a class on the blue surface');
  t.match(bodyOf(html), /<td class="t\d+" style="[^"]*">on the card/);
});

void t.test('declarations as authors write them keep their value, and blocks that are not kept stay apart', (t) => {
  const shown = (content: string, type = 'rich-text') => renderTemplate(templateOf([{ id: 'a', type, content }]));
  const styleIn = (css: string): string =>
    /<p(?: class="[^"]*")? style="([^"]*)">QQ/.exec(shown(`<p style="${css}">QQ</p>`).html)?.[1] ?? '';
  for (const [css, kept] of [
    ['color:#b91c1c!important;background-color:#fee2e2 !important', 'color:#b91c1c;background-color:#fee2e2'],
    ['letter-spacing:1px !important', 'letter-spacing:1px'],
    ['background:#eee url() no-repeat', 'background-color:#eee'],
    ['/* a; b */text-align:center', 'text-align:center'],
    ['font-family:&quot;Helvetica Neue&quot;,Arial', "font-family:'Helvetica Neue',Arial"],
    ["font-family:'ヒラギノ角ゴ Pro W3',Meiryo", "font-family:'ヒラギノ角ゴ Pro W3',Meiryo"],
    [
      'font:italic bold 14px/20px Arial, sans-serif',
      'font-style:italic;font-weight:bold;font-size:14px;line-height:20px;font-family:Arial, sans-serif',
    ],
    ['font:caption', 'margin:0'],
    ['width:expression(alert(1));color:red', 'color:red'],
  ] as const)
    t.ok(styleIn(css).endsWith(kept), `${css}: ${styleIn(css)}`);
  t.match(
    shown('<p>x</p><a href="https://x.example" style="color:#ffffff !important;background-color:#1d4ed8">QQ</a>').html,
    /color:#ffffff[^"]*">QQ/,
  );
  const { text } = shown(
    '<p>a</p><section>Total</section><section>Tax</section><details><summary>More</summary>Text</details>',
  );
  t.equal(text, 'a\n\nTotal\n\nTax\n\nMore\n\nText\n');
  t.equal(
    shown('<nav>Home</nav><aside>Note</aside><label>Name</label><button>Go</button>', 'html-fragment').text,
    'Home\n\nNote\n\nName Go\n',
  );
  t.end();
});

void t.test('a base completes relative addresses, and schemes of apps are links', (t) => {
  const template = (components: readonly unknown[], props: JsonObject) => ({
    ...templateOf([]),
    schema: { props, sections: [{ id: 'section', type: 'main', components }] },
  });
  const props = { linkBase: 'https://app.example.com/shop/', linkSchemes: ['myapp'] };
  const hrefs = (html: string) => [...bodyOf(html).matchAll(/ (?:href|src)="([^"]*)"/g)].map(([, address]) => address);
  const components = [
    { id: 'a', type: 'button', content: 'Go', props: { href: '/reset?token={{token}}' } },
    { id: 'b', type: 'button', content: 'Go', props: { href: 'myapp://reset/{{token}}?x={{token}}' } },
    { id: 'c', type: 'button', content: 'Go', props: { href: '{{url}}' } },
    { id: 'd', type: 'image', props: { src: 'logo.png', alt: 'Logo', href: './{{token}}', width: 10, height: 10 } },
    rich(
      'e',
      '<p><a href="sms:+1555?body={{token}}">x</a> <a href="MYAPP:open">y</a> <a href="/{{url}}">z</a> <img src="/{{token}}.png" alt=""></p>',
    ),
    rich(
      'f',
      '<p><a href="{{url}}">{{url}}</a>; <a href="/account">/account</a>; <a href="https://a.example/b">https://a.example/b</a></p>',
    ),
  ];
  const { html, text } = renderTemplate(template(components, props), { token: 'a b&c', url: '/open?x=1&y=2' });
  t.same(hrefs(html), [
    'https://app.example.com/reset?token=a%20b%26c',
    'myapp://reset/a%20b%26c?x=a%20b%26c',
    'https://app.example.com/open?x=1&amp;y=2',
    'https://app.example.com/shop/a%20b%26c',
    'https://app.example.com/shop/logo.png',
    'sms:+1555?body=a%20b%26c',
    'MYAPP:open',
    'https://app.example.com//open%3Fx=1%26y=2',
    'https://app.example.com/a%20b%26c.png',
    'https://app.example.com/open?x=1&amp;y=2',
    'https://app.example.com/account',
    'https://a.example/b',
  ]);
  t.match(
    text.replaceAll(/\s+/g, ' '),
    '/open?x=1&y=2 (https://app.example.com/open?x=1&y=2); /account (https://app.example.com/account); https://a.example/b',
  );
  const [only] = hrefs(renderTemplate(template([components[2]], props), { url: 'https://evil.example/' }).html);
  t.equal(only, 'https://evil.example/', 'a whole address is none to complete');
  for (const url of ['//evil.example', 'app.example.com/reset', 'otherapp://x', 'javascript:alert(1)'])
    t.same(hrefs(renderTemplate(template([components[2]], props), { url }).html), ['#'], url);
  const said = renderTemplate(template([rich('f', '<p><a href="{{url}}">{{url}}</a></p>')], props), {
    url: 'https://a.example/b',
  });
  t.equal(said.text.trim(), 'https://a.example/b', 'an address that is said already is not said twice');

  const { content } = checkEmailTemplate({ ...template([components[2]], props), strictVariables: true }, defaultLimits);
  const strict = openRenderer({ limits: defaultLimits }).compileEmail(content);
  for (const url of ['/reset', 'reset', 'myapp://reset', 'sms:+1'])
    t.ok(strict.check({ variables: { url }, environment }), url);
  for (const url of ['app.example.com/reset', 'otherapp://x'])
    t.throws(() => strict.check({ variables: { url }, environment }), { code: 'VARIABLES_EMPTY' }, url);

  const warningsOf = (html: string, own: JsonObject) =>
    checkEmailTemplate(template([rich('w', html)], own), defaultLimits).warnings.map(({ message }) => message);
  t.same(warningsOf('<a href="/a">a</a><a href="myapp:a">b</a>', props), []);
  t.match(warningsOf('<a href="/a">a</a><a href="myapp:a">b</a>', {}), [/"\/a".*linkBase/, /"myapp:a".*linkSchemes/]);
  t.match(warningsOf('<a href="app.example.com/a">a</a>', props), [/leads nowhere.*myapp:, or a relative one/]);

  const fieldsOf = (own: JsonObject) =>
    failure(() => checkEmailTemplate(template([], own), defaultLimits)).details.errors?.map(
      ({ field, message }) => `${field} ${message}`,
    );
  t.match(fieldsOf({ linkBase: '/a' }), [/^schema.props.linkBase must be an https/]);
  t.match(fieldsOf({ linkBase: 'https://{{host}}' }), [/^schema.props.linkBase cannot hold/]);
  t.match(fieldsOf({ linkSchemes: 'myapp' }), [/^schema.props.linkSchemes must be an array/]);
  t.match(fieldsOf({ linkSchemes: ['myapp', 'javascript', 'MyApp:'] }), [
    /linkSchemes\[1\].*run code/,
    /linkSchemes\[2\].*lower case/,
  ]);
  t.match(fieldsOf({ linkSchemes: Array.from({ length: 21 }, (_, at) => `app${at}`) }), [/the maximum is 20/]);
  t.match(
    failure(() => checkEmailTemplate(template([{ ...components[0], props: { href: '/reset' } }], {}), defaultLimits))
      .message,
    /linkBase completes a relative one/,
  );
  t.end();
});

void t.test('the cache compiles a revision once', async (t) => {
  const renderer = openRenderer({ limits: defaultLimits });
  const { content } = checkEmailTemplate(templateOf([rich('a', 'x')]), defaultLimits);
  let loads = 0;
  const load = async () => {
    loads += 1;
    return content;
  };
  const [a, b] = await Promise.all([renderer.email('k', load), renderer.email('k', load)]);
  t.equal(a, b);
  t.equal(await renderer.email('k', load), a);
  t.equal(loads, 1);
  await renderer.email('other', load);
  t.equal(loads, 2);
  await t.rejects(
    async () => renderer.email('broken', () => Promise.reject(new Error('no such draft'))),
    /no such draft/,
  );
  t.ok(await renderer.email('broken', load), 'a failure is not remembered');
  t.equal(a({ variables: {}, environment: { ...environment, company } }).text, 'x\n');
  await renderer.close();
});
