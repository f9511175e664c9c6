/**
 * Prints nodes to a PDF file: layout, drawing and the structure that screen readers follow. No address of a template is
 * opened here.
 */
import { readText, type Line, orderLine } from './bidi.js';
import type { LinePicture, Place, Tag, SectionNode, TextLook } from './nodes.js';
import {
  type BrokenLine,
  type StructureElement,
  Renderer,
  type Bookmark,
  type DrawnPicture,
  type LaidPage,
} from './pdfmake-internals.js';
import { PrintedDocument, type DocumentOptions } from './printed-document.js';
import { DomainError } from '../../../domain/core/errors.js';
import { DocumentLayout } from './layout.js';
import { silent } from './picture-node.js';
import { unusable } from './picture-files.js';

export type PrintJob = DocumentOptions &
  Readonly<{
    sections: readonly SectionNode[];
    /** Lays out again with the numbers of sheets, where these are shown: they are known once all is laid out. */
    numbered?: (sheetOf: (anchor: string) => number | undefined) => readonly SectionNode[];
    /** Names of anchors that are linked. */
    linked: ReadonlySet<string>;
    defaultLook: TextLook;
    /** Checked PNG and JPEG files by the names under which image nodes show them. */
    pictures: ReadonlyMap<string, Uint8Array>;
  }>;

type Inlines = BrokenLine['inlines'];

/** A part of a line as it is read: a link, a picture, or the words beside them. */
type LinePart = Readonly<{
  link: string | undefined;
  inlines: ReadonlySet<Inlines[number]>;
  /** The text as it is written, where the drawn letters do not tell it. */
  actual: string | undefined;
  text: string;
  /** Drawn in the place of the text. */
  picture: LinePicture | undefined;
}>;

/** The elements that screen readers follow, made as their content is drawn. */
type Structure = Readonly<{
  elementOf: (tag: Tag) => StructureElement;
  /** The element of a link below that of its text: the same one as long as the text goes on with the same target. */
  linkBelow: (tag: Tag, link: string | undefined) => Tag;
  end: () => void;
}>;

const BOOKMARKS_MAX = 1_000;
const TITLE_CHARS_MAX = 200;

/** Calls `onBytes` with the file piece by piece. Equal jobs give equal bytes. */
export const print = async (job: PrintJob): Promise<void> => {
  const document = new PrintedDocument(job);
  for (const [name, bytes] of job.pictures) await document.embed(name, bytes);
  // From here to the end nothing waits: parsed fonts are shared, and another document must not come between.
  const lay = (
    sections: readonly SectionNode[],
  ): Readonly<{ pages: readonly LaidPage[]; anchors: ReadonlyMap<string, Place> }> => {
    const layout = new DocumentLayout();
    return {
      pages: layout.layoutDocument({ stack: sections }, document, {}, job.defaultLook),
      anchors: layout.anchors,
    };
  };
  const first = lay(job.sections);
  const { pages, anchors } =
    job.numbered === undefined ? first : lay(job.numbered((name) => first.anchors.get(name)?.page));
  document.places = new Map([...anchors].filter(([name]) => job.linked.has(name)));
  const drawn = new TaggedRenderer(document);
  drawn.renderPages(pages);
  drawn.end();
  document.end();
};

const wholeLine = { link: undefined, inlines: new Set<Inlines[number]>(), text: '', picture: undefined } as const;

const pictureOf = (inline: Inlines[number] | undefined): LinePicture | undefined =>
  inline?.picture as LinePicture | undefined;

/** In reading order; to be asked before `orderLine`. */
const partsOf = (whole: BrokenLine): readonly LinePart[] => {
  const { inlines } = whole;
  // Most lines lead nowhere: they are drawn as they are.
  if (inlines.every(({ link, picture }) => (link === undefined || link === null) && picture === undefined))
    return [{ ...wholeLine, actual: readText(whole as Line) }];
  const { inlines: _whole, ...line } = whole;
  const groups: Inlines[] = [];
  for (const inline of inlines) {
    const last = groups.at(-1);
    if (last !== undefined && last[0]?.link === inline.link && pictureOf(last[0]) === pictureOf(inline))
      last.push(inline);
    else groups.push([inline]);
  }
  return groups.map((group) => ({
    link: group[0]?.link ?? undefined,
    inlines: new Set(group),
    actual: pictureOf(group[0]) === undefined ? readText({ ...line, inlines: group } as Line) : undefined,
    text: pictureOf(group[0])?.alt ?? group.map(({ text }) => text).join(''),
    picture: pictureOf(group[0]),
  }));
};

