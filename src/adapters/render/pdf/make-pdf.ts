/**
 * PDF files from expanded documents: each page of the template begins on a new sheet with its own size, margins,
 * background, header and footer.
 */
import type {
  ExpandedPage,
  Expanded,
  Flow,
  ExpandedDocument,
  ExpandedSection,
} from '../../../domain/rendering/expand/expanded.js';
import { WATERMARK_CHARS_MAX, type PageFormat } from '../../../domain/rendering/content.js';
import { firstChars } from '../../../shared/text.js';
import { pdfColor } from '../colors.js';
import { chartText, textElement } from './chart-text.js';
import {
  type Context,
  type Picture,
  GAP_PT,
  spaced,
  type ComponentRenderer,
  directed,
  lineFactor,
  LINK_COLOR,
  NO_PAPER,
  indented,
  narrower,
  startOf,
  TEXT_COLOR,
  withStyle,
} from './context.js';
import { anchored, type Node, type StackNode, type SectionNode, type Tag } from './nodes.js';
import { plainNodes, richNodes } from './rich.js';
import { silent } from './picture-node.js';
import { unusable } from './picture-files.js';
import { chart, image, qrCode } from './components/media.js';
import { columns, container, divider, list, richText, spacer, timeline, padded } from './components/blocks.js';
import { lastRowsStay, table } from './components/table.js';
import type { Limits } from '../../../domain/core/limits.js';
import type { DocumentMetadata, LoadedImage } from '../../../domain/ports/generator.js';
import { escapeHtml } from '../../../domain/rendering/fill/compile.js';
import { fileTooLarge, tooManyPages } from '../../../domain/rendering/budget.js';
import { BAND_SHARE_MAX, openBands } from './bands.js';
import { openFonts, type Fonts } from './fonts.js';
import { heldPictures } from './photos.js';
import { openPictures } from './pictures.js';
import { print, type PrintJob } from './print.js';

type Size = Readonly<{ width: number; height: number }>;

type Placing = Readonly<{ fit: 'cover' | 'contain'; field: string }>;

type Renderers = Readonly<{ [Type in Expanded['type']]: ComponentRenderer<Extract<Expanded, { type: Type }>> }>;

type Printing = Readonly<{ limits: Limits; fonts: Fonts; onBytes: (piece: Uint8Array) => void }>;

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

/** Margins never leave less than this for the text of a sheet. */
const ROOM_MIN_PT = 36;

/** Length and letter size of a watermark, as shares of the diagonal of the sheet and of its shorter side. */
const LENGTH_SHARE = 0.75;
const SIZE_SHARE = 0.22;

let shippedFonts: Fonts | undefined;

