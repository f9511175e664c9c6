/** A person changes their own account: address, password, second factor; and it is erased. */
import t, { type Test } from 'tap';
import { signInAddress, ownerOf } from '../../src/commands/access/users.js';
import type { Caller } from '../../src/commands/core/caller.js';
import { handle, loadState } from '../../src/commands/core/handle.js';
import type { MailedTo } from '../../src/commands/email/service-mails.js';
import { removeSecondFactor } from '../../src/commands/people/credentials.js';
import { eraseUser, type PersonTraces } from '../../src/commands/people/erasure.js';
import { askAddressChange, changeAddress } from '../../src/commands/people/links.js';
import { makeUser } from '../../src/commands/people/registration.js';
import { login } from '../../src/commands/people/sessions.js';
import { claimAddress } from '../../src/commands/people/users.js';
import {
  type UserId,
  NO_TEAM,
  userAddressStream,
  userStream,
  assertDefined,
  parseSessionId,
  sessionStream,
  teamStream,
  parseEmailId,
  parseOAuthGrantId,
  parseTeamId,
  splitStream,
  type EmailId,
} from '../../src/domain/core/ids.js';
import { userDecider } from '../../src/domain/people/decider.js';
import { evolveTeam, type TeamState } from '../../src/domain/teams/state.js';
import { codeOf, openAccountWorld, quickly, tally, type AccountWorld } from '../support/account-world.js';
import { openWorld, type World, TEAM, OTHER_TEAM } from '../support/command-world.js';
import { T0 } from '../support/email-facts.js';
import { faultPort } from '../support/fault-port.js';
import {
  from,
  PASSWORD,
  signedIn,
  callerOf,
  codeAt,
  withSecondFactor,
  addMember,
  type Person,
} from '../support/people.js';

// Another address: asked for with the password, taken by the link, one person for each address whatever races.

t.setTimeout(900_000);

const callerOfUser = (id: UserId): Caller => ({
  teamId: NO_TEAM,
  actor: `user:${id}`,
  permissions: ['profile:write'],
  correlationId: 'request-1',
  user: { id },
});
const ask = (email: string, password = PASSWORD) => ({ email, password });
const logIn = ({ commands }: AccountWorld, email: string) =>
  codeOf(commands.login({ email, password: PASSWORD }, from));

void t.test(
  'it is taken when the link is followed; the session stays, the address of before signs nobody in',
  async (t) => {
    const world = await openAccountWorld();
    const ada = await signedIn(world.deps, { email: 'ada@example.com' });
    const { commands } = world;
    await commands.askAddressChange(callerOfUser(ada.userId), ask('Ada@New.example'));
    t.strictSame(
      (await world.mails()).map(({ to, page }) => [to, page]),
      [
        ['ada@example.com', ''],
        ['ada@new.example', 'address'],
      ],
    );
    t.equal(await logIn(world, 'ada@new.example'), 'INVALID_CREDENTIALS', 'not before');
    const token = await world.tokenTo('address');
    t.strictSame(await commands.changeAddress(token, PASSWORD, 'r'), { email: 'ada@new.example' });
    t.equal(await codeOf(commands.changeAddress(token, PASSWORD, 'r')), 'LINK_INVALID', 'once');
    t.equal((await world.mails()).at(-1)?.to, 'ada@example.com', 'the address of before is told');
    t.equal(await logIn(world, 'ada@new.example'), 'fine');
    t.equal(await logIn(world, 'ada@example.com'), 'INVALID_CREDENTIALS');
    t.equal(await codeOf(commands.refresh(ada.refreshToken, 'r')), 'fine', 'the session goes on');
    t.match(await commands.getOwnUser(callerOfUser(ada.userId)), { email: 'ada@new.example', emailVerified: true });
    await signedIn(world.deps, { email: 'ada@example.com', name: 'Another Ada' });
    t.equal(await logIn(world, 'ada@new.example'), 'fine', 'the address that is free is not hers any more');
  },
);

