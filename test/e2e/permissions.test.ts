/**
 * Permissions on the whole service: every endpoint is called with real keys, access tokens of people and of apps, on
 * resources of their own team, of another team and deleted ones. The expected answers are a table that was written by
 * hand from the contract.
 */
import { createHash } from 'node:crypto';
import t from 'tap';
import type { InjectOptions } from 'fastify';
import { makeCommands, openOAuth, type Commands } from '../../src/commands/index.js';
import { firstTeam, systemCaller } from '../../src/commands/core/caller.js';
import { permissions, scopes, roles, type Role } from '../../src/domain/access/permissions.js';
import { generalRateLimit } from '../../src/domain/access/rate-limits.js';
import { assertDefined, parseTeamId, type TeamId, type UserId } from '../../src/domain/core/ids.js';
import { exchange } from '../../src/http/apps/endpoints.js';
import { routesOf, type RegisteredRoute } from '../../src/http/index.js';
import { advanceUntil, startTestApp, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { fakeClock, type FakeClock } from '../support/fake-clock.js';
import { goldenPermissions, nameOfRoute, type PermissionsLine } from '../support/golden-permissions.js';
import { addMember, from as signInFrom, PASSWORD, signedIn } from '../support/people.js';
import { png } from '../support/pictures.js';
import { bodyOf, queryOf } from '../http/request-to.js';
import { login } from '../../src/commands/people/sessions.js';
import { foundTeam } from '../../src/commands/teams/teams.js';

t.setTimeout(900_000);

/** Ids of things of one team, by what is asked for. */
type Things = Readonly<Record<Kind, string>>;
type Kind =
  | 'email'
  | 'batch'
  | 'template'
  | 'attachmentTemplate'
  | 'block'
  | 'asset'
  | 'webhook'
  | 'apiKey'
  | 'domain'
  | 'suppression'
  | 'oauthApp'
  | 'member'
  | 'erasure'
  | 'approval';

const template = {
  slug: 'note',
  name: 'Note',
  subject: 'A note',
  variables: [{ name: 'text', type: 'string' as const, required: true }],
  schema: {
    sections: [
      {
        id: 'm',
        type: 'main' as const,
        components: [{ id: 't', type: 'rich-text' as const, content: '<p>{{text}}</p>' }],
      },
    ],
  },
  publish: true,
};
const attachmentTemplate = {
  slug: 'paper',
  name: 'Paper',
  variables: [],
  schema: {
    outputFormats: ['pdf' as const],
    pages: [{ pageId: 'p', pageName: 'P', sections: template.schema.sections }],
  },
  publish: true,
};
const block = {
  slug: 'note',
  name: 'Note',
  schema: { components: [{ id: 'text', type: 'rich-text', content: 'note' }] },
  publish: true,
};

/** One of each. */
const makeThings = async (commands: Commands, teamId: TeamId, userId: UserId): Promise<Things> => {
  const suppressed = `${userId}@example.com`;
  const by = systemCaller(teamId, 'cli', 'test');
  const madeTemplate = await commands.createTemplate(by, template);
  const paper = await commands.createAttachmentTemplate(by, {
    ...attachmentTemplate,
    variables: [{ name: 'text', type: 'string', required: false }],
  });
  const mail = { templateId: 'note', to: [{ email: 'success@simulator.sealpost' }], variables: { text: 'x' } };
  const batch = await commands.sendBulk(by, {
    templateId: 'note',
    recipients: [{ email: 'success@simulator.sealpost', variables: { text: 'x' } }],
  });
  return {
    email: (await commands.sendEmail(by, mail)).body.id,
    batch: batch.body.batchId,
    template: madeTemplate.id,
    attachmentTemplate: paper.id,
    block: (await commands.createBlock(by, block)).id,
    asset: (await commands.uploadAsset(by, { filename: 'logo.png', bytes: png }, { count: 0, sizeBytes: 0 })).id,
    webhook: (
      await commands.createWebhook(by, { url: 'https://hooks.example/', events: ['email.bounced'], enabled: false }, 0)
    ).id,
    apiKey: (await commands.createApiKey(by, { name: 'thing', permissions: ['emails:read'] })).id,
    domain: (await commands.addDomain(by, { domain: 'example.com' })).id,
    suppression: (await commands.addSuppression(by, { email: suppressed })).id,
    oauthApp: (
      await commands.createOAuthApp(by, {
        name: 'thing',
        redirectUris: ['https://app.example/'],
        scopes: ['emails:read'],
      })
    ).id,
    member: userId,
    approval: (await commands.requestApproval(by, mail, { open: async () => 0 })).body.id,
    erasure: '00000000-0000-4000-8000-00000000dead',
  };
};

/** Deletes everything that can be deleted. */
const deleteThings = async (commands: Commands, teamId: TeamId, things: Things): Promise<void> => {
  const by = systemCaller(teamId, 'cli', 'test');
  await commands.deleteEmail(by, things.email as never);
  await commands.deleteTemplate(by, things.template);
  await commands.deleteAttachmentTemplate(by, things.attachmentTemplate);
  await commands.deleteBlock(by, things.block);
  await commands.deleteAsset(by, things.asset as never);
  await commands.deleteWebhook(by, things.webhook as never);
  await commands.deleteDomain(by, things.domain as never);
  await commands.removeSuppression(by, things.suppression as never);
  await commands.deleteOAuthApp(by, things.oauthApp as never);
  await commands.removeMember(by, things.member as never);
};

/** undefined: it names no thing of a team by id. */
const kindOf = ({ path }: RegisteredRoute): Kind | undefined => {
  if (path.includes(':batchId')) return 'batch';
  if (path.includes(':userId')) return 'member';
  if (!path.includes(':id') || path.startsWith('/api/users') || path.includes('/invitations/')) return undefined;
  if (path.startsWith('/api/emails')) return 'email';
  if (path.startsWith('/api/blocks')) return 'block';
  if (path.startsWith('/api/templates/attachment')) return 'attachmentTemplate';
  if (path.startsWith('/api/templates')) return 'template';
  if (path.startsWith('/api/assets')) return 'asset';
  if (path.startsWith('/api/v1/webhook-subscriptions')) return 'webhook';
  if (path.startsWith('/api/api-keys')) return 'apiKey';
  if (path.startsWith('/api/domains')) return 'domain';
  if (path.startsWith('/api/suppressions')) return 'suppression';
  if (path.startsWith('/api/oauth-apps')) return 'oauthApp';
  if (path.startsWith('/api/privacy')) return 'erasure';
  if (path.startsWith('/api/approvals')) return 'approval';
  return undefined;
};

const NOWHERE = '00000000-0000-4000-8000-00000000beef';
/** Kinds that are never deleted: revoked keys are shown, and approvals, erasures and batches stay. */
const neverDeleted: readonly Kind[] = ['apiKey', 'approval', 'erasure', 'batch'];

/** The example of a time that is to come has come in the meantime. */
const bodyFor = ({ method, path }: RegisteredRoute, clock: FakeClock): unknown =>
  `${method} ${path}` === 'PATCH /api/emails/:id'
    ? { scheduledAt: new Date(clock.now() + 86_400_000).toISOString() }
    : undefined;

const requestOf = (route: RegisteredRoute, thing: string, teamId: string, body?: unknown): InjectOptions => {
  const [example] = Object.values(route.examples ?? {});
  const url = route.path
    .replace(':version', '1')
    .replace(':batchId', thing)
    .replace(':userId', thing)
    .replace(':id', thing)
    .replace(':index', '0')
    .replace(':address', 'jane%40example.com')
    .replace(':deliveryId', 'whd_AAAAAAAAAAAAAAAAAAAAAAAAAAAA')
    .replace(':teamId', teamId);
  return {
    method: route.method as 'GET',
    url: url + queryOf(route.path),
    ...bodyOf(route, body ?? example?.value, {}),
  };
};

type World = Readonly<{
  app: TestApp;
  own: Things;
  foreign: Things;
  deleted: Things;
  ownTeam: TeamId;
  foreignTeam: TeamId;
  deletedTeam: TeamId;
  people: ReadonlyMap<Role, UserId>;
}>;
type Credential = Readonly<{
  name: string;
  isAllowed: (line: PermissionsLine) => boolean;
  headers: Readonly<Record<string, string>>;
  isApp?: true;
}>;

const peopleIn = async (app: TestApp, teamId: TeamId): Promise<ReadonlyMap<Role, UserId>> => {
  const found = new Map<Role, UserId>();
  for (const role of roles) {
    const { userId } = await signedIn(app.engine, { email: `${role}@example.com`, name: role, role, teamId });
    found.set(role, userId);
  }
  return found;
};

/** A second team, beside the first; and a third that is deleted. Those who are in the first are in the third too. */
const openWorld = async (app: TestApp, clock: FakeClock): Promise<World> => {
  const { engine } = app;
  const commands = makeCommands(engine);
  const ownTeam = assertDefined(await firstTeam(engine), 'team');
  const cause = (teamId: TeamId) => ({
    teamId,
    actor: 'cli',
    correlationId: 'test',
    causationId: 'test',
    at: new Date(engine.clock.now()).toISOString(),
  });
  const another = async (owner: UserId, name: string): Promise<TeamId> => {
    const id = assertDefined(parseTeamId(engine.ids.uuid()), 'team id');
    await foundTeam(engine, id, { name, owner, billing: 'unmetered', from: { email: 'a@example.com' } }, cause(id));
    return id;
  };
  const people = await peopleIn(app, ownTeam);
  const stranger = await signedIn(engine, { email: 'stranger@example.com', name: 'stranger' });
  const foreignTeam = await another(stranger.userId, 'Foreign');
  const deletedTeam = await another(people.get('owner')!, 'Deleted');
  for (const role of roles) if (role !== 'owner') await addMember(engine, deletedTeam, people.get(role)!, role);
  const gone = await signedIn(engine, { email: 'gone@example.com', name: 'gone', role: 'viewer', teamId: ownTeam });
  const deleted = await makeThings(commands, ownTeam, gone.userId);
  await app.whenStatus(deleted.email, 'delivered', 1_000);
  await deleteThings(commands, ownTeam, deleted);
  const own = await makeThings(commands, ownTeam, people.get('viewer')!);
  const foreign = await makeThings(commands, foreignTeam, stranger.userId);
  await commands.deleteTeam({ ...systemCaller(deletedTeam, 'cli', 'test') });
  let isCaughtUp = false;
  void app.whenCaughtUp().then(() => (isCaughtUp = true));
  await advanceUntil(clock, 100, 'the read models are there', () => isCaughtUp);
  return { app, own, foreign, deleted, ownTeam, foreignTeam, deletedTeam, people };
};

/** Keys of each permission alone; they do not end, and have no limit that this could reach. */
const keysOf = async ({ app, ownTeam }: World): Promise<readonly Credential[]> => {
  const commands = makeCommands(app.engine);
  return Promise.all(
    permissions.map(async (permission): Promise<Credential> => {
      const request = { name: permission, permissions: [permission], rateLimit: 10_000_000 };
      const { key } = await commands.createApiKey(systemCaller(ownTeam, 'cli', 'test'), request);
      return {
        name: `key=${permission}`,
        isAllowed: ({ keys }) => keys.includes(permission),
        headers: { authorization: `Bearer ${key}` },
      };
    }),
  );
};

const tokensOfPeople = async ({ app, ownTeam }: World): Promise<readonly Credential[]> => {
  const made: Credential[] = [];
  for (const role of [...roles, 'stranger'] as const) {
    const { accessToken } = await login(app.engine, { email: `${role}@example.com`, password: PASSWORD }, signInFrom);
    const headers = { authorization: `Bearer ${accessToken}`, 'x-team-id': ownTeam };
    made.push({ name: role, isAllowed: (line) => (line.roles as readonly string[]).includes(role), headers });
  }
  return made;
};

/** Apps that act for themselves, with one scope each. */
const tokensOfApps = async ({ app, ownTeam }: World): Promise<readonly Credential[]> => {
  const commands = makeCommands(app.engine);
  const by = systemCaller(ownTeam, 'cli', 'test');
  const made: Credential[] = [];
  for (const scope of scopes) {
    const { id, clientSecret } = await commands.createOAuthApp(by, {
      name: scope,
      redirectUris: ['https://app.example/'],
      scopes: [scope],
    });
    const answer = await app.server.inject({
      method: 'POST',
      url: '/oauth/token',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: `Basic ${Buffer.from(`${id}:${String(clientSecret)}`).toString('base64')}`,
      },
      payload: `grant_type=client_credentials&scope=${encodeURIComponent(scope)}`,
    });
    if (answer.statusCode !== 200) throw new Error(`no token: ${answer.body}`);
    const { access_token: token } = answer.json<{ access_token: string }>();
    made.push({
      name: `scope=${scope}`,
      isAllowed: (line) => line.scopes.includes(scope),
      headers: { authorization: `Bearer ${token}` },
      isApp: true,
    });
  }
  return made;
};