/**
 * A line with the words of one part, as high as the whole line. Its words have no link: `roomOf` gives one place to
 * click for all of them.
 */
const lineOfPart = (line: BrokenLine, { inlines }: LinePart): BrokenLine => {
  const [height, ascender] = [line.getHeight(), line.getAscenderHeight()];
  const part = Object.create(line) as BrokenLine;
  return Object.assign(part, {
    inlines: line.inlines.filter((inline) => inlines.has(inline)).map((inline) => ({ ...inline, link: null })),
    getHeight: () => height,
    getAscenderHeight: () => ascender,
  });
};

/**
 * The room below the letters of a line, half of what a line has beside them; pictures among them only make it higher.
 */
const roomBelow = (line: BrokenLine, parts: readonly LinePart[], letters: number): number => {
  const height = parts.every(({ picture }) => picture === undefined)
    ? line.getHeight()
    : line.inlines.reduce((most, inline) => Math.max(most, pictureOf(inline) === undefined ? inline.height : 0), 0);
  return Math.max(height - letters, 0) / 2;
};

/** The horizontal room of the words of a line. */
const roomOf = ({ inlines }: BrokenLine): Readonly<{ x: number; width: number }> => {
  const x = Math.min(...inlines.map((inline) => inline.x));
  return { x, width: Math.max(...inlines.map((inline) => inline.x + inline.width)) - x };
};

const openStructure = (document: PrintedDocument): Structure => {
  const root = document.struct('Document');
  document.addStructure(root);
  const elements = new Map<Tag, StructureElement>();
  /** By the text around: the link with which it ended so far. */
  const lastLinks = new Map<Tag, Readonly<{ link: string; tag: Tag }>>();

  const elementOf = (tag: Tag): StructureElement => {
    const known = elements.get(tag);
    if (known !== undefined) return known;
    const parent = tag.parent === undefined ? root : elementOf(tag.parent);
    // The element of a table makes those of its rows, and they those of their cells.
    const madeByParent = elements.get(tag);
    if (madeByParent !== undefined) return madeByParent;
    const element = document.struct(tag.type, tag.alt === undefined ? {} : { alt: tag.alt });
    const attributes = attributesOf(tag);
    if (attributes !== undefined) element.dictionary.data['A'] = attributes;
    parent.add(element);
    elements.set(tag, element);
    for (const child of tag.children ?? []) elementOf(child);
    return element;
  };

  return {
    elementOf,
    linkBelow: (tag, link) => {
      const last = lastLinks.get(tag);
      if (link === undefined) {
        lastLinks.delete(tag);
        return tag;
      }
      if (last?.link === link) return last.tag;
      const made: Tag = { type: 'Link', parent: tag };
      lastLinks.set(tag, { link, tag: made });
      return made;
    },
    end: () => root.end(),
  };
};

/** Attributes of the cells of a table (PDF 1.7, 14.8.5.7). */
const attributesOf = ({
  type,
  colSpan,
  rowSpan,
  scope,
}: Tag): Readonly<Record<string, string | number>> | undefined => {
  if (type !== 'TH' && colSpan === undefined && rowSpan === undefined) return undefined;
  return {
    O: 'Table',
    ...(type === 'TH' ? { Scope: scope ?? 'Column' } : {}),
    ...(colSpan === undefined ? {} : { ColSpan: colSpan }),
    ...(rowSpan === undefined ? {} : { RowSpan: rowSpan }),
  };
};

/** Every line that the layout broke knows its tag; what it made itself, the number of an item, does not. */
const isMarker = ({ type, item }: LaidPage['items'][number]): boolean => type === 'line' && !('tag' in item);

const ancestor = (tag: Tag | undefined, type: Tag['type']): Tag | undefined =>
  tag === undefined || tag.type === type ? tag : ancestor(tag.parent, type);

