/** The page of one email and the page of one address in a browser: what they show, the acts, hostile mails. */
import ExcelJs from 'exceljs';
import type { Page } from 'playwright-core';
import t from 'tap';
import { firstTeam } from '../../src/commands/core/caller.js';
import { assertDefined } from '../../src/domain/core/ids.js';
import type { TestApp } from '../support/app.js';
import { said } from '../support/email-facts.js';
import { mailerBy } from '../support/mailers.js';
import { addMember, signedIn } from '../support/people.js';
import { eventually } from '../support/wait.js';
import {
  openDashboard,
  OWNER,
  PHONE,
  picture,
  violationsEverywhere,
  violationsOf,
  WIDE,
  withoutChromium,
} from './browser.js';

t.setTimeout(600_000);

const HOSTILE_SUBJECT = `<script>window.hacked=1</script>\u202e${'W'.repeat(400)}`;
const HOSTILE_NAME = '"><img src=x onerror="window.hacked=1">';

/** HTML that would run, load or lead somewhere if it could. */
const hostile = [
  '<script>top.hacked=1;parent.hacked=1</script><p>after a script</p>',
  '<img src=x onerror="parent.hacked=1"><svg onload="parent.hacked=1"><script>parent.hacked=1</script></svg>',
  '<meta http-equiv="refresh" content="0;url=https://evil.example/"><link rel="stylesheet" href="https://evil.example/a.css">',
  '<base href="https://evil.example/"><img src="pixel.gif"><img src="https://evil.example/pixel.gif">',
  '<style>@import "https://evil.example/b.css"; body{background:url(https://evil.example/c.png)} p{background:u\\72l(//evil.example/d)}</style><p style="background:&#117;rl(https://evil.example/e.png)">x</p>',
  '<iframe src="https://evil.example/"></iframe><object data="https://evil.example/"></object><embed src="https://evil.example/">',
  '<form action="https://evil.example/"><input autofocus onfocus="parent.hacked=1"><button>go</button></form>',
  '<video poster="https://evil.example/p.png" src="https://evil.example/v.mp4" autoplay></video><audio src="https://evil.example/a"></audio>',
  '<a href="javascript:parent.hacked=1">x</a><a href="data:text/html,<script>alert(1)</script>" target="_top">y</a>',
  '<div style="position:fixed;inset:0;z-index:9999;background:red">over everything</div>',
  '<body background="https://evil.example/b.png" onload="parent.hacked=1"><table background=//evil.example/t.png><td>x',
  '<p title="--><img src=x onerror=parent.hacked=1>">a</p><!--><img src=x onerror=parent.hacked=1>--><textarea><img src=x onerror=parent.hacked=1></textarea>',
  '<picture><source srcset="https://evil.example/s.png 2x"><img srcset="https://evil.example/s.png" alt="set"></picture>',
  '<svg><image href="https://evil.example/i.png"/><use xlink:href="https://evil.example/u.svg#a"/><style>@import url(//evil.example/s)</style></svg>',
  '<svg><style><img src="https://evil.example/f.png" onerror="parent.hacked=1"></style><textarea><img src="https://evil.example/g.png"></textarea></svg>',
  '<math><mtext></p><style><img src=x onerror=parent.hacked=1></style></mtext></math><noscript><img src="https://evil.example/n.png"></noscript>',
];

/** One page with a word on it. */
const pdf = Buffer.from(
  [
    '%PDF-1.4',
    '1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj',
    '2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj',
    '3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>endobj',
    '4 0 obj<</Length 40>>stream',
    'BT /F 24 Tf 40 100 Td (Invoice) Tj ET   ',
    'endstream endobj',
    'trailer<</Root 1 0 R>>',
    '%%EOF',
  ].join('\n'),
).toString('base64');
const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

const workbook = async (): Promise<string> => {
  const book = new ExcelJs.Workbook();
  const orders = book.addWorksheet('Orders');
  orders.addRow(['Order', 'Sum', 'At']);
  orders.addRow(['=1+1 <b>', 1_234.5, new Date(Date.UTC(2026, 0, 2))]);
  book.addWorksheet('Customers').addRow(['Kim']);
  return Buffer.from(await book.xlsx.writeBuffer()).toString('base64');
};

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mP8z8Dwn4GIwDiqkL4KAcT9BAHdoWy1AAAAAElFTkSuQmCC';

