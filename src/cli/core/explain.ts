/** What a command that could not do its work says of the fault. */
import { ConfigError } from '../../service/settings/config-error.js';
import { DomainError } from '../../domain/core/errors.js';

/** Its message, and a line for each field that was wrong. */
export const explain = (fault: unknown): string => {
  if (fault instanceof ConfigError || fault instanceof DomainError) {
    const details =
      fault instanceof DomainError ? (fault.details.errors ?? []).map(({ field, message }) => `\n  ${field}: ${message}`) : [];
    return `${fault.message}${details.join('')}`;
  }
  return fault instanceof Error ? fault.message : 'unknown fault';
};
