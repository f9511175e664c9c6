/** API keys as commands: made, admitted with every code, noted, revoked by any process; and the first start. */
import t from 'tap';
import {
  type Authenticated,
  type Caller,
  type KeyAuthenticated,
  firstTeam,
  causeOf,
} from '../../src/commands/core/caller.js';
import { firstStart, showFirstKey } from '../../src/commands/ops/first-start.js';
import { makeCommands, type Commands } from '../../src/commands/index.js';
import { changeTeam } from '../../src/commands/teams/teams.js';
import type { CommandNeeds } from '../../src/commands/needs.js';
import { NO_TEAM, apiKeyStream, assertDefined, parseApiKeyId, teamStream } from '../../src/domain/core/ids.js';
import { leastDefaultRate } from '../../src/domain/access/rate-limits.js';
import type { PendingFirstKey } from '../../src/domain/ports/first-key.js';
import { sampleAttachments, samples, sampleTemplates } from '../support/samples.js';
import type { Permission } from '../../src/domain/access/permissions.js';
import { formatApiKey } from '../../src/domain/keys/decider.js';
import { T0 } from '../support/email-facts.js';
import { refusedWith } from '../support/given.js';
import { caller, openWorld, stranger, TEAM } from '../support/command-world.js';

t.setTimeout(900_000);

/** Keeps the first key in memory until it is read. */
const openPending = (): PendingFirstKey => {
  let kept: string | undefined;
  return { read: () => kept, keep: (key) => void (kept = key), remove: () => void (kept = undefined) };
};

/** The shown keys, first to last. */
const shownBy = async (deps: CommandNeeds, pending: PendingFirstKey): Promise<string[]> => {
  const shown: string[] = [];
  await showFirstKey(deps, pending, (key) => void shown.push(key));
  return shown;
};

const idOf = (id: string) => assertDefined(parseApiKeyId(id), 'API key id');

void t.test('a key is shown once, admits its owner, and stands nowhere in the log', async (t) => {
  const { commands, store } = await openWorld();
  const made = await commands.createApiKey(caller, {
    name: 'Shop',
    permissions: ['emails:send'],
    rateLimit: 60,
    expiresAt: '2030-06-01T00:00:00+02:00',
    description: 'For the shop',
  });
  const { key, ...record } = made;
  t.match(key, /^sealpost_sk_[A-Za-z0-9_-]{43}$/);
  t.strictSame(record, {
    id: made.id,
    name: 'Shop',
    description: 'For the shop',
    permissions: ['emails:send'],
    rateLimit: 60,
    status: 'active',
    start: key.slice(12, 16),
    end: key.slice(-4),
    createdAt: T0,
    expiresAt: '2030-05-31T22:00:00.000Z',
    lastUsedAt: null,
    revokedAt: null,
    madeBy: null,
    createdBy: 'apiKey:key_1',
    networks: null,
    test: false,
  });
  t.strictSame(await commands.authenticate(key), {
    kind: 'apiKey',
    teamId: TEAM,
    keyId: made.id,
    permissions: ['emails:send'],
    rateLimit: 60,
    expiresAt: '2030-05-31T22:00:00.000Z',
    madeBy: [],
    networks: null,
    test: false,
  });
  t.strictSame(await commands.getApiKey(caller, idOf(made.id)), { ...record, lastUsedAt: T0 });
  await t.resolves(commands.authenticate(key, { asked: TEAM.toUpperCase(), isNeeded: true }));
  for (const asked of [NO_TEAM, 'mine', '']) {
    await refusedWith(t, commands.authenticate(key, { asked, isNeeded: true }), 'TEAM_NOT_FOUND');
  }
  t.notOk(JSON.stringify(store.events).includes(key));
  t.not((await commands.createApiKey(caller, { name: 'Shop', permissions: ['emails:send'] })).id, made.id);
});

void t.test('a key grants no more than its maker may do, and is not expired from the start', async (t) => {
  const { commands, store } = await openWorld();
  const before = store.events.length;
  const { message } = await refusedWith(
    t,
    commands.createApiKey(
      { ...caller, permissions: ['api-keys:manage', 'emails:read'] },
      { name: 'x', permissions: ['emails:read', 'emails:send', 'templates:write'] },
    ),
    'FORBIDDEN',
  );
  t.match(message, /lacks emails:send, templates:write/);
  for (const expiresAt of [T0, '2029-12-31T00:00:00Z']) {
    const { details } = await refusedWith(
      t,
      commands.createApiKey(caller, { name: 'x', permissions: ['emails:send'], expiresAt }),
      'VALIDATION_ERROR',
    );
    t.same(
      details.errors?.map(({ field }) => field),
      ['expiresAt'],
    );
  }
  t.equal(store.events.length, before);
});

