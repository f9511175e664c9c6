/**
 * Chooses the font for each part of a text, so that no character is drawn as an empty box, and splits right-to-left
 * text into runs that can be put in order line by line.
 */
import { createRequire } from 'node:module';
import { DomainError } from '../../../domain/core/errors.js';
import { codePointOf } from '../../../shared/text.js';
import {
  composed,
  scriptOf,
  isSetInOrder,
  SOFT_HYPHEN,
  WORD_BREAK,
  withoutBreaks,
  withWordBreaks,
  hanOrderOf,
  isInvisible,
  isJoiner,
  isNeutral,
  isSpace,
} from './scripts.js';
import {
  layoutIn,
  builtInFamilies,
  faceOf,
  hanFamilies,
  roboto,
  pictographs,
  scriptFamilies,
  symbols,
  type FontFamily,
} from './font-files.js';
import { boundedCache } from '../../../shared/cache.js';
import { asDrawn, levelsOf, visualOrder } from './bidi.js';
import { holdsIsolates, holdsRightToLeft } from '../../../domain/rendering/direction.js';
import { plainFamily } from '../../../domain/rendering/css.js';

export { familiesIn, fontBytes, type FontFamily } from './font-files.js';

/** One line of text that is not broken. */
export type TextLine = Readonly<{
  /** As they are drawn, from left to right. */
  runs: readonly FontRun[];
  isRightToLeft: boolean;
  /** In points. */
  widthAt: (fontSize: number) => number;
  /**
   * The line as a path of SVG in thousandths of the font size, y downwards, where its letters join, stack or run from
   * the right or are of several fonts: what draws SVG sets letters one after the other and parts in different fonts
   * with a space between them. Otherwise undefined.
   */
  outline: () => string | undefined;
}>;

export type FontStyle = Readonly<{ bold: boolean; italic: boolean }>;
export type FontDescriptor = Readonly<{ normal: string; bold: string; italics: string; bolditalics: string }>;

/**
 * A part of a text in one font, to be spread into a run of pdfmake beside the looks. `bidiLevel` must stay on the
 * inline that pdfmake makes of it: `orderLine` of bidi.ts puts the inlines of a broken line in order by it.
 */
export type FontRun = Readonly<{ text: string; font: string; bidiLevel: number }>;
/** `runs` of one piece, in reading order. */
export type ShapedPiece<Piece> = Readonly<{ piece: Piece; runs: readonly FontRun[] }>;
export type TextPiece = FontStyle &
  Readonly<{ text: string; /** The family that is tried first, by its name in `descriptors`. */ family?: string }>;
/**
 * True for a character that no font has and that is refused. With `standIn`, the text in its place, it is told only,
 * and the answer means nothing.
 */
export type Refuses = (character: string, standIn?: string) => boolean;
export type ShapeOptions = Readonly<{
  /** The component's place in the template, for messages. */ field: string;
  /** BCP 47 */ locale: string;
  direction?: 'ltr' | 'rtl';
  /**
   * True for a character that is refused if no font has it; any other is replaced by its name. Undefined: all are
   * refused.
   */
  refuses?: Refuses;
}>;

export type Fonts = Readonly<{
  /** For pdfmake: every family by name. The files are read by `fontBytes`. */
  descriptors: Readonly<Record<string, FontDescriptor>>;
  /** In: the value of `font-family`. Out: the first family of it that there is. */
  familyOf: (list: string) => string | undefined;
  /** One paragraph of one look. Throws DomainError FONT_MISSING. */
  shape: (text: string, style: FontStyle, options: ShapeOptions) => readonly FontRun[];
  /**
   * One paragraph whose parts look differently: direction and Han forms follow from the whole. Throws DomainError
   * FONT_MISSING.
   */
  shapeParagraph: <Piece extends TextPiece>(
    pieces: readonly Piece[],
    options: ShapeOptions,
  ) => Readonly<{ pieces: readonly ShapedPiece<Piece>[]; isRightToLeft: boolean }>;
  /** The characters that no font has. `locale`: BCP 47 */
  lacking: (characters: readonly string[], locale: string) => readonly string[];
  /** One line that is not broken, as it is drawn. Throws DomainError FONT_MISSING. */
  line: (text: string, style: FontStyle, options: ShapeOptions & Readonly<{ family?: string }>) => TextLine;
}>;

type StyleName = keyof FontDescriptor;
/** A file as pdfmake is told of it: the name under which it stands for the style asked for. */
type Candidate = Readonly<{ font: string; file: string; isSticky: boolean }>;

