/** Accepts one email: checks the request, renders once to check, reserves credits, and appends the email. */
import { isoTime, latestNow } from '../../domain/core/time.js';
import type { EmailNeeds } from './needs.js';
import { AppendUnknown, WrongExpectedRevision } from '../../domain/core/errors.js';
import { type Caller, isTest, testPart, causeOf } from '../core/caller.js';
import { fingerprintOf, isSameBody, keyReused, type Answer, type Idempotency } from '../core/idempotency.js';
import { checkRequest } from './request.js';
import { readAttachments, type PinnedDocument } from '../documents/request.js';
import { sendResponse } from './answers.js';
import { suppressedPlaces } from '../recipients/suppression-check.js';
import { assertAffordable, giveBackQuietly, reserveFor } from '../billing/credits.js';
import { companyShown, settleSender } from './sender.js';
import { settleSource, type MessageSource, type Settled } from './source.js';
import { assertMaySend, senderDomainOf } from '../domains/sender-domains.js';
import {
  acceptedEvents,
  costOf,
  makeEmail,
  withCharged,
  type EmailOrder,
  type MadeEmail,
  type StoredBytes,
} from './acceptance.js';
import type { SendEmailRequest, SendEmailResponse } from '../../api/email.js';
import { type Cause, startOf } from '../../event-log/event-log.js';
import type { EmailAccepted } from '../../domain/email/events.js';
import type { Charged } from '../../domain/billing/decider.js';
import {
  emailIdOfFingerprint,
  emailStream,
  assertDefined,
  parseEmailId,
  teamStream,
  type EmailId,
} from '../../domain/core/ids.js';
import type { Recipient } from '../../domain/mime/address.js';
import type { JsonObject } from '../../domain/core/json.js';
import { pinnedTracking } from '../recipients/tracking.js';

const ENDPOINT = 'POST /api/emails/send';

/** A finished message in place of template and content. */
export type MessageOrder = Readonly<{
  source: (id: EmailId, at: string) => MessageSource;
  unsubscribeList: string | undefined;
  /** Addresses beside From in whose name it is sent. */
  senders: readonly string[];
  /** For each recipient, how its fields write the address. */
  written: readonly (readonly string[])[];
}>;

/**
 * `sender`: the mail is one of the service itself, sent in that name whatever senders its team may use. `settled`: the
 * source, where the request names none; `resentFrom`: the email that it is a copy of. `isTrial`: a test of a template by
 * its author, which is delivered, costs nothing and is not counted.
 */
export type SendOrder = Readonly<{
  request: SendEmailRequest;
  storedBytes: StoredBytes | undefined;
  sender?: Recipient;
  message?: MessageOrder | undefined;
  settled?: Settled;
  resentFrom?: EmailId;
  /** `documents`: the revisions of attachment templates to use, by the place of the attachment. */
  approved?: Readonly<{
    approval: EmailOrder['approval'];
    documents: ReadonlyMap<number, PinnedDocument>;
  }>;
  isTrial?: true;
  /** The email is made to be looked at: it needs no credits. */
  isOnlyShown?: true;
  /** The emails of the same call that are ahead of it; absent: none. */
  ahead?: number;
}>;

/** An email that is checked and made, and not appended. `suppressed`: places of recipients on the suppression list. */
export type PreparedEmail = MadeEmail & Readonly<{ isMetered: boolean; suppressed: readonly number[] }>;

/** The emails of one Idempotency-Key. `place`: the email's place in a call with several; absent: the first or only one. */
type Keyed = Readonly<{ endpoint: string; idempotency: Idempotency; place?: string }>;

/** Resolves when the email is durable. Rejects with the codes of its checks, having written nothing. */
export const sendEmail = (
  deps: EmailNeeds,
  caller: Caller,
  request: SendEmailRequest,
  idempotency?: Idempotency,
  storedBytes?: StoredBytes,
): Promise<Answer<SendEmailResponse>> =>
  sendOnce(deps, caller, ENDPOINT, async () => ({ request, storedBytes }), idempotency);

/** Sends an order, once for each Idempotency-Key of the endpoint. Rejects as `sendEmail` and `orderOf`. */
export const sendOnce = async (
  deps: EmailNeeds,
  caller: Caller,
  endpoint: string,
  orderOf: () => Promise<SendOrder>,
  idempotency: Idempotency | undefined,
): Promise<Answer<SendEmailResponse>> => {
  if (idempotency === undefined) {
    const id = assertDefined(parseEmailId(deps.ids.uuid()), 'UUID');
    return { body: await accept(deps, caller, id, await orderOf()), replayed: false };
  }
  const fingerprint = fingerprintOf(deps.keys, idempotency);
  const keyed = { endpoint, idempotency };
  // Concurrent calls with one key share one acceptance, so that documents are generated once.
  const { answer, joined } = await deps.joinSends(derivedId(deps, caller, keyed), fingerprint, async () => {
    const { id, event } = await emailOf(deps, caller, keyed);
    if (event !== undefined) return { body: sendResponse(id, event), replayed: true };
    try {
      return { body: await accept(deps, caller, id, await orderOf(), fingerprint), replayed: false };
    } catch (fault) {
      if (!(fault instanceof WrongExpectedRevision)) throw fault;
      // Another process has accepted the email under this key meanwhile: answer as it did.
      const other = await emailOf(deps, caller, keyed);
      if (other.event === undefined) throw fault;
      return { body: sendResponse(other.id, other.event), replayed: true };
    }
  });
  return joined ? { ...answer, replayed: true } : answer;
};