const send = async (app: TestApp, subject: string, email: string, more: object = {}): Promise<string> => {
  const content = { subject, html: '<p>Hello <a href="https://shop.example/order?id=1">your order</a></p>' };
  const { body, status } = await app.call<{ id: string }>('POST', '/api/emails/send', {
    content,
    to: [{ email }],
    ...more,
  });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body.id;
};

type Audited = Readonly<{ data: readonly Readonly<{ count: number }>[]; meta: { nextCursor: string | null } }>;

const login = { email: OWNER.email, password: OWNER.password };

const mail = (page: Page) => page.frameLocator('iframe');
const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { name, level: 1 });

void t.test('one email', { skip: withoutChromium }, async (t) => {
  const { app, url, visit, signIn } = await openDashboard(t, {
    mailer: mailerBy(async ({ envelope }) => ({
      host: 'mx.example.com',
      durationMs: 42,
      recipients: envelope.to.map(() => said('refused')),
    })),
  });
  const ofOwner = async (): Promise<Readonly<Record<string, string>>> => {
    const { body } = await app.call<{ accessToken: string }>('POST', '/api/auth/login', login);
    return { authorization: `Bearer ${body.accessToken}` };
  };
  const owner = await ofOwner();
  /** How many entries the audit log has of people who did it; NaN if one counts several times. */
  const timesOf = async (action: string): Promise<number> => {
    await app.whenCaughtUp();
    let times = 0;
    for (let cursor = ''; ;) {
      const path = `/api/audit-logs?action=${action}&actorType=user&limit=100${cursor}`;
      const { body } = await app.call<Audited>('GET', path, undefined, owner);
      times += body.data.reduce((sum, { count }) => sum + (count === 1 ? 1 : Number.NaN), 0);
      if (body.meta.nextCursor === null) return times;
      cursor = `&cursor=${encodeURIComponent(body.meta.nextCursor)}`;
    }
  };

  await t.test('what happened, the mail, its parts', async (t) => {
    const id = await send(app, 'Your order 4711 is on its way', 'success+kim@simulator.sealpost', {
      tags: ['order', 'shipping'],
      to: [{ email: 'success+kim@simulator.sealpost', name: 'Kim Example' }, { email: 'bounce@simulator.sealpost' }],
      cc: [{ email: 'complaint@simulator.sealpost' }],
      content: {
        subject: 'Your order 4711 is on its way',
        html: '<style>body{font-family:sans-serif}@media (prefers-color-scheme: dark){body{background:#222;color:#eee}}</style><h1>Thank you, {{name}}</h1><p>Your parcel left. <a href="https://shop.example/track?id=4711">Track it</a></p><img src="https://shop.example/banner.png" alt="Banner" width="300" height="80"><img src="cid:dot" alt="dot">',
      },
      variables: { name: 'Kim', items: [{ title: 'Tea', price: 4.5 }] },
      metadata: { orderId: 4711 },
      attachments: [
        {
          filename: 'terms.txt',
          contentType: 'text/plain',
          content: Buffer.from('Terms of the shop').toString('base64'),
        },
        { filename: 'invoice.pdf', contentType: 'application/pdf', content: pdf },
        { filename: 'figures.xlsx', contentType: XLSX, content: await workbook() },
        { filename: 'broken.xlsx', contentType: XLSX, content: Buffer.from('PK no archive').toString('base64') },
        { filename: 'dot.png', contentType: 'image/png', content: png, contentId: 'dot' },
      ],
    });
    await eventually('the complaint is there', async () =>
      (await app.email(id)).recipients[2]?.status === 'complained' ? true : undefined,
    );
    await visit(t, {}, async (page) => {
      await signIn(page, '/app/emails');
      await page.getByRole('grid').getByText('Your order 4711 is on its way').click();
      await page.waitForURL(`${url}/app/emails/${id}`);
      await heading(page, 'Your order 4711 is on its way').waitFor();
      t.equal(await page.title(), 'Your order 4711 is on its way · sealpost');
      t.equal(await page.evaluate('document.activeElement.tagName'), 'H1', 'the heading has the focus');
      await mail(page).getByRole('heading', { name: 'Thank you, Kim' }).waitFor();
      t.equal(await mail(page).getByAltText('Banner').getAttribute('src'), null, 'no picture of another host');
      t.match(await mail(page).getByAltText('dot').getAttribute('src'), /^data:image\/png;base64,/);
      await page.getByText('There is no such mailbox.').first().waitFor();
      await page.getByRole('region', { name: 'What happened' }).getByText('Accepted').waitFor();
      await page.getByRole('region', { name: 'What happened' }).getByText('Marked as spam').waitFor();
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'email');

      await page.getByRole('radio', { name: 'Dark' }).click();
      await mail(page).getByRole('heading', { name: 'Thank you, Kim' }).waitFor();
      t.equal(
        await page.frames().at(-1)?.evaluate('getComputedStyle(document.body).backgroundColor'),
        'rgb(34, 34, 34)',
      );
      await page.getByRole('radio', { name: 'Phone' }).click();
      t.equal(await page.evaluate('document.querySelector("iframe").clientWidth'), 390);
      await picture(page, 'email-phone-dark-mail');

      for (const [tab, text] of [
        ['Text', 'Your parcel left.'],
        ['Headers', 'Message-ID'],
        ['Variables', '"orderId": 4711'],
        ['Attachments', 'invoice.pdf'],
      ] as const) {
        await page.getByRole('tab', { name: tab }).click();
        await page.getByRole('tabpanel').getByText(text).first().waitFor();
        t.same(await violationsEverywhere(page), [], tab);
        await picture(page, `email-${tab.toLowerCase()}`);
      }
      await page.getByRole('button', { name: 'Show terms.txt' }).click();
      await page.getByText('Terms of the shop').waitFor();
      await page.getByRole('button', { name: 'Show dot.png' }).click();
      await page.getByRole('img', { name: 'dot.png' }).waitFor();
      await page.getByRole('button', { name: 'Show figures.xlsx' }).click();
      await page.getByRole('region', { name: 'figures.xlsx: Orders' }).getByText('=1+1 <b>').waitFor();
      await page.getByLabel('Sheet').selectOption({ label: 'Customers' });
      await page.getByRole('region', { name: 'figures.xlsx: Customers' }).getByText('Kim').waitFor();
      await page.getByRole('button', { name: 'Show broken.xlsx' }).click();
      await page.getByRole('alert').getByText('The file is no spreadsheet, or it is damaged.').waitFor();
      await page.getByRole('button', { name: 'Show invoice.pdf' }).click();
      t.match(await page.locator('iframe[title="invoice.pdf"]').getAttribute('src'), /^blob:/);
      await picture(page, 'email-attachments');
      const downloading = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Download invoice.pdf' }).click();
      t.equal((await downloading).suggestedFilename(), 'invoice.pdf');
      await page.getByRole('tab', { name: 'Source' }).click();
      await page.getByRole('button', { name: 'Show it' }).click();
      await page.getByText('MIME-Version: 1.0').waitFor();
      await picture(page, 'email-source');
    });
  });

  await t.test('a link of a mail asks before it is followed', async (t) => {
    const id = await send(app, 'With a link', 'success@simulator.sealpost', {
      tracking: { opens: true, clicks: true },
    });
    await app.whenStatus(id, 'delivered');
    await visit(t, {}, async (page) => {
      await signIn(page, `/app/emails/${id}`);
      const opened = page.waitForEvent('popup');
      await mail(page).getByRole('link', { name: 'your order' }).click();
      const asking = await opened;
      await asking.getByRole('heading', { name: 'Follow this link?' }).waitFor();
      await asking.getByText('https://shop.example/order?id=1').waitFor();
      t.same(await violationsEverywhere(asking), []);
      await picture(asking, 'email-link');
      for (const address of ['javascript:alert(1)', 'data:text/html,x', '', '%']) {
        await asking.goto(`${url}/app/leave#${encodeURIComponent(address)}`);
        await asking.getByRole('heading', { name: 'There is no link to follow' }).waitFor();
      }
    });
  });

  await t.test('the stream tells what happens to an open mail, which is not read again for that', async (t) => {
    const scheduledAt = new Date(Date.now() + 86_400_000).toISOString();
    const told = await send(app, 'Told at once', 'kim@example.com', { scheduledAt });
    const later = await send(app, 'Told later', 'kim@example.com', { scheduledAt });
    const gone = await send(app, 'Told gone', 'kim@example.com', { scheduledAt });
    await visit(t, {}, async (page) => {
      let reads = 0;
      page.on('request', (request) => {
        if (/\/api\/emails\/[0-9a-f-]{36}$/.test(request.url())) reads += 1;
      });
      await signIn(page, '/app/emails?status=scheduled');
      await page.getByText('Live', { exact: true }).waitFor();
      await page.getByRole('grid').getByText('Told at once').click();
      await page.getByRole('button', { name: 'Cancel it' }).waitFor();
      await app.call('POST', `/api/emails/${told}/cancel`);
      await page.getByRole('region', { name: 'What happened' }).getByText('Cancelled').waitFor();
      await page.goBack();
      await page.getByRole('grid').getByText('Told later').click();
      await page.getByRole('button', { name: 'Cancel it' }).waitFor();
      const readBefore = reads;
      await page.evaluate('{ const now = Date.now; Date.now = () => now() + 15 * 60_000; }');
      await app.call('POST', `/api/emails/${later}/cancel`);
      await page.getByText('Something happened to this email since you opened it.').waitFor();
      t.equal(await page.getByRole('button', { name: 'Cancel it' }).count(), 0, 'its state is shown');
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'email-behind');
      t.equal(reads, readBefore, 'it was not read again');
      await page.getByRole('button', { name: 'Show what happened' }).click();
      await page.getByRole('region', { name: 'What happened' }).getByText('Cancelled').waitFor();
      await page.goBack();
      await page.getByRole('grid').getByText('Told gone').click();
      await heading(page, 'Told gone').waitFor();
      await app.call('POST', `/api/emails/${gone}/cancel`);
      await page.getByRole('region', { name: 'What happened' }).getByText('Cancelled').waitFor();
      await app.call('DELETE', `/api/emails/${gone}`);
      await page.getByRole('heading', { name: 'There is no such email' }).waitFor();
    });
  });

  await t.test('the states of a mail: archived, confidential, refused, busy, erased', async (t) => {
    const id = await send(app, 'In all states', 'success+erased@simulator.sealpost', {
      to: [{ email: 'success+erased@simulator.sealpost' }, { email: 'success+kept@simulator.sealpost' }],
    });
    const record = await app.whenStatus(id, 'delivered');
    const { body: erasure } = await app.call<{ id: string }>(
      'POST',
      '/api/privacy/erase',
      { email: 'success+erased@simulator.sealpost' },
      await ofOwner(),
    );
    await eventually('the address is erased', async () => {
      const { body } = await app.call<{ completedAt: string | null }>(
        'GET',
        `/api/privacy/erasures/${erasure.id}`,
        undefined,
        owner,
      );
      return body.completedAt ?? undefined;
    });
    await visit(t, { expected: /status of (?:403|404|429)/ }, async (page) => {
      await signIn(page, `/app/emails/${id}`);
      await page.getByRole('region', { name: 'Recipients' }).getByText('erased', { exact: true }).waitFor();
      await heading(page, 'In all states').waitFor();
      t.equal(await page.getByText('success+erased@').count(), 0);
      await picture(page, 'email-erased');

      const answer = async (path: string, status: number, json: object, seen: string): Promise<void> => {
        await page.route(path, (route) => route.fulfill({ status, json }));
        await page.goto(`${url}/app/emails/${id}`);
        await page.getByText(seen).first().waitFor();
        t.same(await violationsOf(page), [], seen);
        await picture(page, `email-${status}-${seen.replace(/\W+/g, '-').slice(0, 20)}`);
        await page.unroute(path);
      };
      const fault = (statusCode: number, code: string, more: object = {}) => ({
        ...{ statusCode, code, message: `Told: ${code}.`, requestId: 'r-8' },
        ...more,
      });
      const at = `**/api/emails/${id}`;
      const archived = {
        ...{ ...record, archived: true, archivedAt: '2026-01-02T03:04:05.000Z', subject: null, from: null },
        recipients: record.recipients.map((one) => ({ ...one, email: null, name: null })),
      };
      await answer(at, 200, archived, 'The mail is forgotten');
      await answer(at, 200, { ...record, confidential: true }, 'Only its recipient sees this mail');
      await answer(at, 403, fault(403, 'FORBIDDEN'), 'You may not see this');
      await answer(at, 404, fault(404, 'EMAIL_NOT_FOUND'), 'There is no such email');
      await answer(at, 429, fault(429, 'RATE_LIMIT_EXCEEDED', { retryAfter: 0 }), 'Too many calls for the moment');
      await answer(`${at}/content**`, 403, fault(403, 'FORBIDDEN'), 'You may not see this');
      await answer(`${at}/content**`, 429, fault(429, 'RATE_LIMIT_EXCEEDED', { retryAfter: 0 }), 'Too many calls');
      await answer(`${at}/timeline**`, 429, fault(429, 'RATE_LIMIT_EXCEEDED', { retryAfter: 0 }), 'Too many calls');
    });
  });

  await t.test('hostile mails run nothing, load nothing, and break no layout', async (t) => {
    const to = [{ email: 'success@simulator.sealpost', name: HOSTILE_NAME }];
    const ids = await Promise.all(
      hostile.map((html) =>
        send(app, '', '', { to, content: { subject: HOSTILE_SUBJECT, html: `${html}<p>the end</p>` } }),
      ),
    );
    const long = await send(app, '', '', {
      to: [{ email: `${'a'.repeat(60)}@${'b'.repeat(60)}.example`, name: 'N'.repeat(200) }],
      scheduledAt: new Date(Date.now() + 86_400_000).toISOString(),
      content: { subject: 'W'.repeat(900), html: `<p>${'W'.repeat(10_000)}</p>` },
      variables: { text: 'W'.repeat(10_000) },
    });
    await visit(t, {}, async (page) => {
      await signIn(page);
      for (const id of [...ids, long]) {
        await page.goto(`${url}/app/emails/${id}`);
        await page.locator('iframe').waitFor();
        await mail(page).locator('p').last().waitFor();
        for (const viewport of [PHONE, WIDE]) {
          await page.setViewportSize(viewport);
          t.equal(await page.evaluate('document.documentElement.scrollWidth'), viewport.width, 'nothing is wider');
        }
        t.equal(await page.evaluate('window.hacked'), undefined);
      }
      await picture(page, 'email-long');
      await page.setViewportSize(PHONE);
      await picture(page, 'email-long-phone');
      await page.goto(`${url}/app/emails/${ids[0]}`);
      await page.locator('iframe').waitFor();
      await picture(page, 'email-hostile-phone');
    });
  });

  await t.test('acts: another time, cancel, try again, copy, delete', async (t) => {
    const scheduledAt = new Date(Date.now() + 86_400_000).toISOString();
    const later = await send(app, 'Later', 'kim@example.com', { scheduledAt });
    const failed = await send(app, 'It failed', 'refused@example.com');
    await app.whenStatus(failed, 'failed');
    await visit(t, { expected: /status of 400/ }, async (page) => {
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      await signIn(page, `/app/emails/${later}`);
      await page.getByRole('button', { name: 'Change the time' }).click();
      await page.getByLabel('Date and time').fill('2020-01-01T10:00');
      await picture(page, 'email-reschedule');
      t.same(await violationsEverywhere(page), []);
      await page.getByRole('button', { name: 'Set the time' }).click();
      await page.getByRole('dialog').getByRole('alert').waitFor();
      const day = new Date(Date.now() + 172_800_000).toISOString().slice(0, 11);
      await page.getByLabel('Date and time').fill(`${day}10:00`);
      await page.getByRole('button', { name: 'Set the time' }).click();
      await page.getByText('It has another time.').waitFor();
      t.equal((await app.email(later)).scheduledAt, `${day}10:00:00.000Z`);
      await page.getByRole('button', { name: 'Cancel it' }).click();
      await picture(page, 'email-cancel');
      await page.getByRole('button', { name: 'Keep it' }).click();
      t.equal((await app.email(later)).status, 'scheduled', 'nothing happens without the act');
      await page.getByRole('button', { name: 'Cancel it' }).click();
      await page.getByRole('button', { name: 'Cancel the email' }).click();
      await page.getByText('It is cancelled and does not leave.').waitFor();
      t.equal((await app.email(later)).status, 'cancelled');
      t.equal(await page.getByRole('button', { name: 'Cancel it' }).count(), 0);

      await page.getByRole('button', { name: 'More' }).click();
      await page.getByRole('menuitem', { name: 'Copy as curl' }).click();
      await page.getByText('The command is copied').waitFor();
      t.match(await page.evaluate('navigator.clipboard.readText()'), /^curl 'http.*\/api\/emails\/send' \\\n/);

      await page.getByRole('button', { name: 'More' }).click();
      await page.getByRole('menuitem', { name: 'Delete…' }).click();
      await page.getByRole('alertdialog').getByText('addresses, names and the subject').waitFor();
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'email-delete');
      await page.getByRole('button', { name: 'Delete for good' }).click();
      await page.waitForURL(`${url}/app/emails`);
      t.equal((await app.call('GET', `/api/emails/${later}`)).status, 404);

      await page.goto(`${url}/app/emails/${failed}`);
      await page.getByRole('region', { name: 'Recipients' }).getByText('554 5.7.1 we do not like you').waitFor();
      await picture(page, 'email-failed');
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByText('It is tried again.').waitFor();
      await eventually('it was tried again', async () =>
        (await app.email(failed)).retryCount === 1 ? true : undefined,
      );
      await page.getByRole('region', { name: 'What happened' }).getByText('Tried again by hand').waitFor();
      await picture(page, 'email-retried');

      await page.getByRole('button', { name: 'More' }).click();
      await page.getByRole('menuitem', { name: 'Send again as a copy…' }).click();
      await page.getByLabel('To').fill('nonsense');
      await page.getByRole('button', { name: 'Send the copy' }).click();
      await page.getByRole('dialog').getByRole('alert').waitFor();
      await page.getByLabel('To').fill('success@simulator.sealpost, success+2@simulator.sealpost');
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'email-resend');
      await page.getByRole('button', { name: 'Send the copy' }).click();
      await page.getByRole('link', { name: 'another email' }).waitFor();
      const copied = page.url().split('/').at(-1) ?? '';
      t.match(await app.whenStatus(copied, 'delivered'), { resentFrom: failed, recipientCount: 2 });
    });
  });

  await t.test('a page of one address', async (t) => {
    await visit(t, {}, async (page) => {
      const address = 'bounce@simulator.sealpost';
      await signIn(page, `/app/recipients/${encodeURIComponent(address)}`);
      await heading(page, address).waitFor();
      await page.getByText('Your order 4711 is on its way').waitFor();
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'recipient');
      await page.setViewportSize(PHONE);
      await picture(page, 'recipient-phone');
      await page.getByRole('link', { name: 'Your order 4711 is on its way' }).click();
      await heading(page, /order 4711/).waitFor();
      await page.goto(`${url}/app/recipients/nobody%40example.com`);
      await page.getByRole('heading', { name: 'No email to this address' }).waitFor();
    });
    await visit(t, { expected: /status of 400/ }, async (page) => {
      await signIn(page, '/app/recipients/kim');
      await page.getByRole('heading', { name: 'This is no address' }).waitFor();
    });
  });

  await t.test('faults, and what a role may not see', async (t) => {
    const id = await send(app, 'For members', 'success@simulator.sealpost');
    await app.whenStatus(id, 'delivered');
    await visit(t, { expected: /status of (?:404|410|429|500)/ }, async (page) => {
      await signIn(page, '/app/emails/00000000-0000-4000-8000-000000000000');
      await page.getByRole('heading', { name: 'There is no such email' }).waitFor();
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'email-none');
      for (const [status, code] of [
        [410, 'CONTENT_GONE'],
        [500, 'INTERNAL_ERROR'],
      ] as const) {
        await page.route('**/content**', (route) =>
          route.fulfill({ status, json: { statusCode: status, code, message: `Told: ${code}.`, requestId: 'r-7' } }),
        );
        await page.goto(`${url}/app/emails/${id}`);
        await page.getByText(`Told: ${code}.`).waitFor();
        await heading(page, 'For members').waitFor();
        await picture(page, `email-content-${status}`);
        await page.unroute('**/content**');
      }
    });
    const teamId = assertDefined(await firstTeam(app.engine), 'first team');
    const viewer = await signedIn(app.engine, { email: 'viewer@example.com', password: OWNER.password });
    await addMember(app.engine, teamId, viewer.userId, 'viewer');
    await app.whenCaughtUp();
    await visit(t, {}, async (page) => {
      await page.goto(`${url}/app/emails/${id}`);
      await page.getByLabel('Email address').fill('viewer@example.com');
      await page.getByLabel('Password').fill(OWNER.password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await heading(page, 'For members').waitFor();
      await page.getByRole('heading', { name: 'Your role does not show mails' }).waitFor();
      for (const name of ['Try again', 'Cancel it', 'Change the time'])
        t.equal(await page.getByRole('button', { name }).count(), 0, name);
      t.equal(await page.getByRole('button', { name: 'More' }).count(), 0);
      await picture(page, 'email-viewer');
    });
  });

  await t.test('a phone', async (t) => {
    const id = await send(app, 'On a phone', 'success@simulator.sealpost');
    await app.whenStatus(id, 'delivered');
    await visit(t, { viewport: PHONE, colorScheme: 'dark' }, async (page) => {
      await signIn(page, `/app/emails/${id}`);
      await mail(page).getByText('Hello').waitFor();
      t.equal(await page.evaluate('document.documentElement.scrollWidth'), PHONE.width);
      await picture(page, 'email-phone');
      await page.getByText('What happened').scrollIntoViewIfNeeded();
      await picture(page, 'email-phone-history');
    });
  });

  await t.test('a mail that is looked at is not opened, and asks nobody', async (t) => {
    const ids: string[] = [];
    for (let n = 0; n < 100; n += 1)
      ids.push(
        await send(app, `Looked at ${n}`, 'success@simulator.sealpost', {
          tracking: { opens: true, clicks: true },
          content: {
            subject: `Looked at ${n}`,
            html: '<p>Hi <a href="https://shop.example/">there</a></p><img src="https://shop.example/x.png" alt="x">',
          },
        }),
      );
    for (const id of ids) await app.whenStatus(id, 'delivered');
    const [readBefore, contentBefore] = [await timesOf('email.read'), await timesOf('email.content_read')];
    await visit(t, {}, async (page) => {
      await signIn(page);
      for (const [n, id] of ids.slice(0, 12).entries()) {
        await page.goto(`${url}/app/emails/${id}`);
        await heading(page, `Looked at ${n}`).waitFor();
        await mail(page).getByText('Hi there').waitFor();
      }
      // The others by the call that the page makes.
      await page.evaluate(
        `(async () => {
          for (const id of ${JSON.stringify(ids.slice(12))})
            if (!(await fetch('/api/emails/' + id)).ok) throw new Error(id);
        })()`,
      );
    });
    for (const id of ids) t.match(await app.email(id), { openedAt: null, clickedAt: null });
    await eventually('the reads are written', async () =>
      (await timesOf('email.read')) - readBefore >= 100 ? true : undefined,
    );
    t.equal((await timesOf('email.read')) - readBefore, 100);
    t.equal((await timesOf('email.content_read')) - contentBefore, 12);
  });
});
