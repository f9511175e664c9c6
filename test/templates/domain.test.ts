/** The kind of a template, and SVG pictures. */
import { strToU8, zipSync, type Zippable } from 'fflate';
import t from 'tap';
import { signatureMediaTypes } from '../../src/adapters/media-types/signatures.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { pictureSize } from '../../src/domain/rendering/pictures.js';
import { isRaster, kindOf, nameFor, type AssetKind } from '../../src/domain/templates/asset.js';
import { readSvg, SVG_PIECES_MAX } from '../../src/domain/templates/svg.js';
import { growsLinearly } from '../support/linear.js';
import { turnsBeside } from '../support/loop-turns.js';
import { gif, jpeg, losslessWebp, lossyWebp, png, svg, webp } from '../support/pictures.js';

// The types of files that the gallery accepts and refuses, and the names of downloaded files.

const signatures = signatureMediaTypes();
const kind = async (bytes: Buffer | string, filename = 'x'): Promise<AssetKind> => {
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes);
  return kindOf(buffer, await signatures.of(buffer), filename);
};

const zip = (files: Zippable): Buffer => Buffer.from(zipSync(files));
const office = (type: string): Buffer =>
  zip({
    '[Content_Types].xml': strToU8(`<Types><Override PartName="/word/document.xml" ContentType="${type}"/></Types>`),
    'word/document.xml': strToU8('<x/>'),
  });
const openDocument = (type: string): Buffer =>
  zip({ mimetype: [strToU8(type), { level: 0 }], 'content.xml': strToU8('<x/>') });

void t.test('pictures, with their size', async (t) => {
  const size = { width: 7, height: 5 };
  t.same(await kind(png), { contentType: 'image/png', size });
  t.same(await kind(jpeg), { contentType: 'image/jpeg', size });
  t.same(await kind(gif), { contentType: 'image/gif', size });
  for (const each of [webp, lossyWebp, losslessWebp]) t.same(await kind(each), { contentType: 'image/webp', size });
  t.same(await kind(svg), { contentType: 'image/svg+xml', size });
  t.same(
    ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/svg+xml', 'application/pdf', 'text/plain'].map(
      isRaster,
    ),
    [true, true, true, true, false, false, false],
  );
});

void t.test('documents, archives and texts', async (t) => {
  const openxml = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
  for (const [bytes, filename, contentType] of [
    [Buffer.concat([Buffer.from('%PDF-1.7\n%'), Buffer.from([0xe2, 0xe3, 0xcf, 0xd3, 0])]), 'x', 'application/pdf'],
    ['%PDF-1.7\n1 0 obj\n<<>>\nendobj\n', 'x.csv', 'application/pdf'],
    [zip({ 'a.txt': strToU8('x') }), 'x', 'application/zip'],
    [office(`${openxml}.main+xml`), 'x', openxml],
    [
      openDocument('application/vnd.oasis.opendocument.spreadsheet'),
      'x',
      'application/vnd.oasis.opendocument.spreadsheet',
    ],
    ['BEGIN:VCALENDAR\r\nVERSION:2.0\r\nEND:VCALENDAR\r\n', 'x.ics', 'text/calendar'],
    ['Grüße\r\n\tan alle\f', 'x.txt', 'text/plain'],
    ['\ufeffa;b\n1;2', 'x.CSV', 'text/csv'],
    ['a;b\n1;2', 'x', 'text/plain'],
    ['BMW;GIFT;1', 'cars.csv', 'text/csv'],
    ['GIFT cards', 'x', 'text/plain'],
    ['MZ is what some files begin with', 'x', 'text/plain'],
    ['a < b <script>', 'x', 'text/plain'],
  ] as const) {
    t.same(await kind(bytes, filename), { contentType, size: undefined }, `${filename}: ${String(bytes).slice(0, 20)}`);
  }
});