/** The key that a token is good for. */
const keyOf = (admitted: Authenticated): KeyAuthenticated => {
  if (admitted.kind !== 'apiKey') throw new Error(`no API key but ${admitted.kind}`);
  return admitted;
};

/** A caller with that key, as the admission of a request makes it. */
const callerWith = async (commands: Commands, key: string): Promise<Caller> => {
  const { keyId, teamId, ...bounds } = keyOf(await commands.authenticate(key));
  return {
    ...caller,
    teamId,
    actor: `apiKey:${keyId}`,
    permissions: bounds.permissions,
    key: { id: keyId, ...bounds },
  };
};

const manages = { permissions: ['api-keys:manage', 'emails:send'] as Permission[] };

void t.test('a key makes none that lasts longer or may call more often than itself', async (t) => {
  const { commands, store } = await openWorld();
  const expiresAt = '2030-02-01T00:00:00.000Z';
  const maker = await commands.createApiKey(caller, { name: 'maker', ...manages, expiresAt, rateLimit: 60 });
  const withKey = await callerWith(commands, maker.key);
  const before = store.events.length;
  for (const [field, asked] of [
    ['expiresAt', { expiresAt: '2030-02-01T00:00:00.001Z' }],
    ['expiresAt', { expiresAt: '2030-02-01T01:00:00+00:30' }],
    ['rateLimit', { rateLimit: 61 }],
  ] as const) {
    const { details } = await refusedWith(
      t,
      commands.createApiKey(withKey, { name: 'x', permissions: ['emails:send'], ...asked }),
      'FORBIDDEN',
    );
    t.match(details.errors, [{ field }]);
  }
  t.equal(store.events.length, before);
  const made = await commands.createApiKey(withKey, { name: 'x', ...manages });
  t.match(made, { expiresAt, rateLimit: 60, madeBy: maker.id }, 'what is not asked for is its own');
  t.match(
    await commands.createApiKey(withKey, { name: 'x', ...manages, expiresAt: '2030-01-02T00:00:00Z', rateLimit: 5 }),
    {
      expiresAt: '2030-01-02T00:00:00.000Z',
      rateLimit: 5,
    },
  );
  const unbounded = await callerWith(
    commands,
    (await commands.createApiKey(caller, { name: 'unbounded', ...manages })).key,
  );
  t.match(await commands.createApiKey(unbounded, { name: 'x', ...manages, expiresAt, rateLimit: 600 }), {
    expiresAt,
    rateLimit: 600,
  });
  const withDefaults = await callerWith(
    commands,
    (await commands.createApiKey(unbounded, { name: 'x', ...manages })).key,
  );
  await refusedWith(
    t,
    commands.createApiKey(withDefaults, { name: 'x', ...manages, rateLimit: leastDefaultRate + 1 }),
    'FORBIDDEN',
  );
  t.match(await commands.createApiKey(withDefaults, { name: 'x', ...manages, rateLimit: leastDefaultRate }), {
    rateLimit: leastDefaultRate,
  });
  t.match(
    await commands.createApiKey(withDefaults, { name: 'x', ...manages }),
    { rateLimit: null },
    'the defaults go on with it',
  );
  let deepest = made.key;
  for (let depth = 2; depth <= 8; depth += 1)
    deepest = (await commands.createApiKey(await callerWith(commands, deepest), { name: 'x', ...manages })).key;
  await refusedWith(
    t,
    commands.createApiKey(await callerWith(commands, deepest), { name: 'x', ...manages }),
    'FORBIDDEN',
  );
});

