/** One-time links: that of the first user, and those that the operator makes for a person who lost the password. */
import t from 'tap';
import type { CommandNeeds } from '../../src/commands/needs.js';
import {
  makeSignInLink,
  showFirstLink,
  signInByLink,
  signInLinkBucket,
} from '../../src/commands/people/sign-in-links.js';
import { changePassword, login, revokeOtherSessions } from '../../src/commands/people/sessions.js';
import { register } from '../../src/commands/people/registration.js';
import { getOwnUser } from '../../src/commands/people/users.js';
import { sendResetLink, resetPassword } from '../../src/commands/people/links.js';
import { assertDefined, NO_TEAM, parseUserId, teamStream, userStream, type UserId } from '../../src/domain/core/ids.js';
import { isoTime } from '../../src/domain/core/time.js';
import { FIRST_USER_ADDRESS } from '../../src/domain/people/user.js';
import { codeOf, openAccountWorld, quickly, tally, type AccountWorld } from '../support/account-world.js';
import { OTHER_TEAM } from '../support/command-world.js';
import { faultPort } from '../support/fault-port.js';
import { callerOf, codeAt, from, PASSWORD, signedIn, withSecondFactor, type Person } from '../support/people.js';

t.setTimeout(900_000);

const OTHER_PASSWORD = 'two herons on a roof';

/** A process on loopback, where nobody is the first user yet. */
const onLoopback = (world: AccountWorld): CommandNeeds => {
  const deps = quickly(world.elsewhere());
  return { ...deps, people: { ...deps.people, isOnLoopback: true, registration: 'invited' } };
};

const firstLink = async (deps: CommandNeeds): Promise<string | undefined> => {
  let shown: string | undefined;
  await showFirstLink(deps, (token) => (shown = token));
  return shown;
};

const ownersIn = async (world: AccountWorld): Promise<readonly string[]> => {
  const { state } = await world.elsewhere().team(teamStream(OTHER_TEAM));
  return [...(state?.members ?? [])].map(([id]) => id);
};

const linkFor = (deps: CommandNeeds, userId: UserId): Promise<string> =>
  makeSignInLink(deps, userId, {
    teamId: NO_TEAM,
    actor: 'cli',
    correlationId: 'cli',
    causationId: 'cli',
    at: isoTime(deps.clock.now()),
  });

void t.test('the link of the terminal makes the owner of the first team, once', async (t) => {
  const world = await openAccountWorld();
  const deps = onLoopback(world);
  const token = assertDefined(await firstLink(deps), 'token');
  t.equal(await signInLinkBucket(deps, token), 'first user');
  const { signedIn: owner, team } = await signInByLink(deps, { token }, from);
  t.equal(team, OTHER_TEAM);
  t.match(owner.user, { email: FIRST_USER_ADDRESS, name: 'Owner', emailVerified: true });
  t.strictSame(await ownersIn(world), [owner.user.id]);
  t.equal(await codeOf(signInByLink(deps, { token }, from)), 'LINK_INVALID');
  t.equal(await firstLink(deps), undefined, 'there is no other');
  t.equal(
    await codeOf(register(deps, { email: 'eve@example.com', password: PASSWORD, name: 'Eve' }, from)),
    'REGISTRATION_CLOSED',
  );

  const caller = callerOf({ userId: assertDefined(parseUserId(owner.user.id), 'user id'), sessionId: owner.sessionId });
  t.match(await getOwnUser(deps, caller), { mayChoosePassword: true });
  await changePassword(deps, caller, { newPassword: PASSWORD });
  t.notOk((await getOwnUser(deps, caller)).mayChoosePassword);
  t.equal(await codeOf(changePassword(deps, caller, { newPassword: OTHER_PASSWORD })), 'VALIDATION_ERROR', 'once');
  await login(deps, { email: FIRST_USER_ADDRESS, password: PASSWORD }, from);
  t.strictSame(await world.mails(), [], 'nobody reads mails at that address');
});

void t.test('a link of the terminal that is forged, old, of another service or beyond loopback', async (t) => {
  const world = await openAccountWorld();
  const deps = onLoopback(world);
  const token = assertDefined(await firstLink(deps), 'token');
  t.equal(await firstLink({ ...deps, people: { ...deps.people, isOnLoopback: false } }), undefined);
  const [, end = '', mark = ''] = /^sealpost_start_(\w+)_(\w+)$/.exec(token) ?? [];
  const later = (Number.parseInt(end, 36) + 1).toString(36);
  const wrong = [
    `sealpost_start_${later}_${mark}`,
    `sealpost_start_${end}_${'0'.repeat(48)}`,
    `${token}0`,
    token.toUpperCase(),
    '',
    'x',
    'sealpost_start_',
  ];
  for (const one of wrong) {
    t.equal(await codeOf(signInLinkBucket(deps, one)), 'LINK_INVALID', one);
    t.equal(await codeOf(signInByLink(deps, { token: one }, from)), 'LINK_INVALID', one);
  }
  const beyond = { ...deps, people: { ...deps.people, isOnLoopback: false } };
  t.equal(await codeOf(signInByLink(beyond, { token }, from)), 'LINK_INVALID');
  world.clock.shift(24 * 3_600_000);
  t.equal(await codeOf(signInByLink(deps, { token }, from)), 'LINK_INVALID', 'after a day');
  t.strictSame(await ownersIn(world), []);
});