/** Credentials of apps to which the owner of the team granted one scope each. */
const grantsOfOwner = async ({ app, ownTeam, people }: World): Promise<readonly Credential[]> => {
  const oauth = openOAuth(app.engine);
  const userId = people.get('owner')!;
  const verifier = 'v'.repeat(43);
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const redirectUri = 'https://app.example/';
  const { id } = await makeCommands(app.engine).createOAuthApp(systemCaller(ownTeam, 'cli', 'test'), {
    name: 'Granted',
    kind: 'public',
    redirectUris: [redirectUri],
    scopes: [...scopes],
  });
  const known = assertDefined(await oauth.openOAuthApp(id), 'app');
  const person = { ...systemCaller(ownTeam, `user:${userId}`, 'test'), user: { id: userId } };
  const made: Credential[] = [];
  for (const scope of scopes) {
    const code = await oauth.giveConsent(person, { app: known, scopes: [scope], redirectUri, challenge });
    const form = {
      grant_type: 'authorization_code',
      client_id: id,
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
    };
    const { body } = await exchange({ oauth }, { requestId: 'test', form, authorization: undefined });
    made.push({
      name: `granted=${scope}`,
      isAllowed: (line) => line.scopes.includes(scope),
      headers: { authorization: `Bearer ${String(body['access_token'])}` },
      isApp: true,
    });
  }
  return made;
};

