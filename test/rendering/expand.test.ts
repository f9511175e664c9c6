/** Documents expanded: each component with what it becomes, loops, conditions, formats, lengths, pages. */
import t from 'tap';
import type { JsonObject } from '../../src/domain/core/json.js';
import { imageSourcesOf, leftOutOfCharts } from '../../src/domain/rendering/expand/resources.js';
import type { Expanded, ExpandedPage, ExpandedTable } from '../../src/domain/rendering/expand/expanded.js';
import { pointsOf, boxOf, borderOf, widthOf } from '../../src/domain/rendering/lengths.js';
import { attachmentOf, componentsOf, expandTemplate } from '../support/documents.js';

const one = (
  component: Readonly<Record<string, unknown>>,
  variables: JsonObject = {},
  more: Parameters<typeof attachmentOf>[1] = {},
  format: 'pdf' | 'excel' = 'pdf',
): Expanded | undefined =>
  componentsOf(
    expandTemplate(
      attachmentOf([{ id: 'c', ...component }], { ...more, schema: { outputFormats: [format], ...more.schema } }),
      variables,
      {
        format,
      },
    ),
  )[0];
const all = (
  components: readonly unknown[],
  variables: JsonObject = {},
  more: Parameters<typeof attachmentOf>[1] = {},
): readonly Expanded[] => componentsOf(expandTemplate(attachmentOf(components, more), variables));
const text = (id: string, content: string) => ({ id, type: 'rich-text', content });
const htmlOf = (components: readonly Expanded[]): readonly string[] =>
  components.map((component) => (component.type === 'rich-text' ? component.html : component.type));
const tableOf = (expanded: Expanded | undefined): ExpandedTable => {
  if (expanded?.type !== 'table') throw new Error('it is no table');
  return expanded;
};
const field = 'schema.pages[0].sections[0].components[0]';
const noBox = { top: 0, right: 0, bottom: 0, left: 0 };
const ASSET = 'asset:0b2f5d6e-8f0a-4c7e-9a3b-1c2d3e4f5a6b';

void t.test('lengths', async (t) => {
  const lengths: readonly [unknown, number | undefined][] = [
    [12, 12],
    [0, 0],
    ['12', 12],
    ['12pt', 12],
    ['16px', 12],
    ['25.4mm', 72],
    ['2.54cm', 72],
    ['1in', 72],
    [' 1.5em ', 18],
    ['2REM', 24],
    ['20mm', 56.693],
    [-1, undefined],
    [NaN, undefined],
    [Infinity, undefined],
    [10_000, undefined],
    ['200in', undefined],
    ['5%', undefined],
    ['5 mm', undefined],
    ['1e3', undefined],
    ['', undefined],
    [null, undefined],
    [[12], undefined],
  ];
  for (const [value, points] of lengths) t.equal(pointsOf(value), points, JSON.stringify(value));
  t.same(widthOf('50%'), { percent: 50 });
  t.same(widthOf('1in'), { points: 72 });
  for (const width of ['101%', '-5%', '%', 'auto']) t.equal(widthOf(width), undefined, width);
  t.same(boxOf('1 2 3 4'), { top: 1, right: 2, bottom: 3, left: 4 });
  t.same(boxOf('8px 16px'), { top: 6, right: 12, bottom: 6, left: 12 });
  t.same(boxOf('1 2 3'), { top: 1, right: 2, bottom: 3, left: 2 });
  t.same(boxOf(5), { top: 5, right: 5, bottom: 5, left: 5 });
  for (const box of ['1 2 3 4 5', '1 x', '', '5%']) t.equal(boxOf(box), undefined, box);
  t.same(borderOf('dashed rgb(1, 2, 3) 1mm'), { width: 2.835, style: 'dashed', color: 'rgb(1, 2, 3)' });
  t.same(borderOf('2px double'), { width: 1.5, style: 'solid', color: '#e5e7eb' });
  t.match(borderOf(true), { width: 0.75, style: 'solid' });
  for (const none of [false, 0, 'none', '1px none red'])
    t.match(borderOf(none), { width: 0, style: 'none' }, String(none));
  for (const wrong of ['1px 2px', 'red blue', 'url(x)', {}]) t.equal(borderOf(wrong), undefined, JSON.stringify(wrong));
});

