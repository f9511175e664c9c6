/** How a document flows over pages, its bands and its lines. */
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { showNextInlines } from '../../../../src/adapters/render/pdf/layout.js';
import { makePdf } from '../../../../src/adapters/render/pdf/make-pdf.js';
import { LayoutBuilder } from '../../../../src/adapters/render/pdf/pdfmake-internals.js';
import type { JsonObject } from '../../../../src/domain/core/json.js';
import { defaultLimits } from '../../../../src/domain/core/limits.js';
import type { LoadedImage } from '../../../../src/domain/ports/generator.js';
import type { Expanded, ExpandedMargin, ExpandedPage } from '../../../../src/domain/rendering/expand/expanded.js';
import { noBox } from '../../../../src/domain/rendering/lengths.js';
import { attachmentOf, expandTemplate } from '../../../support/documents.js';
import { cell, column, component, documentOf, page, richText, tableOf } from '../../../support/expanded-documents.js';
import { placedWords, type PlacedWord, printedBy } from '../../../support/pdf-words.js';
import { jpeg } from '../../../support/pictures.js';
import { pngSample } from '../../../support/png-samples.js';
import { readPdf } from '../../../support/read-pdf.js';
import { sampleAttachment } from '../../../support/samples.js';

// Sheet breaks: generated documents, read page by page with poppler.

const metadata = { title: 'Flow', author: 'Ada', createdAt: '2026-01-02T03:04:05.000Z' };

const wordsOf = async (components: readonly Expanded[]): Promise<readonly PlacedWord[] | undefined> =>
  placedWords(await makePdf(documentOf(page(components)), new Map(), metadata, defaultLimits));

const lacksPoppler = (await wordsOf([richText('word')])) === undefined && 'poppler is not installed, or not asked';

/** Words of one part of a document: `a12.3` is the fourth word of part 12. */
const prose = (part: string, words: number): string =>
  Array.from({ length: words }, (_, at) => `${part}.${at}`).join(' ');

type Part = Readonly<{
  kind: 'text' | 'heading' | 'title' | 'table' | 'rich-table' | 'kept' | 'framed' | 'columns' | 'spacer';
  size: number;
}>;

const padding = { top: 9, right: 9, bottom: 9, left: 9 };
const border = { width: 1, style: 'solid', color: '#000000' } as const;

const componentsOf = ({ kind, size }: Part, name: string): readonly Expanded[] => {
  switch (kind) {
    case 'text':
      return [richText(`<p>${prose(name, size * 9)}</p>`)];
    case 'heading':
      return [richText(`<h${(size % 6) + 1}>${prose(name, 1 + (size % 20))}</h${(size % 6) + 1}>`)];
    case 'title':
      return [component('rich-text', { html: `<p>intro</p><h2>${prose(name, 2)}</h2>`, style: {}, padding })];
    case 'table':
      return [
        component('table', {
          columns: [column('Head'), column('Sum', { footer: `${name}.total` })],
          rows: rowsOf(name, size).map((row) => row.map(cell)),
          border,
        }),
      ];
    case 'rich-table': {
      const rows = rowsOf(name, size).map(([left, right]) => `<tr><td>${left}</td><td>${right}</td></tr>`);
      const foot = `<tfoot><tr><td>Sum</td><td>${name}.total</td></tr></tfoot>`;
      return [
        richText(
          `<table><thead><tr><th>Head</th><th>x</th></tr></thead><tbody>${rows.join('')}</tbody>${foot}</table>`,
        ),
      ];
    }
    case 'kept':
      return [
        component('container', {
          flow: { keepTogether: true },
          padding,
          children: [richText(`<p>${prose(name, size * 12)}</p>`), picture],
        }),
      ];
    case 'framed':
      return [
        component('container', { border, padding, children: [richText(`<p>${prose(name, size * 4)}</p>`), picture] }),
      ];
    case 'columns':
      return [
        component('columns', {
          flow: { keepTogether: true },
          widths: ['rest', { points: 200 }],
          children: [
            richText(`<p>${prose(name, size * 5)}</p>`),
            richText(`<h3>${name}.side</h3><ul><li>one</li><li>two</li></ul>`),
          ],
        }),
      ];
    case 'spacer':
      return [component('spacer', { height: size }), component('divider', {})];
  }
};

const picture = component('qr-code', { value: 'x', size: 40 });

/** Every third row has several lines. */
const rowsOf = (name: string, size: number): readonly (readonly [string, string])[] =>
  Array.from({ length: size }, (_, row) => [
    `${name}.r${row}`,
    row % 3 === 2 ? `${name}.r${row} ${prose('x', 40)} ${name}.r${row}` : 'y',
  ]);

