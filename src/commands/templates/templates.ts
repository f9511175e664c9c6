/** Commands on email templates: create, import, change, publish, delete, restore, read; and their compiled content. */
import type { TemplateNeeds } from './needs.js';
import { type FieldError, invalid } from '../../domain/core/errors.js';
import { type TeamId, assertDefined, parseTemplateId, templateSlugStream, templateStream, type TemplateId } from '../../domain/core/ids.js';
import { previewVariables } from '../../domain/rendering/fill/variables.js';
import { emailInLanguage, languageKey } from '../../domain/rendering/languages.js';
import { emptyCompany } from '../../domain/teams/state.js';
import { type EmailTemplateContent, DEFAULT_LOCALE, DEFAULT_TIME_ZONE } from '../../domain/rendering/content.js';
import { nextTurn } from '../../shared/concurrency.js';
import { causeOf, type Caller } from '../core/caller.js';
import { withDrawnSvgs } from './drawings.js';
import { memoized } from '../core/memo.js';
import { requireAddress, type Recipient } from '../../domain/mime/address.js';
import {
  tellingChange,
  templateRecord,
  templateVersionRecord,
  translationsPart,
  versionsOfTemplate,
  withStrictness,
  requireReadOnlyParts,
  requireRevision,
  writtenOf,
  type ExpectedRevisions,
} from './answers.js';
import {
  changeOf,
  createOf,
  deleteOf,
  draftOf,
  findTemplateOf,
  mustFindOf,
  publishOf,
  type Imported,
  type Known,
  type TemplateKindOf,
  refuseReserved,
  slugOf,
} from './lifecycle.js';
import { restoreOf, restoreVersionOf, versionOf } from './versions.js';
import { linkBaseOf } from '../recipients/unsubscribe.js';
import { checkEmailTemplate } from '../../domain/rendering/check/email.js';
import type { CallLanguage } from '../../domain/rendering/translations.js';
import { UNSUBSCRIBE_CONSTANT } from '../../domain/rendering/scope/constants.js';
import type { EmailDraft } from '../../domain/templates/events.js';
import type { Deleted } from '../../api/core/common.js';
import type {
  CreateTemplateRequest,
  ImportTemplateRequest,
  RestoreTemplateRequest,
  TemplateRecord,
  SavedTemplate,
  TemplateVersion,
  TemplateVersionRecord,
  UpdateTemplateRequest,
} from '../../api/templates/templates.js';
import type { Tracking } from '../../domain/recipients/tracking.js';
import { templateDecider, templateRules, type Template } from '../../domain/templates/email-template.js';
import { assetWarnings, measuringBudget, sizeWarnings } from './warnings.js';

type KnownTemplate = Known<TemplateId, Template>;

const kind: TemplateKindOf<TemplateId, EmailDraft, Pick<EmailDraft, 'name' | 'subject' | 'from' | 'unsubscribeList' | 'tracking'>> = {
  rules: templateRules,
  decider: templateDecider,
  parseId: parseTemplateId,
  idOf: (_, reference) => parseTemplateId(reference),
  stream: templateStream,
  // Each email looks up a slug, and hashing one takes 10 µs.
  slugStream: memoized(1_000, (teamId, slug) => `${teamId} ${slug}`, templateSlugStream),
  load: (deps, id) => deps.template(templateStream(id)),
};

/** In: an id or a slug. Out: the team's living template, or undefined: another team's is never told apart from an unknown one. */
export const findTemplate = (deps: TemplateNeeds, teamId: TeamId, reference: string): Promise<KnownTemplate | undefined> =>
  findTemplateOf(kind, deps, teamId, reference);

/** Finds a template as `findTemplate` does; rejects with TEMPLATE_NOT_FOUND. */
export const mustFindTemplate = (deps: TemplateNeeds, caller: Caller, reference: string): Promise<KnownTemplate> =>
  mustFindOf(kind, deps, caller, reference);

/** The content that the renderer takes from a draft revision. Drafts are checked before they are saved, so their parts have these types. */
export const contentOf = (draft: EmailDraft): EmailTemplateContent => ({
  subject: draft.subject,
  variables: draft.variables as EmailTemplateContent['variables'],
  schema: draft.schema as EmailTemplateContent['schema'],
  locale: draft.locale,
  timeZone: draft.timeZone,
  ...(draft.strictVariables === undefined ? {} : { strictVariables: draft.strictVariables }),
  ...(draft.translations === undefined ? {} : { translations: draft.translations }),
});

/** The draft as it was at that revision, from the template's stream. */
export const draftAt = (deps: Pick<TemplateNeeds, 'eventLog'>, id: TemplateId, revision: number): Promise<EmailDraft> =>
  draftOf(kind, deps, id, revision);

/** Names the content of a revision for ever, in one language. */
export const templateCacheKey = (id: TemplateId, revision: number, language?: CallLanguage): string =>
  `${id}:${revision}${languageKey(language)}`;