void t.test('rich text: values escaped, formats by their definition, style in points', async (t) => {
  const expanded = one(
    {
      type: 'rich-text',
      content: '<p>{{name}} owes {{total}} on {{due}} <b>{{missing}}</b></p>',
      props: {
        fontSize: '16px',
        color: '{{color}}',
        align: 'center',
        lineHeight: 1.5,
        padding: '2mm',
        fontFamily: 'Lora, serif',
        backgroundColor: '#EEE',
      },
    },
    { name: '<b>Ada & "Bob"</b>', total: 1234.5, due: '2026-12-01', color: 'RED' },
    {
      variables: [
        { name: 'name', type: 'string' },
        { name: 'total', type: 'number', format: { style: 'currency', currency: 'EUR' } },
        { name: 'due', type: 'date', format: { style: 'date', dateStyle: 'long' } },
      ],
      locale: 'de-DE',
    },
  );
  t.same(expanded, {
    type: 'rich-text',
    id: 'c',
    field,
    html: '<p>&lt;b&gt;Ada &amp; &quot;Bob&quot;&lt;/b&gt; owes 1.234,50\u00a0€ on 1. Dezember 2026 <b></b></p>',
    style: {
      align: 'center',
      color: 'red',
      fontSize: 12,
      fontFamily: 'Lora, serif',
      lineHeight: 1.5,
      backgroundColor: '#eee',
    },
    padding: { top: 5.669, right: 5.669, bottom: 5.669, left: 5.669 },
  });
  t.same(
    one(
      {
        type: 'rich-text',
        content: 'x',
        props: { color: '{{c}}', fontSize: '{{s}}', padding: '{{p}}', align: '{{a}}', lineHeight: '30pt' },
      },
      { c: 'url(x)', s: 'huge', p: '1;2', a: 'top' },
    ),
    { type: 'rich-text', id: 'c', field, html: 'x', style: { lineHeight: 2.5 }, padding: noBox },
    'what is not of its kind is left out',
  );
  t.match(
    one({ type: 'rich-text', content: 'x', props: { fontSize: '{{s}}', align: '{{a}}' } }, { s: 14, a: 'Right' }),
    { style: { fontSize: 14, align: 'right' } },
    'a number stays a number',
  );
});

void t.test('constants, defaults and calculated variables', async (t) => {
  t.same(
    htmlOf(
      all(
        [text('a', '{{__COMPANY_NAME__}} {{__CURRENT_DATE__}} {{greeting}} {{double}}')],
        { n: 21, double: 'given' },
        {
          variables: [
            { name: 'greeting', type: 'string', defaultValue: 'Hi' },
            { name: 'n', type: 'number' },
            { name: 'double', type: 'number', isCalculated: true, expression: 'n * 2' },
          ],
        },
      ),
    ),
    ['Northwind Coffee November 21, 2026 Hi 42'],
  );
  const missing = (): unknown =>
    all([text('a', 'x')], {}, { variables: [{ name: 'n', type: 'number', required: true }] });
  t.throws(missing, {
    code: 'VALIDATION_ERROR',
    details: { errors: [{ field: 'variables.n', message: 'is required' }] },
  });
});

void t.test('image', async (t) => {
  t.same(
    one(
      {
        type: 'image',
        props: {
          src: 'https://example.com/{{file}}?q={{q}}',
          alt: '{{alt}}',
          width: '1in',
          height: 40,
          align: 'right',
          href: 'https://example.com/{{q}}',
        },
      },
      { file: 'a b.png', q: 'a&b', alt: '<x>' },
    ),
    {
      type: 'image',
      id: 'c',
      field,
      src: 'https://example.com/a%20b.png?q=a%26b',
      alt: '<x>',
      width: 72,
      height: 40,
      align: 'right',
      href: 'https://example.com/a%26b',
      padding: noBox,
    },
  );
  t.same(one({ type: 'image', props: { src: ASSET.toUpperCase(), width: '50%' } }), {
    type: 'image',
    id: 'c',
    field,
    src: ASSET,
    alt: '',
    widthPercent: 50,
    align: undefined,
    padding: noBox,
  });
  t.match(one({ type: 'image', props: { src: 'asset:{{id}}' } }, { id: ASSET.slice(6) }), { src: ASSET });
  t.equal(one({ type: 'image', props: { src: '{{photo}}' } }), undefined, 'no address, no picture');
  t.equal(
    (
      one(
        { type: 'image', props: { src: 'https://example.com/a.png', href: '{{x}}' } },
        { x: 'javascript:alert(1)' },
      ) as { href?: string }
    ).href,
    undefined,
  );
  for (const src of [
    'javascript:alert(1)',
    'file:///etc/passwd',
    'asset:../../x',
    '/etc/passwd',
    'data:text/html;base64,AAAA',
    'ftp://example.com/a.png',
  ]) {
    t.throws(
      () => one({ type: 'image', props: { src: '{{src}}' } }, { src }),
      { code: 'VALIDATION_ERROR', details: { errors: [{ field: `${field}.props.src` }] } },
      src,
    );
  }
});

