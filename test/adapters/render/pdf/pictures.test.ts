/**
 * Pictures in a PDF: every kind of PNG, JPEG and SVG is drawn as it is; one that cannot be drawn is an error that names
 * its place.
 */
import t from 'tap';
import { makePdf } from '../../../../src/adapters/render/pdf/make-pdf.js';
import { drawnSvg } from '../../../../src/adapters/render/pdf/pictures.js';
import { openFonts } from '../../../../src/adapters/render/pdf/fonts.js';
import { defaultLimits } from '../../../../src/domain/core/limits.js';
import type { LoadedImage } from '../../../../src/domain/ports/generator.js';
import { component, documentOf, page, richText } from '../../../support/expanded-documents.js';
import { checkedByOthers, drawnPages, drawsPages, runs, screenshot } from '../../../support/pdf-tools.js';
import {
  animatedWebp,
  gif,
  gifWithOffset,
  jpeg,
  losslessWebp,
  seenSquares,
  SQUARES,
  turnedJpeg,
  webpPhoto,
} from '../../../support/pictures.js';
import { drawSvg } from '../../../../src/adapters/render/svg/draw.js';
import { gridOf, readPng, type Picture } from '../../../support/picture-grid.js';
import { svgSamples } from '../../../support/svg-samples.js';
import {
  chunk,
  headerChunk,
  pngSample,
  sampleAt,
  shownAt,
  SIGNATURE,
  type PngSample,
} from '../../../support/png-samples.js';
import { placedWords } from '../../../support/pdf-words.js';
import { readPdf, type ReadPdf } from '../../../support/read-pdf.js';

const metadata = { title: 'Pictures', author: '', createdAt: '2026-01-02T03:04:05.000Z' };
const SRC = 'https://example.com/picture';
const FIELD = 'schema.pages[0].sections[0].components.image.props.src';

const withImage = async (
  image: LoadedImage,
  props: Parameters<typeof component<'image'>>[1] = {},
): Promise<ReadPdf> => {
  const bytes = await makePdf(
    documentOf(page([component('image', { src: SRC, alt: 'A picture', ...props }), richText('after')])),
    new Map([[SRC, image]]),
    metadata,
    defaultLimits,
  );
  const read = readPdf(bytes);
  await checkedByOthers(bytes, read);
  return read;
};
const withDataUri = (src: string): Promise<ReadPdf> =>
  withImage({ bytes: new Uint8Array(), contentType: 'image/png' }, { src });
const refused = (message: RegExp) => ({
  name: 'DomainError',
  code: 'GENERATION_FAILED',
  message,
  details: { relatedInfo: { field: FIELD } },
});
const png = (bytes: Buffer): LoadedImage => ({ bytes, contentType: 'image/png' });
const sizeOf = ({ sheets }: ReadPdf): readonly number[] =>
  (/^([\d.]+) 0 0 -([\d.]+) [\d.]+ [\d.]+ cm\n\/I1 Do/m.exec(sheets[0]?.content ?? '') ?? []).slice(1).map(Number);

const samples: readonly PngSample[] = (
  [
    [0, [1, 2, 4, 8, 16]],
    [2, [8, 16]],
    [3, [1, 2, 4, 8]],
    [4, [8, 16]],
    [6, [8, 16]],
  ] as const
).flatMap(([colorType, depths]) =>
  depths.flatMap((bitDepth) =>
    [false, true].flatMap((interlaced) => [
      { colorType, bitDepth, interlaced },
      ...(colorType === 3 ? [{ colorType, bitDepth, interlaced, transparency: [0, 128] }] : []),
    ]),
  ),
);

