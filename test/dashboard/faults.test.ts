/**
 * An API that is slow, broken, busy or cut off, a service that is killed, a role that is taken away, and a newer
 * service: each page says what it waits for, none is blank or loses what was typed, and each goes on afterwards.
 */
import { createServer, request, type ServerResponse } from 'node:http';
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import type { EmailListItem } from '../../src/api/email.js';
import { firstTeam } from '../../src/commands/core/caller.js';
import { changeUser } from '../../src/commands/access/users.js';
import { assertDefined, NO_TEAM } from '../../src/domain/core/ids.js';
import { isoTime } from '../../src/domain/core/time.js';
import { startTestApp } from '../support/app.js';
import { freePort } from '../support/free-port.js';
import { signedIn } from '../support/people.js';
import { startServer } from '../support/server-process.js';
import { eventually } from '../support/wait.js';
import { insidePaths } from './addresses.js';
import { openDashboard, OWNER, picture, violationsOf, withoutChromium } from './browser.js';

t.setTimeout(600_000);

/** `held`: no answer comes before the fault ends. */
type Fault = 'none' | 'held' | 'broken' | 'busy' | 'cut' | 'newer';

type FaultProxy = Readonly<{ base: string; set: (fault: Fault) => void }>;

/** A proxy between browsers and the service, with a fault for calls of the API or, if `newer`, for scripts. */
const openProxy = async (t: Test, port: number, target: () => string): Promise<FaultProxy> => {
  let fault: Fault = 'none';
  let held: (() => void)[] = [];
  const isHit = (path: string): boolean =>
    fault === 'newer'
      ? /^\/app\/assets\/.*\.js$/.test(path)
      : path.startsWith('/api/') && !/^\/api\/(?:stream|auth\/)/.test(path);
  const answerBy = (answer: ServerResponse): boolean => {
    if (fault === 'broken') {
      const body = { statusCode: 500, code: 'INTERNAL_ERROR', message: 'Something broke.', requestId: 'r-5' };
      answer.writeHead(500, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    } else if (fault === 'busy') answer.writeHead(429, { 'retry-after': '0' }).end('<h1>Too many</h1>');
    else if (fault === 'newer') answer.writeHead(404).end('{}');
    else if (fault === 'cut') {
      answer.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' }).write('{"data":[');
      answer.socket?.end();
    } else return false;
    return true;
  };
  const proxy = createServer((incoming, answer) => {
    const forward = (): void => {
      const { hostname, port: to } = new URL(target());
      const { method, headers, url: path } = incoming;
      const outgoing = request({ hostname, port: to, path, method, headers }, (from) => {
        answer.writeHead(from.statusCode ?? 502, from.headers);
        from.pipe(answer);
      });
      outgoing.on('error', () => answer.destroy());
      answer.on('close', () => outgoing.destroy());
      incoming.pipe(outgoing);
    };
    if (!isHit(incoming.url ?? '')) return forward();
    if (fault === 'held') held.push(forward);
    else if (!answerBy(answer)) forward();
  });
  await new Promise<void>((resolve) => proxy.listen(port, '127.0.0.1', resolve));
  t.teardown(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return {
    base: `http://127.0.0.1:${port}`,
    set: (now) => {
      fault = now;
      const waiting = held;
      held = [];
      for (const forward of waiting) forward();
    },
  };
};

const main = (page: Page) => page.locator('main#page');
const waits = (page: Page) => main(page).getByRole('progressbar');
const again = (page: Page) => main(page).getByRole('button', { name: 'Try again' });

/** Shows another page without a load of the document, as a link does. */
const open = (page: Page, path: string): Promise<void> =>
  page.evaluate(`window.history.pushState(null, '', '/app${path}')`);

void t.test('faults of the service', { skip: withoutChromium }, async (t) => {
  const port = await freePort();
  const settings = { SEALPOST_PUBLIC_URL: `http://127.0.0.1:${port}` };
  const { app, url, visit, signIn } = await openDashboard(t, { settings, hasOwner: false });
  const proxy = await openProxy(t, port, () => url);
  const { base } = proxy;
  const teamId = assertDefined(await firstTeam(app.engine), 'first team');
  const { userId } = await signedIn(app.engine, { ...OWNER, teamId });
  const at = isoTime(Date.now());
  const cause = { teamId: NO_TEAM, actor: 'cli', correlationId: 'test', causationId: 'test', at };
  await changeUser(app.engine, userId, { type: 'GrantOperator', at }, cause);
  await app.whenCaughtUp();
  const sent = await app.call<{ id: string }>('POST', '/api/emails/send', {
    content: { subject: 'In spite of faults', html: '<p>Hello</p>' },
    to: [{ email: 'success@simulator.sealpost' }],
  });
  await app.whenStatus(sent.body.id, 'delivered');
  const paths = insidePaths({
    '/emails/$id': `/emails/${sent.body.id}`,
    '/recipients/$address': '/recipients/success@simulator.sealpost',
  });

  for (const fault of ['held', 'broken', 'busy', 'cut'] as const)
    await t.test(`every page with an API that is ${fault}`, async (t) => {
      t.teardown(() => proxy.set('none'));
      await visit(t, { base, expected: /status of (?:500|429|403)|net::ERR_/ }, async (page) => {
        await signIn(page, `${base}/app/account`);
        await page.getByRole('heading', { name: 'Your account' }).waitFor();
        let told = 0;
        for (const path of paths) {
          proxy.set(fault);
          await open(page, path);
          await main(page).locator('h1, h2, [role=progressbar], [role=alert]').first().waitFor();
          const isWaiting = fault === 'held' || fault === 'cut';
          const telling = isWaiting ? waits(page) : main(page).getByRole('alert');
          // The page of the account shows what is known already.
          if (path !== '/account') await telling.first().waitFor();
          if ((await telling.count()) > 0) told += 1;
          t.not((await main(page).innerText()).trim(), isWaiting ? undefined : '', `${path} is not blank`);
          if (fault === 'broken' && path === '/audit') await picture(page, 'fault-broken');
          proxy.set('none');
          await eventually(`${path} goes on`, async () => {
            if ((await again(page).count()) > 0) await again(page).first().click();
            return (await waits(page).count()) === 0 && (await again(page).count()) === 0 ? true : undefined;
          });
        }
        t.ok(told >= paths.length - 1, `${told} of ${paths.length} pages say what is the matter`);
      });
    });

  await t.test('the frame of the pages says so, too, and goes on', async (t) => {
    await visit(t, { base, expected: /status of (?:500|429)|net::ERR_/ }, async (page) => {
      await signIn(page, `${base}/app/audit`);
      proxy.set('broken');
      await page.reload();
      await page.getByRole('alert').getByText('Something broke.').waitFor();
      t.same(await violationsOf(page), []);
      proxy.set('none');
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByRole('heading', { name: 'Audit log', level: 1 }).waitFor();
    });
  });

  await t.test('a role that is taken away while a form is filled', async (t) => {
    const kim = await signedIn(app.engine, { email: 'kim@example.com', name: 'Kim', role: 'admin', teamId });
    const owner = await signedIn(app.engine, { email: 'olga@example.com', name: 'Olga', role: 'owner', teamId });
    await app.whenCaughtUp();
    await visit(t, { base, expected: /status of 403/ }, async (page) => {
      await page.goto(`${base}/app/api-keys/new`);
      await page.getByLabel('Email address').fill('kim@example.com');
      await page.getByLabel('Password').fill(OWNER.password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByLabel('Name').fill('What Kim typed');
      const role = await app.call(
        'PATCH',
        `/api/teams/${teamId}/members/${kim.userId}`,
        { role: 'viewer' },
        owner.headers,
      );
      t.equal(role.status, 200);
      await page.getByRole('button', { name: 'Make an API key' }).click();
      await page.getByRole('alert').first().waitFor();
      t.equal(await page.getByLabel('Name').inputValue(), 'What Kim typed');
      await picture(page, 'fault-role');
    });
  });

  await t.test('a service that is newer than the page', async (t) => {
    await visit(t, { base, expected: /status of 404|Failed to fetch dynamically/ }, async (page) => {
      await signIn(page, `${base}/app/api-keys/new`);
      await page.getByLabel('Name').fill('Typed before');
      proxy.set('newer');
      await page.getByRole('link', { name: 'Audit log' }).click();
      await page.getByRole('heading', { name: 'A newer version is there' }).waitFor();
      t.same(await violationsOf(page), []);
      await picture(page, 'fault-newer');
      proxy.set('none');
      await page.getByRole('button', { name: 'Reload' }).click();
      await page.getByRole('heading', { name: 'Audit log', level: 1 }).waitFor();
      await open(page, '/api-keys/new');
      t.equal(await page.getByLabel('Name').inputValue(), 'Typed before', 'nothing that was typed is lost');
    });
  });

  await t.test('a service that is killed and starts again', async (t) => {
    const dataDir = t.testdir();
    const killedPort = await freePort();
    const first = await startTestApp({ dataDir, isFounded: true });
    await signedIn(first.engine, { ...OWNER, teamId: assertDefined(await firstTeam(first.engine), 'first team') });
    await first.whenCaughtUp();
    await first.stop();
    const own = { SEALPOST_DATA_DIR: dataDir, PORT: String(killedPort), SEALPOST_LOG_LEVEL: 'silent' };
    const before = startServer(own);
    t.teardown(() => before.end('SIGKILL'));
    const killed = await before.listening;
    const call = async <Body>(path: string, body?: object): Promise<Body> => {
      const answer = await fetch(`${killed}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${first.key}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return (await answer.json()) as Body;
    };
    const send = (n: number) =>
      call('/api/emails/send', {
        content: { subject: `Number ${n}`, html: '<p>Hello</p>' },
        to: [{ email: `success+${n}@simulator.sealpost` }],
      });
    const listed = async (): Promise<readonly string[]> =>
      (await call<{ data: readonly EmailListItem[] }>('/api/emails?limit=50')).data.map(
        ({ subject, status }) => `${subject ?? ''} ${status}`,
      );
    for (const n of [1, 2, 3]) await send(n);
    await visit(t, { base: killed, expected: /net::ERR_|status of 50\d/ }, async (page) => {
      await signIn(page, `${killed}/app/emails`);
      await page.getByText('Live', { exact: true }).waitFor();
      await page.getByRole('grid').getByText('Number 3').waitFor();
      await before.end('SIGKILL');
      await page.getByText('Not live', { exact: true }).waitFor();
      await page.getByRole('grid').getByText('Number 3').waitFor();
      const after = startServer(own);
      t.teardown(() => after.end('SIGKILL'));
      await after.listening;
      for (const n of [4, 5, 6]) await send(n);
      await page.getByText('Live', { exact: true }).waitFor();
      await page.getByRole('button', { name: '3 new' }).click();
      await eventually('the list equals the API', async () => {
        const shown: string[] = [];
        for (const row of (await page.getByRole('grid', { name: 'Emails' }).getByRole('row').all()).slice(1))
          shown.push((await row.innerText()).replace(/\s+/g, ' '));
        const wanted = await listed();
        return wanted.length === shown.length &&
          wanted.every((one, place) => one.split(/ (?=\w+$)/).every((word) => shown[place]?.includes(word)))
          ? true
          : undefined;
      });
    });
  });
});
