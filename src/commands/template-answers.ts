/** What the calls on templates answer. */
import type { AttachmentTemplateRecord, AttachmentTemplateVersion } from '../api/attachment-templates.js';
import type { TemplateRecord, TemplateVersion } from '../api/templates.js';
import { attachmentTemplateListing, type AttachmentTemplate } from '../domain/attachment-template/state.js';
import type { AttachmentTemplateId, TemplateId } from '../domain/ids.js';
import type { PublishedVersion } from '../domain/template/lifecycle.js';
import { templateListing, type Template } from '../domain/template/state.js';

export const templateRecord = (id: TemplateId, template: Template): TemplateRecord => ({
  ...templateListing(id, template),
  variables: template.draft.variables,
  schema: template.draft.schema,
});

export const attachmentTemplateRecord = (id: AttachmentTemplateId, template: AttachmentTemplate): AttachmentTemplateRecord => ({
  ...attachmentTemplateListing(id, template),
  variables: template.draft.variables,
  schema: template.draft.schema,
});

/** The published versions, the newest first; the newest is the current one. */
const versionsOf = <Shown, Answer>(
  { published }: Readonly<{ published: readonly PublishedVersion<Shown>[] }>,
  answer: (version: PublishedVersion<Shown>, current: boolean) => Answer,
): Answer[] => published.map((version) => answer(version, version.version === published.at(-1)?.version)).reverse();

export const versionsOfTemplate = (template: Template): TemplateVersion[] =>
  versionsOf(template, ({ version, name, subject, publishedAt }, current) => ({ version, name, subject, publishedAt, current }));

export const versionsOfAttachmentTemplate = (template: AttachmentTemplate): AttachmentTemplateVersion[] =>
  versionsOf(template, ({ version, name, publishedAt }, current) => ({ version, name, publishedAt, current }));