void t.test('table from a data source: cells with their values', async (t) => {
  const variables = [
    {
      name: 'items',
      type: 'array',
      itemType: 'object',
      schema: {
        type: 'array',
        itemType: 'object',
        itemSchema: {
          properties: {
            name: { type: 'string' },
            qty: { type: 'number' },
            due: { type: 'date', format: { style: 'date', dateStyle: 'short' } },
            ok: { type: 'boolean' },
          },
        },
      },
    },
    { name: 'currency', type: 'string' },
  ];
  const table = (format: 'pdf' | 'excel') =>
    tableOf(
      one(
        {
          type: 'table',
          props: {
            dataSource: '{{items}}',
            itemVariable: 'line',
            indexVariable: 'at',
            striped: true,
            border: '1pt solid #000',
            headerBackgroundColor: '#eef',
            fontSize: 9,
            cellPadding: 3,
            emptyText: 'None',
            sheetName: 'Lines {{currency}}',
            freezeHeader: true,
            autoFilter: true,
            columns: [
              { header: '#', content: '{{at}}', width: '10%' },
              { header: '<b>Name</b>', content: ' {{line.name}} ', width: '1in' },
              {
                header: 'Qty',
                content: '{{line.qty}}',
                format: { style: 'currency', currency: '{{currency}}' },
                footer: '{{total}}',
              },
              { header: 'Due', content: '{{line.due}}', align: 'center' },
              { header: 'Text', content: '{{line.qty}} x', headerAlign: 'center' },
              { header: 'Ok', content: '{{line.ok}}' },
              { header: 'Sum', content: '=C{row}*2', type: 'currency', footer: '=SUM(C{first}:C{last})' },
              { header: 'Fixed', content: 7 },
              { header: 'Any', content: '{{line.tags}}', type: 'percent' },
            ],
          },
        },
        {
          items: [
            { name: 'Mug <1>', qty: 2.5, due: '2026-11-21', ok: true, tags: ['a', 'b'] },
            { name: '=HYPERLINK("x")' },
          ],
          currency: 'EUR',
          total: 99,
        },
        { variables },
        format,
      ),
    );
  for (const format of ['pdf', 'excel'] as const) {
    const { columns, rows, ...rest } = table(format);
    t.same(rest, {
      type: 'table',
      source: 'items',
      id: 'c',
      field,
      showHeader: true,
      striped: true,
      border: { width: 1, style: 'solid', color: '#000' },
      borderLines: 'all',
      headerBackgroundColor: '#eef',
      fontSize: 9,
      cellPadding: { top: 3, right: 3, bottom: 3, left: 3 },
      padding: noBox,
      emptyText: 'None',
      sheetName: 'Lines EUR',
      freezeHeader: true,
      autoFilter: true,
    });
    t.same(
      columns.map(({ type }) => type),
      ['number', 'string', 'number', 'date', undefined, 'boolean', 'number', undefined, 'number'],
    );
    t.same(
      columns.map(({ align }) => align),
      ['start', 'start', 'end', 'center', 'start', 'start', 'end', 'start', 'end'],
    );
    t.same(columns.map(({ width }) => width).slice(0, 3), [{ percent: 10 }, { points: 72 }, 'auto']);
    t.match(columns[2], { header: 'Qty', footer: '€99.00', footerValue: 99, format: undefined });
    t.match(columns[6], { footerFormula: '=SUM(C{first}:C{last})', headerAlign: 'end' });
    t.equal(columns[4]?.headerAlign, 'center');
    const cells = rows.map((row) =>
      row.map(({ html, value, displayFormat, formula }) => ({ html, value, format: displayFormat?.format, formula })),
    );
    const cell = (html: string, value?: unknown, format?: unknown, formula?: string) => ({
      html,
      value,
      format,
      formula,
    });
    t.same(
      cells[0],
      [
        cell('0', 0),
        cell('Mug &lt;1&gt;', 'Mug <1>'),
        cell('€2.50', 2.5, { style: 'currency', currency: 'EUR' }),
        cell('11/21/26', '2026-11-21', { style: 'date', dateStyle: 'short' }),
        cell('2.5 x'),
        cell('true', true),
        cell('=C{row}*2', undefined, undefined, '=C{row}*2'),
        cell('7', 7),
        cell('a, b'),
      ],
      format,
    );
    t.same(
      cells[1]?.slice(0, 3),
      [cell('1', 1), cell('=HYPERLINK(&quot;x&quot;)', '=HYPERLINK("x")'), cell('')],
      'a value is never a formula',
    );
  }
});

