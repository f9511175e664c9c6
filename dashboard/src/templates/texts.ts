/** The texts of a template that may stand in several languages. Nothing here needs a browser. */
import { type Content, type Kind, ownOf } from './content.js';
import { fallbackTags, mapBlockTexts, mapDocumentTexts, mapEmailTexts, nameOfText } from './service.js';

/** `key`: its name among translations. `field`: its first place. `kind`: prose is read by people. */
export type OwnText = Readonly<{ key: string; text: string; field: string; kind: 'prose' | 'address' | 'expression' }>;

export type Texts = Readonly<Record<string, string>>;

/** Undefined: the content has faults, so that its texts cannot be listed. */
export const textsOf = (kind: Kind, content: Content): readonly OwnText[] | undefined => {
  const found = new Map<string, OwnText>();
  const map = (text: string, field: string, of: OwnText['kind']): string => {
    const key = nameOfText(text);
    if (key.trim() !== '' && !found.has(key)) found.set(key, { key, text, field, kind: of });
    return text;
  };
  const mapped = { email: mapEmailTexts, attachment: mapDocumentTexts, block: mapBlockTexts }[kind];
  try {
    // The content is as it is typed; a part of another form throws.
    mapped({ variables: [], ...content } as never, map);
  } catch {
    return undefined;
  }
  return [...found.values()].filter(({ text }) => typeof text === 'string');
};

/** The translations of a content, by language; parts of another form are left out. */
export const translationsOf = ({ translations }: Content): Readonly<Record<string, Texts>> =>
  typeof translations !== 'object' || translations === null || Array.isArray(translations)
    ? {}
    : Object.fromEntries(
        Object.entries(translations as Content).flatMap(([tag, texts]) =>
          typeof texts !== 'object' || texts === null
            ? []
            : [
                [
                  tag,
                  Object.fromEntries(
                    Object.entries(texts as Content).flatMap(([text, translated]) =>
                      typeof translated === 'string' ? [[nameOfText(text), translated]] : [],
                    ),
                  ),
                ],
              ],
        ),
      );

/** In: a content, a language, the key of a text and its translation; an empty one is taken out. */
export const withTranslation = (content: Content, tag: string, key: string, translated: string): Content => {
  const all = translationsOf(content);
  const { [key]: _, ...others } = all[tag] ?? {};
  return {
    ...content,
    translations: { ...all, [tag]: translated === '' ? others : { ...others, [key]: translated } },
  };
};

/** The text that a language shows where it has none of its own: that of a wider language; undefined: the template's. */
export const widerText = (
  translations: Readonly<Record<string, Texts>>,
  tag: string,
  key: string,
): string | undefined =>
  fallbackTags(tag)
    .filter((one) => one !== tag)
    .map((one) => ownOf(translations[one], key))
    .find((one) => one !== undefined);

/** Whether letters stand outside of placeholders and tags; a formula of a workbook has no words. */
const hasWords = (text: string): boolean =>
  !text.startsWith('=') && /\p{L}/u.test(text.replace(/\{\{[^{}]*\}\}|<[^<>]*>|&[a-z0-9#]{1,32};/gi, ''));

/** Texts for people that neither the language nor a wider one has. A variant of the template's own language needs none. */
export const missingIn = (content: Content, tag: string, texts: readonly OwnText[]): readonly OwnText[] => {
  const translations = translationsOf(content);
  const { locale } = content;
  const isVariant = typeof locale === 'string' && locale.split('-')[0] === tag.split('-')[0];
  return isVariant
    ? []
    : texts.filter(
        ({ key, text, kind }) =>
          kind === 'prose' &&
          hasWords(text) &&
          ownOf(translations[tag], key) === undefined &&
          widerText(translations, tag, key) === undefined,
      );
};

/** Keys of a language that match no text of the template. */
export const strayIn = (content: Content, tag: string, texts: readonly OwnText[]): readonly string[] => {
  const known = new Set(texts.map(({ key }) => key));
  return Object.keys(translationsOf(content)[tag] ?? {}).filter((key) => !known.has(key));
};

/** The canonical form of a language tag (BCP 47); undefined: it is none. */
export const canonicalTag = (tag: string): string | undefined => {
  try {
    return Intl.getCanonicalLocales(tag.trim())[0];
  } catch {
    return undefined;
  }
};
