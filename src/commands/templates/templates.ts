/** Commands on templates of every kind: create, import, change, publish, delete, restore, read. */
import type { Caller } from '../core/caller.js';
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
} from './answers.js';
import {
  changeOf,
  createOf,
  deleteOf,
  findTemplateOf,
  mustFindOf,
  publishOf,
  slugOf,
  type Expects,
  type TemplateKindOf,
  type WrittenOf,
} from './lifecycle.js';
import { restoreOf, restoreVersionOf, versionOf } from './versions.js';
import { assetWarnings } from './warnings.js';
import type { Deleted } from '../../api/core/common.js';
import type {
  CreateRequestOf,
  ImportRequestOf,
  RestoreTemplateRequest,
  UpdateRequestOf,
} from '../../api/templates/templates.js';
import type { FieldError } from '../../domain/core/errors.js';
import type { TeamId } from '../../domain/core/ids.js';
import type { DraftOf } from '../../domain/templates/decider.js';
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
    await compiling.compiled?.inTurns(draft);
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
    const change = { slug, changed, ...(compiled && { compiled }), ...(expects && { expects }) };
    const known = await changeOf(kind, deps, caller, reference, change);
    return { known, warnings: [...warnings(), ...large()] };
  };

  return {
    /** Out: the team's living template, or undefined: another team's is never told apart from an unknown one. */
    find: (deps: TemplateNeeds, teamId: TeamId, reference: string) => findTemplateOf(kind, deps, teamId, reference),

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

    publish: async (deps: TemplateNeeds, caller: Caller, reference: string, expected?: ExpectedRevisions) =>
      record(await publishOf(kind, deps, caller, reference, atRevision(expected))),

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
