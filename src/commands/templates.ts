/** Commands on email templates: create, change, publish, delete, read, preview. */
import type { Caller, Commands } from './api.js';
import { causeOf, type CommandDeps } from './deps.js';
import { handle, loadState } from './handle.js';
import { DomainError, WrongExpectedRevision } from '../domain/errors.js';
import type { Cause, Tail } from '../domain/event-log.js';
import { parseTemplateId, teamStream, templateSlugStream, templateStream, type StreamName, type TeamId, type TemplateId } from '../domain/ids.js';
import type { JsonObject } from '../domain/json.js';
import { checkEmailTemplate } from '../domain/rendering/check.js';
import { previewVariables } from '../domain/rendering/variables.js';
import type { TemplateDraft } from '../domain/template/events.js';
import type { CreateTemplateRequest, UpdateTemplateRequest } from '../domain/template/records.js';
import type { EmailTemplateContent, Recipient } from '../domain/template/schema.js';
import {
  evolveSlug, resolveVersion, templateDecider, templateNotFound, templateRecord, templateVersions, type Template, type TemplateState,
} from '../domain/template/state.js';
import { emptyCompany } from '../domain/team/state.js';
import { requireAddress } from './check-request.js';

export type KnownTemplate = Readonly<{ id: TemplateId; template: Template }>;

/** In: an id or a slug. Out: the team's living template, or undefined: another team's is never told apart from an unknown one. */
export const findTemplate = async (deps: CommandDeps, teamId: TeamId, reference: string): Promise<KnownTemplate | undefined> => {
  const id = parseTemplateId(reference);
  const known = id && (await livingTemplate(deps, teamId, id));
  if (known !== undefined) return known;
  const owner = (await deps.slug(templateSlugStream(teamId, reference))).state;
  const ownerId = owner === undefined ? undefined : parseTemplateId(owner);
  const named = ownerId && (await livingTemplate(deps, teamId, ownerId));
  // A claim that its template does not use (any more) names nothing.
  return named?.template.slug === reference ? named : undefined;
};

const livingTemplate = async (deps: CommandDeps, teamId: TeamId, id: TemplateId): Promise<KnownTemplate | undefined> => {
  const loaded = await deps.template(templateStream(id));
  const { template } = loaded.state;
  return template === undefined || template.deletedAt !== null || loaded.teamId !== teamId ? undefined : { id, template };
};

const mustFind = async (deps: CommandDeps, caller: Caller, reference: string): Promise<KnownTemplate> => {
  const known = await findTemplate(deps, caller.teamId, reference);
  if (known === undefined) throw templateNotFound();
  return known;
};

/** What the renderer needs of a draft revision. Drafts are checked before they are saved, so their parts have these types. */
export const contentOf = (draft: TemplateDraft): EmailTemplateContent => ({
  subject: draft.subject,
  variables: draft.variables as EmailTemplateContent['variables'],
  schema: draft.schema as EmailTemplateContent['schema'],
  locale: draft.locale,
  timeZone: draft.timeZone,
});

/** The draft as it was at that revision, from the template's stream. */
export const draftAt = async (deps: Pick<CommandDeps, 'log'>, id: TemplateId, revision: number): Promise<TemplateDraft> => {
  for (const { event } of await deps.log.load(templateStream(id))) {
    if (event.type === 'TemplateDraftSaved' && event.data.revision === revision) return event.data.draft;
  }
  throw new Error(`template ${id} has no revision ${revision}`);
};

/** The compiled template of that revision; compiled once and kept. */
export const compiledTemplate = (deps: Pick<CommandDeps, 'log' | 'renderer'>, id: TemplateId, revision: number) =>
  deps.renderer.email(`${id}:${revision}`, async () => contentOf(await draftAt(deps, id, revision)));

export const templateCommands = (
  deps: CommandDeps,
): Pick<
  Commands,
  'createTemplate' | 'getTemplate' | 'updateTemplate' | 'deleteTemplate' | 'publishTemplate' | 'templateVersions' | 'previewTemplate'
