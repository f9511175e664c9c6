/** Acts of the pages of the team and of the account: suppressions, roles, the team, the second factor, sessions. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { firstTeam } from '../../src/commands/core/caller.js';
import { makeSignInLink } from '../../src/commands/people/sign-in-links.js';
import { assertDefined, NO_TEAM } from '../../src/domain/core/ids.js';
import { isoTime } from '../../src/domain/core/time.js';
import { mailboxTokenOf } from '../../src/service/mailbox.js';
import { readConfig } from '../../src/service/settings/config.js';
import { codeAt, signedIn } from '../support/people.js';
import { eventually } from '../support/wait.js';
import { openDashboard, OWNER, picture, violationsEverywhere, withoutChromium } from './browser.js';

t.setTimeout(300_000);

type Mail = Readonly<{ id: string; to: readonly Readonly<{ address: string }>[] }>;

void t.test('acts of the team and of the account', { skip: withoutChromium }, async (t) => {
  const dataDir = t.testdir();
  const { app, url, visit, signIn } = await openDashboard(t, { dataDir });
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

  await t.test('a team that somebody else changes while a form is filled', async (t) => {
    const { body } = await app.call<{ accessToken: string }>('POST', '/api/auth/login', {
      email: OWNER.email,
      password: OWNER.password,
    });
    const headers = { authorization: `Bearer ${body.accessToken}` };
    const change = async (changed: object): Promise<void> => {
      t.equal((await app.call('PATCH', `/api/teams/${teamId}`, changed, headers)).status, 200);
    };
    const team = async (): Promise<unknown> => (await app.call('GET', `/api/teams/${teamId}`, undefined, headers)).body;
    // Any change ends the sample company.
    await change({ company: { city: 'Hamburg' } });
    await visit(t, { expected: /status of 400/ }, async (page) => {
      await signIn(page, '/app/settings');
      const fill = async (field: string, value: string): Promise<void> => {
        await page.getByRole('button', { name: 'Change the company' }).click();
        await page.getByLabel(field).fill(value);
      };
      const submit = () => page.getByRole('dialog').getByRole('button', { name: 'Change the company' }).click();
      await fill('City', 'Bremen');
      await change({ company: { phone: '+49 421 1' }, name: 'The other shop' });
      await submit();
      await page.getByRole('status').getByText('The team is changed.').waitFor();
      t.match(await team(), { name: 'The other shop', company: { city: 'Bremen', phone: '+49 421 1' } });

      await fill('City', 'Oldenburg');
      await change({ company: { city: 'Kiel', phone: '+49 421 2' } });
      await submit();
      await page.getByText('Somebody else has made this “Kiel” meanwhile.').waitFor();
      t.equal(await page.getByLabel('City').inputValue(), 'Oldenburg');
      t.match(await team(), { company: { city: 'Kiel' } });
      await picture(page, 'settings-changed-by-two');
      await submit();
      await page.getByRole('status').getByText('The team is changed.').waitFor();
      t.match(await team(), { company: { city: 'Oldenburg', phone: '+49 421 2' } });
    });
  });

  await t.test('an owner who came by a link has a password and an address of their own after one form', async (t) => {
    const email = 'owner@sealpost.localhost';
    const { userId } = await signedIn(app.engine, { email, name: 'Owner', role: 'owner', teamId });
    await app.whenCaughtUp();
    const link = await makeSignInLink(app.engine, userId, {
      ...{ teamId: NO_TEAM, actor: 'cli', correlationId: 'cli', causationId: 'cli' },
      at: isoTime(Date.now()),
    });
    await visit(t, { expected: /status of 400/ }, async (page) => {
      await page.goto(`${url}/app/start#${link}`);
      await page.getByRole('link', { name: 'Later' }).click();
      await page.getByRole('heading', { name: 'Emails', exact: true }).waitFor();
      await page.getByRole('button', { name: /^Account of/ }).click();
      await page.getByRole('menuitem', { name: 'Your account' }).click();
      await page.getByText('owner@sealpost.localhost takes no mail.').waitFor();
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'account-placeholder');
      await page.getByRole('button', { name: 'Change the address' }).click();
      const dialog = page.getByRole('dialog', { name: 'Sign in by another address' });
      await dialog.getByLabel('New address').fill('ada@shop.example');
      await dialog.getByLabel('Choose a password').fill('password1234');
      await dialog.getByRole('button', { name: 'Change the address' }).click();
      await dialog.getByLabel('Choose a password').and(page.locator('[aria-invalid=true]')).waitFor();
      await dialog.getByLabel('Choose a password').fill('seven grey herons wait');
      await dialog.getByRole('button', { name: 'Change the address' }).click();
      await page.getByRole('status').getByText('the mail is in the mailbox').waitFor();

      const token = mailboxTokenOf(readConfig({ PORT: '0', SEALPOST_DATA_DIR: dataDir }));
      const other = await page.context().newPage();
      await other.goto(`${url}/mailbox?token=${token}`);
      const mails = await eventually('the mail is in the mailbox', async () => {
        const answer = await page.request.get(`${url}/mailbox/messages`);
        const { data } = (await answer.json()) as Readonly<{ data: readonly Mail[] }>;
        return data.find(({ to }) => to[0]?.address === 'ada@shop.example');
      });
      const mail = (await (await page.request.get(`${url}/mailbox/messages/${mails.id}`)).json()) as { text: string };
      const path = assertDefined(/\/account\/address\?token=[\w-]+/.exec(mail.text)?.[0], 'the link');
      await other.goto(`${url}${path}`);
      await other.getByLabel('Password').fill('seven grey herons wait');
      await other.getByRole('button', { name: 'Confirm the address' }).click();
      await other.getByText('From now on you sign in by ada@shop.example.').waitFor();
      await other.close();
      await page.reload();
      await page.getByRole('main').getByText('ada@shop.example').waitFor();
      t.equal(await page.getByText('takes no mail').count(), 0);
      await page.getByRole('button', { name: /^Account of/ }).click();
      await page.getByRole('menu').getByText('ada@shop.example').waitFor();
    });
    const changed = { email: 'ada@shop.example', password: 'seven grey herons wait' };
    t.equal((await app.call('POST', '/api/auth/login', changed)).status, 200);
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
