/** `sealpost retry`: pushes on by hand what waits or has failed, beside a running server too. */
import { retryEmails } from '../commands/email/retry-emails.js';
import { systemCaller } from '../commands/core/instance.js';
import { parseTemplateId } from '../domain/core/ids.js';
import { parseDomain } from '../domain/mime/address.js';
import { makeQueries } from '../projections/queries.js';
import type { RetryFilter } from '../projections/email/filters.js';
import { momentOf } from './core/arguments.js';
import { print } from './core/output.js';
import { withTeam } from './core/engine.js';

export type RetryOptions = Readonly<{ failed?: boolean; template?: string; domain?: string; since?: string; until?: string }>;

export const retry = (options: RetryOptions): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const filter = filterOf(options);
    const domain = domainOf(options);
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
  ...(template === undefined ? {} : { templateId: templateIdOf(template) }),
  ...(since === undefined ? {} : { startDate: momentOf('--since', since, 'start') }),
  ...(until === undefined ? {} : { endDate: momentOf('--until', until, 'end') }),
});

const templateIdOf = (text: string): string => {
  const id = parseTemplateId(text);
  if (id === undefined) throw new Error(`--template ${text} is not the id of a template; GET /api/templates lists yours`);
  return id;
};

const domainOf = ({ domain }: RetryOptions): string | undefined => {
  if (domain === undefined) return undefined;
  const parsed = parseDomain(domain);
  if (!parsed.ok) throw new Error(`--domain ${domain} is not a domain such as example.com: ${parsed.reason}`);
  return parsed.text;
};