> => ({
  createTemplate: (caller, request) => create(deps, caller, request),
  getTemplate: async (caller, reference) => {
    const { id, template } = await mustFind(deps, caller, reference);
    return templateRecord(id, template);
  },
  updateTemplate: (caller, reference, request) => update(deps, caller, reference, request),
  deleteTemplate: async (caller, reference) => {
    const { id } = await mustFind(deps, caller, reference);
    const cause = causeOf(deps, caller);
    const { state } = await handle(deps.log, templateStream(id), templateDecider, { type: 'DeleteTemplate', at: cause.at }, cause);
    await releaseSlug(deps, caller, state.template!.slug, id);
    return { id, deleted: true };
  },
  publishTemplate: async (caller, reference) => {
    const { id } = await mustFind(deps, caller, reference);
    const cause = causeOf(deps, caller);
    const { state } = await handle(deps.log, templateStream(id), templateDecider, { type: 'PublishTemplate', at: cause.at }, cause);
    return templateRecord(id, state.template!);
  },
  templateVersions: async (caller, reference) => templateVersions((await mustFind(deps, caller, reference)).template),
  previewTemplate: async (caller, reference, { variables, version }) => {
    const { id, template } = await mustFind(deps, caller, reference);
    const { revision } = resolveVersion(template, version ?? 'draft');
    const render = await compiledTemplate(deps, id, revision);
    const company = (await deps.team(teamStream(caller.teamId))).state?.settings.company ?? emptyCompany;
    const at = causeOf(deps, caller).at;
    const { variables: definitions } = contentOf(await draftAt(deps, id, revision));
    const rendered = render({ variables: previewVariables(definitions, (variables ?? {}) as JsonObject), environment: { at, company } });
    return { ...rendered, sizeBytes: Buffer.byteLength(rendered.html) };
  },
});

const DEFAULT_LOCALE = 'en-US';
const DEFAULT_TIME_ZONE = 'UTC';

/** Throws TEMPLATE_INVALID with every fault, or a limit's own code. */
const checkedDraft = (deps: CommandDeps, draft: Omit<TemplateDraft, 'variables' | 'schema'> & { variables: unknown; schema: unknown }): TemplateDraft => {
  const { subject, variables, schema, locale, timeZone } = draft;
  const { content } = checkEmailTemplate({ subject, variables, schema, locale, timeZone }, deps.limits);
  const from = draft.from === null ? null : checkedSender(draft.from);
  const checked = { ...draft, from, variables: [...content.variables], schema: content.schema };
  deps.renderer.compileEmail(contentOf(checked));
  return checked;
};

const checkedSender = (from: Recipient): Recipient => ({ ...from, email: requireAddress(from.email, 'from.email') });

const create = async (deps: CommandDeps, caller: Caller, request: CreateTemplateRequest) => {
  const id = parseTemplateId(deps.ids.uuid())!;
  const slug = request.slug ?? slugOf(request.name, id);
  const draft = checkedDraft(deps, {
    name: request.name,
    description: request.description ?? '',
    subject: request.subject,
    from: request.from ?? null,
    variables: request.variables ?? [],
    schema: request.schema,
    locale: request.locale ?? DEFAULT_LOCALE,
    timeZone: request.timeZone ?? DEFAULT_TIME_ZONE,
  });
  const claim = await claimSlug(deps, caller, slug, id);
  const cause = causeOf(deps, caller);
  const command = { type: 'CreateTemplate' as const, at: cause.at, slug, draft, publish: request.publish ?? false };
  const { state } = await handle(deps.log, templateStream(id), templateDecider, command, cause);
  if (!(await confirmSlug(deps, caller, claim))) {
    await handle(deps.log, templateStream(id), templateDecider, { type: 'DeleteTemplate', at: cause.at }, cause);
    throw slugTaken(slug);
  }
  return templateRecord(id, state.template!);
};

