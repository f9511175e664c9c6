/**
 * One template in its three outputs: the texts of a mail, of a PDF and of a workbook are the same, and so are the
 * branches of their conditions.
 */
import t from 'tap';
import fc from 'fast-check';
import { openRenderer } from '../../../src/adapters/render/email/renderer.js';
import type { Json, JsonObject } from '../../../src/domain/core/json.js';
import { defaultLimits } from '../../../src/domain/core/limits.js';
import { operators } from '../../../src/domain/rendering/scope/conditions.js';
import { columnTypes } from '../../../src/domain/rendering/scope/display-format.js';
import { compileDocument } from '../../../src/domain/rendering/expand/expand.js';
import type { VariableDefinition } from '../../../src/domain/rendering/scope/definitions.js';
import { attachmentOf, componentsOf, expandTemplate } from '../../support/documents.js';
import { csvOf, lacksLibreOffice } from '../../support/libreoffice.js';
import { environment, renderTemplate, templateOf } from '../../support/rendering.js';
import { parseRichTree, treeText } from '../../../src/adapters/render/rich-tree.js';
import { shownText } from './excel/shown-text.js';
import { bytesOf, readWorkbook, type ReadSheet } from './excel/xlsx.js';

type Case = Readonly<{
  columns: readonly JsonObject[];
  definitions: readonly VariableDefinition[];
  locale: string;
  timeZone: string;
}>;

const tableOf = (columns: readonly JsonObject[]) => ({
  id: 't',
  type: 'table' as const,
  props: { dataSource: '{{rows}}', columns },
});
const sectionOf = (components: readonly unknown[]) => ({ id: 's', type: 'main', components }) as never;
const sheetText = (sheet: ReadSheet, address: string, locale: string): string => {
  const cell = sheet.cells.get(address);
  return cell === undefined ? '' : shownText(cell, locale);
};

/**
 * The digits and marks of Arabic and Persian as Western ones, which a sheet has: whoever opens it sees those of the own
 * system.
 */
const western = (text: string): string =>
  text
    .replace(/[\u0660-\u0669\u06f0-\u06f9]/g, (digit) => String(digit.charCodeAt(0) & 15))
    .replace(/[\u200e\u200f\u061c]/g, '')
    .replaceAll('٫', '.')
    .replaceAll('٬', ',')
    .replaceAll('٪', '%')
    .replaceAll('\u2212', '-');

/** Blanks of every width are one, entities are what they stand for. */
const plain = (html: string): string =>
  html
    .replace(/<\/?span[^>]*>/g, '')
    .replace(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)))
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')
    .replace(/[\u2066-\u2069]/g, '')
    .replace(/[\u00a0\u202f\u2009]/g, ' ')
    .trim();

/** The texts of the first row, column by column, in each output. */
const textsOf = async ({ columns, definitions, locale, timeZone }: Case, row: JsonObject) => {
  const variables = { rows: [row] };
  const content = {
    subject: 'S',
    variables: definitions,
    locale,
    timeZone,
    schema: { sections: [sectionOf([tableOf(columns)])] },
  };
  const { html } = openRenderer({ limits: defaultLimits }).compileEmail(content)({ variables, environment });
  const mail = [...(/<tr valign="top">([^]*?)<\/tr>/.exec(html)?.[1] ?? '').matchAll(/<td[^>]*>([^]*?)<\/td>/g)].map(
    ([, text = '']) => plain(text),
  );
  const pages = [{ pageId: 'p', pageName: 'P', sections: [sectionOf([tableOf(columns)])] }];
  const document = compileDocument(
    { variables: definitions, locale, timeZone, schema: { outputFormats: ['pdf'], pages } },
    defaultLimits,
  );
  const [table] = componentsOf(document(variables, environment, 'pdf'));
  const pdf = table?.type === 'table' ? (table.rows[0] ?? []).map((cell) => plain(cell.html)) : [];
  const [sheet] = readWorkbook(
    await bytesOf({ components: [tableOf(columns)], variables, definitions, locale, timeZone }),
  ).sheets;
  const excel = columns.map((_, at) =>
    sheet === undefined ? '' : plain(sheetText(sheet, `${'ABCDEFGH'[at]}1`, locale)),
  );
  return { mail, pdf, excel };
};

