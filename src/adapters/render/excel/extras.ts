/**
 * Adds to the package of a workbook what the streaming writer cannot write: links, pictures, charts, properties of the
 * document. Reads and writes the ZIP file itself.
 */
import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib';
import type { DocumentMetadata } from '../../../domain/ports/generator.js';
import { dataBarsXml, type DataBar, quotedName, type Drawing, type Link, type Place } from './sheet.js';
import { escapeXml, XML_HEAD } from './text.js';

/** A part as it stands in the package; an unchanged one is never unpacked. */
type Entry = Readonly<{ name: string; method: 0 | 8; crc: number; size: number; packed: Uint8Array }>;

type Package = Readonly<{
  /** The text of a part; undefined where the package has none of that name. */
  text: (name: string) => string | undefined;
  /** Puts a part in place of the one of that name, or adds it. */
  put: (name: string, content: string | Uint8Array) => void;
  /** The whole package; the same parts give the same bytes. */
  bytes: () => Uint8Array;
}>;

export type SheetExtras = Readonly<{
  /** As the package numbers its sheets, from 1. */
  number: number;
  name: string;
  /** Printed at the top of each sheet of paper. */
  titleRow: number | undefined;
  isHidden: boolean;
  /** Lines between cells are printed. */
  gridLines: boolean;
  /** Printed alone, such as `A1:F40`. */
  printArea: string | undefined;
  links: readonly Link[];
  drawings: readonly Drawing[];
  dataBars: readonly DataBar[];
}>;

type Numbers = Readonly<{ next: (kind: 'drawing' | 'chart' | 'image') => number }>;

type Relations = Readonly<{
  internal: (type: 'drawing' | 'chart' | 'image', target: string) => string;
  external: (type: 'hyperlink', target: string) => string;
  xml: () => string;
}>;

type Registers = Readonly<{ numbers: Numbers; overrides: string[]; extensions: Set<string> }>;

const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const RELATIONSHIPS = 'http://schemas.openxmlformats.org/package/2006/relationships';

/** Adds to the package what each sheet wants besides its cells. */
export const addExtras = (workbook: Package, sheets: readonly SheetExtras[]): void => {
  const overrides: string[] = [];
  const extensions = new Set<string>();
  const numbers = createNumbers();
  for (const { number, links, drawings, dataBars, gridLines } of sheets) {
    if (links.length === 0 && drawings.length === 0 && dataBars.length === 0 && !gridLines) continue;
    const relations = createRelations();
    const anchors = links
      .map(({ address, href }) => `<hyperlink ref="${address}" r:id="${relations.external('hyperlink', href)}"/>`)
      .join('');
    let drawing = '';
    if (drawings.length > 0) {
      const name = `drawing${numbers.next('drawing')}.xml`;
      addDrawing(workbook, name, drawings, { numbers, overrides, extensions });
      drawing = `<drawing r:id="${relations.internal('drawing', `../drawings/${name}`)}"/>`;
    }
    const path = `xl/worksheets/sheet${number}.xml`;
    const sheet = partOf(workbook, path);
    const options = gridLines ? '<printOptions gridLines="1"/>' : '';
    const hyperlinks = anchors === '' ? '' : `<hyperlinks>${anchors}</hyperlinks>`;
    const linked = sheet.replace('<pageMargins', () => `${hyperlinks}${options}<pageMargins`);
    workbook.put(
      path,
      linked.replace('</worksheet>', () => `${drawing}${dataBarsXml(dataBars)}</worksheet>`),
    );
    if (links.length > 0 || drawings.length > 0)
      workbook.put(`xl/worksheets/_rels/sheet${number}.xml.rels`, relations.xml());
  }
  if (overrides.length === 0) return;
  const types = [...extensions]
    .sort()
    .map((extension) => `<Default Extension="${extension}" ContentType="image/${extension}"/>`)
    .join('');
  const known = partOf(workbook, '[Content_Types].xml');
  workbook.put(
    '[Content_Types].xml',
    known.replace(/<Types[^>]*>/, (open) => open + types).replace('</Types>', () => `${overrides.join('')}</Types>`),
  );
};

/**
 * In: the sheets, what the document says of itself, and whether formulas without a value are to be worked out when it
 * is opened. Marked texts get their apostrophe.
 */
