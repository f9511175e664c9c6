/** Charts of documents, and the parts of pdfmake that are used. */
import { createHash } from 'node:crypto';
import { parseDocument } from 'htmlparser2';
import t from 'tap';
import { niceScale } from '../../../../src/adapters/render/pdf/chart-axes.js';
import { chartSvg, inkOn, sharesOf, slicesOf } from '../../../../src/adapters/render/pdf/charts.js';
import { faceOf, fontBytes, roboto } from '../../../../src/adapters/render/pdf/font-files.js';
import { openFonts } from '../../../../src/adapters/render/pdf/fonts.js';
import {
  buildColumnWidths,
  fontMakerOf,
  LayoutBuilder,
  PdfmakeDocument,
  Renderer,
  SvgMeasure,
  TableProcessor,
  tableLayouts,
  type Measured,
  type MeasuredTable,
} from '../../../../src/adapters/render/pdf/pdfmake-internals.js';
import { chartTypes } from '../../../../src/domain/rendering/css.js';
import type { ExpandedChart } from '../../../../src/domain/rendering/expand/expanded.js';
import type { ValueFormat } from '../../../../src/domain/rendering/scope/definitions.js';

// Charts as drawings: the right marks for the data, words where there is none, and a bounded, repeatable text.

const place = { fonts: openFonts(), locale: 'en-US', direction: 'ltr' as const };
const chart = (changes: Partial<ExpandedChart>): ExpandedChart => ({
  type: 'chart',
  id: 'c1',
  field: 'pages[0].sections[0].components[0]',
  chartType: 'column',
  title: '',
  xTitle: '',
  yTitle: '',
  showLegend: false,
  categories: ['Q1', 'Q2', 'Q3'],
  series: [{ name: 'Sales', color: '#2563eb', values: [10, 20, 40] }],
  ...changes,
});
const svgOf = (changes: Partial<ExpandedChart>, width = 400): string => chartSvg(chart(changes), width, place).svg;
const textsIn = (svg: string): readonly string[] =>
  [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text!);
const filledPaths = (svg: string, color: string): readonly string[] =>
  [...svg.matchAll(new RegExp(`<path d="([^"]*)" fill="${color}"/>`, 'g'))].map(([, path]) => path!);

void t.test('the axis of values is written as the first series', async (t) => {
  const shown = (
    format: ValueFormat,
    values: number[],
    chartType: ExpandedChart['chartType'] = 'column',
  ): readonly string[] =>
    textsIn(
      svgOf({
        chartType,
        series: [{ name: 'Sales', color: '#2563eb', values, displayFormat: { type: 'number', format } }],
      }),
    );
  t.ok(shown({ style: 'currency', currency: 'USD' }, [10_000, 20_000, 40_000]).includes('$40,000'));
  t.ok(shown({ style: 'currency', currency: 'USD' }, [1, 2, 4], 'bar').includes('$4.00'));
  t.ok(shown({ style: 'percent' }, [0.1, 0.2, 0.4]).includes('40%'));
  t.ok(shown({ style: 'currency', currency: 'USD' }, [1e6, 2e6, 4e6]).includes('$4M'));
});

/** x, y, width and height of the rectangles of a path. */
const rectangles = (path: string): readonly (readonly number[])[] =>
  [...path.matchAll(/M(\S+) (\S+)h(\S+)v(\S+)h\S+z/g)].map((match) => match.slice(1, 5).map(Number));

