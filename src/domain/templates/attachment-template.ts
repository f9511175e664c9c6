/** Attachment templates: the rules of their kind, the decisions about them, and their short ids. */
import type { AttachmentTemplateContent, DocumentComponent } from '../rendering/content.js';
import { DomainError } from '../core/errors.js';
import { attachmentTemplateSlugStream, attachmentTemplateStream, parseAttachmentTemplateId } from '../core/ids.js';
import type { AttachmentDraft } from './events.js';
import { blocksPart, makeTemplateDecider, sentAlone, type TemplateRules } from './decider.js';

export const attachmentTemplateRules: TemplateRules<'attachment'> = {
  kind: 'attachment',
  streamKind: 'attachmentTemplate',
  resource: 'attachmentTemplates',
  parseId: parseAttachmentTemplateId,
  stream: attachmentTemplateStream,
  slugStream: attachmentTemplateSlugStream,
  isDraft: (draft): draft is AttachmentDraft => !('subject' in draft || 'outputs' in draft),
  shown: ({ name, schema }) => ({ name, ...blocksPart({ schema }) }),
  named: ({ name }) => ({ name }),
  listed: ({ schema }) => ({ outputFormats: [...schema.outputFormats] }),
  recorded: sentAlone,
  notFound: () =>
    new DomainError(
      'TEMPLATE_NOT_FOUND',
      'There is no attachment template with this id, short id or slug. GET /api/templates/attachment lists yours.',
    ),
  unpublished:
    'This attachment template has no published version yet. POST /api/templates/attachment/:id/publish makes its draft one.',
};

export const attachmentTemplateDecider = makeTemplateDecider(attachmentTemplateRules);

/**
 * The content that a document is made from. Drafts are checked before they are saved, so their parts have these types.
 */
export const contentOfAttachment = ({
  variables,
  schema,
  locale,
  timeZone,
  strictVariables,
  translations,
}: AttachmentDraft): AttachmentTemplateContent => ({
  variables: variables as AttachmentTemplateContent['variables'],
  schema: schema as AttachmentTemplateContent['schema'],
  locale,
  timeZone,
  ...(strictVariables === undefined ? {} : { strictVariables }),
  ...(translations === undefined ? {} : { translations }),
});

/**
 * A short id of an attachment template: `atpl_` and ten characters that people can read to each other. In: ten random
 * bytes, of which five bits each are used.
 */
export const shortIdOf = (bytes: Uint8Array): string => {
  if (bytes.length !== SHORT_ID_SIZE_BYTES) throw new RangeError(`a short id is made of ${SHORT_ID_SIZE_BYTES} bytes`);
  return `${PREFIX}${Array.from(bytes, (byte) => ALPHABET[byte & 31]).join('')}`;
};

/** Crockford's base 32 (https://www.crockford.com/base32.html), in lower case: without i, l, o and u. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const PREFIX = 'atpl_';
const CHARS = 10;

/** Random bytes that one short id is made from. */
export const SHORT_ID_SIZE_BYTES = CHARS;

const SHORT_ID = /^atpl_[0-9a-hjkmnp-tv-z]{10}$/;

/**
 * In: a short id as somebody wrote it. Out: the short id, or undefined. Capital letters and the look-alikes i, l and o
 * are read as Crockford says.
 */
export const parseShortId = (text: string): string | undefined => {
  if (text.length !== PREFIX.length + CHARS) return undefined;
  const lower = text.toLowerCase();
  const id = lower.slice(0, PREFIX.length) + lower.slice(PREFIX.length).replace(/[il]/g, '1').replaceAll('o', '0');
  return SHORT_ID.test(id) ? id : undefined;
};

/**
 * Finds where a template shows a picture, for the message that says why it cannot be shown. In: an address as the
 * expanded document has it. Out: the path of the first image that names it, such as
 * `schema.pages[0].sections[1].components[2].props.src`; where none does literally, of the only image whose address
 * holds a variable; undefined where several might be meant.
 */
export const imageFieldOf = ({ schema }: AttachmentTemplateContent, address: string): string | undefined => {
  const filled: string[] = [];
  for (const [field, src] of imagesOf(schema)) {
    if (src === address) return field;
    if (src.includes('{{')) filled.push(field);
  }
  return filled.length === 1 ? filled[0] : undefined;
};

const imagesOf = function* ({
  pages,
}: AttachmentTemplateContent['schema']): Generator<readonly [field: string, src: string]> {
  for (const [page, { sections }] of pages.entries()) {
    for (const [section, { components }] of sections.entries())
      yield* imagesIn(components, `schema.pages[${page}].sections[${section}].components`);
  }
};

const imagesIn = function* (
  components: readonly DocumentComponent[],
  path: string,
): Generator<readonly [field: string, src: string]> {
  for (const [index, { type, props, children, elseChildren }] of components.entries()) {
    const field = `${path}[${index}]`;
    const src = props?.['src'];
    if (type === 'image' && typeof src === 'string') yield [`${field}.props.src`, src];
    if (children !== undefined) yield* imagesIn(children, `${field}.children`);
    if (elseChildren !== undefined) yield* imagesIn(elseChildren, `${field}.elseChildren`);
  }
};
