/** Approvals over HTTP, in one service: what is asked for, who decides, what leaves, and what is left of it. */
import t, { type Test } from 'tap';
import type { ApprovalRecord } from '../../src/api/approvals.js';
import type { EmailRecord } from '../../src/api/email.js';
import type { SentContent } from '../../src/api/email-content.js';
import { sendApproved } from '../../src/commands/approvals/decisions.js';
import { firstTeam, systemCaller } from '../../src/commands/core/caller.js';
import { changeBilling } from '../../src/commands/teams/teams.js';
import type { StreamName } from '../../src/domain/core/ids.js';
import { handle } from '../../src/commands/core/handle.js';
import { makeCommands } from '../../src/commands/index.js';
import type { Cause } from '../../src/event-log/event-log.js';
import { approvalDecider } from '../../src/domain/approvals/decider.js';
import { approvalStream, assertDefined, parseApprovalId, type TeamId } from '../../src/domain/core/ids.js';
import type { Permission } from '../../src/domain/access/permissions.js';
import { DAY_MS, HOUR_MS, isoTime } from '../../src/domain/core/time.js';
import { advanceUntil, startTestApp, storedEvents, type Answer, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { said } from '../support/email-facts.js';
import { fakeClock, startOfToday, type FakeClock } from '../support/fake-clock.js';
import { mailerBy } from '../support/mailers.js';
import { signedIn } from '../support/people.js';
import { pause } from '../support/wait.js';

type World = TestApp &
  Readonly<{
    clock: FakeClock;
    teamId: TeamId;
    /** The mails that left, by recipient. */
    raws: ReadonlyMap<string, readonly string[]>;
    ask: (body: object, headers?: Record<string, string>) => Promise<ApprovalRecord>;
    approval: (id: string) => Promise<ApprovalRecord>;
    /** Headers of a person of the team. */
    person: (name: string, role?: 'owner' | 'member' | 'viewer') => Promise<Person>;
    caughtUp: () => Promise<void>;
    /** Ada and Bob, members who are signed in. */
    ada: Person;
    bob: Person;
  }>;
type Person = Readonly<{ id: string; headers: Headers }>;
type Headers = Record<string, string>;

/** Room for the small files of the cases, and none for a second large one. */
const STORED_MAX = 1_000_000;
const LARGE = { filename: 'a.txt', contentType: 'text/plain', content: Buffer.alloc(600_000, 'a').toString('base64') };

const open = async (t: Test): Promise<World> => {
  const raws = new Map<string, string[]>();
  const mailer = mailerBy(async ({ envelope, raw }) => {
    for (const to of envelope.to) raws.set(to, [...(raws.get(to) ?? []), raw.toString('latin1')]);
    return { host: 'test', durationMs: 0, recipients: envelope.to.map(() => said('accepted')) };
  });
  const clock = fakeClock(startOfToday());
  const app = await startTestApp({
    ...{ dataDir: temporaryDirectory(t), isFounded: true, clock, mailer },
    settings: {
      SEALPOST_PUBLIC_URL: 'https://mail.example.com',
      SEALPOST_LIMIT_TEAM_ATTACHMENT_BYTES_MAX: `${STORED_MAX}`,
    },
  });
  t.teardown(() => app.stop());
  const teamId = assertDefined(await firstTeam(app.engine), 'team');
  const person: World['person'] = async (name, role = 'member') => {
    const { userId, headers } = await signedIn(app.engine, { email: `${name}@example.com`, name, role, teamId });
    return { id: userId, headers };
  };
  return {
    ...app,
    clock,
    teamId,
    raws,
    person,
    ada: await person('ada'),
    bob: await person('bob'),
    ask: async (body, headers = {}) => {
      const answer = await app.call<ApprovalRecord>('POST', '/api/approvals', body, headers);
      if (answer.status !== 201) throw new Error(answer.text);
      return answer.body;
    },
    approval: async (id) => (await app.call<ApprovalRecord>('GET', `/api/approvals/${id}`)).body,
    caughtUp: async () => {
      let isCaughtUp = false;
      void app.whenCaughtUp().then(() => (isCaughtUp = true));
      await advanceUntil(clock, 10, 'the read models are there', () => isCaughtUp);
    },
  };
};

const simple = (to: string, more: object = {}): object => ({
  content: { subject: 'Hi', html: '<p>Hi</p>' },
  to: [{ email: to }],
  ...more,
});

type Act = 'approve' | 'reject' | 'withdraw';
/** Withdraws as the key does that asked. */
const decide = (
  { call }: World,
  { id, digest }: ApprovalRecord,
  act: Act,
  by: Headers,
): Promise<Answer<ApprovalRecord>> =>
  call(
    'POST',
    `/api/approvals/${id}/${act}`,
    act === 'withdraw' ? undefined : act === 'approve' ? { digest } : {},
    act === 'withdraw' ? {} : by,
  );

/** Records a decision as the command does before it sends. */
const recordApproval = async (app: World, { id, digest }: ApprovalRecord): Promise<Cause> => {
  const at = isoTime(app.clock.now());
  const cause = { teamId: app.teamId, actor: 'user:1', correlationId: 'test', causationId: 'test', at };
  const stream = approvalStream(assertDefined(parseApprovalId(id), 'approval id'));
  await handle(app.engine.eventLog, stream, approvalDecider, { type: 'Approve', at, by: 'user:1', digest }, cause);
  return cause;
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

type Case = (t: Test, app: World) => Promise<void>;

const shownAndSent: Case = async (t, app) => {
  const before = await emails(app);
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
  t.equal(await emails(app), before, 'nothing is sent');

  // The template is changed, renamed and deleted afterwards; the mail stays as it was shown.
  const { data } = (await app.call<{ data: { id: string; name: string }[] }>('GET', '/api/templates')).body;
  const templateId = assertDefined(data.find(({ name }) => name === 'Order')?.id, 'template');
  const other = JSON.parse(JSON.stringify(template).replace('First', 'Other')) as typeof template;
  const changes = { ...other, name: 'Renamed', slug: 'renamed' };
  await makeCommands(app.engine).updateTemplate(systemCaller(app.teamId, 'cli', 'test'), templateId, changes);
  for (const path of [`/api/templates/${templateId}`, '/api/templates/attachment/paper'])
    t.match(await app.call('DELETE', path), { status: 200 });
  t.equal(codeOf(await app.call('POST', '/api/approvals', order)), '404 ERR_TMPL_002');
  const content = (await app.call<SentContent>('GET', `/api/approvals/${asked.id}/content`)).body;
  t.match(content, { subject: 'Order 1042', html: /First words/, attachments: [{ filename: 'Paper.pdf' }] });
  const file = await app.call('GET', `/api/approvals/${asked.id}/attachments/0`);
  t.match(file.text, /^%PDF/);

  const { id: person, headers } = app.ada;
  t.equal(codeOf(await decide(app, { ...asked, digest: '0'.repeat(64) }, 'approve', headers)), '400 APPROVAL_CHANGED');
  const approved = (await decide(app, asked, 'approve', headers)).body;
  t.match(approved, { status: 'approved', decidedBy: `user:${person}`, emailId: content.id, failureCode: null });
  await app.whenStatus(content.id, 'sent');
  t.match(app.raws.get('ann@example.org'), [/Subject: Order 1042[\s\S]*First words/]);
  const record = (await app.call<EmailRecord>('GET', `/api/emails/${content.id}`)).body;
  t.strictSame(record.approval, { id: asked.id, askedBy: asked.askedBy, approvedBy: `user:${person}` });
  const again = await decide(app, asked, 'approve', headers);
  t.match(again.body, { emailId: content.id }, 'a second approval is answered as the first');
  t.equal(await emails(app), before + 1);
  // They are used by later cases.
  await app.call('POST', `/api/templates/${templateId}/restore`);

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
};

const onlyPeople: Case = async (t, app) => {
  const asked = await app.ask(simple('only-people@example.org'));
  const { headers: viewer } = await app.person('vera', 'viewer');
  for (const act of ['approve', 'reject'] as const)
    for (const by of [{}, viewer]) t.equal(codeOf(await decide(app, asked, act, by)), '403 FORBIDDEN');
  // The guard of the command itself, whatever permissions a caller claims to have.
  const commands = makeCommands(app.engine);
  const id = assertDefined(parseApprovalId(asked.id), 'approval id');
  const appOfUser = { ...systemCaller(app.teamId, 'grant:grant_x', 'test'), user: { id: '0' as never } };
  await t.rejects(commands.approveSend(appOfUser, id, { digest: asked.digest }), { code: 'FORBIDDEN' });
  await t.rejects(commands.rejectSend(appOfUser, id, {}), { code: 'FORBIDDEN' });
  const stranger = { ...appOfUser, teamId: '99999999-9999-4999-8999-999999999999' as TeamId };
  await t.rejects(commands.getApproval(stranger, id), { code: 'APPROVAL_NOT_FOUND' });
  t.equal(codeOf(await app.call('GET', '/api/approvals/nonsense')), '404 APPROVAL_NOT_FOUND');

  // Between the look and the click the person loses the role, and then the team.
  const { id: fay, headers } = await app.person('fay');
  const page = await app.call('GET', `/api/approvals/${asked.id}/page`, undefined, headers);
  t.match(page.text, /<p[^>]*>Hi/);
  t.match(page.headers['content-security-policy'], /sandbox/);
  const none = await app.call('GET', `/api/approvals/${asked.id}/attachments/0`, undefined, headers);
  t.equal(codeOf(none), '404 NOT_FOUND');
  t.equal((await app.call('GET', `/api/approvals/${asked.id}/content`, undefined, headers)).status, 200);
  const by = systemCaller(app.teamId, 'cli', 'test');
  await commands.changeMember(by, fay as never, 'viewer');
  t.equal(codeOf(await decide(app, asked, 'approve', headers)), '403 FORBIDDEN');
  await commands.removeMember(by, fay as never);
  t.equal(codeOf(await decide(app, asked, 'approve', headers)), '404 TEAM_NOT_FOUND');
  t.equal((await app.approval(asked.id)).status, 'requested');
};

const keysSeeNoMail: Case = async (t, app) => {
  const commands = makeCommands(app.engine);
  const by = systemCaller(app.teamId, 'cli', 'test');
  const keyOf = async (name: string, ...permissions: readonly Permission[]) => {
    const { id, key } = await commands.createApiKey(by, { name, permissions: [...permissions] });
    return { id, headers: { authorization: `Bearer ${key}` } };
  };
  const [asker, reader] = [await keyOf('asker', 'emails:send'), await keyOf('reader', 'emails:read')];
  const asked = await app.ask(simple('key@example.org', { variables: { pin: 'pin-4711' } }), asker.headers);
  for (const part of ['content', 'page', 'attachments/0'])
    for (const { headers } of [asker, reader])
      t.equal(codeOf(await app.call('GET', `/api/approvals/${asked.id}/${part}`, undefined, headers)), '403 FORBIDDEN');
  t.equal(codeOf(await app.call('GET', `/api/approvals/${asked.id}`, undefined, asker.headers)), '403 FORBIDDEN');
  for (const path of ['/api/approvals', `/api/approvals/${asked.id}`]) {
    const answer = await app.call('GET', path, undefined, reader.headers);
    t.equal(answer.status, 200);
    t.notMatch(answer.text, /pin-4711|<p>/, 'values and text of the mail are for those who may read mails');
  }
  // The key is revoked; a person decides all the same.
  await commands.revokeApiKey(by, asker.id as never);
  t.equal(
    codeOf(await app.call('POST', `/api/approvals/${asked.id}/withdraw`, undefined, asker.headers)),
    '401 API_KEY_REVOKED',
  );
  const approved = (await decide(app, asked, 'approve', app.ada.headers)).body;
  t.match(approved, { status: 'approved', askedByName: 'asker', failureCode: null });
  await app.whenStatus(String(approved.emailId), 'sent');
};

const atOnce: Case = async (t, app) => {
  const before = await emails(app);
  const asked = await app.ask(simple('at-once@example.org'));
  const { ada, bob } = app;
  const answers = await Promise.all([ada, bob, ada, bob].map(({ headers }) => decide(app, asked, 'approve', headers)));
  t.same(
    answers.map(({ status }) => status),
    [200, 200, 200, 200],
  );
  const { emailId, decidedBy } = await app.approval(asked.id);
  t.ok([`user:${ada.id}`, `user:${bob.id}`].includes(String(decidedBy)));
  await app.whenStatus(String(emailId), 'sent');
  t.equal(await emails(app), before + 1);
  t.equal(app.raws.get('at-once@example.org')?.length, 1);
  const stored = (await storedEvents(app.engine)).filter(({ stream }) => stream === `approval-${asked.id}`);
  t.same(
    stored.map(({ type }) => type),
    ['ApprovalRequested.v1', 'ApprovalApproved.v1', 'ApprovalSent.v1'],
  );
  t.equal(codeOf(await decide(app, asked, 'reject', bob.headers)), '400 APPROVAL_DECIDED');

  // Contrary decisions at one moment: one is taken, and the others are told so.
  const outcomes = { approve: 'approved', reject: 'rejected', withdraw: 'withdrawn' } as const;
  const orders: readonly (readonly Act[])[] = [
    ['approve', 'reject', 'withdraw', 'approve'],
    ['withdraw', 'approve', 'reject', 'withdraw'],
    ['reject', 'withdraw', 'approve', 'reject'],
  ];
  for (const [n, acts] of orders.entries()) {
    const to = `contrary-${n}@example.org`;
    const one = await app.ask(simple(to));
    const ends = await Promise.all(acts.map((act, place) => decide(app, one, act, [ada, bob][place % 2]!.headers)));
    const { status, emailId: email, failureCode } = await app.approval(one.id);
    t.equal(failureCode, null);
    for (const [place, act] of acts.entries())
      if (outcomes[act] === status) t.match(ends[place], { status: 200, body: { status } });
      else t.equal(codeOf(ends[place]!), '400 APPROVAL_DECIDED');
    if (status === 'approved') await app.whenStatus(String(email), 'sent');
    else t.match(await sealedOf(app, one.id), '[null', 'its key is destroyed');
    t.equal(app.raws.get(to)?.length ?? 0, status === 'approved' ? 1 : 0);
  }
};

const diedBetween: Case = async (t, app) => {
  const before = await emails(app);
  const asked = await app.ask(simple('died@example.org'));
  const cause = await recordApproval(app, asked);
  const id = assertDefined(parseApprovalId(asked.id), 'approval id');
  await advanceUntil(app.clock, 500, 'the processor sends it', async () => (await app.approval(id)).emailId !== null);
  t.equal(await sendApproved(app.engine, { id, cause }), true);
  t.equal(await emails(app), before + 1);
  await app.whenStatus(String((await app.approval(id)).emailId), 'sent', 100);
  t.equal(app.raws.get('died@example.org')?.length, 1);

  // A file is deleted after the decision: nothing can be sent any more, and the approval says why.
  const asset = await uploaded(app);
  const late = await app.ask(simple('refused@example.org', { attachments: [{ assetId: asset }] }));
  t.equal((await app.call('DELETE', `/api/assets/${asset}?permanently=true`)).status, 200);
  await recordApproval(app, late);
  await advanceUntil(app.clock, 500, 'it is refused', async () => (await app.approval(late.id)).failureCode !== null);
  t.match(await app.approval(late.id), { status: 'approved', emailId: null, failureCode: 'ASSET_NOT_FOUND' });
  t.equal(await emails(app), before + 1);

  // A person approved it before it was due, and it is due when it is sent.
  const dueAt = isoTime(app.clock.now() + 60_000);
  const due = await app.ask(simple('due@example.org', { scheduledAt: dueAt }));
  t.equal(due.expiresAt, dueAt);
  await app.clock.advance(59_999);
  const sending = await recordApproval(app, due);
  await app.clock.advance(1);
  t.equal(await sendApproved(app.engine, { id: due.id as never, cause: sending }), true);
  const sent = await app.approval(due.id);
  t.match(sent, { status: 'approved', failureCode: null, emailId: String });
  await app.whenStatus(String(sent.emailId), 'sent', 100);
  t.equal((await app.call('GET', `/api/approvals/${due.id}/content`)).status, 200);
};

const uploaded = async (app: World): Promise<string> => {
  const file = { filename: 'a.txt', content: Buffer.from('a').toString('base64') };
  const answer = await app.call<{ id: string }>('POST', '/api/assets', file);
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.body.id;
};

const refused: Case = async (t, app) => {
  const ask = (body: object) => app.call('POST', '/api/approvals', body);
  t.equal(codeOf(await ask({ ...order, templateId: 'nothing' })), '404 ERR_TMPL_002');
  t.equal(codeOf(await ask({ ...order, templateId: 'sign-in-code', variables: {} })), '400 VALIDATION_ERROR');
  t.equal(codeOf(await ask(simple('no address'))), '400 ERR_EMAIL_001');
  const many = Array.from({ length: 51 }, (_, n) => ({ email: `many-${n}@example.org` }));
  t.equal(codeOf(await ask(simple('', { to: many }))), '400 VALIDATION_ERROR');
  const crowd = await app.ask(
    simple('', { to: many.slice(1), variables: { big: 'x'.repeat(300_000), n: -0, e: 1e300 } }),
  );
  t.match(crowd, { recipientCount: 50 });
  const approved = await decide(app, crowd, 'approve', app.ada.headers);
  t.match(approved.body, { status: 'approved', failureCode: null }, 'its digest is that of what is stored');

  const asset = await uploaded(app);
  const asked = await app.ask(simple('asset@example.org', { attachments: [{ assetId: asset }] }));
  t.equal((await app.call('DELETE', `/api/assets/${asset}?permanently=true`)).status, 200);
  t.equal(codeOf(await decide(app, asked, 'approve', app.ada.headers)), '404 ASSET_NOT_FOUND');
  t.equal((await app.approval(asked.id)).status, 'requested', 'it still waits');

  // The storage of the team is full.
  const [one, two] = [
    await app.ask(simple('one@example.org', { attachments: [LARGE] })),
    await app.ask(simple('two@example.org', { attachments: [LARGE] })),
  ];
  t.match((await decide(app, one, 'approve', app.ada.headers)).body, { failureCode: null });
  await app.caughtUp();
  t.equal(codeOf(await decide(app, two, 'approve', app.ada.headers)), '429 ATTACHMENT_STORAGE_EXCEEDED');
  t.match(await app.approval(two.id), { status: 'requested', failureCode: null }, 'it still waits');
  t.equal(codeOf(await ask(simple('three@example.org', { attachments: [LARGE] }))), '429 ATTACHMENT_STORAGE_EXCEEDED');
};

const nothingLeft: Case = async (t, app) => {
  const asked = await app.ask(simple('credits@example.org'));
  const at = isoTime(app.clock.now());
  const cause = { teamId: app.teamId, actor: 'cli', correlationId: 'test', causationId: 'test', at };
  const bill = (billing: 'credits' | 'unmetered') =>
    changeBilling(app.engine, app.teamId, { billing }, cause, async () => ({ emails: 0, attachments: 0 }));
  const caught = bill('credits');
  await advanceUntil(app.clock, 50, 'the team is billed', () =>
    Promise.race([caught.then(() => true), pause(5).then(() => false)]),
  );
  const { creditsRemaining } = await app.engine.credits.quote(app.teamId);
  const all = { emails: creditsRemaining ?? 0, attachments: 0 };
  await app.engine.credits.reserve(app.teamId, 'batch-before' as StreamName, all, cause);
  t.equal(codeOf(await app.call('POST', '/api/approvals', simple('credits@example.org'))), '429 QUOTA_EXCEEDED');
  t.equal(codeOf(await decide(app, asked, 'approve', app.ada.headers)), '429 QUOTA_EXCEEDED');
  t.match(await app.approval(asked.id), { status: 'requested' }, 'it still waits');
  const shown = await app.call('GET', `/api/approvals/${asked.id}/content`);
  t.equal(shown.status, 200, 'a person can still look at it, and reject it');
  const back = bill('unmetered');
  await advanceUntil(app.clock, 50, 'it is not', () =>
    Promise.race([back.then(() => true), pause(5).then(() => false)]),
  );
  t.match((await decide(app, asked, 'approve', app.ada.headers)).body, { status: 'approved', failureCode: null });

  // A recipient that is suppressed meanwhile gets nothing.
  const mixed = await app.ask(simple('', { to: [{ email: 'stopped@example.org' }, { email: 'goes@example.org' }] }));
  t.same(mixed.proposal?.warnings, []);
  t.equal((await app.call('POST', '/api/suppressions', { email: 'stopped@example.org' })).status, 201);
  const { emailId } = (await decide(app, mixed, 'approve', app.ada.headers)).body;
  await app.whenStatus(String(emailId), 'sent', 100);
  t.same([app.raws.get('stopped@example.org'), app.raws.get('goes@example.org')?.length], [undefined, 1]);
};

const keyed: Case = async (t, app) => {
  const body = simple('keyed@example.org');
  const headers = { 'idempotency-key': 'k1' };
  const both = await Promise.all([1, 2].map(() => app.call<ApprovalRecord>('POST', '/api/approvals', body, headers)));
  const asked = both[0]!.body;
  t.same(
    both.map(({ status, body: { id } }) => [status, id]),
    [
      [201, asked.id],
      [201, asked.id],
    ],
  );
  const again = await app.call<ApprovalRecord>('POST', '/api/approvals', body, headers);
  t.equal(again.body.id, asked.id);
  t.equal(again.headers['idempotency-replayed'], 'true');
  const changed = await app.call('POST', '/api/approvals', { ...body, tags: ['a'] }, headers);
  t.equal(codeOf(changed), '400 IDEMPOTENCY_KEY_REUSED');
  t.equal((await decide(app, asked, 'withdraw', {})).status, 200);
  const replayed = await app.ask(body, headers);
  t.match(replayed, { id: asked.id, status: 'withdrawn', proposal: null }, 'a repeated call asks for nothing anew');

  const { key } = await makeCommands(app.engine).createApiKey(systemCaller(app.teamId, 'cli', 'test'), {
    name: 'trial',
    permissions: ['emails:send', 'emails:read'],
    test: true,
  });
  const trial = await app.ask(body, { authorization: `Bearer ${key}`, ...headers });
  t.not(trial.id, asked.id);
  t.match(trial, { test: true, askedByName: 'trial', cost: { emails: 0, attachments: 0 } });
  const approved = await decide(app, trial, 'approve', app.ada.headers);
  t.match((await app.call('GET', `/api/emails/${approved.body.emailId}`)).body, { test: true });
  t.equal(app.raws.get('keyed@example.org'), undefined);
};

const erased: Case = async (t, app) => {
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
  // The read model of approvals pauses after the first, and does not have the second when the search begins.
  await app.ask(simple('ann@example.org'));
  const late = await app.ask(simple('gone@example.org'));
  let isErased = false;
  void app
    .call<{ status: string }>('POST', '/api/privacy/erase', { email: 'gone@example.org' })
    .then(() => (isErased = true));
  await advanceUntil(app.clock, 1, 'it is erased', () => isErased);
  for (const { id } of [alone, both, late]) {
    t.match(await app.approval(id), { status: 'withdrawn', decidedBy: null, proposal: null });
    t.notMatch((await sealedOf(app, id)).toLowerCase(), 'gone@example.org');
  }
  t.match(await app.approval(other.id), { status: 'requested', proposal: { subject: 'Hello' } });
};

type Listed = Readonly<{ data: readonly ApprovalRecord[]; meta: { total: number; nextCursor: string | null } }>;

const bounded: Case = async (t, app) => {
  const max = app.engine.limits.openApprovalsMax;
  const list = async (query: string): Promise<Listed> =>
    (await app.call<Listed>('GET', `/api/approvals?${query}`)).body;
  await app.caughtUp();
  const { total: before } = (await list('status=requested')).meta;
  const room = max - before;
  const flood = await Promise.all(
    Array.from({ length: room + 10 }, (_, n) =>
      app.call<ApprovalRecord>('POST', '/api/approvals', simple(`flood-${n}@example.org`)),
    ),
  );
  const [taken, rest] = [flood.filter(({ status }) => status === 201), flood.filter(({ status }) => status !== 201)];
  t.ok(taken.length <= room, `${taken.length} of at most ${room} are taken`);
  t.ok(taken.length > room / 2);
  for (const answer of rest) t.equal(codeOf(answer), '400 APPROVAL_LIMIT_REACHED');
  await app.caughtUp();
  const pages: ApprovalRecord[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const page: Listed = await list(`status=requested&limit=40${cursor === '' ? '' : `&cursor=${cursor}`}`);
    pages.push(...page.data);
    cursor = page.meta.nextCursor;
  }
  t.equal(new Set(pages.map(({ id }) => id)).size, before + taken.length);
  t.same(
    pages.map(({ askedAt }) => askedAt),
    pages
      .map(({ askedAt }) => askedAt)
      .toSorted()
      .toReversed(),
  );
  for (const { body } of taken.slice(3)) t.equal((await decide(app, body, 'withdraw', {})).status, 200);
};

const destroyed: Case = async (t, app) => {
  const body = simple('destroyed@example.org', { content: { subject: 'Secret plan', html: '<p>Hi</p>' } });
  const again = { 'idempotency-key': 'again' };
  const rejected = await app.ask(body, again);
  const no = await app.call<ApprovalRecord>(
    'POST',
    `/api/approvals/${rejected.id}/reject`,
    { reason: 'recipient' },
    app.ada.headers,
  );
  t.match(no.body, { status: 'rejected', reason: 'recipient', decidedBy: `user:${app.ada.id}`, proposal: null });
  const withdrawn = await app.ask(body);
  t.match((await decide(app, withdrawn, 'withdraw', {})).body, {
    status: 'withdrawn',
    decidedBy: withdrawn.askedBy,
    proposal: null,
  });
  const [intime, expired] = [await app.ask(simple('in-time@example.org')), await app.ask(body)];
  await app.clock.advance(24 * HOUR_MS - 1);
  const { headers } = await app.person('late');
  t.match((await decide(app, intime, 'approve', headers)).body, { status: 'approved', failureCode: null });
  await app.clock.advance(1);
  t.match(await app.approval(expired.id), { status: 'expired', proposal: null });
  t.equal(codeOf(await decide(app, expired, 'approve', headers)), '400 APPROVAL_DECIDED');
  const waiting = await app.call<Listed>('GET', '/api/approvals?status=requested');
  t.same([waiting.body.meta.total, waiting.body.data], [0, []]);
  const over = await app.call<Listed>('GET', '/api/approvals?status=expired&limit=1');
  t.same(
    over.body.data.map(({ id }) => id),
    [expired.id],
  );
  await advanceUntil(app.clock, 1_000, 'the key is gone', async () =>
    (await sealedOf(app, expired.id)).includes('[null'),
  );
  for (const { id } of [rejected, withdrawn, expired]) {
    t.notMatch(await sealedOf(app, id), 'Secret plan');
    t.equal(codeOf(await app.call('GET', `/api/approvals/${id}/content`)), '410 CONTENT_GONE');
  }
  await app.caughtUp();
  const list = await app.call<Listed>('GET', '/api/approvals?limit=4');
  t.same(
    list.body.data.map(({ status, proposal }) => [status, proposal === null]),
    [
      ['expired', true],
      ['approved', false],
      ['withdrawn', true],
      ['rejected', true],
    ],
  );
  await app.clock.advance(31 * DAY_MS);
  await advanceUntil(app.clock, 60_000, 'the records are removed', async () => {
    const { body: left } = await app.call<Listed>('GET', '/api/approvals');
    return left.meta.total === 0;
  });
  for (const { id } of [rejected, intime]) {
    t.equal(codeOf(await app.call('GET', `/api/approvals/${id}`)), '404 APPROVAL_NOT_FOUND');
    t.match(await sealedOf(app, id), '[null');
  }
  const anew = await app.ask(body, again);
  t.match(anew, { status: 'requested' }, 'an Idempotency-Key is known as long as the record');
  t.equal((await app.ask(body, again)).id, anew.id);
};

void t.test('approvals', async (t) => {
  const app = await open(t);
  const each = (name: string, run: Case) => t.test(name, (t) => run(t, app));
  await each(
    'what a key asks for is shown as it would leave, a person approves it, and that is what leaves',
    shownAndSent,
  );
  await each('only a person who may send decides; a key and an app cannot, nor can another team', onlyPeople);
  await each('a key sees no more of a mail than it may, and need not live until the decision', keysSeeNoMail);
  await each('one of the decisions of a moment is taken, and one email leaves', atOnce);
  await each('what was approved is sent although the process of the person died, once', diedBetween);
  await each('what cannot be sent is not asked for, and what cannot be sent any more is not approved', refused);
  await each('without credits it waits, and who is suppressed meanwhile gets nothing', nothingLeft);
  await each('an Idempotency-Key asks once, and a test key asks for tests', keyed);
  await each('an address that is exported and erased is found in proposals', erased);
  await each('a team has a bound of open ones, however many ask at once', bounded);
  await each('rejected, withdrawn and expired, a proposal is destroyed, and reads say so', destroyed);
});
