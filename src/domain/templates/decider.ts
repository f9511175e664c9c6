/**
 * Rules for every kind of template: how its events fold to a state, the decisions about it, its versions, and who owns
 * a slug.
 */
import type { Decider } from '../core/decider.js';
import { DomainError } from '../core/errors.js';
import type { AttachmentTemplateId, BlockId, StreamName, TeamId, TemplateId } from '../core/ids.js';
import type { Tracking } from '../recipients/tracking.js';
import { referencesIn, type BlockReference } from '../rendering/blocks.js';
import type { Output } from '../rendering/components.js';
import type { OutputFormat } from '../rendering/content.js';
import type {
  AttachmentDraft,
  BlockDraft,
  EmailDraft,
  TemplateDraft,
  TemplateEvent,
  TemplateKind,
  TemplateSlugEvent,
} from './events.js';

export type TemplateIdOf<K extends TemplateKind> = {
  email: TemplateId;
  attachment: AttachmentTemplateId;
  block: BlockId;
}[K];

export type DraftOf<K extends TemplateKind> = { email: EmailDraft; attachment: AttachmentDraft; block: BlockDraft }[K];

/**
 * Summary of a draft that is kept when it is published, so that lists of versions and send calls need not load its
 * content. `blocks`: those that it names itself; absent for none.
 */
export type ShownOf<K extends TemplateKind> = {
  email: Pick<EmailDraft, 'name' | 'subject' | 'from' | 'unsubscribeList' | 'tracking'>;
  attachment: Pick<AttachmentDraft, 'name'>;
  block: Pick<BlockDraft, 'name'>;
}[K] & { blocks?: readonly BlockReference[] };

/** The part of a summary that names blocks. */
export const blocksPart = ({ schema }: Pick<TemplateDraft, 'schema'>): { blocks?: readonly BlockReference[] } => {
  const blocks = referencesIn(schema);
  return blocks.length === 0 ? {} : { blocks };
};

/** Fields of a version in the list of versions. */
type NamedOf<K extends TemplateKind> = {
  email: { name: string; subject: string };
  attachment: { name: string };
  block: { name: string };
}[K];

/** Fields in the list of templates beside those that every template has. `unsubscribeList`: null for none. */
type ListedOf<K extends TemplateKind> = {
  email: { subject: string; from: EmailDraft['from']; unsubscribeList: string | null };
  attachment: { outputFormats: OutputFormat[] };
  block: { outputs: Output[]; isLayout: boolean };
}[K];

/** Fields of what can be sent by itself; a block has those of the template that includes it. */
type SentAlone = { timeZone: string; strictVariables: boolean };

export const sentAlone = ({ timeZone, strictVariables }: TemplateDraft): SentAlone => ({
  timeZone,
  strictVariables: strictVariables === true,
});

/** Fields of a record beyond that. `tracking`: null if the setting of the team applies. */
type RecordedOf<K extends TemplateKind> = {
  email: { tracking: Tracking | null } & SentAlone;
  attachment: SentAlone;
  block: object;
}[K];

export type PublishedVersion<K extends TemplateKind> = Readonly<{
  version: number;
  revision: number;
  publishedAt: string;
}> &
  ShownOf<K>;

export type TemplateOf<K extends TemplateKind> = Readonly<{
  slug: string;
  /** Only attachment templates have one. */
  shortId?: string;
  /** The newest draft and its revision, which counts from 1. */
  draft: DraftOf<K>;
  revision: number;
  published: readonly PublishedVersion<K>[];
  createdAt: string;
  updatedAt: string;
  /** The actor who saved the draft; absent where its event does not say it. */
  updatedBy?: string;
  deletedAt: string | null;
}>;

type Created = Readonly<{ slug: string; shortId?: string; at: string }>;

/**
 * Without a template: not created, created and no draft saved yet (both come in one append), or, where `created`
 * stands, removed.
 */
export type TemplateStateOf<K extends TemplateKind> = Readonly<{
  created: Created | undefined;
  template: TemplateOf<K> | undefined;
}>;

export type TemplateCommandOf<K extends TemplateKind> =
  | Readonly<{
      type: 'CreateTemplate';
      at: string;
      slug: string;
      shortId?: string;
      draft: DraftOf<K>;
      by?: string;
      publish: boolean;
    }>
  | Readonly<{ type: 'SaveDraft'; at: string; draft: DraftOf<K>; by?: string }>
  | Readonly<{ type: 'ChangeSlug'; at: string; slug: string }>
  | Readonly<{ type: 'PublishTemplate'; at: string }>
  | Readonly<{ type: 'DeleteTemplate'; at: string }>
  /** A template deleted before `deletedSince` cannot be restored. */
  | Readonly<{ type: 'RestoreTemplate'; at: string; slug: string; deletedSince: string }>
  | RemoveTemplate;

