/** The links in mails to people: each is good once, for a while, and only the newest. */
import t from 'tap';
import { makeVerifyLink, makeUser } from '../../src/commands/people/registration.js';
import { personalCause } from '../../src/commands/people/sessions.js';
import { resetPassword, sendResetLink, verifyAddress } from '../../src/commands/people/links.js';
import { assertDefined, parseSessionId, sessionStream, userStream } from '../../src/domain/core/ids.js';
import { makeLink } from '../../src/domain/people/user.js';
import { codeOf, openAccountWorld, quickly, tally } from '../support/account-world.js';
import { callerOf, from, PASSWORD, signedIn } from '../support/people.js';

t.setTimeout(900_000);

const email = 'ada@example.com';
const OTHER = 'seven otters at the weir';

void t.test('an address is verified once, by the newest link, within a day', async (t) => {
  const world = await openAccountWorld();
  const userId = await makeUser(
    world.deps,
    { email, password: PASSWORD, name: 'Ada' },
    { isVerified: false, from: 'r' },
  );
  const logIn = () => codeOf(world.commands.login({ email, password: PASSWORD }, from));
  t.equal(await logIn(), 'ADDRESS_NOT_VERIFIED');
  const old = await makeVerifyLink(world.deps, userId, personalCause(world.deps, userId, 'r'));
  const newest = await makeVerifyLink(world.deps, userId, personalCause(world.deps, userId, 'r'));
  const guessed = makeLink(userId, Buffer.alloc(32, 7)).token;
  const long = 'A'.repeat(100_000);
  for (const wrong of [
    '',
    'x',
    old,
    guessed,
    long,
    `${newest}A`,
    newest.replace(/.$/, newest.endsWith('A') ? 'B' : 'A'),
  ])
    t.equal(await codeOf(world.commands.verifyAddress(wrong, PASSWORD, 'r')), 'LINK_INVALID', wrong.slice(0, 80));
  t.equal(await codeOf(world.commands.resetPassword(newest, OTHER, 'r')), 'LINK_INVALID', 'it is for nothing else');
  t.equal(await codeOf(world.commands.changeAddress(newest, PASSWORD, 'r')), 'LINK_INVALID', 'for nothing else');
  t.equal(await codeOf(world.commands.checkLink(newest, 'verify')), 'fine');
  t.equal(await codeOf(world.commands.checkLink(old, 'verify')), 'LINK_INVALID', 'not the newest');
  t.equal(await codeOf(world.commands.checkLink(newest, 'reset')), 'LINK_INVALID', 'for another use');
  await world.clock.advance(world.deps.limits.verifyLinkMs);
  t.equal(await codeOf(world.commands.checkLink(newest, 'verify')), 'LINK_INVALID', 'past its time');
  t.equal(await codeOf(world.commands.verifyAddress(newest, PASSWORD, 'r')), 'LINK_INVALID', 'past its time');
  const last = await makeVerifyLink(world.deps, userId, personalCause(world.deps, userId, 'r'));
  t.notMatch(JSON.stringify(world.store.events), last.slice(-43), 'the link stands nowhere in the log');
  t.equal(await codeOf(world.commands.verifyAddress(last, PASSWORD, 'r')), 'fine');
  t.equal(await codeOf(world.commands.verifyAddress(last, PASSWORD, 'r')), 'LINK_INVALID', 'it was used');
  t.equal(await logIn(), 'fine');
  t.strictSame(
    await makeVerifyLink(world.deps, userId, personalCause(world.deps, userId, 'r')).then((more) =>
      Promise.all([
        codeOf(world.commands.checkLink(more, 'verify')),
        codeOf(world.commands.verifyAddress(more, OTHER, 'r')),
      ]),
    ),
    ['LINK_INVALID', 'LINK_INVALID'],
    'a verified address has no such link',
  );
  t.equal(await logIn(), 'fine');
  const before = (await world.mails()).length;
  await world.commands.sendVerifyLink(email, 'r');
  await world.commands.sendResetLink('nobody@example.com', 'r');
  t.equal((await world.mails()).length, before, 'no mail goes where none is needed, or nobody is');
});

