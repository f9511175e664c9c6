/**
 * The body of a webhook event, made only from the stream of the event up to its revision, so that it is the same on
 * every attempt.
 */
import { messageIdOf } from '../email/state.js';
import type { BatchEvent } from '../bulk/events.js';
import { evolveBatch, type BatchState } from '../bulk/decider.js';
import type { DeliveryOutcomeEvent, EmailAccepted, EmailEngaged, EmailEvent } from '../email/events.js';
import type { AnyEvent, EventMetadata, WebhookKind } from '../core/event.js';
import { splitStream } from '../core/ids.js';
import type { SenderDomainEvent } from '../domains/events.js';
import type { SuppressionEvent } from '../recipients/events.js';
import type { RoutedEntry } from './events.js';

/** Largest body, by the contract. */
export const WEBHOOK_BODY_BYTES_MAX = 256 * 1024;

type Data = Readonly<Record<string, unknown>>;

/** Fields that are left out of a body that is too large, in that order. `truncated` names them. */
const LEFT_OUT = ['metadata', 'recipients', 'bounceMessage'] as const;

/**
 * In: the routed entry, and the events of its stream from the first up to its revision. Out: the JSON text; undefined
 * if its content is destroyed.
 */
export const bodyOf = (
  entry: Pick<RoutedEntry, 'kind' | 'recipient' | 'stream' | 'at'>,
  events: readonly AnyEvent[],
): string | undefined => {
  const { kind, id } = splitStream(entry.stream);
  const data = dataOf(kind, id, entry, events);
  return data && bounded(entry.kind, entry.at, data);
};

/**
 * The ids of the keys that open what such a body says of people. In: as for the body, whose content must not be
 * destroyed, and the keys of the stream. Bodies of bulk sends hold no personal data.
 */
export const bodyKeys = (
  { stream, recipient }: Pick<RoutedEntry, 'recipient' | 'stream'>,
  [first]: readonly AnyEvent[],
  { keyId, recipientKeys = [] }: Pick<EventMetadata, 'keyId' | 'recipientKeys'>,
): readonly string[] => {
  const { kind } = splitStream(stream);
  if (keyId === undefined || kind === 'batch' || kind === 'senderDomains') return [];
  const isAccepted = first?.type === 'EmailQueued' || first?.type === 'EmailScheduled';
  const recipients = isAccepted ? ((first as EmailAccepted).sealed?.recipients ?? []) : [];
  const isSaid = (place: number): boolean => (recipient ?? place) === place && recipients[place] !== null;
  return [keyId, ...recipientKeys.filter((_, place) => isSaid(place))];
};

const dataOf = (
  kind: string,
  id: string,
  entry: Pick<RoutedEntry, 'kind' | 'recipient'>,
  events: readonly AnyEvent[],
): Data | undefined => {
  if (kind === 'batch') return batchData(id, entry.kind, events as readonly BatchEvent[]);
  if (kind === 'senderDomains') return alertData(events.at(-1) as SenderDomainEvent | undefined);
  if (kind === 'suppression') return unsubscribedData(events.at(-1) as SuppressionEvent | undefined);
  return emailData(id, entry, events as readonly EmailEvent[]);
};

const alertData = (event: SenderDomainEvent | undefined): Data | undefined => {
  if (event?.type !== 'DomainRateCrossed') return undefined;
  const { at, day, side, domain, measure, recipients, hits, bound } = event.data;
  const percent = Math.round((hits * 10_000) / recipients) / 100;
  return { domain, side, measure, day, recipients, hits, percent, boundPercent: bound / 10, alertedAt: at };
};

/** The recipient is null if the email was archived before its link was followed. */
const unsubscribedData = (event: SuppressionEvent | undefined): Data | undefined => {
  if (event?.type !== 'AddressSuppressed' || event.sealed === undefined) return undefined;
  const { at, emailId, list } = event.data;
  return { emailLogId: emailId, recipient: event.sealed.address ?? null, list: list ?? null, unsubscribedAt: at };
};

const bounded = (event: string, timestamp: string, data: Data): string => {
  let text = JSON.stringify({ event, timestamp, data });
  const truncated: string[] = [];
  let rest = data;
  for (const field of LEFT_OUT) {
    if (Buffer.byteLength(text) <= WEBHOOK_BODY_BYTES_MAX) break;
    const { [field]: left, ...others } = rest;
    if (left === undefined) continue;
    truncated.push(field);
    rest = others;
    text = JSON.stringify({ event, timestamp, data: { ...rest, truncated } });
  }
  return text;
};

const statuses: Readonly<Partial<Record<WebhookKind, string>>> = {
  'email.queued': 'queued',
  'email.scheduled': 'scheduled',
  'email.deferred': 'queued',
  'email.sent': 'sent',
  'email.delivered': 'delivered',
  'email.bounced': 'bounced',
  'email.failed': 'failed',
  'email.cancelled': 'cancelled',
};

/** The subject at that revision: rescheduling may have rendered it again. */
const subjectOf = (first: EmailAccepted, events: readonly EmailEvent[]): string =>
  events.reduce(
    (subject, event) => (event.type === 'EmailRescheduled' ? (event.sealed?.subject ?? subject) : subject),
    first.sealed!.subject,
  );

