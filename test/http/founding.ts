/**
 * Makes the world in which the HTTP server is tested, by real commands: two teams, people in every role, keys, apps, and
 * one of each thing.
 */
import { createHash } from 'node:crypto';
import type { Resource } from '../../src/domain/apps/authorization.js';
import { makeCommands, openOAuth } from '../../src/commands/index.js';
import { systemCaller } from '../../src/commands/core/caller.js';
import { changeUser } from '../../src/commands/access/users.js';
import { foundTeam } from '../../src/commands/teams/teams.js';
import { permissions, roles, scopes, type Role, type Scope } from '../../src/domain/access/permissions.js';
import { handle } from '../../src/commands/core/handle.js';
import {
  NO_TEAM,
  assertDefined,
  emailStream,
  parseTeamId,
  type AssetId,
  type BatchId,
  type EmailId,
  type SenderDomainId,
  type StreamName,
  type SuppressionId,
  type TeamId,
  type UserId,
  type WebhookId,
} from '../../src/domain/core/ids.js';
import { isoTime } from '../../src/domain/core/time.js';
import type { DomainEvent } from '../../src/domain/events.js';
import { exchange } from '../../src/http/apps/endpoints.js';
import { openAccountWorld } from '../support/account-world.js';
import { OTHER_TEAM, schemaSaying, TEAM, welcome } from '../support/command-world.js';
import { inLeaps } from '../support/fake-clock.js';
import { at, attempted, failed, T0 } from '../support/email-facts.js';
import { login } from '../../src/commands/people/sessions.js';
import { addMember, from, PASSWORD, quickPasswords, signedIn, type Person } from '../support/people.js';
import { countingIds } from '../support/memory-ports.js';
import { png } from '../support/pictures.js';

const counted = countingIds();
/** With letters, as most ids have them. */
const ids = { ...counted, uuid: () => counted.uuid().replace('00000000-0000', '0198fabc-de00') };
const world = await openAccountWorld({}, undefined, { ids, people: { passwords: quickPasswords } });
const { deps, clock, store, keys, files } = world;
const commands = makeCommands(deps);
const oauth = openOAuth(deps);
// All of it is an hour old when a test begins; who is signed in has just come.
clock.shift(-3_600_000);

const by = systemCaller(TEAM, 'cli', 'founding');
const byOthers = systemCaller(OTHER_TEAM, 'cli', 'founding');

/** The credential behind each name. */
const tokens = new Map<string, string>([['misshapen', 'sealpost']]);

/** `isCounted`: it has the rate limits of the contract. */
type KeyRequest = Partial<Parameters<typeof commands.createApiKey>[1]> & Readonly<{ isCounted?: true }>;
const makeKey = async (name: string, { isCounted, ...more }: KeyRequest = {}, caller = by) => {
  const { key, id } = await commands.createApiKey(caller, {
    name,
    permissions: [...permissions],
    ...(isCounted ? {} : { rateLimit: 10_000_000 }),
    ...more,
  });
  tokens.set(name, key);
  return id;
};

const fullId = await makeKey('full', { isCounted: true });
await makeKey('full@other', { isCounted: true }, byOthers);
const KEY_ID = fullId;
const UNLIMITED_KEY_ID = await makeKey('unlimited');
await makeKey('three', { rateLimit: 3 });
const BOUND_KEY_ID = await makeKey('bound', { networks: ['192.0.2.0/24', '2001:db8::/32'] });
await makeKey('expired', { expiresAt: at(-60) });
await commands.revokeApiKey(by, (await makeKey('revoked')) as never);
const OTHERS_KEY_ID = await makeKey('stranger', {}, byOthers);
for (const permission of permissions) await makeKey(`key=${permission}`, { permissions: [permission] });

const people = new Map<string, Person>();
const enter = async (name: string, role?: Role, teamId?: TeamId): Promise<UserId> => {
  const person = await signedIn(deps, {
    email: `${name.replaceAll(/[=@]/g, '.')}@example.com`,
    name,
    ...(role === undefined ? {} : { role }),
    ...(teamId === undefined ? {} : { teamId }),
  });
  people.set(name, person);
  tokens.set(name, person.accessToken);
  return person.userId;
};

