/** Where in a template a picture is shown, for the message that says why it cannot be. */
import type { AttachmentTemplateContent, DocumentComponent } from '../rendering/document-content.js';

/**
 * In: an address as the expanded document has it. Out: the path of the first image that names it, such as
 * `schema.pages[0].sections[1].components[2].props.src`; where none does literally, of the only image whose address holds a
 * variable; undefined where several might be meant.
 */
export const imageFieldOf = ({ schema }: AttachmentTemplateContent, address: string): string | undefined => {
  const filled: string[] = [];
  for (const [field, src] of imagesOf(schema)) {
    if (src === address) return field;
    if (src.includes('{{')) filled.push(field);
  }
  return filled.length === 1 ? filled[0] : undefined;
};

const imagesOf = function* ({ pages }: AttachmentTemplateContent['schema']): Generator<readonly [field: string, src: string]> {
  for (const [page, { sections }] of pages.entries()) {
    for (const [section, { components }] of sections.entries())
      yield* imagesIn(components, `schema.pages[${page}].sections[${section}].components`);
  }
};

const imagesIn = function* (components: readonly DocumentComponent[], path: string): Generator<readonly [field: string, src: string]> {
  for (const [index, { type, props, children, elseChildren }] of components.entries()) {
    const field = `${path}[${index}]`;
    const src = props?.['src'];
    if (type === 'image' && typeof src === 'string') yield [`${field}.props.src`, src];
    if (children !== undefined) yield* imagesIn(children, `${field}.children`);
    if (elseChildren !== undefined) yield* imagesIn(elseChildren, `${field}.elseChildren`);
  }
};