void t.test('programs, HTML, macros, damaged and unknown files are refused with a sentence', async (t) => {
  const refused = {
    exe: Buffer.from('MZ\x90\0\x03\0\0\0\x04\0\0\0\xff\xff', 'latin1'),
    elf: Buffer.from('\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0', 'latin1'),
    script: '#!/bin/sh\nrm -rf /',
    'script behind a mark': '\ufeff#!/usr/bin/env node',
    html: '<!DOCTYPE html><html><script>alert(1)</script></html>',
    'html behind blanks': `${' \n'.repeat(4_000)}<html>`,
    'html behind a comment': '<!-- <svg> --><html></html>',
    xml: '<?xml version="1.0"?><note/>',
    markup: '<b>bold</b>',
    'a tag that never ends': '<svg',
    rtf: '{\\rtf1\\ansi hello}',
    postscript: '%!PS-Adobe-3.0\n',
    macros: office('application/vnd.ms-word.document.macroEnabled.main+xml'),
    bmp: Buffer.concat([Buffer.from('BM'), Buffer.alloc(60)]),
    'latin-1 text': Buffer.from('Grüße', 'latin1'),
    'utf-16 text': Buffer.from('\ufeffabc', 'utf16le'),
    'text with a NUL': 'a\0b',
    noise: Buffer.from([1, 2, 3, 4, 250, 251]),
    'half a picture': png.subarray(0, 20),
    'a picture of no size': Buffer.concat([png.subarray(0, 16), Buffer.alloc(8), png.subarray(24)]),
    'a JPEG without a frame': Buffer.concat([jpeg.subarray(0, 20), Buffer.alloc(40, 0xff)]),
  };
  for (const [name, bytes] of Object.entries(refused)) {
    const fault = await kind(bytes, 'innocent.png').then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    t.ok(fault instanceof DomainError && fault.code === 'ASSET_TYPE_NOT_ALLOWED', name);
    t.match((fault as Error).message, /^[A-Z].*\. The gallery takes .*\.$/, name);
  }
  t.match(await kind(refused.exe).catch((thrown: unknown) => thrown), {
    message: /application\/x-msdownload/,
    details: { relatedInfo: { contentType: 'application/x-msdownload' } },
  });
});

void t.test('every cut of a picture is either read or refused, and never anything else', async (t) => {
  for (const [type, bytes] of [
    ['image/png', png],
    ['image/jpeg', jpeg],
    ['image/gif', gif],
    ['image/webp', webp],
    ['image/webp', lossyWebp],
    ['image/webp', losslessWebp],
  ] as const) {
    const sizes = new Set<string>();
    for (let end = 0; end <= bytes.length; end += 1)
      sizes.add(JSON.stringify(pictureSize(bytes.subarray(0, end), type) ?? null));
    t.same([...sizes], ['null', '{"width":7,"height":5}'], type);
  }
  t.equal(pictureSize(png, 'image/bmp'), undefined);
  t.equal(pictureSize(Buffer.from('GIF85a1234567'), 'image/gif'), undefined);
  t.equal(
    pictureSize(Buffer.concat([Buffer.from([0xff, 0xd8]), Buffer.alloc(1_000_000, 0xff)]), 'image/jpeg'),
    undefined,
  );
});

void t.test('a name ends as its type does', async (t) => {
  for (const [filename, contentType, expected] of [
    ['logo.png', 'image/png', 'logo.png'],
    ['logo.PNG', 'image/png', 'logo.PNG'],
    ['photo.jpeg', 'image/jpeg', 'photo.jpeg'],
    ['photo', 'image/jpeg', 'photo.jpg'],
    ['page.html', 'image/png', 'page.html.png'],
    ['run.bat', 'text/plain', 'run.bat.txt'],
    ['png', 'image/png', 'png.png'],
    ['notes.md', 'text/plain', 'notes.md'],
    ['a.b.csv', 'text/csv', 'a.b.csv'],
    ['x.exe', 'application/zip', 'x.exe.zip'],
    ['Größe.svg', 'image/svg+xml', 'Größe.svg'],
  ] as const) {
    t.equal(nameFor(filename, contentType, 255), expected);
  }
  t.equal(nameFor(`${'x'.repeat(300)}.png`, 'image/png', 255), `${'x'.repeat(251)}.png`);
  t.equal(nameFor(`${'x'.repeat(300)}.html`, 'image/png', 255).length, 255);
  t.equal(nameFor('😀😀', 'image/png', 7), '😀.png', 'no character is cut in two');
});

// SVG that only draws is taken; what could act, load or hide something is not, however it is written.

const NS = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"';
const inside = (content: string, attributes = ''): string => `<svg ${NS} ${attributes}>${content}</svg>`;

void t.test('drawings', async (t) => {
  for (const fine of [
    inside(''),
    `<svg ${NS}/>`,
    '\ufeff  <?xml version="1.0" encoding="UTF-8" standalone="no"?>\n<!-- made by hand -->\n<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">\n<svg/>\n<!-- end -->\n',
    `<s:svg xmlns:s="http://www.w3.org/2000/svg"><s:path d="M0 0L1 1"/></s:svg>`,
    inside(
      '<defs><linearGradient id="a"><stop offset="0" stop-color="#f00"/></linearGradient></defs><rect fill="url(#a)" style="stroke: url( \'#a\' ); font-family: &quot;Open Sans&quot;"/><use xlink:href="#b" href=\'#b\'/>',
    ),
    inside(
      '<style>.a{fill:url("#a")} /* a > b */ @media print {.a{fill:red}}</style><style type="text/css"><![CDATA[.b > .c {fill: blue}]]></style>',
    ),
    inside('<style>@font-face{font-family:x;src:url(data:font/woff2;base64,d09GMg==)}</style>'),
    inside(
      '<image href="data:image/png;base64,iVBORw0KGgo=" width="1" height="1"/><a href="#top"><text>A &amp; B &lt; &#169; &#x1F600; > "quoted" \\o/</text></a>',
    ),
    inside(
      '<metadata><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><cc:Work rdf:about=""/></rdf:RDF></metadata><sodipodi:namedview inkscape:export-filename="C:\\pictures\\logo.png"/>',
    ),
    inside('<text>url(https://example.com) on the page, onclick="x" and @import</text><title>&lt;script&gt;</title>'),
    inside('<g>'.repeat(200) + '</g>'.repeat(200)),
    inside('<rect\n\twidth = "1"\n/>'),
  ]) {
    const found = await readSvg(fine);
    t.ok('size' in (found ?? {}), `${fine.slice(0, 90)} ${JSON.stringify(found)}`);
  }
});

