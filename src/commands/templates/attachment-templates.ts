/** Commands on attachment templates: create, import, change, publish, delete, restore, read. */
import type { Caller } from '../core/caller.js';
import { memoized } from '../core/memo.js';
import type { TemplateNeeds } from './needs.js';
import { assetWarnings } from './warnings.js';
import {
  attachmentTemplateRecord,
  attachmentTemplateVersionRecord,
  tellingChange,
  translationsPart,
  versionsOfAttachmentTemplate,
  withStrictness,
  requireReadOnlyParts,
  requireRevision,
  writtenOf,
  type ExpectedRevisions,
} from './answers.js';
import {
  changeOf,
  createOf,
  deleteOf,
  draftOf,
  findTemplateOf,
  mustFindOf,
  publishOf,
  type Imported,
  type Known,
  type TemplateKindOf,
  slugOf,
} from './lifecycle.js';
import { restoreOf, restoreVersionOf, versionOf } from './versions.js';
import type {
  AttachmentTemplateRecord,
  SavedAttachmentTemplate,
  AttachmentTemplateVersion,
  AttachmentTemplateVersionRecord,
  CreateAttachmentTemplateRequest,
  ImportAttachmentTemplateRequest,
  UpdateAttachmentTemplateRequest,
  RestoreTemplateRequest,
} from '../../api/templates/templates.js';
import { type AttachmentTemplateContent, DEFAULT_LOCALE, DEFAULT_TIME_ZONE } from '../../domain/rendering/content.js';
import {
  parseShortId,
  SHORT_ID_SIZE_BYTES,
  shortIdOf,
  attachmentTemplateDecider,
  attachmentTemplateRules,
  contentOfAttachment,
  type AttachmentTemplate,
} from '../../domain/templates/attachment-template.js';
import { invalid, type FieldError } from '../../domain/core/errors.js';
import {
  attachmentTemplateIdOf,
  attachmentTemplateSlugStream,
  attachmentTemplateStream,
  parseAttachmentTemplateId,
  type AttachmentTemplateId,
  type TeamId,
} from '../../domain/core/ids.js';
import type { Deleted } from '../../api/core/common.js';
import { checkAttachmentTemplate } from '../../domain/rendering/check/document.js';
import { languageKey } from '../../domain/rendering/languages.js';
import type { CallLanguage } from '../../domain/rendering/translations.js';
import type { AttachmentDraft } from '../../domain/templates/events.js';

type KnownAttachmentTemplate = Known<AttachmentTemplateId, AttachmentTemplate>;

const kind: TemplateKindOf<AttachmentTemplateId, AttachmentDraft, Pick<AttachmentDraft, 'name'>> = {
  rules: attachmentTemplateRules,
  decider: attachmentTemplateDecider,
  parseId: parseAttachmentTemplateId,
  idOf: (teamId, reference) => {
    const shortId = parseShortId(reference);
    return shortId === undefined ? parseAttachmentTemplateId(reference) : attachmentTemplateIdOf(teamId, shortId);
  },
  stream: attachmentTemplateStream,
  slugStream: memoized(1_000, (teamId, slug) => `${teamId} ${slug}`, attachmentTemplateSlugStream),
  load: (deps, id) => deps.attachmentTemplate(attachmentTemplateStream(id)),
};

/** In: an id, a short id or a slug. Out: the team's living template, or undefined: another team's is never told apart from an unknown one. */
export const findAttachmentTemplate = (
  deps: TemplateNeeds,
  teamId: TeamId,
  reference: string,
): Promise<KnownAttachmentTemplate | undefined> => findTemplateOf(kind, deps, teamId, reference);

/** The content of an attachment template at that revision. */
export const attachmentContentAt = async (
  deps: Pick<TemplateNeeds, 'eventLog'>,
  id: AttachmentTemplateId,
  revision: number,
): Promise<AttachmentTemplateContent> => contentOfAttachment(await draftOf(kind, deps, id, revision));

/** Names that revision for ever, in one language. */
export const attachmentCacheKey = (id: AttachmentTemplateId, revision: number, language?: CallLanguage): string =>
  `${id}:${revision}${languageKey(language)}`;

