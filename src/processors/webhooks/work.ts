/** What a courier does: one attempt to send one event, and what came of it. */
import type { CommandDeps } from '../../commands/core/deps.js';
import type { Cause } from '../../event-log/event-log.js';
import type { DisabledWebhook } from '../../commands/webhooks/disabled-mail.js';
import type { Tried } from '../../commands/webhooks/attempt.js';
import type { WebhookId } from '../../domain/core/ids.js';
import type { Logger } from '../../domain/ports/logger.js';
import type { FairSlots } from '../../shared/fairness.js';
import type { SentEvent } from '../../domain/webhooks/events.js';

/** How many posts are under way at once, of all teams: none has them all. */
export type PostSlots = Pick<FairSlots, 'acquire' | 'release'>;

export type CourierDeps = Pick<CommandDeps, 'eventLog' | 'clock' | 'webhooks' | 'team'> &
  Readonly<{
    logger: Logger;
    /** Who owns the team hears that the subscription is about to be disabled. */
    tellOwners: (disabled: DisabledWebhook, cause: Cause) => Promise<void>;
    /** Failed deliveries in the order in which they are due, as the read models know them up to that position at least. */
    due: (id: WebhookId, upTo: number, limit: number, signal: AbortSignal) => Promise<readonly Due[]>;
  }>;

export type Due = Readonly<{ sent: SentEvent; attempt: number; dueAt: string }>;

/** Why an event is sent: for the first time, because an attempt has failed, or because somebody asked for it again. */
export type Source = 'first' | 'due' | 'replay';
export type Work = Readonly<{ sent: SentEvent; attempt: number; source: Source }>;
export type Ended = Readonly<{ work: Work; tried: Tried }>;
