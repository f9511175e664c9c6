/** The places that a team has for subscriptions: taken before one is made, given back after it is deleted. */
import { loadState } from './command-handler.js';
import type { CommandDeps } from './deps.js';
import { WrongExpectedRevision } from '../domain/errors.js';
import { parseWebhookId, webhookSlotsStream, webhookStream, type TeamId, type WebhookId } from '../domain/ids.js';
import { mayBeGone, slotsDecider, WEBHOOKS_MAX, type Slots, type SlotsCommand } from '../domain/webhook/slots.js';
import type { WebhookSlotsEvent } from '../domain/webhook/events.js';
import { webhookDecider } from '../domain/webhook/state.js';
import { startOf, versionOf, type Cause, type StreamVersion } from '../event-log/event-log.js';

type Deps = Pick<CommandDeps, 'eventLog'>;

/** Each conflict means that another call has gone on. */
const CONFLICTS_MAX = 100;

type Known = Readonly<{ slots: Slots; version: StreamVersion }>;

/** Each fact has all that is held: the last one is enough. */
const slotsOf = async ({ eventLog }: Deps, team: TeamId): Promise<Known> => {
  const stream = webhookSlotsStream(team);
  const last = await eventLog.last(stream);
  const [recorded] = last === undefined ? [] : await eventLog.load(stream, last.revision);
  if (recorded === undefined) return { slots: slotsDecider.initialState, version: startOf(stream) };
  return { slots: slotsDecider.evolve([], recorded.event as WebhookSlotsEvent), version: versionOf(recorded) };
};

const change = async (deps: Deps, team: TeamId, cause: Cause, make: (slots: Slots) => Promise<SlotsCommand>): Promise<void> => {
  for (let conflicts = 0; ; conflicts += 1) {
    const { slots, version } = await slotsOf(deps, team);
    const events = slotsDecider.decide(await make(slots), slots);
    if (events.length === 0) return;
    try {
      await deps.eventLog.append(webhookSlotsStream(team), version, events, cause);
      return;
    } catch (fault) {
      if (!(fault instanceof WrongExpectedRevision) || conflicts >= CONFLICTS_MAX) throw fault;
    }
  }
};

/** Places of subscriptions that a program which died did not make, or deleted, are given to others when there is none left. */
export const takeSlot = (deps: Deps, team: TeamId, id: WebhookId, cause: Cause): Promise<void> =>
  change(deps, team, cause, async (slots) => {
    const gone = slots.length < WEBHOOKS_MAX ? [] : await goneOf(deps, slots, cause.at);
    return { type: 'TakeSlot', at: cause.at, id, gone };
  });

export const freeSlot = (deps: Deps, team: TeamId, id: WebhookId, cause: Cause): Promise<void> =>
  change(deps, team, cause, async () => ({ type: 'FreeSlot', at: cause.at, id }));

const goneOf = async ({ eventLog }: Deps, slots: Slots, now: string): Promise<string[]> => {
  const gone: string[] = [];
  for (const slot of slots) {
    const id = parseWebhookId(slot.id);
    const { state } = id === undefined ? {} : await loadState(eventLog, webhookStream(id), webhookDecider);
    if (state === undefined ? mayBeGone(slot, now) : state.deletedAt !== null) gone.push(slot.id);
  }
  return gone;
};
