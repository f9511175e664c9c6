/** What a start does before anything is served or sent: the stores are checked, a first start is finished, the notes are written. */
import { assertStoresAgree, type CheckDeps } from './commands/check-stores.js';
import { firstStart } from './commands/first-start.js';
import { noteLog } from './commands/log-notes.js';
import type { PendingFirstKey } from './domain/ports/first-key.js';
import type { Engine } from './engine.js';
import { makeProjections } from './projections/index.js';
import { checkpointsOf } from './projections/rebuild.js';
import { samples } from './samples/index.js';

/** The stores of an engine, as the check of them wants them. */
export const checkable = (engine: Engine): CheckDeps => ({
  ...engine,
  checkpoints: () => checkpointsOf(makeProjections(engine.limits), engine.readModels),
});

/** Throws StoreFault, with nothing written, where the stores do not belong together. */
export const assertWholeEngine = (engine: Engine): Promise<void> => assertStoresAgree(checkable(engine));

/** The same, and closes the engine where it throws. */
export const begin = async (engine: Engine, pendingKey: PendingFirstKey): Promise<void> => {
  try {
    await assertWholeEngine(engine);
    await firstStart(engine, samples, pendingKey);
    await noteOrWarn(engine);
  } catch (fault) {
    await engine.close();
    throw fault;
  }
};

/** A disk that is full refuses sends and no start: the note-log worker tries again. */
const noteOrWarn = async ({ store, noted, logger }: Engine): Promise<void> => {
  try {
    await noteLog(store, noted);
  } catch (fault) {
    logger.warn({ err: fault instanceof Error ? fault : undefined }, 'the stores could not note where the log ends');
  }
};
