/** Commands on templates of every kind: create, import, change, publish, delete, restore, read, and their versions. */
import { causeOf, type Caller } from '../core/caller.js';
import type { Loaded } from '../core/ports.js';
import { handle } from '../core/handle.js';
import type { TemplateNeeds } from './needs.js';
import {
  requireReadOnlyParts,
  requireRevision,
  templateRecord,
  templateVersionRecord,
  templateVersions,
  tellingChange,
  writtenOf,
  type ExpectedRevisions,
  type Known,
  type KnownVersion,
} from './answers.js';
import {
  changeOf,
  claimSlug,
  confirmSlug,
  createOf,
  deleteOf,
  draftOf,
  findTemplateOf,
  knownOf,
  mustFindOf,
  publishOf,
  releaseSlug,
  slugOf,
  slugTaken,
  withPlaceOf,
  wishOf,
  type Expects,
  type TemplateKindOf,
  type WrittenOf,
} from './lifecycle.js';
import { assetWarnings } from './warnings.js';
import type { Deleted } from '../../api/core/common.js';
import type {
  CreateRequestOf,
  ImportRequestOf,
  PublishBlockRequest,
  RestoreTemplateRequest,
  UpdateRequestOf,
} from '../../api/templates/templates.js';
import { invalid, type FieldError } from '../../domain/core/errors.js';
import type { TeamId } from '../../domain/core/ids.js';
import {
  findPublished,
  type DraftOf,
  type TemplateIdOf,
  type TemplateStateOf,
} from '../../domain/templates/decider.js';
import { isoTime, DAY_MS } from '../../domain/core/time.js';
import type { TemplateKind } from '../../domain/templates/events.js';