/** The compiled template of that revision in the language of a call, or its own; compiled once and kept. */
export const compiledTemplate = (
  deps: Pick<TemplateNeeds, 'eventLog' | 'renderer'>,
  id: TemplateId,
  revision: number,
  language: CallLanguage | undefined,
) =>
  deps.renderer.email(templateCacheKey(id, revision, language), async () =>
    emailInLanguage(contentOf(await draftAt(deps, id, revision)), language),
  );

/** `reference`: id or slug, here and in the commands below. */
export const getTemplate = async (deps: TemplateNeeds, caller: Caller, reference: string): Promise<TemplateRecord> =>
  templateRecord(await mustFindOf(kind, deps, caller, reference));

export const updateTemplate = async (
  deps: TemplateNeeds,
  caller: Caller,
  reference: string,
  request: UpdateTemplateRequest,
  expected?: ExpectedRevisions,
): Promise<SavedTemplate> => {
  const { slug, ...given } = writtenOf(request);
  refuseReserved(slug);
  const changes = await withDrawnSvgs(deps, caller.teamId, given);
  const { id } = await mustFindOf(kind, deps, caller, reference);
  const { changed, warnings } = checkedChange(deps, changes);
  const expects = (template: Template, revision: number): void => {
    requireRevision(revision, expected);
    requireReadOnlyParts(request, templateRecord({ id, template, revision }), template.published);
  };
  const { compiled, large } = measuring(deps, caller);
  const known = await changeOf(kind, deps, caller, id, { slug, changed, compiled, expects });
  return saved(deps, caller, known, [...warnings(), ...large()]);
};

/** Compiles a draft, refuses it where that fails, and keeps the warnings about its size. */
const measuring = (deps: TemplateNeeds, caller: Caller) => {
  let told: readonly FieldError[] = [];
  const inTurns = async (draft: EmailDraft): Promise<void> => {
    told = await compileAndMeasure(deps, contentOf(draft), causeOf(deps, caller).at);
  };
  const atOnce = (draft: EmailDraft): void => void deps.renderer.compileEmail(emailInLanguage(contentOf(draft), undefined));
  return { compiled: { inTurns, atOnce }, large: () => told };
};

/**
 * Compiles a template that is to be saved in each of its languages, its own one first. Out: the warnings about the size of its mail in each
 * of them, with the defaults of its variables. Rejects where it cannot be compiled.
 */
const compileAndMeasure = async (
  { renderer, limits }: Pick<TemplateNeeds, 'renderer' | 'limits'>,
  content: EmailTemplateContent,
  at: string,
): Promise<readonly FieldError[]> => {
  const { variables, translations = {} } = content;
  const email = { variables: previewVariables(variables, {}), environment: { at, company: emptyCompany } };
  const budget = measuringBudget({ limits });
  const warnings: FieldError[] = [];
  const told = new Set<string>();
  for (const locale of [undefined, ...Object.keys(translations)]) {
    const inLanguage = emailInLanguage(content, locale === undefined ? undefined : { locale });
    const compiled = await renderer.compileEmailInTurns(inLanguage);
    const dropped = renderer.dropped(inLanguage).filter(({ field, message }) => !told.has(`${field} ${message}`));
    for (const { field, message } of dropped) told.add(`${field} ${message}`);
    for (const { field, message } of [...dropped, ...(await sizeWarnings(compiled, email, budget))])
      warnings.push({ field: locale === undefined ? field : `translations.${locale}`, message });
    await nextTurn();
  }
  return warnings;
};

const checkedChange = (deps: TemplateNeeds, changes: Omit<UpdateTemplateRequest, 'slug'>) =>
  tellingChange((draft: EmailDraft) => checkedDraft(deps, withTracking({ ...draft, ...changes })));

/** The answer to a save, with its warnings. */
const saved = async (
  deps: TemplateNeeds,
  { teamId }: Caller,
  known: KnownTemplate,
  warnings: readonly FieldError[],
): Promise<SavedTemplate> => ({
  ...templateRecord(known),
  warnings: [...warnings, ...(await assetWarnings(deps, teamId, known.template.draft))],
});

const atRevision =
  (expected: ExpectedRevisions) =>
  (_: unknown, revision: number): void =>
    requireRevision(revision, expected);

export const deleteTemplate = async (
  deps: TemplateNeeds,
  caller: Caller,
  reference: string,
  expected?: ExpectedRevisions,
): Promise<Deleted> => ({
  id: await deleteOf(kind, deps, caller, reference, atRevision(expected)),
  deleted: true,
});

export const publishTemplate = async (
  deps: TemplateNeeds,
  caller: Caller,
  reference: string,
  expected?: ExpectedRevisions,
): Promise<TemplateRecord> => templateRecord(await publishOf(kind, deps, caller, reference, atRevision(expected)));

export const templateVersions = async (deps: TemplateNeeds, caller: Caller, reference: string): Promise<TemplateVersion[]> =>
  versionsOfTemplate((await mustFindOf(kind, deps, caller, reference)).template);

export const templateVersion = async (
  deps: TemplateNeeds,
  caller: Caller,
  reference: string,
  version: string,
): Promise<TemplateVersionRecord> => templateVersionRecord(await versionOf(kind, deps, caller, reference, version));