void t.test('it needs the password, and links lapse: by time, by the next one, by another password', async (t) => {
  const world = await openAccountWorld();
  const { userId } = await signedIn(world.deps, { email: 'ada@example.com' });
  const { commands, clock, deps } = world;
  const asking = (email: string, password?: string) =>
    codeOf(commands.askAddressChange(callerOfUser(userId), ask(email, password)));
  t.equal(await asking('ada@new.example', 'a wrong one for sure'), 'INVALID_CREDENTIALS');
  t.equal(await asking('nobody'), 'ERR_EMAIL_001');
  t.equal(await asking('ADA@example.com'), 'VALIDATION_ERROR', 'it is hers');
  t.strictSame(await world.mails(), []);
  t.equal(await asking('first@new.example'), 'fine');
  const first = await world.tokenTo('address');
  t.equal(await asking('second@new.example'), 'fine');
  t.equal(await codeOf(commands.changeAddress(first, PASSWORD, 'r')), 'LINK_INVALID');
  await clock.advance(deps.limits.changeLinkMs);
  t.equal(await codeOf(commands.changeAddress(await world.tokenTo('address'), PASSWORD, 'r')), 'LINK_INVALID');
  t.equal(await asking('third@new.example'), 'fine');
  await commands.sendResetLink('ada@example.com', 'r');
  await commands.resetPassword(await world.tokenTo('reset'), PASSWORD, 'r');
  t.equal(await codeOf(commands.changeAddress(await world.tokenTo('address'), PASSWORD, 'r')), 'LINK_INVALID');
  for (const wrong of ['', 'x', await world.tokenTo('reset')])
    t.equal(await codeOf(commands.changeAddress(wrong, PASSWORD, 'r')), 'LINK_INVALID');
  t.equal(await logIn(world, 'ada@example.com'), 'fine');
});

void t.test(
  'who reads the mails of an address that somebody else asked for gains nothing and loses nothing by the link',
  async (t) => {
    const world = await openAccountWorld();
    const eve = await signedIn(world.deps, { email: 'eve@example.com', name: 'Eve' });
    await world.commands.askAddressChange(callerOfUser(eve.userId), ask('ada@example.com'));
    const token = await world.tokenTo('address');
    for (const password of ['', 'a pelican in the snow'])
      t.equal(await codeOf(world.commands.changeAddress(token, password, 'r')), 'INVALID_CREDENTIALS');
    t.equal(await logIn(world, 'ada@example.com'), 'INVALID_CREDENTIALS', 'Eve signs in by no address but hers');
    t.equal(await logIn(world, 'eve@example.com'), 'fine');
    t.strictSame(
      await world.events(userAddressStream(signInAddress(world.deps, 'ada@example.com').addressId)),
      [],
      'and nobody has the other',
    );
    t.equal(await codeOf(world.commands.changeAddress(token, PASSWORD, 'r')), 'fine', 'a slip ends no link');
  },
);

void t.test('an address that is taken is answered as one that is not, and never taken', async (t) => {
  const world = await openAccountWorld();
  const { userId } = await signedIn(world.deps, { email: 'ada@example.com' });
  await signedIn(world.deps, { email: 'bea@example.com', name: 'Bea' });
  t.equal(await codeOf(world.commands.askAddressChange(callerOfUser(userId), ask('Bea@example.com'))), 'fine');
  t.strictSame(
    (await world.mails()).map(({ to, token }) => [to, token]),
    [
      ['ada@example.com', ''],
      ['bea@example.com', ''],
    ],
    'Bea is told, and gets no link',
  );
});

void t.test('of those who take one address at once, by changing and by registering, one has it', async (t) => {
  for (let round = 0; round < 10; round += 1) {
    const world = await openAccountWorld();
    const processes = Array.from({ length: 3 }, () => quickly(world.elsewhere()));
    const [one, two, three] = processes as [(typeof processes)[0], (typeof processes)[0], (typeof processes)[0]];
    const person = (email: string) =>
      makeUser(one, { email, password: PASSWORD, name: email }, { isVerified: true, from: 'r' });
    const [ada, bea] = [await person('ada@example.com'), await person('bea@example.com')];
    await askAddressChange(one, callerOfUser(ada), ask('new@example.com'));
    const ofAda = await world.tokenTo('address');
    await askAddressChange(one, callerOfUser(bea), ask('new@example.com'));
    const ofBea = await world.tokenTo('address');
    const racing = [
      () => changeAddress(one, ofAda, PASSWORD, 'r'),
      () => changeAddress(two, ofBea, PASSWORD, 'r'),
      () =>
        makeUser(three, { email: 'new@example.com', password: PASSWORD, name: 'Cy' }, { isVerified: true, from: 'r' }),
    ];
    const turned = [...racing.slice(round % 3), ...racing.slice(0, round % 3)];
    const codes = await Promise.all(turned.map((work) => codeOf(work())));
    t.equal(tally(codes)['fine'] ?? 0, 1, `one of ${codes.join(', ')}`);
    const { addressId } = signInAddress(one, 'new@example.com');
    const holders = [];
    for (const id of [ada, bea]) {
      const changed = (await world.events(userStream(id))).some(({ type }) => type === 'UserAddressChanged');
      if (changed) holders.push(id);
    }
    t.ok(holders.length <= 1);
    t.equal((await world.events(userAddressStream(addressId))).at(-1)?.type, 'UserAddressClaimed');
  }
});

