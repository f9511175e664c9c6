/**
 * A document once its variables are in place: loops unrolled, conditions decided, texts filled. It is the same for
 * every output; an output only says how it looks.
 */
import type { Json } from '../../core/json.js';
import type { ValueFormat } from '../scope/definitions.js';
import type { GalleryFont, Orientation, PageFormat } from '../content.js';
import type { BarLook } from '../codes.js';
import type { Direction, TextDirection } from '../direction.js';
import type { ColumnRule } from '../column-rules.js';
import type { Language } from '../scope/formats.js';
import type { DisplayFormat } from '../scope/display-format.js';
import type { Box, Border, Width } from '../lengths.js';
import type { ChartType } from '../css.js';
import type { Loss } from '../paths/losses.js';

/** `other`: a status that no dot stands for, so it is to be said in words; `none`: no status at all. */
export type Progress = 'completed' | 'current' | 'pending' | 'other' | 'none';

/** HTML in which every value stands escaped; not sanitised yet, for only an output knows which tags it shows. */
export type Html = string;
/** `start` and `end` are for the output to map by the direction of the page; left and right are what they say. */
export type HorizontalAlign = 'start' | 'end' | 'left' | 'center' | 'right' | 'justify';

/** Lengths in points; colours as CSS writes them; a length of undefined is for the output to choose. */
export type TextStyle = Readonly<{
  align?: HorizontalAlign;
  /** Undefined: the direction of the page. */
  direction?: TextDirection;
  color?: string;
  fontSize?: number;
  fontFamily?: string;
  /** A factor of the font size. */
  lineHeight?: number;
  backgroundColor?: string;
}>;
export type Cell = Readonly<{
  /** A workbook computes it when it is read, so do not copy the cell. */
  html: Html;
  /** The value itself where the cell holds one placeholder and nothing else: a number, a date in ISO 8601, a text. */
  value: Json | undefined;
  /** How the value is shown, and the result of a formula; undefined: as text. */
  displayFormat: DisplayFormat | undefined;
  /**
   * A content of the template itself that begins with `=` and holds no placeholder: nothing that a variable brings is a
   * formula.
   */
  formula?: string;
}>;

export type ExpandedColumn = Readonly<{
  header: Html | undefined;
  footer: Html | undefined;
  /** The value itself where the footer holds one placeholder and nothing else, and how it is shown. */
  footerValue?: Json;
  footerDisplayFormat?: DisplayFormat;
  /** As `formula` of a cell. */
  footerFormula?: string;
  width: Width;
  align: HorizontalAlign;
  headerAlign: HorizontalAlign;
  /** Type that the author gives the column; undefined: the values decide. */
  type: 'string' | 'number' | 'date' | 'boolean' | undefined;
  format: ValueFormat | undefined;
  /** Path from the item of the table to what the cells show, where they show nothing else. */
  path?: string;
  /** Hidden in a workbook. */
  hidden?: boolean;
  /** For a workbook. */
  rules?: readonly ColumnRule[];
}>;

/** How a component behaves at the ends of sheets, in an output that has sheets. */
export type Flow = Readonly<{
  pageBreak?: 'before' | 'after';
  /** Keeps the component on one sheet, where it fits on one. */
  keepTogether?: true;
  /** Keeps the component on the sheet where the next one begins. */
  keepWithNext?: true;
}>;

type ExpandedOf<Type extends string, Props> = Readonly<{
  type: Type;
  /** Id of the component in the template. */ id: string;
  /** Its place in the template, for messages. */ field: string;
  flow?: Flow;
}> &
  Readonly<Props>;

export type ExpandedRichText = ExpandedOf<'rich-text', { html: Html; style: TextStyle; padding: Box }>;
export type ExpandedImage = ExpandedOf<
  'image',
  {
    /** `https:`, `http:`, `data:` or `asset:`, judged safe. */ src: string;
    alt: string;
    width?: number;
    /** Instead of `width`: a share of the width that is there. */ widthPercent?: number;
    height?: number;
    align: HorizontalAlign | undefined;
    href?: string;
    padding: Box;
    borderRadius?: number;
  }
>;
/** `first` and `last` are the rows of its items, from 0. */
export type GroupRow = Readonly<{ kind: 'header' | 'footer'; first: number; last: number }>;

export type ExpandedTable = ExpandedOf<
  'table',
  {
    /** The variable whose items are the rows; undefined in a loop, where one name means other items each time. */
    source?: string;
    columns: readonly ExpandedColumn[];
    rows: readonly (readonly Cell[])[];
    /**
     * For each row the group that it is the head or the foot of; undefined for rows of items. Absent: there are no
     * groups.
     */
    groupRows?: readonly (GroupRow | undefined)[];
    showHeader: boolean;
    striped: boolean;
    border: Border;
    /** `rows`: only a line below each row, where the author says nothing of a border; `all`: around each cell. */
    borderLines: 'rows' | 'all';
    headerBackgroundColor?: string;
    headerColor?: string;
    color?: string;
    fontSize?: number;
    cellPadding?: Box;
    padding: Box;
    /** Stands in place of rows where there are none. */
    emptyText: Html | undefined;
    sheetName?: string;
    freezeHeader: boolean;
    autoFilter: boolean;
  }
>;
export type ExpandedContainer = ExpandedOf<
  'container',
  {
    children: readonly Expanded[];
    backgroundColor?: string;
    color?: string;
    padding: Box;
    border?: Border;
    borderRadius?: number;
    align: HorizontalAlign;
    width?: Width;
    /** The least height of what is inside, in points. */
    minHeight?: number;
  }
