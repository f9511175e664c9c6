/** Needs of webhooks: a person is told by mail when a subscription is disabled. */
import type { AccessNeeds } from '../access/needs.js';
import type { EmailNeeds } from '../email/needs.js';
import type { WebhookPorts } from './attempt.js';

export type WebhookNeeds = AccessNeeds & EmailNeeds & Readonly<{ webhooks: WebhookPorts }>;
