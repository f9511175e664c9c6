/** The dry run of a bulk send: makes the checks of the call on the current state, and stores and sends nothing. */
import { attachmentContentAt } from '../templates/attachment-templates.js';
import { isRecipientFault, orderOf, type OpenBatch } from './emails.js';
import { prepareBulk, readRecipients, type LeftOut, type PreparedBulk } from './request.js';
import { type Caller, isTest } from '../core/caller.js';
import { compiledTemplate, contentOf, draftAt } from '../templates/templates.js';
import { measuringBudget, sizeWarnings } from '../templates/warnings.js';
import type { CommandDeps } from '../core/deps.js';
import type { KnownCharacters } from '../documents/documents.js';
import type { ReplacedCharacters } from '../email/acceptance.js';
import { emptyPathsIn, type EmptyPaths } from '../templates/preview.js';
import type { QuotaStatus } from '../billing/credits.js';
import { checkOne, FIRST_RECIPIENTS, openOf } from './send.js';
import { suppressedPlaces } from '../recipients/suppression-check.js';
import type { DryRunResponse, SendBulkRequest } from '../../api/bulk.js';
import { DomainError } from '../../domain/core/errors.js';
import { assertDefined, parseAttachmentTemplateId, parseBatchId } from '../../domain/core/ids.js';
import { EMPTY_PATHS_MAX } from '../../domain/rendering/paths/empty.js';
import { documentInLanguage, emailInLanguage, languageKey } from '../../domain/rendering/languages.js';
import { codePointOf } from '../../shared/text.js';
import { nextTurn } from '../../shared/concurrency.js';

/** Most warnings of an answer: one for each recipient, and some for the call. */
const WARNINGS_MAX = 1_010;
const WARNING_CHARS_MAX = 300;
const CHARACTERS_SHOWN = 10;
const ASKED_AT_ONCE = 50;

/** `index`: the place among the recipients that get an email; `given`: the place in the call. */
type Failing = Readonly<{ index: number; given: number; fault: DomainError }>;

/** The answer contains every fault, also those for which the call itself would be refused. Rejects with GENERATOR_BUSY. */
export const dryRunBulk = async (deps: CommandDeps, caller: Caller, request: SendBulkRequest): Promise<DryRunResponse> => {
  const quota = await deps.credits.quote(caller.teamId);
  let prepared: PreparedBulk;
  try {
    prepared = await prepareBulk(deps, caller, request);
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    return refusedReport(deps, request, { fault, quota });
  }
  const open = openOf(assertDefined(parseBatchId(deps.ids.uuid()), 'UUID'), caller, prepared);
  const { failing, replacing } = await checkedRecipients(deps, open);
  const { emails, attachments } = prepared.cost;
  const refusals = [
    ...roomFault(deps, caller, prepared),
    ...allFail(failing, prepared),
    ...(isTest(caller) ? [] : messageOf(quota.wouldRefuse(prepared.cost))),
  ];
  return {
    valid: failing.length === 0 && refusals.length === 0,
    totalEmails: emails,
    totalQuotaCost: isTest(caller) ? 0 : emails + attachments,
    costBreakdown: { emails, attachments },
    quotaStatus: quotaStatus(quota),
    recipientValidation: {
      totalRecipients: request.recipients.length,
      validEmails: emails,
      invalidEmails: prepared.invalid.length,
      duplicateEmails: prepared.duplicates.length,
      failing: failing.map(({ given }) => given),
    },
    templateValidation: {
      templateFound: true,
      templateType: 'email',
      requiredVariables: await requiredVariables(deps, prepared),
      missingVariables: missingVariables(failing),
      emptyPaths: await emptyPaths(deps, prepared, open),
    },
    warnings: bounded([
      ...refusals,
      ...leftOut(prepared),
      ...failing.map(({ given, fault }) => warningOf(given, fault)),
      ...(await suppressed(deps, caller, prepared)),
      ...(await tooLong(deps, prepared, open)),
      ...replacing,
    ]),
  };
};