void t.test('table with written rows', async (t) => {
  const { columns, rows, borderLines, border, showHeader, emptyText } = tableOf(
    one(
      {
        type: 'table',
        props: {
          rows: [['<b>A</b>', 12.5, true], ['{{x}}', null], ['={{x}}']],
          columns: [{}, { format: { style: 'number', minimumFractionDigits: 2 } }],
        },
      },
      { x: 5 },
    ),
  );
  t.equal(columns.length, 3);
  t.same(
    { borderLines, border, showHeader, emptyText },
    {
      borderLines: 'rows',
      border: { width: 0.75, style: 'solid', color: '#e5e7eb' },
      showHeader: false,
      emptyText: undefined,
    },
  );
  t.same(rows, [
    [
      { html: '<b>A</b>', value: undefined, displayFormat: undefined },
      {
        html: '12.50',
        value: 12.5,
        displayFormat: { format: { style: 'number', minimumFractionDigits: 2 }, isWhole: true },
      },
      { html: 'true', value: true, displayFormat: { isWhole: true } },
    ],
    [
      { html: '5', value: 5, displayFormat: { isWhole: true } },
      { html: '', value: undefined, displayFormat: undefined },
      { html: '', value: undefined, displayFormat: undefined },
    ],
    [
      { html: '=5', value: undefined, displayFormat: undefined },
      { html: '', value: undefined, displayFormat: undefined },
      { html: '', value: undefined, displayFormat: undefined },
    ],
  ]);
  const format = { style: 'percent' };
  const ownFormats = [[{ content: 0.5, format }, { content: '{{x}}' }, { content: '=A1*2', type: 'currency' }]];
  t.match(
    tableOf(
      one(
        { type: 'table', props: { rows: ownFormats, columns: [{ type: 'string' }, { format }, { format }] } },
        { x: 0.25 },
      ),
    ).rows,
    [
      [
        { html: '50%', value: 0.5 },
        { html: '25%', value: 0.25 },
        { formula: '=A1*2', displayFormat: { type: 'currency' } },
      ],
    ],
  );
  for (const cell of [{}, { content: {} }, { content: 'x', bold: true }, { content: 'x', format: { style: 'loud' } }])
    t.throws(() => one({ type: 'table', props: { rows: [[cell]] } }), { code: 'TEMPLATE_INVALID' });
  t.same(
    tableOf(
      one(
        { type: 'table', props: { dataSource: 'none', columns: [{ content: '{{item}}' }], emptyText: 'No {{what}}' } },
        { what: '<rows>' },
      ),
    ).emptyText,
    'No &lt;rows&gt;',
  );
});

void t.test('container and columns', async (t) => {
  const container = one(
    {
      type: 'container',
      props: {
        backgroundColor: '#fff',
        border: '1pt dotted red',
        borderRadius: 4,
        width: '50%',
        align: 'center',
        color: '{{c}}',
      },
      children: [text('a', 'A')],
    },
    { c: 'blue' },
  );
  t.match(container, {
    type: 'container',
    backgroundColor: '#fff',
    border: { width: 1, style: 'dotted', color: 'red' },
    borderRadius: 4,
    width: { percent: 50 },
    align: 'center',
    color: 'blue',
    padding: { top: 12 },
    children: [{ html: 'A', field: `${field}.children[0]` }],
  });
  t.match(one({ type: 'container', children: [] }), { children: [], padding: noBox });
  const columns = one(
    {
      type: 'columns',
      props: { widths: ['60%', '1in'], gap: '10mm', verticalAlign: 'middle', stackOnMobile: true },
      children: [
        text('a', 'A'),
        { id: 'i', type: 'conditional', props: { condition: 'x', operator: 'exists' }, children: [text('b', 'B')] },
        {
          id: 'l',
          type: 'loop',
          props: { dataSource: 'items', itemVariable: 'one' },
          children: [text('d', '{{one}}')],
        },
      ],
    },
    { items: [1, 2] },
  );
  t.match(
    columns,
    {
      type: 'columns',
      widths: [{ percent: 60 }, { points: 72 }, 'rest'],
      gap: 28.346,
      verticalAlign: 'middle',
      children: [
        { type: 'rich-text', id: 'a' },
        { type: 'container', id: 'i', field: `${field}.children[1]`, children: [] },
        {
          type: 'container',
          id: 'l',
          children: [{ html: '1', field: `${field}.children[2].children[0]`, id: 'd' }, { html: '2' }],
        },
      ],
    },
    'each child keeps its column',
  );
});

void t.test('divider and spacer', async (t) => {
  t.same(one({ type: 'divider' }), {
    type: 'divider',
    id: 'c',
    field,
    color: '#e5e7eb',
    thickness: 0.75,
    style: 'solid',
    width: { percent: 100 },
    margin: { top: 6, right: 0, bottom: 6, left: 0 },
  });
  t.match(
    one({ type: 'divider', props: { color: 'red', thickness: '2px', style: 'dotted', width: '3cm', margin: 0 } }),
    {
      color: 'red',
      thickness: 1.5,
      style: 'dotted',
      width: { points: 85.039 },
      margin: noBox,
    },
  );
  t.same(one({ type: 'spacer' }), { type: 'spacer', id: 'c', field, height: 18 });
  t.match(one({ type: 'spacer', props: { height: '{{h}}' } }, { h: '10mm' }), { height: 28.346 });
});

