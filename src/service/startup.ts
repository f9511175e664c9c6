/**
 * Prepares the stores at the start: before anything is served or sent it checks them, finishes a first start and writes
 * the notes; once the workers run it logs what it finds.
 */
import { isoTime } from '../domain/core/time.js';
import type { Engine } from './engine.js';
import { apiKeysProjection, keysWithImpliedDelete } from '../projections/keys/api-keys.js';
import type { Runner } from '../projections/core/runner.js';
import { ATTACHMENT_TEMPLATES } from '../projections/templates/templates.js';
import type { Config } from './settings/config.js';
import { assertStoresAgree, type CheckDeps } from '../commands/ops/stores.js';
import { lacksSender } from '../commands/email/sender.js';
import { lacksAccountTemplates, makeAccountTemplates } from '../commands/email/service-mails.js';
import { firstStart } from '../commands/ops/first-start.js';
import { firstTeam } from '../commands/core/caller.js';
import { noteLog } from '../commands/core/log-notes.js';
import type { PendingFirstKey } from '../domain/ports/first-key.js';
import { assertMayServe } from './stores/instances.js';
import { underLease, type LeaseDeps } from '../processors/core/lease.js';
import { makeProjections } from '../projections/index.js';
import { checkpointsOf } from '../projections/core/rebuild.js';
import { readAccountSamples, readSamples } from './samples.js';

const KEYS_NAMED_MAX = 100;

/**
 * Checks the stores, finishes a first start and writes the notes, before anything is served or sent. Closes engine and
 * leases if it throws. `pendingKey`: where the first key waits; undefined in a process that serves no requests.
 */
export const prepareStores = async (
  config: Config,
  engine: Engine,
  leasing: LeaseDeps,
  pendingKey: PendingFirstKey | undefined,
): Promise<void> => {
  try {
    await assertMayServe(config, leasing.leases);
    await assertWholeEngine(engine);
    await engine.sealKey();
    await firstStartOnce(engine, leasing, pendingKey);
    await accountTemplatesOnce(engine, leasing);
    await noteOrWarn(engine);
    await warnOfSender(engine);
  } catch (fault) {
    await leasing.leases.close();
    await engine.close();
    throw fault;
  }
};

/** Throws StoreFault, with nothing written, if the stores do not belong together. Lesser findings are logged. */
export const assertWholeEngine = async (engine: Engine): Promise<void> => {
  for (const { code, message } of await assertStoresAgree(checkable(engine))) engine.logger.warn({ code }, message);
};

/** Deps of the check of the stores, taken from an engine. */
export const checkable = (engine: Engine): CheckDeps => ({
  ...engine,
  checkpoints: () => checkpointsOf(makeProjections(engine.limits), engine.readModels),
});

/**
 * If several processes start at once on an empty log, one does the first start, and the others wait until it is done.
 */
const firstStartOnce = async (
  engine: Engine,
  leasing: LeaseDeps,
  pendingKey: PendingFirstKey | undefined,
): Promise<void> => {
  if ((await firstTeam(engine)) !== undefined) return;
  await underLease(leasing, 'first-start', new AbortController().signal, () =>
    firstStart(engine, readSamples(), pendingKey),
  );
};

/**
 * Makes the templates of account mails if they are missing: an older version did not make them, and the owner may have
 * deleted them.
 */
const accountTemplatesOnce = async (engine: Engine, leasing: LeaseDeps): Promise<void> => {
  const accountSamples = readAccountSamples();
  if (!(await lacksAccountTemplates(engine, accountSamples))) return;
  const make = () => makeAccountTemplates(engine, accountSamples);
  await underLease(leasing, 'account-templates', new AbortController().signal, make);
};

/** A full disk must not refuse the start: the note-log worker tries again. */
const noteOrWarn = async ({ store, noted, logger }: Engine): Promise<void> => {
  try {
    await noteLog(store, noted);
  } catch (fault) {
    logger.warn({ err: fault instanceof Error ? fault : undefined }, 'the stores could not note where the log ends');
  }
};

/** The first team began with the built-in mailbox, and a relay was set since. */
const warnOfSender = async (engine: Engine): Promise<void> => {
  if (await lacksSender(engine))
    engine.logger.warn(
      { code: 'SENDER_NOT_SET' },
      'the first team has no sender of its own, so the relay gets no mail of it that names none: sealpost team set --from sets one',
    );
};

/** Called when the workers run. Returns at once; the work goes on in the background, and its faults are logged. */
export const afterStart = (
  { roles }: Config,
  engine: Engine,
  runners: ReadonlyMap<string, Runner>,
  signal: AbortSignal,
): void => {
  if (roles.includes('http') || roles.includes('process')) void expectDocuments(engine);
  if (roles.includes('project')) void sayImpliedDeletes(engine, runners, signal);
};

/**
 * Asks, once a start, for a document process to stand ready if there are more attachment templates than the samples.
 * Many services make no documents, and the process takes 70 MB.
 */
const expectDocuments = async ({ readModels, generator, logger }: Engine): Promise<void> => {
  try {
    const samples = readSamples().attachments.length;
    if ((await readModels.count(ATTACHMENT_TEMPLATES, { where: {} }, samples + 1)) > samples) generator.prepare();
  } catch (fault) {
    logger.warn(
      { fault: fault instanceof Error ? fault : undefined },
      'no document process stands ready: the templates could not be counted',
    );
  }
};

/** Logs, once a start, the keys that may delete emails although nobody gave them that permission. */
const sayImpliedDeletes = async (
  { readModels, eventLog, clock, logger }: Engine,
  runners: ReadonlyMap<string, Runner>,
  signal: AbortSignal,
): Promise<void> => {
  try {
    await runners.get(apiKeysProjection.name)?.caughtUp(await eventLog.head(), signal);
    if (signal.aborted) return;
    const keyIds = await keysWithImpliedDelete(readModels, isoTime(clock.now()), KEYS_NAMED_MAX);
    if (keyIds.length > 0)
      logger.warn({ keys: keyIds.length, keyIds: keyIds.join(' ') }, 'keys of before that may delete emails');
  } catch (fault) {
    if (!signal.aborted)
      logger.error({ fault: fault instanceof Error ? fault : undefined }, 'keys of before were not looked for');
  }
};
