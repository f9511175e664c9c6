/** Structured log as JSON lines, written by pino. */
import { pino, type DestinationStream, type Logger as PinoLogger } from 'pino';
import type { Logger, LogFields } from '../../domain/ports/logger.js';
import { openStandardOutput, type Output } from './output.js';

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
export const openLogger = ({ level, destination }: Readonly<{ level: LogLevel; destination?: DestinationStream }>): Logger => {
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
 * The fields of an error in the log. Its message may quote an address, a subject or a line of a body (SMTP replies and JSON errors do),
 * so it is left out except for two kinds: errors of the operating system, which name a call, a path or a host, and errors whose thrower
 * set `safeToLog = true`.
 */
const errorFields = (error: Error, depth = 0): Record<string, unknown> => {
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