const parts: fc.Arbitrary<readonly Part[]> = fc.array(
  fc.record({
    kind: fc.constantFrom<Part['kind'][]>(
      'text',
      'heading',
      'title',
      'table',
      'rich-table',
      'kept',
      'framed',
      'columns',
      'spacer',
    ),
    size: fc.integer({ min: 1, max: 24 }),
  }),
  { minLength: 4, maxLength: 24 },
);

const pagesOf = (words: readonly PlacedWord[], match: (text: string) => boolean): readonly number[] =>
  words.filter(({ text }) => match(text)).map((word) => word.page);

/** The faults at the ends of the sheets; empty if all is well. */
const faultsOf = (document: readonly Part[], words: readonly PlacedWord[]): readonly string[] => {
  const faults: string[] = [];
  const say = (isWell: boolean, what: string): void => void (isWell || faults.push(what));
  document.forEach(({ kind, size }, at) => {
    const name = `a${at}`;
    const own = pagesOf(words, (text) => text.startsWith(`${name}.`));
    const isOne = new Set(own).size === 1;
    if (kind === 'kept' || kind === 'columns') say(isOne, `${kind} ${name} stands on the sheets ${own.join()}`);
    if (kind === 'heading' || kind === 'title') {
      say(isOne, `${kind} ${name} is parted`);
      const next = document.findIndex((part, later) => later > at && part.kind !== 'spacer');
      const follows = pagesOf(
        words,
        (text) => text.startsWith(`a${next}.`) || (document[next]?.kind === 'title' && text === 'intro'),
      );
      const isTitle = document[next]?.kind === 'title';
      if (next > 0 && !isTitle) say(follows[0] === own.at(-1), `${kind} ${name} is parted from what follows, a${next}`);
    }
    if (kind === 'table' || kind === 'rich-table') {
      const pageOfRow = (row: number): readonly number[] => pagesOf(words, (text) => text === `${name}.r${row}`);
      for (let row = 0; row < size; row++) say(new Set(pageOfRow(row)).size === 1, `row ${row} of ${name} is parted`);
      const total = pagesOf(words, (text) => text === `${name}.total`)[0];
      say(total === pageOfRow(size - 1)[0], `the total of ${name} is parted from its last row`);
      say(size < 2 || total === pageOfRow(size - 2)[0], `the last row of ${name} is alone with its total`);
      say(size < 2 || pageOfRow(0)[0] === pageOfRow(1)[0], `the first row of ${name} is alone below its header`);
    }
    if (kind === 'text' || kind === 'framed' || kind === 'heading') {
      const expected = kind === 'text' ? size * 9 : kind === 'framed' ? size * 4 : 1 + (size % 20);
      say(own.length === expected, `${kind} ${name} has ${own.length} of ${expected} words`);
    }
  });
  return faults;
};

/** A table of three rows, of which two fit below what stands before it. */
const tableAtFoot: readonly Part[] = [
  { kind: 'spacer', size: 21 },
  { kind: 'framed', size: 14 },
  { kind: 'rich-table', size: 14 },
  { kind: 'rich-table', size: 12 },
  { kind: 'text', size: 11 },
  { kind: 'framed', size: 4 },
  { kind: 'table', size: 3 },
  { kind: 'text', size: 9 },
  { kind: 'columns', size: 19 },
  { kind: 'title', size: 11 },
];

void t.test(
  'headings, rows, totals and what is kept together, in documents of every kind',
  { skip: lacksPoppler },
  async (t) => {
    await fc.assert(
      fc.asyncProperty(parts, async (document) => {
        const words = await wordsOf(document.flatMap((part, at) => componentsOf(part, `a${at}`)));
        if (words === undefined) return;
        const faults = faultsOf(document, words);
        if (faults.length > 0) throw new Error(faults.join('; '));
      }),
      { numRuns: 40, endOnFailure: true, examples: [[tableAtFoot]] },
    );
    t.end();
  },
);

const linesOf = (count: number): Expanded =>
  richText(Array.from({ length: count }, (_, at) => `<p>line${at}</p>`).join(''));
const pageOf = async (t: Test, word: string, components: readonly Expanded[]): Promise<number | undefined> => {
  const words = await wordsOf(components);
  if (words === undefined) t.comment('poppler is not installed');
  return words?.find(({ text }) => text === word)?.page;
};

