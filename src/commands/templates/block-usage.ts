/**
 * The use of blocks: which templates name one, how a draft of it changes those that follow it, and the commands on
 * blocks, which refuse to delete one that is in use and to publish one that breaks a template.
 */
import { idsOfKind } from '../billing/plan-limits.js';
import { causeOf, type Caller } from '../core/caller.js';
import { attachmentKind } from './attachment-templates.js';
import { blockKind, blocksKey, finderOf, pinsOf, TOO_MANY_BLOCKS, type Pins } from './blocks.js';
import { contentOf, emailIncludeFaults, emailKind } from './email-templates.js';
import { draftOf, mustFindOf, type TemplateKindOf } from './lifecycle.js';
import type { Known } from './answers.js';
import type { TemplateNeeds } from './needs.js';
import { commandsOf } from './templates.js';
import { measuringBudget } from './warnings.js';
import type { BlockImpact, BlockUsage } from '../../api/templates/templates.js';
import { DomainError, type FieldError } from '../../domain/core/errors.js';
import { teamStream, type TeamId } from '../../domain/core/ids.js';
import { companyOf } from '../../domain/teams/state.js';
import {
  expandDocument,
  expandEmail,
  referenceKey,
  referencesIn,
  type BlockReference,
  type FindBlock,
} from '../../domain/rendering/blocks.js';
import { checkDocumentIncludes } from '../../domain/rendering/check/includes.js';
import { compileDocument } from '../../domain/rendering/expand/expand.js';
import { shownLinesOf } from '../../domain/rendering/expand/resources.js';
import { previewVariables } from '../../domain/rendering/fill/variables.js';
import { emailInLanguage } from '../../domain/rendering/languages.js';
import { contentOfAttachment } from '../../domain/templates/attachment-template.js';
import { contentOfBlock } from '../../domain/templates/block.js';
import type { DraftOf, TemplateIdOf, TemplateOf } from '../../domain/templates/decider.js';
import type { TemplateKind } from '../../domain/templates/events.js';
import { nextTurn } from '../../shared/concurrency.js';
import { changedLines } from '../../shared/text.js';

/** Templates whose states are read at a time. */
const AT_ONCE = 32;

type Living<K extends TemplateKind> = Readonly<{ id: TemplateIdOf<K>; template: TemplateOf<K> }>;

/** The living templates of one kind, the oldest first. */
const livingOf = async <K extends TemplateKind>(
  kind: TemplateKindOf<K>,
  deps: TemplateNeeds,
  teamId: TeamId,
): Promise<readonly Living<K>[]> => {
  const living: Living<K>[] = [];
  const ids = await idsOfKind(deps, teamId, kind.rules.streamKind, 'TemplateCreated')();
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    const some = ids.slice(from, from + AT_ONCE).flatMap((text) => kind.rules.parseId(text) ?? []);
    const loaded = await Promise.all(some.map((id) => kind.load(deps, id)));
    for (const [at, { state, teamId: owner }] of loaded.entries()) {
      const { template } = state;
      const id = some[at];
      if (id !== undefined && template !== undefined && template.deletedAt === null && owner === teamId)
        living.push({ id, template });
    }
  }
  return living;
};

const names = (references: readonly BlockReference[] | undefined, slug: string): readonly BlockReference[] =>
  (references ?? []).filter((reference) => reference.slug === slug);

const usesOf = async <K extends TemplateKind>(
  kind: TemplateKindOf<K>,
  deps: TemplateNeeds,
  teamId: TeamId,
  slug: string,
): Promise<BlockUsage['data']> =>
  (await livingOf(kind, deps, teamId)).flatMap(({ id, template }) => {
    const inDraft = names(referencesIn(template.draft.schema), slug);
    const newest = template.published.at(-1);
    const versions = template.published.filter(({ blocks }) => names(blocks, slug).length > 0);
    if (inDraft.length === 0 && versions.length === 0) return [];
    const current = [...inDraft, ...names(newest?.blocks, slug)];
    return [
      {
        type: kind.rules.kind,
        id,
        slug: template.slug,
        name: template.draft.name,
        draft: inDraft.length > 0,
        versions: versions.map(({ version }) => version),
        current: current.length > 0,
        follows: current.some(({ version }) => version === 'latest'),
      },
    ];
  });

/** The places that name the block: templates of mails and of documents, and blocks; their drafts and published versions. */
const allUses = async (deps: TemplateNeeds, teamId: TeamId, slug: string): Promise<BlockUsage['data']> => [
  ...(await usesOf(emailKind, deps, teamId, slug)),
  ...(await usesOf(attachmentKind, deps, teamId, slug)),
  ...(await usesOf(blockKind, deps, teamId, slug)),
];