const emailData = (
  id: string,
  { kind, recipient }: Pick<RoutedEntry, 'kind' | 'recipient'>,
  events: readonly EmailEvent[],
): Data | undefined => {
  const [first] = events;
  const last = events.at(-1);
  if (first === undefined || last === undefined || (first.type !== 'EmailQueued' && first.type !== 'EmailScheduled'))
    return undefined;
  if (first.sealed === undefined) return undefined;
  const { recipients, metadata } = first.sealed;
  if (recipient !== undefined && recipients[recipient] === null) return undefined;
  const { templateId, tags, batch, test, confidential } = first.data;
  return {
    emailLogId: id,
    recipient: recipients[recipient ?? 0]?.email ?? null,
    ...(recipient === undefined ? { recipients: recipients.map((one) => one?.email ?? null) } : {}),
    subject: subjectOf(first, events),
    status: statuses[kind as WebhookKind] ?? kind.slice(kind.indexOf('.') + 1),
    templateId,
    messageId: messageIdOf(first),
    ...(batch === undefined ? {} : { batchId: batch.id }),
    ...(test === undefined ? {} : { test }),
    ...(tags.length === 0 ? {} : { tags }),
    ...(Object.keys(metadata).length === 0 || confidential === true ? {} : { metadata }),
    ...detailsOf(last, recipient),
  };
};

/** The fields of one kind beside the common ones. */
const detailsOf = (event: EmailEvent, recipient: number | undefined): Data => {
  switch (event.type) {
    case 'EmailSent':
    case 'EmailDeferred':
    case 'EmailBounced':
    case 'EmailFailed':
      return outcomeDetails(event, recipient);
    case 'EmailDelivered':
      return { deliveredAt: event.data.at };
    case 'EmailBounceReported':
      return reportDetails(event, recipient);
    case 'EmailComplained': {
      const { at, feedbackType } = event.data;
      return { ...(recipient === undefined ? { recipient: null } : {}), complainedAt: at, feedbackType };
    }
    case 'EmailQueued':
      return { queuedAt: event.data.at };
    case 'EmailScheduled':
    case 'EmailRescheduled':
      return { scheduledAt: event.data.scheduledAt };
    case 'EmailRetried':
      return { queuedAt: event.data.at, retryCount: event.data.retryCount };
    case 'EmailCancelled':
      return { cancelledAt: event.data.at };
    case 'RecipientsSuppressed':
      return { suppressedAt: event.data.at };
    case 'EmailOpened':
      return { openedAt: event.data.at, ...visitDetails(event) };
    case 'EmailClicked':
      return { clickedAt: event.data.at, url: event.sealed?.url ?? null, ...visitDetails(event) };
    default:
      return {};
  }
};

const reportDetails = (
  { data, sealed }: Extract<EmailEvent, { type: 'EmailBounceReported' }>,
  recipient: number | undefined,
): Data => {
  const at = data.bounces.findIndex((bounce) => bounce.recipient === recipient);
  const bounce = data.bounces[at];
  if (bounce === undefined) return {};
  const { bounceType, bounceSubType } = bounce;
  return { bouncedAt: data.at, bounceType, bounceSubType, bounceMessage: sealed?.replies[at] ?? null };
};

const visitDetails = ({ data: { machine, rule, times = 1 }, sealed }: EmailEngaged): Data => ({
  userAgent: sealed?.userAgent ?? null,
  ipAddress: sealed?.ipAddress ?? null,
  machine,
  ...(rule === undefined ? {} : { machineRule: rule }),
  ...(times === 1 ? {} : { times }),
});

const outcomeDetails = (event: DeliveryOutcomeEvent, recipient: number | undefined): Data => {
  const at = event.data.outcomes.findIndex((outcome) => outcome.recipient === recipient);
  const outcome = event.data.outcomes[at];
  if (outcome === undefined) return {};
  const reply = event.sealed?.replies[at] ?? null;
  switch (outcome.result) {
    case 'accepted':
      return { sentAt: event.data.at };
    case 'bounced': {
      const bounceType = event.type === 'EmailBounced' ? event.data.bounceType : 'hard';
      return { bouncedAt: event.data.at, bounceType, bounceSubType: outcome.rule, bounceMessage: reply };
    }
    case 'refused':
    case 'blocked':
    case 'deferred': {
      const said = { reason: outcome.rule, replyCode: outcome.replyCode, reply };
      return event.type === 'EmailDeferred'
        ? { deferredAt: event.data.at, nextAttemptAt: event.data.nextAttemptAt, ...said }
        : { failedAt: event.data.at, ...said };
    }
  }
};

/** These fields are not personal: they stay readable after the key of the bulk send is destroyed. */
const batchData = (id: string, kind: string, events: readonly BatchEvent[]): Data | undefined => {
  const batch = events.reduce(evolveBatch, undefined as BatchState);
  const last = events.at(-1);
  if (batch === undefined || last === undefined) return undefined;
  const { name, templateId, total, test } = batch.accepted;
  const common = {
    batchId: id,
    batchName: name ?? null,
    status: kind.slice(kind.indexOf('.') + 1),
    templateId,
    totalEmails: total,
    ...(test === undefined ? {} : { test }),
  };
  if (last.type !== 'BatchCompleted') return { ...common, cancelledAt: last.data.at };
  const { at, sent, failed, cancelled } = last.data;
  return { ...common, sent, failed, cancelled, completedAt: at };
};

/** Body of a test post: an `email.delivered` of no email. */
export const testBody = (at: string): string =>
  JSON.stringify({
    event: 'email.delivered',
    timestamp: at,
    data: {
      emailLogId: '00000000-0000-0000-0000-000000000000',
      recipient: 'recipient@example.com',
      subject: 'Test of a webhook subscription',
      status: 'delivered',
      templateId: '00000000-0000-0000-0000-000000000000',
      messageId: '<00000000-0000-0000-0000-000000000000@example.com>',
      metadata: { test: true },
      deliveredAt: at,
    },
  });
