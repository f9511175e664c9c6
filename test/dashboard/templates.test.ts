/** Templates in the dashboard: the list, JSON with its preview, sample data, languages, versions, tests, and documents. */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import t from 'tap';
import { firstTeam } from '../../src/commands/core/caller.js';
import { assertDefined } from '../../src/domain/core/ids.js';
import { PASSWORD, signedIn } from '../support/people.js';
import { openDashboard, OWNER, PHONE, picture, violationsEverywhere, WIDE, withoutChromium } from './browser.js';

t.setTimeout(600_000);

/** Puts a text in the place of the whole JSON, as somebody who pastes it. */
const typeJson = async (page: Page, text: string): Promise<void> => {
  await page.locator('.cm-content').first().click();
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText(text);
};

const NOTE = {
  slug: 'note',
  name: 'Note',
  subject: 'For {{name}}',
  variables: [
    { name: 'name', type: 'string', defaultValue: 'Ada' },
    { name: 'isNew', type: 'boolean', defaultValue: false },
    { name: 'order', type: 'object', schema: { properties: { number: { type: 'string' } } } },
  ],
  schema: {
    sections: [
      {
        id: 'main',
        type: 'main',
        components: [
          { id: 'hello', type: 'rich-text', content: '<p>Hello {{name}}, order {{order.number}}</p>' },
          { id: 'go', type: 'button', content: 'Start', props: { href: 'https://example.com/' } },
        ],
      },
    ],
  },
};

/** A mail of another service, with what would run or lead away if it were taken for a part of the page. */
const TRIAL = [
  '<html><head><title>Your trial ends</title><meta http-equiv="refresh" content="0;url=/app/sign-in">',
  '<!--[if mso]><style>p { color: blue }</style><![endif]-->',
  '<style>p { color: rgb(200, 30, 90) }</style></head><body>',
  '<script>parent.hacked = 1</script>',
  '<img src="x" width="10" height="10" alt="Logo" onerror="parent.hacked = 1">',
  '<p>Hello {{firstName}}, your trial ends.</p>',
  '{{#if isOwner}}<p><a href="https://app.example.com/billing">Choose a plan</a></p>{{/if}}',
  '<p>Until then</p>',
  '{{> signature}}',
  '</body></html>',
].join('\n');

/** HTML of mails that a stranger may have written; each would act, lead away or cost much time in a page of its own. */
const HOSTILE: Readonly<Record<string, string>> = {
  acts: '<script>parent.hacked = 1</script><img src=x onerror="parent.hacked = 1"><svg/onload="parent.hacked = 1"></svg>',
  leads: [
    '<meta http-equiv="refresh" content="0;url=/app/sign-in"><base href="https://elsewhere.example/">',
    '<form action="https://elsewhere.example/"><button formaction="/api">Go</button></form>',
    '<iframe srcdoc="<script>parent.hacked = 1</script>"></iframe><object data="/app"></object>',
    '<a href="javascript:parent.hacked = 1">Go</a><link rel="stylesheet" href="https://elsewhere.example/a.css">',
    '<img src="https://elsewhere.example/a.png" srcset="https://elsewhere.example/b.png 2x">',
    '<style>@import "https://elsewhere.example/b.css"; p { background: url(https://elsewhere.example/c.png) }</style>',
  ].join(''),
  'parsed twice': [
    '<style></sty@import x;le><meta http-equiv="refresh" content="0;url=/app/sign-in"></style>',
    '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=x onerror=parent.hacked=1&gt;">',
    '</mglyph></table></mtext></math>',
  ].join(''),
  'opens styles': '<div>'.concat('<style '.repeat(100_000), '></style>'),
  'opens addresses': `<style>p { background: ${'url(//'.repeat(80_000)} }</style>`,
  'has many attributes': `<p ${Array.from({ length: 20_000 }, (_, n) => `on${n.toString(2).replace(/0/g, 'a').replace(/1/g, 'b')}=""`).join(' ')}></p>`,
  'is deep': `${'<div>'.repeat(2_000)}${'</div>'.repeat(2_000)}`,
};

