/**
 * Missed events go to a subscription when it asks for them: once, in its chain, at a pace that leaves room for new
 * events.
 */
import t, { type Test } from 'tap';
import { webhookStream, type WebhookId } from '../../src/domain/core/ids.js';
import { isoTime, DAY_MS } from '../../src/domain/core/time.js';
import { caller } from '../support/command-world.js';
import { answering, openWebhookWorld, type Post, type WebhookWorld } from '../support/webhook-world.js';

const emailIn = ({ body }: Post): string => (JSON.parse(body) as { data: { emailLogId: string } }).data.emailLogId;

const acceptMany = async (world: WebhookWorld, count: number): Promise<string[]> => {
  const ids: string[] = [];
  for (let made = 0; made < count; made += 1) ids.push(await world.accept());
  return ids;
};

const idsOf = (posts: readonly Post[]): string[] => [...new Set(posts.map(({ id }) => id))].sort();

/** Every email once, in one chain without a gap, doubles with the same bytes. */
const assertChain = (t: Test, posts: readonly Post[], emails: readonly string[]): void => {
  const byId = new Map(posts.map((post) => [post.id, post]));
  const differs = posts.filter(
    (post) => post.body !== byId.get(post.id)?.body || post.previous !== byId.get(post.id)?.previous,
  );
  t.same(differs, []);
  t.same([...byId.values()].map(emailIn).sort(), [...emails].sort(), 'each has one id');
  const previous = new Set([...byId.values()].map((post) => post.previous));
  t.equal(previous.size, byId.size, 'each is named by one');
  t.equal(
    [...byId.values()].filter((post) => post.previous !== undefined && !byId.has(post.previous)).length,
    0,
    'no gap',
  );
};

const passesUntil = async (world: WebhookWorld, holds: () => boolean): Promise<void> => {
  for (let seconds = 0; seconds < 300 && !holds(); seconds += 1) await world.passes(1_000);
};

/** Subscribed, then disabled for a while. Out: what went to it then, and what it missed. */
const afterGap = async (
  world: WebhookWorld,
  missedCount: number,
): Promise<{ id: WebhookId; sent: string[]; missed: string[] }> => {
  const id = await world.subscribe('/hook');
  const sent = await acceptMany(world, 3);
  await world.passes(1_000);
  await world.commands.updateWebhook(caller, id, { enabled: false });
  const missed = await acceptMany(world, missedCount);
  await world.commands.updateWebhook(caller, id, { enabled: true });
  await world.passes(2_000);
  return { id, sent, missed };
};

void t.test('what occurred while it was disabled goes to it, with ids that stay the same', async (t) => {
  const world = await openWebhookWorld(t);
  const since = isoTime(world.clock.now());
  world.start('worker-1');
  const { id, sent, missed } = await afterGap(world, 300);
  t.equal(world.posts.length, 3, 'not by itself');
  await world.commands.replayWebhook(caller, id, { since });
  await t.rejects(world.commands.replayWebhook(caller, id, { since }), { code: 'WEBHOOK_REPLAY_UNDER_WAY' });
  await passesUntil(world, () => idsOf(world.posts).length === 303);
  assertChain(t, world.posts, [...sent, ...missed]);
  const later = await acceptMany(world, 2);
  await world.passes(2_000);
  const all = [...sent, ...missed, ...later];
  assertChain(t, world.posts, all);
  const pulled = await world.commands.webhookEvents(caller, id, { limit: 100 });
  t.ok(pulled.events.every(({ id: event }) => idsOf(world.posts).includes(event)), 'the same for who pulls'); // prettier-ignore

  const before = [...world.posts];
  await world.commands.replayWebhook(caller, id, { since });
  await passesUntil(world, () => idsOf(world.posts.slice(before.length)).length === all.length);
  await world.passes(8_000);
  const again = world.posts.slice(before.length);
  t.same(idsOf(again), idsOf(before), 'all of them again, with the ids that they have');
  t.equal(again.length, all.length, 'each once');
  const asked = (await world.deps.eventLog.load(webhookStream(id))).filter(
    ({ event }) => event.type === 'WebhookBackfillAsked',
  );
  t.equal(asked.length, 1, 'nothing is looked for twice');
});

void t.test('what occurs meanwhile is not kept waiting by what was missed', async (t) => {
  const world = await openWebhookWorld(t);
  const since = isoTime(world.clock.now());
  world.start('worker-1');
  const { id, sent, missed } = await afterGap(world, 600);
  await world.commands.replayWebhook(caller, id, { since });
  await passesUntil(world, () => world.posts.length >= 200);
  const live = await world.accept();
  const isThere = (): boolean => world.posts.some((post) => emailIn(post) === live);
  await passesUntil(world, isThere);
  t.ok(isThere() && idsOf(world.posts).length < 604, 'before the rest');
  await passesUntil(world, () => idsOf(world.posts).length === 604);
  assertChain(t, world.posts, [...sent, ...missed, live]);
});

void t.test('processes that die in the middle of it go on where it was', async (t) => {
  const world = await openWebhookWorld(t);
  const since = isoTime(world.clock.now());
  let first = world.start('worker-0');
  const { id, sent, missed } = await afterGap(world, 900);
  world.endpoint('/hook', async (post, signal) => {
    await world.clock.sleep(40, signal);
    return answering(200)(post, signal);
  });
  await world.commands.replayWebhook(caller, id, { since });
  for (let kill = 0; kill < 3; kill += 1) {
    await world.passes(3_000);
    t.ok(idsOf(world.posts).length < 903, 'in the middle');
    world.keeper.kill(`worker-${kill}`);
    void Promise.allSettled(first.map(({ stop }) => stop()));
    first = world.start(`worker-${kill + 1}`);
  }
  await passesUntil(world, () => idsOf(world.posts).length === 903);
  await world.passes(8_000);
  assertChain(t, world.posts, [...sent, ...missed]);
});

void t.test(
  'kinds that it asks for later, no more than the window, and nothing older than emails are kept',
  async (t) => {
    const world = await openWebhookWorld(t);
    const id = await world.subscribe('/hook', { events: ['email.delivered'] });
    world.start('worker-1');
    const old = await world.accept();
    await world.clock.advance(31 * DAY_MS);
    const early = await world.accept();
    await world.passes(10_000);
    const since = isoTime(world.clock.now());
    const wanted = await acceptMany(world, 2);
    await world.passes(10_000);
    const until = isoTime(world.clock.now());
    const late = await world.accept();
    await world.passes(1_000);
    await world.commands.updateWebhook(caller, id, { events: ['email.queued', 'email.delivered'] });
    await world.passes(1_000);
    await world.commands.replayWebhook(caller, id, { since, until, events: ['email.delivered'] });
    await world.passes(8_000);
    t.equal(world.posts.length, 0);
    await world.commands.replayWebhook(caller, id, { since, until });
    await passesUntil(world, () => world.posts.length >= 2);
    await world.passes(8_000);
    t.same(world.posts.map(emailIn).sort(), [...wanted].sort());
    await world.commands.replayWebhook(caller, id, {
      since: isoTime(world.clock.now() - 60 * DAY_MS),
      events: ['email.queued'],
    });
    await passesUntil(world, () => idsOf(world.posts).length === 4);
    await world.passes(8_000);
    assertChain(t, world.posts, [...wanted, early, late]);
    t.notOk(world.posts.some((post) => emailIn(post) === old)); // prettier-ignore
  },
);
