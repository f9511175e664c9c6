/**
 * An instance with one of each thing that sealpost stores, made through the API: the data directory of a release, which
 * every later release opens. `readWorld` asks for all of it again.
 */
import { createHash } from 'node:crypto';
import type { Settings } from '../support/server-process.js';
import { openOAuth } from '../../src/commands/index.js';
import { addCredits } from '../../src/commands/billing/billing.js';
import { causeOf, firstTeam, systemCaller } from '../../src/commands/core/caller.js';
import { changeBilling } from '../../src/commands/teams/teams.js';
import { assertDefined } from '../../src/domain/core/ids.js';
import type { Json, JsonObject } from '../../src/domain/core/json.js';
import { HOUR_MS } from '../../src/domain/core/time.js';
import { version } from '../../src/service/version.js';
import { exchange } from '../../src/http/apps/endpoints.js';
import { advanceUntil, startTestApp, type TestApp } from '../support/app.js';
import type { FakeClock } from '../support/fake-clock.js';
import { PASSWORD, signedIn } from '../support/people.js';
import { png } from '../support/pictures.js';

/** The moment at which the story begins. It is opened at `readAt` of world.json, so nothing of it becomes due. */
export const STORY_BEGINS_MS = Date.parse('2026-11-29T08:00:00.000Z');

/** `paths`: what readWorld asks for. Credentials are those of the story, sealed or hashed in its stores. */
export type StoryWorld = Readonly<{
  version: string;
  readAt: string;
  apiKey: string;
  person: Readonly<{ email: string; password: string }>;
  teamId: string;
  refreshToken: string;
  clientId: string;
  emailId: string;
  paths: readonly string[];
}>;

export const settingsOfStory: Settings = {
  SEALPOST_MASTER_KEY: Buffer.alloc(32, 'compatibility').toString('base64'),
  SEALPOST_WEBHOOK_INSECURE_HOSTS: '127.0.0.1',
  SEALPOST_RETRY_DELAYS: '3600',
};

export const openStory = (dataDir: string, clock: FakeClock): Promise<TestApp> =>
  startTestApp({ dataDir, clock, settings: settingsOfStory });

const sections = (content: string): Json => [
  { id: 'main', type: 'main', components: [{ id: 'text', type: 'rich-text', content }] },
];

type Made = Readonly<Record<string, string>>;

const post = async (
  app: TestApp,
  path: string,
  body: unknown,
  method: 'POST' | 'PATCH' | 'DELETE' = 'POST',
  headers: Settings = {},
): Promise<JsonObject> => {
  const answer = await app.call<JsonObject>(method, path, body, headers);
  if (answer.status >= 300) throw new Error(`${method} ${path} is answered ${answer.status} ${answer.text}`);
  return answer.body;
};
const idOf = async (...given: Parameters<typeof post>): Promise<string> => String((await post(...given))['id']);

const makeTemplates = async (app: TestApp): Promise<Made> => {
  const block = await idOf(app, '/api/blocks', {
    slug: 'foot',
    name: 'Foot',
    variables: [{ name: 'reason', type: 'string', defaultValue: 'You ordered.' }],
    schema: { components: [{ id: 'text', type: 'rich-text', content: '<p>{{reason}}</p>' }] },
    publish: true,
  });
  const template = await idOf(app, '/api/templates', {
    slug: 'receipt',
    name: 'Receipt',
    subject: 'Receipt {{number}}',
    variables: [
      { name: 'number', type: 'string', required: true },
      { name: 'total', type: 'number', defaultValue: 12.5 },
      { name: 'double', type: 'number', isCalculated: true, expression: 'total * 2' },
    ],
    locale: 'en-US',
    translations: { de: { subject: 'Beleg {{number}}' } },
    schema: {
      sections: [
        {
          id: 'main',
          type: 'main',
          components: [
            { id: 'text', type: 'rich-text', content: '<p>{{number}}: {{double}}</p>' },
            { id: 'foot', type: 'include', props: { block: 'foot', version: 1 } },
          ],
        },
      ],
    },
    publish: true,
  });
  await post(
    app,
    `/api/templates/${template}`,
    { name: 'Receipt of 1.0', subject: 'Your receipt {{number}}' },
    'PATCH',
  );
  await post(app, `/api/templates/${template}/publish`, {});
  const paper = await idOf(app, '/api/templates/attachment', {
    slug: 'bill',
    name: 'Bill',
    variables: [{ name: 'number', type: 'string', required: true }],
    schema: {
      outputFormats: ['pdf', 'excel'],
      pages: [{ pageId: 'p', pageName: 'P', sections: sections('<p>{{number}}</p>') }],
    },
    publish: true,
  });
  const deleted = await idOf(app, '/api/templates', {
    slug: 'gone',
    name: 'Gone',
    subject: 'Gone',
    variables: [],
    schema: { sections: sections('<p>gone</p>') },
  });
  await post(app, `/api/templates/${deleted}`, undefined, 'DELETE');
  return { block, template, paper };
};

