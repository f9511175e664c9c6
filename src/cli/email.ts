/**
 * `sealpost email` and `sealpost retry`: cancel, reschedule or push on emails that have not left, beside a running
 * server too.
 */
import { retryEmails, cancelEmail, rescheduleEmail } from '../commands/email/emails.js';
import { systemCaller } from '../commands/core/caller.js';
import { parseTemplateId, parseEmailId, type EmailId } from '../domain/core/ids.js';
import { parseDomain } from '../domain/mime/address.js';
import { makeQueries } from '../projections/queries.js';
import type { RetryFilter } from '../projections/email/emails.js';
import { parseTime } from '../domain/core/time.js';
import { counted } from '../shared/text.js';
import { momentOf, print } from './core/output.js';
import { withTeam } from './core/engine.js';

export type RetryOptions = Readonly<{
  failed?: boolean;
  template?: string;
  domain?: string;
  since?: string;
  until?: string;
}>;

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
    print(
      `${counted(counts.retried, 'email is', 'emails are')} due now; ${counts.held} ${counts.held === 1 ? 'waits' : 'wait'} for the relay, which is asked now.`,
    );
  });

const filterOf = ({ failed = false, template, since, until }: RetryOptions): RetryFilter => ({
  status: failed ? 'failed' : 'queued',
  ...(template === undefined ? {} : { templateId: templateIdOf(template) }),
  ...(since === undefined ? {} : { startDate: momentOf('--since', since, 'start') }),
  ...(until === undefined ? {} : { endDate: momentOf('--until', until, 'end') }),
});

const templateIdOf = (text: string): string => {
  const id = parseTemplateId(text);
  if (id === undefined)
    throw new Error(`--template ${text} is not the id of a template; GET /api/templates lists yours`);
  return id;
};

const domainOf = ({ domain }: RetryOptions): string | undefined => {
  if (domain === undefined) return undefined;
  const parsed = parseDomain(domain);
  if (!parsed.ok) throw new Error(`--domain ${domain} is not a domain such as example.com: ${parsed.reason}`);
  return parsed.text;
};

export const cancel = (id: string): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const { body } = await cancelEmail(engine, systemCaller(teamId, 'cli', 'cli'), emailIdOf(id));
    print(`Email ${body.id} is cancelled since ${body.cancelledAt}; it does not leave.`);
  });

export const reschedule = (id: string, scheduledAt: string): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const moved = await rescheduleEmail(engine, systemCaller(teamId, 'cli', 'cli'), emailIdOf(id), {
      scheduledAt: withZone(scheduledAt),
    });
    print(`Email ${moved.id} leaves at ${moved.scheduledAt}.`);
  });

const emailIdOf = (text: string): EmailId => {
  const id = parseEmailId(text);
  if (id === undefined) throw new Error(`${text} is not the id of an email; GET /api/emails lists yours`);
  return id;
};

/** Without a zone nobody can tell which moment is meant. */
const withZone = (text: string): string => {
  if (parseTime(text) === undefined)
    throw new Error(`${text} is not an ISO 8601 time with a zone such as 2030-01-31T09:30:00Z`);
  return text;
};