/** Chooses the fonts of a grapheme after a run in `previous`. Most graphemes stay whole, in one font. */
type FontChooser = (grapheme: string, previous: Candidate | undefined) => readonly Choice[];
type Choice = Readonly<{
  text: string;
  candidate: Candidate;
  /** The next letter must not join, and the font has no sign that says so. */ endsRun: boolean;
  /** No font has it. */ isMissing?: true;
}>;
const UPRIGHT = ' upright';

const CHOICES_MAX = 20_000;
const NON_JOINER = '\u200c';

/** Letters of Latin, Greek and Cyrillic and the common signs; looked up first, for most text is nothing else. */
const PLAIN_MAX = 0x2200;

/** Characters of one text that are named in full: a name is as long as a line of a narrow column. */
const NAMED_MAX = 20;

/** `extra` are tried after the built-in ones, in their order. No file is read yet. */
export const openFonts = (extra: readonly FontFamily[] = []): Fonts => {
  const families = [...builtInFamilies, ...extra];
  const named = new Map(
    families.flatMap((known) =>
      [known.name, known.alias ?? known.name].map((name): [string, FontFamily] => [plainFamily(name), known]),
    ),
  );
  const chosen = new Map<string, FontChooser>();
  const chooserOf = (
    style: StyleName,
    hanOrder: readonly ('zh' | 'ja' | 'ko')[],
    family: string | undefined,
  ): FontChooser => {
    const key = `${style} ${hanOrder[0] ?? ''} ${family ?? ''}`;
    const first = family === undefined ? undefined : named.get(plainFamily(family));
    const known = chosen.get(key) ?? makeChooser(candidatesOf(style, hanOrder, extra, first));
    chosen.set(key, known);
    return known;
  };

  const shapeParagraph: Fonts['shapeParagraph'] = (pieces, options) => {
    const written = pieces.map(({ text }) => composed(text));
    if (
      options.direction !== 'rtl' &&
      pieces.every(({ family }, at) => isRoboto(family) && isPlain(written[at] ?? ''))
    ) {
      return {
        pieces: pieces.map((piece, at) => ({ piece, runs: plainRuns(written[at] ?? '') })),
        isRightToLeft: false,
      };
    }
    const hanOrder = hanOrderOf(written.join(''), options.locale);
    const texts = withWordBreaks(
      pieces.map((piece, at) =>
        withStandIns(written[at] ?? '', chooserOf(styleName(piece), hanOrder, piece.family), options),
      ),
    );
    const paragraph = texts.join('');
    const bidi =
      options.direction === 'rtl' || holdsRightToLeft(paragraph) ? levelsOf(paragraph, options.direction) : undefined;
    let offset = 0;
    const shaped = pieces.map((piece, at) => {
      const text = texts[at] ?? '';
      const levels = bidi?.levels.subarray(offset, offset + text.length);
      offset += text.length;
      if (levels === undefined && isRoboto(piece.family) && isPlain(text)) return { piece, runs: plainRuns(text) };
      return { piece, runs: runsOf(text, levels, chooserOf(styleName(piece), hanOrder, piece.family), options) };
    });
    return { pieces: shaped, isRightToLeft: bidi?.isRightToLeft ?? false };
  };
  const shapeOne = (
    text: string,
    style: FontStyle,
    { family, ...options }: ShapeOptions & Readonly<{ family?: string }>,
  ): Readonly<{ runs: readonly FontRun[]; isRightToLeft: boolean }> => {
    const { pieces, isRightToLeft } = shapeParagraph(
      [{ text, ...style, ...(family === undefined ? {} : { family }) }],
      options,
    );
    return { runs: pieces[0]?.runs ?? [], isRightToLeft };
  };

  const descriptors = Object.fromEntries(
    families.flatMap((known) => [
      [known.name, descriptorOf(known)],
      [known.name + UPRIGHT, uprightOf(known)],
    ]),
  );
  return {
    descriptors,
    familyOf: (list) => firstNamed(list, named),
    shapeParagraph,
    shape: (text, style, options) => shapeOne(text, style, options).runs,
    lacking: (characters, locale) => missingFrom(characters, chooserOf('normal', hanOrderOf('', locale), undefined)),
    line: (text, style, options) => {
      const { runs, isRightToLeft } = shapeOne(text, style, options);
      const visual = visualOrder(runs.map((run) => run.bidiLevel)).map((index) => drawnRun(runs[index]!));
      return textLine(visual, (run) => descriptors[run.font]?.[styleName(style)] ?? '', isRightToLeft);
    },
  };
};

const styleName = ({ bold, italic }: FontStyle): StyleName =>
  bold ? (italic ? 'bolditalics' : 'bold') : italic ? 'italics' : 'normal';

