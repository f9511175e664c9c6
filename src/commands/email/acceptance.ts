/**
 * Makes the first event of an email: renders once to check, pins all that the mail depends on, makes and stores the
 * attachments.
 */
import {
  noAttachments,
  prepareAttachments,
  storeAttachments,
  type PreparedAttachments,
} from '../documents/attachments.js';
import { type Claim, type Stored, keptBytes, sizeOf } from '../documents/storage.js';
import type { EmailNeeds } from './needs.js';
import type { KnownCharacters } from '../documents/documents.js';
import { TYPICAL_DELIVERY_MS } from './answers.js';
import { invalidAttachments, type RequestedAttachment } from '../documents/request.js';
import {
  type AnySource,
  compiledSource,
  type MailSource,
  type MessageSource,
  storedSource,
  type PinnedSource,
} from './source.js';
import { exampleUnsubscribeUrl, linkBaseOf } from '../recipients/unsubscribe.js';
import { openBudget } from '../../domain/rendering/budget.js';
import type { Charged } from '../../domain/billing/decider.js';
import type { Cost } from '../../domain/billing/credits.js';
import { emailDecider } from '../../domain/email/decider.js';
import type { AddressedRecipient, EmailAccepted, EmailContent, EmailEvent } from '../../domain/email/events.js';
import type { RecipientRole } from '../../domain/email/status.js';
import { DomainError, invalid } from '../../domain/core/errors.js';
import type { ReplyTo } from '../../domain/core/stored-schemas.js';
import type { EmailId, TeamId } from '../../domain/core/ids.js';
import type { JsonObject } from '../../domain/core/json.js';
import type { CheckedEmail, CompiledEmail } from '../../domain/ports/renderer.js';
import type { Brand, Company, RenderEnvironment } from '../../domain/rendering/scope/constants.js';
import type { Priority } from '../../domain/ports/bus.js';
import { KEPT_LOSSES_MAX, type Loss } from '../../domain/rendering/paths/losses.js';
import type { CallLanguage } from '../../domain/rendering/translations.js';
import { providersOf } from '../../domain/email/recipient-domains.js';
import type { PinnedTracking } from '../../domain/recipients/tracking.js';
import type { Recipient } from '../../domain/mime/address.js';

/** Bytes of attachments that the team stores. Read only for emails with attachments. */
export type StoredBytes = () => Promise<Stored>;

/** An email whose request is checked, but which is not rendered yet. Times are ISO 8601. */
export type EmailOrder<Source extends AnySource = AnySource> = PinnedSource<Source> &
  Readonly<{
    id: EmailId;
    teamId: TeamId;
    at: string;
    scheduledAt: string | undefined;
    company: Company & Brand;
    from: Recipient;
    roles: readonly RecipientRole[];
    recipients: readonly AddressedRecipient[];
    replyTo: ReplyTo | undefined;
    headers: Readonly<Record<string, string>>;
    /** Replaces the subject of the template; the subject of content that came with the call. */
    subject: string | undefined;
    variables: JsonObject;
    /** Replaces the template's language, in the mail and in its documents. */
    language: CallLanguage | undefined;
    metadata: JsonObject;
    priority: Priority;
    tags: readonly string[];
    given: readonly RequestedAttachment[];
    /** undefined: nothing is recorded of readers. */
    tracking?: PinnedTracking | undefined;
    /** The URL of unsubscribe links if it is not the public URL. */
    linksUrl?: string | undefined;
    /** The verified domain of the team that the sender belongs to. */
    senderDomain?: string | undefined;
    fingerprint?: string | undefined;
    /** The bulk send, and the place of the email in it. */
    batch?: NonNullable<EmailAccepted['data']['batch']>;
    /** When its bulk send was called, if that was before `at`. */
    calledAt?: string | undefined;
    /** The credits that its bulk send reserved; for an email sent by itself they are reserved after it is made. */
    charged?: Charged | undefined;
    /** Sent with a test key, or a test of a template. */
    test?: true | undefined;
    /** A test of a template, which is delivered. */
    isTrial?: true | undefined;
    /** The email that it is a copy of. */
    resentFrom?: EmailId | undefined;
    /** The approval that it was sent by. */
    approval?: EmailAccepted['data']['approval'];
    /** Its content is shown to nobody but its recipients. */
    confidential?: true | undefined;
    /** The expected wait for its turn. */
    waitMs: number;
  }>;

