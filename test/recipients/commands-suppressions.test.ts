/** Suppressions, and the engagement that is recorded. */
import t from 'tap';
import { causeOf } from '../../src/commands/core/caller.js';
import { openEngagementRecorder } from '../../src/commands/recipients/engagement-recorder.js';
import { suppressionIdOf } from '../../src/commands/recipients/suppression-check.js';
import { noteRefusal, suppressionLines, suppressAddress } from '../../src/commands/recipients/suppressions.js';
import { changeBilling } from '../../src/commands/teams/teams.js';
import { AppendUnknown } from '../../src/domain/core/errors.js';
import {
  emailStream,
  parseEmailId,
  teamStream,
  type EmailId,
  type StreamName,
  type SuppressionId,
  assertDefined,
} from '../../src/domain/core/ids.js';
import { isoTime } from '../../src/domain/core/time.js';
import { openEventLog, startOf } from '../../src/event-log/event-log.js';
import {
  caller,
  OTHER_TEAM,
  simple,
  stranger,
  TEAM,
  withTemplate,
  type World,
  nothingUsed,
  openWorld,
} from '../support/command-world.js';
import { accepted, content, EMAIL_ID } from '../support/email-facts.js';
import { memoryLog } from '../support/memory-ports.js';
import { eventually } from '../support/wait.js';

// The suppression list: kept by HMAC, the address sealed, and asked at the acceptance of every email.

const gone = 'Gone@example.org';

const causeAt = ({ clock }: World, teamId = TEAM) => ({
  teamId,
  actor: 'test',
  correlationId: 'test',
  causationId: 'test',
  at: isoTime(clock.now()),
});

const sent = async ({ commands }: World, ...to: readonly string[]): Promise<EmailId> => {
  const { body } = await commands.sendEmail(caller, simple({ to: to.map((email) => ({ email })) }));
  return parseEmailId(body.id)!;
};

const typesOf = async (world: World, id: EmailId) => (await world.events(emailStream(id))).map(({ type }) => type);

void t.test('an address is added, found whatever its letter case, and removed', async (t) => {
  const world = await withTemplate();
  const { commands } = world;
  const record = await commands.addSuppression(caller, { email: gone });
  t.match(record, { email: gone, reason: 'manual', emailId: null });
  t.same(await commands.checkSuppression(caller, 'gone@EXAMPLE.org'), {
    email: 'gone@example.org',
    suppressed: true,
    suppression: record,
  });
  t.same(await commands.addSuppression(caller, { email: 'GONE@example.org' }), record, 'once more changes nothing');
  const id = record.id as SuppressionId;
  t.same(await commands.readSuppressions(caller, [id]), [record]);
  t.same(await commands.removeSuppression(caller, id), { id, deleted: true });
  t.match(await commands.checkSuppression(caller, gone), { suppressed: false, suppression: null });
  t.same(await commands.readSuppressions(caller, [id]), []);
  await t.rejects(commands.removeSuppression(caller, id), { code: 'SUPPRESSION_NOT_FOUND' });
  await t.rejects(commands.addSuppression(caller, { email: 'nobody' }), { code: 'ERR_EMAIL_001' });
  t.same(await commands.addSuppression(caller, { email: gone }), { ...record }, 'again, under the same id');
});

void t.test('nothing that is stored tells the address without the keys', async (t) => {
  const world = await withTemplate();
  await world.commands.addSuppression(caller, { email: gone });
  const stored = world.store.events.filter(({ stream }) => stream.startsWith('suppression-'));
  t.equal(stored.length, 1);
  for (const { stream, data, metadata, sealed } of stored) {
    t.notMatch(`${stream}${String(data)}${metadata}${Buffer.from(sealed ?? []).toString('latin1')}`, /gone|example/i);
  }
});

