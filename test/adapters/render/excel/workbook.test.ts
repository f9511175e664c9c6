/**
 * The workbook as a whole: sheets and their names, limits, properties, links, pictures, the same bytes for the same
 * input.
 */
import t from 'tap';
import ExcelJS from 'exceljs';
import type { DocumentComponent } from '../../../../src/domain/rendering/content.js';
import { pictureSize } from '../../../../src/domain/rendering/pictures.js';
import { svg, turnedJpeg, webpPhoto } from '../../../support/pictures.js';
import { bytesOf, failureOf, metadata, pageOf, workbookOf } from './xlsx.js';

const rich = (content: string, id = 'r'): DocumentComponent => ({ id, type: 'rich-text', content });
const table = (rows: number, more: DocumentComponent['props'] = {}): DocumentComponent => ({
  id: 't',
  type: 'table',
  props: { columns: [{ header: 'A' }], rows: Array.from({ length: rows }, (_, at) => [at]), ...more },
});
const image = (src: string, more: DocumentComponent['props'] = {}): DocumentComponent => ({
  id: 'i',
  type: 'image',
  props: { src, ...more },
});

/** One pixel each. */
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const gif = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
/** 40 by 30 pixels: frame header, scan, end. */
const jpeg = Buffer.from(
  'ffd8ffe000104a46494600010100000100010000ffc0000b08001e002801011100ffda0008010100003f00d2cf20ffd9',
  'hex',
);

void t.test('each page is a sheet', async (t) => {
  const { sheets } = await workbookOf({
    pages: [
      pageOf('Invoice: 2026/11 [draft] of {{who}} and many more', [rich('one')]),
      pageOf('twin', [rich('two')]),
      pageOf('TWIN', [rich('three')]),
      pageOf("'History'", [rich('four')]),
      pageOf('???', [rich('five')]),
    ],
    variables: { who: 'A' },
  });
  t.same(sheets.map(({ name }) => name).slice(1), ['twin', 'TWIN (2)', 'History 1', 'Sheet 5']);
  t.match(sheets[0]?.name, /^Invoice 2026 11 draft/);
  t.ok((sheets[0]?.name.length ?? 99) <= 31);
  t.equal(sheets[1]?.cells.get('A1')?.text, 'two');
});

void t.test('a table names its sheet or begins one', async (t) => {
  const { sheets } = await workbookOf({
    pages: [
      pageOf('Page', [
        rich('<h1>North</h1>'),
        table(1, { sheetName: 'North' }),
        rich('<p>note</p>', 'n'),
        rich('<h2>South</h2>', 's'),
        { ...table(2, { sheetName: 'South' }), id: 'u' },
      ]),
      pageOf('Plain', [table(1)]),
    ],
  });
  t.same(
    sheets.map(({ name }) => name),
    ['North', 'South', 'Plain'],
  );
  t.same(
    [...(sheets[0]?.cells.values() ?? [])].map(({ text }) => text).filter((text) => text !== ''),
    ['North', 'A', '0', 'note'],
  );
  t.equal(sheets[1]?.cells.get('A1')?.text, 'South', 'the title goes along');
});