void t.test('page breaks', { skip: lacksPoppler }, async (t) => {
  const before = component('rich-text', { html: 'second', flow: { pageBreak: 'before' } });
  const after = component('rich-text', { html: 'first', flow: { pageBreak: 'after' } });
  t.equal(await pageOf(t, 'second', [richText('first'), before]), 2);
  t.equal(await pageOf(t, 'second', [before]), 1, 'no empty sheet before the first');
  t.equal(await pageOf(t, 'second', [after, richText('second')]), 2);
  t.equal(await pageOf(t, 'second', [after, before]), 2, 'two breaks at one place are one');
  t.equal(await pageOf(t, 'last', [after, component('spacer', { height: 5 }), richText('last')]), 2);
  t.equal((await wordsOf([after]))?.length ?? 1, 1, 'nothing follows: no empty sheet');
  const nested = component('container', { children: [before, richText('third')], border, padding });
  t.equal(await pageOf(t, 'second', [richText('first'), nested]), 2);
  t.equal(await pageOf(t, 'third', [richText('first'), nested]), 2);
  const beside = component('columns', { widths: ['rest', 'rest'], children: [richText('left'), before] });
  t.equal(await pageOf(t, 'second', [richText('first'), beside]), 1, 'not inside of columns');
});

void t.test('a component that its author keeps with the next one goes with it', { skip: lacksPoppler }, async (t) => {
  const bold = component('rich-text', { html: '<p><b>title</b></p>', flow: { keepWithNext: true } });
  const plain = component('rich-text', { html: '<p><b>title</b></p>' });
  const rows = tableOf(
    ['h'],
    Array.from({ length: 6 }, (_, row) => [`row${row}`]),
  );
  const full = [linesOf(29), component('spacer', { height: 20 })];
  t.equal(await pageOf(t, 'title', [...full, plain, rows]), 1);
  t.equal(await pageOf(t, 'title', [...full, bold, rows]), 2);
  t.equal(await pageOf(t, 'row0', [...full, bold, rows]), 2);
});

void t.test('the last rows of a table stand with the totals in a table of their own below it', async (t) => {
  const totals = component('table', {
    columns: [column(undefined), column(undefined)],
    showHeader: false,
    rows: ['subtotal', 'tax', 'total'].map((name) => [cell(name), cell('1')]),
    flow: { keepTogether: true },
  });
  const itemsOf = (count: number, flow: Expanded['flow']): Expanded =>
    component('table', {
      columns: [column('Head'), column('Sum')],
      rows: rowsOf('a', count).map((row) => row.map(cell)),
      padding,
      ...(flow === undefined ? {} : { flow }),
    });
  const partedAt = async (flow: Expanded['flow']): Promise<readonly number[] | undefined> => {
    const parted: number[] = [];
    for (let count = 1; count <= 34; count++) {
      const words = await wordsOf([richText('<p>to whom</p>'), itemsOf(count, flow), totals]);
      if (words === undefined) return undefined;
      const pageOfWord = (word: string): number | undefined => words.find(({ text }) => text === word)?.page;
      const last = [pageOfWord(`a.r${count - 1}`), pageOfWord(`a.r${Math.max(count - 2, 0)}`), pageOfWord('subtotal')];
      if (new Set([...last, pageOfWord('total')]).size > 1) parted.push(count);
      if (pageOfWord('a.r0') !== 1) throw new Error(`of ${count} rows the first does not stand on the first sheet`);
    }
    return parted;
  };
  const plain = await partedAt(undefined);
  if (plain === undefined) return t.comment('poppler is not installed');
  t.ok(plain.length > 0, 'else they are parted');
  t.same(await partedAt({ keepWithNext: true }), []);
});

void t.test('a thousand rows of one line fit on the sheets that a PDF may have', async (t) => {
  const items = Array.from({ length: defaultLimits.loopIterationsMax }, (_, at) => ({ name: `row${at}`, price: at }));
  const columns = [
    { header: 'Name', content: '{{item.name}}' },
    { header: 'Price', content: '{{item.price}}' },
  ];
  const table = { id: 't', type: 'table', props: { dataSource: 'items', columns } };
  const document = expandTemplate(attachmentOf([table], { variables: [{ name: 'items', type: 'array' }] }), { items });
  const words = await placedWords(await makePdf(document, new Map(), metadata, defaultLimits));
  if (words === undefined) return t.comment('poppler is not installed');
  t.equal(words.find(({ text }) => text === 'row999')?.page, defaultLimits.pdfPagesMax);
});

