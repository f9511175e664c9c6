/**
 * Texts of strangers in every column, label and toast of the pages of resources are texts; a role finds no button for
 * what it may not do; and the page of the API reference has no fault of accessibility.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import t from 'tap';
import { firstTeam } from '../../src/commands/core/caller.js';
import { permissionsOfRole, type Role } from '../../src/domain/access/permissions.js';
import { assertDefined } from '../../src/domain/core/ids.js';
import { addMember, PASSWORD, signedIn } from '../support/people.js';
import { insidePaths } from './addresses.js';
import { openDashboard, PHONE, picture, violationsOf, WIDE, withoutChromium } from './browser.js';

t.setTimeout(600_000);

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Each would run where it is taken for a part of the page. */
const corpus = [
  '<img src=x onerror=window.hacked=1>',
  '"><svg onload=window.hacked=1>',
  "';window.hacked=1;//",
  '</script><script>window.hacked=1</script>',
  '{{constructor.constructor("window.hacked=1")()}}',
  '${window.hacked=1}',
  'javascript:window.hacked=1',
  '<iframe srcdoc="<script>parent.hacked=1</script>">',
  '<a href=javascript:window.hacked=1>x</a>',
  '\u202e<b>reversed\u202d',
  '__proto__',
] as const;

const open = (page: Page, path: string): Promise<void> =>
  page.evaluate(`window.history.pushState(null, '', '/app${path}')`);

const settled = async (page: Page): Promise<void> => {
  const main = page.locator('main#page');
  await main.locator('h1').first().waitFor();
  await main
    .getByRole('progressbar', { name: /^Loading/ })
    .first()
    .waitFor({ state: 'detached' });
};

/** Acts of the pages with the permission that each declares, by the file that declares it. */
const declaredActs = (): readonly Readonly<{ label: string; needs: string; path: string }>[] => {
  const registry = readFileSync(join(root, 'dashboard/src/pages/registry.tsx'), 'utf8');
  return [...registry.matchAll(/path: '([\w-]+)'[^}]*?import\('\.\/([\w/-]+)'\)/g)].flatMap(
    ([, path = '', file = '']) => {
      const source = readFileSync(join(root, `dashboard/src/pages/${file}.tsx`), 'utf8');
      const own = [...source.matchAll(/label: '([^']+)',\s*(?:look: '\w+',\s*)?needs: '([\w:-]+)'/g)];
      return own.map(([, label = '', needs = '']) => ({ label, needs, path }));
    },
  );
};

