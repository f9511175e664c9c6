/**
 * The port of body checks on a pool of processes, started when the first large body comes and ended when none
 * has come for a while.
 */
import { DomainError } from '../../../domain/core/errors.js';
import type { BodyCheckAnswer, BodyChecks, CheckedBody } from '../../../domain/ports/body-checks.js';
import type { Clock } from '../../../domain/ports/clock.js';
import type { Logger } from '../../../domain/ports/logger.js';
import { openPool, type JobOutcome } from './pool.js';

export type BodyChecksOptions = Readonly<{
  /** The module that checks a body: its default export takes the settings and answers the function that does it. */
  file: URL;
  settings: unknown;
  clock: Clock;
  logger: Logger;
}>;

/** One for a team with many large bodies, and one that it cannot have. */
const PROCESSES = 2;
const QUEUE_MAX = 32;
const QUEUE_WAIT_MS = 10_000;
/** Several times what the worst body takes, for a machine that has much else to do. */
const TIMEOUT_MS = 30_000;
/** Beyond what the program itself takes; what a body of the most members, names, shapes or bytes needs is less. */
const MEMORY_MB_MAX = 192;
const IDLE_MS = 60_000;
const RETRY_AFTER_S = 2;

/** In: the module that does the checks. Out: checks that have no process yet. */
export const openBodyChecks = ({ file, settings, clock, logger }: BodyChecksOptions): BodyChecks => {
  const pool = openPool({
    file,
    settings,
    processesMax: PROCESSES,
    queueMax: QUEUE_MAX,
    queueWaitMs: QUEUE_WAIT_MS,
    memoryMbMax: MEMORY_MB_MAX,
    idleMs: IDLE_MS,
    clock,
    onStrayFault: (trace) => logger.warn(trace, 'a process that reads large bodies ended'),
  });
  return {
    check: async (body, team) => {
      const outcome = await pool.run(body, { team, timeoutMs: TIMEOUT_MS, signal: new AbortController().signal });
      return checkedOf(outcome);
    },
    close: pool.close,
  };
};

/** Throws DomainError for all but a body that is in order. */
const checkedOf = (outcome: JobOutcome): CheckedBody => {
  switch (outcome.kind) {
    case 'done': {
      const answer = outcome.result as BodyCheckAnswer;
      if (answer.kind === 'refused') throw new DomainError(answer.code, answer.message, answer.details);
      return answer;
    }
    case 'queue-full':
    case 'no-process-in-time':
    case 'closed':
      throw new DomainError(
        'TOO_MANY_LARGE_BODIES',
        `Too many large bodies are being read. Try again in ${RETRY_AFTER_S} seconds, or send less in one request.`,
        { retryAfterS: RETRY_AFTER_S },
      );
    case 'late':
    case 'out-of-memory':
    case 'died':
      throw new DomainError(
        'JSON_TOO_COMPLEX',
        'The body takes too much time or memory to be read; send fewer members and elements.',
      );
  }
};