void t.test('the sums of an invoice stand on the sheet of its last line, however many there are', async (t) => {
  const { locale, timeZone, variables, schema } = sampleAttachment('invoice');
  const given = Object.fromEntries(
    variables.flatMap(({ name, defaultValue }) => (defaultValue === undefined ? [] : [[name, defaultValue]])),
  );
  const order = given['order'] as JsonObject;
  for (let count = 17; count <= 26; count++) {
    const items = Array.from({ length: count }, (_, at) => ({ sku: `sku${at}`, name: 'Mug', quantity: 1, price: 10 }));
    const document = expandTemplate({ locale, timeZone, variables, schema }, {
      ...given,
      order: { ...order, items, shipping: 0, discount: 0 },
    } as JsonObject);
    const words = await placedWords(await makePdf(document, new Map(), metadata, defaultLimits));
    if (words === undefined) return t.comment('poppler is not installed');
    const pageOfWord = (word: string): number | undefined => words.find(({ text }) => text === word)?.page;
    t.equal(pageOfWord('Subtotal'), pageOfWord(`sku${count - 1}`), `${count} lines`);
  }
});

void t.test('what is higher than a sheet breaks, below the heading above it', { skip: lacksPoppler }, async (t) => {
  const kept = component('container', { flow: { keepTogether: true }, children: [linesOf(60)], border, padding });
  const components = [linesOf(5), richText('<h2>title</h2>'), kept];
  t.equal(await pageOf(t, 'title', components), 1);
  t.equal(await pageOf(t, 'line59', components), 3);
  const nearly = component('container', { flow: { keepTogether: true }, children: [linesOf(32)], padding: noBox });
  t.equal(
    await pageOf(t, 'title', [linesOf(5), richText('<h2>title</h2>'), nearly]),
    1,
    'the heading is not left behind alone',
  );
});

void t.test('rows that a cell spans stand on one sheet, and no line of them is parted from its row', async (t) => {
  const spanned = (before: number): Expanded => {
    const rows = Array.from({ length: before }, (_, at) => `<tr><td>r${at}</td><td>x</td></tr>`).join('');
    const inner = ['b', 'c', 'd'].map((part) => `<td>${prose(part, 60)}</td>`);
    const group = `<tr><td rowspan="3">${prose('a', 80)}</td>${inner[0]}</tr><tr>${inner[1]}</tr><tr>${inner[2]}</tr>`;
    return richText(`<table><tbody>${rows}${group}<tr><td>end</td><td>y</td></tr></tbody></table>`);
  };
  let moved = 0;
  for (let before = 14; before <= 34; before += 2) {
    const words = await wordsOf([spanned(before)]);
    if (words === undefined) return void t.pass('needs poppler', { skip: 'no pdftotext' });
    const pages = new Set(words.filter(({ text }) => /^[abcd]\.\d+$/.test(text)).map((word) => word.page));
    t.equal(pages.size, 1, `${before} rows before`);
    if (pages.has(2)) moved += 1;
  }
  t.ok(moved > 2, 'the end of the sheet fell into some');
});

// Headers and footers of a PDF: pictures in them, other ones on the first sheet, and as much room as they need.

const bandsMetadata = { title: 'Bands', author: 'Ada', createdAt: '2026-01-02T03:04:05.000Z' };
const png = pngSample({ colorType: 6, bitDepth: 8, width: 40, height: 20 });
const uri = (type: string, bytes: Uint8Array): string => `data:${type};base64,${Buffer.from(bytes).toString('base64')}`;
const margin = (html: string, more: Partial<ExpandedMargin> = {}): ExpandedMargin => ({
  html,
  height: 30,
  align: 'center',
  ...more,
});
const lines = (count: number): string => Array.from({ length: count }, (_, at) => `<p>line${at}</p>`).join('');

const make = (
  props: Partial<ExpandedPage>,
  text = 'text',
  images: ReadonlyMap<string, LoadedImage> = new Map(),
): Promise<Uint8Array> => makePdf(documentOf(page([richText(text)], props)), images, bandsMetadata, defaultLimits);
const picturesIn = (content: string): number => content.match(/^\/I\d+ Do$/gm)?.length ?? 0;

