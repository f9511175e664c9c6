/**
 * The nodes of pdfmake that documents are made of, and the tags that screen readers follow. Nodes are written here
 * only, so that no node of another kind can come from a template.
 */
import type { Flow } from '../../../domain/rendering/expand/expanded.js';

export type Alignment = 'left' | 'center' | 'right' | 'justify';
/** Left, top, right, bottom, in points. */
export type Margin = readonly [left: number, top: number, right: number, bottom: number];
export type Dash = Readonly<{ length: number; space: number }>;

/** The look of text; on a block it holds for all text inside. Lengths in points. */
export type TextLook = Readonly<{
  font?: string;
  fontSize?: number;
  /** Factor of the font's own line height. */
  lineHeight?: number;
  color?: string;
  bold?: boolean;
  italics?: boolean;
  alignment?: Alignment;
  characterSpacing?: number;
}>;

/**
 * A picture that stands among words, at the height of their letters: an embedded file by its name, or a cleaned
 * drawing. In points.
 */
export type LinePicture = Readonly<
  { width: number; height: number; alt: string; /** For messages. */ field: string } & (
    { kind: 'file'; name: string } | { kind: 'svg'; svg: string }
  )
>;

export type Run = TextLook &
  Readonly<{
    text: string;
    /** Drawn in the place of the text, which keeps its room. */
    picture?: LinePicture;
    /** Tried first; gone once the run is shaped. */
    family?: string;
    decoration?: readonly ('underline' | 'lineThrough')[];
    background?: string;
    link?: string;
    sup?: boolean;
    sub?: boolean;
    preserveLeadingSpaces?: boolean;
    preserveTrailingSpaces?: boolean;
    /** Level of the Unicode bidirectional algorithm; odd runs from right to left. */
    bidiLevel?: number;
  }>;

export type Vector =
  | Readonly<{
      type: 'rect';
      x: number;
      y: number;
      w: number;
      h: number;
      r?: number;
      lineWidth?: number;
      lineColor?: string;
      color?: string;
      dash?: Dash;
    }>
  | Readonly<{
      type: 'line';
      x1: number;
      y1: number;
      x2: number;
      y2: number;
      lineWidth?: number;
      lineColor?: string;
      dash?: Dash;
      lineCap?: 'butt' | 'round';
    }>
  | Readonly<{
      type: 'ellipse';
      x: number;
      y: number;
      r1: number;
      r2: number;
      lineWidth?: number;
      lineColor?: string;
      color?: string;
    }>;

/** The area of a block on one sheet, in points from the top left; a block that breaks over sheets has several areas. */
export type Area = Readonly<{ x: number; y: number; width: number; height: number; isFirst: boolean; isLast: boolean }>;

/**
 * The element of a node in the structure tree, which screen readers read (PDF 1.7, 14.8.4). One object is one element:
 * nodes that name the same object are read as one. A node without a tag is decoration and not read.
 */
export type Tag = Readonly<{
  type:
    | 'P'
    | 'H1'
    | 'H2'
    | 'H3'
    | 'H4'
    | 'H5'
    | 'H6'
    | 'L'
    | 'LI'
    | 'Lbl'
    | 'LBody'
    | 'Table'
    | 'TR'
    | 'TH'
    | 'TD'
    | 'Figure'
    | 'Link'
    | 'BlockQuote'
    | 'TOC'
    | 'TOCI'
    | /** Not read, with all inside. */ 'Artifact';
  parent: Tag | undefined;
  alt?: string;
  /**
   * Made with it, in this order: of tables, whose cells may be empty or be drawn in another order than they are read.
   */
  children?: readonly Tag[];
  /** Spans of a cell. */ colSpan?: number;
  rowSpan?: number;
  /** Set for the header cell of a row. */ scope?: 'Row';
}>;

type Block = Readonly<{
  /** Names by which links of the document lead to it. */
  anchors?: readonly string[];
  margin?: Margin;
  alignment?: Alignment;
  verticalAlignment?: 'top' | 'middle' | 'bottom';
  /** From the top left of the sheet; the text flows as if it were not there. */
  absolutePosition?: Readonly<{ x: number; y: number }>;
  /** How the node may break at the end of a sheet. */
  flow?: Flow;
  width?: number | 'auto' | '*';
  tag?: Tag;
}>;

export type TextNode = Block & TextLook & Readonly<{ text: readonly Run[] | string }>;
export type StackNode = Block &
  TextLook &
  Readonly<{
    stack: readonly Node[];
    /** Room below the content makes the block this high, as far as the sheet reaches. In points, without its margin. */
    minHeight?: number;
    /** Drawn below the content on each sheet that the block reaches, once it is laid out. */
    behind?: (area: Area) => readonly Vector[];
    /**
     * Stands in the middle of a sheet's margin, which is at least this high, but never nearer to the edge of the paper
     * than printers reach.
     */
    band?: Readonly<{ height: number; edge: 'top' | 'bottom' }>;
  }>;
