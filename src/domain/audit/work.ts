/** What events of mails, templates, webhooks, accounts and the instance are to an auditor. */
import type { ActivityEvent } from '../billing/activity-events.js';
import type { BatchEvent } from '../bulk/events.js';
import type { CreditsEvent } from '../billing/events.js';
import type { EmailEvent } from '../email/events.js';
import type { PlanUseEvent } from '../billing/plan-use-events.js';
import type { InstanceEvent, LedgerEvent } from '../teams/events.js';
import type { TemplateEvent, TemplateSlugEvent } from '../templates/events.js';
import type { WebhookEvent, WebhookOutcomeEvent, WebhookRouteEvent, WebhookRouterEvent, WebhookSlotsEvent } from '../webhooks/events.js';
import { not, type AuditTable } from './line.js';

type WorkEvent =
  | EmailEvent
  | BatchEvent
  | TemplateEvent
  | TemplateSlugEvent
  | CreditsEvent
  | PlanUseEvent
  | ActivityEvent
  | WebhookEvent
  | WebhookRouteEvent
  | WebhookOutcomeEvent
  | WebhookRouterEvent
  | WebhookSlotsEvent
  | InstanceEvent
  | LedgerEvent;

/** Who sent, cancelled or deleted an email stands in its own timeline; that a person read or deleted it is recorded where they call. */
const mail = not('the timeline of the email tells it');
const sending = not('the bulk send tells it');
const account = not('the account of credits tells it');
const delivery = not('it is work of the service on deliveries of webhooks');

export const auditedWork: AuditTable<Exclude<WorkEvent['type'], 'StreamRetired'>> = {
  EmailQueued: mail,
  EmailScheduled: mail,
  EmailRescheduled: mail,
  EmailReleased: mail,
  DeliveryAttempted: mail,
  CopyAnswered: mail,
  EmailSent: mail,
  EmailDeferred: mail,
  EmailBounced: mail,
  EmailFailed: mail,
  EmailDelivered: mail,
  EmailBounceReported: mail,
  EmailComplained: mail,
  EmailRetried: mail,
  EmailCancelled: mail,
  RecipientsSuppressed: mail,
  EmailBouncesNoted: mail,
  RecipientsErased: mail,
  EmailOpened: mail,
  EmailClicked: mail,
  EmailDeleted: mail,
  EmailArchived: mail,
  EmailRemoved: mail,
  EmailSummarised: mail,
  EmailRetired: mail,

  BatchQueued: sending,
  BatchScheduled: sending,
  BatchStarted: sending,
  BatchAdvanced: sending,
  BatchRecipientsErased: sending,
  BatchFannedOut: sending,
  BatchCancelled: sending,
  BatchStopped: sending,
  BatchCompleted: sending,
  BatchRemoved: sending,
  BatchRetired: sending,

  TemplateCreated: { category: 'settings', action: 'template.created' },
  TemplateDraftSaved: not('drafts are saved again and again; that one is published is listed'),
  TemplatePublished: { category: 'settings', action: 'template.published', detail: ({ version }) => `version ${version}` },
  TemplateSlugChanged: { category: 'settings', action: 'template.slug_changed' },
  TemplateDeleted: { category: 'settings', action: 'template.deleted' },
  TemplateRestored: { category: 'settings', action: 'template.restored' },
  TemplateRemoved: not('it follows the deletion, which is listed'),
  TemplateSlugClaimed: not('the template that it belongs to is listed'),
  TemplateSlugReleased: not('the template that it belongs to is listed'),

  CreditsGranted: account,
  CreditsBought: account,
  CreditsReserved: account,
  CreditsReturned: account,
  CreditsReset: account,
  QuotaMonthBegan: account,
  QuotaThresholdReached: account,
  ReservationsSettled: account,
  CreditsCarried: account,
  PlacesTaken: not('it counts what the plan limits, and the things themselves are listed'),
  AccountUsed: not('it says that something was done, and not what'),
  AccountDisabled: { category: 'api_keys', action: 'api_keys.disabled', target: () => null },
  AccountSettled: account,
  AccountReactivated: { category: 'api_keys', action: 'api_keys.enabled', target: () => null },
  AccountUncounted: account,

  WebhookCreated: { category: 'settings', action: 'webhook.created' },
  WebhookChanged: { category: 'settings', action: 'webhook.changed' },
  WebhookSecretRotated: { category: 'settings', action: 'webhook.secret_rotated' },
  WebhookDisabled: { category: 'settings', action: 'webhook.disabled', detail: ({ reason }) => reason },
  WebhookBackfillAsked: delivery,
  WebhookTrashed: { category: 'settings', action: 'webhook.deleted' },
  WebhookRestored: { category: 'settings', action: 'webhook.restored' },
  WebhookDeleted: { category: 'settings', action: 'webhook.removed', ofCallers: true },
  WebhookRouted: delivery,
  WebhookAttempted: delivery,
  WebhookRetryAsked: delivery,
  WebhookReplayAsked: delivery,
  WebhookOutcomesClosed: delivery,
  WebhookOutcomesEnded: delivery,
  WebhookOutcomesRemoved: delivery,
  WebhookRoutesReached: delivery,
  WebhookSlotsChanged: delivery,

  InstanceInitialised: not('it belongs to no team'),
  LossAccepted: not('it belongs to no team; `sealpost verify` tells it'),
  InstanceSeen: not('it belongs to no team'),
  LedgerSealed: not('it is what exports are checked against'),
};
