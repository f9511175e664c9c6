/** Another address: asked for with the password, taken by the link, one person for each address whatever races. */
import t from 'tap';
import { askAddressChange, changeAddress } from '../../src/commands/people/links.js';
import { makeUser } from '../../src/commands/people/registration.js';
import type { Caller } from '../../src/commands/core/caller.js';
import type { UserId } from '../../src/domain/core/ids.js';
import { NO_TEAM, userAddressStream, userStream } from '../../src/domain/core/ids.js';
import { signInAddress } from '../../src/commands/access/users.js';
import { codeOf, openAccountWorld, quickly, tally, type AccountWorld } from '../support/account-world.js';
import { faultPort } from '../support/fault-port.js';
import { from, PASSWORD, signedIn } from '../support/people.js';

t.setTimeout(900_000);

const callerOf = (id: UserId): Caller => ({
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
    await commands.askAddressChange(callerOf(ada.userId), ask('Ada@New.example'));
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
    t.match(await commands.getOwnUser(callerOf(ada.userId)), { email: 'ada@new.example', emailVerified: true });
    await signedIn(world.deps, { email: 'ada@example.com', name: 'Another Ada' });
    t.equal(await logIn(world, 'ada@new.example'), 'fine', 'the address that is free is not hers any more');
  },
);

void t.test('it needs the password, and links lapse: by time, by the next one, by another password', async (t) => {
  const world = await openAccountWorld();
  const { userId } = await signedIn(world.deps, { email: 'ada@example.com' });
  const { commands, clock, deps } = world;
  const asking = (email: string, password?: string) =>
    codeOf(commands.askAddressChange(callerOf(userId), ask(email, password)));
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
    await world.commands.askAddressChange(callerOf(eve.userId), ask('ada@example.com'));
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
  t.equal(await codeOf(world.commands.askAddressChange(callerOf(userId), ask('Bea@example.com'))), 'fine');
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
    await askAddressChange(one, callerOf(ada), ask('new@example.com'));
    const ofAda = await world.tokenTo('address');
    await askAddressChange(one, callerOf(bea), ask('new@example.com'));
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
      await askAddressChange(deps, callerOf(ada), ask('new@example.com'));
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
