/** The brand of the team in the dashboard, and the palette that leads to every page. */
import t from 'tap';
import { firstTeam } from '../../src/commands/core/caller.js';
import { assertDefined } from '../../src/domain/core/ids.js';
import { PASSWORD, signedIn } from '../support/people.js';
import { png } from '../support/pictures.js';
import { openDashboard, picture, violationsEverywhere, withoutChromium } from './browser.js';

t.setTimeout(300_000);

void t.test('the brand of the team', { skip: withoutChromium }, async (t) => {
  const { app, url, visit, signIn } = await openDashboard(t);
  const teamId = assertDefined(await firstTeam(app.engine), 'first team');
  const bea = await signedIn(app.engine, { email: 'bea@example.com', name: 'Bea', role: 'admin', teamId });
  const brandNow = async () =>
    (
      await app.call<{ brand: Record<string, unknown>; company: Record<string, string>; revision: number }>(
        'GET',
        `/api/teams/${teamId}`,
        undefined,
        bea.headers,
      )
    ).body;
  await app.whenCaughtUp();

  await t.test('colours are seen before they are saved, and an unreadable text is refused at its field', async (t) => {
    await visit(t, { expected: /status of 400/ }, async (page) => {
      await signIn(page, '/app/brand');
      await page.getByRole('heading', { name: 'Brand' }).waitFor();
      t.same(await violationsEverywhere(page), []);
      await page.getByRole('textbox', { name: /^Name/ }).fill('Köln & <b>Co</b>');
      await page.getByRole('textbox', { name: /^Accent/ }).fill('#7C3AED');
      await page.getByText('Its contrast to the background is 5.6:1').waitFor();
      const mail = page.frameLocator('iframe[title="A mail with this brand"]');
      await mail.getByText('Köln & <b>Co</b>').first().waitFor();
      await mail.locator('[style*="background-color:#7c3aed"]').first().waitFor();
      const unsubscribe = page.frameLocator('iframe[title^="The page behind"]');
      await unsubscribe.getByRole('heading', { name: 'Unsubscribe?' }).waitFor();
      await page.getByRole('combobox', { name: 'Language of the page' }).selectOption('de');
      await unsubscribe.getByRole('heading', { name: 'Abmelden?' }).waitFor();
      await page.getByRole('textbox', { name: /^Text/ }).fill('#cccccc');
      await page.getByText(/readers need 4\.5:1/).waitFor();
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('textbox', { name: /^Text/ }).and(page.locator('[aria-invalid=true]')).waitFor();
      await page.reload();
      t.equal(await page.getByRole('textbox', { name: /^Accent/ }).inputValue(), '#7C3AED', 'what was typed is kept');
      await page.getByRole('textbox', { name: /^Text/ }).fill('');
      await page.getByRole('textbox', { name: /^Background/ }).fill('#fffbeb');
      await mail.locator('[style*="background-color:#fffbeb"]').first().waitFor();
      await page.getByRole('textbox', { name: /^Name/ }).fill('Northwind Coffee');
      await page.getByRole('textbox', { name: 'Contact address' }).fill('hello@northwind.example');
      await page.getByRole('textbox', { name: 'City' }).fill('Lisbon');
      await mail.getByText('hello@northwind.example').waitFor();
      await page.getByRole('heading', { name: 'Brand' }).scrollIntoViewIfNeeded();
      await picture(page, 'brand');
      await page.getByRole('button', { name: 'Save' }).click();
      await page
        .getByRole('status')
        .getByText(/The brand is changed/)
        .waitFor();
      t.match(await brandNow(), {
        brand: { accent: '#7c3aed', background: '#fffbeb', text: null, logo: null },
        company: { name: 'Northwind Coffee', city: 'Lisbon', addressLine1: '' },
      });
      await page.reload();
      t.equal(await page.getByRole('textbox', { name: /^Accent/ }).inputValue(), '#7c3aed', 'the draft is gone');
    });
  });

  await t.test('a picture of the gallery becomes the logo, and two admins lose nothing', async (t) => {
    const form = new FormData();
    form.set('file', new Blob([new Uint8Array(png)]), 'logo.png');
    const uploaded = await fetch(new URL('/api/assets', url), { method: 'POST', headers: bea.headers, body: form });
    t.equal(uploaded.status, 201);
    await visit(t, { expected: /status of 400/ }, async (page) => {
      await signIn(page, '/app/brand');
      await page.getByRole('combobox', { name: 'Logo' }).selectOption({ label: 'logo.png' });
      const mail = page.frameLocator('iframe[title="A mail with this brand"]');
      await mail.locator('img[src^="data:image/png"]').waitFor();
      const { revision } = await brandNow();
      const changed = await app.call(
        'PATCH',
        `/api/teams/${teamId}`,
        { brand: { accent: '#0044cc' } },
        { ...bea.headers, 'if-match': `"${revision}"` },
      );
      t.equal(changed.status, 200);
      await page.getByRole('button', { name: 'Save' }).click();
      await page
        .getByRole('alert')
        .getByText(/revision/i)
        .waitFor();
      await page.getByRole('button', { name: 'Save' }).click();
      await page
        .getByRole('status')
        .getByText(/The brand is changed/)
        .waitFor();
      t.match(await brandNow(), { brand: { accent: '#0044cc', logo: /^[0-9a-f-]{36}$/ } });
    });
  });

  await t.test('who does not manage the team finds no such page', async (t) => {
    await signedIn(app.engine, { email: 'kim@example.com', name: 'Kim', role: 'member', teamId });
    await app.whenCaughtUp();
    await visit(t, {}, async (page) => {
      await page.goto(new URL('/app/brand', url).href);
      await page.getByLabel('Email address').fill('kim@example.com');
      await page.getByLabel('Password').fill(PASSWORD);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByText('You may not see this').waitFor();
      t.equal(await page.getByRole('link', { name: 'Brand' }).count(), 0);
    });
  });

  await t.test('the palette leads to pages, finds things and begins acts, by keys alone', async (t) => {
    await app.send({ to: [{ email: 'zoe@example.com' }] });
    const key = await app.call(
      'POST',
      '/api/api-keys',
      { name: 'Café till', permissions: ['emails:send'] },
      bea.headers,
    );
    t.equal(key.status, 201);
    await app.whenCaughtUp();
    await visit(t, {}, async (page) => {
      await signIn(page, '/app/members');
      await page.getByRole('heading', { name: 'Members', exact: true }).waitFor();
      const dialog = page.getByRole('dialog', { name: /Go to a page/ });
      const ask = async (text: string): Promise<void> => {
        await page.keyboard.press('Control+k');
        await dialog.waitFor();
        await page.keyboard.type(text);
      };
      await page.getByRole('button', { name: /Go to, find, do/ }).click();
      await dialog.getByRole('menuitem', { name: 'API keys' }).waitFor();
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'palette');
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });

      await ask('sender dom');
      await dialog.getByRole('menuitem', { name: /^Sender domains/ }).waitFor();
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Sender domains', exact: true }).waitFor();
      await dialog.waitFor({ state: 'detached' });

      await ask('cafe');
      await dialog.getByRole('menuitem', { name: 'Café till' }).click();
      await page.getByRole('heading', { name: 'Café till' }).waitFor();

      await ask('zoe@example.com');
      await dialog.getByRole('menuitem', { name: /zoe@example\.com · / }).waitFor();
      await picture(page, 'palette-found');
      await dialog.getByRole('menuitem', { name: 'What happened with zoe@example.com' }).click();
      await page.waitForURL(/recipients\/zoe/);

      await ask('new api');
      await dialog.getByRole('menuitem', { name: 'New API key' }).waitFor();
      await page.keyboard.press('Enter');
      await page.waitForURL(/api-keys\/new/);

      await ask('theme dark');
      await dialog.getByRole('menuitem', { name: 'Theme: dark' }).waitFor();
      await page.keyboard.press('Enter');
      await page.locator('html[data-theme=dark]').waitFor();

      await page.keyboard.press('Control+k');
      await dialog.getByRole('group', { name: 'Recent' }).getByRole('menuitem', { name: 'New API key' }).waitFor();
      await page.keyboard.type('<img src=x onerror=alert(1)>');
      await dialog.getByText(/Nothing is found by/).waitFor();
      // The first empties the box.
      await page.keyboard.press('Escape');
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
    });
  });

  await t.test('a question mark shows the keys of the page, unless it is typed', async (t) => {
    await visit(t, {}, async (page) => {
      await signIn(page, '/app/emails');
      await page.getByRole('heading', { name: 'Emails', exact: true }).waitFor();
      await page.locator('main#page').focus();
      await page.keyboard.press('?');
      const sheet = page.getByRole('dialog', { name: 'Keys of this page' });
      await sheet.getByText('search emails').waitFor();
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'keys');
      await page.keyboard.press('Escape');
      await sheet.waitFor({ state: 'detached' });
      await page.keyboard.press('/');
      await page.keyboard.type('why?');
      t.equal(await sheet.count(), 0);
      t.equal(await page.getByRole('searchbox').first().inputValue(), 'why?');
    });
  });
});
