/**
 * Lifecycle of every kind of template: found by a reference, created, changed, published, deleted; and the slug that it
 * claims, confirms and gives up.
 */
import { openTurns } from '../../shared/concurrency.js';
import { causeOf, type Caller } from '../core/caller.js';
import type { TemplateNeeds } from './needs.js';
import type { Loaded } from '../core/ports.js';
import { handle, loadState } from '../core/handle.js';
import { DomainError, invalid, type FieldError, WrongExpectedRevision } from '../../domain/core/errors.js';
import { parseTemplateId, type StreamName, assertDefined, type TeamId } from '../../domain/core/ids.js';
import {
  evolveSlug,
  type DraftOf,
  type SlugState,
  type TemplateDecider,
  type TemplateIdOf,
  type TemplateOf,
  type TemplateRules,
  type TemplateStateOf,
} from '../../domain/templates/decider.js';
import { idsOfKind, inPlace, openPlaces, withPlace, type Place, type Standing } from '../billing/plan-limits.js';
import type { TemplateKind } from '../../domain/templates/events.js';
import { isoTime } from '../../domain/core/time.js';
import type {
  UpdateAttachmentTemplateRequest,
  UpdateBlockRequest,
  UpdateTemplateRequest,
} from '../../api/templates/templates.js';
import { requireRevision, type Checked, type Known, type NotWritten } from './answers.js';
import { referencesIn } from '../../domain/rendering/blocks.js';

/** One kind of templates, as the commands on it are told apart. */
export type TemplateKindOf<K extends TemplateKind> = Readonly<{
  rules: TemplateRules<K>;
  decider: TemplateDecider<K>;
  /** The id that a reference holds by itself, beside a slug, which has to be looked up. */
  idOf: (teamId: TeamId, reference: string) => TemplateIdOf<K> | undefined;
  slugStream: (teamId: TeamId, slug: string) => StreamName;
  load: (deps: TemplateNeeds, id: TemplateIdOf<K>) => Promise<Loaded<TemplateStateOf<K>>>;
  /** A route beside those of single templates, so a template with this slug could not be asked for. */
  reservedSlug?: string;
  /** An id that no template has, drawn for a new one. */
  fresh: (deps: TemplateNeeds, teamId: TeamId) => Promise<Readonly<{ id: TemplateIdOf<K>; shortId?: string }>>;
  /** Prepares the author's fields before they are checked. */
  prepared: (deps: TemplateNeeds, teamId: TeamId, written: WrittenOf<K>) => Promise<WrittenOf<K>>;
  /**
   * The draft (undefined: that of a new template) with what an author writes. Throws TEMPLATE_INVALID with every fault,
   * or a limit's own code.
   */
  checked: (deps: TemplateNeeds, draft: DraftOf<K> | undefined, written: WrittenOf<K>) => Checked<DraftOf<K>>;
  compiling: (deps: TemplateNeeds, caller: Caller) => Compiling<K>;
  /** Rejects where the draft must not be published; not called where the caller insists on it. */
  mayPublish?: (deps: TemplateNeeds, caller: Caller, known: Known<K>) => Promise<void>;
  /** Rejects where the template must keep its slug: it must neither be deleted nor renamed. */
  mayGiveUpSlug?: (deps: TemplateNeeds, caller: Caller, known: Known<K>) => Promise<void>;
}>;

/** Author's fields in the body of a request, without the slug. */
export type WrittenOf<K extends TemplateKind> = {
  email: Omit<UpdateTemplateRequest, NotWritten>;
  attachment: Omit<UpdateAttachmentTemplateRequest, NotWritten>;
  block: Omit<UpdateBlockRequest, NotWritten>;
}[K];

/**
 * `compiled`: refuses a draft that cannot be rendered, in turns of the event loop, or at once where another call has
 * changed the template meanwhile. It is also refused where what it includes cannot stand there. `slug`: of the template,
 * where it has one. `warnings`: those about the last draft.
 */
export type Compiling<K extends TemplateKind> = Readonly<{
  compiled: Readonly<{
    inTurns: (draft: DraftOf<K>, slug: string | undefined) => Promise<void>;
    atOnce: (draft: DraftOf<K>, slug: string | undefined) => void;
  }>;
  warnings: () => readonly FieldError[];
}>;

/** Result of an import: a new template, or the next version of a known one. */
export type Imported<Template> = Readonly<{ template: Template; created: boolean }>;

