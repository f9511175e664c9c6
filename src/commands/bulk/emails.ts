/** The emails of a bulk send: the order for each recipient, its cost, and making the email. */
import type { Cost } from '../../domain/billing/credits.js';
import type { EmailNeeds } from '../email/needs.js';
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
import { sourceOf, type MailSource } from '../email/source.js';
import type { RequestedAttachment } from '../documents/request.js';
import type { BatchContent, BatchRecipient } from '../../domain/bulk/events.js';
import { releaseAtOf, type Batch } from '../../domain/bulk/decider.js';
import { emailDecider } from '../../domain/email/decider.js';
import type { EmailEvent } from '../../domain/email/events.js';
import { AppendUnknown, DomainError, KeyMissing, wholeText, WrongExpectedRevision } from '../../domain/core/errors.js';
import {
  assertDefined,
  batchStream,
  emailIdInBatch,
  emailStream,
  parseAttachmentTemplateId,
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

/** Throws KeyMissing if the content cannot be decrypted. */
export const openBatch = (id: BatchId, teamId: TeamId, batch: Batch): OpenBatch => {
  if (batch.content === undefined) throw new KeyMissing(batchStream(id));
  return { id, teamId, batch, content: batch.content };
};

/**
 * The order of the email for the recipient at that place. It depends on the batch alone, so an email that is made again
 * is the same.
 */
export const orderOf = ({ id, teamId, batch, content }: OpenBatch, index: number): EmailOrder<MailSource> => {
  const { accepted } = batch;
  const recipient = assertDefined(content.recipients[index], 'recipient of the batch');
  return {
    id: emailIdInBatch(id, index),
    teamId,
    at: releaseAtOf(batch),
    scheduledAt: undefined,
    calledAt: batch.scheduledAt === null ? undefined : accepted.at,
    source: sourceOf(accepted, content),
    unsubscribeList: accepted.unsubscribeList,
    company: accepted.company as Company,
    from: content.from,
    roles: ['to'],
    recipients: [
      recipient.name === undefined ? { email: recipient.email } : { email: recipient.email, name: recipient.name },
    ],
    replyTo: content.replyTo,
    headers: content.headers,
    subject: content.inline?.subject,
    variables: { ...content.baseVariables, ...recipient.variables } as JsonObject,
    language: languageOf(content, recipient),
    metadata: content.metadata as JsonObject,
    priority: accepted.priority,
    tags: accepted.tags,
    given: documentsFor(batch, content, recipient),
    charged: accepted.charged && { ...accepted.charged, reference: batchStream(id), ...costAt(content, index) },
    batch: { id, index },
    tracking: accepted.tracking,
    linksUrl: accepted.linksUrl,
    senderDomain: accepted.senderDomain,
    test: accepted.test,
    waitMs: 0,
  };
};

/** The language of the recipient, else that of the call. */
const languageOf = (content: BatchContent, recipient: BatchRecipient): CallLanguage | undefined => {
  const { locale = content.locale, timeZone = content.timeZone } = recipient;
  if (locale === undefined && timeZone === undefined) return undefined;
  return { ...(locale !== undefined && { locale }), ...(timeZone !== undefined && { timeZone }) };
};

/** The credits reserved for the email at that place: one, and one for each of its documents. */
const costAt = ({ documents, recipients }: BatchContent, index: number): Cost => {
  const overrides = recipients[index]?.overrides ?? [];
  let attachments = 0;
  for (const [at, { outputFormats }] of documents.entries()) {
    const override = overrides.find(({ document }) => document === at);
    if (override?.skip !== true) attachments += (override?.outputFormats ?? outputFormats ?? []).length;
  }
  return { emails: 1, attachments };
};

/** The credits reserved for all emails after the first `made`. */
export const costAfter = (content: BatchContent, made: number): Cost => {
  let attachments = 0;
  for (let index = made; index < content.recipients.length; index += 1)
    attachments += costAt(content, index).attachments;
  return { emails: Math.max(0, content.recipients.length - made), attachments };
};

/** The documents of one recipient: those of the batch, with the overrides of the recipient. */
const documentsFor = (
  { accepted }: OpenBatch['batch'],
  content: BatchContent,
  recipient: BatchRecipient,
): readonly RequestedAttachment[] =>
  accepted.documents.flatMap(
    ({ templateId, templateName, templateRevision, blocks, required }, at): readonly RequestedAttachment[] => {
      const { filename, baseVariables, recipientVariableFields, outputFormats } = assertDefined(
        content.documents[at],
        'document',
      );
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
            blocks,
          },
          isOptional: !required,
        },
      ];
    },
  );

