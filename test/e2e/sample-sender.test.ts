/**
 * The sample sender and the sample company of the first start never leave by a relay, also where mails were accepted
 * before there was one.
 */
import t from 'tap';
import { startTestApp, sendBody } from '../support/app.js';
import { changeTeam } from '../../src/commands/teams/teams.js';
import { firstTeam } from '../../src/commands/core/caller.js';
import { assertDefined } from '../../src/domain/core/ids.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { bulk } from '../support/bulk.js';
import { keptLog } from '../support/kept-log.js';
import { runCommand, withSender } from '../support/server-process.js';
import { openSmtpInbox } from '../support/smtp-inbox.js';
import type { DryRunResponse } from '../../src/api/bulk.js';

const SAMPLES = /sealpost\.example|Example Street|Sealpost Example|7946 0000/;

await t.test('a team that began with the mailbox', async (t) => {
  const inbox = await openSmtpInbox(t);
  const dataDir = temporaryDirectory(t);
  const relayed = { SEALPOST_SMTP_URL: inbox.url };
  // No process delivers, so the mail waits until there is a relay.
  const before = await startTestApp({ isFounded: true, dataDir, settings: { SEALPOST_ROLES: 'http,project' } });
  const { id: waiting } = await before.send();
  await before.stop();

  const { logger, lines } = keptLog();
  const app = await startTestApp({ dataDir, settings: relayed, logger });
  t.teardown(() => app.stop());
  const warnings = lines.filter((line) => line.includes('the first team has no sender of its own'));
  t.equal(warnings.length, 1, 'told at the start');
  t.notMatch(warnings[0], /@/);
  t.match(await app.whenStatus(waiting, 'failed'), { failureReason: 'rendering' });
  const refused = { status: 400, body: { code: 'SENDER_NOT_SET', errors: [{ field: 'from' }] } };
  t.match(await app.call('POST', '/api/emails/send', sendBody()), refused);
  const { variables: baseVariables } = sendBody();
  const many = { ...bulk(2), templateId: 'sign-in-code', baseVariables };
  t.match(await app.call('POST', '/api/emails/send/bulk', many), refused);
  const dryRun = await app.call<DryRunResponse>('POST', '/api/emails/send/bulk', { ...many, dryRun: true });
  t.match(dryRun, { body: { valid: false, warnings: [/not that of the sample sender/] } });
  t.match(
    await app.call('POST', '/api/emails/send', sendBody({ from: { email: 'a@mail.sealpost.example' } })),
    refused,
  );

  const named = await app.send({ from: { email: 'orders@shop.test', name: 'Shop' } });
  await app.whenStatus(named.id, 'sent');
  const teamId = assertDefined(await firstTeam(app.engine), 'first team');
  const cause = {
    teamId,
    actor: 'cli',
    correlationId: 'cli',
    causationId: 'cli',
    at: new Date(app.engine.clock.now()).toISOString(),
  };
  await changeTeam(app.engine, teamId, { defaultFrom: { email: 'hello@shop.test' } }, cause);
  await app.whenStatus((await app.send()).id, 'sent');
  const { company } = await changeTeam(app.engine, teamId, { company: { city: 'London' } }, cause);
  t.strictSame(
    [company.city, company.addressLine1, company.country],
    ['London', '', ''],
    'the sample is dropped as a whole',
  );
  await app.whenStatus((await app.send()).id, 'sent');
  t.equal(inbox.messages.length, 3);
  for (const message of inbox.messages) t.notMatch(message.replaceAll('=\r\n', ''), SAMPLES);
});

await t.test('a team that begins with a relay sends as the account mails do', async (t) => {
  const inbox = await openSmtpInbox(t);
  const { logger, lines } = keptLog();
  const app = await startTestApp({
    isFounded: true,
    dataDir: temporaryDirectory(t),
    settings: { SEALPOST_SMTP_URL: inbox.url },
    logger,
  });
  t.teardown(() => app.stop());
  await app.whenStatus((await app.send()).id, 'sent');
  t.match(inbox.messages[0], /^From: Sealpost <hello@service\.test>/m);
  t.notMatch(inbox.messages[0]?.replaceAll('=\r\n', ''), SAMPLES);
  t.notOk(lines.some((line) => line.includes('no sender of its own')));
});

await t.test('doctor tells of it', async (t) => {
  const dataDir = temporaryDirectory(t);
  const app = await startTestApp({ isFounded: true, dataDir });
  await app.stop();
  const doctor = async (more = {}) => (await runCommand(['doctor'], { SEALPOST_DATA_DIR: dataDir, ...more })).stdout;
  t.match(await doctor(), /^ok +sender: mails go to the built-in mailbox/m);
  const relayed = { SEALPOST_SMTP_URL: 'smtp://127.0.0.1:1' };
  t.match(
    await doctor(relayed),
    /^WARNING sender: the first team has none of its own.*\n +→ sealpost team set --from/m,
  );
  t.match(
    await doctor({ ...withSender(relayed), SEALPOST_ACCOUNT_SENDER: '' }),
    /^FAULT +sender: mails about accounts have none/m,
  );
  await runCommand(['team', 'set', '--from', 'Shop <hello@shop.test>'], { SEALPOST_DATA_DIR: dataDir });
  t.match(await doctor(relayed), /^ok +sender: the first team and mails about accounts/m);
});
