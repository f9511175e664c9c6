/**
 * Commands on accepted emails: read, reschedule, cancel, retry, delete, archive, remove; and the events for an email's
 * timeline.
 */
import { domainToASCII } from 'node:url';
import type {
  CancelEmailResponse,
  RescheduleEmailRequest,
  RescheduleEmailResponse,
  RetryEmailsResponse,
  BulkDeleteResponse,
  EmailRecord,
  RetryEmailResponse,
} from '../../api/email.js';
import { openBudget } from '../../domain/rendering/budget.js';
import { emailDecider, emailNotFound, keptUntil, type EmailCommand } from '../../domain/email/decider.js';
import type { EmailContent, EmailEvent } from '../../domain/email/events.js';
import { type Email, type EmailState, evolveEmail } from '../../domain/email/state.js';
import {
  FileDamaged,
  KeyMissing,
  DomainError,
  EventUnknown,
  EventUnreadable,
  invalid,
} from '../../domain/core/errors.js';
import {
  assertDefined,
  emailStream,
  type EmailId,
  type StreamName,
  batchStream,
  parseBatchId,
  suppressionStream,
  teamStream,
  type TeamId,
} from '../../domain/core/ids.js';
import type { JsonObject } from '../../domain/core/json.js';
import type { Company } from '../../domain/rendering/scope/constants.js';
import { temporaryUntil } from '../documents/storage.js';
import { type Caller, changeableBy, ownedBy, isTest, ownedState, causeOf } from '../core/caller.js';
import { checkSchedule } from './request.js';
import { handle, loadState, handleKeyed, emptyLoaded, foldOnto } from '../core/handle.js';
import type { EmailNeeds } from './needs.js';
import { cancelResponse, rescheduleResponse, emailRecord, retryResponse } from './answers.js';
import type { Answer, Idempotency } from '../core/idempotency.js';
import { refuseEmpty } from './acceptance.js';
import { compiledSource, sourceOf } from './source.js';
import { nextTurn } from '../../shared/concurrency.js';
import { suppressionIdOf } from '../recipients/suppression-check.js';
import { withoutErased, eventsAsOf } from '../../event-log/as-of.js';
import type { BatchEvent } from '../../domain/bulk/events.js';
import { entryOf, type Placed } from '../../domain/email/timeline.js';
import { noticesOf, type Recorded } from '../../domain/events.js';
import type { WebhookCause } from '../../domain/webhooks/delivery.js';
import { eraseStream, type EraseDeps } from '../core/erase.js';
import type { Deleted } from '../../api/core/common.js';
import type { Cause } from '../../event-log/event-log.js';
import { type AsOf, DAY_MS, latestNow } from '../../domain/core/time.js';

/**
 * Folds the stream, so that the answer includes the latest write. `asOf`: the record at that time; data destroyed since
 * stays destroyed.
 */
export const getEmail = async (deps: EmailNeeds, caller: Caller, id: EmailId, asOf?: AsOf): Promise<EmailRecord> => {
  const recorded = await deps.eventLog.load(emailStream(id));
  const loaded = foldOnto(emailDecider, emptyLoaded(emailStream(id), emailDecider.initialState), recorded);
  ownedBy(caller.teamId, emailNotFound)(loaded);
  return emailRecord(id, asOf === undefined ? loaded.state! : emailAsOf(recorded, asOf));
};

const emailAsOf = (recorded: readonly Recorded[], asOf: AsOf): Email => {
  const events = eventsAsOf(recorded, asOf);
  if (events === undefined)
    throw invalid('query', 'asOf', 'names no event of this email; `GET /api/emails/:id/timeline` lists them');
  const email = events.reduce<EmailState>(
    (state, { event }) => emailDecider.evolve(state, event as EmailEvent),
    emailDecider.initialState,
  );
  if (email === undefined) throw new DomainError('EMAIL_NOT_FOUND', 'This email was not there yet.');
  return email;
};

