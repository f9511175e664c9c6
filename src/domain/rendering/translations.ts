/** Chooses which of a template's translations a call gets. */

/** Texts by language tag (BCP 47, in its canonical form), then by the name of the template's own text. */
export type Translations = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Locale and time zone that a call says in place of the template's own; both canonical. */
export type CallLanguage = Readonly<{ locale?: string; timeZone?: string }>;

/** From a text of the template to the text that is shown. */
export type Translate = (text: string) => string;

/**
 * The name of a text among translations: the text itself, with `'` for each `"`, `/` for each backslash and a blank for
 * each line break, tab or other character that JSON writes only with an escape. So a name can be written in JSON
 * without escapes.
 */
export const nameOfText = (text: string): string =>
  text.replaceAll(/\r\n|["\\]|\p{Cc}|\p{Cs}/gu, (character) =>
    character === '"' ? "'" : character === '\\' ? '/' : ' ',
  );

/** In: translations as they came. Out: the translations with each text under its name (`nameOfText`). */
export const namedTexts = (translations: Translations): Translations =>
  Object.fromEntries(
    Object.entries(translations).map(([tag, texts]) => [
      tag,
      Object.fromEntries(Object.entries(texts).map(([text, translated]) => [nameOfText(text), translated])),
    ]),
  );

/** Tags to look up one after the other (RFC 4647, lookup): `zh-Hant-TW`, `zh-Hant`, `zh`. */
export const fallbackTags = (tag: string): readonly string[] => {
  const subtags = tag.split('-');
  const tags: string[] = [];
  while (subtags.length > 0) {
    tags.push(subtags.join('-'));
    subtags.pop();
    // A single letter only begins what stands behind it.
    while (subtags.at(-1)?.length === 1) subtags.pop();
  }
  return tags;
};

/**
 * In: the translations of a template, and the language that is wanted. Out: the text of the nearest language that has
 * it, else the template's own.
 */
export const translatorOf = (translations: Translations | undefined, locale: string): Translate => {
  const known = fallbackTags(locale).flatMap((tag) => {
    const texts = translations !== undefined && Object.hasOwn(translations, tag) ? translations[tag] : undefined;
    return texts === undefined ? [] : [texts];
  });
  if (known.length === 0) return (text) => text;
  return (text) => {
    const name = nameOfText(text);
    // Translations may be stored under the text as it stands.
    const texts = known.find((one) => Object.hasOwn(one, text) || Object.hasOwn(one, name));
    return texts?.[text] ?? texts?.[name] ?? text;
  };
};