const levelOf = ({ type }: Tag): number | undefined => (/^H[1-6]$/.test(type) ? Number(type.slice(1)) : undefined);

const lettersOf = ({ inlines }: BrokenLine): number =>
  inlines.reduce((most, { font, fontSize }) => Math.max(most, font.lineHeight(fontSize)), 0);

class TaggedRenderer extends Renderer {
  private readonly document: PrintedDocument;
  private readonly structure: Structure;
  private readonly seen = new WeakSet<object>();
  /** The texts of headings that have no bookmark yet. */
  private readonly titles = new Map<Tag, string>();
  /** By the first words of their parts. */
  private readonly links = new WeakMap<object, Tag>();
  private above: readonly Readonly<{ level: number; bookmark: Bookmark }>[] = [];
  private bookmarked = 0;

  constructor(document: PrintedDocument) {
    super(document);
    this.document = document;
    this.structure = openStructure(document);
  }

  end(): void {
    this.structure.end();
  }

  /** The number of an item is laid out after its first line; it is read before it. */
  override renderPages(pages: readonly LaidPage[]): void {
    for (const { items } of pages) {
      for (const { type, item } of items) if (type === 'line') this.noteHeading(item as object as BrokenLine);
      for (let at = 1; at < items.length; at++) {
        const [line, marker] = [items[at - 1], items[at]];
        if (line === undefined || marker === undefined || !isMarker(marker)) continue;
        const item = ancestor((line.item as Partial<BrokenLine>).tag as Tag | undefined, 'LI');
        if (item !== undefined) marker.item['tag'] = { type: 'Lbl', parent: item } satisfies Tag;
        items[at - 1] = marker;
        items[at] = line;
      }
    }
    super.renderPages(pages);
  }

  private noteHeading({ tag, inlines }: BrokenLine): void {
    const heading = tag as Tag | undefined;
    if (heading === undefined || levelOf(heading) === undefined || ancestor(heading, 'Artifact') !== undefined) return;
    this.titles.set(heading, (this.titles.get(heading) ?? '') + inlines.map(({ text }) => text).join(''));
  }

  /** With the first line of a heading, below the last one of a higher level. */
  private addBookmark(tag: Tag | undefined, top: number): void {
    const level = tag === undefined ? undefined : levelOf(tag);
    const title = tag === undefined ? undefined : this.titles.get(tag);
    if (tag === undefined || level === undefined || title === undefined || this.bookmarked >= BOOKMARKS_MAX) return;
    this.titles.delete(tag);
    if (title.trim() === '') return;
    this.bookmarked++;
    this.above = this.above.filter((entry) => entry.level < level);
    const parent = this.above.at(-1)?.bookmark ?? this.document.outline;
    const bookmark = parent.addItem(title.replace(/\s+/g, ' ').trim().slice(0, TITLE_CHARS_MAX), {
      top,
      left: this.document.page.width,
      expanded: true,
    });
    this.above = [...this.above, { level, bookmark }];
  }

  override renderLine(line: BrokenLine, x: number, y: number): void {
    // Repeated lines share their words: the header row of a table is drawn again on each sheet, and read once.
    const isRepeated = this.seen.has(line.inlines);
    if (!isRepeated) this.addBookmark(line.tag as Tag | undefined, y);
    this.seen.add(line.inlines);
    const parts = partsOf(line);
    const letters = lettersOf(line);
    orderLine(line);
    const top = y + line.getHeight() - roomBelow(line, parts, letters) - letters;
    for (const part of parts) {
      if (part.picture !== undefined) {
        this.drawLinePicture(
          part,
          isRepeated ? undefined : (line.tag as Tag | undefined),
          x,
          top + line.getAscenderHeight(),
        );
        continue;
      }
      const drawn = parts.length === 1 && part.link === undefined ? line : lineOfPart(line, part);
      const draw = (): void => {
        this.drawLine(drawn, letters, x, top);
        const { link } = part;
        if (link === undefined) return;
        const room = roomOf(drawn);
        this.document.link(x + room.x, top, room.width, letters, link);
      };
      if (isRepeated) this.marked(undefined, () => this.drawRepeated(part, draw));
      else this.renderPart(part, line.tag as Tag | undefined, draw);
    }
  }

