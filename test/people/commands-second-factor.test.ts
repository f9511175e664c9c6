/** The second factor: set up, asked for, each code good once, given up; and teams that ask for it. */
import t from 'tap';
import { login } from '../../src/commands/people/sessions.js';
import { removeSecondFactor } from '../../src/commands/people/credentials.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { assertDefined, parseSessionId, sessionStream, teamStream, userStream } from '../../src/domain/core/ids.js';
import { evolveTeam } from '../../src/domain/teams/state.js';
import { handle } from '../../src/commands/core/handle.js';
import { openWorld, TEAM, type World } from '../support/command-world.js';
import { T0 } from '../support/email-facts.js';
import { callerOf, codeAt, from, PASSWORD, signedIn, withSecondFactor } from '../support/people.js';

const STEP_MS = 30_000;
const email = 'ada@example.com';

const codeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'fine',
    (fault: unknown) => (fault instanceof DomainError ? fault.code : String(fault)),
  );

const signIn = (world: World, code?: string) =>
  world.commands.login({ email, password: PASSWORD, ...(code === undefined ? {} : { code }) }, from);

const requireFactor = async (world: World): Promise<void> => {
  const decide = () => [{ type: 'TeamSecurityChanged' as const, data: { at: T0, requiresSecondFactor: true } }];
  const cause = { teamId: TEAM, actor: 'cli', correlationId: 'test', causationId: 'test', at: T0 };
  await handle(
    world.deps.eventLog,
    teamStream(TEAM),
    { decide, evolve: evolveTeam, initialState: undefined },
    null,
    cause,
  );
};

const inTeam = (world: World, token: string) =>
  codeOf(world.commands.authenticate(token, { asked: TEAM, isNeeded: true }));

void t.test('a second factor is prepared with the password and confirmed by a code', async (t) => {
  const world = await openWorld();
  const ada = await signedIn(world.deps);
  const me = callerOf(ada);
  t.equal(
    await codeOf(world.commands.prepareSecondFactor(me, { password: 'a wrong one for sure' })),
    'INVALID_CREDENTIALS',
  );
  t.equal(await codeOf(world.commands.confirmSecondFactor(me, { code: '000000' })), 'SECOND_FACTOR_NOT_SET');
  const { secret, url, qrCode } = await world.commands.prepareSecondFactor(me, { password: PASSWORD });
  t.match(url, /^otpauth:\/\/totp\/sealpost:ada%40example\.com\?/);
  t.ok(url.includes(secret));
  t.equal(Buffer.from(qrCode.slice('data:image/png;base64,'.length), 'base64').subarray(1, 4).toString(), 'PNG');
  t.equal(await codeOf(signIn(world)), 'fine', 'nothing is asked for yet');
  t.equal(
    await codeOf(world.commands.confirmSecondFactor(me, { code: codeAt(secret, world.clock.now() + 10 * STEP_MS) })),
    'INVALID_CODE',
  );
  const now = codeAt(secret, world.clock.now());
  const { recoveryCodes } = await world.commands.confirmSecondFactor(me, {
    code: `${now.slice(0, 3)} ${now.slice(3)}`,
  });
  t.equal(new Set(recoveryCodes).size, 10);
  for (const code of recoveryCodes) t.match(code, /^[0-9a-z]{4}(?:-[0-9a-z]{4}){3}$/);
  const stored = JSON.stringify(await world.events(userStream(ada.userId)));
  for (const code of recoveryCodes) t.notOk(stored.includes(code), 'kept as a hash');
  t.equal((await world.commands.getOwnUser(me)).secondFactor, true);
  t.equal(await codeOf(signIn(world)), 'CODE_REQUIRED');
  t.equal(await codeOf(signIn(world, now)), 'INVALID_CODE', 'the code of the confirmation is used up');
  await world.clock.advance(STEP_MS);
  t.equal(await codeOf(signIn(world, codeAt(secret, world.clock.now()))), 'fine');
  t.equal(
    await codeOf(world.commands.prepareSecondFactor(me, { password: PASSWORD })),
    'SECOND_FACTOR_SET',
    'who stole a session replaces none',
  );
  t.equal(await codeOf(world.commands.confirmSecondFactor(me, { code: now })), 'SECOND_FACTOR_SET');
});

void t.test('what was prepared is confirmed within an hour', async (t) => {
  const world = await openWorld();
  const ada = await signedIn(world.deps);
  const { secret } = await world.commands.prepareSecondFactor(callerOf(ada), { password: PASSWORD });
  await world.clock.advance(world.deps.limits.secondFactorPreparedMs);
  t.equal(
    await codeOf(world.commands.confirmSecondFactor(callerOf(ada), { code: codeAt(secret, world.clock.now()) })),
    'SECOND_FACTOR_NOT_SET',
  );
});

