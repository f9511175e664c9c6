/** The emails of a bulk send: what each is made of, and the making of a part of them. */
import type { Cost } from '../../domain/billing/credits.js';
import type { CommandDeps } from '../core/deps.js';
import { loadState } from '../core/handle.js';
import { eraseStream } from '../core/erase.js';
import { suppressedPlaces } from '../recipients/suppression-check.js';
import {
  acceptedEvents,
  costOf,
  makeEmail,
  unrenderedEmail,
  withCharged,
  type EmailOrder,
  type MadeEmail,
  type StoredBytes,
} from '../email/acceptance.js';
import type { RequestedAttachment } from '../documents/request.js';
import type { BatchContent, BatchRecipient } from '../../domain/bulk/events.js';
import { releaseAtOf, type Batch } from '../../domain/bulk/decider.js';
import { emailDecider } from '../../domain/email/decider.js';
import type { EmailEvent } from '../../domain/email/events.js';
import { AppendUnknown, DomainError, KeyMissing, WrongExpectedRevision } from '../../domain/core/errors.js';
import {
  assertDefined,
  batchStream,
  emailIdInBatch,
  emailStream,
  parseAttachmentTemplateId,
  parseTemplateId,
  type BatchId,
  type TeamId,
} from '../../domain/core/ids.js';
import type { JsonObject } from '../../domain/core/json.js';
import type { Company } from '../../domain/rendering/scope/constants.js';
import type { CallLanguage } from '../../domain/rendering/translations.js';
import { startOf, type Cause } from '../../event-log/event-log.js';

/** A bulk send whose emails can be made. */
export type OpenBatch = Readonly<{
  id: BatchId;
  teamId: TeamId;
  batch: Pick<Batch, 'accepted' | 'scheduledAt' | 'erased'>;
  content: BatchContent;
}>;

/** Rejects with KeyMissing where its content cannot be read though nothing says that it is destroyed. */
export const openBatch = (id: BatchId, teamId: TeamId, batch: Batch): OpenBatch => {
  if (batch.content === undefined) throw new KeyMissing(batchStream(id));
  return { id, teamId, batch, content: batch.content };
};

/** What the email for the recipient at that place is made of. It depends on nothing but the batch, so that made again it is the same. */
export const orderOf = ({ id, teamId, batch, content }: OpenBatch, index: number): EmailOrder => {
  const { accepted } = batch;
  const recipient = assertDefined(content.recipients[index], 'recipient of the batch');
  return {
    id: emailIdInBatch(id, index),
    teamId,
    at: releaseAtOf(batch),
    scheduledAt: undefined,
    template: {
      id: assertDefined(parseTemplateId(accepted.templateId), 'template id'),
      name: accepted.templateName,
      revision: accepted.templateRevision,
      version: accepted.templateVersion,
      unsubscribeList: accepted.unsubscribeList,
    },
    company: accepted.company as Company,
    from: content.from,
    roles: ['to'],
    recipients: [recipient.name === undefined ? { email: recipient.email } : { email: recipient.email, name: recipient.name }],
    replyTo: content.replyTo,
    headers: content.headers,
    subject: undefined,
    variables: { ...content.baseVariables, ...recipient.variables } as JsonObject,
    language: languageOf(content, recipient),
    metadata: content.metadata as JsonObject,
    priority: accepted.priority,
    tags: accepted.tags,
    given: documentsFor(batch, content, recipient),
    charged: accepted.charged && { ...accepted.charged, reference: batchStream(id), ...costAt(content, index) },
    batch: { id, index },
    tracking: accepted.tracking,
    test: accepted.test,
    waitMs: 0,
  };
};

/** What the recipient says stands over what the call says of all. */
const languageOf = (content: BatchContent, recipient: BatchRecipient): CallLanguage | undefined => {
  const { locale = content.locale, timeZone = content.timeZone } = recipient;
  if (locale === undefined && timeZone === undefined) return undefined;
  return { ...(locale !== undefined && { locale }), ...(timeZone !== undefined && { timeZone }) };
};

/** What was reserved for the email at that place: itself, and the documents that it was to have. */
const costAt = ({ documents, recipients }: BatchContent, index: number): Cost => {
  const overrides = recipients[index]?.overrides ?? [];
  let attachments = 0;
  for (const [at, { outputFormats }] of documents.entries()) {
    const override = overrides.find(({ document }) => document === at);
    if (override?.skip !== true) attachments += (override?.outputFormats ?? outputFormats ?? []).length;
  }
  return { emails: 1, attachments };
};

/** What was reserved for all emails but the first `made`. */
export const costAfter = (content: BatchContent, made: number): Cost => {
  let attachments = 0;
  for (let index = made; index < content.recipients.length; index += 1) attachments += costAt(content, index).attachments;
  return { emails: Math.max(0, content.recipients.length - made), attachments };
};

