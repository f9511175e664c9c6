/**
 * Mails of a deleted team: what comes due is cancelled, what is scheduled for later leaves where the team is restored
 * before.
 */
import t from 'tap';
import { handle } from '../../src/commands/core/handle.js';
import { emailStream, teamStream } from '../../src/domain/core/ids.js';
import { isoTime, HOUR_MS } from '../../src/domain/core/time.js';
import { versionOf } from '../../src/event-log/event-log.js';
import { teamDecider, type TeamCommand } from '../../src/domain/teams/decider.js';
import { makeProcessors } from '../../src/processors/index.js';
import { causeOf } from '../../src/commands/core/caller.js';
import { emailDecider } from '../../src/domain/email/decider.js';
import { caller, TEAM } from '../support/command-world.js';
import {
  deliverEmailWorker,
  openProcessorWorld,
  until,
  workersOf,
  type ProcessorWorld,
} from '../support/processor-world.js';

const apply = (world: ProcessorWorld, command: TeamCommand) =>
  handle(world.deps.eventLog, teamStream(TEAM), teamDecider, command, {
    teamId: TEAM,
    actor: 'cli',
    correlationId: 'test',
    causationId: 'test',
    at: command.at,
  });
const now = ({ clock }: ProcessorWorld): string => isoTime(clock.now());
const all = (world: ProcessorWorld) => world.run(workersOf(world.processing, makeProcessors(world.processing)));

void t.test('a mail that waits when its team is deleted is cancelled and never leaves', async (t) => {
  const world = await openProcessorWorld(t);
  const id = await world.send();
  await apply(world, { type: 'DeleteTeam', at: now(world), by: 'operator', firstTeam: false });
  all(world);
  await world.reaches(id, 'cancelled');
  t.strictSame(
    (await world.events(emailStream(id))).map(({ type }) => type),
    ['EmailQueued', 'EmailCancelled'],
  );
  t.equal(world.mailer.sent.length, 0);
});

void t.test('a mail that is scheduled leaves where its team is restored by then', async (t) => {
  const world = await openProcessorWorld(t);
  const scheduledAt = isoTime(world.clock.now() + HOUR_MS);
  const id = await world.send({ scheduledAt });
  await apply(world, { type: 'DeleteTeam', at: now(world), by: 'operator', firstTeam: false });
  world.run(deliverEmailWorker(world.processing));
  await apply(world, { type: 'RestoreTeam', at: now(world), by: 'operator', deletedSince: now(world) });
  await world.clock.advance(HOUR_MS);
  await handle(
    world.deps.eventLog,
    emailStream(id),
    emailDecider,
    { type: 'ReleaseEmail', at: scheduledAt },
    causeOf(world.deps, caller),
  );
  await world.publish(id);
  await world.reaches(id, 'sent');
  t.equal(world.mailer.sent.length, 1);
});

void t.test('a mail whose dialogue was broken off does not leave again, and does not hang', async (t) => {
  const world = await openProcessorWorld(t);
  const id = await world.send();
  const stream = emailStream(id);
  const at = now(world);
  const attempted = { attempt: 1, at, host: 'h', worker: 'gone', deadlineAt: isoTime(world.clock.now() + 60_000) };
  const last = (await world.deps.eventLog.load(stream)).at(-1)!;
  await world.deps.eventLog.append(
    stream,
    versionOf(last),
    [{ type: 'DeliveryAttempted', data: attempted }],
    causeOf(world.deps, caller),
  );
  await apply(world, { type: 'DeleteTeam', at, by: 'operator', firstTeam: false });
  all(world);
  await until(async () => {
    await world.clock.advance(10_000);
    return (await world.commands.getEmail(caller, id)).status === 'failed';
  }, 'it has failed');
  t.equal(world.mailer.sent.length, 0);
});
