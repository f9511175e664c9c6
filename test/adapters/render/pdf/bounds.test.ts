/**
 * A PDF within its bounds: limits stop the work, the same input gives the same bytes, and no input ends in anything but
 * a file or an error of ours.
 */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import t from 'tap';
import { makePdf } from '../../../../src/adapters/render/pdf/make-pdf.js';
import { DomainError } from '../../../../src/domain/core/errors.js';
import { defaultLimits, type Limits } from '../../../../src/domain/core/limits.js';
import type { Expanded, ExpandedDocument, ExpandedPage } from '../../../../src/domain/rendering/expand/expanded.js';
import { column, cell, component, documentOf, page, richText, tableOf } from '../../../support/expanded-documents.js';
import { checkedByOthers } from '../../../support/pdf-tools.js';
import { pngSample } from '../../../support/png-samples.js';
import { readPdf } from '../../../support/read-pdf.js';

const metadata = { title: 'Bounds', author: 'Ada', createdAt: '2026-01-02T03:04:05.000Z' };
const make = (document: ExpandedDocument, limits: Limits = defaultLimits): Promise<Uint8Array> =>
  makePdf(document, new Map(), metadata, limits);
const hash = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const uri = (bytes: Buffer): string => `data:image/png;base64,${bytes.toString('base64')}`;

void t.test('pages', async (t) => {
  const lines = (count: number): Expanded =>
    richText(Array.from({ length: count }, (_, at) => `<p>line ${at}</p>`).join(''));
  t.equal(
    readPdf(await make(documentOf(...Array.from({ length: 30 }, () => page([richText('x')]))))).sheets.length,
    30,
  );
  const tooMany = {
    name: 'DomainError',
    code: 'ERR_LIMIT_001',
    message: 'the PDF has at least 31 pages, the maximum is 30',
    details: { relatedInfo: { actualPages: 31, maxPages: 30 } },
  };
  await t.rejects(make(documentOf(...Array.from({ length: 31 }, () => page([])))), tooMany);
  await t.rejects(make(documentOf(page([lines(3_000)]))), tooMany);
  await t.rejects(
    make(
      documentOf(
        page([
          tableOf(
            ['a'],
            Array.from({ length: 3_000 }, () => ['x']),
          ),
        ]),
      ),
    ),
    tooMany,
  );
  await t.rejects(make(documentOf(page([lines(120)])), { ...defaultLimits, pdfPagesMax: 2 }), {
    code: 'ERR_LIMIT_001',
    details: { relatedInfo: { actualPages: 3, maxPages: 2 } },
  });
});

void t.test('size', async (t) => {
  const picture = component('image', { src: uri(pngSample({ colorType: 2, bitDepth: 8, width: 100, height: 100 })) });
  t.ok((await make(documentOf(page([picture])))).length > 1_000);
  await t.rejects(make(documentOf(page([picture])), { ...defaultLimits, documentSizeBytesMax: 1_000 }), {
    code: 'ERR_LIMIT_006',
    message: /^the generated PDF has at least [\d,]+ bytes, the maximum is 1,000$/,
    details: { relatedInfo: { maxSizeBytes: 1_000 } },
  });
});

const varied = (word: string): ExpandedDocument =>
  documentOf(
    page(
      [
        richText(`<h1>${word}</h1><p>a\u00a0b <b>bold</b> <i>${word}</i> \u2126 Ω µ μ ✓</p>`),
        component('image', { src: uri(pngSample({ colorType: 6, bitDepth: 8 })) }),
        component('image', { src: uri(pngSample({ colorType: 4, bitDepth: 8, width: 200, height: 200 })) }),
        component('image', { src: uri(pngSample({ colorType: 3, bitDepth: 4, transparency: [0, 9] })) }),
        component('qr-code', { value: word }),
        component('chart', {
          chartType: 'pie',
          categories: ['a', 'b'],
          series: [{ name: word, color: '#ff0000', values: [1, 2] }],
          showLegend: true,
        }),
        tableOf(
          [word, 'B'],
          Array.from({ length: 60 }, (_, at) => [`${word} ${at}`, 'x']),
        ),
      ],
      { header: { html: '{{pageNumber}}', height: 30, align: 'left' } },
    ),
  );

