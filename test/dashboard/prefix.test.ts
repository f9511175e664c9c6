/** The dashboard below a path of a proxy: every address of the page lies below it. */
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { freePort } from '../support/free-port.js';
import { openDashboard, withoutChromium } from './browser.js';

t.setTimeout(300_000);

void t.test('behind /mail/ on a proxy', { skip: withoutChromium }, async (t) => {
  const port = await freePort();
  const settings = { SEALPOST_PUBLIC_URL: `http://127.0.0.1:${port}/mail` };
  const { url, visit, signIn } = await openDashboard(t, { settings });
  const outside: string[] = [];
  const proxy = createServer((incoming, answer) => {
    const path = incoming.url ?? '';
    if (!path.startsWith('/mail/')) {
      outside.push(path);
      answer.writeHead(404).end();
      return;
    }
    const { port: target } = new URL(url);
    const options = {
      port: target,
      path: path.slice('/mail'.length),
      method: incoming.method,
      headers: incoming.headers,
    };
    incoming.pipe(
      request(options, (from) => {
        answer.writeHead(from.statusCode ?? 502, from.headers);
        from.pipe(answer);
      }),
    );
  });
  await new Promise<void>((resolve) => proxy.listen(port, '127.0.0.1', resolve));
  t.teardown(() => proxy.close());
  t.equal((proxy.address() as AddressInfo).port, port);
  const base = `http://127.0.0.1:${port}`;
  await visit(t, { base }, async (page) => {
    await signIn(page, `${base}/mail/app/emails?status=failed`);
    await page.getByRole('heading', { name: 'No email matches' }).waitFor();
    t.equal(page.url(), `${base}/mail/app/emails?status=failed`);
    await page.getByRole('link', { name: /^Sent/ }).click();
    await page.waitForURL(`${base}/mail/app/emails?status=sent`);
    await page.reload();
    await page.getByRole('heading', { name: 'No email matches' }).waitFor();
    await page.getByRole('link', { name: 'sealpost' }).click();
    await page.waitForURL(`${base}/mail/app/`);
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    t.equal(await page.getByRole('link', { name: 'Documentation' }).getAttribute('href'), '/mail/docs/guide/');
  });
  t.same(outside, [], 'no request leaves the path');
});
