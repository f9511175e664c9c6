/** A log that keeps its lines. */
import type { Logger } from '../../src/domain/ports/logger.js';

export const keptLog = (): Readonly<{ logger: Logger; lines: string[] }> => {
  const lines: string[] = [];
  const keep = (_fields: unknown, message: string): void => void lines.push(message);
  const logger: Logger = { debug: keep, info: keep, warn: keep, error: keep, child: () => logger };
  return { logger, lines };
};
