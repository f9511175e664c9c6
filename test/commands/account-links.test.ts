/** The links in mails to people: each is good once, for a while, and only the newest. */
import t from 'tap';
import { makeAccountTemplates } from '../../src/commands/account-templates.js';
import { makeVerifyLink, makeUser } from '../../src/commands/registering.js';
import { personalCause } from '../../src/commands/sessions.js';
import { DomainError } from '../../src/domain/errors.js';
import { assertDefined, emailStream, INSTANCE_STREAM, parseEmailId } from '../../src/domain/ids.js';
import { accountSamples } from '../../src/samples/index.js';
import { startOf } from '../../src/event-log/event-log.js';
import { openWorld, TEAM, type World } from '../support/command-world.js';
import { from, PASSWORD, signedIn } from '../support/people.js';

const email = 'ada@example.com';
const OTHER = 'seven otters at the weir';

const codeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'fine',
    (fault: unknown) => (fault instanceof DomainError ? fault.code : String(fault)),
  );

/** A world whose first team sends the mails of accounts, and the links that these carried so far. */
const withMails = async (): Promise<World & Readonly<{ links: () => Promise<readonly string[]> }>> => {
  const world = await openWorld();
  const at = '2030-01-01T12:00:00.000Z';
  const cause = { teamId: TEAM, actor: 'system', correlationId: 'start', causationId: 'start', at };
  await world.deps.eventLog.append(
    INSTANCE_STREAM,
    startOf(INSTANCE_STREAM),
    [{ type: 'InstanceInitialised', data: { at, teamId: TEAM } }],
    cause,
  );
  await makeAccountTemplates(world.deps, accountSamples);
  const links = async (): Promise<readonly string[]> => {
    const found: string[] = [];
    for await (const { events } of world.store.readAll(0))
      for (const { stream } of events) {
        const id = parseEmailId(stream.replace(/^email-/, ''));
        if (!stream.startsWith('email-') || id === undefined) continue;
        const [first] = await world.events(emailStream(id));
        if (first?.type !== 'EmailQueued') continue;
        found.push(String(first.sealed?.variables['url']).replace(/.*token=/, ''));
      }
    return found;
  };
  return { ...world, links };
};

void t.test('an address is verified once, by the newest link, within a day', async (t) => {
  const world = await withMails();
  const userId = await makeUser(world.deps, { email, password: PASSWORD, name: 'Ada' }, { isVerified: false, requestId: 'r' });
  const logIn = () => codeOf(world.commands.login({ email, password: PASSWORD }, from));
  t.equal(await logIn(), 'ADDRESS_NOT_VERIFIED');
  const old = await makeVerifyLink(world.deps, userId, personalCause(world.deps, userId, 'r'));
  await world.commands.sendVerifyLink(email, 'r');
  const [newest = ''] = await world.links();
  for (const wrong of ['', 'x', old, `${newest}A`, newest.replace(/.$/, newest.endsWith('A') ? 'B' : 'A')])
    t.equal(await codeOf(world.commands.verifyAddress(wrong, 'r')), 'LINK_INVALID', wrong);
  t.equal(await codeOf(world.commands.resetPassword(newest, OTHER, 'r')), 'LINK_INVALID', 'it is for nothing else');
  await world.clock.advance(world.deps.limits.verifyLinkMs);
  t.equal(await codeOf(world.commands.verifyAddress(newest, 'r')), 'LINK_INVALID', 'past its time');
  await world.commands.sendVerifyLink(email, 'r');
  const last = assertDefined((await world.links()).at(-1), 'link');
  t.equal(await codeOf(world.commands.verifyAddress(last, 'r')), 'fine');
  t.equal(await codeOf(world.commands.verifyAddress(last, 'r')), 'LINK_INVALID', 'it was used');
  t.equal(await logIn(), 'fine');
  const before = (await world.links()).length;
  await world.commands.sendVerifyLink(email, 'r');
  await world.commands.sendResetLink('nobody@example.com', 'r');
  t.equal((await world.links()).length, before, 'no mail goes where none is needed, or nobody is');
});

void t.test('another password by a link ends every session', async (t) => {
  const world = await withMails();
  const ada = await signedIn(world.deps, { email });
  await world.commands.sendResetLink(' Ada@Example.com', 'r');
  const [link = ''] = await world.links();
  t.equal(await codeOf(world.commands.resetPassword(link, 'password2026', 'r')), 'VALIDATION_ERROR');
  const both = await Promise.all([1, 2].map(() => codeOf(world.commands.resetPassword(link, OTHER, 'r'))));
  t.strictSame(both.sort(), ['LINK_INVALID', 'fine'], 'of two at once one');
  t.equal(await codeOf(world.commands.authenticate(ada.accessToken, { asked: undefined, isNeeded: false })), 'SESSION_ENDED');
  t.equal(await codeOf(world.commands.refresh(ada.refreshToken, 'r')), 'SESSION_ENDED');
  t.equal(await codeOf(world.commands.login({ email, password: PASSWORD }, from)), 'INVALID_CREDENTIALS');
  t.equal(await codeOf(world.commands.login({ email, password: OTHER }, from)), 'fine');
});