/**
 * `keyId`: the key that encrypted its attachments; the event must use it too. `claim`: the storage that the attachments
 * take.
 */
export type MadeEmail = Readonly<{ event: EmailAccepted; keyId: string | undefined; claim: Claim | undefined }>;

/** Rejects with the codes of rendering, SUBJECT_EMPTY, BODY_EMPTY and those of attachments; nothing is stored then. */
export const makeEmail = async (deps: EmailNeeds, order: EmailOrder, storedBytes?: StoredBytes): Promise<MadeEmail> => {
  const { at, scheduledAt, company, variables, language, given, source } = order;
  const environment = { at: scheduledAt ?? at, company };
  assertLinksPossible(deps, order);
  if (source.kind === 'message') return makeOfMessage(deps, order, source, storedBytes);
  const budget = openBudget(deps.limits);
  const compiled = await compiledSource(deps, source, order.language);
  const { subject, assetIds, losses } = renderOnce(compiled, order, budget);
  const hasAttachments = given.length > 0 || assetIds.length > 0;
  const stored = hasAttachments ? await storedBytes?.() : undefined;
  // Checked before documents are generated: a team without storage left gets none.
  if (stored !== undefined) deps.attachmentClaims.check(order.teamId, stored, 0);
  const {
    files,
    generated,
    omitted,
    replaced,
    losses: ofDocuments = [],
  } = hasAttachments
    ? await prepareAttachments(deps, order, given, { variables, language, environment, assetIds, budget })
    : noAttachments;
  const { attachments, attachmentBytes, keyId, claim } =
    files.length === 0 ? nothingStored : await storeFiles(deps, order, files, stored);
  const accepted = acceptedOf(order, attachments, {
    attachmentBytes,
    generated,
    losses: [...losses, ...ofDocuments].slice(0, KEPT_LOSSES_MAX),
  });
  const ready = {
    subject,
    attachments,
    ...(omitted.length > 0 && { omitted: omitted.map(({ name, reason }) => ({ name, reason })) }),
    ...(replaced && { replaced }),
  };
  return { event: acceptedEvent(order, accepted, ready), keyId, claim };
};

/** The email of a message that leaves as it came: nothing is rendered, and a large body is stored as a file. */
const makeOfMessage = async (
  deps: EmailNeeds,
  order: EmailOrder,
  { body, subject }: MessageSource,
  storedBytes: StoredBytes | undefined,
): Promise<MadeEmail> => {
  const files: Files =
    body === undefined
      ? []
      : [{ filename: 'message', contentType: 'message/rfc822', contentId: undefined, bytes: body, ofMessage: true }];
  const { attachments, attachmentBytes, keyId, claim } =
    files.length === 0 ? nothingStored : await storeFiles(deps, order, files, await storedBytes?.());
  const accepted = acceptedOf(order, attachments, { ...nothingKept, attachmentBytes });
  return { event: acceptedEvent(order, accepted, { subject, attachments }), keyId, claim };
};

export type CheckedDocuments = Pick<PreparedAttachments, 'generated' | 'omitted' | 'replaced' | 'losses'>;

/**
 * Checks an order as `makeEmail` does and rejects with the same codes, but stores nothing; with `onlyChecked`,
 * documents are not drawn.
 */
