/** `sealpost retry`: pushes on by hand what waits or has failed, beside a running server too. */
import { retryEmails } from '../commands/retry-emails.js';
import { systemCaller } from '../commands/first-start.js';
import { isoTime } from '../domain/ports/clock.js';
import { makeQueries } from '../projections/queries.js';
import type { RetryFilter } from '../projections/query-types.js';
import { print } from './output.js';
import { withTeam } from './with-engine.js';

export type RetryOptions = Readonly<{ failed?: boolean; template?: string; domain?: string; since?: string; until?: string }>;

export const retry = (options: RetryOptions): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const filter = filterOf(options);
    const { domain } = options;
    const queries = makeQueries({ ...engine, awaitOwnWrites: async () => {} });
    const counts = { retried: 0, held: 0 };
    let cursor: string | undefined;
    do {
      const { nextCursor, ...found } = await queries.emailsToRetry(teamId, filter, cursor);
      const caller = systemCaller(teamId, 'cli', 'cli');
      const { retried, held } = await retryEmails(engine, caller, {
        status: filter.status,
        ...found,
        ...(domain === undefined ? {} : { domain }),
      });
      counts.retried += retried;
      counts.held += held;
      cursor = nextCursor ?? undefined;
    } while (cursor !== undefined);
    print(`${counts.retried} emails are due now; ${counts.held} wait for the relay, which is asked now.`);
  });

const filterOf = ({ failed = false, template, since, until }: RetryOptions): RetryFilter => ({
  status: failed ? 'failed' : 'queued',
  ...(template === undefined ? {} : { templateId: template.toLowerCase() }),
  ...(since === undefined ? {} : { startDate: timeOf('--since', since) }),
  ...(until === undefined ? {} : { endDate: timeOf('--until', until) }),
});

const timeOf = (option: string, text: string): string => {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new Error(`${option} ${text} is not an ISO 8601 time such as 2030-01-31T00:00:00Z`);
  return isoTime(ms);
};
