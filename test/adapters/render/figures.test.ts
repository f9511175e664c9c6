/** Bar codes, sizes of pictures, calculated figures. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { prepareZXingModule, readBarcodes } from 'zxing-wasm/reader';
import { barCodePng, layBarPicture, pixelDefaults, type BarWish } from '../../../src/adapters/render/bar-code.js';
import { openRenderer, compile } from '../../../src/adapters/render/email/renderer.js';
import { makePdf } from '../../../src/adapters/render/pdf/make-pdf.js';
import { DomainError } from '../../../src/domain/core/errors.js';
import type { JsonObject } from '../../../src/domain/core/json.js';
import { defaultLimits } from '../../../src/domain/core/limits.js';
import { checkAttachmentTemplate } from '../../../src/domain/rendering/check/document.js';
import { checkEmailTemplate } from '../../../src/domain/rendering/check/email.js';
import { barCodeText } from '../../../src/domain/rendering/codes.js';
import { compileDocument } from '../../../src/domain/rendering/expand/expand.js';
import { documentInLanguage } from '../../../src/domain/rendering/languages.js';
import type { CallLanguage } from '../../../src/domain/rendering/translations.js';
import { attachmentOf, componentsOf } from '../../support/documents.js';
import { component, documentOf, page } from '../../support/expanded-documents.js';
import { png } from '../../support/pictures.js';
import { environment, renderTemplate, templateOf, company } from '../../support/rendering.js';

// Bar codes and payment codes in all outputs, read back by a program that had no part in drawing them (ZXing).

const require = createRequire(import.meta.url);
prepareZXingModule({
  overrides: { wasmBinary: readFileSync(require.resolve('zxing-wasm/reader/zxing_reader.wasm')).buffer as ArrayBuffer },
});

type Read = Readonly<{ format: string; text: string }>;

/** A picture that is nothing but the code: the quiet zone must be its own. */
const read = async (bytes: Uint8Array, isPure = true): Promise<readonly Read[]> =>
  (await readBarcodes(Buffer.from(bytes), { isPure, tryHarder: true })).map(({ format, text }) => ({ format, text }));

const wish = (more: Partial<BarWish> & Pick<BarWish, 'kind'>): BarWish => ({
  height: undefined,
  showText: true,
  gs1: false,
  width: undefined,
  room: 600,
  color: '#000000',
  background: '#ffffff',
  ...more,
});

const pngOf = (value: string, look: BarWish): Buffer => {
  const text = barCodeText(value, look);
  if ('fault' in text) throw new Error(text.fault);
  const laid = layBarPicture(text.text, look, pixelDefaults);
  if ('fault' in laid) throw new Error(laid.fault);
  return barCodePng(laid, look, pixelDefaults);
};

void t.test('every kind is read as what it says, with and without text, in colours, wide and narrow', async (t) => {
  const cases: readonly (readonly [string, Parameters<typeof wish>[0], string, string])[] = [
    ['952012345678', { kind: 'ean13' }, 'EAN13', '9520123456788'],
    ['9520123456788', { kind: 'ean13', showText: false }, 'EAN13', '9520123456788'],
    ['4006381333931', { kind: 'ean13', width: 300, color: '#1e3a8a', background: '#fefce8' }, 'EAN13', '4006381333931'],
    ['4006381333931', { kind: 'ean13', width: 130, height: 30 }, 'EAN13', '4006381333931'],
    ['4006381333931', { kind: 'ean13', color: '#ffffff', background: '#000000' }, 'EAN13', '4006381333931'],
    ['NW-10482/a b~', { kind: 'code128' }, 'Code128', 'NW-10482/a b~'],
    ['00340434161094042557', { kind: 'code128', showText: false }, 'Code128', '00340434161094042557'],
    ['x'.repeat(40), { kind: 'code128' }, 'Code128', 'x'.repeat(40)],
    ['(00)340434161094042557', { kind: 'code128', gs1: true }, 'Code128', '(00)340434161094042557'],
    ['Ticket 42; Ada', { kind: 'datamatrix' }, 'DataMatrix', 'Ticket 42; Ada'],
    ['Zoë ^ €5 ^094', { kind: 'datamatrix' }, 'DataMatrix', 'Zoë ^ €5 ^094'],
    ['aB1;'.repeat(200), { kind: 'datamatrix', width: 400 }, 'DataMatrix', 'aB1;'.repeat(200)],
    ['(01)09521234543213(10)ABC', { kind: 'datamatrix', gs1: true }, 'DataMatrix', '(01)09521234543213(10)ABC'],
  ];
  for (const [value, look, format, text] of cases) {
    const found = await read(pngOf(value, wish(look)));
    t.same(found, [{ format, text }], `${look.kind} ${value}`);
  }
});

