/** Removes the records of deliveries that are too old to be shown, and those of subscriptions that are deleted. */
import { removeAllOutcomes, removeOutcomes } from '../../commands/webhooks/records.js';
import type { EraseDeps } from '../../commands/core/erase.js';
import { isoTime } from '../../domain/core/iso-time.js';
import type { WebhookId } from '../../domain/core/ids.js';
import type { Worker } from '../../domain/ports/worker.js';
import { DAY_MS } from '../../domain/core/time.js';
import type { ProcessorDeps } from '../core/deps.js';
import { recurringWorker, type Held, type LeaseDeps } from '../core/lease.js';

const NAME = 'remove-webhook-records';
const LOOK_EVERY_MS = 60_000;
const PARTS_PER_LOOK = 500;

export type Removable = Readonly<{ webhook: WebhookId; part: number; team: string; isEnded: boolean }>;

export type RemoveWebhookRecordsDeps = LeaseDeps &
  EraseDeps &
  Pick<ProcessorDeps, 'mayDestroy' | 'limits'> &
  Readonly<{
    /** Parts whose last fact is as old as that or older, and those that end all; the oldest first. */
    removable: (upTo: string, limit: number) => Promise<readonly Removable[]>;
  }>;

export const removeWebhookRecordsWorker = (deps: RemoveWebhookRecordsDeps): Worker =>
  recurringWorker(deps, NAME, LOOK_EVERY_MS, (held) => removeOnce(deps, held));

/** What cannot be read stays, and is told of; it keeps no other. */
const removeOnce = async (deps: RemoveWebhookRecordsDeps, held: Held): Promise<void> => {
  const { clock, limits, logger } = deps;
  const found = await deps.removable(isoTime(clock.now() - limits.webhookRecordDays * DAY_MS), PARTS_PER_LOOK);
  for (const removable of found) {
    if (held.signal.aborted) return;
    try {
      await removeOne(deps, removable, held);
    } catch (fault) {
      logger.error({ webhook: removable.webhook, err: fault instanceof Error ? fault : undefined }, 'records of webhooks are not removed');
    }
  }
};

/** Of a subscription that is deleted nothing depends on what time it is. Those who send append under another lease, so none is named. */
const removeOne = async (deps: RemoveWebhookRecordsDeps, { webhook, part, team, isEnded }: Removable, held: Held): Promise<void> => {
  const at = isoTime(deps.clock.now());
  const cause = { teamId: team, actor: `processor:${NAME}`, correlationId: webhook, causationId: webhook, at };
  if (isEnded) await removeAllOutcomes(deps, webhook, part, cause, held.signal);
  else if (deps.mayDestroy()) await removeOutcomes(deps, webhook, part, cause);
};
