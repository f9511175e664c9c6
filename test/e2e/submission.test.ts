/** Programs that hand over mail by SMTP, on each engine: the dialogue, the login, what leaves, kills in the middle. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTransport } from 'nodemailer';
import PostalMime from 'postal-mime';
import t, { type Test } from 'tap';
import type { EmailRecord } from '../../src/api/email.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { engineNames, openEngineOfTest } from '../support/engines.js';
import { copyFounded, createdKey, setSender } from '../support/founded.js';
import { freePort } from '../support/free-port.js';
import { seededRandom } from '../support/random.js';
import { openRawSmtp, type RawSmtp } from '../support/raw-smtp.js';
import { startServer } from '../support/server-process.js';
import { late, openSmtpScript, type SmtpScriptServer } from '../support/smtp-script.js';
import { eventually, pause } from '../support/wait.js';

t.setTimeout(900_000);

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../../test/support/tls/${name}.pem`, import.meta.url));
const TLS = { SEALPOST_SUBMISSION_TLS_CERT: fixture('valid'), SEALPOST_SUBMISSION_TLS_KEY: fixture('key') };

type World = Readonly<{ app: TestApp; sink: SmtpScriptServer; port: number; tlsPort: number }>;

const openWorld = async (t: Test, name: (typeof engineNames)[number], more = {}): Promise<World | undefined> => {
  const engine = await openEngineOfTest(t, name);
  if (engine === undefined) return undefined;
  const sink = await openSmtpScript({ script: () => undefined });
  t.teardown(() => sink.close());
  const { SEALPOST_DATA_DIR: dataDir = '', ...settings } = {
    ...engine.ofProcess(),
    SEALPOST_SMTP_URL: `${sink.url}?tls=off`,
    SEALPOST_PUBLIC_URL: 'https://mail.example.com',
    SEALPOST_SUBMISSION_PORT: '0',
    SEALPOST_SUBMISSION_TLS_PORT: '0',
    ...TLS,
    ...more,
  } as Readonly<Record<string, string>>;
  const app = await startTestApp({ isFounded: name === 'embedded', dataDir, settings });
  t.teardown(() => app.stop());
  const [port, tlsPort] = app.submissionPorts;
  return { app, sink, port: port!, tlsPort: tlsPort! };
};

const plain = (key: string, user = 'any'): string =>
  `AUTH PLAIN ${Buffer.from(`\0${user}\0${key}`).toString('base64')}`;

/** A client that has greeted, secured the connection and logged in. */
const loggedIn = async ({ port }: Pick<World, 'port'>, key: string): Promise<RawSmtp> => {
  const client = await openRawSmtp(port);
  await client.reply();
  await client.ask('EHLO client.example');
  await client.startTls();
  await client.ask('EHLO client.example');
  const reply = await client.ask(plain(key));
  if (!reply.startsWith('235')) throw new Error(reply);
  return client;
};

const TEXT = [
  'From: Shop <shop@example.com>',
  'To: Ada <ada@example.com>',
  'Subject: By SMTP',
  'Message-ID: <first@client.example>',
  'Bcc: eve@example.com',
  '',
  'Hello',
  '..two dots',
  '',
].join('\r\n');

const give = async (client: RawSmtp, text = TEXT, to: readonly string[] = ['ada@example.com']): Promise<string> => {
  const replies = [await client.ask('MAIL FROM:<shop@example.com>')];
  for (const one of to) replies.push(await client.ask(`RCPT TO:<${one}>`));
  const refused = replies.find((reply) => !reply.startsWith('250'));
  if (refused !== undefined) {
    await client.ask('RSET');
    return refused;
  }
  await client.ask('DATA');
  return client.ask(`${text.replace(/^\./gm, '..')}.`);
};

const idIn = (reply: string): string =>
  /^250 2\.0\.0 Ok: queued as ([0-9a-f-]{36})$/.exec(reply)?.[1] ?? `none in ${reply}`;