void t.test('the same input gives the same bytes', async (t) => {
  const first = hash(await make(varied('one')));
  const second = hash(await make(varied('two')));
  t.not(first, second);
  t.equal(hash(await make(varied('one'))), first, 'after another document');
  const together = await Promise.all(['two', 'one', 'two', 'one'].map(async (word) => hash(await make(varied(word)))));
  t.same(together, [second, first, second, first], 'while others are made');
  await make(documentOf(page([richText('Ω\u2126μµ\u00a0 b a ✓')])));
  t.equal(hash(await make(varied('one'))), first, 'after letters that look the same were drawn for others');
});

void t.test('text comes back as it was, whatever was drawn before it', async (t) => {
  const lines = async (text: string): Promise<string> =>
    readPdf(await make(documentOf(page([richText(text)])))).sheets[0]?.lines.join('') ?? '';
  for (const text of ['a\u00a0b', 'a b', '\u00b5', '\u03bc', '-\u2010', 'Ω', '\u2126'])
    t.equal(await lines(text), text);
});

void t.test('nothing is lost in narrow and low places', async (t) => {
  const words = Array.from({ length: 300 }, (_, at) => `w${at}x`);
  const text = `<p>${words.join(' ')}</p>`;
  const small: Partial<ExpandedPage> = {
    format: 'A5',
    orientation: 'landscape',
    margin: { top: 190, right: 190, bottom: 190, left: 190 },
  };
  const shapes: Readonly<Record<string, Expanded>> = {
    text: richText(text),
    large: richText(`<p style="font-size:900pt;line-height:9">${words.slice(0, 20).join(' ')}</p>`),
    container: component('container', {
      children: [richText(text)],
      padding: { top: 300, right: 300, bottom: 300, left: 300 },
      border: { width: 50, style: 'solid', color: '#000' },
    }),
    columns: component('columns', {
      children: Array.from({ length: 12 }, (_, at) => richText(words.slice(at * 25, at * 25 + 25).join(' '))),
      widths: [{ points: 4_000 }],
      gap: 300,
    }),
    table: tableOf(
      ['head '.repeat(60), 'b'],
      [
        [text, 'c'],
        ['d', 'e'],
      ],
    ),
    padded: tableOf(
      ['head', 'b'],
      [
        [text, 'c'],
        ['d', 'e'],
      ],
      { cellPadding: { top: 900, right: 900, bottom: 900, left: 900 }, borderLines: 'all' },
    ),
    deep: richText(`${'<ul><li>'.repeat(20)}${words.join(' ')}${'</li></ul>'.repeat(20)}`),
    indented: richText(`<p style="margin-left:9000px;padding-left:90%">${words.join(' ')}</p>`),
    spans: richText(
      `<table><thead><tr><th colspan="3">${words.join(' ')}</th></tr></thead><tr><td rowspan="9000">a</td><td colspan="9000">b</td></tr><tr><td>c</td></tr></table>`,
    ),
  };
  for (const [what, shape] of Object.entries(shapes)) {
    for (const props of [{}, small]) {
      const limits = { ...defaultLimits, pdfPagesMax: 5_000 };
      const bytes = await make(documentOf(page([shape], props)), limits);
      const read = readPdf(bytes);
      const all = read.sheets
        .map(({ lines }) => lines.join(''))
        .join('')
        .replace(/\s/g, '');
      const letters = (one: string): number => (all.match(new RegExp(one, 'g')) ?? []).length;
      const expected = what === 'large' ? 20 : 300;
      t.ok(letters('w') >= expected && letters('x') >= expected, `${what}: all ${expected} words are there`);
      t.ok(read.sheets.length < 1_500, `${what} on ${read.sheets.length} sheets`);
    }
  }
});