void t.test('a key lets none come from where it may not come from itself', async (t) => {
  const { commands, events } = await openWorld();
  const networks = ['192.0.2.0/24', '2001:DB8:0::/48', '::ffff:198.51.100.7'];
  const maker = await commands.createApiKey(caller, { name: 'maker', ...manages, networks });
  const kept = ['192.0.2.0/24', '2001:db8::/48', '198.51.100.7/32'];
  t.same(maker.networks, kept, 'in one form');
  t.match(await commands.authenticate(maker.key), { networks: kept });
  const withKey = await callerWith(commands, maker.key);
  t.match(await commands.createApiKey(withKey, { name: 'x', ...manages }), {
    networks: kept,
    createdBy: `apiKey:${maker.id}`,
  });
  t.match(await commands.createApiKey(withKey, { name: 'x', ...manages, networks: ['192.0.2.128/25', '192.0.2.1'] }), {
    networks: ['192.0.2.128/25', '192.0.2.1/32'],
  });
  for (const beyond of ['192.0.0.0/16', '0.0.0.0/0', '203.0.113.1', '::/0', '2001:db8:1::/48']) {
    const { details } = await refusedWith(
      t,
      commands.createApiKey(withKey, { name: 'x', ...manages, networks: ['192.0.2.1', beyond] }),
      'FORBIDDEN',
    );
    t.match(details.errors, [{ field: 'networks' }], beyond);
  }
  const { details } = await refusedWith(
    t,
    commands.createApiKey(caller, { name: 'x', ...manages, networks: ['10.0.0.0/8', '10.0.0.1/8', 'x', '1.2.3.4/33'] }),
    'VALIDATION_ERROR',
  );
  t.match(details.errors, [
    { field: 'networks[1]', message: /the network is 10\.0\.0\.0\/8$/ },
    { field: 'networks[2]', message: /is no network/ },
    { field: 'networks[3]', message: /is no network/ },
  ]);
  t.equal((await commands.createApiKey(caller, { name: 'x', ...manages })).networks, null);
  t.equal((await events(apiKeyStream(idOf(maker.id)))).length, 2, 'created and used');
});

void t.test('a test key says so in its form, makes only such, and leaves live keys alone', async (t) => {
  const { commands, store } = await openWorld();
  const made = await commands.createApiKey(caller, { name: 'staging', ...manages, test: true });
  t.match(made.key, /^sealpost_test_sk_[A-Za-z0-9_-]{43}$/);
  t.match(made, { test: true, start: made.key.slice(17, 21), end: made.key.slice(-4) });
  t.match(await commands.authenticate(made.key), { test: true, keyId: made.id });
  await refusedWith(t, commands.authenticate(made.key.replace('_test_', '_')), 'API_KEY_NOT_FOUND');
  const withKey = await callerWith(commands, made.key);
  for (const test of [undefined, true]) {
    const child = await commands.createApiKey(withKey, {
      name: 'x',
      ...manages,
      ...(test === undefined ? {} : { test }),
    });
    t.match(child, { test: true, key: /^sealpost_test_sk_/, madeBy: made.id });
  }
  const live = await commands.createApiKey(caller, { name: 'live', permissions: ['emails:send'] });
  t.equal(live.test, false);
  const before = store.events.length;
  const { details } = await refusedWith(
    t,
    commands.createApiKey(withKey, { name: 'x', ...manages, test: false }),
    'FORBIDDEN',
  );
  t.match(details.errors, [{ field: 'test' }]);
  await refusedWith(t, commands.revokeApiKey(withKey, idOf(live.id)), 'TEST_KEY_NOT_ALLOWED');
  await refusedWith(t, commands.changeApiKey(withKey, idOf(live.id), { name: 'x' }), 'TEST_KEY_NOT_ALLOWED');
  t.equal(store.events.length, before);
  t.match(await commands.getApiKey(withKey, idOf(live.id)), { name: 'live' });
  t.match(await commands.changeApiKey(withKey, idOf(made.id), { name: 'called so' }), {
    name: 'called so',
    test: true,
  });
  const withLive = await callerWith(commands, (await commands.createApiKey(caller, { name: 'live', ...manages })).key);
  t.match(await commands.createApiKey(withLive, { name: 'x', permissions: ['emails:send'], test: true }), {
    test: true,
  });
  t.match(await commands.revokeApiKey(withKey, idOf(made.id)), { status: 'revoked' });
});