for (const name of engineNames)
  await t.test(`${name}: a mail is taken, durable, and leaves as it came`, async (t) => {
    const world = await openWorld(t, name);
    if (world === undefined) return t.comment('a server is missing');
    const { app, sink } = world;
    const client = await loggedIn(world, app.key);
    const id = idIn(await give(client));
    await app.whenStatus(id, 'sent');
    t.equal(idIn(await give(client)), id, 'a repeated Message-ID is the same mail');
    const raw = sink.received[0]!.raw.toString();
    t.match(raw, /^Received: by mail\.example\.com with ESMTPSA\r\n id /);
    t.equal(raw.slice(raw.indexOf('From:')).replace(/Date: .*\r\n/, ''), TEXT.replace('Bcc: eve@example.com\r\n', ''));
    t.equal(sink.received.length, 1);
    const large = `${TEXT.replace('first@', 'large@')}${`${'x'.repeat(76)}\r\n`.repeat(20_000)}`;
    const largeId = idIn(await give(client, large, ['ada@example.com', 'bob@example.com']));
    await app.whenStatus(largeId, 'sent');
    const received = sink.received[1]!;
    t.ok(received.raw.toString().endsWith(large.slice(-1_500_000)), 'a large mail, byte for byte');
    t.match(await app.email(largeId), { templateId: 'smtp', messageId: '<large@client.example>', recipientCount: 2 });
    const { body } = await app.call<{ data: { id: string }[] }>('GET', '/api/emails?templateId=smtp&search=By%20SMTP');
    t.same(body.data.map((one) => one.id).sort(), [id, largeId].sort(), 'the subject is found');
    client.end();
  });

await t.test('nobody logs in before TLS but this machine, and nothing is taken without a login', async (t) => {
  const { app, port, tlsPort } = (await openWorld(t, 'embedded'))!;
  const client = await openRawSmtp(port);
  t.match(await client.reply(), /^220 mail\.example\.com ESMTP/);
  const offers = await client.ask('EHLO client.example');
  for (const offer of [
    'PIPELINING',
    '8BITMIME',
    'SMTPUTF8',
    'ENHANCEDSTATUSCODES',
    'STARTTLS',
    'AUTH PLAIN LOGIN',
    'SIZE 37748736',
  ])
    t.match(offers, offer);
  t.notMatch(offers, 'DSN');
  t.match(await client.ask('MAIL FROM:<shop@example.com>'), /^530 5\.7\.0 log in first/);
  t.match(await client.ask('AUTH PLAIN AAAA'), /^501/);
  t.match(await client.ask(plain('ep_wrong')), /^535 5\.7\.8 /);
  t.match(await client.ask(plain(app.key)), /^235/, 'from this machine, in the clear');
  t.match(await client.ask('AUTH LOGIN'), /^503/, 'once');
  client.end();

  const login = await openRawSmtp(port);
  await login.reply();
  await login.ask('EHLO client.example');
  await login.startTls();
  await login.ask('EHLO client.example');
  t.match(await login.ask('AUTH LOGIN'), '334 VXNlcm5hbWU6');
  t.match(await login.ask(Buffer.from('any name').toString('base64')), '334 UGFzc3dvcmQ6');
  t.match(await login.ask(Buffer.from(app.key).toString('base64')), /^235/);
  login.end();

  const guesser = await openRawSmtp(port);
  await guesser.reply();
  await guesser.ask('EHLO client.example');
  for (const code of ['535', '535', '421']) t.match(await guesser.ask(plain(`ep_${code}`)), new RegExp(`^${code}`));
  await guesser.whenClosed;

  const transport = createTransport({
    host: '127.0.0.1',
    port: tlsPort,
    secure: true,
    auth: { user: 'any', pass: app.key },
    tls: { rejectUnauthorized: false },
  });
  const { response } = await transport.sendMail({
    from: 'shop@example.com',
    to: 'ada@example.com',
    subject: 'x',
    text: 'y',
  });
  t.match(response, /^250 2\.0\.0 Ok: queued as/, 'TLS from the first byte on');
  transport.close();
});

await t.test('commands in one packet, parameters of DSN, and many replies in their order', async (t) => {
  const world = (await openWorld(t, 'embedded'))!;
  const client = await loggedIn(world, world.app.key);
  client.write(
    'MAIL FROM:<shop@example.com> SIZE=300 BODY=8BITMIME SMTPUTF8 RET=HDRS ENVID=a+2Bb\r\nRCPT TO:<ada@example.com> NOTIFY=SUCCESS,FAILURE ORCPT=rfc822;ada@example.com\r\nRCPT TO:<jü@example.com>\r\nRCPT TO:<bob@example.com>\r\nDATA\r\n',
  );
  const replies = [];
  for (let at = 0; at < 5; at += 1) replies.push(await client.reply());
  t.same(
    replies.map((reply) => reply.slice(0, 9)),
    ['250 2.1.0', '250 2.1.5', '553 5.6.7', '250 2.1.5', '354 End d'],
  );
  client.write(`${TEXT}.\r\nMAIL FROM:<shop@example.com>\r\nRSET\r\nNOOP\r\nQUIT\r\n`);
  const after = [];
  for (let at = 0; at < 5; at += 1) after.push((await client.reply()).slice(0, 3));
  t.same(after, ['250', '250', '250', '250', '221']);
  t.equal(
    (
      await world.app.email(
        idIn(await give(await loggedIn(world, world.app.key), TEXT, ['ada@example.com', 'bob@example.com'])),
      )
    ).recipientCount,
    2,
  );
});