/** Deletes exactly these ids; the route resolves a filter to ids through the read model first. */
export const deleteEmails = async (
  deps: EmailNeeds,
  caller: Caller,
  ids: readonly EmailId[],
): Promise<Omit<BulkDeleteResponse, 'remaining'>> => {
  const counts = { deleted: 0, notFound: 0, inProgress: 0 };
  let damaged: EventUnreadable | EventUnknown | undefined;
  const distinct = [...new Set(ids)];
  if (isTest(caller)) await assertAllOfTests(deps, caller, distinct);
  // Concurrent deletions share commits, and the rewrite that removes destroyed keys from the file.
  for (let from = 0; from < distinct.length; from += DELETED_AT_ONCE) {
    const ends = await Promise.all(
      distinct.slice(from, from + DELETED_AT_ONCE).map((id) => tryDelete(deps, caller, id)),
    );
    for (const end of ends) {
      if (end instanceof Error) damaged ??= end;
      else counts[end] += 1;
    }
  }
  // All others are deleted by then; a repeated request counts them as not found.
  if (damaged !== undefined) throw damaged;
  return counts;
};

/** A test key deletes test emails only; checked for all ids before any is deleted. Unknown ids are ignored. */
const assertAllOfTests = async (deps: EmailNeeds, caller: Caller, ids: readonly EmailId[]): Promise<void> => {
  for (const id of ids) {
    const loaded = await loadState(deps.eventLog, emailStream(id), emailDecider);
    if (ownedState(caller.teamId, loaded) !== undefined) changeableBy(caller, emailNotFound)(loaded);
  }
};

const DELETED_AT_ONCE = 64;

type DeleteEnd = 'deleted' | 'notFound' | 'inProgress' | EventUnreadable | EventUnknown;

const tryDelete = async (deps: EmailNeeds, caller: Caller, id: EmailId): Promise<DeleteEnd> => {
  try {
    await deleteEmail(deps, caller, id);
    return 'deleted';
  } catch (fault) {
    if (fault instanceof DomainError && fault.code === 'EMAIL_NOT_FOUND') return 'notFound';
    if (fault instanceof DomainError && fault.code === 'EMAIL_IN_PROGRESS') return 'inProgress';
    if (fault instanceof EventUnreadable || fault instanceof EventUnknown) return fault;
    throw fault;
  }
};

export const retryEmail = async (
  deps: EmailNeeds,
  caller: Caller,
  id: EmailId,
  idempotency?: Idempotency,
): Promise<Answer<RetryEmailResponse>> => {
  const cause = causeOf(deps, caller);
  const earlier = ({ retries }: Email, key: string) => retries.find((retry) => retry.idempotencyKey === key);
  const { state, idempotencyKey, replayed } = await handleKeyed(deps, emailStream(id), emailDecider, {
    command: (key) => ({ type: 'RetryEmail' as const, at: cause.at, ...key }),
    earlier,
    idempotency,
    cause,
    guard: changeableBy(caller, emailNotFound),
  });
  const retry = (idempotencyKey === undefined ? undefined : earlier(state, idempotencyKey)) ?? state.retries.at(-1)!;
  return { body: retryResponse(id, retry), replayed };
};

/** Resolves when the new time is durable. If several calls run at once, the last one recorded counts. */
export const rescheduleEmail = async (
  deps: EmailNeeds,
  caller: Caller,
  id: EmailId,
  request: RescheduleEmailRequest,
): Promise<RescheduleEmailResponse> => {
  const cause = causeOf(deps, caller);
  const scheduledAt = checkSchedule(request.scheduledAt, latestNow(deps.clock), deps.limits);
  const stream = emailStream(id);
  const guard = changeableBy(caller, emailNotFound);
  const loaded = await loadState(deps.eventLog, stream, emailDecider);
  guard(loaded);
  const until = temporaryUntil(Date.parse(scheduledAt), deps.limits);
  const command = { type: 'RescheduleEmail' as const, at: cause.at, scheduledAt, temporaryUntil: until };
  const email = loaded.state!;
  // Refuse before rendering; `handle` decides again, because another call may come first.
  if (emailDecider.decide({ ...command, subject: '' }, email).length === 0) return rescheduleResponse(id, email);
  const { subject, content } = await renderedAt(deps, stream, email, scheduledAt);
  await prolong(deps, email, content, until);
  const { state } = await handle(deps.eventLog, stream, emailDecider, { ...command, subject }, cause, guard);
  return rescheduleResponse(id, state!);
};