void t.test('what is no SVG', async (t) => {
  for (const other of [
    '',
    'text',
    '<html><svg/></html>',
    '<!-- <svg/> --><html/>',
    '<?xml version="1.0"?><note/>',
    '<!DOCTYPE html><svgs/>',
    '<',
    '<!--',
    '<?svg',
  ])
    t.equal(await readSvg(other), undefined, other);
});

void t.test('what acts, loads or hides', async (t) => {
  for (const [content, fault] of [
    ['<script>alert(1)</script>', /<script>/],
    ['<SCRIPT/>', /<SCRIPT>/],
    ['<s:script xmlns:s="http://www.w3.org/2000/svg"/>', /script/],
    ['<script xlink:href="#a"/>', /script/],
    ['<foreignObject><p>x</p></foreignObject>', /foreignObject/],
    ['<iframe/>', /iframe/],
    ['<h:p xmlns:h="http://www.w3.org/1999/xhtml"/>', /HTML/],
    ['<p xmlns="http&#58;//www.w3.org/1999/xhtml"/>', /HTML/],
    ['<rect onload="x"/>', /onload/],
    ["<rect ONCLICK='x'/>", /ONCLICK/],
    ['<rect on="x"/>', /script attribute/],
    ['<rect x:onload="x"/>', /x:onload/],
    ['<animate attributeName="href" to="javascript:x"/>', /animate/],
    ['<set attributeName="href"/>', /<set>/],
    ['<a href="javascript:alert(1)"/>', /outside/],
    ['<a xlink:href="&#106;avascript:alert(1)"/>', /outside/],
    ['<a href=" \njavascript:x"/>', /outside/],
    ['<a href="https://example.com"/>', /outside/],
    ['<image href="https://example.com/x.png"/>', /outside/],
    ['<image xlink:href="//example.com/x.png"/>', /outside/],
    ['<image href="/etc/passwd"/>', /outside/],
    ['<image href="file:///etc/passwd"/>', /outside/],
    ['<image href="data:image/svg+xml;base64,PHN2Zz4="/>', /outside/],
    ['<image href="data:text/html,x"/>', /outside/],
    ['<use href="other.svg#a"/>', /outside/],
    ['<feImage href="http://169.254.169.254/"/>', /outside/],
    ['<image xml:base="http://example.com/" href="#a"/>', /base/],
    ['<rect fill="url(http://example.com/#a)"/>', /url/],
    ['<rect filter="URL( &quot;//x&quot;)"/>', /url/],
    ['<rect style="fill:url(other.svg#a)"/>', /url/],
    ['<rect style="fill:u\\72l(http://x)"/>', /backslash/],
    ['<rect fill="u\\72l(http://x)"/>', /backslash/],
    ['<rect style="background:&#117;rl(http://x)"/>', /url/],
    ['<rect clip-path="url(data:image/svg+xml,x)"/>', /url/],
    ['<style>@import "http://x";</style>', /loads/],
    ['<style>@\\69mport "x";</style>', /backslash/],
    ['<style>a{b:url(http://x)}</style>', /url/],
    ['<style><![CDATA[a{b:url(http://x)}]]></style>', /url/],
    ['<style>a{b:ur<!-- -->l(http://x)}</style>', /url/],
    ['<style>a{b:image-set("http://x" 1x)}</style>', /loads/],
    ['<style>a{b:&#117;rl(http://x)}</style>', /url/],
    ['<style>a{b:ur<![CDATA[l(http://x)}]]></style>', /url/],
    ['<rect a="1" a="2"/>', /twice/],
    ['<rect a=1/>', /broken/],
    ['<rect a="<"/>', /broken/],
    ['<rect a/>', /broken/],
    ['<rect', /broken/],
    ['< rect/>', /broken/],
    ['<g></h>', /do not match/],
    ['<g>', /do not match/],
    ['</g>', /do not match/],
    ['&unknown;', undefined],
    ['<rect a="&unknown;"/>', /character reference/],
    ['<rect a="&#0;"/>', /character reference/],
    ['<rect a="&#x110000;"/>', /character reference/],
    ['<rect a="a & b"/>', /character reference/],
    ['<?xml-stylesheet href="http://x"?>', /instructions/],
    ['<!ENTITY a "b">', /instructions/],
    ['<!DOCTYPE svg>', /instructions/],
    ['<![CDATA[x', /too early/],
    ['<!-- x', /too early/],
    ['<g>'.repeat(300) + '</g>'.repeat(300), /deeper/],
  ] as const) {
    const found = await readSvg(inside(content));
    if (fault === undefined) t.ok(found !== undefined && 'size' in found, `${content}: text alone is not read`);
    else t.match(found, { fault }, content.slice(0, 80));
  }
  for (const [whole, fault] of [
    [`<!DOCTYPE svg [<!ENTITY a "b">]><svg/>`, /entities/],
    [`<!DOCTYPE svg [\n<!ENTITY xxe SYSTEM "file:///etc/passwd">\n]>\n<svg>&xxe;</svg>`, /entities/],
    [`<?xml-stylesheet href="x"?><svg/>`, /instructions/],
    ['<svg/><svg/>', /more than one/],
    ['<svg/>text', /outside its root/],
    ['text<svg/>', /outside its root/],
    ['<svg>', /too early/],
    ['<svg/><script/>', /more than one/],
    ['<svg onload="x"/>', /onload/],
  ] as const) {
    t.match(await readSvg(whole), { fault }, whole);
  }
});