void t.test('whatever breaks off while the link is followed, it does it again, and one address signs in', async (t) => {
  for (const afterwards of [false, true])
    for (let failCall = 1; ; failCall += 1) {
      const world = await openAccountWorld();
      const deps = quickly(world.elsewhere());
      const ada = await makeUser(
        deps,
        { email: 'ada@example.com', password: PASSWORD, name: 'Ada' },
        { isVerified: true, from: 'r' },
      );
      await askAddressChange(deps, callerOfUser(ada), ask('new@example.com'));
      const token = await world.tokenTo('address');
      const error = new Error('the program died');
      const { port: eventLog, calls } = faultPort(deps.eventLog, { failCall, error, only: ['append'], afterwards });
      await codeOf(changeAddress({ ...deps, eventLog }, token, PASSWORD, 'r'));
      const again = await codeOf(changeAddress(quickly(world.elsewhere()), token, PASSWORD, 'r'));
      t.match(again, /^(?:fine|LINK_INVALID)$/);
      const changes = (await world.events(userStream(ada))).filter(({ type }) => type === 'UserAddressChanged');
      t.equal(changes.length, 1, `write ${failCall}`);
      if (calls() < failCall) {
        t.ok(failCall > 2);
        break;
      }
    }
});

// Choosing another password: which sessions go on.

const email = 'ada@example.com';
const NEXT = 'two herons on a roof';

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

// The second factor: set up, asked for, each code good once, given up; and teams that ask for it.

const STEP_MS = 30_000;

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

// A person who goes, however it is broken off, and whatever happens at the same moment.

/** The readable traces of a person in the log. */
const tracesOf =
  ({ deps }: Pick<World, 'deps'>) =>
  async (userId: UserId): Promise<PersonTraces> => {
    const traces = { teams: [] as PersonTraces['teams'][number][], sessions: [] as PersonTraces['sessions'][number][] };
    const grants: PersonTraces['grants'][number][] = [];
    for await (const { events } of deps.eventLog.readAll(0))
      for (const { event, stream } of events) {
        const { id } = splitStream(stream);
        if (event.type === 'MemberAdded' && event.data.userId === userId)
          traces.teams.push(assertDefined(parseTeamId(id), 'team'));
        if (event.type === 'SessionStarted' && event.data.userId === userId)
          traces.sessions.push(assertDefined(parseSessionId(id), 'session'));
        if (event.type === 'OAuthGrantGiven' && event.data.userId === userId)
          grants.push(assertDefined(parseOAuthGrantId(id), 'grant'));
      }
    return { ...traces, grants, mails: [] };
  };

/** As the read models tell: those that are not archived. */
const mailsTo = async ({ deps }: Pick<World, 'deps'>, { addresses }: MailedTo): Promise<readonly EmailId[]> => {
  const ids: EmailId[] = [];
  for await (const { events } of deps.eventLog.readAll(0, { kinds: ['email'] }))
    for (const { event, stream } of events)
      if (event.type === 'EmailQueued' && addresses.includes(event.sealed?.recipients[0]?.email ?? ''))
        ids.push(assertDefined(parseEmailId(splitStream(stream).id), 'email'));
  return ids;
};

const cause = { teamId: TEAM, actor: 'cli', correlationId: 'test', causationId: 'test', at: T0 };
const erase = (world: World, { userId }: Pick<Person, 'userId'>) =>
  eraseUser(world.deps, userId, tracesOf(world), cause);

