/** BullMQ, as far as the peer uses it. Its packages are those of bench/peers/package.json, which npm ci leaves out. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { projectRoot } from '../support/scratch.js';

export type Connection = Readonly<{ host: string; port: number; maxRetriesPerRequest: null }>;
export type JobOptions = Readonly<{
  attempts: number;
  backoff: Readonly<{ type: 'exponential'; delay: number }>;
  removeOnComplete: Readonly<{ count: number }>;
}>;
export type Job<Data> = Readonly<{ id?: string; data: Data }>;

type Queue<Data> = Readonly<{
  add: (name: string, data: Data) => Promise<Job<Data>>;
  getJobCounts: (...states: readonly string[]) => Promise<Readonly<Record<string, number>>>;
}>;
type Worker = Readonly<{ on: (event: 'error', listener: (error: Error) => void) => unknown }>;

type BullMQ = Readonly<{
  Queue: new <Data>(
    name: string,
    options: Readonly<{ connection: Connection; defaultJobOptions: JobOptions }>,
  ) => Queue<Data>;
  Worker: new <Data>(
    name: string,
    work: (job: Job<Data>) => Promise<unknown>,
    options: Readonly<{ connection: Connection; concurrency: number }>,
  ) => Worker;
}>;

const folder = join(projectRoot, 'bench/peers');

/** Throws where the packages are not installed, and says how they are. */
export const assertPeerPackages = (): void => {
  if (!existsSync(join(folder, 'node_modules/bullmq')))
    throw new Error('the packages of the peer are not installed: run npm ci --prefix bench/peers');
};

export const loadBullMQ = (): BullMQ => {
  assertPeerPackages();
  return createRequire(join(folder, 'package.json'))('bullmq') as BullMQ;
};
