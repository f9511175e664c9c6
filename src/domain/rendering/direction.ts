/** Direction of texts and documents, and which sides `start` and `end` mean in it. */

export const directions = ['ltr', 'rtl'] as const;
export type Direction = (typeof directions)[number];
/** `auto`: as the first letter of the text itself runs. */
export const textDirections = ['ltr', 'rtl', 'auto'] as const;
export type TextDirection = (typeof textDirections)[number];

export type Side = 'left' | 'center' | 'right' | 'justify';

const RIGHT_TO_LEFT_SCRIPTS: ReadonlySet<string | undefined> = new Set([
  'Arab',
  'Hebr',
  'Thaa',
  'Syrc',
  'Nkoo',
  'Adlm',
  'Mand',
  'Samr',
  'Rohg',
]);

/** In: a BCP 47 locale that was checked. Out: how texts in its script run; `ar-Latn` runs from the left, `az-Arab` from the right. */
export const directionOfLocale = (locale: string): Direction =>
  RIGHT_TO_LEFT_SCRIPTS.has(new Intl.Locale(locale).maximize().script) ? 'rtl' : 'ltr';

const FIRST_STRONG = /[\p{L}\u200e\u200f\u061c]/u;
const RIGHT_TO_LEFT_LETTER =
  /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Thaana}\p{Script=Syriac}\p{Script=Nko}\p{Script=Adlam}\p{Script=Mandaic}\p{Script=Samaritan}\u200f\u061c]/u;

/** The direction of the first letter of a text; undefined where it has none (rule P2 of UAX #9). */
export const directionOfText = (text: string): Direction | undefined => {
  const first = FIRST_STRONG.exec(text)?.[0];
  return first === undefined ? undefined : RIGHT_TO_LEFT_LETTER.test(first) ? 'rtl' : 'ltr';
};

/** The sides of `start` and `end`; left, right and all else stay what they say. */
export const sideOf = <Other extends string>(
  align: Other | 'start' | 'end',
  direction: Direction,
): Exclude<Other, 'start' | 'end'> | 'left' | 'right' => {
  switch (align) {
    case 'start':
      return direction === 'rtl' ? 'right' : 'left';
    case 'end':
      return direction === 'rtl' ? 'left' : 'right';
    default:
      return align as Exclude<Other, 'start' | 'end'>;
  }
};
