/** Webhooks from the event to the delivery, its router and webhooks that are disabled. */
import t, { type Test } from 'tap';
import { causeOf } from '../../src/commands/core/caller.js';
import { handle } from '../../src/commands/core/handle.js';
import { makeAccountTemplates } from '../../src/commands/email/service-mails.js';
import { makeUser } from '../../src/commands/people/registration.js';
import { attemptDelivery } from '../../src/commands/webhooks/attempt.js';
import { tellOwners } from '../../src/commands/webhooks/subscriptions.js';
import {
  teamStream,
  webhookOutcomeStream,
  webhookStream,
  assertDefined,
  type WebhookId,
  emailStream,
  INSTANCE_STREAM,
  parseEmailId,
  type EmailId,
} from '../../src/domain/core/ids.js';
import { isoTime, DAY_MS } from '../../src/domain/core/time.js';
import { teamDecider, type TeamCommand } from '../../src/domain/teams/decider.js';
import { formatSecret, signingKeysOf } from '../../src/domain/webhooks/delivery.js';
import { GIVE_WAY_MS } from '../../src/event-log/decode.js';
import { startOf } from '../../src/event-log/event-log.js';
import { openRouter } from '../../src/processors/webhooks/router.js';
import { compareWithRebuild } from '../../src/projections/core/rebuild.js';
import {
  webhooksProjection,
  WEBHOOK_ATTEMPTS,
  WEBHOOK_FAILURES,
  WEBHOOKS,
} from '../../src/projections/webhooks/webhooks.js';
import { caller, TEAM } from '../support/command-world.js';
import { queued, T0, TEAM_ID } from '../support/email-facts.js';
import { fakeClock } from '../support/fake-clock.js';
import { memoryLog } from '../support/memory-ports.js';
import { addMember, PASSWORD } from '../support/people.js';
import { openLogOfTest } from '../support/projected.js';
import { accountSamples } from '../support/samples.js';
import { answering, answersKept, openWebhookWorld, type Post, type WebhookWorld } from '../support/webhook-world.js';

// Webhooks as they are sent over days and deaths: no endpoint delays another, none is given up too soon, and nothing is
// lost.

const to = (posts: readonly Post[], path: string): readonly Post[] => posts.filter((post) => post.path === path);

/** Every event in one chain, the bodies of doubles the same. */
const assertWhole = (t: Test, posts: readonly Post[], count: number): void => {
  const byId = new Map<string, Post>();
  for (const post of posts) {
    const first = byId.get(post.id);
    if (first !== undefined) t.same([post.body, post.previous], [first.body, first.previous]);
    byId.set(post.id, first ?? post);
  }
  t.equal(byId.size, count, 'each event came');
  const chain = [...byId.values()].filter(({ previous }) => previous === undefined || byId.has(previous));
  t.equal(chain.length, count, 'no gap');
};

const acceptMany = async (world: WebhookWorld, count: number): Promise<void> => {
  for (let made = 0; made < count; made += 1) await world.accept();
};

void t.test('1 of 20 endpoints that hangs, with 10,000 events, delays no other', async (t) => {
  const world = await openWebhookWorld(t);
  const paths = Array.from({ length: 20 }, (_, index) => `/${index}`);
  for (const path of paths) await world.subscribe(path);
  world.endpoint('/0', world.hanging);
  await acceptMany(world, 500);
  world.start('worker-1');
  const startedMs = world.clock.now();
  const healthy = paths.slice(1);
  while (healthy.some((path) => to(world.posts, path).length < 500) && world.clock.now() - startedMs < 30_000)
    await world.passes(1_000);
  t.ok(world.clock.now() - startedMs < 30_000, 'all others have all before the first post to it has ended');
  for (const path of healthy) assertWhole(t, to(world.posts, path), 500);
  t.ok(to(world.posts, '/0').length <= 8);
  await world.passes(31_000, 1_000);
  const hung = to(world.posts, '/0').length;
  t.ok(hung > 8 && hung <= 16, 'then it is asked less');
});

void t.test('a receiver says when it wants to be asked again', async (t) => {
  const world = await openWebhookWorld(t);
  const id = await world.subscribe('/later');
  world.endpoint('/later', answering(503, { retryAfter: '600' }));
  world.start('worker-1');
  await world.accept();
  await world.passes(2_000);
  const [first] = await world.deliveries(id);
  t.match(first, { status: 'failed', statusCode: 503, attempt: 1 });
  const pauseMs = Date.parse(first!.nextRetryAt!) - Date.parse(first!.attemptedAt);
  t.ok(pauseMs >= 600_000 && pauseMs < 602_000, 'the list says when');
  world.endpoint('/later', answering(200));
  await world.passes(598_000, 1_000);
  t.equal(world.posts.length, 1, 'not before');
  await world.passes(6_000);
  t.equal(world.posts.length, 2);
  t.match((await world.deliveries(id))[0], { status: 'success', attempt: 2 });
  assertWhole(t, world.posts, 1);
});

