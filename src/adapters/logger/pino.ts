/** Structured log as JSON lines, written by pino. */
import { pino, type DestinationStream, type Logger as PinoLogger } from 'pino';
import type { Logger, LogFields } from '../../domain/ports/logger.js';
import { write, writeSync } from 'node:fs';
import { isatty } from 'node:tty';

type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** One line of an error's stack, and how many of them a log line holds. */
const FRAME = /^\s+at /;
const framesMax = 12;
const causesMax = 3;

/** The one queue of this process for standard output. */
let standardOutput: Output | undefined;

/**
 * In: the lowest level that is written, and where to (default: standard output, see output.ts).
 * Errors are written by name, code and stack frames; see errorFields for their messages.
 */
export const openLogger = ({
  level,
  destination,
}: Readonly<{ level: LogLevel; destination?: DestinationStream }>): Logger => {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    messageKey: 'message',
  };
  return logOn(pino(options, destination ?? (standardOutput ??= openStandardOutput())));
};

const logOn = (logger: PinoLogger): Logger => ({
  debug: (fields, message) => void (logger.isLevelEnabled('debug') && logger.debug(plain(fields), message)),
  info: (fields, message) => void (logger.isLevelEnabled('info') && logger.info(plain(fields), message)),
  warn: (fields, message) => void (logger.isLevelEnabled('warn') && logger.warn(plain(fields), message)),
  error: (fields, message) => void (logger.isLevelEnabled('error') && logger.error(plain(fields), message)),
  child: (fields) => logOn(logger.child(plain(fields))),
});

const plain = (fields: LogFields): Record<string, unknown> => {
  const out: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) out[name] = value instanceof Error ? errorFields(value) : value;
  return out;
};

/**
 * The fields of an error in the log. Its message may quote an address, a subject or a line of a body (SMTP replies and
 * JSON errors do), so it is left out except for two kinds: errors of the operating system, which name a call, a path or
 * a host, and errors whose thrower set `safeToLog = true`.
 */
const errorFields = (error: Error, depth = 0): Record<string, unknown> => {
  const code =
    'code' in error && (typeof error.code === 'string' || typeof error.code === 'number') ? error.code : undefined;
  const safe =
    ('syscall' in error && typeof error.syscall === 'string') || ('safeToLog' in error && error.safeToLog === true);
  return {
    name: error.name,
    ...(code === undefined ? {} : { code }),
    ...(safe ? { message: error.message } : {}),
    stack: framesOf(error),
    ...(error.cause instanceof Error && depth < causesMax ? { cause: errorFields(error.cause, depth + 1) } : {}),
  };
};

/** The frames of the stack without the message before them, which may have lines that look like frames. */
const framesOf = (error: Error): readonly string[] => {
  const stack = error.stack ?? '';
  const at = stack.indexOf(error.message);
  const below = at < 0 || error.message === '' ? stack : stack.slice(at + error.message.length);
  return below
    .split('\n')
    .filter((line) => FRAME.test(line))
    .slice(0, framesMax)
    .map((line) => line.trim());
};

// * Writes log lines to a file descriptor, in batches. Callers do not wait: while it cannot be written (a closed
// terminal, a reader that does not read, a full disk), lines are lost and counted, and the program goes on and ends as
// if they had been written.

/** The calls on a file descriptor that the output makes. */
export type Descriptor = Readonly<{
  write: (bytes: Buffer, done: (fault: Error | null, written: number) => void) => void;
  writeSync: (bytes: Buffer) => number;
  /** Blocks the thread. */
  pause: (ms: number) => void;
  /** Whether a write may wait for ever, as on a terminal whose output was stopped. All others answer EAGAIN. */
  mayBlock: boolean;
}>;

type Output = Readonly<{
  write: (line: string) => void;
  /** Writes what waits, in about a second at most. To be called once, when the process exits. */
  end: () => void;
}>;

/**
 * The lines being written: the bytes that are left, how many lines they were, and how many lost lines the first of them
 * tells.
 */
type Batch = Readonly<{ rest: Buffer; lines: number; told: number }>;

const STDOUT = 1;

