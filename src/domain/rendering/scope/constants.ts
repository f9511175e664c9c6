/** The global constants of every template: `{{__CURRENT_DATE__}}`, `{{__COMPANY_NAME__}}`, `{{__BRAND_ACCENT__}}` and the others. */
import type { ValueFormat } from './definitions.js';
import type { Language } from './formats.js';

export type Company = Readonly<{
  name: string;
  legalName: string;
  email: string;
  phone: string;
  website: string;
  addressLine1: string;
  city: string;
  state: string;
  postalCode: string;
  country: string;
}>;

/**
 * The look of a team: the id of the asset that is its logo, and its colours as `#rrggbb`. What a team has not set is
 * absent.
 */
export type Brand = Readonly<{ logo?: string; accent?: string; background?: string; text?: string }>;

/** Colours of a team that has set none. `background` is that of the card, on which texts stand. */
export const defaultColors = { accent: '#0f766e', background: '#ffffff', text: '#1f2937' } as const;

/** Values behind the global constants of a template; pinned with the email, so that it renders the same for ever. */
export type RenderEnvironment = Readonly<{
  /** The moment of release (ISO time): what the date constants say. */
  at: string;
  company: Company & Brand;
  /** Unsubscribe address of the recipient of this copy; where it is absent the constant is empty. */
  unsubscribeUrl?: string;
}>;

const companyConstants = [
  '__COMPANY_NAME__',
  '__COMPANY_LEGAL_NAME__',
  '__COMPANY_EMAIL__',
  '__COMPANY_PHONE__',
  '__COMPANY_WEBSITE__',
  '__COMPANY_ADDRESS_LINE1__',
  '__COMPANY_CITY__',
  '__COMPANY_STATE__',
  '__COMPANY_POSTAL_CODE__',
  '__COMPANY_COUNTRY__',
] as const;

const brandConstants = ['__BRAND_LOGO__', '__BRAND_ACCENT__', '__BRAND_BACKGROUND__', '__BRAND_TEXT__'] as const;

const dateConstants = [
  '__CURRENT_DATE__',
  '__CURRENT_YEAR__',
  '__CURRENT_MONTH__',
  '__CURRENT_DAY__',
  '__CURRENT_DAY_NAME__',
] as const;

/** Address where the recipient of this copy unsubscribes. */
export const UNSUBSCRIBE_CONSTANT = '__UNSUBSCRIBE_URL__';

/** The language that the mail or document is written in: its code, and the whole tag. */
const languageConstants = ['__LANGUAGE__', '__LOCALE__'] as const;

type DateConstant = (typeof dateConstants)[number];
type CompanyConstant = (typeof companyConstants)[number];
type BrandConstant = (typeof brandConstants)[number];
type LanguageConstant = (typeof languageConstants)[number];
export type Constant = DateConstant | LanguageConstant | CompanyConstant | BrandConstant | typeof UNSUBSCRIBE_CONSTANT;

export const constants: readonly Constant[] = [
  ...dateConstants,
  ...languageConstants,
  ...companyConstants,
  ...brandConstants,
  UNSUBSCRIBE_CONSTANT,
];

const names: ReadonlySet<string> = new Set(constants);

export const isConstant = (name: string): name is Constant => names.has(name);

/** Default format of a constant: the date in full in the template's language. */
export const constantFormat = (name: Constant): ValueFormat | undefined =>
  name === '__CURRENT_DATE__' ? { style: 'date', dateStyle: 'long' } : undefined;

/**
 * Answers a function from environment to the values of the constants, in the template's language and time zone:
 * the date as an ISO day, year, month (1 to 12) and day as numbers, the name of the weekday in words.
 * It remembers the last minute and company it was asked for: mails are rendered in bursts, and Intl is slow.
 */