/** Has no effect on a template that is not deleted, that was deleted at `deletedSince` or later, or that is removed. */
export type RemoveTemplate = Readonly<{ type: 'RemoveTemplate'; at: string; deletedSince: string }>;

/**
 * One kind of template: its streams, its place in a plan, what it keeps of a draft, and its words. `unpublished` says
 * what to do where nothing is published.
 */
export type TemplateRules<K extends TemplateKind> = Readonly<{
  kind: K;
  streamKind: 'template' | 'attachmentTemplate' | 'block';
  /** The resource of a plan that counts it; blocks have a limit of their own. */
  resource: 'emailTemplates' | 'attachmentTemplates' | undefined;
  parseId: (text: string) => TemplateIdOf<K> | undefined;
  stream: (id: TemplateIdOf<K>) => StreamName;
  slugStream: (teamId: TeamId, slug: string) => StreamName;
  isDraft: (draft: TemplateDraft) => draft is DraftOf<K>;
  shown: (draft: DraftOf<K>) => ShownOf<K>;
  named: (shown: ShownOf<K>) => NamedOf<K>;
  listed: (draft: DraftOf<K>) => ListedOf<K>;
  recorded: (draft: DraftOf<K>) => RecordedOf<K>;
  notFound: () => DomainError;
  unpublished: string;
}>;

export type TemplateDecider<K extends TemplateKind> = Decider<TemplateCommandOf<K>, TemplateEvent, TemplateStateOf<K>>;

/** A stream holds one kind of template, so a draft of another kind in it is a broken log: the fold throws then. */
export const makeTemplateDecider = <K extends TemplateKind>(rules: TemplateRules<K>): TemplateDecider<K> => ({
  decide: (command, state) => decide(rules, command, state),
  evolve: (state, event) => evolve(rules, state, event),
  initialState: { created: undefined, template: undefined },
});

const same = (a: TemplateDraft, b: TemplateDraft): boolean => JSON.stringify(a) === JSON.stringify(b);

const decide = <K extends TemplateKind>(
  { kind, notFound }: TemplateRules<K>,
  command: TemplateCommandOf<K>,
  { created, template }: TemplateStateOf<K>,
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
      return same(command.draft, template.draft) ? [] : [draftSaved({ ...command, revision: template.revision + 1 })];
    case 'ChangeSlug':
      return command.slug === template.slug ? [] : [{ type: 'TemplateSlugChanged', data: { at, slug: command.slug } }];
    case 'PublishTemplate':
      return template.published.at(-1)?.revision === template.revision
        ? []
        : [
            {
              type: 'TemplatePublished',
              data: { at, version: template.published.length + 1, revision: template.revision },
            },
          ];
    case 'DeleteTemplate':
      return [{ type: 'TemplateDeleted', data: { at } }];
  }
};

const create = (
  kind: TemplateKind,
  { at, slug, shortId, draft, by, publish }: Extract<TemplateCommandOf<TemplateKind>, { type: 'CreateTemplate' }>,
): readonly TemplateEvent[] => [
  { type: 'TemplateCreated', data: { at, slug, kind, ...(shortId === undefined ? {} : { shortId }) } },
  draftSaved({ at, revision: 1, draft, ...(by !== undefined && { by }) }),
  ...(publish ? [{ type: 'TemplatePublished' as const, data: { at, version: 1, revision: 1 } }] : []),
];

const draftSaved = ({
  at,
  revision,
  draft,
  by,
}: Readonly<{ at: string; revision: number; draft: TemplateDraft; by?: string }>): TemplateEvent => ({
  type: 'TemplateDraftSaved',
  data: { at, revision, ...(by !== undefined && { by }), draft },
});

