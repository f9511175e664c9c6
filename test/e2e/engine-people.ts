/**
 * People, teams, apps and keys through two processes that serve from the same stores: what one answers, the other
 * holds.
 */
import type { Test } from 'tap';
import type { SignedIn } from '../../src/api/people.js';
import type { TeamActivity } from '../../src/api/teams.js';
import { makeCommands } from '../../src/commands/index.js';
import { firstUserToken, makeUser } from '../../src/commands/people/registration.js';
import type { runCommand } from '../support/server-process.js';
import type { TestApp } from '../support/app.js';
import { PASSWORD } from '../support/people.js';
import { eventually } from '../support/wait.js';

const WITHIN_MS = 400_000;
const NOBODY = { authorization: '' };
const ada = { email: 'ada@people.example', password: PASSWORD, name: 'Ada Example' };
const bob = { email: 'bob@people.example', password: PASSWORD, name: 'Bob Example' };

export type Processes = Readonly<{
  one: TestApp;
  other: TestApp;
  command: (...args: readonly string[]) => ReturnType<typeof runCommand>;
}>;

type Headers = Readonly<{ authorization: string; 'x-team-id'?: string }>;

const signIn = async (app: TestApp, { email, password }: typeof ada): Promise<Headers> => {
  const { status, body, text } = await app.call<SignedIn>('POST', '/api/auth/login', { email, password }, NOBODY);
  if (status !== 200) throw new Error(`login was answered ${status} ${text}`);
  return { authorization: `Bearer ${body.accessToken}` };
};

const everywhere = async (
  t: Test,
  { one, other }: Processes,
  expected: object,
  ask: (app: TestApp) => Promise<unknown>,
): Promise<void> => {
  for (const app of [other, one]) t.match(await ask(app), expected);
};

/** Bob is invited by mail, accepts, and is given another role. */
const joins = async (t: Test, processes: Processes, ofAda: Headers, teamId: string): Promise<void> => {
  const { one, other } = processes;
  await makeUser(other.engine, bob, { isVerified: true, from: 'test' });
  const ofBob = { ...(await signIn(other, bob)), 'x-team-id': teamId };
  const asked = (app: TestApp) => app.call('GET', '/api/emails?limit=1', undefined, ofBob);
  await everywhere(t, processes, { status: 404, body: { code: 'TEAM_NOT_FOUND' } }, asked);
  const owner = (await one.call<{ id: string }>('GET', '/api/users/me', undefined, ofAda)).body.id;
  // No address is known under which others reach these processes, so the link is made by hand.
  const inviting = makeCommands({ ...one.engine, linkBase: 'https://mail.example.com' });
  const caller = {
    teamId: teamId as never,
    actor: `user:${owner}`,
    permissions: [],
    correlationId: 'test',
    user: { id: owner as never },
  };
  await inviting.inviteMember(caller, { email: bob.email, role: 'viewer' });
  let token = '';
  for await (const { events } of one.engine.eventLog.readAll(0, { kinds: ['email'] }))
    for (const { event } of events)
      if (event.type === 'EmailQueued')
        token = /sealpost_inv_[A-Za-z0-9_-]+/.exec(JSON.stringify(event.sealed?.variables))?.[0] ?? token;
  const { 'x-team-id': _team, ...ofBobAlone } = ofBob;
  t.equal((await other.call('POST', '/api/invitations/accept', { token }, ofBobAlone)).status, 200);
  t.match(await one.call('POST', '/api/invitations/accept', { token }, ofBobAlone), {
    status: 404,
    body: { code: 'INVITATION_NOT_FOUND' },
  });
  await everywhere(t, processes, { status: 200 }, asked);
  const sends = (app: TestApp) => app.call('POST', '/api/emails/send', {}, ofBob);
  await everywhere(t, processes, { status: 403, body: { code: 'FORBIDDEN' } }, sends);
  const bobId = (await other.call<{ id: string }>('GET', '/api/users/me', undefined, ofBobAlone)).body.id;
  const path = `/api/teams/${teamId}/members/${bobId}`;
  t.equal((await one.call('PATCH', path, { role: 'member' }, ofAda)).status, 200);
  await everywhere(t, processes, { status: 400, body: { code: 'VALIDATION_ERROR' } }, sends);
  t.equal((await one.call('DELETE', path, undefined, ofAda)).status, 200);
  await everywhere(t, processes, { status: 404, body: { code: 'TEAM_NOT_FOUND' } }, sends);
};

