/** Bulk sends from a CSV file in a browser: columns, a look at the mail, dry run, send, broken connections, cancel, result. */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import t from 'tap';
import { firstTeam } from '../../src/commands/core/caller.js';
import { assertDefined } from '../../src/domain/core/ids.js';
import { PASSWORD, signedIn } from '../support/people.js';
import { eventually } from '../support/wait.js';
import { openDashboard, PHONE, picture, violationsEverywhere, WIDE, withoutChromium } from './browser.js';

t.setTimeout(400_000);

const template = {
  slug: 'new-price',
  name: 'New price',
  subject: '{{firstName}}, what your plan costs from {{from}}',
  variables: [
    { name: 'firstName', type: 'string', required: true },
    { name: 'seats', type: 'number', required: true },
    { name: 'from', type: 'date' },
    { name: 'order', type: 'object', schema: { type: 'object', properties: { total: { type: 'number' } } } },
    { name: 'note', type: 'string' },
  ],
  schema: {
    sections: [
      {
        id: 'main',
        type: 'main',
        components: [
          {
            id: 'text',
            type: 'rich-text',
            content: '<p>Hello {{firstName}}, {{seats}} seats cost {{order.total}} from {{from}}. {{note}}</p>',
          },
        ],
      },
    ],
  },
  publish: true,
};

/** In Windows-1252, as a spreadsheet in Germany writes it. */
const prices = Buffer.from(
  [
    'E-Mail;Name;First name;Seats;From;order.total;Memo',
    'ada@example.com;Ada Example;Ada;1.012;24.12.2026;9,5;x',
    'ben@example.com;;Bj\u00f6rn;3;2026-12-24;1;y',
    'ADA@example.com;;Ada;12;;;',
    'no address;;Nobody;1;;;',
    'cem@example.com;;Cem;many;;;',
    'gone@example.com;;Gone;1;;;',
    'two@@example.com;;Two;1;;;',
    '',
  ].join('\r\n'),
  'latin1',
);

const csvFile = (name: string, buffer: Buffer) => ({ name, mimeType: 'text/csv', buffer });
const many = (count: number): Buffer =>
  Buffer.from(
    `email,firstName,seats\n${Array.from({ length: count }, (_, n) => `success+${n}@simulator.sealpost,P${n},${n}`).join('\n')}\n`,
  );

const choose = (page: Page, name: string, buffer: Buffer) =>
  page.locator('input[type=file]').setInputFiles(csvFile(name, buffer));
const chooseTemplate = async (page: Page): Promise<void> => {
  await page.getByRole('combobox', { name: 'Published template' }).selectOption({ label: 'New price (version 1)' });
  await page.getByRole('table', { name: 'What the columns fill' }).waitFor();
};
const column = (page: Page, name: string) => page.getByRole('combobox', { name: `Column for ${name}`, exact: true });
const chosenOf = async (page: Page, name: string): Promise<string | null> =>
  column(page, name).locator('option:checked').textContent();

