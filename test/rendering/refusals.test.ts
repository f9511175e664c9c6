/** Refusals: what is refused, with which code, at which limits. */
import t from 'tap';
import { makePdf } from '../../src/adapters/render/pdf/make-pdf.js';
import { DomainError } from '../../src/domain/core/errors.js';
import type { JsonObject } from '../../src/domain/core/json.js';
import { defaultLimits, defaultLimits as limits } from '../../src/domain/core/limits.js';
import { openBudget } from '../../src/domain/rendering/budget.js';
import { checkAttachmentTemplate } from '../../src/domain/rendering/check/document.js';
import { checkEmailTemplate } from '../../src/domain/rendering/check/email.js';
import { barCodeText, ean13Text, epcPayment, type EpcFields } from '../../src/domain/rendering/codes.js';
import { compileDocument } from '../../src/domain/rendering/expand/expand.js';
import { compileCalculation } from '../../src/domain/rendering/expression/calculated.js';
import type { VariableDefinition } from '../../src/domain/rendering/scope/definitions.js';
import { parseJsonBody } from '../../src/http/server/json/body.js';
import { attachmentOf, componentsOf, expandTemplate } from '../support/documents.js';
import { templateOf, environment } from '../support/rendering.js';
import { sampleAttachment } from '../support/samples.js';

// Common mistakes of authors are refused with the right form in the message.

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

// The kinds of the qr-code component: saving a template reports wrong content as far as it is known then.

const faultsOfCode = (props: JsonObject): readonly string[] => {
  try {
    checkEmailTemplate(templateOf([{ id: 'c', type: 'qr-code', props }]), defaultLimits);
    return [];
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return (error.details.errors ?? []).map(
      ({ field, message }) => `${field.replace(/^.*\.props\.?/, '')}: ${message}`,
    );
  }
};

void t.test('EAN-13: the check digit is added or checked', (t) => {
  t.same(ean13Text('952012345678'), { text: '9520123456788' });
  t.same(ean13Text('952-0123 456788'), { text: '9520123456788' });
  t.same(ean13Text('4006381333931'), { text: '4006381333931' });
  // Every other last digit is refused, with the one that is right.
  for (const digit of '012345679')
    t.match(ean13Text(`952012345678${digit}`), {
      prop: 'value',
      fault: `check digit of 952012345678 is 8: 9520123456788`,
    });
  t.match(ean13Text('12345'), { fault: /has 5 digits; an EAN-13 has 13, or 12 and the check digit is added/ });
  t.match(ean13Text('95201234567X'), { fault: /must be the 12 or 13 digits/ });
  t.end();
});

void t.test('Code 128 and Data Matrix: letters and lengths', (t) => {
  const of = (value: string, kind: 'code128' | 'datamatrix', gs1 = false) => barCodeText(value, { kind, gs1 });
  t.same(of('AZaz09 ~', 'code128'), { text: 'AZaz09 ~' });
  t.match(of('Zoë', 'code128'), { fault: /^holds "ë"; a Code 128 holds/ });
  t.match(of('a\tb', 'code128'), { fault: /^holds the character U\+0009/ });
  t.match(of('x'.repeat(81), 'code128'), { fault: 'has 81 characters, a Code 128 holds 80' });
  t.same(of('Zoë', 'datamatrix'), { text: 'Zoë' });
  t.match(of('é'.repeat(401), 'datamatrix'), { fault: 'has 802 bytes, a Data Matrix holds 800 here' });
  t.match(of('0195201', 'datamatrix', true), { fault: /parts of GS1/ });
  t.same(of('(01)09521234543213(10)A', 'code128', true), { text: '(01)09521234543213(10)A' });
  t.end();
});

const fields: EpcFields = {
  name: 'Red Cross',
  iban: 'BE72000000001616',
  bic: 'BPOTBEB1',
  amount: 1,
  purpose: 'CHAR',
  reference: '',
  text: 'Urgency fund',
};

