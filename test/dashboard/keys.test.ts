/** API keys in the dashboard: made, shown once, changed, revoked; by those alone who may. */
import t from 'tap';
import { firstTeam } from '../../src/commands/core/caller.js';
import { assertDefined } from '../../src/domain/core/ids.js';
import { PASSWORD, signedIn } from '../support/people.js';
import { openDashboard, picture, violationsEverywhere, withoutChromium } from './browser.js';

t.setTimeout(300_000);

void t.test('API keys', { skip: withoutChromium }, async (t) => {
  const { app, url, visit, signIn } = await openDashboard(t);

  await t.test('a key is made, shown once, works, and is refused after it was revoked', async (t) => {
    await visit(t, { expected: /status of 400/ }, async (page) => {
      await signIn(page, '/app/api-keys');
      await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor();
      await page.getByRole('row', { name: /test/ }).waitFor();
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'keys-list');
      await page.getByRole('link', { name: 'Make an API key' }).click();
      await page.waitForURL(`${url}/app/api-keys/new`);

      await page.getByRole('button', { name: 'Make an API key' }).click();
      await page.getByText('Fill this in.').waitFor();
      t.equal(await page.evaluate('document.activeElement.name'), 'name', 'the first wrong field has the focus');

      await page.getByLabel('Name').fill('shop');
      await page.getByLabel('Networks').fill('192.0.2.0/24\nnot a network');
      await page.getByRole('button', { name: 'Make an API key' }).click();
      const networks = page.getByLabel('Networks');
      await networks.and(page.locator('[aria-invalid=true]')).waitFor();
      t.equal(await page.getByLabel('Name').inputValue(), 'shop', 'a refusal loses nothing');
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'keys-new-refused');

      await networks.fill('');
      await page.reload();
      t.equal(await page.getByLabel('Name').inputValue(), 'shop', 'neither does a reload');
      await page.getByRole('button', { name: 'Make an API key' }).click();
      const dialog = page.getByRole('alertdialog', { name: 'Copy the key' });
      const key = assertDefined((await dialog.locator('pre').textContent())?.trim(), 'the key');
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'keys-secret');
      await page.keyboard.press('Escape');
      await dialog.getByRole('button', { name: 'I have kept it' }).click();
      await page.waitForURL(/\/app\/api-keys\/key_/);
      await page.getByRole('heading', { name: 'shop' }).waitFor();
      t.notOk((await page.content()).includes(key), 'the key is shown once');
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'keys-one');
      const mails = { authorization: `Bearer ${key}` };
      t.equal((await app.call('GET', '/api/emails', undefined, mails)).status, 200);

      await page.getByRole('link', { name: 'Change' }).click();
      await page.getByLabel('Name').fill('shop, production');
      await page.getByRole('button', { name: 'Save' }).click();
      await page
        .getByRole('heading', { name: 'shop, production', exact: false })
        .and(page.locator('h1:not(:has-text("Change"))'))
        .waitFor();
      await page.getByRole('status').getByText('is changed').waitFor();

      await page.getByRole('button', { name: 'Revoke' }).click();
      const question = page.getByRole('dialog', { name: 'Revoke shop, production?' });
      await question.getByText('refused at once').waitFor();
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'keys-revoke');
      await question.getByRole('button', { name: 'Revoke' }).click();
      await page.getByRole('status').getByText('is revoked').waitFor();
      await page.getByRole('button', { name: 'Revoke' }).waitFor({ state: 'detached' });
      t.equal((await app.call('GET', '/api/emails', undefined, mails)).status, 401);
    });
  });

  await t.test('a member sees neither the entry nor the page, and the call is refused', async (t) => {
    const teamId = assertDefined(await firstTeam(app.engine), 'first team');
    const member = await signedIn(app.engine, { email: 'kim@example.com', name: 'Kim', role: 'member', teamId });
    await app.whenCaughtUp();
    await visit(t, {}, async (page) => {
      await page.goto(`${url}/app/api-keys`);
      await page.getByLabel('Email address').fill('kim@example.com');
      await page.getByLabel('Password').fill(PASSWORD);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('alert').getByText('You may not see this').waitFor();
      t.equal(await page.getByRole('link', { name: 'API keys' }).count(), 0);
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'keys-not-allowed');
    });
    t.equal((await app.call('GET', '/api/api-keys', undefined, member.headers)).status, 403);
    t.equal(
      (await app.call('POST', '/api/api-keys', { name: 'x', permissions: ['emails:read'] }, member.headers)).status,
      403,
    );
  });

  await t.test('an unknown key, and a service that fails, are told', async (t) => {
    await visit(t, { expected: /status of (404|500)/ }, async (page) => {
      await signIn(page, '/app/api-keys/key_00000000000000000000000000000000');
      await page.getByRole('alert').getByText('There is no such API key').waitFor();
      await page.route('**/api/api-keys?**', (route) =>
        route.fulfill({ status: 500, json: { code: 'INTERNAL', message: 'The disk is full.', requestId: 'r-1' } }),
      );
      await page.getByRole('link', { name: 'See all API keys' }).click();
      await page.getByRole('alert').getByText('The disk is full.').waitFor();
      await page.unroute('**/api/api-keys?**');
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByRole('row', { name: /test/ }).waitFor();
    });
  });
});
