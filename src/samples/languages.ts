/** Samples in several languages: one function makes the template from its words, once for each language, so that each text has its translation. */
import type { AttachmentTemplateContent } from '../domain/rendering/document-content.js';
import { mapDocumentTexts, mapEmailTexts, type MapText } from '../domain/rendering/texts.js';
import { nameOfText } from '../domain/rendering/translations.js';
import type { EmailTemplateContent } from '../domain/rendering/content.js';
import type { SampleAttachment } from './attachments/sample.js';
import type { SampleTemplate } from './sample.js';

type ByLanguage<Words> = Readonly<{ own: Words; others: Readonly<Record<string, Words>> }>;

type About<Sample, Written extends keyof Sample> = Omit<Sample, Written | 'translations'>;

type EmailWritten = Pick<EmailTemplateContent, 'subject' | 'variables' | 'schema'>;

/** In: what is the same in each language, the words, and what is made of them. */
export const emailInLanguages = <Words>(
  about: About<SampleTemplate, keyof EmailWritten>,
  { own, others }: ByLanguage<Words>,
  written: (words: Words) => EmailWritten,
): SampleTemplate => {
  const textsOf = (words: Words): readonly string[] => textsIn((map) => mapEmailTexts(written(words), map));
  return { ...about, ...written(own), translations: translationsOf(textsOf, { own, others }) };
};

type DocumentWritten = Pick<AttachmentTemplateContent, 'variables' | 'schema'> & Readonly<{ name: string }>;

/** The same of an attachment template, whose name is a text of it too. */
export const documentInLanguages = <Words>(
  about: About<SampleAttachment, keyof DocumentWritten>,
  { own, others }: ByLanguage<Words>,
  written: (words: Words) => DocumentWritten,
): SampleAttachment => {
  const textsOf = (words: Words): readonly string[] => {
    const { name, ...content } = written(words);
    return [name, ...textsIn((map) => mapDocumentTexts(content, map))];
  };
  return { ...about, ...written(own), translations: translationsOf(textsOf, { own, others }) };
};

const textsIn = (walk: (map: MapText) => unknown): readonly string[] => {
  const texts: string[] = [];
  walk((text) => {
    texts.push(text);
    return text;
  });
  return texts;
};

const translationsOf = <Words>(
  textsOf: (words: Words) => readonly string[],
  { own, others }: ByLanguage<Words>,
): Record<string, Record<string, string>> => {
  const texts = textsOf(own);
  return Object.fromEntries(Object.entries(others).map(([tag, words]) => [tag, paired(texts, textsOf(words))]));
};

/** Texts without words are the same in each language. */
const paired = (own: readonly string[], other: readonly string[]): Record<string, string> => {
  if (own.length !== other.length) throw new Error(`${own.length} texts have ${other.length} translations`);
  const pairs: Record<string, string> = {};
  for (const [at, text] of own.entries()) {
    const translated = other[at] ?? '';
    const name = nameOfText(text);
    if (pairs[name] !== undefined && pairs[name] !== translated) throw new Error(`"${text}" has two translations`);
    if (translated !== text || hasWords(text)) pairs[name] = translated;
  }
  return pairs;
};

const hasWords = (text: string): boolean => /\p{L}/u.test(text.replaceAll(/\{\{[^}]*\}\}|<[^>]*>|&\w+;/g, ''));