/**
 * Sends a mail of the service itself: its content is shown to nobody but its recipients, and it costs nothing. With an
 * id, a repeated call sends nothing.
 */
export const sendConfidential = async (
  deps: EmailNeeds,
  caller: Caller,
  { sender, ...request }: SendEmailRequest & Readonly<{ sender: Recipient }>,
  id?: EmailId,
): Promise<void> => {
  const emailId = id ?? assertDefined(parseEmailId(deps.ids.uuid()), 'UUID');
  try {
    await accept(deps, caller, emailId, { request, storedBytes: undefined, sender });
  } catch (fault) {
    if (id === undefined || !(fault instanceof WrongExpectedRevision)) throw fault;
  }
};

/** Reserves credits and appends the email. Resolves when it is durable. */
export const accept = async (
  deps: EmailNeeds,
  caller: Caller,
  id: EmailId,
  order: SendOrder,
  fingerprint?: string,
): Promise<SendEmailResponse> => {
  deps.backlog.assertRoom(caller.teamId);
  const prepared = await prepareEmail(deps, caller, id, order, fingerprint);
  const { event: made, isMetered } = prepared;
  const cause = causeOf(deps, caller, made.data.at);
  let charged: Charged | undefined;
  try {
    if (isMetered) charged = await reserveFor(deps, caller, { stream: emailStream(id), cost: costOf(made), cause });
    const event = charged === undefined ? made : withCharged(made, charged);
    return await appendEmail(deps, caller, id, { ...prepared, event }, cause);
  } catch (fault) {
    const isCertain = !(fault instanceof AppendUnknown);
    await dropEmail(deps, prepared, isCertain);
    // Under an Idempotency-Key another call may accept the same email right now, so `settle-credits` checks the
    // reservation later.
    if (isCertain && charged !== undefined && fingerprint === undefined)
      await giveBackQuietly(deps, caller, charged, cause);
    throw fault;
  }
};

/** Appends a prepared email whose credits are reserved. Resolves when it is durable; rejects as an append does. */
export const appendEmail = async (
  deps: EmailNeeds,
  { teamId }: Pick<Caller, 'teamId'>,
  id: EmailId,
  { event, keyId, claim, suppressed }: PreparedEmail,
  cause: Cause,
): Promise<SendEmailResponse> => {
  const stream = emailStream(id);
  // Not by `handle`: the stream begins here, so there is no state to decide on.
  const { position } = await deps.eventLog.append(
    stream,
    startOf(stream, keyId),
    acceptedEvents(event, suppressed),
    cause,
  );
  claim?.accepted(position);
  const isForSomebody = suppressed.length < event.data.roles.length;
  if (event.type === 'EmailQueued' && isForSomebody) deps.backlog.accepted(teamId);
  return sendResponse(id, event);
};

/**
 * Gives up what a prepared email that was not appended holds. `isCertain`: false after AppendUnknown; it may have been
 * accepted then, and needs its files.
 */
export const dropEmail = async (
  { files }: Pick<EmailNeeds, 'files'>,
  { event, claim }: Pick<PreparedEmail, 'event' | 'claim'>,
  isCertain = true,
): Promise<void> => {
  claim?.release();
  if (!isCertain) return;
  for (const { file } of event.sealed?.attachments ?? []) await files.delete(file);
};

/** `attempt`: the number of earlier emails with that key that were given up before they were accepted. */
export const derivedId = (
  deps: Pick<EmailNeeds, 'keys'>,
  caller: Caller,
  { endpoint, idempotency: { key }, place }: Keyed,
  attempt = 0,
): EmailId => {
  const parts: (string | number)[] = [
    caller.teamId,
    // Test keys have ids of their own, so that a live call is not answered with a test email.
    isTest(caller) ? `${endpoint} (test)` : endpoint,
    key,
  ];
  if (place !== undefined) parts.push(place);
  if (attempt > 0) parts.push(attempt);
  return emailIdOfFingerprint(deps.keys.fingerprint('email id', JSON.stringify(parts)));
};

/**
 * The email of an Idempotency-Key: its id, and its first event if it was accepted already. Rejects with
 * IDEMPOTENCY_KEY_REUSED.
 */
export const emailOf = async (
  deps: EmailNeeds,
  caller: Caller,
  keyed: Keyed,
): Promise<Readonly<{ id: EmailId; event: EmailAccepted | undefined }>> => {
  for (let attempt = 0; ; attempt += 1) {
    const id = derivedId(deps, caller, keyed, attempt);
    const event = (await deps.eventLog.load(emailStream(id)))[0]?.event;
    if (event === undefined) return { id, event };
    if (event.type !== 'EmailQueued' && event.type !== 'EmailScheduled') continue;
    if (!isSameBody(deps.keys, event.data.fingerprint, keyed.idempotency)) throw keyReused();
    return { id, event };
  }
};

