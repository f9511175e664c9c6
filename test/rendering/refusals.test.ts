/** Common mistakes of authors are refused with the right form in the message. */
import t from 'tap';
import { DomainError } from '../../src/domain/core/errors.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { checkAttachmentTemplate } from '../../src/domain/rendering/check/document.js';
import { checkEmailTemplate } from '../../src/domain/rendering/check/email.js';
import { attachmentOf } from '../support/documents.js';

const faultsOf = (template: unknown): readonly string[] => {
  try {
    checkAttachmentTemplate(template, defaultLimits);
    return [];
  } catch (error) {
    if (error instanceof DomainError)
      return (error.details.errors ?? []).map(({ field, message }) => `${field.split('.').at(-1)}: ${message}`);
    throw error;
  }
};

const page = (pageSettings: unknown): unknown =>
  attachmentOf([], {
    schema: {
      pages: [{ pageId: 'p', pageName: 'P', pageSettings, sections: [{ id: 's', type: 'main', components: [] }] }],
    },
  });
const variable = (definition: object): unknown =>
  attachmentOf([], { variables: [{ name: 'it', type: 'array', ...definition }] });
const items = {
  name: 'items',
  type: 'array',
  schema: { itemSchema: { properties: { month: { type: 'string' }, total: { type: 'number' } } } },
};
const text = (content: string): unknown =>
  attachmentOf([{ id: 'r', type: 'rich-text', content }], { variables: [items] });
const format = (given: object): unknown => variable({ type: 'date', format: given });
const calculated = (expression: string): unknown =>
  attachmentOf([], { variables: [items, { name: 'twice', type: 'number', isCalculated: true, expression }] });
const chart = (field: string, props: object = {}): unknown =>
  attachmentOf(
    [
      {
        id: 'c',
        type: 'chart',
        props: {
          chartType: 'bar',
          dataSource: 'items',
          categoryField: field,
          series: [{ valueField: 'total' }],
          ...props,
        },
      },
    ],
    { variables: [items] },
  );

const warningsOf = (template: unknown): readonly string[] =>
  checkAttachmentTemplate(template, defaultLimits).warnings.map(
    ({ field, message }) => `${field.split('.').at(-1)}: ${message}`,
  );
const cells = (outputFormats: readonly string[], ...contents: readonly string[]): unknown =>
  attachmentOf(
    [
      {
        id: 't',
        type: 'table',
        props: { dataSource: 'items', columns: contents.map((content) => ({ content, footer: 'x' })) },
      },
    ],
    {
      variables: [items],
      schema: { outputFormats },
    },
  );

void t.test('what is saved and shows something else than was meant is told', (t) => {
  const text = /^content: stands in the workbook as text.*name cells, as in =B\{row\}\*2/;
  t.match(warningsOf(cells(['excel'], '={{item.total}}*2', '{{item.total}}')), [text]);
  t.same(warningsOf(cells(['excel'], '=B{row}*2', '=', 'a = {{item.total}}')), []);
  t.same(warningsOf(cells(['pdf'], '={{item.total}}*2')), []);
  t.match(warningsOf(cells(['pdf', 'excel'], '=B{row}*2')), [/^content: stands in the PDF as it is written/]);
  t.match(warningsOf(cells(['excel'], ...Array.from({ length: 30 }, () => '={{item.total}}'))), { length: 20 });
  const inText = (content: string): unknown =>
    attachmentOf([{ id: 'r', type: 'rich-text', content }], { schema: { outputFormats: ['excel'] } });
  t.match(warningsOf(inText('<p>=SUM(A1:A3)</p>')), [
    /^content: stands in the workbook as text: formulas are contents and footers of tables/,
  ]);
  t.same(warningsOf(inText('<p>= so it is</p>')), []);
  t.match(warningsOf(cells(['pdf'], '{{items.month}}')), [
    /items is declared as array; of one of its items it is \{\{item\.month\}\}$/,
  ]);
  t.match(warningsOf(cells(['pdf'], '{{items.colour}}')), [/an item of it has an index, items\[0\]$/]);
  t.match(warningsOf(cells(['pdf'], '{{month}}')), [
    /no variable "month" is declared; did you mean \{\{item\.month\}\}\?$/,
  ]);
  const footer = (content: string): unknown => page({ footer: { content } });
  t.match(warningsOf(footer('{{page}} of {{pages}}')), [
    /the number of the page is \{\{pageNumber\}\}$/,
    /of all pages is \{\{totalPages\}\}$/,
  ]);
  t.match(warningsOf(footer('{{Current_Page}}')), [/the number of the page is \{\{pageNumber\}\}$/]);
  t.match(warningsOf(footer('{{shop}}')), [/declare it under variables$/]);
  t.match(warningsOf(attachmentOf([{ id: 'r', type: 'rich-text', content: '{{page}}' }])), [
    /declare it under variables$/,
  ]);
  t.match(warningsOf(cells(['pdf'], '{{this.month}}')), [
    /"this" is declared, so it is empty; .* itemVariable gives it/,
  ]);
  t.end();
});