const textOf = (content: unknown): string => JSON.stringify(content, null, 2);

void t.test('templates', { skip: withoutChromium }, async (t) => {
  const { app, url, visit, signIn } = await openDashboard(t);
  const teamId = assertDefined(await firstTeam(app.engine), 'first team');
  const olga = await signedIn(app.engine, { email: 'olga@example.com', name: 'Olga', role: 'admin', teamId });
  await app.whenCaughtUp();
  const as = async (
    method: 'GET' | 'POST' | 'PATCH',
    path: string,
    body?: unknown,
  ): Promise<Readonly<Record<string, unknown>>> => {
    const answer = await app.call(method, path, body, olga.headers);
    t.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
    return answer.body;
  };
  const frame = (page: Page) => page.frameLocator('iframe[title^="Preview"]');
  const editor = (page: Page) => page.locator('.cm-content').first();

  await t.test('the lists, and a new one from a sample', async (t) => {
    await visit(t, { expected: /status of 4\d\d/ }, async (page) => {
      await signIn(page, '/app/templates');
      await page.getByRole('row', { name: /Order confirmation/ }).waitFor();
      t.equal(await page.getByRole('row', { name: /Account: / }).count(), 0, 'mails of sealpost stand elsewhere');
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'templates-list');
      await page.getByLabel('Show').selectOption('service');
      await page.getByRole('row', { name: /Account: verify the address/ }).waitFor();
      await page.getByRole('link', { name: 'Documents' }).click();
      await page.getByRole('row', { name: /Invoice invoice published PDF, workbook/ }).waitFor();
      await page.getByRole('link', { name: 'Blocks', exact: true }).click();
      await page.getByRole('row', { name: /letter.*layout/ }).waitFor();

      await page.getByRole('navigation', { name: 'Kinds' }).getByRole('link', { name: 'Emails' }).click();
      await page.getByRole('link', { name: 'New email template' }).click();
      await page.getByLabel('Slug').fill('order-confirmation');
      await page.getByLabel('Begins with').selectOption({ label: 'the sample “Sign in code”' });
      await page.getByRole('button', { name: 'New email template' }).click();
      await page.getByLabel('Slug').and(page.locator('[aria-invalid=true]')).waitFor();
      await page.getByLabel('Slug').fill('second-code');
      t.same(await violationsEverywhere(page), []);
      await page.getByRole('button', { name: 'New email template' }).click();
      await page.getByRole('heading', { level: 1, name: /Sign-in code/ }).waitFor();
      await frame(page).getByText('Sealpost', { exact: true }).first().waitFor();
      t.match(await as('GET', '/api/templates/second-code'), { status: 'draft', publishedVersion: null });
    });
  });

  await t.test('a mail of another service is converted, compared and saved as a draft', async (t) => {
    await visit(t, { expected: /status of 400/ }, async (page) => {
      await signIn(page, '/app/templates/emails');
      await page.getByRole('link', { name: 'Import', exact: true }).click();
      await page.getByRole('heading', { level: 1, name: 'Import' }).waitFor();
      const convert = page.getByRole('button', { name: 'Convert' });
      const wrong = (label: string) => page.getByLabel(label).and(page.locator('[aria-invalid=true]'));
      await convert.click();
      await wrong('Source').waitFor();
      await page.getByLabel('Source').fill(TRIAL.replace('{{/if}}', '{{/each}}'));
      await page.getByLabel('Sample variables').fill('{ firstName }');
      await convert.click();
      await wrong('Sample variables').waitFor();
      await page.getByLabel('Sample variables').fill('{ "firstName": "Ada", "isOwner": true }');
      await convert.click();
      await wrong('Source').waitFor();
      t.same(await violationsEverywhere(page), []);

      await page.getByLabel('Source').fill(TRIAL);
      await convert.focus();
      await page.keyboard.press('Enter');
      await page.getByRole('status').getByText('The source is Handlebars').waitFor();
      t.equal(await page.evaluate('document.activeElement.ariaLabel'), 'The converted mail', 'it is shown');
      const note = page.getByRole('list', { name: 'Notes' }).getByRole('listitem').filter({ hasText: 'signature' });
      t.match(await note.first().textContent(), /dropped.*Line 9/);
      await note.first().getByRole('button', { name: 'Line 9' }).press('Enter');
      t.equal(
        await page.evaluate('[document.activeElement.ariaLabel, String(getSelection())].join(": ")'),
        'The mail by line: {{> signature}}',
      );
      const theirs = page.frameLocator('iframe[title="Preview of the source"]');
      await theirs.getByText('Hello Ada, your trial ends.').waitFor();
      await frame(page).last().getByText('Hello Ada, your trial ends.').waitFor();
      t.equal(await theirs.locator('script, a[href], meta[http-equiv], [onerror]').count(), 0, 'nothing of it acts');
      t.equal(
        await theirs
          .locator('p')
          .first()
          .evaluate((shown) => shown.ownerDocument.defaultView?.getComputedStyle(shown).color),
        'rgb(200, 30, 90)',
        'it has its own styles',
      );
      t.equal(await page.evaluate('window.hacked'), undefined);
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'templates-import');
      await page.setViewportSize(PHONE);
      t.equal(await page.evaluate('document.documentElement.scrollWidth'), PHONE.width, 'nothing is cut off');
      await picture(page, 'templates-import-phone');
      await page.setViewportSize(WIDE);

      await page.getByLabel('Slug').fill('trial-end');
      await page.getByRole('button', { name: 'Save as a draft' }).click();
      await page.getByRole('status').getByText('Your trial ends is a draft').waitFor();
      await page.getByRole('heading', { level: 1, name: /Your trial ends/ }).waitFor();
      t.match(await as('GET', '/api/templates/trial-end'), { status: 'draft', publishedVersion: null });
    });
  });

  await t.test('a source that wants to act, lead away or take all time is only shown', async (t) => {
    await visit(t, {}, async (page) => {
      await signIn(page, '/app/templates/emails/import');
      const theirs = page.frameLocator('iframe[title="Preview of the source"]');
      for (const [name, hostile] of Object.entries(HOSTILE)) {
        // The service may refuse such a source: the page has to bear it all the same.
        await page.route('**/api/templates/convert', async (route) => {
          const response = await route.fetch();
          const answer = (await response.json()) as Readonly<Record<string, object>>;
          const original = { ...answer['original'], html: `${hostile}<p id="end">${name}</p>` };
          await route.fulfill({ response, json: { ...answer, original } });
        });
        await page.getByLabel('Source').fill(`<p>${name}</p>`);
        await page.getByRole('button', { name: 'Convert' }).click();
        await page.getByRole('status').getByText('The source is HTML').waitFor();
        await theirs.getByText(name).waitFor({ state: 'attached' });
        t.match(await theirs.locator('body').evaluate((shown) => shown.ownerDocument.URL), /\/app\/frame$/, name);
        t.equal(
          await theirs.locator('script, base, form[action], [href], [srcdoc], [onerror], meta[http-equiv]').count(),
          0,
          name,
        );
        await page.unroute('**/api/templates/convert');
      }
      t.equal(await page.evaluate('window.hacked'), undefined);
    });
  });

  await t.test('a file of MJML is shown as its own compiler makes it', async (t) => {
    await visit(t, {}, async (page) => {
      const compilers: string[] = [];
      page.on('request', (request) => {
        if (request.url().includes('mjml')) compilers.push(request.url());
      });
      await signIn(page, '/app/templates/emails/import');
      await page.getByLabel('Source').fill('<p>Hello</p>');
      await page.getByRole('button', { name: 'Convert' }).click();
      await page.frameLocator('iframe[title="Preview of the source"]').getByText('Hello').waitFor();
      t.same(compilers, [], 'the compiler is loaded for MJML alone');
      await page.getByLabel('A file in place of that').setInputFiles({
        ...{ name: 'welcome.mjml', mimeType: 'text/plain' },
        buffer: Buffer.from(
          '<mjml><mj-body><mj-section><mj-column><mj-text>Welcome, {{name}}</mj-text></mj-column></mj-section></mj-body></mjml>',
        ),
      });
      await page.getByLabel('Sample variables').fill('{ "name": "Ada" }');
      await page.getByRole('button', { name: 'Convert' }).click();
      await page.getByRole('status').getByText('The source is MJML').waitFor();
      const theirs = page.frameLocator('iframe[title="Preview of the source"]');
      await theirs.locator('table').getByText('Welcome, Ada').first().waitFor();
      t.equal(compilers.length, 1);
      await frame(page).last().getByText('Welcome, Ada').waitFor();
    });
  });

  const { id } = await as('POST', '/api/templates', { ...NOTE, publish: true });
  const path = `/app/templates/emails/${String(id)}?view=json`;

  await t.test('JSON with faults at their lines, completion, undo and save', async (t) => {
    await visit(t, {}, async (page) => {
      await signIn(page, path);
      await frame(page).getByText('Hello Ada, order').waitFor();
      await page.locator('p').filter({ hasText: 'Without a value' }).getByText('order.number').waitFor();
      t.equal(await page.getByRole('button', { name: 'Save' }).isDisabled(), true, 'nothing is changed');

      // A prop that does not exist, and one that is missing.
      const wrong = structuredClone(NOTE) as unknown as typeof NOTE & { locale: string };
      Object.assign(wrong.schema.sections[0]!.components[1]!, { props: { colour: 'red' } });
      await typeJson(page, textOf(wrong));
      const fault = page.getByRole('region', { name: '2 faults' });
      await fault
        .getByText(/colour/)
        .first()
        .waitFor();
      await page.locator('.cm-lint-marker-error').first().waitFor();
      await frame(page).getByText('Hello Ada, order').waitFor();
      await picture(page, 'templates-faults');
      await page.getByRole('button', { name: /components\[1\]\.props\.colour$/ }).click();
      t.equal(await page.evaluate('document.getSelection().toString()'), '"colour": "red"', 'the fault is selected');

      // A text that is no JSON stays, also while another view is shown.
      await typeJson(page, `${textOf(NOTE).slice(0, -1)},`);
      await page.locator('.cm-lintRange-error').first().waitFor();
      await page.getByRole('status').getByText('This is no JSON yet').waitFor();
      await page.getByRole('link', { name: 'Variables' }).click();
      await page.getByLabel('Sample of name').waitFor();
      await page.getByRole('link', { name: 'JSON' }).click();
      t.match(await editor(page).innerText(), /,\s*$/, 'what was typed is there');

      // Completion knows the component.
      await typeJson(page, textOf(NOTE));
      await frame(page).getByRole('link', { name: 'Start' }).or(frame(page).getByText('Start')).first().waitFor();
      await page.locator('.cm-line', { hasText: '"href"' }).click();
      await page.keyboard.press('End');
      await page.keyboard.insertText(',\n');
      await page.keyboard.press('Control+Space');
      await page.getByRole('option', { name: /^fullWidth/ }).waitFor();
      await page.getByRole('option', { name: /^backgroundColor/ }).click();
      await page.keyboard.insertText('#123456');
      await page.keyboard.press('Control+S');
      await page.getByRole('heading', { level: 1, name: /Note.*changed/ }).waitFor();
      t.match(textOf(await as('GET', '/api/templates/note')), /"backgroundColor": "#123456"/);

      await typeJson(page, textOf({ ...NOTE, subject: 'Other' }));
      await page.getByText('Other', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Undo' }).click();
      await page.getByText('For Ada', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Redo' }).click();
      await page.getByText('Other', { exact: true }).waitFor();
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'templates-json');
      await page.setViewportSize(PHONE);
      await picture(page, 'templates-json-phone');
      await page.getByRole('link', { name: 'Preview' }).click();
      await frame(page).getByText('Hello Ada').waitFor();
      t.ok(await page.evaluate('document.getElementById("page").scrollWidth <= 360'), 'nothing is cut off on a phone');
      await page.setViewportSize(WIDE);
      await page.getByRole('link', { name: 'JSON' }).click();
      await page.getByRole('radio', { name: 'Dark' }).click();
      await page.getByRole('radio', { name: 'Text', exact: true }).click();
      await page.locator('pre', { hasText: 'Hello Ada, order' }).waitFor();
      const took = await page.locator('[data-took-ms]').getAttribute('data-took-ms');
      t.comment(`a preview of a mail took ${took} ms`);
    });
  });

  await t.test('publish with the difference, versions, restore', async (t) => {
    await visit(t, {}, async (page) => {
      await signIn(page, path);
      await frame(page).getByText('Hello Ada').waitFor();
      await typeJson(page, textOf({ ...NOTE, subject: 'News for {{name}}' }));
      await page.getByText('News for Ada', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Publish…' }).click();
      const dialog = page.getByRole('dialog', { name: 'Publish Note?' });
      await dialog.getByText('News for {{name}}').waitFor();
      t.same(await violationsEverywhere(page), []);
      await dialog.getByRole('button', { name: 'Save and publish' }).click();
      await page.getByRole('status').getByText('Version 2 is published').waitFor();
      await page.getByRole('link', { name: 'Versions' }).click();
      await page.getByText('Nothing is other.').waitFor();
      await page.getByRole('button', { name: 'Compare version 1 with the draft' }).click();
      const difference = page.getByRole('region', { name: 'Difference' });
      await difference.getByText('For {{name}}', { exact: true }).waitFor();
      await page.getByRole('radio', { name: 'JSON', exact: true }).click();
      await page.locator('.cm-deletedChunk').first().waitFor();
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'templates-versions');
      await page.getByRole('button', { name: 'Restore version 1' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click();
      await page.getByRole('status').getByText('Version 1 is the draft again').waitFor();
      t.match(await as('GET', '/api/templates/note'), {
        subject: 'For {{name}}',
        publishedVersion: 2,
        status: 'draft',
      });
    });
  });

  await t.test('sample data, languages, a test, and a copy', async (t) => {
    await visit(t, {}, async (page) => {
      await signIn(page, path.replace('json', 'variables'));
      await page.getByLabel('Sample of name').fill('Kim <b>');
      await frame(page).getByText('Hello Kim <b>').waitFor();
      await page.getByRole('button', { name: 'Begin a sample of order' }).click();
      await frame(page).getByText('order Text').waitFor();
      await page.reload();
      await frame(page).getByText('Hello Kim <b>, order Text').waitFor();
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'templates-variables');

      await page.getByRole('link', { name: 'Translations' }).click();
      await page.getByLabel('Another language').fill('no language');
      await page.getByRole('button', { name: 'Add a language' }).click();
      await page.getByText('This is no language tag').waitFor();
      await page.getByLabel('Another language').fill('pt');
      await page.getByRole('button', { name: 'Add a language' }).click();
      await page.getByLabel('pt: For {{name}}').fill('Para {{name}}');
      await page.getByText('Para Kim <b>', { exact: true }).waitFor();
      await page.getByRole('radio', { name: 'Missing 2' }).waitFor();
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'templates-translations');

      await page.getByRole('link', { name: 'Test', exact: true }).click();
      await page.getByRole('button', { name: 'Save and send the test' }).click();
      await page.getByText(`The test to ${OWNER.email} is accepted.`).waitFor();
      t.match(await as('GET', '/api/templates/note'), { translations: { pt: { 'For {{name}}': 'Para {{name}}' } } });
      t.same(await violationsEverywhere(page), []);
      await page.getByRole('link', { name: 'See what becomes of it' }).click();
      await page.getByRole('heading', { level: 1, name: '[Test] Para Kim <b>' }).waitFor();

      await page.goto(url + path);
      await page.getByRole('button', { name: 'More', exact: true }).click();
      const download = page.waitForEvent('download');
      await page.getByRole('menuitem', { name: 'Export as a file' }).click();
      const file = await (await download).path();
      t.match(JSON.parse(readFileSync(file, 'utf8')), { slug: 'note', subject: 'For {{name}}' });
      await page.getByLabel('File to import').setInputFiles({
        ...{ name: 'note.json', mimeType: 'application/json' },
        buffer: Buffer.from(textOf({ ...NOTE, subject: 'From a file' })),
      });
      await page.getByText('From a file', { exact: true }).waitFor();
      await page.getByLabel('File to import').setInputFiles({
        ...{ name: 'bad.json', mimeType: 'application/json' },
        buffer: Buffer.from('<html>'),
      });
      await page.getByText(/bad\.json is not JSON/).waitFor();
      await page.getByRole('button', { name: 'More', exact: true }).click();
      await page.getByRole('menuitem', { name: 'Copy…' }).click();
      await page.getByLabel('Slug of the copy').fill('note-two');
      await page.getByRole('dialog').getByRole('button', { name: 'Copy' }).click();
      await page.getByRole('heading', { level: 1, name: /Note \(copy\)/ }).waitFor();
      await page.getByRole('button', { name: 'More', exact: true }).click();
      await page.getByRole('menuitem', { name: 'Delete…' }).click();
      await page.getByRole('dialog').getByText('“note-two”').waitFor();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('heading', { level: 1, name: 'Email templates' }).waitFor();
      await page.getByLabel('Show').selectOption('deleted');
      await page.getByRole('button', { name: 'Restore: Note (copy)' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click();
      await page.getByRole('status').getByText('Note (copy) is restored.').waitFor();
      await page.getByRole('button', { name: /^Account of/ }).click();
      await page.getByRole('menuitem', { name: 'Sign out' }).click();
      await page.getByLabel('Password').waitFor();
      t.equal(
        await page.evaluate('Object.keys(localStorage).filter((key) => key.includes("sample")).length'),
        0,
        'sample data goes with the person',
      );
    });
  });

  await t.test('somebody else saved meanwhile', async (t) => {
    await visit(t, { expected: /status of 400/ }, async (page) => {
      await signIn(page, path);
      await frame(page).getByText('Hello').waitFor();
      await as('PATCH', '/api/templates/note', { description: 'by Olga' });
      await typeJson(page, textOf({ ...NOTE, subject: 'Mine' }));
      await page.getByText('Mine', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Save' }).click();
      await page
        .getByRole('alert')
        .getByText(/[Ss]omebody else|Olga/)
        .first()
        .waitFor();
      t.match(await editor(page).innerText(), /"Mine"/, 'nothing is lost');
      t.match(await as('GET', '/api/templates/note'), { description: 'by Olga' });
    });
  });

  await t.test('documents are shown as PDF and as tables', async (t) => {
    await visit(t, {}, async (page) => {
      await signIn(page, '/app/templates/documents');
      await page.getByRole('link', { name: 'Invoice' }).click();
      await page.getByRole('link', { name: 'JSON' }).click();
      await page.locator('iframe[title="Preview: Invoice"][src^="blob:"]').waitFor();
      const took = page.locator('[data-took-ms]');
      t.comment(`a PDF took ${await took.getAttribute('data-took-ms')} ms`);
      await picture(page, 'templates-document');
      await page.getByRole('radio', { name: 'Workbook' }).click();
      await page.getByRole('cell', { name: 'MUG-SAGE' }).waitFor();
      t.comment(`a workbook took ${await took.getAttribute('data-took-ms')} ms`);
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'templates-sheet');
    });
  });

  await t.test('a block that is used is kept, and says by what', async (t) => {
    const block = await as('POST', '/api/blocks', {
      ...{ slug: 'foot', name: 'Foot', publish: true, variables: [] },
      schema: { components: [{ id: 'legal', type: 'rich-text', content: '<p>Legal lines</p>' }] },
    });
    await as('POST', '/api/templates', {
      ...{ slug: 'with-foot', name: 'With a foot', subject: 'Hello', variables: [] },
      schema: {
        sections: [
          { id: 'main', type: 'main', components: [{ id: 'foot', type: 'include', props: { block: 'foot' } }] },
        ],
      },
      publish: true,
    });
    await visit(t, { expected: /status of 400/ }, async (page) => {
      await signIn(page, `/app/templates/blocks/${String(block['id'])}?view=json`);
      await frame(page).getByText('Legal lines').waitFor();
      await page.getByRole('button', { name: 'More', exact: true }).click();
      await page.getByRole('menuitem', { name: 'Delete…' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog').getByText('Foot is used by With a foot (email).').waitFor();
      await page.keyboard.press('Escape');
      const changed = { slug: 'foot', name: 'Foot', locale: 'en-US', variables: [] };
      await typeJson(
        page,
        textOf({
          ...changed,
          schema: { components: [{ id: 'legal', type: 'rich-text', content: '<p>Other lines</p>' }] },
        }),
      );
      await frame(page).getByText('Other lines').waitFor();
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('status').getByText('The draft is saved').waitFor();
      await page.getByRole('button', { name: 'Publish…' }).click();
      const impact = page.getByRole('region', { name: 'Templates that follow the block' });
      await impact.getByText('With a foot').waitFor();
      await impact.getByText('+ Other lines').waitFor();
    });
  });

  await t.test('who may not write sees everything and changes nothing', async (t) => {
    await visit(t, {}, async (page) => {
      await page.route('**/api/teams?*', async (route) => {
        const answer = await route.fetch();
        const text = (await answer.text()).replace('"templates:write",', '');
        await route.fulfill({ response: answer, body: text });
      });
      await signIn(page, path);
      await frame(page).getByText('Hello Ada').waitFor();
      for (const name of ['Save', 'Undo', 'Publish…', 'Format'])
        t.equal(await page.getByRole('button', { name }).count(), 0, name);
      t.equal(await page.getByRole('link', { name: 'Test', exact: true }).count(), 0);
      t.equal(await editor(page).getAttribute('contenteditable'), 'false');
      await page.getByRole('button', { name: 'More', exact: true }).click();
      for (const name of ['Delete…', 'Copy…', 'Rename…', 'Import a file…'])
        t.equal(await page.getByRole('menuitem', { name }).count(), 0, name);
      await page.keyboard.press('Escape');
      t.same(await violationsEverywhere(page), []);
      await page.getByRole('link', { name: 'Translations' }).click();
      t.equal(await page.getByRole('button', { name: 'Add a language' }).count(), 0);
      await page.getByRole('link', { name: 'Versions' }).click();
      await page.getByRole('button', { name: 'Compare version 1 with the draft' }).waitFor();
      t.equal(await page.getByRole('button', { name: /^Restore/ }).count(), 0);
    });
    await signedIn(app.engine, { email: 'vera@example.com', name: 'Vera', role: 'viewer', teamId });
    await app.whenCaughtUp();
    await visit(t, {}, async (page) => {
      await page.goto(url + path);
      await page.getByLabel('Email address').fill('vera@example.com');
      await page.getByLabel('Password').fill(PASSWORD);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByText('templates:read').waitFor();
      t.equal(await page.getByRole('link', { name: 'Templates', exact: true }).count(), 0);
    });
  });
});
