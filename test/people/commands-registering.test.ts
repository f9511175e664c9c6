/**
 * A person gets an account: by registering, on an invitation, by another's wish; the mails about it say what happened.
 */
import t, { type Test } from 'tap';
import type { RegisterRequest } from '../../src/api/people.js';
import { type Caller, causeOf } from '../../src/commands/core/caller.js';
import { loadState } from '../../src/commands/core/handle.js';
import { sendAccountMail } from '../../src/commands/email/service-mails.js';
import { verifyAddress, resetPassword, sendResetLink } from '../../src/commands/people/links.js';
import { register, makeVerifyLink, makeUser } from '../../src/commands/people/registration.js';
import { login, personalCause, noteSignInPlace } from '../../src/commands/people/sessions.js';
import { permissionsOfRole } from '../../src/domain/access/permissions.js';
import {
  assertDefined,
  invitationStream,
  parseInvitationId,
  teamStream,
  parseSessionId,
  sessionStream,
  userStream,
  parseSenderDomainId,
} from '../../src/domain/core/ids.js';
import { DAY_MS } from '../../src/domain/core/time.js';
import { userDecider } from '../../src/domain/people/decider.js';
import { makeLink, deviceOf, networkOf } from '../../src/domain/people/user.js';
import { codeOf, openAccountWorld, type AccountWorld, quickly, tally } from '../support/account-world.js';
import { OTHER_TEAM, TEAM, commandsOfTest, ACCOUNT_SENDER, caller, stranger } from '../support/command-world.js';
import { faultPort } from '../support/fault-port.js';
import { refusedWith } from '../support/given.js';
import { from, PASSWORD, signedIn, addMember, callerOf, withSecondFactor } from '../support/people.js';
import { publish } from '../support/sender-domains.js';

t.setTimeout(900_000);

// A stranger registers an address of another person and waits: the person who proves the address chooses the password,
// and all sessions and links from before are void.

const email = 'ada@example.com';
const THEIRS = 'the password of somebody else';

/** The first person owns the first team, and is nobody of these. */
const open = async (): Promise<AccountWorld> => {
  const world = await openAccountWorld();
  await signedIn(world.deps, { email: 'owner@example.com', role: 'owner', teamId: OTHER_TEAM });
  return world;
};
const registerAddress = (world: AccountWorld, password: string, name: string) =>
  codeOf(world.commands.register({ email, password, name }, 'r'));
const signIn = (world: AccountWorld, password: string) => codeOf(world.commands.login({ email, password }, from));

void t.test(
  'who follows the link of a registration that is not theirs gives the password, and that of the registration signs nobody in',
  async (t) => {
    const world = await open();
    await registerAddress(world, THEIRS, 'Eve');
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
    await registerAddress(world, PASSWORD, 'Ada');
    const token = await world.tokenTo('verify');
    t.equal(await codeOf(world.commands.verifyAddress(token, PASSWORD, 'r')), 'fine');
    t.equal(await signIn(world, PASSWORD), 'fine');
    t.notOk(world.store.events.some(({ type }) => type.startsWith('UserPasswordChanged')));
  },
);

