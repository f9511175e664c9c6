/**
 * `sealpost verify`: checks the chain of the log, its seals, every event and file, the keys, and that the read models
 * are what a rebuild would give.
 */
import { verifyFiles } from '../commands/ops/repair.js';
import { verifyLog, type NotedRoot, type Verification } from '../event-log/verification.js';
import { ReadModelDamaged, type LookupFault } from '../domain/ports/read-models.js';
import { makeProjections } from '../projections/index.js';
import type { Projection } from '../projections/core/projection.js';
import { compareWithRebuild, type CompareOptions, type Compared, type Missing } from '../projections/core/rebuild.js';
import type { Engine } from '../service/engine.js';
import { noteVerified } from '../service/ops/done.js';
import { readConfig } from '../service/settings/config.js';
import { damageOfFile, databaseFiles, helpOfDamage, placeOfReadModel } from '../service/stores/stores.js';
import { counted } from '../shared/text.js';
import { exitCodes, explain, print, printFault, progressBar, unreadableLine } from './core/output.js';
import { assertFounded, withInspectedEngine } from './core/engine.js';

/**
 * Looks at everything, whatever is found first, and changes nothing but the note of when it did; the exit code is that
 * of the worst.
 */
export const verify = async ({ root }: Readonly<{ root?: string }>): Promise<void> => {
  const asked = root === undefined ? undefined : notedRoot(root);
  assertFounded(readConfig());
  const areWhole = verifyDatabases();
  if (!areWhole) process.exitCode = exitCodes.damaged;
  /**
   * A check that fails because a file is damaged does not stop the other checks. If the files are whole, it is no
   * damage: the command could not finish.
   */
  const part = async (name: string, check: () => Promise<boolean>): Promise<boolean> => {
    try {
      return await check();
    } catch (fault) {
      if (areWhole) throw fault;
      printFault(`${name}: BROKEN: ${explain(fault)}`);
      return true;
    }
  };
  const verifyStores = async (engine: Engine): Promise<boolean> => {
    const noted = asked ?? (await engine.sealing.kept());
    // Set at once: what cannot be finished after it does not hide it.
    if (!(await part('log', () => verifyChain(engine, noted)))) process.exitCode = exitCodes.tampered;
    const parts = [
      await part('files', () => verifyParts(engine)),
      await part('keys', () => verifyKeys(engine)),
      await part('read models', () => verifyProjections(engine)),
    ];
    return !parts.includes(false);
  };
  const isSound = await part('stores', async () => {
    let sound = true;
    await withInspectedEngine(async (engine) => void (sound = await verifyStores(engine)));
    return sound;
  });
  if (!isSound) process.exitCode ??= exitCodes.damaged;
  const result = (Object.keys(exitCodes) as (keyof typeof exitCodes)[]).find(
    (name) => exitCodes[name] === (process.exitCode ?? exitCodes.sound),
  );
  noteVerified(readConfig(), result ?? 'unfinished');
};

/** Every page of every database file of this machine; those of servers are theirs to check. */
const verifyDatabases = (): boolean => {
  let areWhole = true;
  const files = databaseFiles(readConfig());
  for (const database of files) {
    const damage = damageOfFile(database);
    if (damage === undefined) continue;
    areWhole = false;
    printFault(`databases: BROKEN: ${database.file} is damaged (${damage}); ${helpOfDamage(database)}`);
  }
  if (areWhole && files.length > 0) print(`databases: every page of ${counted(files.length, 'file')} is whole`);
  return areWhole;
};

/** `POSITION:ROOT`, as this command printed it. */
const notedRoot = (text: string): NotedRoot => {
  const match = /^(\d+):([0-9a-f]{64})$/.exec(text);
  if (match === null) throw new Error('--root takes POSITION:ROOT as `sealpost verify` printed it');
  return { position: Number(match[1]), root: match[2]! };
};

