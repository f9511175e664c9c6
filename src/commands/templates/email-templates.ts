/** Email templates: what their drafts are checked for, and their compiled content. */
import type { TemplateNeeds } from './needs.js';
import { type FieldError, invalid } from '../../domain/core/errors.js';
import {
  assertDefined,
  parseTemplateId,
  templateSlugStream,
  templateStream,
  type TemplateId,
} from '../../domain/core/ids.js';
import { previewVariables } from '../../domain/rendering/fill/variables.js';
import { emailInLanguage, languageKey } from '../../domain/rendering/languages.js';
import { emptyCompany } from '../../domain/teams/state.js';
import { type EmailTemplateContent, DEFAULT_LOCALE, DEFAULT_TIME_ZONE } from '../../domain/rendering/content.js';
import { nextTurn } from '../../shared/concurrency.js';
import { causeOf, type Caller } from '../core/caller.js';
import { withDrawnSvgs } from './svg.js';
import { memoized } from '../core/memoize.js';
import { requireAddress, type Recipient } from '../../domain/mime/address.js';
import { translationsPart, withStrictness, type Checked } from './answers.js';
import { blocksKey, emailWithBlocks, openIncludes, refuseIncludes, type PinnedBlocks } from './blocks.js';
import { expandEmail, type FindBlock } from '../../domain/rendering/blocks.js';
import { checkEmailIncludes } from '../../domain/rendering/check/includes.js';
import type { Limits } from '../../domain/core/limits.js';
import { draftOf, type Compiling, type TemplateKindOf } from './lifecycle.js';
import { linkBaseOf } from '../recipients/unsubscribe.js';
import { checkEmailTemplate } from '../../domain/rendering/check/email.js';
import type { CallLanguage } from '../../domain/rendering/translations.js';
import { UNSUBSCRIBE_CONSTANT } from '../../domain/rendering/scope/constants.js';
import type { EmailDraft } from '../../domain/templates/events.js';
import { templateDecider, templateRules } from '../../domain/templates/email-template.js';
import { commandsOf } from './templates.js';
import type { Tracking } from '../../domain/recipients/tracking.js';
import { measuringBudget, sizeWarnings } from './warnings.js';

export const emailKind: TemplateKindOf<'email'> = {
  rules: templateRules,
  decider: templateDecider,
  idOf: (_, reference) => parseTemplateId(reference),
  // Each email looks up a slug, and hashing one takes 10 µs.
  slugStream: memoized(1_000, (teamId, slug) => `${teamId} ${slug}`, templateSlugStream),
  load: (deps, id) => deps.template(templateStream(id)),
  reservedSlug: 'attachment',
  fresh: async (deps) => ({ id: assertDefined(parseTemplateId(deps.ids.uuid()), 'template id') }),
  prepared: withDrawnSvgs,
  checked: (deps, draft, written) => checkedDraft(deps, { ...(draft ?? blank), ...written }),
  compiling: (deps, caller) => measuring(deps, caller),
};

export const emailTemplates = commandsOf(emailKind);

/**
 * The content that the renderer takes from a draft revision. Drafts are checked before they are saved, so their parts
 * have these types.
 */
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
  draftOf(emailKind, deps, id, revision);

/** A revision of a template with the blocks that it shows; absent where it shows none. */
export type PinnedTemplate = Readonly<{ id: TemplateId; revision: number; blocks?: PinnedBlocks | undefined }>;

/** Names the content of a revision for ever, in one language and with its blocks. */
export const templateCacheKey = ({ id, revision, blocks }: PinnedTemplate, language?: CallLanguage): string =>
  `${id}:${revision}${blocksKey(blocks)}${languageKey(language)}`;

/** The compiled template of that revision in the language of a call, or its own; compiled once and kept. */
export const compiledTemplate = (
  deps: Pick<TemplateNeeds, 'eventLog' | 'renderer' | 'limits'>,
  pinned: PinnedTemplate,
  language: CallLanguage | undefined,
) =>
  deps.renderer.email(templateCacheKey(pinned, language), async () =>
    emailWithBlocks(
      deps,
      emailInLanguage(contentOf(await draftAt(deps, pinned.id, pinned.revision)), language),
      pinned.blocks,
    ),
  );

/** Compiles a draft with its blocks, refuses it where that fails, and keeps the warnings about its size. */
const measuring = (deps: TemplateNeeds, caller: Caller): Compiling<'email'> => {
  const includes = openIncludes(deps, caller.teamId);
  const { limits, renderer } = deps;
  let told: readonly FieldError[] = [];
  const inTurns = async (draft: EmailDraft): Promise<void> => {
    await includes.load(draft);
    requireIncludes(draft, { find: includes.find, limits });
    told = await compileAndMeasure(deps, contentOf(draft), includes.find, causeOf(deps, caller).at);
  };
  const atOnce = (draft: EmailDraft): void => {
    requireIncludes(draft, { find: includes.find, limits });
    renderer.compileEmail(expandEmail(emailInLanguage(contentOf(draft), undefined), { find: includes.find, limits }));
  };
  return { compiled: { inTurns, atOnce }, warnings: () => told };
};