void t.test(
  'five days of nothing but failures disable, and one success in between does not let it come to that',
  async (t) => {
    const world = await openWebhookWorld(t);
    const [never, once] = [await world.subscribe('/never'), await world.subscribe('/once')];
    world.endpoint('/never', answering(500));
    world.start('worker-1');
    for (let half = 0; half < 11; half += 1) {
      world.endpoint('/once', answering(half === 5 ? 200 : 500));
      await world.accept();
      await world.passes(40_000, 500);
      const { enabled, disabledReason } = await world.commands.getWebhook(caller, never);
      t.same([enabled, disabledReason], half < 10 ? [true, undefined] : [false, 'failing'], `after ${half / 2} days`);
      t.equal((await world.commands.getWebhook(caller, once)).enabled, true);
      await world.clock.advance(DAY_MS / 2);
    }
  },
);

void t.test(
  'failures that are not spread over five days disable nothing, and the time in which the service did not run does not count',
  async (t) => {
    let offMs = 0;
    const world = await openWebhookWorld(t, {}, () => offMs);
    const id = await world.subscribe('/seldom');
    world.endpoint('/seldom', answering(503));
    world.start('worker-1');
    const fails = async (afterMs: number): Promise<boolean> => {
      await world.clock.advance(afterMs);
      await world.accept();
      await world.passes(2_000, 500);
      return (await world.commands.getWebhook(caller, id)).enabled;
    };
    t.ok(await fails(0));
    t.ok(await fails(6 * DAY_MS), 'two failures six days apart');
    for (let hour = 0; hour < 4; hour += 1) t.ok(await fails(DAY_MS / 24), 'several failures in some hours');
    offMs = 4 * DAY_MS;
    for (let day = 0; day < 2; day += 1) t.ok(await fails(DAY_MS), 'four of the eight days the service was off');
    t.notOk(await fails(DAY_MS));
    offMs = 0;
    await world.commands.updateWebhook(caller, id, { enabled: true });
    t.ok(await fails(DAY_MS), 'nobody tried while it was disabled');
  },
);

void t.test('a post is signed at the time of the machine while the service goes by a clock of its own', async (t) => {
  const { deps, subscribe } = await openWebhookWorld(t);
  const machineMs = Date.parse('2033-05-05T05:05:05.000Z');
  const stamps: string[] = [];
  const outbound = {
    post: async (_url: string, { headers }: Readonly<{ headers: Readonly<Record<string, string>> }>) => {
      stamps.push(headers['x-service-timestamp']!, headers['webhook-timestamp']!);
      return { status: 200, retryAfter: undefined, body: '' };
    },
    forget: () => {},
    close: async () => {},
  };
  const clock = { ...deps.clock, machineNow: () => machineMs };
  const endpoint = {
    url: 'https://hooks.example/a',
    keys: signingKeysOf(formatSecret(Buffer.alloc(32, 1))),
    earlier: [],
  };
  const id = await subscribe('/a');
  const post = { id: 'evt_0_x', previousId: null, kind: 'email.queued', body: '{}' };
  await attemptDelivery(
    { webhooks: { outbound, insecureHosts: [] }, clock },
    id,
    endpoint,
    post,
    new AbortController().signal,
  );
  t.same(stamps, [String(machineMs / 1_000), String(machineMs / 1_000)]);
});

void t.test('after 410 nothing more is sent until it is enabled again', async (t) => {
  const world = await openWebhookWorld(t);
  const id = await world.subscribe('/gone');
  world.endpoint('/gone', answering(410));
  world.start('worker-1');
  await world.accept();
  await world.passes(2_000);
  t.match(await world.commands.getWebhook(caller, id), { enabled: false, disabledReason: 'gone' });
  const [gone] = await world.deliveries(id);
  t.equal(gone?.nextRetryAt, undefined, 'and is not tried again by itself');
  world.endpoint('/gone', answering(200));
  await world.accept();
  await world.passes(120_000, 1_000);
  t.equal(world.posts.length, 1);
  t.match(await world.commands.updateWebhook(caller, id, { enabled: true }), {
    enabled: true,
    disabledReason: undefined,
  });
  await world.passes(1_000);
  await world.accept();
  await world.passes(2_000);
  t.equal(world.posts.length, 2, 'what occurred meanwhile is not sent later');
  t.equal(world.posts[1]?.previous, world.posts[0]?.id, 'and is no gap');
});

