/** What a length, a border or the address of a picture may be in a mail and in a document: the props of components are checked against one or the other. */
import { cssBorder, cssBox, cssLength, cssLineHeight, pixels } from './css.js';
import { borderOf, boxOf, lineHeightOf, pointsOf, widthOf } from './lengths.js';
import { assetAddress, safeDocumentImage, safeImage } from './urls.js';

/** `expected` follows "must be". */
type Kind = Readonly<{ accepts: (value: unknown) => boolean; expected: string }>;

export type Media = Readonly<{
  /** In messages: "it must be known before any … is rendered". */
  noun: 'email' | 'document';
  length: Kind;
  fixedLength: Kind;
  /** Of what has no measure that a share could be taken of. */
  size: Kind;
  box: Kind;
  border: Kind;
  lineHeight: Kind;
  image: Readonly<{
    safe: (address: string) => string | undefined;
    /** Beginnings that a variable may complete. */ start: RegExp;
    expected: string;
  }>;
  columnsMax: number;
}>;

const passes =
  (parse: (value: unknown) => unknown) =>
  (value: unknown): boolean =>
    parse(value) !== undefined;

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
    safe: (address) => safeImage(address) ?? assetAddress(address),
    start: /^(?:https?:?\/{0,2}|data:image\/(?:png|jpe?g|gif|webp);base64,.*|asset:[0-9a-f-]*)$/i,
    expected:
      'an address that begins with https:// or http://, asset: and the id of an asset, or a data URI of a PNG, JPEG, GIF, WebP or, whole as it stands, SVG',
  },
  columnsMax: 20,
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
  lineHeight: { accepts: (value) => lineHeightOf(value, 12) !== undefined, expected: 'a factor such as 1.5, or a length' },
  image: {
    safe: safeDocumentImage,
    start:
      /^(?:https?:?\/{0,2}|data:image\/(?:(?:png|jpe?g|gif|webp|svg\+xml);base64|svg\+xml(?:;(?:charset=)?utf-?8)?),.*|asset:[0-9a-f-]*)$/i,
    expected:
      'an address that begins with https:// or http://, asset: and the id of an asset, or a data URI of a PNG, JPEG, GIF, WebP or SVG',
  },
  columnsMax,
});
