/** Needs of all commands together: the composition root gives them as one object. */
import type { BulkNeeds } from './bulk/send.js';
import type { SeveralNeeds } from './email/several.js';
import type { TeamNeeds } from './teams/needs.js';
import type { WebhookNeeds } from './webhooks/needs.js';

export type CommandNeeds = BulkNeeds & SeveralNeeds & TeamNeeds & WebhookNeeds;