  /** A picture among words stands on their line. */
  private drawLinePicture(
    { picture, inlines, link }: LinePart,
    around: Tag | undefined,
    x: number,
    baseline: number,
  ): void {
    const [inline] = inlines;
    if (picture === undefined || inline === undefined) return;
    const { width, height, alt, field } = picture;
    const parent =
      around === undefined || ancestor(around, 'Artifact') !== undefined
        ? undefined
        : this.structure.linkBelow(around, link);
    const drawn: DrawnPicture = {
      x: x + inline.x,
      y: baseline - height,
      _width: width,
      _height: height,
      field,
      ...(link === undefined ? {} : { link }),
      ...(parent === undefined || alt === '' ? {} : { tag: { type: 'Figure', parent, alt } satisfies Tag }),
    };
    if (picture.kind === 'file') this.renderImage({ ...drawn, image: picture.name });
    else this.renderSVG({ ...drawn, svg: picture.svg, options: silent });
  }

  /** A repeated link is not read again by screen readers, but a click on it follows the link. */
  private drawRepeated({ inlines, text }: LinePart, draw: () => void): void {
    const [first] = inlines;
    const tag = first === undefined ? undefined : this.links.get(first);
    if (tag !== undefined) this.document.linked = { element: this.structure.elementOf(tag), text };
    draw();
  }

  private renderPart({ link, actual, text, inlines }: LinePart, around: Tag | undefined, draw: () => void): void {
    const tag =
      around === undefined || ancestor(around, 'Artifact') !== undefined
        ? undefined
        : this.structure.linkBelow(around, link);
    const [first] = inlines;
    if (tag?.type === 'Link' && first !== undefined) this.links.set(first, tag);
    const drawPart = (): void => {
      if (actual !== undefined) this.document.markContent('Span', { actual });
      draw();
      if (actual !== undefined) this.document.endMarkedContent();
    };
    this.marked(tag, drawPart, text);
  }

  /**
   * pdfmake sets all the room of a line below its letters; here half of it stands above them, and a background is as
   * high as the letters.
   */
  private drawLine(line: BrokenLine, letters: number, x: number, top: number): void {
    for (const inline of line.inlines) {
      // A line may be drawn again, so the colour is moved to where pdfmake does not look.
      inline.highlight ??= inline.background ?? undefined;
      inline.background = null;
      if (inline.highlight === undefined) continue;
      const shift = inline.justifyShift ?? 0;
      this.document.rect(x + inline.x - shift, top, inline.width + shift, letters).fill(inline.highlight);
    }
    super.renderLine(line, x, top);
  }

  override renderVector(vector: Record<string, unknown>): void {
    if (this.document.page.markings.length === 0) this.document.markContent('Artifact', { type: 'Layout' });
    super.renderVector(vector);
  }

  override renderImage(image: DrawnPicture): void {
    this.drawPicture(image, () => super.renderImage(image));
  }

  override renderSVG(svg: DrawnPicture): void {
    this.drawPicture(svg, () => super.renderSVG(svg));
  }

  private drawPicture(
    { x, y, _width: width, _height: height, tag, field, radius }: DrawnPicture,
    draw: () => void,
  ): void {
    this.marked(
      tag as Tag | undefined,
      () => {
        if (radius !== undefined) this.document.save().roundedRect(x, y, width, height, radius).clip();
        try {
          draw();
        } catch (fault) {
          throw fault instanceof DomainError
            ? fault
            : unusable(field ?? '', 'cannot be drawn: a part of it is not as its format says');
        }
        if (radius !== undefined) this.document.restore();
      },
      (tag as Tag | undefined)?.alt,
    );
  }

  /** `text`: what is read of a link. */
  private marked(tag: Tag | undefined, draw: () => void, text = ''): void {
    if (this.document.page.markings.length > 0) this.document.endMarkedContent();
    if (tag === undefined || ancestor(tag, 'Artifact') !== undefined)
      this.document.markContent('Artifact', { type: 'Layout' });
    else this.structure.elementOf(tag).add(this.document.markStructureContent(tag.type));
    const link = ancestor(tag, 'Link');
    this.document.linked = link === undefined ? undefined : { element: this.structure.elementOf(link), text };
    draw();
    this.document.linked = undefined;
    this.document.endMarkedContent();
  }
}
