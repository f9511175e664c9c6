/** Somebody registers an address that is not theirs and waits: whoever proves that it is theirs chooses the password, and nothing of before is good. */
import t from 'tap';
import { codeOf, openAccountWorld, type AccountWorld } from '../support/account-world.js';
import { from, PASSWORD, signedIn } from '../support/people.js';
import { OTHER_TEAM, TEAM } from '../support/command-world.js';
import { permissionsOfRole } from '../../src/domain/access/roles.js';

t.setTimeout(170_000);

const email = 'ada@example.com';
const THEIRS = 'the password of somebody else';

/** The first person owns the first team, and is nobody of these. */
const open = async (): Promise<AccountWorld> => {
  const world = await openAccountWorld();
  await signedIn(world.deps, { email: 'owner@example.com', role: 'owner', teamId: OTHER_TEAM });
  return world;
};
const register = (world: AccountWorld, password: string, name: string) => codeOf(world.commands.register({ email, password, name }, 'r'));
const signIn = (world: AccountWorld, password: string) => codeOf(world.commands.login({ email, password }, from));

void t.test('who registers the address after them gets a link that chooses the password; the one before ends', async (t) => {
  const world = await open();
  t.equal(await register(world, THEIRS, 'Eve'), 'fine');
  const first = await world.tokenTo('verify');
  t.equal(await register(world, PASSWORD, 'Ada'), 'fine');
  t.equal(await world.tokenTo('verify'), first, 'no other link goes out that takes the password of a registration');
  t.equal(await codeOf(world.commands.verifyAddress(first, 'r')), 'LINK_INVALID');
  t.equal(await signIn(world, THEIRS), 'INVALID_CREDENTIALS');
  t.equal(await signIn(world, PASSWORD), 'ADDRESS_NOT_VERIFIED');
  await world.commands.resetPassword(await world.tokenTo('reset'), PASSWORD, 'r');
  t.match(await world.commands.login({ email, password: PASSWORD }, from), { user: { name: 'Ada' } });
  t.equal(await signIn(world, THEIRS), 'INVALID_CREDENTIALS');
  t.equal(await register(world, THEIRS, 'Eve'), 'fine', 'answered alike once it is verified');
  t.equal(await signIn(world, PASSWORD), 'fine', 'and nothing is changed');
  t.match((await world.mails()).at(-1)?.subject, /You have an account/);
});

void t.test(
  'who registers the address of somebody that waits for their mail gains nothing: no link of any mail is good for their password',
  async (t) => {
    const world = await open();
    await register(world, PASSWORD, 'Ada');
    await register(world, THEIRS, 'Eve');
    await register(world, THEIRS, 'Eve');
    const links = (await world.mails()).filter(({ token }) => token !== '');
    for (const { page, token } of links)
      if (page === 'verify') t.equal(await codeOf(world.commands.verifyAddress(token, 'r')), 'LINK_INVALID');
    t.equal(await signIn(world, THEIRS), 'ADDRESS_NOT_VERIFIED');
    await world.commands.resetPassword(await world.tokenTo('reset'), PASSWORD, 'r');
    t.equal(await signIn(world, THEIRS), 'INVALID_CREDENTIALS');
    t.equal(await signIn(world, PASSWORD), 'fine');
  },
);

void t.test('who asks for another link chooses the password by it, whoever registered last', async (t) => {
  const world = await open();
  await register(world, PASSWORD, 'Ada');
  await register(world, THEIRS, 'Eve');
  await world.commands.sendVerifyLink(email, 'r');
  const token = await world.tokenTo('reset');
  await world.commands.resetPassword(token, 'three herons and a barge', 'r');
  for (const password of [THEIRS, PASSWORD]) t.equal(await signIn(world, password), 'INVALID_CREDENTIALS');
  t.equal(await signIn(world, 'three herons and a barge'), 'fine');
  t.equal(await codeOf(world.commands.verifyAddress(await world.tokenTo('verify'), 'r')), 'LINK_INVALID', 'a link of before opens nothing');
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
  t.match(await world.commands.register({ email, password: PASSWORD, name: 'Ada', token }, 'r'), { teamId: TEAM, emailVerified: true });
  t.equal(await signIn(world, THEIRS), 'INVALID_CREDENTIALS');
  t.match(await world.commands.login({ email, password: PASSWORD }, from), { user: { name: 'Ada' } });
});
