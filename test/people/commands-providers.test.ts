/** First sign-ins by a provider that break off: the person goes on by signing in again, as one user. */
import t from 'tap';
import { beginSignIn, finishSignIn, listIdentities, unlinkIdentity } from '../../src/commands/people/providers.js';
import type { CommandNeeds } from '../../src/commands/needs.js';
import type { SignInProvider } from '../../src/domain/ports/sign-in-providers.js';
import { splitStream, teamStream, userStream, assertDefined, parseUserId } from '../../src/domain/core/ids.js';
import { openAccountWorld, quickly, type AccountWorld } from '../support/account-world.js';
import { OTHER_TEAM, TEAM } from '../support/command-world.js';
import { faultPort } from '../support/fault-port.js';
import { callerOf, from, PASSWORD, signedIn } from '../support/people.js';

t.setTimeout(900_000);

const email = 'cy@bücher.example';

/** It is not authoritative: a user whom another way has verified links it by the password alone. */
const provider: SignInProvider = {
  id: 'acme',
  label: 'Acme',
  issuer: 'https://id.example.com',
  clientId: 'sealpost',
  clientSecret: 'a secret of the test',
  scopes: ['openid'],
  domains: undefined,
  isAuthoritative: false,
  asksSecondFactor: false,
  isInternal: false,
};

/** A process to which the provider says that this address, in another spelling, is verified. */
const withProvider = (deps: CommandNeeds): CommandNeeds => ({
  ...deps,
  people: {
    ...deps.people,
    providers: {
      all: [provider],
      begin: async () => 'https://id.example.com/authorize',
      finish: async () => ({
        issuer: provider.issuer,
        subject: '7',
        email: 'CY@xn--bcher-kva.EXAMPLE',
        isEmailVerified: true,
        name: 'Cy',
      }),
      close: async () => undefined,
    },
  },
});

const signIn = async (deps: CommandNeeds, invitation?: string, finish = finishSignIn): Promise<string> => {
  const { cookie } = await beginSignIn(deps, {
    provider: 'acme',
    ...(invitation === undefined ? {} : { invitation }),
  });
  const finished = await finish(deps, { provider: 'acme', cookie, query: '' }, from);
  return finished.kind === 'signed-in' ? finished.signedIn.user.id : finished.kind;
};

const open = async (): Promise<AccountWorld & Readonly<{ invite: () => Promise<string> }>> => {
  const world = await openAccountWorld();
  await signedIn(world.deps, { email: 'owner@example.com', teamId: OTHER_TEAM });
  const { userId } = await signedIn(world.deps, { email: 'ann@example.com', teamId: TEAM });
  const ann = { teamId: TEAM, actor: `user:${userId}`, permissions: [], correlationId: 'r', user: { id: userId } };
  return {
    ...world,
    invite: async () => {
      await world.commands.inviteMember(ann, { email, role: 'member' });
      return world.tokenTo('invitation');
    },
  };
};

const identitiesIn = async ({ store, events }: AccountWorld): Promise<number> => {
  const linked = new Set(
    store.events.flatMap(({ stream, type }) => (type.startsWith('UserIdentityLinked') ? [stream] : [])),
  );
  let living = 0;
  for (const stream of linked) {
    const id = assertDefined(parseUserId(splitStream(stream).id), 'user id');
    if (!(await events(userStream(id))).some(({ type }) => type === 'UserErased')) living += 1;
  }
  return living;
};

const ways = {
  'nobody has the address': async () => undefined,
  'somebody registered it and never proved it': async (world: AccountWorld) => {
    await world.commands.register({ email, password: PASSWORD, name: 'Eve' }, 'r');
    return undefined;
  },
  'an invitation went to it': async (world: Awaited<ReturnType<typeof open>>) => world.invite(),
} as const;

for (const afterwards of [false, true])
  for (const [way, prepare] of Object.entries(ways))
    void t.test(
      `${way}: a sign-in that breaks off ${afterwards ? 'after' : 'before'} a write is done again`,
      async (t) => {
        for (let failCall = 1; ; failCall += 1) {
          const world = await open();
          const token = await prepare(world);
          const deps = withProvider(quickly(world.elsewhere()));
          const error = new Error('the program died');
          const { port: eventLog, calls } = faultPort(deps.eventLog, {
            failCall,
            error,
            only: ['append', 'destroyKey'],
            afterwards,
          });
          const first = await signIn({ ...deps, eventLog }, token).catch(String);
          const isDone = calls() < failCall;
          t.match(first, isDone ? /^[0-9a-f-]{36}$/ : /died|^[0-9a-f-]{36}$/);
          // An invitation that has been accepted is good no more.
          const again = withProvider(quickly(world.elsewhere()));
          const id = await signIn(again, token).catch(() => signIn(again));
          t.match(id, /^[0-9a-f-]{36}$/, `write ${failCall}`);
          t.equal(await identitiesIn(world), 1, 'one user has the identity');
          const { state } = await world.elsewhere().team(teamStream(TEAM));
          t.equal(state?.members?.has(id as never), token !== undefined, 'in the team of the invitation alone');
          if (isDone) {
            t.ok(failCall > 4);
            return;
          }
        }
      },
    );

/** Sign-ins of one person take turns within a process: the module of another process has turns of its own. */
const elsewhere = (await import(
  new URL('../../src/commands/people/providers.js?elsewhere', import.meta.url).href
)) as Readonly<{ finishSignIn: typeof finishSignIn }>;

void t.test('a provider that is set up no more signs nobody in, and its identities can be unlinked', async (t) => {
  const world = await open();
  const deps = withProvider(quickly(world.elsewhere()));
  const id = assertDefined(parseUserId(await signIn(deps)), 'user id');
  const begun = await beginSignIn(deps, { provider: 'acme' });
  const after = quickly(world.elsewhere());
  t.same(after.people.providers.all, []);
  await t.rejects(beginSignIn(after, { provider: 'acme' }), { code: 'SIGN_IN_PROVIDER_UNKNOWN' });
  await t.rejects(finishSignIn(after, { provider: 'acme', cookie: begun.cookie, query: '' }, from), {
    code: 'SIGN_IN_PROVIDER_UNKNOWN',
  });
  const caller = callerOf({ userId: id, sessionId: 'ses_AAAAAAAAAAAAAAAAAAAAAA' });
  const { data } = await listIdentities(after, caller);
  t.match(data, [{ provider: 'acme', label: 'acme' }]);
  await unlinkIdentity(after, caller, data[0]!.id);
  t.same((await listIdentities(after, caller)).data, []);
  // Set up again, it proves the same verified address; it is not authoritative, so the password comes first.
  await t.rejects(signIn(deps), { code: 'IDENTITY_NOT_LINKED' });
});

void t.test('first sign-ins at once in two processes make one user', async (t) => {
  for (let round = 0; round < 20; round += 1) {
    const world = await open();
    const processes = [finishSignIn, elsewhere.finishSignIn].map((finish) => ({
      deps: withProvider(quickly(world.elsewhere())),
      finish,
    }));
    const ids = await Promise.all(
      Array.from({ length: 6 }, (_, index) => {
        const { deps, finish } = processes[index % 2]!;
        return signIn(deps, undefined, finish);
      }),
    );
    t.equal(new Set(ids).size, 1, 'all are signed in as the same user');
    t.equal(await identitiesIn(world), 1);
  }
});