void t.test('a formula that no program can read is told', (t) => {
  const repair = 'asks to repair the workbook: ';
  t.match(warningsOf(cells(['excel'], '=SUM(A1')), [`${repair}a bracket is opened and not closed`]);
  t.match(warningsOf(cells(['pdf', 'excel'], '=A1)+(1')), [`${repair}a bracket is closed that was not opened`]);
  t.match(warningsOf(cells(['excel'], '="a&B1')), [`${repair}a quotation mark is opened and not closed`]);
  t.match(warningsOf(cells(['excel'], '=SUM(B{top}:B{last})')), [
    /holds \{top\}, which stands for nothing: there are \{row\}, \{first\}/,
  ]);
  t.match(warningsOf(cells(['excel'], '=SUM({others.B})')), [
    /holds \{others\.B\}, but no table of the template has the id "others"/,
  ]);
  t.same(warningsOf(cells(['pdf'], '=SUM(A1')), []);
  t.same(warningsOf(cells(['excel'], `=IF(B{row}>1,"a ) ""b""",SUM('It''s (1)'!A{first}:A{last})*MAX({1,2}))`)), []);
  t.end();
});

void t.test('a constant without braces is told, wherever it stands', (t) => {
  const shows = (name: string): string => `shows ${name} as it is written: a constant stands in braces, {{${name}}}`;
  t.same(warningsOf(text('<p>{{ __COMPANY_NAME__ }}, __COMPANY_CITY__</p>')), [
    `content: ${shows('__COMPANY_CITY__')}`,
  ]);
  t.same(warningsOf(page({ footer: { content: '__CURRENT_YEAR__' } })), [`content: ${shows('__CURRENT_YEAR__')}`]);
  const translations = { de: { '<p>{{__COMPANY_NAME__}}</p>': '<p>__COMPANY_NAME__</p>' } };
  const translated = attachmentOf([{ id: 'r', type: 'rich-text', content: '<p>{{__COMPANY_NAME__}}</p>' }], {
    translations,
  });
  t.ok(warningsOf(translated).includes(`de: ${shows('__COMPANY_NAME__')}`));
  t.same(warningsOf(text('<p>{{__COMPANY_NAME__}} __init__ __NAME__</p>')), []);
  const condition = { condition: '__COMPANY_CITY__', operator: 'exists' };
  t.same(warningsOf(attachmentOf([{ id: 'c', type: 'conditional', props: condition, children: [] }])), []);
  const mail = {
    variables: [],
    subject: 'From __COMPANY_NAME__',
    schema: { sections: [{ id: 's', type: 'main', components: [] }] },
  };
  t.same(checkEmailTemplate(mail, defaultLimits).warnings, [{ field: 'subject', message: shows('__COMPANY_NAME__') }]);
  t.end();
});