await t.test('what may not travel is refused in words, and no second message is made of it', async (t) => {
  const world = (await openWorld(t, 'embedded', { SEALPOST_LIMIT_SUBMISSION_SIZE_BYTES_MAX: '100000' }))!;
  const { app, sink } = world;
  const client = await loggedIn(world, app.key);
  const smuggled =
    'MAIL FROM:<shop@example.com>\r\nRCPT TO:<eve@example.com>\r\nDATA\r\nFrom: shop@example.com\r\nSubject: smuggled\r\n\r\nx\r\n';
  for (const end of ['\n.\n', '\n.\r\n', '\r\n.\n', '\r.\r', '\r.\r\n', '\r\n.\r', '\r\n\0.\r\n'])
    t.match(
      await give(client, `From: shop@example.com\r\n\r\nx${end}${smuggled}`),
      /^554 5\.6\.0 VALIDATION_ERROR: /,
      JSON.stringify(end),
    );
  for (const [text, reply] of [
    [`${TEXT}${'x'.repeat(999)}\r\n`, /^554 5\.6\.0 VALIDATION_ERROR: The message has 999 octets/],
    [TEXT.replace('shop@example.com>', 'not an address>'), /^553 5\.1\.3 ERR_EMAIL_001: /],
    [`X-Sealpost-Template: none\r\n${TEXT}`, /^554 5\.6\.0 ERR_TMPL_002: /],
    [`${TEXT}${'x\r\n'.repeat(50_000)}`, /^552 5\.3\.4 the message is larger than 100000 bytes/],
    [TEXT, /^250 2\.0\.0 /],
  ] as const)
    t.match(await give(client, text), reply);
  t.match(await client.ask('MAIL FROM:<shop@example.com> SIZE=100001'), /^552 5\.3\.4 /);
  t.match(await client.ask('MAIL FROM:<no address>'), /^501 5\.1\.7 /);
  await eventually('the one mail has left', () => sink.received.length === 1);
  t.equal(sink.received.length, 1);
  t.same(sink.received[0]!.envelope.to, ['ada@example.com']);
  client.end();
});

await t.test('keys have the limits of the API: rate, permission, revocation, test keys', async (t) => {
  const world = (await openWorld(t, 'embedded'))!;
  const { app } = world;
  const made = async (more: object): Promise<{ id: string; key: string }> =>
    (
      await app.call<{ id: string; key: string }>('POST', '/api/api-keys', {
        name: 'k',
        permissions: ['emails:send'],
        ...more,
      })
    ).body;
  const slow = await made({ rateLimit: 1 });
  const client = await loggedIn(world, slow.key);
  t.match(await give(client), /^250/);
  t.match(await give(client), /^451 4\.7\.1 This API key may make 1 requests a minute\. Try again in \d+ s\.$/);
  client.end();
  const reader = await made({ permissions: ['emails:read'] });
  await t.rejects(loggedIn(world, reader.key), /535 5\.7\.8 This API key lacks the permission/);
  const revoked = await made({});
  const open = await loggedIn(world, revoked.key);
  await app.call('DELETE', `/api/api-keys/${revoked.id}`);
  t.match(await give(open), /^530 5\.7\.8 API_KEY_REVOKED: /);
  open.end();
  const test = await made({ test: true });
  const id = idIn(await give(await loggedIn(world, test.key)));
  await app.whenStatus(id, 'delivered');
  t.equal((await app.email(id)).test, true);
  t.equal(world.sink.received.length, 1, 'nothing of it left');
});

