/**
 * The limits of plans: calls at the same time do not pass them, in one process or in several, and a place comes back
 * with what it stood for.
 */
import t, { type Test } from 'tap';
import type { CommandNeeds } from '../../src/commands/needs.js';
import { makeCommands } from '../../src/commands/index.js';
import { withPlace, type Place } from '../../src/commands/billing/plan-limits.js';
import { changeBilling, addMember } from '../../src/commands/teams/teams.js';
import { plans, planNames, type PlanName, planLimitOf, planResources } from '../../src/domain/billing/plans.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { causeOf, type Caller } from '../../src/commands/core/caller.js';
import { permissionsOfRole } from '../../src/domain/access/permissions.js';
import {
  apiKeyStream,
  NO_TEAM,
  planUseStream,
  type ApiKeyId,
  type TeamId,
  type UserId,
} from '../../src/domain/core/ids.js';
import { signedIn } from '../support/people.js';
import { refusedWith } from '../support/given.js';
import {
  caller,
  openWorld,
  schemaSaying,
  stranger,
  TEAM,
  welcome,
  type World,
  nothingUsed,
} from '../support/command-world.js';

const onPlan = (world: World, plan: PlanName | null, billing: 'plan' | 'unmetered' = 'plan'): Promise<unknown> =>
  changeBilling(world.deps, TEAM, { billing, plan }, causeOf(world.deps, caller), nothingUsed);

const newKey = (name: string, more: object = {}) => ({ name, permissions: ['emails:read' as const], ...more });
const hook = { url: 'https://hooks.example/a', events: ['email.queued' as const] };
const app = (name: string) => ({ name, redirectUris: ['https://app.example/'], scopes: ['emails:read' as const] });
const template = (slug: string) => ({ ...welcome, slug });
const attachment = (slug: string) => ({
  slug,
  name: slug,
  variables: [],
  schema: {
    outputFormats: ['pdf' as const],
    pages: [{ pageId: 'p', pageName: 'P', sections: schemaSaying('hello').sections }],
  },
});
const upload = (sizeBytes: number) => ({ filename: 'a.txt', bytes: Buffer.alloc(sizeBytes, 'a') });

/** How many of the calls were done; the others are refused by the plan. */
const doneOf = async (t: Test, calls: readonly Promise<unknown>[]): Promise<number> => {
  const ends = await Promise.allSettled(calls);
  for (const end of ends) if (end.status === 'rejected') t.match(end.reason, { code: 'PLAN_LIMIT_EXCEEDED' });
  return ends.filter(({ status }) => status === 'fulfilled').length;
};

void t.test('30 calls at once, of two processes, make as many as the plan allows', async (t) => {
  for (const [resource, make] of [
    ['apiKeys', (deps: CommandNeeds, n: number) => makeCommands(deps).createApiKey(caller, newKey(`k${n}`))],
    ['webhookSubscriptions', (deps: CommandNeeds) => makeCommands(deps).createWebhook(caller, hook, 0)],
    ['oauthApps', (deps: CommandNeeds, n: number) => makeCommands(deps).createOAuthApp(caller, app(`a${n}`))],
    ['emailTemplates', (deps: CommandNeeds, n: number) => makeCommands(deps).createTemplate(caller, template(`t${n}`))],
    [
      'attachmentTemplates',
      (deps: CommandNeeds, n: number) => makeCommands(deps).createAttachmentTemplate(caller, attachment(`a${n}`)),
    ],
  ] as const) {
    const world = await openWorld();
    await onPlan(world, 'free');
    const processes = [world.deps, world.elsewhere()];
    const calls = Array.from({ length: 30 }, (_, n) => make(processes[n % 2]!, n));
    t.equal(await doneOf(t, calls), plans.free[resource], resource);
    const { message, details } = await refusedWith(
      t,
      make(world.elsewhere(), 99) as Promise<unknown>,
      'PLAN_LIMIT_EXCEEDED',
    );
    const maximum = plans.free[resource]!;
    t.same(details.relatedInfo, { limit: resource, actual: maximum + 1, maximum, plan: 'free' });
    t.match(message, `The plan free allows ${maximum} `);
  }
});

