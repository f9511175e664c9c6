/**
 * The picture of the first page of the documentation: a mail, the invoice in it and its timeline, all of one call. It
 * lies in the folder that SEALPOST_TEST_PICTURES names: `npm run pictures`. docs/img has a copy.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import t from 'tap';
import { eventually } from '../support/wait.js';
import { openDashboard } from './browser.js';

t.setTimeout(300_000);

const root = fileURLToPath(new URL('../../../', import.meta.url));
const folder = process.env['SEALPOST_TEST_PICTURES'] ?? 'build/pictures';

/** Points of a PDF are drawn at this many dots per inch. */
const PDF_DPI = 160;
const WIDTH = 1_240;
const HEIGHT = 720;

type Call = Readonly<{ variables: Readonly<Record<string, unknown>> }>;

const sampleCall = (name: string): Call =>
  JSON.parse(readFileSync(join(root, `samples/calls/${name}.json`), 'utf8')) as Call;

const addressOf = (png: Buffer): string => `data:image/png;base64,${png.toString('base64')}`;

/** Three columns with their captions; each shows the top of its picture. */
const sheet = (columns: readonly Readonly<{ caption: string; png: Buffer; grow: number }>[]): string => `<!doctype html>
<style>
  body { margin: 0; padding: 24px; display: flex; gap: 24px; height: ${HEIGHT - 48}px; background: #eceae5; font: 600 17px system-ui, 'DejaVu Sans', sans-serif; color: #1d1d1b }
  figure { margin: 0; display: flex; flex-direction: column; gap: 10px; min-width: 0 }
  div { flex: 1; min-height: 0; overflow: hidden; border: 1px solid #c6c4be; border-radius: 8px; background: #fff }
  img { display: block; width: 100% }
  figure:last-child div { padding: 16px }
</style>
${columns
  .map(
    ({ caption, png, grow }) =>
      `<figure style="flex: ${grow} 1 0"><figcaption>${caption}</figcaption><div><img src="${addressOf(png)}" alt=""></div></figure>`,
  )
  .join('\n')}`;

void t.test('the picture of the first page', async (t) => {
  const { app, url, browser, signIn } = await openDashboard(t);
  const invoice = sampleCall('attachments/invoice');
  const { id } = await app.send({
    ...sampleCall('emails/order-confirmation'),
    attachments: [
      { attachmentTemplateId: 'invoice', filename: 'Invoice', outputFormats: ['pdf'], variables: invoice.variables },
    ],
  });
  await eventually(
    'the mail left',
    async () => ['sent', 'delivered'].includes((await app.email(id)).status) || undefined,
  );
  await app.whenCaughtUp();

  const open = async (width: number, height: number): Promise<Page> => {
    const context = await browser.newContext({
      ...{ viewport: { width, height }, deviceScaleFactor: 2, locale: 'en-GB', timezoneId: 'UTC' },
    });
    t.teardown(() => context.close());
    return context.newPage();
  };

  const { body: content } = await app.call<Readonly<{ html: string }>>('GET', `/api/emails/${id}/content`);
  const mail = await open(560, 900);
  await mail.setContent(content.html);
  const mailPng = await mail.screenshot();

  const answer = await fetch(`${url}/api/emails/${id}/attachments/0`, {
    headers: { authorization: `Bearer ${app.key}` },
  });
  const at = t.testdir();
  writeFileSync(join(at, 'invoice.pdf'), Buffer.from(await answer.arrayBuffer()));
  const page = ['-png', '-singlefile', '-r', String(PDF_DPI), join(at, 'invoice.pdf'), join(at, 'invoice')];
  execFileSync('pdftoppm', page);
  const invoicePng = readFileSync(join(at, 'invoice.png'));

  const dashboard = await open(1_280, 1_000);
  await signIn(dashboard, `/app/emails/${id}`);
  await dashboard.getByText('Handed over').waitFor();
  const history = dashboard
    .locator('section', { has: dashboard.getByRole('heading', { name: 'What happened' }) })
    .last();
  const timelinePng = await history.locator('ol').screenshot();

  const whole = await open(WIDTH, HEIGHT);
  await whole.setContent(
    sheet([
      { caption: 'The mail', png: mailPng, grow: 40 },
      { caption: 'The invoice in it', png: invoicePng, grow: 36 },
      { caption: 'What happened to it', png: timelinePng, grow: 30 },
    ]),
  );
  mkdirSync(folder, { recursive: true });
  await whole.screenshot({ path: join(folder, 'mail-invoice-timeline.png') });
});