for (const chartType of chartTypes) {
  void t.test(`${chartType}: well formed, repeatable, with title, legend and colours`, async (t) => {
    const given: Partial<ExpandedChart> = {
      chartType,
      title: 'Sales & <more>',
      showLegend: true,
      categories: ['North', 'South'],
      series: [{ name: 'A & B', color: '#123456', values: [3, 1] }],
    };
    const svg = svgOf(given);
    t.equal(svgOf(given), svg);
    t.ok(textsIn(svg).includes('Sales &amp; &lt;more&gt;'));
    t.notMatch(svg, /NaN|Infinity|undefined/);
    const [root, ...others] = parseDocument(svg, { xmlMode: true }).children;
    t.equal(others.length, 0);
    t.match(root, { name: 'svg', attribs: { width: '400' } });
    const isRound = chartType === 'pie' || chartType === 'doughnut';
    t.ok(textsIn(svg).includes(isRound ? 'North' : 'A &amp; B'));
    if (!isRound) t.match(svg, '#123456');
    const { width, height } = chartSvg(chart({ ...given, width: 300, height: 150 }), 400, place);
    t.strictSame([width, height], [300, 150]);
    t.equal(chartSvg(chart({ ...given, width: 900 }), 400, place).width, 400, 'never wider than the room');
  });

  void t.test(`${chartType}: no data is said in words, and odd data is drawn`, async (t) => {
    for (const series of [
      [],
      [{ name: 'x', color: '#000000', values: [] }],
      [{ name: 'x', color: '#000000', values: [null, null, null] }],
    ]) {
      t.ok(textsIn(svgOf({ chartType, series })).includes('No data'));
    }
    for (const values of [[0, 0, 0], [1.7e308, -1.7e308, 5e-324], [1e-12, 2e-12, 3e-12], [7], [-1, -2, -3]]) {
      t.notMatch(svgOf({ chartType, series: [{ name: 'x', color: 'red', values }] }), /NaN|Infinity|undefined/);
    }
    t.notMatch(
      svgOf({ chartType, width: 1, height: 1, title: 'A title', showLegend: true }),
      /NaN|Infinity|undefined/,
      'hardly any room',
    );
  });
}

void t.test('columns stand on zero, as high as their values', async (t) => {
  const bars = rectangles(
    filledPaths(svgOf({ series: [{ name: 'x', color: '#2563eb', values: [10, -20, 40] }] }), '#2563eb')[0]!,
  );
  t.equal(bars.length, 3);
  const [first, second, third] = bars as [number[], number[], number[]];
  const near = (a: number, b: number): boolean => Math.abs(a - b) < 0.05;
  t.ok(near(third[3]! / first[3]!, 4) && near(second[3]! / first[3]!, 2));
  t.ok(
    near(first[1]! + first[3]!, third[1]! + third[3]!) && near(second[1]!, first[1]! + first[3]!),
    'a negative one hangs below',
  );
});

void t.test('bars lie on zero, as long as their values', async (t) => {
  const [first, second] = rectangles(
    filledPaths(
      svgOf({ chartType: 'bar', categories: ['a', 'b'], series: [{ name: 'x', color: '#2563eb', values: [30, -10] }] }),
      '#2563eb',
    )[0]!,
  ) as [number[], number[]];
  t.ok(Math.abs(first[2]! / second[2]! - 3) < 0.01);
  t.ok(Math.abs(second[0]! + second[2]! - first[0]!) < 0.05);
});

void t.test('stacked columns add up, above and below zero apart', async (t) => {
  const svg = svgOf({
    chartType: 'stacked-column',
    categories: ['a'],
    series: [
      ['#111111', 10],
      ['#222222', 5],
      ['#333333', -5],
    ].map(([color, value]) => ({ name: String(color), color: String(color), values: [Number(value)] })),
  });
  const [low, high, below] = ['#111111', '#222222', '#333333'].map(
    (color) => rectangles(filledPaths(svg, color)[0]!)[0]!,
  ) as [number[], number[], number[]];
  t.ok(Math.abs(high[1]! + high[3]! - low[1]!) < 0.05, 'the second stands on the first');
  t.ok(Math.abs(below[1]! - (low[1]! + low[3]!)) < 0.05, 'the negative one hangs from zero');
});

void t.test('a line is broken where there is no value, and a single point is a dot', async (t) => {
  const svg = svgOf({
    chartType: 'line',
    categories: ['a', 'b', 'c', 'd', 'e', 'f'],
    series: [{ name: 'x', color: '#2563eb', values: [1, 2, null, 3, null, 4] }],
  });
  const [, path] = /<path d="([^"]*)" fill="none" stroke="#2563eb"/.exec(svg)!;
  t.equal(path!.match(/M/g)!.length, 1, 'one piece has two points');
  t.equal(svg.match(/<circle/g)!.length, 4);
});

