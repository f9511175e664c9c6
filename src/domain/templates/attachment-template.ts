/** What the events of one attachment template add up to, the decisions about it, and what lists show of it. */
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
import type { AttachmentTemplateContent, OutputFormat } from '../rendering/document-content.js';

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

/** What a call means by `version`: a revision and the name that it had. */
export type ResolvedAttachmentVersion = Readonly<{ revision: number; version: number | null; name: string }>;

/** Throws TEMPLATE_NOT_PUBLISHED, TEMPLATE_VERSION_NOT_FOUND. */
export const resolveAttachmentVersion = (template: AttachmentTemplate, version: string | number): ResolvedAttachmentVersion => {
  const unpublished =
    'This attachment template has no published version yet. POST /api/templates/attachment/:id/publish makes its draft one.';
  const { shown, ...found } = findVersion(template, version, unpublished);
  return { ...found, name: shown.name };
};

/** What a document is made from. Drafts are checked before they are saved, so their parts have these types. */
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

/** What lists show of an attachment template. */
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