export const checkEmail = async (
  deps: EmailNeeds,
  order: EmailOrder<MailSource>,
  onlyChecked?: KnownCharacters,
): Promise<CheckedDocuments> => {
  const { at, scheduledAt, company, variables, language, given } = order;
  assertLinksPossible(deps, order);
  const budget = openBudget(deps.limits);
  const compiled = await compiledSource(deps, order.source, order.language);
  const { assetIds, losses } = renderOnce(compiled, order, budget);
  if (given.length + assetIds.length === 0) return { ...noAttachments, losses };
  const environment = { at: scheduledAt ?? at, company };
  const call = { variables, language, environment, assetIds, budget, onlyChecked };
  const { losses: ofDocuments = [], ...documents } = await prepareAttachments(deps, order, given, call);
  return { ...documents, losses: [...losses, ...ofDocuments].slice(0, KEPT_LOSSES_MAX) };
};

/** An email as it would be accepted, with the bytes of its files; nothing of it is stored. */
export type ProposedEmail = Pick<PreparedAttachments, 'files' | 'generated' | 'replaced'> &
  Readonly<{ event: EmailAccepted; losses: readonly Loss[] }>;

/** Makes an order as `makeEmail` does and rejects with the same codes, but stores nothing. */
export const proposeEmail = async (deps: EmailNeeds, order: EmailOrder<MailSource>): Promise<ProposedEmail> => {
  const { at, scheduledAt, company, variables, language, given } = order;
  assertLinksPossible(deps, order);
  const budget = openBudget(deps.limits);
  const compiled = await compiledSource(deps, order.source, order.language);
  const { subject, assetIds, losses } = renderOnce(compiled, order, budget);
  const environment = { at: scheduledAt ?? at, company };
  const {
    files,
    generated,
    replaced,
    losses: ofDocuments = [],
  } = given.length + assetIds.length === 0
    ? noAttachments
    : await prepareAttachments(deps, order, given, { variables, language, environment, assetIds, budget });
  const event = acceptedEvent(order, acceptedOf(order, [], nothingKept), { subject, attachments: [] });
  return {
    event,
    files,
    generated,
    ...(replaced && { replaced }),
    losses: [...losses, ...ofDocuments].slice(0, KEPT_LOSSES_MAX),
  };
};

/**
 * Throws PUBLIC_URL_REQUIRED and NOT_DURING_UPDATE, and VALIDATION_ERROR for a header that the service sets in each
 * copy.
 */
const assertLinksPossible = (deps: EmailNeeds, { unsubscribeList, headers }: EmailOrder): void => {
  if (unsubscribeList === undefined) return;
  linkBaseOf(deps);
  const own = Object.keys(headers).find((name) => /^list-unsubscribe(?:-post)?$/i.test(name));
  if (own !== undefined)
    throw invalid('request body', `headers.${own}`, 'is set by the service, for the mail has an `unsubscribeList`');
};

/** Throws the codes of rendering, SUBJECT_EMPTY and BODY_EMPTY. */
const renderOnce = (render: CompiledEmail, order: EmailOrder, budget: ReturnType<typeof openBudget>): CheckedEmail => {
  const { variables, at, scheduledAt, company, subject, given } = order;
  const override = subject === undefined ? {} : { subject };
  const environment: RenderEnvironment = { at: scheduledAt ?? at, company };
  const rendered = render.check({ variables, environment: withLinks(environment, order), budget, ...override });
  refuseEmpty(rendered, given.length);
  refuseMissingPictures(rendered, given);
  return rendered;
};

/** Throws VALIDATION_ERROR for a picture that the mail names by `cid:` and the call does not attach. */
const refuseMissingPictures = ({ contentIds }: CheckedEmail, given: EmailOrder['given']): void => {
  const missing = contentIds.filter((id) => !given.some((one) => one.kind !== 'generated' && one.contentId === id));
  if (missing.length === 0) return;
  throw invalidAttachments(
    missing.map((id) => ({
      field: 'attachments',
      message: `hold no file with the contentId "${id}", which the mail shows as cid:${id}`,
    })),
  );
};

/** Checks with an example link, because every copy has an unsubscribe link. */
const withLinks = (
  environment: RenderEnvironment,
  { unsubscribeList }: Pick<EmailOrder, 'unsubscribeList'>,
): RenderEnvironment =>
  unsubscribeList === undefined ? environment : { ...environment, unsubscribeUrl: exampleUnsubscribeUrl(undefined) };