/** Rejects with BLOCK_NOT_FOUND. */
export const blockUsage = async (deps: TemplateNeeds, caller: Caller, reference: string): Promise<BlockUsage> => {
  const { template } = await mustFindOf(blockKind, deps, caller, reference);
  return { data: await allUses(deps, caller.teamId, template.slug) };
};

const KINDS = { email: 'the template', attachment: 'the attachment template', block: 'the block' } as const;

/** Throws BLOCK_IN_USE. Versions that are published no more do not keep a block. */
const refuseUsed = async (deps: TemplateNeeds, { teamId }: Caller, slug: string): Promise<void> => {
  const uses = (await allUses(deps, teamId, slug)).filter(({ current }) => current);
  if (uses.length === 0) return;
  const errors = uses.slice(0, ERRORS_MAX).map(({ type, slug: user, draft, versions }) => {
    const places = [...(draft ? ['its draft'] : []), ...versions.map((version) => `its version ${version}`)];
    return { field: user, message: `${KINDS[type]} "${user}" includes it in ${places.join(', ')}` };
  });
  throw new DomainError(
    'BLOCK_IN_USE',
    `${uses.length} ${uses.length === 1 ? 'template or block includes' : 'templates and blocks include'} the block "${slug}", such as ${KINDS[uses[0]!.type]} "${uses[0]!.slug}". Nothing was changed; take it out there and publish, or keep the block.`,
    { errors },
  );
};

const ERRORS_MAX = 100;

/** Most revisions of templates that are rendered to find what changes. */
const RENDERED_MAX = 100;

/** Most lines of a change that are told. */
const LINES_MAX = 40;

type Rendering = Readonly<{ whole: string; lines: readonly string[] }>;

/** One revision of a template that follows the block. */
type Follower = Readonly<{
  type: 'email' | 'attachment';
  id: string;
  slug: string;
  name: string;
  /** null: it is a draft. */
  version: number | null;
  references: readonly BlockReference[];
  faults: (find: FindBlock) => Promise<readonly FieldError[]>;
  render: (find: FindBlock) => Promise<Rendering>;
}>;

const followersOf = async <K extends 'email' | 'attachment'>(
  kind: TemplateKindOf<K>,
  deps: TemplateNeeds,
  teamId: TeamId,
  how: Readonly<{
    faults: (draft: DraftOf<K>, find: FindBlock) => readonly FieldError[];
    render: (draft: DraftOf<K>, find: FindBlock) => Promise<Rendering>;
  }>,
): Promise<readonly Follower[]> =>
  (await livingOf(kind, deps, teamId)).flatMap(({ id, template }): readonly Follower[] => {
    const newest = template.published.at(-1);
    const common = { type: kind.rules.kind, id, slug: template.slug, name: template.draft.name };
    const follower = (
      version: number | null,
      references: readonly BlockReference[],
      draft: () => Promise<DraftOf<K>>,
    ): Follower => ({
      ...common,
      version,
      references,
      faults: async (find) => how.faults(await draft(), find),
      render: async (find) => how.render(await draft(), find),
    });
    const all: Follower[] = [];
    if (newest?.blocks !== undefined)
      all.push(follower(newest.version, newest.blocks, () => draftOf(kind, deps, id, newest.revision)));
    const inDraft = newest?.revision === template.revision ? [] : referencesIn(template.draft.schema);
    if (inDraft.length > 0) all.push(follower(null, inDraft, async () => template.draft));
    return all;
  });

const allFollowers = async (deps: TemplateNeeds, caller: Caller): Promise<readonly Follower[]> => {
  const { limits, renderer } = deps;
  const { state: team } = await deps.team(teamStream(caller.teamId));
  const environment = { at: causeOf(deps, caller).at, company: companyOf(team) };
  const emails = await followersOf(emailKind, deps, caller.teamId, {
    faults: (draft, find) => emailIncludeFaults(draft, { find, limits }),
    render: async (draft, find) => {
      const content = expandEmail(emailInLanguage(contentOf(draft), undefined), { find, limits });
      const compiled = await renderer.compileEmailInTurns(content);
      const variables = previewVariables(content.variables, {});
      const { subject, html, text } = compiled({ variables, environment, budget: measuringBudget(deps) });
      return { whole: `${subject}\n${html}`, lines: text.split('\n') };
    },
  });
  const documents = await followersOf(attachmentKind, deps, caller.teamId, {
    faults: (draft, find) => checkDocumentIncludes(contentOfAttachment(draft), { find, limits }).faults,
    render: async (draft, find) => {
      const { strictVariables: _, translations: _texts, ...own } = contentOfAttachment(draft);
      const content = expandDocument(own, { find, limits });
      const [format = 'pdf'] = content.schema.outputFormats;
      const document = compileDocument(content, limits)(previewVariables(content.variables, {}), environment, format);
      return { whole: JSON.stringify(document.pages), lines: shownLinesOf(document) };
    },
  });
  return [...emails, ...documents];
};

