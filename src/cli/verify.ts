/** `sealpost verify`: checks the chain of the log, its seals, and that the read models are what a rebuild would give. */
import { verifyLog, type NotedRoot } from '../event-log/verification.js';
import { makeProjections } from '../projections/index.js';
import { compareWithRebuild } from '../projections/rebuild.js';
import type { Engine } from '../engine.js';
import { print, printFault, progressBar } from './output.js';
import { withEngine } from './with-engine.js';

export const verify = (options: Readonly<{ root?: string }>): Promise<void> =>
  withEngine(async (engine) => {
    const sound = (await verifyChain(engine, options.root)) && (await verifyProjections(engine));
    if (!sound) process.exitCode = 1;
  });

/** `POSITION:ROOT`, as this command printed it. */
const notedRoot = (text: string): NotedRoot => {
  const match = /^(\d+):([0-9a-f]{64})$/.exec(text);
  if (match === null) throw new Error('--root takes POSITION:ROOT as `sealpost verify` printed it');
  return { position: Number(match[1]), root: match[2]! };
};

const verifyChain = async (engine: Engine, root: string | undefined): Promise<boolean> => {
  const bar = progressBar('log       ', await engine.eventLog.head());
  const result = await verifyLog(engine.store, root === undefined ? undefined : notedRoot(root), bar.update);
  bar.stop();
  if (result.finding !== undefined) {
    const { kind, position, message } = result.finding;
    printFault(`log: BROKEN at position ${position} (${kind}): ${message}`);
    return false;
  }
  print(`log: ${result.events} events in ${result.streams} streams are unchanged, under ${result.seals} seals`);
  if (result.seal !== undefined) print(`     newest seal, to be noted elsewhere: ${result.seal.position}:${result.seal.root}`);
  return true;
};

const verifyProjections = async (engine: Engine): Promise<boolean> => {
  const head = await engine.eventLog.head();
  let sound = true;
  for (const projection of makeProjections(engine.limits)) {
    const bar = progressBar(projection.name.padEnd(10), head);
    const result = await compareWithRebuild(projection, engine, bar.update);
    bar.stop();
    if (result.checkpoint > head) {
      printFault(`${projection.name}: BROKEN: its checkpoint ${result.checkpoint} lies beyond the log, which ends at ${head}`);
      sound = false;
    } else if (result.difference !== undefined) {
      const { collection, id } = result.difference;
      printFault(`${projection.name}: BROKEN: ${collection} ${id} is not what a rebuild gives; run sealpost rebuild ${projection.name}`);
      sound = false;
    } else {
      print(`${projection.name}: ${result.documents} documents at position ${result.checkpoint} equal a rebuild`);
    }
  }
  return sound;
};
