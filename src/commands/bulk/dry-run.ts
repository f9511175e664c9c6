/** The dry run of a bulk send: makes the checks of the call on the current state, and stores and sends nothing. */
import { finderOf } from '../templates/blocks.js';
import { expandEmail } from '../../domain/rendering/blocks.js';
import { attachmentContentAt, attachmentInLanguage } from '../templates/attachment-templates.js';
import { isRecipientFault, orderOf, suppressedBelow, type OpenBatch } from './emails.js';
import { leftOutWarnings, prepareBulk, readRecipients, type PreparedBulk } from './request.js';
import { type Caller, isTest } from '../core/caller.js';
import { compiledSource, type MailSource } from '../email/source.js';
import { contentOf, draftAt } from '../templates/email-templates.js';
import { measuringBudget, sizeWarnings } from '../templates/warnings.js';
import type { EmailNeeds } from '../email/needs.js';
import type { KnownCharacters } from '../documents/documents.js';
import type { CheckedDocuments, EmailOrder } from '../email/acceptance.js';
import { lossesIn, type LossesIn } from '../templates/preview.js';
import type { QuotaStatus } from '../billing/credits.js';
import { checkOne, FIRST_RECIPIENTS, openOf } from './send.js';
import type { DryRunResponse, SendBulkRequest } from '../../api/bulk.js';
import type { Cost } from '../../domain/billing/credits.js';
import type { BatchRecipient } from '../../domain/bulk/events.js';
import { DomainError, textOfError } from '../../domain/core/errors.js';
import { INLINE } from '../../domain/core/stored-schemas.js';
import { assertDefined, parseAttachmentTemplateId, parseBatchId } from '../../domain/core/ids.js';
import { LOSSES_MAX, lossMessage, type Loss } from '../../domain/rendering/paths/losses.js';
import { emailInLanguage, languageKey } from '../../domain/rendering/languages.js';
import { codePointOf } from '../../shared/text.js';
import { nextTurn } from '../../shared/concurrency.js';

/** Most warnings about faults of recipients, and most of an answer. */
const FAULTS_MAX = 4_000;
const WARNINGS_MAX = 6_000;
const WARNING_CHARS_MAX = 300;
const CHARACTERS_SHOWN = 10;

/** `index`: the place among the recipients that get an email; `given`: the place in the call. */
type Failing = Readonly<{ index: number; given: number; fault: DomainError }>;

/**
 * The answer contains every fault, also those for which the call itself would be refused. Rejects with GENERATOR_BUSY.
 */
export const dryRunBulk = async (
  deps: EmailNeeds,
  caller: Caller,
  request: SendBulkRequest,
): Promise<DryRunResponse> => {
  const quota = await deps.credits.quote(caller.teamId);
  let prepared: PreparedBulk;
  try {
    prepared = await prepareBulk(deps, caller, request);
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    return refusedReport(deps, request, { fault, quota });
  }
  const open = openOf(assertDefined(parseBatchId(deps.ids.uuid()), 'UUID'), caller, prepared);
  const suppressed = await suppressedBelow(deps, open, prepared.cost.emails);
  const { failing, cost, omitting, replacing } = await checkedRecipients(deps, open, suppressed);
  const { emptyPaths, warnings } = await lostOf(deps, prepared, open, suppressed);
  const refusals = [
    ...roomFault(deps, caller, prepared),
    ...allFail(failing, suppressed, prepared),
    // The call takes the credits of everything first; those of what is not made come back.
    ...(isTest(caller) ? [] : messageOf(quota.wouldRefuse(prepared.cost))),
  ];
  return {
    valid: failing.length === 0 && refusals.length === 0,
    totalEmails: prepared.cost.emails,
    totalQuotaCost: isTest(caller) ? 0 : cost.emails + cost.attachments,
    costBreakdown: cost,
    quotaStatus: quotaStatus(quota),
    recipientValidation: {
      totalRecipients: request.recipients.length,
      validEmails: prepared.cost.emails,
      invalidEmails: prepared.invalid.length,
      duplicateEmails: prepared.duplicates.length,
      failing: failing.map(({ given }) => given),
    },
    templateValidation: {
      templateFound: request.content === undefined,
      templateType: request.content === undefined ? 'email' : INLINE,
      requiredVariables: await requiredVariables(deps, prepared),
      missingVariables: missingVariables(failing),
      emptyPaths,
    },
    warnings: bounded([
      ...refusals,
      ...leftOutWarnings(prepared),
      ...faultWarnings(failing),
      ...[...suppressed].map((index) => suppressedWarning(assertDefined(open.content.recipients[index], 'recipient'))),
      ...omitting,
      ...(await tooLong(deps, prepared, open)),
      ...replacing,
      ...warnings,
    ]),
  };
};