const payment: JsonObject = {
  kind: 'epc',
  name: '{{seller.name}}',
  iban: '{{seller.iban}}',
  bic: 'COBADEFFXXX',
  amount: '{{total}}',
  text: 'Invoice {{number}}',
};
const due = {
  seller: { name: 'Northwind Röst & Co', iban: 'DE89 3704 0044 0532 0130 00' },
  total: 119.899_999_999_999_99,
  number: 'INV-7',
};
const payload =
  'BCD\n002\n1\nSCT\nCOBADEFFXXX\nNorthwind Röst & Co\nDE89370400440532013000\nEUR119.90\n\n\nInvoice INV-7';

const mail = (props: JsonObject, variables: JsonObject = {}) =>
  renderTemplate(templateOf([{ id: 'code', type: 'qr-code', props }]), variables);
const onlyImage = (inline: ReturnType<typeof mail>['inline']): Buffer => {
  const [image] = inline;
  if (inline.length !== 1 || image === undefined || !('bytes' in image)) throw new Error('not one picture');
  return Buffer.from(image.bytes);
};

void t.test(
  'a mail carries the code as a picture with width, height and text in its place; the text part says it',
  async (t) => {
    const ean = mail(
      { kind: 'ean13', value: '{{gtin}}', size: 200, height: 80, align: 'center' },
      { gtin: 952012345678 },
    );
    t.same(await read(onlyImage(ean.inline)), [{ format: 'EAN13', text: '9520123456788' }]);
    t.match(
      ean.html,
      /<img[^>]* src="cid:ean13-[0-9a-f]{24}@sealpost" alt="9520123456788" width="200" height="\d+" style="[^"]*width:200px;/,
    );
    t.match(ean.text, /^9520123456788$/m);
    const pay = mail(payment, due);
    t.same(await read(onlyImage(pay.inline)), [{ format: 'QRCode', text: payload }]);
    t.match(
      pay.html,
      /alt="Northwind R&#246;st &amp; Co, DE89 3704 0044 0532 0130 00, EUR 119\.90, Invoice INV-7" width="160" height="160"/,
    );
    t.match(pay.text, /DE89 3704 0044 0532 0130 00, EUR 119\.90/);
    const none = mail({ kind: 'code128', value: '{{none}}' });
    t.equal(none.inline.length, 0, 'nothing to say');
    t.notMatch(none.html, /<img/);
    const twice = renderTemplate(
      templateOf(['a', 'b'].map((id) => ({ id, type: 'qr-code', props: { kind: 'code128', value: '{{v}}' } }))),
      {
        v: 'A1',
      },
    );
    t.equal(twice.inline.length, 1, 'the same code is one picture');
    t.same(onlyImage(mail(payment, due).inline), onlyImage(pay.inline), 'the same bytes');
  },
);

void t.test('what a call brings and no code holds is refused by the place it came from', (t) => {
  const failure = (props: JsonObject, variables: JsonObject) => {
    try {
      mail(props, variables);
    } catch (error) {
      return error as { code: string; details: object };
    }
    throw new Error('nothing was thrown');
  };
  t.match(failure({ kind: 'ean13', value: '{{gtin}}' }, { gtin: '9520123456785' }), {
    code: 'VALIDATION_ERROR',
    details: {
      errors: [
        { field: 'variables.gtin', message: /ends in 5, but the check digit of 952012345678 is 8: 9520123456788/ },
      ],
    },
  });
  t.match(failure(payment, { ...due, seller: { name: 'N', iban: 'DE88370400440532013000' } }), {
    code: 'VALIDATION_ERROR',
    details: { errors: [{ field: 'variables.seller.iban', message: /check digits are wrong/ }] },
  });
  t.match(failure(payment, { ...due, total: 'much' }), { details: { errors: [{ field: 'variables.total' }] } });
  t.match(failure({ kind: 'datamatrix', gs1: true, value: '{{v}}' }, { v: '(01)09521234543214' }), {
    details: { errors: [{ field: 'variables.v', message: /GS1: AI 01: Bad checksum/ }] },
  });
  t.match(failure({ kind: 'code128', value: '{{v}}', size: 40 }, { v: 'ABCDEFGHIJ' }), {
    details: { errors: [{ field: 'variables.v', message: /takes \d+ modules across: at a size of 40/ }] },
  });
  t.end();
});

