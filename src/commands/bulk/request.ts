/**
 * Checks a bulk request: its recipients, what is pinned for all of them, its cost; and reads recipients from a file.
 */
import { isoTime, latestNow } from '../../domain/core/time.js';
import { type Caller, testPart } from '../core/caller.js';
import type { EmailNeeds } from '../email/needs.js';
import { readRecipientFile, type FileOptions, type FileRecipients } from '../recipients/file.js';
import { settleSource, sourceFaults, storedSource, type MailSource } from '../email/source.js';
import { draftAt } from '../templates/email-templates.js';
import { DomainError, type FieldError } from '../../domain/core/errors.js';
import type { SendBulkRequest, BulkAttachment, BulkRecipient } from '../../api/bulk.js';
import type { Cost } from '../../domain/billing/credits.js';
import type { VariableDefinition } from '../../domain/rendering/scope/definitions.js';
import { publishedDocument } from '../documents/attachments.js';
import { attachmentContentAt } from '../templates/attachment-templates.js';
import { readLanguage } from '../templates/language.js';
import {
  checkSchedule,
  headerFaults,
  invalidFields,
  metadataFaults,
  readMailbox,
  readReplyTo,
  scheduleFaults,
} from '../email/request.js';
import type { ReplyTo } from '../../domain/core/stored-schemas.js';
import { invalidAddresses, parseAddress, type Recipient } from '../../domain/mime/address.js';
import type { PinnedDocument } from '../documents/request.js';
import { senderDomainOf } from '../domains/sender-domains.js';
import { pinnedPart, pinnedTracking } from '../recipients/tracking.js';
import { companyShown, settleSender } from '../email/sender.js';
import type { OutputFormat } from '../../domain/rendering/content.js';
import type { BatchAccepted, BatchContent, BatchRecipient } from '../../domain/bulk/events.js';
import { teamStream } from '../../domain/core/ids.js';
import { isJsonObject, type Json } from '../../domain/core/json.js';
import type { Limits } from '../../domain/core/limits.js';
import { languageKey } from '../../domain/rendering/languages.js';
import type { CallLanguage } from '../../domain/rendering/translations.js';
import { nextTurn } from '../../shared/concurrency.js';
import { writePath, writeSteps } from '../../domain/rendering/scope/path.js';
import { nameFault, trimmed } from '../../shared/text.js';

/** A recipient that is left out, by its place in the call. */
type LeftOut = Readonly<{ given: number; reason: string }>;

export type PreparedBulk = Readonly<{
  source: MailSource;
  accepted: BatchAccepted['data'];
  content: BatchContent;
  scheduledAt: string | undefined;
  invalid: readonly LeftOut[];
  duplicates: readonly LeftOut[];
  cost: Cost;
}>;

/** Recipients that are checked in one turn of the event loop. */
const AT_ONCE = 250;

type ReadRecipients = Readonly<{
  recipients: readonly BatchRecipient[];
  invalid: readonly LeftOut[];
  duplicates: readonly LeftOut[];
  faults: readonly FieldError[];
}>;

/**
 * Checks everything that does not need the rendering of an email. Rejects with VALIDATION_ERROR, ERR_EMAIL_001 if no
 * recipient has a valid address, ERR_TMPL_002, ERR_ATTACH_001 and the codes of versions. `lines`: where each recipient
 * begins in the file that the call came by.
 */
