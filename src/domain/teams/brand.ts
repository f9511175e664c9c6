/** The brand of a team: the logo and the colours of its mails and of the pages that its recipients see. */
import { DomainError } from '../core/errors.js';
import { hexContrast, READABLE_CONTRAST } from '../rendering/contrast.js';
import { defaultColors, type Brand, type Company } from '../rendering/scope/constants.js';

/** Null: the team has none of its own any more. Colours are `#rrggbb`; `logo` is the id of an asset. */
export type BrandChanges = Readonly<{ [Part in keyof Brand]?: string | null }>;

const parts = ['logo', 'accent', 'background', 'text'] as const satisfies readonly (keyof Brand)[];

/** Ratio as people read it; it is cut off, so that 4.49 does not read as 4.5. */
const shownRatio = (ratio: number): number => Math.floor(ratio * 10) / 10;

/** The contrasts of the text and of the accent to the background, 1 to 21 with one decimal. */
export const contrastsOf = (brand: Brand): Readonly<{ text: number; accent: number }> => {
  const { accent, background, text } = { ...defaultColors, ...brand };
  return { text: shownRatio(hexContrast(text, background)), accent: shownRatio(hexContrast(accent, background)) };
};

/**
 * Out: the brand after the changes; undefined where nothing is left of it. Throws VALIDATION_ERROR if its text cannot be
 * read on its background. An accent of little contrast is allowed: links then have the colour of the text.
 */
export const brandAfter = (before: Brand | undefined, changes: BrandChanges): Brand | undefined => {
  const brand = mergedBrand(before, changes);
  const { text, background } = { ...defaultColors, ...brand };
  if (hexContrast(text, background) < READABLE_CONTRAST) throw unreadable(brand);
  return Object.keys(brand).length === 0 ? undefined : brand;
};

/** The brand after the changes, readable or not. */
export const mergedBrand = (before: Brand | undefined, changes: BrandChanges): Brand => {
  const after: Record<string, string> = {};
  for (const part of parts) {
    const value = changes[part] === undefined ? before?.[part] : changes[part];
    if (value !== undefined && value !== null) after[part] = value.toLowerCase();
  }
  return after;
};

export const isEqualBrand = (one: Brand | undefined, other: Brand | undefined): boolean =>
  parts.every((part) => one?.[part] === other?.[part]);

const unreadable = (brand: Brand): DomainError => {
  const message = `has a contrast of ${contrastsOf(brand).text}:1 to the background, and readers need ${READABLE_CONTRAST}:1`;
  return new DomainError('VALIDATION_ERROR', `The text of the brand ${message}.`, {
    errors: [{ field: 'brand.text', message }],
  });
};

/**
 * The part of a team that the pages of the service show. `colors`: absent where it has set none. `logo`: a data URI. `foot`: who
 * it is and where, line by line.
 */
export type PageBrand = Readonly<{
  name: string;
  logo?: string;
  colors?: Readonly<Record<keyof typeof defaultColors, string>>;
  foot: readonly string[];
}>;

/** The lines that say who sends: legal name and postal address, and how to reach them. */
export const footOf = (company: Company): readonly string[] => {
  const place = [company.postalCode, company.city].filter((part) => part !== '').join(' ');
  const address = [company.addressLine1, place, company.state, company.country].filter((part) => part !== '');
  const who = company.legalName === '' ? company.name : company.legalName;
  if (address.length === 0 && company.email === '') return [];
  return [[who, ...address].filter((part) => part !== '').join(', '), company.email].filter((line) => line !== '');
};