const makeMails = async (app: TestApp, clock: FakeClock): Promise<Made> => {
  const receipt = { templateId: 'receipt', variables: { number: 'R-1' }, tags: ['receipts'], metadata: { order: 17 } };
  const send = (more: JsonObject): Promise<string> => idOf(app, '/api/emails/send', { ...receipt, ...more });
  const ada = { email: 'ada@example.com', name: 'Ada Example' };
  const sent = await send({
    to: [ada],
    cc: [{ email: 'archive@example.com' }],
    tracking: { opens: true, clicks: true },
    attachments: [
      { attachmentTemplateId: 'bill', filename: 'bill-{{number}}', outputFormats: ['pdf', 'excel'] },
      { filename: 'note.txt', contentType: 'text/plain', content: Buffer.from('a note').toString('base64') },
    ],
  });
  const german = await send({ to: [ada], locale: 'de', priority: 'high' });
  const inline = await idOf(app, '/api/emails/send', {
    content: { subject: 'Plain', html: '<p>Written by the caller</p>' },
    to: [ada],
  });
  const bounced = await send({ to: [{ email: 'bounce@simulator.sealpost' }] });
  const complained = await send({ to: [{ email: 'complaint@simulator.sealpost' }] });
  const deferred = await send({ to: [{ email: 'delay@simulator.sealpost' }] });
  const scheduled = await send({ to: [ada], scheduledAt: '2026-12-24T08:00:00Z' });
  const cancelled = await send({ to: [ada], scheduledAt: '2026-12-25T08:00:00Z' });
  await post(app, `/api/emails/${cancelled}/cancel`, {});
  const doomed = await send({ to: [ada] });
  const approval = await idOf(app, '/api/approvals', { ...receipt, to: [ada] });
  const bulk = {
    templateId: 'receipt',
    batchName: 'Receipts of November',
    recipients: ['one', 'two'].map((name) => ({ email: `${name}@example.com`, variables: { number: name } })),
  };
  const batch = String((await post(app, '/api/emails/send/bulk', bulk))['batchId']);
  const ended = async (): Promise<boolean> => {
    const states = await Promise.all(
      [sent, german, inline, bounced, complained, doomed].map(async (id) => (await app.email(id)).status),
    );
    const { status } = (await app.call<{ status: string }>('GET', `/api/emails/batch/${batch}/status`)).body;
    return status === 'completed' && states.every((one) => !/^(?:queued|processing)$/.test(one));
  };
  await advanceUntil(clock, 500, 'the mails have their outcomes', ended);
  await post(app, `/api/emails/${doomed}`, undefined, 'DELETE');
  return { sent, german, inline, bounced, complained, deferred, scheduled, cancelled, batch, approval };
};

const logIn = (app: TestApp, { email, password }: StoryWorld['person']): Promise<JsonObject> =>
  post(app, '/api/auth/login', { email, password }, 'POST', { authorization: '' });

/** A person with a grant to an app. */
const makePerson = async (app: TestApp) => {
  const teamId = assertDefined(await firstTeam(app.engine), 'team');
  const person = { email: 'grace@example.com', password: PASSWORD, name: 'Grace Example' };
  const { userId, headers } = await signedIn(app.engine, { ...person, role: 'owner', teamId });
  const redirectUri = 'https://app.example/';
  const clientId = await idOf(
    app,
    '/api/oauth-apps',
    { name: 'Reports', kind: 'public', redirectUris: [redirectUri], scopes: ['emails:read'] },
    'POST',
    headers,
  );
  // The mail about a sign-in from a new place leaves now, and not when the story is read.
  await logIn(app, person);
  const oauth = openOAuth(app.engine);
  const known = assertDefined(await oauth.openOAuthApp(clientId), 'app');
  const verifier = 'v'.repeat(43);
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const caller = { ...systemCaller(teamId, `user:${userId}`, 'story'), user: { id: userId } };
  const code = await oauth.giveConsent(caller, { app: known, scopes: ['emails:read'], redirectUri, challenge });
  const form = {
    grant_type: 'authorization_code',
    client_id: clientId,
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
  };
  const { body } = await exchange({ oauth }, { requestId: 'story', form, authorization: undefined });
  await post(app, `/api/teams/${teamId}/invitations`, { email: 'bob@example.com', role: 'viewer' }, 'POST', headers);
  return { teamId, person, userId, clientId, refreshToken: String(body['refresh_token']) };
};