/** Throws where the template is not as the caller takes it to be. It sees the newest state, before each decision. */
export type Expects<K extends TemplateKind> = (known: Known<K>) => void;

/**
 * In: an id or a slug. Out: the team's living template, or undefined: another team's is never told apart from an
 * unknown one.
 */
export const findTemplateOf = async <K extends TemplateKind>(
  kind: TemplateKindOf<K>,
  deps: TemplateNeeds,
  teamId: TeamId,
  reference: string,
): Promise<Known<K> | undefined> => {
  const living = (id: TemplateIdOf<K>, { state: { template }, teamId: owner, version }: Loaded<TemplateStateOf<K>>) =>
    template === undefined || template.deletedAt !== null || owner !== teamId
      ? undefined
      : { id, template, revision: version.revision };
  const load = async (id: TemplateIdOf<K>) => living(id, await kind.load(deps, id));
  const id = kind.idOf(teamId, reference);
  const known = id && (await load(id));
  if (known !== undefined) return known;
  const { state: owner } = await deps.slug(kind.slugStream(teamId, reference));
  const ownerId = owner === undefined ? undefined : kind.rules.parseId(owner);
  const named = ownerId && (await load(ownerId));
  // A claim that its template does not use (any more) names nothing.
  return named?.template.slug === reference ? named : undefined;
};

/** Finds a template as `findTemplateOf` does; throws the kind's own "not found". */
export const mustFindOf = async <K extends TemplateKind>(
  kind: TemplateKindOf<K>,
  deps: TemplateNeeds,
  caller: Caller,
  reference: string,
): Promise<Known<K>> => {
  const known = await findTemplateOf(kind, deps, caller.teamId, reference);
  if (known === undefined) throw kind.rules.notFound();
  return known;
};

/** The draft as it was at that revision, from the template's stream. */
export const draftOf = async <K extends TemplateKind>(
  kind: TemplateKindOf<K>,
  deps: Pick<TemplateNeeds, 'eventLog'>,
  id: TemplateIdOf<K>,
  revision: number,
): Promise<DraftOf<K>> => {
  for (const { event } of await deps.eventLog.load(kind.rules.stream(id))) {
    if (event.type === 'TemplateDraftSaved' && event.data.revision === revision && kind.rules.isDraft(event.data.draft))
      return event.data.draft;
  }
  throw new Error(`the stream ${kind.rules.stream(id)} has no revision ${revision}`);
};

/** Throws VALIDATION_ERROR for a slug that no template of the kind can have. */
export const wishOf = <K extends TemplateKind>(
  kind: TemplateKindOf<K>,
  deps: TemplateNeeds,
  { teamId }: Caller,
  { id, slug }: Readonly<{ id: TemplateIdOf<K>; slug: string }>,
): SlugWish => {
  if (slug === kind.reservedSlug)
    throw invalid('request body', 'slug', `must not be "${slug}", which is an address of its own`);
  return {
    slug,
    stream: kind.slugStream(teamId, slug),
    templateId: id,
    usedBy: async (owner) => {
      const ownerId = kind.rules.parseId(owner);
      const template = ownerId && (await kind.load(deps, ownerId)).state.template;
      return template !== undefined && template.deletedAt === null && template.slug === slug;
    },
  };
};

type NewTemplate<K extends TemplateKind> = Readonly<{
  id: TemplateIdOf<K>;
  slug: string;
  shortId?: string;
  draft: DraftOf<K>;
  publish: boolean;
}>;

/** Asks `expects` of living templates; for others the decider answers that they are not found. */
const guardOf =
  <K extends TemplateKind>(id: TemplateIdOf<K>, expects: Expects<K> | undefined) =>
  ({ state: { template }, version }: Loaded<TemplateStateOf<K>>): void => {
    if (template !== undefined && template.deletedAt === null) expects?.({ id, template, revision: version.revision });
  };

export const knownOf = <K extends TemplateKind>(
  id: TemplateIdOf<K>,
  { state, version }: Pick<Loaded<TemplateStateOf<K>>, 'state' | 'version'>,
): Known<K> => ({ id, template: assertDefined(state.template, 'template'), revision: version.revision });

/**
 * Calls `make` if the plan of the team has a place for the template; blocks have a limit of their own. Rejects with
 * PLAN_LIMIT_EXCEEDED, BLOCK_LIMIT_REACHED and CONFLICT, and as `make` does.
 */