>;
export type ExpandedColumns = ExpandedOf<
  'columns',
  { children: readonly Expanded[]; widths: readonly Width[]; gap: number; verticalAlign: 'top' | 'middle' | 'bottom' }
>;
export type ExpandedDivider = ExpandedOf<
  'divider',
  { color: string; thickness: number; style: 'solid' | 'dashed' | 'dotted'; width: Width; margin: Box }
>;
export type ExpandedSpacer = ExpandedOf<'spacer', { height: number }>;
export type ExpandedList = ExpandedOf<
  'list',
  {
    /** One item each where a data source gives them; else one HTML list. */ items: readonly Html[] | undefined;
    html: Html | undefined;
    ordered: boolean;
    style: TextStyle;
    padding: Box;
  }
>;
export type ExpandedQrCode = ExpandedOf<
  'qr-code',
  {
    value: string;
    /** Undefined: as wide as a bar code of that text usually is. */
    size: number | undefined;
    errorCorrection: 'L' | 'M' | 'Q' | 'H';
    color: string;
    backgroundColor: string;
    align: HorizontalAlign | undefined;
    /** Text that is read in place of the picture; undefined: the value. */
    alt?: string;
    /** Undefined: a QR code. */
    bars?: BarLook<number>;
  }
>;
export type TimelineItem = Readonly<{ title: string; description: string; date: string; status: string }>;
export type ExpandedTimeline = ExpandedOf<'timeline', { items: readonly TimelineItem[]; color: string }>;

export type ChartSeries = Readonly<{
  name: string;
  color: string;
  /** One for each category; null where the data has no number. */ values: readonly (number | null)[];
  /** From the definition of the field. */ displayFormat?: DisplayFormat;
}>;
export type ExpandedChart = ExpandedOf<
  'chart',
  {
    chartType: ChartType;
    title: string;
    /** Source of the numbers, as `source` of a table. */
    source?: Readonly<{ name: string; category: string; values: readonly string[] }>;
    categories: readonly string[];
    series: readonly ChartSeries[];
    width?: number;
    height?: number;
    showLegend: boolean;
    xTitle: string;
    yTitle: string;
  }
>;

export type Expanded =
  | ExpandedRichText
  | ExpandedImage
  | ExpandedTable
  | ExpandedContainer
  | ExpandedColumns
  | ExpandedDivider
  | ExpandedSpacer
  | ExpandedList
  | ExpandedQrCode
  | ExpandedTimeline
  | ExpandedChart;

/** Header and footer of each sheet of paper; `{{pageNumber}}` and `{{totalPages}}` stand in it as they were written. */
export type ExpandedMargin = Readonly<{
  html: Html;
  height: number;
  align: Exclude<HorizontalAlign, 'justify'>;
  /** Beside the text; it stands on each of the sheets. */ code?: ExpandedQrCode;
}>;

export type ExpandedSection = Readonly<{
  style: TextStyle;
  linkColor?: string;
  padding: Box;
  components: readonly Expanded[];
}>;

/** Settings that only the sheet of a page has. */
export type ExpandedSheet = Readonly<{
  hidden: boolean;
  fitToWidth: boolean;
  gridLines: boolean;
  printArea: string | undefined;
}>;

export type ExpandedPage = Readonly<{
  name: string;
  direction: Direction;
  format: PageFormat;
  orientation: Orientation;
  margin: Box;
  backgroundColor: string;
  backgroundImage?: Readonly<{
    src: string;
    fit: 'cover' | 'contain';
    sheets: 'all' | 'first';
    /** For messages. */ field: string;
  }>;
  watermark?: Readonly<{ text: string; color: string; field: string }>;
  /** A list of the headings above the sections. */
  contents?: Readonly<{ title: string; levels: number; field: string }>;
  header: ExpandedMargin | undefined;
  footer: ExpandedMargin | undefined;
  /** Header of the first sheet, in place of `header`. */
  firstHeader?: ExpandedMargin;
  firstFooter?: ExpandedMargin;
  sections: readonly ExpandedSection[];
  /** Undefined: the defaults of sheets. */
  sheet?: ExpandedSheet;
}>;

export type ExpandedDocument = Readonly<{
  language: Language;
  pages: readonly ExpandedPage[];
  /**
   * Whether a character that no font has is refused; else its name stands in its place. With `standIn`, what stands in
   * its place, it is told only. Undefined: all such characters are refused.
   */
  refuses?: (character: string, standIn?: string) => boolean;
  /** Families that a PDF may name beside those of the service; their files are among its sources. */
  fonts?: readonly GalleryFont[];
  /** Looks for what the document loses of its values, some of it where it is much; undefined: nothing. */
  losses?: () => readonly Loss[];
}>;

const names: Readonly<Record<Exclude<Progress, 'other' | 'none'>, readonly string[]>> = {
  completed: [
    'completed',
    'complete',
    'done',
    'finished',
    'success',
    'succeeded',
    'delivered',
    'passed',
    'past',
    'true',
  ],
  current: ['current', 'active', 'in progress', 'ongoing', 'processing', 'started', 'now'],
  pending: [
    'pending',
    'upcoming',
    'planned',
    'scheduled',
    'todo',
    'to do',
    'open',
    'next',
    'future',
    'waiting',
    'false',
  ],
};

const known = new Map(
  Object.entries(names).flatMap(([progress, all]) => all.map((name) => [name, progress as Progress] as const)),
);

/**
 * Reads the status of a timeline's step as progress. Letter case, hyphens and underscores do not count: `IN_PROGRESS`
 * is `in progress`.
 */
export const progressOf = (status: string): Progress => {
  const name = status
    .trim()
    .toLowerCase()
    .replace(/[\s_-]+/g, ' ');
  return name === '' ? 'none' : (known.get(name) ?? 'other');
};
