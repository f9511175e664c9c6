/** A Redis for one run: its data directory is new, and nobody else uses it, so that its CPU is that of the run. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { folderVariable } from '../../test/support/server-names.js';
import { startProgram, type Program } from '../support/programs.js';
import { freePort } from '../support/servers.js';

/** `always` keeps what was accepted over a loss of power; `everysec` may lose the last second. */
export type AppendFsync = 'always' | 'everysec';

/** The program of the folder that setup.sh filled, or that of the PATH. Throws where there is neither. */
export const redisServer = (): Readonly<{ command: string; libraries: string }> => {
  const folder = process.env[folderVariable] ?? '';
  const [command, libraries] = [
    join(folder, 'redis/usr/bin/redis-server'),
    join(folder, `redis/usr/lib/${execFileSync('uname', ['-m'], { encoding: 'utf8' }).trim()}-linux-gnu`),
  ];
  if (folder !== '' && existsSync(command)) return { command, libraries };
  try {
    return { command: execFileSync('which', ['redis-server'], { encoding: 'utf8' }).trim(), libraries: '' };
  } catch (cause) {
    throw new Error(
      `redis-server is missing: install it, or set ${folderVariable} to the folder that test/support/servers/setup.sh filled`,
      { cause },
    );
  }
};

export const startRedis = async (
  directory: string,
  fsync: AppendFsync,
): Promise<Readonly<{ program: Program; port: number }>> => {
  const { command, libraries } = redisServer();
  const port = await freePort();
  const program = startProgram({
    command,
    args: [
      ...['--port', String(port), '--bind', '127.0.0.1', '--dir', directory, '--save', ''],
      // A rewrite of the file would fall into some runs and not into others.
      ...['--appendonly', 'yes', '--appendfsync', fsync, '--auto-aof-rewrite-percentage', '0'],
    ],
    env: { LD_LIBRARY_PATH: libraries },
    side: 'system',
  });
  await program.saw(/Ready to accept connections/);
  return { program, port };
};