void t.test('a PDF holds the codes as drawings that are read from its print', async (t) => {
  const look = { showText: true, gs1: false, height: undefined };
  const pdf = await makePdf(
    documentOf(
      page([
        component('qr-code', { value: '9520123456788', size: undefined, bars: { kind: 'ean13', ...look } }),
        component('qr-code', { value: 'NW-10482', size: undefined, bars: { kind: 'code128', ...look } }),
        component('qr-code', { value: 'Ticket 42', size: undefined, bars: { kind: 'datamatrix', ...look } }),
        component('qr-code', { value: payload, size: 96 }),
      ]),
    ),
    new Map(),
    { title: 'Codes', author: 'Ada', createdAt: '2026-01-02T03:04:05.000Z' },
    defaultLimits,
  );
  const folder = mkdtempSync(join(tmpdir(), 'sealpost-codes-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'a.pdf'), pdf);
  execFileSync('pdftoppm', ['-r', '200', '-png', '-singlefile', join(folder, 'a.pdf'), join(folder, 'a')]);
  const found = await read(readFileSync(join(folder, 'a.png')), false);
  t.same(found.map(({ text }) => text).sort(), ['9520123456788', payload, 'NW-10482', 'Ticket 42'].sort());
});

void t.test('a workbook of a template that was stored with a code has none', async (t) => {
  const components = [
    { id: 'text', type: 'rich-text', content: '<p>{{total}}</p>' },
    { id: 'code', type: 'qr-code', props: payment },
  ];
  const { content } = checkAttachmentTemplate(attachmentOf(components), defaultLimits);
  const stored = compileDocument(
    { ...content, schema: { ...content.schema, outputFormats: ['pdf', 'excel'] } },
    defaultLimits,
  );
  for (const [format, types] of [
    ['pdf', ['rich-text', 'qr-code']],
    ['excel', ['rich-text']],
  ] as const)
    t.same(
      componentsOf(stored(due, environment, format)).map(({ type }) => type),
      types,
      format,
    );
});

// Pictures in mails say how large they are: what the template leaves open is taken from the picture itself.

/** 7 by 5 pixels. */
const PNG = `data:image/png;base64,${png.toString('base64')}`;
const ASSET = '0b3c6a5e-7b1d-4c1e-9a55-111111111111';
const pictures = new Map([[ASSET, { width: 800, height: 200 }]]);

const imageIn = (component: JsonObject, variables: JsonObject = {}): string => {
  const { content } = checkEmailTemplate(templateOf([component]), defaultLimits);
  const render = openRenderer({ limits: defaultLimits }).compileEmail(content);
  return /<img[^>]*>/.exec(render({ variables, environment, pictures }).html)?.[0] ?? '';
};
const sidesOf = (image: string): readonly (string | undefined)[] =>
  ['width', 'height'].map((side) => new RegExp(` ${side}="([^"]*)"`).exec(image)?.[1]);
const image = (props: JsonObject): JsonObject => ({ id: 'i', type: 'image', props: { alt: '', ...props } });
const rich = (content: string): JsonObject => ({ id: 'r', type: 'rich-text', content });

const cases: readonly (readonly [what: string, component: JsonObject, sides: readonly (string | undefined)[]])[] = [
  ['a data URI', image({ src: PNG }), ['7', '5']],
  ['and a width', image({ src: PNG, width: 70 }), ['70', '50']],
  ['and a height', image({ src: PNG, height: '50px' }), ['70', '50']],
  ['and both', image({ src: PNG, width: 30, height: 30 }), ['30', '30']],
  ['and a share of its place', image({ src: PNG, width: '50%' }), ['268', '191']],
  ['a picture of the gallery is no wider than its place', image({ src: `asset:${ASSET}` }), ['536', '134']],
  ['and a width', image({ src: `asset:${ASSET}`, width: 120 }), ['120', '30']],
  ['wider than its place', image({ src: `asset:${ASSET}`, width: 1072, height: 400 }), ['536', '200']],
  ['brought by a value', image({ src: '{{src}}', width: 120 }), ['120', '30']],
  ['a data URI brought by a value', image({ src: '{{data}}' }), ['7', '5']],
  ['a width brought by a value', image({ src: PNG, width: '{{width}}' }), ['70', '50']],
  [
    'one that is not there',
    image({ src: 'asset:0b3c6a5e-7b1d-4c1e-9a55-222222222222', width: 120 }),
    ['120', undefined],
  ],
  ['another server', image({ src: 'https://example.com/a.png', width: 120 }), ['120', undefined]],
  ['another server, a value', image({ src: 'https://example.com/{{src}}' }), [undefined, undefined]],
  ['rich text', rich(`<p><img src="${PNG}"></p>`), ['7', '5']],
  ['rich text, a width', rich(`<p><img src="asset:${ASSET}" width="40"></p>`), ['40', '10']],
  ['rich text, a value', rich('<p><img src="{{src}}" height="{{height}}"></p>'), ['200', '50']],
  [
    'rich text, another server',
    rich('<p><img src="https://example.com/a.png" width="20" height="{{height}}"></p>'),
    ['20', '50'],
  ],
];

void t.test('what is left open is taken from the picture', (t) => {
  const variables = { src: `asset:${ASSET}`, data: PNG, width: 70, height: 50 };
  for (const [what, component, sides] of cases) t.same(sidesOf(imageIn(component, variables)), sides, what);
  t.end();
});

void t.test('a mail that is accepted has room for the sizes of its pictures', (t) => {
  const { content } = checkEmailTemplate(
    templateOf([image({ src: `asset:${ASSET}` }), rich('{{long}}')]),
    defaultLimits,
  );
  let accepted = 0;
  for (let chars = 1; chars < 400; chars += 1) {
    const limits = { ...defaultLimits, htmlSizeBytesMax: 3_600 };
    const render = openRenderer({ limits }).compileEmail(content);
    const input = { variables: { long: 'a b '.repeat(chars) }, environment };
    const fits = (act: () => unknown): boolean => {
      try {
        act();
        return true;
      } catch {
        return false;
      }
    };
    if (!fits(() => render.check(input))) continue;
    accepted += 1;
    t.ok(
      fits(() => render({ ...input, pictures })),
      `${chars} fit`,
    );
  }
  t.ok(accepted > 10 && accepted < 390, 'around the bound');
  t.end();
});

void t.test('what a picture says of itself is no size that a mail has no room for', (t) => {
  const header = (width: number, height: number, note = ''): string => {
    const bytes = Buffer.alloc(200);
    bytes.write('89504e470d0a1a0a0000000d49484452', 'hex');
    bytes.writeUInt32BE(width, 16);
    bytes.writeUInt32BE(height, 20);
    bytes.write(note, 37, 'latin1');
    return `data:image/png;base64,${bytes.toString('base64')}`;
  };
  t.same(sidesOf(imageIn(image({ src: header(1, 4_294_967_295) }))), ['1', '99999']);
  t.same(sidesOf(imageIn(image({ src: header(4_294_967_295, 1) }))), ['536', '1']);
  t.same(sidesOf(imageIn(image({ src: header(8, 6, 'tEXtSource\0SVG 0x0') }))), ['8', '6']);
  t.same(sidesOf(imageIn(image({ src: header(8, 6, 'tEXtSource\0SVG 0x50') }))), ['8', '6']);
  t.same(sidesOf(imageIn(image({ src: header(8, 6, 'tEXtSource\0SVG 1x999999') }))), ['1', '99999']);
  t.end();
});

// Calculated variables in a mail: wherever a value may stand, with the errors of their expressions, and for nothing
// where there are none.

const failure = (action: () => unknown): DomainError => {
  try {
    action();
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
};

const richText = (id: string, content: string): JsonObject => ({ id, type: 'rich-text', content });
const calculated = (name: string, type: string, expression: string, more: JsonObject = {}): JsonObject => ({
  name,
  type,
  isCalculated: true,
  expression,
  ...more,
});

const order = templateOf(
  [
    {
      id: 'if',
      type: 'conditional',
      props: { condition: '{{isLarge}}', operator: '==', value: true },
      children: [richText('large', 'large')],
      elseChildren: [richText('small', 'small')],
    },
    {
      id: 'each',
      type: 'loop',
      props: { dataSource: '{{dear}}', itemVariable: 'one' },
      children: [richText('one', '{{one.name}}={{one.price}};')],
    },
    {
      id: 'table',
      type: 'table',
      props: {
        dataSource: 'lines',
        columns: [
          { header: 'Line', content: '{{item.text}}' },
          { header: 'Sum', content: '{{item.sum}}' },
        ],
      },
    },
    richText('sum', 'Total {{total}} of {{__CURRENT_YEAR__}}, due {{due}}'),
  ],
  {
    subject: '{{label}}: {{total}}',
    // Written before what they read: the order is found by what each reads.
    variables: [
      calculated('label', 'string', '`${lines.length} lines for ${customer ?? "you"} from ${__COMPANY_NAME__}`'),
      calculated('isLarge', 'boolean', 'total > 50'),
      calculated('total', 'number', 'items.reduce((sum, i) => sum + i.qty * i.price, 0)', {
        format: { style: 'currency', currency: 'EUR' },
      }),
      calculated('dear', 'array', 'items.filter(i => i.price >= 10)', { itemType: 'object' }),
      calculated('lines', 'array', 'items.map(i => ({ text: `${i.qty} x ${i.name}`, sum: i.qty * i.price }))', {
        schema: {
          type: 'array',
          itemSchema: {
            type: 'object',
            properties: { sum: { type: 'number', format: { style: 'number', minimumFractionDigits: 2 } } },
          },
        },
      }),
      calculated('due', 'date', 'new Date(Date.now() + 14 * 86400000).toISOString()', { format: { style: 'date' } }),
      { name: 'items', type: 'array', required: true },
      { name: 'customer', type: 'string' },
    ],
  },
);

void t.test('in conditions, loops, tables, formats and the subject', async (t) => {
  const variables = {
    items: [
      { name: 'Mug', qty: 2, price: 14 },
      { name: 'Tea', qty: 1, price: 4.5 },
      { name: 'Kettle', qty: 1, price: 64.5 },
    ],
  };
  const { subject, text } = renderTemplate(order, variables);
  t.equal(subject, '3 lines for you from Northwind Coffee: €97.00');
  const flat = text.replace(/\s+/g, ' ');
  t.match(flat, /^large Mug=14; Kettle=64.5; /);
  t.match(flat, /2 x Mug 28.00 1 x Tea 4.50 1 x Kettle 64.50/);
  t.match(flat, /Total €97.00 of 2026, due Dec 5, 2026/);
  t.match(renderTemplate(order, { items: [], customer: 'Ada' }), {
    subject: '0 lines for Ada from Northwind Coffee: €0.00',
    text: /^small/,
  });
  t.match(renderTemplate(order, variables, { subject: 'Changed {{total}}' }).subject, 'Changed €97.00');
});

void t.test('a value that the call gives for a calculated variable is not taken', async (t) => {
  t.match(renderTemplate(order, { items: [], total: 1_000_000, isLarge: 'not even a boolean' }), {
    subject: /: €0.00$/,
    text: /^small/,
  });
});

void t.test('errors name the variable, in the rendering and in the check alike', async (t) => {
  const { render } = compile(checkEmailTemplate(order, defaultLimits).content, {
    ...defaultLimits,
    expressionRunOperationsMax: 1_000,
  });
  const input = (variables: JsonObject) => ({ variables, environment: { ...environment, company } });
  for (const act of [render, render.check]) {
    t.match(
      failure(() => act(input({ items: Array.from({ length: 600 }, () => ({ name: 'x', qty: 1, price: 1 })) }))),
      {
        code: 'VALIDATION_ERROR',
        message:
          /^variables\.\w+ cannot be calculated: its expression takes more than 1,000 operations, which is the maximum/,
        details: { errors: [{ field: /^variables\.\w+$/ }], relatedInfo: { reason: 'TOO_MANY_OPERATIONS' } },
      },
    );
    t.match(
      failure(() => act(input({ items: 'none' }))),
      { code: 'VALIDATION_ERROR', message: 'variables.items must be an array, got text' },
    );
    t.match(
      failure(() => act(input({ items: [null] }))),
      { code: 'VALIDATION_ERROR', message: /^variables\.\w+ cannot be calculated: its expression reads/ },
    );
    t.match(
      failure(() => act(input({}))),
      { code: 'VALIDATION_ERROR', details: { errors: [{ field: 'variables.items', message: 'is required' }] } },
    );
    t.match(
      failure(() => act(input({ items: [{ name: 'x', qty: 1, price: 'dear' }] }))),
      { code: 'VALIDATION_ERROR', details: { errors: [{ field: /^variables\./ }] } },
    );
  }
});

void t.test('the language of the mail in text, conditions and expressions', async (t) => {
  const components = [
    richText('text', '{{__LANGUAGE__}} {{__LOCALE__}} {{word}}'),
    {
      id: 'if',
      type: 'conditional',
      props: { condition: '__LANGUAGE__', operator: '==', value: 'de' },
      children: [richText('de', 'Deutsch')],
      elseChildren: [richText('other', 'Other')],
    },
  ];
  const variables = [calculated('word', 'string', "__LANGUAGE__ === 'de' ? 'Stück' : 'pieces'")];
  const template = templateOf(components, { subject: '{{__LOCALE__}}: {{word}}', variables });
  const shown = (language: CallLanguage | undefined): string => {
    const { subject, text } = renderTemplate(template, {}, language && { language });
    return `${subject} | ${text.replace(/\s+/g, ' ').trim()}`;
  };
  t.equal(shown(undefined), 'en-US: pieces | en en-US pieces Other');
  t.equal(shown({ locale: 'de-AT' }), 'de-AT: Stück | de de-AT Stück Deutsch');
  const { content } = checkAttachmentTemplate(
    {
      variables,
      schema: {
        outputFormats: ['pdf', 'excel'],
        pages: [{ pageId: 'p', pageName: 'P', sections: [{ id: 's', type: 'main', components }] }],
      },
    },
    defaultLimits,
  );
  const document = compileDocument(documentInLanguage(content, { locale: 'de-AT' }), defaultLimits);
  for (const format of ['pdf', 'excel'] as const)
    t.same(
      componentsOf(document({}, environment, format)).map((one) => one.type === 'rich-text' && one.html),
      ['de de-AT Stück', 'Deutsch'],
      format,
    );
});

void t.test('results have a type, a default and a size', async (t) => {
  const one = (definition: JsonObject) =>
    templateOf([richText('a', '[{{v}}]')], { variables: [definition, { name: 'x', type: 'string' }] });
  t.match(
    failure(() => renderTemplate(one(calculated('v', 'number', '`text`')))),
    { code: 'VALIDATION_ERROR', message: /variables\.v must be a number, got text; the template calculates it/ },
  );
  t.equal(renderTemplate(one(calculated('v', 'string', 'x?.trim()', { defaultValue: 'nothing' }))).text, '[nothing]\n');
  t.equal(
    renderTemplate(one(calculated('v', 'string', 'x?.trim()', { defaultValue: 'nothing' })), { x: ' a ' }).text,
    '[a]\n',
  );
  t.match(
    failure(() => renderTemplate(one(calculated('v', 'string', 'x.repeat(1000)')), { x: 'x'.repeat(100) })),
    {
      code: 'VALIDATION_ERROR',
      message:
        /variables\.v cannot be calculated: its expression makes a text of 100,000 characters, the maximum is 32,767/,
    },
  );
  t.match(
    failure(() => renderTemplate(one(calculated('v', 'number', '1 / 0')))),
    { code: 'VALIDATION_ERROR', message: /variables\.v cannot be calculated/ },
  );
});