const number = fc.oneof(
  fc.integer({ min: -1e6, max: 1e6 }),
  fc.integer({ min: -1e6, max: 1e6 }).map((value) => value / 100),
  fc.constantFrom(0.1 + 0.2, 1 / 3, 0, 1e12, 1234567.891, 0.195, -0, -0.004, -0.0004, 0.3 - 0.1 - 0.2),
);
const instant = fc
  .date({ min: new Date('1950-01-01'), max: new Date('2090-01-01'), noInvalidDate: true })
  .map((date) => `${date.toISOString().slice(0, 19)}Z`);
const day = instant.map((text) => text.slice(0, 10));
const value: fc.Arbitrary<Json> = fc.oneof(
  number,
  number.map(String),
  instant,
  day,
  fc.boolean(),
  fc.constantFrom('Mug <large> & "blue"', '007', '12345678901234567890', '', 'true', '1800-01-01', '2026-02-30', null),
);
const fraction = fc.record(
  { minimumFractionDigits: fc.constantFrom(0, 1, 2), maximumFractionDigits: fc.constantFrom(2, 3) },
  { requiredKeys: [] },
);
const format: fc.Arbitrary<JsonObject> = fc.oneof(
  fraction.map((digits) => ({ style: 'number', ...digits })),
  fraction.map((digits) => ({ style: 'percent', ...digits })),
  fc.constantFrom('EUR', 'USD', 'JPY', '{{item.currency}}').map((currency) => ({ style: 'currency', currency })),
  fc.constantFrom('#,##0.00', '0.0', '000').map((pattern) => ({ style: 'number', pattern })),
  fc.constantFrom('full', 'long', 'medium', 'short').map((dateStyle) => ({ style: 'date', dateStyle })),
  fc.constantFrom('medium', 'short').map((timeStyle) => ({ style: 'datetime', timeStyle })),
  fc.constantFrom(
    { style: 'time' },
    { style: 'date', pattern: 'yyyy-MM-dd' },
    { style: 'date', pattern: 'MMMMM y G' },
    { style: 'datetime', pattern: "d. MMMM yyyy 'at' HH:mm" },
  ),
  fc.constant({ style: 'datetime', timeZone: 'Asia/Tokyo' }),
);
const column = fc.record({ type: fc.constantFrom(...columnTypes), format }, { requiredKeys: [] });
const member = fc.record(
  { type: fc.constantFrom('string', 'number', 'boolean', 'date'), format },
  { requiredKeys: ['type'] },
);

const locales =
  'en-US de-DE fr-FR pt-PT en-GB ja-JP ko-KR zh-CN th-TH hi-IN ru-RU tr-TR hu-HU vi-VN he-IL ar-EG ar-SA fa-IR sv-SE fi-FI'.split(
    ' ',
  );

void t.test('the texts of a table are the same in a mail, a PDF and a workbook', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ column, member: fc.option(member, { nil: undefined }), value }), {
        minLength: 4,
        maxLength: 8,
      }),
      fc.constantFrom(...locales),
      fc.constantFrom('UTC', 'Europe/Berlin', 'America/Los_Angeles', 'Asia/Kolkata'),
      async (parts, locale, timeZone) => {
        const fits = ({ member, value }: (typeof parts)[number]): boolean => {
          if (member === undefined || value === null) return true;
          if (member.type === 'date')
            return typeof value === 'string' && /^\d{4}-\d\d-\d\d/.test(value) && value !== '2026-02-30';
          return typeof value === member.type;
        };
        const used = parts.filter(fits);
        const properties = Object.fromEntries(
          used.flatMap(({ member }, at) => (member === undefined ? [] : [[`v${at}`, member]])),
        );
        const definitions: VariableDefinition[] = [
          { name: 'rows', type: 'array', itemType: 'object', schema: { itemSchema: { properties } } as never },
        ];
        const columns = used.map(
          ({ column }, at) => ({ header: '', ...column, content: `{{item.v${at}}}` }) as JsonObject,
        );
        const row = { currency: 'CHF', ...Object.fromEntries(used.map(({ value }, at) => [`v${at}`, value])) };
        if (columns.length === 0) return;
        const { mail, pdf, excel } = await textsOf({ columns, definitions, locale, timeZone }, row);
        for (const [at, column] of columns.entries()) {
          const said = `${JSON.stringify({ column, member: used[at]?.member, value: used[at]?.value })} in ${locale}, ${timeZone}`;
          if (mail[at] !== pdf[at]) throw new Error(`${said}: "${mail[at]}" in the mail, "${pdf[at]}" in the PDF`);
          // A sheet writes truth values in the reader's language and in capitals.
          const sheet = /^(?:TRUE|FALSE)$/.test(excel[at] ?? '') ? excel[at]?.toLowerCase() : western(excel[at] ?? '');
          if (western(mail[at] ?? '') !== sheet)
            throw new Error(`${said}: "${mail[at]}" in the mail, "${excel[at]}" in the workbook`);
        }
      },
    ),
    { numRuns: 150 },
  );
  t.pass();
});