/** Renders the email for that time. Rejects as the send call does if the template cannot be rendered. */
const renderedAt = async (
  deps: EmailNeeds,
  stream: StreamName,
  { accepted, content }: Email,
  scheduledAt: string,
): Promise<Readonly<{ subject: string; content: EmailContent }>> => {
  if (content === undefined) throw new KeyMissing(stream);
  if (content.message !== undefined) return { subject: content.subject, content };
  const render = await compiledSource(deps, sourceOf(accepted, content), content);
  const rendered = render.check({
    variables: content.variables as JsonObject,
    environment: { at: scheduledAt, company: accepted.company as Company },
    budget: openBudget(deps.limits),
    ...(content.subjectOverride === undefined ? {} : { subject: content.subjectOverride }),
  });
  refuseEmpty(rendered, content.attachments.length);
  return { subject: rendered.subject, content };
};

/** Keeps generated files until the new time; putting a file that is kept as long as the email changes nothing. */
const prolong = async (
  { files }: Pick<EmailNeeds, 'files'>,
  email: Email,
  { attachments }: EmailContent,
  until: string,
): Promise<void> => {
  const kept = keptUntil(email);
  if (kept === undefined || kept >= until) return;
  for (const { file } of attachments) {
    // The delivery reports a missing or damaged file.
    const bytes = await files.get(file).catch((fault: unknown) => {
      if (fault instanceof FileDamaged) return undefined;
      throw fault;
    });
    if (bytes !== undefined) await files.put(bytes, { expiresAt: until });
  }
};

/** Resolves when it is certain that the email will not be sent. */
export const cancelEmail = async (
  deps: EmailNeeds,
  caller: Caller,
  id: EmailId,
  idempotency?: Idempotency,
): Promise<Answer<CancelEmailResponse>> => {
  const cause = causeOf(deps, caller);
  const { state, replayed } = await handleKeyed(deps, emailStream(id), emailDecider, {
    command: (key) => ({ type: 'CancelEmail' as const, at: cause.at, ...key }),
    earlier: ({ cancellation }, key) => (cancellation?.idempotencyKey === key ? cancellation : undefined),
    idempotency,
    cause,
    guard: changeableBy(caller, emailNotFound),
  });
  const cancellation = assertDefined(state.cancellation, 'cancellation');
  return { body: cancelResponse(id, cancellation), replayed };
};

type EmailsToRetry = Readonly<{
  /** The status by which they were found; an email with another status by now is left alone. */
  status: 'queued' | 'failed';
  /** Emails that wait for a time, or have failed. */
  ids: readonly EmailId[];
  /** Emails that wait for the relay. */
  held: readonly EmailId[];
  /** The domain of a recipient who has not got the email. */
  domain?: string;
}>;

/** Emails that are loaded in one turn of the event loop and appended concurrently: they share commits. */
const AT_ONCE = 16;

/**
 * Pushes many emails by hand: waiting ones are due now, failed ones are retried. Each is loaded again and checked
 * first.
 */
export const retryEmails = async (
  deps: EmailNeeds,
  caller: Caller,
  { status, ids, held, domain }: EmailsToRetry,
): Promise<Omit<RetryEmailsResponse, 'nextCursor'>> => {
  const goesTo = domain === undefined ? () => true : waitsFor(domain);
  const retry = (id: EmailId): Promise<boolean> =>
    tryRetry(
      deps,
      caller,
      id,
      (email) => email.status === status && goesTo(email) && (!isTest(caller) || email.accepted.test === true),
    );
  const retried = await countOf(ids, retry);
  const waiting: EmailId[] = [];
  await countOf(held, async (id) => {
    const { state, teamId } = await loadState(deps.eventLog, emailStream(id), emailDecider);
    const waits = teamId === caller.teamId && state?.heldUntil !== undefined && goesTo(state) && !isTest(caller);
    if (waits) waiting.push(id);
    return waits;
  });
  // All held emails leave when the host answers, so pushing one of them is enough: it makes the breaker ask the host.
  const first = waiting[0];
  if (first !== undefined) await retry(first);
  return { retried, held: waiting.length };
};

