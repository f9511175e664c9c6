/** What the events of one email template add up to, the decisions about it, and how it is shown. */
import { DomainError } from '../errors.js';
import type { TemplateId } from '../ids.js';
import type { EmailDraft } from './events.js';
import {
  findVersion,
  makeTemplateDecider,
  publicationOf,
  type TemplateCommandOf,
  type TemplateOf,
  type TemplateRules,
  type TemplateStateOf,
} from './lifecycle.js';
import type { TemplateListItem, TemplateRecord, TemplateVersion } from './records.js';

type Shown = Pick<EmailDraft, 'name' | 'subject' | 'from'>;
export type Template = TemplateOf<EmailDraft, Shown>;
export type TemplateState = TemplateStateOf<EmailDraft, Shown>;
export type TemplateCommand = TemplateCommandOf<EmailDraft>;

export const templateNotFound = (): DomainError =>
  new DomainError('TEMPLATE_NOT_FOUND', 'There is no template with this id or slug. GET /api/templates lists yours.');

export const templateRules: TemplateRules<EmailDraft, Shown> = {
  kind: 'email',
  isDraft: (draft): draft is EmailDraft => 'subject' in draft,
  shown: ({ name, subject, from }) => ({ name, subject, from }),
  notFound: templateNotFound,
};

export const templateDecider = makeTemplateDecider(templateRules);
export const evolveTemplate = templateDecider.evolve;

/** What a send call means by `version`: a revision, with its own name and sender. */
export type ResolvedVersion = Readonly<{ revision: number; version: number | null; name: string; from: EmailDraft['from'] }>;

/** Throws TEMPLATE_NOT_PUBLISHED, TEMPLATE_VERSION_NOT_FOUND. */
export const resolveVersion = (template: Template, version: string | number): ResolvedVersion => {
  const {
    shown,
    revision,
    version: number,
  } = findVersion(template, version, 'This template has no published version yet: publish it, or send `version: "draft"`.');
  return { revision, version: number, name: shown.name, from: shown.from };
};

export const templateListItem = (id: TemplateId, template: Template): TemplateListItem => {
  const { name, description, subject, from, locale, timeZone } = template.draft;
  return {
    id,
    slug: template.slug,
    name,
    description,
    type: 'email',
    subject,
    from,
    ...publicationOf(template),
    locale,
    timeZone,
    createdAt: template.createdAt,
    updatedAt: template.updatedAt,
  };
};

export const templateRecord = (id: TemplateId, template: Template): TemplateRecord => ({
  ...templateListItem(id, template),
  variables: template.draft.variables,
  schema: template.draft.schema,
});

export const templateVersions = (template: Template): readonly TemplateVersion[] =>
  template.published
    .map(({ version, name, subject, publishedAt }) => ({
      version,
      name,
      subject,
      publishedAt,
      current: version === template.published.at(-1)?.version,
    }))
    .reverse();
