/** Reads the language that a call says in place of the template's own. */
import { memoized } from '../core/memoize.js';
import { invalidAt, type FieldError } from '../../domain/core/errors.js';
import { localeFault, timeZoneFault } from '../../domain/rendering/check/format.js';
import type { CallLanguage } from '../../domain/rendering/translations.js';

type LanguageFields = Readonly<{ locale?: string; timeZone?: string }>;

/** `language`: in its canonical form; undefined where the call says nothing, or something wrong. */
type ReadLanguage = Readonly<{ language: CallLanguage | undefined; faults: readonly FieldError[] }>;

const NOTHING: ReadLanguage = { language: undefined, faults: [] };

/** Reads the language of a call, or of one of its recipients, and names what is wrong with it by its field. */
export const readLanguage = ({ locale, timeZone }: LanguageFields): ReadLanguage =>
  locale === undefined && timeZone === undefined ? NOTHING : read(locale, timeZone);

/** Kept for the next calls: Intl takes longer for a time zone than the rest of a call. */
const read = memoized(
  1_000,
  (locale: string | undefined, timeZone: string | undefined) => `${locale ?? ''} ${timeZone ?? ''}`,
  (locale: string | undefined, timeZone: string | undefined): ReadLanguage => {
    const faults: FieldError[] = [];
    const ofLocale = locale === undefined ? undefined : localeFault(locale);
    if (ofLocale !== undefined) faults.push({ field: 'locale', message: ofLocale });
    const ofZone = timeZone === undefined ? undefined : timeZoneFault(timeZone);
    if (ofZone !== undefined) faults.push({ field: 'timeZone', message: ofZone });
    if (faults.length > 0) return { language: undefined, faults };
    return {
      language: {
        ...(locale !== undefined && { locale: Intl.getCanonicalLocales(locale)[0] ?? locale }),
        ...(timeZone !== undefined && {
          timeZone: new Intl.DateTimeFormat('en-US', { timeZone }).resolvedOptions().timeZone,
        }),
      },
      faults,
    };
  },
);

/** Reads the language as `readLanguage` does; throws VALIDATION_ERROR where something is wrong with it. */
export const requireLanguage = (given: LanguageFields): CallLanguage | undefined => {
  const {
    language,
    faults: [fault],
  } = readLanguage(given);
  if (fault !== undefined) throw invalidAt(fault.field, fault.message);
  return language;
};