void t.test('every kind of PNG has the colours that a browser shows', { skip: !drawsPages }, async (t) => {
  const keyed = samples.flatMap((sample) => {
    const { colorType, bitDepth } = sample;
    if (colorType !== 0 && colorType !== 2) return [];
    const key = [0, 1, 2].slice(0, colorType + 1).map((channel) => sampleAt(4, 3, channel, bitDepth));
    return [{ ...sample, transparency: key.flatMap((value) => (bitDepth === 16 ? [value, value] : [0, value])) }];
  });
  const kinds: readonly PngSample[] = [
    ...samples,
    ...keyed,
    ...[...samples, ...keyed].flatMap((sample) =>
      sample.colorType === 2 || sample.colorType === 6 ? [{ ...sample, palette: true }] : [],
    ),
    ...[...samples, ...keyed].flatMap((sample) => (sample.interlaced === true ? [] : [{ ...sample, gamma: 100_000 }])),
    { colorType: 2, bitDepth: 8, gamma: 45_455 },
  ];
  const images = new Map(kinds.map((kind, at) => [`https://example.com/${at}`, png(pngSample(kind))]));
  const pages = [...images.keys()].map((src) => page([component('image', { src, width: 130 })]));
  const shown = drawnPages(
    await makePdf(documentOf(...pages), images, metadata, { ...defaultLimits, pdfPagesMax: kinds.length }),
  );
  t.equal(shown.length, kinds.length);
  const [left, top] = [50, 50];
  kinds.forEach((kind, at) => {
    const { width, rgb } = shown[at] ?? { width: 0, rgb: Buffer.alloc(0) };
    const wrong: string[] = [];
    for (let y = 0; y < 9; y++)
      for (let x = 0; x < 13; x++) {
        const [red = 0, green = 0, blue = 0, alpha = 0] = shownAt(x, y, kind);
        const from = ((top + y * 10 + 5) * width + left + x * 10 + 5) * 3;
        const expected = [red, green, blue].map((color) => Math.round((color * alpha) / 255 + 255 - alpha));
        const found = [...rgb.subarray(from, from + 3)];
        if (expected.some((color, channel) => Math.abs(color - (found[channel] ?? 0)) > 2))
          wrong.push(`${x},${y}: ${found} for ${expected}`);
      }
    t.same(wrong.slice(0, 3), [], JSON.stringify(kind));
  });
});

void t.test('sizes', async (t) => {
  const image = png(pngSample({ colorType: 2, bitDepth: 8 }));
  t.same(sizeOf(await withImage(image)), [9.75, 6.75], 'a pixel is three quarters of a point');
  t.same(sizeOf(await withImage(image, { width: 130 })), [130, 90]);
  t.same(sizeOf(await withImage(image, { height: 90 })), [130, 90]);
  t.same(sizeOf(await withImage(image, { width: 100, height: 20 })), [100, 20]);
  t.same(sizeOf(await withImage(image, { widthPercent: 50 })).map(Math.round), [248, 171]);
  const [width = 0, height = 0] = sizeOf(await withImage(image, { width: 5_000, height: 9_000 }));
  t.ok(width < 496 && height < 742, 'never larger than the sheet');
  const { sheets } = await withImage(image, { href: 'https://example.com/x', borderRadius: 4, align: 'center' });
  t.same(sheets[0]?.links, ['https://example.com/x']);
});

void t.test('JPEG, also as data URI', async (t) => {
  const fromMap = await withImage({ bytes: jpeg, contentType: 'image/jpeg' });
  const fromUri = await withDataUri(`data:image/jpeg;base64,${jpeg.toString('base64')}`);
  t.same(fromMap.structure, ['Document', '  Figure', '  P']);
  t.same(fromUri.structure, fromMap.structure);
});