void t.test('of many who follow the link at once in two processes, one is signed in', async (t) => {
  for (let round = 0; round < 10; round += 1) {
    const world = await openAccountWorld();
    const processes = [onLoopback(world), onLoopback(world)];
    const token = assertDefined(await firstLink(processes[0]!), 'token');
    const codes = await Promise.all(
      Array.from({ length: 6 }, (_, index) => codeOf(signInByLink(processes[index % 2]!, { token }, from))),
    );
    t.strictSame(tally(codes), { fine: 1, LINK_INVALID: 5 });
    t.equal((await ownersIn(world)).length, 1);
  }
});

for (const afterwards of [false, true])
  void t.test(
    `a first link that breaks off ${afterwards ? 'after' : 'before'} a write can be followed again`,
    async (t) => {
      for (let failCall = 1; ; failCall += 1) {
        const world = await openAccountWorld();
        const deps = onLoopback(world);
        const token = assertDefined(await firstLink(deps), 'token');
        const error = new Error('the program died');
        const { port: eventLog, calls } = faultPort(deps.eventLog, { failCall, error, only: ['append'], afterwards });
        const first = await codeOf(signInByLink({ ...deps, eventLog }, { token }, from));
        const again = onLoopback(world);
        if (calls() < failCall) {
          t.equal(first, 'fine');
          t.ok(failCall > 4);
          return;
        }
        // Once the user owns the team the link is used up, and the operator makes another one for them.
        const [owner] = await ownersIn(world);
        if (owner === undefined) {
          await signInByLink(again, { token }, from);
          t.equal((await ownersIn(world)).length, 1, `write ${failCall}`);
        } else {
          t.equal(await codeOf(signInByLink(again, { token }, from)), 'LINK_INVALID');
          const { signedIn: known } = await signInByLink(
            again,
            { token: await linkFor(again, assertDefined(parseUserId(owner), 'user id')) },
            from,
          );
          t.equal(known.user.id, owner);
        }
      }
    },
  );

const open = async (): Promise<Readonly<{ world: AccountWorld; deps: CommandNeeds; ada: Person }>> => {
  const world = await openAccountWorld();
  const deps = quickly(world.elsewhere());
  return { world, deps, ada: await signedIn(deps, { email: 'ada@example.com', teamId: OTHER_TEAM }) };
};

void t.test('the link of the operator signs a person in once, within the hour, and is in the audit log', async (t) => {
  const { world, deps, ada } = await open();
  const replaced = await linkFor(deps, ada.userId);
  const token = await linkFor(deps, ada.userId);
  t.equal(await codeOf(signInByLink(deps, { token: replaced }, from)), 'LINK_INVALID', 'only the newest');
  const { signedIn: session, team } = await signInByLink(deps, { token }, from);
  t.equal(team, undefined);
  t.equal(session.user.id, ada.userId);
  t.equal(await codeOf(signInByLink(deps, { token }, from)), 'LINK_INVALID', 'once');
  const events = await world.events(userStream(ada.userId));
  t.ok(events.some(({ type }) => type === 'UserSignInLinkFollowed'));
  const caller = callerOf({ userId: ada.userId, sessionId: session.sessionId });
  await revokeOtherSessions(deps, caller, async () => []);
  await changePassword(deps, caller, { newPassword: OTHER_PASSWORD });
  await login(deps, { email: 'ada@example.com', password: OTHER_PASSWORD }, from);
  t.equal(await codeOf(changePassword(deps, caller, { newPassword: PASSWORD })), 'VALIDATION_ERROR');

  const late = await linkFor(deps, ada.userId);
  world.clock.shift(3_600_000);
  t.equal(await codeOf(signInByLink(deps, { token: late }, from)), 'LINK_INVALID');
});

void t.test('no other session chooses a password without the one of before', async (t) => {
  const { deps, ada } = await open();
  t.equal(await codeOf(changePassword(deps, callerOf(ada), { newPassword: OTHER_PASSWORD })), 'VALIDATION_ERROR');
  await signInByLink(deps, { token: await linkFor(deps, ada.userId) }, from);
  t.equal(
    await codeOf(changePassword(deps, callerOf(ada), { newPassword: OTHER_PASSWORD })),
    'VALIDATION_ERROR',
    'a session of before the link',
  );
});

void t.test('the link does not replace the second factor, and a new password ends it', async (t) => {
  const { world, deps, ada } = await open();
  const { secret } = await withSecondFactor(deps, ada).catch(() => ({ secret: '' }));
  t.not(secret, '');
  const token = await linkFor(deps, ada.userId);
  t.equal(await codeOf(signInByLink(deps, { token }, from)), 'CODE_REQUIRED');
  t.equal(await codeOf(signInByLink(deps, { token, code: '000000' }, from)), 'INVALID_CODE');
  world.clock.shift(60_000);
  const { signedIn: session } = await signInByLink(deps, { token, code: codeAt(secret, deps.clock.now()) }, from);
  t.equal(session.user.id, ada.userId);
  const other = await linkFor(deps, ada.userId);
  await sendResetLink(deps, 'ada@example.com', from);
  await resetPassword(deps, await world.tokenTo('reset'), OTHER_PASSWORD, from);
  t.equal(await codeOf(signInByLink(deps, { token: other }, from)), 'LINK_INVALID');
});

void t.test('somebody who registered an address and never proved it gets no link', async (t) => {
  const { world, deps } = await open();
  await register(deps, { email: 'bea@example.com', password: PASSWORD, name: 'Eve' }, from);
  const registered = world.store.events.findLast(({ type }) => type.startsWith('UserRegistered'));
  const id = assertDefined(parseUserId(assertDefined(registered, 'event').stream.slice('user-'.length)), 'user id');
  t.equal(await codeOf(linkFor(deps, id)), 'ADDRESS_NOT_VERIFIED');
});
