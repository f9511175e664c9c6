/**
 * Blocks: what their drafts are checked for, their content, and the pins of the blocks that a template shows. A mail is
 * rendered with its pins however often, whatever is published or deleted meanwhile.
 */
import { memoized } from '../core/memoize.js';
import { translationsPart, type Checked } from './answers.js';
import { draftOf, findTemplateOf, type Compiling, type TemplateKindOf } from './lifecycle.js';
import type { TemplateNeeds } from './needs.js';
import { DomainError, type FieldError } from '../../domain/core/errors.js';
import {
  assertDefined,
  blockSlugStream,
  blockStream,
  parseBlockId,
  type BlockId,
  type TeamId,
} from '../../domain/core/ids.js';
import type { Limits } from '../../domain/core/limits.js';
import type { StoredBlock } from '../../domain/core/stored-schemas.js';
import {
  expandDocument,
  expandEmail,
  referenceKey,
  referencesIn,
  type BlockReference,
  type FindBlock,
  type FoundBlock,
} from '../../domain/rendering/blocks.js';
import { checkBlockIncludes } from '../../domain/rendering/check/includes.js';
import { checkBlock } from '../../domain/rendering/check/block.js';
import {
  DEFAULT_LOCALE,
  DEFAULT_TIME_ZONE,
  type AttachmentTemplateContent,
  type BlockContent,
  type EmailTemplateContent,
} from '../../domain/rendering/content.js';
import { blockDecider, blockRules, contentOfBlock } from '../../domain/templates/block.js';
import { findVersion } from '../../domain/templates/decider.js';
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
  compiling: (deps, { teamId }) => checkingIncludes(deps, teamId),
};

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

const checkingIncludes = (deps: TemplateNeeds, teamId: TeamId): Compiling<'block'> => {
  const includes = openIncludes(deps, teamId);
  const atOnce = (draft: BlockDraft, slug: string | undefined): void => {
    const asked = { slug, find: includes.find, limits: deps.limits };
    // A template shows the block in some output, so one that can show all that it includes is enough.
    const tried = draft.outputs.map((output) =>
      checkBlockIncludes(contentOfBlock(draft), { ...asked, outputs: [output] }),
    );
    const fewest = tried.reduce((least, faults) => (faults.length < least.length ? faults : least));
    refuseIncludes(fewest, 'the block');
  };
  const inTurns = async (draft: BlockDraft, slug: string | undefined): Promise<void> => {
    await includes.load(draft);
    atOnce(draft, slug);
  };
  return { compiled: { inTurns, atOnce }, warnings: () => [] };
};

/** Most blocks of one template, those that blocks include among them. */
export const PINNED_BLOCKS_MAX = 100;

export type PinnedBlocks = readonly StoredBlock[];

const keyOf = ({ slug, wanted }: StoredBlock): string => `${slug}@${wanted}`;

/** Part of a cache key: names the blocks of a template at their revisions; empty where there are none. */
export const blocksKey = (pinned: PinnedBlocks | undefined): string =>
  (pinned ?? []).map(({ slug, wanted, id, revision }) => `:${slug}@${wanted}=${id}.${revision}`).join('');

/**
 * In: the blocks that a template names itself. Out: the pins of all that it shows; undefined where it names none.
 * Rejects with BLOCK_NOT_FOUND for a block or a version that is not there, or is not published.
 */
export const pinBlocks = async (
  deps: TemplateNeeds,
  teamId: TeamId,
  references: readonly BlockReference[] | undefined,
): Promise<PinnedBlocks | undefined> => {
  if (references === undefined || references.length === 0) return undefined;
  const { pinned, missing, isTooMany } = await pinsOf(deps, teamId, references);
  if (isTooMany) throw tooManyBlocks();
  const [first] = missing;
  if (first !== undefined) throw blockMissing(first);
  return pinned;
};

/** `missing`: the blocks that are not there. `isTooMany`: there are more than are pinned. */
export type Pins = Readonly<{ pinned: PinnedBlocks; missing: readonly BlockReference[]; isTooMany: boolean }>;

/** The blocks that a reference shows once a draft is published. */
type Changed = Readonly<{ key: string; inside: readonly BlockReference[] }>;

/** The pins of all blocks that are there. */
export const pinsOf = async (
  deps: TemplateNeeds,
  teamId: TeamId,
  references: readonly BlockReference[],
  changed?: Changed,
): Promise<Pins> => {
  const pinned = new Map<string, StoredBlock>();
  const missing: BlockReference[] = [];
  const seen = new Set<string>();
  const open = [...references];
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    const key = referenceKey(next);
    if (seen.has(key)) continue;
    seen.add(key);
    if (seen.size > PINNED_BLOCKS_MAX) return { pinned: [...pinned.values()], missing, isTooMany: true };
    const found = await versionOf(deps, teamId, next);
    if (found === undefined) missing.push(next);
    else pinned.set(key, found.block);
    open.push(...(key === changed?.key ? changed.inside : (found?.inside ?? [])));
  }
  return { pinned: [...pinned.values()], missing, isTooMany: false };
};