// Access tokens of people hold for 15 minutes.
clock.shift(3_600_000);
for (const role of roles) {
  await enter(`role=${role}`, role, TEAM);
  await enter(`role=${role}@other`, role, OTHER_TEAM);
}
await enter('nobody');
const operator = await enter('operator');
const granted = { teamId: NO_TEAM, actor: 'cli', correlationId: 'cli', causationId: 'cli', at: isoTime(clock.now()) };
await changeUser(deps, operator, { type: 'GrantOperator', at: granted.at }, granted);
/** In both teams, with two sessions. */
const ada = await enter('ada', 'admin', TEAM);
await addMember(deps, OTHER_TEAM, ada, 'admin');
tokens.set('ada again', (await login(deps, { email: 'ada@example.com', password: PASSWORD }, from)).accessToken);
clock.shift(-3_600_000);

const personOf = (name: string): Person => assertDefined(people.get(name), name);
const OWNER = personOf('role=owner').userId;
const USER = personOf('role=viewer').userId;
const OTHERS_USER = personOf('role=viewer@other').userId;

const variables = [
  { name: 'x', type: 'number' as const, defaultValue: 0.5 },
  { name: 'seats', type: 'number' as const },
];
const saying = schemaSaying('é');
const template = { ...welcome, subject: 'Hi', variables, schema: saying };
const block = {
  name: 'Footer',
  schema: { components: [{ id: 'text', type: 'rich-text', content: 'Lisbon' }] },
  publish: true,
};
const paper = {
  slug: 'welcome',
  name: 'Invoice “A/7”',
  variables,
  schema: {
    outputFormats: ['pdf' as const, 'excel' as const],
    pages: [{ pageId: 'p', pageName: 'P', sections: saying.sections }],
  },
  publish: true,
};

const appendTo = async (stream: StreamName, events: readonly (DomainEvent & Readonly<{ data: { at: string } }>)[]) => {
  for (const event of events)
    await handle(
      deps.eventLog,
      stream,
      { decide: () => [event], evolve: () => undefined, initialState: undefined },
      null,
      {
        ...{ teamId: TEAM, actor: 'system', correlationId: 'founding', causationId: 'founding' },
        at: event.data.at,
      },
    );
};

/** One of each of a team; `gone` are deleted. */
const makeThings = async (caller: typeof by) => {
  const mail = { templateId: 'welcome', to: [{ email: 'jane@example.com' }], variables: {} };
  const send = async (more: object = {}): Promise<EmailId> =>
    (await commands.sendEmail(caller, { ...mail, ...more })).body.id as EmailId;
  const hook = { url: 'https://example.com/hooks', events: ['email.sent' as const] };
  const madeTemplate = async (slug: string) => ({
    template: await commands.createTemplate(caller, { ...template, slug }),
    paper: await commands.createAttachmentTemplate(caller, { ...paper, slug }),
    block: await commands.createBlock(caller, { ...block, slug }),
    asset: (await commands.uploadAsset(caller, { filename: 'logo Zoë.png', bytes: png }, nothingStored)).id as AssetId,
    webhook: (await commands.createWebhook(caller, hook, 0)).id as WebhookId,
    domain: (await commands.addDomain(caller, { domain: `${slug}.example.com` })).id as SenderDomainId,
  });
  const own = await madeTemplate('welcome');
  const gone = await madeTemplate('gone');
  await commands.deleteTemplate(caller, gone.template.id);
  await commands.deleteAttachmentTemplate(caller, gone.paper.id);
  await commands.deleteBlock(caller, gone.block.id);
  await commands.deleteAsset(caller, gone.asset);
  await commands.deleteWebhook(caller, gone.webhook);
  await commands.deleteDomain(caller, gone.domain);
  const email = await send({ subject: 'Zoë’s "order" </script>', variables: { nested: [1, { deep: null }] } });
  await appendTo(emailStream(email), [attempted(1, at(-3_590)), failed('refused', 1, at(-3_580), [0, 'refused'])]);
  const recipients = [{ email: 'jane@example.com', variables: {} }];
  return {
    ...own,
    gone,
    email,
    scheduled: await send({ scheduledAt: at(86_400) }),
    batch: (await commands.sendBulk(caller, { templateId: 'welcome', recipients })).body.batchId as BatchId,
    approval: (await commands.requestApproval(caller, { ...mail, attachments: [note] }, { open: async () => 0 })).body,
    suppression: (await commands.addSuppression(caller, { email: 'gone@example.com' })).id as SuppressionId,
    app: (await commands.createOAuthApp(caller, appRequest)).id,
    erasure: (await inLeaps(clock, commands.eraseAddress(caller, { email: 'erased@example.com' }))).id,
    invitation: (await commands.inviteMember(caller, { email: 'nobody@example.com', role: 'member' })).id,
  };
};