const membersOf = async ({ deps }: World, team = TEAM): Promise<readonly (readonly [string, string])[]> => {
  const { state } = await loadState(deps.eventLog, teamStream(team), {
    evolve: evolveTeam,
    initialState: undefined as TeamState,
  });
  return [...(state?.members ?? [])].map(([id, { role }]) => [id, role]);
};

/** Ada is in two teams, of which others own each, and signed in twice. */
const open = async () => {
  const world = await openWorld();
  const bea = await signedIn(world.deps, { email: 'bea@example.com', teamId: TEAM });
  await addMember(world.deps, OTHER_TEAM, bea.userId, 'owner');
  const ada = await signedIn(world.deps, { email, teamId: TEAM, role: 'admin' });
  await addMember(world.deps, OTHER_TEAM, ada.userId, 'owner');
  const other = await login(world.deps, { email, password: PASSWORD }, from);
  return { world, ada, bea, other };
};

const assertGone = async (t: Test, { world, ada, other }: Awaited<ReturnType<typeof open>>): Promise<void> => {
  for (const team of [TEAM, OTHER_TEAM]) t.notOk((await membersOf(world, team)).some(([id]) => id === ada.userId));
  for (const { sessionId } of [ada, other]) {
    const [started, ended] = await world.deps.eventLog.load(
      sessionStream(assertDefined(parseSessionId(sessionId), 'id')),
    );
    t.equal(started?.event.type === 'SessionStarted' && started.event.sealed, undefined);
    t.match(ended?.event, { type: 'SessionEnded', data: { reason: 'erased' } });
  }
  const [registered, ...others] = await world.deps.eventLog.load(userStream(ada.userId));
  t.equal(registered?.event.type === 'UserRegistered' && registered.event.sealed, undefined);
  t.equal(others.filter(({ event }) => event.type === 'UserErased').length, 1);
  t.equal(await codeOf(login(world.deps, { email, password: PASSWORD }, from)), 'INVALID_CREDENTIALS');
  t.equal(await codeOf(signedIn(world.deps, { email })), 'fine', 'the address is free');
};

void t.test(
  'mails of the service to any of their addresses go at once, wherever it is broken off; those to others stay',
  async (t) => {
    for (let at = 1; ; at += 1) {
      const world = await openAccountWorld();
      const [ada, bea] = [
        await signedIn(world.deps, { email }),
        await signedIn(world.deps, { email: 'bea@example.com' }),
      ];
      await world.commands.sendResetLink(email, 'r');
      await world.commands.sendResetLink('bea@example.com', 'r');
      await world.commands.askAddressChange(callerOf(ada), { email: 'next@example.com', password: PASSWORD });
      await world.commands.changeAddress(await world.tokenTo('address'), PASSWORD, 'r');
      t.equal((await world.mails()).length, 5);
      const asked: MailedTo[] = [];
      const traces = async (userId: UserId, mailed: MailedTo): Promise<PersonTraces> => {
        asked.push(mailed);
        return { ...(await tracesOf(world)(userId)), mails: await mailsTo(world, mailed) };
      };
      let left = at;
      world.store.beforeAppend(() => {
        left -= 1;
        if (left === 0) throw new Error('killed');
      });
      const erasing = () => codeOf(eraseUser(world.deps, ada.userId, traces, cause));
      if ((await erasing()) !== 'fine') t.equal(await erasing(), 'fine');
      t.same(asked[0], { teamId: OTHER_TEAM, addresses: [email, 'next@example.com'] });
      t.same(
        (await world.mails()).map(({ to }) => to),
        ['bea@example.com'],
        `broken off at ${at}`,
      );
      t.ok((await world.events(userStream(bea.userId))).length > 0);
      if (left > 0) break;
    }
  },
);

void t.test('wherever it is broken off, it is done when it is done again', async (t) => {
  for (let at = 1; ; at += 1) {
    const setting = await open();
    const { world, ada } = setting;
    let left = at;
    world.store.beforeAppend(() => {
      left -= 1;
      if (left === 0) throw new Error('killed');
    });
    const first = await codeOf(erase(world, ada));
    world.store.beforeAppend(undefined);
    if (first === 'fine') {
      t.ok(at > 5, `${at} appends`);
      await assertGone(t, setting);
      return;
    }
    t.match(first, /killed/);
    await erase(world, ada);
    await assertGone(t, setting);
  }
});

