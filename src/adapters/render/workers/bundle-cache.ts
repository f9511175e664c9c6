/**
 * The last step of the build: makes a document of each format with the bundle, and keeps what V8 has compiled for it.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defaultLimits } from '../../../domain/core/limits.js';
import { cacheFile } from './bundle-files.js';
import makeHandler, { script } from './bundled.js';
import { type Answer, type Job, type WorkerSettings, sampleJob } from './jobs.js';

const settings: WorkerSettings = { limits: defaultLimits, fontsDir: undefined };
const handle = makeHandler(settings) as (job: Job) => Promise<Answer>;

const { input } = sampleJob;
const schema = { ...input.content.schema, outputFormats: ['excel' as const] };
const workbook: Job = {
  ...sampleJob,
  format: 'excel',
  input: { ...input, cacheKey: 'workbook', content: { ...input.content, schema } },
};
const jobs: readonly Job[] = [{ kind: 'prepare' }, workbook];
for (const job of jobs) {
  const { kind } = await handle(job);
  if (kind === 'refused') throw new Error(`the bundle of the document worker refuses its sample`);
}

const file = fileURLToPath(cacheFile);
writeFileSync(`${file}.new`, script.createCachedData());
renameSync(`${file}.new`, file);