const countOf = async (ids: readonly EmailId[], act: (id: EmailId) => Promise<boolean>): Promise<number> => {
  let count = 0;
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    const done = await Promise.all(ids.slice(from, from + AT_ONCE).map(act));
    count += done.filter((isDone) => isDone).length;
    await nextTurn();
  }
  return count;
};

/** Out: whether the email is due now and was not before. */
const tryRetry = async (
  deps: EmailNeeds,
  caller: Caller,
  id: EmailId,
  isIncluded: (email: Email) => boolean,
): Promise<boolean> => {
  const cause = causeOf(deps, caller);
  const decider = {
    ...emailDecider,
    decide: (command: EmailCommand, email: EmailState) => {
      if (email === undefined || !isIncluded(email)) return [];
      return emailDecider.decide(email.status === 'failed' ? retryOf(cause.at) : command, email);
    },
  };
  try {
    const push = { type: 'PushEmail' as const, at: cause.at };
    const { events } = await handle(
      deps.eventLog,
      emailStream(id),
      decider,
      push,
      cause,
      ownedBy(caller.teamId, emailNotFound),
    );
    return events.length > 0;
  } catch (fault) {
    if (
      fault instanceof DomainError &&
      ['EMAIL_NOT_RETRYABLE', 'EMAIL_NOT_FOUND', 'EMAIL_ARCHIVED'].includes(fault.code)
    )
      return false;
    // A damaged email stays as it is, and the others go on.
    if (fault instanceof EventUnreadable || fault instanceof EventUnknown) return false;
    throw fault;
  }
};

const retryOf = (at: string): EmailCommand => ({
  type: 'RetryEmail',
  at,
  idempotencyKey: undefined,
  fingerprint: undefined,
});

const waitsFor = (domain: string): ((email: Email) => boolean) => {
  const wanted = asciiOf(domain);
  return ({ content, recipientStatuses }) =>
    content !== undefined &&
    content.recipients.some(
      (recipient, index) =>
        recipient !== null &&
        (recipientStatuses[index] === 'queued' || recipientStatuses[index] === 'failed') &&
        asciiOf(recipient.email.slice(recipient.email.lastIndexOf('@') + 1)) === wanted,
    );
};

/** Domains are compared as in DNS: case-insensitively, internationalised ones in ASCII. */
const asciiOf = (domain: string): string => domainToASCII(domain) || domain.toLowerCase();

export const deleteEmail = async (deps: EmailNeeds, caller: Caller, id: EmailId): Promise<Deleted> => {
  const cause = causeOf(deps, caller);
  await handle(
    deps.eventLog,
    emailStream(id),
    emailDecider,
    { type: 'DeleteEmail', at: cause.at },
    cause,
    changeableBy(caller, emailNotFound),
  );
  await archiveEmail(deps, id, cause);
  return { id, deleted: true };
};

/**
 * Archives a deleted email, or one whose retention is over: records it, then destroys its files, the copies of its mail
 * and its key. If the program dies in between, the erase worker does the rest. Out: false if it is not due, or was done
 * before.
 */
export const archiveEmail = async (
  deps: EraseDeps & Pick<EmailNeeds, 'limits'>,
  id: EmailId,
  cause: Cause,
): Promise<boolean> => {
  const stream = emailStream(id);
  const command = { type: 'ArchiveEmail' as const, at: cause.at, retentionMs: deps.limits.retentionDays * DAY_MS };
  const { events } = await handle(deps.eventLog, stream, emailDecider, command, cause);
  if (events.length === 0) return false;
  await eraseStream(deps, stream);
  return true;
};

/**
 * Removes the record of an archived email: nothing shows it any more. Out: false if it is not due, or was done before.
 */
export const removeEmailRecord = async (
  { eventLog, limits }: Pick<EmailNeeds, 'eventLog' | 'limits'>,
  id: EmailId,
  cause: Cause,
): Promise<boolean> => {
  const command = { type: 'RemoveEmail' as const, at: cause.at, archiveMs: limits.archiveDays * DAY_MS };
  const { events } = await handle(eventLog, emailStream(id), emailDecider, command, cause);
  return events.length > 0;
};

