/** The answers of endpoints are removed with the email or the recipient that they are about. */
import t from 'tap';
import { eraseRecipients } from '../../src/commands/privacy/erasure.js';
import { emailStream, parseBatchId, assertDefined, batchStream } from '../../src/domain/core/ids.js';
import { DAY_MS, isoTime } from '../../src/domain/core/time.js';
import { bodyKeys } from '../../src/domain/webhooks/body.js';
import { sealAnswer, withAnswers, type DeliveryListing } from '../../src/domain/webhooks/delivery.js';
import { compareWithRebuild } from '../../src/projections/core/rebuild.js';
import { addressIndex } from '../../src/projections/privacy/traces.js';
import { webhooksProjection } from '../../src/projections/webhooks/webhooks.js';
import { caller, TEAM } from '../support/command-world.js';
import { memoryKeys } from '../support/memory-ports.js';
import { answering, answersKept, openWebhookWorld, type WebhookWorld } from '../support/webhook-world.js';

const differenceOf = async (world: WebhookWorld) =>
  (
    await compareWithRebuild(webhooksProjection(30 * DAY_MS), {
      eventLog: world.elsewhere().eventLog,
      readModels: world.readModels,
    })
  ).difference;

/** The answers that the list shows, the oldest first. */
const listed = async (world: WebhookWorld, id: Parameters<WebhookWorld['deliveries']>[0]) => {
  await world.settled();
  return (await world.deliveries(id)).map(({ event, response }) => [event, response]).toReversed();
};

const exported = async (world: WebhookWorld, email: string): Promise<string> => {
  let text = '';
  for await (const piece of await world.commands.exportAddress(caller, { email }, addressIndex(world.readModels)))
    text += piece;
  return text;
};

void t.test('of an email that is deleted no answer stays, and a rebuild brings none back', async (t) => {
  const world = await openWebhookWorld(t);
  const hook = await world.subscribe('/echo');
  world.start('worker-1');
  world.endpoint('/echo', answering(200, { body: 'stored Greta Garbo' }));
  const deleted = await world.send({ to: [{ email: 'greta@example.org' }] });
  await world.passes(2_000);
  world.endpoint('/echo', answering(200, { body: 'stored Ann' }));
  await world.send({ to: [{ email: 'ann@example.org' }] });
  await world.passes(2_000);
  t.same(await listed(world, hook), [['email.queued', 'stored Greta Garbo'], ['email.queued', 'stored Ann']]); // prettier-ignore
  t.match(await exported(world, 'greta@example.org'), /Greta Garbo/);
  t.match(await answersKept(world), /Greta Garbo/);
  await world.commands.deleteEmail(caller, deleted);
  t.same(await listed(world, hook), [['email.queued', undefined], ['email.queued', 'stored Ann']]); // prettier-ignore
  const kept = await answersKept(world);
  t.notMatch(kept, /Greta Garbo/);
  t.match(kept, /stored Ann/);
  t.equal(await differenceOf(world), undefined);
});

void t.test('with a recipient go the answers about it, and those that may name it', async (t) => {
  const world = await openWebhookWorld(t);
  const hook = await world.subscribe('/echo', { events: ['email.queued', 'email.delivered'] });
  world.start('worker-1');
  const id = await world.send({ to: [{ email: 'ann@example.org' }, { email: 'greta@example.org' }] });
  world.endpoint('/echo', answering(200, { body: 'stored Ann and Greta' }));
  await world.passes(2_000);
  world.endpoint('/echo', answering(200, { body: 'Ann has it' }));
  await world.deliver(id);
  await world.passes(2_000);
  t.same(await listed(world, hook), [['email.queued', 'stored Ann and Greta'], ['email.delivered', 'Ann has it']]); // prettier-ignore
  const erase = async (place: number): Promise<void> => {
    const cause = { teamId: TEAM, actor: 'test', correlationId: id, causationId: id, at: isoTime(world.clock.now()) };
    await eraseRecipients(world.deps, { stream: emailStream(id), recipients: [place], cause });
  };
  await erase(1);
  t.same(await listed(world, hook), [['email.queued', undefined], ['email.delivered', 'Ann has it']]); // prettier-ignore
  t.notMatch(await answersKept(world), /Greta/);
  await erase(0);
  t.same(await listed(world, hook), [['email.queued', undefined], ['email.delivered', undefined]]); // prettier-ignore
  t.notMatch(await answersKept(world), /Ann has it/);
  t.equal(await differenceOf(world), undefined);
});

void t.test('nothing is kept of an answer that comes after what it answers was destroyed', async (t) => {
  const world = await openWebhookWorld(t);
  const hook = await world.subscribe('/late');
  const id = await world.send({ to: [{ email: 'greta@example.org' }] });
  world.endpoint('/late', async () => {
    await world.commands.deleteEmail(caller, id);
    return { status: 200, retryAfter: undefined, body: 'stored Greta' };
  });
  world.start('worker-1');
  await world.passes(2_000);
  await world.settled();
  t.match(await world.deliveries(hook), [{ status: 'success', statusCode: 200, response: undefined }]);
  t.notMatch(await answersKept(world), /stored Greta/);
});

void t.test('what a bulk send is told by is not personal', (t) => {
  const stream = batchStream(assertDefined(parseBatchId('018c0000-0000-7000-8000-000000000001'), 'batch'));
  t.same(bodyKeys({ stream }, [], { keyId: 'one' }), []);
  t.end();
});

void t.test('an answer opens in no other place, and with all of its keys', async (t) => {
  const keys = memoryKeys();
  const [one, two] = [await keys.create(), await keys.create()];
  const ids = [one.id, two.id];
  const item = { eventId: 'evt_1', attempt: 1 } as DeliveryListing;
  const answer = sealAnswer(await keys.getMany(ids), item, { answer: 'yes', keys: ids });
  const opened = async (listing: DeliveryListing) =>
    (await withAnswers(keys, [{ item: listing, answer }]))[0]?.response;
  t.equal(await opened(item), 'yes');
  t.equal(await opened({ ...item, attempt: 2 }), undefined);
  await keys.destroy([one.id]);
  t.equal(await opened(item), undefined);
  t.equal(sealAnswer(await keys.getMany(ids), item, { answer: 'yes', keys: ids }), null);
});
