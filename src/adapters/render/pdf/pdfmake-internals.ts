/**
 * All that is touched of pdfmake's inside: its classes that are extended, and what it leaves on nodes, fonts and faces.
 * The package promises none of it; pdfmake-internals.test.ts fails where an update changes any of it. The types stand
 * in pdfmake-parts.d.ts.
 */
import columnCalculator from 'pdfmake/js/columnCalculator.js';
import layoutBuilder from 'pdfmake/js/LayoutBuilder.js';
import pdfDocument from 'pdfmake/js/PDFDocument.js';
import renderer from 'pdfmake/js/Renderer.js';
import svgMeasure from 'pdfmake/js/SVGMeasure.js';
import layouts from 'pdfmake/js/tableLayouts.js';
import tableProcessor from 'pdfmake/js/TableProcessor.js';
import type { Flow } from '../../../domain/rendering/expand/expanded.js';
import type { Face } from './font-files.js';
import type { Tag } from './nodes.js';

import type { Column } from 'pdfmake/js/columnCalculator.js';
export type { BrokenLine, LaidPage } from 'pdfmake/js/LayoutBuilder.js';
export type { Bookmark, StructureElement } from 'pdfmake/js/PDFDocument.js';
export type { DrawnPicture } from 'pdfmake/js/Renderer.js';

export const PdfmakeDocument = pdfDocument.default;
export const LayoutBuilder = layoutBuilder.default;
export const Renderer = renderer.default;
export const TableProcessor = tableProcessor.default;
export type TableProcessor = InstanceType<typeof TableProcessor>;
export const SvgMeasure = svgMeasure.default;
export const { tableLayouts } = layouts;
/** Sets `_calcWidth` of each width. */
export const { buildColumnWidths } = columnCalculator.default;

/**
 * A font as pdfkit embeds it; `layoutRun` gives glyphs and places of a word, `layoutCached` is where pdfkit asks for
 * them.
 */
export type EmbeddedFont = { layoutRun: (word: string) => object; layoutCached?: (word: string) => object };
export type EmbeddedFontMaker = new (document: object, face: Face, id: string) => EmbeddedFont;

/**
 * The class that embeds a font: no package exports it, so it is asked of a font of a document that is never written.
 */
export const fontMakerOf = (file: Uint8Array): EmbeddedFontMaker => {
  const probe = new PdfmakeDocument({}, {}, {}, {}, { autoFirstPage: false, font: null });
  return probe.font(file)._font?.constructor as EmbeddedFontMaker;
};

/** Forgets the glyphs that the face has made, which remember the characters that each was first drawn for. */
export const forgetGlyphs = (face: Face): void => {
  (face as Face & { _glyphs: object })._glyphs = {};
};

/** As a node stands once it is measured, as far as its height is asked for; `flow`, `tag` and `behind` are ours. */
export type Measured = Readonly<{
  _inlines?: readonly Readonly<{ width: number; height: number; lineEnd?: boolean }>[];
  _margin?: readonly [left: number, top: number, right: number, bottom: number] | null;
  _height?: number;
  _minHeight?: number;
  _calcWidth?: number;
  _gap?: number;
  _gapSize?: Readonly<{ width: number }>;
  stack?: readonly Measured[];
  columns?: readonly (Measured & Column)[];
  ul?: readonly Measured[];
  ol?: readonly Measured[];
  table?: object;
  image?: unknown;
  svg?: unknown;
  canvas?: unknown;
  flow?: Flow;
  tag?: Tag;
  behind?: unknown;
  minHeight?: number;
}>;

type MeasuredItem = Readonly<{
  listMarker?: {
    canvas?: { y: number; w?: number; r1?: number }[];
    _inlines?: readonly { readonly width: number; readonly trailingCut?: number; alignment?: string }[];
    /** The mark stands so far left of the item. */
    _minWidth?: number;
  };
}>;

/** As a list stands once it is measured. */
export type MeasuredList = Readonly<{
  ul?: readonly MeasuredItem[];
  ol?: readonly MeasuredItem[];
  _gapSize: Readonly<{ width: number; height: number; lineHeight: number }>;
}>;

/** As a table stands once it is measured; `fillsWidth`, `footerRows`, `keptRows` and `lastRowsStay` are ours. */
export type MeasuredTable = Measured &
  Readonly<{
    table: {
      widths: (Column & { _minWidth: number; _maxWidth: number })[];
      body: readonly (readonly (Measured & Readonly<{ colSpan?: number; rowSpan?: number }>)[])[];
      headerRows?: number;
      keepWithHeaderRows?: number;
    };
    _offsets: Readonly<{ total: number; offsets: readonly number[] }>;
    _layout: Readonly<{
      paddingTop: (row: number, node: object) => number;
      paddingBottom: (row: number, node: object) => number;
      hLineWidth: (line: number, node: object) => number;
    }>;
    _breaksBySpan?: unknown;
    fillsWidth?: boolean;
    footerRows?: number;
    keptRows?: readonly boolean[];
    lastRowsStay?: boolean;
  }>;