/** An app acts for its team, until its token is revoked. */
const letsAppsIn = async (t: Test, processes: Processes, inTeam: Headers): Promise<void> => {
  const { one, other } = processes;
  const request = { name: 'App', redirectUris: ['https://app.example/'], scopes: ['emails:read'] };
  const app = (await one.call<{ id: string; clientSecret: string }>('POST', '/api/oauth-apps', request, inTeam)).body;
  const form = async (at: TestApp, url: string, fields: Readonly<Record<string, string>>) =>
    at.server.inject({
      method: 'POST',
      url,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: `Basic ${Buffer.from(`${app.id}:${app.clientSecret}`).toString('base64')}`,
      },
      payload: new URLSearchParams(fields).toString(),
    });
  const issued = await form(other, '/oauth/token', { grant_type: 'client_credentials', scope: 'emails:read' });
  t.equal(issued.statusCode, 200, issued.body);
  const { access_token: token } = issued.json<{ access_token: string }>();
  const asked = (at: TestApp) => at.call('GET', '/api/emails?limit=1', undefined, { authorization: `Bearer ${token}` });
  await everywhere(t, processes, { status: 200 }, asked);
  t.equal((await form(one, '/oauth/revoke', { token })).statusCode, 200);
  await everywhere(t, processes, { status: 401, body: { code: 'INVALID_TOKEN' } }, asked);
};

/** A key that is good from some networks alone: what one process changes holds in the other. */
const keepsNetworks = async (t: Test, processes: Processes, inTeam: Headers): Promise<void> => {
  const { one, other } = processes;
  const request = { name: 'elsewhere', permissions: ['emails:read'], networks: ['192.0.2.0/24'] };
  const made = (await one.call<{ id: string; key: string }>('POST', '/api/api-keys', request, inTeam)).body;
  const asked = (app: TestApp) =>
    app.call('GET', '/api/emails?limit=1', undefined, { authorization: `Bearer ${made.key}` });
  await everywhere(t, processes, { status: 403, body: { code: 'API_KEY_NETWORK_NOT_ALLOWED' } }, asked);
  t.equal((await other.call('PATCH', `/api/api-keys/${made.id}`, { networks: ['127.0.0.0/8'] }, inTeam)).status, 200);
  await everywhere(t, processes, { status: 200 }, asked);
  const teamId = String(inTeam['x-team-id']);
  t.equal((await one.call('DELETE', `/api/teams/${teamId}`, undefined, inTeam)).status, 200);
  await everywhere(t, processes, { status: 401, body: { code: 'TEAM_DELETED' } }, asked);
  const { 'x-team-id': _team, ...alone } = inTeam;
  t.equal((await other.call('POST', `/api/teams/${teamId}/restore`, undefined, alone)).status, 200);
  await everywhere(t, processes, { status: 200 }, asked);
};

/** Ada owns the first team, and makes another. */
export const letsPeopleIn = async (t: Test, processes: Processes): Promise<void> => {
  const { one, other, command } = processes;
  const registered = await one.call(
    'POST',
    '/api/auth/register',
    { ...ada, token: firstUserToken(one.engine.keys) },
    NOBODY,
  );
  t.equal(registered.status, 201, registered.text);
  const ofAda = await signIn(other, ada);
  await everywhere(t, processes, { status: 200, body: { email: ada.email } }, (app) =>
    app.call('GET', '/api/users/me', undefined, ofAda),
  );
  const made = await one.call<{ id: string }>(
    'POST',
    '/api/teams',
    { name: 'Market', defaultFrom: { email: 'm@people.example' } },
    ofAda,
  );
  t.equal(made.status, 201, made.text);
  const { id } = made.body;
  const inTeam = { ...ofAda, 'x-team-id': id };
  const listed = async (): Promise<boolean> =>
    (await other.call<{ data: { id: string }[] }>('GET', '/api/teams', undefined, ofAda)).body.data[0]?.id === id;
  await eventually('the other lists it', listed, WITHIN_MS);
  await t.test('somebody is invited, accepts, and gets another role', (t) => joins(t, processes, ofAda, id));
  await t.test('an app', (t) => letsAppsIn(t, processes, inTeam));
  await t.test('a key with networks, and a team that is deleted and comes back', (t) =>
    keepsNetworks(t, processes, inTeam),
  );
  t.match(await command('team', 'list'), { code: 0, stdout: new RegExp(`${id} {2}Market {2}1 member`) });
  await eventually(
    'what was done is listed',
    async () => {
      const { body } = await other.call<{ data: TeamActivity[] }>(
        'GET',
        `/api/teams/${id}/activity?limit=100`,
        undefined,
        ofAda,
      );
      const kinds = body.data.map(({ kind }) => kind);
      return ['team.restored', 'api-key.changed', 'app.created', 'member.role-changed'].every((kind) =>
        kinds.includes(kind as never),
      );
    },
    WITHIN_MS,
  );
};