void t.test('the only owner of a team stays, and is told which', async (t) => {
  const { world, bea } = await open();
  const fault = await erase(world, bea).catch((error: unknown) => error);
  t.match(fault, { code: 'LAST_OWNER', details: { relatedInfo: { teams: TEAM } } });
  t.match((fault as Error).message, `Shop (${TEAM})`);
  t.equal((await membersOf(world, OTHER_TEAM)).length, 2, 'not out of the other team either');
  t.equal(await codeOf(login(world.deps, { email: 'bea@example.com', password: PASSWORD }, from)), 'fine');
});

void t.test('of two owners who go at the same moment one stays', async (t) => {
  const { world, ada, bea } = await open();
  await addMember(world.deps, TEAM, (await signedIn(world.deps, { email: 'cy@example.com' })).userId, 'owner');
  const ends = await Promise.all([codeOf(erase(world, ada)), codeOf(erase(world, bea))]);
  t.strictSame(ends.toSorted(), ['LAST_OWNER', 'fine']);
  t.equal((await membersOf(world, OTHER_TEAM)).filter(([, role]) => role === 'owner').length, 1);
});

void t.test('a sign-in at the same moment begins nothing that goes on', async (t) => {
  const { world, ada } = await open();
  const elsewhere = world.elsewhere();
  const { verify } = elsewhere.people.passwords;
  const passwords = {
    ...elsewhere.people.passwords,
    verify: async (...given: Parameters<typeof verify>) => {
      const isRight = await verify(...given);
      await erase(world, ada);
      return isRight;
    },
  };
  const late = await login(
    { ...elsewhere, people: { ...elsewhere.people, passwords } },
    { email, password: PASSWORD },
    from,
  );
  t.equal(
    await codeOf(world.commands.authenticate(late.accessToken, { asked: undefined, isNeeded: false })),
    'SESSION_ENDED',
  );
  t.equal(await codeOf(world.commands.refresh(late.refreshToken, 'r')), 'SESSION_ENDED');
  const id = assertDefined(parseSessionId(late.sessionId), 'id');
  const [started] = await world.deps.eventLog.load(sessionStream(id));
  t.equal(
    started?.event.type === 'SessionStarted' && started.event.sealed,
    undefined,
    'the first use destroys from where it was',
  );
});

void t.test('who is erased is nobody to every command', async (t) => {
  const { world, ada } = await open();
  await erase(world, ada);
  const me = callerOf(ada);
  t.equal(await codeOf(world.commands.getOwnUser(me)), 'USER_NOT_FOUND');
  t.equal(await codeOf(world.commands.prepareSecondFactor(me, { password: PASSWORD })), 'USER_NOT_FOUND');
  t.equal(
    await codeOf(world.commands.changePassword(me, { currentPassword: PASSWORD, newPassword: 'two herons on a roof' })),
    'USER_NOT_FOUND',
  );
  t.equal(await codeOf(world.commands.eraseOwnUser(me, { password: PASSWORD }, tracesOf(world))), 'USER_NOT_FOUND');
  t.equal(await codeOf(world.commands.updateOwnUser(me, { name: 'Eve' })), 'USER_NOT_FOUND');
});

void t.test('an address that is taken at the same moment is free again, as is the one before', async (t) => {
  const { world, ada } = await open();
  const { addressId } = signInAddress(world.deps, 'ada@new.example.com');
  let isFirst = true;
  const changing = async (userId: UserId) => {
    if (isFirst) {
      isFirst = false;
      await claimAddress(world.deps, addressId, userId, cause);
      const changed = {
        type: 'UserAddressChanged' as const,
        data: { at: T0, addressId },
        sealed: { email: 'ada@new.example.com' },
      };
      await handle(world.deps.eventLog, userStream(userId), { ...userDecider, decide: () => [changed] }, null, cause);
    }
    return tracesOf(world)(userId);
  };
  await eraseUser(world.deps, ada.userId, changing, cause);
  for (const address of [email, 'ada@new.example.com'])
    t.equal(await ownerOf(world.deps, signInAddress(world.deps, address).addressId), undefined, address);
});
