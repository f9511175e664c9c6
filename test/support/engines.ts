/** The engines that the whole service runs on in tests: everything in one directory, and everything on servers. */
import type { Test } from 'tap';
import { openServerLog } from './eventstoredb/log.js';
import { openStandIn } from './eventstoredb/server.js';
import type { Settings } from './server-process.js';
import { variableOf } from './server-names.js';
import { mongoServer, natsServer, redisServer } from './servers.js';
import { temporaryDirectory } from './data-directory.js';

export type EngineName = 'embedded' | 'distributed';

/** `stores`: of an instance of its own, for every process of it. `processes`: how many of a role it may have. */
export type EngineOfTest = Readonly<{
  name: EngineName;
  stores: Settings;
  /** The settings of one process: on the embedded engine all share a directory, on servers each has its own. */
  ofProcess: () => Settings;
  delivering: number;
}>;

export const engineNames: readonly EngineName[] = ['embedded', 'distributed'];

/** Undefined where a server is missing: then the test is skipped, and in CI it fails. */
export const openEngineOfTest = (t: Test, name: EngineName): Promise<EngineOfTest | undefined> => opened[name](t);

const embedded = async (t: Test): Promise<EngineOfTest> => {
  const stores = { SEALPOST_DATA_DIR: temporaryDirectory(t) };
  return { name: 'embedded', stores, ofProcess: () => stores, delivering: 1 };
};

const distributed = async (t: Test): Promise<EngineOfTest | undefined> => {
  const stores = await serversOfTest(t);
  if (stores === undefined) return undefined;
  return {
    name: 'distributed',
    stores,
    ofProcess: () => ({ ...stores, SEALPOST_DATA_DIR: temporaryDirectory(t) }),
    delivering: 2,
  };
};

export type ServerSetting =
  | 'EVENT_STORE_URL'
  | 'READ_MODELS_URL'
  | 'KEYS_URL'
  | 'FILES_URL'
  | 'LEASES_URL'
  | 'BUS_URL'
  | 'LIMITER_URL'
  | 'MASTER_KEY';

/** Every part on a server, in places of this test's own. Undefined where a server is missing. */
export const serversOfTest = async (
  t: Test,
): Promise<Readonly<Record<`SEALPOST_${ServerSetting}`, string>> | undefined> => {
  const [nats, redis, mongodb] = [await natsServer(t), await redisServer(t), await mongoServer(t)];
  if (nats === undefined || redis === undefined || mongodb === undefined) return undefined;
  return {
    SEALPOST_EVENT_STORE_URL: withOption(await logUrl(t), 'prefix', nats.place),
    SEALPOST_READ_MODELS_URL: mongodb.url,
    SEALPOST_KEYS_URL: mongodb.url,
    SEALPOST_FILES_URL: mongodb.url,
    SEALPOST_LEASES_URL: mongodb.url,
    SEALPOST_BUS_URL: withOption(nats.url, 'prefix', nats.place),
    SEALPOST_LIMITER_URL: withOption(redis.url, 'prefix', redis.place),
    SEALPOST_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  };
};

const opened: Readonly<Record<EngineName, (t: Test) => Promise<EngineOfTest | undefined>>> = { embedded, distributed };

const withOption = (url: string, name: string, value: string): string =>
  `${url}${url.includes('?') ? '&' : '?'}${name}=${value}`;

/** A real server where the environment names one; else the stand-in, in this process. */
const logUrl = async (t: Test): Promise<string> => {
  const real = process.env[variableOf.eventstore];
  if (real !== undefined) return real;
  const log = openServerLog({});
  const server = await openStandIn({ log });
  t.teardown(server.close);
  return server.url;
};
