/** Owners hear that a subscription of their team was disabled by itself: once, and nobody else does. */
import t, { type Test } from 'tap';
import { makeAccountTemplates } from '../../src/commands/email/service-mails.js';
import { makeUser } from '../../src/commands/people/registration.js';
import { tellOwners } from '../../src/commands/webhooks/subscriptions.js';
import { assertDefined, emailStream, INSTANCE_STREAM, parseEmailId, type EmailId } from '../../src/domain/core/ids.js';
import { isoTime } from '../../src/domain/core/time.js';
import { startOf } from '../../src/event-log/event-log.js';
import { accountSamples } from '../support/samples.js';
import { caller, TEAM } from '../support/command-world.js';
import { addMember, PASSWORD } from '../support/people.js';
import { answering, openWebhookWorld, type WebhookWorld } from '../support/webhook-world.js';

const causeIn = ({ clock }: WebhookWorld) => ({
  teamId: TEAM,
  actor: 'test',
  correlationId: 'request-7',
  causationId: 'request-7',
  at: isoTime(clock.now()),
});

/** A team of two owners and a member. */
const open = async (t: Test) => {
  const world = await openWebhookWorld(t);
  const { deps } = world;
  const initialised = { type: 'InstanceInitialised' as const, data: { at: causeIn(world).at, teamId: TEAM } };
  await deps.eventLog.append(INSTANCE_STREAM, startOf(INSTANCE_STREAM), [initialised], causeIn(world));
  await makeAccountTemplates(deps, accountSamples);
  for (const [email, role] of [
    ['ada@owners.example', 'owner'],
    ['ben@owners.example', 'owner'],
    ['cy@members.example', 'member'],
  ] as const) {
    const userId = await makeUser(
      deps,
      { email, password: PASSWORD, name: 'Somebody' },
      { isVerified: true, from: 'request-1' },
    );
    await addMember(deps, TEAM, userId, role);
  }
  /** To whom mails about it were accepted. */
  const told = async (): Promise<readonly (string | undefined)[]> => {
    const to: (string | undefined)[] = [];
    for await (const { events } of deps.eventLog.readAll(0, { kinds: ['email'] }))
      for (const { event, stream } of events)
        if (event.type === 'EmailQueued' && event.data.confidential === true) {
          const id: EmailId = assertDefined(parseEmailId(stream.slice('email-'.length)), 'email id');
          const { recipients, subject } = await world.commands.getEmail(caller, id);
          t.match(subject, /^One of your webhooks at .* was disabled$/);
          t.match((await deps.eventLog.load(emailStream(id)))[0]?.event, { data: { confidential: true } });
          to.push(recipients[0]?.email ?? undefined);
        }
    return to.toSorted();
  };
  return { ...world, told };
};

const OWNERS = ['ada@owners.example', 'ben@owners.example'];

void t.test('after 410 each owner has one mail, and each time that it happens one', async (t) => {
  const world = await open(t);
  const id = await world.subscribe('/gone');
  world.endpoint('/gone', answering(410));
  world.start('worker-1');
  await world.accept();
  await world.passes(2_000);
  t.match(await world.commands.getWebhook(caller, id), { enabled: false, disabledReason: 'gone' });
  t.same(await world.told(), OWNERS);
  await world.commands.updateWebhook(caller, id, { enabled: true });
  await world.passes(1_000);
  await world.accept();
  await world.passes(2_000);
  t.same(await world.told(), [...OWNERS, ...OWNERS].toSorted(), 'it was disabled anew');
});

void t.test(
  'who was broken off and begins again tells nobody twice; of one that is disabled nobody is told',
  async (t) => {
    const world = await open(t);
    const id = await world.subscribe('/failing');
    const tell = () => tellOwners({ ...world.deps }, { id, reason: 'failing' }, causeIn(world));
    await Promise.all([tell(), tell()]);
    await tell();
    t.same(await world.told(), OWNERS);
    await world.commands.updateWebhook(caller, id, { enabled: false });
    await tell();
    t.same(await world.told(), OWNERS);
  },
);

void t.test('it is disabled although its mail cannot be sent', async (t) => {
  const world = await open(t);
  await world.commands.deleteTemplate(caller, 'account-webhook-disabled');
  const id = await world.subscribe('/gone');
  world.endpoint('/gone', answering(410));
  world.start('worker-1');
  await world.accept();
  await world.passes(2_000);
  t.match(await world.commands.getWebhook(caller, id), { enabled: false });
  t.same(await world.told(), []);
});