export const prepareBulk = async (
  deps: EmailNeeds,
  caller: Pick<Caller, 'teamId' | 'key'>,
  request: SendBulkRequest,
  lines?: readonly number[],
): Promise<PreparedBulk> => {
  const { teamId } = caller;
  const nowMs = deps.clock.now();
  const { limits } = deps;
  const common = checkCommon(deps, request, latestNow(deps.clock));
  const documents = await documentsOf(deps, teamId, request.attachments ?? []);
  const read = await readRecipients(request, limits);
  assertSendable(read);
  assertLanguages(deps, read.recipients);
  const settled = await settleSource(deps, { teamId }, request, hasVariables(request));
  const { state: team } = await deps.team(teamStream(teamId));
  if (team === undefined) throw new Error(`team ${teamId} does not exist`);
  const from = await settleSender(deps, teamId, common.from ?? settled.from, team.settings);
  const attachments = documentCount(read.recipients, documents, request.attachments ?? []);
  const { linksUrl, senderDomain } = await senderDomainOf(deps, teamId, from);
  const accepted: BatchAccepted['data'] = {
    at: isoTime(nowMs),
    ...(request.batchName === undefined ? {} : { name: request.batchName }),
    ...storedSource(settled.source),
    ...(settled.unsubscribeList === undefined ? {} : { unsubscribeList: settled.unsubscribeList }),
    priority: request.priority ?? 'low',
    tags: request.tags ?? [],
    company: companyShown(deps, team, from),
    total: read.recipients.length,
    invalid: read.invalid.map(({ given }) => given),
    duplicates: read.duplicates.map(({ given }) => given),
    ...reasonsPart(read),
    ...(lines === undefined ? {} : { lines: [...lines] }),
    documents: documents.map(({ pinned, required }) => ({
      templateId: pinned.id,
      templateName: pinned.name,
      templateRevision: pinned.revision,
      ...(pinned.blocks && { blocks: [...pinned.blocks] }),
      required,
    })),
    documentCount: attachments,
    ...(senderDomain === undefined ? {} : { senderDomain }),
    ...(linksUrl === undefined || settled.unsubscribeList === undefined ? {} : { linksUrl }),
    ...pinnedPart(
      pinnedTracking(
        linksUrl === undefined ? deps : { linkBase: linksUrl },
        request.tracking,
        settled.tracking,
        team.tracking,
      ),
    ),
    ...testPart(caller),
  };
  const content = contentOf(request, {
    ...common,
    from,
    documents,
    source: settled.source,
    recipients: read.recipients,
  });
  const { invalid, duplicates } = read;
  const cost = { emails: read.recipients.length, attachments };
  return { source: settled.source, accepted, content, scheduledAt: common.scheduledAt, invalid, duplicates, cost };
};

type Checked = Common &
  Readonly<{
    from: Recipient;
    documents: readonly Document[];
    source: MailSource;
    recipients: readonly BatchRecipient[];
  }>;

/** True where `{{…}}` in the content of the call are placeholders, for every recipient. */
const hasVariables = ({ baseVariables, recipients }: SendBulkRequest): boolean =>
  baseVariables !== undefined || recipients.some(({ variables }) => variables !== undefined);

/** The sealed part of the event. */
const contentOf = (
  request: SendBulkRequest,
  { from, replyTo, language, documents, source, recipients }: Checked,
): BatchContent => ({
  from,
  ...(replyTo === undefined ? {} : { replyTo }),
  ...(source.kind === 'inline' && { inline: { subject: request.content?.subject ?? '', ...source.content } }),
  headers: request.headers ?? {},
  metadata: request.metadata ?? {},
  baseVariables: request.baseVariables ?? {},
  ...language,
  documents: (request.attachments ?? []).map(
    ({ filename, baseVariables, recipientVariableFields, outputFormats }, at) => ({
      ...(filename === undefined ? {} : { filename }),
      baseVariables: baseVariables ?? {},
      ...(recipientVariableFields === undefined ? {} : { recipientVariableFields }),
      outputFormats: [...(outputFormats ?? documents[at]!.formats)],
    }),
  ),
  recipients: [...recipients],
});

/** Throws if a recipient has a fault, or none has a valid address. */
const assertSendable = ({ faults, recipients, invalid }: ReadRecipients): void => {
  if (faults.length > 0) throw invalidFields(faults);
  if (recipients.length === 0)
    throw invalidAddresses(
      invalid.map(({ given, reason }) => ({ field: `recipients[${given}].email`, message: reason })),
    );
};

