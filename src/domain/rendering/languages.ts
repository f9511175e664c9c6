/** A template in the language of a call: its locale and its time zone in place of the template's own, and the texts of that language. */
import type { AttachmentTemplateContent } from './document-content.js';
import type { EmailTemplateContent } from './content.js';
import { mapDocumentTexts, mapEmailTexts } from './texts.js';
import { translatorOf, type CallLanguage, type Translate, type Translations } from './translations.js';

type InLanguages = Readonly<{ locale?: string; timeZone?: string; translations?: Translations }>;

/** In: a checked email template, and what the call says. Out: what is rendered, in one language. */
export const emailInLanguage = (
  { translations, ...content }: EmailTemplateContent,
  language: CallLanguage | undefined,
): EmailTemplateContent => {
  const translate = translateOf({ ...content, ...(translations && { translations }) }, language);
  const spoken = { ...content, ...overrides(language) };
  return translate === undefined ? spoken : mapEmailTexts(spoken, translate);
};

/** The same of an attachment template. */
export const documentInLanguage = (
  { translations, ...content }: AttachmentTemplateContent,
  language: CallLanguage | undefined,
): AttachmentTemplateContent => {
  const translate = translateOf({ ...content, ...(translations && { translations }) }, language);
  const spoken = { ...content, ...overrides(language) };
  return translate === undefined ? spoken : mapDocumentTexts(spoken, translate);
};

/** A text of the template that stands outside its content, such as its name. */
export const textInLanguage = (text: string, content: InLanguages, language: CallLanguage | undefined): string =>
  translateOf(content, language)?.(text) ?? text;

/** What names a language beside a template: nothing where a call says none. */
export const languageKey = (language: CallLanguage | undefined): string =>
  language?.locale === undefined && language?.timeZone === undefined ? '' : `:${language.locale ?? ''}:${language.timeZone ?? ''}`;

const overrides = (language: CallLanguage | undefined): Readonly<{ locale?: string; timeZone?: string }> => ({
  ...(language?.locale !== undefined && { locale: language.locale }),
  ...(language?.timeZone !== undefined && { timeZone: language.timeZone }),
});

/** Undefined where the texts are the template's own. */
const translateOf = ({ locale, translations }: InLanguages, language: CallLanguage | undefined): Translate | undefined =>
  language?.locale === undefined || translations === undefined || language.locale === locale
    ? undefined
    : translatorOf(translations, language.locale);
