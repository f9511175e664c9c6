/**
 * Pictures of every page of the dashboard, light and dark, on a wide screen and on a phone, in the folder that
 * SEALPOST_TEST_PICTURES names: `npm run pictures`.
 */
import { mkdirSync } from 'node:fs';
import t from 'tap';
import { firstTeam } from '../../src/commands/core/caller.js';
import { assertDefined } from '../../src/domain/core/ids.js';
import { signedIn } from '../support/people.js';
import { eventually } from '../support/wait.js';
import { insidePaths } from './addresses.js';
import { openDashboard, PHONE, picture, WIDE } from './browser.js';

t.setTimeout(900_000);

const folder = (process.env['SEALPOST_TEST_PICTURES'] ??= 'build/pictures');

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mP8z8Dwn4GIwDiqkL4KAcT9BAHdoWy1AAAAAElFTkSuQmCC';

/** Pages of things that no address of the registry shows, and forms. */
const FORMS = [
  ...['/api-keys/new', '/webhooks/new', '/domains/new', '/batches/new', '/members/new', '/templates/emails/import'],
  '/no-such-page',
];

void t.test('pictures of every page', async (t) => {
  mkdirSync(folder, { recursive: true });
  const { app, visit, signIn } = await openDashboard(t);
  const teamId = assertDefined(await firstTeam(app.engine), 'first team');
  const owner = await signedIn(app.engine, { email: 'olga@shop.example', name: 'Olga Owner', role: 'owner', teamId });
  await signedIn(app.engine, { email: 'kim@shop.example', name: 'Kim Example', role: 'member', teamId });
  await app.whenCaughtUp();
  const things: string[] = [];
  const make = async (path: string, body: object, place?: string): Promise<string> => {
    const { status, text, body: made } = await app.call('POST', path, body, owner.headers);
    if (status >= 300) throw new Error(`${path}: ${text}`);
    const id = String(made['id'] ?? made['batchId']);
    if (place !== undefined) things.push(`/${place}/${id}`);
    return id;
  };
  await make('/api/domains', { domain: 'mail.shop.example' }, 'domains');
  await make('/api/suppressions', { email: 'gone@example.com' });
  await make('/api/suppressions', { email: 'no-news@example.com', list: 'news' });
  await make('/api/assets', { filename: 'logo.png', content: PNG }, 'gallery');
  await make('/api/api-keys', { name: 'Shop', permissions: ['emails:send', 'emails:read'] }, 'api-keys');
  await make(
    '/api/oauth-apps',
    { name: 'Reports', redirectUris: ['https://reports.example.com/callback'], scopes: ['emails:read'] },
    'apps',
  );
  await make(
    '/api/v1/webhook-subscriptions',
    { url: 'https://hooks.shop.example/mails', description: 'The shop', events: ['email.delivered'] },
    'webhooks',
  );
  await make(`/api/teams/${teamId}/invitations`, { email: 'new@shop.example', role: 'member' });
  const recipients = ['ada', 'kim', 'lin', 'noa'].map((name) => ({ email: `success+${name}@simulator.sealpost` }));
  const letter = { subject: 'Our autumn letter', html: '<h1>Autumn</h1><p>What is new in the shop.</p>' };
  await make('/api/emails/send/bulk', { content: letter, batchName: 'Autumn letter', recipients }, 'batches');
  const subjects = ['Your order 4711 left', 'Invoice 2026-118', 'Confirm your address', 'Your password was changed'];
  let email = '';
  for (const [n, subject] of subjects.entries())
    email = await make('/api/emails/send', {
      content: { subject, html: `<h1>${subject}</h1><p>Hello <a href="https://shop.example/">shop</a></p>` },
      to: [
        { email: `${['success', 'bounce', 'complaint', 'success'][n]}+${n}@simulator.sealpost`, name: 'Kim Example' },
      ],
      tags: ['shop'],
    });
  await make(
    '/api/approvals',
    {
      content: {
        subject: 'Your order 4711 will be late',
        html: '<h1>Your order will be late</h1><p>Hello {{name}}, our carrier has lost your parcel. A new one leaves today, and costs you nothing.</p><p><a href="https://shop.example/">The shop</a></p>',
      },
      to: [{ email: 'success+kim@simulator.sealpost', name: 'Kim Example' }],
      cc: [{ email: 'success+desk@simulator.sealpost' }],
      variables: { name: 'Kim' },
    },
    'approvals',
  );
  await eventually('all is sent', async () => {
    const { body } = await app.call<{ counts: Record<string, number> }>('GET', '/api/emails/counts');
    return (body.counts['queued'] ?? 0) + (body.counts['processing'] ?? 0) === 0 ? true : undefined;
  });
  const templates = await app.call<{ data: readonly { id: string }[] }>('GET', '/api/templates?limit=1');
  const template = templates.body.data[0]?.id;
  const paths = [
    ...insidePaths({
      '/emails/$id': `/emails/${email}`,
      '/recipients/$address': '/recipients/success+0@simulator.sealpost',
    }),
    ...things,
    ...FORMS,
    ...(template === undefined ? [] : [`/templates/emails/${template}`]),
  ];
  for (const colorScheme of ['light', 'dark'] as const)
    await t.test(colorScheme, async (t) => {
      await visit(t, { colorScheme, expected: /status of 40\d/ }, async (page) => {
        await signIn(page, '/app/account');
        for (const path of paths) {
          await page.evaluate(`window.history.pushState(null, '', '/app${path}')`);
          await page.locator('main#page').locator('h1').first().waitFor();
          for (const [name, viewport] of [
            ['wide', WIDE],
            ['phone', PHONE],
          ] as const) {
            await page.setViewportSize(viewport);
            await page
              .getByRole('progressbar', { name: /^Loading/ })
              .first()
              .waitFor({ state: 'detached' });
            await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
            const steps = path.slice(1).split('/');
            const short =
              path === '/' ? 'overview' : steps.map((step) => (/[0-9@]/.test(step) ? 'one' : step)).join('-');
            await picture(page, `${short}-${colorScheme}-${name}`);
          }
        }
      });
    });
});
