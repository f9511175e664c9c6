/** What the events of one email template add up to, and the decisions about it. */
import type { Decider } from '../decider.js';
import { DomainError } from '../errors.js';
import type { TemplateId } from '../ids.js';
import type { TemplateDraft, TemplateEvent, TemplateSlugEvent } from './events.js';
import type { TemplateListItem, TemplateRecord, TemplateVersion } from './records.js';

export type PublishedVersion = Readonly<{
  version: number;
  revision: number;
  name: string;
  subject: string;
  from: TemplateDraft['from'];
  publishedAt: string;
}>;

export type Template = Readonly<{
  slug: string;
  /** The newest draft and its revision, which counts from 1. */
  draft: TemplateDraft;
  revision: number;
  published: readonly PublishedVersion[];
  createdAt: string;
  updatedAt: string;
  deletedAt: string | null;
}>;

/** undefined: not created, or created and no draft saved yet (both come in one append). */
export type TemplateState = Readonly<{ created: { slug: string; at: string } | undefined; template: Template | undefined }>;

export type TemplateCommand =
  | Readonly<{ type: 'CreateTemplate'; at: string; slug: string; draft: TemplateDraft; publish: boolean }>
  | Readonly<{ type: 'SaveDraft'; at: string; draft: TemplateDraft }>
  | Readonly<{ type: 'ChangeSlug'; at: string; slug: string }>
  | Readonly<{ type: 'PublishTemplate'; at: string }>
  | Readonly<{ type: 'DeleteTemplate'; at: string }>;

export const templateNotFound = (): DomainError =>
  new DomainError('TEMPLATE_NOT_FOUND', 'There is no template with this id or slug. GET /api/templates lists yours.');

const same = (a: TemplateDraft, b: TemplateDraft): boolean => JSON.stringify(a) === JSON.stringify(b);

const decide = (command: TemplateCommand, { template }: TemplateState): readonly TemplateEvent[] => {
  if (command.type === 'CreateTemplate') return template === undefined ? create(command) : [];
  if (template === undefined || template.deletedAt !== null) throw templateNotFound();
  const { at } = command;
  switch (command.type) {
    case 'SaveDraft':
      return same(command.draft, template.draft)
        ? []
        : [{ type: 'TemplateDraftSaved', data: { at, revision: template.revision + 1, draft: command.draft } }];
    case 'ChangeSlug':
      return command.slug === template.slug ? [] : [{ type: 'TemplateSlugChanged', data: { at, slug: command.slug } }];
    case 'PublishTemplate':
      return template.published.at(-1)?.revision === template.revision
        ? []
        : [{ type: 'TemplatePublished', data: { at, version: template.published.length + 1, revision: template.revision } }];
    case 'DeleteTemplate':
      return [{ type: 'TemplateDeleted', data: { at } }];
  }
};

const create = ({ at, slug, draft, publish }: Extract<TemplateCommand, { type: 'CreateTemplate' }>): readonly TemplateEvent[] => [
  { type: 'TemplateCreated', data: { at, slug } },
  { type: 'TemplateDraftSaved', data: { at, revision: 1, draft } },
  ...(publish ? [{ type: 'TemplatePublished' as const, data: { at, version: 1, revision: 1 } }] : []),
];

export const evolveTemplate = (state: TemplateState, event: TemplateEvent): TemplateState => {
  const { created, template } = state;
  switch (event.type) {
    case 'TemplateCreated':
      return { created: { slug: event.data.slug, at: event.data.at }, template };
    case 'TemplateDraftSaved':
      return { created, template: drafted(state, event.data) };
    case 'TemplatePublished':
      return template === undefined
        ? state
        : {
            created,
            template: {
              ...template,
              updatedAt: event.data.at,
              published: [
                ...template.published,
                {
                  version: event.data.version,
                  revision: event.data.revision,
                  name: template.draft.name,
                  subject: template.draft.subject,
                  from: template.draft.from,
                  publishedAt: event.data.at,
                },
              ],
            },
          };
    case 'TemplateSlugChanged':
      return template === undefined ? state : { created, template: { ...template, slug: event.data.slug, updatedAt: event.data.at } };
    case 'TemplateDeleted':
      return template === undefined ? state : { created, template: { ...template, deletedAt: event.data.at, updatedAt: event.data.at } };
  }
};

const drafted = ({ created, template }: TemplateState, data: Extract<TemplateEvent, { type: 'TemplateDraftSaved' }>['data']): Template => ({
  slug: template?.slug ?? created?.slug ?? '',
  draft: data.draft,
  revision: data.revision,
  published: template?.published ?? [],
  createdAt: template?.createdAt ?? created?.at ?? data.at,
  updatedAt: data.at,
  deletedAt: template?.deletedAt ?? null,
});

export const templateDecider: Decider<TemplateCommand, TemplateEvent, TemplateState> = {
  decide,
  evolve: evolveTemplate,
  initialState: { created: undefined, template: undefined },
};

/** Which template owns a slug; undefined where it is free. */
export type SlugState = string | undefined;

export const evolveSlug = (owner: SlugState, event: TemplateSlugEvent): SlugState => {
  switch (event.type) {
    case 'TemplateSlugClaimed':
      return event.data.templateId;
    case 'TemplateSlugReleased':
      return owner === event.data.templateId ? undefined : owner;
  }
};

/** What a send call means by `version`: a revision, with its own name and sender; an unpublished draft changes nothing of it. */
export type ResolvedVersion = Readonly<{ revision: number; version: number | null; name: string; from: TemplateDraft['from'] }>;

export const resolveVersion = (template: Template, version: string | number): ResolvedVersion => {
  if (version === 'draft') return { revision: template.revision, version: null, name: template.draft.name, from: template.draft.from };
  const latest = template.published.at(-1);
  if (version === 'published') {
    if (latest === undefined) {
      throw new DomainError('TEMPLATE_NOT_PUBLISHED', 'This template has no published version yet: publish it, or send `version: "draft"`.');
    }
    return resolved(latest);
  }
  const known = template.published.find((published) => String(published.version) === String(version));
  if (known === undefined) {
    throw new DomainError(
      'TEMPLATE_VERSION_NOT_FOUND',
      `This template has no version ${JSON.stringify(version)}; it has ${latest === undefined ? 'none' : `1 to ${latest.version}`}. Use "published", "draft" or a version number.`,
    );
  }
  return resolved(known);
};

const resolved = ({ revision, version, name, from }: PublishedVersion): ResolvedVersion => ({ revision, version, name, from });

export const templateListItem = (id: TemplateId, template: Template): TemplateListItem => {
  const latest = template.published.at(-1);
  const upToDate = latest?.revision === template.revision;
  const { name, description, subject, from, locale, timeZone } = template.draft;
  return {
    id,
    slug: template.slug,
    name,
    description,
    type: 'email',
    subject,
    from,
    status: upToDate ? 'published' : 'draft',
    version: template.published.length + (upToDate ? 0 : 1),
    publishedVersion: latest?.version ?? null,
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