/**
 * In: an expanded document, its pictures by the addresses they have in it, and its metadata; `fonts` if more than the
 * shipped ones are configured. Out: the file. Equal input gives equal bytes. Reads only font files. Throws DomainError:
 * ERR_LIMIT_001 as soon as a page too many is begun, ERR_LIMIT_006 as soon as the file is too large, FONT_MISSING,
 * GENERATION_FAILED (a picture that cannot be drawn, by its place), VALIDATION_ERROR (a QR code that cannot hold its
 * value).
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
    if (sizeBytes > limits.documentSizeBytesMax)
      throw fileTooLarge('pdf', sizeBytes, limits.documentSizeBytesMax, false);
    pieces.push(piece);
  };
  await print(printJob(document, await heldPictures(document, images, 'pdf'), metadata, { limits, fonts, onBytes }));
  return Buffer.concat(pieces, sizeBytes);
};

/** The job for the library; exported so that its own speed on the nodes can be measured. */
export const printJob = (
  document: ExpandedDocument,
  images: ReadonlyMap<string, LoadedImage>,
  metadata: DocumentMetadata,
  { limits, fonts, onBytes }: Printing,
): PrintJob => {
  const { locale } = document.language;
  const linked = new Set<string>();
  const pictures = openPictures({ images, fonts, locale });
  const base = {
    linkColor: LINK_COLOR,
    fontSize: FONT_SIZE_PT,
    lineHeight: LINE_HEIGHT,
    color: TEXT_COLOR,
    align: 'start' as const,
    ...directed('ltr'),
    tag: undefined,
    paperAt: NO_PAPER,
    linked,
    picture: pictures.picture,
    fonts,
    family: undefined,
    refuses: document.refuses ?? (() => true),
    locale,
  };
  const sections = (sheetOf: SheetOf): readonly SectionNode[] => {
    const headings: Heading[] = [];
    const contexts = document.pages.map((_, at): Context => ({
      ...base,
      field: `schema.pages[${at}]`,
      width: 0,
      height: 0,
    }));
    return document.pages
      .map((page, at) => sheetsOf(page, contexts[at] ?? { ...base, field: '', width: 0, height: 0 }, limits))
      .map(({ context, blocks, ...sheets }, at) => {
        if (hasContents) for (const block of blocks) noteHeadings(block, headings);
        return { context, blocks, sheets, contents: document.pages[at]?.contents };
      })
      .map(({ context, blocks, sheets, contents }): SectionNode => {
        const all =
          contents === undefined ? blocks : [...contentsNodes(contents, headings, sheetOf, context), ...blocks];
        // A sheet on which nothing stands would not be begun; an empty line makes it one.
        return { ...sheets, section: { stack: all.length === 0 ? [{ text: '' }] : all } };
      });
  };
  const hasContents = document.pages.some(({ contents }) => contents !== undefined);
  return {
    sections: sections(() => undefined),
    ...(hasContents ? { numbered: sections } : {}),
    linked,
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

const isWhite = ({ backgroundColor, backgroundImage }: ExpandedPage): boolean =>
  (pdfColor(backgroundColor) ?? '#ffffff') === '#ffffff' && backgroundImage === undefined;

type Sheets = Omit<SectionNode, 'section'> & Readonly<{ context: Context; blocks: readonly Node[] }>;

const sheetsOf = (page: ExpandedPage, base: Context, limits: Limits): Sheets => {
  const [short, long] = paper[page.format];
  const pageSize = page.orientation === 'landscape' ? { width: long, height: short } : { width: short, height: long };
  const { top, right, bottom, left } = page.margin;
  const shrinkX = Math.min(1, (pageSize.width - ROOM_MIN_PT) / (left + right || 1));
  const shrinkY = Math.min(1, (pageSize.height - ROOM_MIN_PT) / (top + bottom || 1));
  const pageMargins = { left: left * shrinkX, right: right * shrinkX, top: top * shrinkY, bottom: bottom * shrinkY };
  const context: Context = {
    ...base,
    ...directed(page.direction),
    paperAt: isWhite(page) ? { left: true, right: true } : NO_PAPER,
    width: pageSize.width - pageMargins.left - pageMargins.right,
    height: pageSize.height - pageMargins.top - pageMargins.bottom,
  };
  const blocks = page.sections.flatMap((section, at) => {
    const nodes = sectionNodes(section, context);
    const last = nodes.at(-1);
    return last === undefined || at === page.sections.length - 1
      ? nodes
      : [...nodes.slice(0, -1), spaced(last, GAP_PT)];
  });
  const background = openBackground(page, pageSize, context);
  const bands = openBands(page, { ...context, height: pageSize.height * BAND_SHARE_MAX }, pageMargins);
  return {
    context,
    blocks,
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

type Heading = Readonly<{ level: number; text: string; anchor: string }>;
type SheetOf = (anchor: string) => number | undefined;

const HEADINGS_MAX = 1_000;
const NUMBER_PT = 32;
const LEVEL_PT = 14;

/** Adds the headings below a node, in their order, and gives each an anchor. */
const noteHeadings = (node: Node, headings: Heading[]): void => {
  const level = /^H([1-6])$/.exec(node.tag?.type ?? '')?.[1];
  if ('text' in node && level !== undefined && headings.length < HEADINGS_MAX) {
    const text = (typeof node.text === 'string' ? node.text : node.text.map((run) => run.text).join(''))
      .replace(/\s+/g, ' ')
      .trim();
    // No id of a template holds a blank.
    const anchor = `heading ${headings.length + 1}`;
    if (text !== '') headings.push({ level: Number(level), text, anchor });
    Object.assign(node, { anchors: [...(node.anchors ?? []), anchor] });
  }
  for (const inner of insideOf(node)) noteHeadings(inner, headings);
};

const insideOf = (node: Node): readonly Node[] => {
  if ('stack' in node) return node.stack;
  if ('columns' in node) return node.columns;
  if ('ul' in node) return node.ul;
  if ('ol' in node) return node.ol;
  return 'table' in node ? node.table.body.flat() : [];
};

/** A line for each heading: its text, which leads to it, and the number of its sheet. */
const contentsNodes = (
  { title, levels }: NonNullable<ExpandedPage['contents']>,
  headings: readonly Heading[],
  sheetOf: SheetOf,
  context: Context,
): readonly Node[] => {
  const shown = headings.filter(({ level }) => level <= levels);
  const top = Math.min(...shown.map(({ level }) => level));
  const list: Tag = { type: 'TOC', parent: context.tag };
  const lines = shown.map(({ level, text, anchor }): Node => {
    const indent = (level - top) * LEVEL_PT;
    const line: Context = { ...narrower(indent + NUMBER_PT, context), tag: { type: 'TOCI', parent: list } };
    context.linked.add(anchor);
    const words = { stack: plainNodes(text, line, { link: `#${anchor}` }), width: '*' as const };
    const number = {
      stack: plainNodes(String(sheetOf(anchor) ?? 0), { ...line, align: 'end' }, { link: `#${anchor}` }),
      width: NUMBER_PT,
    };
    return {
      columns: startOf(context) === 'left' ? [words, number] : [number, words],
      columnGap: 0,
      margin: indented(indent, context, [0, 3]),
    };
  });
  const head =
    title === '' ? [] : richNodes(`<h2>${escapeHtml(title)}</h2>`, context).map((node) => spaced(node, GAP_PT));
  return [...head, ...lines.map((node, at) => (at === lines.length - 1 ? spaced(node, 2 * GAP_PT) : node))];
};

const sectionNodes = ({ style, linkColor, padding, components }: ExpandedSection, outer: Context): readonly Node[] => {
  const styled = withStyle(style, { ...outer, width: Math.max(outer.width - padding.left - padding.right, 1) });
  const paperAt = style.backgroundColor === undefined ? outer.paperAt : NO_PAPER;
  const inner = { ...styled, paperAt, linkColor: pdfColor(linkColor) ?? styled.linkColor };
  return padded(drawAll(components, inner), padding, pdfColor(style.backgroundColor));
};

/** The renderer of each component that an expanded document can hold: without one, this does not compile. */
const renderers: Renderers = {
  'rich-text': richText,
  image,
  table,
  container: (component, context) => container(component, context, drawAll),
  columns: (component, context) => columns(component, context, drawAll),
  divider,
  spacer,
  list,
  'qr-code': qrCode,
  timeline,
  chart,
};

const draw = <Type extends Expanded['type']>(
  component: Extract<Expanded, { type: Type }>,
  context: Context,
): readonly Node[] => {
  const render: ComponentRenderer<Extract<Expanded, { type: Type }>> = renderers[component.type as Type];
  const [first, ...others] = render(component, { ...context, field: component.field });
  const nodes = first === undefined ? others : [anchored(first, component.id), ...others];
  if (component.flow === undefined) return nodes;
  // If the last rows stay with the next component, the rows above them may end a sheet.
  if (component.type !== 'table' || !lastRowsStay(component.flow)) return flowing(nodes, component.flow);
  const { pageBreak } = component.flow;
  return pageBreak === undefined ? nodes : flowing(nodes, { pageBreak });
};

/**
 * Joins the nodes of a component into one block, so that it moves as one; a component without nodes leaves no page
 * break.
 */
const flowing = (nodes: readonly Node[], flow: Flow): readonly Node[] => {
  const [only] = nodes;
  if (only === undefined) return [];
  return [nodes.length === 1 ? { ...only, flow } : { stack: nodes, flow }];
};

/** Components one below the other, with room between them; spacers and dividers bring their own. */
const drawAll = (components: readonly Expanded[], context: Context): readonly Node[] =>
  components.flatMap((component, at) => {
    const nodes = draw(component, context);
    const next = components[at + 1];
    const bare =
      component.type === 'spacer' ||
      component.type === 'divider' ||
      next === undefined ||
      next.type === 'spacer' ||
      next.type === 'divider';
    return bare ? nodes : nodes.map((node, index) => (index === nodes.length - 1 ? spaced(node, GAP_PT) : node));
  });

/**
 * The background of each sheet: colour, picture, watermark. Pictures are opened at once, so that a corrupt one is
 * refused before any sheet is made.
 */
const openBackground = (page: ExpandedPage, size: Size, context: Context): ((isFirst: boolean) => StackNode | null) => {
  const color = pdfColor(page.backgroundColor);
  const { backgroundImage } = page;
  const picture =
    backgroundImage === undefined ? undefined : context.picture(backgroundImage.src, backgroundImage.field);
  if (backgroundImage !== undefined && picture === undefined) throw unusable(backgroundImage.field, 'was not loaded');
  const watermark = watermarkOf(page, size, context);
  return (isFirst) => {
    const nodes: Node[] = [];
    if (color !== undefined && color !== '#ffffff')
      nodes.push({
        canvas: [{ type: 'rect', x: 0, y: 0, w: size.width, h: size.height, color }],
        absolutePosition: { x: 0, y: 0 },
      });
    if (backgroundImage !== undefined && picture !== undefined && (isFirst || backgroundImage.sheets === 'all'))
      nodes.push(placed(picture, backgroundImage, size));
    if (watermark !== undefined)
      nodes.push(placed(watermark, { fit: 'contain', field: page.watermark?.field ?? '' }, size));
    return nodes.length === 0 ? null : { stack: nodes };
  };
};

/** In the middle of the sheet, as large as it covers all of it or is seen as a whole. */
const placed = (picture: Picture, { fit, field }: Placing, sheet: Size): Node => {
  const [across, down] = [sheet.width / picture.width, sheet.height / picture.height];
  const factor = fit === 'cover' ? Math.max(across, down) : Math.min(across, down);
  const [width, height] = [picture.width * factor, picture.height * factor];
  const block = {
    width,
    height,
    field,
    absolutePosition: { x: (sheet.width - width) / 2, y: (sheet.height - height) / 2 },
  };
  return picture.kind === 'svg' ? { svg: picture.svg, options: silent, ...block } : { image: picture.name, ...block };
};

/** From the lower left to the upper right. */
const watermarkOf = ({ watermark }: ExpandedPage, { width, height }: Size, context: Context): Picture | undefined => {
  if (watermark === undefined) return undefined;
  const texts = chartText({ ...context, direction: 'ltr' }, watermark.field);
  const text = firstChars(watermark.text.replace(/\s+/g, ' '), WATERMARK_CHARS_MAX);
  const size = Math.min(
    (Math.hypot(width, height) * LENGTH_SHARE) / texts.line(text, true).widthAt(1),
    Math.min(width, height) * SIZE_SHARE,
  );
  const rotate = (Math.atan2(height, width) * -180) / Math.PI;
  // The capitals, seven tenths of the size, stand in the middle.
  const drawn = textElement(
    text,
    width / 2 + Math.sin((-rotate * Math.PI) / 180) * size * 0.35,
    height / 2 + Math.cos((-rotate * Math.PI) / 180) * size * 0.35,
    { size, color: pdfColor(watermark.color) ?? '#e5e7eb', anchor: 'middle', bold: true, rotate },
    texts,
  );
  return {
    kind: 'svg',
    svg: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">${drawn}</svg>`,
    width,
    height,
  };
};
