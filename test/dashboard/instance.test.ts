/** Operation in the dashboard: the state of the instance, for operators alone; calls of the API; retention. */
import t from 'tap';
import type { System } from '../../src/api/core/system.js';
import { changeUser } from '../../src/commands/access/users.js';
import { firstTeam } from '../../src/commands/core/caller.js';
import { assertDefined, NO_TEAM } from '../../src/domain/core/ids.js';
import { isoTime } from '../../src/domain/core/time.js';
import { PASSWORD, signedIn } from '../support/people.js';
import { openDashboard, PHONE, picture, violationsEverywhere, WIDE, withoutChromium } from './browser.js';

t.setTimeout(300_000);

const TO_TOP = 'document.getElementById("page").scrollTo(0, 0)';

const OPERATOR = { email: 'olga@example.com', password: PASSWORD, name: 'Olga' } as const;

void t.test('the instance', { skip: withoutChromium }, async (t) => {
  const { app, url, visit, signIn } = await openDashboard(t);
  const { engine } = app;
  const teamId = assertDefined(await firstTeam(engine), 'first team');
  const { userId } = await signedIn(engine, { ...OPERATOR, role: 'viewer', teamId });
  const at = isoTime(engine.clock.now());
  const cause = { teamId: NO_TEAM, actor: 'cli', correlationId: 'test', causationId: 'test', at };
  await changeUser(engine, userId, { type: 'GrantOperator', at }, cause);
  await app.whenCaughtUp();

  await t.test('an owner of a team who is no operator sees neither the entry nor the page', async (t) => {
    await visit(t, {}, async (page) => {
      const asked: string[] = [];
      page.on('request', (request) => void (request.url().includes('/api/system') && asked.push(request.url())));
      await signIn(page, '/app/system');
      await page.getByRole('alert').getByText('operators of the instance').waitFor();
      t.equal(await page.getByRole('link', { name: 'System' }).count(), 0);
      t.same(asked, []);
      t.same(await violationsEverywhere(page), []);
    });
  });

  await t.test('an operator sees at a glance what needs a person, whatever their role in the team', async (t) => {
    await visit(t, { expected: /status of 503/ }, async (page) => {
      await page.goto(`${url}/app`);
      await page.getByLabel('Email address').fill(OPERATOR.email);
      await page.getByLabel('Password').fill(OPERATOR.password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'System' }).click();
      await page.getByRole('heading', { level: 1, name: /System/ }).waitFor();
      const needs = page.getByRole('region', { name: 'Needs a person' });
      await needs.getByText('The log was never backed up from here.').waitFor();
      await needs.getByText('sealpost backup DIRECTORY --keys').waitFor();
      await page.getByRole('table', { name: 'Processes' }).getByText(process.versions.node).waitFor();
      await page.getByRole('table', { name: 'Relays' }).getByText('takes mail').waitFor();
      await page.getByText(/^\d+ workers run without parked work$/).click();
      await page.getByRole('row', { name: /seal-ledger running/ }).waitFor();
      await page.getByRole('region', { name: 'Log, backups and disk' }).getByText('log sqlite').waitFor();
      t.same(await violationsEverywhere(page), []);
      await page.evaluate(TO_TOP);
      await picture(page, 'system');
      await page.setViewportSize(PHONE);
      t.ok(await page.evaluate('document.getElementById("page").scrollWidth <= 360'), 'nothing is cut off on a phone');
      await page.evaluate(TO_TOP);
      await picture(page, 'system-phone');
      await page.setViewportSize(WIDE);

      const seen = await page.evaluate<System>('fetch("../api/system").then((answer) => answer.json())');
      const own = assertDefined(seen.processes[0], 'the answering process');
      const parked = { name: 'deliver-email', state: 'running', restarts: 0, lastFault: 'SQLITE_FULL', stuckWork: 3 };
      const other = {
        ...{ ...own, id: '0192f3c0-0000-7000-8000-0000deadbeef', answering: false, schema: 'abcdefabcdef' },
        status: 'unavailable',
        reasons: [{ code: 'LOG_AWAY', message: 'the server of the log does not answer' }],
        workers: [{ name: 'relay', state: 'restarting', restarts: 4, lastFault: 'EPIPE', stuckWork: 0 }],
        relays: [{ name: 'quick', host: 'relay.example:587', breaker: 'open', ratePerSecond: 5, leftToday: 0 }],
        readModels: [{ name: 'emails', position: 7, lagSeconds: 75 }],
      };
      const ill = {
        ...seen,
        log: { ...seen.log, lastVerify: { at, result: 'tampered' } },
        backups: { log: { at, position: 1 }, keys: { at, position: 1, expiresAt: at } },
        processes: [{ ...own, status: 'degraded', workers: [parked, ...own.workers.slice(0, 1)] }, other],
      };
      await page.route('**/api/system', (route) => route.fulfill({ json: ill }));
      await needs.getByText('somebody changed the log').waitFor();
      await page.getByRole('heading', { level: 1, name: 'System unavailable' }).waitFor();
      const told = await needs.getByRole('listitem').allInnerTexts();
      t.match(told[0] + told[1]!, /The server of the log does not answer\.[^]*Bring the server back\.[^]*deadbeef/);
      t.match(told.join('\n'), /different versions[^]*backup of the keys has expired/);
      t.notMatch(told.join('\n'), /never backed up/);
      await page.getByRole('row', { name: /deliver-email running 3 0 SQLITE_FULL/ }).waitFor();
      await page.getByRole('row', { name: /relay restarting 0 4 EPIPE deadbeef/ }).waitFor();
      await page.getByRole('row', { name: /quick relay.example:587 away 5 0 deadbeef/ }).waitFor();
      await page.getByRole('row', { name: /emails 75 s behind 7 deadbeef/ }).waitFor();
      t.same(await violationsEverywhere(page), []);
      await page.evaluate(TO_TOP);
      await picture(page, 'system-ill');

      const json = { code: 'STORE_AWAY', message: 'The disk refuses.', requestId: 'r-1' };
      await page.unroute('**/api/system');
      await page.route('**/api/system', (route) => route.fulfill({ status: 503, json }));
      await page.getByRole('alert').getByText('The disk refuses. What you see is older').waitFor();
      await page.getByRole('row', { name: /emails 75 s behind/ }).waitFor();
      await page.unroute('**/api/system');
      const well = {
        ...seen,
        backups: { ...ill.backups, keys: { ...ill.backups.keys, expiresAt: '2099-01-01T00:00:00.000Z' } },
      };
      await page.route('**/api/system', (route) => route.fulfill({ json: well }));
      await needs.getByText('mail leaves, and lists are up to date').waitFor();
      t.equal(await page.getByRole('alert').count(), 0, 'it recovers by itself');
      await page.evaluate(TO_TOP);
      await picture(page, 'system-well');
    });
  });

  await t.test('what programs asked the API, from the page of a key and by filters', async (t) => {
    const address = 'kim@example.com';
    await app.call('GET', `/api/recipients/${encodeURIComponent(address)}`);
    await app.call('POST', '/api/emails/send', { templateId: 'no-such-template', to: [{ email: address }] });
    await app.call('GET', '/api/emails?search=secret-of-kim');
    await visit(t, {}, async (page) => {
      await signIn(page, '/app/api-keys');
      await page.getByRole('link', { name: 'test' }).click();
      await page.getByRole('link', { name: 'what it asked' }).click();
      await page.waitForURL(/\/app\/api-calls\?actor=key_/);
      const table = page.getByRole('table', { name: 'API calls' });
      await table.getByRole('row', { name: /GET \/api\/recipients\/:address 200 .*test/ }).waitFor();
      await table.getByRole('row', { name: /POST \/api\/emails\/send 400 [A-Z_]+ test/ }).waitFor();
      t.notMatch(await page.content(), /kim@|secret-of-kim/, 'no address and no query');
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'api-calls');
      await page.setViewportSize(PHONE);
      t.ok(await page.evaluate('document.getElementById("page").scrollWidth <= 360'), 'nothing is cut off on a phone');
      await picture(page, 'api-calls-phone');
      await page.setViewportSize(WIDE);
      await page.getByLabel('Status').selectOption('4xx');
      await page.waitForURL(/status=4xx/);
      await table.getByRole('row', { name: /recipients/ }).waitFor({ state: 'detached' });
      t.equal(await table.getByRole('row').count(), 2, 'the head and one call');
      await page.getByLabel('Error code').fill('NO_SUCH_CODE');
      await page.getByLabel('Error code').press('Enter');
      await page.getByText('No call matches').waitFor();
      await page.getByRole('link', { name: 'Clear the filters' }).click();
      await table.getByRole('link', { name: 'test' }).first().click();
      await page.getByRole('heading', { level: 1, name: 'test' }).waitFor();
    });
  });

  await t.test('the settings say how long data is kept, and emails are found by the slug of a template', async (t) => {
    await app.send({ templateId: 'sign-in-code' });
    await app.whenCaughtUp();
    await visit(t, {}, async (page) => {
      await signIn(page, '/app/settings');
      const kept = page.getByRole('table', { name: 'Retention' });
      await kept.getByRole('row', { name: /Logs of emails and attachments 30 days archived/ }).waitFor();
      await kept.getByRole('row', { name: /Calls of API keys and apps 7 days deleted/ }).waitFor();
      await kept.getByRole('row', { name: /^Deleted email templates, .*, sender domains 30 days/ }).waitFor();
      await kept.scrollIntoViewIfNeeded();
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'retention');
      await page.goto(`${url}/app/emails`);
      const box = page.getByRole('searchbox', { name: 'Search emails' });
      await box.fill('template:sign-in-code');
      await box.press('Enter');
      await page.waitForURL(/template=sign-in-code/);
      await page.getByRole('grid').getByText('ada@example.com').first().waitFor();
      await box.fill('template:no-such-template');
      await box.press('Enter');
      await page.getByRole('grid').getByText('ada@example.com').first().waitFor({ state: 'detached' });
      await box.fill('template:kim@example.com');
      await box.press('Enter');
      await page.getByText('template: takes the slug or id of a template').waitFor();
    });
  });
});
