/**
 * The generator port: makes each document, each mail that is much work and each conversion in a process apart.
 * Processes start with the first job and end when there has been none for a while.
 */
import { hash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { DomainError } from '../../../domain/core/errors.js';
import type { Limits } from '../../../domain/core/limits.js';
import type { Clock } from '../../../domain/ports/clock.js';
import type { Generator, SvgInput } from '../../../domain/ports/generator.js';
import type { Logger } from '../../../domain/ports/logger.js';
import { boundedCache } from '../../../shared/cache.js';
import { isBundled } from './bundle-files.js';
import { errorOf, type Answer, type DocumentJob, type Job, type TeamJob, type WorkerSettings } from './jobs.js';
import { openPool, type JobOutcome } from './pool.js';
import { closed, failed, late, noProcessInTime, outOfMemory, queueFull, type Wanted } from './refusals.js';

export type GeneratorOptions = Readonly<{
  limits: Limits;
  clock: Clock;
  logger?: Logger;
  /** A folder of fonts beside those that are shipped. */
  fontsDir?: string;
  /** The module that the processes run: a test lets it fail. */
  workerFile?: URL;
  /** True: a process stands ready once a document is expected. Default: false. */
  keepsReady?: boolean;
  /** Cores of the machine, one of which is left to the event loop where there are more than two. */
  cores?: number;
}>;

/** One process for a team whose documents are heavy, and one that it cannot take. */
const PROCESSES_MIN = 2;

/** Drawings that are kept: a logo stands in each mail of a template. */
const DRAWINGS_MAX = 200;
const DRAWINGS_BYTES_MAX = 16 * 1024 * 1024;

/** A drawing that took too much time or memory is refused for so long without another try. */
const REFUSED_MS = 5 * 60_000;
const REFUSED_MAX = 200;
const TOO_MUCH: ReadonlySet<string> = new Set(['GENERATION_TIMEOUT', 'GENERATION_FAILED']);

/** In: the bounds in force. Out: a generator that has no process yet. */
export const openGenerator = (options: GeneratorOptions): Generator => {
  const { limits, clock, logger, fontsDir, workerFile = ownWorker(), cores = availableParallelism() } = options;
  const first: Job = { kind: 'prepare' };
  const settings: WorkerSettings = { limits, fontsDir };
  const pool = openPool({
    file: workerFile,
    settings,
    processesMax: Math.min(limits.generatorProcessesMax, Math.max(PROCESSES_MIN, cores - 1)),
    queueMax: limits.generatorQueueMax,
    queueWaitMs: limits.generatorQueueWaitMs,
    memoryMbMax: limits.generatorMemoryMbMax,
    idleMs: limits.generatorIdleMs,
    ...(options.keepsReady === true ? { ready: { job: first, forMs: limits.generatorReadyMs } } : {}),
    clock,
    onStrayFault: (trace) => logger?.warn(trace, 'a document process ended'),
  });

  const timeoutsMs = timeoutsOf(limits);
  const ask = async (job: TeamJob, wanted: Wanted, signal: AbortSignal): Promise<Answer> => {
    const timeoutMs = timeoutsMs[wanted];
    const outcome = await pool.run(job, { team: job.input.teamId, timeoutMs, signal });
    return answerOf(outcome, { wanted, timeoutMs, limits, logger });
  };
  const askDocument = (job: DocumentJob, signal: AbortSignal): Promise<Answer> =>
    // Afterwards: the process of this job may then be the one that stands ready.
    ask(job, job.format, signal).finally(pool.prepare);

  return {
    imageSources: async (input, format, signal) => {
      const answer = await askDocument({ kind: 'image-sources', input, format }, signal);
      if (answer.kind !== 'image-sources') throw unexpected(answer);
      return answer.sources;
    },
    check: async (input, format, images, signal) => {
      const answer = await askDocument({ kind: 'check', input, format, images }, signal);
      if (answer.kind !== 'checked') throw unexpected(answer);
      return answer.lacking;
    },
    make: async (input, format, images, metadata, signal) => {
      const answer = await askDocument({ kind: 'make', input, format, images, metadata }, signal);
      if (answer.kind !== 'made') throw unexpected(answer);
      return { bytes: answer.file, replaced: answer.replaced, warnings: answer.warnings, losses: answer.losses };
    },
    renderEmail: async (input, signal) => {
      const answer = await ask({ kind: 'email', input }, 'email', signal);
      if (answer.kind !== 'rendered') throw unexpected(answer);
      return answer.email;
    },
    checkFont: async (input, signal) => {
      const answer = await ask({ kind: 'font', input }, 'font', signal).catch(refusedFont);
      if (answer.kind !== 'font-checked') throw unexpected(answer);
    },
    convertTemplate: async (input, signal) => {
      const answer = await ask({ kind: 'conversion', input }, 'conversion', signal);
      if (answer.kind !== 'converted') throw unexpected(answer);
      return answer.template;
    },
    prepare: pool.prepare,
    drawSvg: drawnOnce((input, signal) => ask({ kind: 'svg', input }, 'svg', signal), clock),
    close: pool.close,
  };
};

const ownWorker = (): URL => new URL(isBundled() ? './bundled.js' : './worker.js', import.meta.url);

type Draw = (input: SvgInput, signal: AbortSignal) => Promise<Answer>;

const drawnOnce = (draw: Draw, clock: Pick<Clock, 'monotonic'>): Generator['drawSvg'] => {
  const drawn = boundedCache<string, Uint8Array>({
    entriesMax: DRAWINGS_MAX,
    size: { max: DRAWINGS_BYTES_MAX, of: ({ byteLength }) => byteLength },
  });
  const refused = boundedCache<string, Readonly<{ fault: DomainError; untilMs: number }>>({ entriesMax: REFUSED_MAX });
  return async (input, signal) => {
    const key = hash('sha256', `${input.drawing.width}x${input.drawing.height} ${input.svg}`);
    const known = drawn.get(key);
    if (known !== undefined) return known;
    const before = refused.get(key);
    if (before !== undefined && before.untilMs > clock.monotonic()) throw before.fault;
    try {
      const answer = await draw(input, signal);
      if (answer.kind !== 'drawn') throw unexpected(answer);
      if (answer.png !== undefined) drawn.set(key, answer.png);
      return answer.png;
    } catch (fault) {
      if (fault instanceof DomainError && TOO_MUCH.has(fault.code))
        refused.set(key, { fault, untilMs: clock.monotonic() + REFUSED_MS });
      throw fault;
    }
  };
};

const timeoutsOf = (limits: Limits): Readonly<Record<Wanted, number>> => ({
  pdf: limits.pdfTimeoutMs,
  excel: limits.excelTimeoutMs,
  email: limits.previewTimeoutMs,
  svg: limits.svgTimeoutMs,
  font: limits.svgTimeoutMs,
  conversion: limits.previewTimeoutMs,
});

/** Blames the font where its trial took too much or ended its process. */
const refusedFont = (fault: unknown): never => {
  throw fault instanceof DomainError && TOO_MUCH.has(fault.code)
    ? new DomainError(
        'ASSET_TYPE_NOT_ALLOWED',
        'The font cannot be used: no text could be written in it within the bounds of time and memory.',
      )
    : fault;
};

type JobContext = Readonly<{ wanted: Wanted; timeoutMs: number; limits: Limits; logger: Logger | undefined }>;

/** Throws DomainError for all but an answer. */
const answerOf = (outcome: JobOutcome, { wanted, timeoutMs, limits, logger }: JobContext): Answer => {
  switch (outcome.kind) {
    case 'done': {
      const answer = outcome.result as Answer;
      if (answer.kind === 'refused') throw errorOf(answer);
      return answer;
    }
    case 'queue-full':
      throw queueFull(outcome.waiting, limits.generatorQueueMax);
    case 'no-process-in-time':
      throw noProcessInTime(outcome.waitedMs, limits.generatorQueueWaitMs);
    case 'closed':
      throw closed();
    case 'late':
      logger?.warn({ wanted, elapsedMs: outcome.elapsedMs }, 'a document was not finished in time');
      throw late(wanted, outcome.elapsedMs, timeoutMs);
    case 'out-of-memory':
      logger?.warn({ wanted }, 'a document needed too much memory');
      throw outOfMemory(wanted, limits.generatorMemoryMbMax);
    case 'died':
      logger?.warn({ wanted, ...outcome.trace }, 'a document ended its process');
      throw failed(wanted);
  }
};

const unexpected = ({ kind }: Answer): Error => new Error(`a document process answered "${kind}" to something else`);