void t.test('a process that dies in the middle of a replay loses nothing of it', async (t) => {
  const world = await openWebhookWorld(t);
  const id = await world.subscribe('/slow');
  const since = isoTime(world.clock.now());
  const first = world.start('worker-1');
  await acceptMany(world, 40);
  await world.passes(3_000);
  assertWhole(t, world.posts, 40);
  world.endpoint('/slow', async (post, signal) => {
    await world.clock.sleep(1_000, signal);
    return answering(200)(post, signal);
  });
  await world.commands.replayWebhook(caller, id, { since });
  await world.passes(6_000);
  const before = world.posts.length;
  t.ok(before > 42 && before < 80, 'in the middle');
  world.keeper.kill('worker-1');
  void Promise.all(first.map(({ stop }) => stop()));
  world.start('worker-2');
  await world.passes(60_000, 500);
  const again = world.posts.slice(40);
  assertWhole(t, [...world.posts.slice(0, 40), ...again], 40);
  t.equal(new Set(again.map((post) => post.id)).size, 40, 'each is sent again');
  t.ok(again.length < 60, 'and few of them twice');
  t.equal((await world.commands.replayWebhook(caller, id, { since })).to, 40, 'the replay has ended');
});

void t.test(
  'a process that is frozen with posts under way is taken over from, and what it says then is too late',
  async (t) => {
    const world = await openWebhookWorld(t);
    const id = await world.subscribe('/held');
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    world.endpoint('/held', async (post, signal) => {
      await held;
      return answering(200)(post, signal);
    });
    world.start('worker-1');
    await acceptMany(world, 30);
    await world.passes(2_000);
    t.equal(world.posts.length, 8);
    world.keeper.kill('worker-1');
    world.endpoint('/held', answering(200));
    world.start('worker-2');
    await world.passes(30_000, 500);
    assertWhole(t, world.posts, 30);
    release();
    await world.passes(10_000, 500);
    assertWhole(t, world.posts, 30);
    t.equal(world.posts.length, 38, 'those that were under way came twice');
    t.equal((await world.deliveries(id)).length, 30, 'each is recorded once');
  },
);

void t.test('a subscription whose events are damaged stops alone, and is told of', async (t) => {
  const world = await openWebhookWorld(t);
  const broken = await world.subscribe('/broken');
  await world.subscribe('/whole');
  await world.commands.updateWebhook(caller, broken, { events: ['email.queued', 'email.sent'] });
  const at = world.store.events.findIndex(({ stream, revision }) => stream === webhookStream(broken) && revision === 1);
  world.store.events[at] = { ...world.store.events[at]!, data: '{"at":7}' };
  world.start('worker-1');
  await acceptMany(world, 5);
  await world.passes(5_000);
  assertWhole(t, to(world.posts, '/whole'), 5);
  t.equal(to(world.posts, '/broken').length, 0);
  const told = world.logger.lines.filter(({ fields }) => fields.webhook === broken).map(({ message }) => message);
  t.equal(told.filter((message) => message.includes('cannot be read')).length, 1);
});

void t.test('an email with an event of a newer program is told to nobody, and all others are', async (t) => {
  const world = await openWebhookWorld(t);
  await world.subscribe('/hook', { events: ['email.queued', 'email.delivered'] });
  await world.deliver(await world.accept());
  const at = world.store.events.findIndex(({ type }) => type === 'EmailDelivered.v1');
  world.store.events[at] = { ...world.store.events[at]!, type: 'EmailDelivered.v9' };
  await acceptMany(world, 4);
  world.start('worker-1');
  await world.passes(2 * GIVE_WAY_MS, 500);
  t.equal(world.posts.length, 4, 'of the email that waits for the newer program nothing is sent');
});