export const finishParts = (
  workbook: Package,
  sheets: readonly SheetExtras[],
  { title, author, createdAt }: DocumentMetadata,
  calculates: boolean,
): void => {
  const at = `xsi:type="dcterms:W3CDTF">${escapeXml(createdAt.replace(/\.\d+(?=Z$)/, ''))}`;
  workbook.put(
    'docProps/core.xml',
    `${XML_HEAD}<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/"` +
      ' xmlns:dcterms="http://purl.org/dc/terms/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">' +
      `<dc:title>${escapeXml(title)}</dc:title><dc:creator>${escapeXml(author)}</dc:creator><cp:lastModifiedBy>${escapeXml(author)}</cp:lastModifiedBy>` +
      `<dcterms:created ${at}</dcterms:created><dcterms:modified ${at}</dcterms:modified></cp:coreProperties>`,
  );
  const defined = (name: string, at: number, place: string | undefined): string =>
    place === undefined
      ? ''
      : `<definedName name="_xlnm.${name}" localSheetId="${at}">${escapeXml(place)}</definedName>`;
  // Names stand in order.
  const areas = sheets.map(({ name, printArea }, at) =>
    defined('Print_Area', at, printArea && `${quotedName(name)}!${printArea.replace(/([A-Z]+)(\d+)/g, '$$$1$$$2')}`),
  );
  const rows = sheets.map(({ name, titleRow }, at) =>
    defined('Print_Titles', at, titleRow === undefined ? undefined : `${quotedName(name)}!$${titleRow}:$${titleRow}`),
  );
  const titles = [...areas, ...rows].join('');
  // The sheet that is open first must be one that can be seen.
  const open = sheets.findIndex(({ isHidden }) => !isHidden);
  const views = open > 0 ? `<bookViews><workbookView activeTab="${open}" firstSheet="${open}"/></bookViews>` : '';
  const names = titles === '' ? '' : `<definedNames>${titles}</definedNames>`;
  workbook.put(
    'xl/workbook.xml',
    partOf(workbook, 'xl/workbook.xml')
      .replace('<sheets>', () => `${views}<sheets>`)
      .replace(/<calcPr [^>]*\/>/, () => `${names}<calcPr calcId="171027"${calculates ? ' fullCalcOnLoad="1"' : ''}/>`),
  );
  // 49 is the code `@`, which only texts that look like formulas have.
  workbook.put(
    'xl/styles.xml',
    partOf(workbook, 'xl/styles.xml').replaceAll('<xf numFmtId="49"', '<xf quotePrefix="1" numFmtId="49"'),
  );
};

const partOf = (workbook: Package, name: string): string => {
  const text = workbook.text(name);
  if (text === undefined) throw new Error(`the workbook that was written has no part ${name}`);
  return text;
};

const createNumbers = (): Numbers => {
  const last = { drawing: 0, chart: 0, image: 0 };
  return { next: (kind) => (last[kind] += 1) };
};

const createRelations = (): Relations => {
  const written: string[] = [];
  const ids = new Map<string, string>();
  const add = (type: string, target: string, mode: string): string => {
    const key = `${type} ${target}`;
    const known = ids.get(key);
    if (known !== undefined) return known;
    const id = `rId${written.length + 1}`;
    written.push(`<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${escapeXml(target)}"${mode}/>`);
    ids.set(key, id);
    return id;
  };
  return {
    internal: (type, target) => add(type, target, ''),
    external: (type, target) => add(type, target, ' TargetMode="External"'),
    xml: () => `${XML_HEAD}<Relationships xmlns="${RELATIONSHIPS}">${written.join('')}</Relationships>`,
  };
};