/** The event of an email that is accepted although it cannot be rendered: it has no attachments, and fails at once. */
export const unrenderedEmail = (order: EmailOrder): EmailAccepted =>
  acceptedEvent(order, acceptedOf(order, [], nothingKept), { subject: order.subject ?? '', attachments: [] });

type Kept = Readonly<Record<'attachmentBytes', EmailAccepted['data']['attachmentBytes'] | undefined>> &
  Readonly<Record<'generated', EmailAccepted['data']['generated'] | undefined>> &
  Pick<CheckedEmail, 'losses'>;

const nothingKept: Kept = { attachmentBytes: undefined, generated: undefined, losses: [] };

/**
 * Optional fields are assigned one by one: nearly every email lacks them, and spreading empty objects would double the
 * time.
 */
const acceptedOf = (
  order: EmailOrder,
  attachments: EmailContent['attachments'],
  { attachmentBytes, generated, losses }: Kept,
): EmailAccepted['data'] => {
  const {
    id,
    from,
    source,
    unsubscribeList,
    fingerprint,
    batch,
    calledAt,
    charged,
    tracking,
    linksUrl,
    senderDomain,
    test,
    isTrial,
    resentFrom,
    approval,
    confidential,
    waitMs,
  } = order;
  const accepted: EmailAccepted['data'] = {
    messageId: `<${id}@${from.email.slice(from.email.lastIndexOf('@') + 1)}>`,
    ...storedSource(source),
    priority: order.priority,
    tags: [...order.tags],
    roles: [...order.roles],
    attachmentCount:
      source.kind === 'message'
        ? source.message.files.length
        : attachments.filter(({ ofTemplate }) => ofTemplate !== true).length,
    company: order.company,
    at: order.at,
  };
  if (attachmentBytes !== undefined) accepted.attachmentBytes = attachmentBytes;
  if (generated !== undefined) accepted.generated = generated;
  if (unsubscribeList !== undefined) accepted.unsubscribeList = unsubscribeList;
  if (unsubscribeList !== undefined && linksUrl !== undefined) accepted.linksUrl = linksUrl;
  // Mails of the service and of test keys are in no figures.
  if (test === undefined && confidential === undefined) {
    const domains = providersOf(order.recipients);
    if (domains !== undefined) accepted.domains = [...domains];
    if (senderDomain !== undefined) accepted.senderDomain = senderDomain;
  }
  if (fingerprint !== undefined) accepted.fingerprint = fingerprint;
  if (batch !== undefined) accepted.batch = batch;
  if (calledAt !== undefined) accepted.calledAt = calledAt;
  if (charged !== undefined) accepted.charged = charged;
  if (tracking !== undefined) accepted.tracking = tracking;
  if (test !== undefined) accepted.test = test;
  if (isTrial !== undefined) accepted.delivers = isTrial;
  if (resentFrom !== undefined) accepted.resentFrom = resentFrom;
  if (approval !== undefined) accepted.approval = approval;
  if (confidential !== undefined) accepted.confidential = confidential;
  if (losses.length > 0) accepted.losses = [...losses];
  if (waitMs > TYPICAL_DELIVERY_MS) accepted.expectedWaitMs = waitMs;
  return accepted;
};

const acceptedEvent = (
  order: EmailOrder,
  accepted: EmailAccepted['data'],
  ready: Pick<EmailContent, 'subject' | 'attachments' | 'omitted' | 'replaced'>,
): EmailAccepted => {
  const content = contentOf(order, ready);
  const [event] = emailDecider.decide(
    { type: 'AcceptEmail', accepted, scheduledAt: order.scheduledAt, content },
    undefined,
  );
  return event as EmailAccepted;
};

type Files = Parameters<typeof storeAttachments>[2];

