/**
 * The parts of pdfmake that documents are printed with, as far as they are used here; the package types only its front
 * door.
 */

declare module 'pdfmake/js/PDFDocument.js' {
  import { Readable } from 'node:stream';

  type Face = object;
  type Image = {
    readonly width: number;
    readonly height: number;
    readonly orientation?: number;
    embed: (document: PDFDocument) => void;
    finalize?: () => unknown;
  };
  type Ref = { data: Record<string, unknown> };
  export type StructureElement = {
    add: (child: StructureElement | StructureContent) => StructureElement;
    end: () => void;
    readonly dictionary: Ref;
  };
  export type StructureContent = { readonly refs: readonly unknown[] };

  export type Bookmark = {
    addItem: (title: string, options: { top: number; left: number; expanded: boolean }) => Bookmark;
  };

  export class PDFDocument extends Readable {
    constructor(
      fonts: Record<string, Record<string, unknown>>,
      images: object,
      patterns: object,
      attachments: object,
      options: object,
    );
    _font: Face | null;
    _fontFamilies: Record<string, Face>;
    _fontCount: number;
    _fontSize: number;
    _offset: number;
    _imageRegistry: Record<string, Image>;
    _root: Ref;
    page: { readonly markings: readonly unknown[]; readonly width: number };
    readonly outline: Bookmark;
    endOutline(): void;
    addPage(options?: object): this;
    addNamedDestination(name: string, kind: 'XYZ', left: null, top: number, zoom: null): void;
    goTo(x: number, y: number, width: number, height: number, name: string, options: object): this;
    link(x: number, y: number, width: number, height: number, url: string, options?: object): this;
    _write(data: string | Uint8Array): void;
    font(source: unknown, family?: string | number | null, size?: number): this;
    fontSize(size: number): this;
    openImage(source: unknown): Image;
    addStructure(element: StructureElement): this;
    struct(type: string, options?: object): StructureElement;
    markContent(tag: string, options?: object | null): this;
    markStructureContent(tag: string, options?: object): StructureContent;
    endMarkedContent(): this;
    save(): this;
    restore(): this;
    roundedRect(x: number, y: number, width: number, height: number, radius: number): this;
    clip(): this;
    rect(x: number, y: number, width: number, height: number): this;
    fill(color: string): this;
    end(): this;
  }
  const part: { default: typeof PDFDocument };
  export default part;
}

