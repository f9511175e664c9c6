/** The start page in a browser: first steps, the queue, figures with their tables and files, filters, roles, faults. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Locator, Page } from 'playwright-core';
import t from 'tap';
import { firstTeam } from '../../src/commands/core/caller.js';
import { assertDefined } from '../../src/domain/core/ids.js';
import { PASSWORD, signedIn } from '../support/people.js';
import { eventually } from '../support/wait.js';
import { openDashboard, OWNER, PHONE, picture, violationsEverywhere, WIDE, withoutChromium } from './browser.js';

t.setTimeout(300_000);

const HOSTILE = '=1+1<img src=x onerror="window.hacked=1">';
const DELIVERED = 3;

const today = () => new Date().toISOString().slice(0, 10);

const mail = (email: string, more: object = {}) => ({
  templateId: 'sign-in-code',
  to: [{ email }],
  variables: { code: '482913', firstName: 'Ada', minutesValid: 10 },
  ...more,
});

const section = (page: Page, name: string): Locator => page.getByRole('region', { name, exact: true });
/** A figure of the page: its name, its value and what it means. */
const tile = (page: Page, part: string, name: string): Locator =>
  section(page, part)
    .locator('dl > div')
    .filter({ has: page.locator('dt').getByText(name, { exact: true }) });
const step = (page: Page, title: string): Locator => page.getByRole('listitem').filter({ hasText: title });