/** Makes everything. Afterwards the app is to be stopped. */
export const makeWorld = async (app: TestApp, clock: FakeClock, hook: string): Promise<StoryWorld> => {
  const { teamId, person, userId, clientId, refreshToken } = await makePerson(app);
  const by = systemCaller(teamId, 'cli', 'story');
  await changeBilling(app.engine, teamId, { billing: 'credits' }, causeOf(app.engine, by), async () => ({
    emails: 0,
    attachments: 0,
  }));
  await addCredits(app.engine, by, { blocks: 7, note: 'invoice 17' });
  const { id: keyId, key: apiKey } = (await post(app, '/api/api-keys', {
    name: 'shop',
    permissions: ['emails:send', 'emails:read'],
  })) as { id: string; key: string };
  const webhook = await idOf(app, '/api/v1/webhook-subscriptions', {
    url: `${hook}/hooks`,
    events: ['email.sent', 'email.delivered', 'email.bounced', 'batch.completed'],
  });
  const templates = await makeTemplates(app);
  const asset = await idOf(app, '/api/assets', { filename: 'logo.png', content: png.toString('base64') });
  const domain = await idOf(app, '/api/domains', { domain: 'shop.example' });
  await post(app, '/api/suppressions', { email: 'never@example.com' });
  const mails = await makeMails(app, clock);
  const asked = idOf(app, '/api/privacy/erase', { email: 'two@example.com' });
  let isAsked = false;
  void asked.finally(() => (isAsked = true));
  // The answer waits for the clock.
  await advanceUntil(clock, 500, 'the erasure is accepted', () => isAsked);
  const erasure = await asked;
  await advanceUntil(clock, 1_000, 'the webhooks are told and the address is erased', async () => {
    const [told, erased, counted] = await Promise.all([
      app.call<{ deliveries: unknown[] }>('GET', `/api/v1/webhook-subscriptions/${webhook}/deliveries`),
      app.call<{ status: string }>('GET', `/api/privacy/erasures/${erasure}`),
      app.call<{ counts: { queued: number } }>('GET', '/api/emails/counts'),
    ]);
    // The deferred mail stays queued.
    return told.body.deliveries.length >= 9 && erased.body.status === 'completed' && counted.body.counts.queued === 1;
  });
  // The seal of the last minute, and the daily figures, are written.
  await clock.advance(2 * 60_000);
  await app.whenCaughtUp();
  const { batch = '', approval = '', ...emails } = mails;
  return {
    version,
    readAt: new Date(clock.now() + HOUR_MS / 60).toISOString(),
    ...{ apiKey, person: { email: person.email, password: person.password }, teamId, refreshToken, clientId },
    emailId: assertDefined(mails['sent'], 'email'),
    paths: [
      ...Object.values(emails).flatMap((id) => [`/api/emails/${id}`, `/api/emails/${id}/timeline`]),
      ...['', '?tag=receipts', '?status=scheduled', '?recipient=one%40example.com'].map(
        (query) => `/api/emails${query}`,
      ),
      ...[`/api/emails/batch/${batch}/status`, `/api/emails/batch/${batch}/results`, '/api/emails/counts'],
      ...['/api/emails/usage/stats', '/api/emails/usage/months', '/api/analytics/tags', '/api/analytics/templates'],
      '/api/analytics/overview?startDate=2026-11-01&endDate=2026-11-30',
      ...[`/api/templates/${templates['template']}`, `/api/templates/${templates['template']}/versions`],
      `/api/templates/${templates['template']}/versions/1`,
      ...[`/api/blocks/${templates['block']}`, `/api/blocks/${templates['block']}/usage`],
      ...[`/api/templates/attachment/${templates['paper']}`, `/api/assets/${asset}`, `/api/domains/${domain}`],
      ...[
        '/api/suppressions',
        `/api/approvals/${approval}`,
        `/api/privacy/erasures/${erasure}`,
        `/api/api-keys/${keyId}`,
      ],
      ...[`/api/v1/webhook-subscriptions/${webhook}`, `/api/v1/webhook-subscriptions/${webhook}/deliveries`],
      ...[
        `/api/users/${userId}`,
        `/api/teams/${teamId}`,
        `/api/teams/${teamId}/members`,
        `/api/oauth-apps/${clientId}`,
      ],
      `/api/teams/${teamId}/invitations`,
    ],
  };
};

/** Every answer of the story, by its path. What only people may read is read by Grace. */
export const readWorld = async (app: TestApp, world: StoryWorld): Promise<Readonly<Record<string, Json>>> => {
  await app.whenCaughtUp();
  const login = await logIn(app, world.person);
  const headers = { authorization: `Bearer ${String(login['accessToken'])}`, 'x-team-id': world.teamId };
  const answers: Record<string, Json> = {};
  for (const path of world.paths) {
    const ofPeople = /^\/api\/(?:teams|users|oauth-apps)/.test(path);
    const { status, body, text } = await app.call<Json>('GET', path, undefined, ofPeople ? headers : {});
    if (status !== 200) throw new Error(`GET ${path} is answered ${status} ${text}`);
    answers[path] = body;
  }
  return answers;
};
