/** Signing in and out in the dashboard, the theme, teams, and what its pages say where somebody may see nothing. */
import t from 'tap';
import { codeAt } from '../support/people.js';
import { openDashboard, OWNER, picture, violationsEverywhere, withoutChromium } from './browser.js';

t.setTimeout(300_000);

void t.test('signing in', { skip: withoutChromium }, async (t) => {
  const { visit, signIn, url, app } = await openDashboard(t);

  await t.test('a wrong password is told, the right one leads to the address that was asked for', async (t) => {
    await visit(t, { expected: /status of 401/ }, async (page) => {
      await page.goto(`${url}/app/emails?status=failed&tag=a+b`);
      await page.waitForURL(/\/app\/sign-in\?returnTo=/);
      await page.getByLabel('Email address').fill(OWNER.email);
      await page.getByLabel('Password').fill('not the password');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('alert').getByText('address or the password is wrong', { exact: false }).waitFor();
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'sign-in');
      await page.getByLabel('Password').fill(OWNER.password);
      await page.getByLabel('Password').press('Enter');
      await page.getByRole('heading', { name: 'Emails' }).waitFor();
      t.equal(page.url(), `${url}/app/emails?status=failed&tag=a+b`);
      t.equal(await page.getByRole('searchbox').inputValue(), 'status:failed tag:"a b"');
    });
  });

  await t.test('an address of another site is no place to return to', async (t) => {
    for (const returnTo of ['https://evil.example/', '//evil.example/', '/\\evil.example', 'javascript:alert(1)']) {
      await visit(t, {}, async (page) => {
        await signIn(page, `/app/sign-in?returnTo=${encodeURIComponent(returnTo)}`);
        await page.waitForURL(`${url}/app/`);
      });
    }
  });

  await t.test('the theme stays, and a sign-out ends the session', async (t) => {
    await visit(t, { expected: /status of 401/ }, async (page) => {
      await signIn(page);
      const account = page.getByRole('button', { name: `Account of ${OWNER.name}` });
      await account.click();
      await page.getByRole('menuitemradio', { name: 'Dark' }).click();
      t.equal(await page.evaluate('getComputedStyle(document.body).backgroundColor'), 'rgb(23, 24, 27)');
      await page.reload();
      await account.waitFor();
      t.equal(await page.evaluate('getComputedStyle(document.body).backgroundColor'), 'rgb(23, 24, 27)');
      await page.goto(`${url}/app/webhooks/new`);
      await page.getByLabel('URL').fill('https://hooks.example/of-ada');
      const forms = `Object.values(sessionStorage).filter((value) => value.includes('of-ada')).length`;
      t.equal(await page.evaluate(forms), 1);
      await account.click();
      await page.getByRole('menuitem', { name: 'Sign out' }).click();
      await page.getByRole('button', { name: 'Sign in' }).waitFor();
      t.equal((await page.context().cookies()).length, 0);
      t.equal(await page.evaluate(forms), 0, 'a form that was begun does not stay in the tab');
      await page.goto(`${url}/app/emails`);
      await page.getByRole('button', { name: 'Sign in' }).waitFor();
    });
  });

  await t.test('a sign-out in one tab leads the others to the sign-in', async (t) => {
    await visit(t, { expected: /status of 401/ }, async (page) => {
      await signIn(page);
      const other = await page.context().newPage();
      await other.goto(`${url}/app/emails`);
      await other.getByRole('heading', { name: 'Emails' }).waitFor();
      await page.getByRole('button', { name: /^Account of/ }).click();
      await page.getByRole('menuitem', { name: 'Sign out' }).click();
      await page.getByRole('button', { name: 'Sign in' }).waitFor();
      await other.getByRole('link', { name: /^Failed/ }).click();
      await other.waitForURL(/\/app\/sign-in/);
    });
  });

  await t.test('a session that ended elsewhere leads to the sign-in and back', async (t) => {
    await visit(t, { expected: /status of 401/ }, async (page) => {
      await signIn(page, '/app/emails?status=sent');
      await page.getByText('Live', { exact: true }).waitFor();
      const { body } = await app.call<{ accessToken: string }>('POST', '/api/auth/login', OWNER_LOGIN);
      await app.call('DELETE', '/api/users/me/sessions', undefined, { authorization: `Bearer ${body.accessToken}` });
      // The stream of changes ends, and nothing needs a click.
      await page.waitForURL(/\/app\/sign-in\?returnTo=/);
      await page.getByLabel('Email address').fill(OWNER.email);
      await page.getByLabel('Password').fill(OWNER.password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.waitForURL(`${url}/app/emails?status=sent`);
    });
  });

  await t.test('a second factor is asked for after the password', async (t) => {
    const { body } = await app.call<{ accessToken: string }>('POST', '/api/auth/login', OWNER_LOGIN);
    const headers = { authorization: `Bearer ${body.accessToken}` };
    const { password } = OWNER;
    const prepared = await app.call<{ secret: string }>('POST', '/api/auth/totp/prepare', { password }, headers);
    const { secret } = prepared.body;
    const before = Date.now() - 30_000;
    t.equal((await app.call('POST', '/api/auth/totp/confirm', { code: codeAt(secret, before) }, headers)).status, 200);
    await visit(t, { expected: /status of 401/ }, async (page) => {
      await page.goto(`${url}/app/emails`);
      await page.getByLabel('Email address').fill(OWNER.email);
      await page.getByLabel('Password').fill(password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByLabel('Code of your second factor').fill(codeAt(secret, Date.now()));
      await picture(page, 'sign-in-code');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { name: 'Emails' }).waitFor();
    });
  });
});

const OWNER_LOGIN = { email: OWNER.email, password: OWNER.password };