void t.test('a payment is the text of EPC069-12, version 002', (t) => {
  t.match(epcPayment(fields), {
    text: 'BCD\n002\n1\nSCT\nBPOTBEB1\nRed Cross\nBE72000000001616\nEUR1.00\nCHAR\n\nUrgency fund',
    alt: 'Red Cross, BE72 0000 0000 1616, EUR 1.00, Urgency fund',
  });
  t.match(epcPayment({ ...fields, bic: '', purpose: '', text: '', amount: undefined }), {
    text: 'BCD\n002\n1\nSCT\n\nRed Cross\nBE72000000001616',
  });
  t.match(epcPayment({ ...fields, text: '', reference: 'RF18 5390 0754 7034' }), { text: /\nCHAR\nRF18539007547034$/ });
  t.match(epcPayment({ ...fields, amount: 0.1 + 0.2 }), { text: /\nEUR0\.30\n/ });
  t.match(epcPayment({ ...fields, amount: '1234.5' }), { text: /\nEUR1234\.50\n/ });
  t.match(
    epcPayment({ ...fields, name: 'A\nEUR9999.00', text: 'x\r\ny' }),
    { text: /\nA EUR9999\.00\n.*\nx y$/s },
    'no value begins a line',
  );
  t.equal(epcPayment({ ...fields, name: ' ', iban: '' }), undefined);
  t.end();
});

void t.test('a payment that a bank would refuse is refused', (t) => {
  const cases: readonly (readonly [Partial<EpcFields>, string, RegExp])[] = [
    [{ iban: 'BE72000000001617' }, 'iban', /check digits/],
    [{ iban: 'BE7200' }, 'iban', /must be an IBAN/],
    [{ iban: '' }, 'iban', /is empty/],
    [{ name: '' }, 'name', /is empty/],
    [{ name: 'x'.repeat(71) }, 'name', /71 characters, a payment holds 70/],
    [{ bic: 'ABC' }, 'bic', /BIC/],
    [{ amount: 0 }, 'amount', /is 0\.00/],
    [{ amount: 0.004 }, 'amount', /is 0\.00/],
    [{ amount: 1e9 }, 'amount', /1000000000\.00/],
    [{ amount: -5 }, 'amount', /-5\.00/],
    [{ amount: '12,50 €' }, 'amount', /number of euros/],
    [{ purpose: 'DONATE' }, 'purpose', /four letters/],
    [{ reference: 'RF19539007547034', text: '' }, 'reference', /check digits/],
    [{ reference: 'INV-7', text: '' }, 'reference', /give any other as text/],
    [{ reference: 'RF18539007547034' }, 'text', /beside reference/],
    [{ text: 'x'.repeat(141) }, 'text', /141 characters/],
    [{ text: '€'.repeat(140) }, 'text', /bytes, its code holds 331/],
  ];
  for (const [more, prop, fault] of cases)
    t.match(epcPayment({ ...fields, ...more }), { prop, fault }, JSON.stringify(more));
  t.end();
});

void t.test('on save', (t) => {
  t.same(faultsOfCode({ value: 'x' }), []);
  t.same(faultsOfCode({}), ['value: is required']);
  t.match(faultsOfCode({ kind: 'ean8', value: '1' }), [/^kind: must be one of qr, ean13, code128, datamatrix, epc/]);
  t.match(faultsOfCode({ kind: 'ean13', value: '9520123456785' }), [/^value: ends in 5, .*9520123456788$/]);
  t.same(faultsOfCode({ kind: 'ean13', value: '{{gtin}}' }), []);
  t.match(faultsOfCode({ kind: 'qr', value: 'x', iban: 'DE1' }), [
    /^iban: is not a prop of a code of kind qr, only of epc/,
  ]);
  t.match(faultsOfCode({ kind: 'code128', value: 'x', errorCorrection: 'H' }), [
    /^errorCorrection: is not a prop of a code of kind code128/,
  ]);
  t.same(faultsOfCode({ kind: 'epc' }), ['name: is required', 'iban: is required']);
  t.match(faultsOfCode({ kind: 'epc', value: 'x', name: 'N', iban: '{{iban}}' }), [
    /^value: is not a prop of a code of kind epc/,
  ]);
  t.match(faultsOfCode({ kind: 'epc', name: '{{n}}', iban: 'DE88370400440532013000', amount: '{{total}}' }), [
    /^iban: is no IBAN/,
  ]);
  t.same(faultsOfCode({ kind: 'epc', name: '{{n}}', iban: '{{iban}}', amount: 12.5, text: 'Invoice {{n}}' }), []);
  t.end();
});

// Limits agree with each other: invoices and workbooks as large as the limits of documents are accepted, and larger
// ones are refused.

const invoice = sampleAttachment('invoice');

