/**
 * How long a sign-in takes tells nothing of whether the address has an account: what is done is counted, for time says
 * little in a test.
 */
import t from 'tap';
import { eraseUser } from '../../src/commands/people/erasure.js';
import type { CommandNeeds } from '../../src/commands/needs.js';
import { makeUser } from '../../src/commands/people/registration.js';
import { login } from '../../src/commands/people/sessions.js';
import { codeOf } from '../support/account-world.js';
import { openWorld, TEAM } from '../support/command-world.js';
import { T0 } from '../support/email-facts.js';
import { from, PASSWORD, signedIn } from '../support/people.js';

t.setTimeout(170_000);

type Work = { compared: number; hashed: number; read: number; written: number };

/** Counts what a sign-in asks of the passwords and of the log. */
const counting = (deps: CommandNeeds): Readonly<{ work: Work; counted: CommandNeeds }> => {
  const work: Work = { compared: 0, hashed: 0, read: 0, written: 0 };
  const { eventLog } = deps;
  const { passwords } = deps.people;
  const counted: CommandNeeds = {
    ...deps,
    eventLog: {
      ...eventLog,
      load: (...given) => ((work.read += 1), eventLog.load(...given)),
      append: (...given) => ((work.written += 1), eventLog.append(...given)),
    },
    people: {
      ...deps.people,
      passwords: {
        ...passwords,
        verify: (...given) => ((work.compared += 1), passwords.verify(...given)),
        hash: (...given) => ((work.hashed += 1), passwords.hash(...given)),
      },
    },
  };
  return { work, counted };
};

void t.test('an address that nobody has costs a sign-in the work of a wrong password', async (t) => {
  const world = await openWorld();
  await signedIn(world.deps, { email: 'ada@example.com' });
  await makeUser(
    world.deps,
    { email: 'bea@example.com', password: PASSWORD, name: 'Bea' },
    { isVerified: false, from: 'r' },
  );
  const { userId } = await signedIn(world.deps, { email: 'cid@example.com' });
  const cause = { teamId: TEAM, actor: 'cli', correlationId: 'test', causationId: 'test', at: T0 };
  await eraseUser(world.deps, userId, async () => ({ teams: [], sessions: [], grants: [], mails: [] }), cause);
  const work = async (email: string, password: string) => {
    const { work, counted } = counting(world.deps);
    const code = await codeOf(login(counted, { email, password }, from));
    return { code, ...work };
  };
  const wrong = await work('ada@example.com', 'another password');
  t.match(wrong, { code: 'INVALID_CREDENTIALS', compared: 1, hashed: 0, written: 0 });
  for (const email of ['nobody@example.com', 'bea@example.com', 'cid@example.com'])
    t.same(await work(email, 'another password'), wrong, email);
  t.same(await work('nobody@example.com', PASSWORD), wrong);
  t.match(
    await work('bea@example.com', PASSWORD),
    { code: 'ADDRESS_NOT_VERIFIED', compared: 1, hashed: 0 },
    'who knows the password learns more',
  );
});
