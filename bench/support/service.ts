/** A sealpost of its own for one run: started on a fresh data directory, with a key that no rate limit holds up. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Sqlite from 'better-sqlite3';
import type { CreatedApiKey } from '../../src/api/keys.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { httpRequest, load, type LoadResult } from './load.js';
import { startProgram, type Program, type Side } from './programs.js';

export const CONNECTIONS = 64;

export type Service = Readonly<{
  program: Program;
  port: number;
  /**
   * Posts emails, the n-th with the n-th body, and resolves when all are answered. Rejects where one is not answered
   * 201.
   */
  accept: (count: number, bodyOf: (n: number) => unknown) => Promise<LoadResult>;
  /** The header of a key that no rate limit holds up. */
  authorization: string;
  /** The key of the first team, as it was shown at the start. */
  firstKey: string;
  /** How many emails the list has of that status. */
  listed: (status: string) => Promise<number>;
  stop: () => Promise<void>;
  kill: () => void;
}>;

export type ServiceOptions = Readonly<{
  directory: string;
  env?: Readonly<Record<string, string>>;
  /** Options of node, e.g. for a profile. */
  nodeOptions?: readonly string[];
  /** Default: a core of its own. */
  side?: Side;
}>;

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
/** Started as users start it: its first line has the options of Node that hold its memory. */
const bin = fileURLToPath(new URL('../../../bin/sealpost.js', import.meta.url));

/** Starts the service and waits until it listens. Logs warnings only: the limits write no log either. */
export const startService = async ({
  directory,
  env = {},
  nodeOptions = [],
  side = 'system',
}: ServiceOptions): Promise<Service> => {
  mkdirSync(directory, { recursive: true });
  const program = startProgram({
    ...(nodeOptions.length === 0
      ? { command: bin, args: ['serve'] }
      : { command: process.execPath, args: [...nodeOptions, main, 'serve'] }),
    env: {
      PORT: '0',
      SEALPOST_DATA_DIR: join(directory, 'data'),
      SEALPOST_LOG_LEVEL: 'warn',
      SEALPOST_ACCOUNT_SENDER: 'Bench <bench@service.test>',
      ...env,
    },
    side,
  });
  try {
    const port = Number((await program.saw(/sealpost is running on http:\/\/[^\s:]+:(\d+)/))[1]);
    const [, firstKey] = await program.saw(/shown this once:\s+(\S+)/);
    if (firstKey === undefined) throw new Error('no first key was shown');
    const authorization = `Bearer ${await unlimitedKey(port, firstKey)}`;
    return {
      program,
      port,
      firstKey,
      authorization,
      accept: (count, bodyOf) => post(port, authorization, count, bodyOf),
      listed: async (status) => {
        const answer = await fetch(`http://127.0.0.1:${port}/api/emails?limit=1&status=${status}`, {
          headers: { authorization },
        });
        if (!answer.ok) throw new Error(`the list was answered ${answer.status}: ${await answer.text()}`);
        return ((await answer.json()) as { meta: { total: number } }).meta.total;
      },
      stop: program.stop,
      kill: program.kill,
    };
  } catch (error) {
    program.kill();
    throw error;
  }
};

const unlimitedKey = async (port: number, firstKey: string): Promise<string> => {
  const answer = await fetch(`http://127.0.0.1:${port}/api/api-keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${firstKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'bench',
      permissions: ['emails:send', 'emails:read'],
      rateLimit: defaultLimits.apiKeyRateLimitMax,
    }),
  });
  if (answer.status !== 201) throw new Error(`no key was made: ${answer.status} ${await answer.text()}`);
  return ((await answer.json()) as CreatedApiKey).key;
};

/** Distinct bodies that are sent in turn: made once, so that the generator costs little. */
const BODIES = 64;

/** Posts emails to any server that takes them as sealpost does. Rejects where one is not answered 201. */
export const post = async (
  port: number,
  authorization: string,
  count: number,
  bodyOf: (n: number) => unknown,
  path = '/api/emails/send',
): Promise<LoadResult> => {
  const requests = Array.from({ length: BODIES }, (_, n) =>
    httpRequest('POST', path, { Authorization: authorization }, bodyOf(n)),
  );
  const result = await load({ port, connections: CONNECTIONS, requests: count, request: (n) => requests[n % BODIES]! });
  if (result.statuses['201'] !== count)
    throw new Error(`not every email was accepted: ${JSON.stringify(result.statuses)}\n${result.lastFault ?? ''}`);
  return result;
};

/** One number out of a database of a program that has ended. */
export const storedCount = (file: string, sql: string): number => {
  const database = new Sqlite(file, { readonly: true, fileMustExist: true });
  try {
    return database.prepare<[], number>(sql).pluck().get() ?? 0;
  } finally {
    database.close();
  }
};