type StoredFiles = Readonly<{
  attachments: EmailContent['attachments'];
  attachmentBytes: EmailAccepted['data']['attachmentBytes'];
  keyId: string | undefined;
  claim: Claim | undefined;
}>;

const nothingStored: StoredFiles = { attachments: [], attachmentBytes: undefined, keyId: undefined, claim: undefined };

/** Stores the files, encrypted with a new key, within the storage of the team. Releases its claim if that fails. */
const storeFiles = async (
  deps: EmailNeeds,
  { teamId, at, scheduledAt }: EmailOrder,
  files: Files,
  stored: Stored | undefined,
): Promise<StoredFiles> => {
  const claim = stored === undefined ? undefined : deps.attachmentClaims.claim(teamId, stored, sizeOf(files));
  const dueAtMs = Date.parse(scheduledAt ?? at);
  try {
    const { id, key } = await deps.eventLog.newKey();
    const attachments = await storeAttachments(deps, key, files, dueAtMs);
    return { attachments, attachmentBytes: keptBytes(files, dueAtMs, deps.limits), keyId: id, claim };
  } catch (fault) {
    claim?.release();
    throw fault;
  }
};

/** Throws SUBJECT_EMPTY, or BODY_EMPTY if there are no attachments either. */
export const refuseEmpty = ({ subject, isEmpty }: CheckedEmail, attachments: number): void => {
  if (subject === '') {
    throw new DomainError(
      'SUBJECT_EMPTY',
      'The subject is empty once its variables are filled in; give `subject`, or the variables it needs.',
      {
        errors: [{ field: 'subject', message: 'is empty once its variables are filled in' }],
      },
    );
  }
  if (isEmpty && attachments === 0) {
    throw new DomainError(
      'BODY_EMPTY',
      'The body shows neither text nor a picture once its variables are filled in, and nothing is attached; give the variables it needs, or attach a file.',
      { errors: [{ field: 'variables', message: 'leave the body empty' }] },
    );
  }
};

/** The sealed part of the event. */
const contentOf = (
  order: EmailOrder,
  ready: Pick<EmailContent, 'subject' | 'attachments' | 'omitted' | 'replaced'>,
): EmailContent => {
  const content: EmailContent = {
    from: order.from,
    recipients: [...order.recipients],
    subject: ready.subject,
    variables: order.variables,
    headers: order.headers,
    metadata: order.metadata,
    attachments: ready.attachments,
  };
  if (order.language?.locale !== undefined) content.locale = order.language.locale;
  if (order.language?.timeZone !== undefined) content.timeZone = order.language.timeZone;
  if (ready.omitted !== undefined) content.omitted = ready.omitted;
  if (ready.replaced !== undefined) content.replaced = ready.replaced;
  if (order.replyTo !== undefined) content.replyTo = order.replyTo;
  if (order.subject !== undefined) content.subjectOverride = order.subject;
  if (order.source.kind === 'inline') content.inline = order.source.content;
  if (order.source.kind === 'message') content.message = order.source.message;
  return content;
};

/** The cost of an email: one, and one for each document generated for it. */
export const costOf = ({ data: { generated } }: EmailAccepted): Cost => ({
  emails: 1,
  attachments: generated === undefined ? 0 : generated.pdf + generated.excel,
});

/** The event with the credits that were reserved for it. */
export const withCharged = (event: EmailAccepted, charged: Charged): EmailAccepted => {
  switch (event.type) {
    case 'EmailQueued':
      return { ...event, data: { ...event.data, charged } };
    case 'EmailScheduled':
      return { ...event, data: { ...event.data, charged } };
  }
};

/** The first events of an email, of which the recipients at the places `suppressed` are on the suppression list. */
export const acceptedEvents = (event: EmailAccepted, suppressed: readonly number[]): readonly EmailEvent[] => {
  if (suppressed.length === 0) return [event];
  const state = emailDecider.evolve(emailDecider.initialState, event);
  return [
    event,
    ...emailDecider.decide({ type: 'SuppressRecipients', at: event.data.at, recipients: suppressed }, state),
  ];
};
