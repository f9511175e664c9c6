/** The functions that the compiled source of a template calls; each is the domain's meaning or the escaping of one place. */
import { openUnlimitedBudget, spendChars, type Budget } from '../../../domain/rendering/budget.js';
import type { Json } from '../../../domain/core/json.js';
import { defaultLimits, type Limits } from '../../../domain/core/limits.js';
import { holds, type Operator } from '../../../domain/rendering/scope/conditions.js';
import { directionOfText, sideOf } from '../../../domain/rendering/direction.js';
import { pixels } from '../../../domain/rendering/css.js';
import type { Formatter } from '../../../domain/rendering/scope/formats.js';
import { inCurrency, writerOf, type Showing } from '../../../domain/rendering/scope/showing.js';
import { bodyTooLarge, tooManyExpanded, tooManyIterations } from '../../../domain/rendering/limit-errors.js';
import { isArray, readStep } from '../../../domain/rendering/scope/path.js';
import { assetAddress, safeLink } from '../../../domain/rendering/urls.js';
import { progressOf } from '../../../domain/rendering/expand/timeline-progress.js';
import { isBlank, substituterOf } from '../../../domain/rendering/fill/shown-value.js';
import { notAnArray } from '../../../domain/rendering/fill/variables.js';
import { UNTRACKED_ATTRIBUTE } from '../../../domain/recipients/rewrite.js';
import { writeNumber, writeValue } from '../../../domain/rendering/scope/values.js';
import * as escape from './escape.js';
import { addAsset, addQrCode, type Inline, type QrOptions } from './inline.js';
import { addCode, type CodeFields, type CodeOptions, type ShownCode } from './codes.js';
import { qrAlt, qrSizePx } from '../qr-code.js';
import { WORD_CHARS } from './context.js';
import { breakWords, BREAKS_CHARS_MAX, type BreaksLeft } from './long-words.js';
import { sizeAttributes, type PictureSizes } from './picture-sizes.js';
import { heading, labelled, moment, table, wrap } from './text-layout.js';

const NONE: readonly Json[] = [];

type Row = readonly string[];

const textTable = (rows: readonly Row[], aligns: string, header: Row | undefined, footer: Row | undefined): string =>
  table(rows, { aligns, header, footer });

/** What the rendering under way draws on. Rendering is synchronous, so that one is enough for a template. */
export type Meter = BreaksLeft & {
  budget: Budget;
  /** Characters that the values of the HTML may still take. */
  htmlLeft: number;
  /** Links that are not to be tracked say so. */
  marksUntracked: boolean;
  pictures: PictureSizes;
};

const UNLIMITED = openUnlimitedBudget();

export const openMeter = (): Meter => ({
  budget: UNLIMITED,
  htmlLeft: Infinity,
  breaksLeft: BREAKS_CHARS_MAX,
  marksUntracked: false,
  pictures: 'unknown',
});

/** Begins a rendering; without a budget only the HTML is bounded. */
export const startMeter = (meter: Meter, limits: Limits, budget: Budget = UNLIMITED): void => {
  meter.budget = budget;
  meter.htmlLeft = limits.htmlSizeBytesMax;
  meter.breaksLeft = BREAKS_CHARS_MAX;
  meter.marksUntracked = false;
  meter.pictures = 'unknown';
};