const verifyChain = async (engine: Engine, noted: NotedRoot | ReadonlyMap<number, string>): Promise<boolean> => {
  const bar = progressBar('log       ', await engine.eventLog.head());
  const result = await verifyLog(engine.store, noted, { onProgress: bar.update, seals: engine.sealing });
  bar.stop();
  if (result.finding !== undefined) {
    const { kind, position, message } = result.finding;
    printFault(`log: BROKEN at position ${position} (${kind}): ${message}; in ${engine.logPlace}`);
    return false;
  }
  print(
    `log: ${counted(result.events, 'event')} in ${counted(result.streams, 'stream')} ${result.events === 1 ? 'is' : 'are'} unchanged, under ${counted(result.seals, 'seal')}`,
  );
  if (result.seal !== undefined)
    print(`     newest seal, to be noted elsewhere: ${result.seal.position}:${result.seal.root}`);
  if (noted instanceof Map && noted.size > 0)
    print(`     ${noted.size} seals of SEALPOST_SEAL_FILE are those of the log`);
  return tellProof(engine, result);
};

const eventsOf = (count: number): string => (count === 1 ? '1 event' : `${count} events`);

/** Says what the seal keys prove, and what they do not. Out: whether that is what the settings promise. */
const tellProof = async ({ sealing }: Engine, { proof }: Verification): Promise<boolean> => {
  if (proof === undefined) return true;
  const keys = await sealing.keys();
  if (proof.key !== undefined) {
    const isDerived = proof.key === keys.at(-1)?.id;
    const since = proof.from === 0 ? '' : ` from position ${proof.from} on; what stood before stands as it stood then`;
    print(
      `     sealed under the ${isDerived ? 'key derived from the master key' : 'seal key'}, ${proof.key},${since}`.replace(
        /,$/,
        '',
      ),
    );
  }
  if (proof.unproved > 0)
    print(
      `     unproved: ${eventsOf(proof.unproved)} that ${proof.key === undefined ? 'no given key has sealed' : 'follow the newest seal'}`,
    );
  if (proof.key !== undefined && proof.untagged !== undefined)
    print(
      `     unproved: ${eventsOf(proof.untagged.events)} without a tag of the key, the first at position ${proof.untagged.first}`,
    );
  for (const [id, position] of proof.missing)
    printFault(
      `log: UNPROVED from position ${position} on: sealed under the seal key ${id}, and that is not the key given (${keys[0]!.id}): the wrong key is set or none, or somebody without the key made the seals; if it is lost, set SEALPOST_SEAL_KEYS_LOST=${id}`,
    );
  if (!proof.isAsSet && proof.missing.size === 0)
    printFault(
      `log: UNPROVED: no seal is under the seal key ${keys[0]!.id} that is set: the service has not sealed under it yet, or somebody without it made the seals`,
    );
  return proof.isAsSet;
};

/** Events that cannot be read, and the files that the others name. */
const verifyParts = async (engine: Engine): Promise<boolean> => {
  const bar = progressBar('files     ', await engine.eventLog.head());
  const { files, findings, unreadable } = await verifyFiles(engine, bar.update);
  bar.stop();
  for (const event of unreadable) printFault(`events: BROKEN: ${unreadableLine(event)}; in ${engine.logPlace}`);
  for (const { file, position, stream, message } of findings)
    printFault(
      `files: BROKEN: ${engine.noted.files.place}: ${file}, which ${stream} names at position ${position}: ${message}`,
    );
  if (findings.length === 0) print(`files: ${files} that the log names ${files === 1 ? 'is' : 'are'} there and whole`);
  return findings.length === 0 && unreadable.length === 0;
};

const verifyKeys = async ({ keys }: Engine): Promise<boolean> => {
  const faults = await keys.faults();
  for (const fault of faults) printFault(`keys: BROKEN: ${fault}`);
  if (faults.length === 0) print('keys: every row is as it was written');
  return faults.length === 0;
};

/** A service at work folds what it appends within this time. */
const CATCH_UP_MS = 2_000;