void t.test('a place comes back with what is revoked, expired, deleted or never came to be', async (t) => {
  const world = await openWorld();
  const { commands, clock } = world;
  await onPlan(world, 'free');
  const first = await commands.createApiKey(caller, newKey('first'));
  await commands.createApiKey(caller, newKey('second', { expiresAt: new Date(clock.now() + 60_000).toISOString() }));
  await refusedWith(t, commands.createApiKey(caller, newKey('third')), 'PLAN_LIMIT_EXCEEDED');
  await clock.advance(60_000);
  await commands.createApiKey(caller, newKey('in the place of the expired one'));
  await refusedWith(t, commands.createApiKey(caller, newKey('fourth')), 'PLAN_LIMIT_EXCEEDED');
  await commands.revokeApiKey(caller, first.id as ApiKeyId);
  await commands.createApiKey(caller, newKey('in the place of the revoked one'));

  const one = await commands.createWebhook(caller, hook, 0);
  await commands.createWebhook(caller, hook, 0);
  await commands.deleteWebhook(caller, one.id as never);
  const third = await commands.createWebhook(caller, hook, 0);
  await refusedWith(t, commands.createWebhook(caller, hook, 0), 'PLAN_LIMIT_EXCEEDED');
  await refusedWith(t, commands.restoreWebhook(caller, one.id as never, 0), 'PLAN_LIMIT_EXCEEDED');
  await commands.deleteWebhook(caller, third.id as never);
  await commands.restoreWebhook(caller, one.id as never, 0);
  await refusedWith(t, commands.restoreWebhook(caller, third.id as never, 0), 'PLAN_LIMIT_EXCEEDED');

  const slugs = ['a', 'b', 'c', 'd', 'e'];
  for (const slug of slugs) await commands.createTemplate(caller, template(slug));
  await refusedWith(t, commands.createTemplate(caller, template('f')), 'PLAN_LIMIT_EXCEEDED');
  const gone = await commands.getTemplate(caller, 'a');
  await commands.deleteTemplate(caller, 'a');
  for (let tries = 0; tries < 3; tries += 1)
    await refusedWith(t, commands.createTemplate(caller, template('b')), 'TEMPLATE_SLUG_TAKEN');
  await commands.createTemplate(caller, template('f'));
  const restored = await refusedWith(t, commands.restoreTemplate(caller, gone.id, {}), 'PLAN_LIMIT_EXCEEDED');
  t.match(restored.details, { relatedInfo: { limit: 'emailTemplates', actual: 6, maximum: 5 } });
  await commands.deleteTemplate(caller, 'f');
  await commands.restoreTemplate(caller, gone.id, {});
  await refusedWith(t, commands.createTemplate(caller, template('g')), 'PLAN_LIMIT_EXCEEDED');
});

void t.test('a call that died with its place holds it for five minutes', async (t) => {
  const world = await openWorld();
  await onPlan(world, 'free');
  const place = (key: string): Place => ({
    resource: 'apiKeys',
    key,
    standingOf: async () => 'absent',
    all: async () => [],
  });
  const dying = (key: string): Promise<void> =>
    new Promise((died) => {
      const make = (): Promise<never> => {
        died();
        return new Promise(() => {});
      };
      void withPlace(world.deps, caller, place(key), make);
    });
  for (const key of ['died', 'died too']) await dying(key);
  t.match((await world.events(planUseStream(TEAM, 'apiKeys'))).at(-1), {
    data: { held: [{ key: 'died' }, { key: 'died too' }] },
  });
  await refusedWith(t, world.commands.createApiKey(caller, newKey('refused')), 'PLAN_LIMIT_EXCEEDED');
  await world.clock.advance(5 * 60_000);
  await world.commands.createApiKey(caller, newKey('made'));

  const fault = new DomainError('FORBIDDEN', 'no');
  await t.rejects(
    withPlace(world.deps, caller, place('refused'), async () => {
      throw fault;
    }),
    fault,
  );
  await world.commands.createApiKey(caller, newKey('the place of who was refused'));
});

void t.test(
  'an unmetered team has no limits and takes no places; after a downgrade everything stays, and nothing more is made',
  async (t) => {
    const world = await openWorld();
    const { commands } = world;
    const made = [];
    for (const name of ['a', 'b', 'c', 'd']) made.push(await commands.createApiKey(caller, newKey(name)));
    t.same(await world.events(planUseStream(TEAM, 'apiKeys')), []);
    await onPlan(world, 'free');
    const { details } = await refusedWith(t, commands.createApiKey(caller, newKey('e')), 'PLAN_LIMIT_EXCEEDED');
    t.match(details, { relatedInfo: { actual: 5, maximum: 2 } });
    for (const { key } of made) t.ok(await commands.authenticate(key));
    for (const { id } of made.slice(0, 2)) await commands.revokeApiKey(caller, id as ApiKeyId);
    await refusedWith(t, commands.createApiKey(caller, newKey('e')), 'PLAN_LIMIT_EXCEEDED');
    await commands.revokeApiKey(caller, made[2]!.id as ApiKeyId);
    await commands.createApiKey(caller, newKey('e'));

    await onPlan(world, null, 'unmetered');
    const unmetered = await commands.createApiKey(caller, newKey('made unmetered'));
    await onPlan(world, 'free');
    await refusedWith(t, commands.createApiKey(caller, newKey('f')), 'PLAN_LIMIT_EXCEEDED');
    await commands.revokeApiKey(caller, unmetered.id as ApiKeyId);
    await refusedWith(t, commands.createApiKey(caller, newKey('f')), 'PLAN_LIMIT_EXCEEDED');
    await commands.revokeApiKey(caller, made[3]!.id as ApiKeyId);
    await commands.createApiKey(caller, newKey('f'));
    await onPlan(world, 'pro');
    for (let n = 0; n < 23; n += 1) await commands.createApiKey(caller, newKey(`p${n}`));
    await refusedWith(t, commands.createApiKey(caller, newKey('26th')), 'PLAN_LIMIT_EXCEEDED');
    await onPlan(world, 'enterprise');
    await commands.createApiKey(caller, newKey('any number'));
    await makeCommands(world.elsewhere()).createApiKey(stranger, newKey('of another team'));
    t.ok(await world.deps.eventLog.last(apiKeyStream(unmetered.id as ApiKeyId)));
  },
);