void t.test('the size that the root element says', async (t) => {
  const sizeOf = async (attributes: string) => {
    const found = await readSvg(inside('', attributes));
    return found !== undefined && 'size' in found ? found.size : found;
  };
  t.same(await sizeOf('width="640" height="480"'), { width: 640, height: 480 });
  t.same(await sizeOf('width="640.4px" height=" 480 "'), { width: 640, height: 480 });
  t.same(await sizeOf('viewBox="0 0 20 10"'), { width: 20, height: 10 });
  t.same(await sizeOf('width="100%" height="100%" viewBox="0,0,20,10"'), { width: 20, height: 10 });
  for (const none of [
    '',
    'width="5"',
    'width="10mm" height="5mm"',
    'width="0" height="0"',
    'width="-1" height="5"',
    'viewBox="0 0"',
    'viewBox="x"',
  ])
    t.equal(await sizeOf(none), undefined, none);
});

void t.test('hostile lengths take time in proportion', async (t) => {
  const contents: readonly ((size: number) => string)[] = [
    (size) => '<g '.repeat(size / 3),
    (size) => `<g a="${' '.repeat(size)}`,
    (size) => `<g ${' '.repeat(size)}`,
    (size) => '<!--'.repeat(size / 4),
    (size) => '<rect a="1"/>'.repeat(size / 13),
    (size) => `<rect a="${'&amp;'.repeat(size / 5)}"/>`,
    (size) => `<style>${'url(#a)'.repeat(size / 7)}</style>`,
    (size) => `<style>${'<![CDATA[x]]>'.repeat(size / 13)}</style>`,
  ];
  for (const content of contents)
    t.ok(await growsLinearly((size) => readSvg(inside(content(size))), 1_000_000), content(100).slice(0, 20));
});

void t.test('a drawing of many pieces is read in turns, one of more than are taken is refused', async (t) => {
  const pieces: readonly ((count: number) => string)[] = [
    (count) => `<rect ${Array.from({ length: count }, (_, at) => `a${at}=""`).join(' ')}/>`,
    (count) => '<g/>'.repeat(count),
    (count) => '<!---->'.repeat(count),
    (count) => `<rect a="${'&lt;'.repeat(count)}"/>`,
    (count) => `<style>${'url(#a)'.repeat(count)}</style>`,
  ];
  for (const piece of pieces) {
    t.ok('size' in ((await readSvg(inside(piece(SVG_PIECES_MAX / 2)))) ?? {}), piece(1));
    t.match(await readSvg(inside(piece(SVG_PIECES_MAX))), { fault: /has more than 200000 tags/ }, piece(1));
  }
  const [attributes, elements, comments] = pieces;
  for (const piece of [attributes!, elements!, comments!])
    t.ok((await turnsBeside(() => readSvg(inside(piece(SVG_PIECES_MAX / 2))))) >= 50, piece(1));
  const [first, second] = await Promise.all([
    readSvg(inside(attributes!(5_000), 'width="1" height="2"')),
    readSvg(inside(elements!(9_000), 'width="3" height="4"')),
  ]);
  t.same(
    [first, second],
    [{ size: { width: 1, height: 2 } }, { size: { width: 3, height: 4 } }],
    'two at once do not disturb each other',
  );
});