export const withPlaceOf = <K extends TemplateKind, Made>(
  kind: TemplateKindOf<K>,
  deps: TemplateNeeds,
  caller: Caller,
  id: TemplateIdOf<K>,
  make: () => Promise<Made>,
): Promise<Made> => {
  const { resource } = kind.rules;
  const place = placeOf(kind, deps, caller, id);
  if (resource !== undefined) return withPlace(deps, caller, { ...place, resource }, make);
  const maximum = deps.limits.templateBlocksMax;
  const refused = () =>
    new DomainError('BLOCK_LIMIT_REACHED', `A team may have ${maximum} blocks; delete one that no template includes.`);
  return inPlace(openPlaces(deps, caller, 'blocks', isoTime(0)), place, { maximum, refused }, make);
};

const placeOf = <K extends TemplateKind>(
  kind: TemplateKindOf<K>,
  deps: TemplateNeeds,
  { teamId }: Caller,
  id: TemplateIdOf<K>,
): Omit<Place, 'resource'> => {
  const standingOf = async (key: string): Promise<Standing> => {
    const { state } = await loadState(deps.eventLog, kind.rules.stream(key as TemplateIdOf<K>), kind.decider);
    if (state.template === undefined) return 'absent';
    return state.template.deletedAt === null ? 'living' : 'gone';
  };
  return { key: id, standingOf, all: idsOfKind(deps, teamId, kind.rules.streamKind, 'TemplateCreated') };
};

/** In: a checked draft and an id that no template has. Out: the template. Throws TEMPLATE_SLUG_TAKEN. */
export const createOf = <K extends TemplateKind>(
  kind: TemplateKindOf<K>,
  deps: TemplateNeeds,
  caller: Caller,
  { id, ...parts }: NewTemplate<K>,
): Promise<Known<K>> => withPlaceOf(kind, deps, caller, id, () => createIn(kind, deps, caller, { id, ...parts }));

const createIn = async <K extends TemplateKind>(
  kind: TemplateKindOf<K>,
  deps: TemplateNeeds,
  caller: Caller,
  { id, ...parts }: NewTemplate<K>,
): Promise<Known<K>> => {
  const claim = await claimSlug(deps, caller, wishOf(kind, deps, caller, { id, slug: parts.slug }));
  const cause = causeOf(deps, caller);
  const made = await handle(
    deps.eventLog,
    kind.rules.stream(id),
    kind.decider,
    { type: 'CreateTemplate', at: cause.at, by: cause.actor, ...parts },
    cause,
  );
  if (!(await confirmSlug(deps, caller, claim))) {
    await handle(deps.eventLog, kind.rules.stream(id), kind.decider, { type: 'DeleteTemplate', at: cause.at }, cause);
    throw slugTaken(parts.slug);
  }
  return knownOf(id, made);
};

/** `changed` makes and checks the draft that the call wants from the newest one; it may be called twice. */
type TemplateChange<K extends TemplateKind> = Readonly<{
  slug: string | undefined;
  changed: (draft: DraftOf<K>) => DraftOf<K>;
  compiled?: Compiling<K>['compiled'];
  expects?: Expects<K>;
}>;

export const changeOf = async <K extends TemplateKind>(
  kind: TemplateKindOf<K>,
  deps: TemplateNeeds,
  caller: Caller,
  reference: string,
  change: TemplateChange<K>,
): Promise<Known<K>> => {
  const known = await mustFindOf(kind, deps, caller, reference);
  const { id, template } = known;
  const { changed, compiled } = change;
  const draft = changed(template.draft);
  await compiled?.inTurns(draft, change.slug ?? template.slug);
  const slug = change.slug === template.slug ? undefined : change.slug;
  if (slug !== undefined) await kind.mayGiveUpSlug?.(deps, caller, known);
  const guard = guardOf(id, change.expects);
  // A slug is not claimed for a change that will be refused.
  if (slug !== undefined && change.expects !== undefined)
    guard(await loadState(deps.eventLog, kind.rules.stream(id), kind.decider));
  const claim =
    slug === undefined ? undefined : await claimSlug(deps, caller, wishOf(kind, deps, caller, { id, slug }));
  const cause = causeOf(deps, caller);
  let before = template;
  const decider = {
    ...kind.decider,
    // The changes are those of the call; what they change is the newest draft, so that of two calls at once neither is
    // lost.
    decide: (_: null, state: TemplateStateOf<K>) => {
      before = state.template ?? template;
      const isSame = before.revision === template.revision;
      const saved = isSame ? draft : changed(before.draft);
      if (!isSame) compiled?.atOnce(saved, change.slug ?? before.slug);
      return [
        ...(slug === undefined ? [] : kind.decider.decide({ type: 'ChangeSlug', at: cause.at, slug }, state)),
        ...kind.decider.decide({ type: 'SaveDraft', at: cause.at, draft: saved, by: cause.actor }, state),
      ];
    },
  };
  const after = knownOf(id, await handle(deps.eventLog, kind.rules.stream(id), decider, null, cause, guard));
  if (claim === undefined || slug === undefined) return after;
  if (!(await confirmSlug(deps, caller, claim))) {
    await takeBack(kind, deps, caller, { id, before, after: after.template });
    throw slugTaken(slug);
  }
  // Another call may have made this change first: then `before` already has this slug.
  if (before.slug !== slug)
    await releaseSlug(deps, caller, { stream: kind.slugStream(caller.teamId, before.slug), templateId: id });
  return after;
};

