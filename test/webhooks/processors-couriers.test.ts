/** How notices are delivered: couriers, pace, answers, missed events, the export. */
import t, { type Test } from 'tap';
import { eraseRecipients } from '../../src/commands/privacy/erasure.js';
import {
  emailStream,
  parseBatchId,
  assertDefined,
  batchStream,
  webhookStream,
  type WebhookId,
  webhookOutcomeStream,
} from '../../src/domain/core/ids.js';
import { isoTime, DAY_MS } from '../../src/domain/core/time.js';
import type { OutboundPost } from '../../src/domain/ports/outbound-http.js';
import { bodyKeys } from '../../src/domain/webhooks/body.js';
import { sealAnswer, withAnswers, type DeliveryListing } from '../../src/domain/webhooks/delivery.js';
import { openPace } from '../../src/processors/webhooks/courier.js';
import { deliverWebhooksWorker } from '../../src/processors/webhooks/delivery.js';
import { compareWithRebuild } from '../../src/projections/core/rebuild.js';
import { addressIndex } from '../../src/projections/privacy/traces.js';
import { dueFailures, keptWebhooks } from '../../src/projections/webhooks/reads.js';
import { webhooksProjection } from '../../src/projections/webhooks/webhooks.js';
import { caller, TEAM, stranger } from '../support/command-world.js';
import { fakeClock } from '../support/fake-clock.js';
import { memoryKeys } from '../support/memory-ports.js';
import {
  answering,
  openWebhookWorld,
  WEBHOOK_DELAYS_MS,
  type WebhookWorld,
  answersKept,
  type Post,
} from '../support/webhook-world.js';

// Couriers of webhooks, while the log, the clock and the endpoints are scripted: their pace, their records, and their
// restarts.

const nowhere: OutboundPost = {
  post: async () => ({ status: 200, retryAfter: undefined, body: '' }),
  forget: () => {},
  close: async () => {},
};

const depsOf = (world: WebhookWorld) => {
  const { processing, readModels, keeper } = world;
  const caughtUp = (position: number, signal: AbortSignal): Promise<void> =>
    processing.timersCaughtUp('email', position, signal);
  return {
    ...processing,
    ...world.elsewhere(),
    worker: 'worker-1',
    leases: keeper.open(),
    webhooks: { outbound: nowhere, insecureHosts: [] },
    keptUpTo: async (position: number, signal: AbortSignal) => {
      await caughtUp(position, signal);
      return keptWebhooks(readModels);
    },
    due: async (id: Parameters<typeof dueFailures>[1], position: number, limit: number, signal: AbortSignal) => {
      await caughtUp(position, signal);
      return dueFailures(readModels, id, limit);
    },
  };
};

void t.test('where the log tells of nothing more the work ends, so that it begins anew', async (t) => {
  const world = await openWebhookWorld(t);
  await world.subscribe('/idle');
  const deps = depsOf(world);
  let breakOff = (): void => {};
  const broken = new Promise<void>((resolve) => (breakOff = resolve));
  const eventLog: typeof deps.eventLog = {
    ...deps.eventLog,
    subscribeAll: async function* (after, options) {
      if (options.kinds?.includes('webhookRoute') !== true) return yield* deps.eventLog.subscribeAll(after, options);
      await broken;
      throw new Error('the subscription broke off');
    },
  };
  let ended: unknown;
  const { done, stop } = world.run(
    deliverWebhooksWorker({ ...deps, eventLog, webhookDelaysMs: WEBHOOK_DELAYS_MS, tellOwners: async () => {} }),
  );
  done.catch((fault: unknown) => (ended = fault));
  await world.passes(1_000);
  t.equal(ended, undefined);
  breakOff();
  await world.passes(5_000);
  t.match(ended, { message: 'the subscription broke off' });
  await stop().catch(() => {});
});

void t.test('a replay that wants none of its events ends, and stops nothing else', async (t) => {
  const world = await openWebhookWorld(t);
  const since = isoTime(world.clock.now());
  const id = await world.subscribe('/none');
  world.start('worker-1');
  for (let made = 0; made < 3; made += 1) await world.accept();
  await world.passes(2_000);
  t.equal(world.posts.length, 3);
  t.match(await world.commands.replayWebhook(caller, id, { since, events: ['email.bounced'] }), { from: 0, to: 3 });
  await world.passes(8_000);
  t.equal(world.posts.length, 3);
  t.match(
    await world.commands.replayWebhook(caller, id, { since }),
    { from: 0, to: 3 },
    'no replay is under way any more',
  );
  await world.passes(8_000);
  t.equal(world.posts.length, 6);
});

/** Times of the facts of what came of attempts, as they are appended, against the clock of the test. */
const appendedMs = async (world: WebhookWorld): Promise<readonly number[]> => {
  const found: number[] = [];
  for await (const { events } of world.deps.eventLog.readAll(0, { types: ['WebhookAttempted'] }))
    found.push(...events.map(({ metadata }) => Date.parse(metadata.occurredAt)));
  return found;
};

/** Results of attempts within this time are recorded in one event. */
const GATHER_MS = 500;