type ColumnsNode = Block & Readonly<{ columns: readonly Node[]; columnGap: number }>;
type ListNode = Block &
  TextLook &
  (
    | Readonly<{ ul: readonly (Node & Item)[] }>
    | Readonly<{ ol: readonly (Node & Item)[]; start?: number; reversed?: boolean }>
  ) &
  Readonly<{
    type?: string;
    markerColor?: string;
    /** Before and after a number. */
    separator?: readonly [string, string];
    /** The marks stand at the right of the items. */
    fromRight?: true;
  }>;
export type TableCell = Node &
  Readonly<{
    colSpan?: number;
    rowSpan?: number;
    fillColor?: string;
    border?: readonly [boolean, boolean, boolean, boolean];
  }>;
export type TableLayout = Readonly<{
  hLineWidth: (line: number) => number;
  vLineWidth: (line: number) => number;
  hLineColor?: (line: number) => string;
  vLineColor?: (line: number) => string;
  hLineStyle?: (line: number) => Readonly<{ dash: Dash }> | null;
  vLineStyle?: (line: number) => Readonly<{ dash: Dash }> | null;
  paddingLeft: (column: number) => number;
  paddingRight: (column: number) => number;
  paddingTop: (row: number) => number;
  paddingBottom: (row: number) => number;
  fillColor?: (row: number) => string | null;
}>;
type TableNode = Block &
  TextLook &
  Readonly<{
    table: Readonly<{
      widths: readonly (number | string)[];
      body: readonly (readonly TableCell[])[];
      headerRows: number;
      keepWithHeaderRows?: number;
    }>;
    layout: TableLayout;
    /** Columns that are as wide as their text share what is left of the room. */
    fillsWidth?: boolean;
    /** Rows at the end that stay with the last ones before them: totals. */
    footerRows?: number;
    /** For each row whether it stands on the sheet of the next one. */
    keptRows?: readonly boolean[];
    /** Its last rows stand on the sheet where what follows it begins. */
    lastRowsStay?: boolean;
    /** The table stands at the right if it is narrower than its room. */
    fromRight?: boolean;
  }>;
export type ImageNode = Block &
  Readonly<{
    image: string;
    width: number;
    height: number;
    link?: string;
    /** Radius of its corners. */ radius?: number;
    /** For messages. */ field: string;
  }>;
export type SvgNode = Block &
  Readonly<{
    svg: string;
    width: number;
    height: number;
    link?: string;
    radius?: number;
    field: string;
    options: Readonly<{ warningCallback: () => void }>;
  }>;
type CanvasNode = Block & Readonly<{ canvas: readonly Vector[] }>;

/** `counter`: the number of an item where the author gives it. */
type Item = Readonly<{ counter?: number }>;

export type Node = TextNode | StackNode | ColumnsNode | ListNode | TableNode | ImageNode | SvgNode | CanvasNode;

/**
 * One page of the template: it begins on a new sheet, and its sheets share size, margins, background, header and
 * footer.
 */
export type SectionNode = Readonly<{
  section: Node;
  pageSize: Readonly<{ width: number; height: number }>;
  pageMargins: Readonly<{ left: number; top: number; right: number; bottom: number }>;
  /** Called when a sheet is begun. */
  background: (sheet: number) => StackNode | null;
  /** Header and footer with any numbers, to tell how high they are: on the first of the sheets, and on the others. */
  bands: (isFirst: boolean) => readonly [header: StackNode | undefined, footer: StackNode | undefined];
  header: ((sheet: number, sheets: number) => Node | null) | null;
  footer: ((sheet: number, sheets: number) => Node | null) | null;
}>;

/** The place a link leads to: the number of the sheet, and points from its top. */
export type Place = Readonly<{ page: number; top: number }>;

/** The node with another name by which links lead to it. */
export const anchored = <N extends Node>(node: N, name: string): N => ({
  ...node,
  anchors: [...(node.anchors ?? []), name],
});

/** A table or a row whose elements are added in the order in which they are read, until it is drawn. */
export type OpenTag = Tag & Readonly<{ children: Tag[] }>;
/** `scope`: set for the header of a row. */
export type Spans = Readonly<{ colSpan?: number; rowSpan?: number; scope?: 'Row' }>;

export const tableTag = (parent: Tag | undefined): OpenTag => ({ type: 'Table', parent, children: [] });

export const rowTag = (table: OpenTag): OpenTag => {
  const row: OpenTag = { type: 'TR', parent: table, children: [] };
  table.children.push(row);
  return row;
};

export const cellTag = (row: OpenTag, type: 'TH' | 'TD', { colSpan = 1, rowSpan = 1, ...scope }: Spans = {}): Tag => {
  const cell: Tag = {
    type,
    parent: row,
    ...scope,
    ...(colSpan > 1 ? { colSpan } : {}),
    ...(rowSpan > 1 ? { rowSpan } : {}),
  };
  row.children.push(cell);
  return cell;
};
