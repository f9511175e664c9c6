/** Choosing another password: which sessions go on. */
import t from 'tap';
import { DomainError } from '../../src/domain/core/errors.js';
import { openWorld, type World } from '../support/command-world.js';
import { callerOf, from, PASSWORD, signedIn } from '../support/people.js';

const email = 'ada@example.com';
const NEXT = 'two herons on a roof';

const codeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'fine',
    (fault: unknown) => (fault instanceof DomainError ? fault.code : String(fault)),
  );

const admitted = (world: World, token: string): Promise<string> =>
  codeOf(world.commands.authenticate(token, { asked: undefined, isNeeded: false }));

void t.test('another password ends all other sessions', async (t) => {
  const world = await openWorld();
  const ada = await signedIn(world.deps);
  const other = await world.commands.login({ email, password: PASSWORD }, from);
  const change = (currentPassword: string, newPassword: string) =>
    codeOf(world.commands.changePassword(callerOf(ada), { currentPassword, newPassword }));
  t.equal(await change('a wrong one for sure', NEXT), 'INVALID_CREDENTIALS');
  t.equal(await change(PASSWORD, 'too short'), 'VALIDATION_ERROR');
  t.equal(await change(PASSWORD, 'password2026'), 'VALIDATION_ERROR');
  t.equal(await admitted(world, other.accessToken), 'fine', 'nothing has happened yet');
  t.equal(await change(PASSWORD, NEXT), 'fine');
  t.equal(await admitted(world, ada.accessToken), 'fine');
  t.equal(await admitted(world, other.accessToken), 'SESSION_ENDED');
  t.equal(await codeOf(world.commands.refresh(other.refreshToken, 'r')), 'SESSION_ENDED');
  t.equal(await codeOf(world.commands.refresh(ada.refreshToken, 'r')), 'fine');
  t.equal(await codeOf(world.commands.login({ email, password: PASSWORD }, from)), 'INVALID_CREDENTIALS');
  t.equal(await codeOf(world.commands.login({ email, password: NEXT }, from)), 'fine');
});

void t.test('the session that goes on does so through several changes', async (t) => {
  const world = await openWorld();
  const ada = await signedIn(world.deps);
  let current = PASSWORD;
  for (const newPassword of [NEXT, 'three geese by the gate', 'four owls in the barn']) {
    await world.commands.changePassword(callerOf(ada), { currentPassword: current, newPassword });
    t.equal(await admitted(world, ada.accessToken), 'fine');
    current = newPassword;
  }
  const later = await world.commands.login({ email, password: current }, from);
  await world.commands.changePassword(callerOf({ ...later, userId: ada.userId }), {
    currentPassword: current,
    newPassword: NEXT,
  });
  t.equal(await admitted(world, ada.accessToken), 'SESSION_ENDED');
  t.equal(await admitted(world, later.accessToken), 'fine');
});

void t.test('of two sessions that change the password at the same moment one goes on', async (t) => {
  const world = await openWorld();
  const ada = await signedIn(world.deps);
  const other = await world.commands.login({ email, password: PASSWORD }, from);
  const codes = await Promise.all(
    [callerOf(ada), callerOf({ ...other, userId: ada.userId })].map((caller, at) =>
      codeOf(
        world.commands.changePassword(caller, {
          currentPassword: PASSWORD,
          newPassword: [NEXT, 'three geese by the gate'][at]!,
        }),
      ),
    ),
  );
  t.strictSame(codes.toSorted(), ['SESSION_ENDED', 'fine'].toSorted());
  const ends = await Promise.all([ada, other].map(({ accessToken }) => admitted(world, accessToken)));
  t.strictSame(ends.toSorted(), ['SESSION_ENDED', 'fine'].toSorted());
});