const bounded = (warnings: readonly string[]): string[] => {
  const shown = warnings
    .slice(0, WARNINGS_MAX)
    .map((text) => (text.length > WARNING_CHARS_MAX ? `${text.slice(0, WARNING_CHARS_MAX)}…` : text));
  return warnings.length > WARNINGS_MAX ? [...shown, `and ${warnings.length - WARNINGS_MAX} more`] : shown;
};

/** Some messages begin with the place of the recipient already. */
const warningOf = (given: number, { message }: DomainError): string =>
  message.startsWith(`recipients[${given}]`) ? message : `recipients[${given}]: ${message}`;

const messageOf = (fault: DomainError | undefined): readonly string[] => (fault === undefined ? [] : [fault.message]);

const quotaStatus = ({ emailQuota, attachmentQuota }: QuotaStatus): DryRunResponse['quotaStatus'] => ({ emailQuota, attachmentQuota });

const allFail = (failing: readonly Failing[], { cost }: PreparedBulk): readonly string[] => {
  const checked = Math.min(FIRST_RECIPIENTS, cost.emails);
  const isRefused = failing.filter(({ index }) => index < checked).length === checked;
  return isRefused ? ['The call would be refused: the emails of all its first recipients fail.'] : [];
};

const roomFault = (deps: CommandDeps, { teamId }: Caller, { cost }: PreparedBulk): readonly string[] => {
  try {
    deps.backlog.assertRoom(teamId, cost.emails);
    return [];
  } catch (fault) {
    if (fault instanceof DomainError) return [fault.message];
    throw fault;
  }
};

/** `replacing`: warnings about documents in which names replace characters. */
type Checked = Readonly<{ failing: readonly Failing[]; replacing: readonly string[] }>;

/** Draws documents for the first recipients, as the call would, and only checks those of the others. */
const checkedRecipients = async (deps: CommandDeps, open: OpenBatch): Promise<Checked> => {
  const failing: Failing[] = [];
  const replacing: string[] = [];
  const known: KnownCharacters = new Map();
  for (const [index, { given }] of open.content.recipients.entries()) {
    const isDrawn = index < FIRST_RECIPIENTS && failing.length === index;
    try {
      for (const one of await checkOne(deps, open, index, isDrawn ? undefined : known)) replacing.push(replacedIn(given, one));
    } catch (fault) {
      if (!isRecipientFault(fault)) throw fault;
      failing.push({ index, given, fault });
    }
    await nextTurn();
  }
  return { failing, replacing };
};

const replacedIn = (given: number, { name, characters }: ReplacedCharacters[number]): string => {
  const shown = characters.slice(0, CHARACTERS_SHOWN).map((character) => `${character} (${codePointOf(character)})`);
  const more = characters.length > shown.length ? ` and ${characters.length - shown.length} more` : '';
  return `recipients[${given}]: no font has ${shown.join(', ')}${more}, in whose place names stand in ${name}`;
};

const leftOut = ({ invalid, duplicates }: PreparedBulk): readonly string[] => {
  const text = ({ given }: LeftOut, why: string) => `recipients[${given}] is left out: ${why}`;
  return [...invalid.map((one) => text(one, one.reason)), ...duplicates.map((one) => text(one, `its address ${one.reason}`))];
};

/** Warnings about suppressed recipients: their emails are accepted but not sent, and their credits returned. */
const suppressed = async (
  deps: CommandDeps,
  { teamId }: Caller,
  { accepted: { unsubscribeList }, content: { recipients } }: PreparedBulk,
): Promise<readonly string[]> => {
  if (!(await deps.hasSuppressions(teamId))) return [];
  const warnings: string[] = [];
  for (let from = 0; from < recipients.length; from += ASKED_AT_ONCE)
    for (const place of await suppressedPlaces(deps, teamId, recipients.slice(from, from + ASKED_AT_ONCE), unsubscribeList))
      warnings.push(`recipients[${recipients[from + place]!.given}] is not sent to: its address is on the suppression list`);
  return warnings;
};