/** All styles of a family; one that it has not is shown by the nearest. */
const descriptorOf = ({ files }: FontFamily): FontDescriptor => ({
  normal: files.normal,
  bold: files.bold ?? files.normal,
  italics: files.italics ?? files.normal,
  bolditalics: files.bolditalics ?? files.bold ?? files.italics ?? files.normal,
});

const uprightOf = ({ files: { normal } }: FontFamily): FontDescriptor => ({
  normal,
  bold: normal,
  italics: normal,
  bolditalics: normal,
});

/** Signs that stand for one currency, by their codes (ISO 4217). */
const currencies: ReadonlyMap<string, string> = new Map(
  (
    '\u20be GEL \u20bf BTC \u17db KHR \u20bc AZN \u20bd RUB \u20ba TRY \u20b8 KZT \u20b9 INR \u20aa ILS \u20ab VND \u20ad LAK \u20ae MNT \u20b1 PHP \u20b2 PYG ' +
    '\u20b4 UAH \u20b5 GHS \u20a1 CRC \u20a6 NGN \u20a9 KRW \u0e3f THB \u09f3 BDT \u058f AMD \u060b AFN \u20c0 KGS \u20ac EUR \u20a3 FRF \u20a7 ESP \u20b3 ARA'
  )
    .split(' ')
    .flatMap((sign, at, all): [string, string][] => (at % 2 === 0 ? [[sign, all[at + 1] ?? '']] : [])),
);

/** The replacement for a character that no font has: the code of a currency, a Latin digit. Undefined: its name. */
export const standInOf = (character: string): string | undefined =>
  /\p{Nd}/u.test(character) ? latinDigit(character.codePointAt(0)!) : currencies.get(character);

/** Ten digits follow each other in Unicode, from zero on; those of mathematics are five such rows without a gap. */
const latinDigit = (codePoint: number): string => {
  if (codePoint >= 0x1d7ce && codePoint <= 0x1d7ff) return String((codePoint - 0x1d7ce) % 10);
  let value = 0;
  while (value < 9 && /\p{Nd}/u.test(String.fromCodePoint(codePoint - value - 1))) value += 1;
  return String(value);
};

const SIGN_OR_DIGIT = /(?![\x00-\x7f])[\p{Sc}\p{Nd}]/gu;

/** The text with codes of currencies and Latin digits for signs and digits that no font has. */
const withStandIns = (text: string, choose: FontChooser, { refuses }: ShapeOptions): string =>
  text.replace(SIGN_OR_DIGIT, (character: string, at: number, whole: string) => {
    const standIn = standInOf(character);
    if (standIn === undefined || missingFrom([character], choose).length === 0) return character;
    refuses?.(character, standIn);
    if (/\d/.test(standIn)) return standIn;
    const space = (beside: string): string => (/[\p{L}\p{N}]/u.test(beside) ? '\u00a0' : '');
    return space(whole.charAt(at - 1)) + standIn + space(whole.charAt(at + character.length));
  });

const missingFrom = (characters: readonly string[], choose: FontChooser): readonly string[] =>
  characters.filter(
    (character) => !isPlain(character) && choose(character, undefined).some(({ isMissing }) => isMissing === true),
  );

const drawnRun = (run: FontRun): FontRun => ({ ...run, text: asDrawn(withoutBreaks(run.text), run.bidiLevel) });

const firstNamed = (list: string, named: ReadonlyMap<string, FontFamily>): string | undefined => {
  for (const name of list.split(',')) {
    const found = named.get(plainFamily(name));
    if (found !== undefined) return found.name;
  }
  return undefined;
};

const isRoboto = (family: string | undefined): boolean => family === undefined || family === roboto.name;

/** The styled files first, then the upright ones: a rare character in bold is better thin than missing. */
const candidatesOf = (
  style: StyleName,
  hanOrder: readonly ('zh' | 'ja' | 'ko')[],
  extra: readonly FontFamily[],
  first: FontFamily | undefined,
): readonly Candidate[] => {
  const scripts = new Set([...scriptFamilies, ...Object.values(hanFamilies)]);
  const usual = [
    roboto,
    ...scriptFamilies,
    symbols,
    ...hanOrder.map((language) => hanFamilies[language]),
    pictographs,
    ...extra,
  ];
  const ordered = first === undefined ? usual : [first, ...usual.filter((known) => known !== first)];
  const styled = ordered.map((known) => ({
    font: known.name,
    file: descriptorOf(known)[style],
    isSticky: scripts.has(known),
  }));
  const upright = ordered.map((known) => ({ font: known.name + UPRIGHT, file: known.files.normal, isSticky: false }));
  const files = new Set(styled.map((candidate) => candidate.file));
  return [...styled, ...upright.filter((candidate) => !files.has(candidate.file))];
};

