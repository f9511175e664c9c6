/** `sealpost email`: cancels an email that has not left, or gives a scheduled one another time, beside a running server too. */
import { cancelEmail, rescheduleEmail } from '../commands/email/calling-back.js';
import { systemCaller } from '../commands/core/instance.js';
import { parseEmailId, type EmailId } from '../domain/core/ids.js';
import { print } from './core/output.js';
import { withTeam } from './core/engine.js';

export const cancel = (id: string): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const { body } = await cancelEmail(engine, systemCaller(teamId, 'cli', 'cli'), emailIdOf(id));
    print(`Email ${body.id} is cancelled since ${body.cancelledAt}; it does not leave.`);
  });

export const reschedule = (id: string, scheduledAt: string): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const moved = await rescheduleEmail(engine, systemCaller(teamId, 'cli', 'cli'), emailIdOf(id), { scheduledAt: withZone(scheduledAt) });
    print(`Email ${moved.id} leaves at ${moved.scheduledAt}.`);
  });

const emailIdOf = (text: string): EmailId => {
  const id = parseEmailId(text);
  if (id === undefined) throw new Error(`${text} is not the id of an email; GET /api/emails lists yours`);
  return id;
};

const ZONED = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/;

/** Without a zone nobody can tell which moment is meant. */
const withZone = (text: string): string => {
  if (!ZONED.test(text)) throw new Error(`${text} is not an ISO 8601 time with a zone such as 2030-01-31T09:30:00Z`);
  return text;
};