await t.test('links and opens are tracked where it is asked, and only in texts of HTML', async (t) => {
  const world = (await openWorld(t, 'embedded'))!;
  const { app, sink } = world;
  const transport = createTransport({
    host: '127.0.0.1',
    port: world.port,
    auth: { user: 'any', pass: app.key },
    tls: { rejectUnauthorized: false },
  });
  t.teardown(() => transport.close());
  const html =
    '<p>Grüße, <a href="https://shop.example/?a=1&amp;b=ü">see</a> or <a href="{{__UNSUBSCRIBE_URL__}}">leave</a></p>';
  const { response } = await transport.sendMail({
    from: '"Müller, Shop" <shop@example.com>',
    to: [{ name: 'Ädä', address: 'ada@example.com' }, 'bob@example.com'],
    bcc: 'eve@example.com',
    subject: 'Grüße',
    html,
    text: 'Grüße, https://shop.example/ {{__UNSUBSCRIBE_URL__}}',
    attachments: [{ filename: 'page.html', content: html }],
    headers: { 'X-Sealpost-Track': 'opens, clicks', 'X-Sealpost-Unsubscribe-List': 'news', 'X-Sealpost-Tags': 'a, b' },
  });
  const id = idIn(response);
  await app.whenStatus(id, 'sent');
  t.equal(sink.received.length, 3, 'a copy for each');
  for (const { raw, envelope } of sink.received) {
    const mail = await PostalMime.parse(raw);
    const headers = new Map(mail.headers.map(({ key, value }) => [key, value]));
    t.match(mail.html, /href="https:\/\/mail\.example\.com\/t\/c\//, envelope.to.join());
    t.match(mail.html, /<img src="https:\/\/mail\.example\.com\/t\/o\//);
    t.match(mail.html, /Grüße/);
    const url = /^<(.+)>$/.exec(headers.get('list-unsubscribe') ?? '')?.[1] ?? 'none';
    t.match(mail.html, `href="${url}"`);
    t.match(mail.text, `https://shop.example/ ${url}`);
    t.equal(
      Buffer.from(mail.attachments[0]!.content as ArrayBuffer)
        .toString()
        .trim(),
      html,
      'an attachment stays',
    );
    t.equal(headers.has('bcc') || headers.has('x-sealpost-track'), false);
    t.match(mail, {
      subject: 'Grüße',
      from: { name: 'Müller, Shop' },
      to: [{ name: 'Ädä' }, { address: 'bob@example.com' }],
    });
  }
  t.match(await app.email(id), {
    subject: 'Grüße',
    tags: ['a', 'b'],
    attachmentCount: 1,
    tracking: { opens: true, clicks: true },
    recipients: [{ role: 'to', name: 'Ädä' }, { role: 'to' }, { role: 'bcc', email: 'eve@example.com' }],
    metadata: { attachments: [{ filename: 'page.html', contentType: 'text/html' }] },
  });
});

await t.test('the programs that the page shows hand over mail', async (t) => {
  const world = (await openWorld(t, 'embedded'))!;
  const { app, port } = world;
  const page = readFileSync(new URL('../../../docs/smtp.md', import.meta.url), 'utf8');
  const programIn = (language: string): string =>
    (new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'ms').exec(page)?.[1] ?? '')
      .replace('mail.example.com', '127.0.0.1')
      .replace('587', String(port));
  // The certificate of the test is known to nobody.
  const script = programIn('js').replace('requireTLS: true,', '$& tls: { rejectUnauthorized: false },');
  const [, shown = ''] = /^\/\/ (250 .*)$/m.exec(script) ?? [];
  const run = new Function('nodemailer', 'process', `return (async () => {${script}; return response;})()`) as (
    nodemailer: object,
    process: object,
  ) => Promise<string>;
  const response = await run({ createTransport }, { env: { API_KEY: app.key } });
  t.equal(response.replace(idIn(response), 'id'), shown.replace(idIn(shown), 'id'), 'the reply that the page shows');
  t.match(await app.whenStatus(idIn(response), 'sent'), { subject: 'Your order', tags: ['order'] });
  const python = spawnSync('python3', ['-c', 'import smtplib']);
  if (python.status !== 0) return t.comment('Python is missing');
  const child = spawn('python3', ['-c', programIn('python')], {
    env: { ...process.env, API_KEY: app.key },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  t.same(await once(child, 'exit'), [0, null]);
  const sent = async () => {
    const { body } = await app.call<{ data: EmailRecord[] }>('GET', '/api/emails?templateId=smtp');
    return body.data.find((one) => one.id !== idIn(response));
  };
  const { id } = await eventually('the mail of Python is listed', sent);
  t.match(await app.whenStatus(id, 'sent'), { subject: 'Your order', metadata: { custom: { order: 17 } } });
});

await t.test('an erased recipient is in no field of the mail that others get', async (t) => {
  const world = (await openWorld(t, 'embedded'))!;
  const { app, sink } = world;
  const at = (inMs: number): string => new Date(Date.now() + inMs).toISOString();
  const text = `X-Sealpost-Schedule: ${at(3_600_000)}\r\n${TEXT.replace('To: Ada <ada@example.com>', 'To: Ada <ada@example.com>, Bob <bob@example.com>')}`;
  const id = idIn(await give(await loggedIn(world, app.key), text, ['ada@example.com', 'bob@example.com']));
  t.equal((await app.call('POST', '/api/privacy/erase', { email: 'ada@example.com' })).status < 300, true);
  await eventually('the erasure is done', async () => (await app.email(id)).recipients[0]?.erased === true);
  t.equal((await app.call('PATCH', `/api/emails/${id}`, { scheduledAt: at(1_000) })).status, 200);
  await app.whenStatus(id, 'sent');
  t.same(sink.received[0]!.envelope.to, ['bob@example.com']);
  t.match(sink.received[0]!.raw.toString(), /\r\nTo: Bob <bob@example\.com>\r\n/);
  t.notMatch(sink.received[0]!.raw.toString(), /ada/i);
});

await t.test(
  'kills while mails are handed over: what got 250 is delivered, what is sent again is not doubled',
  async (t) => {
    const random = seededRandom(7);
    const sink = await openSmtpScript({
      script: ({ step }) => (step === 'message' ? late(random.between(1, 30)) : undefined),
    });
    const dataDir = mkdtempSync(join(tmpdir(), 'sealpost-submission-kill-'));
    t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
    t.teardown(() => sink.close());
    const port = await freePort();
    const settings = {
      SEALPOST_DATA_DIR: dataDir,
      SEALPOST_SMTP_URL: `${sink.url}?tls=off`,
      SEALPOST_RETRY_DELAYS: Array.from({ length: 20 }, () => '1').join(','),
      SEALPOST_LOG_LEVEL: 'error',
      SEALPOST_SUBMISSION_PORT: String(port),
      SEALPOST_LIMIT_SUBMISSION_SIZE_BYTES_MAX: '1000000',
    };
    await copyFounded(dataDir);
    const key = await createdKey(settings, 'submission kills');
    await setSender(settings);
    const taken = new Map<string, string>();
    const doubled: string[] = [];
    let isOver = false;
    const sender = async (index: number): Promise<void> => {
      const own = seededRandom(100 + index);
      for (let made = 0; !isOver; made += 1) {
        const messageId = `<${index}-${made}@client.example>`;
        const body = own.chance(0.2) ? 'x'.repeat(70).concat('\r\n').repeat(2_000) : 'Hello\r\n';
        const text = TEXT.replace('<first@client.example>', messageId) + body;
        // It is sent again, as programs do, until it has its answer.
        for (;;) {
          const reply = await handedOver(text).catch(() => '');
          const id = /^250 2\.0\.0 Ok: queued as (\S+)/.exec(reply)?.[1];
          if (id !== undefined) {
            if ((taken.get(messageId) ?? id) !== id) doubled.push(messageId);
            taken.set(messageId, id);
            if (!own.chance(0.2)) break;
            const again = await handedOver(text).catch(() => '');
            if (again.startsWith('250') && !again.endsWith(id)) doubled.push(messageId);
            break;
          }
          if (isOver) return;
          await pause(5);
        }
      }
    };
    const handedOver = async (text: string): Promise<string> => {
      const client = await openRawSmtp(port);
      try {
        await client.reply();
        await client.ask('EHLO client.example');
        await client.ask(plain(key));
        return await give(client, text);
      } finally {
        client.end();
      }
    };
    const senders = [0, 1, 2, 3].map(sender);
    for (let round = 0; round < 5; round += 1) {
      const server = startServer(settings);
      await server.listening;
      await pause(random.between(150, 900));
      const { code } = await server.end('SIGKILL');
      t.equal(code, null, 'the server ends by the kill alone');
    }
    const last = startServer(settings);
    await last.listening;
    await eventually('mails enough are taken', () => taken.size > 20);
    isOver = true;
    await Promise.all(senders);
    t.ok(taken.size > 20, `${taken.size} were taken`);
    t.same(doubled, []);
    const arrived = (): Map<string, number> => {
      const counts = new Map<string, number>();
      for (const { messageId } of sink.accepted())
        counts.set(`<${messageId}>`, (counts.get(`<${messageId}>`) ?? 0) + 1);
      return counts;
    };
    await eventually(
      'everything that got 250 has arrived',
      () => [...taken.keys()].every((one) => arrived().has(one)),
      60_000,
    );
    const twice = [...arrived().values()].filter((count) => count > 1).length;
    t.ok(twice <= 5 * 10, `${twice} of ${taken.size} arrived twice: no more than dialogues at the kills`);
    t.equal((await last.end('SIGTERM')).code, 0);
  },
);