/** Throws TEMPLATE_INVALID for the faults of the blocks that a draft includes. */
const requireIncludes = (draft: EmailDraft, asked: Readonly<{ find: FindBlock; limits: Limits }>): void =>
  refuseIncludes(emailIncludeFaults(draft, asked), 'the template');

/** The faults of the blocks that a draft includes, and of its unsubscribe links with them. */
export const emailIncludeFaults = (
  draft: EmailDraft,
  asked: Readonly<{ find: FindBlock; limits: Limits }>,
): readonly FieldError[] => {
  const content = emailInLanguage(contentOf(draft), undefined);
  const { expanded, faults } = checkEmailIncludes(content, asked);
  const hasLink = draft.unsubscribeList === undefined && expanded !== content && showsUnsubscribing(expanded);
  return hasLink ? [...faults, { field: 'unsubscribeList', message: LIST_REQUIRED }] : faults;
};

/** True where a mail of the template has the link to unsubscribe. */
export const showsUnsubscribing = ({ schema, subject }: Pick<EmailTemplateContent, 'schema' | 'subject'>): boolean =>
  JSON.stringify([subject, schema]).includes(UNSUBSCRIBE_CONSTANT);

/** The fault of such a template that names no list. */
export const LIST_REQUIRED = `must name a list where the template shows {{${UNSUBSCRIBE_CONSTANT}}}`;

/**
 * Compiles a template that is to be saved in each of its languages, its own one first. Out: the warnings about the size
 * of its mail in each of them, with the defaults of its variables. Rejects where it cannot be compiled.
 */
const compileAndMeasure = async (
  { renderer, limits }: Pick<TemplateNeeds, 'renderer' | 'limits'>,
  content: EmailTemplateContent,
  find: FindBlock,
  at: string,
): Promise<readonly FieldError[]> => {
  const { variables, translations = {} } = content;
  const email = { variables: previewVariables(variables, {}), environment: { at, company: emptyCompany } };
  const budget = measuringBudget({ limits });
  const warnings: FieldError[] = [];
  const told = new Set<string>();
  for (const locale of [undefined, ...Object.keys(translations)]) {
    const inLanguage = emailInLanguage(content, locale === undefined ? undefined : { locale });
    const compiled = await renderer.compileEmailInTurns(expandEmail(inLanguage, { find, limits }));
    const dropped = renderer.dropped(inLanguage).filter(({ field, message }) => !told.has(`${field} ${message}`));
    for (const { field, message } of dropped) told.add(`${field} ${message}`);
    for (const { field, message } of [...dropped, ...sizeWarnings(compiled, email, budget)])
      warnings.push({ field: locale === undefined ? field : `translations.${locale}`, message });
    await nextTurn();
  }
  return warnings;
};

/** A draft that may say null for nothing, and whose parts are not checked. */
type UncheckedDraft = Omit<EmailDraft, 'variables' | 'schema' | 'unsubscribeList' | 'tracking' | 'translations'> &
  Readonly<{
    variables: unknown;
    schema?: unknown;
    translations?: unknown;
    unsubscribeList?: string | null;
    tracking?: Tracking | null;
  }>;

const blank: UncheckedDraft = {
  name: '',
  description: '',
  subject: '',
  from: null,
  variables: [],
  schema: undefined,
  locale: DEFAULT_LOCALE,
  timeZone: DEFAULT_TIME_ZONE,
};

const checkedDraft = (deps: TemplateNeeds, draft: UncheckedDraft): Checked<EmailDraft> => {
  const { translations: given, unsubscribeList, tracking, ...untranslated } = draft;
  const { subject, variables, schema, locale, timeZone } = draft;
  const { content, warnings } = checkEmailTemplate(
    { subject, variables, schema, locale, timeZone, translations: given },
    deps.limits,
  );
  const from = draft.from === null ? null : checkedSender(draft.from);
  const checked = {
    ...withStrictness({ ...untranslated, ...(tracking === undefined || tracking === null ? {} : { tracking }) }),
    from,
    variables: [...content.variables],
    schema: content.schema,
    ...translationsPart(content),
  };
  assertUnsubscribing(deps, unsubscribeList ?? undefined, checked);
  return {
    draft: unsubscribeList === undefined || unsubscribeList === null ? checked : { ...checked, unsubscribeList },
    warnings,
  };
};

/** Throws PUBLIC_URL_REQUIRED, and VALIDATION_ERROR where the mail would show a link that leads nowhere. */
const assertUnsubscribing = (
  deps: TemplateNeeds,
  list: string | undefined,
  draft: Omit<EmailDraft, 'unsubscribeList'>,
): void => {
  if (list !== undefined) return void linkBaseOf(deps);
  if (showsUnsubscribing(draft as Pick<EmailTemplateContent, 'schema' | 'subject'>))
    throw invalid('request body', 'unsubscribeList', LIST_REQUIRED);
};

const checkedSender = (from: Recipient): Recipient => ({ ...from, email: requireAddress(from.email, 'from.email') });
