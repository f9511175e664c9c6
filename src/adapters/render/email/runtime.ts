/** The functions that the compiled source of a template calls; each is the domain's meaning or the escaping of one place. */
import type { Json } from '../../../domain/json.js';
import { defaultLimits, type Limits } from '../../../domain/limits.js';
import type { ValueFormat } from '../../../domain/template/schema.js';
import { holds } from '../../../domain/rendering/scope/conditions.js';
import { pixels } from '../../../domain/rendering/css.js';
import { formatterOf, type Formatter } from '../../../domain/rendering/scope/formats.js';
import { bodyTooLarge, tooManyExpanded, tooManyIterations } from '../../../domain/rendering/limit-errors.js';
import { isArray, readStep } from '../../../domain/rendering/scope/path.js';
import { assetAddress, safeLink } from '../../../domain/rendering/urls.js';
import { progressOf } from '../../../domain/rendering/expand/timeline-progress.js';
import { notAnArray } from '../../../domain/rendering/fill/variables.js';
import { writeValue } from '../../../domain/rendering/scope/values.js';
import * as escape from './escape.js';
import { addAsset, addQrCode, type Inline, type QrOptions } from './inline.js';
import { qrAlt, qrSizePx } from '../qr-code.js';
import { heading, moment, table, wrap } from './text-layout.js';

const NONE: readonly Json[] = [];

type Row = readonly string[];

const textTable = (rows: readonly Row[], aligns: string, header: Row | undefined, footer: Row | undefined): string =>
  table(rows, { aligns, header, footer });

/** By the names that the source uses. */
export const runtimeOf = (limits: Limits) => ({
  E: escape.escapeHtml,
  S: writeValue,
  STEP: readStep,
  HOLDS: holds,
  FORMAT: (format: ValueFormat, locale: string, timeZone: string): Formatter => formatterOf(format, { locale, timeZone }),
  IN_CURRENCY: (format: ValueFormat, locale: string, timeZone: string): ((currency: string) => Formatter) =>
    lastOf((currency) => formatterOf({ ...format, currency }, { locale, timeZone })),
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
  LINK: escape.linkAttribute,
  IMAGE: (address: string, inline: Inline): string => {
    const asset = assetAddress(address);
    return asset === undefined ? escape.imageAttribute(address) : addAsset(inline, asset, limits);
  },
  ASSET: (address: string, inline: Inline): string => addAsset(inline, address, limits),
  QR: (value: string, inline: Inline, options: QrOptions): string => addQrCode(inline, value, options, { limits, draws: true }),
  QR_SIZE: (size: string): string => String(qrSizePx(size)),
  QR_ALT: qrAlt,
  COMPONENT: escape.urlComponent,
  PATH: escape.urlPath,
  QUERY: escape.urlQuery,
  ADDRESS: escape.urlAddress,
  HOST: escape.urlHost,
  AFTER_HOST: escape.urlAfterHost,
  TEXT_LINK: (address: string, alone: boolean): string => {
    const safe = safeLink(address)?.replace(/^(?:mailto|tel):/i, '');
    if (safe === undefined || safe.startsWith('#')) return '';
    return alone ? safe : ` (${safe})`;
  },
  COLOR: escape.color,
  LENGTH: escape.length,
  BOX: escape.box,
  BORDER: escape.border,
  FONT: escape.fontFamily,
  LINE: escape.lineHeight,
  ONE_OF: escape.oneOf,
  DECLARATION: (value: string): string => escape.declaration(value) ?? 'inherit',
  PX: (css: string): string => String(Math.round(pixels(css) ?? 0) || ''),
  WRAP: wrap,
  ITEM: (bullet: string, text: string): string => wrap(text, bullet, ' '.repeat(bullet.length)),
  HEADING: heading,
  PROGRESS: progressOf,
  LINES: (...lines: readonly string[]): string => lines.filter((line) => line !== '').join('<br>'),
  MOMENT: moment,
  TABLE: textTable,
});

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
