/** `sealpost repair STORE`: what the sentence of a refused start names. */
import { checkStores, stopping, type StoreFaultCode, type StoreFinding } from '../../commands/ops/stores.js';
import { acceptFilesAsTheyAre, acceptKeysAsTheyAre, acceptLogAsItIs, assertMayGiveUp, noteIn } from '../../commands/ops/repair.js';
import { readConfig } from '../../service/settings/config.js';
import { makeProjections } from '../../projections/index.js';
import { rebuildProjection } from '../../projections/core/rebuild.js';
import type { Engine } from '../../service/engine.js';
import { checkable } from '../../service/startup.js';
import { removeReadModels } from '../../service/stores/stores.js';
import { print } from '../core/output.js';
import { withStopped, withStoppedEngine } from '../core/engine.js';

export type RepairOptions = Readonly<{ acceptLoss?: boolean }>;

export const repair = async (store: string, options: RepairOptions): Promise<void> => {
  switch (store) {
    case 'read-models':
      return repairReadModels();
    case 'log':
      await accept(options, ['LOG_MISSING', 'LOG_OLDER'], async (engine) => {
        const { after, upTo, lost } = await acceptLogAsItIs({ ...checkable(engine), ...engine });
        print(`The log goes on after position ${after}. ${lost} events up to position ${upTo} are given up; the log says so.`);
      });
      return repairReadModels();
    case 'keys':
      return accept(options, ['KEYS_MISSING', 'KEYS_OLDER'], async (engine) => {
        const { lost } = await acceptKeysAsTheyAre({ ...checkable(engine), ...engine });
        print(`The keys of ${lost} emails or assets are given up; those that still waited have failed with content-lost. The log says so.`);
      });
    case 'files':
      return accept(options, ['FILES_MISSING', 'FILES_OLDER'], async (engine) => {
        const { lost } = await acceptFilesAsTheyAre({ ...checkable(engine), ...engine });
        print(`${lost} files are given up; what needs them fails with content-lost. The log says so.`);
      });
    default:
      throw new Error(`${store} is no store; there are log, keys, files and read-models`);
  }
};

/** Does what an operator has accepted, where the stores have a fault of those codes. */
const accept = ({ acceptLoss }: RepairOptions, codes: readonly StoreFaultCode[], work: (engine: Engine) => Promise<void>): Promise<void> =>
  withStoppedEngine(async (engine) => {
    const findings = await checkStores(checkable(engine));
    const finding = findings.find(({ code }) => codes.includes(code));
    if (finding === undefined) return nothingToRepair(findings);
    if (acceptLoss !== true) throw new Error(`${finding.message}\nNothing was changed: without --accept-loss nothing is given up.`);
    assertMayGiveUp(engine.codec.level);
    await work(engine);
  });

const nothingToRepair = (findings: readonly StoreFinding[]): void => {
  const [first] = stopping(findings);
  if (first !== undefined) throw new Error(`this comes first: ${first.message}`);
  print('There is nothing to repair here.');
};

const repairReadModels = async (): Promise<void> => {
  await withStopped(async () => removeReadModels(readConfig()));
  await withStoppedEngine(async (engine) => {
    for (const projection of makeProjections(engine.limits)) {
      const events = await rebuildProjection(projection, engine);
      print(`${projection.name}: made anew from ${events} events`);
    }
    await noteIn(engine, engine.noted.readModels);
  });
};