/** Another template has the slug: undoes what the call changed, except a draft that was changed again meanwhile. */
const takeBack = async <K extends TemplateKind>(
  kind: TemplateKindOf<K>,
  deps: TemplateNeeds,
  caller: Caller,
  { id, before, after }: Readonly<{ id: TemplateIdOf<K>; before: TemplateOf<K>; after: TemplateOf<K> }>,
): Promise<void> => {
  const cause = causeOf(deps, caller);
  const decider = {
    ...kind.decider,
    decide: (_: null, state: TemplateStateOf<K>) => [
      ...kind.decider.decide({ type: 'ChangeSlug', at: cause.at, slug: before.slug }, state),
      ...(state.template?.revision === after.revision
        ? kind.decider.decide(
            { type: 'SaveDraft', at: cause.at, draft: before.draft, by: before.updatedBy ?? cause.actor },
            state,
          )
        : []),
    ],
  };
  await handle(deps.eventLog, kind.rules.stream(id), decider, null, cause);
};

/** A draft that is looked at before it is published may change meanwhile so often. */
const LOOKS_MAX = 4;

export const publishOf = async <K extends TemplateKind>(
  kind: TemplateKindOf<K>,
  deps: TemplateNeeds,
  caller: Caller,
  reference: string,
  how: PublishOptions<K> = {},
): Promise<Known<K>> => {
  for (let looks = 1; ; looks += 1) {
    try {
      const publish = () => publishOnce(kind, deps, caller, reference, how);
      // In a process, publishes of the blocks of a team go one after another: the check of one reads what the others
      // include. Two processes can make a circle at the same moment; sends refuse it until one block is published anew.
      return await (kind.mayPublish === undefined ? publish() : blockTurns(caller.teamId, publish));
    } catch (fault) {
      // A call that names no revision is for the newest draft, which is looked at again.
      const isChanged = fault instanceof DomainError && fault.code === 'REVISION_MISMATCH';
      if (!isChanged || how.isExact === true || looks === LOOKS_MAX) throw fault;
    }
  }
};

const blockTurns = openTurns();

/** `isExact`: `expects` names the revisions that the call is for. */
type PublishOptions<K extends TemplateKind> = Readonly<{ expects?: Expects<K>; isExact?: boolean; force?: boolean }>;

const publishOnce = async <K extends TemplateKind>(
  kind: TemplateKindOf<K>,
  deps: TemplateNeeds,
  caller: Caller,
  reference: string,
  { expects, force = false }: PublishOptions<K>,
): Promise<Known<K>> => {
  const known = await mustFindOf(kind, deps, caller, reference);
  const { id, template, revision } = known;
  expects?.(known);
  const isNew = template.published.at(-1)?.revision !== template.revision;
  const isGuarded = isNew && (kind.mayPublish !== undefined || referencesIn(template.draft.schema).length > 0);
  if (isGuarded) {
    await kind.compiling(deps, caller).compiled.inTurns(template.draft, template.slug);
    if (!force) await kind.mayPublish?.(deps, caller, known);
  }
  const cause = causeOf(deps, caller);
  const command = { type: 'PublishTemplate' as const, at: cause.at };
  // The draft that was looked at is the one that is published.
  const guard = guardOf<K>(id, (now) => {
    expects?.(now);
    if (isGuarded) requireRevision(now.revision, [revision]);
  });
  return knownOf(id, await handle(deps.eventLog, kind.rules.stream(id), kind.decider, command, cause, guard));
};