void t.test('pictures in headers and footers', async (t) => {
  const html = `<p><img src="${uri('image/png', png)}" alt="logo" width="40"> <img src="${uri('image/jpeg', jpeg)}" width="10"></p>`;
  const { sheets } = readPdf(await make({ header: margin(html), footer: margin(html) }, lines(60)));
  t.equal(sheets.length, 2);
  for (const { content } of sheets) t.equal(picturesIn(content), 4, 'on each sheet');

  const asset = 'asset:0b2f5d6e-8f0a-4c7e-9a3b-1c2d3e4f5a6b';
  const images = new Map<string, LoadedImage>([[asset, { bytes: png, contentType: 'image/png' }]]);
  const stored = readPdf(await make({ firstHeader: margin(`<img src="${asset}">`) }, lines(60), images));
  t.same(
    stored.sheets.map(({ content }) => picturesIn(content)),
    [1, 0],
  );
  await t.rejects(make({ footer: margin(`<img src="${uri('image/png', png.subarray(0, 60))}">`) }), {
    code: 'GENERATION_FAILED',
  });
});

const wordsOfBands = async (props: Partial<ExpandedPage>, text: string): Promise<readonly PlacedWord[] | undefined> =>
  placedWords(await make(props, text));
const textsOn = (words: readonly PlacedWord[], sheet: number): readonly string[] =>
  words.filter((word) => word.page === sheet).map(({ text }) => text);

void t.test('the first sheet has its own', async (t) => {
  const props = {
    header: margin('usual'),
    footer: margin('{{pageNumber}}/{{totalPages}}'),
    firstHeader: margin('letterhead', { height: 150 }),
    firstFooter: margin(''),
  };
  const words = await wordsOfBands(props, lines(60));
  if (words === undefined) return t.comment('poppler is not installed');
  t.ok(
    textsOn(words, 1).includes('letterhead') &&
      !textsOn(words, 1).includes('usual') &&
      !textsOn(words, 1).includes('1/2'),
  );
  t.ok(
    !textsOn(words, 2).includes('letterhead') &&
      textsOn(words, 2).includes('usual') &&
      textsOn(words, 2).includes('2/2'),
  );
  const topOf = (text: string): number => words.find((word) => word.text === text)?.top ?? NaN;
  t.ok(topOf('line0') > 148 && topOf('line0') < 160, 'the text begins below the higher header');
  const second = words.find((word) => word.page === 2 && word.text.startsWith('line'));
  t.ok((second?.top ?? NaN) < 60, 'and at its usual place on the next sheet');
  for (let line = 0; line < 60; line++)
    t.equal(words.filter(({ text }) => text === `line${line}`).length, 1, `line ${line} is there`);

  const each = placedWords(
    await makePdf(
      documentOf(page([richText('a')], props), page([richText('b')], { ...props })),
      new Map(),
      bandsMetadata,
      defaultLimits,
    ),
  );
  t.equal(
    each?.filter(({ text }) => text === 'letterhead').length ?? 2,
    2,
    'the first sheet of each page of the template',
  );
});

void t.test('a header or footer of many lines has room, and loses none', async (t) => {
  const address = Array.from({ length: 8 }, (_, at) => `<p>address${at}</p>`).join('');
  const words = await wordsOfBands(
    { header: margin(address), footer: margin(address), firstFooter: margin(address + address) },
    lines(60),
  );
  if (words === undefined) return t.comment('poppler is not installed');
  const sheets = Math.max(...words.map((word) => word.page));
  for (let at = 0; at < 8; at++)
    t.equal(words.filter(({ text }) => text === `address${at}`).length, 2 * sheets + 1, `line ${at}`);
  for (let sheet = 1; sheet <= sheets; sheet++) {
    const own = words.filter((word) => word.page === sheet);
    const text = own.filter(({ text }) => text.startsWith('line'));
    const top = Math.min(...text.map((word) => word.top));
    const bottom = Math.max(...text.map((word) => word.bottom));
    const inside = own.filter(({ text, top: y }) => text.startsWith('address') && y > top && y < bottom);
    t.same(inside, [], `nothing overlaps on sheet ${sheet}`);
  }
});

void t.test('a picture and a watermark behind the text', async (t) => {
  const src = uri('image/jpeg', jpeg);
  const backgroundImage = {
    src,
    fit: 'cover',
    sheets: 'first',
    field: 'schema.pages[0].pageSettings.backgroundImage.src',
  } as const;
  const watermark = { text: 'DRAFT', color: '#ff0000', field: 'schema.pages[0].pageSettings.watermark.text' };
  const bytes = await make({ backgroundImage, watermark, backgroundColor: '#eeeeee' }, lines(60));
  const { sheets } = readPdf(bytes);
  t.same(
    sheets.map(({ content }) => picturesIn(content)),
    [1, 0],
    'on the first sheet alone',
  );
  for (const { content } of sheets) {
    const drawn = content.indexOf('1 0 0 scn');
    t.ok(drawn > 0 && drawn < content.lastIndexOf(' Tf'), 'the watermark is drawn before the text');
    t.notMatch(content.slice(0, drawn), /\/P <</, 'and is not read');
  }
  t.equal(readPdf(await make({ watermark: { ...watermark, text: 'مسودة' } })).sheets.length, 1, 'in any script');
  await t.rejects(
    make({ backgroundImage: { ...backgroundImage, src: 'asset:0b2f5d6e-8f0a-4c7e-9a3b-1c2d3e4f5a6b' } }),
    {
      code: 'GENERATION_FAILED',
    },
  );
});