const addDrawing = (
  workbook: Package,
  name: string,
  drawings: readonly Drawing[],
  { numbers, overrides, extensions }: Registers,
): void => {
  const relations = createRelations();
  // A picture that a sheet shows several times is stored once.
  const stored = new Map<Uint8Array, string>();
  const anchors = drawings.map((drawing, at) => {
    const id = at + 2;
    if (drawing.kind === 'chart') {
      const chart = `chart${numbers.next('chart')}.xml`;
      workbook.put(`xl/charts/${chart}`, drawing.xml);
      overrides.push(
        `<Override PartName="/xl/charts/${chart}" ContentType="application/vnd.openxmlformats-officedocument.drawingml.chart+xml"/>`,
      );
      return anchor(
        drawing.place,
        chartFrame(id, drawing.title, relations.internal('chart', `../charts/${chart}`), drawing.place),
      );
    }
    const file = stored.get(drawing.bytes) ?? `image${numbers.next('image')}.${drawing.extension}`;
    if (!stored.has(drawing.bytes)) workbook.put(`xl/media/${file}`, drawing.bytes);
    stored.set(drawing.bytes, file);
    extensions.add(drawing.extension);
    const link =
      drawing.href === undefined ? '' : `<a:hlinkClick r:id="${relations.external('hyperlink', drawing.href)}"/>`;
    return anchor(
      drawing.place,
      picture(id, drawing.alt, link, relations.internal('image', `../media/${file}`), drawing.place),
    );
  });
  workbook.put(
    `xl/drawings/${name}`,
    `${XML_HEAD}<xdr:wsDr xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"` +
      ` xmlns:r="${OFFICE}">${anchors.join('')}</xdr:wsDr>`,
  );
  workbook.put(`xl/drawings/_rels/${name}.rels`, relations.xml());
  overrides.push(
    `<Override PartName="/xl/drawings/${name}" ContentType="application/vnd.openxmlformats-officedocument.drawing+xml"/>`,
  );
};

/** English Metric Units of a length in points. */
const emu = (points: number): number => Math.round(points * 12_700);
const extent = (tag: string, { width, height }: Place): string => `<${tag} cx="${emu(width)}" cy="${emu(height)}"/>`;

const anchor = (place: Place, content: string): string =>
  `<xdr:oneCellAnchor><xdr:from><xdr:col>${place.column}</xdr:col><xdr:colOff>${emu(place.offset)}</xdr:colOff><xdr:row>${place.row - 1}</xdr:row><xdr:rowOff>${emu(3)}</xdr:rowOff></xdr:from>` +
  `${extent('xdr:ext', place)}${content}<xdr:clientData/></xdr:oneCellAnchor>`;

const picture = (id: number, alt: string, link: string, relation: string, place: Place): string =>
  `<xdr:pic><xdr:nvPicPr><xdr:cNvPr id="${id}" name="Picture ${id - 1}" descr="${escapeXml(alt)}">${link}</xdr:cNvPr><xdr:cNvPicPr><a:picLocks noChangeAspect="1"/></xdr:cNvPicPr></xdr:nvPicPr>` +
  `<xdr:blipFill><a:blip r:embed="${relation}"/><a:stretch><a:fillRect/></a:stretch></xdr:blipFill>` +
  `<xdr:spPr><a:xfrm><a:off x="0" y="0"/>${extent('a:ext', place)}</a:xfrm><a:prstGeom prst="rect"><a:avLst/></a:prstGeom></xdr:spPr></xdr:pic>`;

const chartFrame = (id: number, title: string, relation: string, place: Place): string =>
  `<xdr:graphicFrame macro=""><xdr:nvGraphicFramePr><xdr:cNvPr id="${id}" name="Chart ${id - 1}" descr="${escapeXml(title)}"/><xdr:cNvGraphicFramePr/></xdr:nvGraphicFramePr>` +
  `<xdr:xfrm><a:off x="0" y="0"/>${extent('a:ext', place)}</xdr:xfrm><a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/chart">` +
  `<c:chart xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" r:id="${relation}"/></a:graphicData></a:graphic></xdr:graphicFrame>`;

/** In: a ZIP file without encryption and without ZIP64, as archiver writes it. */
export const openPackage = (zip: Uint8Array): Package => {
  const entries = new Map(readEntries(zip).map((entry) => [entry.name, entry] as const));
  return {
    text: (name) => {
      const entry = entries.get(name);
      if (entry === undefined) return undefined;
      return Buffer.from(entry.method === 0 ? entry.packed : inflateRawSync(entry.packed)).toString('utf8');
    },
    put: (name, content) =>
      entries.set(name, packed(name, typeof content === 'string' ? Buffer.from(content, 'utf8') : content)),
    bytes: () => writeEntries([...entries.values()].sort((a, b) => rank(a.name) - rank(b.name))),
  };
};

