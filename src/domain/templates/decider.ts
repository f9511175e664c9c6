/** Rules for every kind of template: how its events fold to a state, the decisions about it, its versions, and who owns a slug. */
import type { Decider } from '../core/decider.js';
import { DomainError } from '../core/errors.js';
import type { TemplateDraft, TemplateEvent, TemplateKind, TemplateSlugEvent } from './events.js';

/** `Shown` is what is kept of a draft when it is published: what lists and send calls need without its content. */
export type PublishedVersion<Shown> = Readonly<{ version: number; revision: number; publishedAt: string }> & Shown;

export type TemplateOf<Draft extends TemplateDraft, Shown> = Readonly<{
  slug: string;
  /** Only attachment templates have one. */
  shortId?: string;
  /** The newest draft and its revision, which counts from 1. */
  draft: Draft;
  revision: number;
  published: readonly PublishedVersion<Shown>[];
  createdAt: string;
  updatedAt: string;
  deletedAt: string | null;
}>;

type Created = Readonly<{ slug: string; shortId?: string; at: string }>;

/** Without a template: not created, created and no draft saved yet (both come in one append), or, where `created` stands, removed. */
export type TemplateStateOf<Draft extends TemplateDraft, Shown> = Readonly<{
  created: Created | undefined;
  template: TemplateOf<Draft, Shown> | undefined;
}>;

export type TemplateCommandOf<Draft extends TemplateDraft> =
  | Readonly<{ type: 'CreateTemplate'; at: string; slug: string; shortId?: string; draft: Draft; publish: boolean }>
  | Readonly<{ type: 'SaveDraft'; at: string; draft: Draft }>
  | Readonly<{ type: 'ChangeSlug'; at: string; slug: string }>
  | Readonly<{ type: 'PublishTemplate'; at: string }>
  | Readonly<{ type: 'DeleteTemplate'; at: string }>
  /** What was deleted before `deletedSince` is gone for good. */
  | Readonly<{ type: 'RestoreTemplate'; at: string; slug: string; deletedSince: string }>
  | RemoveTemplate;

/** Has no effect on a template that is not deleted, that was deleted at `deletedSince` or later, or that is removed. */
export type RemoveTemplate = Readonly<{ type: 'RemoveTemplate'; at: string; deletedSince: string }>;

/** Rules of one kind of template. */
export type TemplateRules<Draft extends TemplateDraft, Shown> = Readonly<{
  kind: TemplateKind;
  isDraft: (draft: TemplateDraft) => draft is Draft;
  shown: (draft: Draft) => Shown;
  notFound: () => DomainError;
}>;

export type TemplateDecider<Draft extends TemplateDraft, Shown> = Decider<
  TemplateCommandOf<Draft>,
  TemplateEvent,
  TemplateStateOf<Draft, Shown>
>;

/** A stream holds one kind of template, so a draft of another kind in it is a broken log: the fold throws then. */
export const makeTemplateDecider = <Draft extends TemplateDraft, Shown>(
  rules: TemplateRules<Draft, Shown>,
): TemplateDecider<Draft, Shown> => ({
  decide: (command, state) => decide(rules, command, state),
  evolve: (state, event) => evolve(rules, state, event),
  initialState: { created: undefined, template: undefined },
});

const same = (a: TemplateDraft, b: TemplateDraft): boolean => JSON.stringify(a) === JSON.stringify(b);