/** A line waits at most so long, and until so many bytes wait. A write for each line costs more than the line. */
const FLUSH_EVERY_MS = 200;
const BATCH_BYTES = 8_192;
/** Lines beyond these bytes are lost while a write is under way. */
const WAITING_BYTES_MAX = 1_048_576;
/** The pause after EAGAIN: the reader has not made room. */
const RETRY_MS = 100;
/** The pauses for a slow reader when the process exits: together they are how long an exit waits for it. */
const EXIT_PAUSE_MS = 20;
const EXIT_PAUSES_MAX = 50;

/** Standard output of this process. */
const openStandardOutput = (): Output => {
  // Opening the stream makes a full pipe or socket answer EAGAIN. Without it a write would wait until somebody reads.
  void process.stdout;
  const output = openOutput({
    write: (bytes, done) => write(STDOUT, bytes, done),
    writeSync: (bytes) => writeSync(STDOUT, bytes),
    pause: (ms) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms),
    mayBlock: isatty(STDOUT),
  });
  process.on('exit', output.end);
  return output;
};

export const openOutput = (descriptor: Descriptor): Output => {
  let lines: string[] = [];
  let waitingBytes = 0;
  let batch: Batch | undefined;
  let isWriting = false;
  let isWaiting = false;
  let isOver = false;
  let lost = 0;
  /** A write failed in the middle of a line: the next batch begins a new one. */
  let isCut = false;

  const take = (): Buffer => {
    const text = `${isCut ? '\n' : ''}${lost === 0 ? '' : lostLine(lost)}${lines.join('')}`;
    lines = [];
    waitingBytes = 0;
    return Buffer.from(text);
  };

  const begin = (): void => {
    if (batch !== undefined || lines.length === 0) return;
    const counts = { lines: lines.length, told: lost };
    batch = { rest: take(), ...counts };
    writeRest();
  };

  const writeRest = (): void => {
    if (batch === undefined || isOver) return;
    isWriting = true;
    descriptor.write(batch.rest, written);
  };

  const written = (fault: Error | null, bytes: number): void => {
    isWriting = false;
    if (batch === undefined || isOver) return;
    if (isFull(fault) || (fault === null && bytes === 0)) return void setTimeout(writeRest, RETRY_MS).unref();
    if (fault !== null) {
      lost += batch.lines;
    } else {
      isCut = bytes < batch.rest.length;
      batch = { ...batch, rest: batch.rest.subarray(bytes) };
      if (isCut) return writeRest();
      lost -= batch.told;
    }
    batch = undefined;
    if (waitingBytes >= BATCH_BYTES) begin();
    else if (lines.length > 0) beginSoon();
  };

  const beginSoon = (): void => {
    if (isWaiting) return;
    isWaiting = true;
    setTimeout(() => {
      isWaiting = false;
      begin();
    }, FLUSH_EVERY_MS).unref();
  };

  return {
    write: (line) => {
      const bytes = Buffer.byteLength(line);
      if (waitingBytes + bytes > WAITING_BYTES_MAX) {
        lost += 1;
        return;
      }
      lines.push(line);
      waitingBytes += bytes;
      if (waitingBytes >= BATCH_BYTES) begin();
      if (lines.length > 0 && batch === undefined) beginSoon();
    },
    end: () => {
      isOver = true;
      if (isWriting && descriptor.mayBlock) return;
      // A write under way goes on in its thread until the process is gone.
      const begun = isWriting || batch === undefined ? Buffer.alloc(0) : batch.rest;
      if (batch !== undefined) {
        lost -= batch.told;
        isCut = false;
      }
      writeAll(descriptor, lines.length === 0 && lost === 0 ? begun : Buffer.concat([begun, take()]));
    },
  };
};

const writeAll = (descriptor: Descriptor, bytes: Buffer): void => {
  let rest = bytes;
  for (let pauses = 0; rest.length > 0;) {
    try {
      rest = rest.subarray(descriptor.writeSync(rest));
    } catch (fault) {
      if (!isFull(fault) || pauses === EXIT_PAUSES_MAX) return;
      pauses += 1;
      descriptor.pause(EXIT_PAUSE_MS);
    }
  }
};

const isFull = (fault: unknown): boolean =>
  fault instanceof Error && 'code' in fault && (fault.code === 'EAGAIN' || fault.code === 'EBUSY');

const lostLine = (lines: number): string =>
  `${JSON.stringify({ level: 'warn', time: new Date().toISOString(), lines, message: 'log lines were lost: they could not be written' })}\n`;
