/** How many subscriptions a team has. */
import { DomainError } from '../core/errors.js';

/** Of one team, on whichever plan. */
export const WEBHOOKS_MAX = 25;

export const webhookLimitReached = (): DomainError =>
  new DomainError('WEBHOOK_LIMIT_REACHED', `A team may have ${WEBHOOKS_MAX} webhook subscriptions; delete one first.`);
