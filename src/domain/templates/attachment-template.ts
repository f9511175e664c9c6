/** Attachment templates: their state, the decisions about them, what lists show of them, and their short ids. */
import type { AttachmentTemplateContent, DocumentComponent, OutputFormat } from '../rendering/content.js';
import { DomainError } from '../core/errors.js';
import { assertDefined, type AttachmentTemplateId } from '../core/ids.js';
import type { AttachmentDraft } from './events.js';
import {
  findVersion,
  makeTemplateDecider,
  publicationOf,
  type Publication,
  type TemplateCommandOf,
  type TemplateOf,
  type TemplateRules,
  type TemplateStateOf,
} from './decider.js';

type Shown = Pick<AttachmentDraft, 'name'>;
export type AttachmentTemplate = TemplateOf<AttachmentDraft, Shown>;
export type AttachmentTemplateState = TemplateStateOf<AttachmentDraft, Shown>;
export type AttachmentTemplateCommand = TemplateCommandOf<AttachmentDraft>;

export const attachmentTemplateNotFound = (): DomainError =>
  new DomainError(
    'TEMPLATE_NOT_FOUND',
    'There is no attachment template with this id, short id or slug. GET /api/templates/attachment lists yours.',
  );

export const attachmentTemplateRules: TemplateRules<AttachmentDraft, Shown> = {
  kind: 'attachment',
  isDraft: (draft): draft is AttachmentDraft => !('subject' in draft),
  shown: ({ name }) => ({ name }),
  notFound: attachmentTemplateNotFound,
};

export const attachmentTemplateDecider = makeTemplateDecider(attachmentTemplateRules);

/** The revision that a call means by `version`, and its name. */
type ResolvedAttachmentVersion = Readonly<{ revision: number; version: number | null; name: string }>;

/** Throws TEMPLATE_NOT_PUBLISHED, TEMPLATE_VERSION_NOT_FOUND. */
export const resolveAttachmentVersion = (template: AttachmentTemplate, version: string | number): ResolvedAttachmentVersion => {
  const unpublished =
    'This attachment template has no published version yet. POST /api/templates/attachment/:id/publish makes its draft one.';
  const { shown, ...found } = findVersion(template, version, unpublished);
  return { ...found, name: shown.name };
};

/** The content that a document is made from. Drafts are checked before they are saved, so their parts have these types. */
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

/** An attachment template as lists show it. */
export type AttachmentTemplateListing = Publication & {
  id: string;
  shortId: string;
  slug: string;
  name: string;
  description: string;
  type: 'attachment';
  outputFormats: OutputFormat[];
  locale: string;
  timeZone: string;
  createdAt: string;
  updatedAt: string;
};

export const attachmentTemplateListing = (id: AttachmentTemplateId, template: AttachmentTemplate): AttachmentTemplateListing => {
  const { name, description, schema, locale, timeZone } = template.draft;
  return {
    id,
    shortId: assertDefined(template.shortId, 'short id'),
    slug: template.slug,
    name,
    description,
    type: 'attachment',
    outputFormats: [...schema.outputFormats],
    ...publicationOf(template),
    locale,
    timeZone,
    createdAt: template.createdAt,
    updatedAt: template.updatedAt,
  };
};

/**
 * A short id of an attachment template: `atpl_` and ten characters that people can read to each other. In: ten random bytes, of which five
 * bits each are used.
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

/** In: a short id as somebody wrote it. Out: the short id, or undefined. Capital letters and the look-alikes i, l and o are read as Crockford says. */
export const parseShortId = (text: string): string | undefined => {
  if (text.length !== PREFIX.length + CHARS) return undefined;
  const lower = text.toLowerCase();
  const id = lower.slice(0, PREFIX.length) + lower.slice(PREFIX.length).replace(/[il]/g, '1').replaceAll('o', '0');
  return SHORT_ID.test(id) ? id : undefined;
};

/**
 * Finds where a template shows a picture, for the message that says why it cannot be shown. In: an address as the expanded document has it.
 * Out: the path of the first image that names it, such as `schema.pages[0].sections[1].components[2].props.src`; where none does literally,
 * of the only image whose address holds a variable; undefined where several might be meant.
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
