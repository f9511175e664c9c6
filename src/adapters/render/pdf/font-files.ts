/**
 * The font files: shipped ones, those of the configured folder and those that a template brings, and their bytes as
 * OpenType, read when they are first needed.
 */
import { inflateSync, brotliDecompressSync } from 'node:zlib';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as fontkit from 'fontkit';
import { shapedText } from './scripts.js';

/** Paths by style. A family without a style of its own shows its upright or regular letters in place of it. */
export type FontFiles = Readonly<{ normal: string; bold?: string; italics?: string; bolditalics?: string }>;
export type FontFamily = Readonly<{
  name: string;
  /** How templates name it; default: `name`. */ alias?: string;
  files: FontFiles;
}>;
export type Face = fontkit.Font;

const folder = new URL('../../../../../fonts/', import.meta.url);
const shipped = (file: string): string => fileURLToPath(new URL(`${file}.ttf.br`, folder));
const family = (name: string, regular: string, bold?: string): FontFamily => ({
  name,
  files: { normal: shipped(regular), ...(bold === undefined ? {} : { bold: shipped(bold) }) },
});
const notoFamily = (script: string): FontFamily =>
  family(`NotoSans${script}`, `NotoSans${script}-Regular`, `NotoSans${script}-Bold`);

const robotoFile = (style: string): string =>
  createRequire(import.meta.url).resolve(`pdfmake/fonts/Roboto/Roboto-${style}.ttf`);

export const roboto: FontFamily = {
  name: 'Roboto',
  files: {
    normal: robotoFile('Regular'),
    bold: robotoFile('Medium'),
    italics: robotoFile('Italic'),
    bolditalics: robotoFile('MediumItalic'),
  },
};
/** One family for each script; it also shows a space or a digit after its words, if it has them. */
export const scriptFamilies: readonly FontFamily[] = [
  notoFamily('Hebrew'),
  // Draws each Arabic letter as one glyph, so that who copies or searches the text finds it; the next has letters that
  // it has not.
  family('IBMPlexSansArabic', 'IBMPlexSansArabic-Regular', 'IBMPlexSansArabic-Bold'),
  ...['Arabic', 'Devanagari', 'Thai'].map(notoFamily),
];
/** They share most characters, each drawn as its readers write it. */
export const hanFamilies = { zh: notoFamily('SC'), ja: notoFamily('JP'), ko: notoFamily('KR') } as const;
/** Arrows, signs and rarer letters; before the Han fonts, which have some of them and are the largest files. */
export const symbols = family('DejaVuSans', 'DejaVuSans-Regular', 'DejaVuSans-Bold');
export const pictographs = family('NotoEmoji', 'NotoEmoji-Regular');
export const builtInFamilies: readonly FontFamily[] = [
  roboto,
  ...scriptFamilies,
  ...Object.values(hanFamilies),
  symbols,
  pictographs,
];

const FILES_MAX = 200;
const styleOfSuffix: Readonly<Record<string, keyof FontFiles>> = {
  regular: 'normal',
  bold: 'bold',
  italic: 'italics',
  oblique: 'italics',
  bolditalic: 'bolditalics',
  boldoblique: 'bolditalics',
};

/**
 * The fonts of a folder, in the order of their names: `Name-Regular.ttf`, `Name-Bold.otf`, `Name-Italic.woff`,
 * `Name-BoldItalic.ttf` make one family; a file named otherwise is a family of its own. Throws where the folder cannot
 * be read or holds too many files.
 */
