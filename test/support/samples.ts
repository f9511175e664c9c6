/** The samples in each of their languages. */
import type { AttachmentTemplateContent, EmailTemplateContent } from '../../src/domain/rendering/content.js';
import type { JsonObject } from '../../src/domain/core/json.js';
import { sampleAttachments, sampleTemplates, type SampleTemplate } from '../../src/samples/index.js';

type InLanguage<Content> = Readonly<{
  slug: string;
  /** The slug, and the language where it is not the template's own. */
  name: string;
  locale?: string;
  content: Content;
  values: JsonObject;
}>;

/** The content of a sample alone, as it is checked. */
export const emailContentOf = ({
  slug: _slug,
  name: _name,
  description: _description,
  exampleVariables: _example,
  examplesIn: _examples,
  ...content
}: SampleTemplate): EmailTemplateContent => content;

export const emailSamples: readonly InLanguage<EmailTemplateContent>[] = sampleTemplates.flatMap((sample) => {
  const { slug, exampleVariables, examplesIn, translations } = sample;
  const content = emailContentOf(sample);
  return [
    { slug, name: slug, content, values: exampleVariables },
    ...Object.keys(translations ?? {}).map((locale) => ({
      slug,
      name: `${slug}.${locale}`,
      locale,
      content,
      values: examplesIn?.[locale] ?? exampleVariables,
    })),
  ];
});

export const documentSamples: readonly InLanguage<AttachmentTemplateContent>[] = sampleAttachments.flatMap(
  ({ slug, name: _name, description: _description, exampleVariables: values, ...content }) => [
    { slug, name: slug, content, values },
    ...Object.keys(content.translations ?? {}).map((locale) => ({ slug, name: `${slug}.${locale}`, locale, content, values })),
  ],
);