void t.test('conditional and loop', async (t) => {
  const branches = (operator: string, value: unknown, variables: JsonObject) =>
    htmlOf(
      all(
        [
          {
            id: 'i',
            type: 'conditional',
            props: { condition: '{{plan}}', operator, ...(value === undefined ? {} : { value }) },
            children: [text('a', 'yes'), text('b', '{{plan}}')],
            elseChildren: [text('n', 'no')],
          },
        ],
        variables,
      ),
    );
  t.same(branches('==', 'pro', { plan: 'pro' }), ['yes', 'pro']);
  t.same(branches('==', '{{wanted}}', { plan: 3, wanted: '3' }), ['yes', '3']);
  t.same(branches('==', 'free', { plan: 'pro' }), ['no']);
  t.same(branches('isEmpty', undefined, {}), ['yes', '']);
  const nested = {
    id: 'o',
    type: 'loop',
    props: { dataSource: 'groups', itemVariable: 'group', indexVariable: 'g' },
    children: [
      text('n', '{{g}} {{group.name}}'),
      {
        id: 'p',
        type: 'loop',
        props: {
          dataSource: '{{group.items}}',
          itemVariable: 'item',
          indexVariable: 'i',
          emptyText: 'none in {{group.name}}',
        },
        children: [text('q', '{{g}}.{{i}} {{item}} of {{group.name}} {{outside}}')],
      },
    ],
  };
  t.same(htmlOf(all([nested], { groups: [{ name: '<A>', items: ['x', 'y'] }, { name: 'B' }], outside: 'o' })), [
    '0 &lt;A&gt;',
    '0.0 x of &lt;A&gt; o',
    '0.1 y of &lt;A&gt; o',
    '1 B',
    'none in B',
  ]);
  const shadowed = {
    id: 'o',
    type: 'loop',
    props: { dataSource: 'a', itemVariable: 'v' },
    children: [
      text('x', '{{v}}'),
      { id: 'p', type: 'loop', props: { dataSource: 'b', itemVariable: 'v' }, children: [text('y', '{{v}}')] },
      text('z', '{{v}}'),
    ],
  };
  t.same(
    htmlOf(all([shadowed], { a: [1, 2], b: ['i'], v: 'global' })),
    ['1', 'i', '1', '2', 'i', '2'],
    'the inner name hides the outer one, and gives it back',
  );
  t.throws(() => all([nested], { groups: 'text' }), {
    code: 'VALIDATION_ERROR',
    details: { errors: [{ field: 'variables.groups' }] },
  });
});

void t.test('list, qr-code, timeline', async (t) => {
  t.match(one({ type: 'list', content: '<ul><li>{{x}}</li></ul>' }, { x: '<' }), {
    html: '<ul><li>&lt;</li></ul>',
    items: undefined,
    ordered: false,
  });
  t.match(
    one(
      { type: 'list', content: '<b>{{item}}</b>', props: { dataSource: 'xs', ordered: true, fontSize: 9 } },
      { xs: ['a', '&'] },
    ),
    {
      html: undefined,
      items: ['<b>a</b>', '<b>&amp;</b>'],
      ordered: true,
      style: { fontSize: 9 },
    },
  );
  t.equal(one({ type: 'list', content: '{{item}}', props: { dataSource: 'xs' } }), undefined, 'nothing to list');
  t.same(one({ type: 'qr-code', props: { value: 'https://example.com/?a={{a}}&<' } }, { a: '1' }), {
    type: 'qr-code',
    id: 'c',
    field,
    value: 'https://example.com/?a=1&<',
    size: 96,
    errorCorrection: 'M',
    color: '#000000',
    backgroundColor: '#ffffff',
    align: undefined,
  });
  t.match(
    one(
      { type: 'qr-code', props: { value: 'x', size: '3cm', errorCorrection: '{{e}}', color: 'navy', align: 'center' } },
      { e: 'h' },
    ),
    { size: 85.039, errorCorrection: 'H', color: 'navy', align: 'center' },
  );
  t.equal(one({ type: 'qr-code', props: { value: '{{none}}' } }), undefined, 'nothing to say');
  t.throws(() => one({ type: 'qr-code', props: { value: '{{v}}' } }, { v: 'é'.repeat(1_200) }), {
    code: 'VALIDATION_ERROR',
    message: /2400 bytes, a QR code of error correction M holds 2330/,
  });
  t.doesNotThrow(() => one({ type: 'qr-code', props: { value: '1'.repeat(5_596) } }));
  t.same(
    one(
      { type: 'timeline', props: { items: [{ title: '{{x}}', date: '2026-11-21' }], color: 'green' } },
      { x: 'A & B' },
    ),
    {
      type: 'timeline',
      id: 'c',
      field,
      color: 'green',
      items: [{ title: 'A & B', description: '', date: '2026-11-21', status: '' }],
    },
  );
  t.match(
    one(
      {
        type: 'timeline',
        props: { dataSource: 'steps', itemVariable: 's', title: '{{s.t}}', status: '{{s.done}}', date: '{{s.at}}' },
      },
      {
        steps: [
          { t: 'One', done: true },
          { t: 'Two', at: 'soon' },
        ],
      },
    ),
    {
      color: '#2563eb',
      items: [
        { title: 'One', status: 'true', date: '' },
        { title: 'Two', status: '', date: 'soon' },
      ],
    },
  );
  t.equal(one({ type: 'timeline', props: { dataSource: 'none', title: 'x' } }), undefined);
});