/** `reference`: id, short id or slug, here and in the commands below. */
export const getAttachmentTemplate = async (deps: TemplateNeeds, caller: Caller, reference: string): Promise<AttachmentTemplateRecord> =>
  attachmentTemplateRecord(await mustFindOf(kind, deps, caller, reference));

export const updateAttachmentTemplate = async (
  deps: TemplateNeeds,
  caller: Caller,
  reference: string,
  request: UpdateAttachmentTemplateRequest,
  expected?: ExpectedRevisions,
): Promise<SavedAttachmentTemplate> => {
  const { slug, outputFormats: formats, ...changes } = writtenOf(request);
  const { id } = await mustFindOf(kind, deps, caller, reference);
  const { changed, warnings } = tellingChange((draft: AttachmentDraft) => {
    refuseOtherFormats(formats, changes.schema ?? draft.schema);
    return checkedDraft(deps, { ...draft, ...changes });
  });
  const expects = (template: AttachmentTemplate, revision: number): void => {
    requireRevision(revision, expected);
    requireReadOnlyParts(request, attachmentTemplateRecord({ id, template, revision }), template.published);
  };
  return saved(deps, caller, await changeOf(kind, deps, caller, id, { slug, changed, expects }), warnings());
};

/** The answer to a save, with its warnings. */
const saved = async (
  deps: TemplateNeeds,
  { teamId }: Caller,
  known: KnownAttachmentTemplate,
  warnings: readonly FieldError[],
): Promise<SavedAttachmentTemplate> => ({
  ...attachmentTemplateRecord(known),
  warnings: [...warnings, ...(await assetWarnings(deps, teamId, known.template.draft))],
});

const atRevision =
  (expected: ExpectedRevisions) =>
  (_: unknown, revision: number): void =>
    requireRevision(revision, expected);

export const deleteAttachmentTemplate = async (
  deps: TemplateNeeds,
  caller: Caller,
  reference: string,
  expected?: ExpectedRevisions,
): Promise<Deleted> => ({ id: await deleteOf(kind, deps, caller, reference, atRevision(expected)), deleted: true });

export const publishAttachmentTemplate = async (
  deps: TemplateNeeds,
  caller: Caller,
  reference: string,
  expected?: ExpectedRevisions,
): Promise<AttachmentTemplateRecord> => attachmentTemplateRecord(await publishOf(kind, deps, caller, reference, atRevision(expected)));

export const attachmentTemplateVersions = async (
  deps: TemplateNeeds,
  caller: Caller,
  reference: string,
): Promise<AttachmentTemplateVersion[]> => versionsOfAttachmentTemplate((await mustFindOf(kind, deps, caller, reference)).template);

export const attachmentTemplateVersion = async (
  deps: TemplateNeeds,
  caller: Caller,
  reference: string,
  version: string,
): Promise<AttachmentTemplateVersionRecord> => attachmentTemplateVersionRecord(await versionOf(kind, deps, caller, reference, version));

export const restoreAttachmentTemplateVersion = async (
  deps: TemplateNeeds,
  caller: Caller,
  reference: string,
  version: string,
  expected?: ExpectedRevisions,
): Promise<AttachmentTemplateRecord> =>
  attachmentTemplateRecord(await restoreVersionOf(kind, deps, caller, reference, { version, expects: atRevision(expected) }));

/** `reference`: an id or a short id. */
export const restoreAttachmentTemplate = async (
  deps: TemplateNeeds,
  caller: Caller,
  reference: string,
  { slug }: RestoreTemplateRequest,
): Promise<AttachmentTemplateRecord> => attachmentTemplateRecord(await restoreOf(kind, deps, caller, reference, slug));

type UncheckedDraft = Omit<AttachmentDraft, 'variables' | 'schema' | 'translations'> &
  Readonly<{ variables: unknown; schema: unknown; translations?: unknown }>;

