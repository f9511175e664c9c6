/**
 * A data directory after its first start, with the keys, the team, the first API key and the samples. One is made for
 * many tests, which work on copies: a test that does not look at the first start does not pay for it.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand, startServer, type Settings } from './server-process.js';

const folder = fileURLToPath(new URL('../founded', import.meta.url));
const built = fileURLToPath(new URL('../../src/main.js', import.meta.url));

/** An older one is made anew: to the service, a copy stood still since then. */
const KEPT_MS = 30 * 60_000;

/** Fills an empty directory with a copy. Out: the first API key, which has every permission but emails:delete. */
export const copyFounded = async (dataDir: string): Promise<string> => {
  const founded = await theNewest();
  cpSync(join(founded, 'data'), dataDir, { recursive: true });
  rmSync(join(dataDir, 'place.json'), { force: true });
  return readFileSync(join(founded, 'key'), 'utf8');
};

/** A key that sends and reads, without a limit that a test could reach. */
export const createdKey = async (settings: Settings, name: string): Promise<string> => {
  const options = ['--json', '--name', name, '--permissions', 'emails:send,emails:read', '--rate-limit', '10000000'];
  const { stdout, stderr } = await runCommand(['key', 'create', ...options], settings);
  if (stdout === '') throw new Error(`no key could be made: ${stderr}`);
  return (JSON.parse(stdout) as { key: string }).key;
};

/** Gives the team a sender of its own: a relay gets no mail of the sample sender. */
export const setSender = async (settings: Settings): Promise<void> => {
  const { code, stderr } = await runCommand(['team', 'set', '--from', 'Founded <mail@founded.test>'], settings);
  if (code !== 0) throw new Error(`the team got no sender: ${stderr}`);
};

/** The data directory of this half hour and this build. If two processes make it at once, one wins. */
const theNewest = async (): Promise<string> => {
  const name = `${statSync(built).mtimeMs}-${Math.floor(Date.now() / KEPT_MS)}`;
  const founded = join(folder, name);
  if (existsSync(founded)) return founded;
  mkdirSync(folder, { recursive: true });
  const made = mkdtempSync(join(folder, 'made-'));
  const server = startServer({ SEALPOST_DATA_DIR: join(made, 'data'), SEALPOST_LOG_LEVEL: 'error' });
  await server.listening;
  writeFileSync(join(made, 'key'), await server.firstKey());
  await server.end('SIGTERM');
  try {
    renameSync(made, founded);
  } catch (fault) {
    rmSync(made, { recursive: true });
    if (!existsSync(founded)) throw fault;
  }
  // Those of older builds; a copy that is under way takes far less than two such times.
  const isOld = (other: string): boolean => Date.now() - statSync(join(folder, other)).mtimeMs > 2 * KEPT_MS;
  for (const other of readdirSync(folder))
    if (other !== name && isOld(other)) rmSync(join(folder, other), { recursive: true, force: true });
  return founded;
};