void t.test('limits stop the work and say how much there was', async (t) => {
  const of = async (given: Parameters<typeof failureOf>[0]) => {
    const { code, message, details } = await failureOf(given);
    return { code, message, relatedInfo: details.relatedInfo };
  };
  t.match(await of({ components: [table(6), { ...table(5), id: 'u' }], limits: { excelRowsMax: 10 } }), {
    code: 'ERR_LIMIT_003',
    relatedInfo: { actualRows: 11, maxRows: 10 },
  });
  t.match(
    await of({ components: [rich('<p>x</p>'.repeat(11))], limits: { excelRowsMax: 10 } }),
    { code: 'ERR_LIMIT_003', relatedInfo: { actualRows: 11, maxRows: 10 } },
    'paragraphs are rows too',
  );
  t.match(await of({ components: [rich('<hr>'.repeat(300_000))] }), {
    code: 'ERR_LIMIT_003',
    relatedInfo: { actualRows: 300_000, maxRows: 10_000 },
  });
  t.match(
    await of({
      pages: [
        pageOf('a', [table(1, { sheetName: 'x' }), { ...table(1, { sheetName: 'y' }), id: 'u' }]),
        pageOf('b', [rich('x')]),
      ],
      limits: { excelSheetsMax: 2 },
    }),
    { code: 'ERR_LIMIT_004', message: /3 sheets, the maximum is 2/, relatedInfo: { actualSheets: 3, maxSheets: 2 } },
  );
  t.match(await of({ components: [table(1, { columns: [{}, {}, {}] })], limits: { excelColumnsMax: 2 } }), {
    code: 'ERR_LIMIT_005',
    relatedInfo: { actualColumns: 3, maxColumns: 2 },
  });
  t.match(
    await of({
      components: [rich(`<table><tr>${'<td>x</td>'.repeat(3)}</tr></table>`)],
      limits: { excelColumnsMax: 2 },
    }),
    {
      code: 'ERR_LIMIT_005',
      relatedInfo: { actualColumns: 3, maxColumns: 2 },
    },
  );
  t.match(await of({ components: [table(10)], limits: { documentSizeBytesMax: 1_000 } }), {
    code: 'ERR_LIMIT_006',
    relatedInfo: { maxSizeBytes: 1_000 },
  });
  t.match(await of({ components: [rich(`<p>${'x'.repeat(200)}</p>`)], limits: { excelCellCharsMax: 100 } }), {
    code: 'VALIDATION_ERROR',
    message: /row 1 of the sheet has 200 characters/,
    relatedInfo: { actualChars: 200, maxChars: 100 },
  });
  t.match(
    await of({
      components: [
        {
          id: 't',
          type: 'table',
          props: {
            columns: [{}, {}],
            rows: [
              ['a', 'b'],
              ['c', '{{long}}'],
            ],
          },
        },
      ],
      variables: { long: 'x'.repeat(101) },
      limits: { excelCellCharsMax: 100 },
    }),
    { code: 'VALIDATION_ERROR', message: /the cell in row 2, column 2 has 101 characters/ },
  );
  await t.resolves(
    bytesOf({ components: [rich('<h1>Title</h1>'), table(10)], limits: { excelRowsMax: 10 } }),
    'titles and headers do not count',
  );
});

void t.test('a large file is refused while it is made', async (t) => {
  // Numbers that no packer can shorten.
  let seed = 7;
  const noise = Array.from({ length: 5_000 }, () =>
    Array.from({ length: 8 }, () => (seed = (seed * 48_271) % 2_147_483_647)),
  );
  const failure = await failureOf({
    components: [
      {
        id: 't',
        type: 'table',
        props: {
          dataSource: '{{rows}}',
          columns: Array.from({ length: 8 }, (_, at) => ({ content: `{{item[${at}]}}` })),
        },
      },
    ],
    variables: { rows: noise },
    limits: { documentSizeBytesMax: 100_000 },
  });
  t.match(failure, { code: 'ERR_LIMIT_006', message: /at least/ });
});

void t.test('the same input gives the same bytes', async (t) => {
  const given = {
    components: [
      rich('<h1>Hello</h1><p><a href="https://example.com/">x</a></p>'),
      table(2_500),
      image('https://example.com/a.png'),
    ],
    images: new Map([['https://example.com/a.png', { bytes: png, contentType: 'image/png' as const }]]),
  };
  const [first, second] = await Promise.all([bytesOf(given), bytesOf(given)]);
  t.ok(Buffer.from(first).equals(Buffer.from(second)));
});