void t.test(
  'a key is changed in the parts given, in every process, and never beyond what made or changes it',
  async (t) => {
    const { commands, elsewhere, events } = await openWorld();
    const made = await commands.createApiKey(caller, {
      name: 'made',
      description: 'before',
      permissions: ['emails:send'],
      rateLimit: 9,
    });
    const id = idOf(made.id);
    const { key: _key, ...record } = made;
    t.same(await commands.changeApiKey(caller, id, { name: 'after' }), { ...record, name: 'after' });
    t.match(await commands.changeApiKey(caller, id, { description: null, networks: ['10.0.0.0/8'], rateLimit: 50 }), {
      name: 'after',
      description: null,
      networks: ['10.0.0.0/8'],
      rateLimit: 50,
    });
    const length = (await events(apiKeyStream(id))).length;
    await commands.changeApiKey(caller, id, {
      name: 'after',
      networks: ['10.0.0.0/8'],
      rateLimit: 50,
      description: null,
    });
    t.equal((await events(apiKeyStream(id))).length, length, 'what is so already is no event');
    t.match(await makeCommands(elsewhere()).authenticate(made.key), { networks: ['10.0.0.0/8'], rateLimit: 50 });
    t.match(await commands.changeApiKey(caller, id, { networks: null, rateLimit: null }), {
      networks: null,
      rateLimit: null,
    });
    await refusedWith(t, commands.changeApiKey(stranger, id, { name: 'x' }), 'API_KEY_UNKNOWN');
    await refusedWith(t, commands.changeApiKey(caller, id, { networks: ['10.0.0.1/8'] }), 'VALIDATION_ERROR');

    const bounds = { networks: ['10.0.0.0/8'], rateLimit: 60 };
    const manager = await commands.createApiKey(caller, { name: 'manager', ...manages, ...bounds });
    const withKey = await callerWith(commands, manager.key);
    const child = await commands.createApiKey(withKey, {
      name: 'child',
      ...manages,
      networks: ['10.1.0.0/16'],
      rateLimit: 5,
    });
    t.match(await commands.changeApiKey(withKey, idOf(child.id), bounds), bounds, 'up to its own');
    for (const target of [child.id, manager.id, made.id]) {
      for (const wider of [
        { rateLimit: 61 },
        { rateLimit: null },
        { networks: null },
        { networks: ['11.0.0.0/8'] },
        { networks: ['10.0.0.0/7'] },
      ])
        await refusedWith(t, commands.changeApiKey(withKey, idOf(target), wider), 'FORBIDDEN');
    }
    const withChild = await callerWith(commands, child.key);
    await commands.changeApiKey(caller, idOf(manager.id), { rateLimit: 10, networks: ['10.2.0.0/16'] });
    await refusedWith(t, commands.changeApiKey(withChild, idOf(child.id), { rateLimit: 11 }), 'FORBIDDEN');
    await refusedWith(t, commands.changeApiKey(caller, idOf(child.id), { rateLimit: 11 }), 'FORBIDDEN');
    t.match(await commands.changeApiKey(caller, idOf(child.id), { rateLimit: 10, networks: ['10.2.3.0/24'] }), {
      rateLimit: 10,
    });
    const able = await commands.createApiKey(caller, { name: 'able', permissions: ['emails:read', 'api-keys:manage'] });
    await refusedWith(t, commands.changeApiKey(withKey, idOf(able.id), { rateLimit: 1 }), 'FORBIDDEN');
    t.match(await commands.changeApiKey(withKey, idOf(able.id), { name: 'called so' }), { name: 'called so' });
  },
);

void t.test('a key revokes itself and what may do no more than it', async (t) => {
  const { commands, events } = await openWorld();
  const weak = await commands.createApiKey(caller, { name: 'weak', permissions: ['api-keys:manage'] });
  const withWeak = await callerWith(commands, weak.key);
  const own = await commands.createApiKey(withWeak, { name: 'own', permissions: ['api-keys:manage'] });
  const strong = await commands.createApiKey(caller, {
    name: 'strong',
    permissions: ['api-keys:manage', 'emails:send'],
  });
  for (const withMade of [false, true]) {
    const { message } = await refusedWith(t, commands.revokeApiKey(withWeak, idOf(strong.id), withMade), 'FORBIDDEN');
    t.match(message, /emails:send/);
  }
  t.match(await commands.authenticate(strong.key), { kind: 'apiKey' }, 'it goes on');
  t.equal((await events(apiKeyStream(idOf(strong.id)))).filter(({ type }) => type === 'ApiKeyRevoked').length, 0);
  const withStrong = await callerWith(commands, strong.key);
  t.match(await commands.revokeApiKey(withStrong, idOf(own.id)), { status: 'revoked' }, 'a weaker one');
  t.match(await commands.revokeApiKey(withWeak, idOf(weak.id), true), { status: 'revoked' }, 'itself');
  t.match(await commands.revokeApiKey(caller, idOf(strong.id)), { status: 'revoked' }, 'the operator');
});