void t.test('the shipped invoice has as many lines as a table may have', async (t) => {
  const document = compileDocument(invoice, limits);
  const items = Array.from({ length: limits.loopIterationsMax }, (_, at) => ({
    sku: `A-${at}`,
    name: 'Ceramic mug',
    variant: 'sage green',
    quantity: 2,
    price: 1.5,
  }));
  const defaults = Object.fromEntries(
    invoice.variables.flatMap(({ name, defaultValue }) => (defaultValue === undefined ? [] : [[name, defaultValue]])),
  );
  const order = { ...(defaults['order'] as JsonObject), items, shipping: 0, discount: 0 };
  const expanded = document({ ...defaults, logo: null, order } as JsonObject, environment, 'pdf');
  t.match(JSON.stringify(expanded), /3,000\.00/, 'the sum of all lines');
  const metadata = { title: 'Invoice', author: 'Ada', createdAt: environment.at };
  await t.resolves(makePdf(expanded, new Map(), metadata, limits), 'within the pages of a PDF');
});

void t.test(
  'a workbook of all its rows and columns can be sent as far as the body holds it, and is expanded',
  async (t) => {
    for (const width of [10, limits.excelColumnsMax]) {
      const names = Array.from({ length: width }, (_, at) => `c${at}`);
      const row = Object.fromEntries(names.map((name) => [name, 1234.5]));
      const rows = new Array<Record<string, number>>(limits.excelRowsMax).fill(row);
      const bytes = Buffer.from(
        JSON.stringify({ templateId: 't', to: [{ email: 'a@example.com' }], variables: { rows } }),
      );
      t.ok(bytes.length <= limits.bodySizeBytesMax, `${width} columns are ${bytes.length} bytes`);
      const { variables } = parseJsonBody(bytes, limits) as { variables: JsonObject };
      const columns = names.map((name) => ({ header: name, content: `{{item.${name}}}` }));
      const template = attachmentOf([{ id: 'table', type: 'table', props: { dataSource: 'rows', columns } }], {
        variables: [{ name: 'rows', type: 'array' }],
        schema: { outputFormats: ['excel'] },
      });
      const [table] = componentsOf(expandTemplate(template, variables, { format: 'excel' }));
      const made = table?.type === 'table' ? table.rows : [];
      t.same([made.length, made.at(-1)?.length], [limits.excelRowsMax, width]);
    }
  },
);

void t.test('names that differ are bounded for themselves', async (t) => {
  const bodyOf = (names: number, rest: number): Buffer =>
    Buffer.from(`[${'0,'.repeat(rest)}{${Array.from({ length: names }, (_, at) => `"k${at}":1`).join(',')}}]`);
  const few = { ...limits, jsonMembersMax: 2_000, jsonNamesMax: 100 };
  t.equal((parseJsonBody(bodyOf(100, 1_800), few) as readonly unknown[]).length, 1_801);
  t.throws(() => parseJsonBody(bodyOf(101, 1_800), few), {
    code: 'JSON_TOO_COMPLEX',
    message: /more than 100 different names/,
  });
  t.throws(() => parseJsonBody(bodyOf(101, 0), few), { code: 'JSON_TOO_COMPLEX' }, 'in a small body, too');
  t.throws(() => parseJsonBody(bodyOf(100, 1_950), few), {
    code: 'JSON_TOO_COMPLEX',
    message: /more than 2000 members/,
  });
});

void t.test('what goes over its data again and again is stopped', async (t) => {
  const list: VariableDefinition = { name: 'list', type: 'array' };
  const calculated = (name: string, expression: string): VariableDefinition => ({
    name,
    type: 'number',
    isCalculated: true,
    expression,
  });
  const values = { list: Array.from({ length: 1_000 }, (_, at) => at) };
  const run = (definitions: readonly VariableDefinition[]) =>
    compileCalculation([list, ...definitions], limits)(values, {
      at: environment.at,
      constants: {},
      budget: openBudget(limits),
    });
  t.throws(() => run([calculated('a', 'list.map(x => list.reduce((s, y) => s + x * y, 0)).length')]), {
    code: 'VALIDATION_ERROR',
    message: /more than 25,000 operations/,
  });
  const sums = Array.from({ length: 40 }, (_, at) => calculated(`s${at}`, 'list.reduce((sum, x) => sum + x * 2, 0)'));
  t.same(run(sums.slice(0, 10))['s9'], 999_000);
  t.throws(() => run(sums), { code: 'WORK_LIMIT_EXCEEDED' });
  t.throws(() => run([calculated('a', `[${'-1,'.repeat(1_001)}1].length`)]), {
    message: /holds more than 1000 operations/,
  });
});