/** Readers that look at the first bytes only expect these parts in front. */
const rank = (name: string): number => (name === '[Content_Types].xml' ? 0 : name === '_rels/.rels' ? 1 : 2);

const packed = (name: string, content: Uint8Array): Entry => {
  const deflated = deflateRawSync(content);
  const method = deflated.length < content.length ? 8 : 0;
  return { name, method, crc: crc32(content), size: content.length, packed: method === 8 ? deflated : content };
};

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const END_BYTES = 22;

const readEntries = (zip: Uint8Array): Entry[] => {
  const view = new DataView(zip.buffer, zip.byteOffset, zip.byteLength);
  const end = zip.length - END_BYTES;
  if (end < 0 || view.getUint32(end, true) !== END) throw new Error('the workbook that was written is no ZIP file');
  let at = view.getUint32(end + 16, true);
  return Array.from({ length: view.getUint16(end + 10, true) }, () => {
    if (view.getUint32(at, true) !== CENTRAL)
      throw new Error('the directory of the workbook that was written is broken');
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((offset) => view.getUint16(at + offset, true)) as [
      number,
      number,
      number,
    ];
    const method = view.getUint16(at + 10, true);
    if (method !== 0 && method !== 8) throw new Error(`a part of the workbook is packed by method ${method}`);
    const local = view.getUint32(at + 42, true);
    const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    const name = Buffer.from(zip.subarray(at + 46, at + 46 + nameBytes)).toString('utf8');
    const entry: Entry = {
      name,
      method,
      crc: view.getUint32(at + 16, true),
      size: view.getUint32(at + 24, true),
      packed: zip.subarray(start, start + view.getUint32(at + 20, true)),
    };
    at += 46 + nameBytes + extraBytes + commentBytes;
    return entry;
  });
};

/** 1 January 1980, the first day that ZIP knows: a real time would make every file another one. */
const DOS_DATE = 0x21;
const UTF8_NAMES = 0x800;

const writeEntries = (entries: readonly Entry[]): Uint8Array => {
  const names = entries.map(({ name }) => Buffer.from(name, 'utf8'));
  const total = entries.reduce(
    (sum, { packed: bytes }, at) => sum + 76 + 2 * (names[at]?.length ?? 0) + bytes.length,
    END_BYTES,
  );
  const out = Buffer.alloc(total);
  let at = 0;
  const offsets = entries.map((entry, index) => {
    const offset = at;
    at = out.writeUInt32LE(LOCAL, at);
    at = writeCommon(out, at, entry, names[index]?.length ?? 0);
    at += names[index]?.copy(out, at) ?? 0;
    out.set(entry.packed, at);
    at += entry.packed.length;
    return offset;
  });
  const directory = at;
  entries.forEach((entry, index) => {
    at = out.writeUInt32LE(CENTRAL, at);
    at = out.writeUInt16LE(20, at);
    at = writeCommon(out, at, entry, names[index]?.length ?? 0);
    at += 10; // no comment, first disk, no attributes
    at = out.writeUInt32LE(offsets[index] ?? 0, at);
    at += names[index]?.copy(out, at) ?? 0;
  });
  const directoryBytes = at - directory;
  at = out.writeUInt32LE(END, at) + 4;
  at = out.writeUInt16LE(entries.length, at);
  at = out.writeUInt16LE(entries.length, at);
  at = out.writeUInt32LE(directoryBytes, at);
  out.writeUInt32LE(directory, at);
  return out;
};

/**
 * Writes the fields that the local header and the directory share, from "version needed" to the length of the extra
 * field.
 */
const writeCommon = (out: Buffer, start: number, entry: Entry, nameBytes: number): number => {
  let at = out.writeUInt16LE(20, start);
  at = out.writeUInt16LE(UTF8_NAMES, at);
  at = out.writeUInt16LE(entry.method, at);
  at = out.writeUInt16LE(0, at);
  at = out.writeUInt16LE(DOS_DATE, at);
  at = out.writeUInt32LE(entry.crc, at);
  at = out.writeUInt32LE(entry.packed.length, at);
  at = out.writeUInt32LE(entry.size, at);
  at = out.writeUInt16LE(nameBytes, at);
  return out.writeUInt16LE(0, at);
};
