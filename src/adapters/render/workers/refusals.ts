/** Errors of documents that could not be made, and the trace of a fault that the log may have. */
import type { OutputFormat } from '../../../domain/rendering/content.js';
import { DomainError } from '../../../domain/core/errors.js';
import type { LogFields } from '../../../domain/ports/logger.js';

/** The output that a job was to make. */
export type Wanted = OutputFormat | 'email' | 'svg' | 'font' | 'conversion';

const RETRY_AFTER_S = 5;
const FRAMES_MAX = 8;

const written = new Intl.NumberFormat('en-US');
const n = (value: number): string => written.format(value);
const names: Readonly<Record<Wanted, string>> = {
  pdf: 'PDF',
  excel: 'workbook',
  email: 'mail',
  svg: 'drawing',
  font: 'trial of the font',
  conversion: 'conversion of the source',
};

export const queueFull = (waiting: number, maxWaiting: number): DomainError =>
  new DomainError(
    'GENERATOR_BUSY',
    `Too many documents are being made: ${n(waiting)} wait before this one, the maximum is ${n(maxWaiting)}. Try again in ${RETRY_AFTER_S} seconds.`,
    {
      relatedInfo: { actualWaiting: waiting, maxWaiting },
      retryAfterS: RETRY_AFTER_S,
    },
  );

export const noProcessInTime = (actualWaitMs: number, maxWaitMs: number): DomainError =>
  new DomainError(
    'GENERATOR_BUSY',
    `Too many documents are being made: this one waited for ${n(actualWaitMs)} ms, the maximum is ${n(maxWaitMs)}. Try again in ${RETRY_AFTER_S} seconds.`,
    {
      relatedInfo: { actualWaitMs, maxWaitMs },
      retryAfterS: RETRY_AFTER_S,
    },
  );

export const closed = (): DomainError =>
  new DomainError(
    'GENERATOR_BUSY',
    `The service is stopping and makes no more documents. Try again in ${RETRY_AFTER_S} seconds.`,
    {
      retryAfterS: RETRY_AFTER_S,
    },
  );

export const late = (wanted: Wanted, actualMs: number, maxMs: number): DomainError =>
  new DomainError(
    'GENERATION_TIMEOUT',
    `the ${names[wanted]} was not finished after ${n(actualMs)} ms, the maximum is ${n(maxMs)} ms; put less into it`,
    {
      relatedInfo: { actualMs, maxMs },
    },
  );

export const outOfMemory = (wanted: Wanted, maxMemoryMb: number): DomainError =>
  new DomainError(
    'GENERATION_FAILED',
    `the ${names[wanted]} takes more than ${n(maxMemoryMb)} MB of memory to be made; put less into it`,
    {
      relatedInfo: { maxMemoryMb },
    },
  );

export const failed = (wanted: Wanted): DomainError =>
  new DomainError(
    'GENERATION_FAILED',
    wanted === 'email'
      ? 'the mail could not be rendered: the process that rendered it ended; try again, with less in the template where it ends again'
      : `the ${names[wanted]} could not be made: the process that made it ended, and the log of the service says where; leave out one part after the other to find the one that it ends at`,
  );

/** The name, code and stack of a fault. Its message is left out: it may hold text of the document. */
export const traceOf = (fault: unknown): LogFields => {
  if (!(fault instanceof Error)) return { fault: typeof fault };
  const frames = (fault.stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, FRAMES_MAX);
  return {
    fault: fault.name,
    code: 'code' in fault ? String(fault.code) : undefined,
    at: frames.map((line) => line.trim().slice('at '.length)).join(' < '),
  };
};
