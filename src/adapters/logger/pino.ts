/** Structured log as JSON lines, written by pino. */
import { pino, type DestinationStream, type Logger as PinoLogger } from 'pino';
import type { Logger, LogFields } from '../../domain/ports/logger.js';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** One line of an error's stack, and how many of them a log line holds. */
const FRAME = /^\s+at /;
const framesMax = 12;
const causesMax = 3;

/** Lines wait for each other at most this long. */
const FLUSH_EVERY_MS = 200;
const BUFFER_BYTES = 8_192;

/** Standard output, written in strokes: a write for each line costs more than the line. What waits is written when the process exits. */
const bufferedOutput = (): DestinationStream => inStrokes(pino.destination({ sync: false, minLength: BUFFER_BYTES }));

/** A flush writes to the file even where nothing waits, so a program that says nothing asks for none. */
export const inStrokes = (output: Readonly<{ write: (line: string) => unknown; flush: () => void }>): DestinationStream => {
  let isWaiting = false;
  const flush = (): void => {
    isWaiting = false;
    output.flush();
  };
  return {
    write: (line) => {
      output.write(line);
      if (isWaiting) return;
      isWaiting = true;
      setTimeout(flush, FLUSH_EVERY_MS).unref();
    },
  };
};

/**
 * In: the lowest level that is written, and where to (default: standard output, in strokes).
 * Out: the log. Errors are written by name, code and stack frames; see errorFields for their messages.
 */
export const openLogger = ({ level, destination }: Readonly<{ level: LogLevel; destination?: DestinationStream }>): Logger => {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    messageKey: 'message',
  };
  return logOn(pino(options, destination ?? bufferedOutput()));
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
 * What is written of an error. The message of an error may quote an address, a subject or a line of a body
 * (SMTP replies and JSON errors do), so it is left out, but for two kinds: errors of the operating system, which name
 * a call, a path or a host, and errors whose thrower set `safeToLog = true`.
 */
export const errorFields = (error: Error, depth = 0): Record<string, unknown> => {
  const code = 'code' in error && (typeof error.code === 'string' || typeof error.code === 'number') ? error.code : undefined;
  const safe = ('syscall' in error && typeof error.syscall === 'string') || ('safeToLog' in error && error.safeToLog === true);
  return {
    name: error.name,
    ...(code === undefined ? {} : { code }),
    ...(safe ? { message: error.message } : {}),
    stack: framesOf(error),
    ...(error.cause instanceof Error && depth < causesMax ? { cause: errorFields(error.cause, depth + 1) } : {}),
  };
};

/** The frames alone: the stack begins with the message, which may have lines that look like frames. */
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
