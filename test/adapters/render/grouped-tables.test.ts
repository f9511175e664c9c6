/**
 * Tables whose items stand group by group: the order of the groups, what stands above and below them, and what sums
 * they show, in each output.
 */
import fc from 'fast-check';
import t from 'tap';
import { makePdf } from '../../../src/adapters/render/pdf/make-pdf.js';
import { DomainError } from '../../../src/domain/core/errors.js';
import type { Json, JsonObject } from '../../../src/domain/core/json.js';
import { defaultLimits } from '../../../src/domain/core/limits.js';
import { checkAttachmentTemplate } from '../../../src/domain/rendering/check/document.js';
import { checkEmailTemplate } from '../../../src/domain/rendering/check/email.js';
import type { ExpandedTable } from '../../../src/domain/rendering/expand/expanded.js';
import { compilePreparation } from '../../../src/domain/rendering/fill/compile.js';
import { openBudget } from '../../../src/domain/rendering/budget.js';
import { compileLosses, pathsOfLosses } from '../../../src/domain/rendering/paths/losses.js';
import { partsOfEmail } from '../../../src/domain/rendering/paths/walk.js';
import { groupItems, type Grouping } from '../../../src/domain/rendering/scope/scope.js';
import { attachmentOf, componentsOf, expandTemplate } from '../../support/documents.js';
import { csvOf, lacksLibreOffice } from '../../support/libreoffice.js';
import { placedWords } from '../../support/pdf-words.js';
import { environment, renderTemplate, templateOf } from '../../support/rendering.js';
import { bytesOf, readWorkbook } from './excel/xlsx.js';

const euro = { style: 'currency', currency: 'EUR' };
const variables = [
  {
    name: 'lines',
    type: 'array',
    itemType: 'object',
    schema: {
      itemSchema: {
        properties: {
          name: { type: 'string' },
          region: { type: 'string' },
          quantity: { type: 'number' },
          price: { type: 'number', format: euro },
          total: { type: 'number', isCalculated: true, expression: 'item.quantity * item.price', format: euro },
        },
      },
    },
  },
  {
    name: 'total',
    type: 'number',
    isCalculated: true,
    expression: 'lines.reduce((sum, line) => sum + line.total, 0)',
    format: euro,
  },
];
const lines: readonly JsonObject[] = [
  { name: 'Mug', region: 'Östersund', quantity: 2, price: 14 },
  { name: 'Kettle', region: 'Arvika', quantity: 1, price: 64.5 },
  { name: 'Apron', region: 'Östersund', quantity: 3, price: 0.1 },
  { name: 'Spoon', region: 'Zorn', quantity: 1, price: 2 },
  { name: 'Bowl', region: 'Arvika', quantity: 1, price: 0.2 },
];
const columns = [
  {
    header: 'Item',
    content: '{{index}} {{item.name}}',
    groupHeader: '{{group.key}}',
    groupFooter: '{{group.count}} of {{group.key}}',
    footer: 'All',
  },
  { header: 'Pieces', content: '{{item.quantity}}', groupFooter: '{{group.sum.quantity}}' },
  { header: 'Sum', content: '{{item.total}}', groupFooter: '{{group.sum.total}}', footer: '{{total}}' },
];
const tableOf = (props: JsonObject = {}): JsonObject => ({
  id: 'lines',
  type: 'table',
  props: { dataSource: '{{lines}}', indexVariable: 'index', columns, groupBy: 'region', ...props },
});

/** The cells of an expanded table, row by row. */
const rowsIn = (
  table: JsonObject,
  values: JsonObject = { lines },
  format: 'pdf' | 'excel' = 'pdf',
  more: JsonObject = {},
): ExpandedTable => {
  const [made] = componentsOf(
    expandTemplate(attachmentOf([table], { variables, schema: { outputFormats: [format] }, ...more }), values, {
      format,
    }),
  );
  if (made?.type !== 'table') throw new Error('it is no table');
  return made;
};
const written = ({ rows }: ExpandedTable): readonly string[] =>
  rows.map((row) => row.map(({ html }) => html).join(' | '));

