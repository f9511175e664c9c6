/**
 * A year in which nobody uses a metered account: its keys let nobody in and its credits are gone, once, until an owner
 * comes back.
 */
import t, { type Test } from 'tap';
import { handle } from '../../src/commands/core/handle.js';
import { noteLogin, addCredits } from '../../src/commands/billing/billing.js';
import { makeCommands, openOAuth } from '../../src/commands/index.js';
import { changeBilling } from '../../src/commands/teams/teams.js';
import { teamUseDecider } from '../../src/domain/billing/team-use.js';
import { teamUseStream, creditsStream } from '../../src/domain/core/ids.js';
import { isoTime } from '../../src/domain/core/time.js';
import type { Cause } from '../../src/event-log/event-log.js';
import { login } from '../../src/commands/people/sessions.js';
import { DAY_MS } from '../support/email-facts.js';
import { refusedWith } from '../support/given.js';
import { caller, TEAM, nothingUsed } from '../support/command-world.js';
import { from, PASSWORD, signedIn } from '../support/people.js';
import {
  openProcessorWorld,
  timersAndTheirWork,
  until,
  type ProcessorOptions,
  type ProcessorWorld,
} from '../support/processor-world.js';

const MONTH_DAYS = 30;

const causeNow = (world: ProcessorWorld): Cause => ({
  teamId: TEAM,
  actor: 'test',
  correlationId: 'test',
  causationId: 'test',
  at: isoTime(world.clock.now()),
});

const open = async (t: Test, options: ProcessorOptions = {}): Promise<ProcessorWorld & Readonly<{ key: string }>> => {
  const world = await openProcessorWorld(t, options);
  await changeBilling(world.deps, TEAM, { billing: 'credits' }, causeNow(world), nothingUsed);
  const { key } = await world.commands.createApiKey(caller, { name: 'k', permissions: ['emails:read'] });
  return { ...world, key };
};

const left = async ({ elsewhere }: ProcessorWorld): Promise<number | null> =>
  (await elsewhere().credits.quote(TEAM)).creditsRemaining;
const told = async (world: ProcessorWorld): Promise<readonly string[]> =>
  (await world.events(teamUseStream(TEAM))).map(({ type }) => type);
const resets = async (world: ProcessorWorld): Promise<number> =>
  (await world.events(creditsStream(TEAM))).filter(({ type }) => type === 'CreditsReset').length;

/** Lets days pass with what the timers bring: all but the last ones month by month. */
const days = async (world: ProcessorWorld, count: number): Promise<void> => {
  for (let left = count; left > 0;) {
    const step = left > MONTH_DAYS + 5 ? MONTH_DAYS : 1;
    await world.clock.advance(step * DAY_MS);
    await world.settled();
    left -= step;
  }
};

void t.test('after a year: disabled, credits gone, once; an owner comes back and all works again', async (t) => {
  const world = await open(t);
  const worker = world.run(timersAndTheirWork(world.processing));
  t.equal(await left(world), 1_000);
  await days(world, 365);
  t.equal(await left(world), 1_000, 'a day early');
  t.same(await told(world), ['AccountUsed']);
  await days(world, 2);
  await until(async () => (await left(world)) === 0, 'the credits are gone');
  await until(async () => (await told(world)).includes('AccountSettled'), 'it is settled');
  const elsewhere = makeCommands(world.elsewhere());
  const { message } = await refusedWith(t, elsewhere.authenticate(world.key), 'API_KEY_DISABLED');
  t.match(message, /an owner of the team logs in/);
  await refusedWith(t, world.commands.authenticate(world.key), 'API_KEY_DISABLED');
  await noteLogin(world.deps, { teamId: TEAM, isOwner: false }, causeNow(world));
  await refusedWith(t, world.commands.authenticate(world.key), 'API_KEY_DISABLED');
  await addCredits(world.deps, caller, { credits: 50 });
  await days(world, 3);
  t.equal(await left(world), 50, 'what is granted later stays');
  await noteLogin(world.deps, { teamId: TEAM, isOwner: true }, causeNow(world));
  t.ok(await world.commands.authenticate(world.key));
  t.ok(await makeCommands(world.elsewhere()).authenticate(world.key));
  t.equal(await left(world), 50);
  t.equal(await resets(world), 1);
  t.same(await told(world), ['AccountUsed', 'AccountDisabled', 'AccountSettled', 'AccountReactivated']);
  await worker.stop();
});

void t.test('a call keeps it in use, noted once a day however many there are', async (t) => {
  const world = await open(t);
  const worker = world.run(timersAndTheirWork(world.processing));
  await days(world, 300);
  for (let hour = 0; hour < 30; hour += 1) {
    for (let call = 0; call < 5; call += 1) await world.commands.authenticate(world.key);
    await world.clock.advance(3_600_000);
  }
  t.equal((await told(world)).length, 3, 'the first, and two on two days');
  await days(world, 100);
  t.equal(await left(world), 1_000);
  t.ok(await world.commands.authenticate(world.key));
  await worker.stop();
});

