/**
 * Versions of a template: published ones with their contents, put back into the draft; and deleted templates taken
 * back.
 */
import { causeOf, type Caller } from '../core/caller.js';
import type { TemplateNeeds } from './needs.js';
import type { Loaded } from '../core/ports.js';
import { handle } from '../core/handle.js';
import { withPlace } from '../billing/plan-limits.js';
import {
  changeOf,
  draftOf,
  knownOf,
  mustFindOf,
  placeOf,
  wishOf,
  type Expects,
  type TemplateKindOf,
  claimSlug,
  confirmSlug,
  releaseSlug,
  slugTaken,
} from './lifecycle.js';
import type { Known, KnownVersion } from './answers.js';
import { invalid } from '../../domain/core/errors.js';
import type { TemplateKind } from '../../domain/templates/events.js';
import { findPublished, type TemplateIdOf, type TemplateStateOf } from '../../domain/templates/decider.js';
import { isoTime, DAY_MS } from '../../domain/core/time.js';

const HINT = 'GET …/versions lists them.';

/** A published version with its whole content. Rejects with TEMPLATE_VERSION_NOT_FOUND. */
export const versionOf = async <K extends TemplateKind>(
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
export const restoreVersionOf = async <K extends TemplateKind>(
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
export const restoreOf = async <K extends TemplateKind>(
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
  return withPlace(deps, caller, placeOf(kind, deps, caller, id), () =>
    restoreIn(kind, deps, caller, { id, slug, deletedSince }),
  );
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