void t.test('a refusal says what would be right', (t) => {
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [page({ margin: '20mm' }), /^margin: must be an object, with top, right, bottom, left$/],
    [page({ watermark: 'Draft' }), /^watermark: must be an object, with text, color$/],
    [page({ header: { content: '', size: 1 } }), /^size: .*known are content, height, align, code$/],
    [page({ sheet: { freeze: true } }), /^freeze: .*known are hidden, fitToWidth, gridLines, printArea$/],
    [page({ backgroundImage: { src: 'https://example.com/a.png', size: 1 } }), /^size: .*known are src, fit, sheets$/],
    [page({ firstPageHeader: false }), /"content": "" is an empty one$/],
    [variable({ type: 'currency' }), /^type: .*an amount is a number with a format of style currency$/],
    [variable({ type: 'integer' }), /^type: .*use number$/],
    [variable({ format: 'currency' }), /^format: must be an object such as \{"style": "currency"/],
    [variable({ properties: {} }), /^properties: is not known here: write it into schema; known are /],
    [variable({ schema: { items: {} } }), /^items: is not known here: what items consist of is itemSchema; known are /],
    [variable({ default: [] }), /^default: is not known here: use defaultValue; known are /],
    [attachmentOf([{ type: 'spacer' }]), /^id: is required: it must be text of 1 to 100 characters$/],
    [
      attachmentOf([{ id: 'c', type: 'heading' }]),
      /^type: "heading" is not a component: use rich-text, .*; components of a pdf document are /,
    ],
    [chart('item.month'), /^categoryField: "item.month": a field begins at the item itself; write "month"$/],
    [
      format({ style: 'date', pattern: 'DD.MM.YYYY' }),
      /^pattern: has "DD", which stands for nothing: .*; did you mean "dd\.MM\.yyyy"\?$/,
    ],
    [
      format({ style: 'date', pattern: 'dddd, d MMMM' }),
      /^pattern: has "dddd": the weekday is EEE or EEEE.*; did you mean "EEEE, d MMMM"\?$/,
    ],
    [
      format({ style: 'date', pattern: 'dd.mm.yyyy' }),
      /^pattern: has "m", which is the minute.*; did you mean "dd\.MM\.yyyy"\?$/,
    ],
    [format({ style: 'time', pattern: 'HH:MM' }), /^pattern: has "M", which is the month.*; did you mean "HH:mm"\?$/],
    [format({ style: 'datetime', pattern: 'YYYY-MM-DDTHH:mm' }), /; did you mean "yyyy-MM-dd'T'HH:mm"\?$/],
    [
      format({ style: 'datetime', pattern: 'd MMMM um HH:mm' }),
      /^pattern: has "u", .*others stand in quotes, such as 'at'$/,
    ],
    [
      format({ style: 'currency', currency: 'EUR', pattern: '#.##0,00 €' }),
      /^pattern: must be a pattern of digits such as 0.00 or #,##0.00/,
    ],
    [
      format({ style: 'number', locale: 'german' }),
      /^locale: must be a language tag \(BCP 47\) such as en-US or de-DE$/,
    ],
    [
      variable({ schema: { properties: { month: { type: 'string' } } } }),
      /^properties: belongs to an object: .* are itemSchema.properties$/,
    ],
    [
      variable({ itemType: 'array', schema: { itemSchema: { properties: {} } } }),
      /^properties: belongs to an object: .* are itemSchema.properties$/,
    ],
    [
      variable({ type: 'object', schema: { itemType: 'string' } }),
      /^itemType: belongs to an array, and the type is object$/,
    ],
    [calculated('{{items.length}} * 2'), /; an expression names variables without braces, as in items.length \* 2$/],
    [calculated('=1 + 1'), /; an expression begins without "="$/],
    [
      attachmentOf([{ id: 'q', type: 'qr-code', props: { value: 'x', size: '50%' } }]),
      /^size: must be a length such as 16, "16pt" or "5mm", without %, got "50%"$/,
    ],
    [chart('month', { width: '100%' }), /^width: must be a length such as 16, "16pt" or "5mm", without %, got "100%"$/],
    [text('{{items.length * 2}}'), /; what is calculated is a variable of its own, with isCalculated and expression$/],
    [
      text('{{items.length > 2}}'),
      /is not a path: what is compared stands in a conditional component, which has condition, operator and value of its own$/,
    ],
    [text('<p>{{items.length &lt; 2}}</p>'), /is not a path: what is compared stands in a conditional component/],
    [text('{{items && month}}'), /is not a path: what is compared stands in a conditional component/],
    [calculated('itmes.length * 2'), /^expression: uses "itmes", .*; did you mean "items"\?$/],
    [
      calculated('items.reduce((sum, line) => sum + lnie.total, 0)'),
      /^expression: uses "lnie", .*; did you mean "line"\?$/,
    ],
    [
      attachmentOf([
        { id: 'q', type: 'qr-code', props: { kind: 'girocode', name: 'X', iban: 'DE89370400440532013000' } },
      ]),
      /^kind: must be one of qr, ean13, code128, datamatrix, epc, got "girocode"$/,
    ],
    [text('{{items | upper}}'), /; format, filters and fallback are fields of the variable$/],
    [
      chart('mnoth'),
      /^categoryField: "mnoth": the schema of an item declares no member "mnoth"; did you mean "month"\?/,
    ],
  ];
  for (const [template, message] of cases) t.match(faultsOf(template), [message], String(message));
  for (const right of [
    chart('month', { width: '120mm' }),
    ...["yyyy-MM-dd'T'HH:mm:ss", 'mm:ss', 'MMMM yyyy', 'yyyy年M月d日', "h 'o''clock' a", 'EEE d. MMM', 'd/M HH:mm'].map(
      (pattern) => format({ style: 'datetime', pattern }),
    ),
    ...['0', '#,##0.00', '0.##', '.00'].map((pattern) => format({ style: 'number', pattern, locale: 'gsw-CH' })),
    variable({ schema: { itemSchema: { properties: { month: { type: 'string' } } } } }),
    calculated('items.length * 2'),
  ])
    t.same(faultsOf(right), []);
  t.end();
});
