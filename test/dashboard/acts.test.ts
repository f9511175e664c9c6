/** Acts of the pages of the team and of the account: suppressions, roles, the team, the second factor, sessions. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { firstTeam } from '../../src/commands/core/caller.js';
import { assertDefined } from '../../src/domain/core/ids.js';
import { codeAt, signedIn } from '../support/people.js';
import { openDashboard, OWNER, picture, withoutChromium } from './browser.js';

t.setTimeout(300_000);

void t.test('acts of the team and of the account', { skip: withoutChromium }, async (t) => {
  const { app, visit, signIn } = await openDashboard(t);
  const teamId = assertDefined(await firstTeam(app.engine), 'first team');
  const kim = await signedIn(app.engine, { email: 'kim@example.com', name: 'Kim', role: 'member', teamId });
  await app.whenCaughtUp();

  await t.test('addresses are suppressed, looked up, imported, exported and removed', async (t) => {
    await visit(t, { expected: /status of 400/ }, async (page) => {
      await signIn(page, '/app/suppressions');
      await page.getByRole('link', { name: 'Suppress an address' }).click();
      await page.getByRole('textbox', { name: 'Address' }).fill('no address');
      await page.getByRole('button', { name: 'Suppress an address' }).click();
      await page.getByRole('textbox', { name: 'Address' }).and(page.locator('[aria-invalid=true]')).waitFor();
      await page.getByRole('textbox', { name: 'Address' }).fill('gone@example.com');
      await page.getByRole('button', { name: 'Suppress an address' }).click();
      await page.getByRole('status').getByText('Nothing is sent to gone@example.com.').waitFor();

      await page.getByRole('button', { name: 'Import' }).click();
      await page
        .getByLabel('File')
        .setInputFiles({ name: 'a.csv', mimeType: 'text/csv', buffer: Buffer.from('email\nb@example.com\nnobody\n') });
      await page.getByRole('dialog').getByRole('button', { name: 'Import' }).click();
      await page.getByRole('status').getByText('2 rows: 1 added, 0 known, 1 invalid.').waitFor();

      const file = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Export' }).click();
      const text = readFileSync(await (await file).path(), 'utf8');
      t.match(text, /gone@example\.com/);
      t.match(text, /b@example\.com/);

      await page.getByRole('button', { name: 'Remove: gone@example.com' }).click();
      await page
        .getByRole('dialog', { name: /gone@example\.com/ })
        .getByRole('button', { name: 'Remove' })
        .click();
      await page.getByRole('row', { name: /gone@example\.com/ }).waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Look up' }).click();
      await page.getByRole('textbox', { name: 'Address' }).fill('gone@example.com');
      await page.getByRole('dialog').getByRole('button', { name: 'Look up' }).click();
      await page.getByRole('status').getByText('gone@example.com is not suppressed.').waitFor();
    });
  });

  await t.test('a member gets another role and is removed, and the team another name', async (t) => {
    await visit(t, {}, async (page) => {
      await signIn(page, '/app/members');
      await page.getByRole('button', { name: 'Change the role: Kim' }).click();
      await page.getByRole('combobox', { name: 'Role' }).selectOption('viewer');
      await page.getByRole('dialog').getByRole('button', { name: 'Change the role' }).click();
      await page.getByRole('status').getByText('Kim is viewer.').waitFor();
      t.equal((await app.call('GET', '/api/templates', undefined, kim.headers)).status, 403);
      await page.getByRole('button', { name: 'Remove: Kim' }).click();
      await page.getByRole('dialog', { name: 'Remove Kim?' }).getByRole('button', { name: 'Remove' }).click();
      await page.getByRole('row', { name: /Kim/ }).waitFor({ state: 'detached' });

      await page.getByRole('link', { name: 'Settings' }).click();
      await page.getByRole('button', { name: 'Change', exact: true }).click();
      await page.getByLabel('Name of the team').fill('The shop');
      await page.getByRole('dialog').getByRole('button', { name: 'Change' }).click();
      await page.getByRole('complementary').getByText('The shop').waitFor();
    });
  });

  await t.test('a second factor is set up, and another session ends', async (t) => {
    const { email, password } = OWNER;
    const other = await app.call<{ accessToken: string }>('POST', '/api/auth/login', { email, password });
    await visit(t, { expected: /status of 40[01]/ }, async (page) => {
      await signIn(page, '/app/account');
      await page.getByRole('button', { name: 'Set up a second factor' }).click();
      await page.getByLabel('Your password').fill('wrong');
      await page.getByRole('dialog').getByRole('button', { name: 'Set up a second factor' }).click();
      await page.getByRole('dialog').getByRole('alert').or(page.locator('[aria-invalid=true]')).first().waitFor();
      t.equal(await page.getByLabel('Your password').inputValue(), 'wrong', 'a refusal loses nothing');
      await picture(page, 'account-wrong');
      await page.getByLabel('Your password').fill(password);
      await page.getByRole('dialog').getByRole('button', { name: 'Set up a second factor' }).click();
      const setUp = page.getByRole('alertdialog', { name: 'Confirm the second factor' });
      await setUp.getByRole('img', { name: 'QR code of the secret' }).waitFor();
      await picture(page, 'account-factor');
      const secret = assertDefined((await setUp.locator('code').textContent()) ?? undefined, 'the secret');
      await setUp.getByLabel('Code of the app').fill(codeAt(secret, Date.now()));
      await setUp.getByRole('button', { name: 'Confirm' }).click();
      const codes = page.getByRole('alertdialog', { name: 'Keep your recovery codes' });
      t.ok(((await codes.locator('pre').textContent()) ?? '').split('\n').length >= 8);
      await codes.getByRole('button', { name: 'I have kept it' }).click();
      await page.getByText('Your password and a code of your app sign you in.').waitFor();

      await page.getByRole('button', { name: 'End all others' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'End all others' }).click();
      await page.getByRole('status').getByText('Your other sessions have ended.').waitFor();
      const headers = { authorization: `Bearer ${other.body.accessToken}` };
      t.equal((await app.call('GET', '/api/users/me', undefined, headers)).status, 401);
    });
  });
});
