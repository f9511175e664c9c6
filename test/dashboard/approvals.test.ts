/** Approvals in the dashboard: found, looked at, approved, rejected, and ended by others while they are looked at. */
import t from 'tap';
import type { ApprovalRecord } from '../../src/api/approvals.js';
import { firstTeam } from '../../src/commands/core/caller.js';
import { assertDefined } from '../../src/domain/core/ids.js';
import { PASSWORD, signedIn } from '../support/people.js';
import { eventually } from '../support/wait.js';
import { openDashboard, PHONE, picture, violationsEverywhere, WIDE, withoutChromium } from './browser.js';

t.setTimeout(600_000);

/** It would load from elsewhere and run, if the frame let it. */
const html =
  '<h1>Hello {{name}}</h1><p>Your order left.</p><img src="https://elsewhere.example/a.png" alt=""><script>document.title = "ran"</script>';

void t.test('approvals', { skip: withoutChromium }, async (t) => {
  const { app, url, visit, signIn } = await openDashboard(t);
  const teamId = assertDefined(await firstTeam(app.engine), 'first team');
  await signedIn(app.engine, { email: 'vera@example.com', name: 'Vera', role: 'viewer', teamId });
  const ask = async (subject: string, more: object = {}): Promise<ApprovalRecord> => {
    const answer = await app.call<ApprovalRecord>('POST', '/api/approvals', {
      content: { subject, html },
      to: [{ email: 'success+kim@simulator.sealpost', name: 'Kim' }],
      variables: { name: 'Kim' },
      ...more,
    });
    t.equal(answer.status, 201, answer.text);
    return answer.body;
  };
  const approval = async (id: string): Promise<ApprovalRecord> =>
    (await app.call<ApprovalRecord>('GET', `/api/approvals/${id}`)).body;
  /** The emails of approvals that exist, besides those of the service itself. */
  const emails = async (): Promise<number> =>
    (await app.call<{ data: readonly { templateId: string }[] }>('GET', '/api/emails')).body.data.filter(
      ({ templateId }) => templateId === 'inline',
    ).length;
  const linkOf = ({ id }: ApprovalRecord): string => `/app/approvals/${id}?team=${teamId}`;

  await t.test('a link opens the approval after the sign-in, and the keyboard approves it', async (t) => {
    const asked = await ask('Your order 4711', {
      cc: [{ email: 'success+lin@simulator.sealpost' }],
      metadata: { order: 4711 },
      attachments: [
        {
          filename: 'terms.txt',
          contentType: 'text/plain',
          content: Buffer.from('All our terms').toString('base64'),
        },
      ],
    });
    await visit(t, {}, async (page) => {
      await signIn(page, linkOf(asked));
      await page.getByRole('heading', { level: 1, name: /^Your order 4711/ }).waitFor();
      t.match(page.url(), `/approvals/${asked.id}`);
      const frame = page.getByTitle('Mail: Your order 4711').contentFrame();
      await frame.getByText('Hello Kim').waitFor();
      await page.getByText('API key test').waitFor();
      await page.getByRole('link', { name: 'success+lin@simulator.sealpost' }).waitFor();
      await page
        .getByRole('navigation', { name: 'Pages' })
        .getByRole('link', { name: 'Approvals 1 waiting' })
        .waitFor();
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'approval');
      await page.setViewportSize(PHONE);
      t.ok(await page.evaluate('document.getElementById("page").scrollWidth <= 360'), 'nothing is cut off on a phone');
      await picture(page, 'approval-phone');
      await page.setViewportSize(WIDE);
      await page.getByRole('tab', { name: 'Variables' }).click();
      await page.getByText('"name": "Kim"').waitFor();
      await page.getByText('"order": 4711').waitFor();
      await page.getByRole('tab', { name: /^Attachments/ }).click();
      await page.getByRole('button', { name: 'Show terms.txt' }).click();
      await page.getByText('All our terms').waitFor();

      await page.getByRole('button', { name: 'Approve' }).focus();
      await page.keyboard.press('Enter');
      const dialog = page.getByRole('dialog', { name: 'Approve this email?' });
      await dialog.getByText(/leaves for 2 recipients at once, exactly as it is shown here\. It costs/).waitFor();
      t.equal((await approval(asked.id)).status, 'requested', 'the question alone sends nothing');
      await dialog.getByRole('button', { name: 'Approve' }).focus();
      await page.keyboard.press('Enter');
      await page.getByRole('status').getByText('You approved it.').waitFor();
      await page.getByRole('heading', { name: 'It was sent' }).waitFor();
      await page.getByText('approved by Ada Example').waitFor();
      t.equal(await page.getByRole('button', { name: 'Approve' }).count(), 0);
      await page.getByRole('link', { name: 'See the email' }).click();
      await page.getByRole('heading', { level: 1, name: 'Your order 4711' }).waitFor();
      const navigation = page.getByRole('navigation', { name: 'Pages' });
      await navigation.getByRole('link', { name: 'Approvals', exact: true }).waitFor();
      t.equal(await emails(), 1);
    });
  });

  await t.test('what others do to it is shown as it happens', async (t) => {
    const mine = await ask('Taken back');
    await ask('Erased', { to: [{ email: 'gone@example.org' }] });
    await visit(t, {}, async (page) => {
      await signIn(page, linkOf(mine));
      await page.getByTitle('Mail: Taken back').contentFrame().getByText('Hello Kim').waitFor();
      await page.getByText('Not live').waitFor({ state: 'detached' });
      t.equal((await app.call('POST', `/api/approvals/${mine.id}/withdraw`)).status, 200);
      await page.getByRole('heading', { level: 1, name: /^Destroyed: an email withdrawn/ }).waitFor();
      await page.getByText('It was taken back').waitFor();
      t.equal(await page.getByRole('button', { name: 'Approve' }).count(), 0);

      await page.getByRole('navigation', { name: 'Above this page' }).getByRole('link', { name: 'Approvals' }).click();
      await page.getByRole('row', { name: /^Erased waiting gone@example\.org/ }).waitFor();
      const later = await ask('Asked meanwhile');
      await page.getByRole('row', { name: /^Asked meanwhile waiting/ }).waitFor();
      t.same(
        (await page.getByRole('rowheader').allTextContents()).slice(0, 2).toSorted(),
        ['Asked meanwhile', 'Erased'],
        'the waiting ones stand first',
      );
      t.same(await violationsEverywhere(page), []);
      await picture(page, 'approvals');
      await page.getByRole('link', { name: 'Erased' }).click();
      await page.getByTitle('Mail: Erased').waitFor();
      t.equal((await app.call('POST', '/api/privacy/erase', { email: 'gone@example.org' })).status, 200);
      await page.getByText('a recipient was erased').waitFor();
      t.equal((await app.call('POST', `/api/approvals/${later.id}/withdraw`)).status, 200);
    });
  });

  await t.test('it is rejected with a reason; what ended unseen says so when it is decided on', async (t) => {
    const late = await ask('Too late', { scheduledAt: new Date(Date.now() + 2_000).toISOString() });
    const [bad, taken] = [await ask('Wrong person'), await ask('Taken back unseen')];
    await visit(t, { expected: /status of 400|api\/stream|ERR_FAILED/ }, async (page) => {
      await page.route('**/api/stream*', (route) => route.abort());
      await signIn(page, linkOf(taken));
      await page.getByText('Not live').waitFor();
      await page.getByRole('button', { name: 'Approve' }).click();
      const approve = page.getByRole('dialog', { name: 'Approve this email?' });
      await approve.waitFor();
      t.equal((await app.call('POST', `/api/approvals/${taken.id}/withdraw`)).status, 200);
      await approve.getByRole('button', { name: 'Approve' }).click();
      await approve.getByText('This send is withdrawn already').waitFor();
      await approve.getByRole('button', { name: 'Cancel' }).click();
      await page.getByText('It was taken back').waitFor();
      t.equal(await page.getByRole('button', { name: 'Approve' }).count(), 0);

      await eventually('it expires', async () => ((await approval(late.id)).status === 'expired' ? true : undefined));
      await page.goto(`${url}${linkOf(late)}`);
      await page.getByText('Nobody decided in time, and').waitFor();

      await page.goto(`${url}${linkOf(bad)}`);
      await page.getByRole('button', { name: 'Reject' }).click();
      const reject = page.getByRole('dialog', { name: 'Reject this email?' });
      await reject.getByLabel('Reason').selectOption('It is for the wrong recipient');
      t.same(await violationsEverywhere(page), []);
      await reject.getByRole('button', { name: 'Reject' }).click();
      await page.getByRole('status').getByText('You rejected it.').waitFor();
      await page.getByText(/rejected by Ada Example.*: It is for the wrong recipient/).waitFor();
      t.match(await approval(bad.id), { status: 'rejected', reason: 'recipient', proposal: null });

      await page.goto(`${url}/app/approvals?status=rejected`);
      await page.getByRole('row', { name: /^Destroyed: an email rejected/ }).waitFor();
      t.equal(await page.getByRole('rowheader').count(), 1);
    });
    t.equal(await emails(), 1, 'nothing more has left');
  });

  await t.test('a viewer sees that it waits, and neither its mail nor buttons', async (t) => {
    const asked = await ask('Not for viewers');
    await visit(t, {}, async (page) => {
      await page.goto(`${url}${linkOf(asked)}`);
      await page.getByLabel('Email address').fill('vera@example.com');
      await page.getByLabel('Password').fill(PASSWORD);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByText('As viewer of').waitFor();
      await page.getByRole('heading', { name: 'Your role does not show mails' }).waitFor();
      t.equal(await page.getByRole('button', { name: /Approve|Reject/ }).count(), 0);
      t.same(await violationsEverywhere(page), []);
    });
  });
});
