/**
 * Lengths, boxes and borders of documents in points; and which lengths, borders and picture addresses the props of
 * mails and of documents may hold.
 */
import { cssColor, cssBorder, cssBox, cssLength, cssLineHeight, pixels } from './css.js';
import { insideImage, NO_LINK_RULES, safeDocumentImage, safeImage, safeLink, type LinkRules } from './addresses.js';

export type Box = Readonly<{ top: number; right: number; bottom: number; left: number }>;

export type Border = Readonly<{ width: number; style: 'solid' | 'dashed' | 'dotted' | 'none'; color: string }>;

/** Points, a share of what is there, or as much as is left. */
export type Width = Readonly<{ points: number }> | Readonly<{ percent: number }> | 'auto' | 'rest';

export const DOCUMENT_LENGTH = /^(\d{1,4}(?:\.\d{1,3})?)(pt|px|mm|cm|in|em|rem)?$/i;
export const DOCUMENT_PERCENT = /^(\d{1,3}(?:\.\d{1,3})?)%$/;
const POINTS_MAX = 9_999;

/** `em` and `rem` are the 12 points that browsers print 16 pixels with: a document has no other font to measure by. */
const pointsPer: Readonly<Record<string, number>> = {
  pt: 1,
  px: 0.75,
  mm: 72 / 25.4,
  cm: 720 / 25.4,
  in: 72,
  em: 12,
  rem: 12,
};

/** In: 24, "24", "18pt", "24px", "20mm", "2cm", "1in", "1.5em". Out: points, at most 9,999. */
export const pointsOf = (value: unknown): number | undefined => {
  if (typeof value === 'number') return value >= 0 && value <= POINTS_MAX ? round(value) : undefined;
  if (typeof value !== 'string') return undefined;
  const match = DOCUMENT_LENGTH.exec(value.trim());
  if (match === null) return undefined;
  const points = Number(match[1]) * (pointsPer[(match[2] ?? 'pt').toLowerCase()] ?? 1);
  return points <= POINTS_MAX ? round(points) : undefined;
};

/** A length, or a share from 0 to 100 % of what is there. */
export const widthOf = (value: unknown): Exclude<Width, string> | undefined => {
  const points = pointsOf(value);
  if (points !== undefined) return { points };
  const match = typeof value === 'string' ? DOCUMENT_PERCENT.exec(value.trim()) : null;
  const percent = Number(match?.[1]);
  return match !== null && percent <= 100 ? { percent } : undefined;
};

/** Padding and margin: one to four lengths, in the order of CSS. */
export const boxOf = (value: unknown): Box | undefined => {
  const sides = typeof value === 'string' ? value.trim().split(/\s+/, 5).map(pointsOf) : [pointsOf(value)];
  const [top, right = top, bottom = top, left = right] = sides;
  if (sides.length > 4 || sides.includes(undefined)) return undefined;
  if (top === undefined || right === undefined || bottom === undefined || left === undefined) return undefined;
  return { top, right, bottom, left };
};

export const noBox: Box = { top: 0, right: 0, bottom: 0, left: 0 };

const LINE_COLOR = '#e5e7eb';
export const noBorder: Border = { width: 0, style: 'none', color: LINE_COLOR };
/** The thin line that `true` asks for. */
export const thinBorder: Border = { width: 0.75, style: 'solid', color: LINE_COLOR };

const lineStyles: Readonly<Record<string, Border['style']>> = {
  solid: 'solid',
  dashed: 'dashed',
  dotted: 'dotted',
  double: 'solid',
  none: 'none',
};

/**
 * A border in the shorthand of CSS in any order (`0.5pt dashed #ddd`), a number (points of a solid line), true or
 * false.
 */
export const borderOf = (value: unknown): Border | undefined => {
  if (value === 'none' || value === 0 || value === '0' || value === false) return noBorder;
  if (value === true) return thinBorder;
  if (typeof value === 'number') {
    const width = pointsOf(value);
    return width === undefined ? undefined : { ...thinBorder, width };
  }
  if (typeof value !== 'string' || value.length > 100) return undefined;
  let width: number | undefined;
  let style: Border['style'] | undefined;
  let color: string | undefined;
  for (const word of value.trim().split(/\s+(?![^(]*\))/)) {
    const known = Object.hasOwn(lineStyles, word.toLowerCase()) ? lineStyles[word.toLowerCase()] : undefined;
    if (width === undefined && pointsOf(word) !== undefined) width = pointsOf(word);
    else if (style === undefined && known !== undefined) style = known;
    else if (color === undefined && cssColor(word) !== undefined) color = cssColor(word);
    else return undefined;
  }
  return style === 'none'
    ? noBorder
    : { width: width ?? thinBorder.width, style: style ?? 'solid', color: color ?? LINE_COLOR };
};

/** A factor (1.5) or a length, which becomes a factor of the font size. */
export const lineHeightOf = (value: unknown, fontSizePoints: number): number | undefined => {
  const factor =
    typeof value === 'number'
      ? value
      : typeof value === 'string' && /^\d(?:\.\d{1,3})?$/.test(value.trim())
        ? Number(value)
        : undefined;
  if (factor !== undefined && factor > 0 && factor < 10) return round(factor);
  const points = pointsOf(value);
  return points === undefined || points === 0 || fontSizePoints === 0 ? undefined : round(points / fontSizePoints);
};