/** The required variables of the template and of each document template. */
const requiredVariables = async (deps: CommandDeps, { templateId, accepted }: PreparedBulk): Promise<string[]> => {
  const names = new Set<string>();
  const note = (variables: readonly unknown[]): void => {
    for (const variable of variables as readonly Readonly<{ name: string; required?: boolean }>[])
      if (variable.required === true) names.add(variable.name);
  };
  note((await draftAt(deps, templateId, accepted.templateRevision)).variables);
  for (const { templateId: id, templateRevision } of accepted.documents)
    note(
      (await attachmentContentAt(deps, assertDefined(parseAttachmentTemplateId(id), 'attachment template id'), templateRevision)).variables,
    );
  return [...names];
};

/** The paths that the mail or a document shows and that have no value for some recipient. */
const emptyPaths = async (deps: CommandDeps, { templateId, accepted }: PreparedBulk, open: OpenBatch): Promise<string[]> => {
  const found = new Set<string>();
  const mail = contentOf(await draftAt(deps, templateId, accepted.templateRevision));
  const mails = new Map<string, EmptyPaths>();
  const documents = new Map<string, EmptyPaths>();
  for (const index of open.content.recipients.keys()) {
    const { variables, language, company, at, given } = orderOf(open, index);
    const key = languageKey(language);
    const inMail = mails.get(key) ?? emptyPathsIn(emailInLanguage(mail, language), deps.limits);
    mails.set(key, inMail);
    const environment = { at, company };
    for (const path of inMail(variables, environment)) found.add(path);
    for (const attachment of given) {
      if (attachment.kind !== 'generated' || attachment.pinned === undefined) continue;
      const { id, revision } = attachment.pinned;
      const inDocument =
        documents.get(id + key) ?? emptyPathsIn(documentInLanguage(await attachmentContentAt(deps, id, revision), language), deps.limits);
      documents.set(id + key, inDocument);
      for (const path of inDocument({ ...variables, ...attachment.variables }, environment)) found.add(path);
    }
    if (found.size >= EMPTY_PATHS_MAX) break;
    await nextTurn();
  }
  return [...found].slice(0, EMPTY_PATHS_MAX);
};

/** Measures the first mail in each language: the others are about as long. All languages share one budget. */
const tooLong = async (deps: CommandDeps, { templateId, accepted }: PreparedBulk, open: OpenBatch): Promise<string[]> => {
  const budget = measuringBudget(deps);
  const warnings: string[] = [];
  const seen = new Set<string>();
  for (const [index, { locale = open.content.locale }] of open.content.recipients.entries()) {
    if (seen.has(locale ?? '')) continue;
    seen.add(locale ?? '');
    const { variables, language, company, at } = orderOf(open, index);
    const compiled = compiledTemplate(deps, templateId, accepted.templateRevision, language);
    for (const { message } of await sizeWarnings(compiled, { variables, environment: { at, company } }, budget))
      warnings.push(`the template${language?.locale === undefined ? '' : `, in ${language.locale},`} ${message}`);
    await nextTurn();
  }
  return warnings;
};

/** Names of required variables that some recipient lacks. */
const missingVariables = (failing: readonly Failing[]): string[] => {
  const names = new Set<string>();
  for (const { fault } of failing)
    for (const { field, message } of fault.details.errors ?? []) {
      const at = field.lastIndexOf('variables.');
      if (message === 'is required' && at >= 0) names.add(field.slice(at + 'variables.'.length));
    }
  return [...names];
};

/** The answer if the call would be refused before any email is checked. */
const refusedReport = async (
  deps: CommandDeps,
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
      templateFound: fault.code !== 'ERR_TMPL_002',
      templateType: 'email',
      requiredVariables: [],
      missingVariables: [],
      emptyPaths: [],
    },
    warnings: bounded(errors.length === 0 ? [fault.message] : errors.map(({ field, message }) => `${field} ${message}`)),
  };
};
