/** Checks what stands in the place of a value when it is shown: `fallback` and `filters` of a variable or a member. */
import { holdsControls, isLonger } from '../../../shared/text.js';
import { FALLBACK_CHARS_MAX, FILTERS_MAX, filterNames, isFilter, TRUNCATE_MAX } from '../fill/shown-value.js';
import { hasPlaceholder } from '../fill/templated-text.js';
import type { Faults } from './faults.js';

/** Adds what is wrong to the faults, each with its path. */
export const checkShowing = ({ fallback, filters }: Readonly<Record<string, unknown>>, field: string, faults: Faults): void => {
  if (fallback !== undefined) {
    const fault = fallbackFault(fallback);
    if (fault !== undefined) faults.add(`${field}.fallback`, fault);
  }
  if (filters === undefined) return;
  if (!Array.isArray(filters)) return faults.add(`${field}.filters`, `must be an array of ${EXPECTED}`);
  if (filters.length > FILTERS_MAX) return faults.add(`${field}.filters`, `has ${filters.length} filters, the maximum is ${FILTERS_MAX}`);
  filters.forEach((filter: unknown, at) => {
    if (!isFilter(filter)) faults.add(`${field}.filters[${at}]`, `must be one of ${EXPECTED}`);
  });
};

const EXPECTED = `${filterNames.map((name) => `"${name}"`).join(', ')} or {"truncate": N} with N from 1 to ${TRUNCATE_MAX}`;

const fallbackFault = (fallback: unknown): string | undefined => {
  if (typeof fallback !== 'string' || fallback.trim() === '' || isLonger(fallback, FALLBACK_CHARS_MAX))
    return `must be text of 1 to ${FALLBACK_CHARS_MAX} characters, not all of them blanks`;
  if (hasPlaceholder(fallback)) return 'cannot hold {{…}}: it is the text for a value that is not there';
  return holdsControls(fallback) ? 'must be a single line' : undefined;
};