void t.test('properties, paper, header and footer', async (t) => {
  const settings = {
    format: 'Letter',
    orientation: 'landscape',
    margin: { top: '1in', left: '0.5in' },
    header: { content: 'R&amp;D {{who}}', align: 'left' },
    footer: { content: 'Page {{pageNumber}} of {{totalPages}}' },
  } as const;
  const {
    part,
    sheets: [sheet],
  } = await workbookOf({ pages: [pageOf("Bob's", [table(3)], settings)], variables: { who: '&P' } });
  t.match(part('docProps/core.xml'), `<dc:title>Invoice &#60;1&#62; &#38; more</dc:title>`);
  t.match(part('docProps/core.xml'), '2026-11-21T09:30:00Z</dcterms:created>');
  t.match(part('docProps/core.xml'), `<dc:creator>Seal &#38; Post</dc:creator>`);
  t.match(sheet?.xml, /<pageSetup paperSize="1" orientation="landscape"/);
  t.match(sheet?.xml, /<pageMargins left="0\.5" right="[\d.]+" top="1"/);
  t.match(sheet?.xml, '<oddHeader>&amp;LR&amp;&amp;D &amp;&amp;P</oddHeader>', 'a value is no code');
  t.match(sheet?.xml, /<oddFooter>&amp;[LCR]Page &amp;P of &amp;N<\/oddFooter>/);
  t.match(part('xl/workbook.xml'), '&#39;Bob&#39;&#39;s&#39;!$1:$1', 'the header is printed on each page');
  t.notMatch(part('xl/workbook.xml'), 'fullCalcOnLoad', 'no formula is left open');
});

void t.test('rich text', async (t) => {
  const html =
    '<h1 style="text-align:center;color:#ff0000">Big &amp; bold</h1><p>plain <b>bold <i>both</i></b> <u>under</u><s>gone</s> <span style="font-size:20px;background:url(x)">large</span><br>next</p>' +
    '<ul><li>one<ul><li>inner</li></ul></li></ul><ol start="4"><li>four</li><li>five</li></ol><hr><table><tr><th>H</th></tr><tr><td>c</td></tr></table><script>alert(1)</script><p> </p>';
  const {
    sheets: [sheet],
  } = await workbookOf({ components: [rich(html)] });
  const texts = [...(sheet?.cells ?? [])]
    .filter(([, { text }]) => text !== '')
    .map(([address, { text }]) => `${address} ${text}`);
  t.same(texts, [
    'A1 Big & bold',
    'A2 plain bold both undergone large\nnext',
    'A3 • one',
    'A4 • inner',
    'A5 4. four',
    'A6 5. five',
    'A8 H',
    'A9 c',
  ]);
  const title = sheet?.cells.get('A1');
  t.match(title?.xml, /<b\/>.*FFFF0000.*val="20"/s);
  t.match(title?.style.xf, 'horizontal="center"');
  t.match(sheet?.xml, /<mergeCell ref="A1:E1"\/>/, 'over a readable width');
  const runs = sheet?.cells.get('A2')?.xml ?? '';
  t.match(runs, /<b\/><i\/>.*<t>both<\/t>/s);
  t.match(runs, /<u\/>.*<t>under<\/t>/s);
  t.match(runs, /<strike\/>.*<t>gone<\/t>/s);
  t.match(runs, /<sz val="15"\/>.*<t>large<\/t>/s);
  t.match(sheet?.cells.get('A4')?.style.xf, 'indent="1"');
});

void t.test('links', async (t) => {
  const {
    sheets: [sheet],
  } = await workbookOf({
    components: [
      rich(
        '<p><a href="https://example.com/?a=1&amp;b=&quot;2">all of it</a></p><p>see <a href="https://example.com/x">this</a> and <a href="mailto:a@example.com">a@example.com</a></p><p><a href="javascript:alert(1)">no</a></p>',
      ),
      {
        id: 't',
        type: 'table',
        props: { dataSource: '{{rows}}', columns: [{ header: 'L', content: '<a href="{{item}}">open</a>' }] },
      },
    ],
    variables: { rows: ['https://example.com/1', 'javascript:alert(2)', `https://example.com/${'x'.repeat(3_000)}`] },
  });
  t.equal(sheet?.cells.get('A2')?.text, 'see this (https://example.com/x) and a@example.com');
  t.same(
    [...(sheet?.xml.matchAll(/<hyperlink ref="(\w+)"/g) ?? [])].map(([, address]) => address),
    ['A1', 'A6'],
  );
  t.match(sheet?.relations, 'Target="https://example.com/?a=1&#38;b=');
  t.notMatch(sheet?.relations, 'javascript');
});