void t.test('what customers read', async (t) => {
  const column = (name: string, more: JsonObject = {}): JsonObject => ({
    header: '',
    content: `{{item.${name}}}`,
    ...more,
  });
  const zoned = { definitions: [], locale: 'en-US', timeZone: 'Europe/Berlin' };
  const same = async (
    columns: readonly JsonObject[],
    row: JsonObject,
    wanted: readonly string[],
    given: Partial<Case> = {},
  ) => t.same(await textsOf({ ...zoned, ...given, columns }, row), { mail: wanted, pdf: wanted, excel: wanted });
  await same([column('at', { format: { style: 'datetime', timeStyle: 'medium' } })], { at: -0.0004 }, [
    'Jan 1, 1970, 1:00:00 AM',
  ]);
  await same(
    [column('at', { type: 'date' }), column('day', { type: 'date' }), column('at'), column('day')],
    { at: '2026-08-31T23:30:00Z', day: '2026-08-31' },
    ['Sep 1, 2026, 1:30 AM', 'Aug 31, 2026', 'Sep 1, 2026, 1:30 AM', 'Aug 31, 2026'],
  );
  await same(
    [
      column('sum'),
      column('sum', { type: 'number' }),
      column('sum', { type: 'currency' }),
      column('sum', { type: 'percent' }),
    ],
    { sum: 0.1 + 0.2 },
    ['0.3', '0.3', '0.30', '30%'],
  );
  await same(
    [column('sum', { type: 'number' }), column('card', { type: 'number' })],
    { sum: 1234.5, card: '12345678901234567890' },
    ['1234,5', '12345678901234567890'],
    { locale: 'de-DE' },
  );
  await same(
    [
      { header: '', content: '12.5', type: 'currency' },
      { header: '', content: 'On request', type: 'currency' },
    ],
    {},
    ['12.50', 'On request'],
  );
});

void t.test('conditions choose the same branch', async (t) => {
  const values: readonly Json[] = [
    null,
    '',
    'a',
    'abc',
    '10',
    10,
    9.5,
    '9',
    0,
    true,
    false,
    'true',
    [],
    ['a', 10],
    {},
    { a: 1 },
    '2026-11-21',
    '2026-11-21T00:00:00Z',
  ];
  const named: JsonObject = Object.fromEntries(values.map((value, at) => [`v${at}`, value]));
  const places = values.map((_, at) => at);
  const conditions = operators.flatMap((operator) =>
    places.map((left) => ({
      id: 'c',
      type: 'conditional' as const,
      props: { condition: `v${left}`, operator, value: '{{item}}' },
      children: [{ id: 'y', type: 'rich-text' as const, content: `[${operator} v${left}]` }],
    })),
  );
  const loop = (some: readonly (typeof conditions)[number][]) => ({
    id: 'l',
    type: 'loop' as const,
    props: { dataSource: 'all', itemVariable: 'item' },
    children: some,
  });
  const limits = { ...defaultLimits, componentsExpandedMax: 100_000, loopIterationsMax: 100_000 };
  const variables = { ...named, all: values };
  const found = (text: string): readonly string[] => text.match(/\[\S+ v\d+\]/g) ?? [];
  const mail = openRenderer({ limits }).compileEmail({
    subject: 'S',
    variables: [],
    schema: { sections: [sectionOf([loop(conditions)])] },
  });
  const inMail = found(plain(mail({ variables, environment }).html));
  const pages = [{ pageId: 'p', pageName: 'P', sections: [sectionOf([loop(conditions)])] }];
  const document = compileDocument({ variables: [], schema: { outputFormats: ['pdf', 'excel'], pages } }, limits);
  for (const format of ['pdf', 'excel'] as const) {
    const shown = componentsOf(document(variables, environment, format)).flatMap((one) =>
      one.type === 'rich-text' ? found(plain(one.html)) : [],
    );
    t.same(shown, inMail, format);
  }
  t.ok(inMail.length > 100 && inMail.length < conditions.length * values.length);
});