/** By the names that the source uses. Whatever a value is read or written for is taken from the meter. */
export const runtimeOf = (limits: Limits, meter: Meter = openMeter()) => ({
  ...measured(limits, meter),
  STEP: readStep,
  SHOW: substituterOf,
  BLANK: isBlank,
  ITEMS: (value: Json | undefined, source: string): readonly Json[] => {
    if (value === undefined || value === null) return NONE;
    if (!isArray(value)) throw notAnArray(source, value);
    if (value.length > limits.loopIterationsMax) throw tooManyIterations(source, value.length, limits.loopIterationsMax);
    return value;
  },
  TOO_MANY: (components: number): never => {
    throw tooManyExpanded(components, limits.componentsExpandedMax);
  },
  TOO_LARGE: (chars: number): never => {
    throw bodyTooLarge(chars, limits.htmlSizeBytesMax, false);
  },
  ASSET: (address: string, inline: Inline): string => addAsset(inline, address, limits),
  QR: (value: string, inline: Inline, options: QrOptions): string =>
    addQrCode(inline, value, options, { limits, draws: true, budget: meter.budget }),
  CODE: (fields: CodeFields, inline: Inline, options: CodeOptions): ShownCode | undefined =>
    addCode(inline, fields, options, { limits, draws: true, budget: meter.budget }),
  SIZES: (address: string, width: string, height: string, placePx: number): string =>
    sizeAttributes(address, { width, height, placePx }, meter.pictures),
  QR_SIZE: (size: string): string => String(qrSizePx(size)),
  QR_ALT: qrAlt,
  TEXT_LINK: (address: string, alone: boolean): string => {
    const safe = safeLink(address)?.replace(/^(?:mailto|tel):/i, '');
    if (safe === undefined || safe.startsWith('#')) return '';
    return alone ? safe : ` (${safe})`;
  },
  UNTRACKED: (): string => (meter.marksUntracked ? UNTRACKED_ATTRIBUTE : ''),
  COLOR: escape.color,
  LENGTH: escape.length,
  BOX: escape.box,
  BORDER: escape.border,
  FONT: escape.fontFamily,
  LINE: escape.lineHeight,
  ONE_OF: escape.oneOf,
  SIDE: sideOf,
  RIGHT_TO_LEFT: (html: string): boolean => directionOfText(html.replace(/<[^>]*>|&[a-z0-9#]{1,8};/gi, '')) === 'rtl',
  DECLARATION: (value: string): string => escape.declaration(value) ?? 'inherit',
  PX: (css: string): string => String(Math.round(pixels(css) ?? 0) || ''),
  WRAP: wrap,
  ITEM: (bullet: string, text: string): string => wrap(text, bullet, ' '.repeat(bullet.length)),
  HEADING: heading,
  PROGRESS: progressOf,
  LINES: (...lines: readonly string[]): string => lines.filter((line) => line !== '').join('<br>'),
  MOMENT: moment,
  TABLE: textTable,
  LABELLED: labelled,
});

/** The functions through which values pass, however long they are. */
const measured = (limits: Limits, meter: Meter) => {
  const read = (text: string): string => {
    spendChars(meter.budget, text.length);
    return text;
  };
  const written = (html: string, markup = 0): string => {
    meter.htmlLeft -= html.length - markup;
    if (meter.htmlLeft < 0) throw bodyTooLarge(limits.htmlSizeBytesMax - meter.htmlLeft, limits.htmlSizeBytesMax, false);
    return html;
  };
  const formatted =
    (format: Formatter): Formatter =>
    (value) =>
      typeof value === 'number' ? format(value) : read(format(value));
  // An encoded value is at least as long as the value, and all of it becomes HTML.
  const encoded =
    (encode: (text: string) => string): ((text: string) => string) =>
    (text) => {
      if (text.length > meter.htmlLeft) written(text);
      return encode(read(text));
    };
  return {
    E: (text: string): string => written(escape.escapeHtml(text, meter.htmlLeft)),
    /** The same between tags, where a long word may break. */
    W: (text: string, chars?: number): string => {
      const { htmlLeft, breaksLeft } = meter;
      const html = breakWords(text, chars ?? WORD_CHARS, htmlLeft + breaksLeft, meter);
      return written(html, breaksLeft - meter.breaksLeft);
    },
    /** A value that becomes a part of a text: of the subject, an address, a style, the text part. */
    T: read,
    S: (value: Json | undefined): string => (typeof value === 'number' ? writeNumber(value) : read(writeValue(value))),
    HOLDS: (operator: Operator, left: Json | undefined, right: Json | undefined): boolean => {
      if (typeof left === 'string') read(left);
      if (typeof right === 'string') read(right);
      return holds(operator, left, right);
    },
    SHOWN: (showing: Showing, locale: string, timeZone: string): Formatter => formatted(writerOf(showing, { locale, timeZone })),
    IN_CURRENCY: (showing: Showing, locale: string, timeZone: string): ((currency: string) => Formatter) =>
      lastOf((currency) => formatted(writerOf(inCurrency(showing, currency), { locale, timeZone }))),
    LINK: (address: string): string => written(escape.linkAttribute(read(address), meter.htmlLeft)),
    IMAGE: (address: string, inline: Inline): string => {
      const asset = assetAddress(read(address));
      return asset === undefined ? written(escape.imageAttribute(address, meter.htmlLeft)) : addAsset(inline, asset, limits);
    },
    COMPONENT: encoded(escape.urlComponent),
    PATH: encoded(escape.urlPath),
    QUERY: encoded(escape.urlQuery),
    ADDRESS: encoded(escape.urlAddress),
    HOST: encoded(escape.urlHost),
    AFTER_HOST: encoded(escape.urlAfterHost),
  };
};

export type Runtime = ReturnType<typeof runtimeOf>;
export const RUNTIME_NAMES: readonly string[] = Object.keys(runtimeOf(defaultLimits));

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
