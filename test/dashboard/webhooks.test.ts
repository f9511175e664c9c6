/** Webhooks in the dashboard: added, tried, their deliveries read and tried again, deleted and restored. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { assertDefined } from '../../src/domain/core/ids.js';
import { openDashboard, picture, violationsEverywhere, withoutChromium } from './browser.js';

t.setTimeout(300_000);

void t.test('webhooks', { skip: withoutChromium }, async (t) => {
  const posted: string[] = [];
  let status = 500;
  const endpoint = createServer((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => (body += part.toString()));
    request.on('end', () => {
      posted.push(body);
      response.writeHead(status).end(status === 500 ? 'the shop is closed <b>now</b>' : 'thank you');
    });
  });
  await new Promise<void>((done) => endpoint.listen(0, '127.0.0.1', done));
  t.teardown(() => new Promise((done) => endpoint.close(done)));
  const target = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/hook`;
  const { app, url, visit, signIn } = await openDashboard(t, {
    settings: { SEALPOST_WEBHOOK_INSECURE_HOSTS: '127.0.0.1', SEALPOST_WEBHOOK_RETRY_DELAYS: '3600' },
  });

  await t.test('a delivery that failed is read, tried again, and read again', async (t) => {
    await visit(t, { expected: /status of 400/ }, async (page) => {
      await signIn(page, '/app/webhooks');
      await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'webhooks-none');
      await page.getByRole('link', { name: 'Add a webhook' }).click();
      await page.getByLabel('URL').fill('ftp://example.com');
      await page.getByRole('button', { name: 'Add a webhook' }).click();
      await page.getByLabel('URL').and(page.locator('[aria-invalid=true]')).waitFor();
      await page.getByLabel('URL').fill(target);
      await page.getByRole('checkbox', { name: /^email.queued/ }).check();
      await page.getByRole('button', { name: 'Add a webhook' }).click();
      const dialog = page.getByRole('alertdialog', { name: 'Copy the signing secret' });
      t.match(await dialog.locator('pre').textContent(), /^whsec_/);
      await dialog.getByRole('button', { name: 'I have kept it' }).click();
      await page.getByRole('heading', { name: target }).waitFor();
      await page.getByText('No deliveries yet').waitFor();

      await page.getByRole('button', { name: 'Send a test event' }).click();
      await page.getByRole('status').getByText('Test event: failed, 500').waitFor();
      await app.send();
      const row = page.getByRole('row', { name: /email\.queued/ });
      while ((await row.count()) === 0) {
        await page.reload();
        await page.getByRole('heading', { name: 'Deliveries' }).waitFor();
        await page.getByRole('table').or(page.getByText('No deliveries yet')).first().waitFor();
      }
      await row.getByText(/^500 in/).click();
      await row.getByText('the shop is closed <b>now</b>').waitFor();
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'webhooks-one');

      status = 200;
      const before = posted.length;
      await row.getByRole('button', { name: /^Try again/ }).click();
      await page.getByRole('status').getByText('is posted again').waitFor();
      const success = page.getByRole('row', { name: /email\.queued success/ });
      while ((await success.count()) === 0) {
        await page.reload();
        await page.getByRole('table').first().waitFor();
      }
      t.ok(posted.length > before, 'the endpoint got it');
      const queued = posted.filter((body) => body.includes('"event":"email.queued"'));
      t.ok(queued.length > 1 && new Set(queued).size === 1, 'the same body');
      await page.getByRole('button', { name: 'Show the events' }).click();
      await page
        .getByRole('table', { name: 'events' })
        .getByRole('row', { name: /email\.queued/ })
        .waitFor();
    });
  });

  await t.test('its secret is rotated, it is deleted, and restored', async (t) => {
    await visit(t, {}, async (page) => {
      await signIn(page, '/app/webhooks');
      await page.getByRole('link', { name: target }).click();
      await page.getByRole('button', { name: 'Rotate the secret' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Rotate the secret' }).click();
      const dialog = page.getByRole('alertdialog', { name: 'Copy the new signing secret' });
      t.match(await dialog.locator('pre').textContent(), /^whsec_/);
      await dialog.getByRole('button', { name: 'I have kept it' }).click();
      await page.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog', { name: 'Delete this webhook?' }).getByText(target).waitFor();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await page.waitForURL(`${url}/app/webhooks`);
      await page.getByRole('status').getByText('is deleted').waitFor();
      await page.getByLabel('Show').selectOption('deleted');
      await page.waitForURL(`${url}/app/webhooks?deleted=true`);
      await page.getByRole('button', { name: `Restore: ${target}` }).click();
      await page.getByRole('heading', { name: /No webhook matches/ }).waitFor();
      await page.getByRole('link', { name: 'Clear the filters' }).click();
      await page.getByRole('link', { name: target }).waitFor();
    });
    const { body } = await app.call<{ data: { url: string }[] }>('GET', '/api/v1/webhook-subscriptions');
    t.equal(assertDefined(body.data[0], 'the webhook').url, target);
  });
});