const messageOf = (fault: unknown): string => {
  if (fault instanceof DomainError) return fault.message;
  throw fault;
};

/** How the draft of the block changes each revision that follows it, with the sample data of the template. */
const impactOf = async (deps: TemplateNeeds, caller: Caller, known: Known<'block'>): Promise<BlockImpact> => {
  const { slug, draft, published } = known.template;
  const version = published.length + 1;
  const key = referenceKey({ slug, version: 'latest' });
  const changed = { key, inside: referencesIn(draft.schema) };
  const templates: BlockImpact['templates'] = [];
  let notRendered = 0;
  const finders = new Map<string, FindBlock>();
  const finderFor = async ({ pinned }: Pins): Promise<FindBlock> => {
    const find = finders.get(blocksKey(pinned)) ?? (await finderOf(deps, pinned));
    finders.set(blocksKey(pinned), find);
    return find;
  };
  for (const follower of await allFollowers(deps, caller)) {
    const { references, faults, render, ...shown } = follower;
    const pins = await pinsOf(deps, caller.teamId, references);
    const follows =
      pins.pinned.some((block) => block.slug === slug && block.wanted === 'latest') ||
      pins.missing.some((block) => referenceKey(block) === key);
    if (!follows) continue;
    const pinsAfter = await pinsOf(deps, caller.teamId, references, changed);
    const [before, others] = [await finderFor(pins), await finderFor(pinsAfter)];
    const after: FindBlock = (reference) =>
      referenceKey(reference) === key ? { version, content: contentOfBlock(draft) } : others(reference);
    const faultsWith = async ({ isTooMany }: Pins, find: FindBlock): Promise<readonly FieldError[]> =>
      isTooMany ? [{ field: 'schema', message: TOO_MANY_BLOCKS }] : faults(find);
    const wrong = await faultsWith(pinsAfter, after);
    const wrongBefore = new Set(
      wrong.length === 0 ? [] : (await faultsWith(pins, before)).map(({ message }) => message),
    );
    const broken = wrong.filter(({ message }) => !wrongBefore.has(message));
    const isRendered = broken.length === 0 && templates.length < RENDERED_MAX;
    if (broken.length === 0 && !isRendered) notRendered += 1;
    const difference = isRendered ? await differenceOf(render, before, after) : { changed: true, diff: [], faults: [] };
    if (isRendered || broken.length > 0)
      templates.push({ ...shown, ...difference, faults: [...broken, ...difference.faults] });
    await nextTurn();
  }
  return { version, templates, notRendered };
};

type Difference = Pick<BlockImpact['templates'][number], 'changed' | 'diff' | 'faults'>;

const differenceOf = async (render: Follower['render'], before: FindBlock, after: FindBlock): Promise<Difference> => {
  const old = await render(before).catch(messageOf);
  const made = await render(after).catch(messageOf);
  if (typeof made === 'string') {
    // A template that could not be rendered before is not broken by the block.
    const isOld = typeof old === 'string';
    return { changed: !isOld, diff: [], faults: isOld ? [] : [{ field: 'schema', message: made }] };
  }
  if (typeof old === 'string') return { changed: true, diff: [], faults: [] };
  return { changed: old.whole !== made.whole, diff: changedLines(old.lines, made.lines, LINES_MAX), faults: [] };
};

/** Rejects with BLOCK_NOT_FOUND. */
export const blockImpact = async (deps: TemplateNeeds, caller: Caller, reference: string): Promise<BlockImpact> =>
  impactOf(deps, caller, await mustFindOf(blockKind, deps, caller, reference));

/** Throws BLOCK_BREAKS_TEMPLATES where a published version could not be rendered any more. */
const refuseBreaking = async (deps: TemplateNeeds, caller: Caller, known: Known<'block'>): Promise<void> => {
  const { templates } = await impactOf(deps, caller, known);
  const errors = templates.flatMap(({ type, slug, version, faults }) =>
    version === null
      ? []
      : faults.map(({ field, message }) => ({
          field: `${slug}: ${field}`,
          message: `${KINDS[type]} "${slug}" follows the block: ${message}`,
        })),
  );
  const [first] = errors;
  if (first === undefined) return;
  throw new DomainError(
    'BLOCK_BREAKS_TEMPLATES',
    `Nothing was published: ${first.message}${errors.length === 1 ? '' : ` (and ${errors.length - 1} more, see errors)`}. Mend the block, let the template name a version of it, or publish with "force": true.`,
    { errors: errors.slice(0, ERRORS_MAX) },
  );
};

export const blocks = commandsOf({
  ...blockKind,
  mayPublish: refuseBreaking,
  mayGiveUpSlug: (deps, caller, { template }) => refuseUsed(deps, caller, template.slug),
});