void t.test('slices have their shares; the smallest become one', async (t) => {
  const many = chart({
    chartType: 'pie',
    categories: Array.from({ length: 30 }, (_, at) => `c${at}`),
    series: [{ name: 'x', color: '#2563eb', values: Array.from({ length: 30 }, (_, at) => at) }],
  });
  const slices = slicesOf(many, 5);
  t.strictSame(
    slices.map(({ label }) => label),
    ['c26', 'c27', 'c28', 'c29', '… (25)'],
  );
  t.equal(
    slices.reduce((sum, { value }) => sum + value, 0),
    435,
  );
  t.ok(Math.abs(sharesOf(slices).reduce((sum, share) => sum + share, 0) - 1) < 1e-9);
  t.strictSame(
    slicesOf(chart({ series: [{ name: 'x', color: 'red', values: [-1, 3, null] }] }), 5).map(({ label }) => label),
    ['Q2'],
    'no share of what is not above zero',
  );
  t.ok(
    textsIn(svgOf({ chartType: 'doughnut', series: [{ name: 'x', color: 'red', values: [1, 1, 2] }] })).filter(
      (text) => text === '25%',
    ).length === 2,
  );
  t.strictSame([inkOn('#111827'), inkOn('#f59e0b')], ['#ffffff', '#111827']);
});

void t.test('axes have round numbers', async (t) => {
  t.strictSame(niceScale(0, 97, 5, true).ticks, [0, 20, 40, 60, 80, 100]);
  t.strictSame(niceScale(-3, 7, 5, true).ticks, [-4, -2, 0, 2, 4, 6, 8]);
  t.strictSame(niceScale(0, 0.3, 3, true).ticks, [0, 0.1, 0.2, 0.3]);
  t.strictSame(niceScale(1_001, 1_003, 2, false).ticks, [1_001, 1_002, 1_003], 'values close together are told apart');
  t.equal(niceScale(1_001, 1_003, 2, true).ticks[0], 0, 'bars are not cut off');
  t.ok(textsIn(svgOf({ series: [{ name: 'x', color: 'red', values: [1_500_000, 4_000_000, 2] }] })).includes('4M'));
  const german = chartSvg(chart({ series: [{ name: 'x', color: 'red', values: [0.5, 1.25, 2.5] }] }), 400, {
    ...place,
    locale: 'de-DE',
  }).svg;
  t.ok(textsIn(german).some((text) => /^\d,5$/.test(text)));
});

void t.test('many and long labels are thinned and cut; thousands of points are bounded', async (t) => {
  const categories = Array.from({ length: 5_000 }, (_, at) => `A rather long name of category ${at}`);
  const values = categories.map((_, at) => Math.sin(at / 10) * 100);
  const line = svgOf({ chartType: 'line', categories, series: [{ name: 'x', color: '#2563eb', values }] });
  t.ok(textsIn(line).length < 60);
  t.ok(line.length < 100_000, `${line.length} characters`);
  t.ok(textsIn(line).some((text) => text.endsWith('…')));
  t.ok(
    svgOf({ chartType: 'pie', categories, series: [{ name: 'x', color: '#2563eb', values }], showLegend: true })
      .length < 20_000,
  );
  const legend = svgOf({
    showLegend: true,
    series: Array.from({ length: 100 }, (_, at) => ({ name: `Series ${at}`, color: 'red', values: [1, 2, 3] })),
  });
  t.ok(textsIn(legend).filter((text) => text.startsWith('Series')).length < 24);
});

void t.test('text of other scripts is drawn as outlines, and what no font has is refused', async (t) => {
  const svg = svgOf({
    title: 'المبيعات',
    categories: ['ינואר', 'मार्च', '5月'],
    showLegend: true,
    series: [{ name: '한국', color: '#2563eb', values: [1, 2, 3] }],
  });
  t.notMatch(svg, /المبيعات|ינואר|मार्च/);
  t.ok(svg.match(/scale\(0\.0\d+\)/g)!.length >= 4);
  t.match(svg, 'font-family="NotoSansKR"');
  t.throws(() => svgOf({ title: 'አማርኛ' }), { code: 'FONT_MISSING' });
});

// Parts of pdfmake that we use but that are not its public API are unchanged. If an update fails here, look at each
// place in src/adapters/render/pdf that uses them, compare the PDFs before and after, then write down the new digest.