export const familiesIn = (directory: string): readonly FontFamily[] => {
  const names = readdirSync(directory)
    .filter((name) => /\.(?:ttf|otf|woff)$/i.test(name))
    .sort();
  if (names.length > FILES_MAX)
    throw new Error(`The folder ${directory} holds ${names.length} fonts; at most ${FILES_MAX} are read.`);
  const families = new Map<string, Partial<Record<keyof FontFiles, string>>>();
  for (const name of names) {
    const stem = basename(name, extname(name));
    const [, familyName = stem, suffix = 'regular'] =
      /^(.+?)-(regular|bold|italic|oblique|bolditalic|boldoblique)$/i.exec(stem) ?? [];
    const files = families.get(familyName) ?? {};
    families.set(familyName, { ...files, [styleOfSuffix[suffix.toLowerCase()] ?? 'normal']: join(directory, name) });
  }
  const taken = new Set(builtInFamilies.map((known) => known.name.toLowerCase()));
  return [...families].map(([name, files]) => {
    const normal = files.normal ?? files.bold ?? files.italics ?? files.bolditalics ?? '';
    return { name: taken.has(name.toLowerCase()) ? `${name} (configured)` : name, files: { ...files, normal } };
  });
};

/** The font files that the template of the current or the last document brings, by names that no file on disk has. */
let brought: ReadonlyMap<string, Uint8Array> = new Map();

/** Replaces the files of the earlier document. Faces of files that both bring are kept. */
export const bringFonts = (files: ReadonlyMap<string, Uint8Array>): void => {
  for (const file of brought.keys()) if (!files.has(file)) faceByFile.delete(file);
  brought = files;
};

/** Bounded by the files that are shipped and configured: no template can name a file. */
const bytesByFile = new Map<string, Uint8Array>();
const faceByFile = new Map<string, Face>();

/** A font file as TrueType or OpenType, from memory after the first time. Throws where it cannot be read. */
export const fontBytes = (file: string): Uint8Array => {
  const known = brought.get(file) ?? bytesByFile.get(file);
  if (known !== undefined) return known;
  const stored = readFileSync(file);
  const bytes = file.endsWith('.br')
    ? brotliDecompressSync(stored)
    : file.toLowerCase().endsWith('.woff')
      ? sfntOfWoff(stored)
      : stored;
  bytesByFile.set(file, bytes);
  return bytes;
};

/** The font of a file, to ask what it has and how wide it is. Throws where the file is none, naming it. */
export const faceOf = (file: string): Face => {
  const known = faceByFile.get(file);
  if (known !== undefined) return known;
  const opened = open(file);
  if (!('hasGlyphForCodePoint' in opened))
    throw new Error(`The font file ${file} is a collection; a file with one font is needed.`);
  skipNullAnchors(opened);
  faceByFile.set(file, opened);
  return opened;
};

type AnchorRecord = Readonly<{ markAnchor?: object | null }>;
/** As fontkit places marks, by the tables of a font; its types do not know it. */
type Positioner = {
  applyAnchor: (mark: AnchorRecord, base: object | null | undefined, baseIndex: number) => void;
  applyLookup: (type: number, table: object) => boolean;
};

const NO_ANCHOR = new Error('the font has no anchor for this mark');

/**
 * A font may have no anchor (NULL in its GPOS table) for some marks and bases. fontkit would throw; here the next table
 * of the lookup is tried, as in HarfBuzz.
 */
const skipNullAnchors = (face: Face): void => {
  const positioner = (face as Face & { _layoutEngine?: { engine?: { GPOSProcessor?: Positioner } } })._layoutEngine
    ?.engine?.GPOSProcessor;
  if (positioner === undefined || positioner === null) return;
  const { applyAnchor, applyLookup } = positioner;
  positioner.applyAnchor = (mark, base, baseIndex) => {
    if ((mark.markAnchor ?? undefined) === undefined || (base ?? undefined) === undefined) throw NO_ANCHOR;
    applyAnchor.call(positioner, mark, base, baseIndex);
  };
  positioner.applyLookup = (type, table) => {
    try {
      return applyLookup.call(positioner, type, table);
    } catch (fault) {
      if (fault === NO_ANCHOR) return false;
      throw fault;
    }
  };
};

