/** What a start finds and says in the log, without stopping for it. */
import { isoTime } from '../domain/core/iso-time.js';
import type { Engine } from './engine.js';
import { apiKeysProjection, keysWithImpliedDelete } from '../projections/keys/api-keys.js';
import type { Runner } from '../projections/core/runner.js';

const KEYS_NAMED_MAX = 100;

/** Names, once a start, the keys that may delete emails although nobody gave them that. */
export const sayImpliedDeletes = async (
  { readModels, eventLog, clock, logger }: Engine,
  runners: ReadonlyMap<string, Runner>,
  signal: AbortSignal,
): Promise<void> => {
  try {
    await runners.get(apiKeysProjection.name)?.caughtUp(await eventLog.head(), signal);
    if (signal.aborted) return;
    const keyIds = await keysWithImpliedDelete(readModels, isoTime(clock.now()), KEYS_NAMED_MAX);
    if (keyIds.length > 0) logger.warn({ keys: keyIds.length, keyIds: keyIds.join(' ') }, 'keys of before that may delete emails');
  } catch (fault) {
    if (!signal.aborted) logger.error({ fault: fault instanceof Error ? fault : undefined }, 'keys of before were not looked for');
  }
};
