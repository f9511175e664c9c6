/** A running server, and every command of the program beside it on the same data directory. */
import type { Test } from 'tap';
import { temporaryDirectory } from '../support/data-directory.js';
import { copyFounded } from '../support/founded.js';
import {
  runCommand,
  startServer,
  type Finished,
  type ServerProcess,
  type Settings,
} from '../support/server-process.js';

type Answer = Readonly<{ status: number; headers: Headers; body: Record<string, unknown> }>;

export type KeyRecord = Readonly<{
  id: string;
  key: string;
  name: string;
  permissions: readonly string[];
  rateLimit: number | null;
  expiresAt: string | null;
  networks: readonly string[] | null;
}>;

export type CliWorld = Readonly<{
  dataDir: string;
  settings: Settings;
  server: ServerProcess;
  base: string;
  firstKey: string;
  run: (...args: readonly string[]) => Promise<Finished>;
  call: (key: string, method: string, path: string, body?: unknown) => Promise<Answer>;
  createKey: (...args: readonly string[]) => Promise<KeyRecord>;
}>;

/** The server ends with the test. */
export const openCliWorld = async (t: Test, more: Settings = {}): Promise<CliWorld> => {
  const dataDir = temporaryDirectory(t);
  const firstKey = await copyFounded(dataDir);
  const settings = { SEALPOST_DATA_DIR: dataDir, SEALPOST_LOG_LEVEL: 'error', ...more };
  const server = startServer(settings);
  t.teardown(() => server.end('SIGTERM'));
  const base = await server.listening;
  const run = (...args: readonly string[]) => runCommand(args, settings);
  return {
    dataDir,
    settings,
    server,
    base,
    firstKey,
    run,
    call: async (key, method, path, body) => {
      const response = await fetch(base + path, {
        method,
        headers: {
          authorization: `Bearer ${key}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return {
        status: response.status,
        headers: response.headers,
        body: (await response.json()) as Record<string, unknown>,
      };
    },
    createKey: async (...args) => {
      const { code, stdout, stderr } = await run('key', 'create', '--json', ...args);
      if (code !== 0) throw new Error(stderr);
      return JSON.parse(stdout) as KeyRecord;
    },
  };
};
