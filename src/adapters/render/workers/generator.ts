/** The generator port: each document is made in a worker thread, started when the first one is wanted and ended when none has been for a while. */
import { availableParallelism } from 'node:os';
import type { OutputFormat } from '../../../domain/attachment-template/schema.js';
import type { Limits } from '../../../domain/limits.js';
import type { Clock } from '../../../domain/ports/clock.js';
import type { Generator, LoadedImage } from '../../../domain/ports/generator.js';
import type { Logger } from '../../../domain/ports/logger.js';
import { errorOf, type DocumentAnswer, type DocumentJob, type OwnImage, type WorkerSettings } from './jobs.js';
import { openPool, type Job, type JobOutcome } from './pool.js';
import { closed, failed, late, noThreadInTime, outOfMemory, queueFull, traceOf } from './refusals.js';

export type GeneratorOptions = Readonly<{
  limits: Limits;
  clock: Clock;
  logger?: Logger;
  /** A folder of fonts beside those that are shipped. */
  fontsDir?: string;
  /** The module that the threads run: a test lets it fail. */
  workerFile?: URL;
  /** Cores of the machine, one of which is left to the event loop. */
  cores?: number;
}>;

/** In: the bounds in force. Out: a generator that has no thread and has loaded no library of documents yet. */
export const openGenerator = (options: GeneratorOptions): Generator => {
  const { limits, clock, logger, fontsDir, workerFile = new URL('./worker.js', import.meta.url), cores = availableParallelism() } = options;
  const settings: WorkerSettings = { limits, fontsDir };
  const threadsMax = Math.min(limits.generatorThreadsMax, Math.max(1, cores - 1));
  const pool = openPool({
    file: workerFile,
    workerData: settings,
    threadsMax,
    queueMax: limits.generatorQueueMax,
    queueWaitMs: limits.generatorQueueWaitMs,
    memoryMbMax: limits.generatorMemoryMbMax,
    idleMs: limits.generatorIdleMs,
    clock,
    onStrayFault: (fault) => logger?.warn(traceOf(fault), 'a thread for documents ended'),
  });

  const ask = async (format: OutputFormat, makeJob: () => DocumentJob, signal: AbortSignal): Promise<DocumentAnswer> => {
    const timeoutMs = format === 'pdf' ? limits.pdfTimeoutMs : limits.excelTimeoutMs;
    const outcome = await pool.run(() => jobOf(makeJob()), { timeoutMs, signal });
    return answerOf(outcome, { format, timeoutMs, limits, logger });
  };

  return {
    imageSources: async (input, format, signal) => {
      const answer = await ask(format, () => ({ kind: 'image-sources', input, format }), signal);
      if (answer.kind !== 'image-sources') throw unexpected(answer);
      return answer.sources;
    },
    make: async (input, format, images, metadata, signal) => {
      const answer = await ask(format, () => ({ kind: 'make', input, format, images: copyOf(images), metadata }), signal);
      if (answer.kind !== 'made') throw unexpected(answer);
      return answer.file;
    },
    close: pool.close,
  };
};

type Asked = Readonly<{ format: OutputFormat; timeoutMs: number; limits: Limits; logger: Logger | undefined }>;

/** Throws DomainError for all but an answer. */
const answerOf = (outcome: JobOutcome, { format, timeoutMs, limits, logger }: Asked): DocumentAnswer => {
  switch (outcome.kind) {
    case 'done': {
      const answer = outcome.result as DocumentAnswer;
      if (answer.kind === 'refused') throw errorOf(answer);
      return answer;
    }
    case 'queue-full':
      throw queueFull(outcome.waiting, limits.generatorQueueMax);
    case 'no-thread-in-time':
      throw noThreadInTime(outcome.waitedMs, limits.generatorQueueWaitMs);
    case 'closed':
      throw closed();
    case 'late':
      logger?.warn({ format, elapsedMs: outcome.elapsedMs }, 'a document was not finished in time');
      throw late(format, outcome.elapsedMs, timeoutMs);
    case 'out-of-memory':
      logger?.warn({ format }, 'a document needed too much memory');
      throw outOfMemory(format, limits.generatorMemoryMbMax);
    case 'died':
      logger?.warn({ format, ...traceOf(outcome.fault) }, 'a document ended its thread');
      throw failed(format);
  }
};

/** The thread gets copies of its own, each made once: the caller may show the same picture in another document. */
const copyOf = (images: ReadonlyMap<string, LoadedImage>): ReadonlyMap<string, OwnImage> =>
  new Map([...images].map(([source, image]) => [source, { ...image, bytes: new Uint8Array(image.bytes) }]));

const jobOf = (data: DocumentJob): Job => ({
  data,
  transfer: data.kind === 'make' ? [...data.images.values()].map(({ bytes }) => bytes.buffer) : [],
});

const unexpected = ({ kind }: DocumentAnswer): Error => new Error(`a thread for documents answered "${kind}" to something else`);