/** Throws TEMPLATE_INVALID with every fault, or a limit's own code. `warnings`: paths that no variable declares. */
const checkedDraft = (
  deps: TemplateNeeds,
  draft: UncheckedDraft,
): Readonly<{ draft: AttachmentDraft; warnings: readonly FieldError[] }> => {
  const { translations: given, ...untranslated } = draft;
  const { name, variables, schema, locale, timeZone } = draft;
  const { content, warnings } = checkAttachmentTemplate({ variables, schema, locale, timeZone, translations: given }, deps.limits, name);
  // Its author looks at a preview next.
  deps.generator.prepare();
  const { outputFormats, pages, fonts, ...rest } = content.schema;
  return {
    draft: {
      ...withStrictness(untranslated),
      variables: [...content.variables],
      schema: { ...rest, outputFormats: [...outputFormats], pages: [...pages], ...(fonts === undefined ? {} : { fonts: [...fonts] }) },
      ...translationsPart(content),
    },
    warnings: [...warnings, ...deps.renderer.dropped(content)],
  };
};

export const createAttachmentTemplate = async (
  deps: TemplateNeeds,
  caller: Caller,
  request: CreateAttachmentTemplateRequest,
): Promise<SavedAttachmentTemplate> => {
  refuseOtherFormats(request.outputFormats, request.schema);
  const { draft, warnings } = checkedDraft(deps, {
    name: request.name,
    description: request.description ?? '',
    variables: request.variables ?? [],
    schema: request.schema,
    locale: request.locale ?? DEFAULT_LOCALE,
    timeZone: request.timeZone ?? DEFAULT_TIME_ZONE,
    ...(request.strictVariables === undefined ? {} : { strictVariables: request.strictVariables }),
    translations: request.translations,
  });
  const { id, shortId } = await freeId(deps, caller.teamId);
  const slug = request.slug ?? slugOf(request.name, id);
  const made = await createOf(kind, deps, caller, { id, shortId, slug, draft, publish: request.publish ?? false });
  return saved(deps, caller, made, warnings);
};

/** The id is derived from the short id. One of 2^50 short ids is drawn, so it is hardly ever taken; then another is drawn. */
const freeId = async (deps: TemplateNeeds, teamId: TeamId): Promise<Readonly<{ id: AttachmentTemplateId; shortId: string }>> => {
  for (;;) {
    const shortId = shortIdOf(deps.ids.bytes(SHORT_ID_SIZE_BYTES));
    const id = attachmentTemplateIdOf(teamId, shortId);
    if ((await kind.load(deps, id)).teamId === undefined) return { id, shortId };
  }
};

/** Saves and publishes. If the team has a template of that slug, it gets a next version, and `created` is false. */
export const importAttachmentTemplate = async (
  deps: TemplateNeeds,
  caller: Caller,
  request: ImportAttachmentTemplateRequest,
): Promise<Imported<SavedAttachmentTemplate>> => {
  const { name, slug, description, variables, schema, locale, timeZone, strictVariables, translations, outputFormats } = request;
  refuseOtherFormats(outputFormats, schema);
  const given = Object.fromEntries(
    Object.entries({ description, variables, locale, timeZone, strictVariables, translations }).filter(([, value]) => value !== undefined),
  );
  const known = slug === undefined ? undefined : await findAttachmentTemplate(deps, caller.teamId, slug);
  if (known === undefined)
    return {
      template: await createAttachmentTemplate(deps, caller, {
        ...given,
        ...(slug === undefined ? {} : { slug }),
        name,
        schema,
        publish: true,
      }),
      created: true,
    };
  const { changed, warnings } = tellingChange((draft: AttachmentDraft) => checkedDraft(deps, { ...draft, ...given, name, schema }));
  await changeOf(kind, deps, caller, known.id, { slug: undefined, changed });
  return { template: await saved(deps, caller, await publishOf(kind, deps, caller, known.id), warnings()), created: false };
};

/** An export says its formats twice; a file in which only one of the two was changed is not understood as one of them. */
const refuseOtherFormats = (outputFormats: readonly string[] | undefined, schema: unknown): void => {
  if (outputFormats === undefined) return;
  const own = typeof schema === 'object' && schema !== null && 'outputFormats' in schema ? schema.outputFormats : undefined;
  if (!Array.isArray(own) || JSON.stringify(own) === JSON.stringify(outputFormats)) return;
  throw invalid('request body', 'outputFormats', 'must be the same as schema.outputFormats, or absent');
};