const picked = (
  values: Readonly<Record<string, unknown>>,
  fields: readonly string[],
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(fields.flatMap((field) => (Object.hasOwn(values, field) ? [[field, values[field]]] : [])));

/**
 * `end`: the email is created as cancelled; `erased`: and without its recipient. `storedBytes`: the bytes of
 * attachments that the team stores; absent: no limit is checked.
 */
type MakeOptions = Readonly<{ end?: 'cancelled' | 'erased'; storedBytes?: StoredBytes | undefined }>;

/**
 * Makes and appends one email; if it exists already, nothing happens. Out: the number of reserved documents that it was
 * made without, for which it is not charged.
 */
export const makeBatchEmail = async (
  deps: EmailNeeds,
  open: OpenBatch,
  index: number,
  cause: Cause,
  options: MakeOptions,
): Promise<number> => {
  const isErased = open.batch.erased?.includes(index) === true;
  const order = isErased ? withoutRecipient(orderOf(open, index)) : orderOf(open, index);
  const { made, events } = await eventsFor(deps, order, cause.at, isErased ? { end: 'erased' } : options);
  const stream = emailStream(order.id);
  try {
    // Not by `handle`: the stream begins here, so there is no state to decide on.
    const { position } = await deps.eventLog.append(stream, startOf(stream, made.keyId), events, cause);
    made.claim?.accepted(position);
  } catch (fault) {
    made.claim?.release();
    if (!(fault instanceof AppendUnknown))
      for (const { file } of made.event.sealed?.attachments ?? []) await deps.files.delete(file);
    if (!(fault instanceof WrongExpectedRevision)) throw fault;
    return omittedBy(deps, open, index);
  }
  if (isErased) await eraseStream(deps, stream);
  return order.charged === undefined ? 0 : order.charged.attachments - made.event.data.charged!.attachments;
};

/** The order without address, name and variables of its recipient. */
const withoutRecipient = (order: EmailOrder<MailSource>): EmailOrder<MailSource> => ({
  ...order,
  recipients: [{ email: '' }],
  variables: {},
});

/** The number of documents that an existing email was made without. */
export const omittedBy = async (
  deps: Pick<EmailNeeds, 'eventLog'>,
  { id, batch, content }: OpenBatch,
  index: number,
): Promise<number> => {
  if (batch.accepted.charged === undefined) return 0;
  const { state: email } = await loadState(deps.eventLog, emailStream(emailIdInBatch(id, index)), emailDecider);
  return email === undefined ? 0 : costAt(content, index).attachments - (email.accepted.charged?.attachments ?? 0);
};

const unmadeEmail = (order: EmailOrder): MadeEmail => ({
  event: unrenderedEmail(order),
  keyId: undefined,
  claim: undefined,
});

const eventsFor = async (
  deps: EmailNeeds,
  order: EmailOrder,
  at: string,
  { end, storedBytes }: MakeOptions,
): Promise<Readonly<{ made: MadeEmail; events: readonly EmailEvent[] }>> => {
  if (end !== undefined) {
    const made = unmadeEmail(order);
    const cancelled: EmailEvent = { type: 'EmailCancelled', data: { at } };
    const archived: readonly EmailEvent[] = end === 'erased' ? [{ type: 'EmailArchived', data: { at } }] : [];
    return { made, events: [made.event, cancelled, ...archived] };
  }
  try {
    const suppressed = await suppressedOf(deps, order);
    const made =
      suppressed.length === 0 ? await makeEmail(deps, order, storedBytes) : await makeUnsent(deps, order, storedBytes);
    const charged = withoutOmitted(made, order);
    return { made: charged, events: acceptedEvents(charged.event, suppressed) };
  } catch (fault) {
    if (!isRecipientFault(fault)) throw fault;
    const made = withoutOmitted(unmadeEmail(order), order);
    const state = emailDecider.evolve(emailDecider.initialState, made.event);
    return {
      made,
      events: [made.event, ...emailDecider.decide({ type: 'RefuseEmail', at, text: wholeText(fault) }, state)],
    };
  }
};

/** The email to a suppressed recipient: it has no documents, and what is wrong with its variables does not matter. */
const makeUnsent = async (
  deps: EmailNeeds,
  order: EmailOrder,
  storedBytes: StoredBytes | undefined,
): Promise<MadeEmail> => {
  try {
    return await makeEmail(deps, { ...order, given: [] }, storedBytes);
  } catch (fault) {
    if (!isRecipientFault(fault)) throw fault;
    return unmadeEmail(order);
  }
};

/**
 * Charges the email for the documents that it has, without the omitted ones and those of an email that cannot be made.
 */
const withoutOmitted = (made: MadeEmail, { charged }: EmailOrder): MadeEmail => {
  if (charged === undefined) return made;
  return { ...made, event: withCharged(made.event, { ...charged, attachments: costOf(made.event).attachments }) };
};

/** The place of the recipient, if the address is on the suppression list. */
const suppressedOf = (
  deps: EmailNeeds,
  { teamId, recipients, unsubscribeList }: EmailOrder,
): Promise<readonly number[]> => suppressedPlaces(deps, teamId, recipients, unsubscribeList);

const ASKED_AT_ONCE = 50;

/** The places, below `end`, of the recipients that are on the suppression list. */
export const suppressedBelow = async (
  deps: EmailNeeds,
  { teamId, batch, content }: OpenBatch,
  end: number,
): Promise<ReadonlySet<number>> => {
  const places = new Set<number>();
  for (let from = 0; from < end; from += ASKED_AT_ONCE) {
    const asked = content.recipients.slice(from, Math.min(from + ASKED_AT_ONCE, end));
    for (const place of await suppressedPlaces(deps, teamId, asked, batch.accepted.unsubscribeList))
      places.add(from + place);
  }
  return places;
};

/**
 * Whether the fault lies in the request for this recipient, so that repeating does not help; a busy generator is tried
 * again.
 */
export const isRecipientFault = (fault: unknown): fault is DomainError =>
  fault instanceof DomainError && fault.code !== 'GENERATOR_BUSY';