const verifyProjections = async (engine: Engine): Promise<boolean> => {
  const head = await engine.eventLog.head();
  let sound = true;
  for (const projection of makeProjections(engine.limits)) {
    const bar = progressBar(projection.name.padEnd(10), head);
    const untilCaughtUp = (): Promise<void> => engine.clock.sleep(CATCH_UP_MS, new AbortController().signal);
    const {
      faults,
      line,
      isUnfinished = false,
    } = await compared(projection, engine, { onProgress: bar.update, untilCaughtUp });
    bar.stop();
    for (const fault of faults) printFault(`${projection.name}: BROKEN: ${fault}`);
    if (isUnfinished) {
      process.exitCode ??= exitCodes.unfinished;
      printFault(`${projection.name}: ${line}`);
    } else if (faults.length > 0) sound = false;
    else print(`${projection.name}: ${line}`);
  }
  return sound;
};

type Said = Readonly<{
  faults: readonly string[];
  /** Text on the compared parts, if there are no faults. */
  line: string;
  isUnfinished?: boolean;
}>;

const compared = async (projection: Projection, engine: Engine, options: CompareOptions): Promise<Said> => {
  try {
    const result = await compareWithRebuild(projection, engine, options);
    if (result.foldedByNewer !== undefined) {
      const line = `not compared: a newer version of sealpost has folded the event at position ${result.foldedByNewer}, which this one does not know; verify with that version`;
      return { faults: [], line, isUnfinished: true };
    }
    const place = placeOfReadModel(engine.noted.readModels.place, projection.name);
    return {
      faults: faultsOf(projection.name, result).map((fault) => `${fault}; in ${place}`),
      line: comparedLine(result),
    };
  } catch (fault) {
    if (!(fault instanceof ReadModelDamaged)) throw fault;
    return { faults: [`${fault.message}; ${MADE_ANEW}, or run sealpost rebuild ${projection.name}`], line: '' };
  }
};

const MADE_ANEW = 'the service makes it anew from the log when it reads it';

const comparedLine = ({ isThere, documents, checkpoint, head, missing }: Compared): string => {
  if (!isThere) return `not there yet in the form of this version, so nothing was compared; ${MADE_ANEW}`;
  const count = documents.reduce((sum, one) => sum + one.count, 0);
  const parts = documents.filter((one) => one.count > 0).map((one) => `${one.count} ${one.collection}`);
  const which = parts.length > 1 ? ` (${parts.join(', ')})` : '';
  const behind =
    missing === undefined ? '' : `; ${withoutDocument(missing)} yet: the service makes the rest at its start`;
  return `${counted(count, 'document')} at position ${checkpoint} ${count === 1 ? 'equals' : 'equal'} a rebuild${which}; the log ends at ${head}${behind}`;
};

const withoutDocument = ({ streams }: Missing): string =>
  streams === 1 ? '1 stream of the log has no document' : `${streams} streams of the log have no document`;

const faultsOf = (
  name: string,
  { checkpoint, head, difference, missing, lookupFault }: Compared,
): readonly string[] => {
  if (checkpoint > head) return [`its checkpoint ${checkpoint} lies beyond the log, which ends at ${head}`];
  const faults: string[] = [];
  const help = `run sealpost rebuild ${name}`;
  if (difference !== undefined)
    faults.push(`${difference.collection} ${difference.id} is not what a rebuild gives; ${help}`);
  if (missing?.isTail === false)
    faults.push(
      `${withoutDocument(missing)} (the first: ${missing.id}): it is at position ${checkpoint} of ${head}; start the service, which goes on from there, or ${help}`,
    );
  if (lookupFault !== undefined) faults.push(`${lookupMessage(lookupFault)}; ${help}`);
  return faults;
};

const lookupMessage = ({ collection, id, field, in: place }: LookupFault): string => {
  switch (place) {
    case 'column':
      return `${collection} ${id}: the indexed value of ${field} is not that of the document`;
    case 'search index':
      return `${collection} ${id}: the search index has something else of ${field} than the document`;
    case 'index':
      return `${collection}: an index is missing or damaged (${field})`;
  }
};
