/**
 * A server of its own that a test or a program starts, kills, freezes and wipes: from the folder that setup.sh filled,
 * or of the PATH.
 */
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from './free-port.js';
import { folderVariable, isPlain, type ServerName } from './server-names.js';

const run = promisify(execFile);

export type ServerInHand = Readonly<{
  /** As a crash does; what it had acknowledged stays. */
  kill: () => Promise<void>;
  /** After it was killed; under the same URL, with the same data. */
  restart: () => Promise<void>;
  /** It keeps its connections and answers nothing until it is continued. */
  freeze: () => void;
  resume: () => void;
  /** Kills it, deletes its data and starts it again. */
  wipe: () => Promise<void>;
}>;

const folder = (): string | undefined => process.env[folderVariable];
const programs: Readonly<Record<ServerName, string | undefined>> = {
  nats: 'nats-server',
  redis: 'redis-server',
  mongodb: 'mongod',
  eventstore: undefined,
};

/** Whether one can be started here. */
export const canStart = (name: ServerName): boolean => {
  const program = programs[name];
  if (program === undefined || isPlain) return false;
  return (
    folder() !== undefined ||
    (process.env['PATH'] ?? '').split(delimiter).some((path) => existsSync(join(path, program)))
  );
};

/** From build/test/support to the scripts. */
const script = fileURLToPath(new URL('../../../test/support/servers/up.sh', import.meta.url));

/**
 * Undefined where it cannot be started here. `drop` ends it and deletes its data; the end of this process does so too.
 */
export const openOwnServer = async (
  name: ServerName,
): Promise<(ServerInHand & Readonly<{ url: string; drop: () => void }>) | undefined> => {
  if (!canStart(name)) return undefined;
  const data = mkdtempSync(join(tmpdir(), `sealpost-${name}-`));
  const port = String(await freePort());
  const up = (verb: string) => [verb, folder() ?? '-', data, name, port];
  const call = async (verb: string): Promise<string> => (await run(script, up(verb))).stdout.trim();
  const signal = (signal: NodeJS.Signals): void =>
    void process.kill(Number(readFileSync(join(data, `${name}.pid`), 'utf8')), signal);
  const drop = (): void => {
    process.removeListener('exit', drop);
    execFileSync(script, up('drop'), { stdio: 'ignore' });
  };
  process.once('exit', drop);
  return {
    url: await call('start'),
    kill: async () => void (await call('kill')),
    restart: async () => void (await call('start')),
    freeze: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    wipe: async () => {
      await call('kill');
      await call('drop');
      await call('start');
    },
    drop,
  };
};
