/** Says what a bulk call would do: the decisions of the call itself, on the state of now, with nothing kept and nothing sent. */
import { attachmentContentAt } from './attachment-templates.js';
import { isOfRecipient, type OpenBatch } from './batch-emails.js';
import { prepareBulk, type LeftOut, type PreparedBulk } from './bulk-request.js';
import type { Caller } from './caller.js';
import type { CommandDeps } from './deps.js';
import { checkOne, openOf } from './send-bulk.js';
import { draftAt } from './templates.js';
import type { DryRunResponse, SendBulkRequest } from '../api/bulk.js';
import { DomainError } from '../domain/errors.js';
import { assertDefined, parseAttachmentTemplateId, parseBatchId } from '../domain/ids.js';
import { nextTurn } from '../shared/next-turn.js';

type Failing = Readonly<{ given: number; fault: DomainError }>;

/** Rejects with VALIDATION_ERROR where the call has another form than it must; all else that is wrong stands in the answer. */
export const dryRunBulk = async (deps: CommandDeps, caller: Caller, request: SendBulkRequest): Promise<DryRunResponse> => {
  let prepared: PreparedBulk;
  try {
    prepared = await prepareBulk(deps, caller, request);
  } catch (fault) {
    if (!(fault instanceof DomainError) || fault.code === 'VALIDATION_ERROR') throw fault;
    return refusedReport(request, fault);
  }
  const room = roomFault(deps, caller, prepared);
  const failing = await failingRecipients(deps, openOf(assertDefined(parseBatchId(deps.ids.uuid()), 'UUID'), caller, prepared));
  const { emails, attachments } = prepared.cost;
  const unlimited = { used: 0, limit: null, remaining: null };
  return {
    valid: failing.length === 0 && room === undefined,
    totalEmails: emails,
    totalQuotaCost: emails + attachments,
    costBreakdown: { emails, attachments },
    quotaStatus: { emailQuota: unlimited, attachmentQuota: unlimited },
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
    },
    warnings: [...leftOut(prepared), ...failing.map(({ given, fault }) => `recipients[${given}]: ${fault.message}`), ...(room ?? [])],
  };
};

const roomFault = (deps: CommandDeps, { teamId }: Caller, { cost }: PreparedBulk): readonly string[] | undefined => {
  try {
    deps.backlog.assertRoom(teamId, cost.emails);
    return undefined;
  } catch (fault) {
    if (fault instanceof DomainError) return [fault.message];
    throw fault;
  }
};

const failingRecipients = async (deps: CommandDeps, open: OpenBatch): Promise<readonly Failing[]> => {
  const failing: Failing[] = [];
  for (const [index, { given }] of open.content.recipients.entries()) {
    try {
      await checkOne(deps, open, index);
    } catch (fault) {
      if (!isOfRecipient(fault)) throw fault;
      failing.push({ given, fault });
    }
    await nextTurn();
  }
  return failing;
};

const leftOut = ({ invalid, duplicates }: PreparedBulk): readonly string[] => {
  const text = ({ given, reason }: LeftOut, field: string) => `recipients[${given}] is left out: ${field} ${reason}`;
  return [...invalid.map((one) => text(one, 'its address')), ...duplicates.map((one) => text(one, 'its address'))];
};

/** What the template, and each attachment, cannot do without. */
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

/** Names of variables that some recipient lacks. */
const missingVariables = (failing: readonly Failing[]): string[] => {
  const names = new Set<string>();
  for (const { fault } of failing)
    for (const { field, message } of fault.details.errors ?? []) {
      const at = field.lastIndexOf('variables.');
      if (message === 'is required' && at >= 0) names.add(field.slice(at + 'variables.'.length));
    }
  return [...names];
};

/** The call would be refused before any recipient is looked at, or for all of them. */
const refusedReport = (request: SendBulkRequest, fault: DomainError): DryRunResponse => {
  const total = request.recipients.length;
  const invalidEmails = fault.code === 'ERR_EMAIL_001' ? total : 0;
  const unlimited = { used: 0, limit: null, remaining: null };
  return {
    valid: false,
    totalEmails: 0,
    totalQuotaCost: 0,
    costBreakdown: { emails: 0, attachments: 0 },
    quotaStatus: { emailQuota: unlimited, attachmentQuota: unlimited },
    recipientValidation: { totalRecipients: total, validEmails: total - invalidEmails, invalidEmails, duplicateEmails: 0, failing: [] },
    templateValidation: {
      templateFound: fault.code !== 'ERR_TMPL_002',
      templateType: 'email',
      requiredVariables: [],
      missingVariables: [],
    },
    warnings: [fault.message],
  };
};
