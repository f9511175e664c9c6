/**
 * Clients of MongoDB, one for each URL in a process: the adapters that keep something there share it and its
 * connections. This folder alone imports the driver, and only when the first client is opened.
 */
import type * as Driver from 'mongodb';
import type { Db, MongoClient, MongoClientOptions } from 'mongodb';
import { StoreAway } from '../../domain/core/errors.js';
import type { Logger } from '../../domain/ports/logger.js';
import type { LogNote, NotedStore } from '../../domain/ports/log-note.js';
import { tellingFaults } from '../../shared/port-faults.js';

export type {
  AnyBulkWriteOperation,
  Collection,
  Db,
  Filter,
  GridFSBucket,
  ObjectId,
  UpdateFilter,
  WithoutId,
} from 'mongodb';

/**
 * The exports of the driver. Code takes values such as `GridFSBucket` and `Binary` from here, so only this module loads
 * the driver.
 */
type MongoDriver = typeof Driver;

export type Mongo = Readonly<{
  /** The database that the URL names. Writes are acknowledged by a majority; reads come from the primary. */
  db: Db;
  driver: MongoDriver;
  /** The servers, as the URL names them, without credentials. */
  host: string;
  /** The connections are closed when everybody who has opened this URL has closed it. Closing twice is closing once. */
  close: () => Promise<void>;
}>;

type MongoOptions = Readonly<{
  url: string;
  /** The setting that the URL comes from; errors name it. */
  setting?: string;
  logger: Logger;
}>;

type Shared = Readonly<{ client: MongoClient; driver: MongoDriver }>;
type Entry = { users: number; readonly shared: Promise<Shared> };

type NoteRow = { _id: string; instance: string; position: number; hash: string };

const databaseDefault = 'sealpost';
const settingDefault = 'SEALPOST_MONGODB_URL';

/** Defaults that the URL may override. */
const changeable = {
  appName: 'sealpost',
  /** How long an operation looks for a server that takes it. */
  serverSelectionTimeoutMS: 10_000,
  connectTimeoutMS: 5_000,
  /** An answer that takes longer is given up. No operation of ours takes a tenth of it. */
  socketTimeoutMS: 30_000,
  heartbeatFrequencyMS: 5_000,
  maxPoolSize: 40,
} as const satisfies MongoClientOptions;

/**
 * Options that the ports' promises need, whatever the URL says: a write that a majority has not taken may be rolled
 * back.
 */
const fixed = {
  writeConcern: { w: 'majority' },
  readPreference: 'primary',
  ignoreUndefined: true,
} as const satisfies MongoClientOptions;

/** Such a write survives a power loss. */
export const durableWrites = { writeConcern: { w: 'majority', journal: true } } as const;

const URL_FORM = /^mongodb(?:\+srv)?:\/\/(?:[^/?]*@)?([^/?@]+)(?:\/([^?]*))?(?:\?.*)?$/;
const socketCalls: ReadonlySet<unknown> = new Set(['connect', 'read', 'write']);

/**
 * Answers of a server that is not the primary, or is about to end: HostUnreachable, HostNotFound, NetworkTimeout,
 * ShutdownInProgress, PrimarySteppedDown, SocketException, NotWritablePrimary, InterruptedAtShutdown,
 * InterruptedDueToReplStateChange, NotPrimaryNoSecondaryOk, NotPrimaryOrSecondary. The driver labels such an error for
 * writes, and not for reads.
 */
const awayCodes: ReadonlySet<number> = new Set([6, 7, 89, 91, 189, 9_001, 10_107, 11_600, 11_602, 13_435, 13_436]);

const entries = new Map<string, Entry>();

/** The server cannot be used. The message names the setting and the host, and carries no credentials. */
export class MongoUnusable extends Error {
  override readonly name = 'MongoUnusable';
}

/**
 * Connects, or shares the client of that URL. Rejects with MongoUnusable if the server does not answer or refuses the
 * credentials.
 */
export const openMongo = async ({ url, setting = settingDefault, logger }: MongoOptions): Promise<Mongo> => {
  const { hosts, database } = partsOf(url, setting);
  const entry = entries.get(url) ?? { users: 0, shared: connect({ url, setting, logger }, hosts, database) };
  entries.set(url, entry);
  entry.users += 1;
  const leave = async (): Promise<void> => {
    entry.users -= 1;
    if (entry.users > 0) return;
    if (entries.get(url) === entry) entries.delete(url);
    const shared = await entry.shared.catch(() => undefined);
    await shared?.client.close();
  };
  try {
    const { client, driver } = await entry.shared;
    let closed: Promise<void> | undefined;
    return { db: client.db(database), driver, host: hosts, close: () => (closed ??= leave()) };
  } catch (error) {
    await leave();
    throw error;
  }
};

/**
 * Wraps a port, so that its functions, and those of the ports that they answer, reject with StoreAway if the server
 * cannot be reached. `what` names the data in the message.
 */