void t.test('a corrupt picture is one error, and the process goes on', async (t) => {
  const whole = pngSample({ colorType: 6, bitDepth: 8 });
  const broken = Buffer.from(whole);
  broken.fill(0x41, broken.indexOf('IDAT') + 6, broken.indexOf('IEND') - 4);
  const claims = Buffer.concat([
    SIGNATURE,
    headerChunk({ colorType: 6, bitDepth: 8, width: 2_000, height: 2_000 }),
    whole.subarray(33),
  ]);
  const filters = Buffer.concat([
    SIGNATURE,
    headerChunk({ colorType: 0, bitDepth: 8, width: 1, height: 1 }),
    chunk('IDAT', Buffer.from('789c63610000000a0006', 'hex')),
    chunk('IEND', Buffer.alloc(0)),
  ]);
  const paletteless = Buffer.concat([SIGNATURE, headerChunk({ colorType: 3, bitDepth: 8 }), whole.subarray(33)]);
  const files = { broken, claims, filters, paletteless, none: Buffer.from('no picture'), empty: Buffer.alloc(0) };
  for (const [what, bytes] of Object.entries(files))
    await t.rejects(withImage(png(bytes)), refused(/is not a whole PNG file/), what);
  for (let length = 0; length < whole.length; length += 7)
    await t.rejects(
      withImage(png(whole.subarray(0, length))),
      refused(/is not a whole PNG file/),
      `cut off at ${length}`,
    );
  const jpegs = {
    cut: jpeg.subarray(0, jpeg.length - 40),
    none: Buffer.from([0xff, 0xd8, 0xff, 0xd9]),
    garbage: Buffer.concat([Buffer.from([0xff, 0xd8]), Buffer.alloc(100, 7)]),
  };
  for (const [what, bytes] of Object.entries(jpegs))
    await t.rejects(withImage({ bytes, contentType: 'image/jpeg' }), refused(/is not a whole JPEG file/), what);
  const vast = Buffer.concat([
    SIGNATURE,
    headerChunk({ colorType: 6, bitDepth: 8, width: 60_000, height: 60_000 }),
    whole.subarray(33),
  ]);
  await t.rejects(withImage(png(vast)), refused(/has 60000 by 60000 pixels, the maximum is 25,000,000 pixels/));
});

/**
 * The colour at so many points from the upper left corner of the picture, which stands in the upper left corner of a
 * sheet.
 */
const colorAt = ({ width, rgb }: Picture, x: number, y: number): readonly number[] => {
  const from = ((50 + y) * width + 50 + x) * 3;
  return [...rgb.subarray(from, from + 3)];
};
const isNear = (found: readonly number[], expected: readonly number[]): boolean =>
  expected.every((value, channel) => Math.abs(value - (found[channel] ?? 0)) <= 12);

void t.test('photos stand as their camera was held', { skip: !drawsPages }, async (t) => {
  const orientations = [1, 2, 3, 4, 5, 6, 7, 8];
  const sources = orientations.map(
    (orientation) => `data:image/jpeg;base64,${turnedJpeg(orientation).toString('base64')}`,
  );
  const pages = sources.map((src) => page([component('image', { src, width: 80 })]));
  const drawn = drawnPages(await makePdf(documentOf(...pages), new Map(), metadata, defaultLimits));
  orientations.forEach((orientation, at) => {
    const [picture, height] = [drawn[at], orientation > 4 ? 160 : 40];
    seenSquares[orientation]?.forEach((name, square) => {
      const found =
        picture === undefined
          ? []
          : colorAt(picture, square % 2 === 0 ? 20 : 60, Math.min(square < 2 ? height / 4 : (height * 3) / 4, 140));
      t.ok(isNear(found, SQUARES[name]), `orientation ${orientation}, square ${square}: ${found}`);
    });
  });
});

