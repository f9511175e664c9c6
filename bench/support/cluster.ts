/**
 * The service on the distributed engine as several processes: some answer requests, some deliver, one keeps the read
 * models.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { profileOptions } from './profile.js';
import { startProgram, type Program } from './programs.js';
import { startService, type Service } from './service.js';

export type ClusterRole = 'http' | 'process' | 'project';

export type Cluster = Readonly<{
  /** The first process that answers requests. */
  service: Service;
  /** µs of CPU of all processes of a role so far. */
  cpuUs: (role: ClusterRole) => number;
  stop: () => Promise<void>;
  kill: () => void;
}>;

export type ClusterOptions = Readonly<{
  directory: string;
  env: Readonly<Record<string, string>>;
  workers: number;
  /** Additional settings of the process that keeps the read models. */
  projectEnv?: Readonly<Record<string, string>>;
  /** Profiles are written into a directory for each role. */
  profiles?: Readonly<Record<ClusterRole, string>>;
}>;

export const clusterRoles: readonly ClusterRole[] = ['http', 'process', 'project'];

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const bin = fileURLToPath(new URL('../../../bin/sealpost.js', import.meta.url));

/** Starts a process and waits until it runs. */
export const startRole = async (
  role: ClusterRole,
  env: Readonly<Record<string, string>>,
  profileDirectory?: string,
): Promise<Program> => {
  const program = startProgram({
    ...(profileDirectory === undefined
      ? { command: bin, args: ['serve'] }
      : { command: process.execPath, args: [...profileOptions(profileDirectory), main, 'serve'] }),
    env: { SEALPOST_LOG_LEVEL: 'warn', ...env, SEALPOST_ROLES: role },
    side: 'system',
  });
  try {
    await program.saw(/sealpost is running/);
    return program;
  } catch (error) {
    program.kill();
    throw error;
  }
};

export const startCluster = async ({
  directory,
  env,
  workers,
  projectEnv = {},
  profiles,
}: ClusterOptions): Promise<Cluster> => {
  const service = await startService({
    directory: join(directory, 'http'),
    env: { ...env, SEALPOST_ROLES: 'http' },
    nodeOptions: profiles === undefined ? [] : profileOptions(profiles.http),
  });
  const programs: Record<ClusterRole, Program[]> = { http: [service.program], process: [], project: [] };
  const all = (): readonly Program[] => clusterRoles.flatMap((role) => programs[role]);
  const kill = (): void => {
    for (const program of all()) program.kill();
  };
  const own = (name: string) => ({ ...env, SEALPOST_DATA_DIR: join(directory, name) });
  try {
    programs.project.push(await startRole('project', { ...own('project'), ...projectEnv }, profiles?.project));
    for (let worker = 0; worker < workers; worker += 1)
      programs.process.push(await startRole('process', own(`process-${worker}`), profiles?.process));
  } catch (error) {
    kill();
    throw error;
  }
  return {
    service,
    cpuUs: (role) => programs[role].reduce((sum, program) => sum + program.cpuUs(), 0),
    stop: async () => void (await Promise.all(all().map((program) => program.stop()))),
    kill,
  };
};
