/**
 * The functions that the compiled source of a template calls: reading and showing values, escaping for each place,
 * collecting the pictures inside the mail.
 */
import { compileBlockValues } from '../../../domain/rendering/scope/include.js';
import { createHash } from 'node:crypto';
import { DomainError } from '../../../domain/core/errors.js';
import { type Limits, defaultLimits } from '../../../domain/core/limits.js';
import { assetContentId, type InlineImage } from '../../../domain/ports/renderer.js';
import {
  tooManyInlineImages,
  spendModules,
  type Budget,
  openUnlimitedBudget,
  spendChars,
  bodyTooLarge,
  tooManyExpanded,
  tooManyIterations,
} from '../../../domain/rendering/budget.js';
import {
  qrModules,
  barModules,
  codeContent,
  codeKindOf,
  isBarKind,
  type BarKind,
  type EpcFields,
} from '../../../domain/rendering/codes.js';
import { drawQrCode, layQrCode, qrContentId, qrLevel, surelyFitsQr, type QrLook, qrSizePx, qrAlt } from '../qr-code.js';
import {
  cssBorder,
  cssBox,
  cssColor,
  cssDeclaration,
  cssFontFamily,
  cssLength,
  cssLineHeight,
  pixels,
} from '../../../domain/rendering/css.js';
import { barCodePng, layBarPicture, pixelDefaults, type BarWish } from '../bar-code.js';
import type { Json } from '../../../domain/core/json.js';
import { holds, type Operator } from '../../../domain/rendering/scope/conditions.js';
import {
  directionOfText,
  holdsRightToLeft,
  isolated,
  markOf,
  setApart,
  sideOf,
  type ApartText,
  type ApartValues,
  type Direction,
} from '../../../domain/rendering/direction.js';
import { type Formatter, writeNumber, writeValue } from '../../../domain/rendering/scope/formats.js';
import {
  inCurrency,
  isCurrency,
  writerOf,
  type DisplayFormat,
  isDated,
} from '../../../domain/rendering/scope/display-format.js';
import { isArray, readStep } from '../../../domain/rendering/scope/path.js';
import {
  insideImage,
  NO_LINK_RULES,
  safeImage,
  safeLink,
  type LinkRules,
} from '../../../domain/rendering/addresses.js';
import { groupItems } from '../../../domain/rendering/scope/scope.js';
import { progressOf } from '../../../domain/rendering/expand/expanded.js';
import {
  htmlLines,
  isBlank,
  keptLines,
  onOneLine,
  substituterOf,
  withBreaks,
} from '../../../domain/rendering/fill/shown-value.js';
import { notAnArray } from '../../../domain/rendering/fill/variables.js';
import { UNTRACKED_ATTRIBUTE } from '../../../domain/recipients/tracking.js';
import * as dark from './dark-colors.js';
import type { DarkColors } from './dark-colors.js';
import * as escape from './escape.js';
import { BREAKS_CHARS_MAX, NO_IMAGE, type BreaksLeft, type NarrowTable } from './escape.js';
import { WORD_CHARS } from './values.js';
import * as layout from './text-layout.js';
import { sizeAttributes, type PictureSizes } from './urls.js';

/** The pictures inside the mail, collected while it is rendered: each once, named by what it shows. */
type Inline = InlineImage[];

/** The limits of the call that a code counts against; with `draws` false no picture is made. */
type CodeWork = Readonly<{ limits: Limits; draws: boolean; budget: Budget }>;

/** `id` of the component and `field`, the path of the value it shows: for messages. */
export type QrOptions = QrLook & Readonly<{ id: string; field: string }>;

/** Either the value of a bar code, or the fields of a payment. */
type CodeFields = Readonly<{ value: string } | EpcFields>;
/** `fields` tells by the name of a prop where its value came from, for messages. */
type CodeOptions = Omit<QrOptions, 'field' | 'level'> &
  Readonly<{
    kind: string;
    height: string;
    /** Pixels that the component has from side to side. */ room: number;
    showText: boolean;
    gs1: boolean;
    fields: Readonly<Record<string, string>>;
  }>;
/**
 * The attributes of a picture in HTML: its size in whole CSS pixels, its alternative text, and its text in the text
 * part.
 */
