/**
 * Parts of pdfmake that we use but that are not its public API are unchanged. If an update fails here, look at each
 * place in src/adapters/render/pdf that uses them, compare the PDFs before and after, then write down the new digest.
 */
import { createHash } from 'node:crypto';
import t from 'tap';
import { faceOf, fontBytes, roboto } from '../../../../src/adapters/render/pdf/font-files.js';
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
