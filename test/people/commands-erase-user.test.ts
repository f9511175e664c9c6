/** A person who goes, however it is broken off, and whatever happens at the same moment. */
import t, { type Test } from 'tap';
import { eraseUser, type PersonTraces } from '../../src/commands/people/erasure.js';
import type { MailedTo } from '../../src/commands/email/service-mails.js';
import { login } from '../../src/commands/people/sessions.js';
import { DomainError } from '../../src/domain/core/errors.js';
import {
  assertDefined,
  parseEmailId,
  parseOAuthGrantId,
  parseSessionId,
  parseTeamId,
  sessionStream,
  splitStream,
  teamStream,
  userStream,
  type EmailId,
  type UserId,
} from '../../src/domain/core/ids.js';
import { evolveTeam, type TeamState } from '../../src/domain/teams/state.js';
import { handle, loadState } from '../../src/commands/core/handle.js';
import { claimAddress } from '../../src/commands/people/users.js';
import { userDecider } from '../../src/domain/people/decider.js';
import { ownerOf, signInAddress } from '../../src/commands/access/users.js';
import { openAccountWorld } from '../support/account-world.js';
import { openWorld, OTHER_TEAM, TEAM, type World } from '../support/command-world.js';
import { T0 } from '../support/email-facts.js';
import { addMember, callerOf, from, PASSWORD, signedIn, type Person } from '../support/people.js';

const email = 'ada@example.com';

const codeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'fine',
    (fault: unknown) => (fault instanceof DomainError ? fault.code : String(fault)),
  );

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