void t.test('bulk sends from a CSV file', { skip: withoutChromium }, async (t) => {
  const { app, url, visit, signIn } = await openDashboard(t);
  const teamId = assertDefined(await firstTeam(app.engine), 'first team');
  await signedIn(app.engine, { email: 'kim@example.com', name: 'Kim', role: 'member', teamId });
  await signedIn(app.engine, { email: 'vic@example.com', name: 'Vic', role: 'viewer', teamId });
  t.equal((await app.call('POST', '/api/templates', template)).status, 201);
  await app.call('POST', '/api/suppressions', { email: 'gone@example.com' });
  await app.whenCaughtUp();
  const signInAs = async (page: Page, email: string, path: string): Promise<void> => {
    await page.goto(`${url}${path}`);
    await page.getByLabel('Email address').fill(email);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.locator('main#page').waitFor();
  };

  await t.test('from the file to the result of each recipient', async (t) => {
    await visit(t, {}, async (page) => {
      await signIn(page, '/app/batches');
      await page.getByRole('link', { name: 'Send to a CSV file' }).click();
      await page.getByRole('heading', { level: 1, name: 'Send to a CSV file' }).waitFor();
      t.same(await violationsEverywhere(page), []);

      await choose(page, 'picture.png', Buffer.from('\u0089PNG\0'));
      await page.getByRole('alert').getByText('picture.png is no text').waitFor();
      await choose(page, 'prices.csv', prices);
      await page.getByText('7 rows, 7 columns').waitFor();
      await page
        .getByLabel('Letters are written in')
        .and(page.locator(':has(option:checked[value="windows-1252"])'))
        .waitFor();
      await chooseTemplate(page);
      for (const [name, from] of [
        ['Address', 'E-Mail'],
        ['Name', 'Name'],
        ['firstName', 'First name'],
        ['seats', 'Seats'],
        ['from', 'From'],
        ['order.total', 'order.total'],
        ['note', 'nothing'],
      ] as const)
        t.equal(await chosenOf(page, name), from, name);
      await column(page, 'note').selectOption('the same for everybody');
      await page.getByLabel('Value of note for everybody').fill('Thank you & <b>all the best</b>');

      const leftOut = page.getByRole('list', { name: 'Rows that are left out' });
      await leftOut.getByText(/^Line 4, ADA@example.com: its address is that of line 2/).waitFor();
      await leftOut.getByText(/^Line 5, no address, E-Mail: "no address" is no address/).waitFor();
      await leftOut.getByText(/^Line 6, cem@example.com, Seats: "many" is no number, such as 1234,5/).waitFor();

      const mail = page.frameLocator('iframe');
      await mail.getByText('Hello Ada, 1012 seats cost 9.5').waitFor();
      await mail.getByText('Thank you & <b>all the best</b>').waitFor();
      await page.getByRole('button', { name: 'Show the mail to ben@example.com' }).click();
      await mail.getByText('Hello Björn, 3 seats').waitFor();
      await page.getByLabel('Line of the file').fill('7');
      await page.getByLabel('Line of the file').press('Enter');
      await mail.getByText('Hello Gone, 1 seats').waitFor();
      await page.getByText('Without a value: ').waitFor();
      await page.getByLabel('Tags').fill('prices, 2026');
      t.same(await violationsEverywhere(page), []);
      await page.setViewportSize({ width: 1_280, height: 1_000 });
      await page.evaluate("document.querySelector('section[aria-label=Columns]').scrollIntoView()");
      await picture(page, 'bulk-new');
      await page.setViewportSize(WIDE);

      await eventually('the browser has kept the file', async () => {
        await page.reload();
        await page.getByRole('heading', { level: 1, name: 'Send to a CSV file' }).waitFor();
        await page.getByRole('progressbar').first().waitFor({ state: 'detached' });
        const tags = page.getByLabel('Tags');
        return (await tags.count()) === 1 && (await tags.inputValue()) === 'prices, 2026' ? true : undefined;
      });
      t.equal(await page.getByLabel('Value of note for everybody').inputValue(), 'Thank you & <b>all the best</b>');

      t.ok(await page.getByRole('button', { name: /^Send 4 emails/ }).isDisabled(), 'nothing is sent unchecked');
      await page.getByRole('button', { name: 'Check every mail' }).click();
      const found = page.getByRole('table', { name: 'What the dry run found' });
      await found.getByRole('row', { name: /^7 gone@example\.com not written to: suppressed/ }).waitFor();
      await found.getByRole('row', { name: /^8 two@@example\.com left out: no address/ }).waitFor();
      t.equal(await found.getByRole('row').count(), 1 + 5, 'the rows of the file and of the call');
      const report = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Download the report' }).click();
      t.match(readFileSync(await (await report).path(), 'utf8'), /\r\n7,gone@example\.com,not written to: suppressed,/);
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'bulk-report');

      await page.getByRole('button', { name: 'Send 3 emails' }).click();
      const dialog = page.getByRole('dialog', { name: 'Send 3 emails?' });
      await dialog.getByText('New price, version 1').waitFor();
      await dialog.getByRole('button', { name: 'Send', exact: true }).click();
      await page.waitForURL(/\/app\/batches\/[0-9a-f-]{36}$/);
      await page.getByRole('status').getByText('3 emails are queued.').waitFor();
      await page.getByText('completed').waitFor();
      await page.getByRole('button', { name: 'Show the result of each' }).click();
      const results = page.getByRole('table', { name: 'Recipients' });
      await results.getByRole('row', { name: /^2 ada@example\.com delivered/ }).waitFor();
      await results.getByRole('row', { name: /^7 gone@example\.com/ }).waitFor();
      await results.getByRole('row', { name: /^8 not kept skipped/ }).waitFor();
      await page.getByRole('combobox', { name: 'Status' }).selectOption('delivered');
      t.equal(await results.getByRole('row').count(), 1 + 2);
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'bulk-result');
      await page.getByRole('button', { name: 'Download the result' }).click();
      await page.getByRole('dialog').getByRole('combobox', { name: 'Status' }).selectOption('skipped');
      const file = page.waitForEvent('download');
      await page.getByRole('dialog').getByRole('button', { name: 'Download the result' }).click();
      t.same(
        readFileSync(await (await file).path(), 'utf8')
          .trim()
          .split('\r\n')
          .map((line) => line.split(',').at(-1)),
        ['line', '8'],
      );
      await page.goto(`${url}/app/batches/new`);
      await page.getByLabel('CSV file', { exact: true }).waitFor();
      t.equal(await page.getByText('prices.csv').count(), 0, 'what is sent is not kept');
    });
  });

  await t.test('a send at a time is shown, and cancelled', async (t) => {
    await visit(t, {}, async (page) => {
      await signIn(page, '/app/batches/new');
      await choose(page, 'later.csv', many(3));
      await chooseTemplate(page);
      await page.getByRole('button', { name: 'Check every mail' }).click();
      await page.getByText('Every row can be sent to.').waitFor();
      await page.getByRole('combobox', { name: 'When' }).selectOption('at a time');
      t.ok(await page.getByRole('button', { name: 'Schedule 3 emails' }).isDisabled(), 'a time is needed');
      const day = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10);
      await page.getByLabel('Time', { exact: true }).fill(`${day}T09:30`);
      await page.getByText(`In UTC: ${day}T09:30:00.000Z UTC`).waitFor();
      await page.getByRole('button', { name: 'Schedule 3 emails' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Schedule', exact: true }).click();
      await page.getByRole('status').getByText('3 emails are scheduled.').waitFor();
      await page.getByRole('button', { name: 'Cancel the rest' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel the rest' }).click();
      await page.getByRole('status').getByText('3 emails of later.csv are cancelled.').waitFor();
    });
  });

  await t.test('more than one call takes, over a connection that breaks: each gets one email', async (t) => {
    await visit(t, { expected: /ERR_FAILED|ERR_CONNECTION/ }, async (page) => {
      await signInAs(page, 'kim@example.com', '/app/batches/new');
      await choose(page, 'many.csv', many(1_001));
      await chooseTemplate(page);
      await page.getByText('so this file makes 2 bulk sends').waitFor();
      await page.getByRole('button', { name: 'Check every mail' }).click();
      await page.getByText('Every row can be sent to.').waitFor();
      const keys: (string | undefined)[] = [];
      await page.route('**/api/emails/send/bulk', async (route) => {
        keys.push(route.request().headers()['idempotency-key']);
        // The service has accepted the call, and its answer is lost.
        if (keys.length !== 2) return route.continue();
        await route.fetch();
        await route.abort();
      });
      await page.getByRole('button', { name: /^Send 1,001 emails/ }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Send', exact: true }).click();
      await page.getByRole('status').getByText('1,001 emails are queued in 2 bulk sends.').waitFor({ timeout: 90_000 });
      t.equal(new Set(keys).size, 2, 'a key for each part');
      t.equal(keys[1], keys[2], 'and the same for the call that was made again');
      await page.getByRole('link', { name: 'many.csv (1 of 2)' }).waitFor();
      const { body } = await app.call<{ data: readonly { batchName: string; totalEmails: number }[] }>(
        'GET',
        '/api/emails/batches',
      );
      t.same(
        body.data.flatMap(({ batchName, totalEmails }) => (batchName.startsWith('many') ? [totalEmails] : [])).sort(),
        [1, 1_000],
      );
    });
  });

  await t.test('a phone, a viewer, and somebody who signs out', async (t) => {
    await visit(t, { viewport: PHONE, colorScheme: 'dark' }, async (page) => {
      await signIn(page, '/app/batches/new');
      await choose(page, 'prices.csv', prices);
      await chooseTemplate(page);
      await page.frameLocator('iframe').getByText('Hello Ada').waitFor();
      t.ok(await page.evaluate('document.getElementById("page").scrollWidth <= 360'), 'nothing is cut off');
      await picture(page, 'bulk-phone');
      await page.setViewportSize(WIDE);
      await page.getByText('7 rows, 7 columns').waitFor();
      await eventually('the browser keeps the file', async () =>
        (await page.evaluate<number>(
          "new Promise((done) => { const open = indexedDB.open('sealpost/files'); open.onsuccess = () => { const database = open.result; const all = database.transaction('drafts').objectStore('drafts').getAll(); all.onsuccess = () => { database.close(); done(all.result.filter(({ template }) => template !== undefined).length); }; }; })",
        )) === 1
          ? true
          : undefined,
      );
      await page.getByRole('button', { name: /^Account of/ }).click();
      await page.getByRole('menuitem', { name: 'Sign out' }).click();
      await page.getByLabel('Password').waitFor();
      t.same(await page.evaluate('indexedDB.databases()'), [], 'it goes with the session');
    });
    await visit(t, {}, async (page) => {
      await signInAs(page, 'vic@example.com', '/app/batches');
      await page.getByRole('table', { name: 'Bulk sends' }).waitFor();
      t.equal(await page.getByRole('link', { name: 'Send to a CSV file' }).count(), 0);
      await page.goto(`${url}/app/batches/new`);
      await page.getByRole('alert').getByText('emails:send').waitFor();
    });
  });
});
