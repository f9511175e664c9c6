/**
 * The count of `sealpost team billing` in the month in which a team becomes metered, from read models that follow the
 * log.
 */
import t from 'tap';
import { usedInMonth } from '../../src/cli/billing.js';
import { changeBilling } from '../../src/commands/teams/teams.js';
import type { Recorded } from '../../src/domain/events.js';
import { creditsStream, type EmailId } from '../../src/domain/core/ids.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { emailsProjection } from '../../src/projections/bulk/emails.js';
import { caller, simple, stranger, TEAM, welcome, withTemplate } from '../support/command-world.js';
import { T0 } from '../support/email-facts.js';
import { openDocuments, projectIn } from '../support/projected.js';

const cause = { teamId: TEAM, actor: 'test', correlationId: 'test', causationId: 'test', at: T0 };
const DAY_MS = 86_400_000;

const opened = async (t: Parameters<typeof openDocuments>[0]) => {
  const world = await withTemplate();
  const readModels = openDocuments(t);
  const { deps, clock } = world;
  const project = async (): Promise<void> => {
    const recorded: Recorded[] = [];
    for await (const { events } of deps.eventLog.readAll(0)) recorded.push(...events);
    await projectIn(readModels, emailsProjection({ retentionMs: 400 * DAY_MS, archiveMs: 400 * DAY_MS }), recorded);
  };
  const used = usedInMonth(
    { eventLog: deps.eventLog, keys: world.keys, readModels, clock, limits: defaultLimits },
    TEAM,
  );
  return { ...world, project, used };
};

void t.test(
  'a team that becomes metered has what is left of its quota, cancelled emails and those of others not counted',
  async (t) => {
    const { commands, deps, project, used } = await opened(t);
    await commands.createTemplate(stranger, welcome);
    for (let sent = 0; sent < 3; sent += 1) await commands.sendEmail(caller, simple());
    const { body } = await commands.sendEmail(
      caller,
      simple({ scheduledAt: new Date(Date.parse(T0) + DAY_MS).toISOString() }),
    );
    await commands.cancelEmail(caller, body.id as EmailId);
    await project();
    await commands.sendEmail(stranger, simple());
    await changeBilling(deps, TEAM, { billing: 'plan', plan: 'free', emailsPerMonth: 4 }, cause, used);
    t.strictSame((await deps.credits.quote(TEAM)).emailQuota, { used: 3, limit: 4, remaining: 1 });
    await commands.sendEmail(caller, simple());
    await t.rejects(commands.sendEmail(caller, simple()), { code: 'QUOTA_EXCEEDED' });
    await project();
    t.strictSame(await used('2029-12'), { emails: 0, attachments: 0 }, 'of another month nothing');
  },
);

void t.test('emails that are not counted yet are waited for', async (t) => {
  const { commands, clock, project, used } = await opened(t);
  await commands.sendEmail(caller, simple());
  const counting = used('2030-01');
  await clock.whenWaiting(1);
  await project();
  await clock.advance(100);
  t.strictSame(await counting, { emails: 1, attachments: 0 });
});

void t.test('where nothing counts them, nothing is changed', async (t) => {
  const { commands, clock, deps, events, used } = await opened(t);
  await commands.sendEmail(caller, simple());
  const ended = t.rejects(changeBilling(deps, TEAM, { billing: 'credits' }, cause, used), /start the service/);
  for (let looks = 0; looks < 300; looks += 1) {
    await clock.whenWaiting(1);
    await clock.advance(100);
  }
  await ended;
  t.equal((await deps.credits.quote(TEAM)).isMetered, false);
  t.strictSame(await events(creditsStream(TEAM)), []);
});