declare module 'pdfmake/js/LayoutBuilder.js' {
  export type Context = {
    page: number;
    x: number;
    y: number;
    availableWidth: number;
    availableHeight: number;
    moveDown(points: number): boolean;
    readonly pages: readonly LaidPage[];
    readonly pageMargins: { top: number; right: number; bottom: number; left: number };
    readonly backgroundLength: number[];
    /** One for each row of columns or of a table around. */ readonly snapshots: readonly unknown[];
    getCurrentPage(): LaidPage | null;
    resetMarginXTopParent(): void;
    addMargin(left: number, right?: number): void;
  };
  export type LaidPage = {
    readonly items: { type: string; item: Record<string, unknown> }[];
    readonly pageSize: { width: number; height: number };
    pageMargins: Readonly<{ top: number; right: number; bottom: number; left: number }>;
  };
  export type Writer = {
    readonly transactionLevel: number;
    /** Header rows of the tables around, which come again on each sheet. */ readonly repeatables: readonly {
      height: number;
    }[];
    moveToNextPage(): void;
    setMaxListeners(count: number): unknown;
    context(): Context;
    addVector(
      vector: object,
      ignoreContextX: boolean,
      ignoreContextY: boolean,
      index: number | undefined,
      page: number,
    ): unknown;
  };
  /** `tag`, `highlight` and `bidiLevel` are ours: pdfmake copies what it does not know. */
  export type BrokenLine = {
    inlines: {
      text: string;
      x: number;
      width: number;
      fontSize: number;
      font: { lineHeight: (size: number) => number };
      background?: string | null;
      highlight?: string | undefined;
      leadingCut?: number;
      trailingCut?: number;
      justifyShift?: number;
      bidiLevel?: number;
      link?: string | null;
      height: number;
      /** Ours. */
      picture?: unknown;
    }[];
    getHeight: () => number;
    getAscenderHeight: () => number;
    leadingCut: number;
    trailingCut: number;
    inlineWidths: number;
    lastLineInParagraph?: boolean;
    maxWidth: number;
    tag?: unknown;
  };
  /** The result of laying out a row of a table or of columns. */
  export type ProcessedRow = { readonly positions: readonly unknown[]; readonly pageBreaks: unknown[] };
  export class LayoutBuilder<Node> {
    constructor(pageSize: object, pageMargins: object, svgMeasure: object);
    writer: Writer;
    nestedLevel: number;
    readonly docPreprocessor: { preprocessBlock: (node: object) => object };
    readonly docMeasure: { measureBlock: (node: object) => object };
    registerTableLayouts(layouts: object): void;
    layoutDocument(content: unknown, document: object, styles: object, defaultStyle: object): readonly LaidPage[];
    processNode(node: Node, isVerticalAlignmentAllowed?: boolean): void;
    processSection(node: object): void;
    processVerticalContainer(node: Node): void;
    processTable(node: Node): void;
    processRow(row: object): ProcessedRow;
    _findSameRowPageBreakByRowSpanData(
      breaks: unknown,
      page: number,
      row: number,
    ): { prevPage: number } | null | undefined;
    _getPageBreakListBySpan(node: object, page: number, row: number): unknown;
    processImage(node: Node): void;
    processSVG(node: Node): void;
    buildNextLine(node: Node): BrokenLine | null;
  }
  const part: { default: typeof LayoutBuilder };
  export default part;
}

declare module 'pdfmake/js/Renderer.js' {
  import type { PDFDocument } from 'pdfmake/js/PDFDocument.js';
  import type { BrokenLine, LaidPage } from 'pdfmake/js/LayoutBuilder.js';
  /** `tag`, `field` and `radius` are ours. */
  export type DrawnPicture = {
    x: number;
    y: number;
    _width: number;
    _height: number;
    image?: string;
    svg?: string;
    options?: object;
    link?: string;
    tag?: unknown;
    field?: string;
    radius?: number;
  };
  export class Renderer {
    constructor(document: PDFDocument);
    readonly pdfDocument: PDFDocument;
    renderPages(pages: readonly LaidPage[]): void;
    renderLine(line: BrokenLine, x: number, y: number): void;
    renderVector(vector: Record<string, unknown>): void;
    renderImage(image: DrawnPicture): void;
    renderSVG(svg: DrawnPicture): void;
  }
  const part: { default: typeof Renderer };
  export default part;
}

declare module 'pdfmake/js/columnCalculator.js' {
  /** Width of columns and of the columns of a table. */
  export type Column = { width?: number | string; _calcWidth?: number };
  const part: { default: { buildColumnWidths: (widths: Column[], available: number, offset?: number) => void } };
  export default part;
}

declare module 'pdfmake/js/SVGMeasure.js' {
  const part: {
    default: new () => { measureSVG: (svg: string) => { width: number | undefined; height: number | undefined } };
  };
  export default part;
}

declare module 'pdfmake/js/tableLayouts.js' {
  const part: { tableLayouts: object };
  export default part;
}

declare module 'pdfmake/js/TableProcessor.js' {
  import type { Writer } from 'pdfmake/js/LayoutBuilder.js';
  export class TableProcessor {
    constructor(node: object);
    readonly headerRows: number;
    readonly rowsWithoutPageBreak: number;
    readonly rowSpanData: readonly { rowSpan: number }[];
    beginTable(writer: Writer): void;
    beginRow(row: number, writer: Writer): void;
    endRow(row: number, writer: Writer, pageBreaks: unknown): void;
    endTable(writer: Writer): void;
    drawHorizontalLine(line: number, writer: Writer): void;
  }
  const part: { default: typeof TableProcessor };
  export default part;
}
