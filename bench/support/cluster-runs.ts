/**
 * Runs of the service on the distributed engine, of the limit program on the same servers, and of the service in one
 * directory: CPU of each email.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { LimitOptions } from '../limits/distributed.js';
import { clusterRoles, startCluster, type Cluster, type ClusterRole } from './cluster.js';
import { orderRequest } from './orders.js';
import { describeProfile, partRules } from './parts.js';
import { profileClockUs, readProfile } from './profile.js';
import { startProgram } from './programs.js';
import { readRecipe, type Recipe } from './recipe.js';
import { withDirectory } from './scratch.js';
import type { Place, Servers } from './servers.js';
import { post, startService, type Service } from './service.js';
import { startSink, type Sink } from './sink.js';

export type Counts = Readonly<{ warmUp: number; emails: number }>;
export type CpuByRole = Readonly<Record<ClusterRole, number>>;
export type ClusterRun = Readonly<{ cpuUs: number; byRole: CpuByRole; emailsPerS: number }>;

const SMTP_CONNECTIONS = 10;
const MESSAGES_PER_CONNECTION = 100;
const DEADLINE_MS = 300_000;
const LOOK_EVERY_MS = 250;

/** The settings of whoever delivers, beside the address of the relay. */
export const smtpSettings = {
  SEALPOST_SMTP_CONNECTIONS: String(SMTP_CONNECTIONS),
  SEALPOST_ACCOUNT_SENDER: 'Bench <bench@service.test>',
} as const;

export type Ready = Readonly<{
  cluster: Cluster;
  sink: Sink;
  place: Place;
  directory: string;
  env: Readonly<Record<string, string>>;
}>;
type Options = Readonly<{
  workers: number;
  projectEnv?: Readonly<Record<string, string>>;
  profiles?: Readonly<Record<ClusterRole, string>>;
}>;

/** Runs `work` with a service of its own on the servers, then stops it in order. */
export const withCluster = <Result>(
  servers: Servers,
  options: Options,
  work: (ready: Ready) => Promise<Result>,
): Promise<Result> =>
  withDirectory((directory) =>
    servers.withPlace(directory, async (place) => {
      const sink = await startSink();
      const env = { ...place.env, ...smtpSettings, SEALPOST_SMTP_URL: `smtp://127.0.0.1:${sink.port}` };
      let cluster: Cluster | undefined;
      try {
        cluster = await startCluster({ directory, env, ...options });
        const result = await work({ cluster, sink, place, directory, env });
        await cluster.stop();
        return result;
      } finally {
        cluster?.kill();
        sink.kill();
      }
    }),
  );

/** Sends, and resolves when the relay has them and the list says so. */
export const sendAll = async (service: Service, sink: Sink, count: number, before: number): Promise<void> => {
  await service.accept(count, orderRequest);
  await settled(service, sink, before + count);
};

export const settled = async (service: Service, sink: Sink, emails: number): Promise<void> => {
  await sink.took(emails);
  for (let waitedMs = 0; (await service.listed('sent')) < emails; waitedMs += LOOK_EVERY_MS) {
    if (waitedMs > DEADLINE_MS)
      throw new Error(`${await service.listed('sent')} emails are listed as sent, ${emails} were accepted`);
    await wait(LOOK_EVERY_MS);
  }
};

export const runCluster = (servers: Servers, { warmUp, emails }: Counts, workers: number): Promise<ClusterRun> =>
  withCluster(servers, { workers }, async ({ cluster, sink }) => {
    await sendAll(cluster.service, sink, warmUp, 0);
    const before = clusterRoles.map(cluster.cpuUs);
    const startMs = performance.now();
    await sendAll(cluster.service, sink, emails, warmUp);
    const emailsPerS = (emails * 1_000) / (performance.now() - startMs);
    const [http = 0, process = 0, project = 0] = clusterRoles.map(
      (role, at) => (cluster.cpuUs(role) - before[at]!) / emails,
    );
    return { cpuUs: http + process + project, byRole: { http, process, project }, emailsPerS };
  });

/** Runs on the embedded engine: one process, one directory. Out: µs of CPU of each email. */
export const runEmbedded = ({ warmUp, emails }: Counts): Promise<number> =>
  withDirectory(async (directory) => {
    const sink = await startSink();
    try {
      const service = await startService({
        directory,
        env: { ...smtpSettings, SEALPOST_SMTP_URL: `smtp://127.0.0.1:${sink.port}` },
      });
      try {
        await sendAll(service, sink, warmUp, 0);
        const before = service.program.cpuUs();
        await sendAll(service, sink, emails, warmUp);
        const used = (service.program.cpuUs() - before) / emails;
        await service.stop();
        return used;
      } finally {
        service.kill();
      }
    } finally {
      sink.kill();
    }
  });

const RECIPE_EMAILS = 20;

/** The records that our service makes on the servers for an email. */
export const captureRecipe = (servers: Servers): Promise<Recipe> =>
  withCluster(servers, { workers: 1 }, async ({ cluster, sink, place }) => {
    await sendAll(cluster.service, sink, RECIPE_EMAILS, 0);
    return readRecipe(place);
  });

const limitProgram = fileURLToPath(new URL('../limits/distributed.js', import.meta.url));

/** Out: µs of CPU of each email. */
export const runLimit = (servers: Servers, { warmUp, emails }: Counts, recipe: Recipe, mail: Buffer): Promise<number> =>
  withDirectory((directory) =>
    servers.withPlace(directory, async (place) => {
      const sink = await startSink();
      const [file, mailFile] = [join(directory, 'options.json'), join(directory, 'mail.eml')];
      const options: LimitOptions = {
        place,
        recipe,
        mail: mailFile,
        smtpPort: sink.port,
        smtpConnections: SMTP_CONNECTIONS,
        messagesPerConnection: MESSAGES_PER_CONNECTION,
      };
      writeFileSync(mailFile, mail);
      writeFileSync(file, JSON.stringify(options));
      const program = startProgram({ command: process.execPath, args: [limitProgram, file], side: 'system' });
      try {
        const port = Number((await program.saw(/listening on http:\/\/[^\s:]+:(\d+)/))[1]);
        const send = async (count: number, before: number): Promise<void> => {
          await post(port, 'Bearer none', count, orderRequest);
          await sink.took(before + count);
          await program.saw(new RegExp(`folded ${before + count}\n`));
        };
        await send(warmUp, 0);
        const before = program.cpuUs();
        await send(emails, warmUp);
        return (program.cpuUs() - before) / emails;
      } finally {
        program.kill();
        sink.kill();
      }
    }),
  );

/** Out: lines that say where the time of each role went, of one further run. */
export const profileCluster = (
  servers: Servers,
  { warmUp, emails }: Counts,
  byRole: CpuByRole,
): Promise<readonly string[]> =>
  withDirectory(async (profilesAt) => {
    const of = (role: ClusterRole): string => join(profilesAt, role);
    for (const role of clusterRoles) mkdirSync(of(role));
    const profiles = { http: of('http'), process: of('process'), project: of('project') };
    const window = await withCluster(servers, { workers: 1, profiles }, async ({ cluster, sink }) => {
      await sendAll(cluster.service, sink, warmUp, 0);
      const fromUs = profileClockUs();
      await sendAll(cluster.service, sink, emails, warmUp);
      return { fromUs, toUs: profileClockUs() };
    });
    return clusterRoles.flatMap((role) => [
      `${role}: ${byRole[role].toFixed(0)} µs of each email`,
      ...describeProfile(readProfile(of(role), window, partRules), byRole[role], 40),
    ]);
  });