export const restoreTemplateVersion = async (
  deps: TemplateNeeds,
  caller: Caller,
  reference: string,
  version: string,
  expected?: ExpectedRevisions,
): Promise<TemplateRecord> =>
  templateRecord(await restoreVersionOf(kind, deps, caller, reference, { version, expects: atRevision(expected) }));

/** `reference`: an id. */
export const restoreTemplate = async (
  deps: TemplateNeeds,
  caller: Caller,
  reference: string,
  { slug }: RestoreTemplateRequest,
): Promise<TemplateRecord> => {
  refuseReserved(slug);
  return templateRecord(await restoreOf(kind, deps, caller, reference, slug));
};

/** null takes away what was said. */
const withTracking = <Draft extends { tracking?: Tracking | null | undefined }>({
  tracking,
  ...draft
}: Draft): Omit<Draft, 'tracking'> & Pick<EmailDraft, 'tracking'> =>
  tracking === undefined || tracking === null ? draft : { ...draft, tracking };

/** Throws TEMPLATE_INVALID with every fault, or a limit's own code. `warnings`: paths that no variable declares. */
const checkedDraft = (
  deps: TemplateNeeds,
  draft: Omit<EmailDraft, 'variables' | 'schema' | 'unsubscribeList' | 'translations'> & {
    variables: unknown;
    schema: unknown;
    translations?: unknown;
    unsubscribeList?: string | null;
  },
): Readonly<{ draft: EmailDraft; warnings: readonly FieldError[] }> => {
  const { translations: given, ...untranslated } = draft;
  const { subject, variables, schema, locale, timeZone } = draft;
  const { content, warnings } = checkEmailTemplate({ subject, variables, schema, locale, timeZone, translations: given }, deps.limits);
  const from = draft.from === null ? null : checkedSender(draft.from);
  const { unsubscribeList, ...rest } = {
    ...withStrictness(untranslated),
    from,
    variables: [...content.variables],
    schema: content.schema,
    ...translationsPart(content),
  };
  assertUnsubscribing(deps, unsubscribeList ?? undefined, rest);
  return { draft: unsubscribeList === undefined || unsubscribeList === null ? rest : { ...rest, unsubscribeList }, warnings };
};

/** Throws PUBLIC_URL_REQUIRED, and VALIDATION_ERROR where the mail would show a link that leads nowhere. */
const assertUnsubscribing = (
  deps: TemplateNeeds,
  list: string | undefined,
  { schema, subject }: Omit<EmailDraft, 'unsubscribeList'>,
): void => {
  if (list !== undefined) return void linkBaseOf(deps);
  if (!JSON.stringify([subject, schema]).includes(UNSUBSCRIBE_CONSTANT)) return;
  throw invalid('request body', 'unsubscribeList', `must name a list where the template shows {{${UNSUBSCRIBE_CONSTANT}}}`);
};

const checkedSender = (from: Recipient): Recipient => ({ ...from, email: requireAddress(from.email, 'from.email') });

export const createTemplate = async (deps: TemplateNeeds, caller: Caller, request: CreateTemplateRequest): Promise<SavedTemplate> => {
  refuseReserved(request.slug);
  const id = assertDefined(parseTemplateId(deps.ids.uuid()), 'template id');
  const drawn = await withDrawnSvgs(deps, caller.teamId, request);
  const { draft, warnings } = checkedDraft(deps, {
    name: request.name,
    description: request.description ?? '',
    subject: request.subject,
    from: request.from ?? null,
    variables: request.variables ?? [],
    schema: drawn.schema,
    locale: request.locale ?? DEFAULT_LOCALE,
    timeZone: request.timeZone ?? DEFAULT_TIME_ZONE,
    unsubscribeList: request.unsubscribeList ?? null,
    ...(request.tracking === undefined || request.tracking === null ? {} : { tracking: request.tracking }),
    ...(request.strictVariables === undefined ? {} : { strictVariables: request.strictVariables }),
    translations: drawn.translations,
  });
  const { compiled, large } = measuring(deps, caller);
  await compiled.inTurns(draft);
  const slug = request.slug ?? slugOf(request.name, id);
  const made = await createOf(kind, deps, caller, { id, slug, draft, publish: request.publish ?? false });
  return saved(deps, caller, made, [...warnings, ...large()]);
};

/** Saves and publishes. If the team has a template of that slug, it gets a next version, and `created` is false. */
export const importTemplate = async (
  deps: TemplateNeeds,
  caller: Caller,
  request: ImportTemplateRequest,
): Promise<Imported<SavedTemplate>> => {
  const { slug, ...given } = writtenOf(request);
  const known = slug === undefined ? undefined : await findTemplate(deps, caller.teamId, slug);
  if (known === undefined) return { template: await createTemplate(deps, caller, { ...writtenOf(request), publish: true }), created: true };
  const { changed, warnings } = checkedChange(deps, await withDrawnSvgs(deps, caller.teamId, given));
  const { compiled, large } = measuring(deps, caller);
  await changeOf(kind, deps, caller, known.id, { slug: undefined, changed, compiled });
  const published = await publishOf(kind, deps, caller, known.id);
  return { template: await saved(deps, caller, published, [...warnings(), ...large()]), created: false };
};