void t.test('WebP and GIF are converted, of an animation the first frame', { skip: !drawsPages }, async (t) => {
  const uri = (type: string, bytes: Buffer): string => `data:image/${type};base64,${bytes.toString('base64')}`;
  const sources = [uri('webp', webpPhoto), SRC, uri('webp', animatedWebp), uri('gif', gifWithOffset), uri('png', gif)];
  const images = new Map([[SRC, { bytes: losslessWebp, contentType: 'image/webp' } satisfies LoadedImage]]);
  const pages = sources.map((src) => page([component('image', { src, width: 80 })]));
  const bytes = await makePdf(
    documentOf(...pages, page([richText(`<p><img src="${uri('gif', gif)}" alt="" width="80"></p>`)])),
    images,
    metadata,
    {
      ...defaultLimits,
      pdfPagesMax: 10,
    },
  );
  await checkedByOthers(bytes, readPdf(bytes));
  const [photo, lossless, animation, offset, mislabelled, inText] = drawnPages(bytes);
  const near = (
    picture: Picture | undefined,
    x: number,
    y: number,
    expected: readonly number[],
    what: string,
  ): void => {
    const found = picture === undefined ? [] : colorAt(picture, x, y);
    t.ok(isNear(found, expected), `${what}: ${found}`);
  };
  seenSquares[1]?.forEach((name, at) =>
    near(photo, at % 2 === 0 ? 20 : 60, at < 2 ? 10 : 30, SQUARES[name], `photo ${name}`),
  );
  near(lossless, 40, 20, [255, 0, 0], 'lossless');
  for (const picture of [animation, offset]) {
    near(picture, 40, 30, SQUARES.red, 'within the frame');
    near(picture, 10, 30, [255, 255, 255], 'beside the frame');
    near(picture, 40, 50, [255, 255, 255], 'below the frame');
  }
  near(mislabelled, 40, 20, [255, 0, 0], 'a GIF that says it is a PNG');
  near(inText, 40, 20, [255, 0, 0], 'in rich text');
});

void t.test('a WebP or GIF that is not whole is refused by its place', async (t) => {
  const files = { webp: [webpPhoto, losslessWebp, animatedWebp], gif: [gif, gifWithOffset] } as const;
  for (const [kind, whole] of Object.entries(files))
    for (const bytes of whole)
      for (const length of [20, bytes.length - 30])
        await t.rejects(
          withImage({ bytes: bytes.subarray(0, length), contentType: kind === 'gif' ? 'image/gif' : 'image/webp' }),
          refused(kind === 'gif' ? /is not a whole GIF file/ : /is not a whole WebP file/),
        );
  const vast = Buffer.from(gif);
  vast.writeUInt16LE(60_000, 6);
  vast.writeUInt16LE(60_000, 8);
  await t.rejects(
    withImage({ bytes: vast, contentType: 'image/gif' }),
    refused(/has 60000 by 60000 pixels, the maximum is 25,000,000 pixels/),
  );
  await t.rejects(
    makePdf(
      documentOf(page([component('image', { src: 'https://example.com/other' })])),
      new Map(),
      metadata,
      defaultLimits,
    ),
    refused(/was not loaded/),
  );
});

void t.test('a picture in rich text that was not loaded leaves its words', async (t) => {
  const uri = `data:image/png;base64,${pngSample({ colorType: 6, bitDepth: 8 }).toString('base64')}`;
  const bytes = await makePdf(
    documentOf(
      page([
        richText(
          `<p>a <img src="file:///etc/passwd" alt="words"> b</p><p><img src="${uri}" alt="shown" width="100"></p>`,
        ),
      ]),
    ),
    new Map(),
    metadata,
    defaultLimits,
  );
  const { sheets, structure } = readPdf(bytes);
  t.same(sheets[0]?.lines, ['a', 'words', 'b']);
  t.same(structure, ['Document', '  P', '  P', '  P', '  Figure']);
});

const hasChromium = runs('chromium', '--version');

/** Levels of 256 that the mean of a square of 6 points may differ by: edges are smoothed in other ways. */
const SMOOTHING = 60;

void t.test('SVG looks as in a browser', { skip: !drawsPages || !hasChromium }, async (t) => {
  const names = Object.keys(svgSamples);
  const sources = Object.values(svgSamples).map(
    (source) => `data:image/svg+xml;base64,${Buffer.from(source).toString('base64')}`,
  );
  const pages = sources.map((src) => page([component('image', { src, width: 120 })]));
  const drawn = drawnPages(
    await makePdf(documentOf(...pages), new Map(), metadata, { ...defaultLimits, pdfPagesMax: names.length }),
  );
  const seen = screenshot(
    sources
      .map((src, at) => `<img src="${src}" width="120" height="60" style="position:absolute;left:0;top:${at * 60}px">`)
      .join(''),
    { width: 120, height: sources.length * 60 },
  );
  names.forEach((name, at) => {
    const [ours, theirs] = [part(drawn[at], 50, 50), part(seen, 0, at * 60)];
    const wrong = Array.from({ length: 200 }, (_, square) => square).filter((square) =>
      [0, 1, 2].some(
        (channel) =>
          Math.abs((ours.rgb[square * 3 + channel] ?? 0) - (theirs.rgb[square * 3 + channel] ?? 255)) > SMOOTHING,
      ),
    );
    t.same(wrong, [], name);
  });
});

