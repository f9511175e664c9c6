/** What options of the command line stand for; each throws a sentence that names the option. */
import { parseMoment } from '../../domain/core/moment.js';

/** A date alone is its first or its last millisecond in UTC. */
export const momentOf = (option: string, text: string, edge: 'start' | 'end'): string => {
  const moment = parseMoment(text, edge);
  if (moment === undefined)
    throw new Error(`${option} ${text} is not an ISO 8601 time such as 2030-01-31T00:00:00Z, nor a date such as 2030-01-31`);
  return moment;
};
