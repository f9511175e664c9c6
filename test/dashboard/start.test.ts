/** The first minutes: the link that the terminal prints signs in, and the first emails are a click away. */
import t from 'tap';
import { openDashboard, picture, violationsEverywhere, withoutChromium } from './browser.js';

t.setTimeout(300_000);

void t.test('the one-time link of a first start', { skip: withoutChromium }, async (t) => {
  const settings = { SEALPOST_TRUST_PROXY: 'false' };
  const { app, url, visit } = await openDashboard(t, { settings, hasOwner: false });
  let token = '';
  await app.showFirstLink((given) => {
    token = given;
  });

  await t.test('signs in, and a password is chosen', async (t) => {
    await visit(t, { expected: /status of 400/ }, async (page) => {
      await page.goto(`${url}/app/start#${token}`);
      await page.getByRole('heading', { name: 'Welcome to sealpost' }).waitFor();
      t.equal(page.url(), `${url}/app/start`, 'the token is out of the address');
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'start');
      await page.reload();
      await page.getByRole('heading', { name: 'Welcome to sealpost' }).waitFor();
      await page.getByLabel('Your name').fill('Ada Example');
      await page.getByLabel('New password').fill('password1234');
      await page.getByRole('button', { name: 'Save and go on' }).click();
      await page.getByRole('alert').waitFor();
      await page.getByLabel('New password').fill('a pelican in the rain');
      await page.getByRole('button', { name: 'Save and go on' }).click();
      await page.getByRole('heading', { name: 'Emails', exact: true }).waitFor();
      await page.getByRole('button', { name: 'Account of Ada Example' }).waitFor();
      await page.goto(`${url}/app/start`);
      await page.getByRole('heading', { name: 'Emails', exact: true }).waitFor();
    });
    const credentials = { email: 'owner@sealpost.localhost', password: 'a pelican in the rain' };
    t.equal((await app.call('POST', '/api/auth/login', credentials)).status, 200);
  });

  await t.test('a link that was used, or is not whole, says what to do', async (t) => {
    await visit(t, { expected: /status of 40\d/ }, async (page) => {
      for (const path of [`/app/start#${token}`, '/app/start']) {
        await page.goto('about:blank');
        await page.goto(`${url}${path}`);
        await page.getByRole('heading', { name: 'This link does not sign you in' }).waitFor();
      }
      t.same(await violationsEverywhere(page), []);
      await page.getByRole('link', { name: 'Sign in with a password' }).click();
      await page.waitForURL(`${url}/app/sign-in`);
    });
  });
});