const lettersOf = (header: JsonObject, content = lines(60)): unknown =>
  attachmentOf([], {
    variables: [{ name: 'number', type: 'string', defaultValue: '4711' }],
    schema: {
      outputFormats: ['pdf', 'excel'],
      pages: [
        {
          pageId: 'page',
          pageName: 'Page',
          pageSettings: { header },
          sections: [{ id: 'section', type: 'main', components: [{ id: 'text', type: 'rich-text', content }] }],
        },
      ],
    },
  });

void t.test('a code beside the text of a header', async (t) => {
  const made = async (code: JsonObject): Promise<Uint8Array> =>
    makePdf(
      expandTemplate(lettersOf({ content: 'No. {{number}}', align: 'left', code })),
      new Map(),
      bandsMetadata,
      defaultLimits,
    );
  const bytes = await made({ value: 'https://example.com/{{number}}', size: 60 });
  const { sheets, structure } = readPdf(bytes);
  t.equal(sheets.length, 2);
  const pathsIn = (content: string): number => content.match(/ l$| h$|\bre$/gm)?.length ?? 0;
  for (const { content } of sheets) t.ok(pathsIn(content) > 100, 'its modules are on each sheet');
  t.notOk(
    structure.some((type) => type.includes('Figure')),
    'it is no part of the text',
  );
  const words = placedWords(bytes);
  if (words === undefined) return t.comment('poppler is not installed');
  const [at] = words.filter(({ text }) => text === 'No.');
  t.ok((at?.left ?? NaN) < 50, 'the text begins at the left');
  t.ok((words.find(({ text }) => text === 'line0')?.top ?? NaN) > 60, 'the margin has room for the code');
  const atStart = placedWords(await made({ value: 'x', size: 60, align: 'start' }));
  const moved = (atStart?.find(({ text }) => text === 'No.')?.left ?? NaN) - (at?.left ?? NaN);
  t.ok(Math.abs(moved - 72) < 1, 'it stands at the left of the text, with a gap');
  t.notOk(
    'code' in
      (expandTemplate(lettersOf({ content: '', code: { value: 'x' } }), {}, { format: 'excel' }).pages[0]?.header ??
        {}),
  );
  const payment = { kind: 'epc', name: 'Ada', iban: '{{iban}}' };
  const headerFor = (code: JsonObject, iban: string) =>
    expandTemplate(lettersOf({ content: '{{iban}}', code }), { iban }).pages[0]?.header ?? {};
  t.ok('code' in headerFor({ ...payment, hideWhenEmpty: true }, 'DE89370400440532013000'));
  t.notOk('code' in headerFor({ ...payment, hideWhenEmpty: true }, ''), 'left out where it is empty');
  t.throws(() => headerFor(payment, ''), { code: 'VALIDATION_ERROR' });
});

void t.test('what is wrong with the code of a header is said', (t) => {
  const checked = (code: unknown) => () => expandTemplate(lettersOf({ content: '', code } as JsonObject));
  t.throws(checked('x'), /header\.code: must be an object with the props of a qr-code/);
  t.throws(checked({}), /header\.code\.value: is required/);
  t.throws(checked({ kind: 'ean13', value: '1' }), /header\.code\.value/);
  t.throws(checked({ value: '{{pageNumber}}' }), /pageNumber/);
  t.throws(checked({ kind: 'ean13', value: '{{number}}' }), /header\.code\.value/);
  t.throws(checked({ value: 'x', hue: 'red' }), /header\.code\.hue/);
  t.end();
});