void t.test('the start page', { skip: withoutChromium }, async (t) => {
  const endpoint = createServer((request, response) => {
    request.resume().on('end', () => response.end('thank you'));
  });
  await new Promise<void>((done) => endpoint.listen(0, '127.0.0.1', done));
  t.teardown(() => new Promise((done) => endpoint.close(done)));
  const target = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/hook`;
  const { app, url, visit, signIn } = await openDashboard(t, {
    settings: { SEALPOST_WEBHOOK_INSECURE_HOSTS: '127.0.0.1' },
  });
  const teamId = assertDefined(await firstTeam(app.engine), 'first team');
  const start = `${url}/app/`;
  const opened = (page: Page) => page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  /** The browser has the session; the page is opened anew. */
  const open = async (page: Page, query = ''): Promise<void> => {
    await page.goto(`${start}${query}`);
    await opened(page);
  };
  const delivered = async (): Promise<number> => {
    const { body } = await app.call<{ totals: { delivered: number } }>(
      'GET',
      '/api/analytics/overview?tag=order&startDate=2026-01-01',
    );
    return body.totals.delivered;
  };

  await t.test('first steps tick themselves, and fold away', async (t) => {
    await visit(t, {}, async (page) => {
      await signIn(page, '/app');
      await opened(page);
      t.equal(
        await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').first().textContent(),
        'Overview',
        'the first page of the navigation',
      );
      const list = section(page, 'First steps 2 of 5 done');
      await list.waitFor();
      const isDone = (title: string) => step(page, title).getByRole('img', { name: 'Done', exact: true });
      const isOpen = (title: string) => step(page, title).getByRole('img', { name: 'Not done yet' });
      await isDone('Mail goes to the built-in mailbox').waitFor();
      await isDone('Have a template').waitFor();
      await isOpen('Send the first mail').waitFor();
      await isOpen('Verify your sender domain').waitFor();
      t.equal(await step(page, 'Verify').getByRole('link').getAttribute('href'), '/app/domains/new');
      await page.getByText('Nothing happened in these days').waitFor();
      await page.getByText('No email with a tag was sent.').waitFor();
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'overview-first');

      await app.call('POST', '/api/emails/send', mail('success@simulator.sealpost', { tags: ['order'] }));
      await eventually('an email is delivered', async () => ((await delivered()) === 1 ? true : undefined));
      const { body: webhook } = await app.call<{ id: string }>('POST', '/api/v1/webhook-subscriptions', {
        url: target,
        events: ['email.delivered'],
      });
      await page.reload();
      await isDone('Send the first mail').waitFor();
      await isOpen('Hear of bounces by a webhook').waitFor();
      await page.getByText('your program has answered no event with success yet').waitFor();
      t.equal(
        await step(page, 'webhook').getByRole('link', { name: 'The webhook' }).getAttribute('href'),
        `/app/webhooks/${webhook.id}`,
      );
      await app.call('POST', '/api/emails/send', mail('success@simulator.sealpost'));
      await eventually('the endpoint has answered', async () => {
        const path = `/api/v1/webhook-subscriptions/${webhook.id}/deliveries?status=success`;
        const { body } = await app.call<{ deliveries: readonly unknown[] }>('GET', path);
        return body.deliveries.length > 0 ? true : undefined;
      });
      await page.reload();
      await isDone('Hear of bounces by a webhook').waitFor();
      await section(page, 'First steps 4 of 5 done').waitFor();

      await page.getByRole('button', { name: 'Hide the first steps' }).click();
      await page.getByRole('button', { name: 'First steps' }).waitFor();
      await page.reload();
      await page.getByRole('button', { name: 'First steps' }).click();
      await isDone('Have a template').waitFor();

      // A domain is verified by DNS, which this answer stands for.
      const domain = { id: 'dom-1', domain: 'shop.example', status: 'verified' };
      await page.route('**/api/domains', (route) => route.fulfill({ json: { data: [domain] } }));
      await page.evaluate('localStorage.clear()');
      await page.reload();
      await opened(page);
      await page.getByRole('button', { name: 'First steps' }).click();
      await section(page, 'First steps 5 of 5 done').waitFor();
    });
  });

  for (let count = 1; count < DELIVERED; count += 1)
    await app.call('POST', '/api/emails/send', mail('success@simulator.sealpost', { tags: ['order', '-1'] }));
  const schema = {
    sections: [{ id: 'main', type: 'main', components: [{ id: 'text', type: 'rich-text', content: '<p>Hello</p>' }] }],
  };
  const hostile = { name: HOSTILE, subject: 'Hello', variables: [], schema, publish: true };
  const made = await app.call<{ id: string }>('POST', '/api/templates', hostile);
  t.equal(made.status, 201, made.text);
  await app.call('POST', '/api/emails/send', mail('kim@gmail.com', { tags: ['news'], templateId: made.body.id }));
  await app.call('POST', '/api/emails/send', {
    content: { subject: 'Invoice', html: '<p>Hello</p>' },
    to: [{ email: 'bounce@simulator.sealpost' }],
    tags: ['news'],
  });
  await eventually('all are delivered or bounced', async () => {
    const { body } = await app.call<{ totals: Readonly<Record<string, number>> }>(
      'GET',
      '/api/analytics/overview?tag=news',
    );
    return body.totals['bounced'] === 1 && body.totals['delivered'] === 1 && (await delivered()) === DELIVERED
      ? true
      : undefined;
  });

  await t.test('figures of a tag, a template and a domain, each an address', async (t) => {
    await visit(t, {}, async (page) => {
      await signIn(page, '/app?tag=order');
      await opened(page);
      await page.getByText('Emails with the tag order').waitFor();
      const value = async (name: string) => tile(page, 'Figures', name).locator('dd').first().textContent();
      t.equal(await value('Delivered'), String(DELIVERED));
      t.match(await tile(page, 'Figures', 'Delivered').textContent(), /100% of sent0 in the 30 days before/);
      t.match(await tile(page, 'Figures', 'Opened').textContent(), /Unknown: no email was sent with tracking of opens/);
      t.equal(await page.getByLabel('Emails', { exact: true }).inputValue(), 'tag:order');

      await section(page, 'Tags').getByRole('link', { name: 'news' }).first().click();
      await page.waitForURL(`${start}?tag=news`);
      await page.getByText('Emails with the tag news').waitFor();
      t.equal(await value('Bounced'), '1');
      t.match(await tile(page, 'Figures', 'Bounced').textContent(), /50% of those that ended/);

      await page.getByLabel('Emails', { exact: true }).selectOption({ label: 'gmail.com' });
      await page.waitForURL(`${start}?domain=gmail.com`);
      await page.getByText('Recipients at gmail.com, not emails').waitFor();
      t.equal(await value('Delivered'), '1');
      t.match(await tile(page, 'Figures', 'Opened').textContent(), /Not counted by domain/);
      t.equal(await page.getByRole('figure', { name: 'Opened and clicked' }).count(), 0);

      await section(page, 'Templates').getByRole('link', { name: 'Content of the call' }).first().click();
      await page.waitForURL(`${start}?template=inline`);
      await page.getByText('Emails of the template Content of the call').waitFor();
      t.equal(await value('Bounced'), '1');
      t.equal(await value('Delivered'), '0');

      await page.getByRole('link', { name: 'Today' }).click();
      await page.waitForURL(`${start}?days=1&template=inline`);
      await page.getByText('on the day before').first().waitFor();
      await page.goBack();
      await page.waitForURL(`${start}?template=inline`);
      await page.getByLabel('Emails', { exact: true }).selectOption({ label: 'All emails' });
      await page.waitForURL(start);
      await page.getByRole('link', { name: '90 days' }).click();
      await page.waitForURL(`${start}?days=90`);
      await page.getByRole('link', { name: 'Other days' }).click();
      await page.waitForURL(/from=/);
      await page.getByLabel('From').fill('2021-12-01');
      await page.getByRole('button', { name: 'Show' }).click();
      await page.waitForURL(`${start}?from=2021-12-01&to=${today()}`);
      await page.getByText('These lists take at most 366 days').waitFor();
      await page
        .getByRole('figure', { name: 'Sent and delivered' })
        .getByRole('button', { name: /^Table/ })
        .click();
      await page.getByRole('columnheader', { name: 'Month' }).waitFor();
      t.same(await violationsEverywhere(page), []);
    });
  });

  await t.test('behind each chart stands a table, and figures are files', async (t) => {
    await visit(t, {}, async (page) => {
      await signIn(page, '/app?days=7');
      await opened(page);
      const chart = page.getByRole('figure', { name: 'Sent and delivered' });
      const drawing = chart.getByRole('img', { name: /^Sent and delivered by day, .* sent, .* delivered/ });
      await drawing.locator('canvas').waitFor();
      const drawn = (): Promise<string> => page.evaluate('document.querySelector("canvas").toDataURL()');
      const light = await drawn();
      await page.emulateMedia({ colorScheme: 'dark' });
      await eventually('it is drawn in the colours of the dark theme', async () =>
        (await drawn()) === light ? undefined : true,
      );
      await page.emulateMedia({ colorScheme: 'light' });
      await page.setViewportSize(PHONE);
      await eventually('it fits a phone', async () =>
        ((await drawing.locator('canvas').boundingBox())?.width ?? PHONE.width) < PHONE.width ? true : undefined,
      );
      t.ok(await page.evaluate('document.getElementById("page").scrollWidth <= 360'), 'nothing is cut off');
      await picture(page, 'overview-phone');
      await page.setViewportSize(WIDE);
      await chart.hover();
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'overview');

      await chart.getByRole('button', { name: 'Table: Sent and delivered' }).focus();
      await page.keyboard.press('Enter');
      const rows = chart.getByRole('table').getByRole('row');
      t.equal(await rows.count(), 8, 'a head, and a row for each day');
      const { body } = await app.call<{ data: readonly Readonly<{ sent: number; delivered: number }>[] }>(
        'GET',
        `/api/analytics/timeseries?startDate=${today()}`,
      );
      const [last] = body.data;
      t.same((await rows.last().getByRole('cell').allTextContents()).map(Number), [last?.sent, last?.delivered]);

      const fileOf = async (button: Locator): Promise<readonly [name: string, text: string]> => {
        const [file] = await Promise.all([page.waitForEvent('download'), button.click()]);
        return [file.suggestedFilename(), readFileSync(await file.path(), 'utf8').replace('\uFEFF', '')];
      };
      const [name, text] = await fileOf(page.getByRole('button', { name: 'CSV of these figures' }));
      t.match(name, /^figures-\d{4}-\d\d-\d\d-to-\d{4}-\d\d-\d\d\.csv$/);
      const lines = text.trim().split('\r\n');
      t.equal(lines.length, 8);
      t.match(lines[0], /^startDate,endDate,accepted,sent,delivered,opened,clicked,bounced,/);
      t.match(lines.at(-1), new RegExp(`^${today()},${today()},\\d+,${last?.sent},${last?.delivered},0,0,1,`));
      const [, tags] = await fileOf(page.getByRole('button', { name: 'CSV: Tags' }));
      t.match(tags, "\r\n'-1,'-1,", 'no cell is a formula');
      const [, templates] = await fileOf(page.getByRole('button', { name: 'CSV: Templates' }));
      t.match(templates, `"'${HOSTILE.replaceAll('"', '""')}"`);
      await section(page, 'Templates').getByRole('link', { name: HOSTILE }).first().click();
      await page.waitForURL(/template=/);
      await page.getByText(`Emails of the template ${HOSTILE}`).waitFor();
      t.equal(await page.evaluate('window.hacked'), undefined);
    });
  });

  await t.test('the queue is told as it changes', async (t) => {
    await visit(t, { expected: /ERR_FAILED/ }, async (page) => {
      await signIn(page, '/app');
      await page.getByText('Live', { exact: true }).waitFor();
      await tile(page, 'Queue', 'Scheduled').getByText('0', { exact: true }).waitFor();
      const later = { scheduledAt: new Date(Date.now() + 86_400_000).toISOString() };
      await app.call('POST', '/api/emails/send', mail('later@example.com', later));
      await tile(page, 'Queue', 'Scheduled').getByRole('link', { name: '1', exact: true }).click();
      await page.waitForURL(`${url}/app/emails?status=scheduled`);
      await page.getByText('later@example.com').waitFor();

      await page.route('**/api/stream**', (route) => route.abort());
      const stats = (await app.call('GET', '/api/emails/queue/stats')).body;
      const waits = { ...stats, depth: 1_234, oldestAgeSeconds: 3_725, ratePerMinute: 0, estimatedSeconds: null };
      await page.route('**/api/emails/queue/stats', (route) => route.fulfill({ json: { ...waits, held: 5 } }));
      await open(page);
      await page.getByText('Not live').waitFor();
      await tile(page, 'Queue', 'Waiting').getByText('1,234').waitFor();
      await tile(page, 'Queue', 'Longest wait').getByText('1 hr 2 min').waitFor();
      await tile(page, 'Queue', 'Rate (5 minutes)').getByText('Unknown how long it takes: nothing leaves').waitFor();
      await tile(page, 'Queue', 'Held back').getByText('The relay takes no mail at the moment').waitFor();
    });
  });

  await t.test('addresses with a fault, and an API that fails', async (t) => {
    await visit(t, { expected: /status of (?:400|500)|ERR_FAILED/ }, async (page) => {
      await signIn(page, '/app');
      for (const [query, fault] of [
        ['?from=2026-02-30', /2026-02-30 is no day/],
        ['?from=2026-03-02&to=2026-03-01', /first day lies after the last/],
        ['?from=1990-01-01', /at most 1,827 days/],
        ['?days=8', /Choose the last 1, 7, 30, 90 days/],
        ['?tag=a&domain=gmail.com', /each alone/],
        ['?domain=kims-own.example', /is no mailbox provider/],
        ['?template=nonsense', /templateId/],
      ] as const) {
        await open(page, query);
        await section(page, 'Figures').getByRole('alert').getByText(fault).waitFor();
      }
      const fault = { statusCode: 500, code: 'INTERNAL_ERROR', message: 'Something broke.', requestId: 'r-1' };
      await page.route('**/api/analytics/**', (route) => route.fulfill({ status: 500, json: fault }));
      await page.route('**/api/domains', (route) => route.fulfill({ status: 500, json: fault }));
      await open(page);
      await section(page, 'Figures').getByRole('alert').getByText('Something broke.').waitFor();
      await tile(page, 'Queue', 'Waiting').waitFor();
      await step(page, 'Verify your sender domain').getByRole('img', { name: 'Unknown' }).waitFor();
      t.same(await violationsEverywhere(page), []);
      await page.unroute('**/api/analytics/**');
      await section(page, 'Figures').getByRole('button', { name: 'Try again' }).click();
      await page.getByText('All emails of the team').waitFor();
    });
  });

  await t.test('roles see what they may', async (t) => {
    await signedIn(app.engine, { email: 'viewer@example.com', name: 'Vera', role: 'viewer', teamId });
    await app.whenCaughtUp();
    await visit(t, {}, async (page) => {
      await page.goto(start);
      await page.getByLabel('Email address').fill('viewer@example.com');
      await page.getByLabel('Password').fill(PASSWORD);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await opened(page);
      await tile(page, 'Figures', 'Delivered').waitFor();
      t.equal(await page.getByText('First steps').count(), 0, 'nothing that a viewer may do');
    });
    await visit(t, {}, async (page) => {
      const asked: string[] = [];
      await page.route('**/api/teams?**', async (route) => {
        const answer = await route.fetch();
        const teams = (await answer.json()) as { data: { permissions: string[] }[] };
        for (const team of teams.data) team.permissions = team.permissions.filter((one) => one !== 'analytics:read');
        await route.fulfill({ json: teams });
      });
      page.on('request', (request) => {
        if (/analytics|queue\/stats|summary|topics=[^&]*queue/.test(request.url())) asked.push(request.url());
      });
      await signIn(page, '/app');
      await page.getByRole('heading', { name: 'You may not see figures' }).waitFor();
      await page.getByText('Live', { exact: true }).waitFor();
      t.same(asked, [], 'nothing is asked for that would be refused');
      t.same(await violationsEverywhere(page), []);
    });
  });

  await t.test('a browser in another language shows the pages', async (t) => {
    for (const locale of ['de-DE', 'ar-EG', 'ja'])
      await visit(t, { locale }, async (page) => {
        await signIn(page, '/app?tag=order');
        await page.getByText('Emails with the tag order').waitFor();
        await page
          .getByRole('figure')
          .first()
          .getByRole('button', { name: /^Table/ })
          .click();
        await page.getByRole('link', { name: 'Emails', exact: true }).first().click();
        await page.getByRole('grid', { name: 'Emails' }).getByRole('row').nth(1).waitFor();
        await page.getByRole('button', { name: /^Account of/ }).click();
        await page.getByRole('menuitem', { name: 'Sign out' }).waitFor();
        t.equal(await page.evaluate('document.dir'), '', 'it reads from left to right');
      });
  });

  await t.test('a team of its own has figures and steps of its own', async (t) => {
    const { body } = await app.call<{ accessToken: string }>('POST', '/api/auth/login', {
      email: OWNER.email,
      password: OWNER.password,
    });
    const headers = { authorization: `Bearer ${body.accessToken}` };
    const team = { name: 'A team of its own', defaultFrom: { email: 'hello@example.com' } };
    const made = await app.call<{ id: string }>('POST', '/api/teams', team, headers);
    await app.whenCaughtUp();
    await visit(t, {}, async (page) => {
      await signIn(page, `/app?team=${made.body.id}`);
      await section(page, 'First steps 1 of 5 done').waitFor();
      await page.getByText('Nothing happened in these days').waitFor();
      await page.getByRole('link', { name: '7 days', exact: true }).click();
      await page.waitForURL(`${start}?days=7&team=${made.body.id}`);
    });
  });
});
