/** Every page of the registry in a browser: without faults of accessibility, and by roles that may see it. */
import t from 'tap';
import { firstTeam } from '../../src/commands/core/caller.js';
import { permissionsOfRole, type Role } from '../../src/domain/access/permissions.js';
import { assertDefined } from '../../src/domain/core/ids.js';
import { PASSWORD, signedIn } from '../support/people.js';
import { openDashboard, PHONE, picture, violationsEverywhere, WIDE, withoutChromium } from './browser.js';

t.setTimeout(600_000);

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

/** The path of each page, its name in the navigation, and the permission that leads there. */
const entries = [
  ['templates', 'Templates', 'templates:read'],
  ['batches', 'Bulk sends', 'emails:read'],
  ['approvals', 'Approvals', 'emails:read'],
  ['domains', 'Sender domains', 'domains:manage'],
  ['suppressions', 'Suppressions', 'suppressions:manage'],
  ['gallery', 'Assets', 'templates:read'],
  ['api-keys', 'API keys', 'api-keys:manage'],
  ['api-calls', 'API calls', 'api-keys:manage'],
  ['webhooks', 'Webhooks', 'webhooks:manage'],
  ['apps', 'Apps', 'oauth-apps:manage'],
  ['members', 'Members', 'team:read'],
  ['usage', 'Usage', 'analytics:read'],
  ['audit', 'Audit log', 'audit:read'],
  ['settings', 'Settings', 'team:read'],
] as const;

void t.test('the pages of the registry', { skip: withoutChromium }, async (t) => {
  const { app, url, visit, signIn } = await openDashboard(t);
  const teamId = assertDefined(await firstTeam(app.engine), 'first team');
  const owner = await signedIn(app.engine, { email: 'olga@example.com', name: 'Olga', role: 'owner', teamId });
  await app.whenCaughtUp();
  const as = async (
    method: 'POST' | 'PATCH',
    path: string,
    body?: unknown,
  ): Promise<Readonly<Record<string, unknown>>> => {
    const answer = await app.call(method, path, body, owner.headers);
    t.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
    return answer.body;
  };
  const domain = await as('POST', '/api/domains', { domain: 'mail.shop.example' });
  await as('POST', '/api/suppressions', { email: 'gone@example.com' });
  await as('POST', '/api/suppressions', { email: 'no-news@example.com', list: 'news' });
  const asset = await as('POST', '/api/assets', { filename: 'a very long name of a picture <b>.png', content: PNG });
  const oauthApp = await as('POST', '/api/oauth-apps', {
    name: 'Reports',
    redirectUris: ['https://reports.example.com/callback'],
    scopes: ['emails:read'],
  });
  await as('POST', `/api/teams/${teamId}/invitations`, { email: 'new@example.com', role: 'member' });
  await as('POST', '/api/api-keys', { name: 'x'.repeat(200), permissions: ['emails:read'] });
  const batch = await as('POST', '/api/emails/send/bulk', {
    templateId: 'sign-in-code',
    batchName: 'Codes of Monday',
    baseVariables: { code: '482913', firstName: 'Ada', minutesValid: 10 },
    recipients: [{ email: 'ada@example.com' }, { email: 'kim@example.com' }],
  });
  await app.whenCaughtUp();

  const shown = async (paths: readonly (readonly [path: string, heading: RegExp])[]): Promise<void> => {
    for (const [path, heading] of paths)
      await t.test(path, async (t) => {
        await visit(t, {}, async (page) => {
          await signIn(page, `/app/${path}`);
          await page.getByRole('heading', { level: 1, name: heading }).waitFor();
          await page
            .getByRole('progressbar', { name: /^Loading/ })
            .first()
            .waitFor({ state: 'detached' });
          const name = path.replace(/[^a-z]+/g, '-').slice(0, 20);
          t.same(await violationsEverywhere(page), []);
          await picture(page, `page-${name}`);
          await page.setViewportSize(PHONE);
          t.ok(
            await page.evaluate('document.getElementById("page").scrollWidth <= 360'),
            'nothing is cut off on a phone',
          );
          await picture(page, `page-${name}-phone`);
          await page.setViewportSize(WIDE);
          t.not(await page.title(), 'sealpost');
        });
      });
  };
  await shown([
    ...entries.map(
      ([path, name]) => [path, new RegExp(path === 'templates' ? '^Email templates' : `^${name}`)] as const,
    ),
    ['account', /Your account/],
    [`domains/${String(domain['id'])}`, /mail\.shop\.example/],
    ['domains/new', /Add a domain/],
    ['suppressions/new', /Suppress an address/],
    [`gallery/${String(asset['id'])}`, /picture/],
    ['gallery/new', /Upload a file/],
    [`apps/${String(oauthApp['id'])}`, /Reports/],
    [`apps/${String(oauthApp['id'])}/edit`, /Change Reports/],
    ['members/new', /Invite somebody/],
    [`batches/${String(batch['batchId'])}`, /Codes of Monday/],
    ['no-such-page', /no such page/],
  ]);

  for (const role of ['admin', 'member', 'viewer'] as const satisfies readonly Role[])
    await t.test(`the navigation of a role: ${role}`, async (t) => {
      await signedIn(app.engine, { email: `${role}@example.com`, name: role, role, teamId });
      await app.whenCaughtUp();
      await visit(t, {}, async (page) => {
        await page.goto(`${url}/app/account`);
        await page.getByLabel('Email address').fill(`${role}@example.com`);
        await page.getByLabel('Password').fill(PASSWORD);
        await page.getByRole('button', { name: 'Sign in' }).click();
        await page.getByRole('heading', { level: 1, name: 'Your account' }).waitFor();
        const navigation = page.getByRole('navigation', { name: 'Pages' });
        for (const [path, name, needs] of entries) {
          const may = (permissionsOfRole[role] as readonly string[]).includes(needs);
          t.equal(await navigation.getByRole('link', { name, exact: true }).count(), may ? 1 : 0, `${role}: ${path}`);
        }
        await navigation.getByRole('link', { name: 'Members' }).click();
        await page.getByRole('row', { name: /olga@example/ }).waitFor();
        const invites = (permissionsOfRole[role] as readonly string[]).includes('members:manage');
        t.equal(await page.getByRole('link', { name: 'Invite somebody' }).count(), invites ? 1 : 0);
        t.equal(await page.getByRole('button', { name: 'Remove: Olga' }).count(), 0, 'nobody removes those above them');
      });
    });
});
