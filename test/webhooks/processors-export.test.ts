/** The export of an address has what endpoints were told of its emails, and nothing of others. */
import t from 'tap';
import { webhookOutcomeStream } from '../../src/domain/core/ids.js';
import { DAY_MS } from '../../src/domain/core/time.js';
import { addressIndex } from '../../src/projections/privacy/traces.js';
import { caller, stranger } from '../support/command-world.js';
import { answering, openWebhookWorld, type WebhookWorld } from '../support/webhook-world.js';

const [ann, gone] = ['ann@example.com', 'gone@example.org'];

type Line = Readonly<Record<string, unknown>>;

const exported = async (world: WebhookWorld, email: string, who = caller): Promise<readonly Line[]> => {
  await world.settled();
  let text = '';
  for await (const piece of await world.commands.exportAddress(who, { email }, addressIndex(world.readModels)))
    text += piece;
  const lines = text.trim().split('\n');
  return lines.map((one) => JSON.parse(one) as Line).filter(({ type }) => type === 'webhookDelivery');
};

void t.test('attempts of its own emails, of all subscriptions, over several parts', async (t) => {
  const world = await openWebhookWorld(t);
  const [one, two] = [
    await world.subscribe('/one'),
    await world.subscribe('/two', { events: ['email.queued', 'email.delivered'] }),
  ];
  world.endpoint('/one', answering(500, { body: 'not now' }));
  world.endpoint('/two', answering(200, { body: 'thanks' }));
  world.start('worker-1');
  const own = await world.send({ to: [{ email: gone }] });
  const both = await world.send({ to: [{ email: ann }, { email: gone }] });
  const others = await world.send({ to: [{ email: ann }] });
  await world.passes(2_000);
  await world.deliver(both);
  await world.deliver(own);
  await world.passes(90_000, 1_000);
  const lines = await exported(world, gone);
  const told = (webhookId: string, emailId: string) =>
    lines.filter((line) => line['webhookId'] === webhookId && line['emailId'] === emailId).map(({ event, status, attempt, response }) => [event, status, attempt, response]); // prettier-ignore
  t.same(told(one, own), [
    ['email.queued', 'failed', 1, 'not now'],
    ['email.queued', 'failed', 2, 'not now'],
  ]);
  t.same(
    told(one, both)[0],
    ['email.queued', 'failed', 1, undefined],
    'of the whole email the answer may be about others',
  );
  t.same(told(two, own), [
    ['email.queued', 'success', 1, 'thanks'],
    ['email.delivered', 'success', 1, 'thanks'],
  ]);
  t.same(told(two, both), [['email.queued', 'success', 1, undefined]], 'another recipient had it, and not this one');
  t.same(told(one, others), []);
  t.same(await exported(world, gone, stranger), []);

  await world.clock.advance(2 * DAY_MS);
  const next = await world.send({ to: [{ email: gone }] });
  await world.passes(3_000);
  t.ok((await world.deps.eventLog.last(webhookOutcomeStream(two, 1))) !== undefined, 'a second part');
  const both2 = await exported(world, gone);
  t.ok(both2.length > lines.length);
  t.same(
    both2.filter((line) => line['webhookId'] === two && line['emailId'] === next).map(({ event }) => event),
    ['email.queued'],
  );
  await world.commands.deleteWebhook(caller, one);
  await world.passes(61_000, 1_000);
  t.notOk((await exported(world, gone)).some((line) => line['webhookId'] === one), 'those of a deleted one are destroyed'); // prettier-ignore
});