void t.test('a process that dies between the steps is followed by one that does the rest, once', async (t) => {
  for (const died of ['activity', 'credits'] as const) {
    const world = await open(t);
    await days(world, 367);
    let failures = 2;
    let appends = 0;
    world.store.beforeAppend((stream) => {
      if (stream.startsWith('activity-')) appends += 1;
      // The first fact of the account itself says that it is disabled, the second that it is settled.
      const isMeant =
        died === 'credits' ? stream.startsWith('credits-') : stream.startsWith('activity-') && appends > 1;
      if (failures === 0 || !isMeant) return;
      failures -= 1;
      throw new Error('killed');
    });
    const worker = world.run(timersAndTheirWork(world.processing));
    await until(async () => {
      await world.clock.advance(3_600_000);
      return (await told(world)).includes('AccountSettled');
    }, 'it is settled');
    t.equal(failures, 0);
    t.equal(await left(world), 0);
    t.equal(await resets(world), 1);
    t.same(await told(world), ['AccountUsed', 'AccountDisabled', 'AccountSettled']);
    await worker.stop();
  }
});

void t.test('an unmetered team is never switched off, and one that is metered anew begins its year then', async (t) => {
  const world = await open(t);
  const worker = world.run(timersAndTheirWork(world.processing));
  await days(world, 300);
  await changeBilling(world.deps, TEAM, { billing: 'unmetered' }, causeNow(world), nothingUsed);
  await days(world, 400);
  t.ok(await world.commands.authenticate(world.key));
  t.same(await told(world), ['AccountUsed', 'AccountUncounted']);
  await changeBilling(world.deps, TEAM, { billing: 'credits' }, causeNow(world), nothingUsed);
  await days(world, 364);
  t.ok(await makeCommands(world.elsewhere()).authenticate(world.key));
  await worker.stop();
});

void t.test('while the clock is not to be believed nothing is disabled', async (t) => {
  const world = await open(t, { mayDestroy: () => false });
  const worker = world.run(timersAndTheirWork(world.processing));
  await days(world, 400);
  t.same(await told(world), ['AccountUsed']);
  t.equal(await left(world), 1_000);
  await worker.stop();
});

void t.test('what people and apps do keeps it in use as keys do, and does not bring it back', async (t) => {
  const world = await open(t);
  const { accessToken, userId } = await signedIn(world.deps, { teamId: TEAM, role: 'member' });
  const asked = { asked: TEAM, isNeeded: true };
  const noted = async (): Promise<number> => (await told(world)).filter((type) => type === 'AccountUsed').length;
  const before = await noted();
  t.ok(await world.commands.authenticate(accessToken, asked));
  t.equal(await noted(), before, 'within the day of the first');
  // Access tokens end sooner than a day: each day has its own.
  await days(world, 2);
  const { accessToken: later } = await login(world.deps, { email: 'ada@example.com', password: PASSWORD }, from);
  for (let call = 0; call < 5; call += 1) await world.commands.authenticate(later, asked);
  t.equal(await noted(), before + 1, 'once a day');
  t.match((await world.deps.eventLog.load(teamUseStream(TEAM))).at(-1)?.metadata, {
    actor: `user:${userId}`,
    teamId: TEAM,
  });
  t.ok(await world.commands.authenticate(later, { asked: undefined, isNeeded: false }));
  t.equal(await noted(), before + 1, 'what belongs to no team is use of none');
});

void t.test('apps are let in no longer than keys are, until an owner comes back', async (t) => {
  const world = await open(t);
  const oauth = openOAuth(world.deps);
  const { id } = await world.commands.createOAuthApp(caller, {
    name: 'App',
    redirectUris: ['https://app.example.com/back'],
    scopes: ['emails:read'],
    kind: 'confidential',
  });
  const app = (await oauth.openOAuthApp(id))!;
  const token = async (): Promise<string> => {
    const open = await oauth.giveOwnGrant(app, { scopes: ['emails:read'], resource: 'service' }, { requestId: 'test' });
    return (await oauth.issueTokens(open, { scopes: ['emails:read'], isRefreshable: false }, { requestId: 'test' }))!
      .accessToken;
  };
  const disable = async (): Promise<void> => {
    const at = isoTime(world.clock.now());
    await handle(world.deps.eventLog, teamUseStream(TEAM), teamUseDecider, { type: 'Disable', at }, causeNow(world));
  };
  t.ok(await world.commands.authenticate(await token()));
  await days(world, 368);
  await disable();
  const late = await token();
  const { message } = await refusedWith(t, world.commands.authenticate(late), 'API_KEY_DISABLED');
  t.match(message, /API keys and apps of this team are disabled since/);
  await refusedWith(
    t,
    makeCommands(world.elsewhere()).authenticate(late, { asked: undefined, isNeeded: false }),
    'API_KEY_DISABLED',
  );
  await noteLogin(world.deps, { teamId: TEAM, isOwner: true }, causeNow(world));
  t.match(await world.commands.authenticate(late), { kind: 'app', teamId: TEAM });
});