/** The documents of one recipient: those of the batch, each as the recipient's own overrides say. */
const documentsFor = ({ accepted }: OpenBatch['batch'], content: BatchContent, recipient: BatchRecipient): readonly RequestedAttachment[] =>
  accepted.documents.flatMap(({ templateId, templateName, templateRevision, required }, at): readonly RequestedAttachment[] => {
    const { filename, baseVariables, recipientVariableFields, outputFormats } = assertDefined(content.documents[at], 'document');
    const override = recipient.overrides?.find(({ document }) => document === at);
    if (override?.skip === true) return [];
    const own = picked(recipient.variables ?? {}, recipientVariableFields ?? []);
    return [
      {
        kind: 'generated',
        field: `attachments[${at}]`,
        reference: templateId,
        filename: override?.filename ?? filename,
        outputFormats: override?.outputFormats ?? outputFormats,
        variables: { ...baseVariables, ...own, ...override?.variables } as JsonObject,
        pinned: {
          id: assertDefined(parseAttachmentTemplateId(templateId), 'attachment template id'),
          name: templateName,
          revision: templateRevision,
        },
        isOptional: !required,
      },
    ];
  });

const picked = (values: Readonly<Record<string, unknown>>, fields: readonly string[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(fields.flatMap((field) => (Object.hasOwn(values, field) ? [[field, values[field]]] : [])));

/** `end`: it is made and does not leave, and as erased it says nothing of its recipient. `storedBytes`: what the attachments of the team take, whose bound is kept where it is given. */
type Making = Readonly<{ end?: 'cancelled' | 'erased'; storedBytes?: StoredBytes | undefined }>;

/**
 * Made again, it is there already: that is no fault. Out: how many documents that were reserved for it, and may be left out, it went without;
 * it is not charged for them.
 */
export const makeBatchEmail = async (deps: CommandDeps, open: OpenBatch, index: number, cause: Cause, making: Making): Promise<number> => {
  const isErased = open.batch.erased?.includes(index) === true;
  const order = isErased ? withoutRecipient(orderOf(open, index)) : orderOf(open, index);
  const { made, events } = await eventsFor(deps, order, cause.at, isErased ? { end: 'erased' } : making);
  const stream = emailStream(order.id);
  try {
    const { position } = await deps.eventLog.append(stream, startOf(stream, made.keyId), events, cause);
    made.claim?.accepted(position);
  } catch (fault) {
    made.claim?.release();
    if (!(fault instanceof AppendUnknown)) for (const { file } of made.event.sealed?.attachments ?? []) await deps.files.delete(file);
    if (!(fault instanceof WrongExpectedRevision)) throw fault;
    return omittedBy(deps, open, index);
  }
  if (isErased) await eraseStream(deps, stream);
  return order.charged === undefined ? 0 : order.charged.attachments - made.event.data.charged!.attachments;
};

/** The address stands nowhere in it, also before its key is destroyed. */
const withoutRecipient = (order: EmailOrder): EmailOrder => ({ ...order, recipients: [{ email: '' }], variables: {} });

/** The same of an email that is there. */
export const omittedBy = async (deps: Pick<CommandDeps, 'eventLog'>, { id, batch, content }: OpenBatch, index: number): Promise<number> => {
  if (batch.accepted.charged === undefined) return 0;
  const { state: email } = await loadState(deps.eventLog, emailStream(emailIdInBatch(id, index)), emailDecider);
  return email === undefined ? 0 : costAt(content, index).attachments - (email.accepted.charged?.attachments ?? 0);
};

const eventsFor = async (
  deps: CommandDeps,
  order: EmailOrder,
  at: string,
  { end, storedBytes }: Making,
): Promise<Readonly<{ made: MadeEmail; events: readonly EmailEvent[] }>> => {
  const unmade = (): MadeEmail => ({ event: unrenderedEmail(order), keyId: undefined, claim: undefined });
  if (end !== undefined) {
    const made = unmade();
    const cancelled: EmailEvent = { type: 'EmailCancelled', data: { at } };
    const archived: readonly EmailEvent[] = end === 'erased' ? [{ type: 'EmailArchived', data: { at } }] : [];
    return { made, events: [made.event, cancelled, ...archived] };
  }
  try {
    const suppressed = await suppressedOf(deps, order);
    // What nobody is sent has no documents made for it.
    const made = withoutOmitted(await makeEmail(deps, suppressed.length === 0 ? order : { ...order, given: [] }, storedBytes), order);
    return { made, events: acceptedEvents(made.event, suppressed) };
  } catch (fault) {
    if (!isOfRecipient(fault)) throw fault;
    const made = unmade();
    const state = emailDecider.evolve(emailDecider.initialState, made.event);
    return { made, events: [made.event, ...emailDecider.decide({ type: 'RefuseEmail', at, text: fault.message }, state)] };
  }
};

/** It is charged for the documents that it has. */
const withoutOmitted = (made: MadeEmail, { charged }: EmailOrder): MadeEmail => {
  if (charged === undefined) return made;
  return { ...made, event: withCharged(made.event, { ...charged, attachments: costOf(made.event).attachments }) };
};

const NOBODY: readonly number[] = [];

/** The one recipient of an email of a batch, where the team does not write to that address. */
const suppressedOf = async (deps: CommandDeps, { teamId, recipients, template }: EmailOrder): Promise<readonly number[]> => {
  const has = deps.hasSuppressions(teamId);
  if (!(has instanceof Promise ? await has : has)) return NOBODY;
  return suppressedPlaces(deps, teamId, recipients, template.unsubscribeList);
};

/** What is wrong with what was asked for stays wrong; what others are busy with is made later. */
export const isOfRecipient = (fault: unknown): fault is DomainError => fault instanceof DomainError && fault.code !== 'GENERATOR_BUSY';
