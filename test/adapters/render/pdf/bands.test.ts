/** Headers and footers of a PDF: pictures in them, other ones on the first sheet, and as much room as they need. */
import t from 'tap';
import { makePdf } from '../../../../src/adapters/render/pdf/make-pdf.js';
import { defaultLimits } from '../../../../src/domain/core/limits.js';
import type { LoadedImage } from '../../../../src/domain/ports/generator.js';
import type { ExpandedMargin, ExpandedPage } from '../../../../src/domain/rendering/expand/expanded.js';
import type { JsonObject } from '../../../../src/domain/core/json.js';
import { attachmentOf, expandTemplate } from '../../../support/documents.js';
import { component, documentOf, page, richText } from '../../../support/expanded-documents.js';
import { placedWords, printedBy, type PlacedWord } from '../../../support/pdf-words.js';
import { jpeg } from '../../../support/pictures.js';
import { pngSample } from '../../../support/png-samples.js';
import { readPdf } from '../../../support/read-pdf.js';

const metadata = { title: 'Bands', author: 'Ada', createdAt: '2026-01-02T03:04:05.000Z' };
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
): Promise<Uint8Array> => makePdf(documentOf(page([richText(text)], props)), images, metadata, defaultLimits);
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

const wordsOf = async (props: Partial<ExpandedPage>, text: string): Promise<readonly PlacedWord[] | undefined> =>
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
  const words = await wordsOf(props, lines(60));
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
      metadata,
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
  const words = await wordsOf(
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
      metadata,
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
    const words = await wordsOf(props, lines(70));
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
    metadata,
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
  const bytes = await makePdf(document({ contents }), new Map(), metadata, defaultLimits);
  const { sheets, structure } = readPdf(bytes);
  t.same(sheets[0]?.lines, ['Contents', 'Alpha\t2', 'Beta & more\t3', 'Gamma\t5', 'intro']);
  t.equal(leapsIn(bytes), 6, 'a heading and its number lead there');
  t.same(structure.slice(0, 5), ['Document', '  H2', '  TOC', '    TOCI', '      P']);
  const many = Array.from({ length: 150 }, (_, at) => `<h1>Part${at}</h1>`).join('');
  const long = readPdf(
    await makePdf(
      documentOf(page([], { contents: { ...contents, title: '' } }), page([richText(many)])),
      new Map(),
      metadata,
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
    readPdf(await makePdf(documentOf(page([], { contents })), new Map(), metadata, defaultLimits)).sheets[0]?.lines,
    ['Contents'],
  );
});