export const deleteOf = async <K extends TemplateKind>(
  kind: TemplateKindOf<K>,
  deps: TemplateNeeds,
  caller: Caller,
  reference: string,
  expects?: Expects<K>,
): Promise<TemplateIdOf<K>> => {
  const known = await mustFindOf(kind, deps, caller, reference);
  const { id } = known;
  expects?.(known);
  await kind.mayGiveUpSlug?.(deps, caller, known);
  const cause = causeOf(deps, caller);
  const command = { type: 'DeleteTemplate' as const, at: cause.at };
  const { state } = await handle(
    deps.eventLog,
    kind.rules.stream(id),
    kind.decider,
    command,
    cause,
    guardOf(id, expects),
  );
  await releaseSlug(deps, caller, { stream: kind.slugStream(caller.teamId, state.template!.slug), templateId: id });
  return id;
};

/** A slug and the template that wants it. `usedBy`: whether that template lives and has the slug now. */
type SlugWish = Readonly<{
  slug: string;
  stream: StreamName;
  templateId: string;
  usedBy: (ownerId: string) => Promise<boolean>;
}>;

type SlugClaim = Readonly<{ stream: StreamName; templateId: string }>;

const fold = { evolve: evolveSlug, initialState: undefined as SlugState };

/**
 * Claims a slug before a template takes it. A claim whose template never came to be, or no longer uses the slug (the
 * program died in between), may be taken over; the confirmation notices that. Throws TEMPLATE_SLUG_TAKEN, and
 * VALIDATION_ERROR where the slug could be taken for an id.
 */
export const claimSlug = async (
  deps: TemplateNeeds,
  caller: Caller,
  { slug, stream, templateId, usedBy }: SlugWish,
): Promise<SlugClaim> => {
  if (parseTemplateId(slug) !== undefined)
    throw invalid('request body', 'slug', 'must not look like an id, by which templates are found first');
  const cause = causeOf(deps, caller);
  const { state: owner, version } = await loadState(deps.eventLog, stream, fold);
  if (owner === templateId) return { stream, templateId };
  if (owner !== undefined && (await usedBy(owner))) throw slugTaken(slug);
  try {
    // Not by `handle`: whether the slug is free depends on the stream of its owner, which is read again after a
    // conflict.
    await deps.eventLog.append(stream, version, [claimedBy(templateId, cause.at)], cause);
  } catch (fault) {
    if (!(fault instanceof WrongExpectedRevision)) throw fault;
    // Another call for the same template may have been the faster one.
    if ((await loadState(deps.eventLog, stream, fold)).state !== templateId) throw slugTaken(slug);
  }
  return { stream, templateId };
};

const claimedBy = (templateId: string, at: string) => ({
  type: 'TemplateSlugClaimed' as const,
  data: { at, templateId },
});

/**
 * Confirms a claim once the template has the slug: a call that found the slug unused, and takes the claim over, comes
 * too late from here on. Another call for the same template may have confirmed it already. Out: false where another
 * template took the claim over before.
 */
export const confirmSlug = async (
  deps: TemplateNeeds,
  caller: Caller,
  { stream, templateId }: SlugClaim,
): Promise<boolean> => {
  const cause = causeOf(deps, caller);
  const event = claimedBy(templateId, cause.at);
  const decide = (_: null, owner: SlugState) => (owner === templateId ? [event] : []);
  const { events } = await handle(deps.eventLog, stream, { decide, ...fold }, null, cause);
  return events.length > 0;
};

export const slugTaken = (slug: string): DomainError =>
  new DomainError(
    'TEMPLATE_SLUG_TAKEN',
    `Another template has the slug "${slug}". Choose another, or change that one.`,
    {
      errors: [{ field: 'slug', message: 'is taken' }],
    },
  );

/** Gives the slug up where the template still owns it. */
export const releaseSlug = async (
  deps: TemplateNeeds,
  caller: Caller,
  { stream, templateId }: Pick<SlugWish, 'stream' | 'templateId'>,
): Promise<void> => {
  const cause = causeOf(deps, caller);
  const event = { type: 'TemplateSlugReleased' as const, data: { at: cause.at, templateId } };
  await handle(
    deps.eventLog,
    stream,
    { decide: (_: null, owner: SlugState) => (owner === templateId ? [event] : []), ...fold },
    null,
    cause,
  );
};

/** A readable slug from a name; the end of the id keeps two templates of one name apart. */
export const slugOf = (name: string, id: string): string => {
  const words = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 80)
    .replace(/-+$/, '');
  return `${words === '' ? 'template' : words}-${id.slice(-8)}`;
};