/** The commands on one kind of templates. `reference`: an id, a slug, or what else names one of the kind. */
export const commandsOf = <K extends TemplateKind>(kind: TemplateKindOf<K>) => {
  type Warned = Readonly<{ known: Known<K>; warnings: readonly FieldError[] }>;
  const { rules } = kind;

  const record = (known: Known<K>) => templateRecord(rules, known);

  /** The answer to a save, with its warnings. */
  const saved = async (deps: TemplateNeeds, { teamId }: Caller, { known, warnings }: Warned) => ({
    ...record(known),
    warnings: [...warnings, ...(await assetWarnings(deps, teamId, known.template.draft))],
  });

  const atRevision =
    (expected: ExpectedRevisions): Expects<K> =>
    ({ revision }) =>
      requireRevision(revision, expected);

  const made = async (
    deps: TemplateNeeds,
    caller: Caller,
    { slug, publish, written: given }: ReturnType<typeof writtenOf<WrittenOf<K>>>,
  ): Promise<Warned> => {
    const written = await kind.prepared(deps, caller.teamId, given);
    const { draft, warnings } = kind.checked(deps, undefined, { ...written, variables: written.variables ?? [] });
    const compiling = kind.compiling(deps, caller);
    await compiling.compiled.inTurns(draft, slug);
    const fresh = await kind.fresh(deps, caller.teamId);
    const known = await createOf(kind, deps, caller, {
      ...fresh,
      slug: slug ?? slugOf(draft.name, fresh.id),
      draft,
      publish,
    });
    return { known, warnings: [...warnings, ...compiling.warnings()] };
  };

  const changed = async (
    deps: TemplateNeeds,
    caller: Caller,
    reference: string,
    {
      slug,
      written: given,
      expects,
    }: Readonly<{ slug?: string | undefined; written: WrittenOf<K>; expects?: Expects<K> }>,
  ): Promise<Warned> => {
    const written = await kind.prepared(deps, caller.teamId, given);
    const { changed, warnings } = tellingChange((draft: DraftOf<K>) => kind.checked(deps, draft, written));
    const { compiled, warnings: large } = kind.compiling(deps, caller);
    const change = { slug, changed, compiled, ...(expects && { expects }) };
    const known = await changeOf(kind, deps, caller, reference, change);
    return { known, warnings: [...warnings(), ...large()] };
  };

  return {
    /** Out: the team's living template, or undefined: another team's is never told apart from an unknown one. */
    find: (deps: TemplateNeeds, teamId: TeamId, reference: string) => findTemplateOf(kind, deps, teamId, reference),

    /** Out: the id of what `find` finds. */
    idOf: async (deps: TemplateNeeds, teamId: TeamId, reference: string) =>
      (await findTemplateOf(kind, deps, teamId, reference))?.id,

    /** Rejects with TEMPLATE_NOT_FOUND where `find` finds nothing. */
    mustFind: (deps: TemplateNeeds, caller: Caller, reference: string) => mustFindOf(kind, deps, caller, reference),

    get: async (deps: TemplateNeeds, caller: Caller, reference: string) =>
      record(await mustFindOf(kind, deps, caller, reference)),

    create: async (deps: TemplateNeeds, caller: Caller, request: CreateRequestOf<K>) =>
      saved(deps, caller, await made(deps, caller, writtenOf(request))),

    /** Saves and publishes. If the team has a template of that slug, it gets a next version, and `created` is false. */
    import: async (deps: TemplateNeeds, caller: Caller, request: ImportRequestOf<K>) => {
      const { slug, written } = writtenOf<WrittenOf<K>>(request);
      const before = slug === undefined ? undefined : await findTemplateOf(kind, deps, caller.teamId, slug);
      if (before === undefined)
        return {
          template: await saved(deps, caller, await made(deps, caller, { slug, publish: true, written })),
          created: true,
        };
      const { warnings } = await changed(deps, caller, before.id, { written });
      const known = await publishOf(kind, deps, caller, before.id);
      return { template: await saved(deps, caller, { known, warnings }), created: false };
    },

    update: async (
      deps: TemplateNeeds,
      caller: Caller,
      reference: string,
      request: UpdateRequestOf<K>,
      expected?: ExpectedRevisions,
    ) => {
      const { slug, written } = writtenOf<WrittenOf<K>>(request);
      const expects: Expects<K> = (known) => {
        requireRevision(known.revision, expected);
        requireReadOnlyParts(request, record(known), known.template.published);
      };
      return saved(deps, caller, await changed(deps, caller, reference, { slug, written, expects }));
    },

    delete: async (
      deps: TemplateNeeds,
      caller: Caller,
      reference: string,
      expected?: ExpectedRevisions,
    ): Promise<Deleted> => ({
      id: await deleteOf(kind, deps, caller, reference, atRevision(expected)),
      deleted: true,
    }),

    publish: async (
      deps: TemplateNeeds,
      caller: Caller,
      reference: string,
      expected?: ExpectedRevisions,
      { force = false }: PublishBlockRequest = {},
    ) =>
      record(
        await publishOf(kind, deps, caller, reference, {
          expects: atRevision(expected),
          isExact: expected !== undefined,
          force,
        }),
      ),

    versions: async (deps: TemplateNeeds, caller: Caller, reference: string) =>
      templateVersions(rules, (await mustFindOf(kind, deps, caller, reference)).template),

    version: async (deps: TemplateNeeds, caller: Caller, reference: string, version: string) =>
      templateVersionRecord(rules, await versionOf(kind, deps, caller, reference, version)),

    restoreVersion: async (
      deps: TemplateNeeds,
      caller: Caller,
      reference: string,
      version: string,
      expected?: ExpectedRevisions,
    ) => record(await restoreVersionOf(kind, deps, caller, reference, { version, expects: atRevision(expected) })),

    /** `reference`: no slug, which may name another template by now. */
    restore: async (deps: TemplateNeeds, caller: Caller, reference: string, { slug }: RestoreTemplateRequest) =>
      record(await restoreOf(kind, deps, caller, reference, slug)),
  };
};

const HINT = 'GET …/versions lists them.';