void t.test('chart', async (t) => {
  const props = {
    chartType: 'stacked-column',
    dataSource: '{{months}}',
    categoryField: 'period.name',
    series: [{ name: '{{n}}', valueField: 'sales', color: '{{c}}' }, { valueField: 'costs.total' }],
    title: 'T {{n}}',
    width: '10cm',
    height: 200,
    yTitle: '<EUR>',
  };
  const months = [
    { period: { name: '2026-01-01' }, sales: 10.5, costs: { total: '3' } },
    { period: { name: 'Feb' }, sales: 'many', costs: null },
    5,
  ];
  for (const format of ['pdf', 'excel'] as const) {
    t.same(one({ type: 'chart', props }, { months, n: 'S&P', c: 'red' }, {}, format), {
      type: 'chart',
      source: { name: 'months', category: 'period.name', values: ['sales', 'costs.total'] },
      id: 'c',
      field,
      chartType: 'stacked-column',
      title: 'T S&P',
      xTitle: '',
      yTitle: '<EUR>',
      showLegend: true,
      width: 283.465,
      height: 200,
      categories: ['Jan 1, 2026', 'Feb', ''],
      series: [
        { name: 'S&P', color: 'red', values: [10.5, null, null] },
        { name: 'costs.total', color: '#f59e0b', values: [3, null, null] },
      ],
    });
  }
  t.match(one({ type: 'chart', props: { ...props, chartType: 'line', series: [{ valueField: 'sales' }] } }), {
    showLegend: false,
    categories: [],
    series: [{ name: 'sales', values: [] }],
  });
  t.match(one({ type: 'chart', props: { ...props, chartType: 'pie', series: [{ valueField: 'sales' }] } }), {
    showLegend: true,
  });
  const dated = {
    variables: [
      {
        name: 'months',
        type: 'array',
        itemType: 'object',
        schema: {
          type: 'array',
          itemSchema: {
            properties: {
              period: {
                type: 'object',
                properties: { name: { type: 'date', format: { style: 'date', pattern: 'MMM yyyy' } } },
              },
            },
          },
        },
      },
    ],
  };
  t.match(one({ type: 'chart', props }, { months: [{ period: { name: '2026-01-01' } }] }, dated), {
    categories: ['Jan 2026'],
  });
});

void t.test('what a chart leaves out of its data is told', async (t) => {
  const months = [{ sales: 10, costs: 3 }, { sales: 'many', costs: 4 }, { sales: 0, costs: 5 }, { sales: 7 }];
  const says = (chartType: string, fields: readonly string[], format: 'pdf' | 'excel' = 'pdf') => {
    const props = {
      chartType,
      dataSource: '{{months}}',
      categoryField: 'month',
      series: fields.map((valueField) => ({ valueField })),
    };
    const inside = { id: 'box', type: 'container', children: [{ id: 'c', type: 'chart', props }] };
    return leftOutOfCharts(expandTemplate(attachmentOf([inside]), { months }), format);
  };
  t.same(says('line', ['sales', 'costs']), [
    { field: `${field}.children[0]`, message: 'leaves out 1 of 4 values of "sales": they are no numbers' },
    { field: `${field}.children[0]`, message: 'leaves out 1 of 4 values of "costs": they are no numbers' },
  ]);
  t.same(
    says('pie', ['sales', 'costs']).map(({ message }) => message),
    [
      'leaves out 1 of 4 values of "sales": they are no numbers',
      'leaves out 1 of 4 values of "sales": zero and less have no share of a circle',
      'shows "sales" alone: a circle has one series, and 1 more are left out',
    ],
  );
  t.same(
    says('doughnut', ['sales', 'costs'], 'excel').map(({ message }) => message),
    [
      'leaves out 1 of 4 values of "sales": they are no numbers',
      'leaves out 1 of 4 values of "costs": they are no numbers',
    ],
    'a workbook draws a ring for each',
  );
  t.same(says('bar', ['month']), [
    { field: `${field}.children[0]`, message: 'leaves out 4 of 4 values of "month": they are no numbers' },
  ]);
});

