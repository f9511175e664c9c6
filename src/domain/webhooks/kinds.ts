/** The kinds of event that a subscription may ask for, and the kinds that each event of the log notifies of. */
import type { BatchEvent } from '../bulk/events.js';
import type { DeliveryOutcomeEvent, EmailEvent } from '../email/events.js';
import type { EventType } from '../events.js';
import type { SuppressionEvent } from '../recipients/events.js';

export const webhookKinds = [
  'email.sent',
  'email.delivered',
  'email.bounced',
  'email.complained',
  'email.opened',
  'email.clicked',
  'email.queued',
  'email.scheduled',
  'email.deferred',
  'email.failed',
  'email.suppressed',
  'email.cancelled',
  'email.unsubscribed',
  'batch.completed',
  'batch.cancelled',
] as const;
export type WebhookKind = (typeof webhookKinds)[number];

/** `recipient`: the place of the recipient in the email, if the notice is about one. */
export type Notice = Readonly<{ kind: WebhookKind; recipient?: number }>;

type OfEvent<Event extends { type: string }> = {
  readonly [Type in Event['type']]: ((event: Extract<Event, { type: Type }>) => readonly Notice[]) | 'silent';
};

/** One notice for each recipient of an attempt. A deferred recipient is tried again only if the whole email is. */
const ofOutcomes = ({ type, data }: DeliveryOutcomeEvent): readonly Notice[] =>
  data.outcomes.map(({ recipient, result }): Notice => {
    switch (result) {
      case 'accepted':
        return { kind: 'email.sent', recipient };
      case 'bounced':
        return { kind: 'email.bounced', recipient };
      case 'refused':
      case 'blocked':
        return { kind: 'email.failed', recipient };
      case 'deferred':
        return { kind: type === 'EmailDeferred' ? 'email.deferred' : 'email.failed', recipient };
    }
  });

/** A complaint that does not name its recipient is about the whole email. */
const ofComplaint = (recipients: readonly number[]): readonly Notice[] =>
  recipients.length === 0 ? [{ kind: 'email.complained' }] : recipients.map((recipient) => ({ kind: 'email.complained', recipient }));

const whole =
  (kind: WebhookKind): (() => readonly Notice[]) =>
  () => [{ kind }];

/** A new type of event does not compile until it has an entry here. */
const noticesOf: OfEvent<EmailEvent> & OfEvent<BatchEvent> & OfEvent<SuppressionEvent> = {
  EmailQueued: whole('email.queued'),
  EmailScheduled: whole('email.scheduled'),
  EmailRescheduled: whole('email.scheduled'),
  EmailReleased: 'silent',
  DeliveryAttempted: 'silent',
  EmailSent: ofOutcomes,
  EmailDeferred: ofOutcomes,
  EmailBounced: ofOutcomes,
  EmailFailed: ofOutcomes,
  EmailDelivered: ({ data }) => data.recipients.map((recipient) => ({ kind: 'email.delivered', recipient })),
  EmailBounceReported: ({ data }) => data.bounces.map(({ recipient }) => ({ kind: 'email.bounced', recipient })),
  EmailComplained: ({ data }) => ofComplaint(data.recipients),
  EmailRetried: whole('email.queued'),
  EmailCancelled: whole('email.cancelled'),
  RecipientsSuppressed: ({ data }) => data.recipients.map((recipient) => ({ kind: 'email.suppressed', recipient })),
  CopyAnswered: 'silent',
  EmailBouncesNoted: 'silent',
  RecipientsErased: 'silent',
  EmailOpened: ({ data }) => [{ kind: 'email.opened', recipient: data.recipient }],
  EmailClicked: ({ data }) => [{ kind: 'email.clicked', recipient: data.recipient }],
  EmailDeleted: 'silent',
  EmailArchived: 'silent',
  EmailRemoved: 'silent',
  // Other reasons, such as an import, come from the team itself.
  AddressSuppressed: ({ data }) => (data.reason === 'unsubscribe' && data.emailId !== undefined ? [{ kind: 'email.unsubscribed' }] : []),
  AddressRefused: 'silent',
  SuppressionRemoved: 'silent',
  SuppressedAddressErased: 'silent',
  BatchQueued: 'silent',
  BatchScheduled: 'silent',
  BatchStarted: 'silent',
  BatchAdvanced: 'silent',
  BatchRecipientsErased: 'silent',
  BatchFannedOut: 'silent',
  BatchCancelled: whole('batch.cancelled'),
  BatchStopped: 'silent',
  BatchCompleted: whole('batch.completed'),
  BatchRemoved: 'silent',
};

export type NotifyingEvent = EmailEvent | BatchEvent | SuppressionEvent;

/** The types of event that notify subscriptions. */
export const notifyingTypes: readonly EventType[] = (Object.keys(noticesOf) as NotifyingEvent['type'][]).filter(
  (type) => noticesOf[type] !== 'silent',
);

/** The notices of an event, in order. */
export const noticesOfEvent = (event: NotifyingEvent): readonly Notice[] => {
  const notices = noticesOf[event.type] as ((event: NotifyingEvent) => readonly Notice[]) | 'silent';
  return notices === 'silent' ? [] : notices(event);
};