export const tellingAway = <Port extends object>(
  { driver, host }: Pick<Mongo, 'driver' | 'host'>,
  what: string,
  port: Port,
): Port =>
  tellingFaults(port, (fault) =>
    isAway(driver, fault)
      ? new StoreAway(`MongoDB at ${host}, which keeps the ${what}, does not answer`, { cause: fault })
      : fault,
  );

/**
 * Whether there is no connection, none in time, or no primary. The driver has repeated by then what can be repeated.
 */
const isAway = (driver: MongoDriver, error: unknown): boolean => {
  if (error instanceof driver.MongoNetworkError || error instanceof driver.MongoServerSelectionError) return true;
  // The error of several writes in one call contains the error that ended it.
  if (error instanceof driver.MongoBulkWriteError && isAway(driver, error.errorResponse)) return true;
  if (error instanceof driver.MongoError && error.hasErrorLabel('RetryableWriteError')) return true;
  if (error instanceof driver.MongoServerError) return awayCodes.has(codeOf(error) ?? 0);
  if (error instanceof driver.MongoError) return false;
  // The driver passes on the error of a socket that ends during a write.
  return error instanceof Error && 'syscall' in error && socketCalls.has(error.syscall);
};

/** Whether the error says that a document has that `_id`, or another unique value, already. */
export const isDuplicateKey = (error: unknown): boolean => codeOf(error) === 11_000;

/** The server's number of an error; undefined if the error is not of the server. */
export const codeOf = (error: unknown): number | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'number' ? error.code : undefined;

const connect = async (
  { url, setting, logger }: Required<MongoOptions>,
  hosts: string,
  database: string,
): Promise<Shared> => {
  const driver = await import('mongodb');
  const client = clientOf(driver, url, setting);
  logAvailability(client, logger);
  try {
    await client.connect();
    await client.db(database).command({ ping: 1 });
    return { client, driver };
  } catch (error) {
    await client.close();
    throw new MongoUnusable(
      `MongoDB at ${hosts} cannot be used: ${messageOf(error)}. It is the server that ${setting} names.`,
    );
  }
};

const clientOf = (driver: MongoDriver, url: string, setting: string): MongoClient => {
  const query = new URLSearchParams(url.split('?')[1] ?? '');
  const said = new Set([...query.keys()].map((name) => name.toLowerCase()));
  const unsaid = Object.entries(changeable).filter(([name]) => !said.has(name.toLowerCase()));
  try {
    return new driver.MongoClient(url, { ...Object.fromEntries(unsaid), ...fixed });
  } catch {
    // The driver's message may contain the password.
    throw notUnderstood(setting);
  }
};

const partsOf = (url: string, setting: string): Readonly<{ hosts: string; database: string }> => {
  const [, hosts, path] = URL_FORM.exec(url) ?? [];
  if (hosts === undefined) throw notUnderstood(setting);
  return { hosts, database: path === undefined || path === '' ? databaseDefault : decodeURIComponent(path) };
};

const notUnderstood = (setting: string): MongoUnusable =>
  new MongoUnusable(
    `${setting} is no connection string of MongoDB; write for example mongodb://user:password@db1.example.com:27017,db2.example.com:27017/sealpost?replicaSet=rs0, with %-codes for special characters in the password.`,
  );

/** Messages of a failed connection name hosts and reasons. The driver puts no credentials into them. */
const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message.replace(/[.\s]+$/, '') : 'unknown reason';

/** Logs one line when a server stops to answer, and one when it answers again. */
const logAvailability = (client: MongoClient, logger: Logger): void => {
  const away = new Set<string>();
  client.on('serverHeartbeatFailed', ({ connectionId, failure }) => {
    if (away.has(connectionId)) return;
    away.add(connectionId);
    logger.warn({ host: connectionId, reason: failure.name }, 'a server of MongoDB does not answer');
  });
  client.on('serverHeartbeatSucceeded', ({ connectionId }) => {
    if (away.delete(connectionId)) logger.info({ host: connectionId }, 'the server of MongoDB answers again');
  });
};

/**
 * The note of the log in a database: one document of the collection that holds the state of the store. Closing the note
 * closes this client.
 */
export const mongoLogNote = ({ db, host, close }: Mongo, collection: string): NotedStore => {
  const rows = db.collection<NoteRow>(collection);
  return {
    place: `${host}/${db.databaseName} ${collection}`,
    note: async () => {
      const row = await rows.findOne({ _id: 'log' });
      return row === null ? undefined : noteOf(row);
    },
    setNote: async ({ instance, position, hash }) =>
      void (await rows.updateOne(
        { _id: 'log' },
        { $set: { instance, position, hash } },
        { ...durableWrites, upsert: true },
      )),
    close,
  };
};

const noteOf = ({ instance, position, hash }: NoteRow): LogNote => ({ instance, position, hash });