void t.test('pages, margins, sections', async (t) => {
  const page = (more: object) => ({
    pageId: 'p',
    pageName: 'Invoice {{no}}',
    sections: [
      {
        id: 's',
        type: 'main',
        props: { padding: 4, color: '#333', fontSize: 10, linkColor: 'blue', backgroundColor: 'white' },
        components: [],
      },
    ],
    ...more,
  });
  const [made] = expandTemplate(
    attachmentOf([], {
      schema: {
        pages: [
          page({
            pageSettings: {
              format: 'A5',
              orientation: 'landscape',
              margin: { top: '10mm', left: '1in' },
              backgroundColor: '{{paper}}',
              header: { content: '{{name}} {{pageNumber}}', height: '2cm' },
              footer: { content: '<p title="{{name}}">Page {{ pageNumber }} of {{totalPages}}</p>', align: 'right' },
            },
          }),
        ],
      },
    }),
    { no: 7, paper: 'ivory', name: '{{totalPages}} <x> {', pageNumber: 'mine' },
  ).pages;
  t.same(made, {
    name: 'Invoice 7',
    direction: 'ltr',
    format: 'A5',
    orientation: 'landscape',
    backgroundColor: 'ivory',
    margin: { top: 56.693, right: 42.52, bottom: 42.52, left: 72 },
    header: { html: '&#123;&#123;totalPages}} &lt;x&gt; &#123; {{pageNumber}}', height: 56.693, align: 'center' },
    footer: {
      html: '<p title="&#123;&#123;totalPages}}&#32;&lt;x&gt;&#32;&#123;">Page {{pageNumber}} of {{totalPages}}</p>',
      height: 30,
      align: 'right',
    },
    sections: [
      {
        style: { color: '#333', fontSize: 10, backgroundColor: 'white' },
        linkColor: 'blue',
        padding: { top: 4, right: 4, bottom: 4, left: 4 },
        components: [],
      },
    ],
  });
  t.match(expandTemplate(attachmentOf([], { schema: { pages: [page({})] }, timeZone: 'Europe/Berlin' })), {
    language: { locale: 'en-US', timeZone: 'Europe/Berlin' },
    pages: [
      {
        name: 'Invoice ',
        format: 'A4',
        orientation: 'portrait',
        backgroundColor: '#ffffff',
        header: undefined,
        footer: undefined,
      },
    ],
  });
  t.throws(() => expandTemplate(attachmentOf([]), {}, { format: 'excel' }), {
    code: 'VALIDATION_ERROR',
    message: /"excel" is not among the outputFormats of the attachment template: pdf/,
  });
});

void t.test('sources of pictures', async (t) => {
  const image = (id: string, src: string) => ({ id, type: 'image', props: { src } });
  const document = expandTemplate(
    attachmentOf([
      image('a', 'https://example.com/b.png'),
      image('b', 'data:image/png;base64,AAAA'),
      image('c', ASSET),
      {
        id: 'd',
        type: 'container',
        children: [
          {
            id: 'e',
            type: 'columns',
            children: [image('f', 'https://example.com/a.png'), image('g', 'https://example.com/b.png')],
          },
        ],
      },
      {
        id: 'h',
        type: 'loop',
        props: { dataSource: 'xs', itemVariable: 'x' },
        children: [image('i', 'http://example.com/{{x}}.png')],
      },
    ]),
    { xs: [1, 2, 1] },
  );
  t.same(
    imageSourcesOf(document),
    [
      'https://example.com/b.png',
      ASSET,
      'https://example.com/a.png',
      'http://example.com/1.png',
      'http://example.com/2.png',
    ],
    'in order and each once',
  );

  const page = {
    pageId: 'p',
    pageName: 'P',
    pageSettings: {
      header: { content: `<img alt="a>b" width=30 src='${ASSET}'> {{pageNumber}}` },
      footer: { content: '<IMG SRC=https://example.com/foot.png>' },
    },
    sections: [
      {
        id: 's',
        type: 'main',
        components: [
          text(
            'a',
            '<p>x <img src="https://example.com/?a={{q}}&amp;b=1"/> <img src="{{bad}}"> <img data-src="https://example.com/no.png"> <img src="data:image/png;base64,AAAA"></p>',
          ),
          { id: 'b', type: 'list', content: '<img src="https://example.com/{{item}}">', props: { dataSource: 'xs' } },
          {
            id: 'c',
            type: 'table',
            props: {
              dataSource: 'xs',
              columns: [
                {
                  header: '<img src="https://example.com/head.png">',
                  content: '<img src="{{item}}">',
                  footer: '{{q}}',
                },
              ],
            },
          },
        ],
      },
    ],
  };
  const inTexts = expandTemplate(attachmentOf([], { schema: { pages: [page] } }), {
    q: '<img src="https://evil.example/">',
    bad: 'javascript:x',
    xs: ['https://example.com/1.png', 'y z'],
  });
  t.same(
    imageSourcesOf(inTexts, 'pdf'),
    [
      ASSET,
      'https://example.com/?a=%3Cimg%20src%3D%22https%3A%2F%2Fevil.example%2F%22%3E&b=1',
      'https://example.com/https://example.com/1.png',
      'https://example.com/y%20z',
      'https://example.com/head.png',
      'https://example.com/1.png',
      'https://example.com/foot.png',
    ],
    'pictures in the texts of a PDF',
  );
  t.same(imageSourcesOf(inTexts, 'excel'), [], 'a workbook does not show them');
});