void t.test('files: one that is too large, storage that is full, and uploads at the same time', async (t) => {
  const world = await openWorld();
  const { commands } = world;
  const MB = 1024 * 1024;
  await onPlan(world, 'free');
  const file = await refusedWith(
    t,
    commands.uploadAsset(caller, upload(5 * MB + 1), { count: 0, sizeBytes: 0 }),
    'PLAN_LIMIT_EXCEEDED',
  );
  t.same(file.details.relatedInfo, { limit: 'fileSizeBytes', actual: 5 * MB + 1, maximum: 5 * MB, plan: 'free' });
  const before = { count: 9, sizeBytes: 100 * MB - 1_000, position: await world.store.head() };
  const calls = Array.from({ length: 8 }, (_, n) =>
    makeCommands(n % 2 === 0 ? world.deps : world.elsewhere()).uploadAsset(caller, upload(400), before),
  );
  t.equal(await doneOf(t, calls), 2);
  const full = await refusedWith(t, commands.uploadAsset(caller, upload(400), before), 'PLAN_LIMIT_EXCEEDED');
  t.same(full.details.relatedInfo, { limit: 'storageBytes', actual: 100 * MB + 200, maximum: 100 * MB, plan: 'free' });
  const after = { count: 11, sizeBytes: before.sizeBytes + 800, position: await world.store.head() };
  await commands.uploadAsset(caller, upload(200), after);
  await refusedWith(t, commands.uploadAsset(caller, upload(1), after), 'PLAN_LIMIT_EXCEEDED');
  const emptied = { count: 1, sizeBytes: 200, position: await world.store.head() };
  await commands.uploadAsset(caller, upload(4 * MB), emptied);
  t.equal((await world.events(planUseStream(TEAM, 'storageBytes'))).length, 4);
});

void t.test('every plan says each limit, and no plan says none', async (t) => {
  for (const resource of [...planResources, 'fileSizeBytes' as const]) {
    t.equal(planLimitOf({ billing: 'unmetered', plan: 'free' }, resource), undefined);
    t.equal(planLimitOf({ billing: 'credits' }, resource), undefined);
    for (const plan of planNames) {
      const maximum = plans[plan][resource];
      t.same(
        planLimitOf({ billing: 'credits', plan }, resource),
        maximum === null ? undefined : { plan, limit: resource, maximum },
      );
    }
  }
});

void t.test('the place of an app comes back with its deletion', async (t) => {
  const world = await openWorld();
  await onPlan(world, 'free');
  const { id } = await world.commands.createOAuthApp(caller, app('one'));
  await refusedWith(t, world.commands.createOAuthApp(caller, app('two')), 'PLAN_LIMIT_EXCEEDED');
  await world.commands.deleteOAuthApp(caller, id as never);
  await world.commands.createOAuthApp(caller, app('two'));
});

