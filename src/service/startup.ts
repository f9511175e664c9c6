/** What a start does before anything is served or sent: the stores are checked, a first start is finished, the notes are written. */
import { assertStoresAgree, type CheckDeps } from '../commands/ops/stores.js';
import { lacksAccountTemplates, makeAccountTemplates } from '../commands/people/templates.js';
import { firstStart } from '../commands/ops/first-start.js';
import { firstTeam } from '../commands/core/instance.js';
import { noteLog } from '../commands/core/log-notes.js';
import type { PendingFirstKey } from '../domain/ports/first-key.js';
import type { Config } from './settings/config.js';
import type { Engine } from './engine.js';
import { assertMayServe } from './stores/instances.js';
import { underLease, type LeaseDeps } from '../processors/core/lease.js';
import { makeProjections } from '../projections/index.js';
import { checkpointsOf } from '../projections/core/rebuild.js';
import { accountSamples, samples } from '../samples/index.js';

/** The stores of an engine, as the check of them wants them. */
export const checkable = (engine: Engine): CheckDeps => ({
  ...engine,
  checkpoints: () => checkpointsOf(makeProjections(engine.limits), engine.readModels),
});

/** Throws StoreFault, with nothing written, where the stores do not belong together. What is no reason for that is logged. */
export const assertWholeEngine = async (engine: Engine): Promise<void> => {
  for (const { code, message } of await assertStoresAgree(checkable(engine))) engine.logger.warn({ code }, message);
};

/**
 * The same, then finishes a first start; closes engine and leases where it throws. `pendingKey` is where the first key waits, absent in a
 * process that serves no requests.
 */
export const begin = async (config: Config, engine: Engine, leasing: LeaseDeps, pendingKey: PendingFirstKey | undefined): Promise<void> => {
  try {
    await assertMayServe(config, leasing.leases);
    await assertWholeEngine(engine);
    await firstStartOnce(engine, leasing, pendingKey);
    await accountTemplatesOnce(engine, leasing);
    await noteOrWarn(engine);
  } catch (fault) {
    await leasing.leases.close();
    await engine.close();
    throw fault;
  }
};

/** Of processes that start at once on an empty log, one makes what a first start makes, and the others wait until it has. */
const firstStartOnce = async (engine: Engine, leasing: LeaseDeps, pendingKey: PendingFirstKey | undefined): Promise<void> => {
  if ((await firstTeam(engine)) !== undefined) return;
  await underLease(leasing, 'first-start', new AbortController().signal, () => firstStart(engine, samples, pendingKey));
};

/** An instance of before, or one whose owner deleted them, has none. */
const accountTemplatesOnce = async (engine: Engine, leasing: LeaseDeps): Promise<void> => {
  if (!(await lacksAccountTemplates(engine, accountSamples))) return;
  const make = () => makeAccountTemplates(engine, accountSamples);
  await underLease(leasing, 'account-templates', new AbortController().signal, make);
};

/** A disk that is full refuses sends and no start: the note-log worker tries again. */
const noteOrWarn = async ({ store, noted, logger }: Engine): Promise<void> => {
  try {
    await noteLog(store, noted);
  } catch (fault) {
    logger.warn({ err: fault instanceof Error ? fault : undefined }, 'the stores could not note where the log ends');
  }
};