void t.test('headers and footers keep off the edge of the paper, where printers do not reach', async (t) => {
  const EDGE = 14;
  const high = Array.from({ length: 5 }, (_, at) => `<p>band${at}</p>`).join('');
  const narrow = { top: 6, right: 20, bottom: 6, left: 20 };
  for (const [name, props] of Object.entries({
    'higher than the margin': { header: margin(high, { height: 10 }), footer: margin(high, { height: 10 }) },
    'as high as a narrow margin': {
      margin: narrow,
      header: margin('band', { height: 12 }),
      footer: margin('band', { height: 12 }),
    },
    'in a margin with room': { header: margin('band', { height: 80 }), footer: margin('band', { height: 80 }) },
  })) {
    const words = await wordsOfBands(props, lines(70));
    if (words === undefined) return t.comment('poppler is not installed');
    const sheets = Math.max(...words.map((word) => word.page));
    t.ok(sheets > 1);
    for (let sheet = 1; sheet <= sheets; sheet++) {
      const own = words.filter((word) => word.page === sheet);
      const [bands, text] = [true, false].map((isBand) =>
        own.filter((word) => word.text.startsWith('band') === isBand),
      );
      const top = Math.min(...(bands ?? []).map((word) => word.top));
      const bottom = Math.max(...(bands ?? []).map((word) => word.bottom));
      t.ok(top >= EDGE && bottom <= 841.89 - EDGE, `${name}: ${top} and ${bottom} on sheet ${sheet}`);
      const [first, last] = [
        Math.min(...(text ?? []).map((word) => word.top)),
        Math.max(...(text ?? []).map((word) => word.bottom)),
      ];
      t.same(
        (bands ?? []).filter((word) => word.bottom > first && word.top < last),
        [],
        `${name}: nothing overlaps on sheet ${sheet}`,
      );
    }
  }
});

/** The names of places and their sheets, as poppler reads them. */
const placesOf = (bytes: Uint8Array): readonly string[] | undefined =>
  printedBy('pdfinfo', ['-dests'], bytes)
    ?.split('\n')
    .flatMap((line) => /^ *(\d+) \[ XYZ .*"(.*)"$/.exec(line)?.slice(1).join(' ') ?? []);

/** How many links of a file lead to a place in it. */
const leapsIn = (bytes: Uint8Array): number =>
  Buffer.from(bytes)
    .toString('latin1')
    .match(/\/S \/GoTo/g)?.length ?? 0;

void t.test('links within a document, to elements and components by their ids', async (t) => {
  const html = '<p><a href="#two">two</a> <a href="#box">box</a> <a href="#nowhere">none</a></p>';
  const target = component('container', { children: [richText(`<h2 id="two">Two</h2>${lines(3)}`)] });
  const bytes = await makePdf(
    documentOf(page([richText(html + lines(60)), { ...target, id: 'box' }])),
    new Map(),
    bandsMetadata,
    defaultLimits,
  );
  t.equal(leapsIn(bytes), 2, 'a link to what is not there leads nowhere');
  t.same(placesOf(bytes) ?? ['2 box', '2 two'], ['2 box', '2 two']);
  t.equal(leapsIn(await make({}, '<p><a href="#x y">x</a><a href="javascript:#x">x</a></p>')), 0);
  const twice = await make(
    {},
    `<p><a href="#a">a</a></p><p id="a">${'x '.repeat(9)}</p>${lines(80)}<p id="a">last</p>`,
  );
  t.same(placesOf(twice) ?? ['1 a'], ['1 a'], 'the first of a name');
});

void t.test('a list of contents has the headings and their sheets', async (t) => {
  const body = `<h1>Alpha</h1>${lines(60)}<h2>Beta &amp; more</h2>${lines(60)}<h4>Deep</h4><h1>Gamma</h1>`;
  const contents = { title: 'Contents', levels: 2, field: 'schema.pages[0].pageSettings.contents.title' };
  const document = (props: Partial<ExpandedPage>) =>
    documentOf(page([richText('<p>intro</p>')], props), page([richText(body)]));
  const bytes = await makePdf(document({ contents }), new Map(), bandsMetadata, defaultLimits);
  const { sheets, structure } = readPdf(bytes);
  t.same(sheets[0]?.lines, ['Contents', 'Alpha\t2', 'Beta & more\t3', 'Gamma\t5', 'intro']);
  t.equal(leapsIn(bytes), 6, 'a heading and its number lead there');
  t.same(structure.slice(0, 5), ['Document', '  H2', '  TOC', '    TOCI', '      P']);
  const many = Array.from({ length: 150 }, (_, at) => `<h1>Part${at}</h1>`).join('');
  const long = readPdf(
    await makePdf(
      documentOf(page([], { contents: { ...contents, title: '' } }), page([richText(many)])),
      new Map(),
      bandsMetadata,
      defaultLimits,
    ),
  );
  const shown = long.sheets.flatMap((sheet) => sheet.lines).filter((line) => line.includes('\t'));
  t.equal(shown.length, 150);
  for (const line of shown) {
    const [text = '', sheet] = line.split('\t');
    t.ok(long.sheets[Number(sheet) - 1]?.lines.includes(text), line);
  }
  t.same(
    readPdf(await makePdf(documentOf(page([], { contents })), new Map(), bandsMetadata, defaultLimits)).sheets[0]
      ?.lines,
    ['Contents'],
  );
});

// A text of very many words is broken into the same lines as if pdfmake saw all of them, which it copies for each.

type Inline = Readonly<{
  text: string;
  width: number;
  noNewLine?: boolean;
  lineEnd?: boolean;
  leadingCut: number;
  trailingCut: number;
}>;
type Line = Readonly<{ inlines: readonly Inline[]; lastLineInParagraph: boolean }>;

const WIDTH = 100;

const { buildNextLine } = LayoutBuilder.prototype;

const linesOfInlines = (
  inlines: readonly Inline[],
  before: (node: object) => void,
): Readonly<{ lines: readonly unknown[]; shownMax: number }> => {
  const layout = { writer: { context: () => ({ availableWidth: WIDTH }) } };
  const node = { _inlines: inlines.map((inline) => ({ ...inline })) };
  const lines: unknown[] = [];
  let shownMax = 0;
  for (;;) {
    before(node);
    shownMax = Math.max(shownMax, node._inlines.length);
    const line = buildNextLine.call(layout as never, node as never) as Line | null;
    if (line === null) return { lines, shownMax };
    lines.push([line.lastLineInParagraph, ...line.inlines.map(({ text }) => text)]);
  }
};

const inNextInlines = (): ((node: object) => void) => {
  const show = showNextInlines();
  return (node) => show(node, WIDTH);
};

const inlineOf = fc
  .tuple(
    fc.oneof(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 350 })),
    fc.nat(9),
    fc.nat(9),
    fc.nat(15),
    fc.nat(40),
  )
  .map(([width, leading, trailing, glued, end]) => ({
    width,
    leadingCut: leading === 0 ? width / 2 : 0,
    trailingCut: trailing < 3 ? width : 0,
    ...(glued < 5 && { noNewLine: true }),
    ...(end === 0 && { lineEnd: true }),
  }));