const makeChooser = (candidates: readonly Candidate[]): FontChooser => {
  const known = boundedCache<string, readonly Choice[]>({ entriesMax: CHOICES_MAX });
  return (grapheme, previous) => {
    const neighbour = previous?.isSticky === true ? previous : undefined;
    const key = neighbour === undefined ? grapheme : `${neighbour.font}\n${grapheme}`;
    return known.getOrMake(key, () => choicesOf(grapheme, neighbour, candidates));
  };
};

/** One font for what is seen as one character; where none has all of it, a font for each code point of it. */
const choicesOf = (
  grapheme: string,
  neighbour: Candidate | undefined,
  candidates: readonly Candidate[],
): readonly Choice[] => {
  const find = (text: string): Candidate | undefined =>
    neighbour !== undefined && isNeutral(text) && hasAll(neighbour, text)
      ? neighbour
      : candidates.find((candidate) => hasAll(candidate, text));
  const asked = plainSpaceFor(grapheme, neighbour ?? candidates[0]) ?? grapheme;
  const whole = find(asked);
  if (whole !== undefined)
    return [
      {
        text: shown(asked, whole),
        candidate: whole,
        endsRun: asked.endsWith(NON_JOINER) && !shown(asked, whole).endsWith(NON_JOINER),
      },
    ];
  return Array.from(asked).flatMap((character): readonly Choice[] => {
    if (isInvisible(character)) return [];
    const candidate = find(character);
    if (candidate !== undefined) return [{ text: character, candidate, endsRun: false }];
    const [first] = candidates;
    return first === undefined ? [] : [{ text: character, candidate: first, endsRun: false, isMissing: true }];
  });
};

/**
 * Spaces of unusual width are shown by the usual one where the font of the text has them not, rather than by another
 * font.
 */
const plainSpaceFor = (grapheme: string, candidate: Candidate | undefined): string | undefined => {
  if (!isSpace(grapheme) || grapheme === '\u3000' || candidate === undefined || hasAll(candidate, grapheme))
    return undefined;
  return /[\u00a0\u2007\u202f]/.test(grapheme) ? '\u00a0' : ' ';
};

const hasAll = (candidate: Candidate, text: string): boolean => {
  const face = faceOf(candidate.file);
  for (const character of text) {
    if (!isInvisible(character) && !/[\t\n\r]/.test(character) && !face.hasGlyphForCodePoint(character.codePointAt(0)!))
      return false;
  }
  return true;
};

/** Without what has no form: only what joins letters is left to a font that knows it. */
const shown = (grapheme: string, candidate: Candidate): string => {
  let text = '';
  for (const character of grapheme) {
    const isKept =
      !isInvisible(character) ||
      (isJoiner(character) && faceOf(candidate.file).hasGlyphForCodePoint(character.codePointAt(0)!));
    if (isKept) text += character;
  }
  return text;
};
let plain: Uint8Array | undefined;
const isPlain = (text: string): boolean => {
  plain ??= plainCharacters();
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit >= PLAIN_MAX || plain[unit] === 0) return false;
  }
  return true;
};

const plainRuns = (text: string): readonly FontRun[] =>
  text === '' ? [] : [{ text, font: roboto.name, bidiLevel: 0 }];

const plainCharacters = (): Uint8Array => {
  const table = new Uint8Array(PLAIN_MAX);
  const sets = Object.values(roboto.files).map((file) => new Set(faceOf(file).characterSet));
  for (const unit of faceOf(roboto.files.normal).characterSet) {
    const character = String.fromCharCode(unit);
    if (
      unit < PLAIN_MAX &&
      sets.every((set) => set.has(unit)) &&
      !isInvisible(character) &&
      !holdsRightToLeft(character)
    )
      table[unit] = 1;
  }
  for (const character of '\t\n\r') table[character.charCodeAt(0)] = 1;
  return table;
};

const segmenter = new Intl.Segmenter('und', { granularity: 'grapheme' });

/**
 * Cut where font or level change, and at odd levels after each space: pdfkit draws the words of one run from left to
 * right.
 */