void t.test('texts of strangers, and roles', { skip: withoutChromium }, async (t) => {
  const { app, url, visit, signIn } = await openDashboard(t);
  const teamId = assertDefined(await firstTeam(app.engine), 'first team');
  const owner = await signedIn(app.engine, { email: 'olga@example.com', name: corpus[0], role: 'owner', teamId });
  await app.whenCaughtUp();
  const paths = new Set<string>();
  /** Makes a thing with a hostile text, if the service takes such a text for it. */
  const make = async (method: 'POST' | 'PATCH', path: string, body: object, place?: string): Promise<boolean> => {
    const answer = await app.call(method, path, body, owner.headers);
    if (answer.status >= 300) return false;
    const id = answer.body['id'] ?? answer.body['batchId'];
    if (place !== undefined && typeof id === 'string') paths.add(`/${place}/${id}`);
    return true;
  };
  let taken = 0;
  for (const [n, text] of corpus.entries()) {
    const to = [{ email: `success+${n}@simulator.sealpost`, name: text }];
    const content = { subject: text, html: `<p>${text}</p>` };
    const variables = { [text]: text, text };
    const made = await Promise.all([
      make('POST', '/api/api-keys', { name: text, permissions: ['emails:read'] }, 'api-keys'),
      make(
        'POST',
        '/api/emails/send',
        { content, to, variables, metadata: { note: text }, tags: ['hostile'] },
        'emails',
      ),
      make('POST', '/api/emails/send/bulk', { content, batchName: text, recipients: to }, 'batches'),
      make('POST', '/api/suppressions', { email: `"${n} <b>"@example.com`, reason: text, list: text }),
      make('POST', '/api/suppressions', { email: `a+${n}@example.com` }),
      make('POST', '/api/assets', { filename: `${text}.png`, content: PNG }, 'gallery'),
      make(
        'POST',
        '/api/oauth-apps',
        { name: text, redirectUris: ['https://a.example/'], scopes: ['emails:read'] },
        'apps',
      ),
      make(
        'POST',
        '/api/v1/webhook-subscriptions',
        { url: `https://hooks.example/?${encodeURI(text)}`, description: text, events: ['email.sent'] },
        'webhooks',
      ),
      make('POST', '/api/domains', { domain: `x${n}.example` }, 'domains'),
      make('POST', `/api/teams/${teamId}/invitations`, { email: `i${n}@example.com`, role: 'viewer' }),
      make(
        'POST',
        '/api/templates',
        { slug: `t-${n}`, name: text, subject: text, description: text, schema: SCHEMA },
        'templates',
      ),
    ]);
    taken += made.filter(Boolean).length;
    const somebody = await signedIn(app.engine, { email: `m${n}@example.com`, name: text });
    await addMember(app.engine, teamId, somebody.userId, 'member');
  }
  t.ok(taken > 8 * corpus.length, `${taken} things have a hostile text`);
  await make('PATCH', `/api/teams/${teamId}`, { name: corpus[3], company: { city: corpus[1], name: corpus[0] } });
  await app.whenCaughtUp();
  const email = assertDefined(
    [...paths].find((path) => path.startsWith('/emails/')),
    'an email',
  );
  const all = insidePaths({ '/emails/$id': email, '/recipients/$address': '/recipients/success+0@simulator.sealpost' });

  await t.test('no text runs, loads or widens a page', async (t) => {
    await visit(t, { expected: /status of 404/ }, async (page) => {
      await signIn(page, '/app/account');
      for (const path of [...all, ...paths]) {
        await open(page, path);
        await settled(page);
        t.equal(await page.evaluate('window.hacked'), undefined, path);
      }
      for (const path of all) {
        await page.setViewportSize(PHONE);
        await open(page, path);
        await settled(page);
        t.ok(await page.evaluate('document.documentElement.scrollWidth <= 360'), `${path} fits a phone`);
      }
      await page.setViewportSize(WIDE);
      await open(page, '/members');
      await settled(page);
      await picture(page, 'hostile-members');
      // The sentence after an act names the thing.
      await open(page, '/suppressions');
      await page.getByRole('button', { name: /^Remove: a\+0@/ }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
      await page.getByRole('status').first().waitFor();
      await open(page, '/members');
      await page.getByRole('button', { name: `Remove: ${corpus[1]}` }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
      await page.getByRole('status').getByText(corpus[1]).waitFor();
      t.equal(await page.evaluate('window.hacked'), undefined);
    });
  });

  const acts = declaredActs();
  const seen = new Set<string>();
  for (const role of ['owner', 'admin', 'member', 'viewer'] as const satisfies readonly Role[])
    await t.test(`buttons of a role: ${role}`, async (t) => {
      const email = `role-${role}@example.com`;
      await signedIn(app.engine, { email, name: role, role, teamId });
      await app.whenCaughtUp();
      await visit(t, {}, async (page) => {
        await page.goto(`${url}/app/account`);
        await page.getByLabel('Email address').fill(email);
        await page.getByLabel('Password').fill(PASSWORD);
        await page.getByRole('button', { name: 'Sign in' }).click();
        await page.getByRole('heading', { level: 1, name: 'Your account' }).waitFor();
        const held: readonly string[] = permissionsOfRole[role];
        const visited = new Set(acts.map(({ path }) => path));
        for (const first of visited) {
          const one = [...paths].find((path) => path.startsWith(`/${first}/`));
          for (const path of [`/${first}`, ...(one === undefined ? [] : [one])]) {
            await open(page, path);
            await settled(page);
            const names = await page
              .locator('main#page')
              .locator('button, a')
              .evaluateAll((elements) =>
                elements.map((element) => {
                  const { ariaLabel, innerText } = element as unknown as {
                    ariaLabel: string | null;
                    innerText: string;
                  };
                  return (ariaLabel ?? innerText).trim();
                }),
              );
            for (const { label, needs } of acts.filter((act) => act.path === first)) {
              const isShown = names.some((name) => name === label || name.startsWith(`${label}: `));
              if (isShown) seen.add(`${first} ${label}`);
              if (!held.includes(needs)) t.notOk(isShown, `${path}: ${label} needs ${needs}`);
            }
          }
        }
      });
      if (role === 'owner') t.ok(seen.size >= acts.length / 2, `an owner sees ${seen.size} of ${acts.length} acts`);
    });

  await t.test('the page of the API reference', async (t) => {
    await visit(t, {}, async (page) => {
      await page.goto(`${url}/docs`);
      // The reader resolves the whole description before it draws.
      await page.locator('.opblock-post button').first().click({ timeout: 60_000 });
      await page.locator('.opblock select').first().waitFor();
      t.same(await violationsOf(page), []);
    });
  });
});

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

const SCHEMA = {
  sections: [{ id: 'm', type: 'main', components: [{ id: 't', type: 'rich-text', content: '<p>Hello</p>' }] }],
};