void t.test('LibreOffice shows what the mail says', { skip: lacksLibreOffice }, async (t) => {
  const columns: readonly JsonObject[] = [
    { content: '{{item.at}}', type: 'date' },
    { content: '{{item.day}}' },
    { content: '{{item.at}}', format: { style: 'datetime', pattern: 'yyyy-MM-dd HH:mm', timeZone: 'Asia/Tokyo' } },
    { content: '{{item.sum}}' },
    { content: '{{item.sum}}', type: 'currency' },
    { content: '{{item.sum}}', type: 'percent' },
    { content: '{{item.big}}', format: { style: 'currency', currency: 'EUR' } },
    { content: '{{item.card}}', type: 'number' },
  ];
  const row = {
    at: '2026-08-31T23:30:00Z',
    day: '2026-08-31',
    sum: 0.1 + 0.2,
    big: 1234567.5,
    card: '12345678901234567890',
  };
  const given = { columns, definitions: [], locale: 'en-US', timeZone: 'Europe/Berlin' };
  const { mail } = await textsOf(given, row);
  const bytes = await bytesOf({
    components: [tableOf(columns)],
    variables: { rows: [row] },
    timeZone: 'Europe/Berlin',
  });
  const csv = await csvOf(t, bytes, '9,34,76,1,,0,false,true');
  const shown = csv.split('\n')[0]?.split('\t').map(plain);
  t.same(shown, mail);
  t.equal(shown?.length, columns.length);
});

void t.test(
  'LibreOffice shows the day of the mail in languages of other calendars and other words',
  { skip: lacksLibreOffice },
  async (t) => {
    const columns: readonly JsonObject[] = [
      { content: '{{item.day}}' },
      { content: '{{item.day}}', format: { style: 'date', dateStyle: 'long' } },
      { content: '{{item.day}}', format: { style: 'date', pattern: 'yyyy-MM-dd' } },
    ];
    const wanted: Readonly<Record<string, readonly string[]>> = {
      'th-TH': ['31 ส.ค. 2569', '31 สิงหาคม 2569', '2569-08-31'],
      'ko-KR': ['2026. 8. 31.', '2026년 8월 31일', '2026-08-31'],
      'fa-IR': ['۹ شهریور ۱۴۰۵', '۹ شهریور ۱۴۰۵', '۱۴۰۵-۰۶-۰۹'],
    };
    const row = { day: '2026-08-31' };
    for (const [locale, texts] of Object.entries(wanted)) {
      t.same(
        (await textsOf({ columns, definitions: [], locale, timeZone: 'UTC' }, row)).mail,
        texts,
        `${locale}, the mail`,
      );
      const bytes = await bytesOf({ components: [tableOf(columns)], variables: { rows: [row] }, locale });
      const csv = await csvOf(t, bytes, '9,34,76,1,,0,false,true');
      t.same(csv.split('\n')[0]?.split('\t').map(plain), texts, `${locale}, the workbook`);
    }
  },
);

