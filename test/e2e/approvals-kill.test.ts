/** A process that is killed between the approval of a send and the send: what was approved leaves, as one email. */
import t from 'tap';
import type { ApprovalRecord } from '../../src/api/approvals.js';
import type { EmailRecord } from '../../src/api/email.js';
import { firstTeam } from '../../src/commands/core/caller.js';
import { assertDefined } from '../../src/domain/core/ids.js';
import { startTestApp, storedEvents } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { PASSWORD, signedIn } from '../support/people.js';
import { startServer } from '../support/server-process.js';
import { openSmtpInbox } from '../support/smtp-inbox.js';
import { eventually } from '../support/wait.js';

t.setTimeout(300_000);

/** Enough for some to be approved and not sent when the first decision is seen. */
const ASKED = 6;

void t.test('what a person approved leaves as one email, although the process is killed before it', async (t) => {
  const dataDir = temporaryDirectory(t);
  const inbox = await openSmtpInbox(t);
  const settings = { SEALPOST_SMTP_URL: inbox.url };
  const before = await startTestApp({ dataDir, settings, isFounded: true });
  const { key } = before;
  const teamId = assertDefined(await firstTeam(before.engine), 'first team');
  await signedIn(before.engine, { email: 'ada@example.com', name: 'Ada', role: 'owner', teamId });
  const asked: ApprovalRecord[] = [];
  for (let n = 0; n < ASKED; n += 1) {
    const answer = await before.call<ApprovalRecord>('POST', '/api/approvals', {
      from: { email: 'shop@shop.example' },
      content: { subject: `Mail ${n}`, html: '<p>Hello</p>' },
      to: [{ email: `kim+${n}@example.org` }],
    });
    t.equal(answer.status, 201, answer.text);
    asked.push(answer.body);
  }
  await before.stop();

  const server = startServer({ ...settings, SEALPOST_DATA_DIR: dataDir, SEALPOST_LOG_LEVEL: 'silent' });
  t.teardown(() => server.end('SIGKILL'));
  const base = await server.listening;
  const call = async <Body>(path: string, headers: Record<string, string>, body?: unknown): Promise<Body> => {
    const given = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const answer = await fetch(base + path, { headers: { 'content-type': 'application/json', ...headers }, ...given });
    if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status}`);
    return (await answer.json()) as Body;
  };
  const { accessToken } = await call<{ accessToken: string }>(
    '/api/auth/login',
    {},
    { email: 'ada@example.com', password: PASSWORD },
  );
  const ada = { authorization: `Bearer ${accessToken}`, 'x-team-id': teamId };
  const decisions = Promise.allSettled(
    asked.map(({ id, digest }) => call<ApprovalRecord>(`/api/approvals/${id}/approve`, ada, { digest })),
  );
  const seen = await eventually('a decision is stored', async () => {
    const found = await Promise.all(
      asked.map(({ id }) => call<ApprovalRecord>(`/api/approvals/${id}`, { authorization: `Bearer ${key}` })),
    );
    const approved = found.filter(({ status }) => status === 'approved');
    return approved.length > 0 ? approved : undefined;
  });
  await server.end('SIGKILL');
  const answered = (await decisions).filter(({ status }) => status === 'fulfilled').length;

  const after = await startTestApp({ dataDir, settings });
  t.teardown(() => after.stop());
  const left = await eventually('each approved one is an email', async () => {
    const found = await Promise.all(
      asked.map(async ({ id }) => (await after.call<ApprovalRecord>('GET', `/api/approvals/${id}`)).body),
    );
    return found.every(({ status, emailId }) => status !== 'approved' || emailId !== null) ? found : undefined;
  });
  const approved = left.filter(({ status }) => status === 'approved');
  t.ok(approved.length >= Math.max(answered, seen.length), 'a decision that was shown is kept');
  t.ok(approved.every(({ failureCode }) => failureCode === null));
  for (const { emailId } of approved) await after.whenStatus(String(emailId), 'sent');
  const stored = await storedEvents(after.engine);
  for (const [place, { id, status, emailId }] of left.entries()) {
    const mails = inbox.messages.filter((_, n) => inbox.recipients[n]?.includes(`kim+${place}@example.org`) === true);
    const ids = new Set(mails.map((mail) => /^Message-ID: (.*)\r$/im.exec(mail)?.[1]));
    const types = stored.flatMap(({ stream, type }) => (stream === `approval-${id}` ? [type] : []));
    if (status === 'approved') {
      t.equal(ids.size, 1, `mail ${place} left as one message`);
      t.same(types, ['ApprovalRequested.v1', 'ApprovalApproved.v1', 'ApprovalSent.v1']);
      const { approval } = (await after.call<EmailRecord>('GET', `/api/emails/${emailId}`)).body;
      t.match(approval, { id });
    } else t.same([status, mails.length, types.length], ['requested', 0, 1]);
  }
  const { body: emails } = await after.call<{ data: readonly EmailRecord[] }>('GET', '/api/emails?limit=100');
  t.equal(emails.data.filter(({ templateId }) => templateId === 'inline').length, approved.length);
  t.comment(
    `${approved.length} of ${ASKED} approved, ${seen.filter(({ emailId }) => emailId === null).length} without an email when it was killed, ${inbox.messages.length} messages`,
  );
});