type ShownCode = Readonly<{ src: string; width: string; height: string; alt: string; text: string }>;

type Joints = Omit<ApartValues<never>, 'values'>;

/** The limits of the rendering under way. Rendering is synchronous, so one meter is enough for a template. */
export type Meter = BreaksLeft & {
  budget: Budget;
  /** Characters that the values of the HTML may still take. */
  htmlLeft: number;
  /** Links that are not to be tracked say so. */
  marksUntracked: boolean;
  pictures: PictureSizes;
  /** Set where a value is missing, or cannot be used where it stands. */
  lost: boolean;
};

export type Runtime = ReturnType<typeof runtimeOf>;

const NOTHING = new Uint8Array(0);

const NONE: readonly Json[] = [];

const UNLIMITED = openUnlimitedBudget();

/**
 * Escaping makes of one UTF-16 unit at most the nine bytes of a percent-encoded character; references, and what is
 * written around long words, are shorter.
 */
const bytesPerUnitMax = 9;

/** Thrown where only the finished mail can tell. */
export const UNDECIDED = new Error('the size is not certain');

/** The longest that one letter of a pattern stands for: a month, a weekday or the name of a time zone. */
const longestPerLetter = 64;
/**
 * No number below this has more than 21 digits and their marks before the fraction, and no currency a longer name than
 * the rest.
 */
const plainBelow = 1e15;
const longNumber = 128;
const longDate = 192;
const fractionDigitsFew = 20;

export const openMeter = (): Meter => ({
  budget: UNLIMITED,
  htmlLeft: Infinity,
  breaksLeft: BREAKS_CHARS_MAX,
  marksUntracked: false,
  pictures: 'unknown',
  lost: false,
});

/** Begins a rendering; without a budget only the HTML is bounded. Losses of earlier renderings stay recorded. */
export const startMeter = (meter: Meter, limits: Limits, budget: Budget = UNLIMITED): void => {
  meter.budget = budget;
  meter.htmlLeft = limits.htmlSizeBytesMax;
  meter.breaksLeft = BREAKS_CHARS_MAX;
  meter.marksUntracked = false;
  meter.pictures = 'unknown';
};

