/** The list of emails in a browser: search, tabs, more rows, new emails, faults of the API, hostile texts, a phone. */
import type { Page } from 'playwright-core';
import t from 'tap';
import type { EmailCounts } from '../../src/api/email.js';
import type { TestApp } from '../support/app.js';
import { eventually } from '../support/wait.js';
import { openDashboard, OWNER, PHONE, picture, violationsEverywhere, withoutChromium } from './browser.js';

t.setTimeout(300_000);

const BULK = 120;
const SEEN_WITHIN_MS = 20_000;
const HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';

const content = (subject: string) => ({ subject, html: '<p>Hello</p>' });

const send = (app: TestApp, subject: string, email: string, more: object = {}) =>
  app.call('POST', '/api/emails/send', { content: content(subject), to: [{ email }], ...more });

/** Emails of several states, the newest first: those by name, and before them a bulk send. */
const seed = async (app: TestApp): Promise<void> => {
  const recipients = Array.from({ length: BULK }, (_, n) => ({ email: `success+${n}@simulator.sealpost` }));
  await app.call('POST', '/api/emails/send/bulk', { content: content('A letter to many'), recipients });
  await send(app, 'Invoice 4711', 'bounce@simulator.sealpost', { tags: ['invoice', 'a-long-tag-that-is-cut'] });
  await send(app, HOSTILE, 'success@simulator.sealpost', { tags: ['hostile'], metadata: { orderId: 4711 } });
  await send(app, 'ברוכים הבאים (שלום', 'complaint@simulator.sealpost');
  await send(app, 'Later', 'kim@example.com', { scheduledAt: new Date(Date.now() + 86_400_000).toISOString() });
  await eventually('the simulator has answered', async () => {
    const { body } = await app.call<EmailCounts>('GET', '/api/emails/counts');
    const { delivered = 0, bounced = 0, complained = 0, queued = 0, processing = 0 } = body.counts;
    // The mail about the sign-in of the owner is there, too.
    return delivered > BULK && bounced + complained === 2 && queued + processing === 0 ? true : undefined;
  });
};

const login = { email: OWNER.email, password: OWNER.password };

const rows = (page: Page) => page.getByRole('grid', { name: 'Emails' }).getByRole('row');
const rowWith = (page: Page, subject: string, status: string) =>
  rows(page).filter({ hasText: subject }).filter({ hasText: status });
const search = async (page: Page, words: string): Promise<void> => {
  await page.getByRole('searchbox').fill(words);
  await page.getByRole('searchbox').press('Enter');
};