const bounded = (warnings: readonly string[]): string[] => {
  const shown = warnings
    .slice(0, WARNINGS_MAX)
    .map((text) => (text.length > WARNING_CHARS_MAX ? `${text.slice(0, WARNING_CHARS_MAX)}…` : text));
  return warnings.length > WARNINGS_MAX ? [...shown, `and ${warnings.length - WARNINGS_MAX} more`] : shown;
};

/**
 * Each fault has a warning; if they are very many, each recipient shows its first ones and says how many more it has.
 */
const faultWarnings = (failing: readonly Failing[]): readonly string[] => {
  const each = Math.max(1, Math.floor(FAULTS_MAX / Math.max(1, failing.length)));
  return failing.flatMap(({ given, fault }) => {
    const { errors = [] } = fault.details;
    if (errors.length < 2) return [warningOf(given, fault)];
    const shown = errors.slice(0, each).map(textOfError);
    return errors.length > each ? [...shown, `recipients[${given}] has ${errors.length - each} more faults`] : shown;
  });
};

/** Some messages begin with the place of the recipient already. */
const warningOf = (given: number, { message }: DomainError): string =>
  message.startsWith(`recipients[${given}]`) ? message : `recipients[${given}]: ${message}`;

const messageOf = (fault: DomainError | undefined): readonly string[] => (fault === undefined ? [] : [fault.message]);

const quotaStatus = ({ emailQuota, attachmentQuota }: QuotaStatus): DryRunResponse['quotaStatus'] => ({
  emailQuota,
  attachmentQuota,
});

const allFail = (
  failing: readonly Failing[],
  suppressed: ReadonlySet<number>,
  { cost }: PreparedBulk,
): readonly string[] => {
  const isFirst = (index: number): boolean => index < FIRST_RECIPIENTS;
  const checked = Math.min(FIRST_RECIPIENTS, cost.emails) - [...suppressed].filter(isFirst).length;
  const isRefused = checked > 0 && failing.filter(({ index }) => isFirst(index)).length === checked;
  return isRefused ? ['The call would be refused: the emails of all its first recipients fail.'] : [];
};

const roomFault = (deps: EmailNeeds, { teamId }: Caller, { cost }: PreparedBulk): readonly string[] => {
  try {
    deps.backlog.assertRoom(teamId, cost.emails);
    return [];
  } catch (fault) {
    if (fault instanceof DomainError) return [fault.message];
    throw fault;
  }
};

/**
 * `cost`: of what would be made; an email that fails costs one. `omitting`: warnings about optional documents that
 * cannot be made. `replacing`: warnings about documents in which names replace characters.
 */
type Checked = Readonly<{
  failing: readonly Failing[];
  cost: Cost;
  omitting: readonly string[];
  replacing: readonly string[];
}>;

/**
 * Draws documents for the first recipients, as the call would, and only checks those of the others; nothing is made for
 * a suppressed one.
 */
const checkedRecipients = async (
  deps: EmailNeeds,
  open: OpenBatch,
  suppressed: ReadonlySet<number>,
): Promise<Checked> => {
  const { recipients } = open.content;
  const failing: Failing[] = [];
  const omitting: string[] = [];
  const replacing: string[] = [];
  const known: KnownCharacters = new Map();
  let attachments = 0;
  let isMade = false;
  for (const [index, { given }] of recipients.entries()) {
    if (suppressed.has(index)) continue;
    const isDrawn = index < FIRST_RECIPIENTS && !isMade;
    try {
      const {
        generated = NONE,
        omitted,
        replaced = [],
      } = await checkOne(deps, open, index, isDrawn ? undefined : known);
      isMade = true;
      attachments += generated.pdf + generated.excel;
      for (const one of omitted) omitting.push(omittedIn(given, one));
      for (const one of replaced) replacing.push(replacedIn(given, one));
    } catch (fault) {
      if (!isRecipientFault(fault)) throw fault;
      failing.push({ index, given, fault });
    }
    await nextTurn();
  }
  return { failing, cost: { emails: recipients.length - suppressed.size, attachments }, omitting, replacing };
};