void t.test('a code is good once: again, before its time, by many at once and in two processes', async (t) => {
  const world = await openWorld();
  const { secret, recoveryCodes } = await withSecondFactor(world.deps, await signedIn(world.deps));
  await world.clock.advance(2 * STEP_MS);
  const code = codeAt(secret, world.clock.now());
  const processes = [world.deps, world.elsewhere()];
  const raced = (given: string) =>
    Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        codeOf(login(processes[at % 2]!, { email, password: PASSWORD, code: given }, from)),
      ),
    );
  const codes = await raced(code);
  t.equal(codes.filter((each) => each === 'fine').length, 1);
  // A request that loses a conflict too often is told to try again.
  t.ok(codes.every((each) => ['fine', 'INVALID_CODE', 'CONFLICT'].includes(each)));
  t.equal(await codeOf(signIn(world, code)), 'INVALID_CODE');
  t.equal(
    await codeOf(signIn(world, codeAt(secret, world.clock.now() - STEP_MS))),
    'INVALID_CODE',
    'one of before that which was used',
  );
  t.equal(
    await codeOf(signIn(world, codeAt(secret, world.clock.now() + STEP_MS))),
    'fine',
    'a clock that is half a minute ahead',
  );
  const recovered = await raced(recoveryCodes[3]!.toUpperCase().replaceAll('-', ' '));
  t.equal(recovered.filter((each) => each === 'fine').length, 1);
  t.equal(await codeOf(signIn(world, recoveryCodes[3])), 'INVALID_CODE');
  t.equal(await codeOf(signIn(world, recoveryCodes[4])), 'fine');
  t.equal(await codeOf(signIn(world, 'aaaa-bbbb-cccc-dddd')), 'INVALID_CODE');
});

void t.test('recovery codes are taken anew, and the second factor is given up, with password and code', async (t) => {
  const world = await openWorld();
  const ada = await signedIn(world.deps);
  const me = callerOf(ada);
  t.equal(
    await codeOf(world.commands.removeSecondFactor(me, { password: PASSWORD, code: '000000' })),
    'SECOND_FACTOR_NOT_SET',
  );
  const { secret, recoveryCodes } = await withSecondFactor(world.deps, ada);
  t.equal(
    await codeOf(world.commands.renewRecoveryCodes(me, { password: 'another one', code: recoveryCodes[0]! })),
    'INVALID_CREDENTIALS',
  );
  const renewed = await world.commands.renewRecoveryCodes(me, { password: PASSWORD, code: recoveryCodes[0]! });
  for (const old of recoveryCodes) t.equal(await codeOf(signIn(world, old)), 'INVALID_CODE');
  t.equal(
    await codeOf(signIn(world, renewed.recoveryCodes[0])),
    'fine',
    'the first of the new ones is not taken for the first of the old',
  );
  await world.clock.advance(2 * STEP_MS);
  const code = codeAt(secret, world.clock.now());
  t.equal(await codeOf(world.commands.removeSecondFactor(me, { password: PASSWORD, code: '000000' })), 'INVALID_CODE');
  await world.commands.removeSecondFactor(me, { password: PASSWORD, code });
  t.equal(await codeOf(signIn(world)), 'fine');
  t.equal((await world.events(userStream(ada.userId))).at(-1)?.type, 'SecondFactorRemoved');
});

void t.test('a sign-in that meets the removal of the factor has given none', async (t) => {
  const world = await openWorld();
  const ada = await signedIn(world.deps, { teamId: TEAM });
  const { secret, recoveryCodes } = await withSecondFactor(world.deps, ada);
  await world.clock.advance(2 * STEP_MS);
  const elsewhere = world.elsewhere();
  // The factor goes after the sign-in has read that there is one.
  const verify = elsewhere.people.passwords.verify;
  const people = {
    ...elsewhere.people,
    passwords: {
      ...elsewhere.people.passwords,
      verify: async (...given: Parameters<typeof verify>) => {
        await removeSecondFactor(world.deps, callerOf(ada), { password: PASSWORD, code: recoveryCodes[0]! });
        return verify(...given);
      },
    },
  };
  const session = await login({ ...elsewhere, people }, { email, password: PASSWORD, code: '000000' }, from);
  const { state } = await elsewhere.session(sessionStream(assertDefined(parseSessionId(session.sessionId), 'id')));
  t.equal(state?.secondFactor, false);
  t.ok(secret);
});

void t.test('a team that asks for a second factor lets in who gave one, in this session', async (t) => {
  const world = await openWorld();
  const ada = await signedIn(world.deps, { teamId: TEAM });
  const other = await signIn(world);
  await requireFactor(world);
  t.equal(await inTeam(world, ada.accessToken), 'SECOND_FACTOR_REQUIRED');
  t.equal(
    await codeOf(world.commands.authenticate(ada.accessToken, { asked: undefined, isNeeded: false })),
    'fine',
    'setting one up',
  );
  const { secret, recoveryCodes } = await withSecondFactor(world.deps, ada);
  t.equal(await inTeam(world, ada.accessToken), 'fine', 'the session that set it up');
  t.equal(await inTeam(world, other.accessToken), 'SECOND_FACTOR_REQUIRED', 'a session of before gave none');
  await world.clock.advance(STEP_MS);
  const next = await signIn(world, codeAt(secret, world.clock.now()));
  t.equal(await inTeam(world, next.accessToken), 'fine');
  await world.commands.removeSecondFactor(callerOf(ada), { password: PASSWORD, code: recoveryCodes[0]! });
  t.equal(await inTeam(world, next.accessToken), 'SECOND_FACTOR_REQUIRED', 'what was given of a factor that is gone');
  t.equal(await inTeam(world, ada.accessToken), 'SECOND_FACTOR_REQUIRED');
});