void t.test('another team neither sees nor removes it, and writes to the address', async (t) => {
  const world = await withTemplate();
  const { commands } = world;
  const { id } = await commands.addSuppression(caller, { email: gone });
  t.match(await commands.checkSuppression(stranger, gone), { suppressed: false });
  t.same(await commands.readSuppressions(stranger, [id as SuppressionId]), []);
  await t.rejects(commands.removeSuppression(stranger, id as SuppressionId), { code: 'SUPPRESSION_NOT_FOUND' });
  t.not(suppressionIdOf(world.deps, OTHER_TEAM, gone), id);
});

void t.test('a suppressed recipient is recorded, and the others of the mail are written to', async (t) => {
  const world = await withTemplate();
  await world.commands.addSuppression(caller, { email: gone });
  const id = await sent(world, 'ann@example.org', 'gone@example.org');
  t.same(await typesOf(world, id), ['EmailQueued', 'RecipientsSuppressed']);
  t.match(await world.commands.getEmail(caller, id), {
    status: 'queued',
    failureReason: null,
    failedRecipients: 1,
    recipients: [{ status: 'queued' }, { status: 'suppressed' }],
  });
});

void t.test('an email to suppressed addresses alone is accepted and has failed, for good', async (t) => {
  const world = await withTemplate();
  await world.commands.addSuppression(caller, { email: gone });
  const id = await sent(world, gone);
  t.match(await world.commands.getEmail(caller, id), { status: 'failed', failureReason: 'suppressed', attempts: [] });
  await t.rejects(world.commands.retryEmail(caller, id), { code: 'EMAIL_NOT_RETRYABLE' });
  const later = await world.commands.sendEmail(
    caller,
    simple({ to: [{ email: gone }], scheduledAt: '2030-01-05T00:00:00.000Z' }),
  );
  t.match(await world.commands.getEmail(caller, parseEmailId(later.body.id)!), {
    status: 'failed',
    failureReason: 'suppressed',
  });
});

void t.test('such an email takes no credit; one with another recipient takes one', async (t) => {
  const world = await withTemplate();
  await changeBilling(world.deps, TEAM, { billing: 'credits' }, causeAt(world), nothingUsed);
  await world.commands.addSuppression(caller, { email: gone });
  await sent(world, gone);
  t.equal((await world.deps.credits.quote(TEAM)).creditsRemaining, 1_000);
  await sent(world, gone, 'ann@example.org');
  t.equal((await world.deps.credits.quote(TEAM)).creditsRemaining, 999);
});

void t.test('the same call under its key is answered the same when the address is suppressed meanwhile', async (t) => {
  const world = await withTemplate();
  const body = simple({ to: [{ email: gone }] });
  const first = await world.commands.sendEmail(caller, body, { key: 'a', body });
  await world.commands.addSuppression(caller, { email: gone });
  const again = await world.commands.sendEmail(caller, body, { key: 'a', body });
  t.same(again, { body: first.body, replayed: true });
});

void t.test(
  'a team that has never suppressed an address asks nothing; one that has asks for each recipient',
  async (t) => {
    const world = await withTemplate();
    let asked = 0;
    const deps = {
      ...world.deps,
      eventLog: {
        ...world.deps.eventLog,
        last: async (stream: StreamName) => ((asked += 1), world.deps.eventLog.last(stream)),
      },
    };
    const { makeCommands } = await import('../../src/commands/index.js');
    const commands = makeCommands(deps);
    await commands.sendEmail(caller, simple());
    t.equal(asked, 0);
    await commands.addSuppression(caller, { email: gone });
    await commands.sendEmail(caller, simple({ to: [{ email: 'ann@example.org' }, { email: 'bob@example.org' }] }));
    t.equal(asked, 2);
  },
);