const note = { filename: 'note.txt', contentType: 'text/plain', content: Buffer.from('note').toString('base64') };
const nothingStored = { count: 0, sizeBytes: 0 };
const REDIRECT = 'https://shop.example.com/callback';
const appRequest = { name: 'Shop', redirectUris: [REDIRECT], scopes: [...scopes] };

const ownerOf = (name: string, teamId: TeamId) => ({
  ...systemCaller(teamId, `user:${personOf(name).userId}`, 'founding'),
  user: { id: personOf(name).userId },
});
await commands.updateTeam(ownerOf('role=owner', TEAM), { company: { name: 'Ann & Söhne <AG>' } });
const own = await makeThings(ownerOf('role=owner', TEAM));
const others = await makeThings(ownerOf('role=owner@other', OTHER_TEAM));
const { token: INVITATION_TOKEN = '', messageId: INVITATION_MESSAGE_ID = '' } =
  (await world.mails()).findLast(({ page }) => page === 'invitation') ?? {};

/** The team of the owner that is deleted, and can be restored. */
const DELETED_TEAM = assertDefined(parseTeamId(deps.ids.uuid()), 'team id');
await foundTeam(
  deps,
  DELETED_TEAM,
  { name: 'Deleted', owner: OWNER, billing: 'unmetered', from: { email: 'shop@example.com' } },
  { teamId: DELETED_TEAM, actor: 'cli', correlationId: 'founding', causationId: 'founding', at: at(-3_600) },
);
await commands.deleteTeam(ownerOf('role=owner', DELETED_TEAM));
clock.shift(Date.parse(T0) - clock.now());

/** The access token that an app gets for a code, or for itself. */
const tokenOfApp = async (form: Readonly<Record<string, string>>): Promise<string> => {
  const { body } = await exchange({ oauth }, { requestId: 'founding', form, authorization: undefined });
  return String(body['access_token']);
};
const verifier = 'v'.repeat(43);
const challenge = createHash('sha256').update(verifier).digest('base64url');
const { id: publicApp } = await commands.createOAuthApp(by, { ...appRequest, kind: 'public' });
const known = assertDefined(await oauth.openOAuthApp(publicApp), 'app');
const grant = async (name: string, person: string, granted: readonly Scope[], resource?: Resource): Promise<void> => {
  const consent = {
    app: known,
    scopes: granted,
    ...(resource === undefined ? {} : { resource }),
    redirectUri: REDIRECT,
    challenge,
  };
  const code = await oauth.giveConsent(ownerOf(person, TEAM), consent);
  const form = { grant_type: 'authorization_code', redirect_uri: REDIRECT, code_verifier: verifier };
  tokens.set(name, await tokenOfApp({ ...form, client_id: publicApp, code }));
};
for (const scope of scopes) await grant(`scope=${scope}`, 'role=owner', [scope]);
const OAUTH_GRANT =
  store.events.findLast(({ type }) => type.startsWith('OAuthGrantGiven'))?.stream.replace(/^[^-]*-/, '') ?? '';
await grant('granted', 'ada', scopes);
await grant('granted by admin', 'role=admin', scopes);
await grant('granted for mcp', 'role=owner', scopes, 'mcp');
for (const [name, caller] of [
  ['own', by],
  ['own@other', byOthers],
] as const) {
  const { id, clientSecret } = await commands.createOAuthApp(caller, appRequest);
  const form = { grant_type: 'client_credentials', scope: scopes.join(' '), client_id: id };
  for (const which of [name, `${name} again`])
    tokens.set(which, await tokenOfApp({ ...form, client_secret: String(clientSecret) }));
}

/** The audit log tells of it. */
const AUDIT_ENTRY = store.events.find(({ stream }) => stream === `apiKey-${fullId}`)?.eventId ?? '';

const kept = {
  events: [...store.events],
  keyIds: keys.ids(),
  files: new Map(files.stored),
};
// It belongs to no team of a copy.
await makeKey('unknown');

/** Plain values only: they are written down. */
export const founded = {
  ...kept,
  tokens,
  ...{ KEY_ID, UNLIMITED_KEY_ID, BOUND_KEY_ID, OTHERS_KEY_ID, OWNER, USER, OTHERS_USER },
  sessions: new Map([...people].map(([name, { sessionId }]) => [name, sessionId])),
  ...{ own, others, INVITATION_TOKEN, INVITATION_MESSAGE_ID, DELETED_TEAM, OAUTH_GRANT, AUDIT_ENTRY },
};
