/** Attachment templates: what their drafts are checked for, and their content. */
import { memoized } from '../core/memoize.js';
import type { TemplateNeeds } from './needs.js';
import { translationsPart, withStrictness, type Checked } from './answers.js';
import { blocksKey, documentWithBlocks, openIncludes, refuseIncludes, type PinnedBlocks } from './blocks.js';
import { checkDocumentIncludes } from '../../domain/rendering/check/includes.js';
import { draftOf, type TemplateKindOf } from './lifecycle.js';
import { commandsOf } from './templates.js';
import { type AttachmentTemplateContent, DEFAULT_LOCALE, DEFAULT_TIME_ZONE } from '../../domain/rendering/content.js';
import {
  parseShortId,
  SHORT_ID_SIZE_BYTES,
  shortIdOf,
  attachmentTemplateDecider,
  attachmentTemplateRules,
  contentOfAttachment,
} from '../../domain/templates/attachment-template.js';
import { invalid } from '../../domain/core/errors.js';
import {
  attachmentTemplateIdOf,
  attachmentTemplateSlugStream,
  attachmentTemplateStream,
  parseAttachmentTemplateId,
  type AttachmentTemplateId,
  type TeamId,
} from '../../domain/core/ids.js';
import { checkAttachmentTemplate } from '../../domain/rendering/check/document.js';
import { documentInLanguage, languageKey } from '../../domain/rendering/languages.js';
import type { CallLanguage } from '../../domain/rendering/translations.js';
import type { AttachmentDraft } from '../../domain/templates/events.js';

export const attachmentKind: TemplateKindOf<'attachment'> = {
  rules: attachmentTemplateRules,
  decider: attachmentTemplateDecider,
  idOf: (teamId, reference) => {
    const shortId = parseShortId(reference);
    return shortId === undefined ? parseAttachmentTemplateId(reference) : attachmentTemplateIdOf(teamId, shortId);
  },
  slugStream: memoized(1_000, (teamId, slug) => `${teamId} ${slug}`, attachmentTemplateSlugStream),
  load: (deps, id) => deps.attachmentTemplate(attachmentTemplateStream(id)),
  fresh: (deps, teamId) => freeId(deps, teamId),
  prepared: async (_deps, _teamId, written) => written,
  checked: (deps, draft, { outputFormats, ...written }) => {
    refuseOtherFormats(outputFormats, written.schema ?? draft?.schema);
    return checkedDraft(deps, { ...(draft ?? blank), ...written });
  },
  compiling: (deps, { teamId }) => {
    const includes = openIncludes(deps, teamId);
    const atOnce = (draft: AttachmentDraft): void =>
      refuseIncludes(
        checkDocumentIncludes(contentOfAttachment(draft), { find: includes.find, limits: deps.limits }).faults,
        'the attachment template',
      );
    const inTurns = async (draft: AttachmentDraft): Promise<void> => {
      await includes.load(draft);
      atOnce(draft);
    };
    return { compiled: { inTurns, atOnce }, warnings: () => [] };
  },
};

export const attachmentTemplates = commandsOf(attachmentKind);

/** The content of an attachment template at that revision. */
export const attachmentContentAt = async (
  deps: Pick<TemplateNeeds, 'eventLog'>,
  id: AttachmentTemplateId,
  revision: number,
): Promise<AttachmentTemplateContent> => contentOfAttachment(await draftOf(attachmentKind, deps, id, revision));

/** A revision of an attachment template with the blocks that it shows; absent where it shows none. */
export type PinnedAttachment = Readonly<{
  id: AttachmentTemplateId;
  revision: number;
  blocks?: PinnedBlocks | undefined;
}>;

/** Names that revision for ever, in one language and with its blocks. */
export const attachmentCacheKey = ({ id, revision, blocks }: PinnedAttachment, language?: CallLanguage): string =>
  `${id}:${revision}${blocksKey(blocks)}${languageKey(language)}`;

/** The content of a revision in the language of a call, with its blocks. */
export const attachmentInLanguage = async (
  deps: Pick<TemplateNeeds, 'eventLog' | 'limits'>,
  { id, revision, blocks }: PinnedAttachment,
  language: CallLanguage | undefined,
): Promise<AttachmentTemplateContent> =>
  documentWithBlocks(deps, documentInLanguage(await attachmentContentAt(deps, id, revision), language), blocks);

type UncheckedDraft = Omit<AttachmentDraft, 'variables' | 'schema' | 'translations'> &
  Readonly<{ variables: unknown; schema?: unknown; translations?: unknown }>;

const blank: UncheckedDraft = {
  name: '',
  description: '',
  variables: [],
  schema: undefined,
  locale: DEFAULT_LOCALE,
  timeZone: DEFAULT_TIME_ZONE,
};

/** Throws TEMPLATE_INVALID with every fault, or a limit's own code. `warnings`: paths that no variable declares. */
const checkedDraft = (deps: TemplateNeeds, draft: UncheckedDraft): Checked<AttachmentDraft> => {
  const { translations: given, ...untranslated } = draft;
  const { name, variables, schema, locale, timeZone } = draft;
  const { content, warnings } = checkAttachmentTemplate(
    { variables, schema, locale, timeZone, translations: given },
    deps.limits,
    name,
  );
  // Its author looks at a preview next.
  deps.generator.prepare();
  const { outputFormats, pages, fonts, ...rest } = content.schema;
  return {
    draft: {
      ...withStrictness(untranslated),
      variables: [...content.variables],
      schema: {
        ...rest,
        outputFormats: [...outputFormats],
        pages: [...pages],
        ...(fonts === undefined ? {} : { fonts: [...fonts] }),
      },
      ...translationsPart(content),
    },
    warnings: [...warnings, ...deps.renderer.dropped(content)],
  };
};

/**
 * The id is derived from the short id. One of 2^50 short ids is drawn, so it is hardly ever taken; then another is
 * drawn.
 */
const freeId = async (
  deps: TemplateNeeds,
  teamId: TeamId,
): Promise<Readonly<{ id: AttachmentTemplateId; shortId: string }>> => {
  for (;;) {
    const shortId = shortIdOf(deps.ids.bytes(SHORT_ID_SIZE_BYTES));
    const id = attachmentTemplateIdOf(teamId, shortId);
    if ((await attachmentKind.load(deps, id)).teamId === undefined) return { id, shortId };
  }
};

/**
 * An export says its formats twice; a file in which only one of the two was changed is not understood as one of them.
 */
const refuseOtherFormats = (outputFormats: readonly string[] | undefined, schema: unknown): void => {
  if (outputFormats === undefined) return;
  const own =
    typeof schema === 'object' && schema !== null && 'outputFormats' in schema ? schema.outputFormats : undefined;
  if (!Array.isArray(own) || JSON.stringify(own) === JSON.stringify(outputFormats)) return;
  throw invalid('request body', 'outputFormats', 'must be the same as schema.outputFormats, or absent');
};