const digestOf = (member: unknown): string =>
  typeof member === 'function'
    ? createHash('sha256').update(member.toString()).digest('hex').slice(0, 12)
    : typeof member;

const digests = (prototype: object, names: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(names.map((name) => [name, digestOf((prototype as Record<string, unknown>)[name])]));

const EXTENDED = {
  LayoutBuilder: {
    registerTableLayouts: '119d4403d751',
    layoutDocument: '9447035c5308',
    processNode: 'ccc12d1f98f1',
    processSection: '2a0a76a64eb1',
    processRow: '294df538613a',
    _findSameRowPageBreakByRowSpanData: 'dff247264e68',
    _getPageBreakListBySpan: 'b9fe15baff21',
    processVerticalContainer: '9388f51211d3',
    processTable: '9e7a2ad113f5',
    processImage: '1a6cedb0433d',
    processSVG: 'd4d39101aa16',
    buildNextLine: 'f9a0444e3740',
  },
  TableProcessor: {
    beginTable: '2770b04a22a4',
    beginRow: 'b8556ae5cb5b',
    endRow: '1c26fd73945d',
    endTable: '5c4cbcfb3106',
    drawHorizontalLine: '1b7efb3df276',
  },
  Renderer: {
    renderPages: '429c66b67fe2',
    renderLine: 'b71f57566c6b',
    renderVector: '5d19ddae02ff',
    renderImage: '59da5a9700c2',
    renderSVG: '117c94b48793',
  },
  PDFDocument: {
    _write: 'cb6025cb807e',
    font: '652a31ad704f',
    fontSize: '00ebbc4e73c2',
    openImage: '6754dffa8bd9',
    addStructure: '2a0e18d7eb47',
    struct: '4aba3662410a',
    markContent: '49474afc17f1',
    markStructureContent: 'e55a204ea8ce',
    endMarkedContent: 'e955137ddb69',
    endOutline: 'e2c0eca55902',
    link: '217c2001eba3',
    end: 'a867c0c56a0a',
  },
};

await t.test('the methods that are overridden or called are the ones that were read', (t) => {
  const prototypes = {
    LayoutBuilder: LayoutBuilder.prototype,
    TableProcessor: TableProcessor.prototype,
    Renderer: Renderer.prototype,
    PDFDocument: PdfmakeDocument.prototype,
  };
  for (const name of ['LayoutBuilder', 'TableProcessor', 'Renderer', 'PDFDocument'] as const)
    t.same(digests(prototypes[name], Object.keys(EXTENDED[name])), EXTENDED[name], name);
  t.equal(digestOf(buildColumnWidths), '3bd01ec5c2b2', 'columnCalculator.buildColumnWidths');
  t.end();
});

const openDocument = () =>
  new PdfmakeDocument(
    { Roboto: { normal: fontBytes(roboto.files.normal) } },
    {},
    {},
    {},
    { autoFirstPage: false, compress: false },
  );

await t.test('a document has the fields that are read and written', (t) => {
  const document = openDocument();
  document.on('data', () => undefined);
  t.type(document._offset, 'number');
  t.type(document._fontCount, 'number');
  t.type(document._fontSize, 'number');
  for (const name of ['_fontFamilies', '_imageRegistry', '_root'] as const) t.type(document[name], 'object', name);
  t.type(document._root.data, 'object');
  (document as unknown as { addPage: () => void }).addPage();
  t.ok(Array.isArray(document.page.markings));
  const before = document._offset;
  document._write('%');
  t.equal(document._offset, before + 2, 'a piece counts with its line end');
  t.end();
});

await t.test('a font is embedded by a class that asks layoutCached for its words', (t) => {
  const face = faceOf(roboto.files.normal);
  const font = new (fontMakerOf(fontBytes(roboto.files.normal)))(openDocument(), face, 'F1');
  t.match(font.layoutRun('word'), { glyphs: { length: 4 }, positions: { length: 4 } });
  t.type(font.layoutCached, 'function');
  t.match((font as object as { layout: () => unknown }).layout.toString(), /layoutCached/);
  t.type((face as object as { _glyphs: object })._glyphs, 'object');
  t.end();
});

/** Keeps what the layout shows of itself on its way. */
class WatchedLayout extends LayoutBuilder<object> {
  readonly tables: MeasuredTable[] = [];
  readonly firstCells: Measured[] = [];
  readonly lists: object[] = [];
  readonly lines: object[] = [];
  readonly called = new Set<string>();

  override processNode(node: object, isVerticalAlignmentAllowed?: boolean): void {
    this.called.add('processNode');
    if ('ul' in node) this.lists.push(node);
    super.processNode(node, isVerticalAlignmentAllowed);
  }
  override processVerticalContainer(node: object): void {
    this.called.add('processVerticalContainer');
    super.processVerticalContainer(node);
  }
  override processTable(table: object): void {
    const node = table as MeasuredTable;
    // The words are taken off the cells as lines are made of them.
    this.firstCells.push({
      ...node.table.body[0]?.[0],
      _inlines: [...((node.table.body[0]?.[0] as Measured)._inlines ?? [])],
    });
    super.processTable(node);
    this.tables.push(node);
  }
  override buildNextLine(node: object) {
    const line = super.buildNextLine(node);
    if (line !== null) this.lines.push(line);
    return line;
  }
}

await t.test('measured nodes, lines and pages have what is read of them, and pdfmake calls what is overridden', (t) => {
  const layout = new WatchedLayout(
    { width: 300, height: 300 },
    { left: 10, top: 10, right: 10, bottom: 10 },
    new SvgMeasure(),
  );
  layout.registerTableLayouts(tableLayouts);
  const pages = layout.layoutDocument(
    {
      stack: [
        { text: 'Two words', margin: [1, 2, 3, 4] },
        { ul: [{ text: 'item' }] },
        {
          table: {
            headerRows: 1,
            widths: ['auto', '*'],
            body: [
              [{ text: 'a', colSpan: 2 }, {}],
              [{ text: 'b' }, { text: 'c' }],
            ],
          },
        },
        { svg: '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="20"></svg>' },
        { canvas: [{ type: 'rect', x: 0, y: 0, w: 10, h: 10 }] },
      ],
    },
    openDocument(),
    {},
    { font: 'Roboto', fontSize: 10 },
  );
  t.same([...layout.called].sort(), ['processNode', 'processVerticalContainer']);
  const [table] = layout.tables;
  t.type(table?._offsets.total, 'number');
  for (const width of table?.table.widths ?? [])
    t.match(width, { _minWidth: Number, _maxWidth: Number, _calcWidth: Number });
  t.match(layout.firstCells[0], { _margin: null, _inlines: [{ width: Number, height: Number }] });
  t.match(table?.table.body[0]?.[1], { _span: true });
  for (const name of ['paddingTop', 'paddingBottom', 'hLineWidth'] as const)
    t.type(table?._layout[name](0, table), 'number', name);
  t.match(layout.lists[0], {
    _gapSize: { height: Number, lineHeight: Number },
    ul: [{ listMarker: { canvas: [{ y: Number }] } }],
  });
  t.match(layout.lines[0], {
    inlines: [
      { text: 'Two ', x: Number, width: Number, fontSize: 10, leadingCut: Number, trailingCut: Number, font: Object },
    ],
    leadingCut: Number,
    trailingCut: Number,
    inlineWidths: Number,
    maxWidth: 276,
  });
  t.type((layout.lines[0] as { getHeight: () => number }).getHeight(), 'number');
  t.match(pages[0], { pageSize: { width: 300, height: 300 } });
  t.ok(pages[0]?.items.every(({ type, item }) => typeof type === 'string' && typeof item === 'object'));
  t.same([...new Set(pages[0]?.items.map(({ type }) => type))].sort(), ['line', 'svg', 'vector']);

  const { writer } = layout;
  t.equal(writer.transactionLevel, 0);
  t.equal(writer.addVector.length, 5);
  t.match(writer.context(), {
    page: 0,
    x: Number,
    y: Number,
    availableWidth: Number,
    availableHeight: Number,
    pageMargins: { top: 10, bottom: 10 },
    backgroundLength: [Number],
  });
  t.equal(writer.context().getCurrentPage(), writer.context().pages[0]);
  t.same(new SvgMeasure().measureSVG('<svg width="10" height="20"></svg>'), { width: 10, height: 20 });
  t.end();
});
