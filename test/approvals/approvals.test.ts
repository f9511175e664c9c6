/** Approvals over HTTP: what is asked for, who decides, what leaves, and what is left of it. */
import t, { type Test } from 'tap';
import type { ApprovalRecord } from '../../src/api/approvals.js';
import type { EmailRecord } from '../../src/api/email.js';
import type { SentContent } from '../../src/api/email-content.js';
import { sendApproved } from '../../src/commands/approvals/decisions.js';
import { firstTeam, systemCaller } from '../../src/commands/core/caller.js';
import { handle } from '../../src/commands/core/handle.js';
import { makeCommands } from '../../src/commands/index.js';
import { approvalDecider } from '../../src/domain/approvals/decider.js';
import { approvalStream, assertDefined, parseApprovalId, type TeamId } from '../../src/domain/core/ids.js';
import { DAY_MS, HOUR_MS, isoTime } from '../../src/domain/core/time.js';
import { advanceUntil, startTestApp, storedEvents, type Answer, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { said } from '../support/email-facts.js';
import { fakeClock, startOfToday, type FakeClock } from '../support/fake-clock.js';
import { mailerBy } from '../support/mailers.js';
import { signedIn } from '../support/people.js';

type World = TestApp &
  Readonly<{
    clock: FakeClock;
    teamId: TeamId;
    /** The mails that left, by recipient. */
    raws: ReadonlyMap<string, readonly string[]>;
    ask: (body: object, headers?: Record<string, string>) => Promise<ApprovalRecord>;
    approval: (id: string) => Promise<ApprovalRecord>;
    /** Headers of a person of the team. */
    person: (name: string, role?: 'owner' | 'member' | 'viewer') => Promise<Readonly<{ id: string; headers: Headers }>>;
    caughtUp: () => Promise<void>;
  }>;
type Headers = Record<string, string>;

const open = async (t: Test, settings: Record<string, string> = {}): Promise<World> => {
  const raws = new Map<string, string[]>();
  const mailer = mailerBy(async ({ envelope, raw }) => {
    for (const to of envelope.to) raws.set(to, [...(raws.get(to) ?? []), raw.toString('latin1')]);
    return { host: 'test', durationMs: 0, recipients: envelope.to.map(() => said('accepted')) };
  });
  const clock = fakeClock(startOfToday());
  const app = await startTestApp({
    ...{ dataDir: temporaryDirectory(t), isFounded: true, clock, mailer },
    settings: { SEALPOST_PUBLIC_URL: 'https://mail.example.com', ...settings },
  });
  t.teardown(() => app.stop());
  const teamId = assertDefined(await firstTeam(app.engine), 'team');
  return {
    ...app,
    clock,
    teamId,
    raws,
    ask: async (body, headers = {}) => {
      const answer = await app.call<ApprovalRecord>('POST', '/api/approvals', body, headers);
      if (answer.status !== 201) throw new Error(answer.text);
      return answer.body;
    },
    approval: async (id) => (await app.call<ApprovalRecord>('GET', `/api/approvals/${id}`)).body,
    person: async (name, role = 'member') => {
      const { userId, headers } = await signedIn(app.engine, { email: `${name}@example.com`, name, role, teamId });
      return { id: userId, headers };
    },
    caughtUp: async () => {
      let isCaughtUp = false;
      void app.whenCaughtUp().then(() => (isCaughtUp = true));
      await advanceUntil(clock, 10, 'the read models are there', () => isCaughtUp);
    },
  };
};

const template = {
  name: 'Order',
  slug: 'order',
  subject: 'Order {{number}}',
  publish: true,
  variables: [
    { name: 'number', type: 'string', required: true },
    { name: 'note', type: 'string' },
  ],
  schema: {
    sections: [
      {
        id: 'main',
        type: 'main',
        components: [{ id: 'text', type: 'rich-text', content: '<p>First words {{note}}</p>' }],
      },
    ],
  },
};
const paper = {
  slug: 'paper',
  name: 'Paper',
  publish: true,
  variables: [],
  schema: {
    outputFormats: ['pdf'],
    pages: [{ pageId: 'p', pageName: 'P', sections: template.schema.sections }],
  },
};
const order = {
  templateId: 'order',
  to: [{ email: 'ann@example.org', name: 'Ann' }],
  bcc: [{ email: 'archive@example.org' }],
  variables: { number: '1042' },
};

const codeOf = ({ status, body }: Answer<object>): string => `${status} ${String((body as { code?: string }).code)}`;

const emails = async (app: World): Promise<number> =>
  (await app.call<{ meta: { total: number } }>('GET', '/api/emails')).body.meta.total;

/** All that can be opened of the approval's stream. */
const sealedOf = async ({ engine }: World, id: string): Promise<string> => {
  const stream = approvalStream(assertDefined(parseApprovalId(id), 'approval id'));
  return JSON.stringify(
    (await engine.eventLog.load(stream)).map(({ event }) => ('sealed' in event ? event.sealed : {})),
  );
};

void t.test(
  'what a key asks for is shown as it would leave, a person approves it, and that is what leaves',
  async (t) => {
    const app = await open(t);
    t.equal((await app.call('POST', '/api/templates', template)).status, 201);
    t.equal((await app.call('POST', '/api/templates/attachment', paper)).status, 201);
    const asked = await app.ask({ ...order, attachments: [{ attachmentTemplateId: 'paper' }] });
    t.match(asked, {
      status: 'requested',
      askedBy: /^apiKey:key_/,
      askedByName: String,
      decidedAt: null,
      emailId: null,
      templateName: 'Order',
      templateVersion: 1,
      recipientCount: 2,
      proposal: {
        subject: 'Order 1042',
        to: [{ email: 'ann@example.org', name: 'Ann' }],
        cc: [],
        bcc: [{ email: 'archive@example.org' }],
        attachments: [{ filename: 'Paper.pdf', contentType: 'application/pdf' }],
        warnings: [/^\{\{note\}\} is shown and has no value/, /./],
      },
    });
    t.equal(Date.parse(asked.expiresAt) - Date.parse(asked.askedAt), 24 * HOUR_MS);
    t.equal(await emails(app), 0, 'nothing is sent');

    // The template changes afterwards; the mail stays as it was shown.
    const { id: templateId } = (await app.call<{ data: { id: string }[] }>('GET', '/api/templates')).body.data[0]!;
    const other = JSON.parse(JSON.stringify(template).replace('First', 'Other')) as typeof template;
    const { slug: _slug, ...changes } = other;
    await makeCommands(app.engine).updateTemplate(systemCaller(app.teamId, 'cli', 'test'), templateId, changes);
    const content = (await app.call<SentContent>('GET', `/api/approvals/${asked.id}/content`)).body;
    t.match(content, { subject: 'Order 1042', html: /First words/, attachments: [{ filename: 'Paper.pdf' }] });
    const page = await app.call('GET', `/api/approvals/${asked.id}/page`);
    t.match(page.text, /First words/);
    t.match(page.headers['content-security-policy'], /sandbox/);
    const file = await app.call('GET', `/api/approvals/${asked.id}/attachments/0`);
    t.match(file.text, /^%PDF/);
    t.equal(codeOf(await app.call('GET', `/api/approvals/${asked.id}/attachments/1`)), '404 NOT_FOUND');

    const { id: person, headers } = await app.person('ada');
    const approve = (digest: string) =>
      app.call<ApprovalRecord>('POST', `/api/approvals/${asked.id}/approve`, { digest }, headers);
    t.equal(codeOf(await approve('0'.repeat(64))), '400 APPROVAL_CHANGED');
    const approved = (await approve(asked.digest)).body;
    t.match(approved, { status: 'approved', decidedBy: `user:${person}`, emailId: content.id, failureCode: null });
    await app.whenStatus(content.id, 'sent');
    t.match(app.raws.get('ann@example.org'), [/Subject: Order 1042[\s\S]*First words/]);
    const record = (await app.call<EmailRecord>('GET', `/api/emails/${content.id}`)).body;
    t.strictSame(record.approval, { id: asked.id, askedBy: asked.askedBy, approvedBy: `user:${person}` });
    t.match((await approve(asked.digest)).body, { emailId: content.id }, 'a second approval is answered as the first');
    t.equal(await emails(app), 1);

    await app.caughtUp();
    const { headers: owner } = await app.person('olga', 'owner');
    const audit = await app.call<{ data: { action: string; detail: string; actor: { id: string } }[] }>(
      'GET',
      '/api/audit-logs?category=team&limit=50',
      undefined,
      owner,
    );
    const entry = audit.body.data.find(({ action }) => action === 'approval.approved');
    t.match(entry, { actor: { type: 'user', id: person }, detail: `asked by ${asked.askedBy}` });
  },
);

void t.test('only a person who may send decides; a key and an app cannot, nor can another team', async (t) => {
  const app = await open(t);
  const asked = await app.ask({ content: { subject: 'Hi', html: '<p>Hi</p>' }, to: [{ email: 'ann@example.org' }] });
  for (const act of ['approve', 'reject']) {
    const body = act === 'approve' ? { digest: asked.digest } : {};
    t.equal(codeOf(await app.call('POST', `/api/approvals/${asked.id}/${act}`, body)), '403 FORBIDDEN');
    const { headers } = await app.person(`viewer-${act}`, 'viewer');
    t.equal(codeOf(await app.call('POST', `/api/approvals/${asked.id}/${act}`, body, headers)), '403 FORBIDDEN');
  }
  // The guard of the command itself, whatever permissions a caller claims to have.
  const commands = makeCommands(app.engine);
  const id = assertDefined(parseApprovalId(asked.id), 'approval id');
  const app_ = { ...systemCaller(app.teamId, 'grant:grant_x', 'test'), user: { id: '0' as never } };
  await t.rejects(commands.approveSend(app_, id, { digest: asked.digest }), { code: 'FORBIDDEN' });
  await t.rejects(commands.rejectSend(app_, id, {}), { code: 'FORBIDDEN' });
  const stranger = { ...app_, teamId: '99999999-9999-4999-8999-999999999999' as TeamId };
  await t.rejects(commands.getApproval(stranger, id), { code: 'APPROVAL_NOT_FOUND' });
  t.equal((await app.approval(asked.id)).status, 'requested');
  t.equal(codeOf(await app.call('GET', '/api/approvals/nonsense')), '404 APPROVAL_NOT_FOUND');
});

void t.test('two people who click at once, and again, make one email', async (t) => {
  const app = await open(t);
  const asked = await app.ask({ content: { subject: 'Hi', html: '<p>Hi</p>' }, to: [{ email: 'ann@example.org' }] });
  const [one, two] = [await app.person('one'), await app.person('two')];
  const approve = (headers: Headers) =>
    app.call<ApprovalRecord>('POST', `/api/approvals/${asked.id}/approve`, { digest: asked.digest }, headers);
  const answers = await Promise.all([one, two, one, two].map(({ headers }) => approve(headers)));
  t.same(
    answers.map(({ status }) => status),
    [200, 200, 200, 200],
  );
  const { emailId, decidedBy } = await app.approval(asked.id);
  t.ok([`user:${one.id}`, `user:${two.id}`].includes(String(decidedBy)));
  await app.whenStatus(String(emailId), 'sent');
  t.equal(await emails(app), 1);
  t.equal(app.raws.get('ann@example.org')?.length, 1);
  const stored = (await storedEvents(app.engine)).filter(({ stream }) => stream === `approval-${asked.id}`);
  t.same(
    stored.map(({ type }) => type),
    ['ApprovalRequested.v1', 'ApprovalApproved.v1', 'ApprovalSent.v1'],
  );
  t.equal(codeOf(await app.call('POST', `/api/approvals/${asked.id}/reject`, {}, two.headers)), '400 APPROVAL_DECIDED');
});

void t.test('what was approved is sent although the process of the person died, once', async (t) => {
  const app = await open(t);
  const asked = await app.ask({ content: { subject: 'Hi', html: '<p>Hi</p>' }, to: [{ email: 'ann@example.org' }] });
  const id = assertDefined(parseApprovalId(asked.id), 'approval id');
  const at = isoTime(app.clock.now());
  const cause = { teamId: app.teamId, actor: 'user:1', correlationId: 'test', causationId: 'test', at };
  // As far as the command comes before it sends.
  await handle(
    app.engine.eventLog,
    approvalStream(id),
    approvalDecider,
    { type: 'Approve', at, by: 'user:1', digest: asked.digest },
    cause,
  );
  await advanceUntil(app.clock, 500, 'the processor sends it', async () => (await app.approval(id)).emailId !== null);
  t.equal(await sendApproved(app.engine, { id, cause }), true);
  t.equal(await emails(app), 1);
  await app.whenStatus(String((await app.approval(id)).emailId), 'sent', 100);
  t.equal(app.raws.get('ann@example.org')?.length, 1);
});

void t.test('rejected, withdrawn and expired, a proposal is destroyed, and reads say so', async (t) => {
  const app = await open(t);
  const body = { content: { subject: 'Secret plan', html: '<p>Hi</p>' }, to: [{ email: 'ann@example.org' }] };
  const { id: person, headers } = await app.person('ada');
  const rejected = await app.ask(body);
  const no = await app.call<ApprovalRecord>(
    'POST',
    `/api/approvals/${rejected.id}/reject`,
    { reason: 'recipient' },
    headers,
  );
  t.match(no.body, { status: 'rejected', reason: 'recipient', decidedBy: `user:${person}`, proposal: null });
  const withdrawn = await app.ask(body);
  t.match((await app.call('POST', `/api/approvals/${withdrawn.id}/withdraw`)).body, {
    status: 'withdrawn',
    decidedBy: withdrawn.askedBy,
    proposal: null,
  });
  const expired = await app.ask(body);
  await app.clock.advance(24 * HOUR_MS);
  t.match(await app.approval(expired.id), { status: 'expired', proposal: null });
  const late = await signedIn(app.engine, {
    email: 'late@example.com',
    name: 'Late',
    role: 'member',
    teamId: app.teamId,
  });
  const approve = { digest: expired.digest };
  t.equal(
    codeOf(await app.call('POST', `/api/approvals/${expired.id}/approve`, approve, late.headers)),
    '400 APPROVAL_DECIDED',
  );
  await advanceUntil(app.clock, 1_000, 'the key is gone', async () =>
    (await sealedOf(app, expired.id)).includes('[null'),
  );
  for (const { id } of [rejected, withdrawn, expired]) {
    t.notMatch(await sealedOf(app, id), 'Secret plan');
    t.equal(codeOf(await app.call('GET', `/api/approvals/${id}/content`)), '410 CONTENT_GONE');
  }
  await app.caughtUp();
  const list = await app.call<{ data: ApprovalRecord[] }>('GET', '/api/approvals');
  t.same(
    list.body.data.map(({ status, proposal }) => [status, proposal]),
    [
      ['expired', null],
      ['withdrawn', null],
      ['rejected', null],
    ],
  );
  t.equal(await emails(app), 0);
  await app.clock.advance(31 * DAY_MS);
  await advanceUntil(app.clock, 60_000, 'the records are removed', async () => {
    const { body: left } = await app.call<{ meta: { total: number } }>('GET', '/api/approvals');
    return left.meta.total === 0;
  });
  t.equal(codeOf(await app.call('GET', `/api/approvals/${rejected.id}`)), '404 APPROVAL_NOT_FOUND');
});

void t.test('what cannot be sent cannot be asked for, and what cannot be sent any more is not approved', async (t) => {
  const app = await open(t);
  t.equal((await app.call('POST', '/api/templates', template)).status, 201);
  const ask = (body: object) => app.call('POST', '/api/approvals', body);
  t.equal(codeOf(await ask({ ...order, templateId: 'nothing' })), '404 ERR_TMPL_002');
  t.equal(codeOf(await ask({ ...order, variables: {} })), '400 VALIDATION_ERROR');
  t.equal(codeOf(await ask({ ...order, to: [{ email: 'no address' }] })), '400 ERR_EMAIL_001');
  const asset = await app.call<{ id: string }>('POST', '/api/assets', {
    filename: 'a.txt',
    contentType: 'text/plain',
    content: Buffer.from('a').toString('base64'),
  });
  if (asset.status === 201) {
    const asked = await app.ask({ ...order, attachments: [{ assetId: asset.body.id }] });
    t.equal((await app.call('DELETE', `/api/assets/${asset.body.id}?permanently=true`)).status, 200);
    const { headers } = await app.person('ada');
    const answer = await app.call('POST', `/api/approvals/${asked.id}/approve`, { digest: asked.digest }, headers);
    t.equal(codeOf(answer), '404 ASSET_NOT_FOUND');
    t.equal((await app.approval(asked.id)).status, 'requested', 'it still waits');
  }
});

void t.test(
  'an Idempotency-Key asks once, a test key asks for tests, and a team has a bound of open ones',
  async (t) => {
    const app = await open(t);
    const body = { content: { subject: 'Hi', html: '<p>Hi</p>' }, to: [{ email: 'ann@example.org' }] };
    const keyed = { 'idempotency-key': 'k1' };
    const asked = await app.ask(body, keyed);
    const again = await app.call<ApprovalRecord>('POST', '/api/approvals', body, keyed);
    t.equal(again.body.id, asked.id);
    t.equal(again.headers['idempotency-replayed'], 'true');
    const changed = await app.call('POST', '/api/approvals', { ...body, tags: ['a'] }, keyed);
    t.equal(codeOf(changed), '400 IDEMPOTENCY_KEY_REUSED');
    const { key } = await makeCommands(app.engine).createApiKey(systemCaller(app.teamId, 'cli', 'test'), {
      name: 'trial',
      permissions: ['emails:send', 'emails:read'],
      test: true,
    });
    const trial = await app.ask(body, { authorization: `Bearer ${key}` });
    t.match(trial, { test: true, askedByName: 'trial', cost: { emails: 0, attachments: 0 } });
    const { headers } = await app.person('ada');
    const approved = await app.call<ApprovalRecord>(
      'POST',
      `/api/approvals/${trial.id}/approve`,
      { digest: trial.digest },
      headers,
    );
    t.match((await app.call('GET', `/api/emails/${approved.body.emailId}`)).body, { test: true });
    t.equal(app.raws.size, 0);
    const commands = makeCommands(app.engine);
    const by = systemCaller(app.teamId, 'cli', 'test');
    await t.rejects(
      commands.requestApproval(by, body, async () => app.engine.limits.openApprovalsMax),
      { code: 'APPROVAL_LIMIT_REACHED' },
    );
    await app.caughtUp();
    const waiting = await app.call<{ data: ApprovalRecord[] }>('GET', '/api/approvals?status=requested');
    t.same(
      waiting.body.data.map(({ id }) => id),
      [asked.id],
    );
  },
);

void t.test('an address that is exported and erased is found in proposals', async (t) => {
  const app = await open(t);
  const content = { subject: 'Hello', html: '<p>Hi {{name}}</p>' };
  const alone = await app.ask({ content, to: [{ email: 'Gone@example.org' }], variables: { name: 'Gone' } });
  const both = await app.ask({ content, to: [{ email: 'ann@example.org' }], cc: [{ email: 'gone@example.org' }] });
  const other = await app.ask({ content, to: [{ email: 'ann@example.org' }] });
  await app.caughtUp();
  const exported = await app.call('POST', '/api/privacy/export', { email: 'gone@example.org' });
  const held = exported.text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ type }) => type === 'approval');
  t.match(held, [
    { approvalId: alone.id, subject: 'Hello', variables: { name: 'Gone' } },
    { approvalId: both.id, subject: null, variables: null },
  ]);
  let isErased = false;
  void app
    .call<{ status: string }>('POST', '/api/privacy/erase', { email: 'gone@example.org' })
    .then(() => (isErased = true));
  await advanceUntil(app.clock, 100, 'it is erased', () => isErased);
  for (const { id } of [alone, both]) {
    t.match(await app.approval(id), { status: 'withdrawn', decidedBy: null, proposal: null });
    t.notMatch((await sealedOf(app, id)).toLowerCase(), 'gone@example.org');
  }
  t.match(await app.approval(other.id), { status: 'requested', proposal: { subject: 'Hello' } });
});
