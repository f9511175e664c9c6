/** How many subscriptions a team has: each takes a place in a stream of the team before it is made, so that the store refuses one too many. */
import type { Decider } from '../decider.js';
import { DomainError } from '../errors.js';
import type { WebhookSlotsEvent } from './events.js';

/** Of one team. */
export const WEBHOOKS_MAX = 25;
/** A place that was taken so long ago by a subscription that is not there was taken in vain. */
const MAKING_MAX_MS = 10 * 60_000;

export type Slots = Extract<WebhookSlotsEvent, { type: 'WebhookSlotsChanged' }>['data']['held'];

/** `gone`: subscriptions that are known to be deleted, or not to be there. */
export type SlotsCommand =
  Readonly<{ type: 'TakeSlot'; at: string; id: string; gone: readonly string[] }> | Readonly<{ type: 'FreeSlot'; at: string; id: string }>;

export const webhookLimitReached = (): DomainError =>
  new DomainError('WEBHOOK_LIMIT_REACHED', `A team may have ${WEBHOOKS_MAX} webhook subscriptions; delete one first.`);

export const mayBeGone = ({ at }: Slots[number], now: string): boolean => Date.parse(now) - Date.parse(at) >= MAKING_MAX_MS;

export const slotsDecider: Decider<SlotsCommand, WebhookSlotsEvent, Slots> = {
  decide: (command, slots) => {
    const { at, id } = command;
    const isHeld = slots.some((slot) => slot.id === id);
    if (command.type === 'FreeSlot')
      return isHeld ? [{ type: 'WebhookSlotsChanged', data: { at, held: slots.filter((slot) => slot.id !== id) } }] : [];
    if (isHeld) return [];
    const held = slots.filter((slot) => !command.gone.includes(slot.id));
    if (held.length >= WEBHOOKS_MAX) throw webhookLimitReached();
    return [{ type: 'WebhookSlotsChanged', data: { at, held: [...held, { id, at }] } }];
  },
  evolve: (_, { data }) => data.held,
  initialState: [],
};