void t.test('a registration between the look at the link and its use ends the link', async (t) => {
  const world = await open();
  await registerAddress(world, PASSWORD, 'Ada');
  const token = await world.tokenTo('verify');
  const { passwords } = world.deps.people;
  const slow = {
    ...passwords,
    verify: async (hash: string | undefined, given: string) => {
      const isRight = await passwords.verify(hash, given);
      await registerAddress(world, THEIRS, 'Eve');
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
  t.equal(await registerAddress(world, THEIRS, 'Eve'), 'fine');
  const first = await world.tokenTo('verify');
  t.equal(await registerAddress(world, PASSWORD, 'Ada'), 'fine');
  t.equal(await codeOf(world.commands.verifyAddress(first, PASSWORD, 'r')), 'LINK_INVALID');
  t.equal(await signIn(world, THEIRS), 'INVALID_CREDENTIALS');
  t.equal(await signIn(world, PASSWORD), 'ADDRESS_NOT_VERIFIED');
  await world.commands.verifyAddress(await world.tokenTo('verify'), PASSWORD, 'r');
  t.match(await world.commands.login({ email, password: PASSWORD }, from), { user: { name: 'Ada' } });
  t.equal(await signIn(world, THEIRS), 'INVALID_CREDENTIALS');
  t.equal(await registerAddress(world, THEIRS, 'Eve'), 'fine', 'answered alike once it is verified');
  t.equal(await signIn(world, PASSWORD), 'fine', 'and nothing is changed');
  t.match((await world.mails()).at(-1)?.subject, /You already have an account/);
});

void t.test(
  'who registers the address of somebody that waits for their mail gains nothing: the newest link alone is good, for the password that comes with it',
  async (t) => {
    const world = await open();
    await registerAddress(world, PASSWORD, 'Ada');
    await registerAddress(world, THEIRS, 'Eve');
    await registerAddress(world, THEIRS, 'Eve');
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
    await registerAddress(world, PASSWORD, 'Ada');
    await registerAddress(world, THEIRS, 'Eve');
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
  await registerAddress(world, THEIRS, 'Eve');
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

// Becoming a user by an invitation: the right address alone, once, and into the team whatever breaks off in between.

type Inviting = AccountWorld &
  Readonly<{ ann: Caller; invite: (email: string) => Promise<Readonly<{ id: string; token: string }>> }>;

const openInviting = async (): Promise<Inviting> => {
  const world = await openAccountWorld();
  const { userId } = await signedIn(world.deps, { email: 'ann@example.com', name: 'Ann', role: 'owner', teamId: TEAM });
  const ann: Caller = {
    teamId: TEAM,
    actor: `user:${userId}`,
    permissions: permissionsOfRole.owner,
    correlationId: 'request-1',
    user: { id: userId },
  };
  return {
    ...world,
    ann,
    invite: async (email) => {
      const { id } = await world.commands.inviteMember(ann, { email, role: 'member' });
      return { id, token: await world.tokenTo('invitation') };
    },
  };
};

const asking = (token: string, email = 'cy@example.com', password = PASSWORD): RegisterRequest => ({
  email,
  password,
  name: 'Cy',
  token,
});
const rolesIn = async ({ elsewhere }: AccountWorld) =>
  [...((await elsewhere().team(teamStream(TEAM))).state?.members?.values() ?? [])].map(({ role }) => role);

void t.test('who is invited registers with the token, is verified and in the team', async (t) => {
  const world = await openInviting();
  const { id, token } = await world.invite('Cy@Example.com');
  const invited = commandsOfTest({ ...world.deps, people: { ...world.deps.people, registration: 'invited' } });
  t.match(await world.commands.openInvitation(token), {
    email: 'cy@example.com',
    team: 'Shop',
    inviter: 'Ann',
    role: 'member',
    account: 'none',
  });
  t.match(await invited.register(asking(token, 'CY@example.com'), 'r'), {
    email: 'cy@example.com',
    emailVerified: true,
    teamId: TEAM,
  });
  t.strictSame(await rolesIn(world), ['owner', 'member']);
  t.match(await world.commands.login({ email: 'cy@example.com', password: PASSWORD }, from), {
    user: { emailVerified: true },
  });
  const stream = invitationStream(assertDefined(parseInvitationId(id), 'id'));
  t.equal(
    await world.deps.eventLog.existingKey(stream),
    undefined,
    'nothing of the address is left with the invitation',
  );
  t.equal(await codeOf(invited.register(asking(token, 'dan@example.com'), 'r')), 'INVITATION_NOT_FOUND', 'it was used');
  t.equal(await codeOf(world.commands.openInvitation(token)), 'INVITATION_NOT_FOUND');
});

void t.test('it is to one address alone, for a while, and not where registration is closed', async (t) => {
  const world = await openInviting();
  const { token } = await world.invite('cy@bücher.example');
  for (const email of ['dan@example.com', 'cy+1@bücher.example', 'cy@bucher.example', 'ann@example.com'])
    t.equal(await codeOf(world.commands.register(asking(token, email), 'r')), 'INVITATION_NOT_YOURS', email);
  for (const wrong of [
    `${token}A`,
    'sealpost_inv_',
    `sealpost_inv_${'A'.repeat(65)}`,
    `sealpost_inv_${'A'.repeat(200)}`,
  ])
    t.equal(
      await codeOf(world.commands.register(asking(wrong, 'cy@bücher.example'), 'r')),
      'INVITATION_NOT_FOUND',
      wrong,
    );
  t.equal(
    await codeOf(world.commands.register(asking(token, 'cy@bücher.example', 'password2026'), 'r')),
    'VALIDATION_ERROR',
  );
  const closed = commandsOfTest({ ...world.deps, people: { ...world.deps.people, registration: 'closed' } });
  t.equal(await codeOf(closed.register(asking(token, 'cy@bücher.example'), 'r')), 'REGISTRATION_CLOSED');
  const other = await openInviting();
  t.equal(
    await codeOf(other.commands.register(asking(token, 'cy@bücher.example'), 'r')),
    'INVITATION_NOT_FOUND',
    'of another instance',
  );
  await world.clock.advance(7 * DAY_MS);
  t.equal(await codeOf(world.commands.register(asking(token, 'CY@xn--bcher-kva.example'), 'r')), 'INVITATION_EXPIRED');
  t.strictSame(await rolesIn(world), ['owner']);
});

void t.test('of many who register by one invitation at once one becomes a user', async (t) => {
  const world = await openInviting();
  const { token } = await world.invite('cy@example.com');
  const processes = [quickly(world.elsewhere()), quickly(world.elsewhere())];
  const codes = await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      codeOf(register(processes[index % 2]!, asking(token, 'cy@example.com', `a password of number ${index}`), 'r')),
    ),
  );
  t.equal(tally(codes)['fine'], 1);
  t.strictSame(
    Object.keys(tally(codes)).filter((code) => !/^(?:fine|ADDRESS_TAKEN|INVITATION_NOT_FOUND)$/.test(code)),
    [],
  );
  t.strictSame(await rolesIn(world), ['owner', 'member']);
});

void t.test('who has an account gives its password or accepts when signed in, and nobody takes it over', async (t) => {
  const world = await openInviting();
  await signedIn(world.deps, { email: 'cy@example.com', name: 'Cy' });
  const { token } = await world.invite('cy@example.com');
  t.match(await world.commands.openInvitation(token), { account: 'password' });
  t.equal(
    await codeOf(world.commands.register(asking(token, 'cy@example.com', 'another password of mine'), 'r')),
    'ADDRESS_TAKEN',
  );
  t.strictSame(await rolesIn(world), ['owner']);
  t.equal(await codeOf(world.commands.register(asking(token), 'r')), 'fine');
  t.strictSame(await rolesIn(world), ['owner', 'member']);
});

void t.test('a revoked invitation makes nobody', async (t) => {
  const world = await openInviting();
  const { id, token } = await world.invite('cy@example.com');
  const [registered] = await Promise.all([
    codeOf(register(quickly(world.elsewhere()), asking(token), 'r')),
    codeOf(world.commands.revokeInvitation(world.ann, assertDefined(parseInvitationId(id), 'id'))),
  ]);
  const members = await rolesIn(world);
  t.equal(members.length, registered === 'fine' ? 2 : 1);
  if (registered !== 'fine')
    t.equal(
      await codeOf(login(quickly(world.elsewhere()), { email: 'cy@example.com', password: PASSWORD }, from)),
      'INVALID_CREDENTIALS',
    );
});

/**
 * The program dies at one write after the other, before it or when it is done; then the person goes on in one of two
 * ways.
 */
for (const afterwards of [false, true])
  for (const way of ['registers again', 'signs in'] as const)
    void t.test(
      `whatever breaks off ${afterwards ? 'after' : 'before'} a write, whoever ${way} is in the team`,
      async (t) => {
        for (let failCall = 1; ; failCall += 1) {
          const world = await openInviting();
          const { id, token } = await world.invite('cy@example.com');
          const deps = quickly(world.elsewhere());
          const { port: eventLog, calls } = faultPort(deps.eventLog, {
            failCall,
            error: new Error('the program died'),
            only: ['append', 'destroyKey'],
            afterwards,
          });
          const end = await codeOf(register({ ...deps, eventLog }, asking(token), 'r'));
          const [again, credentials] = [quickly(world.elsewhere()), { email: 'cy@example.com', password: PASSWORD }];
          const isUser = (await codeOf(login(again, credentials, from))) === 'fine';
          if (way === 'registers again' && (await rolesIn(world)).length === 1)
            t.equal(await codeOf(register(again, asking(token), 'r')), 'fine');
          if (isUser || way === 'registers again') {
            t.strictSame(await rolesIn(world), ['owner', 'member'], `write ${failCall}`);
            const stream = invitationStream(assertDefined(parseInvitationId(id), 'id'));
            const { events } = world;
            t.ok(
              (await events(stream)).some(({ type }) => type === 'InvitationClosed'),
              `the invitation is closed, write ${failCall}`,
            );
          } else t.equal(await codeOf(register(again, asking(token), 'r')), 'fine', 'nobody came to be');
          if (calls() < failCall) {
            t.equal(end, 'fine');
            t.ok(failCall > 5, 'every write was tried');
            return;
          }
        }
      },
    );

void t.test('nobody else is brought into a team by signing in', async (t) => {
  const world = await openInviting();
  const { userId } = await signedIn(world.deps, { email: 'dan@example.com', name: 'Dan' });
  await addMember(world.deps, TEAM, userId, 'viewer');
  await world.invite('cy@example.com');
  await world.commands.login({ email: 'dan@example.com', password: PASSWORD }, from);
  t.strictSame(await rolesIn(world), ['owner', 'viewer']);
});

// The links in mails to people: each is good once, for a while, and only the newest.

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

// Account mails have a sender of their own, whatever the first team, its domains and its templates say.

const verify = async ({ commands, dns }: AccountWorld, who: Caller, domain: string): Promise<void> => {
  const added = await commands.addDomain(who, { domain });
  publish(dns, added);
  await commands.verifyDomain(who, assertDefined(parseSenderDomainId(added.id), 'id'));
};

/** The senders of all mails so far. */
const sendersOf = async ({ deps }: AccountWorld): Promise<readonly unknown[]> => {
  const senders: unknown[] = [];
  for await (const { events } of deps.eventLog.readAll(0, { kinds: ['email'] }))
    for (const { event } of events) if (event.type === 'EmailQueued') senders.push(event.sealed?.from);
  return senders;
};

const sends = async (t: Test, world: AccountWorld, what: string): Promise<void> => {
  const before = (await sendersOf(world)).length;
  await world.commands.sendResetLink(email, 'r');
  t.same((await sendersOf(world)).slice(before), [ACCOUNT_SENDER], what);
};

void t.test('account mails leave from their own sender', async (t) => {
  const world = await openAccountWorld();
  await signedIn(world.deps, { email });
  await sends(t, world, 'from the beginning');
  await verify(world, stranger, 'shop.test');
  await sends(t, world, 'once the first team has verified another domain');
  await verify(world, caller, 'service.test');
  await sends(t, world, 'once another team has verified the domain of that sender');
  await world.commands.updateTemplate(stranger, 'account-reset-password', { from: { email: 'me@shop.test' } });
  await world.commands.publishTemplate(stranger, 'account-reset-password');
  await sends(t, world, 'once the template names a sender');
});

void t.test('without a sender no account mail is sent, and nothing is written', async (t) => {
  const { deps, store } = await openAccountWorld();
  const { accountSender: _, ...without } = deps;
  const before = store.events.length;
  await refusedWith(
    t,
    sendAccountMail(without, { kind: 'address-in-use', to: { email }, variables: {} }, causeOf(deps, caller)),
    'SENDER_NOT_SET',
  );
  t.equal(store.events.length, before);
});

// A mail tells a person of each change to the account: each once, also if the work is interrupted, and never of
// somebody else's attempt that changes nothing.

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
