/**
 * Processes tell of themselves: on one machine in a file for each in one directory, of which nothing must survive a
 * power loss; in MongoDB in a document for each, whose time the server measures by its own clock (`$$NOW`).
 */
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isJsonObject, type Json, type JsonObject } from '../../domain/core/json.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Logger } from '../../domain/ports/logger.js';
import type { Processes } from '../../domain/ports/processes.js';
import { openMongo, tellingAway, type Db } from '../mongodb/client.js';

const NAME = /^[0-9a-f-]{36}\.json$/;

type Told = Readonly<{ endsAtMs: number; told: JsonObject }>;

export const openDirectoryProcesses = ({
  directory,
  clock,
}: Readonly<{ directory: string; clock: Pick<Clock, 'now'> }>): Processes => {
  const fileOf = (id: string): string => join(directory, `${id}.json`);
  const living = async (name: string): Promise<readonly JsonObject[]> => {
    const file = join(directory, name);
    const kept = read(await readFile(file, 'utf8').catch(() => ''));
    if (kept !== undefined && kept.endsAtMs > clock.now()) return [kept.told];
    // A process that was killed has left it.
    await rm(file, { force: true });
    return [];
  };
  return {
    tell: async (id, told, ttlMs) => {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      const partial = `${fileOf(id)}.partial`;
      await writeFile(partial, JSON.stringify({ endsAtMs: clock.now() + ttlMs, told }), { mode: 0o600 });
      await rename(partial, fileOf(id));
    },
    read: async () => {
      const names = await readdir(directory).catch(() => []);
      return (
        await Promise.all(
          names
            .filter((name) => NAME.test(name))
            .toSorted()
            .map(living),
        )
      ).flat();
    },
    forget: (id) => rm(fileOf(id), { force: true }),
    close: async () => {},
  };
};

const read = (text: string): Told | undefined => {
  try {
    const value = JSON.parse(text) as Json;
    if (!isJsonObject(value)) return undefined;
    const { endsAtMs, told } = value;
    return typeof endsAtMs === 'number' && told !== undefined && isJsonObject(told) ? { endsAtMs, told } : undefined;
  } catch {
    return undefined;
  }
};

type Row = { _id: string; endsAt: Date; told: string };

type Parts = Readonly<{
  close: () => Promise<void>;
  collection?: string;
  /** The expression for the server's time. Tests give a constant. */
  serverNow?: () => Date | typeof NOW;
}>;

const NOW = '$$NOW';

/** Rejects if the server cannot be used. */
export const openMongoProcesses = async (
  server: Readonly<{ url: string; setting?: string; logger: Logger }>,
): Promise<Processes> => {
  const mongo = await openMongo(server);
  return tellingAway(mongo, 'list of processes', processesOn(mongo.db, { close: mongo.close }));
};

/** The processes in a database. */
export const processesOn = (db: Db, { close, collection = 'processes', serverNow = () => NOW }: Parts): Processes => {
  const rows = db.collection<Row>(collection);
  return {
    tell: async (id, told, ttlMs) => {
      // As text: the names of members may hold dots.
      const row = { endsAt: { $add: [serverNow(), ttlMs] }, told: { $literal: JSON.stringify(told) } };
      await rows.updateOne({ _id: id }, [{ $set: row }], { upsert: true });
      // Those of killed processes.
      await rows.deleteMany({ $expr: { $lte: ['$endsAt', serverNow()] } });
    },
    read: async () => {
      const living = await rows
        .find({ $expr: { $gt: ['$endsAt', serverNow()] } })
        .sort({ _id: 1 })
        .toArray();
      return living.map(({ told }) => JSON.parse(told) as JsonObject);
    },
    forget: async (id) => void (await rows.deleteOne({ _id: id })),
    close,
  };
};
