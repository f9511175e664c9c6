/** Blocks: what their drafts are checked for, and their content. */
import { memoized } from '../core/memoize.js';
import { translationsPart, type Checked } from './answers.js';
import { draftOf, type TemplateKindOf } from './lifecycle.js';
import type { TemplateNeeds } from './needs.js';
import { commandsOf } from './templates.js';
import { assertDefined, blockSlugStream, blockStream, parseBlockId, type BlockId } from '../../domain/core/ids.js';
import { checkBlock } from '../../domain/rendering/check/block.js';
import { DEFAULT_LOCALE, DEFAULT_TIME_ZONE, type BlockContent } from '../../domain/rendering/content.js';
import { blockDecider, blockRules, contentOfBlock } from '../../domain/templates/block.js';
import type { BlockDraft } from '../../domain/templates/events.js';

export const blockKind: TemplateKindOf<'block'> = {
  rules: blockRules,
  decider: blockDecider,
  idOf: (_, reference) => parseBlockId(reference),
  slugStream: memoized(1_000, (teamId, slug) => `${teamId} ${slug}`, blockSlugStream),
  load: (deps, id) => deps.block(blockStream(id)),
  fresh: async (deps) => ({ id: assertDefined(parseBlockId(deps.ids.uuid()), 'block id') }),
  prepared: async (_deps, _teamId, written) => written,
  checked: (deps, draft, written) => checkedDraft(deps, { ...(draft ?? blank), ...written }),
  compiling: () => ({ warnings: () => [] }),
};

export const blocks = commandsOf(blockKind);

/** The content of a block at that revision. */
export const blockContentAt = async (
  deps: Pick<TemplateNeeds, 'eventLog'>,
  id: BlockId,
  revision: number,
): Promise<BlockContent> => contentOfBlock(await draftOf(blockKind, deps, id, revision));

type UncheckedDraft = Omit<BlockDraft, 'variables' | 'schema' | 'translations' | 'outputs'> &
  Readonly<{ variables: unknown; schema?: unknown; translations?: unknown }>;

const blank: UncheckedDraft = {
  name: '',
  description: '',
  variables: [],
  schema: undefined,
  locale: DEFAULT_LOCALE,
  timeZone: DEFAULT_TIME_ZONE,
};

/** Throws TEMPLATE_INVALID with every fault, or a limit's own code. */
const checkedDraft = (
  { limits }: Pick<TemplateNeeds, 'limits'>,
  { name, description, timeZone, variables, schema, locale, translations }: UncheckedDraft,
): Checked<BlockDraft> => {
  const { content, outputs, warnings } = checkBlock({ variables, schema, locale, translations }, limits);
  return {
    draft: {
      name,
      description,
      variables: [...content.variables],
      schema: content.schema,
      locale,
      timeZone,
      outputs: [...outputs],
      ...translationsPart(content),
    },
    warnings,
  };
};
