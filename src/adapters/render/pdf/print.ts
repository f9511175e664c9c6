/** Prints nodes to a PDF file: layout, drawing and the structure that screen readers follow. No address of a template is opened here. */
import { DomainError } from '../../../domain/errors.js';
import { orderLine, readText } from './bidi-lines.js';
import { PrintedDocument, type DocumentOptions } from './faces.js';
import { DocumentLayout } from './layout.js';
import { unusable } from './unusable.js';
import type { SectionNode, Tag, TextLook } from './nodes.js';
import { Renderer, type Bookmark, type BrokenLine, type DrawnPicture, type LaidPage, type StructureElement } from './pdfmake-internals.js';

export type PrintJob = DocumentOptions &
  Readonly<{
    sections: readonly SectionNode[];
    defaultLook: TextLook;
    /** Checked PNG and JPEG files by the names under which image nodes show them. */
    pictures: ReadonlyMap<string, Uint8Array>;
  }>;

/** Calls `onBytes` with the file piece by piece. The same job gives the same bytes. */
export const print = async (job: PrintJob): Promise<void> => {
  const document = new PrintedDocument(job);
  for (const [name, bytes] of job.pictures) await document.embed(name, bytes);
  // From here to the end nothing waits: parsed fonts are shared, and another document must not come between.
  const pages = new DocumentLayout().layoutDocument({ stack: job.sections }, document, {}, job.defaultLook);
  const drawn = new TaggedRenderer(document);
  drawn.renderPages(pages);
  drawn.end();
  document.end();
};

/** Every line that the layout broke knows its tag; what it made itself, the number of an item, does not. */
const isMarker = ({ type, item }: LaidPage['items'][number]): boolean => type === 'line' && !('tag' in item);

const ancestor = (tag: Tag | undefined, type: Tag['type']): Tag | undefined =>
  tag === undefined || tag.type === type ? tag : ancestor(tag.parent, type);

const BOOKMARKS_MAX = 1_000;
const TITLE_CHARS_MAX = 200;

const levelOf = ({ type }: Tag): number | undefined => (/^H[1-6]$/.test(type) ? Number(type.slice(1)) : undefined);

class TaggedRenderer extends Renderer {
  private readonly document: PrintedDocument;
  private readonly root: StructureElement;
  private readonly elements = new Map<Tag, StructureElement>();
  private readonly seen = new WeakSet<object>();
  /** The texts of headings that have no bookmark yet. */
  private readonly titles = new Map<Tag, string>();
  private above: readonly Readonly<{ level: number; bookmark: Bookmark }>[] = [];
  private bookmarked = 0;

  constructor(document: PrintedDocument) {
    super(document);
    this.document = document;
    this.root = document.struct('Document');
    document.addStructure(this.root);
  }

  end(): void {
    this.root.end();
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
    const text = isRepeated ? undefined : readText(line);
    orderLine(line);
    this.marked(isRepeated ? undefined : (line.tag as Tag | undefined), () => {
      if (text !== undefined) this.document.markContent('Span', { actual: text });
      this.drawLine(line, x, y);
      if (text !== undefined) this.document.endMarkedContent();
    });
  }

  /** pdfmake sets all the room of a line below its letters; here half of it stands above them, and a background is as high as the letters. */
  private drawLine(line: BrokenLine, x: number, y: number): void {
    const letters = line.inlines.reduce((most, { font, fontSize }) => Math.max(most, font.lineHeight(fontSize)), 0);
    const top = y + (line.getHeight() - letters) / 2;
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

  private drawPicture({ x, y, _width: width, _height: height, tag, field, radius }: DrawnPicture, draw: () => void): void {
    this.marked(tag as Tag | undefined, () => {
      if (radius !== undefined) this.document.save().roundedRect(x, y, width, height, radius).clip();
      try {
        draw();
      } catch (fault) {
        throw fault instanceof DomainError ? fault : unusable(field ?? '', 'cannot be drawn: a part of it is not as its format says');
      }
      if (radius !== undefined) this.document.restore();
    });
  }

  private marked(tag: Tag | undefined, draw: () => void): void {
    if (this.document.page.markings.length > 0) this.document.endMarkedContent();
    if (tag === undefined || ancestor(tag, 'Artifact') !== undefined) this.document.markContent('Artifact', { type: 'Layout' });
    else this.elementOf(tag).add(this.document.markStructureContent(tag.type));
    draw();
    this.document.endMarkedContent();
  }

  private elementOf(tag: Tag): StructureElement {
    // The element of a row makes those of its cells.
    const parent = tag.parent === undefined ? this.root : this.elementOf(tag.parent);
    const known = this.elements.get(tag);
    if (known !== undefined) return known;
    const element = this.document.struct(tag.type, {
      ...(tag.alt === undefined ? {} : { alt: tag.alt }),
      ...(tag.type === 'TH' ? { scope: 'Column' } : {}),
    });
    parent.add(element);
    this.elements.set(tag, element);
    for (const cell of tag.cells ?? []) this.elementOf(cell);
    return element;
  }
}
