/**
 * A mail tells a person of each change to the account: each once, also if the work is interrupted, and never of
 * somebody else's attempt that changes nothing.
 */
import t from 'tap';
import { deviceOf, networkOf } from '../../src/domain/people/user.js';
import { userStream } from '../../src/domain/core/ids.js';
import { loadState } from '../../src/commands/core/handle.js';
import { personalCause, noteSignInPlace } from '../../src/commands/people/sessions.js';
import { userDecider } from '../../src/domain/people/decider.js';
import { codeOf, openAccountWorld, quickly, type AccountWorld } from '../support/account-world.js';
import { callerOf, from, PASSWORD, signedIn, withSecondFactor } from '../support/people.js';

t.setTimeout(170_000);

const email = 'ada@example.com';
const other = 'three herons and a barge';

const told = async (world: AccountWorld): Promise<readonly string[]> =>
  (await world.mails()).map(({ to, subject }) => `${to}: ${subject}`);

/** Fails the append to a stream of that kind which comes as the given one, once. */
const breakOff = (world: AccountWorld, at: number): (() => boolean) => {
  let left = at;
  world.store.beforeAppend(() => {
    left -= 1;
    if (left === 0) throw new Error('killed');
  });
  return () => left <= 0;
};

void t.test('another password is told once, wherever it is broken off', async (t) => {
  for (let at = 1; ; at += 1) {
    const world = await openAccountWorld();
    const ada = await signedIn(world.deps, { email });
    const wasBroken = breakOff(world, at);
    const change = () =>
      codeOf(
        world.commands.changePassword(callerOf(ada), { currentPassword: PASSWORD, newPassword: other }, async () => []),
      );
    const first = await change();
    if (first !== 'fine') t.match(await change(), /^fine$|^INVALID_CREDENTIALS$/);
    t.same(await told(world), [`${email}: Your password for Example Ltd was changed`], `broken off at ${at}`);
    const isLast = !wasBroken();
    t.equal(
      await codeOf(
        world.commands.changePassword(callerOf(ada), { currentPassword: PASSWORD, newPassword: other }, async () => []),
      ),
      'INVALID_CREDENTIALS',
    );
    if (isLast) break;
  }
});

void t.test('a password that is chosen by a link is told too, a link that is none tells nothing', async (t) => {
  const world = await openAccountWorld();
  await signedIn(world.deps, { email });
  await world.commands.sendResetLink(email, 'r');
  const token = await world.tokenTo('reset');
  t.equal(await codeOf(world.commands.resetPassword(`${token.slice(0, -1)}_`, other, 'r')), 'LINK_INVALID');
  t.equal((await told(world)).length, 1);
  await world.commands.resetPassword(token, other, 'r');
  t.equal(await codeOf(world.commands.resetPassword(token, 'a barge and three herons', 'r')), 'LINK_INVALID');
  t.same((await told(world)).slice(1), [`${email}: Your password for Example Ltd was changed`]);
});

void t.test(
  'a sign-in from another network or device is told, the first one and those from where it is known are not',
  async (t) => {
    const world = await openAccountWorld();
    const ada = await signedIn(world.deps, { email });
    const signIn = (ipAddress: string, userAgent: string, password = PASSWORD) =>
      codeOf(world.commands.login({ email, password }, { requestId: 'r', ipAddress, userAgent }));
    const places = async () =>
      (await world.events(userStream(ada.userId))).filter(({ type }) => type === 'UserSignInPlaceSeen').length;
    await signIn('192.0.2.7', 'Firefox/120.0 (Linux)');
    const known = await told(world);
    t.same(await signIn('192.0.2.99', 'Firefox/121.3 (Linux)'), 'fine');
    t.same(await told(world), known, 'a neighbour of the network, a newer version');
    t.equal(await signIn('198.51.100.1', 'curl/8', 'a wrong password here'), 'INVALID_CREDENTIALS');
    t.same(await told(world), known, 'who is not let in is not told of');
    const before = await places();
    await Promise.all([1, 2, 3].map(() => signIn('198.51.100.1', 'Firefox/121.3 (Linux)')));
    await signIn('198.51.100.1', 'Firefox/121.3 (Linux)');
    t.same((await told(world)).slice(known.length), [`${email}: A new sign-in to your account at Example Ltd`]);
    t.equal(await places(), before + 1);
    await signIn('198.51.100.1', 'curl/8');
    t.equal((await told(world)).length, known.length + 2, 'another device in the same network');
  },
);