void t.test(
  'what came of attempts is appended within the time of gathering, and what comes within it shares a fact',
  async (t) => {
    const world = await openWebhookWorld(t);
    await world.subscribe('/slow');
    world.endpoint('/slow', async (post, signal) => {
      await world.clock.sleep(130, signal);
      return answering(200)(post, signal);
    });
    world.start('worker-1');
    await world.passes(2_000);
    for (let made = 0; made < 20; made += 1) await world.accept();
    await world.passes(4_000, 10);
    const ended = world.posts.map(({ atMs }) => atMs + 130);
    const facts = await appendedMs(world);
    t.equal(ended.length, 20);
    for (const atMs of ended)
      t.ok(
        facts.some((fact) => fact >= atMs && fact <= atMs + GATHER_MS + 20),
        `appended soon after ${atMs}`,
      );
    t.ok(facts.length < 4, `${facts.length} facts`);
  },
);

void t.test('that an endpoint is gone is appended at once', async (t) => {
  const world = await openWebhookWorld(t);
  const id = await world.subscribe('/gone');
  world.endpoint('/gone', answering(410));
  world.start('worker-1');
  await world.passes(2_000);
  const appended: number[] = [];
  // At every phase of the gathering: each time it is enabled again, a little later.
  for (let times = 0; times < 5; times += 1) {
    if (times > 0) await world.commands.updateWebhook(caller, id, { enabled: true });
    await world.passes(1_070, 10);
    await world.accept();
    await world.passes(1_000, 10);
    const [facts, last] = [await appendedMs(world), world.posts.at(-1)!];
    t.equal(facts.length, times + 1);
    appended.push(facts.at(-1)! - last.atMs);
    t.equal((await world.commands.getWebhook(caller, id)).enabled, false);
  }
  t.ok(Math.max(...appended) <= 20, `after ${appended.join(', ')} ms`);
});

// How many events a second may be sent to one subscription.

const PER_SECOND_MAX = 100;

void t.test('a hundred at once, and then no more until a second after the first of them has passed', async (t) => {
  const clock = fakeClock();
  const pace = openPace(clock);
  for (let started = 0; started < PER_SECOND_MAX; started += 1) {
    t.ok(pace.mayStart());
    pace.started();
  }
  t.notOk(pace.mayStart());
  t.equal(pace.pauseMs(1), 1_000);
  await clock.advance(999);
  t.notOk(pace.mayStart());
  t.equal(pace.pauseMs(1), 1);
  await clock.advance(1);
  t.ok(pace.mayStart());
});

void t.test('what is started counts, not what is asked about, in each second wherever it begins', async (t) => {
  const clock = fakeClock();
  const pace = openPace(clock);
  const startedMs: number[] = [];
  for (let passedMs = 0; passedMs < 3_500; passedMs += 7) {
    for (let asked = 0; asked < 3 && pace.mayStart(); asked += 1) {
      pace.mayStart();
      pace.started();
      startedMs.push(clock.monotonic());
    }
    await clock.advance(7);
  }
  const withinSecond = startedMs.map((from) => startedMs.filter((at) => at >= from && at < from + 1_000).length);
  t.equal(Math.max(...withinSecond), PER_SECOND_MAX);
  t.ok(startedMs.length > 3 * PER_SECOND_MAX, 'and the whole share is used');
});

void t.test('the pause is as long as so many need', async (t) => {
  const clock = fakeClock();
  const pace = openPace(clock);
  for (let started = 0; started < PER_SECOND_MAX; started += 1) {
    pace.started();
    if (started === 49) await clock.advance(400);
  }
  t.equal(pace.pauseMs(1), 600);
  t.equal(pace.pauseMs(50), 600);
  t.equal(pace.pauseMs(51), 1_000);
});

// The answers of endpoints are removed with the email or the recipient that they are about.

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

// Missed events go to a subscription when it asks for them: once, in its chain, at a pace that leaves room for new
// events.

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

// The export of an address has what endpoints were told of its emails, and nothing of others.

const [ann, gone] = ['ann@example.com', 'gone@example.org'];

type Line = Readonly<Record<string, unknown>>;

const exportedLines = async (world: WebhookWorld, email: string, who = caller): Promise<readonly Line[]> => {
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
  const lines = await exportedLines(world, gone);
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
  t.same(await exportedLines(world, gone, stranger), []);

  await world.clock.advance(2 * DAY_MS);
  const next = await world.send({ to: [{ email: gone }] });
  await world.passes(3_000);
  t.ok((await world.deps.eventLog.last(webhookOutcomeStream(two, 1))) !== undefined, 'a second part');
  const both2 = await exportedLines(world, gone);
  t.ok(both2.length > lines.length);
  t.same(
    both2.filter((line) => line['webhookId'] === two && line['emailId'] === next).map(({ event }) => event),
    ['email.queued'],
  );
  await world.commands.deleteWebhook(caller, one);
  await world.passes(61_000, 1_000);
  t.notOk((await exportedLines(world, gone)).some((line) => line['webhookId'] === one), 'those of a deleted one are destroyed'); // prettier-ignore
});
