/**
 * Output of commands: lines to standard output, progress and faults to standard error; the wording of faults and
 * moments, and the exit codes.
 */
import { Presets, SingleBar } from 'cli-progress';
import { parseMoment } from '../../domain/core/time.js';
import { ConfigError } from '../../service/settings/settings.js';
import { DomainError } from '../../domain/core/errors.js';
import { reasonOf } from '../../shared/files.js';
import type { Unreadable } from '../../event-log/decode.js';

export type Progress = Readonly<{ update: (events: number) => void; stop: () => void }>;

/**
 * The exit codes of commands that look for faults. Every other command ends with 0, or with 1 if it could not do its
 * work.
 */
export const exitCodes = {
  /** No fault was found. */
  sound: 0,
  /** The command could not finish: what it found so far is not all. */
  unfinished: 1,
  /** Something is damaged or missing. */
  damaged: 2,
  /** The log, or a seal over it, is not what was written. */
  tampered: 3,
} as const;

export const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

export const printFault = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

/** A bar with events a second and the time left, on standard error; nothing if that is no terminal. */
export const progressBar = (title: string, total: number, unit = 'events'): Progress => {
  if (!process.stderr.isTTY || total === 0) return { update: () => {}, stop: () => {} };
  const format = `${title} {bar} {percentage}% | {value}/{total} ${unit} | {rate} ${unit}/s | {eta_formatted} left`;
  const bar = new SingleBar({ format, stream: process.stderr, hideCursor: true }, Presets.shades_classic);
  const rate = openRate(() => performance.now());
  bar.start(total, 0, { rate: NO_RATE });
  return {
    update: (done) => bar.update(Math.min(done, total), { rate: rate(done) }),
    stop: () => bar.stop(),
  };
};

const NO_RATE = '–';

/**
 * How many a second since the first count, which is what was done before; no rate within the first second. In: a clock
 * in milliseconds.
 */
export const openRate = (nowMs: () => number): ((done: number) => string) => {
  let first: Readonly<{ done: number; atMs: number }> | undefined;
  return (done) => {
    first ??= { done, atMs: nowMs() };
    const seconds = (nowMs() - first.atMs) / 1_000;
    return seconds < 1 ? NO_RATE : Math.round((done - first.done) / seconds).toLocaleString('en-US');
  };
};

/**
 * A reader that has seen enough, such as `head`, ends a command quietly. Not for a server, which lives on without a
 * terminal.
 */
export const endWhenNobodyReads = (): void => {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (fault) => {
      if ('code' in fault && fault.code === 'EPIPE') process.exit();
      throw fault;
    });
};

/**
 * For a server: what it prints may be lost when nobody reads any more or the disk behind it is full, and it goes on.
 */
export const ignoreLostOutput = (): void => {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
};

/** Takes API keys out of a message: a key that is typed in a wrong place must not stand in the fault about it. */
export const withoutKeys = (text: string): string => text.replace(/(sealpost_(?:test_)?sk_)[\w-]+/g, '$1…');

/** The message of a fault, and a line for each field that was wrong and that it does not name. */
export const explain = (fault: unknown): string => {
  if (fault instanceof ConfigError || fault instanceof DomainError) {
    const details =
      fault instanceof DomainError
        ? (fault.details.errors ?? []).flatMap(({ field, message }) =>
            fault.message.includes(message) ? [] : [`\n  ${field}: ${message}`],
          )
        : [];
    return `${fault.message}${details.join('')}`;
  }
  if (fault instanceof Error && 'syscall' in fault && 'path' in fault)
    return `${String(fault.path)}: ${reasonOf(fault)}`;
  return fault instanceof Error ? fault.message : 'unknown fault';
};

/** One event that cannot be read, as a line. */
export const unreadableLine = ({ position, stream, revision, storedType, unreadable }: Unreadable): string =>
  `${position}  ${stream}@${revision}  ${storedType}  cannot be read: ${unreadable.message}`;

/**
 * Reads the moment that an option gives; a date alone is its first or its last millisecond in UTC. Throws a sentence
 * that names the option.
 */
export const momentOf = (option: string, text: string, edge: 'start' | 'end'): string => {
  const moment = parseMoment(text, edge);
  if (moment === undefined)
    throw new Error(
      `${option} ${text} is not an ISO 8601 time such as 2030-01-31T00:00:00Z, nor a date such as 2030-01-31`,
    );
  return moment;
};