/** `told`: events that webhooks may have been sent for, in the order of the log. */
type EmailTrace = Readonly<{ placed: readonly Placed[]; told: readonly WebhookCause[] }>;

/**
 * The entries of an email's timeline: its own events, those of its bulk send, and the suppressions that it caused. An
 * archived email has no personal data in it. Rejects with EMAIL_NOT_FOUND.
 */
export const emailTrace = async (deps: EmailNeeds, caller: Caller, id: EmailId): Promise<EmailTrace> => {
  const recorded = withoutErased(await deps.eventLog.load(emailStream(id)));
  const email = recorded.reduce<EmailState>((state, { event }) => evolveEmail(state, event as EmailEvent), undefined);
  ownedBy(caller.teamId, emailNotFound)({ state: email, teamId: recorded[0]?.metadata.teamId });
  const readers = { roles: email!.accepted.roles, content: email!.content };
  const [ofBatch, suppressed] = await Promise.all([
    batchEvents(deps, email!),
    suppressions(deps, caller.teamId, id, email!),
  ]);
  const placed = [
    ...[...ofBatch, ...recorded].map((one) => entryOf(one, readers)),
    ...suppressed.map(({ event, place }) => entryOf(event, readers, [place])),
  ];
  const own = [...recorded, ...suppressed.map(({ event }) => event)].toSorted(
    (one, other) => one.position - other.position,
  );
  return { placed, told: own.flatMap((one) => toldOf(one, readers)) };
};

const toldOf = (
  { event, metadata }: Recorded,
  { roles, content }: Parameters<typeof entryOf>[1],
): readonly WebhookCause[] =>
  noticesOf(event).map(({ recipient }) => ({
    eventId: metadata.eventId,
    requestId: metadata.correlationId,
    at: metadata.occurredAt,
    recipients:
      recipient === undefined || roles[recipient] === undefined
        ? []
        : [{ place: recipient, role: roles[recipient], email: content?.recipients[recipient]?.email ?? null }],
  }));

/** Events of the bulk send as a whole that the timeline of each of its emails shows. */
const BATCH_EVENTS_SHOWN: readonly BatchEvent['type'][] = [
  'BatchQueued',
  'BatchScheduled',
  'BatchStarted',
  'BatchCancelled',
  'BatchStopped',
];

const batchEvents = async ({ eventLog }: EmailNeeds, { accepted }: Email): Promise<readonly Recorded[]> => {
  const id = accepted.batch && parseBatchId(accepted.batch.id);
  if (id === undefined) return [];
  const recorded = await eventLog.load(batchStream(id), 0, []);
  return recorded.filter(({ event }) => (BATCH_EVENTS_SHOWN as readonly string[]).includes(event.type));
};

type SuppressionOfRecipient = Readonly<{ event: Recorded; place: number }>;

/** Suppressions are found by the address, so an archived email has none. */
const suppressions = async (
  deps: EmailNeeds,
  teamId: TeamId,
  id: EmailId,
  email: Email,
): Promise<readonly SuppressionOfRecipient[]> => {
  const { state: team } = await deps.team(teamStream(teamId));
  const recipients = email.content?.recipients ?? [];
  if (team?.hasSuppressions !== true) return [];
  const list = email.accepted.unsubscribeList;
  const found = await Promise.all(
    recipients.map(async (_, place) => {
      const address = recipients[place]?.email;
      if (address === undefined) return [];
      const ids = [
        suppressionIdOf(deps, teamId, address),
        ...(list === undefined ? [] : [suppressionIdOf(deps, teamId, address, list)]),
      ];
      const streams = await Promise.all(ids.map((one) => deps.eventLog.load(suppressionStream(one))));
      return streams.flat().flatMap((event) => (isOfEmail(event, id) ? [{ event, place }] : []));
    }),
  );
  return found.flat();
};

const isOfEmail = ({ event }: Recorded, id: EmailId): boolean =>
  event.type === 'AddressSuppressed' && event.data.emailId === id;