/**
 * A text as glyphs and their places. A font keeps each glyph with the characters that it first stood for, and shapes
 * later texts by them: without forgetting, what a text looks like would depend on the texts before it.
 */
export const layoutIn = (
  file: string,
  text: string,
): Readonly<{ run: ReturnType<Face['layout']>; unitsPerEm: number }> => {
  const face = faceOf(file) as Face & { _glyphs: object };
  face._glyphs = {};
  return { run: face.layout(shapedText(text, face)), unitsPerEm: face.unitsPerEm };
};

const open = (file: string): ReturnType<typeof fontkit.create> => {
  try {
    return fontkit.create(Buffer.from(fontBytes(file).buffer, fontBytes(file).byteOffset, fontBytes(file).byteLength));
  } catch (fault) {
    throw new Error(`The font file ${file} cannot be read: ${fault instanceof Error ? fault.message : String(fault)}`, {
      cause: fault,
    });
  }
};

const WOFF_HEADER_BYTES = 44;
const WOFF_ENTRY_BYTES = 20;
const HEADER_BYTES = 12;
const ENTRY_BYTES = 16;
const TABLES_MAX = 256;
const TABLE_BYTES_MAX = 64 * 1_024 * 1_024;

/**
 * The OpenType file that a WOFF 1.0 file packs (https://www.w3.org/TR/WOFF/ sections 3 to 5): read so, a table is
 * unpacked once and not for every letter. Throws where the bytes are no WOFF file.
 */
export const sfntOfWoff = (woff: Buffer): Buffer => {
  if (woff.length < WOFF_HEADER_BYTES || woff.toString('latin1', 0, 4) !== 'wOFF')
    throw new Error('it is no WOFF 1.0 file');
  const tableCount = woff.readUInt16BE(12);
  if (tableCount === 0 || tableCount > TABLES_MAX) throw new Error(`it says that it holds ${tableCount} tables`);
  const header = Buffer.alloc(HEADER_BYTES + ENTRY_BYTES * tableCount);
  writeHeader(header, woff.readUInt32BE(4), tableCount);
  const parts: Buffer[] = [header];
  let position = header.length;
  for (let index = 0; index < tableCount; index += 1) {
    const entry = WOFF_HEADER_BYTES + WOFF_ENTRY_BYTES * index;
    const table = tableAt(woff, entry);
    const target = HEADER_BYTES + ENTRY_BYTES * index;
    woff.copy(header, target, entry, entry + 4);
    woff.copy(header, target + 4, entry + 16, entry + 20);
    header.writeUInt32BE(position, target + 8);
    header.writeUInt32BE(table.length, target + 12);
    const padding = (4 - (table.length % 4)) % 4;
    parts.push(table, Buffer.alloc(padding));
    position += table.length + padding;
  }
  return Buffer.concat(parts);
};

const writeHeader = (header: Buffer, flavor: number, tableCount: number): void => {
  const selector = Math.floor(Math.log2(tableCount));
  header.writeUInt32BE(flavor, 0);
  header.writeUInt16BE(tableCount, 4);
  header.writeUInt16BE(ENTRY_BYTES * 2 ** selector, 6);
  header.writeUInt16BE(selector, 8);
  header.writeUInt16BE(ENTRY_BYTES * (tableCount - 2 ** selector), 10);
};

const tableAt = (woff: Buffer, entry: number): Buffer => {
  const start = woff.readUInt32BE(entry + 4);
  const packedBytes = woff.readUInt32BE(entry + 8);
  const sizeBytes = woff.readUInt32BE(entry + 12);
  const packed = woff.subarray(start, start + packedBytes);
  if (packed.length < packedBytes || sizeBytes > TABLE_BYTES_MAX)
    throw new Error('its table of contents does not fit its size');
  const table = packedBytes < sizeBytes ? inflateSync(packed, { maxOutputLength: sizeBytes }) : packed;
  if (table.length !== sizeBytes) throw new Error('one of its tables has not the size that it says');
  return table;
};