/** 120 by 60 points as a grid of 20 by 10 squares. */
const part = (picture: Picture | undefined, left: number, top: number): Picture => {
  const rgb = Buffer.alloc(120 * 60 * 3);
  if (picture !== undefined)
    for (let y = 0; y < 60; y++)
      picture.rgb.copy(
        rgb,
        y * 360,
        ((top + y) * picture.width + left) * 3,
        ((top + y) * picture.width + left + 120) * 3,
      );
  return gridOf({ width: 120, height: 60, rgb }, 6);
};

void t.test('SVG', async (t) => {
  const fonts = openFonts();
  const drawn = (source: string) => drawnSvg(source, { field: FIELD, fonts, locale: 'en' });
  const svgImage = (source: string): LoadedImage => ({ bytes: Buffer.from(source), contentType: 'image/svg+xml' });

  void t.test('is drawn as lines, not as a picture', async (t) => {
    const source =
      '<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY x "y">]><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 10"><style>.a{fill:#00ff00}</style><rect class="a" width="5" height="5"/><path d="M0 0L5 5" stroke="#ff0000"/><text x="1" y="9" fill="#0000ff" font-size="4">Hi ✓</text></svg>';
    const { sheets } = await withImage(svgImage(source), { width: 100 });
    const content = sheets[0]?.content ?? '';
    for (const color of ['1 0 0 SCN', '0 1 0 scn', '0 0 1 scn']) t.ok(content.includes(color), color);
    t.notMatch(content, /\/I1 Do/);
  });

  void t.test('loses all that leads out of it or runs', async (t) => {
    const hostile = [
      '<script>alert(1)</script>',
      '<rect onclick="alert(1)" width="1" height="1"/>',
      '<image href="file:///etc/passwd" width="1" height="1"/>',
      '<image xlink:href="data:image/png;base64,AAAA"/>',
      '<use href="http://evil.example/x.svg#a"/>',
      '<a href="javascript:alert(1)"><text>t</text></a>',
      '<rect style="fill:url(http://evil.example/x)" fill="url( https://evil.example)" width="1" height="1"/>',
      '<style>@import url(http://evil.example/x.css); .a{fill:url("//evil.example")}</style>',
      '<animate attributeName="href" to="javascript:alert(1)"/>',
      '<rect mask="url(#m)" filter="url(#f)" width="1" height="1"/><mask id="m"/>',
    ];
    for (const part of hostile) {
      const source = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">${part}<circle r="1"/></svg>`;
      await withImage(svgImage(source));
      const made = drawn(source);
      if ('png' in made) continue;
      t.notMatch(
        made.svg.replaceAll(/xmlns[^"]*"[^"]*"/g, ''),
        /script|onclick|<image|http|evil|import|animate|file:/i,
        part,
      );
      t.match(made.svg, /<path /);
    }
  });

  void t.test('that holds what only a browser draws is refused by the name of its element', async (t) => {
    const only: Readonly<Record<string, RegExp>> = {
      '<foreignObject><body xmlns="http://www.w3.org/1999/xhtml"><img src="x"/></body></foreignObject>':
        /has <foreignObject> which only browsers draw/,
      '<style>:root{--brand:red}</style><rect width="9" height="9" fill="var(--brand, blue)"/>':
        /has <style> with the variable --brand/,
      '<rect width="9" height="9" fill="var(--brand)"/>': /has <rect> with the function var\(\)/,
      '<circle r="9" style="fill:oklch(60% 0.2 30)"/>': /has <circle> with the function oklch\(\)/,
      '<style>rect{d:path("M0 0")}</style>': /has <style> with the property d as style/,
      '<style>rect ~ rect{fill:red}</style>': /has <style> with rect ~ rect/,
      '<style>@supports (fill:red){rect{fill:red}}</style>': /has <style> with @supports/,
      '<style>@media (min-width: 300px){rect{fill:red}}</style>': /has <style> with @media/,
      '<rect width="9" height="9" style="transform:rotate(1turn)"/>':
        /has <rect> with a transformation that SVG 1.1 does not have/,
      '<rect width="9" height="9" transform="scale(2)" transform-origin="center"/>':
        /has <rect> with transform-origin in words/,
      [`<image width="9" height="9" href="data:image/webp;base64,${losslessWebp.toString('base64')}"/>`]:
        /has <image> that holds a picture of another kind/,
    };
    for (const [part, message] of Object.entries(only))
      await t.rejects(
        withImage(svgImage(`<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">${part}</svg>`)),
        refused(message),
        part,
      );
    const many = `<!DOCTYPE svg [<!ENTITY a "${'x'.repeat(1_000)}"><!ENTITY b "${'&a;'.repeat(1_000)}"><!ENTITY c "${'&b;'.repeat(1_000)}">]><svg xmlns="http://www.w3.org/2000/svg"><text>&c;</text></svg>`;
    await t.rejects(withImage(svgImage(many)), refused(/has entities that stand for too much text/));
  });

  void t.test('in a mail or a workbook has the same colours', async (t) => {
    const source =
      '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="4"><style>.a{fill:hsl(120deg 100% 25%)}</style><rect width="4" height="4" fill="rgb(200 0 0 / 100%)"/><rect class="a" x="4" width="4" height="4"/></svg>';
    const size = { width: 8, height: 4 };
    const { rgb } = readPng(Buffer.from((await drawSvg(source, { natural: size, ...size })) ?? []));
    t.same([...rgb.subarray(0, 3)], [200, 0, 0]);
    t.same([...rgb.subarray(15, 18)], [0, 128, 0]);
  });

  void t.test('with letters of several scripts', async (t) => {
    const text = (content: string): string =>
      `<svg xmlns="http://www.w3.org/2000/svg" width="200" height="30"><text y="20">${content}</text></svg>`;
    for (const content of ['مرحبا', '漢字', 'ไทย', 'Ω ✓'])
      t.ok(/<path /.exec('svg' in drawn(text(content)) ? (drawn(text(content)) as { svg: string }).svg : ''), content);
    t.throws(() => drawn(text('\u{1700}')), { code: 'FONT_MISSING' });
  });

  void t.test('does not multiply', async (t) => {
    const laughs = Array.from(
      { length: 12 },
      (_, at) => `<g id="g${at + 1}">${`<use href="#g${at}"/>`.repeat(10)}</g>`,
    ).join('');
    await t.rejects(
      withImage(
        svgImage(
          `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><defs><g id="g0"><rect width="1" height="1"/></g>${laughs}</defs><use href="#g12"/></svg>`,
        ),
      ),
      refused(/draws more than 20,000 elements/),
    );
    await t.rejects(
      withImage(
        svgImage(
          `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">${'<g>'.repeat(60)}${'</g>'.repeat(60)}</svg>`,
        ),
      ),
      refused(/nests its elements more than 50 deep/),
    );
    t.ok(
      await withImage(
        svgImage(
          '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><g id="a"><use href="#b"/></g><g id="b"><use href="#a"/><use href="#b"/></g></svg>',
        ),
      ),
      'a use of itself draws nothing',
    );
  });

  void t.test('that is none', async (t) => {
    for (const source of ['', 'hello', '<html><p>x</p></html>'])
      await t.rejects(withImage(svgImage(source)), refused(/is not an SVG file/));
    for (const source of [
      '<svg/>',
      '<svg width="0" height="-5" viewBox="a b c d"/>',
      '<svg viewBox="0 0 1e9 1"><path d="nonsense" transform="nonsense(1" fill="nonsense"/></svg>',
      '<svg width="10" height="10"><rect width="NaN" height="1e999" x="--1"/><polygon points="1,,x"/></svg>',
    ]) {
      t.ok(await withImage(svgImage(source)), source);
    }
  });
});

void t.test('a low picture stands among the words of its line', async (t) => {
  const drawing = (width: number, height: number): LoadedImage => ({
    bytes: Buffer.from(
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><rect width="${width}" height="${height}"/></svg>`,
    ),
    contentType: 'image/svg+xml',
  });
  const images = new Map([
    ['https://example.com/low', drawing(40, 20)],
    ['https://example.com/high', drawing(100, 90)],
    ['https://example.com/file', { bytes: jpeg, contentType: 'image/jpeg' } satisfies LoadedImage],
  ]);
  const [low, high, file] = ['low', 'high', 'file'].map(
    (name) => `<img src="https://example.com/${name}" alt="${name}">`,
  );
  const madeOf = async (html: string): Promise<Readonly<{ read: ReadPdf; bytes: Uint8Array }>> => {
    const bytes = await makePdf(documentOf(page([richText(html)])), images, metadata, defaultLimits);
    const read = readPdf(bytes);
    await checkedByOthers(bytes, read);
    return { read, bytes };
  };
  const structureOf = async (html: string): Promise<readonly string[]> => (await madeOf(html)).read.structure;

  const { bytes } = await madeOf(`<p>One ${low} two</p><p>Three</p>`);
  const words = placedWords(bytes);
  const [one, two, three] = words ?? [];
  if (one !== undefined && two !== undefined && three !== undefined) {
    t.equal(one.top, two.top, 'on one line');
    const room = two.left - one.right;
    t.ok(room > 30 && room < 30 + 8, `30 points and two spaces between them: ${room}`);
    const usual = placedWords((await madeOf('<p>One two</p><p>Three</p>')).bytes)?.[0]?.top ?? 0;
    t.ok(one.top > usual, 'the line is as high as the picture');
  }
  t.same(await structureOf(`<p>One ${low} two</p>`), ['Document', '  P', '    Figure']);
  t.same(await structureOf(`<p>One ${file} two</p>`), ['Document', '  P', '    Figure']);
  t.same(await structureOf(`<p>${low} ${low}</p>`), ['Document', '  P', '    Figure', '    Figure']);
  t.same(await structureOf(`<p><a href="https://a.example">${low}</a> two</p>`), [
    'Document',
    '  P',
    '    Link',
    '      Figure',
  ]);
  t.same(await structureOf(`<p>One <b>bold ${low}</b></p>`), ['Document', '  P', '    Figure']);
  t.same(await structureOf(`<p>${low}</p>`), ['Document', '  Figure'], 'alone it is a block');
  t.same(await structureOf(`<p>One ${high} two</p>`), ['Document', '  P', '  Figure', '  P'], 'a high one is a block');
  t.same(await structureOf(`<table><tr><td>One ${low}</td><td>${low}</td></tr></table>`), [
    'Document',
    '  Table',
    '    TR',
    '      TD',
    '        P',
    '          Figure',
    '      TD',
    '        Figure',
  ]);
  const many = await madeOf(
    `<table><thead><tr><th>One ${file}</th></tr></thead>${'<tr><td>row</td></tr>'.repeat(60)}</table>`,
  );
  t.equal(
    many.read.structure.filter((type) => type.trim() === 'Figure').length,
    1,
    'in a header that comes again it is read once',
  );
  t.ok(
    many.read.sheets.length > 1 && many.read.sheets.every(({ content }) => / Do$/m.test(content)),
    'and drawn on each sheet',
  );
  const huge = await makePdf(
    documentOf(page([component('rich-text', { html: `<p>One ${high} two</p>`, style: { fontSize: 300 } })])),
    images,
    metadata,
    defaultLimits,
  );
  t.equal(
    readPdf(huge)
      .sheets.flatMap(({ lines }) => lines)
      .join(' ')
      .replace(/\s+/g, ' '),
    'One two',
    'nothing is lost beside huge letters',
  );
});