void t.test('the same lines, of words of any width, glued, cut and ended', async () => {
  fc.assert(
    fc.property(fc.array(inlineOf, { minLength: 195, maxLength: 400 }), (given) => {
      const inlines = given.map((inline, at) => ({ ...inline, text: String.fromCharCode(0x4e00 + at) }));
      t.same(linesOfInlines(inlines, inNextInlines()).lines, linesOfInlines(inlines, () => undefined).lines);
    }),
    { numRuns: 300 },
  );
});

void t.test('of twenty thousand words no line sees more than it may take', async (t) => {
  const inlines = Array.from({ length: 20_000 }, (_, at) => ({
    text: String.fromCharCode(0x4e00 + at),
    width: 10,
    leadingCut: 0,
    trailingCut: 0,
  }));
  const { lines, shownMax } = linesOfInlines(inlines, inNextInlines());
  t.equal(lines.length, 2_000);
  t.ok(shownMax <= 25, `${shownMax} words before one line`);
});

void t.test('so it is in a document, of words and of characters without a font', async (t) => {
  let seenMax = 0;
  LayoutBuilder.prototype.buildNextLine = function (this: InstanceType<typeof LayoutBuilder<object>>, node: object) {
    seenMax = Math.max(seenMax, (node as { _inlines?: readonly unknown[] })._inlines?.length ?? 0);
    return buildNextLine.call(this as never, node as never);
  } as typeof buildNextLine;
  t.teardown(() => void (LayoutBuilder.prototype.buildNextLine = buildNextLine));
  const limits = { ...defaultLimits, pdfPagesMax: 1_000 };
  const metadata = { title: 'Words', author: 'Ada', createdAt: '2026-01-02T03:04:05.000Z' };
  for (const text of ['word '.repeat(10_000), '\u{12000}\u{12001}'.repeat(2_000)]) {
    seenMax = 0;
    await makePdf(
      { ...documentOf(page([richText(`<p>${text}</p>`)])), refuses: () => false },
      new Map(),
      metadata,
      limits,
    );
    t.ok(seenMax > 10 && seenMax <= 200, `${seenMax} words before one line`);
  }
});