/**
 * Limits the pairs of locale and time zone: every process that makes emails of the call compiles the template for each.
 */
const assertLanguages = (deps: EmailNeeds, recipients: readonly BatchRecipient[]): void => {
  const keys = new Set(recipients.map(languageKey));
  const max = deps.limits.bulkLanguagesMax;
  if (keys.size <= max) return;
  throw invalidFields([
    {
      field: 'recipients',
      message: `name ${keys.size} pairs of locale and timeZone; at most ${max} are allowed in one call`,
    },
  ]);
};

type Common = Readonly<{
  from: Recipient | undefined;
  replyTo: ReplyTo | undefined;
  scheduledAt: string | undefined;
  language: CallLanguage | undefined;
}>;

/** Checks what is common to all recipients. */
const checkCommon = ({ limits, allowsHeader }: EmailNeeds, request: SendBulkRequest, nowMs: number): Common => {
  const { from, replyTo, headers = {}, metadata, scheduledAt, batchName } = request;
  const language = readLanguage(request);
  const faults: FieldError[] = [
    ...sourceFaults(request),
    ...headerFaults(headers, limits, allowsHeader),
    ...scheduleFaults(scheduledAt, nowMs, limits),
    ...metadataFaults(metadata, limits),
    ...language.faults,
    ...variablesFaults('baseVariables', request.baseVariables, limits),
    ...(request.attachments ?? []).flatMap(({ baseVariables }, at) =>
      variablesFaults(`attachments[${at}].baseVariables`, baseVariables, limits),
    ),
  ];
  const nameOfBatch = batchName === undefined ? undefined : nameFault(batchName);
  if (nameOfBatch !== undefined) faults.push({ field: 'batchName', message: nameOfBatch });
  const addresses: FieldError[] = [];
  const read = {
    from: from === undefined ? undefined : readMailbox(from, 'from', faults, addresses),
    replyTo: replyTo === undefined ? undefined : readReplyTo(replyTo, faults, addresses),
  };
  if (faults.length > 0) throw invalidFields(faults);
  if (addresses.length > 0) throw invalidAddresses(addresses);
  return {
    ...read,
    scheduledAt: scheduledAt === undefined ? undefined : checkSchedule(scheduledAt, nowMs, limits),
    language: language.language,
  };
};

/** Recipients with an invalid or repeated address are left out; every other fault of a recipient refuses the call. */
export const readRecipients = async (
  { recipients: given, attachments = [] }: Pick<SendBulkRequest, 'recipients' | 'attachments'>,
  limits: Limits,
): Promise<ReadRecipients> => {
  const recipients: BatchRecipient[] = [];
  const invalid: LeftOut[] = [];
  const duplicates: LeftOut[] = [];
  const faults: FieldError[] = [];
  const first = new Map<string, number>();
  for (const [at, recipient] of given.entries()) {
    if (at > 0 && at % AT_ONCE === 0) await nextTurn();
    faults.push(...recipientFaults(recipient, `recipients[${at}]`, attachments, limits));
    const parsed = parseAddress(trimmed(recipient.email));
    if (!parsed.ok) {
      invalid.push({ given: at, reason: parsed.reason });
      continue;
    }
    const known = first.get(parsed.address.toLowerCase());
    if (known !== undefined) {
      duplicates.push({ given: at, reason: `is the address of recipients[${known}]` });
      continue;
    }
    first.set(parsed.address.toLowerCase(), at);
    recipients.push(recipientOf(recipient, parsed.address, at, attachments));
  }
  return { recipients, invalid, duplicates, faults };
};

