/** Accepts one email: checks the request, renders once to check, reserves credits, and appends the email. */
import { isoTime, latestNow } from '../../domain/core/time.js';
import type { EmailNeeds } from './needs.js';
import { AppendUnknown, WrongExpectedRevision } from '../../domain/core/errors.js';
import { type Caller, isTest, testPart, causeOf } from '../core/caller.js';
import { fingerprintOf, isSameBody, keyReused, type Answer, type Idempotency } from '../core/idempotency.js';
import { checkRequest } from './request.js';
import { readAttachments } from '../documents/request.js';
import { sendResponse } from './answers.js';
import { suppressedPlaces } from '../recipients/suppression-check.js';
import { assertAffordable, giveBackQuietly, reserveFor } from '../billing/credits.js';
import { companyShown, settleSender } from './sender.js';
import { settleSource, type MessageSource } from './source.js';
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
import { startOf } from '../../event-log/event-log.js';
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

/** `sender`: the mail is one of the service itself, sent in that name whatever senders its team may use. */
type SendOrder = Readonly<{
  request: SendEmailRequest;
  storedBytes: StoredBytes | undefined;
  sender?: Recipient;
  message?: MessageOrder | undefined;
}>;

/** Resolves when the email is durable. Rejects with the codes of its checks, having written nothing. */
export const sendEmail = async (
  deps: EmailNeeds,
  caller: Caller,
  request: SendEmailRequest,
  idempotency?: Idempotency,
  storedBytes?: StoredBytes,
): Promise<Answer<SendEmailResponse>> => {
  const order = { request, storedBytes };
  if (idempotency === undefined) {
    const id = assertDefined(parseEmailId(deps.ids.uuid()), 'UUID');
    return { body: await accept(deps, caller, id, order), replayed: false };
  }
  const fingerprint = fingerprintOf(deps.keys, idempotency);
  // Concurrent calls with one key share one acceptance, so that documents are generated once.
  const { answer, joined } = await deps.joinSends(derivedId(deps, caller, idempotency, 0), fingerprint, async () => {
    const { id, stored } = await emailOf(deps, caller, idempotency);
    if (stored !== undefined) return stored;
    try {
      return { body: await accept(deps, caller, id, order, fingerprint), replayed: false };
    } catch (fault) {
      // Another process has accepted the email under this key meanwhile: answer as it did.
      const other =
        fault instanceof WrongExpectedRevision ? (await emailOf(deps, caller, idempotency)).stored : undefined;
      if (other === undefined) throw fault;
      return other;
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
  const { event: made, keyId, claim, isMetered, suppressed } = await prepare(deps, caller, id, order, fingerprint);
  const stream = emailStream(id);
  const cause = causeOf(deps, caller, made.data.at);
  let event = made;
  let charged: Charged | undefined;
  const isForSomebody = suppressed.length < made.data.roles.length;
  try {
    if (isMetered) charged = await reserveFor(deps, caller, { stream, cost: costOf(made), cause });
    if (charged !== undefined) event = withCharged(made, charged);
    // Not by `handle`: the stream begins here, so there is no state to decide on.
    const { position } = await deps.eventLog.append(
      stream,
      startOf(stream, keyId),
      acceptedEvents(event, suppressed),
      cause,
    );
    claim?.accepted(position);
  } catch (fault) {
    claim?.release();
    // The email certainly was not accepted, so its files are deleted. After AppendUnknown it may have been, and needs
    // them.
    if (!(fault instanceof AppendUnknown)) {
      for (const { file } of event.sealed?.attachments ?? []) await deps.files.delete(file);
      // Under an Idempotency-Key another call may accept the same email right now, so `settle-credits` checks the
      // reservation later.
      if (charged !== undefined && fingerprint === undefined) await giveBackQuietly(deps, caller, charged, cause);
    }
    throw fault;
  }
  if (event.type === 'EmailQueued' && isForSomebody) deps.backlog.accepted(caller.teamId);
  return sendResponse(id, event);
};

/**
 * The email id of an Idempotency-Key. `attempt`: the number of earlier emails with that key that were given up before
 * they were accepted.
 */
const derivedId = (deps: EmailNeeds, caller: Caller, { key }: Idempotency, attempt: number): EmailId => {
  // Test keys have ids of their own, so that a live call is not answered with a test email.
  const endpoint = isTest(caller) ? `${ENDPOINT} (test)` : ENDPOINT;
  const parts = attempt === 0 ? [caller.teamId, endpoint, key] : [caller.teamId, endpoint, key, attempt];
  return emailIdOfFingerprint(deps.keys.fingerprint('email id', JSON.stringify(parts)));
};

/** The email of an Idempotency-Key: its id, and the stored answer if it was accepted already. */
const emailOf = async (
  deps: EmailNeeds,
  caller: Caller,
  idempotency: Idempotency,
): Promise<Readonly<{ id: EmailId; stored: Answer<SendEmailResponse> | undefined }>> => {
  for (let attempt = 0; ; attempt += 1) {
    const id = derivedId(deps, caller, idempotency, attempt);
    const first = (await deps.eventLog.load(emailStream(id)))[0]?.event;
    if (first === undefined) return { id, stored: undefined };
    if (first.type !== 'EmailQueued' && first.type !== 'EmailScheduled') continue;
    if (!isSameBody(deps.keys, first.data.fingerprint, idempotency)) throw keyReused();
    return { id, stored: { body: sendResponse(id, first), replayed: true } };
  }
};

const prepare = async (
  deps: EmailNeeds,
  caller: Caller,
  id: EmailId,
  { request, storedBytes, sender, message }: SendOrder,
  fingerprint: string | undefined,
): Promise<MadeEmail & Readonly<{ isMetered: boolean; suppressed: readonly number[] }>> => {
  const nowMs = deps.clock.now();
  const at = isoTime(nowMs);
  const checked = checkRequest(request, latestNow(deps.clock), deps, message !== undefined);
  const given = readAttachments(request.attachments ?? [], deps.limits);
  const { variables, content } = request;
  const settled =
    message === undefined
      ? await settleSource(deps, caller, request, variables !== undefined)
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
    company: companyShown(deps, team.settings, from),
    from,
    subject: content === undefined ? request.subject : content.subject,
    variables: (variables ?? {}) as JsonObject,
    metadata: (request.metadata ?? {}) as JsonObject,
    priority: request.priority ?? 'normal',
    tags: request.tags ?? [],
    given,
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
    confidential: sender && true,
    waitMs: checked.scheduledAt === undefined ? Math.round(deps.backlog.waitMs(caller.teamId)) : 0,
  };
  const suppressed =
    team.hasSuppressions === true
      ? await suppressedPlaces(deps, caller.teamId, checked.recipients, settled.unsubscribeList)
      : [];
  // An email whose recipients are all suppressed costs nothing.
  const isFree = isTest(caller) || sender !== undefined;
  const isMetered = !isFree && team.billing !== 'unmetered' && suppressed.length < checked.recipients.length;
  if (isMetered) await assertAffordable(deps, caller, documentsOf(given));
  return { ...(await makeEmail(deps, order, storedBytes)), isMetered, suppressed };
};

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
