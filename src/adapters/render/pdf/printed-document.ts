/**
 * The document that pdfmake writes into, with fonts that are parsed once for all documents and pictures that are
 * embedded one after the other.
 */
import { boundedCache, type BoundedCache } from '../../../shared/cache.js';
import type { FontDescriptor } from './fonts.js';
import type { Place } from './nodes.js';
import { faceOf, fontBytes, roboto } from './font-files.js';
import { shapedText } from './scripts.js';
import {
  fontMakerOf,
  forgetGlyphs,
  PdfmakeDocument,
  type EmbeddedFont,
  type EmbeddedFontMaker,
  type StructureElement,
} from './pdfmake-internals.js';

let maker: EmbeddedFontMaker | undefined;
const makerOf = (): EmbeddedFontMaker => (maker ??= fontMakerOf(fontBytes(roboto.files.normal)));

const WORDS_MAX = 5_000;
const WORD_CHARS_MAX = 40;
/** Words as they were laid out, by font: most words of a document stood in the one before. */
const wordsByFace = new WeakMap<object, BoundedCache<string, object>>();

/** A function from a word (with the space after it) to its glyphs, the same for every document and in every order. */
const layoutOf = (font: EmbeddedFont, file: string): ((word: string) => object) => {
  const face = faceOf(file);
  const words = wordsByFace.get(face) ?? boundedCache<string, object>({ entriesMax: WORDS_MAX });
  wordsByFace.set(face, words);
  return (word) => {
    const known = words.get(word);
    if (known !== undefined) return known;
    // A glyph remembers the characters that it was first drawn for, and the file tells them to who copies its text.
    // Here they are always those of the word itself: from a word or a document before, they would be another's, and
    // other bytes.
    forgetGlyphs(face);
    const laid = font.layoutRun(shapedText(word, face));
    if (word.length <= WORD_CHARS_MAX) words.set(word, laid);
    return laid;
  };
};

/**
 * Above and below the base line, in thousandths of the size: the same for every font, or a word of another script,
 * whose fonts ask for up to twice the height, would push the lines apart and lower the text beside it.
 */
const lineOfRoboto = (): Readonly<{ ascender: number; descender: number; lineGap: number }> => {
  const { ascent, descent, unitsPerEm } = faceOf(roboto.files.normal);
  return { ascender: (ascent * 1_000) / unitsPerEm, descender: (descent * 1_000) / unitsPerEm, lineGap: 0 };
};

/**
 * In `info`: what the file says of itself. `onBytes` is called with each piece of the file and may throw to stop the
 * work.
 */
export type DocumentOptions = Readonly<{
  info: Readonly<Record<string, string | Date>>;
  /** BCP 47 */
  language: string;
  fonts: Readonly<Record<string, FontDescriptor>>;
  onBytes: (piece: Uint8Array) => void;
}>;

/** A reader shows a little of what stands above the place that a link leads to. */
const ABOVE_PT = 6;

export class PrintedDocument extends PdfmakeDocument {
  // Declared, not initialised: the base constructor writes the file's first line before a field would be set.
  declare private readonly onBytes: ((piece: Uint8Array) => void) | undefined;
  declare private early: Uint8Array[] | undefined;
  private readonly embedded = new Map<string, EmbeddedFont>();

  constructor({ info, language, fonts, onBytes }: DocumentOptions) {
    super(
      { ...fonts },
      {},
      {},
      {},
      {
        pdfVersion: '1.7',
        tagged: true,
        displayTitle: true,
        compress: true,
        lang: language,
        autoFirstPage: false,
        info,
        font: null,
        size: [1, 1],
      },
    );
    this.onBytes = onBytes;
    for (const piece of this.early ?? []) onBytes(piece);
    this.early = undefined;
  }

  /** Takes the bytes itself: as a stream they would be copied through a queue, and a limit would be seen late. */
  override _write(data: string | Uint8Array): void {
    const piece = typeof data === 'string' ? Buffer.from(`${data}\n`, 'latin1') : data;
    this._offset += piece.length;
    if (this.onBytes === undefined) (this.early ??= []).push(piece);
    else this.onBytes(piece);
  }

  /** The places that links of the document lead to, by their names; to be set before the first sheet is drawn. */
  places: ReadonlyMap<string, Place> = new Map();
  private sheets = 0;

  override addPage(options?: object): this {
    super.addPage(options);
    this.sheets += 1;
    for (const [name, { page, top }] of this.places)
      if (page === this.sheets) this.addNamedDestination(name, 'XYZ', null, Math.max(top - ABOVE_PT, 0), null);
    return this;
  }

  /** The link that is being drawn, whose element has the places that lead to its target, and what is read of it. */
  linked: Readonly<{ element: StructureElement; text: string }> | undefined;

  override link(x: number, y: number, width: number, height: number, url: string, options: object = {}): this {
    const { linked } = this;
    const more = linked === undefined ? {} : { structParent: linked.element, Contents: new String(linked.text.trim()) };
    if (!url.startsWith('#')) return super.link(x, y, width, height, url, { ...options, ...more });
    const name = url.slice(1);
    return this.places.has(name) ? this.goTo(x, y, width, height, name, { ...options, ...more }) : this;
  }

  /** A reader is not made to open the list of bookmarks. */
  override endOutline(): void {
    super.endOutline();
    delete this._root.data['PageMode'];
  }

  /** The base class ends its stream so; nobody reads it. */
  override push(): boolean {
    return true;
  }

  /**
   * Opens a font file of ours: its tables are read and its words laid out once for all documents; what is embedded
   * belongs to this one.
   */
  override font(file: unknown, _family?: string | number | null, size?: number): this {
    if (typeof file !== 'string') throw new TypeError('fonts are named by their files');
    let font = this.embedded.get(file);
    if (font === undefined) {
      const Maker = makerOf();
      font = Object.assign(new Maker(this, faceOf(file), `F${++this._fontCount}`), lineOfRoboto());
      font.layoutCached = layoutOf(font, file);
      this.embedded.set(file, font);
      this._fontFamilies[file] = font;
    }
    this._font = font;
    if (size !== undefined) this.fontSize(size);
    return this;
  }

  /**
   * Embeds a checked picture under a name. Its transparency is split off by a thread of zlib, so pictures are embedded
   * one after the other: at once, their order in the file would be by chance.
   */
  async embed(name: string, bytes: Uint8Array): Promise<void> {
    const image = this.openImage(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    const { finalize } = image;
    await new Promise<void>((resolve) => {
      if (finalize === undefined) {
        image.embed(this);
        resolve();
        return;
      }
      image.finalize = () => {
        finalize.call(image);
        resolve();
      };
      image.embed(this);
    });
    this._imageRegistry[name] = image;
  }
}
