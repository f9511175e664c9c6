/**
 * `sealpost repair STORE`: what the message of a refused start names, on a stopped service. `sealpost rebuild` and
 * `sealpost forget`: make read models anew, and erase again, beside a running one.
 */
import { makeProjections } from '../../projections/index.js';
import { rebuildProjection } from '../../projections/core/rebuild.js';
import { print, printFault, progressBar, unreadableLine } from '../core/output.js';
import { counted } from '../../shared/text.js';
import { assertFounded, withEngine, withStopped, withStoppedEngine } from '../core/engine.js';
import { eraseAll } from '../../commands/core/erase.js';
import { checkStores, stoppingFindings, type StoreFaultCode, type StoreFinding } from '../../commands/ops/stores.js';
import { acceptFilesAsTheyAre, acceptKeysAsTheyAre, acceptLogAsItIs, noteIn } from '../../commands/ops/repair.js';
import { readConfig } from '../../service/settings/config.js';
import type { Engine } from '../../service/engine.js';
import { checkable } from '../../service/startup.js';
import { removeReadModels } from '../../service/stores/stores.js';

export type RepairOptions = Readonly<{ acceptLoss?: boolean }>;

export const repair = async (store: string, options: RepairOptions): Promise<void> => {
  assertFounded(readConfig());
  switch (store) {
    case 'read-models':
      return repairReadModels();
    case 'log':
      await accept(options, ['LOG_MISSING', 'LOG_OLDER'], async (engine) => {
        const { after, upTo, lost } = await acceptLogAsItIs({ ...checkable(engine), ...engine });
        print(
          `The log goes on after position ${after}. ${counted(lost, 'event')} up to position ${upTo} ${lost === 1 ? 'is' : 'are'} given up; the log says so.`,
        );
      });
      return repairReadModels();
    case 'keys':
      return accept(options, ['KEYS_MISSING', 'KEYS_OLDER'], async (engine) => {
        const { lost } = await acceptKeysAsTheyAre({ ...checkable(engine), ...engine });
        print(
          `The keys of ${counted(lost, 'email or asset', 'emails or assets')} are given up; those that still waited have failed with content-lost. The log says so.`,
        );
      });
    case 'files':
      return accept(options, ['FILES_MISSING', 'FILES_OLDER'], async (engine) => {
        const { lost } = await acceptFilesAsTheyAre({ ...checkable(engine), ...engine });
        print(
          `${counted(lost, 'file is', 'files are')} given up; what needs them fails with content-lost. The log says so.`,
        );
      });
    default:
      throw new Error(`${store} is no store; there are log, keys, files and read-models`);
  }
};

/** Does what the operator has accepted, if the stores have a fault of one of those codes. */
const accept = (
  { acceptLoss }: RepairOptions,
  codes: readonly StoreFaultCode[],
  work: (engine: Engine) => Promise<void>,
): Promise<void> =>
  withStoppedEngine(async (engine) => {
    const findings = await checkStores(checkable(engine));
    const finding = findings.find(({ code }) => codes.includes(code));
    if (finding === undefined) return nothingToRepair(findings);
    if (acceptLoss !== true)
      throw new Error(`${finding.message}\nNothing was changed: without --accept-loss nothing is given up.`);
    await work(engine);
  });

const nothingToRepair = (findings: readonly StoreFinding[]): void => {
  const [first] = stoppingFindings(findings);
  if (first !== undefined) throw new Error(`this comes first: ${first.message}`);
  print('There is nothing to repair here.');
};

const repairReadModels = async (): Promise<void> => {
  await withStopped(async () => removeReadModels(readConfig()));
  await withStoppedEngine(async (engine) => {
    for (const projection of makeProjections(engine.limits)) {
      const events = await rebuildProjection(projection, engine);
      print(`${projection.name}: made anew from ${counted(events, 'event')}`);
    }
    await noteIn(engine, engine.noted.readModels);
  });
};

export const rebuild = (name: string | undefined): Promise<void> =>
  withEngine(async (engine) => {
    const projections = makeProjections(engine.limits);
    const chosen = name === undefined ? projections : projections.filter((projection) => projection.name === name);
    if (chosen.length === 0)
      throw new Error(
        `there is no projection ${name}; there are ${projections.map((projection) => projection.name).join(', ')}`,
      );
    for (const projection of chosen) {
      const started = performance.now();
      const bar = progressBar(projection.name.padEnd(10), await engine.eventLog.head());
      const events = await rebuildProjection(projection, engine, {
        onProgress: bar.update,
        onUnreadable: (event) => printFault(`passed over: ${unreadableLine(event)}`),
      });
      bar.stop();
      const seconds = (performance.now() - started) / 1_000;
      print(`${projection.name}: ${counted(events, 'event')} in ${seconds.toFixed(1)} s${rateText(events, seconds)}`);
    }
  });

/** A second is the least from which a rate says something. */
const rateText = (events: number, seconds: number): string =>
  seconds < 1 ? '' : ` (${Math.round(events / seconds).toLocaleString('en-US')} events/s)`;

/** Erases again what the log says is deleted, archived or erased: an older backup of the keys still has its keys. */
export const forget = (): Promise<void> =>
  withEngine(async (engine) => {
    const bar = progressBar('log       ', await engine.eventLog.head());
    const erased = await eraseAll(engine, 0, { reached: ({ position }) => bar.update(position) });
    bar.stop();
    print(
      `${counted(erased, 'key')} of what is deleted, archived or erased ${erased === 1 ? 'was' : 'were'} still there; ${erased === 1 ? 'it is' : 'they are'} destroyed now`,
    );
  });