void t.test(
  'revoked with what it made: every key below it is refused, one that is made at the same time too',
  async (t) => {
    const { commands, elsewhere } = await openWorld();
    const make = async (key: string) =>
      commands.createApiKey(await callerWith(commands, key), { name: 'x', ...manages });
    const root = await commands.createApiKey(caller, { name: 'root', ...manages });
    const [child, other] = [await make(root.key), await commands.createApiKey(caller, { name: 'other', ...manages })];
    const grandchild = await make(child.key);
    const lateMaker = await callerWith(commands, child.key);
    await commands.revokeApiKey(caller, idOf(root.id));
    await t.resolves(commands.authenticate(child.key), 'what a revoked key made goes on');
    await makeCommands(elsewhere()).revokeApiKey(caller, idOf(root.id), true);
    const late = await commands.createApiKey(lateMaker, { name: 'late', ...manages });
    for (const { key, id } of [child, grandchild, late]) {
      const { message } = await refusedWith(t, commands.authenticate(key), 'API_KEY_REVOKED');
      t.match(message, /together with the key that made it/);
      t.match(await commands.getApiKey(caller, idOf(id)), { status: 'revoked', revokedAt: T0 });
    }
    await t.resolves(commands.authenticate(other.key));
    const below = await make(other.key);
    await commands.revokeApiKey(caller, idOf(below.id), true);
    await t.resolves(commands.authenticate(other.key), 'a key is not revoked with what it made');
  },
);

void t.test('every reason not to admit has its code', async (t) => {
  const { commands, clock } = await openWorld();
  const { key, id } = await commands.createApiKey(caller, {
    name: 'x',
    permissions: ['emails:send'],
    expiresAt: '2030-01-01T13:00:00Z',
  });
  for (const wrong of ['', 'nothing', key.slice(0, -1), `${key} `])
    await refusedWith(t, commands.authenticate(wrong), 'INVALID_API_KEY');
  await refusedWith(t, commands.authenticate(formatApiKey(Buffer.alloc(32, 9))), 'API_KEY_NOT_FOUND');
  await clock.advance(3_600_000 - 1);
  await t.resolves(commands.authenticate(key));
  await clock.advance(1);
  await refusedWith(t, commands.authenticate(key), 'API_KEY_EXPIRED');
  t.equal((await commands.getApiKey(caller, idOf(id))).status, 'expired');
  await commands.revokeApiKey(caller, idOf(id));
  await refusedWith(t, commands.authenticate(key), 'API_KEY_REVOKED');
});

void t.test('revoked by another process, a key is refused from that moment on', async (t) => {
  const { commands, elsewhere } = await openWorld();
  const { key, id } = await commands.createApiKey(caller, { name: 'x', permissions: ['emails:send'] });
  await t.resolves(commands.authenticate(key));
  const other = makeCommands(elsewhere());
  t.match(await other.revokeApiKey(caller, idOf(id)), { status: 'revoked', revokedAt: T0 });
  await refusedWith(t, commands.authenticate(key), 'API_KEY_REVOKED');
  t.match(await commands.revokeApiKey(caller, idOf(id)), { status: 'revoked', revokedAt: T0 }, 'once more is harmless');
});

void t.test('its use is noted once in five minutes, however many use it at once', async (t) => {
  const { commands, clock, events } = await openWorld();
  const { key, id } = await commands.createApiKey(caller, { name: 'x', permissions: ['emails:send'] });
  const uses = async (): Promise<number> =>
    (await events(apiKeyStream(idOf(id)))).filter(({ type }) => type === 'ApiKeyUsed').length;
  await Promise.all(Array.from({ length: 30 }, () => commands.authenticate(key)));
  t.equal(await uses(), 1);
  await clock.advance(299_999);
  await commands.authenticate(key);
  t.equal(await uses(), 1);
  await clock.advance(1);
  await Promise.all(Array.from({ length: 30 }, () => commands.authenticate(key)));
  t.equal(await uses(), 2);
});

void t.test('a key of another team is as unknown as none', async (t) => {
  const { commands, store } = await openWorld();
  const { id, key } = await commands.createApiKey(caller, { name: 'x', permissions: ['emails:send'] });
  const before = store.events.length;
  const unknown = idOf('key_AAAAAAAAAAAAAAAAAAAAAA');
  for (const act of ['getApiKey', 'revokeApiKey'] as const) {
    const theirs = await refusedWith(t, commands[act](stranger, idOf(id)), 'API_KEY_UNKNOWN');
    const none = await refusedWith(t, commands[act](caller, unknown), 'API_KEY_UNKNOWN');
    t.equal(theirs.message, none.message);
  }
  t.equal(store.events.length, before);
  await t.resolves(commands.authenticate(key));
});