void t.test('what was known before an address was removed does not suppress it again', async (t) => {
  const world = await withTemplate();
  const { deps, clock } = world;
  const bounce = { teamId: TEAM, email: gone, reason: 'hard-bounce' as const, learnedAt: isoTime(clock.now()) };
  t.match(await suppressAddress(deps, { ...bounce, cause: causeAt(world) }), { isNew: true, isFirst: true });
  t.match(
    await suppressAddress(deps, { ...bounce, cause: causeAt(world) }),
    { isNew: false, isFirst: false },
    'told again',
  );
  await clock.advance(1_000);
  await world.commands.removeSuppression(caller, suppressionIdOf(deps, TEAM, gone));
  t.match(await suppressAddress(deps, { ...bounce, cause: causeAt(world) }), { isNew: false }, 'told once more');
  await clock.advance(1_000);
  t.match(
    await suppressAddress(deps, { ...bounce, learnedAt: isoTime(clock.now()), cause: causeAt(world) }),
    { isNew: true },
    'refused anew',
  );
  t.equal((await world.events(teamStream(TEAM))).filter(({ type }) => type === 'TeamSuppressionsBegan').length, 1);
});

void t.test('a dry run of a bulk send names those who are not sent to', async (t) => {
  const world = await withTemplate();
  await world.commands.addSuppression(caller, { email: gone });
  const recipients = ['ann@example.org', 'no address', gone].map((email) => ({ email, variables: { name: 'You' } }));
  const report = await world.commands.dryRunBulk(caller, { templateId: 'welcome', recipients, dryRun: true });
  t.same(report.valid, true);
  t.ok(
    report.warnings.includes('recipients[2] is not sent to, and costs nothing: its address is on the suppression list'),
    report.warnings.join('; '),
  );
});

const parseLine = (bytes: Buffer): unknown => JSON.parse(bytes.toString());
const imported = (world: World, text: string, as = caller) =>
  world.commands.importSuppressions(as, { bytes: Buffer.from(text), parseLine });

void t.test('a file is imported, and once more changes nothing', async (t) => {
  const world = await withTemplate();
  const csv = 'email;reason\nann@example.org;bounced\nANN@example.org;\nno address;\nbob@example.org;complaint\n';
  t.same(await imported(world, csv), {
    rows: 4,
    added: 2,
    existing: 1,
    invalid: 1,
    errors: [{ line: 4, message: 'the address has no @' }],
  });
  t.match(await imported(world, csv), { added: 0, existing: 3, invalid: 1 });
  t.match(await world.commands.checkSuppression(caller, 'ann@example.org'), { suppression: { reason: 'hard-bounce' } });
  t.match(await world.commands.checkSuppression(caller, 'bob@example.org'), { suppression: { reason: 'complaint' } });
  t.match(await imported(world, '{"email":"cem@example.org"}\n{"email":"dan@example.org","reason":"unsubscribe"}\n'), {
    added: 2,
  });
  t.match(await world.commands.checkSuppression(caller, 'dan@example.org'), { suppression: { reason: 'unsubscribe' } });
});