const html = fc.letrec<{ nodes: string }>((tie) => ({
  nodes: fc
    .array(
      fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        fc.string({ maxLength: 12 }),
        fc.constantFrom(
          'text ',
          '<br>',
          '&nbsp;',
          '&amp;lt;',
          '<hr>',
          'שלום',
          'مرحبا 12',
          '漢字',
          '<img src="x" alt="y">',
          '</p></td>',
          '<td>',
          '</table>',
          '\u0000',
          '\ud800',
          '\u202e',
        ),
        fc
          .tuple(
            fc.constantFrom(
              'p',
              'h1',
              'h6',
              'b',
              'i',
              'u',
              'a href="https://a.example"',
              'span style="color:red;font-size:3em"',
              'ul',
              'ol start="-5" type="i" reversed',
              'li value="9"',
              'blockquote',
              'pre',
              'div style="text-align:justify;margin-left:40%"',
              'table',
              'table style="width:300%" border="9"',
              'thead',
              'tr',
              'td colspan="3" rowspan="2" width="900"',
              'th',
              'caption',
              'sup',
              'center',
              'dl',
              'dd',
              'p dir="rtl"',
              'span style="letter-spacing:99px;text-transform:capitalize"',
            ),
            tie('nodes'),
          )
          .map(([tag, inner]) => `<${tag}>${inner}</${tag.split(' ')[0] ?? ''}>`),
      ),
      { maxLength: 5 },
    )
    .map((parts) => parts.join('')),
})).nodes;

const place = fc.tuple(
  html,
  fc.constantFrom('text', 'list', 'cell', 'container', 'columns', 'header'),
  fc.integer({ min: 0, max: 2_000 }),
);

const documentWith = ([markup, where, size]: readonly [string, string, number]): ExpandedDocument => {
  const box = { top: size, right: size, bottom: size / 2, left: size / 3 };
  switch (where) {
    case 'list':
      return documentOf(page([component('list', { items: [markup, markup], ordered: true, padding: box })]));
    case 'cell':
      return documentOf(
        page([
          component('table', {
            columns: [column(markup, { footer: markup, width: { points: size } }), column(markup)],
            rows: [[cell(markup), cell(markup)]],
            cellPadding: box,
          }),
        ]),
      );
    case 'container':
      return documentOf(
        page([
          component('container', {
            children: [richText(markup)],
            padding: box,
            borderRadius: size,
            border: { width: size / 9, style: 'dotted', color: 'red' },
          }),
        ]),
      );
    case 'columns':
      return documentOf(
        page([
          component('columns', {
            children: [richText(markup), richText(markup)],
            gap: size,
            widths: [{ points: size }],
            verticalAlign: 'middle',
          }),
        ]),
      );
    case 'header':
      return documentOf(page([], { margin: box, header: { html: markup, height: size, align: 'right' } }));
    default:
      return documentOf(
        page([component('rich-text', { html: markup, padding: box, style: { fontSize: size, lineHeight: 9 } })]),
      );
  }
};

void t.test('whatever authors and values bring, it ends in a file or in an error of ours', async (t) => {
  const codes = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(place, async (given) => {
      try {
        const bytes = await make(documentWith(given));
        const read = readPdf(bytes);
        codes.set('made', (codes.get('made') ?? 0) + 1);
        if (read.sheets.length < 1) throw new Error('no sheet');
      } catch (fault) {
        if (!(fault instanceof DomainError)) throw fault;
        codes.set(fault.code, (codes.get(fault.code) ?? 0) + 1);
        if (fault.code === 'GENERATION_FAILED')
          throw new Error(`the layout failed: ${fault.message}`, { cause: fault });
      }
    }),
    { numRuns: Number(process.env['SEALPOST_PDF_RUNS'] ?? 150) },
  );
  t.ok((codes.get('made') ?? 0) > 50, JSON.stringify([...codes]));
});

void t.test('a sample is as others read it', async (t) => {
  const bytes = await make(varied('word'));
  await t.resolves(checkedByOthers(bytes, readPdf(bytes)));
});
