/** Account mails have a sender of their own, whatever the first team, its domains and its templates say. */
import t, { type Test } from 'tap';
import { ACCOUNT_SENDER, caller, stranger } from '../support/command-world.js';
import { openAccountWorld, type AccountWorld } from '../support/account-world.js';
import { refusedWith } from '../support/given.js';
import { signedIn } from '../support/people.js';
import { assertDefined, parseSenderDomainId } from '../../src/domain/core/ids.js';
import { sendAccountMail } from '../../src/commands/email/service-mails.js';
import { causeOf, type Caller } from '../../src/commands/core/caller.js';
import { publish } from '../support/sender-domains.js';

const email = 'ada@example.com';

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