void t.test('a mail shows the lines of a group, then its sums, then the next group', async (t) => {
  const { html, text } = renderTemplate(templateOf([tableOf()], { variables }), { lines });
  const words = text.split('\n').map((line) => line.trim().replace(/ {2,}/g, ' | '));
  t.strictSame(
    words.slice(2, -1).filter((line) => !line.startsWith('-')),
    [
      'Östersund',
      '0 Mug | 2 | €28.00',
      '1 Apron | 3 | €0.30',
      '2 of Östersund | 5 | €28.30',
      'Arvika',
      '2 Kettle | 1 | €64.50',
      '3 Bowl | 1 | €0.20',
      '2 of Arvika | 2 | €64.70',
      'Zorn',
      '4 Spoon | 1 | €2.00',
      '1 of Zorn | 1 | €2.00',
      'All |  | €95.00',
    ].map((line) => line.replace(' |  | ', ' | ')),
  );
  t.equal(
    html.match(/<tr/g)?.length,
    renderTemplate(
      templateOf([tableOf({ columns: columns.map(({ groupHeader: _, groupFooter: __, ...column }) => column) })], {
        variables,
      }),
      { lines },
    ).html.match(/<tr/g)!.length + 6,
  );
  t.match(html, /font-weight:600">2 of &#214;stersund<\/td>/);
  t.match(html, /align="right"[^>]*font-weight:600">&#8364;28\.30<\/td>/);
});

void t.test('the groups stand as given, by name in the language, or as a list says', async (t) => {
  const keysIn = (
    groupOrder: Json | undefined,
    locale = 'en',
    given: readonly JsonObject[] = lines,
  ): readonly string[] =>
    written(rowsIn(tableOf(groupOrder === undefined ? {} : { groupOrder }), { lines: given }, 'pdf', { locale }))
      .filter((row) => row.endsWith(' |  | '))
      .map((row) => row.slice(0, -6));
  t.strictSame(keysIn(undefined), ['Östersund', 'Arvika', 'Zorn']);
  t.strictSame(keysIn('given'), ['Östersund', 'Arvika', 'Zorn']);
  t.strictSame(keysIn('name'), ['Arvika', 'Östersund', 'Zorn']);
  t.strictSame(keysIn('name', 'sv'), ['Arvika', 'Zorn', 'Östersund']);
  t.strictSame(keysIn(['Zorn', 'Östersund']), ['Zorn', 'Östersund', 'Arvika']);
  t.strictSame(keysIn('name', 'en', [{ name: 'x', quantity: 1, price: 1 }, ...lines]), [
    'Arvika',
    'Östersund',
    'Zorn',
    '',
  ]);
  const grouping: Grouping = { by: ['year'], order: 'name', sums: [] };
  const keys = (order: Grouping['order'], ...years: readonly Json[]): readonly (Json | undefined)[] =>
    groupItems(
      years.map((year) => ({ year })),
      { ...grouping, order },
      'en',
    ).map(({ value }) => value['key']);
  t.strictSame(keys('name', 10, 9, -1, 10), [-1, 9, 10]);
  t.strictSame(keys('name', 'Week 10', 'Week 9'), ['Week 9', 'Week 10']);
  t.strictSame(keys([2027, '2026'], '2026', 2027, true, null), [2027, '2026', true, null]);
  t.strictSame(keys('given', '1', 1, null, ['1']), ['1', 1, null, ['1']]);
});

void t.test('the subtotals of all groups are the total, and each item stands in one group', (t) => {
  const item = fc.record({
    region: fc.oneof(fc.constantFrom('a', 'b', '', '__proto__'), fc.integer({ min: 0, max: 3 }), fc.constant(null)),
    total: fc.integer({ min: -99_999, max: 99_999 }).map((cents) => cents / 100),
  });
  const order = fc.constantFrom<Grouping['order']>('given', 'name', ['b', 2, 'a']);
  fc.assert(
    fc.property(fc.array(item, { minLength: 1, maxLength: 30 }), order, (items, chosen) => {
      const groups = groupItems(items, { by: ['region'], order: chosen, sums: [['total']] }, 'de');
      const sumOf = ({ value }: (typeof groups)[number]): number => Number((value['sum'] as JsonObject)['total']);
      const sum = groups.reduce((all, group) => all + sumOf(group), 0);
      const expected = items.reduce((all, { total }) => all + total, 0);
      const isEach = items.every((one) => groups.filter(({ items: own }) => own.includes(one)).length === 1);
      const keepsOrder = groups.every(({ items: own }) =>
        own.every((one, at) => at === 0 || items.indexOf(own[at - 1] as never) <= items.indexOf(one as never)),
      );
      return (
        Math.abs(sum - expected) < 1e-6 &&
        isEach &&
        keepsOrder &&
        groups.reduce((all, { items: own }) => all + own.length, 0) === items.length
      );
    }),
  );
  t.end();
});

void t.test('sums of what is missing, of text, of members of members', async (t) => {
  const sums = (values: readonly Json[], path = ['n']): unknown =>
    groupItems(values, { by: ['g'], order: 'given', sums: [path] }, 'en').map(({ value }) => value['sum']);
  t.strictSame(sums([{ n: 0.1 }, { n: 0.2 }, {}, { n: null }]), [{ n: 0.3 }]);
  t.strictSame(sums([{ n: '1.5' }, { n: 2 }]), [{ n: 3.5 }], 'a number in text is one, as in conditions');
  t.strictSame(sums([{ n: 1 }, { n: 'many' }]), [{}]);
  t.strictSame(sums([{}, null, 7]), [{}]);
  t.strictSame(sums([{ n: { net: 1 } }, { n: { net: 2 } }], ['n', 'net']), [{ n: { net: 3 } }]);
  t.strictSame(sums([{ n: 1 }], ['__proto__', 'x']), [Object.fromEntries([['__proto__', {}]])]);
  // Losses name a column that has no sum, and an item without a group.
  const { content } = checkEmailTemplate(
    templateOf([tableOf()], { variables: variables.slice(0, 1).map((one) => ({ ...one, schema: {} })) }),
    defaultLimits,
  );
  const budget = openBudget(defaultLimits);
  const given = {
    total: 1,
    lines: [
      { name: 'a', region: 'x', quantity: 'many', total: 1 },
      { name: 'b', quantity: 1, total: 1 },
    ],
  };
  const prepared = compilePreparation(content.variables, { locale: 'en', timeZone: 'UTC' }, defaultLimits)(
    given,
    environment,
    budget,
  );
  const losses = compileLosses(partsOfEmail(content), {
    definitions: content.variables,
    locale: 'en',
    limits: defaultLimits,
  });
  t.strictSame(pathsOfLosses(losses(prepared, { budget })), ['lines[1].region', 'group.sum.quantity', 'group.key']);
});

void t.test('a template that groups wrongly is told when it is saved', async (t) => {
  const faults = (table: JsonObject, outputFormats: readonly string[] = []): readonly string[] => {
    try {
      if (outputFormats.length === 0) checkEmailTemplate(templateOf([table], { variables }), defaultLimits);
      else checkAttachmentTemplate(attachmentOf([table], { variables, schema: { outputFormats } }), defaultLimits);
      return [];
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      return (error.details.errors ?? []).map(
        ({ field, message }) => `${field.replace(/^.*components\[0\]\.props\./, '')} ${message}`,
      );
    }
  };
  const withColumn = (column: JsonObject, more: JsonObject = {}): JsonObject =>
    tableOf({ columns: [{ content: '{{item.name}}', ...column }], ...more });
  t.strictSame(faults(tableOf()), []);
  t.match(faults(tableOf({ groupBy: 'regoin' })), [/^groupBy .*did you mean "region"/]);
  t.match(faults(withColumn({ groupFooter: '{{group.sum.totl}}' })), [
    /^columns\[0\]\.groupFooter .*did you mean "total"/,
  ]);
  t.match(faults(withColumn({ groupFooter: '{{groop.key}}' })), [/did you mean "group"/]);
  t.match(faults(tableOf({ groupOrder: 'size' })), [/^groupOrder must be given, name or an array/]);
  t.match(faults(tableOf({ groupOrder: [{}] })), [/^groupOrder\[0\] must be a number or text/]);
  t.match(faults(tableOf({ groupOrder: Array.from({ length: 1_001 }, () => 'x') })), [
    /^groupOrder has 1001 values, the maximum is 1000/,
  ]);
  const { groupBy: _, ...ungrouped } = tableOf()['props'] as JsonObject;
  t.match(faults({ ...tableOf(), props: { ...ungrouped, groupOrder: 'name' } }), [
    /^groupOrder is the order/,
    /^columns\[0\]\.groupHeader belongs to the groups of groupBy/,
    /^columns\[0\]\.groupFooter /,
    /^columns\[1\]\.groupFooter /,
    /^columns\[2\]\.groupFooter /,
  ]);
  t.match(faults({ id: 'r', type: 'table', props: { rows: [['a']], groupBy: 'x' } }), [
    /^groupBy groups the items of a dataSource/,
  ]);
  const sum = '=SUM(A{first}:A{last})';
  const subtotal = '=SUBTOTAL(9,A{first}:A{last})';
  t.match(faults(withColumn({ footer: sum }), ['excel']), [
    /^columns\[0\]\.footer goes over the rows of the groups too: write =SUBTOTAL/,
  ]);
  t.match(faults(withColumn({ footer: subtotal, groupFooter: sum }), ['excel']), [
    /^columns\[0\]\.groupFooter is counted by the formulas of the footer/,
  ]);
  t.match(faults(withColumn({ footer: subtotal, groupFooter: '{{group.sum.total}}' }), ['excel']), [
    /^columns\[0\]\.groupFooter is counted/,
  ]);
  t.strictSame(
    faults(withColumn({ footer: subtotal, groupFooter: subtotal, groupHeader: '{{group.key}}' }), ['excel']),
    [],
  );
  t.strictSame(faults(withColumn({ groupFooter: '{{group.sum.total}}' }), ['excel']), []);
});

void t.test('a workbook has rows for the sums, as values or as subtotals that the total leaves out', async (t) => {
  const sheetOf = async (given: readonly JsonObject[]) => {
    const bytes = await bytesOf({
      components: [tableOf({ columns: given, striped: true })] as never,
      variables: { lines },
      definitions: variables as never,
    });
    return { bytes, cells: readWorkbook(bytes).sheets[0]!.cells };
  };
  const values = await sheetOf(columns);
  const at = (cells: typeof values.cells, ...places: readonly string[]) =>
    places.map((place) => cells.get(place)?.text);
  t.strictSame(at(values.cells, 'A2', 'A5', 'B5', 'C5', 'C9', 'C13'), [
    'Östersund',
    '2 of Östersund',
    '5',
    '28.3',
    '64.7',
    '95',
  ]);
  t.match(values.cells.get('C5')?.code, /€/);
  t.match(values.cells.get('C5')?.style.font, /<b\/>/);
  const formulas = await sheetOf([
    { header: 'Item', content: '{{item.name}}', groupFooter: '{{group.key}}', footer: 'All' },
    {
      header: 'Pieces',
      content: '{{item.quantity}}',
      groupFooter: '=SUBTOTAL(9,B{first}:B{last})',
      footer: '=SUBTOTAL(9,B{first}:B{last})',
      rules: [{ kind: 'dataBar' }],
    },
    {
      header: 'Sum',
      content: '{{item.total}}',
      groupFooter: '=SUBTOTAL(9,C{first}:C{last})',
      footer: '=SUBTOTAL(9,C{first}:C{last})',
    },
  ]);
  t.strictSame(at(formulas.cells, 'B4', 'C4', 'C7', 'C9', 'B10', 'C10'), ['5', '28.3', '64.7', '2', '8', '95']);
  t.equal(formulas.cells.get('C7')?.formula, 'SUBTOTAL(9,C5:C6)');
  t.equal(formulas.cells.get('C10')?.formula, 'SUBTOTAL(9,C2:C9)');
  t.match(readWorkbook(formulas.bytes).sheets[0]?.xml, /sqref="B2:B3 B5:B6 B8:B8"/);
  await t.test('LibreOffice works out the same', { skip: lacksLibreOffice }, async (t) => {
    const csv = await csvOf(t, formulas.bytes, '44,34,76,1,,0,false,true,false');
    t.match(csv, /All,8,€?95/);
  });
});

void t.test('a PDF parts no sum from the last item of its group, and no head from the first', async (t) => {
  for (const before of [0, 7, 16, 25, 31]) {
    const many = Array.from({ length: 120 }, (_, at) => ({
      name: `n${at}`,
      region: `g${Math.floor(at / 3)}`,
      quantity: 1,
      price: 1,
    }));
    const props = {
      dataSource: '{{lines}}',
      groupBy: 'region',
      columns: [
        {
          header: 'Item',
          content: 'item-{{item.region}}',
          groupHeader: 'head-{{group.key}}',
          groupFooter: 'foot-{{group.key}}',
          footer: 'end',
        },
        { header: 'Sum', content: '{{item.total}}', groupFooter: '{{group.sum.total}}' },
      ],
    };
    const spacer = { id: 'before', type: 'spacer', props: { height: before } };
    const document = expandTemplate(attachmentOf([spacer, { id: 't', type: 'table', props }], { variables }), {
      lines: many,
    });
    const made = await makePdf(
      document,
      new Map(),
      { title: 'T', author: 'A', createdAt: '2026-01-02T03:04:05.000Z' },
      defaultLimits,
    );
    const words = placedWords(made);
    if (words === undefined) return;
    const pageOf = (text: string, end: 'find' | 'findLast'): number | undefined =>
      words[end]((word) => word.text === text)?.page;
    t.ok((words.at(-1)?.page ?? 0) > 2, 'it has several sheets');
    for (let group = 0; group < 40; group += 1) {
      t.equal(pageOf(`foot-g${group}`, 'find'), pageOf(`item-g${group}`, 'findLast'), `foot of ${group}`);
      t.equal(pageOf(`head-g${group}`, 'find'), pageOf(`item-g${group}`, 'find'), `head of ${group}`);
    }
    t.equal(pageOf('end', 'find'), pageOf('foot-g39', 'find'));
  }
});

void t.test('groups count for the limits, and stand in each language', async (t) => {
  const many = { lines: Array.from({ length: 30 }, (_, at) => ({ region: `g${at}`, quantity: 1, price: 1 })) };
  const limits = { ...defaultLimits, documentItemsMax: 60, excelRowsMax: 60 };
  const expand = (format: 'pdf' | 'excel') => () =>
    expandTemplate(attachmentOf([tableOf()], { variables, schema: { outputFormats: [format] } }), many, {
      format,
      limits,
    });
  t.throws(expand('pdf'), { code: 'ERR_LIMIT_007' });
  t.throws(expand('excel'), { code: 'ERR_LIMIT_003' });
  const { text } = renderTemplate(
    templateOf([tableOf()], {
      variables,
      translations: { de: { '{{group.count}} of {{group.key}}': '{{group.count}} aus {{group.key}}' } },
    }),
    { lines },
    { language: { locale: 'de' } },
  );
  t.match(text, /2 aus Arvika/);
});