const runsOf = (
  text: string,
  levels: Uint8Array | undefined,
  choose: FontChooser,
  { field, refuses }: ShapeOptions,
): readonly FontRun[] => {
  const runs: FontRun[] = [];
  let pending = '';
  let current: Candidate | undefined;
  let level = 0;
  let named = 0;
  const present = (choice: Choice): readonly Choice[] => {
    if (choice.isMissing !== true) return [choice];
    if (refuses === undefined || refuses(choice.text)) throw missing(choice.text, field);
    named += 1;
    return Array.from(standInFor(choice.text, named)).flatMap((character) => choose(character, undefined));
  };
  const flush = (): void => {
    if (pending !== '' && current !== undefined) runs.push({ text: pending, font: current.font, bidiLevel: level });
    pending = '';
  };
  for (const { segment, index } of segmenter.segment(text)) {
    // A line break stands apart: it ends a line whatever runs before it.
    const own = /[\r\n]/.test(segment) ? 0 : (levels?.[index] ?? 0);
    // It has said its word on the levels.
    if (holdsIsolates(segment)) continue;
    if (segment === WORD_BREAK || segment === SOFT_HYPHEN) {
      const isShown = segment === WORD_BREAK || (level % 2 === 0 && current !== undefined && hasAll(current, '-'));
      if (pending !== '' && isShown) pending += segment;
      continue;
    }
    for (const choice of choose(segment, current).flatMap(present)) {
      if (choice.candidate !== current || own !== level || (own % 2 === 1 && pending.endsWith(' '))) flush();
      current = choice.candidate;
      level = own;
      pending += choice.text;
      if (choice.endsRun) flush();
    }
  }
  flush();
  return runs;
};

/**
 * True if the whole line is one run whose letters are set one after the other. Computed from the text alone, because
 * the answer of a font depends on earlier questions.
 */
const isOnePlainRun = ([run, ...others]: readonly FontRun[]): boolean =>
  others.length === 0 && (run === undefined || (run.bidiLevel === 0 && isSetInOrder(run.text)));

/** In: the runs in the order in which they are drawn; `fileOf` names the file of a run. */
const textLine = (runs: readonly FontRun[], fileOf: (run: FontRun) => string, isRightToLeft: boolean): TextLine => {
  const em = runs.reduce((sum, run) => sum + widthInEm(run.text, fileOf(run)), 0);
  return {
    runs,
    isRightToLeft,
    widthAt: (fontSize) => em * fontSize,
    outline: () => (isOnePlainRun(runs) ? undefined : outlineOf(runs, fileOf)),
  };
};

const widthInEm = (text: string, file: string): number => {
  const { run, unitsPerEm } = layoutIn(file, text);
  return run.advanceWidth / unitsPerEm;
};

const outlineOf = (runs: readonly FontRun[], fileOf: (run: FontRun) => string): string => {
  let x = 0;
  return runs
    .map((run) => {
      const {
        run: { glyphs, positions },
        unitsPerEm,
      } = layoutIn(fileOf(run), run.text);
      const scale = 1_000 / unitsPerEm;
      return glyphs
        .map((glyph, index) => {
          const { xOffset, yOffset, xAdvance } = positions[index]!;
          const moved = glyph.path.transform(scale, 0, 0, -scale, x + xOffset * scale, -yOffset * scale).toSVG();
          x += xAdvance * scale;
          return moved;
        })
        .join('');
    })
    .join('');
};

/** The names are 1.6 MB, which nearly no document needs. */
const load = createRequire(import.meta.url);
type Names = Readonly<{ unicodeName: (character: string) => string | undefined }>;

/** `TAGALOG LETTER MA`, the name of the character in Unicode; its number where it has none. */
const nameOf = (character: string): string => {
  const first = String.fromCodePoint(character.codePointAt(0)!);
  const name = (load('unicode-name') as Names).unicodeName(first);
  // A code point that is not a character has a label such as <private-use-E000>.
  return name === undefined || name.startsWith('<') ? codePointOf(first) : name;
};

/** The text in the place of a character that no font has; `count` is the number of such characters so far. */
export const standInFor = (character: string, count: number): string =>
  `[${count <= NAMED_MAX ? nameOf(character) : codePointOf(character)}]`;

/** The error FONT_MISSING for a character. */
export const missing = (character: string, field: string): DomainError => {
  const codePoint = codePointOf(character);
  return new DomainError(
    'FONT_MISSING',
    `No font of this service has the character “${character}” (${codePoint}, ${scriptOf(character)}) of ${field}. ` +
      'Put a font with it (.ttf, .otf or .woff) into the folder that SEALPOST_FONTS_DIR names and start the service again, or leave the character out.',
    {
      relatedInfo: { character, codePoint, script: scriptOf(character) },
      errors: [{ field, message: `no font has ${codePoint} (${scriptOf(character)})` }],
    },
  );
};