/** Checks, renders and makes an email. Rejects with the codes of its checks; nothing is stored then. */
export const prepareEmail = async (
  deps: EmailNeeds,
  caller: Caller,
  id: EmailId,
  order: SendOrder,
  fingerprint: string | undefined,
): Promise<PreparedEmail> => {
  const ordered = await orderEmail(deps, caller, id, order, fingerprint);
  const { isMetered, suppressed } = ordered;
  return { ...(await makeEmail(deps, ordered.order, order.storedBytes)), isMetered, suppressed };
};

type OrderedEmail = Readonly<{ order: EmailOrder; isMetered: boolean; suppressed: readonly number[] }>;

/** Checks a request, and settles all that does not need the rendering of the email. */
export const orderEmail = async (
  deps: EmailNeeds,
  caller: Caller,
  id: EmailId,
  { request, sender, message, settled: given, resentFrom, approved, isTrial, isOnlyShown, ahead = 0 }: SendOrder,
  fingerprint: string | undefined,
): Promise<OrderedEmail> => {
  const nowMs = deps.clock.now();
  const at = isoTime(nowMs);
  const checked = checkRequest(request, latestNow(deps.clock), deps, message !== undefined || given !== undefined);
  const attachments = pinnedTo(approved?.documents, readAttachments(request.attachments ?? [], deps.limits));
  const { variables, content } = request;
  const settled =
    message === undefined
      ? (given ?? (await settleSource(deps, caller, request, variables !== undefined)))
      : { source: message.source(id, at), unsubscribeList: message.unsubscribeList, from: null, tracking: undefined };
  const { state: team } = await deps.team(teamStream(caller.teamId));
  if (team === undefined) throw new Error(`team ${caller.teamId} does not exist`);
  const from = sender ?? (await settleSender(deps, caller.teamId, checked.from ?? settled.from, team.settings));
  for (const email of message?.senders ?? []) await assertMaySend(deps, caller.teamId, { email });
  const { linksUrl, senderDomain } = await senderDomainOf(deps, caller.teamId, from);
  const order: EmailOrder = {
    ...checked,
    ...(message !== undefined && { recipients: withWritten(checked.recipients, message.written) }),
    id,
    teamId: caller.teamId,
    at,
    source: settled.source,
    unsubscribeList: settled.unsubscribeList,
    company: companyShown(deps, team, from),
    from,
    subject: content === undefined ? request.subject : content.subject,
    variables: (variables ?? {}) as JsonObject,
    metadata: (request.metadata ?? {}) as JsonObject,
    priority: request.priority ?? 'normal',
    tags: request.tags ?? [],
    given: attachments,
    linksUrl,
    senderDomain,
    tracking: pinnedTracking(
      linksUrl === undefined ? deps : { linkBase: linksUrl },
      request.tracking,
      settled.tracking,
      team.tracking,
    ),
    fingerprint,
    ...testPart(caller),
    ...(isTrial && { test: isTrial, isTrial: isTest(caller) ? undefined : isTrial }),
    resentFrom,
    approval: approved?.approval,
    confidential: sender && true,
    waitMs: checked.scheduledAt === undefined ? Math.round(deps.backlog.waitMs(caller.teamId, 1 + ahead)) : 0,
  };
  const suppressed =
    team.hasSuppressions === true
      ? await suppressedPlaces(deps, caller.teamId, checked.recipients, settled.unsubscribeList)
      : [];
  // An email whose recipients are all suppressed costs nothing.
  const isFree = isTest(caller) || isTrial === true || sender !== undefined;
  const isMetered = !isFree && team.billing !== 'unmetered' && suppressed.length < checked.recipients.length;
  if (isMetered && isOnlyShown !== true) await assertAffordable(deps, caller, documentsOf(attachments));
  return { order, isMetered, suppressed };
};

const pinnedTo = (
  documents: ReadonlyMap<number, PinnedDocument> = new Map(),
  attachments: EmailOrder['given'],
): EmailOrder['given'] =>
  documents.size === 0
    ? attachments
    : attachments.map((attachment, place) => {
        const pinned = documents.get(place);
        return attachment.kind === 'generated' && pinned !== undefined ? { ...attachment, pinned } : attachment;
      });

const withWritten = (
  recipients: EmailOrder['recipients'],
  written: MessageOrder['written'],
): EmailOrder['recipients'] =>
  recipients.map((recipient, place) => {
    const as = written[place] ?? [];
    return as.length === 0 ? recipient : { ...recipient, written: [...as] };
  });

/** The least number of documents that the attachments make: without `outputFormats` it is one. */
const documentsOf = (given: EmailOrder['given']): number =>
  given.reduce((sum, one) => (one.kind === 'generated' ? sum + (one.outputFormats?.length ?? 1) : sum), 0);