void t.test('records are removed after 30 days: from the read models, and with their key from the log', async (t) => {
  const world = await openWebhookWorld(t);
  const id = await world.subscribe('/old');
  world.endpoint('/old', answering(404, { body: 'early answer to ann@example.org' }));
  world.start('worker-1');
  await world.accept();
  await world.passes(2_000);
  t.match(await world.deliveries(id), [{ response: 'early answer to [address]' }]);
  world.endpoint('/old', answering(200, { body: 'late answer' }));
  await world.clock.advance(2 * DAY_MS);
  await world.accept();
  await world.passes(20_000, 500);
  t.match(await answersKept(world), /early answer.*late answer/s);
  await world.clock.advance(28.5 * DAY_MS);
  await world.passes(130_000, 500);
  await world.settled();
  const kept = await answersKept(world);
  t.notMatch(kept, /early answer/);
  t.match(kept, /late answer/);
  t.notMatch(await world.deliveries(id), [{ response: 'early answer' }]);
  t.equal((await world.events(webhookOutcomeStream(id, 0))).at(-1)?.type, 'WebhookOutcomesRemoved');
  await world.clock.advance(3 * DAY_MS);
  await world.passes(130_000, 500);
  await world.settled();
  t.notMatch(await answersKept(world), /late answer/);
  t.same(await world.readModels.find(WEBHOOK_ATTEMPTS, { where: {}, limit: 10 }), []);
  t.same(await world.readModels.find(WEBHOOK_FAILURES, { where: {}, limit: 10 }), []);
  const { eventLog } = world.elsewhere();
  t.equal(
    (await compareWithRebuild(webhooksProjection(30 * DAY_MS), { eventLog, readModels: world.readModels })).difference,
    undefined,
    'a rebuild brings nothing back',
  );
  world.endpoint('/old', answering(200));
  await world.accept();
  await world.passes(5_000);
  t.match(await world.deliveries(id), [{ status: 'success' }], 'and it goes on');
});

void t.test('with a subscription the records of all its deliveries go', async (t) => {
  const world = await openWebhookWorld(t, { mayDestroy: () => false });
  const id = await world.subscribe('/left');
  world.endpoint('/left', answering(500, { body: 'some answer' }));
  world.start('worker-1');
  for (let day = 0; day < 3; day += 1) {
    await world.accept();
    await world.passes(20_000, 500);
    await world.clock.advance(DAY_MS);
  }
  t.match(await answersKept(world), /some answer/);
  await world.commands.deleteWebhook(caller, id, { permanently: true });
  await world.passes(130_000, 500);
  await world.settled();
  t.notMatch(await answersKept(world), /some answer/);
  for (const collection of [WEBHOOK_ATTEMPTS, WEBHOOK_FAILURES, WEBHOOKS])
    t.same(await world.readModels.find(collection, { where: {}, limit: 10 }), [], collection);
});

void t.test('deliveries are shown in pages, the newest first, and none is left out', async (t) => {
  const world = await openWebhookWorld(t);
  const id = await world.subscribe('/pages');
  world.start('worker-1');
  for (let round = 0; round < 3; round += 1) {
    await acceptMany(world, 7);
    await world.passes(1_000);
  }
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await world.queries.webhookDeliveries(id, { limit: 4, cursor });
    t.ok(page.deliveries.length <= 4);
    seen.push(...page.deliveries.map(({ eventId }) => eventId));
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  t.equal(seen.length, 21);
  t.same(new Set(seen), new Set(world.posts.map((post) => post.id)));
});

void t.test('while its team is deleted nothing is posted, and where it is restored what waited is sent', async (t) => {
  const world = await openWebhookWorld(t);
  const [first, failing] = [await world.subscribe('/a'), await world.subscribe('/b')];
  world.endpoint('/b', answering(500));
  world.start('worker-1');
  await acceptMany(world, 20);
  await world.passes(3_000);
  t.equal(to(world.posts, '/a').length, 20);
  const apply = (command: TeamCommand) =>
    handle(
      world.deps.eventLog,
      teamStream(TEAM),
      teamDecider,
      command,
      causeOf(world.deps, { ...caller, actor: 'cli' }),
    );
  await apply({ type: 'DeleteTeam', at: isoTime(world.clock.now()), by: 'operator', firstTeam: false });
  await acceptMany(world, 3);
  const posted = world.posts.length;
  await world.passes(180_000, 1_000);
  t.equal(world.posts.length, posted, 'neither what is new nor what is due again');
  await apply({ type: 'RestoreTeam', at: isoTime(world.clock.now()), by: 'operator', deletedSince: isoTime(0) });
  world.endpoint('/b', answering(200));
  await world.passes(20_000, 500);
  assertWhole(t, to(world.posts, '/a'), 23);
  await world.passes(600_000, 2_000);
  assertWhole(t, to(world.posts, '/b'), 23);
  for (const id of [first, failing])
    t.ok((await world.deliveries(id)).slice(0, 3).every(({ status }) => status === 'success'));
});