const restore = (
  notFound: () => DomainError,
  { at, slug, deletedSince }: Extract<TemplateCommandOf<TemplateKind>, { type: 'RestoreTemplate' }>,
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

const evolve = <K extends TemplateKind>(
  rules: TemplateRules<K>,
  state: TemplateStateOf<K>,
  event: TemplateEvent,
): TemplateStateOf<K> => {
  const { created, template } = state;
  switch (event.type) {
    case 'TemplateCreated':
      return { created: createdOf(event.data), template };
    case 'TemplateDraftSaved':
      return { created, template: drafted(rules, state, event.data) };
    case 'TemplatePublished': {
      if (template === undefined) return state;
      const { at: publishedAt, version, revision } = event.data;
      const published = { version, revision, ...rules.shown(template.draft), publishedAt } as PublishedVersion<K>;
      return {
        created,
        template: { ...template, updatedAt: publishedAt, published: [...template.published, published] },
      };
    }
    case 'TemplateSlugChanged':
      return template === undefined
        ? state
        : { created, template: { ...template, slug: event.data.slug, updatedAt: event.data.at } };
    case 'TemplateDeleted':
      return template === undefined
        ? state
        : { created, template: { ...template, deletedAt: event.data.at, updatedAt: event.data.at } };
    case 'TemplateRestored':
      return template === undefined
        ? state
        : { created, template: { ...template, deletedAt: null, updatedAt: event.data.at } };
    case 'TemplateRemoved':
      return { created, template: undefined };
  }
};

const createdOf = ({ slug, shortId, at }: Created): Created => ({
  slug,
  at,
  ...(shortId === undefined ? {} : { shortId }),
});

const drafted = <K extends TemplateKind>(
  { kind, isDraft }: TemplateRules<K>,
  { created, template }: TemplateStateOf<K>,
  { at, revision, draft, by }: Extract<TemplateEvent, { type: 'TemplateDraftSaved' }>['data'],
): TemplateOf<K> => {
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
    ...(by !== undefined && { updatedBy: by }),
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

type Versions<K extends TemplateKind> = Pick<TemplateOf<K>, 'draft' | 'revision' | 'published'>;

/** `version`: null for a draft. */
export type FoundVersion<K extends TemplateKind> = Readonly<{
  revision: number;
  version: number | null;
  shown: ShownOf<K>;
}>;

/**
 * Finds the revision that a call means by `version`, and what is shown of it: a draft that is not published changes
 * nothing of it. Throws TEMPLATE_NOT_PUBLISHED, TEMPLATE_VERSION_NOT_FOUND.
 */
export const findVersion = <K extends TemplateKind>(
  { shown, unpublished }: Pick<TemplateRules<K>, 'shown' | 'unpublished'>,
  { draft, revision, published }: Versions<K>,
  version: string | number,
): FoundVersion<K> => {
  if (version === 'draft') return { revision, version: null, shown: shown(draft) };
  const latest = published.at(-1);
  if (version === 'published') {
    if (latest === undefined) throw new DomainError('TEMPLATE_NOT_PUBLISHED', unpublished);
    return { revision: latest.revision, version: latest.version, shown: latest };
  }
  const known = findPublished({ published }, version, 'Use "published", "draft" or a version number.');
  return { revision: known.revision, version: known.version, shown: known };
};

/** The published version of that number; `hint` says what else would be right. Throws TEMPLATE_VERSION_NOT_FOUND. */
export const findPublished = <K extends TemplateKind>(
  { published }: Pick<Versions<K>, 'published'>,
  version: string | number,
  hint: string,
): PublishedVersion<K> => {
  const known = published.find((one) => String(one.version) === String(version));
  if (known !== undefined) return known;
  const latest = published.at(-1);
  throw new DomainError(
    'TEMPLATE_VERSION_NOT_FOUND',
    `This template has no version ${JSON.stringify(version)}; it has ${latest === undefined ? 'none' : `1 to ${latest.version}`}. ${hint}`,
  );
};

/** A template as lists show it. */
export type TemplateListing<K extends TemplateKind> = {
  id: string;
  slug: string;
  name: string;
  description: string;
  type: K;
  status: 'draft' | 'published';
  /** The number that the next publish gives, or gave where nothing changed since. */
  version: number;
  publishedVersion: number | null;
  locale: string;
  createdAt: string;
  updatedAt: string;
  /** The actor who saved the draft; null where that is not known. */
  updatedBy: string | null;
} & { email: { timeZone: string }; attachment: { shortId: string; timeZone: string }; block: object }[K] &
  ListedOf<K>;

export const templateListing = <K extends TemplateKind>(
  { kind, listed }: Pick<TemplateRules<K>, 'kind' | 'listed'>,
  id: TemplateIdOf<K>,
  template: TemplateOf<K>,
): TemplateListing<K> => {
  const { slug, shortId, draft, revision, published, createdAt, updatedAt, updatedBy = null } = template;
  const { name, description, locale, timeZone } = draft;
  const latest = published.at(-1);
  const upToDate = latest?.revision === revision;
  return {
    id,
    ...(shortId === undefined ? {} : { shortId }),
    slug,
    name,
    description,
    type: kind,
    ...listed(draft),
    status: upToDate ? 'published' : 'draft',
    version: published.length + (upToDate ? 0 : 1),
    publishedVersion: latest?.version ?? null,
    locale,
    ...(kind !== 'block' && { timeZone }),
    createdAt,
    updatedAt,
    updatedBy,
  } as TemplateListing<K>;
};