void t.test('team settings change in the parts given, for that team alone', async (t) => {
  const { deps } = await openWorld();
  const change = (changes: Parameters<typeof changeTeam>[2]) => changeTeam(deps, TEAM, changes, causeOf(deps, caller));
  t.match(await change({ name: 'Market' }), { name: 'Market', defaultFrom: { email: 'default@example.com' } });
  t.match(await change({ defaultFrom: { email: 'A@EXAMPLE.org' }, company: { city: 'Lisbon' } }), {
    name: 'Market',
    defaultFrom: { email: 'A@example.org' },
    company: { name: 'Example Ltd', city: 'Lisbon' },
  });
  await change({ company: { city: 'Lisbon' } });
  t.equal((await deps.eventLog.load(teamStream(TEAM))).length, 3, 'the same again is no event');
  await refusedWith(t, change({ defaultFrom: { email: 'nobody' } }), 'ERR_EMAIL_001');
  t.equal((await deps.team(teamStream(stranger.teamId))).state!.settings.name, 'Shop');
});

void t.test('the first start makes the team, the samples and a key, once', async (t) => {
  const { deps, elsewhere } = await openWorld();
  t.equal(await firstTeam(deps), undefined);
  const pending = openPending();
  await firstStart(deps, samples, pending);
  await refusedWith(t, makeCommands(deps).authenticate(pending.read()!), 'API_KEY_NOT_FOUND');
  const [first] = await shownBy(deps, pending);
  const team = await firstTeam(deps);
  const authenticated = await makeCommands(deps).authenticate(first!);
  t.equal(authenticated.teamId, team);
  const owner = { ...caller, teamId: authenticated.teamId };
  for (const { slug } of sampleTemplates)
    t.equal((await makeCommands(deps).getTemplate(owner, slug)).status, 'published');
  for (const { slug } of sampleAttachments)
    t.equal((await makeCommands(deps).getAttachmentTemplate(owner, slug)).status, 'published');
  await firstStart(elsewhere(), samples, pending);
  t.same(await shownBy(elsewhere(), pending), []);
});

void t.test('a first start that dies at any step is finished by the next, with nothing doubled', async (t) => {
  // Two of each kind: a step before, between and after templates is the same with all of them.
  const few = { blocks: [], emails: samples.emails.slice(0, 2), attachments: samples.attachments.slice(0, 2) };
  for (let appends = 0; ; appends += 1) {
    const { deps, store, elsewhere } = await openWorld();
    let count = 0;
    store.beforeAppend(() => ((count += 1) > appends ? Promise.reject(new Error('died')) : undefined));
    const pending = openPending();
    const done = await firstStart(deps, few, pending)
      .then(() => shownBy(deps, pending))
      .then(
        () => true,
        () => false,
      );
    store.beforeAppend(undefined);
    if (done) {
      t.ok(appends > 8, `${appends} appends in all`);
      return;
    }
    const after = elsewhere();
    await firstStart(after, few, pending);
    const [key] = await shownBy(after, pending);
    t.equal(
      (await makeCommands(after).authenticate(key!)).teamId,
      await firstTeam(after),
      `died after ${appends} appends`,
    );
    const owner = { ...caller, teamId: (await firstTeam(after))! };
    for (const { slug = '' } of few.emails)
      t.equal((await makeCommands(after).getTemplate(owner, slug)).status, 'published', slug);
    for (const { slug = '' } of few.attachments)
      t.equal((await makeCommands(after).getAttachmentTemplate(owner, slug)).status, 'published', slug);
  }
});

void t.test('a key that was made and not seen is shown by the next start', async (t) => {
  const { deps, elsewhere } = await openWorld();
  const pending = openPending();
  await firstStart(deps, samples, pending);
  const died = showFirstKey(deps, pending, () => {
    throw new Error('died');
  });
  await t.rejects(died, { message: 'died' });
  const after = elsewhere();
  await firstStart(after, samples, pending);
  const [key] = await shownBy(after, pending);
  t.equal((await makeCommands(after).authenticate(key!)).teamId, await firstTeam(after));
  t.same(await shownBy(after, pending), []);
});