const decide = <Draft extends TemplateDraft, Shown>(
  { kind, notFound }: TemplateRules<Draft, Shown>,
  command: TemplateCommandOf<Draft>,
  { created, template }: TemplateStateOf<Draft, Shown>,
): readonly TemplateEvent[] => {
  if (command.type === 'RemoveTemplate') return remove(command, template);
  if (command.type === 'CreateTemplate' && created === undefined) return create(kind, command);
  if (template === undefined) throw notFound();
  if (command.type === 'CreateTemplate') return [];
  if (command.type === 'RestoreTemplate') return restore(notFound, command, template);
  if (template.deletedAt !== null) throw notFound();
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

const create = (
  kind: TemplateKind,
  { at, slug, shortId, draft, publish }: Extract<TemplateCommandOf<TemplateDraft>, { type: 'CreateTemplate' }>,
): readonly TemplateEvent[] => [
  { type: 'TemplateCreated', data: { at, slug, kind, ...(shortId === undefined ? {} : { shortId }) } },
  { type: 'TemplateDraftSaved', data: { at, revision: 1, draft } },
  ...(publish ? [{ type: 'TemplatePublished' as const, data: { at, version: 1, revision: 1 } }] : []),
];

const restore = (
  notFound: () => DomainError,
  { at, slug, deletedSince }: Extract<TemplateCommandOf<TemplateDraft>, { type: 'RestoreTemplate' }>,
  { slug: former, deletedAt }: Readonly<{ slug: string; deletedAt: string | null }>,
): readonly TemplateEvent[] => {
  if (deletedAt === null) return [];
  if (deletedAt < deletedSince) throw notFound();
  return [
    { type: 'TemplateRestored', data: { at } },
    ...(slug === former ? [] : [{ type: 'TemplateSlugChanged' as const, data: { at, slug } }]),
  ];
};

const remove = (
  { at, deletedSince }: RemoveTemplate,
  template: Readonly<{ deletedAt: string | null }> | undefined,
): readonly TemplateEvent[] =>
  template === undefined || template.deletedAt === null || template.deletedAt >= deletedSince
    ? []
    : [{ type: 'TemplateRemoved', data: { at } }];

const evolve = <Draft extends TemplateDraft, Shown>(
  rules: TemplateRules<Draft, Shown>,
  state: TemplateStateOf<Draft, Shown>,
  event: TemplateEvent,
): TemplateStateOf<Draft, Shown> => {
  const { created, template } = state;
  switch (event.type) {
    case 'TemplateCreated':
      return { created: createdOf(event.data), template };
    case 'TemplateDraftSaved':
      return { created, template: drafted(rules, state, event.data) };
    case 'TemplatePublished': {
      if (template === undefined) return state;
      const { at: publishedAt, version, revision } = event.data;
      const published = { version, revision, ...rules.shown(template.draft), publishedAt };
      return { created, template: { ...template, updatedAt: publishedAt, published: [...template.published, published] } };
    }
    case 'TemplateSlugChanged':
      return template === undefined ? state : { created, template: { ...template, slug: event.data.slug, updatedAt: event.data.at } };
    case 'TemplateDeleted':
      return template === undefined ? state : { created, template: { ...template, deletedAt: event.data.at, updatedAt: event.data.at } };
    case 'TemplateRestored':
      return template === undefined ? state : { created, template: { ...template, deletedAt: null, updatedAt: event.data.at } };
    case 'TemplateRemoved':
      return { created, template: undefined };
  }
};

const createdOf = ({ slug, shortId, at }: Created): Created => ({ slug, at, ...(shortId === undefined ? {} : { shortId }) });

const drafted = <Draft extends TemplateDraft, Shown>(
  { kind, isDraft }: TemplateRules<Draft, Shown>,
  { created, template }: TemplateStateOf<Draft, Shown>,
  { at, revision, draft }: Extract<TemplateEvent, { type: 'TemplateDraftSaved' }>['data'],
): TemplateOf<Draft, Shown> => {
  if (!isDraft(draft)) throw new Error(`a stream of the kind "${kind}" holds the draft of another kind of template`);
  const shortId = template?.shortId ?? created?.shortId;
  return {
    slug: template?.slug ?? created?.slug ?? '',
    ...(shortId === undefined ? {} : { shortId }),
    draft,
    revision,
    published: template?.published ?? [],
    createdAt: template?.createdAt ?? created?.at ?? at,
    updatedAt: at,
    deletedAt: template?.deletedAt ?? null,
  };
};

/** The template that owns a slug; undefined if the slug is free. */
export type SlugState = string | undefined;

export const evolveSlug = (owner: SlugState, event: TemplateSlugEvent): SlugState => {
  switch (event.type) {
    case 'TemplateSlugClaimed':
      return event.data.templateId;
    case 'TemplateSlugReleased':
      return owner === event.data.templateId ? undefined : owner;
  }
};

type Versions<Shown> = Readonly<{ draft: Shown; revision: number; published: readonly PublishedVersion<Shown>[] }>;

/**
 * Finds what a call means by `version`: a revision, its number (null for a draft), and what is shown of it; a draft that is not published
 * changes nothing of it. `unpublished` says what to do where nothing is published. Throws TEMPLATE_NOT_PUBLISHED,
 * TEMPLATE_VERSION_NOT_FOUND.
 */
export const findVersion = <Shown>(
  { draft, revision, published }: Versions<Shown>,
  version: string | number,
  unpublished: string,
): Readonly<{ revision: number; version: number | null; shown: Shown }> => {
  if (version === 'draft') return { revision, version: null, shown: draft };
  const latest = published.at(-1);
  if (version === 'published') {
    if (latest === undefined) throw new DomainError('TEMPLATE_NOT_PUBLISHED', unpublished);
    return { revision: latest.revision, version: latest.version, shown: latest };
  }
  const known = findPublished({ published }, version, 'Use "published", "draft" or a version number.');
  return { revision: known.revision, version: known.version, shown: known };
};

/** The published version of that number; `hint` says what else would be right. Throws TEMPLATE_VERSION_NOT_FOUND. */
export const findPublished = <Shown>(
  { published }: Pick<Versions<Shown>, 'published'>,
  version: string | number,
  hint: string,
): PublishedVersion<Shown> => {
  const known = published.find((one) => String(one.version) === String(version));
  if (known !== undefined) return known;
  const latest = published.at(-1);
  throw new DomainError(
    'TEMPLATE_VERSION_NOT_FOUND',
    `This template has no version ${JSON.stringify(version)}; it has ${latest === undefined ? 'none' : `1 to ${latest.version}`}. ${hint}`,
  );
};

/** What is published of a template, and whether its draft is ahead. */
export type Publication = {
  status: 'draft' | 'published';
  /** The number that the next publish gives, or gave where nothing changed since. */
  version: number;
  publishedVersion: number | null;
};

export const publicationOf = ({ revision, published }: Versions<unknown>): Publication => {
  const latest = published.at(-1);
  const upToDate = latest?.revision === revision;
  return {
    status: upToDate ? 'published' : 'draft',
    version: published.length + (upToDate ? 0 : 1),
    publishedVersion: latest?.version ?? null,
  };
};