const update = async (deps: CommandDeps, caller: Caller, reference: string, { slug, ...changes }: UpdateTemplateRequest) => {
  const { id, template } = await mustFind(deps, caller, reference);
  const cause = causeOf(deps, caller);
  const draft = checkedDraft(deps, { ...template.draft, ...changes });
  if (slug !== undefined && slug !== template.slug) {
    const claim = await claimSlug(deps, caller, slug, id);
    const change = (to: string) => handle(deps.log, templateStream(id), templateDecider, { type: 'ChangeSlug', at: cause.at, slug: to }, cause);
    await change(slug);
    if (!(await confirmSlug(deps, caller, claim))) {
      await change(template.slug);
      throw slugTaken(slug);
    }
    await releaseSlug(deps, caller, template.slug, id);
  }
  const decider = {
    ...templateDecider,
    // The changes are those of the call; what they change is the newest draft, so that of two calls at once neither is lost.
    decide: (_: null, state: TemplateState) => {
      const newest = state.template ?? template;
      const saved = newest.revision === template.revision ? draft : checkedDraft(deps, { ...newest.draft, ...changes });
      return templateDecider.decide({ type: 'SaveDraft', at: cause.at, draft: saved }, state);
    },
  };
  const { state } = await handle(deps.log, templateStream(id), decider, null, cause);
  return templateRecord(id, state.template!);
};

/** A readable slug from the name; the end of the id keeps two templates of one name apart. */
const slugOf = (name: string, id: TemplateId): string => {
  const words = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 80)
    .replace(/-+$/, '');
  return `${words === '' ? 'template' : words}-${id.slice(-8)}`;
};

type SlugClaim = Readonly<{ stream: StreamName; templateId: TemplateId; tail: Tail }>;

/**
 * A slug is claimed before the template takes it, and the claim is confirmed afterwards. A claim whose template never came
 * to be, or no longer uses it (the program died in between), may be taken over; the confirmation notices that.
 */
const claimSlug = async (deps: CommandDeps, caller: Caller, slug: string, templateId: TemplateId): Promise<SlugClaim> => {
  const stream = templateSlugStream(caller.teamId, slug);
  const cause = causeOf(deps, caller);
  const { state: owner, tail } = await loadState(deps.log, stream, { evolve: evolveSlug, initialState: undefined });
  if (owner === templateId) return { stream, templateId, tail };
  const ownerId = owner === undefined ? undefined : parseTemplateId(owner);
  if (ownerId !== undefined) {
    const { template } = (await deps.template(templateStream(ownerId))).state;
    if (template !== undefined && template.deletedAt === null && template.slug === slug) throw slugTaken(slug);
  }
  const claimed = await appendClaim(deps, { stream, templateId, tail }, cause);
  if (claimed === undefined) throw slugTaken(slug);
  return claimed;
};

/** The template has the slug now. Out: false where another took the claim over before it had. */
const confirmSlug = async (deps: CommandDeps, caller: Caller, claim: SlugClaim): Promise<boolean> =>
  (await appendClaim(deps, claim, causeOf(deps, caller))) !== undefined;

/** undefined where another was faster. */
const appendClaim = async (deps: CommandDeps, { stream, templateId, tail }: SlugClaim, cause: Cause): Promise<SlugClaim | undefined> => {
  const event = { type: 'TemplateSlugClaimed' as const, data: { at: cause.at, templateId } };
  try {
    return { stream, templateId, tail: await deps.log.append(stream, tail, [event], cause) };
  } catch (fault) {
    if (fault instanceof WrongExpectedRevision) return undefined;
    throw fault;
  }
};

const slugTaken = (slug: string): DomainError =>
  new DomainError('TEMPLATE_SLUG_TAKEN', `Another template has the slug "${slug}". Choose another, or change that one.`, {
    errors: [{ field: 'slug', message: 'is taken' }],
  });

const releaseSlug = async (deps: CommandDeps, caller: Caller, slug: string, templateId: TemplateId): Promise<void> => {
  const cause = causeOf(deps, caller);
  const event = { type: 'TemplateSlugReleased' as const, data: { at: cause.at, templateId } };
  await handle(
    deps.log,
    templateSlugStream(caller.teamId, slug),
    { decide: (_: null, owner: string | undefined) => (owner === templateId ? [event] : []), evolve: evolveSlug, initialState: undefined },
    null,
    cause,
  );
};

