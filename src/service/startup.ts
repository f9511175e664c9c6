/** What a start does before anything is served or sent: the stores are checked, a first start is finished, the notes are written. */
import { isoTime } from '../domain/core/time.js';
import type { Engine } from './engine.js';
import { apiKeysProjection, keysWithImpliedDelete } from '../projections/keys/api-keys.js';
import type { Runner } from '../projections/core/runner.js';
import { ATTACHMENT_TEMPLATES } from '../projections/templates/templates.js';
import type { Config } from './settings/config.js';
import { assertStoresAgree, type CheckDeps } from '../commands/ops/stores.js';
import { lacksAccountTemplates, makeAccountTemplates } from '../commands/people/mails.js';
import { firstStart } from '../commands/ops/first-start.js';
import { firstTeam } from '../commands/core/caller.js';
import { noteLog } from '../commands/core/erase.js';
import type { PendingFirstKey } from '../domain/ports/first-key.js';
import { assertMayServe } from './stores/instances.js';
import { underLease, type LeaseDeps } from '../processors/core/lease.js';
import { makeProjections } from '../projections/index.js';
import { checkpointsOf } from '../projections/core/rebuild.js';
import { accountSamples, samples } from '../samples/index.js';

/* What a start finds and says in the log, without stopping for it. */

const KEYS_NAMED_MAX = 100;

/** Names, once a start, the keys that may delete emails although nobody gave them that. */
const sayImpliedDeletes = async (
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

/* Documents are expected of a service that has templates of them. */

/** Once a start. Resolves when a process has been asked to stand ready, or there is no need of one. */
const expectDocuments = async ({ readModels, generator, logger }: Engine): Promise<void> => {
  try {
    if ((await readModels.count(ATTACHMENT_TEMPLATES, { where: {} }, 1)) > 0) generator.prepare();
  } catch (fault) {
    logger.warn(
      { fault: fault instanceof Error ? fault : undefined },
      'no document process stands ready: the templates could not be counted',
    );
  }
};

/* What a service does once its workers have started, without anybody waiting for it. */

/** Answers at once; what fails is in the log. */
export const afterStart = ({ roles }: Config, engine: Engine, runners: ReadonlyMap<string, Runner>, signal: AbortSignal): void => {
  if (roles.includes('http') || roles.includes('process')) void expectDocuments(engine);
  if (roles.includes('project')) void sayImpliedDeletes(engine, runners, signal);
};

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
