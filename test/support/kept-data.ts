/** Data directories of a real instance, as they were at one time and later: what tests of restoring mix and damage. */
import { cpSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { sendBody } from './app.js';
import { temporaryDirectory } from './data-directory.js';
import { runCommand, startServer, type Finished, type ServerProcess, type Settings } from './server-process.js';

/** One master key for every instance of the tests, so that their files can be mixed. */
const MASTER_KEY = Buffer.alloc(32, 7).toString('base64');

/** Address without a listener, so that accepted emails wait. */
const AWAY = 'smtp://127.0.0.1:1?tls=off';

export const settingsOf = (dataDir: string, more: Settings = {}): Settings => ({
  SEALPOST_DATA_DIR: dataDir,
  SEALPOST_MASTER_KEY: MASTER_KEY,
  SEALPOST_SMTP_URL: AWAY,
  SEALPOST_LOG_LEVEL: 'error',
  ...more,
});

const attachment = {
  filename: 'a.txt',
  contentType: 'text/plain',
  content: Buffer.from('attached').toString('base64'),
};

/** Sends mails with one attachment each. Out: their ids. */
export const sendMails = async (base: string, key: string, count: number): Promise<readonly string[]> =>
  Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const response = await fetch(`${base}/api/emails/send`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(sendBody({ to: [{ email: `to${index}@example.com` }], attachments: [attachment] })),
      });
      if (response.status !== 201)
        throw new Error(`a send call was answered ${response.status} ${await response.text()}`);
      return ((await response.json()) as { id: string }).id;
    }),
  );

export type KeptData = Readonly<{
  /** After the first mails. */
  old: string;
  /** After all mails, of the same instance. */
  newest: string;
  apiKey: string;
  oldIds: readonly string[];
  ids: readonly string[];
}>;

/** Two states of one instance: `perState` mails are accepted before each. */
export const keptData = async (t: Test, perState: number): Promise<KeptData> => {
  const dataDir = join(temporaryDirectory(t), 'data');
  const old = `${dataDir}-old`;
  const settings = settingsOf(dataDir);
  const first = startServer(settings);
  t.teardown(() => first.end('SIGKILL'));
  const apiKey = await first.firstKey();
  const oldIds = await sendMails(await first.listening, apiKey, perState);
  await first.end('SIGTERM');
  // The next start notes in each store where the log ends.
  const again = startServer(settings);
  t.teardown(() => again.end('SIGKILL'));
  await again.listening;
  await again.end('SIGTERM');
  cpSync(dataDir, old, { recursive: true });
  const second = startServer(settings);
  t.teardown(() => second.end('SIGKILL'));
  const ids = [...oldIds, ...(await sendMails(await second.listening, apiKey, perState))];
  await second.end('SIGTERM');
  const last = startServer(settings);
  t.teardown(() => last.end('SIGKILL'));
  await last.listening;
  await last.end('SIGTERM');
  return { old, newest: dataDir, apiKey, oldIds, ids };
};

/** A copy that the test may change. */
export const copyOf = (t: Test, dataDir: string): string => {
  const copy = join(temporaryDirectory(t), 'data');
  cpSync(dataDir, copy, { recursive: true });
  return copy;
};

/** Deletes what begins with that name, a database with its write-ahead log for one. */
export const removeStore = (dataDir: string, name: string): void => {
  for (const entry of readdirSync(dataDir).filter((entry) => entry.startsWith(name)))
    rmSync(join(dataDir, entry), { recursive: true, force: true });
};

/** Puts a store of another directory in the place of the one there. */
export const exchangeStore = (dataDir: string, name: string, from: string): void => {
  removeStore(dataDir, name);
  for (const entry of readdirSync(from).filter((entry) => entry.startsWith(name)))
    cpSync(join(from, entry), join(dataDir, entry), { recursive: true });
};

/** A start that is to be refused. */
export const refusedStart = (dataDir: string, more: Settings = {}): Promise<Finished> =>
  runCommand(['serve'], { ...settingsOf(dataDir, more), PORT: '0' });

export const startOn = async (
  t: Test,
  dataDir: string,
  more: Settings = {},
): Promise<ServerProcess & Readonly<{ base: string }>> => {
  const server = startServer(settingsOf(dataDir, more));
  t.teardown(() => server.end('SIGKILL'));
  return { ...server, base: await server.listening };
};

export const storedNow = async (dataDir: string): Promise<string> =>
  (await runCommand(['replay', '--all', '--json'], settingsOf(dataDir))).stdout;

export const countOf = (events: string, type: string): number =>
  events.match(new RegExp(`"type":"${type}"`, 'g'))?.length ?? 0;