void t.test('the same input gives the same document', async (t) => {
  const template = attachmentOf([
    {
      id: 'l',
      type: 'loop',
      props: { dataSource: 'xs', itemVariable: 'x' },
      children: [text('a', '{{x.n}} {{__CURRENT_DATE__}}')],
    },
  ]);
  t.same(
    expandTemplate(template, { xs: [{ n: 1 }, { n: 2 }] }),
    expandTemplate(template, { xs: [{ n: 1 }, { n: 2 }] }),
  );
});

void t.test('page breaks and what is kept together', async (t) => {
  const flowOf = (type: string, props: JsonObject, more: Readonly<Record<string, unknown>> = {}): unknown =>
    one({ type, props, ...more }, { how: 'before', never: 7 })?.flow;
  t.same(flowOf('spacer', { pageBreak: 'after' }), { pageBreak: 'after' });
  t.same(flowOf('spacer', { pageBreak: '{{how}}' }), { pageBreak: 'before' });
  t.same(flowOf('spacer', { pageBreak: '{{never}}' }), {}, 'a value that is no word breaks nothing');
  t.same(flowOf('container', { keepTogether: true, keepWithNext: true }, { children: [] }), {
    keepTogether: true,
    keepWithNext: true,
  });
  t.same(flowOf('container', { keepTogether: false }, { children: [] }), {});
  t.equal(flowOf('container', {}, { children: [] }), undefined);
  const looped = {
    id: 'l',
    type: 'loop',
    props: { dataSource: '{{rows}}', itemVariable: 'row' },
    children: [{ id: 'c', type: 'spacer', props: { pageBreak: 'before' } }],
  };
  t.same(
    all([looped], { rows: [1, 2] }).map(({ flow }) => flow),
    [{ pageBreak: 'before' }, { pageBreak: 'before' }],
  );
});

void t.test('what stands in the margins of the first sheet and behind the text', async (t) => {
  const pageOf = (pageSettings: JsonObject, variables: JsonObject = {}): ExpandedPage | undefined =>
    expandTemplate(
      attachmentOf([], {
        schema: {
          pages: [{ pageId: 'p', pageName: 'P', pageSettings, sections: [{ id: 's', type: 'main', components: [] }] }],
        },
      }),
      variables,
    ).pages[0];
  const set = pageOf(
    {
      firstPageHeader: { content: '{{pageNumber}}' },
      backgroundImage: { src: '{{paper}}' },
      watermark: { text: '{{state}}' },
    },
    { paper: ASSET, state: ' paid ' },
  );
  t.match(set, { firstHeader: { html: '{{pageNumber}}', height: 30, align: 'center' } });
  t.same(set?.firstFooter, undefined);
  const at = 'schema.pages[0].pageSettings';
  t.same(set?.backgroundImage, { src: ASSET, fit: 'cover', sheets: 'all', field: `${at}.backgroundImage.src` });
  t.same(set?.watermark, { text: 'paid', color: '#e5e7eb', field: `${at}.watermark.text` });
  t.same(pageOf({ contents: { title: 'In {{state}}', levels: 1 } }, { state: 'it' })?.contents, {
    title: 'In it',
    levels: 1,
    field: `${at}.contents.title`,
  });
  t.match(pageOf({ contents: {} })?.contents, { title: '', levels: 3 });
  const bare = pageOf({ backgroundImage: { src: '{{paper}}' }, watermark: { text: '{{state}}' } });
  t.same([bare?.backgroundImage, bare?.watermark], [undefined, undefined], 'what has no value is not there');
  t.throws(() => pageOf({ backgroundImage: { src: '{{paper}}' } }, { paper: 'file:///etc/passwd' }), {
    code: 'VALIDATION_ERROR',
  });
  for (const wrong of [
    { backgroundImage: 'x' },
    { backgroundImage: { src: ASSET, fit: 'tile' } },
    { watermark: {} },
    { firstPageFooter: {} },
    { watermark: { text: 'x', size: 3 } },
    { contents: 'x' },
    { contents: { levels: 7 } },
    { contents: { depth: 1 } },
  ])
    t.throws(() => pageOf(wrong), { code: 'TEMPLATE_INVALID' });
});