const round = (value: number): number => Math.round(value * 1_000) / 1_000;

/** `expected` follows "must be". */
type Kind = Readonly<{ accepts: (value: unknown) => boolean; expected: string }>;

export type AddressRule = Readonly<{
  safe: (address: string) => string | undefined;
  /** Beginnings that a variable may complete. */
  start: RegExp;
  expected: string;
}>;

const LINK_START = /^(?:https?:?\/{0,2}|#)$/i;

/** Lengths, borders and addresses that mails, or documents, may hold: props are checked against one or the other. */
export type Media = Readonly<{
  /** In messages: "it must be known before any … is rendered". */
  noun: 'email' | 'document';
  length: Kind;
  fixedLength: Kind;
  /** A length that cannot be a share, for there is no measure to take a share of. */
  size: Kind;
  box: Kind;
  border: Kind;
  lineHeight: Kind;
  image: AddressRule;
  link: AddressRule;
  columnsMax: number;
}>;

const passes =
  (parse: (value: unknown) => unknown) =>
  (value: unknown): boolean =>
    parse(value) !== undefined;

/** Links by those rules; `more` follows the sentence of what one must be. */
const linkIn = (rules: LinkRules, more: string): AddressRule => {
  const schemes = ['https://', 'http://', 'mailto:', 'tel:', 'sms:', ...rules.schemes.map((scheme) => `${scheme}:`)];
  return {
    safe: (address) => safeLink(address, rules),
    start: LINK_START,
    expected: `an address that begins with ${schemes.slice(0, -1).join(', ')} or ${schemes.at(-1)}${more}`,
  };
};

const mailLength = 'a length such as 16, "16px" or "50%"';

export const mailMedia: Media = {
  noun: 'email',
  length: { accepts: passes(cssLength), expected: mailLength },
  fixedLength: {
    accepts: (value) => {
      const css = cssLength(value);
      return css !== undefined && (pixels(css) !== undefined || css === '0');
    },
    expected: 'a length in pixels such as 16 or "16px"',
  },
  size: { accepts: passes(cssLength), expected: mailLength },
  box: { accepts: passes(cssBox), expected: 'one to four lengths such as 16 or "8px 16px"' },
  border: { accepts: passes(cssBorder), expected: 'a border such as "1px solid #e5e7eb", true or false' },
  lineHeight: { accepts: passes(cssLineHeight), expected: 'a factor such as 1.5, or a length' },
  image: {
    safe: (address) => safeImage(address) ?? insideImage(address),
    start: /^(?:https?:?\/{0,2}|data:image\/(?:png|jpe?g|gif|webp);base64,.*|asset:[0-9a-f-]*|cid:[a-z0-9._-]*)$/i,
    expected:
      'an address that begins with https:// or http://, asset: and the id of an asset, cid: and the contentId of an attachment, or a data URI of a PNG, JPEG, GIF, WebP or, whole as it stands, SVG',
  },
  link: linkIn(
    NO_LINK_RULES,
    ' (in schema.props, linkBase completes a relative one and linkSchemes allows other schemes)',
  ),
  columnsMax: 20,
};

/** `mailMedia` with the addresses that the template itself allows. */
export const mailMediaWith = (rules: LinkRules): Media => {
  const { base, schemes } = rules;
  if (base === undefined && schemes.length === 0) return mailMedia;
  const relative = base === undefined ? '' : `, or a relative one that ${base} completes, such as /account`;
  const { image } = mailMedia;
  return {
    ...mailMedia,
    image: {
      ...image,
      safe: (address) => safeImage(address, rules) ?? insideImage(address),
      expected: `${image.expected}${relative}`,
    },
    link: linkIn(rules, relative),
  };
};

const documentSize = 'a length such as 16, "16pt" or "5mm"';

/** `columnsMax` is that of a sheet: no output has more. */
export const documentMedia = (columnsMax: number): Media => ({
  noun: 'document',
  length: { accepts: passes(widthOf), expected: 'a length such as 16, "16pt", "5mm" or "50%"' },
  fixedLength: { accepts: passes(pointsOf), expected: documentSize },
  size: { accepts: passes(pointsOf), expected: `${documentSize}, without %` },
  box: { accepts: passes(boxOf), expected: 'one to four lengths such as 16 or "5mm 10mm"' },
  border: { accepts: passes(borderOf), expected: 'a border such as "0.5pt solid #e5e7eb", true or false' },
  lineHeight: {
    accepts: (value) => lineHeightOf(value, 12) !== undefined,
    expected: 'a factor such as 1.5, or a length',
  },
  image: {
    safe: safeDocumentImage,
    start:
      /^(?:https?:?\/{0,2}|data:image\/(?:(?:png|jpe?g|gif|webp|svg\+xml);base64|svg\+xml(?:;(?:charset=)?utf-?8)?),.*|asset:[0-9a-f-]*)$/i,
    expected:
      'an address that begins with https:// or http://, asset: and the id of an asset, or a data URI of a PNG, JPEG, GIF, WebP or SVG',
  },
  link: linkIn(NO_LINK_RULES, ''),
  columnsMax,
});