void t.test('another password by a link ends every session', async (t) => {
  const world = await openAccountWorld();
  const ada = await signedIn(world.deps, { email });
  await world.commands.sendResetLink(' Ada@Example.com', 'r');
  const link = await world.tokenTo('reset');
  t.equal(await codeOf(world.commands.resetPassword(link, 'password2026', 'r')), 'VALIDATION_ERROR');
  const ofAda = assertDefined(parseSessionId(ada.sessionId), 'session id');
  const both = await Promise.all(
    [1, 2].map(() => codeOf(world.commands.resetPassword(link, OTHER, 'r', async () => [ofAda]))),
  );
  t.match((await world.events(sessionStream(ofAda))).at(-1), { type: 'SessionEnded', data: { reason: 'password' } });
  t.equal(
    await world.deps.eventLog.existingKey(sessionStream(ofAda)),
    undefined,
    'from where it was used is destroyed',
  );
  t.strictSame(both.sort(), ['LINK_INVALID', 'fine'], 'of two at once one');
  t.equal(
    await codeOf(world.commands.authenticate(ada.accessToken, { asked: undefined, isNeeded: false })),
    'SESSION_ENDED',
  );
  t.equal(await codeOf(world.commands.refresh(ada.refreshToken, 'r')), 'SESSION_ENDED');
  t.equal(await codeOf(world.commands.login({ email, password: PASSWORD }, from)), 'INVALID_CREDENTIALS');
  t.equal(await codeOf(world.commands.login({ email, password: OTHER }, from)), 'fine');
});

void t.test('of 200 who use one link at once, in two processes, one wins', async (t) => {
  const world = await openAccountWorld();
  const processes = [quickly(world.elsewhere()), quickly(world.elsewhere())];
  const [one] = processes;
  const userId = await makeUser(one!, { email, password: PASSWORD, name: 'Ada' }, { isVerified: false, from: 'r' });
  const verifying = await makeVerifyLink(one!, userId, personalCause(one!, userId, 'r'));
  const race = (use: (deps: (typeof processes)[number], index: number) => Promise<unknown>) =>
    Promise.all(Array.from({ length: 200 }, (_, index) => codeOf(use(processes[index % 2]!, index))));
  t.strictSame(tally(await race((deps) => verifyAddress(deps, verifying, PASSWORD, 'r'))), {
    fine: 1,
    LINK_INVALID: 199,
  });
  await sendResetLink(one!, email, 'r');
  const resetting = await world.tokenTo('reset');
  const ends = await race((deps, index) => resetPassword(deps, resetting, `otter number ${index} of two hundred`, 'r'));
  t.strictSame(tally(ends), { fine: 1, LINK_INVALID: 199 });
});

void t.test(
  'a link of another instance is none, and letter case and spelling of a domain make no difference',
  async (t) => {
    const [world, other] = [await openAccountWorld(), await openAccountWorld()];
    for (const { deps } of [world, other]) await signedIn(deps, { email: 'Zoë@Bücher.example'.replace('ë', 'e') });
    await other.commands.sendResetLink('zoe@bücher.example', 'r');
    t.equal(await codeOf(world.commands.resetPassword(await other.tokenTo('reset'), OTHER, 'r')), 'LINK_INVALID');
    await world.commands.sendResetLink(' ZOE@XN--BCHER-KVA.example ', 'r');
    t.not(await world.tokenTo('reset'), '');
    await world.commands.sendResetLink('zoe+shop@bücher.example', 'r');
    t.equal((await world.mails()).length, 1, 'a label is part of the address');
  },
);

void t.test(
  'a link that is asked for while the person takes another address does not go to the one of before',
  async (t) => {
    const world = await openAccountWorld();
    const ada = await signedIn(world.deps, { email });
    await world.commands.askAddressChange(callerOf(ada), { email: 'ada@new.example', password: PASSWORD });
    const change = await world.tokenTo('address');
    let looks = 0;
    const { eventLog } = world.deps;
    const load: typeof eventLog.load = async (stream, ...more) => {
      if (stream === userStream(ada.userId)) looks += 1;
      if (stream === userStream(ada.userId) && looks === 2) await world.commands.changeAddress(change, PASSWORD, 'r');
      return eventLog.load(stream, ...more);
    };
    await sendResetLink({ ...world.deps, eventLog: { ...eventLog, load } }, email, 'r');
    t.match((await world.commands.getOwnUser(callerOf(ada))).email, 'ada@new.example', 'it was taken meanwhile');
    t.equal(await world.tokenTo('reset'), '', 'no link went out');
    await world.commands.sendResetLink('ada@new.example', 'r');
    t.not(await world.tokenTo('reset'), '');
  },
);
