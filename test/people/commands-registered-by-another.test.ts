/**
 * A stranger registers an address of another person and waits: the person who proves the address chooses the password,
 * and all sessions and links from before are void.
 */
import t from 'tap';
import { codeOf, openAccountWorld, type AccountWorld } from '../support/account-world.js';
import { verifyAddress } from '../../src/commands/people/links.js';
import { from, PASSWORD, signedIn } from '../support/people.js';
import { OTHER_TEAM, TEAM } from '../support/command-world.js';
import { permissionsOfRole } from '../../src/domain/access/permissions.js';

t.setTimeout(170_000);

const email = 'ada@example.com';
const THEIRS = 'the password of somebody else';

/** The first person owns the first team, and is nobody of these. */
const open = async (): Promise<AccountWorld> => {
  const world = await openAccountWorld();
  await signedIn(world.deps, { email: 'owner@example.com', role: 'owner', teamId: OTHER_TEAM });
  return world;
};
const register = (world: AccountWorld, password: string, name: string) =>
  codeOf(world.commands.register({ email, password, name }, 'r'));
const signIn = (world: AccountWorld, password: string) => codeOf(world.commands.login({ email, password }, from));

void t.test(
  'who follows the link of a registration that is not theirs gives the password, and that of the registration signs nobody in',
  async (t) => {
    const world = await open();
    await register(world, THEIRS, 'Eve');
    const token = await world.tokenTo('verify');
    for (const none of ['', 'short', 'password2026'])
      t.equal(
        await codeOf(world.commands.verifyAddress(token, none, 'r')),
        'VALIDATION_ERROR',
        'without a password the link does nothing',
      );
    t.equal(await signIn(world, THEIRS), 'ADDRESS_NOT_VERIFIED');
    t.equal(await codeOf(world.commands.verifyAddress(token, PASSWORD, 'r')), 'fine');
    t.equal(await signIn(world, THEIRS), 'INVALID_CREDENTIALS');
    t.equal(await signIn(world, PASSWORD), 'fine');
    t.equal(await codeOf(world.commands.verifyAddress(token, THEIRS, 'r')), 'LINK_INVALID', 'it is good once');
    t.equal(await signIn(world, PASSWORD), 'fine');
  },
);

void t.test(
  'who gives the password of the registration has it still, and nothing is told of another one',
  async (t) => {
    const world = await open();
    await register(world, PASSWORD, 'Ada');
    const token = await world.tokenTo('verify');
    t.equal(await codeOf(world.commands.verifyAddress(token, PASSWORD, 'r')), 'fine');
    t.equal(await signIn(world, PASSWORD), 'fine');
    t.notOk(world.store.events.some(({ type }) => type.startsWith('UserPasswordChanged')));
  },
);

void t.test('a registration between the look at the link and its use ends the link', async (t) => {
  const world = await open();
  await register(world, PASSWORD, 'Ada');
  const token = await world.tokenTo('verify');
  const { passwords } = world.deps.people;
  const slow = {
    ...passwords,
    verify: async (hash: string | undefined, given: string) => {
      const isRight = await passwords.verify(hash, given);
      await register(world, THEIRS, 'Eve');
      return isRight;
    },
  };
  t.equal(
    await codeOf(
      verifyAddress({ ...world.deps, people: { ...world.deps.people, passwords: slow } }, token, PASSWORD, 'r'),
    ),
    'LINK_INVALID',
  );
  t.equal(await codeOf(world.commands.verifyAddress(await world.tokenTo('verify'), PASSWORD, 'r')), 'fine');
  t.equal(await signIn(world, THEIRS), 'INVALID_CREDENTIALS');
  t.equal(await signIn(world, PASSWORD), 'fine');
});