/** A published version with its whole content. Rejects with TEMPLATE_VERSION_NOT_FOUND. */
const versionOf = async <K extends TemplateKind>(
  kind: TemplateKindOf<K>,
  deps: TemplateNeeds,
  caller: Caller,
  reference: string,
  version: string,
): Promise<KnownVersion<K>> => {
  const { id, template } = await mustFindOf(kind, deps, caller, reference);
  const published = findPublished(template, version, HINT);
  const draft = await draftOf(kind, deps, id, published.revision);
  return { published, draft, current: published.version === template.published.at(-1)?.version };
};

/** Makes the content of a published version the draft; what is published stays as it is until the next publish. */
const restoreVersionOf = async <K extends TemplateKind>(
  kind: TemplateKindOf<K>,
  deps: TemplateNeeds,
  caller: Caller,
  reference: string,
  { version, expects }: Readonly<{ version: string; expects: Expects<K> }>,
): Promise<Known<K>> => {
  const { draft } = await versionOf(kind, deps, caller, reference, version);
  return changeOf(kind, deps, caller, reference, { slug: undefined, changed: () => draft, expects });
};

/**
 * Takes a deleted template back, under its slug or another; a living one stays as it is. In: its id, for its slug may
 * name another template by now. Rejects with the kind's "not found" where the days for it are over, and with
 * TEMPLATE_SLUG_TAKEN.
 */
const restoreOf = async <K extends TemplateKind>(
  kind: TemplateKindOf<K>,
  deps: TemplateNeeds,
  caller: Caller,
  reference: string,
  wanted: string | undefined,
): Promise<Known<K>> => {
  const id = kind.idOf(caller.teamId, reference);
  if (id === undefined) throw kind.rules.notFound();
  const loaded = await kind.load(deps, id);
  if (loaded.state.template === undefined || loaded.teamId !== caller.teamId) throw kind.rules.notFound();
  const { template } = loaded.state;
  const slug = wanted ?? template.slug;
  if (template.deletedAt === null) return livingOf(id, loaded, slug);
  const deletedSince = isoTime(deps.clock.now() - deps.limits.restoreDays * DAY_MS);
  if (template.deletedAt < deletedSince) throw kind.rules.notFound();
  return withPlaceOf(kind, deps, caller, id, () => restoreIn(kind, deps, caller, { id, slug, deletedSince }));
};

const restoreIn = async <K extends TemplateKind>(
  kind: TemplateKindOf<K>,
  deps: TemplateNeeds,
  caller: Caller,
  { id, slug, deletedSince }: Readonly<{ id: TemplateIdOf<K>; slug: string; deletedSince: string }>,
): Promise<Known<K>> => {
  const claim = await claimSlug(deps, caller, wishOf(kind, deps, caller, { id, slug }));
  const cause = causeOf(deps, caller);
  const command = { type: 'RestoreTemplate' as const, at: cause.at, slug, deletedSince };
  const restored = await handle(deps.eventLog, kind.rules.stream(id), kind.decider, command, cause);
  if (restored.events.length === 0) {
    // Another call has taken it back meanwhile, and answers for its slug.
    if (restored.state.template?.slug !== slug) await releaseSlug(deps, caller, claim);
    return livingOf(id, restored, slug);
  }
  if (!(await confirmSlug(deps, caller, claim))) {
    await handle(deps.eventLog, kind.rules.stream(id), kind.decider, { type: 'DeleteTemplate', at: cause.at }, cause);
    throw slugTaken(slug);
  }
  return knownOf(id, restored);
};

/** A template that lives stays as it is. Throws VALIDATION_ERROR where it has another slug than the call wants. */
const livingOf = <K extends TemplateKind>(
  id: TemplateIdOf<K>,
  loaded: Loaded<TemplateStateOf<K>>,
  slug: string,
): Known<K> => {
  const known = knownOf(id, loaded);
  if (known.template.slug === slug) return known;
  throw invalid('request body', 'slug', 'is only for a deleted template; of this one a PATCH changes it');
};
