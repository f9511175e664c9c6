/** Needs of API keys. */
import type { ApiKeyState } from '../../domain/keys/decider.js';
import type { BillingNeeds } from '../billing/credits.js';
import type { Load } from '../core/ports.js';

export type KeyNeeds = BillingNeeds & Readonly<{ apiKey: Load<ApiKeyState> }>;