void t.test('line breaks in a value are blanks, and lines where the component keeps them', async (t) => {
  const broken = { a: '\r\nRua <1>\r\n1200\u2028Lisboa\rPT\n\n', rows: [{ name: 'One\nTwo' }, { name: 'c' }] };
  const [asBlanks, asLines] = ['Rua <1> 1200 Lisboa PT', 'Rua <1>|1200|Lisboa|PT'];
  const rows: VariableDefinition = { name: 'rows', type: 'array' };
  const list: VariableDefinition = {
    name: 'names',
    type: 'string',
    isCalculated: true,
    expression: "rows.map(r => r.name).join('\\n')",
  };
  const components = (keepLines: boolean) => [
    { id: 'a', type: 'rich-text', content: '<p>{{a}}</p>', props: { keepLines } },
    { id: 'b', type: 'list', content: '<li>{{a}}</li>', props: { keepLines } },
    { id: 'c', type: 'timeline', props: { keepLines, items: [{ title: 'T', description: '{{a}}' }] } },
    { id: 'd', type: 'table', props: { keepLines, rows: [['{{names}}', 'x {{names}}']] } },
  ];
  const shown = (html: string): string =>
    html
      .replace(/<br>/g, '|')
      .replace(/\s+/g, ' ')
      .replace(/<[^>]*>/g, '\n')
      .replace(/&lt;/g, '<')
      .replace(/&gt;/g, '>');
  for (const [keepLines, lines, names] of [
    [false, asBlanks, 'One Two c'],
    [true, asLines, 'One|Two|c'],
  ] as const) {
    const { html, text } = renderTemplate(templateOf(components(keepLines), { variables: [rows, list] }), broken);
    t.equal(shown(html).split(lines).length - 1, 3, html);
    t.equal(shown(html).split(names).length - 1, 2);
    t.equal(text.replace(/\n */g, '|').split(lines).length - 1, 3, text);
    t.match(text, keepLines ? /One {2}x One\nTwo {2}Two\nc {4}c/ : /One Two c {2}x One Two c/);

    const [a, b, c, d] = componentsOf(
      expandTemplate(attachmentOf(components(keepLines), { variables: [rows, list] }), broken),
    );
    t.equal(a?.type === 'rich-text' && shown(a.html).trim(), lines, 'rich text of a PDF');
    t.equal(b?.type === 'list' && shown(b.html ?? '').trim(), lines, 'list of a PDF');
    t.equal(c?.type === 'timeline' && c.items[0]?.description.replaceAll('\n', '|').trim(), lines, 'timeline of a PDF');
    t.same(d?.type === 'table' && d.rows[0]?.map((cell) => shown(cell.html)), [names, `x ${names}`], 'table of a PDF');
    const { sheets } = readWorkbook(
      await bytesOf({
        components: [{ id: 't', type: 'table', props: { keepLines, rows: [['{{a}}', 'x {{a}}']] } }],
        variables: { a: 'One\nTwo' },
      }),
    );
    const cell = (address: string): string => (sheets[0] === undefined ? '' : sheetText(sheets[0], address, 'en-US'));
    t.same([cell('A1'), cell('B1')], ['One\nTwo', 'x One\nTwo'], 'a cell of a workbook has the lines of its values');
  }
  const html = (content: string, keepLines = false): string =>
    renderTemplate(templateOf([{ id: 'a', type: 'rich-text', content, props: { keepLines } }]), {
      a: '<i>\na',
      long: `${'x'.repeat(40)}\ny`,
    }).html;
  t.match(html('<p>x{{a}}y</p>', true), '>x&lt;i&gt;<br>ay</p>');
  t.match(html('<p>{{long}}</p>', true), /x<\/span><br>y<\/p>/);
  t.match(html('<p title="{{a}}">{{a}}</p>', true), /title="&lt;i&gt;\na"/);
  for (const content of ['<pre>{{a}}</pre>', '<p style="white-space:pre-line">{{a}}</p>'])
    t.equal(
      renderTemplate(templateOf([{ id: 'a', type: 'rich-text', content }]), { a: 'One\nTwo' }).text,
      'One\nTwo\n',
      content,
    );
});

void t.test('what is hidden stands in no document', async (t) => {
  const html =
    '<p>One <span hidden>no</span><b style="display:none">no</b>two</p><div style="max-height:0;overflow:hidden">no</div><p aria-hidden="true">three</p>';
  t.equal(treeText(parseRichTree(html, 'block')), 'One twothree');
  const { sheets } = readWorkbook(await bytesOf({ components: [{ id: 'a', type: 'rich-text', content: html }] }));
  t.same(
    [...(sheets[0]?.cells.keys() ?? [])]
      .map((address) => sheets[0] && sheetText(sheets[0], address, 'en-US'))
      .filter((text) => text !== ''),
    ['One two', 'three'],
  );
});

void t.test('an empty value leaves no blank at the side of a column', (t) => {
  const columns = [{ align: 'right' }, {}];
  const rows = [
    ['{{a}} {{none}}', 'x'],
    ['long', 'y'],
  ];
  t.equal(
    renderTemplate(templateOf([{ id: 'a', type: 'table', props: { rows, columns } }]), { a: 'A' }).text,
    '   A  x\nlong  y\n',
  );
  t.end();
});

void t.test('the lines of a cell stand in its column of the text part', (t) => {
  const rows = [
    ['Mug<br>blue', '日本語', '{{v}}'],
    ['A', 'b', ''],
  ];
  const columns = [{ header: 'Item<br>kind' }, { header: 'Name' }, { header: 'Address' }];
  const shown = (v: string): string =>
    renderTemplate(templateOf([{ id: 'a', type: 'table', props: { rows, columns, keepLines: true } }]), { v }).text;
  t.equal(
    shown('Rua 1\n\nLisboa\n'),
    [
      'Item  Name    Address',
      'kind',
      '-'.repeat(21),
      'Mug   日本語  Rua 1',
      'blue          Lisboa',
      'A     b',
      '',
    ].join('\n'),
  );
  t.equal(
    shown(`${'x'.repeat(70)}\nLisboa`).split('\n\n')[0],
    `Item, kind: Mug\n  blue\nName: 日本語\nAddress:\n  ${'x'.repeat(70)}\n  Lisboa`,
  );
  t.end();
});