/** The event keeps reasons in the open, so what they quote of an address is left out of them. */
const reasonsPart = ({ invalid, duplicates }: ReadRecipients): Pick<BatchAccepted['data'], 'reasons'> => {
  const leftOut = [...invalid.map(({ reason }) => reason), ...duplicates.map(({ reason }) => `its address ${reason}`)];
  return leftOut.length === 0
    ? {}
    : { reasons: leftOut.map((reason) => reason.replaceAll(/"(?:[^"\\]|\\.)*"/g, '"…"')) };
};

/** Names each recipient that is left out by its place. */
export const leftOutWarnings = ({ invalid, duplicates }: Pick<ReadRecipients, 'invalid' | 'duplicates'>): string[] => {
  const text = ({ given }: LeftOut, why: string): string => `recipients[${given}] is left out: ${why}`;
  return [
    ...invalid.map((one) => text(one, one.reason)),
    ...duplicates.map((one) => text(one, `its address ${one.reason}`)),
  ];
};

/** Common variables have the same limit as those of one recipient, because each email stores a copy of both. */
const variablesFaults = (
  field: string,
  variables: Readonly<Record<string, unknown>> | undefined,
  { bulkRecipientVariablesBytesMax: max }: Limits,
): readonly FieldError[] => {
  if (variables === undefined) return [];
  const sizeBytes = Buffer.byteLength(JSON.stringify(variables));
  return sizeBytes > max ? [{ field, message: `is ${sizeBytes} bytes of JSON; at most ${max} are allowed` }] : [];
};

const recipientFaults = (
  { name, variables, attachmentOverrides = [], ...language }: BulkRecipient,
  field: string,
  attachments: readonly BulkAttachment[],
  limits: Limits,
): readonly FieldError[] => {
  const faults: FieldError[] = [];
  const fault = name === undefined ? undefined : nameFault(name);
  if (fault !== undefined) faults.push({ field: `${field}.name`, message: fault });
  faults.push(...variablesFaults(`${field}.variables`, variables, limits));
  for (const { field: member, message } of readLanguage(language).faults)
    faults.push({ field: `${field}.${member}`, message });
  const seen = new Set<string>();
  for (const [at, { attachmentTemplateId, variables: own }] of attachmentOverrides.entries()) {
    faults.push(...variablesFaults(`${field}.attachmentOverrides[${at}].variables`, own, limits));
    const place = `${field}.attachmentOverrides[${at}].attachmentTemplateId`;
    if (!attachments.some((attachment) => attachment.attachmentTemplateId === attachmentTemplateId))
      faults.push({
        field: place,
        message: 'names none of the `attachments` of the call; write it as it stands there',
      });
    else if (seen.has(attachmentTemplateId)) faults.push({ field: place, message: 'is given twice' });
    seen.add(attachmentTemplateId);
  }
  return faults;
};

const recipientOf = (
  given: BulkRecipient,
  email: string,
  at: number,
  attachments: readonly BulkAttachment[],
): BatchRecipient => ({
  email,
  ...(given.name === undefined ? {} : { name: given.name }),
  ...(given.variables === undefined ? {} : { variables: given.variables }),
  ...readLanguage(given).language,
  ...(given.attachmentOverrides === undefined
    ? {}
    : {
        overrides: given.attachmentOverrides.map(({ attachmentTemplateId, ...override }) => ({
          document: attachments.findIndex((attachment) => attachment.attachmentTemplateId === attachmentTemplateId),
          ...override,
        })),
      }),
  given: at,
});

type Document = Readonly<{ pinned: PinnedDocument; required: boolean; formats: readonly OutputFormat[] }>;

const documentsOf = async (
  deps: EmailNeeds,
  teamId: Caller['teamId'],
  given: readonly BulkAttachment[],
): Promise<readonly Document[]> => {
  const documents: Document[] = [];
  const seen = new Set<string>();
  for (const [at, { attachmentTemplateId, required = true }] of given.entries()) {
    const pinned = await publishedDocument(deps, { teamId }, attachmentTemplateId, `attachments[${at}]`);
    // Overrides name a document by its template, so a template can be used only once.
    if (seen.has(pinned.id))
      throw invalidFields([
        { field: `attachments[${at}].attachmentTemplateId`, message: 'names a template that stands there before' },
      ]);
    seen.add(pinned.id);
    const { schema } = await attachmentContentAt(deps, pinned.id, pinned.revision);
    documents.push({ pinned, required, formats: schema.outputFormats });
  }
  return documents;
};

const documentCount = (
  recipients: readonly BatchRecipient[],
  documents: readonly Document[],
  given: readonly BulkAttachment[],
): number => {
  let count = 0;
  for (const { overrides } of recipients) {
    for (const [at, { formats }] of documents.entries()) {
      const override = overrides?.find(({ document }) => document === at);
      if (override?.skip === true) continue;
      count += (override?.outputFormats ?? given[at]?.outputFormats ?? formats).length;
    }
  }
  return count;
};

type RecipientFile = Pick<FileOptions, 'columns' | 'parseLine'> &
  Readonly<{ bytes: Buffer; rowsMax?: number; request: Pick<SendBulkRequest, 'templateId' | 'version' | 'content'> }>;

/**
 * Rejects with VALIDATION_ERROR. If the template is not found, columns have no types: the call itself is refused later.
 */
export const recipientsOfFile = async (
  deps: EmailNeeds,
  caller: Pick<Caller, 'teamId'>,
  { bytes, request, rowsMax = deps.limits.bulkRecipientsMax, ...options }: RecipientFile,
): Promise<FileRecipients> =>
  readRecipientFile(bytes, { ...options, types: await typesOf(deps, caller, request), rowsMax, limits: deps.limits });

const typesOf = async (
  deps: EmailNeeds,
  caller: Pick<Caller, 'teamId'>,
  request: RecipientFile['request'],
): Promise<ReadonlyMap<string, string>> => {
  try {
    const { source } = await settleSource(deps, caller, request, true);
    if (source.kind === 'inline') return new Map();
    const { variables } = await draftAt(deps, source.id, source.revision);
    return new Map(
      (variables as readonly VariableDefinition[]).flatMap(({ name, type, isCalculated, schema }) =>
        isCalculated === true ? [] : [[writePath([name]), type] as const, ...memberTypes(writePath([name]), schema)],
      ),
    );
  } catch (fault) {
    if (fault instanceof DomainError) return new Map();
    throw fault;
  }
};

/** The types that a schema gives the members of an object, by their path. */
const memberTypes = (path: string, schema: Json | undefined): readonly (readonly [string, string])[] => {
  const properties = isJsonObject(schema) ? schema['properties'] : undefined;
  if (!isJsonObject(properties)) return [];
  return Object.entries(properties).flatMap(([name, member]) => {
    const type = isJsonObject(member) ? member['type'] : undefined;
    const at = path + writeSteps([name]);
    return [
      ...(typeof type === 'string' ? [[at, type === 'integer' ? 'number' : type] as const] : []),
      ...memberTypes(at, member),
    ];
  });
};

/** Adds the line of the file after each `recipients[…]` in a message. */
export const withLines = (text: string, lines: readonly number[]): string =>
  text.replaceAll(/\brecipients\[(\d+)\](?:\.[\w$-]+|\[\d+\])*/g, (path, place: string) => {
    const line = lines[Number(place)];
    return line === undefined ? path : `${path} (line ${line})`;
  });

/** Adds the lines of the file to the message of a fault, and to each error that it lists. */
export const faultWithLines = (fault: DomainError, lines: readonly number[]): DomainError => {
  const { errors, ...details } = fault.details;
  return new DomainError(fault.code, withLines(fault.message, lines), {
    ...details,
    ...(errors === undefined
      ? {}
      : { errors: errors.map(({ field, message }) => ({ field, message: lineOfField(field, message, lines) })) }),
  });
};

const lineOfField = (field: string, message: string, lines: readonly number[]): string => {
  const line = lines[Number(/^recipients\[(\d+)\]/.exec(field)?.[1] ?? -1)];
  return line === undefined ? message : `${message} (line ${line})`;
};