void t.test('subscriptions: no team has more than the setting says, and a lower plan says so itself', async (t) => {
  const world = await openWorld({ webhooksMax: 25 });
  const { commands } = world;
  const processes = [world.deps, world.elsewhere()];
  const calls = Array.from({ length: 30 }, (_, n) => makeCommands(processes[n % 2]!).createWebhook(caller, hook, 0));
  const ends = await Promise.allSettled(calls);
  t.equal(ends.filter(({ status }) => status === 'fulfilled').length, 25, 'unmetered');
  for (const end of ends) if (end.status === 'rejected') t.match(end.reason, { code: 'WEBHOOK_LIMIT_REACHED' });
  await onPlan(world, 'pro');
  const full = await refusedWith(t, commands.createWebhook(caller, hook, 0), 'PLAN_LIMIT_EXCEEDED');
  t.match(full.details.relatedInfo, { actual: 26, maximum: 25 });
  await onPlan(world, 'enterprise');
  const bound = await refusedWith(t, commands.createWebhook(caller, hook, 0), 'WEBHOOK_LIMIT_REACHED');
  t.match(bound.message, /25 webhook subscriptions/);
  const wider = makeCommands({ ...world.deps, limits: { ...world.deps.limits, webhooksMax: 26 } });
  const { id } = await wider.createWebhook(caller, hook, 25);
  await refusedWith(t, wider.createWebhook(caller, hook, 25), 'WEBHOOK_LIMIT_REACHED');
  await commands.deleteWebhook(caller, id as never);
  for (const end of ends.filter(({ status }) => status === 'fulfilled').slice(0, 1))
    if (end.status === 'fulfilled') await commands.deleteWebhook(caller, end.value.id as never);
  await commands.createWebhook(caller, hook, 0);
});

const asPerson = (userId: UserId, teamId = TEAM): Caller => ({
  teamId,
  actor: `user:${userId}`,
  permissions: permissionsOfRole.owner,
  correlationId: 'request-1',
  user: { id: userId },
});

void t.test('members: those who are invited count too, and the team itself decides', async (t) => {
  const world = await openWorld();
  const people = [];
  for (let n = 0; n < 6; n += 1)
    people.push(await signedIn(world.deps, { email: `p${n}@example.com`, ...(n === 0 ? { teamId: TEAM } : {}) }));
  await onPlan(world, 'starter');
  const cause = causeOf(world.deps, { ...caller, actor: 'cli' });
  const calls = people
    .slice(1)
    .map(({ userId }, n) => addMember(n % 2 === 0 ? world.deps : world.elsewhere(), TEAM, userId, 'viewer', cause));
  t.equal(await doneOf(t, calls), 4);
  const ann = asPerson(people[0]!.userId);
  const refused = await refusedWith(
    t,
    world.commands.inviteMember(ann, { email: 'new@example.com', role: 'viewer' }),
    'PLAN_LIMIT_EXCEEDED',
  );
  t.same(refused.details.relatedInfo, { limit: 'members', actual: 6, maximum: 5, plan: 'starter' });
});

void t.test(
  'teams: as many as the most generous plan of those that one owns allows, also for calls at once',
  async (t) => {
    const world = await openWorld();
    const { userId } = await signedIn(world.deps, { teamId: TEAM });
    await onPlan(world, 'pro');
    const ann = asPerson(userId, NO_TEAM);
    const request = { name: 'Market', defaultFrom: { email: 'market@example.com' } };
    const made = async (deps: CommandNeeds) => makeCommands(deps).createTeam(ann, request, [TEAM]);
    const calls = Array.from({ length: 8 }, (_, n) => made(n % 2 === 0 ? world.deps : world.elsewhere()));
    t.equal(await doneOf(t, calls), 2, 'beside the first one');
    const one = (await Promise.allSettled(calls)).flatMap((end) =>
      end.status === 'fulfilled' ? [end.value.id as TeamId] : [],
    )[0]!;
    await world.commands.deleteTeam(asPerson(userId, one));
    const next = await world.commands.createTeam(ann, request, [TEAM]);
    const refused = await refusedWith(t, world.commands.restoreTeam(ann, one, [TEAM]), 'PLAN_LIMIT_EXCEEDED');
    t.same(refused.details.relatedInfo, { limit: 'teams', actual: 4, maximum: 3, plan: 'pro' });
    await world.commands.deleteTeam(asPerson(userId, next.id as TeamId));
    t.match(await world.commands.restoreTeam(ann, one, [TEAM]), { id: one });
    await onPlan(world, null, 'unmetered');
    t.match(await world.commands.createTeam(ann, request, [TEAM, one]), { billing: 'unmetered' });
  },
);

void t.test('an asset that can be restored counts in the storage of the plan', async (t) => {
  const world = await openWorld();
  await onPlan(world, 'free');
  const MB = 1024 * 1024;
  const stored = { count: 24, sizeBytes: 96 * MB, position: await world.store.head() };
  const { id } = await world.commands.uploadAsset(caller, upload(4 * MB), stored);
  await world.commands.deleteAsset(caller, id as never);
  await refusedWith(t, world.commands.uploadAsset(caller, upload(1), stored), 'PLAN_LIMIT_EXCEEDED');
  await world.commands.restoreAsset(caller, id as never);
  await refusedWith(t, world.commands.uploadAsset(caller, upload(1), stored), 'PLAN_LIMIT_EXCEEDED');
});