const tooManyBlocks = (): DomainError => new DomainError('TEMPLATE_INVALID', `The template ${TOO_MANY_BLOCKS}.`);

/** The fault of a template with more blocks than may be pinned. */
export const TOO_MANY_BLOCKS = `shows more than ${PINNED_BLOCKS_MAX} blocks, those that blocks include among them`;

const versionOf = async (
  deps: TemplateNeeds,
  teamId: TeamId,
  { slug, version: wanted }: BlockReference,
): Promise<Readonly<{ block: StoredBlock; inside: readonly BlockReference[] }> | undefined> => {
  const known = await findTemplateOf(blockKind, deps, teamId, slug);
  // An id has the form of a slug. A template that named one would not count as a use of the block.
  if (known?.template.slug !== slug) return undefined;
  const { published } = known.template;
  if (wanted === 'latest' ? published.length === 0 : !published.some(({ version }) => version === wanted))
    return undefined;
  const { revision, version, shown } = findVersion(
    blockRules,
    known.template,
    wanted === 'latest' ? 'published' : wanted,
  );
  return {
    block: { slug, wanted: String(wanted), id: known.id, revision, version: version ?? 0 },
    inside: shown.blocks ?? [],
  };
};

const blockMissing = ({ slug, version }: BlockReference): DomainError =>
  new DomainError(
    'BLOCK_NOT_FOUND',
    version === 'latest'
      ? `The template includes the block "${slug}", of which no version is published. GET /api/blocks lists yours.`
      : `The template includes version ${version} of the block "${slug}", which is not there.`,
    { relatedInfo: { block: slug } },
  );

type Loading = Pick<TemplateNeeds, 'eventLog'> & Readonly<{ limits: Limits }>;

/** Loads pinned blocks. Out: a function that finds them by what templates name. */
export const finderOf = async (
  deps: Pick<TemplateNeeds, 'eventLog'>,
  pinned: PinnedBlocks | undefined,
): Promise<FindBlock> => {
  const found = new Map<string, FoundBlock>();
  for (const block of pinned ?? []) {
    const id = assertDefined(parseBlockId(block.id), 'block id');
    found.set(keyOf(block), { version: block.version, content: await blockContentAt(deps, id, block.revision) });
  }
  return (reference) => found.get(referenceKey(reference));
};

/** In: a template in the language of its mail. Out: the template with its blocks at the revisions of the pins. */
export const emailWithBlocks = async (
  deps: Loading,
  content: EmailTemplateContent,
  pinned: PinnedBlocks | undefined,
): Promise<EmailTemplateContent> =>
  pinned === undefined ? content : expandEmail(content, { find: await finderOf(deps, pinned), limits: deps.limits });

/** `emailWithBlocks` for attachment templates. */
export const documentWithBlocks = async (
  deps: Loading,
  content: AttachmentTemplateContent,
  pinned: PinnedBlocks | undefined,
): Promise<AttachmentTemplateContent> =>
  pinned === undefined ? content : expandDocument(content, { find: await finderOf(deps, pinned), limits: deps.limits });

/**
 * Looks up what a draft includes. `load` reads the blocks; `find` finds those that were read. A draft that was not
 * looked at, because another call has changed the template meanwhile, finds only the blocks of the one before.
 */
export const openIncludes = (deps: TemplateNeeds, teamId: TeamId) => {
  let found: FindBlock = () => undefined;
  return {
    load: async ({ schema }: Readonly<{ schema: unknown }>): Promise<void> => {
      const references = referencesIn(schema);
      if (references.length === 0) return;
      const { pinned, isTooMany } = await pinsOf(deps, teamId, references);
      if (isTooMany) throw tooManyBlocks();
      found = await finderOf(deps, pinned);
    },
    find: (reference: BlockReference) => found(reference),
  };
};

/** Throws TEMPLATE_INVALID where there are faults of what a template includes. */
export const refuseIncludes = (faults: readonly FieldError[], what: string): void => {
  const [first] = faults;
  if (first === undefined) return;
  const rest = faults.length === 1 ? '' : ` (and ${faults.length - 1} more, see errors)`;
  throw new DomainError('TEMPLATE_INVALID', `${what} is not valid: ${first.field}: ${first.message}${rest}`, {
    errors: [...faults],
  });
};