const NONE = { pdf: 0, excel: 0 };

const omittedIn = (given: number, { name, documents, reason }: CheckedDocuments['omitted'][number]): string =>
  `recipients[${given}] goes without the optional document "${name}", which would cost ${documents}: ${reason}`;

const suppressedWarning = ({ given }: BatchRecipient): string =>
  `recipients[${given}] is not sent to, and costs nothing: its address is on the suppression list`;

const replacedIn = (given: number, { name, characters }: NonNullable<CheckedDocuments['replaced']>[number]): string => {
  const shown = characters.slice(0, CHARACTERS_SHOWN).map((character) => `${character} (${codePointOf(character)})`);
  const more = characters.length > shown.length ? ` and ${characters.length - shown.length} more` : '';
  return `recipients[${given}]: no font has ${shown.join(', ')}${more}, in whose place names stand in ${name}`;
};

/** The required variables of the template and of each document template. */
const requiredVariables = async (deps: EmailNeeds, { source, accepted }: PreparedBulk): Promise<string[]> => {
  const names = new Set<string>();
  const note = (variables: readonly unknown[]): void => {
    for (const variable of variables as readonly Readonly<{ name: string; required?: boolean }>[])
      if (variable.required === true) names.add(variable.name);
  };
  if (source.kind === 'template') note((await draftAt(deps, source.id, source.revision)).variables);
  for (const { templateId: id, templateRevision } of accepted.documents)
    note(
      (
        await attachmentContentAt(
          deps,
          assertDefined(parseAttachmentTemplateId(id), 'attachment template id'),
          templateRevision,
        )
      ).variables,
    );
  return [...names];
};

type Lost = Readonly<{ emptyPaths: string[]; warnings: readonly string[] }>;

/** Losses of the mails and documents of the recipients; a warning counts the emails with that loss. */
const lostOf = async (
  deps: EmailNeeds,
  { source }: PreparedBulk,
  open: OpenBatch,
  suppressed: ReadonlySet<number>,
): Promise<Lost> => {
  const paths = new Set<string>();
  const counted = new Map<string, { loss: Loss; emails: number }>();
  const inMails = await lossesOfMails(deps, source);
  const documents = new Map<string, LossesIn>();
  for (const index of open.content.recipients.keys()) {
    if (suppressed.has(index)) continue;
    const order = orderOf(open, index);
    const { variables, language, company, at, given } = order;
    const key = languageKey(language);
    const environment = { at, company };
    const losses = [...inMails(order)];
    for (const attachment of given) {
      if (attachment.kind !== 'generated' || attachment.pinned === undefined) continue;
      const { id } = attachment.pinned;
      const inDocument =
        documents.get(id + key) ?? lossesIn(await attachmentInLanguage(deps, attachment.pinned, language), deps.limits);
      documents.set(id + key, inDocument);
      losses.push(...inDocument({ ...variables, ...attachment.variables }, environment));
    }
    for (const { path } of losses) if (paths.size < LOSSES_MAX) paths.add(path);
    countOnce(losses, counted);
    await nextTurn();
  }
  const all = open.content.recipients.length - suppressed.size;
  return { emptyPaths: [...paths], warnings: [...counted.values()].map((one) => countedWarning(one, all)) };
};

