/** Sheet breaks: generated documents, read page by page with poppler. */
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { makePdf } from '../../../../src/adapters/render/pdf/make-pdf.js';
import { defaultLimits } from '../../../../src/domain/core/limits.js';
import type { Expanded } from '../../../../src/domain/rendering/expand/expanded.js';
import { noBox } from '../../../../src/domain/rendering/lengths.js';
import { cell, column, component, documentOf, page, richText, tableOf } from '../../../support/expanded-documents.js';
import { attachmentOf, expandTemplate } from '../../../support/documents.js';
import type { JsonObject } from '../../../../src/domain/core/json.js';
import { sampleAttachment } from '../../../support/samples.js';
import { placedWords, type PlacedWord } from '../../../support/pdf-words.js';

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
