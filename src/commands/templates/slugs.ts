/** Who owns a slug: claimed before a template takes it, confirmed afterwards, released when it is given up. */
import type { Caller } from '../core/caller.js';
import { causeOf, type CommandDeps } from '../core/deps.js';
import { handle, loadState } from '../core/handle.js';
import { DomainError, invalid, WrongExpectedRevision } from '../../domain/core/errors.js';
import { parseTemplateId, type StreamName } from '../../domain/core/ids.js';
import { evolveSlug, type SlugState } from '../../domain/templates/decider.js';

/** A slug and the template that wants it. `usedBy`: whether that template lives and has the slug now. */
export type SlugWish = Readonly<{ slug: string; stream: StreamName; templateId: string; usedBy: (ownerId: string) => Promise<boolean> }>;

export type SlugClaim = Readonly<{ stream: StreamName; templateId: string }>;

const fold = { evolve: evolveSlug, initialState: undefined as SlugState };

/**
 * A claim whose template never came to be, or no longer uses it (the program died in between), may be taken over; the
 * confirmation notices that. Throws TEMPLATE_SLUG_TAKEN, and VALIDATION_ERROR where the slug could be taken for an id.
 */
export const claimSlug = async (deps: CommandDeps, caller: Caller, { slug, stream, templateId, usedBy }: SlugWish): Promise<SlugClaim> => {
  if (parseTemplateId(slug) !== undefined)
    throw invalid('request body', 'slug', 'must not look like an id, by which templates are found first');
  const cause = causeOf(deps, caller);
  const { state: owner, version } = await loadState(deps.eventLog, stream, fold);
  if (owner === templateId) return { stream, templateId };
  if (owner !== undefined && (await usedBy(owner))) throw slugTaken(slug);
  try {
    await deps.eventLog.append(stream, version, [claimedBy(templateId, cause.at)], cause);
  } catch (fault) {
    if (!(fault instanceof WrongExpectedRevision)) throw fault;
    // Another call for the same template may have been the faster one.
    if ((await loadState(deps.eventLog, stream, fold)).state !== templateId) throw slugTaken(slug);
  }
  return { stream, templateId };
};

const claimedBy = (templateId: string, at: string) => ({ type: 'TemplateSlugClaimed' as const, data: { at, templateId } });

/**
 * The template has the slug now: whoever found it without, and takes the claim over, comes too late from here on. Another call for the
 * same template may have confirmed it already. Out: false where another template took the claim over before.
 */
export const confirmSlug = async (deps: CommandDeps, caller: Caller, { stream, templateId }: SlugClaim): Promise<boolean> => {
  const cause = causeOf(deps, caller);
  const event = claimedBy(templateId, cause.at);
  const decide = (_: null, owner: SlugState) => (owner === templateId ? [event] : []);
  const { events } = await handle(deps.eventLog, stream, { decide, ...fold }, null, cause);
  return events.length > 0;
};

export const slugTaken = (slug: string): DomainError =>
  new DomainError('TEMPLATE_SLUG_TAKEN', `Another template has the slug "${slug}". Choose another, or change that one.`, {
    errors: [{ field: 'slug', message: 'is taken' }],
  });

/** Gives the slug up where the template still owns it. */
export const releaseSlug = async (
  deps: CommandDeps,
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

/** What stands behind /api/templates/ and is no template: a slug of that name could not be asked for. */
const RESERVED_SLUG = 'attachment';

/** Throws VALIDATION_ERROR. */
export const refuseReserved = (slug: string | undefined): void => {
  if (slug !== RESERVED_SLUG) return;
  throw invalid('request body', 'slug', `must not be "${RESERVED_SLUG}", which is an address of its own`);
};
