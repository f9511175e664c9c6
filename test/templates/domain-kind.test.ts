/** The types of files that the gallery accepts and refuses, and the names of downloaded files. */
import { strToU8, zipSync, type Zippable } from 'fflate';
import t from 'tap';
import { signatureMediaTypes } from '../../src/adapters/media-types/signatures.js';
import { isRaster, kindOf, nameFor, type AssetKind } from '../../src/domain/templates/asset.js';
import { pictureSize } from '../../src/domain/rendering/pictures.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { gif, jpeg, losslessWebp, lossyWebp, png, svg, webp } from '../support/pictures.js';

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
