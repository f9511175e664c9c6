/** Fixtures of the tests of documents: attachment templates built from components, and their expansion. */
import { expandDocument, type FindBlock } from '../../src/domain/rendering/blocks.js';
import type { OutputFormat } from '../../src/domain/rendering/content.js';
import type { JsonObject } from '../../src/domain/core/json.js';
import { defaultLimits, type Limits } from '../../src/domain/core/limits.js';
import { checkAttachmentTemplate } from '../../src/domain/rendering/check/document.js';
import { documentInLanguage } from '../../src/domain/rendering/languages.js';
import type { CallLanguage } from '../../src/domain/rendering/translations.js';
import { compileDocument } from '../../src/domain/rendering/expand/expand.js';
import type { Expanded, ExpandedDocument } from '../../src/domain/rendering/expand/expanded.js';
import { environment } from './rendering.js';

/**
 * A template as it comes in, with one page and one section that holds the components. `schema` replaces what stands
 * there.
 */
export const attachmentOf = (
  components: readonly unknown[],
  { schema, ...more }: Readonly<Record<string, unknown>> & { schema?: Readonly<Record<string, unknown>> } = {},
): Record<string, unknown> => ({
  variables: [],
  schema: {
    outputFormats: ['pdf'],
    pages: [{ pageId: 'page', pageName: 'Page', sections: [{ id: 'section', type: 'main', components }] }],
    ...schema,
  },
  ...more,
});

/** Checks, compiles and expands in one go. */
export const expandTemplate = (
  template: unknown,
  variables: JsonObject = {},
  {
    format = 'pdf',
    limits = defaultLimits,
    language,
    find = () => undefined,
  }: { format?: OutputFormat; limits?: Limits; language?: CallLanguage; find?: FindBlock } = {},
): ExpandedDocument =>
  compileDocument(
    expandDocument(documentInLanguage(checkAttachmentTemplate(template, limits).content, language), { find, limits }),
    limits,
  )(variables, environment, format);

/** The expanded components of the first section of the first page. */
export const componentsOf = ({ pages }: ExpandedDocument): readonly Expanded[] =>
  pages[0]?.sections[0]?.components ?? [];
