/**
 * The worker that ends invitations and removes deleted teams: at which moment, once, and not while the clock is not to
 * be believed.
 */
import t, { type Test } from 'tap';
import { handle } from '../../src/commands/core/handle.js';
import { causeOf } from '../../src/commands/core/caller.js';
import { assertDefined, invitationStream, parseInvitationId, teamStream } from '../../src/domain/core/ids.js';
import { isoTime, DAY_MS, HOUR_MS } from '../../src/domain/core/time.js';
import { invitationDecider } from '../../src/domain/teams/invitation.js';
import { invitingDecider, teamDecider, type TeamCommand } from '../../src/domain/teams/decider.js';
import { lookAfterTeamsWorker } from '../../src/processors/teams/teams.js';
import { compareWithRebuild } from '../../src/projections/core/rebuild.js';
import { readRetentionLines } from '../../src/projections/retention/retention.js';
import { makeProjections } from '../../src/projections/index.js';
import { TEAMS, teamsToLapse, teamsToRemove } from '../../src/projections/teams/teams.js';
import { caller, TEAM } from '../support/command-world.js';
import { openProcessorWorld, until, type ProcessorOptions, type ProcessorWorld } from '../support/processor-world.js';

const open = async (t: Test, options: ProcessorOptions = {}) => {
  const world = await openProcessorWorld(t, options);
  const { processing, readModels } = world;
  const worker = (name: string) =>
    lookAfterTeamsWorker({
      ...processing,
      ...world.elsewhere(),
      worker: name,
      leases: world.keeper.open(),
      toRemove: (upTo, limit) => teamsToRemove(readModels, upTo, limit),
      toLapse: (upTo, limit) => teamsToLapse(readModels, upTo, limit),
    });
  return { ...world, worker };
};

const apply = (world: ProcessorWorld, command: TeamCommand) =>
  handle(world.deps.eventLog, teamStream(TEAM), teamDecider, command, causeOf(world.deps, caller));

/** Hours, with what the looks of each bring. */
const hours = async (world: ProcessorWorld, count: number): Promise<void> => {
  for (let hour = 0; hour < count; hour += 1) {
    await world.clock.advance(HOUR_MS);
    await world.settled();
  }
};

const typesOf = async (world: ProcessorWorld): Promise<readonly string[]> =>
  (await world.events(teamStream(TEAM))).map(({ type }) => type);

const linesOf = async (world: ProcessorWorld) => {
  const { readModels, files, deps } = world;
  await world.settled();
  return new Map(
    (await readRetentionLines({ readModels, files, limits: deps.limits }, world.clock.now())).map((line) => [
      line.name,
      line,
    ]),
  );
};

void t.test('a team is removed when its days are over, and the read models forget it', async (t) => {
  const world = await open(t);
  await world.send();
  await apply(world, { type: 'DeleteTeam', at: isoTime(world.clock.now()), by: 'operator', firstTeam: false });
  t.match((await linesOf(world)).get('deleted.team'), { due: 0, oldest: null, next: String });
  world.run(world.worker('worker-1'));
  await world.clock.advance(30 * DAY_MS - HOUR_MS);
  await hours(world, 1);
  t.same(await typesOf(world), ['TeamCreated', 'TeamDeleted']);
  await hours(world, 2);
  await until(async () => (await typesOf(world)).includes('TeamErased'), 'it is removed');
  t.same(await typesOf(world), ['TeamCreated', 'TeamDeleted', 'TeamRemoved', 'TeamErased']);
  await world.settled();
  t.equal(await world.readModels.get(TEAMS, TEAM), undefined);
  t.match((await linesOf(world)).get('deleted.team'), { due: 0, oldest: null, next: null });
  await hours(world, 3);
  t.equal((await typesOf(world)).length, 4, 'once');
  for (const projection of makeProjections(world.deps.limits).filter(({ name }) =>
    ['teams', 'emails', 'templates'].includes(name),
  ))
    t.equal(
      (await compareWithRebuild(projection, { eventLog: world.deps.eventLog, readModels: world.readModels }))
        .difference,
      undefined,
      projection.name,
    );
});

void t.test('what would go is told before, and nothing goes while the clock is not to be believed', async (t) => {
  let mayDestroy = false;
  const world = await open(t, { mayDestroy: () => mayDestroy });
  await apply(world, { type: 'DeleteTeam', at: isoTime(world.clock.now()), by: 'operator', firstTeam: false });
  await world.clock.advance(40 * DAY_MS);
  t.match((await linesOf(world)).get('deleted.team'), { due: 1, oldest: String });
  world.run(world.worker('worker-1'));
  await hours(world, 3);
  t.same(await typesOf(world), ['TeamCreated', 'TeamDeleted']);
  mayDestroy = true;
  await hours(world, 2);
  await until(async () => (await typesOf(world)).includes('TeamErased'), 'it is removed');
});

void t.test('an invitation that nobody accepted ends with its address', async (t) => {
  const world = await open(t);
  const { deps } = world;
  const id = assertDefined(parseInvitationId('00000000-0000-4000-8000-0000000000aa'), 'invitation id');
  const at = isoTime(world.clock.now());
  const expiresAt = isoTime(world.clock.now() + 7 * DAY_MS);
  const cause = causeOf(deps, caller);
  const bounds = { membersMax: 10, invitationsMax: 10 };
  await handle(
    deps.eventLog,
    teamStream(TEAM),
    invitingDecider,
    {
      type: 'InviteMember',
      at,
      by: 'operator',
      id,
      role: 'viewer',
      address: 'hmac',
      expiresAt,
      member: undefined,
      bounds,
    },
    cause,
  );
  const made = { type: 'MakeInvitation' as const, at, email: 'ann@example.com', tokenHash: 'ab', expiresAt };
  await handle(deps.eventLog, invitationStream(id), invitationDecider, made, cause);
  world.run(world.worker('worker-1'));
  t.match((await linesOf(world)).get('invitations'), { due: 0, next: expiresAt });
  await world.clock.advance(7 * DAY_MS - HOUR_MS - 1);
  await hours(world, 1);
  t.ok(await deps.eventLog.existingKey(invitationStream(id)), 'a millisecond before its end');
  await hours(world, 2);
  await until(
    async () => (await deps.eventLog.existingKey(invitationStream(id))) === undefined,
    'its key is destroyed',
  );
  t.same(await typesOf(world), ['TeamCreated', 'MemberInvited', 'InvitationWithdrawn']);
  t.match((await linesOf(world)).get('invitations'), { due: 0, next: null });
});

void t.test('a process that dies in the midst is followed by one that goes on', async (t) => {
  const world = await open(t);
  for (let made = 0; made < 20; made += 1) await world.send();
  await apply(world, { type: 'DeleteTeam', at: isoTime(world.clock.now()), by: 'operator', firstTeam: false });
  await world.clock.advance(31 * DAY_MS);
  await world.settled();
  let deletions = 0;
  const first = world.run(world.worker('worker-1'));
  world.store.beforeAppend((stream) => {
    if (!stream.startsWith('email-')) return;
    deletions += 1;
    if (deletions === 10) world.keeper.kill('worker-1');
    if (deletions >= 10 && deletions < 60) throw new Error('killed');
  });
  await until(() => deletions >= 10, 'it is in the midst');
  void first.stop();
  world.store.beforeAppend(undefined);
  world.run(world.worker('worker-2'));
  await hours(world, 2);
  await until(async () => {
    await world.clock.advance(1_000);
    return (await typesOf(world)).includes('TeamErased');
  }, 'it is removed');
  t.equal((await typesOf(world)).filter((type) => type === 'TeamRemoved').length, 1);
});