void t.test('the list of emails', { skip: withoutChromium }, async (t) => {
  const { app, url, visit, signIn } = await openDashboard(t);

  await seed(app);

  await t.test('tabs, rows, and more of them while one scrolls', async (t) => {
    await visit(t, {}, async (page) => {
      await signIn(page);
      await rows(page).nth(5).waitFor();
      const { body } = await app.call<EmailCounts>('GET', '/api/emails/counts?status=complained,bounced');
      t.match(body.counts, { complained: 1, bounced: 1 });
      for (const name of ['Complained 1', 'Bounced 1', 'Scheduled 1', 'Failed 0'])
        await page.getByRole('link', { name, exact: true }).waitFor();
      t.ok((await rows(page).count()) < 40, 'only rows in sight are in the page');
      await picture(page, 'emails');
      await eventually(
        'the last row is shown',
        async () => {
          await page.evaluate("document.querySelector('[role=grid]').scrollTo(0, 1e9)");
          return (await page.getByText('success+0@simulator.sealpost').count()) > 0 ? true : undefined;
        },
        SEEN_WITHIN_MS,
      );
      await page.getByRole('link', { name: /^Bounced 1/ }).click();
      await page.waitForURL(`${url}/app/emails?status=bounced`);
      await page.getByText('Invoice 4711').waitFor();
      t.equal(await rows(page).count(), 2, 'the header and one email');
      await page.goBack();
      await page.waitForURL(`${url}/app/emails`);
      await rows(page).nth(5).waitFor();
      t.same(await violationsEverywhere(page), []);
    });
  });

  await t.test('one box searches by words and by text', async (t) => {
    await visit(t, {}, async (page) => {
      await signIn(page);
      const finds = async (words: string, count: number): Promise<void> => {
        await search(page, words);
        await eventually(
          `${words} finds ${count}`,
          async () => ((await rows(page).count()) - 1 === count ? true : undefined),
          SEEN_WITHIN_MS,
        );
      };
      await finds('to:kim@example.com', 1);
      t.equal(page.url(), `${url}/app/emails?to=kim%40example.com`);
      await finds('tag:invoice status:bounced,failed', 1);
      await finds('invoice', 1);
      await finds('meta:orderId=4711', 1);
      await finds('from:elsewhere.example copy:bounced', -1);
      await page.getByRole('heading', { name: 'No email matches' }).waitFor();
      await picture(page, 'emails-none');
      await page.getByRole('button', { name: 'Clear the filters' }).click();
      await page.waitForURL(`${url}/app/emails`);
      for (const [words, fault] of [
        ['to:kim', /takes a whole address/],
        ['status:lost', /There is no status lost/],
        ['after:yesterday', /takes a day/],
        ['x', /at least two characters/],
      ] as const) {
        await search(page, words);
        await page.getByText(fault).waitFor();
      }
      await page.getByRole('button', { name: 'Words of the search' }).click();
      await page.getByRole('dialog').getByText('meta:orderId=4711').waitFor();
      await picture(page, 'emails-help');
      t.same(await violationsEverywhere(page), []);
    });
  });

  await t.test('new emails are told as they come, and nothing jumps', async (t) => {
    for (const path of ['/app/emails', '/app/emails?tag=fresh'])
      await visit(t, {}, async (page) => {
        await signIn(page, path);
        await page.getByText('Live', { exact: true }).waitFor();
        const subject = (n: number): string => `${path.includes('tag') ? 'Tagged' : 'Fresh'} ${n}`;
        for (const n of [1, 2, 3])
          await send(app, subject(n), `success+${n}@simulator.sealpost`, {
            tags: path.includes('tag') ? ['fresh'] : [],
          });
        await page.getByRole('button', { name: '3 new' }).waitFor();
        t.equal(await page.getByText(subject(1)).count(), 0);
        await page.getByRole('button', { name: '3 new' }).click();
        await page.getByText(subject(1)).waitFor();
        t.equal(await page.getByRole('button', { name: /new$/ }).count(), 0);
        await rowWith(page, subject(3), 'delivered').waitFor();
      });
  });

  await t.test('a row changes in place, and a deleted one goes', async (t) => {
    const { body } = await send(app, 'A change of mind', 'kim@example.com', {
      scheduledAt: new Date(Date.now() + 86_400_000).toISOString(),
    });
    const { id } = body as Readonly<{ id: string }>;
    await visit(t, {}, async (page) => {
      await signIn(page, '/app/emails?status=scheduled');
      await page.getByText('Live', { exact: true }).waitFor();
      await rowWith(page, 'A change of mind', 'scheduled').waitFor();
      await app.call('POST', `/api/emails/${id}/cancel`);
      await rowWith(page, 'A change of mind', 'cancelled').waitFor();
      await app.call('DELETE', `/api/emails/${id}`);
      await page.getByText('A change of mind').waitFor({ state: 'detached' });
    });
  });

  await t.test('seven tabs share one stream, which another tab takes over', async (t) => {
    await visit(t, {}, async (first) => {
      const context = first.context();
      let streams = 0;
      context.on('request', (request) => {
        if (request.url().includes('/api/stream')) streams += 1;
      });
      await signIn(first);
      await first.getByText('Live', { exact: true }).waitFor();
      const others: Page[] = [];
      for (let n = 0; n < 6; n += 1) {
        const page = await context.newPage();
        others.push(page);
        await page.goto(`${url}/app/emails`);
        await page.getByText('Live', { exact: true }).waitFor();
      }
      t.equal(streams, 1);
      await send(app, 'To all tabs', 'success@simulator.sealpost');
      for (const page of [first, ...others]) await page.getByRole('button', { name: '1 new' }).waitFor();
      await first.close();
      await eventually('another tab opens the stream', () => (streams === 2 ? true : undefined), SEEN_WITHIN_MS);
      await send(app, 'To the others', 'success@simulator.sealpost');
      for (const page of others) await page.getByRole('button', { name: '2 new' }).waitFor();
      t.equal(streams, 2);
    });
  });

  await t.test('texts of strangers are texts', async (t) => {
    await visit(t, {}, async (page) => {
      await signIn(page, '/app/emails?tag=hostile');
      await page.getByText(HOSTILE).waitFor();
      t.equal(await page.evaluate('window.hacked'), undefined);
      await search(page, HOSTILE.replaceAll('"', ''));
      await page.waitForURL(/q=/);
      t.equal(await page.evaluate('window.hacked'), undefined);
    });
  });

  await t.test('an API that fails is told, and tried again', async (t) => {
    await visit(t, { expected: /status of (?:500|429)|ERR_FAILED/ }, async (page) => {
      await signIn(page, '/app/emails?status=cancelled');
      await page.getByRole('heading', { name: 'No email matches' }).waitFor();
      const fault = { statusCode: 500, code: 'INTERNAL_ERROR', message: 'Something broke.', requestId: 'r-1' };
      await page.route('**/api/emails?**', (route) => route.fulfill({ status: 500, json: fault }));
      await page.getByRole('link', { name: /^Sent/ }).click();
      const alert = page.getByRole('alert');
      await alert.getByText('Something broke.').waitFor();
      await alert.getByText('r-1').waitFor();
      await picture(page, 'emails-fault');
      t.same(await violationsEverywhere(page), []);
      await page.unroute('**/api/emails?**');
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByRole('heading', { name: 'No email matches' }).waitFor();
      await page.route('**/api/emails?**', (route) => route.fulfill({ status: 502, body: '<html>' }));
      await page.route('**/api/emails/counts**', (route) => route.abort());
    });
  });

  await t.test('a phone', async (t) => {
    await visit(t, { viewport: PHONE }, async (page) => {
      await signIn(page, '/app/emails?tag=invoice');
      await page.getByText('Invoice 4711').waitFor();
      t.equal(await page.evaluate('document.documentElement.scrollWidth'), PHONE.width, 'nothing is wider');
      await picture(page, 'emails-phone');
      await page.getByRole('button', { name: 'Navigation' }).click();
      const drawer = page.getByRole('dialog', { name: 'Navigation' });
      await drawer.getByRole('link', { name: 'Mailbox' }).waitFor();
      await picture(page, 'navigation-phone');
      await drawer.getByRole('link', { name: 'Emails' }).click();
      await drawer.waitFor({ state: 'detached' });
    });
  });

  await t.test('a team without emails', async (t) => {
    const { body } = await app.call<{ accessToken: string }>('POST', '/api/auth/login', login);
    const headers = { authorization: `Bearer ${body.accessToken}` };
    const team = { name: 'A team of its own', defaultFrom: { email: 'hello@example.com' } };
    t.equal((await app.call('POST', '/api/teams', team, headers)).status, 201);
    await app.whenCaughtUp();
    await visit(t, {}, async (page) => {
      await signIn(page);
      await page.getByRole('button', { name: /^Team / }).click();
      await page.getByRole('menuitemradio', { name: team.name }).click();
      await page.getByRole('heading', { name: 'No emails yet' }).waitFor();
      t.match(page.url(), /\/app\/emails\?team=[0-9a-f-]{36}$/, 'the address names the team');
      t.same(await violationsEverywhere(page), []);
      await page.getByRole('link', { name: /^Failed/ }).click();
      await page.waitForURL(/status=failed/);
      t.match(page.url(), /team=/, 'links go on with the team');
      await page.goto(`${url}/app/emails?team=00000000-0000-4000-8000-000000000000`);
      await page.getByRole('heading', { name: 'You are not in this team' }).waitFor();
    });
  });
});