void t.test('the exports of other services are imported with their reasons', async (t) => {
  const world = await withTemplate();
  for (const [service, file, reasons] of [
    [
      'Postmark',
      'EmailAddress,SuppressionReason,Origin,CreatedAt\n%,HardBounce,Recipient,2026-11-01\n%,SpamComplaint,Recipient,\n%,ManualSuppression,Customer,',
      ['hard-bounce', 'complaint', 'manual'],
    ],
    [
      'Postmark, bounces',
      'Type,EmailAddress,BouncedAt\nHardBounce,%,2026-11-01\nSoftBounce,%,2026-11-01',
      ['hard-bounce', 'import'],
    ],
    ['Mailgun, bounces', 'address,code,error,created_at\n%,550,unknown,x', ['hard-bounce']],
    ['Mailgun, unsubscribes', 'address,tags,created_at\n%,*,x', ['unsubscribe']],
    ['Amazon SES', 'EmailAddress,Reason,LastUpdateTime\n%,BOUNCE,x\n%,COMPLAINT,x', ['hard-bounce', 'complaint']],
    ['Amazon SES, without a head', '%,BOUNCE\n%,COMPLAINT', ['hard-bounce', 'complaint']],
    ['Amazon SES, JSON', '{"EmailAddress":"%","Reason":"COMPLAINT"}', ['complaint']],
    [
      'SendGrid, bounces',
      'status,reason,email,created\n5.1.1,550 5.1.1 <"gone@example.com"> no such user,%,1',
      ['hard-bounce'],
    ],
    ['SendGrid, spam reports', 'email,ip,created\n%,192.0.2.1,1', ['complaint']],
    ['SendGrid, unsubscribes', 'email,created\n%,1', ['import']],
    [
      'Mailchimp, unsubscribed',
      '"Email Address","First Name",UNSUB_TIME\n%,Cem,"2026-11-01 10:00:00"',
      ['unsubscribe'],
    ],
    ['Mailchimp, cleaned', 'Email Address,First Name,CLEAN_TIME\n%,Cem,2026-11-01', ['hard-bounce']],
    ['addresses alone', '%\n%', ['import', 'import']],
  ] as const) {
    let at = 0;
    const addresses = reasons.map((_, place) => `${service.replaceAll(/[^A-Za-z]/g, '')}${place}@example.org`);
    const text = file.replaceAll('%', () => addresses[at++]!);
    t.match(await imported(world, text), { rows: reasons.length, added: reasons.length, invalid: 0 }, service);
    for (const [place, reason] of reasons.entries())
      t.match(
        await world.commands.checkSuppression(caller, addresses[place]!),
        { suppression: { reason } },
        `${service} ${place}`,
      );
  }
  t.match(await imported(world, '{"email":1}\n'), {
    invalid: 1,
    errors: [{ line: 1, message: 'the address is empty' }],
  });
  await t.rejects(imported(world, 'name,phone\nAda,1'), {
    message: /has no column of addresses, such as "email" or "Email Address"; it has "name", "phone"/,
  });
  t.match(
    await imported(world, 'email\r\nx1@example.org\r\nx2@example.org\nx3@example.org\r\n\u200b x4@example.org\u200e\r'),
    {
      rows: 4,
      added: 4,
    },
  );
});

void t.test('a file of another form, or of too many rows, is refused with nothing written', async (t) => {
  const world = await withTemplate();
  const before = world.store.events.length;
  for (const text of ['', 'name\nAda\n', 'email\na@example.org\nb@example.org\nc@example.org\n'])
    await t.rejects(
      world.commands.importSuppressions(caller, { bytes: Buffer.from(text), parseLine, rowsMax: 2 }),
      { code: 'VALIDATION_ERROR' },
      text,
    );
  t.equal(world.store.events.length, before);
});