/** Out: a function that finds what the mail of an order loses. */
const lossesOfMails = async (deps: EmailNeeds, source: MailSource): Promise<(order: EmailOrder) => readonly Loss[]> => {
  if (source.kind === 'inline')
    return ({ variables, language, company, at, subject = '' }) => {
      try {
        const input = { variables, subject, environment: { at, company } };
        return deps.renderer.inline(source.content, language).check(input).losses;
      } catch (fault) {
        // The mail cannot be made, which another warning says.
        if (fault instanceof DomainError) return [];
        throw fault;
      }
    };
  const mail = contentOf(await draftAt(deps, source.id, source.revision));
  const find = await finderOf(deps, source.blocks);
  const mails = new Map<string, LossesIn>();
  return ({ variables, language, company, at }) => {
    const key = languageKey(language);
    const inMail =
      mails.get(key) ??
      lossesIn(expandEmail(emailInLanguage(mail, language), { find, limits: deps.limits }), deps.limits);
    mails.set(key, inMail);
    return inMail(variables, { at, company });
  };
};

/** The items of a list count together, and an email once. */
const countOnce = (losses: readonly Loss[], counted: Map<string, { loss: Loss; emails: number }>): void => {
  const ofEmail = new Map(
    losses.map((loss) => {
      const path = loss.path.replace(/\[\d+\]/g, '[]');
      return [`${loss.kind} ${path}`, { ...loss, path }] as const;
    }),
  );
  for (const [key, loss] of ofEmail) {
    const known = counted.get(key);
    if (known !== undefined) known.emails += 1;
    else if (counted.size < LOSSES_MAX) counted.set(key, { loss, emails: 1 });
  }
};

const countedWarning = ({ loss, emails }: Readonly<{ loss: Loss; emails: number }>, all: number): string =>
  `${emails} of ${all} ${all === 1 ? 'email' : 'emails'}: {{${loss.path}}} ${lossMessage(loss)}`;

/** Measures the first mail in each language: the others are about as long. All languages share one budget. */
const tooLong = async (deps: EmailNeeds, { source }: PreparedBulk, open: OpenBatch): Promise<string[]> => {
  const budget = measuringBudget(deps);
  const warnings: string[] = [];
  const seen = new Set<string>();
  for (const [index, { locale = open.content.locale }] of open.content.recipients.entries()) {
    if (seen.has(locale ?? '')) continue;
    seen.add(locale ?? '');
    const { variables, language, company, at, subject } = orderOf(open, index);
    const compiled = await compiledSource(deps, source, language);
    const input = { variables, environment: { at, company }, ...(subject !== undefined && { subject }) };
    for (const { message } of sizeWarnings(compiled, input, budget))
      warnings.push(
        `the ${source.kind === 'inline' ? 'mail' : 'template'}${language?.locale === undefined ? '' : `, in ${language.locale},`} ${message}`,
      );
    await nextTurn();
  }
  return warnings;
};

/** Names of required variables that some recipient lacks. */
const missingVariables = (failing: readonly Failing[]): string[] => {
  const names = new Set<string>();
  for (const { fault } of failing)
    for (const { field, message } of fault.details.errors ?? []) {
      const [, name, key] = /(?:^|\.)variables(?:\.(.+)|(\[".+))$/.exec(field) ?? [];
      const missing = name ?? key;
      if (message === 'is required' && missing !== undefined) names.add(missing);
    }
  return [...names];
};

/** The answer if the call would be refused before any email is checked. */
const refusedReport = async (
  deps: EmailNeeds,
  request: SendBulkRequest,
  { fault, quota }: Readonly<{ fault: DomainError; quota: QuotaStatus }>,
): Promise<DryRunResponse> => {
  const { recipients, invalid, duplicates } = await readRecipients(request, deps.limits);
  const errors = fault.details.errors ?? [];
  return {
    valid: false,
    totalEmails: 0,
    totalQuotaCost: 0,
    costBreakdown: { emails: 0, attachments: 0 },
    quotaStatus: quotaStatus(quota),
    recipientValidation: {
      totalRecipients: request.recipients.length,
      validEmails: recipients.length,
      invalidEmails: invalid.length,
      duplicateEmails: duplicates.length,
      failing: [],
    },
    templateValidation: {
      templateFound: request.content === undefined && fault.code !== 'ERR_TMPL_002',
      templateType: request.content === undefined ? 'email' : INLINE,
      requiredVariables: [],
      missingVariables: [],
      emptyPaths: [],
    },
    warnings: bounded(errors.length === 0 ? [fault.message] : errors.map(textOfError)),
  };
};
