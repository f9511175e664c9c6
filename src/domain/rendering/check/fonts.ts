/** Checks the fonts of the gallery that an attachment template brings. */
import { charsOf, isLonger } from '../../../shared/text.js';
import { fontStyles } from '../document-content.js';
import { plainFamily } from '../font-family.js';
import { shorten } from '../scope/path.js';
import { assetAddress } from '../urls.js';
import { refuseUnknown, type WalkTools } from './components.js';
import { isPlainObject } from './format.js';

export const FONTS_MAX = 10;
export const FAMILY_CHARS_MAX = 60;
/** Letters, digits, spaces, hyphens: what needs no quotes in a list of families. */
export const FAMILY = /^[\p{L}\p{N}]+(?:[ _-][\p{L}\p{N}]+)*$/u;
export const fontFields = ['family', ...fontStyles] as const;

export const checkFonts = (fonts: unknown, tools: WalkTools): void => {
  const { faults } = tools;
  const field = 'schema.fonts';
  if (!Array.isArray(fonts)) return faults.add(field, 'must be an array of fonts');
  if (fonts.length > FONTS_MAX) return faults.add(field, `has ${fonts.length} fonts, the maximum is ${FONTS_MAX}`);
  const families = new Set<string>();
  fonts.forEach((font: unknown, at) => {
    const path = `${field}[${at}]`;
    if (!isPlainObject(font)) return faults.add(path, 'must be an object with family and regular');
    refuseUnknown(font, fontFields, path, tools);
    checkFamily(font['family'], `${path}.family`, families, tools);
    for (const style of fontStyles) checkFile(font[style], `${path}.${style}`, style === 'regular', tools);
  });
};

const checkFamily = (family: unknown, field: string, families: Set<string>, { faults }: WalkTools): void => {
  if (typeof family !== 'string') return faults.add(field, family === undefined ? 'is required' : 'must be text');
  if (isLonger(family, FAMILY_CHARS_MAX)) return faults.add(field, `has ${charsOf(family)} characters, the maximum is ${FAMILY_CHARS_MAX}`);
  if (!FAMILY.test(family))
    return faults.add(
      field,
      `must be a name of letters, digits, single spaces and hyphens, such as Brand Sans, got "${shorten(family, 40)}"`,
    );
  const plain = plainFamily(family);
  if (families.has(plain)) return faults.add(field, `"${family}" stands there twice`);
  families.add(plain);
};

const checkFile = (address: unknown, field: string, isRequired: boolean, { faults }: WalkTools): void => {
  if (address === undefined) return isRequired ? faults.add(field, 'is required') : undefined;
  if (typeof address !== 'string' || assetAddress(address) !== address)
    faults.add(field, 'must be asset: and the id of a TTF or OTF font in the gallery, in lower case');
};
