/**
 * Fonts of a team's gallery: the families that a template brings, and the trial of an uploaded font: whether documents
 * can be written in it, and whether its licence lets them hold it.
 */
import { hash } from 'node:crypto';
import { fontStyles, type FontStyleName, type GalleryFont } from '../../../domain/rendering/content.js';
import { assertDefined } from '../../../domain/core/ids.js';
import type { LoadedImage } from '../../../domain/ports/generator.js';
import { bringFonts, type FontFamily, type FontFiles, faceOf, type Face } from './font-files.js';
import { DomainError } from '../../../domain/core/errors.js';
import type { Limits } from '../../../domain/core/limits.js';
import type { ExpandedDocument } from '../../../domain/rendering/expand/expanded.js';
import { compileDocument } from '../../../domain/rendering/expand/expand.js';
import { emptyCompany } from '../../../domain/teams/state.js';
import { openFonts } from './fonts.js';
import { makePdf } from './make-pdf.js';

const fileStyles: Readonly<Record<FontStyleName, keyof FontFiles>> = {
  regular: 'normal',
  bold: 'bold',
  italic: 'italics',
  boldItalic: 'bolditalics',
};

/** Names a font file by its content, so that equal files of several assets are parsed once. */
const nameOf = (bytes: Uint8Array): string => `gallery:${hash('sha256', bytes)}`;

/**
 * In: the fonts of a template, and their files by their addresses. One document at a time may be made with the
 * families.
 */
export const familiesOf = (
  fonts: readonly GalleryFont[],
  files: ReadonlyMap<string, Pick<LoadedImage, 'bytes'>>,
): readonly FontFamily[] => {
  const brought = new Map<string, Uint8Array>();
  const fileOf = (address: string): string => {
    const { bytes } = assertDefined(files.get(address), 'the file of a font');
    const name = nameOf(bytes);
    brought.set(name, bytes);
    return name;
  };
  const families = fonts.map((font): FontFamily => {
    const own: Partial<Record<keyof FontFiles, string>> = {};
    for (const style of fontStyles) {
      const address = font[style];
      if (address !== undefined) own[fileStyles[style]] = fileOf(address);
    }
    // Another name than that of a family of the service, which stays what it is for all other texts.
    return { name: `${font.family} (gallery)`, alias: font.family, files: { ...own, normal: fileOf(font.regular) } };
  });
  bringFonts(brought);
  return families;
};

const FAMILY = 'Trial';
const FILE = 'asset:trial';
const CHARACTERS_MAX = 400;
const LINE_CHARS = 40;

/** Throws DomainError ASSET_TYPE_NOT_ALLOWED. The process is ended if the font loops or takes too much memory. */
export const tryFont = async (bytes: Uint8Array, limits: Limits): Promise<void> => {
  const files = new Map([[FILE, { bytes, contentType: 'font/ttf' as const }]]);
  const fonts = openFonts(familiesOf([{ family: FAMILY, regular: FILE }], files));
  try {
    const face = faceOf(fonts.descriptors[`${FAMILY} (gallery)`]?.normal ?? '');
    refuseLicence(face);
    const metadata = { title: '', author: '', createdAt: '2026-01-01T00:00:00.000Z' };
    await makePdf(sampleOf(face, limits), new Map(), metadata, limits, fonts);
  } catch (fault) {
    throw fault instanceof DomainError && fault.code === 'ASSET_TYPE_NOT_ALLOWED'
      ? fault
      : refused('it is damaged, or of a kind that no document can hold');
  }
};

const refused = (why: string): DomainError =>
  new DomainError('ASSET_TYPE_NOT_ALLOWED', `The font cannot be used: ${why}.`);

const [RESTRICTED, PREVIEW_AND_PRINT, EDITABLE, NO_SUBSETTING, BITMAPS_ONLY] = [0x2, 0x4, 0x8, 0x100, 0x200];

/** OpenType 1.9, OS/2, fsType: of several kinds of embedding the one that restricts least holds. */
const refuseLicence = (face: Face): void => {
  const tables = face as Face &
    Readonly<{ 'OS/2'?: Readonly<{ fsType?: unknown }>; directory?: Readonly<{ tables: object }> }>;
  if (Object.hasOwn(tables.directory?.tables ?? {}, 'fvar'))
    throw refused('it is a variable font; upload its regular, bold and italic instances');
  const bits = licenceBits(tables['OS/2']?.fsType);
  if (bits === undefined) throw refused('it does not say whether documents may hold it (there is no OS/2 table)');
  if ((bits & RESTRICTED) !== 0 && (bits & (PREVIEW_AND_PRINT | EDITABLE)) === 0)
    throw refused(
      'its maker does not let documents hold it (fsType: restricted licence embedding); ask the maker for a licence and a file that say so',
    );
  if ((bits & NO_SUBSETTING) !== 0)
    throw refused(
      'its maker lets documents hold it as a whole only (fsType: no subsetting), and a PDF holds what it shows',
    );
  if ((bits & BITMAPS_ONLY) !== 0)
    throw refused('its maker lets documents hold its bitmaps only (fsType: bitmap embedding)');
};

/** The parser gives the bits by their names, or as a number. */
const licenceBits = (fsType: unknown): number | undefined => {
  if (typeof fsType === 'number') return fsType;
  if (typeof fsType !== 'object' || fsType === null) return undefined;
  const names: Readonly<Record<string, number>> = {
    noEmbedding: RESTRICTED,
    viewOnly: PREVIEW_AND_PRINT,
    editable: EDITABLE,
    noSubsetting: NO_SUBSETTING,
    bitmapOnly: BITMAPS_ONLY,
  };
  return Object.entries(fsType).reduce((bits, [name, isSet]) => (isSet === true ? bits | (names[name] ?? 0) : bits), 0);
};

/** The first characters of the font, none of which can be part of HTML. */
const sampleOf = (face: Face, limits: Limits): ExpandedDocument => {
  const written = face.characterSet
    .filter((code) => code > 0x20 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff))
    .map((code) => String.fromCodePoint(code))
    .filter((character) => /^[\p{L}\p{N}]$/u.test(character))
    .slice(0, CHARACTERS_MAX);
  if (written.length === 0) throw refused('it has no letters and no digits');
  const lines = Array.from({ length: Math.ceil(written.length / LINE_CHARS) }, (_, at) =>
    written.slice(at * LINE_CHARS, (at + 1) * LINE_CHARS).join(''),
  );
  const components = [
    { id: 't', type: 'rich-text' as const, content: `<p>${lines.join('<br>')}</p>`, props: { fontFamily: FAMILY } },
  ];
  const pages = [{ pageId: 'p', pageName: 'p', sections: [{ id: 's', type: 'main' as const, components }] }];
  return compileDocument(
    { variables: [], schema: { outputFormats: ['pdf'], pages, missingCharacters: 'replace' } },
    limits,
  )({}, environment, 'pdf');
};

const environment = { at: '2026-01-01T00:00:00.000Z', company: emptyCompany };