/** The functions by the names that the source uses. Characters read and written are taken from the meter. */
export const runtimeOf = (limits: Limits, meter: Meter = openMeter(), rules: LinkRules = NO_LINK_RULES) => ({
  ...apartFrom(measured(limits, meter, rules)),
  KEPT_LINES: keptLines,
  ON_ONE_LINE: onOneLine,
  WITH_BREAKS: withBreaks,
  STEP: readStep,
  SHOW: substituterOf,
  IN_BLOCK: compileBlockValues,
  BLANK: isBlank,
  ITEMS: (value: Json | undefined, source: string): readonly Json[] => {
    if (value === undefined || value === null) {
      meter.lost = true;
      return NONE;
    }
    if (!isArray(value)) throw notAnArray(source, value);
    if (value.length > limits.loopIterationsMax)
      throw tooManyIterations(source, value.length, limits.loopIterationsMax);
    return value;
  },
  GROUPS: groupItems,
  TOO_MANY: (components: number): never => {
    throw tooManyExpanded(components, limits.componentsExpandedMax);
  },
  TOO_LARGE: (chars: number): never => {
    throw bodyTooLarge(chars, limits.htmlSizeBytesMax, false);
  },
  INSIDE: (address: string, inline: Inline): string => addNamed(inline, address, limits),
  EMBED: (uri: string): EmbeddedPicture => embeddedPicture(uri),
  EMBEDDED: (picture: EmbeddedPicture, inline: Inline): string => addEmbedded(inline, picture, limits),
  QR: (value: string, inline: Inline, options: QrOptions): string =>
    addQrCode(inline, value, options, { limits, draws: true, budget: meter.budget }),
  CODE: (fields: CodeFields, inline: Inline, options: CodeOptions): ShownCode | undefined =>
    addCode(inline, fields, options, { limits, draws: true, budget: meter.budget }),
  SIZES: (address: string, width: string, height: string, placePx: number): string =>
    sizeAttributes(address, { width, height, placePx }, meter.pictures),
  QR_SIZE: (size: string): string => String(qrSizePx(size)),
  QR_ALT: qrAlt,
  LINKED: (words: string, address: string): string => layout.linked(words, address, rules),
  RAISED: layout.raised,
  ONE_LINE: layout.oneLine,
  MARK: layout.mark,
  INTEGER: layout.integer,
  BRACKETED: (text: string): string => (text.trim() === '' ? '' : `[${text}]`),
  UNTRACKED: (): string => (meter.marksUntracked ? UNTRACKED_ATTRIBUTE : ''),
  FITTED: (rows: string, table: NarrowTable): ReturnType<typeof escape.fitted> => escape.fitted(rows, table, meter),
  COLOR: judgedBy(cssColor, meter),
  OPAQUE: dark.opaqueOn,
  SURFACE: dark.surfaceOn,
  READABLE: dark.readableOn,
  STRIPE: dark.stripeOn,
  LINE_COLOR: dark.lineColorOf,
  CLASS: dark.classesOf,
  TWINS: (): DarkColors => dark.createDarkColors('v', dark.DARK_CLASSES_MAX),
  DARK_STYLE: (known: string, values?: DarkColors): string => dark.darkStyle(known + (values?.rules() ?? '')),
  LENGTH: judgedBy(cssLength, meter),
  BOX: judgedBy(cssBox, meter),
  BORDER: judgedBy(cssBorder, meter),
  FONT: judgedBy(cssFontFamily, meter),
  LINE: judgedBy(cssLineHeight, meter),
  ONE_OF: (value: string, values: readonly string[], fallback: string): string => {
    const word = value.trim().toLowerCase();
    if (!values.includes(word)) meter.lost = true;
    return values.includes(word) ? word : fallback;
  },
  SIDE: sideOf,
  RIGHT_TO_LEFT: (html: string): boolean => directionOfText(html.replace(/<[^>]*>|&[a-z0-9#]{1,8};/gi, '')) === 'rtl',
  DECLARATION: (value: string): string => {
    const css = cssDeclaration(value);
    if (css === undefined) meter.lost = true;
    return css ?? 'inherit';
  },
  PX: (css: string): string => String(Math.round(pixels(css) ?? 0) || ''),
  WRAP: layout.wrap,
  ITEM: (bullet: string, text: string): string =>
    layout.wrap(layout.cellLines(text).join('\n'), bullet, ' '.repeat(bullet.length)),
  HEADING: layout.heading,
  PROGRESS: progressOf,
  LINES: (...lines: readonly string[]): string => lines.filter((line) => line !== '').join('<br>'),
  MOMENT: layout.moment,
  TABLE: layout.table,
  GRID: layout.grid,
  BESIDE: layout.beside,
  LABELLED: layout.labelled,
});

/**
 * The runtime of a check: it does everything that can refuse an email (variables, lists, limits) and leaves out what
 * only changes how a value is written. The text that comes of it is no mail; its length tells how large the mail can be
 * at most.
 */
export const checkingRuntimeOf = (
  limits: Limits,
  meter: Meter = openMeter(),
  rules: LinkRules = NO_LINK_RULES,
): Runtime => ({
  ...runtimeOf(limits, meter, rules),
  WORD: (pieces) => joinedIfShort(pieces, meter),
  WHOLE: (pieces) => joinedIfShort(pieces, meter),
  E: (text) => countHtml(text, meter),
  W: (text) => countHtml(text, meter),
  ...spansOf((text) => countHtml(text, meter)),
  SHOWN: (displayFormat, locale, timeZone) =>
    noticed(longestOf(displayFormat, writerOf(displayFormat, { locale, timeZone })), meter),
  IN_CURRENCY: (displayFormat, locale, timeZone) => {
    const longest = noticed(
      longestOf(displayFormat, writerOf(inCurrency(displayFormat, 'USD'), { locale, timeZone })),
      meter,
    );
    return (currency) => {
      if (!isCurrency(currency)) meter.lost = true;
      return longest;
    };
  },
  LINK: (address) => {
    if (safeLink(address, rules) === undefined) meter.lost = true;
    return countHtml(address, meter) + (rules.base ?? '');
  },
  IMAGE: (address, inline) => {
    const inside = insideImage(address);
    if (inside === undefined && safeImage(address, rules) === undefined) meter.lost = true;
    return inside === undefined || inside.startsWith('data:')
      ? countHtml(address, meter) + (rules.base ?? NO_IMAGE)
      : addNamed(inline, inside, limits);
  },
  QR: (value, inline, options) => addQrCode(inline, value, options, { limits, draws: false, budget: meter.budget }),
  CODE: (fields, inline, options) => addCode(inline, fields, options, { limits, draws: false, budget: meter.budget }),
  FITTED: (html) => ({ name: '', html }),
  COMPONENT: asItIs,
  PATH: asItIs,
  QUERY: asItIs,
  ADDRESS: asItIs,
  TOO_LARGE: () => {
    throw UNDECIDED;
  },
});

/** True where a text of that many units, as written by this runtime, can become no larger mail than allowed. */
export const surelyFits = (chars: number, { htmlSizeBytesMax }: Limits): boolean =>
  chars * bytesPerUnitMax <= htmlSizeBytesMax;

/** The functions through which values pass, however long they are. */
const measured = (limits: Limits, meter: Meter, rules: LinkRules) => {
  const read = (text: string): string => {
    spendChars(meter.budget, text.length);
    return text;
  };
  const write = (chars: number): void => {
    meter.htmlLeft -= chars;
    if (meter.htmlLeft < 0)
      throw bodyTooLarge(limits.htmlSizeBytesMax - meter.htmlLeft, limits.htmlSizeBytesMax, false);
  };
  const written = (html: string, markup = 0): string => {
    write(html.length - markup);
    return html;
  };
  const formatted = (format: Formatter): Formatter =>
    noticed((value) => (typeof value === 'number' ? format(value) : read(format(value))), meter);
  // An encoded value is at least as long as the value, and all of it becomes HTML.
  const encoded =
    (encode: (text: string) => string): ((text: string) => string) =>
    (text) => {
      if (text.length > meter.htmlLeft) written(text);
      return encode(read(text));
    };
  return {
    /** Puts a word together, all of which becomes HTML. */
    WORD: (pieces: readonly string[]): string => {
      const chars = charsIn(pieces);
      if (chars > meter.htmlLeft) write(chars);
      return pieces.join('');
    },
    /** Puts an address together, which is read as a whole. */
    WHOLE: (pieces: readonly string[]): string => {
      const chars = charsIn(pieces);
      if (chars > meter.budget.charsLeft) spendChars(meter.budget, chars);
      return pieces.join('');
    },
    E: (text: string): string => written(escape.escapeHtml(text, meter.htmlLeft)),
    /** `E` between tags, where a long word may break. */
    W: (text: string, chars?: number): string => {
      const { htmlLeft, breaksLeft } = meter;
      const html = escape.breakWords(htmlLines(text), chars ?? WORD_CHARS, htmlLeft + breaksLeft, meter);
      return written(html, breaksLeft - meter.breaksLeft);
    },
    /** A value that becomes a part of a text: of the subject, an address, a style, the text part. */
    T: read,
    S: (value: Json | undefined): string => {
      if (typeof value === 'number') return writeNumber(value);
      if (isBlank(value)) meter.lost = true;
      return read(writeValue(value));
    },
    HOLDS: (operator: Operator, left: Json | undefined, right: Json | undefined): boolean => {
      if (typeof left === 'string') read(left);
      if (typeof right === 'string') read(right);
      return holds(operator, left, right);
    },
    SHOWN: (displayFormat: DisplayFormat, locale: string, timeZone: string): Formatter =>
      formatted(writerOf(displayFormat, { locale, timeZone })),
    IN_CURRENCY: (displayFormat: DisplayFormat, locale: string, timeZone: string): ((currency: string) => Formatter) =>
      lastOf((currency) => {
        if (!isCurrency(currency)) meter.lost = true;
        return formatted(writerOf(inCurrency(displayFormat, currency), { locale, timeZone }));
      }),
    LINK: (address: string): string => {
      if (safeLink(read(address), rules) === undefined) meter.lost = true;
      return written(escape.linkAttribute(address, rules, meter.htmlLeft));
    },
    IMAGE: (address: string, inline: Inline): string => {
      const inside = insideImage(read(address));
      if (inside === undefined && safeImage(address, rules) === undefined) meter.lost = true;
      if (inside === undefined) return written(escape.imageAttribute(address, rules, meter.htmlLeft));
      if (!inside.startsWith('data:')) return addNamed(inline, inside, limits);
      // A picture that a value brings counts as a part of the HTML.
      write(inside.length);
      return addEmbedded(inline, embeddedPicture(inside), limits);
    },
    COMPONENT: encoded(escape.urlComponent),
    PATH: encoded(escape.urlPath),
    QUERY: encoded(escape.urlQuery),
    ADDRESS: encoded(escape.urlAddress),
    HOST: encoded(escape.urlHost),
    AFTER_HOST: encoded(escape.urlAfterHost),
  };
};

/** The functions of a runtime with those that set values apart from the text around. */
const apartFrom = <Functions extends Pick<ReturnType<typeof measured>, 'W' | 'T'>>(functions: Functions) => ({
  ...functions,
  ...spansOf(functions.W),
  /** A value in text from the left without markup. */
  I: (text: string): string =>
    holdsRightToLeft(functions.T(text)) ? isolated(text, directionOfText(text) ?? 'ltr') : text,
  /**
   * Values in text without markup; `mark` is the direction of the words before them, where it is not that of the text.
   */
  ISOLATED:
    (
      joints: Joints,
      around: Direction | undefined,
      mark: Direction | undefined,
    ): ((...texts: readonly string[]) => string) =>
    (...texts) =>
      apartBy(setApart(texts, joints, around), (piece, direction) =>
        direction === undefined || isAddress(piece)
          ? functions.T(piece)
          : isolated(functions.T(piece), direction) + (direction === mark ? markOf(direction) : ''),
      ),
});

/**
 * Programs that make links of addresses would take the character behind for a part of it, and an address keeps its
 * order without.
 */
const isAddress = (text: string): boolean =>
  /^(?:[a-z]+:\/\/|www\.)[\x21-\x7e]+$|^[\x21-\x7e]+@[\x21-\x7e]+$/i.test(text);

/**
 * The functions that set values apart between tags. A span with `dir` is isolated by every browser (HTML, 15.3.5), mail
 * programs keep it, and Outlook, which knows no `bdi`, makes it a run of that direction. Marks within would be copied
 * with a code.
 */
const spansOf = (write: (text: string, chars?: number) => string) => ({
  /** A word of text from the left. */
  B: (text: string, chars?: number): string =>
    holdsRightToLeft(text) ? span(write(text, chars), directionOfText(text) ?? 'ltr') : write(text, chars),
  APART:
    (
      joints: Joints,
      around: Direction | undefined,
      mark: Direction | undefined,
      chars: number,
    ): ((...texts: readonly string[]) => string) =>
    (...texts) =>
      apartBy(setApart(texts, joints, around), (piece, direction) =>
        direction === undefined
          ? write(piece, chars)
          : span(write(piece, chars), direction) + (direction === mark ? REFERENCES[mark] : ''),
      ),
});

const span = (html: string, direction: Direction): string => `<span dir="${direction}">${html}</span>`;
const REFERENCES: Readonly<Record<Direction, string>> = { ltr: '&lrm;', rtl: '&rlm;' };

const apartBy = (
  pieces: readonly ApartText[],
  write: (text: string, direction: Direction | undefined) => string,
): string => pieces.map(({ text, direction }) => write(text, direction)).join('');

/** Notes a value that is nothing to a reader. */
const noticed =
  (format: Formatter, meter: Meter): Formatter =>
  (value) => {
    if (typeof value !== 'number' && isBlank(value)) meter.lost = true;
    return format(value);
  };

/**
 * CSS that a variable brings: what is not of the kind falls back to the value that the template has without it, and is
 * noted.
 */
const judgedBy =
  (css: (value: string) => string | undefined, meter: Meter) =>
  (value: string, fallback: string): string => {
    const made = css(value);
    if (made === undefined) meter.lost = true;
    return made ?? fallback;
  };

/** Remembers the last answer: the amounts of one email are in one currency. */
const lastOf = (make: (currency: string) => Formatter): ((currency: string) => Formatter) => {
  let known: string | undefined;
  let last: Formatter = writeValue;
  return (currency) => {
    if (currency !== known) {
      last = make(currency);
      known = currency;
    }
    return last;
  };
};

const asItIs = (text: string): string => text;

/** Texts are measured before they are put together: a string has a length that the engine bounds. */
const charsIn = (pieces: readonly string[]): number => pieces.reduce((sum, { length }) => sum + length, 0);

/** Throws UNDECIDED where the pieces are longer than what is left. */
const joinedIfShort = (pieces: readonly string[], { htmlLeft }: Meter): string => {
  if (charsIn(pieces) > htmlLeft) throw UNDECIDED;
  return pieces.join('');
};

/**
 * Takes the text from the meter. Throws UNDECIDED where nothing is left: only the finished mail tells whether it is too
 * large.
 */
const countHtml = (text: string, meter: Meter): string => {
  meter.htmlLeft -= text.length;
  if (meter.htmlLeft < 0) throw UNDECIDED;
  return text;
};

/** Instead of formatting: the value as it is, and as many blanks as its formatted text can have at most. */
const longestOf = (displayFormat: DisplayFormat, exact: Formatter): Formatter => {
  const { format, type } = displayFormat;
  if (
    (format?.minimumFractionDigits ?? 0) > fractionDigitsFew ||
    (format?.maximumFractionDigits ?? 0) > fractionDigitsFew
  )
    return exact;
  const isDate = type === 'date' || (type === undefined && isDated(format));
  const blanks = ' '.repeat((isDate ? longDate : longNumber) + longestPerLetter * (format?.pattern?.length ?? 0));
  const dateBlanks = ' '.repeat(longDate);
  return (value) => {
    if (typeof value === 'number') return isDate || Math.abs(value) < plainBelow ? blanks : exact(value);
    if (typeof value !== 'string') return writeValue(value);
    // A value of an unknown type is a date if it begins as one.
    return (
      value +
      (displayFormat.isWhole === true && format === undefined && type === undefined
        ? value[4] === '-'
          ? dateBlanks
          : ''
        : blanks)
    );
  };
};
export const RUNTIME_NAMES: readonly string[] = Object.keys(runtimeOf(defaultLimits));

/**
 * Adds a QR code and answers its `cid:` address. Throws VALIDATION_ERROR where the value is too much for a code of that
 * look, WORK_LIMIT_EXCEEDED where the codes of the mail are too many and too large, ERR_LIMIT_002 where the mail has
 * too many pictures. With `draws` false the picture itself is not made.
 */
const addQrCode = (inline: Inline, value: string, options: QrOptions, { limits, draws, budget }: CodeWork): string => {
  const contentId = qrContentId(value, options);
  if (inline.some((image) => image.contentId === contentId)) return `cid:${contentId}`;
  checkCount(inline, limits);
  spendModules(budget, qrModules(value, qrLevel(options.level)));
  let bytes: Uint8Array = NOTHING;
  if (draws || !surelyFitsQr(value, options)) {
    const code = layQrCode(value, options);
    if ('fault' in code) throw unreadable(code.fault, options);
    if (draws) bytes = drawQrCode(code, options);
  }
  inline.push({ contentId, contentType: 'image/png', bytes });
  return `cid:${contentId}`;
};

/** In: the address of a picture of the gallery or of the call. Adds the picture and answers its `cid:` address. */
const addNamed = (inline: Inline, address: string, limits: Limits): string => {
  const assetId = address.startsWith('asset:') ? address.slice('asset:'.length) : undefined;
  const contentId = assetId === undefined ? address.slice('cid:'.length) : assetContentId(assetId);
  if (!inline.some((image) => image.contentId === contentId)) {
    checkCount(inline, limits);
    inline.push(assetId === undefined ? { contentId, isAttached: true } : { contentId, assetId });
  }
  return `cid:${contentId}`;
};

/** A picture that the template or a value brings as a data URI. */
type EmbeddedPicture = Readonly<{ uri: string; image: InlineImage }>;

const EMBEDDED = 'picture-';

/** In: a data URI that was judged. */
const embeddedPicture = (uri: string): EmbeddedPicture => {
  const comma = uri.indexOf(',');
  const contentType = uri.slice('data:'.length, uri.indexOf(';')).toLowerCase();
  const bytes = Buffer.from(uri.slice(comma + 1), 'base64');
  const contentId = `${EMBEDDED}${createHash('sha256').update(bytes).digest('hex').slice(0, 24)}@sealpost`;
  return { uri, image: { contentId, contentType: contentType === 'image/jpg' ? 'image/jpeg' : contentType, bytes } };
};

/**
 * Adds the picture and answers its `cid:` address, for few readers show a data URI. Beyond the number of pictures that
 * a mail may hold it stays one.
 */
const addEmbedded = (inline: Inline, { uri, image }: EmbeddedPicture, { inlineImagesMax }: Limits): string => {
  const others = inline.filter(isEmbedded);
  if (!others.some(({ contentId }) => contentId === image.contentId)) {
    if (others.length >= inlineImagesMax) return escape.imageAttribute(uri);
    inline.push(image);
  }
  return `cid:${image.contentId}`;
};

const isEmbedded = ({ contentId }: InlineImage): boolean => contentId.startsWith(EMBEDDED);

const checkCount = (inline: Inline, { inlineImagesMax }: Limits): void => {
  const counted = inline.reduce((sum, image) => sum + (isEmbedded(image) ? 0 : 1), 0);
  if (counted >= inlineImagesMax) throw tooManyInlineImages(counted + 1, inlineImagesMax);
};

const unreadable = (fault: string, { id, field }: QrOptions): DomainError =>
  new DomainError('VALIDATION_ERROR', `the QR code "${id}" ${fault}`, {
    errors: [{ field, message: `${fault} (the QR code "${id}")` }],
  });

/**
 * Adds a bar code or a payment code; undefined where it has no content. Throws VALIDATION_ERROR where it cannot be
 * made, else as `addQrCode`.
 */
const addCode = (inline: Inline, fields: CodeFields, options: CodeOptions, work: CodeWork): ShownCode | undefined => {
  const kind = codeKindOf(options.kind);
  const value = 'value' in fields ? fields.value : '';
  const content = codeContent(kind, options.gs1, value, () => {
    if ('value' in fields) throw new Error('a payment was compiled without its fields');
    return fields;
  });
  if (content === undefined) return undefined;
  if ('fault' in content) throw refused(content.fault, content.prop, options);
  const { text, alt = text } = content;
  if (isBarKind(kind)) return addBars(inline, text, kind, options, work);
  const size = String(qrSizePx(options.size));
  const src = addQrCode(inline, text, { ...options, level: 'M', field: options.fields['iban'] ?? 'schema' }, work);
  return { src, width: size, height: size, alt, text: alt };
};

const addBars = (
  inline: Inline,
  text: string,
  kind: BarKind,
  options: CodeOptions,
  { limits, draws, budget }: CodeWork,
): ShownCode => {
  const { showText, gs1, color, background } = options;
  const [width, height] = [lengthOf(options.size), lengthOf(options.height)];
  const wish: BarWish = { kind, showText, gs1, color, background, width, height, room: options.room };
  spendModules(budget, barModules(kind, text));
  const laid = layBarPicture(text, wish, pixelDefaults);
  if ('fault' in laid) throw refused(laid.fault, 'value', options);
  const contentId = `${kind}-${createHash('sha256')
    .update(JSON.stringify([text, wish]))
    .digest('hex')
    .slice(0, 24)}@sealpost`;
  if (!inline.some((image) => image.contentId === contentId)) {
    checkCount(inline, limits);
    inline.push({
      contentId,
      contentType: 'image/png',
      bytes: draws ? barCodePng(laid, wish, pixelDefaults) : NOTHING,
    });
  }
  const px = (length: number): string => String(Math.round(length));
  return { src: `cid:${contentId}`, width: px(laid.width), height: px(laid.height), alt: text, text };
};

/** Percentages and fonts mean nothing to a picture that is drawn before the page. */
const lengthOf = (css: string): number | undefined => pixels(css) || undefined;

const refused = (fault: string, prop: string, { id, fields }: CodeOptions): DomainError => {
  const field = fields[prop] ?? 'schema';
  return new DomainError('VALIDATION_ERROR', `the code "${id}": ${prop} ${fault}`, {
    errors: [{ field, message: `${fault} (${prop} of the code "${id}")` }],
  });
};