void t.test('who registers the address after them gets another link; the one before ends', async (t) => {
  const world = await open();
  t.equal(await register(world, THEIRS, 'Eve'), 'fine');
  const first = await world.tokenTo('verify');
  t.equal(await register(world, PASSWORD, 'Ada'), 'fine');
  t.equal(await codeOf(world.commands.verifyAddress(first, PASSWORD, 'r')), 'LINK_INVALID');
  t.equal(await signIn(world, THEIRS), 'INVALID_CREDENTIALS');
  t.equal(await signIn(world, PASSWORD), 'ADDRESS_NOT_VERIFIED');
  await world.commands.verifyAddress(await world.tokenTo('verify'), PASSWORD, 'r');
  t.match(await world.commands.login({ email, password: PASSWORD }, from), { user: { name: 'Ada' } });
  t.equal(await signIn(world, THEIRS), 'INVALID_CREDENTIALS');
  t.equal(await register(world, THEIRS, 'Eve'), 'fine', 'answered alike once it is verified');
  t.equal(await signIn(world, PASSWORD), 'fine', 'and nothing is changed');
  t.match((await world.mails()).at(-1)?.subject, /You already have an account/);
});

void t.test(
  'who registers the address of somebody that waits for their mail gains nothing: the newest link alone is good, for the password that comes with it',
  async (t) => {
    const world = await open();
    await register(world, PASSWORD, 'Ada');
    await register(world, THEIRS, 'Eve');
    await register(world, THEIRS, 'Eve');
    const links = (await world.mails()).filter(({ page }) => page === 'verify');
    t.equal(links.length, 3);
    for (const { token } of links.slice(0, -1))
      t.equal(await codeOf(world.commands.verifyAddress(token, PASSWORD, 'r')), 'LINK_INVALID');
    t.equal(await signIn(world, THEIRS), 'ADDRESS_NOT_VERIFIED');
    await world.commands.verifyAddress(links.at(-1)!.token, PASSWORD, 'r');
    t.equal(await signIn(world, THEIRS), 'INVALID_CREDENTIALS');
    t.equal(await signIn(world, PASSWORD), 'fine');
  },
);

void t.test('who asks for another link, or for another password, chooses it, whoever registered last', async (t) => {
  for (const ask of ['sendVerifyLink', 'sendResetLink'] as const) {
    const world = await open();
    await register(world, PASSWORD, 'Ada');
    await register(world, THEIRS, 'Eve');
    const before = await world.tokenTo('verify');
    await world.commands[ask](email, 'r');
    const chosen = 'three herons and a barge';
    if (ask === 'sendVerifyLink') await world.commands.verifyAddress(await world.tokenTo('verify'), chosen, 'r');
    else await world.commands.resetPassword(await world.tokenTo('reset'), chosen, 'r');
    for (const password of [THEIRS, PASSWORD]) t.equal(await signIn(world, password), 'INVALID_CREDENTIALS');
    t.equal(await signIn(world, chosen), 'fine');
    t.equal(
      await codeOf(world.commands.verifyAddress(before, PASSWORD, 'r')),
      'LINK_INVALID',
      'a link of before opens nothing',
    );
  }
});

void t.test('who is invited is not kept out by them, and gives the password', async (t) => {
  const world = await open();
  await register(world, THEIRS, 'Eve');
  const owner = await signedIn(world.deps, { email: 'bea@example.com', role: 'owner', teamId: TEAM });
  const caller = {
    teamId: TEAM,
    actor: `user:${owner.userId}`,
    permissions: permissionsOfRole.owner,
    correlationId: 'r',
    user: { id: owner.userId },
  };
  await world.commands.inviteMember(caller, { email, role: 'member' });
  const token = await world.tokenTo('invitation');
  t.match(await world.commands.register({ email, password: PASSWORD, name: 'Ada', token }, 'r'), {
    teamId: TEAM,
    emailVerified: true,
  });
  t.equal(await signIn(world, THEIRS), 'INVALID_CREDENTIALS');
  t.match(await world.commands.login({ email, password: PASSWORD }, from), { user: { name: 'Ada' } });
});