export const constantsOf = (
  language: Language,
): ((environment: RenderEnvironment) => Readonly<Record<Constant, string | number>>) => {
  const parts = new Intl.DateTimeFormat('en-US-u-ca-gregory-nu-latn', {
    timeZone: language.timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  });
  const spoken: Record<LanguageConstant, string> = {
    __LANGUAGE__: new Intl.Locale(language.locale).language,
    __LOCALE__: language.locale,
  };
  const weekday = new Intl.DateTimeFormat(language.locale, { timeZone: language.timeZone, weekday: 'long' });
  let minute = '';
  let dates: Readonly<Record<DateConstant, string | number>> | undefined;
  let company: (Company & Brand) | undefined;
  let all: Readonly<Record<Constant, string | number>> | undefined;
  return (environment) => {
    const sameMinute = minute !== '' && environment.at.startsWith(minute) && environment.at.endsWith('Z');
    const { unsubscribeUrl = '' } = environment;
    if (all !== undefined && company !== undefined && sameMinute && isSameCompany(company, environment.company))
      return all[UNSUBSCRIBE_CONSTANT] === unsubscribeUrl ? all : { ...all, [UNSUBSCRIBE_CONSTANT]: unsubscribeUrl };
    if (dates === undefined || !sameMinute) {
      dates = datesAt(new Date(environment.at), parts, weekday);
      minute = environment.at.endsWith('Z') ? environment.at.slice(0, 16) : '';
    }
    company = environment.company;
    all = {
      ...dates,
      ...spoken,
      ...companyValues(company),
      ...brandValues(company),
      [UNSUBSCRIBE_CONSTANT]: unsubscribeUrl,
    };
    return all;
  };
};

/** Compares by value, for each email pins a copy of its own. */
const isSameCompany = (a: Company & Brand, b: Company & Brand): boolean =>
  a === b ||
  (a.name === b.name &&
    a.legalName === b.legalName &&
    a.email === b.email &&
    a.phone === b.phone &&
    a.website === b.website &&
    a.addressLine1 === b.addressLine1 &&
    a.city === b.city &&
    a.state === b.state &&
    a.postalCode === b.postalCode &&
    a.country === b.country &&
    a.logo === b.logo &&
    a.accent === b.accent &&
    a.background === b.background &&
    a.text === b.text);

const datesAt = (
  at: Date,
  parts: Intl.DateTimeFormat,
  weekday: Intl.DateTimeFormat,
): Record<DateConstant, string | number> => {
  const found = Object.fromEntries(parts.formatToParts(at).map(({ type, value }) => [type, value]));
  const { year = '', month = '', day = '' } = found;
  return {
    __CURRENT_DATE__: `${year.padStart(4, '0')}-${month}-${day}`,
    __CURRENT_YEAR__: Number(year),
    __CURRENT_MONTH__: Number(month),
    __CURRENT_DAY__: Number(day),
    __CURRENT_DAY_NAME__: weekday.format(at),
  };
};

const companyValues = (company: Company): Record<CompanyConstant, string> => ({
  __COMPANY_NAME__: company.name,
  __COMPANY_LEGAL_NAME__: company.legalName,
  __COMPANY_EMAIL__: company.email,
  __COMPANY_PHONE__: company.phone,
  __COMPANY_WEBSITE__: company.website,
  __COMPANY_ADDRESS_LINE1__: company.addressLine1,
  __COMPANY_CITY__: company.city,
  __COMPANY_STATE__: company.state,
  __COMPANY_POSTAL_CODE__: company.postalCode,
  __COMPANY_COUNTRY__: company.country,
});

/** A team without a logo has an empty one, which conditions can ask for. */
const brandValues = ({ logo, accent, background, text }: Brand): Record<BrandConstant, string> => ({
  __BRAND_LOGO__: logo === undefined ? '' : `asset:${logo}`,
  __BRAND_ACCENT__: accent ?? defaultColors.accent,
  __BRAND_BACKGROUND__: background ?? defaultColors.background,
  __BRAND_TEXT__: text ?? defaultColors.text,
});