void t.test('who signs in by ever other devices fills neither the mailbox nor the stream of the person', async (t) => {
  const world = await openAccountWorld();
  const ada = await signedIn(world.deps, { email });
  const deps = quickly(world.deps);
  const letters = (at: number): string => String.fromCharCode(97 + (at % 26), 97 + Math.floor(at / 26));
  const note = async (at: number): Promise<void> => {
    const { state } = await loadState(deps.eventLog, userStream(ada.userId), userDecider);
    await noteSignInPlace(
      deps,
      ada.userId,
      state!,
      { ...from, userAgent: letters(at) },
      personalCause(deps, ada.userId, 'r'),
    );
  };
  const before = (await told(world)).length;
  for (let at = 0; at < 70; at += 1) await note(at);
  t.ok((await told(world)).length - before <= 10, `${(await told(world)).length - before} mails`);
  const seen = (await world.events(userStream(ada.userId))).filter(({ type }) => type === 'UserSignInPlaceSeen').length;
  t.ok(seen <= 50, `${seen} places`);
  const known = (await told(world)).length;
  await world.clock.advance(24 * 3_600_000);
  await note(80);
  t.equal((await told(world)).length, known + 1, 'the next day is told of again');
});

void t.test('a sign-in that is broken off is told once', async (t) => {
  for (let at = 1; ; at += 1) {
    const world = await openAccountWorld();
    await signedIn(world.deps, { email });
    const signIn = () =>
      codeOf(world.commands.login({ email, password: PASSWORD }, { ...from, ipAddress: '203.0.113.9' }));
    await signIn();
    const known = (await told(world)).length;
    const elsewhere = () =>
      codeOf(world.commands.login({ email, password: PASSWORD }, { ...from, ipAddress: '2001:db8:7::1' }));
    const wasBroken = breakOff(world, at);
    if ((await elsewhere()) !== 'fine') t.equal(await elsewhere(), 'fine');
    t.equal((await told(world)).length, known + 1, `broken off at ${at}`);
    if (!wasBroken()) break;
  }
});

void t.test(
  'a second factor is told when it is set up and when it is taken away, a wrong code tells nothing',
  async (t) => {
    const world = await openAccountWorld();
    const ada = await signedIn(world.deps, { email });
    const { recoveryCodes } = await withSecondFactor(world.deps, ada);
    const remove = (code: string) =>
      codeOf(world.commands.removeSecondFactor(callerOf(ada), { password: PASSWORD, code }));
    t.equal(await remove('000000'), 'INVALID_CODE');
    t.same(await told(world), [`${email}: A second factor for your account at Example Ltd`]);
    t.equal(await remove(recoveryCodes[0]!), 'fine');
    t.same((await told(world)).slice(1), [`${email}: The second factor of your account at Example Ltd was removed`]);
  },
);

void t.test('networks and devices are told apart as people would', (t) => {
  t.equal(networkOf('192.0.2.7'), '192.0.2');
  t.equal(networkOf('::ffff:192.0.2.9'), '192.0.2');
  t.equal(networkOf('2001:DB8:0007::1'), '2001:db8:7');
  t.equal(networkOf('2001:db8:7:ffff::2%eth0'), '2001:db8:7');
  t.equal(networkOf('2001:db8::1'), '2001:db8:0');
  t.equal(networkOf('::1'), '0:0:0');
  t.equal(networkOf('1::2::3::4'), networkOf('1::2::3::4'), 'whatever comes, it is a text');
  t.equal(deviceOf('Mozilla/5.0 (X11; Linux x86_64; rv:128.0)'), deviceOf('Mozilla/5.1 (X11; Linux x86_64; rv:131.2)'));
  t.not(deviceOf('curl/8'), deviceOf('Wget/8'));
  t.end();
});
