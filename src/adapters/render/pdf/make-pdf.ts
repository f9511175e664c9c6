/** PDF files from expanded documents: each page of the template begins on a new sheet with its own size, margins, background, header and footer. */
import type { Limits } from '../../../domain/core/limits.js';
import type { DocumentMetadata, LoadedImage } from '../../../domain/ports/generator.js';
import type { ExpandedDocument, ExpandedPage, ExpandedSection } from '../../../domain/rendering/expand/expanded.js';
import { fileTooLarge, tooManyPages } from '../../../domain/rendering/limit-errors.js';
import type { PageFormat } from '../../../domain/rendering/document-content.js';
import { openBackground } from './backgrounds.js';
import { BAND_SHARE_MAX, openBands } from './bands.js';
import { padded } from './components/blocks.js';
import { pdfColor } from '../colors.js';
import { directed, GAP_PT, lineFactor, LINK_COLOR, spaced, TEXT_COLOR, withStyle, type Context } from './context.js';
import { openFonts, type Fonts } from './fonts.js';
import type { Node, SectionNode } from './nodes.js';
import { openPictures } from './pictures.js';
import { print, type PrintJob } from './print.js';
import { drawAll } from './registry.js';

/** Portrait, in points (ISO 216; ANSI/ASME Y14.1). */
const paper: Readonly<Record<PageFormat, readonly [width: number, height: number]>> = {
  A3: [841.89, 1190.55],
  A4: [595.28, 841.89],
  A5: [419.53, 595.28],
  Letter: [612, 792],
  Legal: [612, 1008],
  Tabloid: [792, 1224],
};

const FONT_SIZE_PT = 11;
const LINE_HEIGHT = 1.4;
const PRODUCER = 'sealpost';

let shippedFonts: Fonts | undefined;

/**
 * In: an expanded document, its pictures by the addresses they have in it, and what the file says of itself; `fonts` where more than
 * the shipped ones are configured. Out: the file. The same input gives the same bytes. Nothing is read but font files.
 * Throws DomainError: ERR_LIMIT_001 as soon as a page too many is begun, ERR_LIMIT_006 as soon as the file is too large, FONT_MISSING,
 * GENERATION_FAILED (a picture that cannot be drawn, by its place), VALIDATION_ERROR (a QR code that cannot hold its value).
 */
export const makePdf = async (
  document: ExpandedDocument,
  images: ReadonlyMap<string, LoadedImage>,
  metadata: DocumentMetadata,
  limits: Limits,
  fonts: Fonts = (shippedFonts ??= openFonts()),
): Promise<Uint8Array> => {
  const pieces: Uint8Array[] = [];
  let sizeBytes = 0;
  const onBytes = (piece: Uint8Array): void => {
    sizeBytes += piece.length;
    if (sizeBytes > limits.documentSizeBytesMax) throw fileTooLarge('pdf', sizeBytes, limits.documentSizeBytesMax, false);
    pieces.push(piece);
  };
  await print(printJob(document, images, metadata, { limits, fonts, onBytes }));
  return Buffer.concat(pieces, sizeBytes);
};

type Printing = Readonly<{ limits: Limits; fonts: Fonts; onBytes: (piece: Uint8Array) => void }>;

/** What the library is given; exported so that its own speed on the same nodes can be measured. */
export const printJob = (
  document: ExpandedDocument,
  images: ReadonlyMap<string, LoadedImage>,
  metadata: DocumentMetadata,
  { limits, fonts, onBytes }: Printing,
): PrintJob => {
  const { locale } = document.language;
  const pictures = openPictures({ images, fonts, locale });
  const base = {
    linkColor: LINK_COLOR,
    fontSize: FONT_SIZE_PT,
    lineHeight: LINE_HEIGHT,
    color: TEXT_COLOR,
    align: 'start' as const,
    ...directed('ltr'),
    tag: undefined,
    picture: pictures.picture,
    fonts,
    family: undefined,
    refuses: document.refuses ?? (() => true),
    locale,
  };
  const sections = document.pages.map((page, at) => sheetsOf(page, { ...base, field: `schema.pages[${at}]`, width: 0, height: 0 }, limits));
  return {
    sections,
    defaultLook: { font: 'Roboto', fontSize: FONT_SIZE_PT, lineHeight: lineFactor(LINE_HEIGHT), color: TEXT_COLOR },
    pictures: pictures.files(),
    info: infoOf(metadata),
    language: locale,
    fonts: fonts.descriptors,
    onBytes,
  };
};

/** Control characters have no place in a title; an empty one is left out. */
const infoOf = ({ title, author, createdAt }: DocumentMetadata): Readonly<Record<string, string | Date>> => {
  const clean = (text: string): string => text.replace(/[\x00-\x1f\x7f]+/g, ' ').trim();
  const created = new Date(createdAt);
  return {
    ...(clean(title) === '' ? {} : { Title: clean(title) }),
    ...(clean(author) === '' ? {} : { Author: clean(author) }),
    Creator: PRODUCER,
    Producer: PRODUCER,
    CreationDate: created,
    ModDate: created,
  };
};

/** A page that holds more than one sheet has goes on on the next; margins never leave less than this for its text. */
const ROOM_MIN_PT = 36;

const sheetsOf = (page: ExpandedPage, base: Context, limits: Limits): SectionNode => {
  const [short, long] = paper[page.format];
  const pageSize = page.orientation === 'landscape' ? { width: long, height: short } : { width: short, height: long };
  const { top, right, bottom, left } = page.margin;
  const shrinkX = Math.min(1, (pageSize.width - ROOM_MIN_PT) / (left + right || 1));
  const shrinkY = Math.min(1, (pageSize.height - ROOM_MIN_PT) / (top + bottom || 1));
  const pageMargins = { left: left * shrinkX, right: right * shrinkX, top: top * shrinkY, bottom: bottom * shrinkY };
  const context: Context = {
    ...base,
    ...directed(page.direction),
    width: pageSize.width - pageMargins.left - pageMargins.right,
    height: pageSize.height - pageMargins.top - pageMargins.bottom,
  };
  const blocks = page.sections.flatMap((section, at) => {
    const nodes = sectionNodes(section, context);
    const last = nodes.at(-1);
    return last === undefined || at === page.sections.length - 1 ? nodes : [...nodes.slice(0, -1), spaced(last, GAP_PT)];
  });
  const background = openBackground(page, pageSize, context);
  const bands = openBands(page, { ...context, height: pageSize.height * BAND_SHARE_MAX }, pageMargins);
  return {
    // A sheet on which nothing stands would not be begun; an empty line makes it one.
    section: { stack: blocks.length === 0 ? [{ text: '' }] : blocks },
    pageSize,
    pageMargins,
    background: (sheet) => {
      if (sheet > limits.pdfPagesMax) throw tooManyPages(sheet, limits.pdfPagesMax, false);
      return background(bands.begin(sheet));
    },
    bands: bands.sample,
    header: bands.header,
    footer: bands.footer,
  };
};

const sectionNodes = ({ style, linkColor, padding, components }: ExpandedSection, outer: Context): readonly Node[] => {
  const styled = withStyle(style, { ...outer, width: Math.max(outer.width - padding.left - padding.right, 1) });
  const inner = { ...styled, linkColor: pdfColor(linkColor) ?? styled.linkColor };
  return padded(drawAll(components, inner), padding, pdfColor(style.backgroundColor));
};
