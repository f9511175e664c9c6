/** The posts of a subscription, and whether a post left long after its event. */
import type { RoutedEntry } from '../../src/domain/webhooks/events.js';
import type { HookPost } from './endpoints.js';
import { settingsOf, type Subscription } from './webhook-log.js';
import type { World } from './world.js';

/** An event that went to a subscription, and the ids that it and the one before it are posted with. */
export type Sent = Readonly<{ entry: RoutedEntry; number: number; id: string; previous: string | undefined }>;

export const sentTo = ({ routes }: Subscription): readonly Sent[] => {
  let previous: string | undefined;
  return routes
    .flatMap(({ entries }) => entries)
    .map((entry, number) => {
      const sent = { entry, number, id: `evt_${number.toString(36)}_${entry.key}`, previous };
      previous = sent.id;
      return sent;
    });
};

export const isWorking = (subscription: Subscription): boolean => {
  const { enabled, isDeleted } = settingsOf(subscription);
  return enabled && !isDeleted;
};

/**
 * How long a body that was made before a deletion may still be on its way to a post, and after how many jumps of the
 * time nothing is left of it.
 */
export const [UNDER_WAY_MS, JUMPS_MAX] = [6_000, 3];

export type Moment = Readonly<{ ms: number; jumps: number }>;

/** Whether a post left so long after a moment that its sender has heard of what happened then. */
export const isLater = (world: World, moment: Moment, { leftMs, jumps, machine }: HookPost): boolean => {
  const isSteady = jumps === moment.jumps && !world.frozen.has(machine);
  return jumps - moment.jumps >= JUMPS_MAX || (isSteady && leftMs - moment.ms > UNDER_WAY_MS);
};