void t.test('pictures', async (t) => {
  const src = 'https://example.com/a';
  const images = (bytes: Uint8Array) => new Map([[src, { bytes, contentType: 'image/png' as const }]]);
  const found = await workbookOf({
    components: [
      image(src, { width: 200, alt: 'A "logo"', href: 'https://example.com/?x=1&y=2', align: 'right' }),
      image(`data:image/gif;base64,${gif.toString('base64')}`),
    ],
    images: images(jpeg),
  });
  const drawing = found.part('xl/drawings/drawing1.xml');
  t.match(
    drawing,
    /<xdr:col>[1-4]<\/xdr:col>.*cx="2540000" cy="1905000"/s,
    'at the right, 200 points wide, and as high as its shape says',
  );
  t.match(drawing, 'descr="A &#34;logo&#34;"');
  t.match(
    found.part('xl/drawings/_rels/drawing1.xml.rels'),
    'Target="https://example.com/?x=1&#38;y=2" TargetMode="External"',
  );
  t.ok(Buffer.from(found.files['xl/media/image1.jpeg'] ?? []).equals(jpeg));
  t.ok(Buffer.from(found.files['xl/media/image2.gif'] ?? []).equals(gif));
  t.match(found.sheets[0]?.xml, /<row r="1" ht="156"/, 'a row of its own');
  const refused = async (bytes: Uint8Array): Promise<string> => {
    const { code, message, details } = await failureOf({ components: [image(src)], images: images(bytes) });
    t.equal(code, 'GENERATION_FAILED');
    t.match(details.errors?.[0]?.field, /pages\[0\]\.sections\[0\]\.components\[0\]\.props\.src/);
    return message;
  };
  t.match(await refused(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')), /is an SVG that cannot be drawn/);
  t.match(await refused(Buffer.from('RIFF\0\0\0\0WEBPVP8 ')), /is a WebP that cannot be read/);
  t.match(await refused(Buffer.from('hello')), /no known kind/);
  t.match(await refused(png.subarray(0, 40)), /damaged or cut off/);
  t.match(await refused(jpeg.subarray(0, 45)), /damaged or cut off/);
  t.match(await refused(gif.subarray(0, 20)), /damaged or cut off/);
  t.match((await failureOf({ components: [image('https://example.com/other')] })).message, /was not loaded/);
});

void t.test('photos stand as their camera was held, WebP and drawings are converted', async (t) => {
  const uri = (type: string, bytes: Buffer): string => `data:image/${type};base64,${bytes.toString('base64')}`;
  const { files, part } = await workbookOf({
    components: [
      ...[1, 3, 6].map((orientation) => image(uri('jpeg', turnedJpeg(orientation)), { width: 80 })),
      image(uri('webp', webpPhoto)),
      image(uri('svg+xml', svg)),
    ],
  });
  const media = Object.entries(files).flatMap(([name, bytes]) =>
    name.startsWith('xl/media/') ? [Buffer.from(bytes)] : [],
  );
  const [straight, upsideDown, turned, photo, drawing] = media;
  t.ok(straight?.equals(turnedJpeg(1)), 'one that stands upright is left as it is');
  t.same(
    [upsideDown, turned, photo].map((bytes) => pictureSize(bytes ?? Buffer.alloc(0), 'image/jpeg')),
    [
      { width: 32, height: 16 },
      { width: 16, height: 32 },
      { width: 32, height: 16 },
    ],
  );
  t.notOk(
    [upsideDown, turned].some((bytes) => bytes?.includes('Exif')),
    'a reader that follows the note must not turn it again',
  );
  t.equal(drawing?.toString('latin1', 1, 4), 'PNG');
  const extents = [...(part('xl/drawings/drawing1.xml') ?? '').matchAll(/<xdr:ext cx="(\d+)" cy="(\d+)"/g)].map(
    ([, ...size]) => size.map((emu) => Number(emu) / 12_700),
  );
  t.same(extents, [
    [80, 40],
    [80, 40],
    [80, 160],
    [24, 12],
    [5.25, 3.75],
  ]);
});

void t.test('another reader finds the same', async (t) => {
  const bytes = await bytesOf({
    components: [
      rich('<h1>Title</h1>'),
      {
        id: 't',
        type: 'table',
        props: {
          columns: [
            { header: 'Day', type: 'date' },
            { header: 'Sum', type: 'number', format: { style: 'currency', currency: 'EUR' } },
            { header: 'F' },
          ],
          rows: [
            ['2026-11-21', 12.5, '=B{row}*2'],
            [
              { content: 'from', type: 'string' },
              { content: 0.5, format: { style: 'percent' } },
              { content: '=B5/2', format: { style: 'percent' } },
            ],
          ],
        },
      },
      image(`data:image/png;base64,${png.toString('base64')}`),
    ],
  });
  const workbook = new ExcelJS.Workbook();
  await workbook.xlsx.load(Uint8Array.from(bytes).buffer);
  const sheet = workbook.getWorksheet('Page');
  t.equal(workbook.title, metadata.title);
  t.equal(workbook.creator, metadata.author);
  t.equal(workbook.created.toISOString(), '2026-11-21T09:30:00.000Z');
  t.same(sheet?.getCell('A4').value, new Date('2026-11-21'));
  t.equal(sheet?.getCell('B4').value, 12.5);
  t.equal(sheet?.getCell('B4').numFmt, '[$€-409]#,##0.00');
  t.match(sheet?.getCell('C4').value, { formula: 'B4*2' });
  t.same([sheet?.getCell('A5').text, sheet?.getCell('B5').value], ['from', 0.5]);
  t.same([sheet?.getCell('B5').numFmt, sheet?.getCell('C5').numFmt], ['#,##0%', '#,##0%'], 'a cell has its own format');
  t.equal(sheet?.getImages().length, 1);
});

void t.test('languages written from right to left', async (t) => {
  const {
    sheets: [sheet],
  } = await workbookOf({ components: [table(2)], locale: 'ar-EG' });
  t.match(sheet?.xml, 'rightToLeft="1"');
  t.match(sheet?.xml, 'ySplit="1"');
  t.notMatch((await workbookOf({ components: [table(2)] })).sheets[0]?.xml, 'rightToLeft');
});

void t.test(
  'a paragraph that one row cannot show takes several, a cell that cannot show its text is told',
  async (t) => {
    const clause = (at: number): string =>
      `Clause ${at} says that buyer and seller have agreed upon the <b>terms &amp; conditions</b> of clause ${at}.`;
    const clauses = Array.from({ length: 120 }, (_, at) => clause(at));
    const text = (html: string): string => html.replace(/<[^>]*>/g, '').replaceAll('&amp;', '&');
    const told: string[] = [];
    const { sheets } = await workbookOf({
      components: [
        rich(`<p>${clauses.join(' ')}</p><p>\u{1F600}${'\u{1F600}'.repeat(6_000)}</p><p>END</p>`),
        {
          id: 't',
          type: 'table',
          props: {
            columns: [
              { header: 'A', width: 60 },
              { header: 'B', width: 60 },
            ],
            rows: [
              ['short', text(clauses.slice(0, 20).join(' '))],
              ['=A{row}', 'short'],
            ],
          },
        },
        {
          id: 'e',
          type: 'table',
          props: { dataSource: 'none', columns: [{ header: 'A', width: 100 }], emptyText: 'x'.repeat(50) },
        },
      ],
      variables: { none: [] },
      tell: ({ field, message }) => void told.push(`${field}: ${message}`),
    });
    const { cells, xml } = sheets[0]!;
    const shown = [...cells].filter(([address]) => address.startsWith('A')).map(([, cell]) => cell.text);
    const end = shown.indexOf('END');
    const paragraphs = shown.slice(0, end).filter((part) => part.startsWith('Clause'));
    t.ok(paragraphs.length > 4);
    t.equal(paragraphs.join(' '), text(clauses.join(' ')), 'nothing is left out');
    t.ok(
      paragraphs.every((part) => part.endsWith('.')),
      'a row ends with a sentence',
    );
    t.equal([...shown.slice(paragraphs.length, end).join('')].length, 6_001, 'no emoji is cut in two');
    const heights = [...xml.matchAll(/ ht="([\d.]+)"/g)].map(([, height]) => Number(height));
    t.equal(heights.filter((height) => height > 250).length, 1, 'one row is high, that of the table');
    t.equal(told.length, 1);
    t.match(told[0], /components\[1\].*the cell in row 1, column 2: the end of the text cannot be seen.* 409 points/);
    t.ok(heights.at(-1)! > 40, 'the text for an empty table is seen whole');
  },
);
