/** What the calls on templates answer. */
import type { Known } from './lifecycle.js';
import type { KnownVersion } from './versions.js';
import type {
  AttachmentTemplateRecord,
  AttachmentTemplateVersion,
  AttachmentTemplateVersionRecord,
} from '../../api/templates/attachment-templates.js';
import type { TemplateRecord, TemplateVersion, TemplateVersionRecord } from '../../api/templates/templates.js';
import type { FieldError } from '../../domain/core/errors.js';
import { attachmentTemplateListing, type AttachmentTemplate } from '../../domain/templates/attachment-template.js';
import type { AttachmentTemplateId, TemplateId } from '../../domain/core/ids.js';
import type { AttachmentDraft, EmailDraft } from '../../domain/templates/events.js';
import type { Translations } from '../../domain/rendering/translations.js';
import type { PublishedVersion } from '../../domain/templates/decider.js';
import { templateListing, type Template } from '../../domain/templates/email-template.js';

/** What an answer to a save tells beside the record; nothing where there is nothing to tell. */
export const warningsPart = (warnings: readonly FieldError[]): Readonly<{ warnings?: FieldError[] }> =>
  warnings.length === 0 ? {} : { warnings: [...warnings] };

type Checked<Draft> = Readonly<{ draft: Draft; warnings: readonly FieldError[] }>;

/** In: a change with the check of its result. Out: the change, which may be decided more than once, and what the last check has told. */
export const tellingChange = <Draft>(change: (draft: Draft) => Checked<Draft>) => {
  let told: readonly FieldError[] = [];
  const changed = (before: Draft): Draft => {
    const { draft, warnings } = change(before);
    told = warnings;
    return draft;
  };
  return { changed, warnings: () => told };
};

/** A draft says that it is strict, or nothing: what was saved before it could be said is the same as `false`. */
export const withStrictness = <Draft extends { strictVariables?: boolean }>({ strictVariables, ...draft }: Draft) =>
  strictVariables === true ? { ...draft, strictVariables } : draft;

/** What a draft keeps of them: nothing where there are none. */
export const translationsPart = ({ translations }: Readonly<{ translations?: Translations }>): Pick<EmailDraft, 'translations'> =>
  translations === undefined
    ? {}
    : { translations: Object.fromEntries(Object.entries(translations).map(([tag, texts]) => [tag, { ...texts }])) };

export const templateRecord = ({ id, template, revision }: Known<TemplateId, Template>): TemplateRecord => ({
  ...templateListing(id, template),
  tracking: template.draft.tracking ?? null,
  strictVariables: template.draft.strictVariables === true,
  translations: template.draft.translations ?? {},
  revision,
  variables: template.draft.variables,
  schema: template.draft.schema,
});

export const attachmentTemplateRecord = ({
  id,
  template,
  revision,
}: Known<AttachmentTemplateId, AttachmentTemplate>): AttachmentTemplateRecord => ({
  ...attachmentTemplateListing(id, template),
  strictVariables: template.draft.strictVariables === true,
  translations: template.draft.translations ?? {},
  revision,
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

export const templateVersionRecord = ({
  published: { version, publishedAt },
  current,
  draft: {
    name,
    subject,
    description,
    from,
    unsubscribeList,
    tracking,
    locale,
    timeZone,
    strictVariables,
    translations,
    variables,
    schema,
  },
}: KnownVersion<EmailDraft, unknown>): TemplateVersionRecord => ({
  version,
  name,
  subject,
  publishedAt,
  current,
  description,
  type: 'email',
  from,
  unsubscribeList: unsubscribeList ?? null,
  tracking: tracking ?? null,
  locale,
  timeZone,
  strictVariables: strictVariables === true,
  translations: translations ?? {},
  variables,
  schema,
});

export const attachmentTemplateVersionRecord = ({
  published: { version, publishedAt },
  current,
  draft: { name, description, locale, timeZone, strictVariables, translations, variables, schema },
}: KnownVersion<AttachmentDraft, unknown>): AttachmentTemplateVersionRecord => ({
  version,
  name,
  publishedAt,
  current,
  description,
  type: 'attachment',
  outputFormats: [...schema.outputFormats],
  locale,
  timeZone,
  strictVariables: strictVariables === true,
  translations: translations ?? {},
  variables,
  schema,
});
