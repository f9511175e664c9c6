/**
 * The servers of the distributed engine: those that the environment names (SEALPOST_TEST_…_URL), else started from the
 * folder that setup.sh filled (SEALPOST_TEST_SERVERS) or from the programs of the PATH. EventStoreDB's stand-in runs as
 * a process of its own.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { startStandInProcess } from '../../test/support/eventstoredb/process.js';
import { folderVariable, variableOf, type ServerName } from '../../test/support/server-names.js';
import { dropMongoDatabase, dropNatsStreams, dropRedisKeys } from '../../test/support/server-places.js';
import { projectRoot } from './scratch.js';

/** Names that one run uses on the servers: `name` is a database, a prefix of streams and of keys. */
export type Place = Readonly<{
  name: string;
  urls: Readonly<{ eventStore: string; mongodb: string; nats: string; redis: string }>;
  /** The settings of every process of ours. */
  env: Readonly<Record<string, string>>;
}>;

export type Servers = Readonly<{
  /** The event store of the measurement. */
  eventStore: string;
  /** Runs `work` with a place of its own, which goes after. */
  withPlace: <Result>(directory: string, work: (place: Place) => Promise<Result>) => Promise<Result>;
  stop: () => void;
}>;

const started: readonly Exclude<ServerName, 'eventstore'>[] = ['nats', 'redis', 'mongodb'];
const script = join(projectRoot, 'test/support/servers/up.sh');

/** In: where those that it starts keep their data. Rejects where one is neither named nor to be started. */
export const openServers = async (directory: string): Promise<Servers> => {
  const up = (...args: readonly string[]): string => {
    const [verb = '', ...rest] = args;
    return execFileSync(script, [verb, process.env[folderVariable] ?? '-', directory, ...rest], {
      encoding: 'utf8',
    }).trim();
  };
  const urls: Record<string, string> = {};
  try {
    for (const name of started)
      urls[name] = process.env[variableOf[name]] ?? up('start', name, String(await freePort()));
  } catch (cause) {
    up('drop');
    throw new Error(
      `a server is missing: set ${folderVariable} to the folder that setup.sh filled, or the URLs of servers that run`,
      {
        cause,
      },
    );
  }
  const { nats = '', redis = '', mongodb = '' } = urls;
  const real = process.env[variableOf.eventstore];
  return {
    eventStore: real === undefined ? 'stand-in' : 'server',
    withPlace: async (own, work) => {
      const name = `b${randomBytes(6).toString('hex')}`;
      const standIn = real === undefined ? await startStandInProcess(join(own, 'eventstore.log')) : undefined;
      try {
        return await work(placeOf(name, { eventStore: real ?? standIn?.url() ?? '', mongodb, nats, redis }));
      } finally {
        await standIn?.kill();
        await Promise.all([
          dropMongoDatabase(mongodb, name),
          dropRedisKeys(redis, name),
          dropNatsStreams(nats, name.toUpperCase()),
        ]);
      }
    },
    stop: () => void up('drop'),
  };
};

const placeOf = (name: string, { eventStore, mongodb, nats, redis }: Place['urls']): Place => {
  const urls = { eventStore: withPrefix(eventStore, name), mongodb: `${mongodb}/${name}`, nats, redis };
  return {
    name,
    urls,
    env: {
      SEALPOST_EVENT_STORE_URL: urls.eventStore,
      SEALPOST_READ_MODELS_URL: urls.mongodb,
      SEALPOST_KEYS_URL: urls.mongodb,
      SEALPOST_FILES_URL: urls.mongodb,
      SEALPOST_BUS_URL: withPrefix(nats, name),
      SEALPOST_LIMITER_URL: withPrefix(redis, name),
      SEALPOST_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    },
  };
};

const withPrefix = (url: string, prefix: string): string => `${url}${url.includes('?') ? '&' : '?'}prefix=${prefix}`;

export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
};
