/** Everything that can be checked of an instance from outside, beside a running service or without one. */
import { existsSync, readdirSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { checkStores, isOfOriginsAlone, stopping, missingParts } from '../../commands/ops/stores.js';
import { givenUp } from '../../commands/ops/repair.js';
import type { Config } from '../settings/config.js';
import { openEngine, type Engine } from '../engine.js';
import { unreadableEvents } from '../../event-log/verification.js';
import { checkable } from '../startup.js';
import { lacksSender } from '../../commands/email/sender.js';
import { isSampleSender } from '../../domain/teams/state.js';
import { isRunning } from '../stores/instances.js';
import { damageOfFile, databaseFiles, localStores, placesOf } from '../stores/stores.js';

/** `help` says what to do; absent where all is well, or where the sentence itself says it. */
export type Check = Readonly<{ level: 'ok' | 'warning' | 'fault'; name: string; says: string; help?: string }>;

const MIB = 1024 * 1024;
/** Below it a busy day may fill the disk; below the second nothing is accepted soon. */
const DISK_FREE_WARNING_MIB = 1_024;
const DISK_FREE_FAULT_MIB = 100;

export async function* examine(config: Config): AsyncGenerator<Check> {
  yield ok('settings', 'can be read and do not contradict each other');
  if (!existsSync(config.dataDir)) {
    yield fault('data', `${config.dataDir} does not exist`, 'start the service once, or name the right directory in SEALPOST_DATA_DIR');
    return;
  }
  yield await serviceCheck(config);
  yield* directoryChecks(config);
  const { log, keys } = placesOf(config);
  const local = localStores(config);
  if (local.log && local.keys && !existsSync(log) && !existsSync(keys)) {
    yield fault('log', `${log} does not exist, nor do keys`, 'start the service once, or restore a backup (sealpost restore)');
    return;
  }
  const damaged = yield* fileChecks(config);
  if (!damaged) yield* storeChecks(config);
}

const ok = (name: string, says: string): Check => ({ level: 'ok', name, says });
const warning = (name: string, says: string, help?: string): Check => ({
  level: 'warning',
  name,
  says,
  ...(help === undefined ? {} : { help }),
});
const fault = (name: string, says: string, help?: string): Check => ({
  level: 'fault',
  name,
  says,
  ...(help === undefined ? {} : { help }),
});

const serviceCheck = async (config: Config): Promise<Check> => {
  const place = localStores(config).log ? config.dataDir : placesOf(config).log;
  try {
    return ok('service', (await isRunning(config)) ? `one delivers from ${place}` : `none delivers from ${place} now`);
  } catch (thrown) {
    return fault('service', thrown instanceof Error ? thrown.message : 'nobody can tell whether one runs');
  }
};

function* directoryChecks({ dataDir }: Config): Generator<Check> {
  const isPrivate = (statSync(dataDir).mode & 0o077) === 0;
  if (!isPrivate) yield warning('data', `${dataDir} can be read by others on this machine`, `chmod 700 ${dataDir}`);
  const { bavail, bsize } = statfsSync(dataDir);
  const freeMib = Math.floor((bavail * bsize) / MIB);
  if (freeMib >= DISK_FREE_WARNING_MIB) yield ok('disk', `${freeMib} MiB are free`);
  else {
    const level = freeMib < DISK_FREE_FAULT_MIB ? fault : warning;
    yield level('disk', `${freeMib} MiB are free`, 'free space: where none is left, no send is accepted');
  }
  for (const name of readdirSync(dataDir)) {
    const file = join(dataDir, name);
    if (name.endsWith('.replaced'))
      yield warning('restore', `${file} is left of an interrupted restore`, 'repeat the restore with --accept-loss');
    if (name.endsWith('.damaged'))
      yield warning('read models', `${file} was damaged and is made anew; it holds addresses in clear`, 'delete that file');
    if (name === 'first-key')
      yield warning('first key', `${file} holds a key that nobody has been shown`, 'start the service: it shows the key once');
  }
}

const RESTORE = 'restore its newest backup (sealpost restore)';

/** Out: whether the log or the keys are damaged, so that no store should be opened. */
async function* fileChecks(config: Config): AsyncGenerator<Check, boolean> {
  let isDamaged = false;
  for (const database of databaseFiles(config)) {
    const damage = damageOfFile(database);
    if (damage === undefined) yield ok('file', `${database.file} is whole`);
    else if (database.store === 'readModels')
      yield warning('file', `${database.file} is damaged (${damage})`, 'sealpost repair read-models, on a stopped service');
    else {
      isDamaged = true;
      yield fault('file', `${database.file} is damaged (${damage})`, RESTORE);
    }
  }
  return isDamaged;
}

async function* storeChecks(config: Config): AsyncGenerator<Check> {
  let engine: Engine;
  try {
    engine = await openEngine({ ...config, logLevel: 'silent' });
  } catch (thrown) {
    yield fault('stores', thrown instanceof Error ? thrown.message : 'cannot be opened');
    return;
  }
  try {
    const findings = await checkStores(checkable(engine));
    for (const { message, isTold } of findings) yield isTold === true ? warning('stores', message) : fault('stores', message);
    if (stopping(findings).length > 0) return;
    if (findings.length === 0) yield ok('stores', 'log, keys, files and read models belong together, and none is older than the others');
    yield await senderCheck(config, engine);
    yield* partChecks(engine);
    yield* readModelChecks(engine);
  } finally {
    await engine.close();
  }
}

const senderCheck = async ({ smtp, accountSender }: Config, engine: Engine): Promise<Check> => {
  if (smtp.url === undefined) return ok('sender', 'mails go to the built-in mailbox, from any sender');
  if (accountSender === undefined || isSampleSender(accountSender.email))
    return fault(
      'sender',
      'mails about accounts have none of their own',
      'set SEALPOST_ACCOUNT_SENDER; the service does not start without it',
    );
  if (!(await lacksSender(engine))) return ok('sender', 'the first team and mails about accounts have senders of their own');
  return warning(
    'sender',
    'the first team has none of its own, so the relay gets no mail of it that names none (SENDER_NOT_SET)',
    "sealpost team set --from 'Example <hello@example.com>'",
  );
};

/** The whole log is read. */
async function* partChecks(engine: Engine): AsyncGenerator<Check> {
  const { keys, files } = await missingParts(
    { ...engine, files: engine.noted.files },
    { keysAfter: await givenUp(engine, 'keys'), filesAfter: await givenUp(engine, 'files'), isThorough: true },
  );
  const [firstKey] = [...keys.keys()].sort((one, other) => Number(isOfOriginsAlone([one])) - Number(isOfOriginsAlone([other])));
  if (firstKey === undefined) yield ok('keys', 'every key is there that the log names and does not say is destroyed');
  else if (isOfOriginsAlone([firstKey]))
    yield warning('keys', `${keys.size} keys are missing by which the audit log tells from where was called, and no other`);
  else
    yield fault(
      'keys',
      `${keys.size} keys are missing, that of ${firstKey} first`,
      `put back the newest ${engine.noted.keys.place}, or a backup (sealpost restore)`,
    );
  if (files[0] === undefined) yield ok('files', 'every file is there that the log names');
  else
    yield fault(
      'files',
      `${files.length} files are missing, ${files[0]} first`,
      `put back what is missing in ${engine.noted.files.place}, or a backup (sealpost restore)`,
    );
  let unreadable = 0;
  for await (const _event of unreadableEvents(engine.eventLog, () => {})) unreadable += 1;
  if (unreadable === 0) yield ok('events', 'every event can be read');
  else
    yield fault(
      'events',
      `${unreadable} events cannot be read; only their streams are affected`,
      'sealpost events unreadable lists them; sealpost verify tells more',
    );
}

async function* readModelChecks(engine: Engine): AsyncGenerator<Check> {
  const checkpoints = await checkable(engine).checkpoints();
  const head = await engine.store.head();
  const most = Math.max(0, ...checkpoints.map(({ position }) => head - position));
  yield ok('read models', most === 0 ? 'have every event' : `lack ${most} events at most; a running service adds them`);
}
