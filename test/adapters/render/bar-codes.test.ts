/** Bar codes and payment codes in all outputs, read back by a program that had no part in drawing them (ZXing). */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { prepareZXingModule, readBarcodes } from 'zxing-wasm/reader';
import { barCodePng, layBarPicture, pixelDefaults, type BarWish } from '../../../src/adapters/render/bar-code.js';
import type { JsonObject } from '../../../src/domain/core/json.js';
import { defaultLimits } from '../../../src/domain/core/limits.js';
import { checkAttachmentTemplate } from '../../../src/domain/rendering/check/document.js';
import { barCodeText } from '../../../src/domain/rendering/codes.js';
import { compileDocument } from '../../../src/domain/rendering/expand/expand.js';
import { attachmentOf, componentsOf } from '../../support/documents.js';
import { component, documentOf, page } from '../../support/expanded-documents.js';
import { environment, renderTemplate, templateOf } from '../../support/rendering.js';
import { makePdf } from '../../../src/adapters/render/pdf/make-pdf.js';

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