/** That a key is used is noted whatever it asks for, and the audit log tells of refusals. */
const writtenAfter = async ({ engine }: TestApp, position: number): Promise<readonly string[]> => {
  const types: string[] = [];
  for await (const { events } of engine.eventLog.readAll(position, { decrypt: [] }))
    types.push(...events.filter(({ stream }) => !stream.startsWith('audit')).map(({ event }) => event.type));
  return types.filter((type) => type !== 'ApiKeyUsed');
};

/** The time that passes with each route keeps every caller below the limit of calls in a short time. */
const BETWEEN_ROUTES_MS = generalRateLimit.burstWindowMs + 1_000;
/** For so many routes: access tokens of people end after 15 minutes. */
const SIGNED_IN_FOR = Math.floor((14 * 60_000) / BETWEEN_ROUTES_MS);

await t.test('each endpoint lets in whom the table names, and nobody else', async (t) => {
  const [dataDir, clock] = [temporaryDirectory(t), fakeClock()];
  const settings = { SEALPOST_REGISTRATION: 'open' };
  const whole = await startTestApp({ isFounded: true, dataDir, clock, settings });
  const opened = await openWorld(whole, clock);
  await whole.stop();
  // With a process of its own for deliveries, the passing of time costs little here.
  const app = await startTestApp({ dataDir, clock, settings: { ...settings, SEALPOST_ROLES: 'http,project' } });
  t.teardown(() => app.stop());
  t.same(routesOf(app.server).map(nameOfRoute), routesOf(whole.server).map(nameOfRoute));
  const world: World = { ...opened, app };
  const golden = goldenPermissions();
  const routes = routesOf(app.server).filter(({ access }) => access !== 'public');
  const keys = await keysOf(world);
  let people: readonly Credential[] = [];
  let apps: readonly Credential[] = [];
  let calls = 0;
  const ask = async (
    credential: Credential | undefined,
    options: InjectOptions,
  ): Promise<readonly [number, string]> => {
    calls += 1;
    // Refusals are counted by address, so each call has an address of its own.
    const remoteAddress = `10.${(calls >> 16) & 255}.${(calls >> 8) & 255}.${calls & 255}`;
    const answer = await app.server.inject({
      ...options,
      remoteAddress,
      headers: { ...options.headers, ...credential?.headers },
    });
    return [answer.statusCode, answer.statusCode < 400 ? '' : answer.json<{ code: string }>().code];
  };

  for (const [index, route] of routes.entries()) {
    const line = golden.get(nameOfRoute(route));
    if (line === undefined) continue;
    if (index % SIGNED_IN_FOR === 0) {
      people = await tokensOfPeople(world);
      apps = [...(await tokensOfApps(world)), ...(await grantsOfOwner(world))];
    }
    const wrong: string[] = [];
    const told = (who: string, which: string, got: readonly [number, string]): void =>
      void wrong.push(`${who}, ${which}: ${got.join(' ')}`);
    const kind = kindOf(route);
    const isOfTeam = route.path.includes(':teamId');
    // Routes about the calling person belong to no team, so a stranger may call them too.
    const isPersonal = route.access.startsWith('profile:');
    const ownOf = (): string => (kind === undefined ? NOWHERE : world.own[kind]);
    const denied = requestOf(route, ownOf(), world.ownTeam);
    const anonymous = await ask(undefined, denied);
    if (anonymous[0] !== 401) told('nobody', 'own', anonymous);
    for (const credential of [...people, ...keys, ...apps]) {
      const isAllowed = credential.isAllowed(line);
      const before = await app.engine.eventLog.head();
      if (!isAllowed) {
        if (credential.name === 'stranger' && isPersonal) continue;
        const got = await ask(credential, denied);
        // The operator reads things of no team.
        const expected =
          credential.name === 'stranger' && route.access !== 'system:read'
            ? [404, 'TEAM_NOT_FOUND']
            : [403, 'FORBIDDEN'];
        if (got.join() !== expected.join()) told(credential.name, 'own', got);
        for (const type of await writtenAfter(app, before))
          wrong.push(`${credential.name}: refused, and yet ${type} was written`);
      }
      const isReading = route.method === 'GET';
      if (isAllowed && isReading) {
        const got = await ask(credential, denied);
        const isFine =
          got[0] < 400 ||
          // The email has no attachment.
          (route.path.endsWith('/attachments/:index') && got[1] === 'NOT_FOUND') ||
          (got[0] === 404 && (kind === undefined || kind === 'erasure' || credential.isApp === true)) ||
          got[1] === 'VALIDATION_ERROR';
        if (!isFine) told(credential.name, 'own', got);
      }
      if (kind === undefined && !isOfTeam) {
        if (!isAllowed || isReading || isPersonal) continue;
        // Let in, and refused for what it says.
        const got = await ask(credential, requestOf(route, NOWHERE, world.ownTeam, {}));
        if (got[0] === 401 || got[0] === 403) told(credential.name, 'empty', got);
        continue;
      }
      for (const [which, things, teamId] of [
        ['foreign', world.foreign, world.foreignTeam],
        ['deleted', world.deleted, world.deletedTeam],
      ] as const) {
        if (isOfTeam && isPersonal) continue;
        if (
          which === 'deleted' &&
          ((kind !== undefined && neverDeleted.includes(kind)) || route.path.endsWith('/restore'))
        )
          continue;
        // A caller without the permission is refused for its own resources already.
        if (!isAllowed && credential.name !== 'stranger') continue;
        const thing = kind === undefined ? NOWHERE : things[kind];
        const got = await ask(
          credential,
          requestOf(route, thing, kind === undefined ? teamId : world.ownTeam, bodyFor(route, clock)),
        );
        if (credential.name === 'stranger' && kind === undefined && which === 'foreign') continue;
        const code = isOfTeam && kind === undefined ? 'TEAM_NOT_FOUND' : route.unknownId;
        const expected = credential.name === 'stranger' ? [404, 'TEAM_NOT_FOUND'] : [404, code];
        if (got.join() !== expected.join()) told(credential.name, which, got);
      }
    }
    t.strictSame(wrong, [], nameOfRoute(route));
    await clock.advance(BETWEEN_ROUTES_MS);
  }
  t.ok(calls > 3_000, `${calls} calls`);
});