void t.test('what is under way when its team is deleted is kept', async (t) => {
  const world = await openWebhookWorld(t);
  await world.subscribe('/slow');
  world.endpoint('/slow', async (post, signal) => {
    await world.clock.sleep(1_000, signal);
    return answering(200)(post, signal);
  });
  world.start('worker-1');
  await acceptMany(world, 40);
  await world.passes(1_500);
  await handle(
    world.deps.eventLog,
    teamStream(TEAM),
    teamDecider,
    { type: 'DeleteTeam', at: isoTime(world.clock.now()), by: 'operator', firstTeam: false },
    causeOf(world.deps, { ...caller, actor: 'cli' }),
  );
  const posted = world.posts.length;
  t.ok(posted > 0 && posted < 40);
  await world.passes(60_000, 500);
  t.equal(world.posts.length, posted, 'none begins any more');
});

// Selection of the events for each subscription.

const ids = ['wh_AAAAAAAAAAAAAAAAAAAAAA', 'wh_BAAAAAAAAAAAAAAAAAAAAA'] as WebhookId[];
const MORE = 40;

void t.test(
  'what is found while facts are appended waits for the next flush, and no subscription for another',
  async (t) => {
    const log = openLogOfTest();
    for (const id of ids) {
      const data = { at: T0, events: ['email.queued' as const], enabled: true };
      await log.append(webhookStream(id), [
        { type: 'WebhookCreated', data, sealed: { url: 'https://shop.example', secret: 'whsec_' } },
      ]);
    }
    const first = (await log.recorded()).length;
    for (let at = 0; at <= MORE; at += 1)
      await log.append(`email-0198f000-0000-7000-8000-0000000000${10 + at}`, [queued]);
    const emails = (await log.recorded()).slice(first);
    const routed: string[] = [];
    const eventLog: typeof log.eventLog = {
      ...log.eventLog,
      append: async (stream, ...rest) => {
        routed.push(stream);
        // The log grows at each append.
        const next = emails.shift();
        if (next !== undefined) await router.look(next);
        return log.eventLog.append(stream, ...rest);
      },
    };
    const router = openRouter({ eventLog, clock: fakeClock(), logger: memoryLog() });
    for (const id of ids) await router.add(id, TEAM_ID, first);
    await router.look(assertDefined(emails.shift(), 'an email'));
    await router.flush(1);
    t.same(routed, ids.map((id) => `webhookRoute-${id}.0`)); // prettier-ignore
    t.ok(router.pending() > 0);
    while (router.pending() > 0) await router.flush(1);
    for (const id of ids) {
      const facts = (await log.recorded()).flatMap(({ stream, event }) =>
        event.type === 'WebhookRouted' && stream.includes(id) ? event.data.entries : [],
      );
      t.same(
        facts.map(({ stream }) => stream.slice(-2)),
        Array.from({ length: MORE + 1 }, (_, at) => String(10 + at)),
        'each once, in the order of the log',
      );
    }
  },
);

void t.test(
  'what was found before a subscription is trashed goes to it, though it is trashed while facts are appended',
  async (t) => {
    const log = openLogOfTest();
    const [id] = ids as [WebhookId];
    const data = { at: T0, events: ['email.queued' as const], enabled: true };
    await log.append(webhookStream(id), [
      { type: 'WebhookCreated', data, sealed: { url: 'https://shop.example', secret: 'whsec_' } },
    ]);
    const email = (at: number) => log.append(`email-0198f000-0000-7000-8000-0000000000${at}`, [queued]);
    const first = (await log.recorded()).length;
    await email(10);
    await email(11);
    await log.append(webhookStream(id), [{ type: 'WebhookTrashed', data: { at: T0 } }]);
    await email(12);
    await log.append(webhookStream(id), [{ type: 'WebhookRestored', data: { at: T0 } }]);
    await email(13);
    const [before, during, trashed, ...later] = (await log.recorded()).slice(first);
    let isFirst = true;
    const eventLog: typeof log.eventLog = {
      ...log.eventLog,
      append: async (stream, ...rest) => {
        if (isFirst) {
          isFirst = false;
          await router.look(assertDefined(during, 'an email'));
          await router.look(assertDefined(trashed, 'the trashing'));
        }
        return log.eventLog.append(stream, ...rest);
      },
    };
    const router = openRouter({ eventLog, clock: fakeClock(), logger: memoryLog() });
    await router.add(id, TEAM_ID, first);
    await router.look(assertDefined(before, 'an email'));
    await router.flush(1);
    for (const recorded of later) await router.look(recorded);
    while (router.pending() > 0) await router.flush(1);
    const routed = (await log.recorded()).flatMap(({ event }) =>
      event.type === 'WebhookRouted' ? event.data.entries : [],
    );
    t.same(
      routed.map(({ stream }) => stream.slice(-2)),
      ['10', '11', '13'],
    );
  },
);

// Owners hear that a subscription of their team was disabled by itself: once, and nobody else does.

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