void t.test('what is exported is imported by another team as it was', async (t) => {
  const world = await withTemplate();
  const addresses = ['+plus@example.org', '=is@example.org', '"a,b"@example.org', 'ann@example.org'];
  const jsonl = addresses
    .map((email, index) => `${JSON.stringify({ email, reason: ['manual', 'complaint'][index % 2] })}\n`)
    .join('');
  t.match(await imported(world, jsonl), { added: 4, invalid: 0 });
  const ids = addresses.map((address) => suppressionIdOf(world.deps, TEAM, address));
  const pages = async function* () {
    yield ids.slice(0, 3);
    yield ids.slice(3);
  };
  let csv = '';
  for await (const text of suppressionLines(pages(), (some) => world.commands.readSuppressions(caller, some)))
    csv += text;
  t.match(csv, /^email,list,reason,createdAt,emailId,id\r\n/);
  t.match(csv, /\r\n'=is@example.org,,complaint,/, 'no cell is a formula');
  t.match(await imported(world, csv, stranger), { rows: 4, added: 4, invalid: 0 });
  for (const [index, address] of addresses.entries())
    t.match(await world.commands.checkSuppression(stranger, address), {
      suppression: { email: address, reason: ['manual', 'complaint'][index % 2] },
    });
});

void t.test(
  'a refusal without a reason suppresses with the second email, not with the first one told twice, and a removal begins anew',
  async (t) => {
    const world = await withTemplate();
    const { commands, deps, clock } = world;
    const [first, second, third] = ['email-a', 'email-b', 'email-c'];
    const note = async (emailId: string, learnedAt = isoTime(clock.now())) => {
      await noteRefusal(deps, {
        teamId: TEAM,
        email: gone,
        reason: 'hard-bounce',
        cause: causeAt(world),
        learnedAt,
        emailId,
      });
      return (await commands.checkSuppression(caller, gone)).suppressed;
    };
    t.equal(await note(first), false);
    t.equal(await note(first), false, 'told twice');
    t.equal(await note(second), true);
    t.equal(await note(third), true);
    const before = isoTime(clock.now());
    await clock.advance(1_000);
    await commands.removeSuppression(caller, suppressionIdOf(deps, TEAM, gone));
    t.equal(await note(third, before), false, 'learned before the removal');
    await clock.advance(1_000);
    t.equal(await note(third), false, 'the first since');
    t.equal(await note('email-d'), true);
  },
);

// An open or click is recorded once, even if the answer of the append is lost.

const emailId = assertDefined(parseEmailId(EMAIL_ID), 'email id');

/** Fates of the append whose answer is lost. */
const fates = ['written', 'later', 'never', 'overtaken'] as const;

for (const fate of fates)
  void t.test(`an open whose answer was lost is recorded once: ${fate}`, async (t) => {
    const world = await openWorld();
    const stream = emailStream(emailId);
    const { append, load } = world.deps.eventLog;
    const data = { ...accepted, tracking: { opens: true, clicks: true, url: 'https://mail.example.com' } };
    const cause = causeOf(world.deps, caller);
    await append(stream, startOf(stream), [{ type: 'EmailQueued', data, sealed: content }], cause);
    const late: (() => Promise<unknown>)[] = [];
    let isFirst = true;
    const losing: typeof append = async (stream, version, events, cause) => {
      if (!isFirst) {
        for (const write of late.splice(0)) await write();
        return append(stream, version, events, cause);
      }
      isFirst = false;
      const eventIds = events.map((_, index) => `0b9c2f5e-6d1a-4c0e-9f3b-00000000000${index}`);
      const ids = eventIds.values();
      const written = openEventLog({
        ...world.deps,
        store: world.store,
        keys: world.keys,
        ids: { ...world.deps.ids, uuid: () => ids.next().value! },
      });
      const write = () => written.append(stream, version, events, cause);
      if (fate === 'written') await write();
      if (fate === 'later') late.push(write);
      if (fate === 'overtaken')
        late.push(() =>
          append(stream, version, [{ type: 'EmailReleased', data: { at: data.at, priority: 'normal' } }], cause),
        );
      throw new AppendUnknown(stream, new Error('lost'), { after: version.revision, eventIds });
    };
    const recorder = openEngagementRecorder({
      ...world.deps,
      eventLog: { ...world.deps.eventLog, append: losing },
      clock: world.clock,
      logger: memoryLog(),
    });
    const stop = new AbortController();
    const running = recorder.worker.run(stop.signal);
    const open = () =>
      recorder.note({ emailId, recipient: 0, userAgent: 'Mozilla/5.0', ipAddress: '192.0.2.7', requestId: 'r' });
    const opened = async () =>
      (await load(stream)).flatMap(({ event }) => (event.type === 'EmailOpened' ? [event.data.times ?? 1] : []));
    open();
    await world.clock.whenWaiting(1);
    open();
    t.equal(recorder.waiting(), 1);
    await eventually('it is recorded', async () => {
      await world.clock.advance(1_000);
      return recorder.waiting() === 0;
    });
    stop.abort();
    await running;
    const times = await opened();
    t.equal(
      times.reduce((sum, count) => sum + count, 0),
      2,
      `each open once: ${times.join(', ')}`,
    );
  });
